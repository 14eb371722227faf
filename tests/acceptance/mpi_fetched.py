"""A send that waits for its receiver, of a message that a matched probe took: it waits until the
message is fetched (MPI_Mrecv, MPI_Imrecv), and its counterpart is the probe all the same.
"""

import os
import sys

from omnio_testing import (Checks, WorkDirectory, mpirun, omnio, program, readLog, run, skipTest)


def main():
    if mpirun(2) is None or program("c_mpi_fetched") is None:
        skipTest("there is no MPI")
    checks = Checks()
    with WorkDirectory() as work:
        to = os.path.join(work, "trace")
        result = run([omnio(), "trace", "-o", to, "--", *mpirun(2), program("c_mpi_fetched")])
        checks.equal(result.status, 0, f"status ({result.err.decode()})")
        *events, last = list(readLog(to, "--mpi"))
        checks.equal(last["summary"]["unmatched"], 0, "unmatched")
        sent = [event for event in events
                if event["rank"] == 0 and event["call"] in ("MPI_Ssend", "MPI_Send", "MPI_Wait")]
        fetches = [event for event in events if event["call"] in ("MPI_Mrecv", "MPI_Imrecv")]
        probes = [event for event in events if event["call"] == "MPI_Mprobe"]
        checks.equal((len(sent), len(fetches), len(probes)), (3, 3, 3), "calls")
        for send, fetch, probe in zip(sent, fetches, probes):
            what = f"{send['call']} that was fetched by {fetch['call']}"
            checks.that(send["end_ns"] >= fetch["start_ns"], f"{what}: the library waits for that")
            checks.equal(send["waited_ns"], max(fetch["start_ns"] - send["start_ns"], 0),
                         f"{what}: waited")
            counterparts = (send if "counterparts" in send else send["requests"][0])["counterparts"]
            checks.equal([(one["rank"], one["event"]) for one in counterparts],
                         [(1, probe["event"])], f"{what}: counterpart")
    checks.finish()


if __name__ == "__main__":
    sys.exit(main())
