"""Which receive got which message, of messages at random that are received from anyone and found
complete in any order: `omnio log --mpi --json` says what the messages themselves said
(tests/programs/c_mpi_random.c).

  mpi_random.py [SEED...]
"""

import os
import sys

from omnio_testing import (Checks, WorkDirectory, emptied, mpirun, program, readLog, skipTest, trace)

RANKS, MESSAGES = 4, 1000
SEEDS = (1, 2)
FLAVOURS = ("mpi", "hybrid")


def callsOf(events, rank, call):
    return [event for event in events if event.get("rank") == rank and event.get("call") == call]


def renumbered(events):
    """How many receives did not get the number in which they were found complete."""
    final = {(event["rank"], event["args"]["request"]): event["seq"]
             for event in events if event.get("call") == "MPI_Irecv"}
    count = 0
    for event in events:
        done = list(event.get("args", {}).get("done", ()))
        while done:
            request, kind = divmod(done.pop(0), 4)
            if kind == 1:  # comm, source, tag, seq, bytes
                count += final[event["rank"], request] != done[3]
            del done[:(0, 5, 1, 0)[kind]]
    return count


def compare(checks, seed, flavour, work):
    name = f"seed {seed} ({flavour})"
    directory, to = emptied(os.path.join(work, "run")), os.path.join(work, "trace")
    emptied(to)
    result = trace(to, [*mpirun(RANKS, "--mca", "mpi_yield_when_idle", "1"),
                        program("c_mpi_random"), str(seed), str(MESSAGES), directory],
                   flavour=flavour)
    if not checks.equal(result.status, 0, f"{name}: status"):
        print(result)
        return
    events = list(readLog(to, "--mpi"))
    sends = {rank: callsOf(events, rank, "MPI_Isend") for rank in range(RANKS)}
    compared, wrong = 0, 0
    for rank in range(RANKS):
        receives = callsOf(events, rank, "MPI_Irecv")
        with open(os.path.join(directory, f"got.{rank}"), encoding="utf-8") as account:
            for line in account:
                posted, sender, number = map(int, line.split())
                counterparts = [(event["rank"], event["event"])
                                for event in receives[posted]["counterparts"]]
                compared += 1
                wrong += counterparts != [(sender, sends[sender][number]["event"])]
    checks.equal(compared, RANKS * MESSAGES, f"{name}: messages")
    checks.equal(wrong, 0, f"{name}: receives with another send than theirs")
    moved = renumbered(events)
    checks.that(moved > 0, f"{name}: nothing was found complete out of order: nothing is shown")
    checks.equal(events[-1]["summary"]["unmatched"], 0, f"{name}: unmatched")
    print(f"{name}: {compared} messages, {wrong} given to another receive; {moved} were found "
          f"complete out of order", flush=True)


def main(seeds):
    if mpirun(2) is None or program("c_mpi_random") is None:
        skipTest("no MPI here")
    checks = Checks()
    with WorkDirectory() as work:
        for place, seed in enumerate(seeds):
            with checks.case(f"seed {seed}"):
                compare(checks, seed, FLAVOURS[place % len(FLAVOURS)], work)
    checks.finish()


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or SEEDS)
