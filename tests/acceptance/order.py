"""The order that communication makes is kept by replays as fast as possible, on storage whose calls
take random times; without it, the same replays overtake.

  order.py [REPLAYS]        of each workload and order, 5 unless told otherwise
"""

import os
import shutil
import sys

import devices
from omnio_testing import Checks, WorkDirectory, emptied, environment, mpirun, omnio, program, run, \
    skipTest
from replay_testing import MPI_ENVIRONMENT, replay, report
from slow_storage import SlowStorage, needSlowStorage

RANKS = 4
# The files of these are read by ranks that did not write them, so an order that is lost shows as a
# short read.
WORKLOADS = ("token", "pipeline")
SLOW = ("--read-us", 100, "--write-us", 400, "--metadata-us", 100, "--jitter", 100)


def scheduleOf(checks, work, workload, order):
    path = os.path.join(work, f"{workload}.{order}.json")
    made = run([omnio(), "preprocess", os.path.join(work, f"{workload}.trace"), "-o", path,
                "--timing", "asap", "--order", order])
    checks.equal(made.status, 0, f"{workload}, order {order}: {made.err!r}")
    return path


def differencesOf(checks, work, storage, schedule, number, what, *options):
    """How many results of a replay differ from the recorded ones."""
    target = os.path.join(storage.path, f"target{number}")
    output = os.path.join(work, "replayed")
    shutil.rmtree(output, ignore_errors=True)
    done = replay(schedule, target, output, "--no-trace", *options)
    checks.that(done.status in (0, 3), f"{what}: {done}")  # 3: results differ
    shutil.rmtree(target, ignore_errors=True)
    return report(output)["total"]["differences"]


def main():
    needSlowStorage()
    if mpirun(RANKS) is None or program("c_workloads") is None:
        skipTest("there is no MPI")
    replays = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    checks = Checks()
    with WorkDirectory() as work:
        for workload in WORKLOADS:
            traced = run([omnio(), "trace", "-o", os.path.join(work, f"{workload}.trace"), "--",
                          *mpirun(RANKS), program("c_workloads"), workload],
                         cwd=emptied(os.path.join(work, "run")), env=environment(**MPI_ENVIRONMENT))
            checks.equal(traced.status, 0, f"{workload}: {traced.err!r}")
            with SlowStorage(work, *SLOW) as storage:
                for order in ("all", "mpi", "none"):
                    schedule = scheduleOf(checks, work, workload, order)
                    counts = [differencesOf(checks, work, storage, schedule, number,
                                            f"{workload}, order {order}")
                              for number in range(replays)]
                    print(f"{workload}, order {order}: results that differ: {counts}")
                    if order == "none":
                        checks.that(max(counts) > 0, f"{workload} without order: {counts}")
                    else:
                        checks.equal(counts, [0] * replays, f"{workload}, order {order}")
                # The same by an option of the replay.
                schedule = os.path.join(work, f"{workload}.all.json")
                for order in ("mpi", "none"):
                    what = f"{workload}, replayed with order {order}"
                    counts = [differencesOf(checks, work, storage, schedule, number, what,
                                            "--order", order) for number in range(replays)]
                    print(f"{what}: results that differ: {counts}")
                    checks.equal(max(counts) > 0, order == "none", f"{what}: {counts}")
    checks.finish()


if __name__ == "__main__":
    devices.runOrSkip(main)
