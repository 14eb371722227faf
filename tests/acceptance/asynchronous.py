"""Asynchronous I/O by aio.h: the trace has each operation twice, when it was begun and when the
program learnt of its end, with the offset, size and result that the program says itself. The replay
leaves the files that the program left, and verify finds no difference. The same of nonblocking
MPI-IO, which Open MPI does by these calls.
"""

import errno
import os

from omnio_testing import (Checks, WorkDirectory, environment, emptied, mpirun, program,
                           readLog, run, stats, trace)
from replay_testing import MPI_ENVIRONMENT, checkRoundTrip

CASES = ("queue", "poll", "list", "ends", "thread", "forgotten")
BEGINS = {"aio_read": "read", "aio_read64": "read", "(lio_read)": "read", "aio_write": "write",
          "aio_write64": "write", "(lio_write)": "write"}
ENDS = {"(aio_read_end)": "read", "(aio_write_end)": "write"}
OMPIO = ("--mca", "io", "ompio")


def sizesOf(directory):
    return {name: os.path.getsize(os.path.join(directory, name)) for name in os.listdir(directory)}


def checkLog(checks, name, events, told):
    """`told`: what the program printed, one (kind, offset, asked, result) an operation."""
    begun, ended = {}, []
    for event in events:
        call, args = event["call"], event["args"]
        if call in BEGINS:
            checks.that(args["request"] not in begun, f"{name}: {event} is begun once")
            begun[args["request"]] = (BEGINS[call], args["offset"], args["count"])
        elif call in ENDS:
            begin = begun.pop(args["request"], None)
            checks.equal(begin, (ENDS[call], args["offset"], args["count"]), f"{name}: begin of {event}")
            result = -getattr(errno, event["errno"]) if event["failed"] else event["result"]
            ended.append((ENDS[call], args["offset"], args["count"], result))
    checks.equal(begun, {}, f"{name}: operations without an end")
    checks.equal(sorted(ended), sorted(told), f"{name}: operations")


def checkReplay(checks, work, name, directory, left):
    """The replay of the trace leaves files of the same sizes."""
    tree = checkRoundTrip(checks, work, name, directory)
    if tree is not None:
        checks.equal(sizesOf(tree), left, f"{name}: files of the replay")


def checkProgram(checks, work, binary, case):
    name = f"{binary}-{case}"
    home = emptied(os.path.join(work, name))
    directory = os.path.join(work, name + "-trace")
    done = trace(directory, [program(binary), case], cwd=home)
    checks.equal(done.status, 0, f"{name}: {done.err!r}")
    untraced = run([program(binary), case], cwd=emptied(os.path.join(work, "untraced")))
    checks.equal(done.out, untraced.out, f"{name}: what it prints")
    told = []
    for line in done.out.decode().splitlines():
        _, kind, *numbers = line.split()
        told.append((kind, *map(int, numbers)))
    checkLog(checks, name, list(readLog(directory)), told)
    whole = stats(directory)["trace"]
    checks.that(whole["whole"], f"{name}: {whole['reasons']}")
    moved = sum(max(result, 0) for kind, _, _, result in told if kind == "write")
    checks.equal(whole["bytes_seen"]["written"], moved, f"{name}: bytes written")
    checkReplay(checks, work, name, directory, sizesOf(home))


def checkClosed(checks, work):
    """Who closes a file before its operations are over never learns of them by that descriptor: what
    they moved is told as not seen."""
    home = emptied(os.path.join(work, "closed"))
    directory = os.path.join(work, "closed-trace")
    done = trace(directory, [program("c_aio"), "closed"], cwd=home)
    checks.equal(done.status, 0, f"closed: {done.err!r}")
    checks.equal(sizesOf(home), {"closed": 96000}, "closed: what it wrote")
    whole = stats(directory)["trace"]
    seen = whole["bytes_seen"]["written"] + whole["bytes_not_seen_at_least"]["written"]
    checks.that(abs(seen - 96000) < 2000, f"closed: {whole}")


def checkMpi(checks, work, how):
    words = mpirun(4, *OMPIO)
    if words is None or program("c_mpi_async") is None:
        checks.skip("mpi", "there is no MPI")
        return
    name = f"mpi-{how}"
    home = emptied(os.path.join(work, name))
    directory = os.path.join(work, name + "-trace")
    done = trace(directory, [*words, program("c_mpi_async"), how], cwd=home,
                 env=environment(**MPI_ENVIRONMENT))
    if not checks.equal(done.status, 0, f"{name}: {done.err!r}"):
        return
    mib = 1 << 20
    checks.equal(sizesOf(home), {"async": 36 * mib}, f"{name}: what it wrote")
    moved = {"read": 0, "write": 0}
    for event in readLog(directory):
        if event["call"] in ENDS and not event["failed"]:
            moved[ENDS[event["call"]]] += event["result"]
    checks.equal(moved, {"read": 32 * mib, "write": 36 * mib}, f"{name}: bytes of the operations")
    whole = stats(directory)["trace"]
    checks.that(whole["whole"], f"{name}: {whole['reasons']}")
    checkReplay(checks, work, name, directory, sizesOf(home))


def main():
    checks = Checks()
    with WorkDirectory() as work:
        for binary in ("c_aio", "c_aio_lfs"):
            for case in CASES:
                with checks.case(f"{binary} {case}"):
                    checkProgram(checks, work, binary, case)
        with checks.case("closed"):
            checkClosed(checks, work)
        for how in ("wait", "test"):
            with checks.case(f"mpi {how}"):
                checkMpi(checks, work, how)
    checks.finish()


if __name__ == "__main__":
    main()
