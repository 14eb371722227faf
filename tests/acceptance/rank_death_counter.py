"""One of four ranks dies at a random moment, by SIGKILL or MPI_Abort, while 1, 8 or 64 threads of
each rank write and count: of every rank each thread's own counter is read back, or one call more.

  rank_death_counter.py [MOMENTS]    for each way and number of threads; also by
                                     OMNIO_TEST_REPEATS, by default one
"""

import os
import random
import shutil
import sys
import time

from counters import Sums, checkCounters, readCounters
from omnio_testing import (Checks, WorkDirectory, emptied, mpirun, omnio, program, ringsOf, run,
                           skipTest)
from rank_death import stateOfTheDead

RANKS = 4
WAYS = ("kill", "mpi_abort")
THREADS = (1, 8, 64)
LONGEST_WAIT_S = 0.15


def dieOnce(checks, what, way, threads, moment, trace_directory, directory, sums):
    app = [program("c_counter_mpi"), directory, str(threads), way, str(int(moment * 1e6))]
    got = run([omnio(), "trace", "-o", trace_directory, "--", *mpirun(RANKS), *app])
    checks.that(got.status != 0, f"{what}: the job fails")
    state = stateOfTheDead(trace_directory)
    checks.equal((state["ranks_expected"], state["ranks_reporting"], state["whole"]),
                 (RANKS, RANKS, False), f"{what}: ranks expected, reporting, whole; {state}")
    counters = {}
    for rank in range(RANKS):
        counters.update(readCounters(os.path.join(directory, str(rank))))
    checkCounters(checks, what, counters, trace_directory, sums)


def main(moments):
    if program("c_counter_mpi") is None or mpirun(RANKS) is None:
        skipTest("there is no MPI")
    checks = Checks()
    seed = int(os.environ.get("OMNIO_TEST_SEED", time.time_ns() % 1000000))
    print(f"OMNIO_TEST_SEED={seed}")
    chance = random.Random(seed)
    with WorkDirectory() as work:
        directory = os.path.join(work, "run")
        for way in WAYS:
            for threads in THREADS:
                what = f"rank 1 of {RANKS} ends by {way}, {threads} threads each"
                sums = Sums()
                with checks.case(what):
                    for moment in range(moments):
                        # A new name each time: a rank that is slow to die leaves rings that belong
                        # to the trace of that name.
                        trace_directory = os.path.join(work, f"{way}-{threads}-{moment}")
                        dieOnce(checks, what, way, threads, chance.uniform(0, LONGEST_WAIT_S),
                                trace_directory, emptied(directory), sums)
                        checks.equal(run([omnio(), "collect", trace_directory]).status, 0,
                                     f"{what}: omnio collect")
                        shutil.rmtree(trace_directory)
                    print(f"{what}: {moments} times; {sums}", flush=True)
        left = ringsOf(work)
        checks.that(not left, f"nothing stays in /dev/shm: {left[:5]}")
    checks.finish()


if __name__ == "__main__":
    main(int(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("OMNIO_TEST_REPEATS", 1)))
