"""Reads a block of a file whenever it is told to, so that another program decides when.

  blocks_on_demand.py FILE BYTES    each line on standard input is an offset; answers with a checksum.
                                    After "close" it has closed the file by a system call of its own, past
                                    the C library's close().
"""

import ctypes
import os
import sys
import zlib


CLOSE = {"x86_64": 3, "aarch64": 57}


def main(path, size):
    fd = os.open(path, os.O_RDONLY)
    print("open", flush=True)
    for line in iter(sys.stdin.readline, "close\n"):
        if not line:
            os.close(fd)
            return
        print(zlib.crc32(os.pread(fd, int(size), int(line))), flush=True)
    print(ctypes.CDLL(None).syscall(CLOSE[os.uname().machine], fd), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
