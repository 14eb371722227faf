"""The passes of `omnio preprocess` beside each other or one after the other: the same schedule, byte for
byte. Where too few files may be open, one sentence says so, and no schedule lacks waits in silence.

  beside.py
"""

import os
import shutil

from omnio_testing import Checks, WorkDirectory, emptied, environment, mpirun, omnio, program, run, \
    skipTest, trace
from replay_testing import MPI_ENVIRONMENT

RANKS, TURNS, WRITES = 4, 60, 500


def contentOf(path):
    """Both files of a schedule but for the name of the second, which the first one tells."""
    both = []
    for name in (path, path + ".times"):
        with open(name, "rb") as content:
            both.append(content.read().replace(os.path.basename(path).encode(), b"NAME"))
    return both


def checkProcessors(checks, work, recorded, whole):
    if shutil.which("taskset") is None:
        return checks.skip("one processor", "there is no taskset")
    schedule = os.path.join(work, "one.json")
    one = str(min(os.sched_getaffinity(0)))
    made = run(["taskset", "-c", one, omnio(), "preprocess", recorded, "-o", schedule])
    checks.equal(made.status, 0, f"one processor: {made}")
    checks.that(contentOf(schedule) == whole, "one processor: another schedule")


def checkOpenFiles(checks, work, recorded, whole):
    same, refused = [], []
    for files in (*range(10, 30), 40, 60, 100):
        schedule = os.path.join(work, f"{files}.json")
        made = run(["sh", "-c", f"ulimit -n {files}; exec \"$@\"", "sh", omnio(), "preprocess",
                    recorded, "-o", schedule])
        if made.status == 0:
            same.append(files)
            checks.that(contentOf(schedule) == whole, f"{files} files: another schedule: {made}")
        else:
            refused.append(files)
            checks.equal(made.err.count(b"\n"), 1, f"{files} files: one sentence: {made}")
            checks.that(not os.path.exists(schedule), f"{files} files: there is a schedule")
    print(f"the same with {same} open files, refused with {refused}")
    checks.that(same and refused, "limits that are too low, and such as are not")
    checks.that(not same or max(refused, default=0) < max(same), "the highest limit is enough")


def main():
    if mpirun(RANKS) is None or program("c_mpi_turns") is None:
        skipTest("there is no MPI")
    checks = Checks()
    with WorkDirectory() as work:
        recorded, schedule = os.path.join(work, "trace"), os.path.join(work, "schedule.json")
        directory = emptied(os.path.join(work, "run"))
        traced = trace(recorded, [*mpirun(RANKS), program("c_mpi_turns"), directory, str(TURNS),
                                  str(WRITES)], cwd=directory, env=environment(**MPI_ENVIRONMENT))
        checks.equal(traced.status, 0, f"the program: {traced.err!r}")
        made = run([omnio(), "preprocess", recorded, "-o", schedule])
        checks.equal(made.status, 0, f"preprocess: {made}")
        whole = contentOf(schedule)
        for case in (checkProcessors, checkOpenFiles):
            with checks.case(case.__name__):
                case(checks, work, recorded, whole)
    checks.finish()


if __name__ == "__main__":
    main()
