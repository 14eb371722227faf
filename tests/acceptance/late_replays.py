"""A replay says by how much it was late itself, and beyond --late-limit that its time is not a result.
What slow storage explains is not lateness.

The replayer is starved by SIGSTOP while it has to think, for longer than it has to, so that the least
lateness is known however fast the machine is.

  late_replays.py [CASE...]    all cases by default
"""

import json
import os
import re
import signal
import subprocess
import time

from omnio_testing import PATIENCE_S, environment, omnio, program, run, runCases, until
from replay_testing import (MPI_ENVIRONMENT, closed, file, opened, processesOf, replay, report, schedule,
                            write)
from slow_storage import SlowStorage, whyNotSlow

THINK_S = 2
STOPPED_S = 2
LEAST_NS = STOPPED_S * 999_000_000  # of lateness, by a clock that may be another one


def recorded(checks, work, name, calls, think_s, timing="dt"):
    """The schedule of a program that writes half of so many times, thinks for so long, and writes again."""
    trace, path = os.path.join(work, f"{name}.trace"), os.path.join(work, f"{name}.json")
    os.mkdir(os.path.join(work, name))
    command = [omnio(), "trace", "-o", trace, "--", program("c_steady"), name, "1", str(calls), "1"]
    with subprocess.Popen(command, cwd=work, env=environment(), stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        checks.equal(process.stdout.readline(), b"half\n", f"{name}: recorded to the half")
        time.sleep(think_s)
        process.communicate(b"\n", timeout=PATIENCE_S)
    checks.equal(process.returncode, 0, f"{name}: recorded")
    made = run([omnio(), "preprocess", trace, "-o", path, "--timing", timing], cwd=work)
    checks.equal(made.status, 0, f"{name}: preprocess: {made}")
    return path


def isStopped(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return stat.read().rpartition(")")[2].split()[0] == "T"


def starved(path, target, output, begun, *options, variables=()):
    """Stops rank 0 of a replay when `begun` is true, until it is so late; returns its end."""
    dry = run([omnio(), "replay", path, "--target", target, "--dry-run", "--json"])
    work_s = json.loads(dry.out)["duration"]["without_io_ns"] / 1e9
    with subprocess.Popen([omnio(), "replay", path, "--target", target, "-o", output, *options],
                          env=environment(**MPI_ENVIRONMENT, **dict(variables)), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        until(begun, f"{output}: the first call")
        is_traced = "--no-trace" not in options
        pid = until(lambda: processesOf(path, is_traced).get(0), f"{output}: the process of rank 0")
        os.kill(pid, signal.SIGSTOP)
        until(lambda: isStopped(pid), f"{output}: stopped")
        # All that it has to do was due by then.
        time.sleep(work_s + STOPPED_S)
        os.kill(pid, signal.SIGCONT)
        out, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out.decode(), err.decode()


def checkStarved(checks, work):
    path = recorded(checks, work, "starved", 2, THINK_S)

    def replayed(name, *options):
        target, output = os.path.join(work, f"{name}.target"), os.path.join(work, name)
        data = os.path.join(target, "tree", "starved", "steady.0")

        def begun():
            return os.path.exists(data) and os.path.getsize(data) > 0

        return output, *starved(path, target, output, begun, *options)

    output, status, out, err = replayed("late", "--late-limit", "20%")
    told = report(output)
    checks.equal(status, 3, f"a late replay: status: {err}")
    checks.that(re.fullmatch(
        rf"omnio: {output}: the replayer itself was late: (\d+\.\d+) s of the makespan of \d+\.\d+ s "
        r"\(\d+\.\d %\) is its own, more than --late-limit 20%, so the time says nothing of the storage; "
        r"use more processors for each thread, --wait block, or fewer ranks a node; where calls take less "
        r"than a microsecond, compare the I/O time\n", err), f"a late replay: reason: {err!r}")
    checks.that(re.search(r"^Stretch: \d+\.\d+ s, \d+\.\d % of the makespan, by lateness that was not made "
                          r"up for; the replayer itself was late: use more ", out, re.M),
                f"a late replay: in the report: {out}")
    checks.that(LEAST_NS <= told["stretch_ns"] <= told["makespan_ns"], f"stretch: {told['stretch_ns']}")
    checks.that(abs(told["stretch_share"] - told["stretch_ns"] / told["makespan_ns"]) <= 1e-4,
                f"its share: {told['stretch_share']}")
    checks.equal((told["late"], told["late_limit"]), (True, 0.2), "late, by the limit")
    checks.equal(told["total"]["differences"], 0, "a late replay: differences")
    verified = run([omnio(), "verify", path, output])
    checks.equal(verified.status, 0, f"a late replay leaves its trace: {verified}")

    # Without a limit, it is told all the same.
    output, status, out, err = replayed("told", "--no-trace")
    checks.equal((status, err), (0, ""), "a late replay without a limit")
    checks.that("the replayer itself was late" in out, f"without a limit, in the report: {out}")
    checks.equal((report(output)["late"], report(output)["late_limit"]), (True, 0.05), "the default limit")


def checkSlowStorage(checks, work):
    """Storage that takes 4 s more than the recorded one, in which a thread is not late."""
    if why := whyNotSlow():
        checks.skip("slow storage", why)
        return
    calls, write_us, wanted_ns = 80, 50_000, 4_000_000_000
    for timing in ("dt", "start"):
        path = recorded(checks, work, f"slow.{timing}", calls, 0, timing)
        output = os.path.join(work, f"slow.{timing}.replay")
        with SlowStorage(work, "--write-us", write_us, name=f"storage.{timing}") as slow:
            done = replay(path, os.path.join(slow.path, "target"), output, "--late-limit", "25%")
        told = report(output)
        print(f"{timing}: makespan {told['makespan_ns']}, stretch {told['stretch_ns']}, lateness "
              f"{told['total']['lateness_ns']}")
        checks.equal((done.status, done.err), (0, b""), f"slow storage, {timing}: {done}")
        checks.that(told["makespan_ns"] >= wanted_ns, f"{timing}: storage was slow: {told['makespan_ns']}")
        checks.that(told["stretch_ns"] <= told["makespan_ns"] // 4 and told["late"] is False,
                    f"{timing}: the replayer was not late: {told['stretch_ns']}")
        if timing == "start":
            latest = told["total"]["lateness_ns"]["max"]
            checks.that(latest >= wanted_ns // 2, f"start: calls began after their recorded start: {latest}")


def checkInherited(checks, work):
    """The rank that ends last was never stopped, and waited for one that was."""
    think = THINK_S * 1_000_000_000
    path = write(os.path.join(work, "ranks.json"), schedule(
        [file("begun"), file("out")],
        ranks=[[[opened("begun", 0), {**closed(0), "start": think, "end": think + 500, "id": 1}]],
               [[{**opened("out", 1), "start": think + 1000, "end": think + 1500, "after": [1]},
                 {**closed(1), "start": think + 2000, "end": think + 2500}]]], timing="dt"))
    for how, variables in (("in shared memory", ()),
                           ("by messages", (("OMNIO_REPLAY_NODE_PER_PROCESS", "1"),))):
        name = how.replace(" ", "_")
        target, output = os.path.join(work, f"{name}.target"), os.path.join(work, name)
        status, _, err = starved(path, target, output,
                                 lambda: os.path.exists(os.path.join(target, "tree", "begun")),
                                 "--no-trace", "--late-limit", "10", variables=variables)
        told = report(output)
        checks.equal(status, 3, f"{how}: status: {err}")
        checks.equal(told["makespan_ns"], told["ranks"][1]["makespan_ns"], f"{how}: rank 1 ended last")
        checks.that(LEAST_NS <= told["stretch_ns"] <= told["makespan_ns"],
                    f"{how}: it was as late as rank 0: {told['stretch_ns']}")


def checkWords(checks, work):
    path = write(os.path.join(work, "asap.json"), schedule([file("a")], [[opened("a", 0), closed(0)]]))
    target, output = os.path.join(work, "asap"), os.path.join(work, "asap.replay")
    for word in ("late", "-1%"):
        done = replay(path, target, output, f"--late-limit={word}")
        checks.equal((done.status, done.err), (2, (
            f"omnio: --late-limit: {word} is not a number of percent from 0 on\n"
            "Try `omnio replay --help`.\n").encode()), f"--late-limit={word}")
    done = replay(path, target, output, "--late-limit", "0")
    checks.equal((done.status, done.err), (0, b""), f"asap has no due times: {done}")
    checks.that(b"Stretch" not in done.out and "stretch_ns" not in report(output), "asap: no stretch")


if __name__ == "__main__":
    runCases(checkStarved, checkSlowStorage, checkInherited, checkWords)
