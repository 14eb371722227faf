"""What c_counter counted before it died, against what is read back of it."""

import os
import re
import struct
import subprocess

from omnio_testing import environment, omnio, stats

STRIDE = 64  # bytes between two counters, as in c_counter.c


def readCounters(directory):
    """{path of the file written: calls that returned}, of one process."""
    with open(os.path.join(directory, "counters"), "rb") as file:
        data = file.read()
    return {os.path.join(directory, f"thread.{thread}"): struct.unpack_from("=Q", data, at)[0]
            for thread, at in enumerate(range(0, len(data), STRIDE))}


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
    return {path.decode(): count for path, count in counts.items()}, process.returncode


class Sums:
    """What was compared in a round, to be printed."""

    def __init__(self):
        self.logs = self.calls = self.one_more = 0

    def __str__(self):
        return (f"{self.calls} counted calls in {self.logs} logs, {self.one_more} logs with one "
                f"call more")


def checkCounters(checks, what, counters, trace_directory, sums):
    """Every call that returned is read back, and at most one more of each thread."""
    counted = {group["name"]: group["operations"]["write"]
               for group in stats(trace_directory, "--by", "file")["groups"]}
    logged, status = loggedWrites(trace_directory)
    checks.equal(status, 0, f"{what}: omnio log")
    for path, counter in counters.items():
        got = logged.get(path, 0)
        checks.that(got - counter in (0, 1),
                    f"{what}: {path}: {got} calls read back, the counter says {counter}")
        checks.equal(counted.get(path, 0), got, f"{what}: {path}: omnio stats against omnio log")
        sums.logs += 1
        sums.calls += counter
        sums.one_more += got - counter == 1
