"""A program that counts its finished calls in shared memory is killed at random moments: the calls
read back are the counter or the counter plus one, thread by thread.

Killed are: the program alone, under `omnio trace`; the program and its `omnio trace` at once, as a
batch system does; and a program with nothing but the preloaded library. In the last two nobody is
left to collect the tail of the logs but the reader.

  kill_counter.py [MOMENTS]
"""

import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

from omnio_testing import (Checks, WorkDirectory, emptied, environment, omnio, preloadLibrary,
                           program, quietDeath, ringsOf, run, stats)

COUNTER_STRIDE = 64  # bytes, as in c_counter.c
LONGEST_WAIT_S = 0.15


def readCounters(directory, threads):
    with open(os.path.join(directory, "counters"), "rb") as file:
        data = file.read()
    return [struct.unpack_from("=Q", data, thread * COUNTER_STRIDE)[0] for thread in range(threads)]


def start(how, trace_directory, directory, threads):
    command = [program("c_counter"), directory, str(threads)]
    env = environment()
    if how == "preload":
        os.makedirs(trace_directory)  # else the work of omnio trace
        env.update(LD_PRELOAD=preloadLibrary("serial"), OMNIO_DIR=trace_directory)
    else:
        command = [omnio(), "trace", "-o", trace_directory, "--", *command]
    return subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, preexec_fn=quietDeath)


def waitUntilGone(pid):
    """The killed program is not always our child; its end has to be seen all the same."""
    for _ in range(10000):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                if file.read().rsplit(")", 1)[1].split()[0] in "ZX":
                    return
        except OSError:
            return
        time.sleep(0.001)
    raise RuntimeError(f"process {pid} does not die")


def killOnce(checks, how, threads, moment, trace_directory, directory):
    """Returns the counters at death, or None if the program did not even start."""
    process = start(how, trace_directory, directory, threads)
    ready = process.stdout.readline().split()
    if not checks.that(len(ready) == 2 and ready[0] == b"ready", f"{how}: the program starts"):
        print(process.communicate())
        return None
    pid = int(ready[1])
    time.sleep(moment)
    if how == "with supervisor":
        process.kill()
    os.kill(pid, signal.SIGKILL)
    waitUntilGone(pid)
    process.communicate()
    wanted = 137 if how == "supervised" else -signal.SIGKILL
    checks.equal(process.returncode, wanted, f"{how}: status after SIGKILL")
    return readCounters(directory, threads)


def loggedWrites(trace_directory):
    """Writes by file, from the log itself. Not decoded as JSON: there are millions of them."""
    name = re.compile(rb'"file":"([^"]*)"')
    counts = {}
    command = [omnio(), "log", trace_directory, "--json"]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as process:
        for line in process.stdout:
            if b'"class":"write"' in line:
                file = name.search(line)
                if file:
                    counts[file.group(1)] = counts.get(file.group(1), 0) + 1
    return {os.path.basename(path).decode(): count for path, count in counts.items()}, \
        process.returncode


def checkOnce(checks, how, counters, trace_directory, sums):
    document = stats(trace_directory, "--by", "file")
    state = document["trace"]
    checks.that(not state["whole"] and state["reasons"],
                f"{how}: a killed program's trace is not whole, with a reason: {state}")
    counted = {os.path.basename(group["name"]): group["operations"]["write"]
               for group in document["groups"]}
    logged, status = loggedWrites(trace_directory)
    checks.equal(status, 0, f"{how}: omnio log")
    for thread, counter in enumerate(counters):
        name = f"thread.{thread}"
        got = logged.get(name, 0)
        checks.that(got - counter in (0, 1),
                    f"{how}, {len(counters)} threads: {name}: {got} calls read back, the counter "
                    f"says {counter}")
        checks.equal(counted.get(name, 0), got, f"{how}: {name}: omnio stats against omnio log")
        sums["threads"] += 1
        sums["calls"] += counter
        sums["one more"] += got - counter == 1


def main(moments):
    checks = Checks()
    seed = int(os.environ.get("OMNIO_TEST_SEED", time.time_ns() % 1000000))
    print(f"OMNIO_TEST_SEED={seed}")
    chance = random.Random(seed)
    with WorkDirectory() as work:
        directory = os.path.join(work, "run")
        rounds = [("supervised", moments), ("with supervisor", max(1, moments // 5)),
                  ("preload", max(1, moments // 5))]
        for how, times in rounds:
            for threads in (1, 8):
                sums = {"threads": 0, "calls": 0, "one more": 0}
                started = time.monotonic()
                for _ in range(times):
                    trace_directory = os.path.join(work, "trace")
                    shutil.rmtree(trace_directory, ignore_errors=True)
                    counters = killOnce(checks, how, threads, chance.uniform(0, LONGEST_WAIT_S),
                                        trace_directory, emptied(directory))
                    if counters is None:
                        checks.finish()
                    checkOnce(checks, how, counters, trace_directory, sums)
                    if how != "supervised":
                        checks.equal(run([omnio(), "collect", trace_directory]).status, 0,
                                     f"{how}: omnio collect")
                left = ringsOf(work)
                checks.that(not left, f"{how}: nothing stays in /dev/shm: {sorted(left)[:5]}")
                print(f"{how}, {threads} threads: killed {times} times in "
                      f"{time.monotonic() - started:.1f} s; {sums['calls']} counted calls in "
                      f"{sums['threads']} logs, {sums['one more']} logs with one call more")
    checks.finish()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
