"""The order of ranks that race for names, for the end of a file, and in parallel HDF5 is that of the
recorded results, also where the calls overlapped: replays as fast as possible, on storage whose
calls take random times, get the same results. Without order, they do not.

  file_order.py [REPLAYS]        of each program and order, 5 unless told otherwise
"""

import os
import shutil
import sys

import devices
from omnio_testing import Checks, WorkDirectory, emptied, environment, mpirun, omnio, program, run, \
    skipTest
from order import RANKS, SLOW, differencesOf
from replay_testing import MPI_ENVIRONMENT
from slow_storage import SlowStorage, needSlowStorage

# "file" alone has to do where the ranks do not communicate between their calls.
CASES = (
    ("names", "c_races", ("names", "40"), ("all", "file")),
    ("sizes", "c_races", ("sizes", "25"), ("all", "file")),
    ("HDF5", "c_hdf5_parallel", ("data.h5",), ("all",)),
    ("HDF5 with collective metadata", "c_hdf5_parallel", ("data.h5", "metadata"), ("all",)),
    ("HDF5 that extends", "c_hdf5_parallel", ("data.h5", "extend"), ("all",)),
)


def checkCase(checks, work, name, command, orders, replays):
    recorded = os.path.join(work, "trace")
    shutil.rmtree(recorded, ignore_errors=True)
    with SlowStorage(work, *SLOW, name="recorded") as storage:
        directory = emptied(os.path.join(storage.path, "run"))
        traced = run([omnio(), "trace", "-o", recorded, "--", *mpirun(RANKS), *command],
                     cwd=directory, env=environment(**MPI_ENVIRONMENT))
        checks.equal(traced.status, 0, f"{name}: {traced.err!r}")
    with SlowStorage(work, *SLOW) as storage:
        for order in (*orders, "none"):
            schedule = os.path.join(work, f"{order}.json")
            made = run([omnio(), "preprocess", recorded, "-o", schedule, "--timing", "asap",
                        "--order", order, "--map", f"{directory}=."])
            checks.equal(made.status, 0, f"{name}, order {order}: {made.err!r}")
            counts = [differencesOf(checks, work, storage, schedule, number,
                                    f"{name}, order {order}") for number in range(replays)]
            print(f"{name}, order {order}: results that differ: {counts}", flush=True)
            if order == "none":
                checks.that(max(counts) > 0, f"{name} without order: {counts}")
            else:
                checks.equal(counts, [0] * replays, f"{name}, order {order}")


def main():
    needSlowStorage()
    if mpirun(RANKS) is None:
        skipTest("there is no MPI")
    replays = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    checks = Checks()
    with WorkDirectory() as work:
        for name, wanted, arguments, orders in CASES:
            if program(wanted) is None:
                checks.skip(name, f"{wanted} could not be built here")
                continue
            with checks.case(name):
                checkCase(checks, work, name, [program(wanted), *arguments], orders, replays)
    checks.finish()


if __name__ == "__main__":
    devices.runOrSkip(main)
