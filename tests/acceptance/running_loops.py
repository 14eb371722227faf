"""Replays run the loops of a schedule: those of a thousand million turns begin at once and stay small, and
the compact form of a trace makes the same system calls as the flat form, in the same order, on one node
and on several.

  running_loops.py [CASE...]    all cases by default
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from omnio_testing import (PATIENCE_S, Checks, WorkDirectory, emptied, environment, mpirun, omnio,
                           program, run, skipTest, trace)
from replay_testing import MPI_ENVIRONMENT, closed, file, opened, replay, schedule, write
from same_system_calls import STRACE, systemCalls

TURNS = 1_000_000_000
MOST_KIB = 64 * 1024   # resident, of a process
BEGINS_S = 400         # a busy machine takes its time; written out, it would take half an hour
OF_MPI = re.compile(r"vader|openmpi|pmix|ompi", re.IGNORECASE)
NODE_PER_PROCESS = {"OMNIO_REPLAY_NODE_PER_PROCESS": "1"}


def moved(**more):
    return {"gap": 5, "duration": 10, "command": "pwrite64", "fd": 0, "count": 4096, "offset": 0,
            "result": 4096, **more}


def at(event):
    return {"gap": 5, "duration": 10, **event}


def loop(*body, turns=TURNS):
    return {"repeat": turns, "body": list(body)}


def endless():
    """Name and schedule: ranks with one thread, or several."""
    wait = [{"id": "{2+2*turn}", "why": "mpi"}]
    yield "one line", [[at(opened("a", 0)), loop(moved())]]
    yield "steps", [[at(opened("a", 0)), loop(moved(offset="{turn}", count=1, result=1))]]
    yield "a file of a turn", [[loop(at(opened("a", "{turn}")), moved(fd="{turn}"), at(closed("{turn}")))]]
    yield "loops in loops", [[at(opened("a", 0)), loop(loop(moved(offset="{4096*turn}"), turns=8),
                                                      turns=TURNS // 8)]]
    yield "ranks that meet", [
        [at(opened("a", 0)), loop(moved(id="{1+2*turn}"), at({"command": "delay", "after": wait}))],
        [at(opened("b", 0)), loop(moved(id="{2+2*turn}", after=[{"id": "{1+2*turn}", "why": "mpi"}]))]]


def document(ranks):
    made = schedule([file("a"), file("b")], ranks=[[[]] for _ in ranks])
    for rank, events in zip(made["ranks"], ranks, strict=True):
        rank["threads"][0]["events"] = events
    return made


def replayers(parent):
    """The processes of omnio-replay below this one."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8") as facts:
                rest = facts.read().rpartition(")")
            is_ours = rest[0].endswith("(omnio-replay")
            if int(rest[2].split()[1]) == parent and is_ours:
                found.append(int(name))
            elif int(rest[2].split()[1]) == parent:
                found += replayers(int(name))
        except OSError:
            continue
    return found


def largest(processes):
    peaks = []
    for process in processes:
        with open(f"/proc/{process}/status", encoding="utf-8") as facts:
            peaks.append(int(re.search(r"VmHWM:\s+(\d+)", facts.read()).group(1)))
    return max(peaks)


def checkPrograms(checks, what, output, most):
    directory = os.path.join(output, "replay-programs")
    sizes = {name: os.path.getsize(os.path.join(directory, name)) for name in os.listdir(directory)}
    checks.that(sizes and max(sizes.values()) <= most, f"{what}: programs of at most {most} bytes: {sizes}")


def checkEndless(checks, work):
    for name, ranks in endless():
        with checks.case(name):
            runEndless(checks, work, name, ranks)


def runEndless(checks, work, name, ranks):
    path = write(os.path.join(work, "endless.json"), document(ranks))
    target, output = os.path.join(work, "target"), os.path.join(work, "out")
    shutil.rmtree(target, ignore_errors=True)
    emptied(output)
    began = time.monotonic()
    with subprocess.Popen([omnio(), "replay", path, "--target", target, "-o", output, "--no-trace"],
                          env=environment(**MPI_ENVIRONMENT), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        try:
            written = os.path.join(target, "tree", "a")
            while process.poll() is None and time.monotonic() - began < BEGINS_S:
                if os.path.exists(written) and os.path.getsize(written) > 0:
                    break
                time.sleep(0.01)
            first = time.monotonic() - began
            checks.that(process.poll() is None and os.path.exists(written) and os.path.getsize(written) > 0,
                        f"{name}: has begun after {first:.2f} s, status {process.returncode}")
            time.sleep(1)
            if process.poll() is None:
                peak = largest(replayers(process.pid))
                checks.that(peak <= MOST_KIB, f"{name}: {peak} KiB resident")
                checkPrograms(checks, name, output, os.path.getsize(path))
                print(f"{name}: the first write after {first:.2f} s, {peak} KiB resident", flush=True)
        finally:
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE_S)
    checks.that(b"interrupted by SIGINT" in err, f"{name}: ended by the signal: {out[-300:]} {err[-500:]}")


def replayedCalls(checks, work, path, what):
    """By thread of a rank, the system calls on the tree. Threads of MPI have others."""
    target, account = os.path.join(work, "target"), os.path.join(work, "strace")
    shutil.rmtree(target, ignore_errors=True)
    done = run([*STRACE, "-o", account, "--", omnio(), "replay", path, "--target", target, "-o",
                emptied(os.path.join(work, "out")), "--no-trace"], env=environment(**MPI_ENVIRONMENT))
    checks.equal(done.status, 0, f"{what}: {done}")
    by_thread = {}
    for thread, call in systemCalls(account, os.path.realpath(os.path.join(target, "tree"))):
        if not OF_MPI.search(str(call)):
            by_thread.setdefault(thread, []).append(str(call))
    return sorted(calls for calls in by_thread.values() if any("out.0" in call for call in calls))


def checkTrace(checks, work):
    """A program whose ranks meet in each turn."""
    recorded = os.path.join(work, "trace")
    directory = emptied(os.path.join(work, "run"))
    traced = trace(recorded, [*mpirun(4), program("c_mpi_turns"), directory, "60"])
    if not checks.equal(traced.status, 0, f"trace: {traced}"):
        return
    flat, compact = os.path.join(work, "flat.json"), os.path.join(work, "compact.json")
    for timing in ("asap", "dt"):
        for path, form in ((flat, "flat"), (compact, "compact")):
            done = run([omnio(), "preprocess", recorded, "-o", path, "--form", form, "--timing", timing])
            checks.equal(done.status, 0, f"preprocess: {done}")
        if timing == "asap" and shutil.which("strace") is not None:
            ours, theirs = (replayedCalls(checks, work, path, name)
                            for path, name in ((compact, "compact"), (flat, "flat")))
            print(f"{sum(map(len, theirs))} system calls in {len(theirs)} threads")
            checks.that(ours == theirs and len(theirs) == 4 and min(map(len, theirs)) > 60 * 5,
                        f"the same system calls: {[len(one) for one in ours]}, {[len(one) for one in theirs]}")
        elif timing == "asap":
            checks.skip("system calls", "needs strace")
        for name, more in (("one node", {}), ("a node for each process", NODE_PER_PROCESS)):
            with checks.case(f"{timing}, {name}"):
                target, output = os.path.join(work, "target"), emptied(os.path.join(work, "out"))
                shutil.rmtree(target, ignore_errors=True)
                done = run([omnio(), "replay", compact, "--target", target, "-o", output],
                           env=environment(**MPI_ENVIRONMENT, **more))
                checks.equal(done.status, 0, f"{timing}, {name}: {done}")
                verified = run([omnio(), "verify", compact, output])
                checks.equal(verified.status, 0, f"{timing}, {name}: {verified.out.decode()}")
    # As it is compiled: the programs of a replay that has ended are gone.
    document = json.loads(open(compact, encoding="utf-8").read())
    checks.that("times" in document["global"], "the schedule has exact times")


def runCases(cases, chosen):
    """The test of all cases, or of those that are chosen by their names."""
    checks = Checks()
    with WorkDirectory() as work:
        for name in chosen or cases:
            with checks.case(name):
                cases[name](checks, work)
    checks.finish()


def main(chosen):
    if mpirun(1) is None:
        skipTest("a replay needs MPI")
    runCases({"endless": checkEndless, "trace": checkTrace}, chosen)


if __name__ == "__main__":
    main(sys.argv[1:])
