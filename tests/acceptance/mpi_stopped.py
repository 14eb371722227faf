"""Recording that is stopped for a while in one of two ranks: what both have recorded is matched as
ever, what one has not is unmatched in the other, and nothing is matched with its neighbour instead.
Messages are known by their bytes (c_mpi_stopped).
"""

import os

from omnio_testing import (Checks, WorkDirectory, mpirun, program, readLog, skipTest, trace)


def plainName(symbol):
    return symbol[1:] if symbol.startswith("PMPI_") else symbol


def bytesOf(event):
    return event["args"].get("count", event["args"].get("got"))


def main():
    command = mpirun(2)
    if command is None or program("c_mpi_stopped") is None:
        skipTest("no MPI here")
    checks = Checks()
    with WorkDirectory() as work:
        to = os.path.join(work, "trace")
        result = trace(to, [*command, program("c_mpi_stopped")])
        checks.equal(result.status, 0, "status")
        lines = list(readLog(to, "--mpi"))
    events = {(line["rank"], line["event"]): line for line in lines[:-1]}
    own = {}  # (rank, call): [(bytes, matched)]
    for event in events.values():
        call = plainName(event["call"])
        if event["args"].get("tag") != 5 and call != "MPI_Bcast":
            continue
        own.setdefault((event["rank"], call), []).append((bytesOf(event), event["matched"]))
        for counterpart in event["counterparts"] if event["matched"] else ():
            other = events[counterpart["rank"], counterpart["event"]]
            checks.equal(bytesOf(other), bytesOf(event), f"bytes of the counterpart of {event}")
    recorded = [1, 2, 3, 4, 8, 9, 10, 11, 12]  # by rank 0
    everything = [(size, size in recorded) for size in range(1, 13)]
    for call in ("MPI_Send", "MPI_Bcast"):
        checks.equal(sorted(own[0, call]), [(size, True) for size in recorded], f"{call} of rank 0")
    for call in ("MPI_Recv", "MPI_Bcast"):
        checks.equal(sorted(own[1, call]), everything, f"{call} of rank 1")
    # The receives that were begun or completed unseen, and the one behind them.
    last = [event for event in events.values()
            if event["rank"] == 0 and event["call"] == "MPI_Recv"]
    checks.equal([[(one["rank"], bytesOf(events[one["rank"], one["event"]]))
                   for one in event["counterparts"]] for event in last], [[(1, 14)]],
                 "what the last receive got")
    summary = lines[-1]["summary"]
    print(f"unmatched: {summary['unmatched']}")
    checks.that(summary["unmatched"] >= 7, f"what is alone is counted: {summary}")
    checks.finish()


if __name__ == "__main__":
    main()
