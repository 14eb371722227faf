"""Messages that are longer than the buffer they are received in are errors of the receive, and gone
from their stream: those that follow are matched as they were.
"""

import os
import sys

from omnio_testing import (Checks, WorkDirectory, mpirun, omnio, program, readLog, run,
                           skipTest)

MESSAGES = 14


def main():
    if mpirun(2) is None or program("c_mpi_truncated") is None:
        skipTest("there is no MPI")
    checks = Checks()
    with WorkDirectory() as work:
        to = os.path.join(work, "trace")
        result = run([omnio(), "trace", "-o", to, "--", *mpirun(2), program("c_mpi_truncated")])
        checks.equal(result.status, 0, f"status ({result.err.decode()})")
        *events, last = list(readLog(to, "--mpi"))
        summary = last["summary"]
        for kind in ("sends", "receives"):
            checks.equal((summary[kind]["count"], summary[kind]["matched"]), (MESSAGES, MESSAGES),
                         f"{kind} and how many are matched")
        received = [event for event in events if event["rank"] == 1 and event["call"] == "MPI_Recv"]
        checks.equal([event["seq"] for event in received], [1, 2, 13, 14], "numbers of the receives")
        # The bytes that the matched sends gave: 8 and 4 in turn.
        sends = {event["event"]: event["args"]["count"] for event in events
                 if event["rank"] == 0 and event["call"] == "MPI_Send"}
        checks.equal([sends[event["counterparts"][0]["event"]] for event in received],
                     [8, 4, 8, 4], "bytes of the sends that they are matched with")
    checks.finish()


if __name__ == "__main__":
    sys.exit(main())
