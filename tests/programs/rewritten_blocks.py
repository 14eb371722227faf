"""A writer and a reader of one file, by two mounts that do not tell each other: in each round the writer
rewrites the block that the reader reads next, and the reader goes on when that is done.

  rewritten_blocks.py write|read FILE ROUNDS QUIET TO_READER TO_WRITER

The last two are pipes with names. In the first QUIET rounds nothing is written. The reader tells how many
of its blocks were older than they should be.
"""

import os
import sys

BLOCK, STRIDE = 64 << 10, 128 << 10


def contentOf(number):
    return bytes([number % 251 + 1]) * BLOCK


def write(path, rounds, quiet, to_reader, to_writer):
    with open(to_reader, "wb", buffering=0) as tell, open(to_writer, "rb", buffering=0) as hear:
        fd = -1
        for number in range(rounds):
            if number >= quiet:
                fd = fd if fd >= 0 else os.open(path, os.O_WRONLY)
                os.pwrite(fd, contentOf(number), (number + 1) * STRIDE)
            tell.write(b".")
            hear.read(1)
        os.close(fd)


def read(path, rounds, quiet, to_reader, to_writer):
    with open(to_reader, "rb", buffering=0) as hear, open(to_writer, "wb", buffering=0) as tell:
        fd = os.open(path, os.O_RDONLY)
        stale = []
        for number in range(rounds):
            hear.read(1)
            got = os.pread(fd, BLOCK, (number + 1) * STRIDE)
            if got != (contentOf(number) if number >= quiet else bytes(BLOCK)):
                stale.append(number)
            tell.write(b".")
        os.close(fd)
    print(f"{len(stale)} of {rounds} stale: {stale[:5]}")


def main(role, path, rounds, quiet, to_reader, to_writer):
    (write if role == "write" else read)(path, int(rounds), int(quiet), to_reader, to_writer)


if __name__ == "__main__":
    main(*sys.argv[1:])
