"""A trace has the events of its own run only: not those that an earlier run of the same directory
left in memory, and not those in files that another user put next to its rings. It has those of a
process that became another user. And `omnio collect --orphans` removes the rings of runs that are
over, and no others.

The programs write single bytes, so the size of a file is the number of writes (c_refused.c).

  only_this_run.py [CASE...]    all cases by default
"""

import contextlib
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

import devices
from omnio_testing import (PATIENCE_S, Checks, WorkDirectory, byTurns, environment, manifest, omnio,
                           preloadLibrary, program, quietDeath, readLog, run, skipTest, stats)
from run_account import (NOBODY, RINGS, asUser, canBeRunBy, flavours, inOwnMemory,
                         operationsByFile, ringFiles, sizesBelow, waitUntilGone)
from schedule_expander import expanded

VICTIM = 4321
# `omnio collect` says this about ring files that other users own.
LEFT_ALONE = r"\b(\d+) ring files? of other users"
TOKEN_AT_END = re.compile(r"([0-9a-f]{16})-(\d+)$")


class Running:
    """A program that has said that it is ready, alone or below `omnio trace`."""

    def __init__(self, directory, steps, trace_directory, flavour, supervised=True, user=None,
                 around=()):
        os.makedirs(directory, exist_ok=True)
        os.chmod(directory, 0o777)
        inner = ["sh", "-c", "echo $$; exec \"$@\"", "sh", program("c_refused"), directory,
                 *steps.split()]
        command = [*around, *inner]
        env = environment()
        if supervised:
            command = [omnio(), "trace", "-o", trace_directory, "--flavour", flavour, "--",
                       *command]
        else:
            os.makedirs(trace_directory, exist_ok=True)
            env.update(LD_PRELOAD=preloadLibrary(flavour), OMNIO_DIR=trace_directory)
        if user is not None:
            command = [*asUser(user), *command]
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        preexec_fn=quietDeath)
        self.pid = int(self.process.stdout.readline())
        line = self.process.stdout.readline()
        if line != b"ready\n":
            raise RuntimeError(f"{command}: {line!r} {self.process.communicate()}")

    def pids(self):
        """The program and its child processes."""
        found = [self.pid]
        for thread in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{thread}/children", encoding="ascii") as file:
                found += [int(word) for word in file.read().split()]
        return found

    def kill(self, supervisor_too=True):
        if supervisor_too:
            self.process.kill()
        pids = self.pids()
        # The child first: `omnio trace` collects when the program has ended.
        for pid in reversed(pids):
            os.kill(pid, signal.SIGKILL)
            waitUntilGone(pid)
        self.process.communicate(timeout=PATIENCE_S)

    def goOn(self):
        """Lets it run to its end; returns the status."""
        _, err = self.process.communicate(b"\n", timeout=PATIENCE_S)
        if err:
            print(f"standard error: {err.decode(errors='replace').strip()}")
        return self.process.returncode


class OnlyThisRun:
    def __init__(self, checks, work, flavour):
        self.checks, self.work, self.flavour = checks, work, flavour
        self.count = 0

    def fresh(self, name):
        self.count += 1
        return os.path.join(self.work, f"{name}{self.count}")

    def traced(self, directory, steps, trace_directory):
        os.makedirs(directory, exist_ok=True)
        return run([omnio(), "trace", "-o", trace_directory, "--flavour", self.flavour, "--",
                    program("c_refused"), directory, *steps.split()])

    # The content of a trace.

    def holdsOnly(self, what, trace_directory, directory, events=None, complete=True,
                  processes=1):
        """Exactly the writes to the files of this directory, by every reader."""
        truth = sizesBelow(directory)
        counts = operationsByFile(trace_directory)
        self.checks.equal(counts, truth, f"{what}: writes by file, in stats")
        logged = {}
        for event in readLog(trace_directory):
            if event["class"] == "write":
                logged[event["file"]] = logged.get(event["file"], 0) + 1
        self.checks.equal(logged, truth, f"{what}: writes by file, in the log")
        state = stats(trace_directory)["trace"]
        if complete:
            self.checks.that(state["whole"] and state["events_missing"] == 0,
                             f"{what}: the trace is complete: {state}")
        self.checks.equal(state["processes"], processes, f"{what}: processes")
        if events is not None:
            self.checks.equal(state["events"], events, f"{what}: events")
        self.scheduleHoldsOnly(what, trace_directory, directory, truth)

    def scheduleHoldsOnly(self, what, trace_directory, directory, truth):
        schedule = self.fresh("schedule") + ".json"
        result = run([omnio(), "preprocess", trace_directory, "-o", schedule])
        if not self.checks.equal(result.status, 0, f"{what}: omnio preprocess; {result.err!r}"):
            return
        text = json.dumps(expanded(schedule))
        found = set(re.findall(rf'"({re.escape(self.work)}/run\d+/[^"]*)"', text))
        others = {path for path in found if not path.startswith(directory + "/")}
        self.checks.that(not others, f"{what}: files of others in the schedule: {others}")
        self.checks.that(all(os.path.basename(path) in text for path in truth),
                         f"{what}: the schedule has its files")

    def says(self, result):
        return (result.out + result.err).decode(errors="replace")

    # An earlier run of the same directory.

    def leftBehind(self, trace_directory):
        """A run that is killed with its `omnio trace`: its last events are in memory."""
        directory = self.fresh("run")
        running = Running(directory, "open:old put:3000 say:ready pause", trace_directory,
                          self.flavour)
        running.kill()
        self.checks.that(ringFiles(), "the killed run leaves rings")
        self.checks.equal(sizesBelow(directory), {os.path.join(directory, "old"): 3000},
                          "the killed run wrote its file")
        return directory

    def secondRun(self, what, trace_directory):
        directory = self.fresh("run")
        result = self.traced(directory, "open:new put:2000 close return:0", trace_directory)
        self.checks.equal((result.status, result.err), (0, b""), f"{what}: second run")
        self.holdsOnly(f"{what}: second run", trace_directory, directory, events=2002)
        result = run([omnio(), "collect", trace_directory])
        self.checks.equal(result.status, 0, f"{what}: omnio collect; {result.err!r}")
        self.holdsOnly(f"{what}: second run, collected", trace_directory, directory, events=2002)

    def bringsIn(self, what, trace_directory, directory):
        """The old run's events come into its own directory, wherever that is now."""
        result = run([omnio(), "collect", trace_directory])
        self.checks.equal(result.status, 0, f"{what}: omnio collect; {result.err!r}")
        self.holdsOnly(f"{what}: old run", trace_directory, directory, events=3001, complete=False)

    def leavesNoRing(self, what):
        result = run([omnio(), "collect", "--orphans"])
        self.checks.equal(result.status, 0, f"{what}: omnio collect --orphans; {result.err!r}")
        self.checks.equal(ringFiles(), [], f"{what}: rings after collect --orphans")

    def removed(self):
        to = self.fresh("trace")
        self.leftBehind(to)
        shutil.rmtree(to)
        self.secondRun("removed", to)
        self.leavesNoRing("removed")

    def moved(self):
        to = self.fresh("trace")
        old = self.leftBehind(to)
        os.rename(to, to + ".old")
        self.secondRun("moved", to)
        self.bringsIn("moved", to + ".old", old)
        self.checks.equal(ringFiles(), [], "moved: rings after both were collected")
        self.leavesNoRing("moved")

    def movedAndReadFirst(self):
        """The old run is read where it is now, before and after another one has its place."""
        to = self.fresh("trace")
        old = self.leftBehind(to)
        os.rename(to, to + ".old")
        self.holdsOnly("moved and read", to + ".old", old, events=3001, complete=False)
        self.secondRun("moved and read", to)
        self.holdsOnly("moved and read again", to + ".old", old, events=3001, complete=False)
        self.bringsIn("moved and read", to + ".old", old)
        self.leavesNoRing("moved and read")

    def mounted(self):
        """Another file system at the same path, as on a node of a cluster that boots anew."""
        to = self.fresh("trace")
        old = self.leftBehind(to)
        devices.must("mount", "-t", "tmpfs", "none", to)
        try:
            self.secondRun("mounted", to)
        finally:
            devices.must("umount", to)
        self.bringsIn("mounted", to, old)
        self.leavesNoRing("mounted")

    def sameDirectoryTwice(self):
        """Two runs one after the other, whose directory is removed each time."""
        to = self.fresh("trace")
        for _ in range(3):
            self.leftBehind(to)
            shutil.rmtree(to)
        self.secondRun("removed three times", to)
        self.leavesNoRing("removed three times")

    # Runs that are over, and others.

    def orphansOfPresentTrace(self):
        """The trace is still there: its events are brought in before the rings are removed."""
        to = self.fresh("trace")
        old = self.leftBehind(to)
        rings = ringFiles()
        result = run([omnio(), "collect", "--orphans"])
        self.checks.equal(result.status, 0, f"orphans: status; {result.err!r}")
        text = self.says(result)
        self.checks.that(to in text or any(os.path.basename(ring) in text for ring in rings),
                         f"orphans: what is removed is listed: {text!r}")
        self.checks.equal(ringFiles(), [], "orphans: rings afterwards")
        self.holdsOnly("orphans", to, old, events=3001, complete=False)
        again = run([omnio(), "collect", "--orphans"])
        self.checks.equal((again.status, ringFiles()), (0, []), "orphans: nothing left, again")

    def orphansBesideRunning(self):
        """A process that runs without `omnio trace`, beside a run that is over."""
        over, alive = self.fresh("trace"), self.fresh("trace")
        self.leftBehind(over)
        before = set(ringFiles())
        directory = self.fresh("run")
        running = Running(directory, "open:new put:2000 say:ready wait put:1000 close return:0",
                          alive, self.flavour, supervised=False)
        own = set(ringFiles()) - before
        self.checks.that(own, "orphans beside a process: it has rings")
        result = run([omnio(), "collect", "--orphans"])
        self.checks.equal(result.status, 0, f"orphans beside a process: status; {result.err!r}")
        self.checks.equal(set(ringFiles()), own, "orphans beside a process: its rings are left")
        self.checks.equal(running.goOn(), 0, "orphans beside a process: status of the process")
        self.holdsOnly("orphans beside a process", alive, directory, events=3002)
        self.checks.equal(ringFiles(), [], "orphans beside a process: rings at its end")

    def orphansOfKilledBelow(self):
        """The process is killed, its `omnio trace` is not: the rings are that one's to collect."""
        to, directory = self.fresh("trace"), self.fresh("run")
        os.makedirs(directory)
        words = [program("c_refused"), directory, "open:killed", "put:3000", "say:ready", "pause"]
        script = "\"$@\" & echo $!; wait; read -r line; exit 0"
        process = subprocess.Popen(
            [omnio(), "trace", "-o", to, "--flavour", self.flavour, "--", "sh", "-c", script, "sh",
             *words], env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, preexec_fn=quietDeath)
        lines = {process.stdout.readline().strip(), process.stdout.readline().strip()}
        pid = int(next(line for line in lines if line != b"ready"))
        rings = ringFiles()
        self.checks.that(rings, "orphans below omnio trace: the process has rings")
        os.kill(pid, signal.SIGKILL)
        waitUntilGone(pid)
        result = run([omnio(), "collect", "--orphans"])
        self.checks.equal(result.status, 0, f"orphans below omnio trace: status; {result.err!r}")
        self.checks.equal(ringFiles(), rings, "orphans below omnio trace: its rings are left")
        process.communicate(b"\n", timeout=PATIENCE_S)
        self.checks.equal(process.returncode, 0, "orphans below omnio trace: its status")
        self.holdsOnly("orphans below omnio trace", to, directory, events=3001, complete=False)
        self.checks.equal(ringFiles(), [], "orphans below omnio trace: rings at its end")

    def orphansOfOthers(self):
        """One's own rings alone: those of another user stay, also where root could remove them."""
        if not self.othersCanRun("orphans of others"):
            return
        to, directory = self.fresh("trace"), self.fresh("run")
        running = Running(directory, "open:old put:3000 say:ready pause", to, self.flavour,
                          user=VICTIM)
        running.kill()
        rings = ringFiles()
        self.checks.that(rings, "orphans of others: the killed run leaves rings")
        result = run([*asUser(NOBODY), omnio(), "collect", "--orphans"], env=environment())
        self.checks.equal((result.status, ringFiles()), (0, rings),
                          f"orphans of others: by another user; {result.err!r}")
        result = run([*asUser(VICTIM), omnio(), "collect", "--orphans"], env=environment())
        self.checks.equal((result.status, ringFiles()), (0, []),
                          f"orphans of others: by their owner; {result.err!r}")
        self.holdsOnly("orphans of others", to, directory, events=3001, complete=False)

    # A process that becomes another user: its later rings belong to that user, who may not write
    # the trace.

    def becomesAnother(self, steps, events, processes=1):
        """Killed below its `omnio trace`, which collects; and with it, so that rings are read."""
        what = f"becomes another user, {steps}"
        if " exec " in steps and not self.othersCanRun(what):
            return
        for supervisor_too in (False, True):
            how = f"{what}, killed {'with omnio trace' if supervisor_too else 'alone'}"
            to, directory = self.fresh("trace"), self.fresh("run")
            running = Running(directory, f"{steps} say:ready pause", to, self.flavour)
            owners = self.ownersOf(ringFiles())
            self.checks.that(VICTIM in owners, f"{how}: a ring belongs to the new user: {owners}")
            self.checks.that(os.stat(to).st_uid == 0 and os.stat(to).st_mode & 0o22 == 0,
                             f"{how}: the new user may not write the trace")
            running.kill(supervisor_too)
            if supervisor_too:
                self.checks.that(ringFiles(), f"{how}: rings are left")
                # A third user may not put files there all the same. Beside the rings there may be a
                # part of the log that is yet to be taken.
                rings = [path for path in ringFiles() if TOKEN_AT_END.search(path)]
                planted = self.plant(self.contentsOf(rings), "number")
                self.holdsOnly(f"{how}, read", to, directory, events, False, processes)
                self.areLeftAlone(f"{how}, collected", to, planted)
                self.removePlanted(planted)
            else:
                self.checks.equal(running.process.returncode, 128 + signal.SIGKILL,
                                  f"{how}: status")
            self.holdsOnly(f"{how}, at the end", to, directory, events, False, processes)
            self.checks.equal(ringFiles(), [], f"{how}: rings at the end")

    # Files that another user puts next to the rings.

    def othersCanRun(self, case):
        for user in (VICTIM, NOBODY):
            if not canBeRunBy(user, omnio()):
                self.checks.skip(case, f"user {user} cannot reach {omnio()}")
                return False
        return True

    def plant(self, contents, kind):
        """Puts files with these contents next to the rings, as another user; {path: content}.

        contents  {path of a ring: bytes}
        kind      "number": another number in the name; "token": another process in name and header
        """
        planted = {}
        for count, (path, content) in enumerate(sorted(contents.items())):
            name = os.path.basename(path)
            found = TOKEN_AT_END.search(name)
            if not found:
                raise RuntimeError(f"{name}: not the name of a ring")
            token, number = found.group(1), int(found.group(2)) + 700 + count
            if kind == "token":
                changed = f"{int(token, 16) ^ 0x5555AAAA5555AAAA:016x}"
                # Everywhere: chunks contain the token too.
                content = content.replace(struct.pack("<Q", int(token, 16)),
                                          struct.pack("<Q", int(changed, 16)))
                token = changed
            fresh = os.path.join(RINGS, f"{name[:found.start()]}{token}-{number}")
            writer = "set -C; cat > \"$1\" && chmod 666 \"$1\""
            result = run([*asUser(NOBODY), "sh", "-c", writer, "sh", fresh], stdin=content)
            if result.status != 0 or os.stat(fresh).st_uid != NOBODY:
                raise RuntimeError(f"cannot plant {fresh}: {result}")
            planted[fresh] = content
        return planted

    @staticmethod
    def ownersOf(paths):
        owners = set()
        for path in paths:
            # A part of a log is gone as soon as `omnio trace` has taken it.
            with contextlib.suppress(FileNotFoundError):
                owners.add(os.stat(path).st_uid)
        return owners

    @staticmethod
    def contentsOf(paths):
        contents = {}
        for path in paths:
            with open(path, "rb") as file:
                contents[path] = file.read()
        return contents

    def areLeftAlone(self, what, trace_directory, planted):
        result = run([omnio(), "collect", trace_directory])
        text = self.says(result)
        self.checks.equal(result.status, 0, f"{what}: omnio collect; {text!r}")
        found = re.search(LEFT_ALONE, text)
        self.checks.equal(int(found.group(1)) if found else None, len(planted),
                          f"{what}: ring files of others that collect names: {text!r}")
        for path, content in planted.items():
            if self.checks.that(os.path.exists(path), f"{what}: {path} is left where it was"):
                with open(path, "rb") as file:
                    self.checks.that(file.read() == content, f"{what}: {path} is as it was")

    @staticmethod
    def removePlanted(planted):
        for path in planted:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    def planted(self, user, kind):
        """During a run, after its end, and after a run that was killed."""
        who = "root" if user is None else f"user {user}"
        what = f"planted {kind}, run of {who}"
        if not self.othersCanRun(what):
            return
        self.plantedWhileRunning(what, user, kind)
        self.plantedAfterKill(what, user, kind)

    def plantedWhileRunning(self, what, user, kind):
        to, directory = self.fresh("trace"), self.fresh("run")
        running = Running(directory, "open:own put:2000 say:ready wait put:1000 close return:0",
                          to, self.flavour, user=user)
        contents = self.contentsOf(ringFiles())
        self.checks.that(contents, f"{what}: the run has rings")
        planted = self.plant(contents, kind)
        # A reader in the middle sees what was written so far.
        self.checks.equal(operationsByFile(to), {os.path.join(directory, "own"): 2000},
                          f"{what}: read while it runs")
        self.checks.equal(running.goOn(), 0, f"{what}: status")
        self.holdsOnly(f"{what}, at the end", to, directory, events=3002)
        self.checks.equal(len(manifest(to)["processes"]), 1, f"{what}: processes of the manifest")
        self.areLeftAlone(what, to, planted)
        self.holdsOnly(f"{what}, collected", to, directory, events=3002)
        self.checks.equal(set(ringFiles()), set(planted), f"{what}: rings at the end")
        self.removePlanted(planted)
        # The same rings, when all is over.
        planted = self.plant(contents, kind)
        self.holdsOnly(f"{what}, planted afterwards", to, directory, events=3002)
        self.areLeftAlone(f"{what}, afterwards", to, planted)
        self.holdsOnly(f"{what}, planted afterwards, collected", to, directory, events=3002)
        self.removePlanted(planted)

    def plantedAfterKill(self, what, user, kind):
        to, directory = self.fresh("trace"), self.fresh("run")
        running = Running(directory, "open:old put:3000 say:ready pause", to, self.flavour,
                          user=user)
        running.kill()
        rings = ringFiles()
        planted = self.plant(self.contentsOf(rings), kind)
        self.holdsOnly(f"{what}, killed", to, directory, events=3001, complete=False)
        self.areLeftAlone(f"{what}, killed", to, planted)
        self.holdsOnly(f"{what}, killed and collected", to, directory, events=3001,
                       complete=False)
        self.checks.equal(set(ringFiles()), set(planted), f"{what}, killed: rings at the end")
        self.removePlanted(planted)


CASES = {
    "removed": OnlyThisRun.removed,
    "moved": OnlyThisRun.moved,
    "moved and read": OnlyThisRun.movedAndReadFirst,
    "mounted": OnlyThisRun.mounted,
    "removed three times": OnlyThisRun.sameDirectoryTwice,
    "orphans": OnlyThisRun.orphansOfPresentTrace,
    "orphans beside a process": OnlyThisRun.orphansBesideRunning,
    "orphans below omnio trace": OnlyThisRun.orphansOfKilledBelow,
    "orphans of others": OnlyThisRun.orphansOfOthers,
    **{f"becomes another user by {call}": lambda test, call=call: test.becomesAnother(
        f"open:before put:2000 user:{VICTIM}:{call} open:after put:20000 thread:3000", 25002)
       for call in ("setuid", "setreuid", "seteuid", "setresuid")},
    "becomes another user and forks": lambda test: test.becomesAnother(
        f"open:before put:2000 user:{VICTIM} open:after put:1000 fork open:child put:3000", 6003,
        processes=2),
    "forks and becomes another user": lambda test: test.becomesAnother(
        f"open:before put:2000 fork open:child put:1000 user:{VICTIM} open:after thread:3000",
        6003, processes=2),
    "becomes another user and runs a program": lambda test: test.becomesAnother(
        f"open:before put:2000 user:{VICTIM} open:after put:1000 exec open:next put:3000", 6003,
        processes=2),
    "planted number": lambda test: test.planted(None, "number"),
    "planted token": lambda test: test.planted(None, "token"),
    "planted number for a user": lambda test: test.planted(VICTIM, "number"),
    "planted token for a user": lambda test: test.planted(VICTIM, "token"),
}


def main(chosen):
    if not inOwnMemory():
        skipTest("needs root and unshare, for a /dev/shm of its own")
    checks = Checks()
    here = flavours(checks)
    with WorkDirectory() as work:
        os.chmod(work, 0o777)
        for number, (name, case) in enumerate(CASES.items()):
            if chosen and name not in chosen:
                continue
            for flavour in byTurns(number, here):
                started = time.monotonic()
                with checks.case(f"{name}, {flavour}"):
                    try:
                        case(OnlyThisRun(checks, work, flavour))
                    except devices.NotHere as reason:
                        checks.skip(f"{name}, {flavour}", str(reason))
                print(f"{name}, {flavour}: {time.monotonic() - started:.1f} s", flush=True)
                # The next case begins without what a failed one left.
                for path in ringFiles():
                    os.unlink(path)
                for entry in os.listdir(work):
                    shutil.rmtree(os.path.join(work, entry), ignore_errors=True)
    checks.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
