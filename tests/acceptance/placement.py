"""Which process replays which recorded ranks: the processes in the trace of the replay, and what the report
says of them."""

import os
import re

from omnio_testing import emptied, readLog, runCases
from replay_testing import closed, file, numbersIn, opened, replay, report, schedule, write

RANKS = 10
# Two nodes, and ranks dealt out to them in turn.
HOSTS = [f"node{rank % 2}" for rank in range(RANKS)]
WANTED = {
    ("round-robin", 4): ["0, 4, 8", "1, 5, 9", "2, 6", "3, 7"],
    ("block", 4): ["0-2", "3-4", "5-7", "8-9"],
    ("recorded", 4): ["0, 2, 4", "6, 8", "1, 3, 5", "7, 9"],
    ("block", 1): ["0-9"],
    ("recorded", 12): ["0", "2", "4", "6", "8", "1", "3", "5", "7", "9", "", ""],
    ("round-robin", 12): [*(str(rank) for rank in range(RANKS)), "", ""],
}


def document(files, ranks):
    made = schedule(files, ranks=ranks)
    for rank in made["ranks"]:
        for thread in rank["threads"]:
            thread["host"] = HOSTS[rank["rank"]]
    return made


def checkPlaces(checks, work):
    # A baton, so that ranks of different processes wait for each other.
    ranks = [[[opened(f"out.{rank}", 0, id=rank + 1, **({"after": [rank]} if rank else {})),
               closed(0)]] for rank in range(RANKS)]
    path = write(os.path.join(work, "baton.json"),
                 document([file(f"out.{rank}") for rank in range(RANKS)], ranks))
    target = os.path.join(work, "target")
    for (place, processes), wanted in WANTED.items():
        what = f"{place}, {processes} processes"
        output = emptied(os.path.join(work, "replay"))
        options = [] if place == "round-robin" else ["--place", place]
        done = replay(path, target, output, "--fresh", "-n", str(processes), *options)
        if not checks.equal(done.status, 0, f"{what}: {done}"):
            continue
        facts = report(output)
        checks.equal(facts["place"], place, f"{what}: place")
        checks.equal(facts["ranks_by_process"], wanted, f"{what}: ranks by process")
        idle = [number for number, ranks in enumerate(wanted) if not ranks]
        checks.equal(numbersIn(facts["idle_processes"]), idle, f"{what}: idle")
        # By the trace: ranks with the same pid share a process.
        together = {}
        for thread in facts["threads"]:
            together.setdefault(thread["pid"], []).append(thread["rank"])
        checks.equal(sorted(map(sorted, together.values())),
                     sorted(numbersIn(ranks) for ranks in wanted if ranks), f"{what}: by pid")
        by_pid = {}
        for event in readLog(output):
            name = re.search(r"out\.(\d+)$", event.get("file") or "")
            if name and event["call"] == "open":
                by_pid.setdefault(event["pid"], []).append(int(name[1]))
        checks.equal(sorted(map(sorted, by_pid.values())),
                     sorted(numbersIn(ranks) for ranks in wanted if ranks), f"{what}: in the trace")
        text = done.out.decode()
        if processes < RANKS:
            checks.that(f"Ranks share processes ({place}): process 0: {wanted[0]}" in text,
                        f"{what}: the text: {text}")
        else:
            checks.that("Ranks share" not in text, f"{what}: no rank shares: {text}")
            checks.that("Processes without ranks: 10-11\n" in text, f"{what}: idle: {text}")


def checkMpi(checks, work):
    """Calls of MPI-IO need a process for each rank, whatever the place; the ranks then have the
    processes of their numbers."""
    ranks = []
    for _ in range(4):
        ranks.append([[
            {"command": "MPI_File_open", "location": "out", "group": 0,
             "amode": "MPI_MODE_CREATE|MPI_MODE_RDWR", "result": 0},
            {"command": "MPI_File_close", "fd": 0, "result": 0}]])
    made = document([file("out")], ranks)
    made["global"]["mpi"] = {"groups": [[0, 1, 2, 3]], "types": []}
    path = write(os.path.join(work, "mpi.json"), made)
    target, output = os.path.join(work, "mpi"), os.path.join(work, "mpi.replay")
    refused = replay(path, target, output, "-n", "2", "--place", "block")
    print(f"MPI-IO: {refused.err.decode().strip()}")
    checks.equal(refused.status, 1, f"MPI-IO, two processes: {refused}")
    lines = refused.err.decode().splitlines()
    checks.that(len(lines) == 1 and "needs a process for each of its 4 ranks" in lines[0],
                f"MPI-IO, two processes: one sentence: {lines}")
    checks.that(not os.path.exists(output), "MPI-IO, two processes: nothing is left")


if __name__ == "__main__":
    runCases(checkPlaces, checkMpi)
