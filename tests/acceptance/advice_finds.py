"""omnio advise: for the rules on access patterns, locks, buffers and the balance of bytes, a program
that does what the rule finds, and one that does not. advice_helps.py has the other rules, with times.

The rules here count requests, bytes and ranks. A share of a time, which a busy machine can make larger or
smaller, is not asked for: the unit tests of the advice have it."""

import os

from advice_helps import codesOf, python
from omnio_testing import Checks, WorkDirectory, emptied, mpirun, run, trace

INPUT_BYTES = 24 << 20
# Any share of the run is I/O enough, and no time in locks too long: those that are refused count.
SETTINGS = {"least-io-share": 0, "lock-share": 2}

# Requests of a size, each at turn * step + first.
PIECES = """
import os, sys
size, step, first = map(int, sys.argv[1:])
fd = os.open("data", os.O_RDWR | os.O_CREAT)
for turn in range(300): os.pwrite(fd, bytes(size), turn * step + first)
"""
LOOKUPS = """
import os, random, sys
fd = os.open("input", os.O_RDONLY)
blocks = list(range(1000))
if sys.argv[1] == "shuffled": random.Random(1).shuffle(blocks)
for block in blocks: os.pread(fd, 4096, block * 4096)
"""
AGAIN = """
import os, sys
for turn in range(int(sys.argv[1])):
    fd = os.open("input", os.O_RDONLY)
    while os.read(fd, 1 << 20): pass
    os.close(fd)
"""
BACK = """
import os, sys
fd = os.open("data", os.O_RDWR | os.O_CREAT)
for turn in range(300):
    os.pwrite(fd, bytes(4096), turn * 4096)
    if sys.argv[1] == "each": os.pread(fd, 4096, turn * 4096)
if sys.argv[1] == "once":
    for turn in range(300): os.pread(fd, 4096, turn * 4096)
"""
LOCKS = """
import fcntl, os, sys
one, other = (os.open("data", os.O_RDWR | os.O_CREAT) for turn in range(2))
fcntl.flock(one, fcntl.LOCK_EX)
if sys.argv[1] == "free": fcntl.flock(one, fcntl.LOCK_UN)
for turn in range(300):
    try: fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError: pass
    os.pwrite(other, bytes(1 << 20), turn << 20)
"""
STREAMS = """
import ctypes, sys
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
stream = ctypes.c_void_p(libc.fopen(b"data", b"w"))
if sys.argv[1] == "unbuffered": libc.setvbuf(stream, None, 2, 0)
for turn in range(300): libc.fwrite(b"x" * 100, 1, 100, stream)
libc.fclose(stream)
"""
SHARES = """
import os, sys
rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK")))
with open(f"part.{rank}", "wb", buffering=0) as out:
    for turn in range(int(sys.argv[1]) if rank == 0 else 20): out.write(bytes(1 << 20))
"""


def cases():
    yield "misaligned", python(PIECES, 8192, 8192, 100), python(PIECES, 8192, 8192, 0), None
    yield "random", python(LOOKUPS, "shuffled"), python(LOOKUPS, "sorted"), None
    yield "redundant-reads", python(AGAIN, 6), python(AGAIN, 1), None
    yield "read-after-write", python(BACK, "each"), python(BACK, "once"), None
    yield "lock-contention", python(LOCKS, "held"), python(LOCKS, "free"), None
    yield "tiny-buffers", python(STREAMS, "unbuffered"), python(STREAMS, "buffered"), None
    yield "uneven-bytes", python(SHARES, 60), python(SHARES, 20), 4
    yield "uneven-bytes", python(SHARES, 140), python(SHARES, 50), 2


def codesOfProgram(checks, work, words, ranks):
    directory = emptied(os.path.join(work, "run"))
    with open(os.path.join(directory, "input"), "wb") as file:
        file.write(bytes(INPUT_BYTES))
    to = os.path.join(work, "trace")
    run(["rm", "-rf", to])
    result = trace(to, mpirun(ranks) + words if ranks else words,
                   options=["--exclude", "/*", "--include", directory + "/*"], cwd=directory)
    checks.equal(result.status, 0, f"{words}: {result}")
    return codesOf(checks, work, to, SETTINGS)


def main():
    checks = Checks()
    with WorkDirectory() as work:
        work = os.path.realpath(work)
        for code, found, not_found, ranks in cases():
            if ranks and mpirun(ranks) is None:
                checks.skip(code, "no MPI launcher")
                continue
            with checks.case(code):
                codes = codesOfProgram(checks, work, found, ranks)
                checks.that(code in codes, f"{code} is not found: {codes}")
                codes = codesOfProgram(checks, work, not_found, ranks)
                checks.that(code not in codes, f"{code} is found: {codes}")
    return checks.finish()


if __name__ == "__main__":
    main()
