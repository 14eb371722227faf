"""What a program may do to itself and to those who watch it, and what else may be preloaded: under
the tracer its output, status and files are the same, and every call that it made is in the trace.

The programs write single bytes, so the size of a file is the number of writes that have to be found
(tests/programs/survival.h); no count comes from the tracer or from the program's own words.

  survival.py [CASE...]    all cases by default
"""

import collections
import copy
import json
import os
import re
import shutil
import subprocess
import sys

from omnio_testing import (Checks, WorkDirectory, differences, environment, omnio,
                           preloadLibrary, program, ringsOf, run, stats, treeOf)

# Loaded by a program, closed again by it.
PLUGIN = "libearly_open.so"
EARLY_WRITES = 3  # by each loading of that library


class Case:
    """A run of the survival program, and what is known of it besides the sizes of its files."""

    def __init__(self, name, run_as=None, same_tree=True, env=None, wrapper=(), unseen=(),
                 counts=None, may_lose=False, root=False, preloaded=(), seems_killed=False, untraced=None):
        self.name, self.run_as = name, run_as or name.split()[0]
        self.same_tree = same_tree    # its files are the same in each run
        self.env = env or {}
        self.wrapper = list(wrapper)  # between omnio trace and the program
        self.unseen = unseen          # files that no tracer is there to see
        self.counts = counts          # its own comparison of writes and sizes
        self.may_lose = may_lose      # events may be missing, when that is said
        self.seems_killed = seems_killed  # a process ends by a system call of its own
        self.untraced = untraced  # what is said of a child that the tracer was kept out of
        self.root = root
        self.preloaded = preloaded    # [(library, "before" or "after" the tracer)]


def limited(limits):
    return ["sh", "-c", f"{limits}; exec \"$@\"", "sh"]


def leftHandlers(checks, what, writes, sizes):
    """Whether a call was made that a jump out of a handler has interrupted is unknown."""
    checks.that(sizes["returned"] <= writes.get("data", 0) <= sizes["data"],
                f"{what}: {writes.get('data', 0)} writes read back, {sizes['returned']} returned, "
                f"{sizes['data']} were made")
    checks.equal(writes.get("after", 0), sizes["after"], f"{what}: writes after the last jump")


def loadings(checks, what, writes, sizes):
    checks.equal(writes.get("early.txt", 0), 20 * EARLY_WRITES, f"{what}: writes of the library")


CASES = [
    Case("dup2_over"),
    Case("dup3_over"),
    Case("raw_dup_over", may_lose=True),
    Case("raw_close"),
    Case("raw_close_range"),
    Case("raw_close_then_socket"),
    Case("many_open"),
    Case("standard_closed"),
    Case("standard_closed from the start", run_as="fork_storm", wrapper=limited("exec <&- 2>&-")),
    Case("open_until_full", wrapper=limited("ulimit -Sn 256")),
    Case("open_until_full of default limits", wrapper=limited("ulimit -Sn 1024")),
    Case("small_limits", root=True),
    Case("small_limits from the start", run_as="mask",
         wrapper=limited("ulimit -n 12; ulimit -l 0; ulimit -s 128; ulimit -d 65536; "
                         "ulimit -v 131072; ulimit -f 65536")),
    Case("file_size_signal", may_lose=True),
    Case("memory_runs_out", may_lose=True),
    Case("small_stacks"),
    Case("unprivileged_children", root=True, may_lose=True),
    Case("root_without_descriptors", root=True, may_lose=True),
    Case("mask"),
    Case("forbidden_while_running"),
    Case("forbidden_from_the_start"),
    Case("statx_forbidden"),
    Case("limit_not_asked", may_lose=True),
    Case("odd_bytes"),
    Case("longest_path"),
    Case("deep_directory", same_tree=False),  # the test itself cannot name what is in it
    Case("many_long_paths"),
    Case("removed_directory"),
    Case("fork_storm"),
    Case("fork_among_threads", same_tree=False),
    Case("raw_forks"),
    Case("spawn_actions"),
    Case("vfork_in_threads"),
    Case("exec_emptied", unseen=("untraced",),
         untraced="was started once and not traced: it was started without the tracer's environment"),
    Case("exec_changed"),
    Case("clearenv_children"),
    Case("become_daemon"),
    Case("child_exits", same_tree=False),
    Case("raw_exits", seems_killed=True),
    Case("large environment", run_as="fork_storm",
         env={f"LARGE_{i}": "v" * 100000 for i in range(10)}),
    Case("faults"),
    Case("leave_handlers", same_tree=False, counts=leftHandlers),
    Case("leave_handlers_other_stack", same_tree=False, counts=leftHandlers),
    Case("nested_handlers", same_tree=False),
    Case("raw_thread_exits"),
    Case("cancelled", same_tree=False),
    Case("thread_destructors"),
    Case("loaded_and_unloaded", counts=loadings),
    Case("other_namespace"),
    Case("interposer before", run_as="fork_storm", preloaded=[("libinterposer.so", "before")]),
    Case("interposer after", run_as="fork_storm", preloaded=[("libinterposer.so", "after")]),
]
for library in ("libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libeatmydata.so.1",
                "libfaketime.so.1"):
    for place in ("before", "after"):
        CASES.append(Case(f"{library} {place}", run_as="fork_among_threads", same_tree=False,
                          preloaded=[(library, place)],
                          env={"FAKETIME": "@2001-01-01 00:00:00"} if "time" in library else {}))

# Those whose stacks are hard to walk: calls past the C library, handlers, other stacks, small ones.
HARD_STACKS = ("raw_dup_over", "interposer before", "interposer after", "small_stacks", "raw_forks",
               "fork_among_threads", "vfork_in_threads", "leave_handlers_other_stack",
               "nested_handlers", "cancelled", "loaded_and_unloaded")
for hard in [case for case in CASES if case.name in HARD_STACKS]:
    hard = copy.copy(hard)
    hard.name += " with call stacks"
    hard.env = {**hard.env, "OMNIO_CALLSTACK": "16"}
    CASES.append(hard)


def findLibrary(name):
    """Where a library to be preloaded is, or None."""
    folders = [os.environ.get("OMNIO_TEST_PROGRAMS", ""), "/usr/lib64", "/usr/lib",
               f"/usr/lib/{os.uname().machine}-linux-gnu"]
    for folder in folders + [os.path.join(folder, "faketime") for folder in folders]:
        if os.path.exists(os.path.join(folder, name)):
            return os.path.join(folder, name)
    return None


def sizesOf(directory):
    """{relative name as bytes: size}; descriptors, since names may be longer than paths can be."""
    result = {}
    root = os.fsencode(directory)

    def walk(folder, prefix):
        with os.scandir(folder) as entries:
            found = [(entry.name, entry.is_dir(follow_symlinks=False),
                      entry.stat(follow_symlinks=False).st_size) for entry in entries]
        for name, is_folder, size in found:
            relative = prefix + os.fsencode(name)
            if is_folder:
                below = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=folder)
                try:
                    walk(below, relative + b"/")
                finally:
                    os.close(below)
            else:
                result[relative] = size

    top = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        walk(top, b"")
    finally:
        os.close(top)
    return result


def removeDeep(directory):
    """shutil.rmtree gives up where a path is longer than the system takes."""
    run(["rm", "-rf", directory])


def pathOf(quoted):
    """The bytes of a path, of which `omnio log` gives those that are no text as \\xHH."""
    return re.sub(rb"\\x([0-9A-F]{2})", lambda found: bytes([int(found.group(1), 16)]),
                  json.loads(quoted).encode())


# A write that has written, as a line of the log in JSON. Lines are neither decoded nor read one by one:
# there are millions.
WRITTEN = re.compile(rb'"class":"write".*?"file":("(?:[^"\\]|\\.)*").*"bytes":[1-9]')


def writesByFile(trace_directory, directory):
    """{relative name as bytes: writes}, and those of all other paths."""
    command = [omnio(), "log", trace_directory, "--json"]
    by_quoted = collections.Counter()
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        rest = b""
        while block := process.stdout.read(1 << 22):
            lines, _, rest = (rest + block).rpartition(b"\n")
            by_quoted.update(WRITTEN.findall(lines))
        by_quoted.update(WRITTEN.findall(rest))
        err = process.stderr.read()
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: status {process.returncode}: {err!r}")
    inside = os.fsencode(directory) + b"/"
    counts, others = collections.Counter(), collections.Counter()
    for quoted, count in by_quoted.items():
        path = pathOf(quoted)
        if path.startswith(inside):
            counts[path[len(inside):]] += count
        else:
            others[path] += count
    return counts, others


def runCase(case, directory, trace_directory=None):
    removeDeep(directory)
    os.makedirs(directory)
    command = [*case.wrapper, program("survival"), case.run_as, directory]
    changes = dict(case.env)
    changes["SURVIVAL_PLUGIN"] = os.path.join(os.environ.get("OMNIO_TEST_PROGRAMS", ""), PLUGIN)
    changes["INTERPOSER_COUNT"] = directory + ".count"
    preload = {"before": [], "after": []}
    for name, place in case.preloaded:
        preload[place].append(findLibrary(name))
    if trace_directory is None:
        libraries = preload["before"] + preload["after"]
        if libraries:
            changes["LD_PRELOAD"] = ":".join(libraries)
        return run(command, env=environment(**changes))
    if case.preloaded:
        os.makedirs(trace_directory)
        changes["LD_PRELOAD"] = ":".join(preload["before"] + [preloadLibrary("serial")] +
                                         preload["after"])
        changes["OMNIO_DIR"] = trace_directory
        return run(command, env=environment(**changes))
    return run([omnio(), "trace", "-o", trace_directory, "--", *command],
               env=environment(**changes))


def checkEvents(checks, case, directory, trace_directory):
    what = case.name
    sizes = {name: size for name, size in sizesOf(directory).items()
             if os.fsdecode(name) not in case.unseen}
    writes, others = writesByFile(trace_directory, directory)
    state = stats(trace_directory)["trace"]
    if case.counts:
        case.counts(checks, what, {os.fsdecode(name): count for name, count in writes.items()},
                    {os.fsdecode(name): size for name, size in sizes.items()})
    elif case.may_lose and sum(writes.values()) + sum(others.values()) != sum(sizes.values()):
        checks.that(not state["whole"] and state["reasons"],
                    f"{what}: what is missing is said: {state}")
        print(f"{what}: {sum(writes.values())} of {sum(sizes.values())} writes, {state['reasons']}")
    elif case.run_as in ("deep_directory", "root_without_descriptors"):
        # The working directory has no path that a call could give, the root no name below itself.
        checks.equal(sum(writes.values()) + sum(others.values()), sum(sizes.values()),
                     f"{what}: writes in all")
    else:
        wanted = {name: size for name, size in sizes.items() if size > 0}
        checks.that(writes == wanted, f"{what}: writes by file: {differences(writes, wanted)}")
    if case.seems_killed:
        checks.that(state["events_missing"] == 0 and state["reasons"] and
                    all("was killed" in reason for reason in state["reasons"]),
                    f"{what}: reasons: {state}")
    elif case.untraced:
        checks.that(state["events_missing"] == 0 and len(state["reasons"]) == 1 and
                    case.untraced in state["reasons"][0],
                    f"{what}: the untraced child is named: {state}")
    elif not case.may_lose:
        checks.that(state["whole"] and state["events_missing"] == 0,
                    f"{what}: the trace is whole: {state['reasons']}")
    text = run([omnio(), "log", trace_directory])
    checks.equal(text.status, 0, f"{what}: omnio log")
    bad = re.search(rb"[^\x20-\x7e\n\x80-\xff]", text.out)
    checks.that(bad is None, f"{what}: control characters in the text of the log: {bad}")
    return sum(writes.values())


def checkCase(checks, case, work):
    missing = [name for name, _ in case.preloaded if findLibrary(name) is None]
    if missing:
        checks.skip(case.name, f"{missing[0]} is not installed")
        return
    if case.root and os.geteuid() != 0:
        checks.skip(case.name, "needs root")
        return
    directory = os.path.join(work, "run")
    trace_directory = os.path.join(work, re.sub(r"\W", "-", case.name))
    wanted = runCase(case, directory)
    if wanted.status != 0:
        checks.that(False, f"{case.name}: the program fails untraced: {wanted}")
        return
    wanted_tree = treeOf(directory) if case.same_tree else {}
    got = runCase(case, directory, trace_directory)
    same = checks.equal(got.status, wanted.status, f"{case.name}: status")
    same &= checks.equal(got.out, wanted.out, f"{case.name}: output")
    may_be_said = case.may_lose or case.seems_killed or case.untraced
    said = got.err.replace(wanted.err, b"", 1)
    if case.name == "unprivileged_children":  # their logs are opened for them
        said = re.sub(rb"omnio: \S+: process \d+ \(\S+\) of user nobody cannot write its log there: [^\n]*\n",
                      b"", said)
    said_only = all(line.startswith(b"omnio: the trace is not whole: ")
                    for line in said.splitlines()) if may_be_said else said == b""
    same &= checks.that(said_only, f"{case.name}: standard error: got {got.err!r}, wanted {wanted.err!r}")
    if case.same_tree:
        tree = treeOf(directory)
        same &= checks.that(tree == wanted_tree,
                            f"{case.name}: files: {differences(tree, wanted_tree)}")
    if same:
        writes = checkEvents(checks, case, directory, trace_directory)
        print(f"{case.name}: {writes} writes; seconds {wanted.seconds:.2f} untraced, "
              f"{got.seconds:.2f} traced", flush=True)
    left = ringsOf(trace_directory)
    if not case.may_lose:
        checks.that(not left, f"{case.name}: nothing stays in /dev/shm: {left[:3]}")
    shutil.rmtree(trace_directory, ignore_errors=True)


def main(chosen):
    checks = Checks()
    with WorkDirectory() as work:
        os.chmod(work, 0o755)
        for case in CASES:
            if not chosen or case.name in chosen:
                with checks.case(case.name):
                    checkCase(checks, case, work)
        removeDeep(os.path.join(work, "run"))
    checks.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
