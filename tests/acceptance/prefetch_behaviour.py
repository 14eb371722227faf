"""Output, exit status and files are the same with and without `omnio prefetch`, and nothing of it is left:
the programs of same_behaviour.py and of real_programs.py; some of them, or with OMNIO_TEST_ALL=yes all.

  prefetch_behaviour.py [CASE...]    all of these cases by default
"""

import os
import sys

import real_program_cases
import same_behaviour
from behaviour import runCase
from omnio_testing import Checks, WorkDirectory, differences, omnio, takesAll
from prefetch_testing import leavesNothing, needOwnMemory

QUICK = ("c_posix", "c_stdio", "c_exit _exit", "c_exit abort", "c_exit pthread_exit", "c_hostile close_range",
         "c_hostile limits", "c_hostile user", "c_hostile clearenv", "c_hostile fork", "shell", "c_mpi", "tar",
         "sqlite3", "perl", "python")


def allCases(directory):
    yield from same_behaviour.allCases(directory)
    yield from real_program_cases.allCases(directory)


def check(checks, case, directory):
    if case.isMissing():
        checks.skip(case.name, "the program or the MPI launcher is not there")
        return
    wanted, wanted_files = runCase(case, directory, [])
    got, files = runCase(case, directory, [omnio(), "prefetch", "-q", "--"])
    checks.equal(got.status, wanted.status, f"{case.name}: exit status")
    checks.equal(case.normal(got.out), case.normal(wanted.out), f"{case.name}: output")
    checks.equal(got.err, wanted.err, f"{case.name}: standard error")
    checks.that(files == wanted_files, f"{case.name}: files: {differences(files, wanted_files)}")
    leavesNothing(checks, case.name)
    print(f"{case.name}: status {wanted.status}; seconds: {wanted.seconds:.2f}, {got.seconds:.2f}", flush=True)


def main(wanted):
    needOwnMemory()
    checks = Checks()
    with WorkDirectory() as work:
        os.chmod(work, 0o755)
        directory = os.path.join(work, "run")
        cases = [case for case in allCases(directory)
                 if case.name in wanted or (not wanted and (takesAll() or case.name in QUICK))]
        for case in cases:
            with checks.case(case.name):
                check(checks, case, directory)
        if not wanted:
            checks.that(len(cases) >= len(QUICK), f"cases that there are: {[case.name for case in cases]}")
    checks.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
