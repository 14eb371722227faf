"""One rank has messages of more different tags than the tracer counts: communicators that only some
make are known by the same ids in all of their members, and what is done in them is matched.
"""

import os
import sys

from omnio_testing import (Checks, WorkDirectory, mpirun, omnio, program, readLog, run,
                           skipTest)

MESSAGES, TURNS = 500_000, 2
CALLS = {"MPI_Comm_create_group": 1, "MPI_Intercomm_create": 1, "MPI_Sendrecv": 2,
         "MPI_Barrier": 2, "MPI_Comm_free": 2}  # of each of two ranks in a turn


def main():
    if mpirun(3) is None or program("c_mpi_tags") is None:
        skipTest("there is no MPI")
    checks = Checks()
    with WorkDirectory() as work:
        to = os.path.join(work, "trace")
        result = run([omnio(), "trace", "-o", to, "--", *mpirun(3), program("c_mpi_tags"),
                      str(MESSAGES)])
        checks.equal(result.status, 0, f"status ({result.err.decode()})")
        *events, _ = list(readLog(to, "--mpi"))
        for call, count in CALLS.items():
            made = [event for event in events if event["call"] == call]
            checks.equal(len(made), 2 * TURNS * count, f"{call}")
            checks.equal([event.get("unmatched") for event in made if not event["matched"]], [],
                         f"{call}: why some are not matched")
        exchanged = [event["args"]["seq"] for event in events
                     if event["call"] == "MPI_Sendrecv" and event["rank"] == 0]
        checks.equal(set(exchanged), {0}, "numbers of rank 0's messages: it has to be out of them")
    checks.finish()


if __name__ == "__main__":
    sys.exit(main())
