"""A program that counts its finished calls in shared memory dies at random moments: the calls read
back are the counter or the counter plus one, thread by thread, with 1, 8 and 64 threads.

It is killed from outside: alone, under `omnio trace`; together with its `omnio trace`, as a batch
system does; and with nothing but the preloaded library. In the last two only the reader is left to collect
the tail of the logs. Or it ends by itself: by SIGSEGV, abort, _exit, or a child's
_exit and then its own.

  kill_counter.py [MOMENTS]    of the first kind, for each number of threads; a fifth of that of the
                               others. Also by OMNIO_TEST_REPEATS; by default few.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time

from counters import Sums, checkCounters, readCounters
from omnio_testing import (Checks, WorkDirectory, emptied, environment, omnio, preloadLibrary,
                           program, quietDeath, ringsOf, run, stats)
from run_account import waitUntilGone

LONGEST_WAIT_S = 0.15
THREADS = (1, 8, 64)
FROM_OUTSIDE = ("supervised", "with supervisor", "preload")
# The status that a shell would give, and what the end makes of the trace.
BY_ITSELF = {"segv": (128 + signal.SIGSEGV, False), "abort": (128 + signal.SIGABRT, False),
             "_exit": (5, True), "child": (5, True)}


def start(how, trace_directory, directory, threads, *way):
    command = [program("c_counter"), directory, str(threads), *way]
    env = environment()
    if how == "preload":
        os.makedirs(trace_directory)  # else the work of omnio trace
        env.update(LD_PRELOAD=preloadLibrary("serial"), OMNIO_DIR=trace_directory)
    else:
        command = [omnio(), "trace", "-o", trace_directory, "--", *command]
    return subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, preexec_fn=quietDeath)


def killOnce(checks, what, how, threads, moment, trace_directory, directory):
    process = start(how, trace_directory, directory, threads)
    ready = process.stdout.readline().split()
    if not checks.that(len(ready) == 2 and ready[0] == b"ready", f"{what}: the program starts"):
        raise RuntimeError(str(process.communicate()))
    pid = int(ready[1])
    time.sleep(moment)
    if how == "with supervisor":
        process.kill()
    os.kill(pid, signal.SIGKILL)
    waitUntilGone(pid)
    process.communicate()
    wanted = 137 if how == "supervised" else -signal.SIGKILL
    checks.equal(process.returncode, wanted, f"{what}: status after SIGKILL")
    return readCounters(directory), False


def endOnce(checks, what, way, threads, moment, trace_directory, directory):
    process = start("supervised", trace_directory, directory, threads, way,
                    str(int(moment * 1e6)))
    out, err = process.communicate()
    status, is_whole = BY_ITSELF[way]
    checks.equal(process.returncode, status, f"{what}: status; {out!r} {err!r}")
    counters = readCounters(directory)
    if way == "child":
        child = readCounters(os.path.join(directory, "child"))
        counters.update(child)
    return counters, is_whole


def checkRound(checks, chance, work, how, threads, times):
    directory = os.path.join(work, "run")
    trace_directory = os.path.join(work, "trace")
    what = f"{how}, {threads} threads"
    sums = Sums()
    started = time.monotonic()
    once = endOnce if how in BY_ITSELF else killOnce
    for _ in range(times):
        shutil.rmtree(trace_directory, ignore_errors=True)
        moment = chance.uniform(0, LONGEST_WAIT_S)
        counters, is_whole = once(checks, what, how, threads, moment, trace_directory,
                                  emptied(directory))
        state = stats(trace_directory)["trace"]
        checks.that(state["whole"] == is_whole and bool(state["reasons"]) != is_whole,
                    f"{what}: whole: {is_whole}, or else a reason: {state}")
        checkCounters(checks, what, counters, trace_directory, sums)
        if how in ("with supervisor", "preload"):
            checks.equal(run([omnio(), "collect", trace_directory]).status, 0,
                         f"{what}: omnio collect")
    left = ringsOf(work)
    checks.that(not left, f"{what}: nothing stays in /dev/shm: {sorted(left)[:5]}")
    print(f"{what}: died {times} times in {time.monotonic() - started:.1f} s; {sums}", flush=True)


def main(moments):
    checks = Checks()
    seed = int(os.environ.get("OMNIO_TEST_SEED", time.time_ns() % 1000000))
    print(f"OMNIO_TEST_SEED={seed}")
    chance = random.Random(seed)
    with WorkDirectory() as work:
        for how in (*FROM_OUTSIDE, *BY_ITSELF):
            times = moments if how == "supervised" else max(1, moments // 5)
            for threads in THREADS:
                with checks.case(f"{how}, {threads} threads"):
                    checkRound(checks, chance, work, how, threads, times)
    checks.finish()


if __name__ == "__main__":
    main(int(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("OMNIO_TEST_REPEATS", 5)))
