"""Programs in which the tracer is refused what it needs (descriptors, file sizes, system calls, the
clock), and programs with a runtime that has to be loaded first: each ends as it does untraced, with
the same output and files. A trace in which calls are missing names the process and the cause.

The programs write single bytes, so the size of a file is the number of writes (c_refused.c).

  refused.py [CASE...]    all cases by default
"""

import os
import re
import shlex
import shutil
import sys

from omnio_testing import (PATIENCE_S, byTurns, emptied, environment, mpirun, omnio, program, run,
                           treeOf)
from run_account import (NOBODY, asUser, canBeRunBy, checkCases, completeOrNamed, sameRun,
                         sameTree, sizesBelow)

# How a reason may name the cause where calls are missing.
NO_DESCRIPTOR = "descriptor|too many open files"
TOO_LARGE = "file too large|file.size|size of (a )?files?"
FILTERED = "seccomp|filter|sandbox|not permitted|system calls?"
NO_CLOCK = "clock|time stamp|counter|PR_SET_TSC"
ANY = "."

# A program that hangs is a failure that ends by itself. `timeout` is not recorded.
LIMITED_TIME = ["timeout", "-s", "KILL", "200"]
INPUT_BYTES = 300


MALLOC_CALLS = {"x86_64": (12, 318), "aarch64": (214, 278)}  # brk, getrandom


class Case:
    def __init__(self, name, steps, why=ANY, limits=":", status=3, kind="write", at_least=None,
                 before="", user=None, names=("c_refused",), needed=None):
        self.name, self.why, self.status = name, why, status
        self.steps = steps if isinstance(steps, list) else steps.split()
        self.limits = limits      # what a shell does before the program is started in its place
        self.kind = kind          # of the calls that are counted
        self.at_least = at_least or {}  # {file: writes} that come before anything is refused
        self.before = before      # steps of a program that runs before, and is refused nothing
        self.user = user          # of the whole run
        self.names = names
        self.needed = needed      # returns why the case cannot be run here, or None


def notOnX86():
    return None if os.uname().machine == "x86_64" else "the counter of this processor is not known"


def descriptorCases():
    """No descriptor is left before the first recorded call."""
    return [
        Case("descriptors", "soft-limit:64 raw-open:data fill put:500 return:3", NO_DESCRIPTOR),
        Case("descriptors stdout", "soft-limit:64 fill use:1 put:500 return:3", NO_DESCRIPTOR,
             limits="exec > \"$DIRECTORY\"/stdout"),
        Case("descriptors hard", "hard-limit:64 raw-open:data fill put:500 return:3",
             NO_DESCRIPTOR, user=NOBODY),
        Case("descriptors hard root", "hard-limit:64 raw-open:data fill put:500 return:3",
             NO_DESCRIPTOR),
        Case("descriptors many", "soft-limit:64 raw-open:data fill put:50000 return:3",
             NO_DESCRIPTOR),
        Case("descriptors beside", "soft-limit:64 raw-open:data fill put:500 return:3",
             NO_DESCRIPTOR, before="open:fine put:200 return:0"),
    ]


def sizeCases():
    """The log would be larger than files may be; the program's own files are not. The signal that
    the system sends then would end the program, which counts it instead."""
    steps = "count:XFSZ open:data put:400 report return:3"
    return [
        Case("file size 1", steps, TOO_LARGE, limits="ulimit -f 1"),
        Case("file size 1 default", "open:data put:400 return:3", TOO_LARGE, limits="ulimit -f 1"),
        Case("file size 0", "count:XFSZ raw-read:input get report return:3", TOO_LARGE,
             limits="ulimit -f 0", kind="read"),
        Case("file size 0 default", "raw-read:input get return:3", TOO_LARGE,
             limits="ulimit -f 0", kind="read"),
        Case("file size 1 beside", steps, TOO_LARGE, limits="ulimit -f 1",
             before="open:fine put:200 return:0"),
    ]


def creationCases():
    """No file can be made, written to newly, linked or removed, by an error."""
    own = "raw-open:data filter:create:errno:{} put:{} return:3"
    inherited = "raw-open:data move:9 filter:create:errno:prctl exec use:9 put:{} return:3"
    cases = [Case(f"no files {way}", own.format(way, 500), FILTERED)
             for way in ("prctl", "seccomp", "tsync")]
    cases += [
        Case("no files many", own.format("prctl", 50000), FILTERED),
        Case("no files later", "open:before put:500 close raw-open:data "
             "filter:create:errno:prctl put:50000 return:3", FILTERED, at_least={"before": 500}),
        Case("no files inherited", inherited.format(500), FILTERED),
        Case("no files inherited many", inherited.format(50000), FILTERED),
        Case("no files beside", own.format("prctl", 500), FILTERED,
             before="open:fine put:200 return:0"),
        Case("no files inherited beside", inherited.format(500), FILTERED,
             before="open:fine put:200 return:0"),
    ]
    return cases


def narrowCases():
    """A system call beyond a short list ends the process, or sends a signal, which is counted."""
    cases = []
    for way in ("prctl", "seccomp", "tsync"):
        for action in ("kill", "kill-thread", "trap"):
            rest = f"count:SYS filter:narrow:{action}:{way} put:100000 report exit:3"
            cases += [
                Case(f"narrow {action} {way} first", "raw-open:data " + rest, FILTERED),
                Case(f"narrow {action} {way} later",
                     "open:before put:500 close open:data put:100 " + rest, FILTERED,
                     at_least={"before": 500, "data": 100}),
            ]
    cases.append(Case("strict", "open:before put:500 close open:data put:100 strict put:20000 "
                      "raw-exit:3", FILTERED, at_least={"before": 500, "data": 100}))
    cases.append(Case("strict first", "raw-open:data strict put:20000 raw-exit:3", FILTERED))
    cases.append(Case("strict after one call", "open:data strict put:20000 raw-exit:3", FILTERED))
    return cases


def inheritedCases():
    """Calls that the program itself does not need end it, from its first instruction on."""
    cases = []
    for action in ("kill", "kill-thread", "errno"):
        for calls in (500, 50000):
            cases.append(Case(f"unneeded {action} {calls}", f"filter:unneeded:{action}:prctl exec "
                              f"open:data put:{calls} return:3", FILTERED))
            cases.append(Case(f"only {action} {calls}", f"filter:ONLY:{action}:prctl exec "
                              f"open:data put:{calls} return:3", FILTERED))
    return cases


def clockCases():
    return [
        Case("no clock later", "open:before put:500 close open:data put:100 no-clock put:50000 "
             "return:3", NO_CLOCK, at_least={"before": 500, "data": 100}, needed=notOnX86),
        Case("no clock first", "raw-open:data no-clock put:5000 return:3", NO_CLOCK,
             needed=notOnX86),
        Case("no clock inherited", "no-clock exec open:data put:5000 return:3", NO_CLOCK,
             needed=notOnX86),
    ]


def limitCases():
    """The output has the numbers of the descriptors that the program gets."""
    return [Case(f"limit of {number}", f"hard-limit:{number} exec open-all put-all:300 return:3",
                 NO_DESCRIPTOR, user=NOBODY) for number in (4, 5, 16)]


CASES = (descriptorCases() + sizeCases() + creationCases() + narrowCases() + inheritedCases() +
         clockCases() + limitCases())


class Refused:
    def __init__(self, checks, work):
        self.checks, self.work = checks, work
        self.directory = os.path.join(work, "run")
        self.pid_file = os.path.join(work, "pid")
        self.count = 0
        self._only = None

    def emptyDirectory(self):
        emptied(self.directory)
        os.chmod(self.directory, 0o777)
        with open(os.path.join(self.directory, "input"), "wb") as file:
            file.write(b"x" * INPUT_BYTES)
        if os.path.exists(self.pid_file):
            os.unlink(self.pid_file)

    def onlyItsOwnCalls(self):
        """The numbers of the system calls that the program makes untraced, as strace sees them."""
        if self._only is None:
            log = os.path.join(self.work, "strace")
            self.emptyDirectory()
            result = run(["strace", "-f", "-n", "-o", log, program("c_refused"), self.directory,
                          "exec", "open:data", "put:3", "return:3"])
            if result.status != 3:
                raise RuntimeError(f"strace: {result}")
            with open(log, encoding="utf-8", errors="replace") as file:
                numbers = set(re.findall(r"^\d+ +\[ *(\d+)\]", file.read(), re.M))
            # The C library's malloc() needs these when it is first called. This program does
            # without it; the loader does not when a library looks symbols up.
            numbers |= {str(number) for number in MALLOC_CALLS[os.uname().machine]}
            self.emptyDirectory()
            self._only = "only=" + ",".join(sorted(numbers, key=int))
        return self._only

    def commandOf(self, case):
        """A shell writes down the number of the process before the program takes its place."""
        steps = [self.onlyItsOwnCalls().join(step.split("ONLY")) if "ONLY" in step else step
                 for step in case.steps]
        words = [program("c_refused"), self.directory, *steps]
        script = ""
        if case.before:
            fine = [program("c_refused"), self.directory, *case.before.split()]
            script += f"{shlex.join(fine)} || exit 99\n"
        script += (f"echo $$ > {shlex.quote(self.pid_file)}\n"
                   f"DIRECTORY={shlex.quote(self.directory)}\n{case.limits}\n"
                   f"exec {shlex.join(words)}\n")
        return [*LIMITED_TIME, "sh", "-c", script]

    def runOnce(self, case, around=()):
        self.emptyDirectory()
        user = asUser(case.user) if case.user is not None else []
        return run([*user, *around, *self.commandOf(case)], env=environment(), timeout=PATIENCE_S)

    def truth(self, case):
        sizes = sizesBelow(self.directory)
        read = sizes.pop(os.path.join(self.directory, "input"))
        if case.kind == "read":
            return {os.path.join(self.directory, "input"): read + 1}  # and one finds the end
        return sizes

    def pid(self):
        with open(self.pid_file, encoding="ascii") as file:
            return int(file.read())

    def traceDirectory(self):
        self.count += 1
        return os.path.join(self.work, f"trace{self.count}")

    def check(self, case, here):
        if case.needed is not None and case.needed():
            self.checks.skip(case.name, case.needed())
            return
        if case.user is not None:
            if os.geteuid() != 0:
                self.checks.skip(case.name, "needs root, to become another user")
                return
            if not canBeRunBy(case.user, omnio()):
                self.checks.skip(case.name, f"user {case.user} cannot reach {omnio()}")
                return
        if any("ONLY" in step for step in case.steps) and shutil.which("strace") is None:
            self.checks.skip(case.name, "strace is not installed")
            return
        wanted = self.runOnce(case)
        wanted_tree = treeOf(self.directory)
        if wanted.status != case.status:
            # The loader of some C libraries reads the counter itself.
            if case.name == "no clock inherited" and wanted.status == 139:
                self.checks.skip(case.name, "no program starts here without the counter")
                return
            self.checks.that(False, f"{case.name}: the program fails untraced: {wanted}")
            return
        for flavour in here:
            what = f"{case.name}, {flavour}"
            with self.checks.case(what):
                self.checkTraced(case, what, flavour, wanted, wanted_tree)

    def checkTraced(self, case, what, flavour, wanted, wanted_tree):
        to = self.traceDirectory()
        got = self.runOnce(case, [omnio(), "trace", "-o", to, "--flavour", flavour, "--"])
        sameRun(self.checks, what, got, wanted)
        if not sameTree(self.checks, what, self.directory, wanted_tree):
            return
        truth = self.truth(case)
        at_least = {os.path.join(self.directory, name): count
                    for name, count in case.at_least.items()}
        if case.before:
            at_least[os.path.join(self.directory, "fine")] = 200
        state = completeOrNamed(
            self.checks, what, to, truth, self.pid(), case.names, case.why, case.kind, at_least)
        if state is not None:
            print(f"{what}: {state['events']} events for {sum(truth.values())} calls, "
                  f"complete: {state['whole']}, {state['reasons']}", flush=True)


# How a program with the runtime of a sanitizer is started.
ASAN_WAYS = {
    "alone": lambda words, _: words,
    "shell": lambda words, _: ["sh", "-c", f"{shlex.join(words)}; exit $?"],
    "mpirun": lambda words, _: mpirun(2) + words,
    "spawn": lambda words, file: [program("c_starts"), file, "spawn", "1", *words],
    "fork": lambda words, file: [program("c_starts"), file, "fork", "1", *words],
}


def checkAsan(checks, refused, here, chosen):
    """The runtime of the sanitizer ends the program if another library is preloaded before it."""
    for name in ("c_refused_asan", "c_refused_clang_asan"):
        if program(name) is None:
            checks.skip(name, "no compiler here links the shared runtime of the address sanitizer")
            continue
        for number, (way, start) in enumerate(ASAN_WAYS.items()):
            title = f"asan {name} {way}"
            if chosen and title not in chosen and "asan" not in chosen:
                continue
            if way == "mpirun" and mpirun(2) is None:
                checks.skip(title, "no MPI launcher")
                continue
            # mpirun prints a message about a rank that returns another status.
            status = 0 if way == "mpirun" else 3
            words = [program(name), refused.directory, "open:data", "put:500", "say:done",
                     f"return:{status}"]
            command = LIMITED_TIME + start(words, os.path.join(refused.directory, "starter"))
            refused.emptyDirectory()
            wanted = run(command, timeout=PATIENCE_S)
            wanted_tree = treeOf(refused.directory)
            if wanted.status != status:
                checks.that(False, f"{title}: the program fails untraced: {wanted}")
                continue
            for flavour in byTurns(number, here):
                what = f"{title}, {flavour}"
                with checks.case(what):
                    refused.emptyDirectory()
                    to = refused.traceDirectory()
                    got = run([omnio(), "trace", "-o", to, "--flavour", flavour, "--", *command],
                              timeout=PATIENCE_S)
                    sameRun(checks, what, got, wanted)
                    if not sameTree(checks, what, refused.directory, wanted_tree):
                        continue
                    truth = sizesBelow(refused.directory)
                    del truth[os.path.join(refused.directory, "input")]
                    state = completeOrNamed(checks, what, to, truth, None, (name,),
                                            "sanitizer|preload|statically|runtime")
                    if state is not None:
                        print(f"{what}: complete: {state['whole']}, {state['reasons']}",
                              flush=True)


def main(chosen):
    def asan(checks, refused, here):
        if not chosen or any(name.startswith("asan") for name in chosen):
            checkAsan(checks, refused, here, chosen)

    checkCases(Refused, CASES, chosen, asan)


if __name__ == "__main__":
    main(sys.argv[1:])
