"""A rank of an MPI job dies, and the launcher ends the others: what all of them had done before is
in the trace, rank by rank, and the trace says that it is not whole.
"""

import os
import re
import time

from omnio_testing import (PATIENCE_S, Checks, WorkDirectory, emptied, mpirun, omnio, program,
                           readLog, ringsOf, run, skipTest, stats)

RANKS = 4
WRITES = 32  # by each rank into its own file, and again into the shared one; as in c_mpi.c
WAYS = ("kill", "segv", "abort", "exit")


def stateOfTheDead(trace_directory):
    """The launcher may have ended before the last of the ranks that it killed."""
    until = time.monotonic() + PATIENCE_S
    while True:
        state = stats(trace_directory)["trace"]
        running = any("running" in reason for reason in state["reasons"])
        if not running or time.monotonic() > until:
            return state
        time.sleep(0.1)


def checkDeath(checks, form, way, trace_directory, directory):
    what = f"{form}, rank 1 ends by {way}"
    state = stateOfTheDead(trace_directory)
    print(f"{what}: {state['events']} events, {state['events_missing']} missing; "
          f"{state['reasons']}")
    checks.equal((state["ranks_expected"], state["ranks_reporting"], state["events_missing"]),
                 (RANKS, RANKS, 0), f"{what}: ranks expected, reporting, events missing")
    checks.that(not any("running" in reason for reason in state["reasons"]),
                f"{what}: no rank survives its job: {state['reasons']}")
    if way != "exit":  # a rank that calls _exit has ended by itself
        checks.that(not state["whole"] and state["reasons"], f"{what}: not whole, with a reason")
    writes = {}
    for event in readLog(trace_directory):
        if event["class"] == "write" and (event.get("file") or "").startswith(directory + "/"):
            key = (event["rank"], os.path.basename(event["file"]))
            writes[key] = writes.get(key, 0) + 1
    wanted = {(rank, name): WRITES for rank in range(RANKS)
              for name in (f"each.{rank}", "shared")}
    checks.equal(writes, wanted, f"{what}: writes by rank and file")


def main():
    app = program("c_mpi")
    if app is None or mpirun(RANKS) is None:
        skipTest("there is no MPI")
    checks = Checks()
    with WorkDirectory() as work:
        directory = os.path.join(work, "run")
        for way in WAYS:
            plain = run([*mpirun(RANKS), app, emptied(directory), way])
            checks.that(plain.status != 0, f"untraced, rank 1 ends by {way}: the job fails")
            for form, command in (
                    ("omnio trace -- mpirun", lambda to, way: [
                        omnio(), "trace", "-o", to, "--", *mpirun(RANKS), app, directory, way]),
                    ("mpirun omnio trace", lambda to, way: [
                        *mpirun(RANKS), omnio(), "trace", "-o", to, "--", app, directory, way])):
                with checks.case(f"{form}, {way}"):
                    emptied(directory)
                    to = os.path.join(work, re.sub(r"\W+", "-", f"{form} {way}"))
                    got = run(command(to, way))
                    if form.startswith("omnio"):
                        checks.equal(got.status, plain.status, f"{form}, {way}: exit status")
                    else:
                        checks.that(got.status != 0, f"{form}, {way}: the job fails")
                    checkDeath(checks, form, way, to, directory)
                    # Where the launcher killed omnio trace too, the last events wait in memory.
                    checks.equal(run([omnio(), "collect", to]).status, 0, f"{form}, {way}: collect")
                    checkDeath(checks, f"{form}, collected", way, to, directory)
        left = ringsOf(work)
        checks.that(not left, f"nothing stays in /dev/shm: {left[:5]}")
    checks.finish()


if __name__ == "__main__":
    main()
