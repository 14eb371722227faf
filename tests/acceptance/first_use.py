"""What several threads use for the first time at the same moment: each of them names the file that it
is, and none is lost. Eight threads meet at a descriptor, a stream, a directory that the process has
from elsewhere, at the beginning of a process, and at what MPI makes.

  first_use.py [ROUNDS]      rounds of each kind and flavour; 80 of them unless it is given
"""

import collections
import os
import sys

from omnio_testing import (FLAVOURS, Checks, WorkDirectory, emptied, mpirun, program, readLog,
                           skipTest, stats, trace)

THREADS = 8
# kind: the call that each thread makes on what is new
KINDS = {"pread": "pread", "stat": "fstat", "dup": "dup", "stream": "fprintf", "directory": "readdir",
         "map": "mmap", "async": "aio_read", "at": None}
ROUNDS_OF_A_PROCESS = 10  # a process costs as much as so many rounds in one
ROUNDS_OF_A_JOB = 50      # as does a job
MPI_RANKS = 2


def fileOf(event):
    return event.get("file") or event["args"].get("path", "")


def plain(call):
    """Without what a compiler makes of a call."""
    for ending in ("64", "_chk"):
        call = call.removesuffix(ending)
    return call.removeprefix("__")


def checkEvents(checks, case, directory, wanted, pick):
    """`wanted`: {(file, descriptor): events}, of those that `pick` chooses. No event is nameless."""
    got = collections.Counter()
    nameless = 0
    for event in readLog(directory):
        nameless += os.path.basename(fileOf(event)) == "?"
        if pick(event):
            got[(fileOf(event), event.get("fd", -1))] += 1
    checks.equal(nameless, 0, f"{case}: events whose file is not known")
    wrong = {key: (got[key], wanted.get(key, 0)) for key in set(got) | set(wanted)
             if got[key] != wanted.get(key, 0)}
    checks.that(not wrong, f"{case}: {len(wrong)} of {len(wanted)} files have another number of events "
                f"than {THREADS}, such as {sorted(wrong.items())[:3]}")
    about = stats(directory)["trace"]
    checks.that(about["whole"], f"{case}: {about['reasons']}")


def checkKind(checks, work, flavour, kind, rounds):
    case = f"{flavour} {kind}"
    home = emptied(os.path.join(work, "home"))
    directory = os.path.join(work, "trace")
    emptied(directory)
    done = trace(directory, [program("first_use"), kind, rounds], flavour=flavour, cwd=home)
    checks.equal(done.status, 0, f"{case}: {done.err!r}")
    made = [line.split(maxsplit=1) for line in done.out.decode().splitlines()]
    checks.equal(len(made), rounds, f"{case}: rounds")
    if kind == "at":
        wanted = {f"{path}/{t}": 1 for _, path in made for t in range(THREADS)}
        got = collections.Counter(fileOf(event) for event in readLog(directory)
                                  if plain(event["call"]) == "openat")
        checks.equal(dict(got), wanted, f"{case}: files opened")
        checkEvents(checks, case, directory, {}, lambda event: False)
        return
    wanted = {(path, int(fd)): THREADS for fd, path in made}
    checkEvents(checks, case, directory, wanted, lambda event: plain(event["call"]) == KINDS[kind])


def checkBegin(checks, work, flavour, processes, options=()):
    """The threads' first calls are the first of the process."""
    case = f"{flavour} begin {' '.join(options)}"
    home = emptied(os.path.join(work, "home"))
    directory = os.path.join(work, "trace")
    emptied(directory)
    script = f"i=0; while [ $i -lt {processes} ]; do {program('first_use')} begin $i > out.$i || exit 1; i=$((i+1)); done"
    done = trace(directory, ["sh", "-c", script], flavour=flavour, options=options, cwd=home)
    checks.equal(done.status, 0, f"{case}: {done.err!r}")
    wanted = {f"{home}/begin.{i}.{t}": 3 for i in range(processes) for t in range(THREADS)}
    wanted |= {f"{home}/out.{i}": THREADS for i in range(processes)}
    checkFiles(checks, case, directory, wanted)


def checkFork(checks, work, flavour, kind, rounds):
    """Threads of a child have its first events."""
    case = f"{flavour} {kind}"
    home = emptied(os.path.join(work, "home"))
    directory = os.path.join(work, "trace")
    emptied(directory)
    out = os.path.join(home, "out")
    command = ["sh", "-c", f"exec {program('first_use')} {kind} {rounds} > out"]
    done = trace(directory, command, flavour=flavour, cwd=home)
    if done.status == 77:
        checks.skip(case, "the C library has no _Fork")
        return
    checks.equal(done.status, 0, f"{case}: {done.err!r}")
    wanted = {f"{home}/{kind}.{i}.{t}": 3 for i in range(rounds) for t in range(THREADS)}
    wanted[out] = rounds * THREADS
    checkFiles(checks, case, directory, wanted)


def checkFiles(checks, case, directory, wanted):
    """{file: events}, and a thread of each process for each of THREADS, told of by its maker."""
    got = collections.Counter()
    threads = collections.defaultdict(set)
    for event in readLog(directory):
        got[fileOf(event)] += 1
        threads[event["pid"]].add(event["tid"])
    wrong = {key: (got[key], wanted.get(key, 0)) for key in set(got) | set(wanted)
             if got[key] != wanted.get(key, 0)}
    checks.that(not wrong, f"{case}: {len(wrong)} of {len(wanted)} files have another number of events, "
                f"such as {sorted(wrong.items())[:3]}")
    few = {pid: tids for pid, tids in threads.items() if len(tids) != THREADS}
    checks.that(not few, f"{case}: processes without all threads: {few}")
    selves = collections.Counter()
    for name in os.listdir(directory):
        if name.endswith(".processes"):
            with open(os.path.join(directory, name), encoding="utf-8") as notes:
                selves.update(int(line.split()[1]) for line in notes if line.startswith("self "))
    unnamed = {pid: selves[pid] for pid in threads if selves[pid] != THREADS - 1}
    checks.that(not unnamed, f"{case}: {len(unnamed)} of {len(threads)} processes do not say which threads "
                f"they have: {sorted(unnamed.items())[:3]}")
    about = stats(directory)["trace"]
    checks.that(about["whole"], f"{case}: {about['reasons']}")


def checkCloseRange(checks, work):
    """A number that a call has closed, and another thread has got before that call returned."""
    home = emptied(os.path.join(work, "home"))
    directory = os.path.join(work, "trace")
    emptied(directory)
    done = trace(directory, [program("c_close_range")], cwd=home)
    if done.status == 77:
        checks.skip("close_range", "this kernel has no close_range")
        return
    checks.equal(done.status, 0, f"close_range: {done.err!r}")
    calls = [(event["call"], os.path.basename(fileOf(event)), event.get("fd")) for event in readLog(directory)
             if not event["call"].startswith("pthread")]
    low = next((fd for call, name, fd in calls if (call, name) == ("open", "other")), -1)
    checks.equal([call for call in calls if call[0] == "close_range"], [("close_range", "closed", 210)],
                 "what close_range has closed")
    checks.equal([call for call in calls if call[1] == "other"],
                 [("open", "other", low), ("dup2", "other", low), ("write", "other", 250),
                  ("write", "other", 250), ("close", "other", 250), ("close", "other", low)],
                 "calls on the file of the other thread")


def checkMpi(checks, work, flavour, jobs):
    """Communicators, counters of messages and a file: each thread has its own, and all is matched."""
    home = emptied(os.path.join(work, "home"))
    directory = os.path.join(work, "trace")
    wanted = {("MPI_Comm_create_group", 0): MPI_RANKS * THREADS, ("MPI_Sendrecv", 1): MPI_RANKS * THREADS,
              ("MPI_Sendrecv", MPI_RANKS): MPI_RANKS * THREADS}
    for job in range(jobs):
        case = f"{flavour} MPI, job {job}"
        emptied(directory)
        path = os.path.join(home, f"mpi.{job}")
        done = trace(directory, [*mpirun(MPI_RANKS), program("c_mpi_first_use"), path], flavour=flavour,
                     cwd=home)
        if done.status == 77:
            checks.skip(case, "this MPI does not give MPI_THREAD_MULTIPLE")
            return
        checks.equal(done.status, 0, f"{case}: {done.err!r}")
        got = collections.Counter()
        made, used, offsets, unmatched = set(), set(), [], 0
        for event in readLog(directory, "--mpi"):
            if "call" not in event:  # the summary
                continue
            args = event["args"]
            unmatched += not event.get("matched", True)
            if event["call"] == "MPI_Comm_create_group":
                got[(event["call"], 0)] += 1
                made.add((event["rank"], args["newcomm"]))
            elif event["call"] == "MPI_Sendrecv":
                size = event["comm"]["size"]
                got[(event["call"], size)] += 1
                if size == 1:
                    used.add((event["rank"], args["comm"]))
                checks.equal(args["seq"], 1, f"{case}: the number of a message")
            elif event["call"] == "MPI_File_write_at":
                checks.equal(fileOf(event), path, f"{case}: file")
                offsets.append(args["offset"])
        checks.equal(dict(got), wanted, f"{case}: calls by size of the communicator")
        checks.equal(len(made), MPI_RANKS * THREADS, f"{case}: communicators that were made")
        checks.equal(used, made, f"{case}: communicators that were used")
        checks.equal(sorted(offsets), list(range(MPI_RANKS * THREADS)), f"{case}: what was written")
        checks.equal(unmatched, 0, f"{case}: calls without a counterpart")
        about = stats(directory)["trace"]
        checks.that(about["whole"], f"{case}: {about['reasons']}")


def main():
    if program("first_use") is None:
        skipTest("first_use was not built")
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 80
    processes = max(rounds // ROUNDS_OF_A_PROCESS, 5)
    checks = Checks()
    with WorkDirectory() as work:
        for flavour in FLAVOURS:
            libraries = os.environ.get("OMNIO_TEST_LIBRARIES", "")
            if not os.path.exists(os.path.join(libraries, f"libomnio_{flavour}.so")):
                checks.skip(flavour, "its library was not built")
                continue
            for kind in KINDS:
                with checks.case(f"{flavour} {kind}"):
                    checkKind(checks, work, flavour, kind, rounds)
            for kind in ("fork", "silent-fork"):
                with checks.case(f"{flavour} {kind}"):
                    checkFork(checks, work, flavour, kind, processes)
            with checks.case(f"{flavour} begin"):
                checkBegin(checks, work, flavour, processes)
            if flavour in ("mpi", "hybrid") and program("c_mpi_first_use") and mpirun(1):
                with checks.case(f"{flavour} MPI"):
                    checkMpi(checks, work, flavour, max(rounds // ROUNDS_OF_A_JOB, 3))
        with checks.case("close_range"):
            checkCloseRange(checks, work)
        with checks.case("begin with call stacks"):
            checkBegin(checks, work, "serial", processes, ("--callstack",))
        with checks.case("begin with a log that is not waited for"):
            checkBegin(checks, work, "serial", processes, ("--when-slow", "drop"))
    checks.finish()


if __name__ == "__main__":
    main()
