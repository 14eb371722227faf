"""What the tracer adds to the memory of a process, by the two figures that sites look at: the largest
resident set (VmHWM), and the largest use of its control group, to which the page cache of the log
counts too. A million pwrites, in a row and at random places; the log on a disk's file system.

  memory.py [RUNS]    of which the medians are compared; by default 3
"""

import os
import statistics
import sys

from omnio_testing import (Checks, WorkDirectory, environment, preloadLibrary, program, run)

CALLS = 1000000
MOST_ADDED_MIB = 8
CONTROLLER = "/sys/fs/cgroup/memory"  # version 1; of version 2 the root has no figures of its own


def isOnDisk(directory):
    """Whether files there are not themselves memory."""
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        kinds = {line.split()[1]: line.split()[2] for line in mounts}
    while directory not in kinds:
        directory = os.path.dirname(directory)
    return kinds[directory] not in ("tmpfs", "ramfs")


class Group:
    """A control group of its own for a run; without one `peak` is None."""

    def __init__(self):
        self.path = os.path.join(CONTROLLER, f"omnio-test-{os.getpid()}")

    def __enter__(self):
        try:
            os.mkdir(self.path)
            if not os.path.exists(os.path.join(self.path, "memory.max_usage_in_bytes")):
                raise OSError("not a memory controller of version 1")
        except OSError:
            self.path = None
        return self

    def __exit__(self, *_):
        if self.path:
            os.rmdir(self.path)

    def wrapper(self):
        if self.path is None:
            return []
        return ["sh", "-c", f"echo $$ > {self.path}/cgroup.procs && exec \"$@\"", "sh"]

    def peak(self):
        if self.path is None:
            return None
        with open(os.path.join(self.path, "memory.max_usage_in_bytes"), encoding="ascii") as file:
            return int(file.read()) >> 10


def measure(order, work, number, is_traced):
    """(VmHWM, peak of the group) in KiB."""
    trace_directory = os.path.join(work, f"{order}.{number}.trace")
    env = environment()
    if is_traced:
        os.makedirs(trace_directory)
        env.update(LD_PRELOAD=preloadLibrary("serial"), OMNIO_DIR=trace_directory)
    # A file in the cache from before would not be charged to the program: a new file each time.
    data = os.path.join(work, f"{order}.{number}.{is_traced}.data")
    with Group() as group:
        result = run([*group.wrapper(), program("c_memory"), data, CALLS, order], env=env)
        peak = group.peak()
    if result.status != 0:
        raise RuntimeError(str(result))
    os.unlink(data)
    return int(result.out), peak


def checkOrder(checks, order, work, runs):
    measured = {False: [], True: []}
    for number in range(runs):
        for is_traced in (False, True):
            measured[is_traced].append(measure(order, work, number, is_traced))
    for index, figure in enumerate(("VmHWM", "peak of the control group")):
        values = {is_traced: [one[index] for one in measured[is_traced]] for is_traced in measured}
        if None in values[True]:
            checks.skip(f"{order}, {figure}", "no control group could be made")
            continue
        untraced, traced = (statistics.median(values[is_traced]) for is_traced in (False, True))
        added = (traced - untraced) / 1024
        print(f"{order}: {figure}: {untraced / 1024:.2f} MiB untraced, {traced / 1024:.2f} MiB "
              f"traced, added {added:.2f} MiB (medians of {runs})", flush=True)
        checks.that(added <= MOST_ADDED_MIB,
                    f"{order}: {figure}: {added:.2f} MiB added, at most {MOST_ADDED_MIB}")
    written = sum(os.path.getsize(os.path.join(work, f"{order}.0.trace", name))
                  for name in os.listdir(os.path.join(work, f"{order}.0.trace")))
    checks.that(written > CALLS, f"{order}: the log was written: {written} bytes")


def main(runs):
    checks = Checks()
    with WorkDirectory() as work:
        if not isOnDisk(work):
            checks.skip("all", f"{work} is itself memory: TMPDIR may name a directory on a disk")
            checks.finish()
        for order in ("sequential", "random"):
            with checks.case(order):
                checkOrder(checks, order, work, runs)
    checks.finish()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
