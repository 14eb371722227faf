"""The order that communication makes is kept by replays as fast as possible, on storage whose calls
take random times; without it, the same replays overtake.

  order.py [REPLAYS]        of each program with all of its order (6); a quarter as many with a part
                            of the order, or without any
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
MOST_WITHOUT_ORDER = 50
# Name: the program, and the orders that have to be enough. The files of these are read by ranks that
# did not write them, so an order that is lost shows as a short read.
PROGRAMS = {"token": (("c_workloads", "token"), ("all", "mpi")),
            "pipeline": (("c_workloads", "pipeline"), ("all", "mpi")),
            "hdf5": (("c_hdf5_parallel", "data.h5", "extend"), ("all",))}
SLOW = ("--read-us", 100, "--write-us", 400, "--metadata-us", 100, "--jitter", 100)


def scheduleOf(checks, work, workload, order):
    path = os.path.join(work, f"{workload}.{order}.json")
    made = run([omnio(), "preprocess", os.path.join(work, f"{workload}.trace"), "-o", path,
                "--timing", "asap", "--order", order])
    checks.equal(made.status, 0, f"{workload}, order {order}: {made.err!r}")
    return path


def reportOf(checks, work, storage, schedule, number, what, *options):
    """The report of a replay, whose results may differ from the recorded ones."""
    target = os.path.join(storage.path, f"target{number}")
    output = os.path.join(work, "replayed")
    shutil.rmtree(output, ignore_errors=True)
    done = replay(schedule, target, output, "--no-trace", *options)
    checks.that(done.status in (0, 3), f"{what}: {done}")  # 3: results differ
    shutil.rmtree(target, ignore_errors=True)
    return report(output)


def differencesOf(*arguments):
    """How many results of a replay differ from the recorded ones."""
    return reportOf(*arguments)["total"]["differences"]


def checkProgram(checks, work, name, replays):
    (binary, *words), enough = PROGRAMS[name]
    traced = run([omnio(), "trace", "-o", os.path.join(work, f"{name}.trace"), "--",
                  *mpirun(RANKS), program(binary), *words],
                 cwd=emptied(os.path.join(work, "run")), env=environment(**MPI_ENVIRONMENT))
    checks.equal(traced.status, 0, f"{name}: {traced.err!r}")
    with SlowStorage(work, *SLOW) as storage:
        def check(order, of, times, what, *options):
            schedule = scheduleOf(checks, work, name, of)
            counts = [differencesOf(checks, work, storage, schedule, number, what, *options)
                      for number in range(times)]
            while order == "none" and max(counts) == 0 and len(counts) < MOST_WITHOUT_ORDER:
                counts.append(differencesOf(checks, work, storage, schedule, len(counts), what,
                                            *options))  # whether one differs is a matter of chance
            print(f"{what}: {times} replays, results that differ: {sorted(set(counts))}", flush=True)
            if order == "none":
                checks.that(max(counts) > 0, f"{what}: {counts}")
            else:
                checks.equal(counts, [0] * times, what)

        check("all", "all", replays, name)
        fewer = max(replays // 4, 1)
        for order in (*enough[1:], "none"):
            check(order, order, fewer, f"{name}, preprocessed with order {order}")
            check(order, "all", fewer, f"{name}, replayed with order {order}", "--order", order)


def main():
    needSlowStorage()
    if mpirun(RANKS) is None or program("c_workloads") is None:
        skipTest("there is no MPI")
    replays = int(sys.argv[1]) if len(sys.argv) > 1 else 6
    checks = Checks()
    with WorkDirectory() as work:
        for name, ((binary, *_), _) in PROGRAMS.items():
            if program(binary) is None:
                checks.skip(name, f"{binary} was not built")
                continue
            with checks.case(name):
                checkProgram(checks, work, name, replays)
    checks.finish()


if __name__ == "__main__":
    devices.runOrSkip(main)
