"""One wait for more requests than a record holds: all of them are in the trace, and each message is
matched.
"""

import json
import os
import sys

from omnio_testing import (Checks, WorkDirectory, mpirun, omnio, program, readLog, run,
                           skipTest)

REQUESTS = 6000  # of each kind, in each of two ranks


def main():
    if mpirun(2) is None or program("c_mpi_many") is None:
        skipTest("there is no MPI")
    checks = Checks()
    with WorkDirectory() as work:
        to = os.path.join(work, "trace")
        result = run([omnio(), "trace", "-o", to, "--", *mpirun(2), program("c_mpi_many"),
                      str(REQUESTS)])
        checks.equal(result.status, 0, f"status ({result.err.decode()})")
        listed = run([omnio(), "log", "--mpi", "--json", to])
        checks.equal(listed.status, 0, f"log --mpi ({listed.err.decode()})")
        events = [json.loads(line) for line in listed.out.splitlines()]
        for rank in (0, 1):
            more = [event for event in readLog(to) if event["call"] == "(completed)"
                    and event["rank"] == rank]
            checks.that(more, f"rank {rank}: {2 * REQUESTS} requests were in one record")
            own = [event for event in events if event.get("rank") == rank]
            waits = [event for event in own if event["call"] == "MPI_Waitall"]
            checks.equal(len(waits), 1, f"rank {rank}: waits")
            done = [request for event in waits for request in event["requests"]]
            received = [request for request in done if request["kind"] == "receive"]
            checks.that(sorted(request["tag"] for request in received) == list(range(REQUESTS)),
                        f"rank {rank}: tags of the {len(received)} that were received")
            checks.that(all(request["match"] == "matched" for request in done),
                        f"rank {rank}: all are matched")
            begun = [event["args"]["request"] for event in own
                     if event["call"] in ("MPI_Irecv", "MPI_Isend")]
            checks.equal(len(begun), 2 * REQUESTS, f"rank {rank}: requests begun")
            # What was complete at once has the number 0.
            checks.that(sorted(request["request"] for request in done) ==
                        sorted(number for number in begun if number != 0),
                        f"rank {rank}: the {len(done)} requests that were found complete")
            print(f"rank {rank}: {len(done)} requests in {1 + len(more)} records")
    checks.finish()


if __name__ == "__main__":
    sys.exit(main())
