"""An application's error handler jumps out of an MPI call: what comes after it is recorded as the
application's own, and not taken for the library's.
"""

import os
import sys

from omnio_testing import Checks, WorkDirectory, mpirun, omnio, program, readLog, run, skipTest

AFTER = ["MPI_Barrier", "open", "write", "close"]


def main():
    if mpirun(1) is None or program("c_mpi_jump") is None:
        skipTest("there is no MPI")
    checks = Checks()
    with WorkDirectory() as work:
        path = os.path.join(work, "file")
        untraced = run([*mpirun(1), program("c_mpi_jump"), path])
        checks.equal(untraced.status, 0, f"untraced: status ({untraced.err.decode()})")
        if untraced.status != 0:
            return checks.finish()
        for flavour in ("mpi", "hybrid"):
            os.unlink(path)
            to = os.path.join(work, flavour)
            result = run([omnio(), "trace", "--flavour", flavour, "-o", to, "--", *mpirun(1),
                          program("c_mpi_jump"), path])
            checks.equal((result.status, result.out, result.err),
                         (untraced.status, untraced.out, untraced.err), f"{flavour}: behaviour")
            own = [event["call"] for event in readLog(to)
                   if event["depth"] == 0 and event["call"] in (*AFTER, "MPI_File_close")]
            checks.equal(own, [*AFTER, *AFTER, "MPI_File_close"], f"{flavour}: the calls after it")
    checks.finish()


if __name__ == "__main__":
    sys.exit(main())
