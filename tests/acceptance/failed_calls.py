"""Calls that failed for their arguments fail again in replays, and a splice moves as many bytes."""

from omnio_testing import Checks, WorkDirectory, mpirun, program, skipTest
from replay_testing import checkReplays


def main():
    if mpirun(1) is None:
        skipTest("there is no MPI")
    checks = Checks()
    with WorkDirectory() as work:
        with checks.case("c_failed_calls"):
            checkReplays(checks, work, "c_failed_calls", [program("c_failed_calls")], replays=2)
    checks.finish()


main()
