"""omnio advise: for eight rules a program that does what the rule finds, and one that does the same as
it advises, both on slow storage. The rule finds the first and not the second, and the second has at most
half the I/O time: the requests that it saves cost a fixed latency each. The time is the storage's own:
what it planned for the requests that it got, and no more of that than the slowest rank's part.

Rules that ask for a share of a time, too, have settings by which any share is enough: the times that a
trace has are those of a busy machine. The unit tests of the advice have the shares."""

import json
import os
import sys

from omnio_testing import (Checks, WorkDirectory, emptied, mpirun, omnio, program, run, stats, trace)
from slow_storage import SlowStorage, needSlowStorage

SLOW = ("--read-us", 500, "--write-us", 500, "--metadata-us", 500, "--sync-us", 2000)
ANY_SHARE = {"least-io-share": 0, "sync-share": 0}

WRITE = """
import os, sys
size, count, syncs = map(int, sys.argv[1:])
fd = os.open("data", os.O_WRONLY | os.O_CREAT)
for turn in range(count):
    os.write(fd, bytes(size))
    if (turn + 1) % (count // syncs if syncs else count + 1) == 0: os.fsync(fd)
os.close(fd)
"""
READ = """
import os, sys
fd = os.open("input", os.O_RDONLY)
while os.read(fd, int(sys.argv[1])): pass
os.close(fd)
"""
APPEND = """
import os, sys
fd = -1
for turn in range(200):
    if fd < 0 or sys.argv[1] == "again":
        fd = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    if turn % 20 == 0: os.write(fd, bytes(1 << 20))
    if sys.argv[1] == "again": os.close(fd)
"""
FILES = """
import os, sys
fd = -1
for turn in range(1100):
    if fd < 0 or sys.argv[1] == "many":
        fd = os.open(f"out.{turn}", os.O_WRONLY | os.O_CREAT)
    os.write(fd, bytes(1000))
    if sys.argv[1] == "many": os.close(fd)
"""
LOOK = """
import os, sys
folders = int(sys.argv[1])
for module in range(20):
    for folder in range(folders):
        try: os.close(os.open(f"path{folder}/module{module}", os.O_RDONLY))
        except OSError: pass
    os.close(os.open("input", os.O_RDONLY))
"""
# Each rank that writes has a part of 64 MiB.
GATHER = """
import os, sys
ranks, rank = 4, int(os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK")))
writers = 1 if sys.argv[1] == "one" else ranks
if rank < writers:
    fd = os.open(f"part.{rank}", os.O_WRONLY | os.O_CREAT)
    for turn in range(512 // writers): os.write(fd, bytes(1 << 17))
    os.close(fd)
"""


def python(script, *words):
    return [sys.executable, "-c", script, *[str(word) for word in words]]


def cases():
    yield "small-writes", python(WRITE, 4096, 512, 0), python(WRITE, 1 << 20, 2, 0), None
    yield "small-reads", python(READ, 4096), python(READ, 1 << 20), None
    yield "sync-often", python(WRITE, 1 << 19, 64, 64), python(WRITE, 1 << 19, 64, 1), None
    yield "many-opens", python(APPEND, "again"), python(APPEND, "once"), None
    yield "small-files", python(FILES, "many"), python(FILES, "one"), None
    yield "failed-calls", python(LOOK, 10), python(LOOK, 1), None
    yield "one-rank", python(GATHER, "one"), python(GATHER, "all"), 4
    kernels = program("c_kernels")
    yield ("independent-mpi-io", [kernels, "btio-simple", "24", "2", "0"],
           [kernels, "btio-full", "24", "2", "0"], 4)


def codesOf(checks, work, to, settings):
    """The codes of the findings of a trace."""
    path = os.path.join(work, "settings")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{name} = {value}\n" for name, value in settings.items())
    result = run([omnio(), "advise", to, "--json", "--settings", path])
    checks.equal(result.status, 0, f"{result}")
    return {finding["code"] for finding in json.loads(result.out)["findings"]}


def planned(storage):
    return sum(storage.counts()["planned_us"].values())


def measured(checks, work, storage, words, ranks):
    """The codes of the findings, and the I/O time of the slowest rank in microseconds."""
    directory = emptied(os.path.join(storage.path, "run"))
    with open(os.path.join(directory, "input"), "wb") as file:
        file.write(bytes(1 << 20))
    to = os.path.join(work, "trace")
    run(["rm", "-rf", to])
    command = mpirun(ranks) + words if ranks else words
    before = planned(storage)
    # Python's reading of its own files is not the program's I/O.
    result = trace(to, command, options=["--exclude", "/*", "--include", storage.path + "/*"], cwd=directory)
    checks.equal(result.status, 0, f"{words}: {result}")
    took_us = planned(storage) - before
    codes = codesOf(checks, work, to, ANY_SHARE)
    calls = [group["time_ns"]["count"] for group in stats(to, "--by", "rank")["groups"]]
    return codes, took_us * max(calls) / sum(calls)


def main():
    needSlowStorage()
    checks = Checks()
    with WorkDirectory() as work, SlowStorage(work, *SLOW) as storage:
        for code, before, after, ranks in cases():
            if ranks and mpirun(ranks) is None:
                checks.skip(code, "no MPI launcher")
                continue
            with checks.case(code):
                codes, took_us = measured(checks, work, storage, before, ranks)
                checks.that(code in codes, f"{code} is not found: {codes}")
                codes, after_us = measured(checks, work, storage, after, ranks)
                checks.that(code not in codes, f"{code} is found in spite of the change")
                print(f"{code}: {took_us / 1000:.0f} ms, and {after_us / 1000:.0f} ms as advised "
                      f"({took_us / after_us:.1f} times as fast)")
                checks.that(0 < after_us * 2 < took_us, f"{code}: {took_us} us, and {after_us} us as advised")
    return checks.finish()


if __name__ == "__main__":
    main()
