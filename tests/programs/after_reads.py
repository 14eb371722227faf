"""Reads a file at a stride, and right after that does what another user of the file could disturb: what
each call gave is printed, so that two runs can be compared.

  after_reads.py FILE WHAT
"""

import fcntl
import json
import os
import sys
import time

BLOCK, STRIDE, READS = 64 << 10, 128 << 10, 100


def attempt(call, *arguments):
    try:
        return call(*arguments) or 0
    except OSError as problem:
        return problem.strerror


def remove(path, _):
    return [attempt(os.unlink, path), attempt(os.rmdir, os.path.dirname(path))]


def rename(path, fd):
    to = f"{path}.other"
    return [attempt(os.rename, path, to), os.path.exists(path), os.fstat(fd).st_size,
            attempt(os.rename, os.path.dirname(path), os.path.dirname(path) + ".other")]


def truncate(path, fd):
    said = [attempt(os.truncate, path, 1000), os.fstat(fd).st_size]
    got = os.pread(fd, BLOCK, 0), os.pread(fd, BLOCK, STRIDE)
    return [*said, list(map(len, got)), attempt(os.truncate, path, READS * STRIDE),
            os.pread(fd, BLOCK, STRIDE) == bytes(BLOCK)]


def lease(_, fd):
    return [attempt(fcntl.fcntl, fd, fcntl.F_SETLEASE, fcntl.F_RDLCK),
            attempt(fcntl.fcntl, fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)]


def locks(_, fd):
    return [attempt(fcntl.flock, fd, fcntl.LOCK_EX | fcntl.LOCK_NB), attempt(fcntl.flock, fd, fcntl.LOCK_UN)]


def wait(_path, _fd):
    wall = 0x40000000
    return [attempt(os.waitpid, -1, 0), attempt(os.waitpid, -1, wall | os.WNOHANG)]


def descriptors(_path, _fd):
    return sorted(os.listdir("/proc/self/fd"), key=int)


def main(path, what):
    fd = os.open(path, os.O_RDONLY)
    for number in range(READS):
        os.pread(fd, BLOCK, (number + 1) * STRIDE)
        time.sleep(0.0005)
    call = {one.__name__: one for one in (remove, rename, truncate, lease, locks, wait, descriptors)}[what]
    print(json.dumps(call(path, fd)))


if __name__ == "__main__":
    main(*sys.argv[1:])
