"""What a program moves past all wrappers is told; what the tracer, children, pipes, streams and
files that are left out move is not taken for it."""

import os
import shutil

from omnio_testing import Checks, WorkDirectory, mpirun, omnio, program, run, stats, trace

MIB = 8
MOVED = MIB << 20

# Way of c_unseen -> (bytes that are recorded, bytes that are not), each read and written; None where
# there is nothing to tell of.
WAYS = {
    "inline": ((0, 0), (0, MOVED)),
    "calls": ((MOVED, MOVED), (0, 0)),
    "pipe": None,
    "stream": ((MOVED // 65536 * 8, 0), (0, 0)),
    "child": ((MOVED, MOVED), (0, 0)),
    # To a socket and a pipe: the file is read.
    "send": ((MOVED, 0), (0, 0)),
    # The kernel adds what children moved to what their parent did. `cat` and `head` write to pipes.
    "after": ((MOVED, MOVED), (0, MOVED)),
    # However small a part of the whole it is.
    "little": ((0, 100 * MOVED), (0, MOVED)),
    "nothing": None,
}


def pair(document, key):
    return document["trace"][key]["read"], document["trace"][key]["written"]


def isNear(found, wanted):
    return all(abs(a - b) <= b / 100 for a, b in zip(found, wanted))


def checkWays(checks, work):
    for way, wanted in WAYS.items():
        with checks.case(way):
            directory = os.path.join(work, "trace-" + way)
            done = trace(directory, [program("c_unseen"), way, MIB], cwd=work)
            checks.equal(done.status, 0, f"{way}: {done.err!r}")
            if wanted is None:
                said = run([omnio(), "stats", directory])
                checks.that(b"holds no event" in said.err, f"{way}: {said.err!r}")
                continue
            seen, unseen = wanted
            report = stats(directory)
            found = pair(report, "bytes_seen")
            checks.equal(found, seen, f"{way}: bytes seen")
            found = pair(report, "bytes_not_seen_at_least")
            checks.that(isNear(found, unseen), f"{way}: {found} not seen instead of {unseen}")
            checks.equal(report["trace"]["whole"], unseen == (0, 0),
                         f"{way}: whole; {report['trace']['reasons']}")
            if unseen != (0, 0):
                checks.that("calls that are not recorded" in " ".join(report["trace"]["reasons"]),
                            f"{way}: {report['trace']['reasons']}")


def checkSent(checks, work):
    """A replay reads what was sent to a socket and a pipe, in the same pieces."""
    directory, schedule = os.path.join(work, "trace-send"), os.path.join(work, "send.json")
    output = os.path.join(work, "send.replay")
    for command in (["preprocess", directory, "-o", schedule],
                    ["replay", schedule, "--target", os.path.join(work, "target"), "-o", output],
                    ["verify", schedule, output]):
        done = run([omnio(), *command])
        checks.equal(done.status, 0, f"send: {done}")
    if os.path.isdir(output):
        checks.equal(pair(stats(output), "bytes_seen"), (MOVED, 0), "send: bytes of the replay")


def checkUnlogged(checks, work):
    """A program that ends by a system call of its own runs no code of the tracer's any more."""
    ends = [program("c_unseen"), "ends", MIB]
    for name, command in {"command": ends,
                          "child of a shell": ["sh", "-c", " ".join(map(str, ends)) + "; true"],
                          "child": ["python3", "-c", "import subprocess, sys; "
                                    "subprocess.run(sys.argv[1:], check=True)", *map(str, ends)]
                          }.items():
        directory = os.path.join(work, "unlogged-" + name.replace(" ", "-"))
        done = trace(directory, command, cwd=work)
        checks.equal(done.status, 0, f"{name}: {done.err!r}")
        report = stats(directory)["trace"]
        said = [reason for reason in report["reasons"] if "left no log" in reason]
        checks.equal(len(said), 1, f"{name}: {report['reasons']}")
        wanted = "left no log, and wrote 8.00 MiB as the kernel counts"
        checks.that(said and wanted in said[0], f"{name}: {said}")
        checks.that(wanted.encode() in done.err, f"{name}: {done.err!r}")
        checks.that(not report["whole"], f"{name}: whole")
    # What was recorded before is there.
    directory = os.path.join(work, "unlogged-both")
    done = trace(directory, [program("c_unseen"), "both", MIB], cwd=work)
    checks.equal(done.status, 0, f"both: {done.err!r}")
    report = stats(directory)["trace"]
    checks.equal(report["events"], MIB + 3, "both: two opens, the writes by calls, a close")
    checks.equal([reason.partition(" on host ")[2].partition(" ")[2]
                  for reason in report["reasons"]],
                 ["ended by a system call of its own, which no wrapper sees (Go); it wrote 16.0 "
                  "MiB in all, as the kernel counts"], "both: reasons")


def checkNames(checks, work):
    """An application may have the name of a shell or launcher."""
    for name in ("time", "fish", "flux"):
        own = os.path.join(work, "build", name)
        os.makedirs(os.path.dirname(own), exist_ok=True)
        shutil.copy(program("c_unseen"), own)
        directory = os.path.join(work, "named-" + name)
        done = trace(directory, [own, "calls", MIB], cwd=work)
        checks.equal(done.status, 0, f"{name}: {done.err!r}")
        checks.equal(pair(stats(directory), "bytes_seen"), (MOVED, MOVED), f"{name}: bytes seen")


def checkPrivate(checks, work):
    """Pages that are changed in a private mapping are the program's own; the file is read."""
    directory = os.path.join(work, "trace-private")
    done = trace(directory, [program("c_unseen"), "private", MIB], cwd=work)
    checks.equal(done.status, 0, f"private: {done.err!r}")
    report = stats(directory)["trace"]
    checks.that(report["whole"], f"private: {report['reasons']}")
    checks.equal(pair({"trace": report}, "bytes_seen"), (MOVED, 0), "private: bytes seen")


def checkMapped(checks, work):
    """What a program does in a mapping no call tells, nor the kernel: its page tables do."""
    directory = os.path.join(work, "trace-map")
    done = trace(directory, [program("c_unseen"), "map", MIB], cwd=work)
    checks.equal(done.status, 0, f"map: {done.err!r}")
    report = stats(directory)["trace"]
    checks.that(report["whole"], f"map: {report['reasons']}")
    checks.equal(pair({"trace": report}, "bytes_seen"), (0, MOVED), "map: bytes seen")
    # Libraries that are mapped are not the program's data.
    directory = os.path.join(work, "trace-libraries")
    done = trace(directory, ["cat", "calls"], cwd=work)
    checks.equal(done.status, 0, f"libraries: {done.err!r}")
    report = stats(directory)["trace"]
    checks.that(report["whole"], f"libraries: {report['reasons']}")


def checkLeftOut(checks, work):
    """What goes to a file that is left out is not missed."""
    directory = os.path.join(work, "trace-excluded")
    shutil.copy(os.path.join(work, "calls"), os.path.join(work, "original"))
    command = ["tar", "-cf", "copied", "original"]
    done = trace(directory, command, cwd=work,
                 options=["--exclude", "*/copied"])
    checks.equal(done.status, 0, f"excluded: {done.err!r}")
    reasons = [reason for reason in stats(directory)["trace"]["reasons"] if "not recorded" in reason]
    checks.equal(reasons, [], "excluded: what the kernel counts besides")


def checkShell(checks, work):
    """A shell is not traced, and its children are."""
    directory = os.path.join(work, "trace-shell")
    command = f"{program('c_unseen')} calls {MIB}; cp calls copied; true"
    done = trace(directory, ["env", "sh", "-c", command], cwd=work)
    checks.equal(done.status, 0, f"shell: {done.err!r}")
    found = pair(stats(directory), "bytes_not_seen_at_least")
    checks.equal(found, (0, 0), "shell: bytes not seen")


def checkReal(checks, work):
    """Real programs, whose libraries read files of their own."""
    os.makedirs(os.path.join(work, "tree"), exist_ok=True)
    shutil.copy(program("c_unseen"), os.path.join(work, "tree", "one"))
    commands = {"tar": ["tar", "-cf", os.path.join(work, "tree.tar"), "-C", work, "tree"],
                "python": ["python3", "-c", "import json, subprocess, sqlite3; "
                           "subprocess.run(['cp', 'calls', 'again'], check=True)"],
                "git": ["git", "init", "-q", os.path.join(work, "repository")]}
    for name, command in commands.items():
        if shutil.which(command[0]) is None:
            checks.skip(name, f"{command[0]} is not installed")
            continue
        directory = os.path.join(work, "real-" + name)
        done = trace(directory, command, cwd=work)
        checks.equal(done.status, 0, f"{name}: {done.err!r}")
        found = pair(stats(directory), "bytes_not_seen_at_least")
        checks.equal(found, (0, 0), f"{name}: bytes not seen")


def checkMpi(checks, work):
    """Messages over sockets are no I/O that was missed."""
    words = mpirun(2)
    if words is None or program("c_workloads") is None:
        checks.skip("mpi", "there is no MPI")
        return
    for transport in ("self,vader", "self,tcp"):
        directory = os.path.join(work, "mpi-" + transport)
        command = [*words, "--mca", "btl", transport, program("c_workloads"), "collector", "4"]
        done = trace(directory, command, cwd=work)
        checks.equal(done.status, 0, f"{transport}: {done.err!r}")
        found = pair(stats(directory), "bytes_not_seen_at_least")
        checks.equal(found, (0, 0), f"{transport}: bytes not seen")


def main():
    checks = Checks()
    with WorkDirectory() as work:
        checkWays(checks, work)
        checkMapped(checks, work)
        checkSent(checks, work)
        checkPrivate(checks, work)
        checkUnlogged(checks, work)
        checkNames(checks, work)
        checkLeftOut(checks, work)
        checkShell(checks, work)
        checkReal(checks, work)
        checkMpi(checks, work)
    checks.finish()


if __name__ == "__main__":
    main()
