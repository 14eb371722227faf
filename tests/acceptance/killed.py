"""Commands that are ended by SIGKILL, while they read, prepare, replay and measure: no process that they
started goes on, neither a launcher nor a rank. Processes of a run are known by a variable of their
environment.

  killed.py [CASE...]
"""

import os
import signal
import subprocess
import time
import uuid

from omnio_testing import PATIENCE_S, emptied, environment, mpirun, omnio, runCases
from replay_testing import MPI_ENVIRONMENT, closed, file, opened, schedule, write

RANKS = 4
MIB = 1 << 20
LATE_NS = 600_000_000_000
# No run lasts as long, and no process needs as long to end.


class Marked:
    """A command with a mark that all processes inherit which come of it."""

    def __init__(self, words, **more):
        self.mark = f"OMNIO_KILLED_TEST={uuid.uuid4()}"
        name, value = self.mark.split("=")
        self.process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=environment(**MPI_ENVIRONMENT, **{name: value}, **more), start_new_session=True)

    def all(self):
        """{pid: words} of those that live, the command and what came of it."""
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as variables:
                    if self.mark.encode() not in variables.read().split(b"\0"):
                        continue
                with open(f"/proc/{pid}/cmdline", "rb") as words:
                    found[int(pid)] = words.read().replace(b"\0", b" ").decode()
            except OSError:
                continue
        return found

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        self.process.wait()

    def end(self):
        """Whatever a failed check has left."""
        for pid in self.all():
            os.kill(pid, signal.SIGKILL)
        self.process.wait()


def waitUntil(condition, seconds=PATIENCE_S):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def nothingLeft(checks, what, run, seconds=PATIENCE_S):
    began = time.monotonic()
    gone = waitUntil(lambda: not run.all(), seconds)
    left = run.all()
    checks.that(gone, f"{what}: {len(left)} processes go on: {sorted(left.values())[:3]}")
    print(f"{what}: gone in {time.monotonic() - began:.1f} s", flush=True)
    run.end()


def slowSchedule(work, ranks=RANKS):
    """Each rank writes at once. The first one closes its file after ten minutes, and the others wait for
    that."""
    of_ranks = []
    for rank in range(ranks):
        written = {"command": "pwrite64", "fd": 0, "count": 4096, "offset": 0, "result": 4096}
        last = {**closed(0), "start": LATE_NS, "end": LATE_NS + 1}
        if rank == 0:
            last["id"] = 1
        else:
            last.update(after=[1], start=LATE_NS + 2, end=LATE_NS + 3)
        of_ranks.append([[opened(f"out.{rank}", 0), written, last]])
    files = [file(f"out.{rank}") for rank in range(ranks)]
    return write(os.path.join(work, "slow.json"), schedule(files, ranks=of_ranks, timing="start"))


def begun(target, ranks=RANKS):
    """Whether each rank has written."""
    paths = [os.path.join(target, "tree", f"out.{rank}") for rank in range(ranks)]
    return all(os.path.exists(path) and os.path.getsize(path) == 4096 for path in paths)


def replaying(checks, work, what, *options, kill=Marked.kill, **more):
    target = emptied(os.path.join(work, "target"))
    run = Marked([omnio(), "replay", slowSchedule(work), "--target", target, "-o",
                  emptied(os.path.join(work, "out")), *options], **more)
    checks.that(waitUntil(lambda: begun(target)), f"{what}: the ranks have begun: {run.all()}")
    # The command, a launcher, and one process for each rank at least.
    checks.that(len(run.all()) >= 2 + RANKS, f"{what}: processes by their mark: {run.all()}")
    kill(run)
    nothingLeft(checks, what, run)


def whileReading(checks, work):
    """Before anything is started."""
    events = [opened("out", 0)]
    for at in range(200_000):
        events.append({"command": "pwrite64", "fd": 0, "count": 8, "offset": 8 * at, "result": 8})
    path = write(os.path.join(work, "large.json"), schedule([file("out")], [[*events, closed(0)]]))
    output = os.path.join(work, "large.replay")
    run = Marked([omnio(), "replay", path, "--target", os.path.join(work, "large"), "-o", output])
    began = os.path.join(output, "replay-programs", "thread.0")
    checks.that(waitUntil(lambda: os.path.exists(began)), "reading: has begun")
    run.kill()
    nothingLeft(checks, "reading", run)


def whilePreparing(checks, work):
    events = [[opened("in", 0, "O_RDONLY"), closed(0)]]
    path = write(os.path.join(work, "prepared.json"), schedule(
        [file("in", "input", True, 1024 * MIB)], ranks=[events] * RANKS))
    target = emptied(os.path.join(work, "target"))
    made = os.path.join(target, "tree", "in")
    run = Marked([omnio(), "replay", path, "--target", target, "-o", os.path.join(work, "prepared")])
    checks.that(waitUntil(lambda: os.path.exists(made)), "preparing: has begun")
    run.kill()
    nothingLeft(checks, "preparing", run)
    os.unlink(made)


def whileReplaying(checks, work):
    replaying(checks, work, "replaying")
    for options in (["--no-trace"], ["--wait", "spin", "--compute", "spin"], ["--wait", "yield", "--no-trace"]):
        replaying(checks, work, " ".join(["replaying", *options]), *options)


def launcherOfItsOwn(work, options=""):
    """A script that stays beside the launcher, which a signal to the script does not reach."""
    path = os.path.join(work, "launcher")
    words = " ".join(mpirun(RANKS))
    write(path, f"#!/bin/sh\n{words} {options} \"$@\"\nexit $?\n")
    os.chmod(path, 0o755)
    return path


def behindAScript(checks, work):
    replaying(checks, work, "behind a script", "--launcher", launcherOfItsOwn(work))
    replaying(checks, work, "behind a script, --no-trace", "--launcher", launcherOfItsOwn(work), "--no-trace")


def ofTheLauncher(checks, work):
    """The launcher is killed, and not the command."""
    def kill(run):
        for pid, words in run.all().items():
            if words.startswith("mpirun "):
                os.kill(pid, signal.SIGKILL)
        checks.that(waitUntil(lambda: run.process.poll() is not None), "of the launcher: the command ends")

    replaying(checks, work, "of the launcher", kill=kill)
    replaying(checks, work, "of the launcher, --no-trace", "--no-trace", kill=kill)


def ofRanksAlone(checks, work):
    """omnio-replay, started by a launcher that is killed."""
    replayer = os.path.join(os.path.dirname(omnio()), "..", "replay", "omnio-replay")
    target = emptied(os.path.join(work, "target"))
    run = Marked([*mpirun(RANKS), replayer, slowSchedule(work), "--target", target, "-o",
                  emptied(os.path.join(work, "out"))])
    checks.that(waitUntil(lambda: begun(target)), "omnio-replay: the ranks have begun")
    run.kill()
    nothingLeft(checks, "omnio-replay", run)


def whileCalibrating(checks, work):
    target = emptied(os.path.join(work, "calibrated"))
    run = Marked([omnio(), "calibrate", "--target", target, "--processes", "4", "--largest", "64K", "-o",
                  os.path.join(work, "calibration.json")])
    checks.that(waitUntil(lambda: len(run.all()) >= 5), "calibrating: the workers have begun")
    run.kill()
    nothingLeft(checks, "calibrating", run)


if __name__ == "__main__":
    runCases(whileReading, whilePreparing, whileReplaying, behindAScript, ofTheLauncher, ofRanksAlone,
             whileCalibrating)
