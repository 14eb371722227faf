"""Programs that cannot be preloaded, started by traced programs and by shells: their calls are
missing in the trace, which gives one reason for each program and cause, with how often it was
started. A program that can be traced gives no such reason.

  untraced_children.py [CASE...]    all cases by default
"""

import os
import re
import shlex
import shutil
import struct
import sys

from omnio_testing import (emptied, environment, omnio, preloadLibrary, program, run, stats,
                           treeOf)
from run_account import (NOBODY, asUser, canBeRunBy, checkCases, inOwnMemory, operationsByFile,
                         sameRun, sameTree, sizesBelow)

# The cause in a reason.
STATIC = "statically linked"
NO_ENVIRONMENT = "without the tracer's environment"
SET_USER_ID = "set-user-id"
CAPABILITIES = "has capabilities"
OTHER_WORD = "a 32-bit program"
NO_LIBRARY = "the tracer's library cannot be found"

CALLS = 50           # of each start of a child
STARTER_CALLS = 200  # of c_starts itself


# The extended attribute in which the system keeps the capabilities of a file: this one is permitted
# and effective (struct vfs_cap_data, revision 2).
CAPABILITY_ATTRIBUTE = "security.capability"
CAP_NET_BIND_SERVICE = struct.pack("<IIIII", 0x02000001, 1 << 10, 0, 0, 0)


class Case:
    """`command` makes the words from a Place. All children write to one file each."""

    def __init__(self, name, command, cause, times=1, child="static", starter=False, seen=(),
                 user=None, also=None):
        self.name, self.command, self.cause, self.times = name, command, cause, times
        self.child = child      # the program that the reason names, an attribute of Place
        self.starter = starter  # c_starts writes to "starter", which is traced
        self.seen = seen        # files that traced programs write, besides that
        self.user = user
        self.also = also        # (program, cause, times) of another reason


class Place:
    """The directories of a case and the programs in it."""

    def __init__(self, work):
        self.work = work
        self.directory = os.path.join(work, "run")
        self.programs = os.path.join(work, "programs")
        os.makedirs(self.programs)
        self.static = self.copy("c_put_static", "static_put")
        self.dynamic = self.copy("c_put", "dynamic_put")
        self.other_dynamic = self.copy("c_put", "other_put")
        self.set_user_id = self.copy("c_put", "set_user_id_put")
        self.capable = self.copy("c_put", "capable_put")
        self.cannot_be_capable = self.giveCapabilities(self.capable)
        # The system looks at the machine of a program, not at its word, so this one runs.
        self.other_word = self.copy("c_put_static", "other_word_put")
        if self.other_word is not None:
            self.makeOtherWord(self.other_word)
        self.library = "library/libomnio_serial.so"  # below the programs, for $ORIGIN
        os.makedirs(os.path.join(self.programs, "library"))
        shutil.copy(preloadLibrary("serial"), os.path.join(self.programs, self.library))
        self.script = os.path.join(self.programs, "script")
        with open(self.script, "w", encoding="utf-8") as file:
            file.write(f"#!{self.static}\n")
        os.chmod(self.script, 0o755)

    def copy(self, name, to):
        """Names that no other program has, so that a reason names the right one."""
        if program(name) is None:
            return None
        path = os.path.join(self.programs, to)
        shutil.copy(program(name), path)
        os.chmod(path, 0o755)
        return path

    @staticmethod
    def giveCapabilities(path):
        """Returns why that cannot be done, or nothing."""
        try:
            os.setxattr(path, CAPABILITY_ATTRIBUTE, CAP_NET_BIND_SERVICE)
        except OSError as problem:
            return f"no file can be given capabilities here: {problem}"
        result = run([*asUser(NOBODY), path, "/dev/null", "0"])
        return None if result.status == 0 else f"a capable program does not run here: {result}"

    @staticmethod
    def makeOtherWord(path):
        with open(path, "r+b") as file:
            file.seek(4)        # EI_CLASS
            file.write(b"\x01")  # ELFCLASS32

    def file(self, name="child"):
        return os.path.join(self.directory, name)

    def words(self, path, name="child"):
        return [path, self.file(name), str(CALLS)]

    def starts(self, way, times, path):
        return [program("c_starts"), self.file("starter"), way, str(times), *self.words(path)]

    def inDirectory(self, script, shell="sh"):
        """The programs by relative names."""
        return [shell, "-c", f"cd {shlex.quote(self.programs)} && {script}"]

    def hidden(self, folder, words):
        """The program where this folder is out of sight, as in a container. What the loader says
        of a library that it does not find is left out."""
        return ["unshare", "-m", "--propagation", "private", "sh", "-c",
                f"mount -t tmpfs none {shlex.quote(folder)} && {shlex.join(words)} 2>/dev/null"]

    def start(self, path, name="child"):
        """A command of a shell in the directory of the programs."""
        return f"./{os.path.basename(path)} {shlex.quote(self.file(name))} {CALLS}"


def startedBy(way, times):
    return lambda place: place.starts(way, times, place.static)


CASES = [Case(f"static by {way}", startedBy(way, times), STATIC, times, starter=True)
         for way, times in (("fork", 3), ("vfork", 2), ("spawn", 3), ("spawnp", 2), ("system", 3),
                            ("popen", 3))]
CASES += [
    Case("static once", startedBy("fork", 1), STATIC, 1, starter=True),
    Case("static by its name in PATH",
         lambda place: ["sh", "-c", f"PATH={shlex.quote(place.programs)}:$PATH; "
                        + shlex.join([program("c_starts"), place.file("starter"), "spawnp", "3",
                                      "static_put", place.file(), str(CALLS)])],
         STATIC, 3, starter=True),
    Case("static by a shell",
         lambda place: place.inDirectory(f"{place.start(place.static)}; "
                                         f"{place.start(place.static)}; true", "bash"),
         STATIC, 2),
    Case("static in place of a shell",
         lambda place: place.inDirectory(f"exec {place.start(place.static)}"), STATIC, 1),
    Case("static by env", lambda place: ["env", "WORD=1", *place.words(place.static)], STATIC, 1),
    Case("static alone", lambda place: place.words(place.static), STATIC, 1),
    Case("script of a static interpreter",
         lambda place: place.starts("fork", 3, place.script), STATIC, 3, child="script",
         starter=True),
    Case("script by a shell",
         lambda place: place.inDirectory(f"{place.start(place.script)}; true"), STATIC, 1,
         child="script"),
    Case("env -i", lambda place: place.inDirectory(f"env -i {place.start(place.dynamic)}; true"),
         NO_ENVIRONMENT, 1, child="dynamic"),
    Case("env -i often",
         lambda place: place.inDirectory("for i in 1 2 3; do env -i "
                                         f"{place.start(place.dynamic)}; done"),
         NO_ENVIRONMENT, 3, child="dynamic"),
    Case("env -u LD_PRELOAD",
         lambda place: place.inDirectory(f"env -u LD_PRELOAD {place.start(place.dynamic)}; true"),
         NO_ENVIRONMENT, 1, child="dynamic"),
    Case("another LD_PRELOAD",
         lambda place: place.inDirectory(
             f"LD_PRELOAD={shlex.quote(program('libinterposer.so') or '')} INTERPOSER_COUNT="
             f"{shlex.quote(place.directory)}.count {place.start(place.dynamic)}; true"),
         NO_ENVIRONMENT, 1, child="dynamic"),
    Case("LD_PRELOAD unset by a shell",
         lambda place: place.inDirectory(f"unset LD_PRELOAD; {place.start(place.dynamic)}; "
                                         f"{place.start(place.dynamic)}; true"),
         NO_ENVIRONMENT, 2, child="dynamic"),
    Case("clearenv", lambda place: place.starts("cleared", 3, place.dynamic), NO_ENVIRONMENT, 3,
         child="dynamic", starter=True),
    Case("execve with an empty environment",
         lambda place: place.starts("emptied", 2, place.dynamic), NO_ENVIRONMENT, 2,
         child="dynamic", starter=True),
    Case("set-user-id", lambda place: place.starts("fork", 3, place.set_user_id), SET_USER_ID, 3,
         child="set_user_id", starter=True, user=NOBODY),
    Case("set-user-id by a shell",
         lambda place: place.inDirectory(f"{place.start(place.set_user_id)}; true"), SET_USER_ID,
         1, child="set_user_id", user=NOBODY),
    Case("set-user-id alone", lambda place: place.words(place.set_user_id), SET_USER_ID, 1,
         child="set_user_id", user=NOBODY),
    Case("capabilities", lambda place: place.starts("fork", 3, place.capable), CAPABILITIES, 3,
         child="capable", starter=True, user=NOBODY),
    Case("capabilities by a shell",
         lambda place: place.inDirectory(f"{place.start(place.capable)}; true"), CAPABILITIES, 1,
         child="capable", user=NOBODY),
    Case("capabilities alone", lambda place: place.words(place.capable), CAPABILITIES, 1,
         child="capable", user=NOBODY),
    Case("capabilities without new privileges",
         lambda place: ["setpriv", "--no-new-privs", *place.starts("fork", 2, place.capable)],
         CAPABILITIES, 2, child="capable", starter=True, user=NOBODY),
    Case("32-bit by fork", lambda place: place.starts("fork", 3, place.other_word), OTHER_WORD, 3,
         child="other_word", starter=True),
    Case("32-bit by spawn", lambda place: place.starts("spawn", 2, place.other_word), OTHER_WORD,
         2, child="other_word", starter=True),
    Case("32-bit by a shell",
         lambda place: place.inDirectory(f"{place.start(place.other_word)}; true"), OTHER_WORD, 1,
         child="other_word"),
    Case("32-bit alone", lambda place: place.words(place.other_word), OTHER_WORD, 1,
         child="other_word"),
    Case("library not found",
         lambda place: place.inDirectory("LD_PRELOAD=/nowhere/libomnio_serial.so "
                                         f"{place.start(place.dynamic)}; true"),
         NO_LIBRARY, 1, child="dynamic"),
    Case("library out of sight",
         lambda place: place.hidden(os.environ["OMNIO_TEST_LIBRARIES"],
                                    place.words(place.dynamic)),
         NO_LIBRARY, 1, child="dynamic"),
    Case("two programs",
         lambda place: place.inDirectory(
             f"{place.start(place.static)}; env -i {place.start(place.other_dynamic, 'other')}; "
             f"{place.start(place.static)}; {place.start(place.dynamic, 'traced')}"),
         STATIC, 2, seen=("traced",), also=("other_dynamic", NO_ENVIRONMENT, 1)),
]


def normalCases():
    """The same ways with programs that are traced: nothing is missing."""
    cases = [Case(f"dynamic by {way}",
                  lambda place, way=way: place.starts(way, 3, place.dynamic), None, 3,
                  child="dynamic", starter=True, seen=("child",))
             for way in ("fork", "vfork", "spawn", "spawnp", "system", "popen")]
    cases += [
        Case("dynamic by a shell",
             lambda place: place.inDirectory(f"{place.start(place.dynamic)}; "
                                             f"{place.start(place.dynamic)}; true", "bash"),
             None, 2, child="dynamic", seen=("child",)),
        Case("dynamic by env",
             lambda place: ["env", "WORD=1", *place.words(place.dynamic)], None, 1,
             child="dynamic", seen=("child",)),
        # A program of the same user runs with the same rights, so the loader preloads.
        Case("set-user-id of the same user",
             lambda place: place.starts("fork", 2, place.set_user_id), None, 2,
             child="set_user_id", starter=True, seen=("child",)),
        # It gains no rights then.
        Case("set-user-id without new privileges",
             lambda place: ["setpriv", "--no-new-privs",
                            *place.starts("fork", 2, place.set_user_id)],
             None, 2, child="set_user_id", starter=True, seen=("child",), user=NOBODY),
        Case("capabilities of root", lambda place: place.starts("fork", 2, place.capable), None, 2,
             child="capable", starter=True, seen=("child",)),
        # The loader finds these, though no file has this name.
        Case("library by its name",
             lambda place: place.inDirectory(
                 f"LD_LIBRARY_PATH={shlex.quote(os.environ['OMNIO_TEST_LIBRARIES'])} "
                 f"LD_PRELOAD=libomnio_serial.so {place.start(place.dynamic)}; true"),
             None, 1, child="dynamic", seen=("child",)),
        Case("library beside the program",
             lambda place: place.inDirectory(
                 f"LD_PRELOAD='$ORIGIN/{place.library}' {place.start(place.dynamic)}; true"),
             None, 1, child="dynamic", seen=("child",)),
    ]
    return cases


CASES += normalCases()


class UntracedChildren:
    def __init__(self, checks, work):
        self.checks, self.work, self.in_own_memory = checks, work, inOwnMemory()
        self.place = Place(work)
        self.count = 0

    def emptyDirectory(self):
        emptied(self.place.directory)
        os.chmod(self.place.directory, 0o777)

    def cannotRun(self, case):
        if case.child in ("static", "script", "other_word") and self.place.static is None:
            return "no static program could be linked here"
        if case.child == "capable" and self.place.cannot_be_capable is not None:
            return self.place.cannot_be_capable
        if "out of sight" in case.name and not self.in_own_memory:
            return "needs root and unshare, to hide a folder"
        if case.name.startswith(("set-user-id", "capabilities")):
            if os.geteuid() != 0:
                return "needs root, to own a set-user-id program"
            if os.statvfs(self.place.programs).f_flag & os.ST_NOSUID:
                return "the file system ignores set-user-id"
            if case.user is not None and not canBeRunBy(case.user, omnio()):
                return f"user {case.user} cannot reach {omnio()}"
        return None

    def runOnce(self, case, around=()):
        self.emptyDirectory()
        os.chmod(self.place.set_user_id, 0o4755)
        user = asUser(case.user) if case.user is not None else []
        return run([*user, *around, *case.command(self.place)], env=environment())

    def check(self, case, here):
        why_not = self.cannotRun(case)
        if why_not is not None:
            self.checks.skip(case.name, why_not)
            return
        wanted = self.runOnce(case)
        wanted_tree = treeOf(self.place.directory)
        sizes = sizesBelow(self.place.directory)
        if wanted.status != 0 or sizes.get(self.place.file()) != case.times * CALLS:
            self.checks.that(False, f"{case.name}: fails untraced: {wanted}, {sizes}")
            return
        for flavour in here:
            what = f"{case.name}, {flavour}"
            with self.checks.case(what):
                self.count += 1
                to = os.path.join(self.work, f"trace{self.count}")
                got = self.runOnce(case, [omnio(), "trace", "-o", to, "--flavour", flavour, "--"])
                sameRun(self.checks, what, got, wanted)
                sameTree(self.checks, what, self.place.directory, wanted_tree)
                self.checkTrace(case, what, to)

    def checkTrace(self, case, what, to):
        result = run([omnio(), "stats", to])
        if not self.checks.equal(result.status, 0, f"{what}: omnio stats; {result.err!r}"):
            return
        state = stats(to)["trace"]
        sizes = sizesBelow(self.place.directory)
        seen = {self.place.file(name) for name in case.seen}
        if case.starter:
            seen.add(self.place.file("starter"))
            self.checks.equal(sizes.get(self.place.file("starter")), STARTER_CALLS,
                              f"{what}: writes of the program that starts others")
        self.checks.equal(operationsByFile(to), {path: sizes[path] for path in sorted(seen)},
                          f"{what}: writes of the traced programs")
        if case.cause is None:
            self.checks.that(state["whole"] and not state["reasons"] and
                             state["events_missing"] == 0,
                             f"{what}: the trace is complete: {state}")
            return
        self.checks.that(not state["whole"], f"{what}: the trace is not complete: {state}")
        reasons = [(case.child, case.cause, case.times)]
        if case.also is not None:
            reasons.append(case.also)
        for child, cause, times in reasons:
            self.checkReason(what, state["reasons"], child, cause, times)
        self.checks.equal(len(state["reasons"]), len(reasons),
                          f"{what}: number of reasons: {state['reasons']}")
        text = result.out.decode(errors="replace")
        self.checks.that(case.cause in text, f"{what}: omnio stats says it too: {text[:500]!r}")

    def checkReason(self, what, reasons, child, cause, times):
        path = getattr(self.place, child)
        paths = [path]
        if child == "script":
            paths.append(self.place.static)  # what the system starts for it
        fitting = [reason for reason in reasons if cause in reason and
                   any(re.search(rf"{re.escape(path)}(?![\w/.])", reason) for path in paths)]
        if not self.checks.equal(len(fitting), 1,
                                 f"{what}: one reason names {path} and '{cause}': {reasons}"):
            return
        # The number, not a digit of a path or a process.
        rest = fitting[0]
        for one in paths:
            rest = rest.replace(one, "")
        said = re.findall(r"(?<![\w.])(\d+|once|twice)(?![\w.])", rest)
        wanted = {1: ("1", "once"), 2: ("2", "twice")}.get(times, (str(times),))
        # A single start need not be counted in words.
        self.checks.that(any(word in wanted for word in said) or (times == 1 and not said),
                         f"{what}: the reason says {times}: {fitting[0]!r}")


def main(chosen):
    checkCases(UntracedChildren, CASES, chosen)


if __name__ == "__main__":
    main(sys.argv[1:])
