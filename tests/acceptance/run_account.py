"""Compares the files that a run left with what its trace says about them; and gives a test a
/dev/shm of its own, so that it neither counts nor removes the rings of other runs.

The programs write single bytes: the size of a file is the number of writes to it.
"""

import collections
import os
import re
import shutil
import stat
import subprocess
import sys
import time

from omnio_testing import (PATIENCE_S, Checks, WorkDirectory, byTurns, differences, omnio,
                           preloadLibrary, run, stats, treeOf)

RINGS = "/dev/shm"
NOBODY = 65534
# A /dev/shm that only this test and what it starts can see.
IN_OWN_MEMORY = "OMNIO_TEST_IN_OWN_MEMORY"


def inOwnMemory():
    """Starts the test again with a /dev/shm of its own; False where that cannot be had."""
    if os.environ.get(IN_OWN_MEMORY) == "yes":
        return True
    around = ["unshare", "-m", "--propagation", "private", "sh", "-c",
              f"mount -t tmpfs -o size=1g,mode=1777 none {RINGS} && exec \"$@\"", "sh"]
    if os.geteuid() != 0 or shutil.which("unshare") is None or \
            subprocess.run([*around, "true"], check=False, stderr=subprocess.DEVNULL).returncode:
        return False
    sys.stdout.flush()
    os.environ[IN_OWN_MEMORY] = "yes"
    os.execvp(around[0], [*around, sys.executable, *sys.argv])


def flavours(checks, wanted=("serial", "hybrid")):
    """Those of these flavours that this build has."""
    here = []
    for flavour in wanted:
        if os.path.exists(os.path.join(os.environ.get("OMNIO_TEST_LIBRARIES", ""),
                                       f"libomnio_{flavour}.so")):
            here.append(flavour)
        else:
            checks.skip(f"flavour {flavour}", "this build has no library for it")
    if not here:
        preloadLibrary(wanted[0])  # ends the test: the variable names a wrong directory
    return here


def checkCases(kind, cases, chosen, more=None):
    """Checks those of `cases` whose names are `chosen` (all if none are), in flavours that this build
    has (byTurns()), with kind(checks, work) in a work directory that other users may enter. `more`
    is called afterwards: more(checks, that of kind, flavours)."""
    inOwnMemory()
    checks = Checks()
    here = flavours(checks)
    with WorkDirectory() as work:
        os.chmod(work, 0o777)
        checker = kind(checks, work)
        for number, case in enumerate(cases):
            if chosen and case.name not in chosen:
                continue
            with checks.case(case.name):
                checker.check(case, byTurns(number, here))
        if more is not None:
            more(checks, checker, here)
    checks.finish()


def asUser(user):
    """The start of a command that is run by another user."""
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]


def canBeRunBy(user, program):
    """A build below a private folder cannot be used by others."""
    return run([*asUser(user), "test", "-x", program]).status == 0


def sizesBelow(directory):
    """{absolute path: size} of the regular files below a directory that are not empty."""
    result = {}
    for parent, _, files in os.walk(directory):
        for name in files:
            path = os.path.join(parent, name)
            status = os.lstat(path)
            if stat.S_ISREG(status.st_mode) and status.st_size > 0:
                result[path] = status.st_size
    return result


def operationsByFile(trace_directory, kind="write"):
    """{absolute path: operations of this kind} as `omnio stats` counts them."""
    result = collections.Counter()
    for group in stats(trace_directory, "--by", "file")["groups"]:
        if group["operations"][kind] > 0:
            result[group["name"]] += group["operations"][kind]
    return dict(result)


def withoutOmnio(err):
    """Standard error without the lines of `omnio trace` itself."""
    return b"".join(line for line in err.splitlines(keepends=True)
                    if not line.startswith(b"omnio: "))


def sameRun(checks, what, got, wanted):
    """Status, output and standard error of two runs of a program."""
    same = checks.equal(got.status, wanted.status, f"{what}: status")
    # Two ranks may write their lines in any order, and into each other.
    same &= checks.equal(sorted(got.out), sorted(wanted.out), f"{what}: output")
    same &= checks.equal(withoutOmnio(got.err), wanted.err, f"{what}: standard error")
    return same


def sameTree(checks, what, directory, wanted):
    got = treeOf(directory)
    return checks.that(got == wanted, f"{what}: files: {differences(got, wanted)}")


def namedIn(reasons, pid, programs):
    """The reasons that name the process by its number, or one of the programs."""
    words = [rf"(?<!\d){pid}(?!\d)"] if pid is not None else []
    words += [re.escape(os.path.basename(program)) for program in programs]
    return [reason for reason in reasons if re.search("|".join(words), reason)]


def completeOrNamed(checks, what, trace_directory, truth, pid, programs, why, kind="write",
                    at_least=None):
    """The trace has all calls, or a reason names the process that lacks some, and the cause.

    truth     {path: calls} by the sizes of the files
    why       regular expression of the cause, for a trace in which calls are missing
    at_least  {path: calls} that have to be there in any case
    """
    result = run([omnio(), "stats", trace_directory])
    if not checks.equal(result.status, 0, f"{what}: omnio stats; {result.err!r}"):
        return None
    state = stats(trace_directory)["trace"]
    counts = operationsByFile(trace_directory, kind)
    for path, calls in sorted((at_least or {}).items()):
        checks.that(counts.get(path, 0) >= calls,
                    f"{what}: {os.path.basename(path)}: {counts.get(path, 0)} calls of {calls} "
                    "that were made before")
    more = {path: count for path, count in counts.items() if count > truth.get(path, 0)}
    checks.that(not more, f"{what}: no more calls than were made: {differences(more, truth)}")
    if state["whole"]:
        checks.that(counts == truth and state["events_missing"] == 0,
                    f"{what}: a trace that is said to be complete has all: "
                    f"{differences(counts, truth)}")
        return state
    named = namedIn(state["reasons"], pid, programs)
    checks.that(named, f"{what}: a reason names process {pid} or its program: {state['reasons']}")
    if counts != truth:
        checks.that(any(re.search(why, reason, re.IGNORECASE) for reason in named),
                    f"{what}: the reason says why ({why}): {state['reasons']}")
    return state


def ringFiles(directory=RINGS):
    return sorted(os.path.join(directory, name) for name in os.listdir(directory)
                  if name.startswith("omnio-"))


def waitUntilGone(pid):
    """Until the killed process can no longer write: its main thread may be the first to end."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                state = file.read().rsplit(")", 1)[1].split()[0]
            if state in "ZX" and len(os.listdir(f"/proc/{pid}/task")) <= 1:
                return
        except OSError:
            return
        time.sleep(0.001)
    raise RuntimeError(f"process {pid} does not die")
