"""What callbacks do inside another MPI call, and calls that fail, as the freeing of a communicator
may: everything else is matched with its own counterpart, and with nothing else.
"""

import collections
import os
import sys

from omnio_testing import (Checks, WorkDirectory, mpirun, omnio, program, readLog, run,
                           skipTest)

TURNS = 20
KNOWN, MADE_INSIDE, STILL_THERE, FOUND_INSIDE, SENT_INSIDE = range(1, 6)  # tags of c_mpi_frees.c
NO_GROUP = "the trace does not say which group or message it was"
NOT_IN_LOG = "the counterpart is not in its rank's log"


def main():
    if mpirun(2) is None or program("c_mpi_frees") is None:
        skipTest("there is no MPI")
    checks = Checks()
    with WorkDirectory() as work:
        to = os.path.join(work, "trace")
        result = run([omnio(), "trace", "-o", to, "--", *mpirun(2), program("c_mpi_frees"),
                      str(TURNS)])
        checks.equal(result.status, 0, f"status ({result.err.decode()})")
        *events, last = list(readLog(to, "--mpi"))
        tags = {(event["rank"], event["event"]): event["args"].get("tag") for event in events}
        seen = collections.defaultdict(list)  # (rank, tag): (call, why it is not matched)
        for event in events:
            if event["failed"] or "tag" not in event["args"]:
                continue
            tag = event["args"]["tag"]
            seen[event["rank"], tag].append((event["call"], event.get("unmatched")))
            checks.that(all(tags[other["rank"], other["event"]] == tag
                            for other in event["counterparts"]),
                        f"{event['call']} of tag {tag} in rank {event['rank']} is matched with "
                        f"another message: {event}")
        exchange = "MPI_Sendrecv"
        for rank in (0, 1):
            for tag, wanted in ((KNOWN, [(exchange, None)] * TURNS),
                                (MADE_INSIDE, [(exchange, NO_GROUP)] * TURNS),
                                (STILL_THERE, [(exchange, None)])):
                checks.equal(seen[rank, tag], wanted, f"rank {rank}: messages of tag {tag}")
        checks.equal(seen[0, FOUND_INSIDE],
                     [("MPI_Irecv", "never found complete"), ("MPI_Recv", None)],
                     "receives, of which the first was found complete inside")
        checks.equal(seen[1, FOUND_INSIDE], [("MPI_Send", NOT_IN_LOG), ("MPI_Send", None)],
                     "sends to them")
        checks.equal(seen[0, SENT_INSIDE], [("MPI_Send", None)],
                     "sends, but for the one that was made inside")
        checks.equal(seen[1, SENT_INSIDE], [("MPI_Recv", NOT_IN_LOG), ("MPI_Recv", None)],
                     "receives of both")
        for call in ("MPI_Comm_free", "MPI_Win_start", "MPI_Win_complete"):
            checks.equal([event["rank"] for event in events
                          if event["call"] == call and event["failed"]].count(0), 1,
                         f"{call} that failed in rank 0")
        for call, of in last["summary"]["collectives"].items():
            checks.equal(of["matched"], of["count"], f"{call} and how many are matched")
    checks.finish()


if __name__ == "__main__":
    sys.exit(main())
