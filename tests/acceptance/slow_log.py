"""The trace goes to a file system whose writes are slow, or held until the test lets them go on
(slow_storage.py). The program's output is the same; with `--when-slow wait`, the default, no event is
missing, and the program goes on beside a write that takes its time; with `--when-slow drop` it makes
all its calls while no write to the trace ends, and the events that are missing are counted and
explained.

Nothing here depends on how fast the machine is: a time is compared with another one that it cannot
be shorter, or longer, than.

  slow_log.py [CASE...]    all cases by default
"""

import concurrent.futures
import os
import re
import sys
import time

import devices
from omnio_testing import (PATIENCE_S, Checks, WorkDirectory, byTurns, differences, emptied,
                           environment, omnio, program, run, skipTest, stats, treeOf, until)
from run_account import flavours, inOwnMemory, operationsByFile
from slow_storage import SlowStorage, needSlowStorage

STALLED_KEY = "stalled_ns"       # of "trace" in the statistics document
DROPPED_BECAUSE = "slow|keep up|when-slow"  # in a reason, when events were dropped
DELAY_MS = 50
# A write that takes this long is a slow one (kSlowWriteNs in trace/runtime/ring/log_helper.hpp).
HELD_S = 0.01
HEADER_BYTES = 4096  # kContainerHeaderBytes in core/wire/container.hpp

# One thread makes more events than all rings of it hold. The pace leaves processors free.
# name: (threads, calls of each, nanoseconds from call to call)
CASES = {
    "1 thread": (1, 1 << 17, 2000),
    "4 threads": (4, 1 << 15, 20000),
}
STEPS = ("fork", "newns", "setns", "exec", "setuid", "newuser")
STEP_CALLS = 1 << 13
MODES = {"default": [], "wait": ["--when-slow", "wait"], "drop": ["--when-slow", "drop"]}


class Device(SlowStorage):
    """Where the trace is: its writes take `delay_ms`, one after the other, or are held."""

    def __init__(self, work, delay_ms=0, control=False):
        # With pages in the kernel's cache: the trace may be mapped.
        turns = [] if control else ["--one-at-a-time"]
        super().__init__(work, "--write-us", delay_ms * 1000, *turns, "--cache", control=control)
        self.trace = os.path.join(self.path, "trace")

    def __enter__(self):
        super().__enter__()
        # A process that becomes another user goes on writing here.
        os.mkdir(self.trace)
        os.chmod(self.trace, 0o777)
        return self


class Meetings:
    """With a c_slow_log that runs meanwhile: it says that it has come to a place, and goes on when
    it hears that it may."""

    def __init__(self, work):
        self.path = emptied(os.path.join(work, "meetings"))
        os.chmod(self.path, 0o777)
        self._ends = []
        for name in ("said", "heard"):
            path = os.path.join(self.path, name)
            os.mkfifo(path)
            # With both of its sides open here, neither side waits for the other.
            self._ends.append(os.open(path, os.O_RDWR | os.O_NONBLOCK))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for end in self._ends:
            os.close(end)

    def came(self):
        """Whether the program has come to its next place."""
        try:
            return os.read(self._ends[0], 1) == b"x"
        except BlockingIOError:
            return False

    def goOn(self):
        os.write(self._ends[1], b"x")


class Measured:
    """The times that the program printed, to be looked at: sums over its images, and the longest
    calls."""

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


class Holder:
    """Runs the program on a device that holds the writes to the trace from the time on when all threads of the
    program are there and begin their calls. `held_s` is for how long a thread of the program waited for certain."""

    def __init__(self, test, device, threads):
        self.test, self.device, self.threads, self.held_s = test, device, threads, 0.0

    def run(self, words, options, drops):
        with Meetings(self.test.work) as meetings, \
                concurrent.futures.ThreadPoolExecutor(1) as pool:
            running = pool.submit(self.test.runProgram, words, self.device.trace, options,
                                  environment(MEETINGS=meetings.path))

            def sees(condition, what):
                """As until(); a program that has ended meanwhile has no more to show."""
                def look():
                    return condition() or running.done()
                until(look, what)
                if running.done():
                    raise RuntimeError(f"the program ended: {what}; {running.result()}")

            try:
                sees(meetings.came, "the program begins")
                self.device.hold("write")
                meetings.goOn()
                if drops:
                    sees(meetings.came, "all calls are made while no write ends")
                    sees(self.device.held, "a write of the tracer's")
                    self.device.go()
                else:
                    self.goesOn(sees)
                    self.device.go()
                    sees(meetings.came, "all calls are made")
                meetings.goOn()
                return running.result()
            finally:
                self.device.go()
                for _ in range(2):  # whatever it waits for
                    meetings.goOn()

    def writesMade(self):
        return sum(writesIn(self.test.directory).values())

    def logHasBegun(self):
        """Whether its header and the facts of its process are written. Other threads make calls while
        one still writes the facts, which is not counted as waiting for the log."""
        trace = os.path.join(self.device.backing, os.path.basename(self.device.trace))
        return any(name.endswith(".omnio") and os.path.getsize(os.path.join(trace, name)) > HEADER_BYTES
                   for name in os.listdir(trace))

    def goesOn(self, sees):
        """The first writes are those of the program's threads; one that was slow makes the tracer
        write on a thread of its own, beside which the program goes on."""
        def ringIsHeld():
            held = self.device.held()
            if held and (self.writesMade() == 0 or not self.logHasBegun()):
                self.device.let(len(held))
                return False
            return held

        sees(ringIsHeld, "a thread waits for the write of its ring")
        threads = {int(thread) for thread in os.listdir(f"/proc/{self.device.held()[0]}/task")}
        self.test.checks.equal(len(threads), self.threads, "threads while none writes for others")
        made = in_a_ring = self.writesMade()  # by one thread: it waits
        began = time.monotonic()
        time.sleep(HELD_S)
        self.held_s = time.monotonic() - began

        def helperIsHeld():
            nonlocal made
            held = self.device.held()
            if any(thread not in threads for thread in held):
                return True
            if held:
                made = self.writesMade()
                self.device.let(len(held))
            return False

        sees(helperIsHeld, "a write of the tracer's own thread")
        if self.threads == 1:
            # The thread has handed over one more ring, and goes on with the next.
            sees(lambda: self.writesMade() > made + in_a_ring * 3 // 2,
                 "calls beside a write that is held")


class SlowLog:
    def __init__(self, checks, work, flavour):
        self.checks, self.work, self.flavour = checks, work, flavour
        self.directory = os.path.join(work, "data", "run")  # below a tmpfs

    def runProgram(self, words, to=None, options=(), env=None):
        emptied(self.directory)
        os.chmod(self.directory, 0o777)
        command = [program("c_slow_log"), self.directory, *[str(word) for word in words]]
        if to is not None:
            command = [omnio(), "trace", "-o", to, "--flavour", self.flavour, *options, "--",
                       *command]
        return run(command, env=env, timeout=PATIENCE_S)

    def same(self, what, got, wanted, wanted_tree):
        self.checks.equal(got.status, wanted.status, f"{what}: status; {got.err[-500:]!r}")
        self.checks.equal(got.out, wanted.out, f"{what}: output")
        self.checks.equal(withoutTimes(got.err), withoutTimes(wanted.err),
                          f"{what}: standard error")
        tree = treeOf(self.directory)
        return self.checks.that(tree == wanted_tree and got.status == wanted.status,
                                f"{what}: files: {differences(tree, wanted_tree)}")

    def stalled(self, what, state, threads, seconds, least_s=0.0):
        """The time spent waiting, as the trace says: at least what a write was held for in the
        thread that made it, and no more than all threads had."""
        stalled = state.get(STALLED_KEY)
        if self.checks.that(isinstance(stalled, int) and stalled >= 0,
                            f"{what}: stats --json has trace.{STALLED_KEY}: {stalled!r}"):
            self.checks.that(least_s <= stalled / 1e9 <= threads * seconds,
                             f"{what}: said to have waited {stalled} ns; a write was held for "
                             f"{least_s} s, {threads} threads ran for {seconds} s")

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

    def case(self, name, threads, calls, pace_ns):
        words = [threads, calls, pace_ns]
        wanted = self.runProgram(words)
        self.checks.equal(wanted.status, 0, f"{name}: untraced: {wanted.err!r}")
        wanted_tree = treeOf(self.directory)
        truth = writesIn(self.directory)
        events = sum(truth.values()) + 2 * threads  # an open and a close each
        print(f"{name}: untraced: {Measured(wanted.err)}")

        def check(what, to, got, mode, least_s=0.0):
            if not self.same(what, got, wanted, wanted_tree):
                return None
            account = self.tellsWhatIsMissing if mode == "drop" else self.isComplete
            state = account(what, to, truth, events)
            print(f"{what}: {Measured(got.err)}; {state['events_missing']} missing, "
                  f"{state.get(STALLED_KEY)} ns waited", flush=True)
            self.stalled(what, state, threads, got.seconds, least_s)
            return state

        to = os.path.join(self.work, "data", "trace")
        what = f"{name}, {self.flavour}, fast device"
        with self.checks.case(what):
            emptied(to)
            check(what, to, self.runProgram(words, to), "wait")
        for mode, options in MODES.items():
            what = f"{name}, {self.flavour}, slow device, {mode}"
            with self.checks.case(what), Device(self.work, DELAY_MS) as device:
                check(what, device.trace, self.runProgram(words, device.trace, options), mode)
            what = f"{name}, {self.flavour}, held device, {mode}"
            with self.checks.case(what), Device(self.work, control=True) as device:
                holder = Holder(self, device, threads)
                got = holder.run([threads, calls, 0], options, mode == "drop")
                state = check(what, device.trace, got, mode, holder.held_s)
                if mode == "drop" and threads == 1 and state is not None:
                    self.checks.that(state["events_missing"] > 0,
                                     f"{what}: the rings do not hold all: {state}")

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
                with Device(self.work, DELAY_MS) as device:
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
            cases = {name: lambda test, name=name, case=case: test.case(name, *case)
                     for name, case in CASES.items()}
            cases["steps"] = SlowLog.steps
            for number, (name, case) in enumerate(cases.items()):
                for flavour in byTurns(number, here) if not chosen or name in chosen else ():
                    with checks.case(f"{name}, {flavour}"):
                        try:
                            case(SlowLog(checks, work, flavour))
                        except devices.NotHere as reason:
                            checks.skip(f"{name}, {flavour}", str(reason))
        finally:
            devices.must("umount", data)
    checks.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
