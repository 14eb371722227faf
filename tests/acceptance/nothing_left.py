"""No ring file remains after a run, however it ends: the ring directory, which no other run uses,
is empty after the run, or after `omnio collect` where `omnio trace` was killed as well. Each write
that returned is in the trace, and at most one more of each thread.

Runs end by themselves while 50 short threads begin, write and end; or they are killed 0 to 20 ms
after their start: the program alone, the program and its `omnio trace`, or their process group.

  nothing_left.py [TIMES [CASE...]]    each case that often; also by OMNIO_TEST_REPEATS; else 20
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time

import devices
from counters import Sums, checkCounters, readCounters
from omnio_testing import (PATIENCE_S, Checks, WorkDirectory, byTurns, emptied, environment, omnio,
                           preloadLibrary, program, quietDeath, run, skipTest, stats)
from run_account import RINGS, flavours, inOwnMemory, waitUntilGone

THREADS = 50
LONGEST_LIFE_US = 6000     # of a run that ends by itself: all its threads have ended by then
LATEST_KILL_S = 0.020
COUNTER_THREADS = (1, 4)
RING_BYTES = 147456        # of an earlier version, which could leave rings of zeros
HOUR_S = 3600


class Moments:
    """Runs one kind of run again and again, and counts the files that remain in memory."""

    def __init__(self, checks, chance, work, rings, flavour):
        self.checks, self.chance, self.flavour = checks, chance, flavour
        self.rings = rings
        self.directory = os.path.join(work, "run")
        self.trace_directory = os.path.join(work, "trace")
        self.sums = Sums()
        self.without_trace = 0

    def environment(self, **changes):
        return environment(OMNIO_RING_DIR=self.rings, **changes)

    def leavesNothing(self, what):
        left = os.listdir(self.rings) + os.listdir(RINGS)
        if not self.checks.that(not left, f"{what}: {len(left)} files stay in memory: "
                                          f"{sorted(left)[:3]}"):
            for folder in (self.rings, RINGS):  # the next run begins without them
                for name in os.listdir(folder):
                    os.unlink(os.path.join(folder, name))

    def start(self, words, supervised=True, **more):
        shutil.rmtree(self.trace_directory, ignore_errors=True)
        emptied(self.directory)
        if supervised:
            command = [omnio(), "trace", "-o", self.trace_directory, "--flavour", self.flavour,
                       "--", *words]
            env = self.environment()
        else:
            os.makedirs(self.trace_directory)
            command = words
            env = self.environment(LD_PRELOAD=preloadLibrary(self.flavour),
                                   OMNIO_DIR=self.trace_directory)
        return subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                preexec_fn=quietDeath, **more)

    def counters(self):
        """The counters of the program; none where it was killed before it made them."""
        path = os.path.join(self.directory, "counters")
        if not os.path.exists(path) or os.path.getsize(path) == 0:
            return {}
        return readCounters(self.directory)

    def agrees(self, what, complete=None):
        """The trace against the counters. A run that was killed at once may have no trace."""
        counters = self.counters()
        result = run([omnio(), "stats", self.trace_directory], env=self.environment())
        if result.status != 0:
            self.without_trace += 1
            self.checks.that(sum(counters.values()) == 0,
                             f"{what}: no trace of {sum(counters.values())} writes: {result.err!r}")
            return
        checkCounters(self.checks, what, counters, self.trace_directory, self.sums)
        if complete is not None:
            state = stats(self.trace_directory)["trace"]
            self.checks.that(state["whole"] == complete, f"{what}: complete: {complete}: {state}")

    # Runs that end by themselves.

    def endsItself(self, what, supervised):
        moment = self.chance.randrange(LONGEST_LIFE_US)
        process = self.start([program("c_short_threads"), self.directory, str(THREADS),
                              str(moment)], supervised)
        out, err = process.communicate(timeout=PATIENCE_S)
        self.checks.equal((process.returncode, out, err), (0, b"", b""), f"{what}: status, output")
        self.leavesNothing(what)
        self.agrees(what, complete=True)

    def shortThreads(self, what):
        self.endsItself(what, supervised=True)

    def shortThreadsPreloaded(self, what):
        self.endsItself(what, supervised=False)

    # Runs that are killed.

    def words(self):
        """Two kinds: threads that write without end, and short ones of which many end."""
        threads = self.chance.choice((*COUNTER_THREADS, THREADS))
        if threads == THREADS:
            return [program("c_short_threads"), self.directory, str(threads), "60000000"]
        return [program("c_counter"), self.directory, str(threads)]

    def childOf(self, process):
        """The first child of `omnio trace`, as soon as there is one."""
        path = f"/proc/{process.pid}/task/{process.pid}/children"
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            with open(path, encoding="ascii") as file:
                children = file.read().split()
            if children:
                return int(children[0])
            if process.poll() is not None:
                break
        raise RuntimeError(f"omnio trace starts nothing: {process.communicate()}")

    def pause(self):
        time.sleep(self.chance.uniform(0, LATEST_KILL_S))

    def killed(self, what):
        """`omnio trace` is there to collect."""
        process = self.start(self.words())
        pid = self.childOf(process)
        self.pause()
        os.kill(pid, signal.SIGKILL)
        process.communicate(timeout=PATIENCE_S)
        self.checks.equal(process.returncode, 128 + signal.SIGKILL, f"{what}: status")
        self.leavesNothing(what)
        self.agrees(what)

    def killedTogether(self, what, kill):
        process = self.start(self.words(), start_new_session=True)
        pid = self.childOf(process)
        self.pause()
        kill(process, pid)
        process.communicate(timeout=PATIENCE_S)
        self.checks.equal(process.returncode, -signal.SIGKILL, f"{what}: status")
        waitUntilGone(pid)
        self.collect(what)
        self.leavesNothing(what)
        self.agrees(what)

    def collect(self, what):
        """By the trace, or where there is none yet by --orphans."""
        result = run([omnio(), "collect", self.trace_directory], env=self.environment())
        if result.status != 0:
            result = run([omnio(), "collect", "--orphans"], env=self.environment())
        self.checks.equal(result.status, 0, f"{what}: omnio collect; {result.err!r}")

    def killedWithTrace(self, what):
        def kill(process, pid):
            process.kill()
            os.kill(pid, signal.SIGKILL)
        self.killedTogether(what, kill)

    def killedWithTraceFirst(self, what):
        """The program outlives its `omnio trace` for a moment."""
        def kill(process, pid):
            process.kill()
            self.pause()
            os.kill(pid, signal.SIGKILL)
        self.killedTogether(what, kill)

    def killedGroup(self, what):
        self.killedTogether(what, lambda process, _: os.killpg(process.pid, signal.SIGKILL))

    def killedPreloaded(self, what):
        """Without `omnio trace`: the directory of the trace exists before."""
        process = self.start(self.words(), supervised=False)
        self.pause()
        process.kill()
        process.communicate(timeout=PATIENCE_S)
        self.collect(what)
        self.leavesNothing(what)
        self.agrees(what)


CASES = {
    "short threads": Moments.shortThreads,
    "short threads, preloaded": Moments.shortThreadsPreloaded,
    "killed": Moments.killed,
    "killed with omnio trace": Moments.killedWithTrace,
    "killed after omnio trace": Moments.killedWithTraceFirst,
    "killed as a group": Moments.killedGroup,
    "killed, preloaded": Moments.killedPreloaded,
}


def leftByEarlierVersions(checks, rings):
    """Rings of zeros, which name neither a process nor a trace."""
    names = (f"omnio-{0x1234567890abcdef:016x}-0", f"omnio-{0x1234567890abcdef:016x}-17",
             f"omnio-{0xabcdef:032x}-{0x1234567890abcdef:016x}-3")
    for name in names:
        path = os.path.join(rings, name)
        with open(path, "wb") as file:
            file.truncate(RING_BYTES)
        an_hour_ago = time.time() - HOUR_S
        os.utime(path, (an_hour_ago, an_hour_ago))
    result = run([omnio(), "collect", "--orphans"], env=environment(OMNIO_RING_DIR=rings))
    checks.equal(result.status, 0, f"rings of zeros: omnio collect --orphans; {result.err!r}")
    checks.equal(os.listdir(rings), [], "rings of zeros: what stays")


def main(times, chosen):
    if not inOwnMemory():
        skipTest("needs root and unshare, for a /dev/shm of its own")
    checks = Checks()
    seed = int(os.environ.get("OMNIO_TEST_SEED", time.time_ns() % 1000000))
    print(f"OMNIO_TEST_SEED={seed}")
    chance = random.Random(seed)
    with WorkDirectory() as work:
        rings = os.path.join(work, "rings")
        os.makedirs(rings)
        devices.must("mount", "-t", "tmpfs", "-o", "mode=1777", "none", rings)
        try:
            for number, (name, case) in enumerate(CASES.items()):
                if chosen and name not in chosen:
                    continue
                for flavour in byTurns(number, flavours(checks)):
                    what = f"{name}, {flavour}"
                    moments = Moments(checks, chance, work, rings, flavour)
                    started = time.monotonic()
                    with checks.case(what):
                        for _ in range(times):
                            case(moments, what)
                    moments.leavesNothing(f"{what}, at the end")
                    print(f"{what}: {times} times in {time.monotonic() - started:.1f} s; "
                          f"{moments.sums}; {moments.without_trace} without a trace", flush=True)
            if not chosen or "rings of zeros" in chosen:
                with checks.case("rings of zeros"):
                    leftByEarlierVersions(checks, rings)
        finally:
            devices.must("umount", rings)
    checks.finish()


if __name__ == "__main__":
    main(int(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("OMNIO_TEST_REPEATS", 20)),
         sys.argv[2:])
