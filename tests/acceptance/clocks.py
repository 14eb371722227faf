"""The counter and the system's clock, which is taken where the kernel has found the counter wanting:
both tell how long a program waited between its calls. And what an event costs is told (how little that
is, bench/ measures).
"""

import glob
import json
import os
import shutil
import struct
import sys
import time

from omnio_testing import (Checks, WorkDirectory, environment, omnio, readLog, run, stats)

KERNELS_LIST = "/sys/devices/system/clocksource/clocksource0/available_clocksource"
WAITS = 5
WAIT_S = 0.1
PROGRAM = f"""
import os, time
out = os.open("out", os.O_WRONLY | os.O_CREAT)
for _ in range({WAITS}):
    os.write(out, b"x")
    before = time.monotonic_ns()
    time.sleep({WAIT_S})
    print(time.monotonic_ns() - before)
os.write(out, b"x")
"""
MONOTONIC, TSC = 1, 2


def clockOf(trace_directory):
    """The kind of clock in the header of the only container (docs/formats/trace.md)."""
    [path] = glob.glob(os.path.join(trace_directory, "*.omnio"))
    with open(path, "rb") as file:
        return struct.unpack("<I", file.read(32)[28:])[0]


def traced(checks, name, work, without_counter=False, options=(), preloaded=""):
    """Runs the program; returns its trace. With `without_counter` the kernel's list has no tsc;
    the library `preloaded` comes before the tracer.
    """
    to = os.path.join(work, name)
    program = [sys.executable, "-c", PROGRAM]
    if preloaded:
        program = ["sh", "-c", f'LD_PRELOAD={preloaded}:$LD_PRELOAD exec "$0" "$@"'] + program
    command = [omnio(), "trace", "-o", to, *options, "--", *program]
    if without_counter:
        clocks = os.path.join(work, "clocks")
        with open(clocks, "w") as file:
            file.write("hpet acpi_pm \n")
        command = ["unshare", "-m", "sh", "-c", f'mount --bind "$0" {KERNELS_LIST} && exec "$@"',
                   clocks] + command
    started_ns = time.monotonic_ns()
    result = run(command, cwd=work, env=environment(FAKETIME="@2001-02-03 04:05:06"))
    ended_ns = time.monotonic_ns()
    if not checks.equal(result.status, 0, f"{name}: status ({result.err.decode()})"):
        return to
    waited = [int(line) for line in result.out.split()]
    events = [event for event in readLog(to) if event["call"] == "write"
              and (event["file"] or "").endswith("/out")]
    checks.equal(len(events), WAITS + 1, f"{name}: writes")
    # The program's own clock starts after a write has ended and stops before the next, and the
    # test's runs all the while.
    for i, (before, after) in enumerate(zip(events, events[1:])):
        gap = after["start_ns"] - before["end_ns"]
        checks.that(gap >= waited[i],
                    f"{name}: {gap} ns between two writes, while the program slept {waited[i]}")
    first, last = events[0]["start_ns"], events[-1]["end_ns"]
    checks.that(started_ns <= first < last <= ended_ns,
                f"{name}: writes from {first} to {last}, the run from {started_ns} to {ended_ns}")
    return to


def costs(checks, to):
    report = stats(to)
    cost = report["recording_ns"] / report["trace"]["events"]
    print(f"an event costs at least {cost:.1f} ns by the tracer's own measure")
    checks.that(cost > 0, f"an event costs {cost} ns by the tracer's own measure")
    schedule = to + ".json"
    result = run([omnio(), "preprocess", to, "-o", schedule])
    checks.equal(result.status, 0, f"preprocess: {result.err.decode()}")
    with open(schedule, encoding="utf-8") as file:
        recorder = json.load(file)["ranks"][0]["threads"][0]["recorder"]
    checks.that(0 < recorder < cost + 1, f"recorder {recorder} in the schedule, {cost} an event")


def main():
    checks = Checks()
    with open("/proc/cpuinfo") as file:
        invariant = " nonstop_tsc" in file.read()
    with WorkDirectory() as work:
        usual = traced(checks, "usual", work)
        has_counter = False
        if os.path.exists(KERNELS_LIST):
            with open(KERNELS_LIST) as file:
                has_counter = invariant and "tsc" in file.read().split()
        if os.uname().machine == "x86_64" and os.path.exists(KERNELS_LIST):
            checks.equal(clockOf(usual), TSC if has_counter else MONOTONIC, "the usual clock")
        costs(checks, usual)
        asked = traced(checks, "asked", work, options=["--system-clock"])
        checks.equal(clockOf(asked), MONOTONIC, "the clock that was asked for")
        faketime = sorted(glob.glob("/usr/lib/*/faketime/libfaketime.so.1"))
        if faketime:
            traced(checks, "faked", work, options=["--system-clock"], preloaded=faketime[0])
        else:
            checks.skip("a clock that lies", "no libfaketime")
        if not has_counter:
            checks.skip("without the counter", "there is none, or no list of the kernel's")
        elif os.geteuid() != 0 or shutil.which("unshare") is None:
            checks.skip("without the counter", "needs root and unshare")
        else:
            checks.equal(clockOf(traced(checks, "without", work, without_counter=True)), MONOTONIC,
                         "the clock where the kernel does not trust the counter")
    checks.finish()


main()
