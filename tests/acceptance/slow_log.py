"""The trace goes to a file system whose writes are slow (slow_storage.py). The program's output
is the same; with `--when-slow wait`, the default, no event is missing, and the program waits
for no more than the device needs beyond what the rings hold; with `--when-slow drop` it does not
wait, and the events that are missing are counted and explained.

The program times its own calls (c_slow_log.c). Times are compared with its own run without a tracer
and with the time that the file system was busy, both measured here.

  slow_log.py [CASE...]    all cases by default
"""

import os
import re
import sys

import devices
from omnio_testing import (Checks, WorkDirectory, differences, emptied, omnio, program, run,
                           skipTest, stats, treeOf)
from run_account import flavours, inOwnMemory, operationsByFile
from slow_storage import SlowStorage, needSlowStorage

STALLED_KEY = "stalled_ns"       # of "trace" in the statistics document
DROPPED_BECAUSE = "slow|keep up|when-slow"  # in a reason, when events were dropped
DELAY_MS = 50
# A busy machine stops a program for that long now and then, whatever it does.
LONG_CALLS_ALLOWED = 3           # calls over 20 ms beyond those of the run without a tracer
SLACK_US = 4 * DELAY_MS * 1000   # small writes: what identifies the process, and its account

# The pace leaves processors free, so that a long call is one that waits.
# name: (threads, calls of each, nanoseconds from call to call, delay of the device)
CASES = {
    "1 thread": (1, 1 << 16, 10000, DELAY_MS),
    "4 threads": (4, 1 << 15, 20000, DELAY_MS),
    "1 fast thread": (1, 1 << 17, 2000, DELAY_MS),
    "4 threads on a very slow device": (4, 1 << 15, 10000, 4 * DELAY_MS),
}
STEPS = ("fork", "newns", "setns", "exec", "setuid", "newuser")
STEP_CALLS = 1 << 13
MODES = {"default": [], "wait": ["--when-slow", "wait"], "drop": ["--when-slow", "drop"]}


class SlowDevice(SlowStorage):
    """Its writes are slow, one after the other; it counts them and the time they took."""

    def __init__(self, work, delay_ms):
        # With pages in the kernel's cache: the trace may be mapped.
        super().__init__(work, "--write-us", delay_ms * 1000, "--one-at-a-time", "--cache")
        self.trace = os.path.join(self.path, "trace")
        self.writes = self.bytes = self.busy_us = 0

    def __enter__(self):
        super().__enter__()
        # A process that becomes another user goes on writing here.
        os.mkdir(self.trace)
        os.chmod(self.trace, 0o777)
        return self

    def __exit__(self, *_):
        super().__exit__()
        counts = self.counts()
        self.writes, self.bytes = counts["requests"]["WRITE"], counts["bytes_written"]
        self.busy_us = counts["service_us"]["WRITE"]


class Measured:
    """The times that the program printed: sums over its images, and the longest calls."""

    def __init__(self, err):
        self.calls = self.over_5ms = self.over_20ms = self.stalled_us = self.elapsed_us = 0
        self.longest_us = []
        for line in err.splitlines():
            found = re.match(rb"times: calls=(\d+) over_5ms=(\d+) over_20ms=(\d+) "
                             rb"longest_us=([\d,]+) stalled_us=(\d+) elapsed_us=(\d+)$", line)
            if found:
                self.calls += int(found.group(1))
                self.over_5ms += int(found.group(2))
                self.over_20ms += int(found.group(3))
                self.longest_us += [int(word) for word in found.group(4).split(b",")]
                self.stalled_us += int(found.group(5))
                self.elapsed_us += int(found.group(6))
        self.longest_us = sorted(self.longest_us, reverse=True)[:5]

    def __str__(self):
        return (f"{self.calls} calls, {self.over_5ms} over 5 ms, {self.over_20ms} over 20 ms, "
                f"longest {[round(us / 1000, 1) for us in self.longest_us]} ms, waited "
                f"{self.stalled_us / 1000:.0f} of {self.elapsed_us / 1000:.0f} ms")


def withoutTimes(err):
    return [line for line in err.splitlines()
            if not line.startswith(b"times: ") and not line.startswith(b"omnio: ")]


def writesIn(directory):
    """{path: bytes that were written}: each write puts one 'x' at an offset of its own."""
    result = {}
    for name in os.listdir(directory):
        path = os.path.join(directory, name)
        with open(path, "rb") as file:
            result[path] = file.read().count(b"x")
    return result


class SlowLog:
    def __init__(self, checks, work, flavour):
        self.checks, self.work, self.flavour = checks, work, flavour
        self.directory = os.path.join(work, "data", "run")  # below a tmpfs

    def runProgram(self, words, to=None, options=()):
        emptied(self.directory)
        os.chmod(self.directory, 0o777)
        command = [program("c_slow_log"), self.directory, *[str(word) for word in words]]
        if to is not None:
            command = [omnio(), "trace", "-o", to, "--flavour", self.flavour, *options, "--",
                       *command]
        return run(command, timeout=120)

    def same(self, what, got, wanted, wanted_tree):
        self.checks.equal(got.status, wanted.status, f"{what}: status; {got.err[-500:]!r}")
        self.checks.equal(got.out, wanted.out, f"{what}: output")
        self.checks.equal(withoutTimes(got.err), withoutTimes(wanted.err),
                          f"{what}: standard error")
        tree = treeOf(self.directory)
        return self.checks.that(tree == wanted_tree and got.status == wanted.status,
                                f"{what}: files: {differences(tree, wanted_tree)}")

    def stalled(self, what, state):
        """The time spent waiting as the trace says, in microseconds; 0 without such a value."""
        stalled = state.get(STALLED_KEY)
        self.checks.that(isinstance(stalled, int) and stalled >= 0,
                         f"{what}: stats --json has trace.{STALLED_KEY}: {stalled!r}")
        return stalled / 1000 if isinstance(stalled, int) else 0

    def isComplete(self, what, path, truth, events):
        state = stats(path)["trace"]
        self.checks.that(state["whole"] and state["events_missing"] == 0,
                         f"{what}: the trace is complete: {state}")
        counts = operationsByFile(path)
        self.checks.that(counts == truth, f"{what}: writes: {differences(counts, truth)}")
        if events is not None:
            self.checks.equal(state["events"], events, f"{what}: events")
        return state

    def tellsWhatIsMissing(self, what, path, truth, events):
        state = stats(path)["trace"]
        counts = operationsByFile(path)
        more = {name: count for name, count in counts.items() if count > truth.get(name, 0)}
        self.checks.that(not more, f"{what}: no more writes than were made: {more}")
        if events is not None:
            self.checks.equal(state["events"] + state["events_missing"], events,
                              f"{what}: events that are there and events that are missing")
        else:
            absent = sum(truth.values()) - sum(counts.values())
            self.checks.that(state["events_missing"] >= absent,
                             f"{what}: {absent} writes are absent, {state['events_missing']} "
                             "events are missing")
        if state["events_missing"] > 0:
            self.checks.that(not state["whole"] and
                             any(re.search(DROPPED_BECAUSE, reason) and "dropped" in reason
                                 for reason in state["reasons"]),
                             f"{what}: a reason says that events were dropped, and why: "
                             f"{state['reasons']}")
        else:
            self.checks.that(state["whole"], f"{what}: complete, since nothing is missing: {state}")
        return state

    def case(self, name, threads, calls, pace_ns, delay_ms):
        words = [threads, calls, pace_ns]
        wanted = self.runProgram(words)
        self.checks.equal(wanted.status, 0, f"{name}: untraced: {wanted.err!r}")
        wanted_tree = treeOf(self.directory)
        untraced = Measured(wanted.err)
        truth = writesIn(self.directory)
        events = sum(truth.values()) + 2 * threads  # an open and a close each
        print(f"{name}: untraced: {untraced}")

        to = os.path.join(self.work, "data", "trace")
        what = f"{name}, {self.flavour}, fast device"
        with self.checks.case(what):
            emptied(to)
            got = self.runProgram(words, to)
            if self.same(what, got, wanted, wanted_tree):
                print(f"{what}: {Measured(got.err)}")
                state = self.isComplete(what, to, truth, events)
                self.stalled(what, state)
        for mode, options in MODES.items():
            what = f"{name}, {self.flavour}, slow device, {mode}"
            with self.checks.case(what):
                self.slow(what, mode, words, options, delay_ms, wanted, wanted_tree, untraced,
                          truth, events)

    def slow(self, what, mode, words, options, delay_ms, wanted, wanted_tree, untraced, truth,
             events):
        threads = words[0]
        state = None
        with SlowDevice(self.work, delay_ms) as device:
            got = self.runProgram(words, device.trace, options)
            if self.same(what, got, wanted, wanted_tree):
                check = self.tellsWhatIsMissing if mode == "drop" else self.isComplete
                state = check(what, device.trace, truth, events)
        if state is None:
            return
        measured = Measured(got.err)
        print(f"{what}: {measured}; device: {device.writes} writes, {device.bytes} bytes, busy "
              f"{device.busy_us / 1000:.0f} ms; {state['events_missing']} missing, "
              f"{state.get(STALLED_KEY)} ns waited", flush=True)
        stalled_us = self.stalled(what, state)
        if mode == "drop":
            self.checks.that(measured.over_20ms <= untraced.over_20ms + LONG_CALLS_ALLOWED,
                             f"{what}: calls over 20 ms: {measured.over_20ms}, untraced "
                             f"{untraced.over_20ms}, allowed {LONG_CALLS_ALLOWED} more")
            return
        # The device has to write the rest beyond one ring of each thread.
        beyond_us = max(0, device.busy_us - threads * delay_ms * 1000)
        waited_us = max(0, measured.stalled_us - untraced.stalled_us)
        self.checks.that(waited_us <= beyond_us + SLACK_US,
                         f"{what}: a thread waited {waited_us} us, the device needed {beyond_us} "
                         f"us beyond the rings, {SLACK_US} more are allowed")
        self.checks.that(stalled_us <= threads * (device.busy_us + SLACK_US),
                         f"{what}: said to have waited {stalled_us} us, the device was busy for "
                         f"{device.busy_us} us, for {threads} threads")
        if waited_us > SLACK_US:
            self.checks.that(stalled_us >= waited_us / 2,
                             f"{what}: said to have waited {stalled_us} us, one thread waited "
                             f"{waited_us} us")

    def steps(self):
        """Calls that fail where the tracer has a thread of its own, or holds a lock over a fork."""
        words = [1, STEP_CALLS, 2000, *STEPS]
        wanted = self.runProgram(words)
        self.checks.equal(wanted.status, 0, f"steps: untraced: {wanted.err!r}")
        succeeded = b"".join(f"{step} 0\n".encode() for step in STEPS)
        if wanted.out != succeeded:
            # Some machines forbid user namespaces; the results are compared all the same.
            self.checks.skip("steps: those that fail untraced", wanted.out.decode())
        wanted_tree = treeOf(self.directory)
        truth = writesIn(self.directory)
        for mode, options in MODES.items():
            what = f"steps, {self.flavour}, slow device, {mode}"
            with self.checks.case(what):
                with SlowDevice(self.work, DELAY_MS) as device:
                    got = self.runProgram(words, device.trace, options)
                    if not self.same(what, got, wanted, wanted_tree):
                        continue
                    check = self.tellsWhatIsMissing if mode == "drop" else self.isComplete
                    state = check(what, device.trace, truth, None)
                print(f"{what}: {Measured(got.err)}; {state['events_missing']} missing",
                      flush=True)


def main(chosen):
    if not inOwnMemory():
        skipTest("needs root and unshare, for a /dev/shm of its own")
    needSlowStorage()
    checks = Checks()
    here = flavours(checks)
    with WorkDirectory() as work:
        os.chmod(work, 0o777)
        data = emptied(os.path.join(work, "data"))
        devices.must("mount", "-t", "tmpfs", "-o", "mode=777", "none", data)
        try:
            for flavour in here:
                test = SlowLog(checks, work, flavour)
                for name, (threads, calls, pace_ns, delay_ms) in CASES.items():
                    if chosen and name not in chosen:
                        continue
                    with checks.case(f"{name}, {flavour}"):
                        try:
                            test.case(name, threads, calls, pace_ns, delay_ms)
                        except devices.NotHere as reason:
                            checks.skip(f"{name}, {flavour}", str(reason))
                if not chosen or "steps" in chosen:
                    with checks.case(f"steps, {flavour}"):
                        try:
                            test.steps()
                        except devices.NotHere as reason:
                            checks.skip(f"steps, {flavour}", str(reason))
        finally:
            devices.must("umount", data)
    checks.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
