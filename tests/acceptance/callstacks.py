"""Call stacks (omnio trace --callstack): each record that a program writes says where it was written,
and addr2line says the same of the addresses in the log. With frame pointers the functions around it
come too, and so they do without where there are unwind tables; without both, on stacks of another kind,
and with rubbish in the frame pointer's register, at least the return address is right, and the program
does what it does untraced.

  callstacks.py [CASE...]    all cases by default
"""

import os
import shutil
import signal
import subprocess
import sys

from omnio_testing import (Checks, WorkDirectory, environment, mpirun, omnio, program, readLog, run,
                           skipTest, stats, trace)

RECORD = 64
WRITES = ("pwrite", "pwrite64")


class Names:
    """What addr2line says of the code right before a return address; asked once for each."""

    def __init__(self):
        self.known = {}

    def learn(self, frames):
        modules = {}
        for frame in set(frames) - set(self.known):
            module, _, offset = frame.rpartition("+")
            modules.setdefault(module, []).append((frame, int(offset, 16)))
        for module, wanted in modules.items():
            if not module.startswith("/"):
                self.known.update({frame: ("?", "?", module) for frame, _ in wanted})
                continue
            offsets = [hex(offset - 1) for _, offset in wanted]
            done = subprocess.run(["addr2line", "-f", "-e", module, *offsets], check=True,
                                  capture_output=True, text=True)
            lines = done.stdout.splitlines()
            for i, (frame, _) in enumerate(wanted):
                place = lines[2 * i + 1].split(" ")[0].rpartition(":")[2]
                # A part of a function may be apart from it: "save.cold".
                self.known[frame] = (lines[2 * i].split(".")[0], place, module)

    def of(self, frame):
        self.learn([frame])
        return self.known[frame]


NAMES = Names()


def framesOf(event):
    return event.get("stack", {}).get("frames", [])


def recordsIn(path):
    with open(path, "rb") as file:
        data = file.read()
    return [data[at:at + RECORD].rstrip(b"\0").decode() for at in range(0, len(data), RECORD)]


def writesOf(directory, path):
    events = [event for event in readLog(directory, "--callstack")
              if event["call"] in WRITES and event["file"] == path]
    NAMES.learn([frame for event in events for frame in framesOf(event)])
    return events


def checkWrites(checks, what, events, records, whole=True):
    """Each write's frames are those that its record names: all of them, or the innermost."""
    checks.equal(len(events), len(records), f"{what}: writes in the log")
    wrong = []
    for event in events:
        line, *functions = records[event["args"]["offset"] // RECORD].split(" ")
        seen = [NAMES.of(frame) for frame in framesOf(event)]
        wanted = functions if whole else functions[:1]
        named = [name for name, _, _ in seen][:len(wanted)]
        # Where the program does not know its own line, the function has to do.
        line_is_right = bool(seen) and line in ("0", seen[0][1])
        if named != wanted or not line_is_right:
            wrong.append(f"record {line} {functions}, log {seen}")
    checks.that(not wrong, f"{what}: {len(wrong)} of {len(events)} differ, such as {wrong[:2]}")
    return events


def runBoth(checks, work, what, command, file, options=("--callstack",), status=0, **more):
    """Runs it untraced and traced; output, status and what it writes are the same. Returns the
    trace."""
    alone = run(command, cwd=work, **more)
    checks.equal(alone.status, status, f"{what}, untraced: {alone}")
    records = recordsIn(file)
    directory = os.path.join(work, f"{what.replace(' ', '_')}.trace")
    traced = trace(directory, command, options=options, cwd=work, **more)
    checks.equal((traced.status, traced.out), (alone.status, alone.out), f"{what}: {traced}")
    # Threads may come in another order.
    checks.equal(sorted(recordsIn(file)), sorted(records), f"{what}: records")
    return directory


def checkCase(checks, work, name, case, whole=True, words=(), **more):
    built = program(name)
    if built is None:
        checks.skip(f"{name} {case}", "it was not built")
        return None, []
    file = os.path.join(work, f"{name}.{case}.data")
    what = f"{name} {case}"
    directory = runBoth(checks, work, what, [built, case, file, *words], file, **more)
    events = checkWrites(checks, what, writesOf(directory, file), recordsIn(file), whole)
    return directory, events


def hashesOf(events):
    return [event["stack"]["hash"] for event in events]


def checkOneProgram(checks, work):
    """Depth, order, hashes in spite of address randomisation, other readers."""
    directory, events = checkCase(checks, work, "c_callstack", "plain")
    checks.that(all(len(framesOf(event)) > 3 for event in events), "the walk goes on to main")
    distinct = set(hashesOf(events))
    checks.equal(len(distinct), 4, "distinct stacks of four call sites")
    _, again = checkCase(checks, emptyIn(work, "again"), "c_callstack", "plain")
    checks.equal(hashesOf(again), hashesOf(events), "hashes of a second run")
    checks.that(framesOf(again[0])[0] == framesOf(events[0])[0], "offsets of a second run")
    _, one = checkCase(checks, emptyIn(work, "one"), "c_callstack", "plain", whole=False,
                       options=("--callstack=1",))
    checks.equal({len(framesOf(event)) for event in one}, {1}, "frames with --callstack=1")
    _, by_variable = checkCase(checks, emptyIn(work, "variable"), "c_callstack", "plain",
                               options=(), env=environment(OMNIO_CALLSTACK="2"), whole=False)
    checks.equal({len(framesOf(event)) for event in by_variable}, {2}, "frames by the variable")
    none, frameless = checkCase(checks, emptyIn(work, "none"), "c_callstack_frameless", "plain")
    checks.equal(len(set(hashesOf(frameless))), 4, "distinct stacks without frame pointers")
    checkNoneMissing(checks, "frameless", none)
    off = os.path.join(work, "off.trace")
    trace(off, [program("c_callstack"), "plain", os.path.join(work, "off.data")])
    checks.equal([event for event in readLog(off, "--callstack") if "stack" in event], [],
                 "stacks without --callstack")
    text = run([omnio(), "log", directory, "--callstack"]).out.decode()
    checks.equal(text.count(" | stack="), sum(1 for _ in readLog(directory)), "stacks in the text")
    before = list(readLog(directory, "--callstack"))
    checks.equal(run([omnio(), "pack", directory]).status, 0, "omnio pack")
    checks.equal(list(readLog(directory, "--callstack")), before, "the log after omnio pack")
    refused = trace(os.path.join(work, "refused.trace"), ["true"], options=("--callstack=65",))
    checks.equal(refused.status, 2, f"--callstack=65: {refused}")


def checkAuto(checks, work):
    """Four frames outside of the files that are walked through, or the whole stack."""
    for through, wanted in (("default", {4}), ("none", {4}), ("c_callstack", {7, 8})):
        _, events = checkCase(checks, emptyIn(work, through), "c_callstack", "plain", whole=False,
                              options=("--callstack=auto", "--callstack-through", through))
        checks.equal({len(framesOf(event)) for event in events}, wanted, f"frames through {through}")


def checkTableless(checks, work):
    """Code with neither unwind tables nor frame pointers: the trace says that stacks end there."""
    directory, events = checkCase(checks, work, "c_callstack_tableless", "plain", whole=False)
    checks.that(len(set(hashesOf(events))) >= 2, "return addresses tell places apart")
    told = stats(directory)["trace"]["stacks_break_off"]
    checks.equal([(os.path.basename(at["module"]), at["processes"]) for at in told],
                 [("c_callstack_tableless", 1)], f"tableless: {told}")
    text = run([omnio(), "stats", directory]).out
    checks.that(b"in 1 process call stacks go no further than " in text, f"tableless: {text!r}")


def checkHdf5(checks, work):
    """Through parallel HDF5, which has no frame pointers, and MPI-IO: each write has the place in the
    program that asked HDF5 for it, and what called that."""
    built = program("c_hdf5_parallel")
    if built is None or mpirun(2) is None:
        checks.skip("c_hdf5_parallel", "no HDF5")
        return
    for way in ("ompio", "romio321"):
        directory = os.path.join(work, f"{way}.trace")
        file = os.path.join(work, f"{way}.h5")
        traced = trace(directory, mpirun(2, "--mca", "io", way) + [built, file],
                       options=("--callstack=auto",), cwd=work)
        checks.equal(traced.status, 0, f"{way}: {traced}")
        events = [event for event in readLog(directory, "--callstack") if event.get("file") == file]
        writes = [event for event in events if event["class"] == "write"]
        checks.that(len(writes) > 0, f"{way}: writes")
        NAMES.learn([frame for event in writes for frame in framesOf(event)])
        wrong = [framesOf(event) for event in writes
                 if "main" not in [NAMES.of(frame)[0] for frame in framesOf(event)]
                 or not any("libhdf5" in frame for frame in framesOf(event))]
        checks.that(not wrong, f"{way}: {len(wrong)} of {len(writes)} writes do not lead to main: {wrong[:1]}")
        told = stats(directory)["trace"]["stacks_break_off"]
        checks.equal([at for at in told if "lib" in at["module"]], [], f"{way}: stacks that break off")


def emptyIn(work, name):
    path = os.path.join(work, name)
    os.makedirs(path)
    return path


def checkKilled(checks, work):
    directory, events = checkCase(checks, work, "c_callstack", "killed",
                                  status=128 + signal.SIGKILL)
    checks.equal(len(events), 80, "writes of a killed process")
    checks.that(directory is not None, "a trace of it")


def checkPlugins(checks, work):
    plugins = pluginPaths()
    _, events = checkCase(checks, work, "c_callstack", "plugins", whole=False, words=plugins)
    modules = [NAMES.of(framesOf(event)[0])[2] for event in events]
    checks.equal(modules, ([plugins[0]] * 3 + [plugins[1]] * 3) * 3, "which plugin wrote")


def pluginPaths():
    folder = os.path.dirname(program("c_callstack"))
    return [os.path.join(folder, f"libcallstack_plugin_{name}.so") for name in "ab"]


def containers(directory):
    """The bytes of each process's log."""
    found = []
    for name in sorted(os.listdir(directory)):
        if name.endswith(".omnio"):
            with open(os.path.join(directory, name), "rb") as file:
                found.append(file.read())
    return found


def checkNoneMissing(checks, what, directory):
    told = stats(directory)["trace"]
    checks.equal((told["stacks_not_kept"], told["processes_with_short_stacks"]), (0, 0),
                 f"{what}: stacks that are missing, processes with short ones")


def checkReloads(checks, work):
    """More stacks than are kept at one time, of libraries that come and go."""
    plugins = pluginPaths()
    directory, events = checkCase(checks, work, "c_callstack", "reloads", whole=False,
                                  words=plugins)
    checks.that(len(events) > 24576, f"{len(events)} writes are more than the table has room for")
    turns = {}
    for event in events:
        turn = event["args"]["offset"] // RECORD // 64
        frame = framesOf(event)[0]
        turns.setdefault(turn, []).append((NAMES.of(frame)[2], frame))
    wrong = [turn for turn, seen in turns.items()
             if {module for module, _ in seen} != {plugins[0 if turn % 3 == 0 else 1]}
             or len(set(seen)) != 64]
    checks.that(not wrong, f"turns whose places are not 64 of the plugin: {wrong[:5]}")
    checkNoneMissing(checks, "reloads", directory)
    # A library that comes back is told once.
    for plugin in plugins:
        checks.equal([log.count(b" " + plugin.encode() + b"\0") for log in containers(directory)], [1],
                     f"facts of {plugin}")


def checkMany(checks, work):
    """More stacks than are kept: the calls without one are counted, and the commands say so."""
    built = program("c_callstack")
    file = os.path.join(work, "many.data")
    directory = runBoth(checks, work, "many", [built, "many", file], file,
                        options=("--callstack=20",))
    events = writesOf(directory, file)
    checks.equal(len(events), len(recordsIn(file)), "many: writes in the log")
    without = sum(1 for event in readLog(directory, "--callstack") if "stack" not in event)
    kept = sum(1 for event in events if "stack" in event)
    checks.that(0 < kept < len(events), f"many: {kept} of {len(events)} have a stack")
    checks.equal(len({event["stack"]["hash"] for event in events if "stack" in event}), kept,
                 "many: each stack is another")
    checks.equal(stats(directory)["trace"]["stacks_not_kept"], without, "many: calls without one")
    sentence = f"the call stacks of {without} calls are missing".encode()
    for words in (["log", directory, "--callstack"], ["stats", directory], ["predict", directory],
                  ["log", directory, "--callstack", "--json"]):
        done = run([omnio(), *words])
        checks.equal((done.status, (done.out + done.err).count(sentence)), (0, 1),
                     f"omnio {' '.join(words)}: status, and how often it says so")
    silent = run([omnio(), "log", directory])
    checks.that(sentence not in silent.out + silent.err, "omnio log says nothing of stacks")


def checkLimited(checks, work):
    """What a module is could not be written at first, and is in the log all the same."""
    plugins = pluginPaths()
    directory, events = checkCase(checks, work, "c_callstack", "limited", whole=False,
                                  words=plugins[:1])
    checks.equal([NAMES.of(framesOf(event)[0])[2] for event in events].count(plugins[0]), 3,
                 "limited: writes of the plugin")
    checkNoneMissing(checks, "limited", directory)


def checkSealed(checks, work):
    """Which file the code is in cannot be read: the stack has one frame, and none when a library was
    unloaded. The log says so."""
    built = program("c_callstack")
    file = os.path.join(work, "sealed.data")
    directory = runBoth(checks, work, "sealed", [built, "sealed", file, pluginPaths()[0]], file)
    events = writesOf(directory, file)
    records = recordsIn(file)
    frames = [(records[event["args"]["offset"] // RECORD].split(" ")[1], len(framesOf(event)))
              for event in events]
    of_plugin = [i for i, (function, _) in enumerate(frames) if function == "plugin_a"]
    before, after = frames[:of_plugin[0]], frames[of_plugin[-1] + 1:]
    checks.equal([frames[i][1] for i in of_plugin], [1, 1, 1], "sealed: frames")
    checks.that(before and all(count > 3 for _, count in before), f"sealed: before: {before}")
    checks.equal([count for _, count in after], [0] * len(before), "sealed: frames after dlclose")
    without = sum(1 for event in readLog(directory, "--callstack") if "stack" not in event)
    told = stats(directory)["trace"]
    checks.equal((told["whole"], told["processes_with_short_stacks"], told["stacks_not_kept"]),
                 (True, 1, without), "sealed: trace")
    text = run([omnio(), "stats", directory]).out
    checks.that(b"the call stacks of 1 process have one frame" in text, f"sealed: {text!r}")


def checkDrop(checks, work):
    """With --when-slow drop, a thread that calls from a new module does not write to the log."""
    plugin = pluginPaths()[0]
    directory, events = checkCase(checks, work, "c_callstack", "unhindered", whole=False,
                                  words=[plugin],
                                  options=("--callstack", "--when-slow", "drop"))
    checks.equal([NAMES.of(framesOf(event)[0])[2] for event in events].count(plugin), 1,
                 "drop: writes of the plugin")
    checkNoneMissing(checks, "drop", directory)


def checkRawForks(checks, work):
    """Children of a fork that the C library knows nothing of, made while another thread looks at a
    new stack."""
    built = program("c_callstack")
    file, other = os.path.join(work, "raw.data"), os.path.join(work, "raw.children")
    directory = os.path.join(work, "raw.trace")
    traced = trace(directory, [built, "raw_forks", file, other, pluginPaths()[0]],
                   options=("--callstack=20",), cwd=work)
    checks.equal((traced.status, traced.out), (0, b"0\n"), f"raw forks: {traced}")
    events = checkWrites(checks, "raw forks", writesOf(directory, other), recordsIn(other))
    checks.equal(len({event["pid"] for event in events}), 40, "raw forks: children that write")


def checkChildren(checks, work):
    built = program("c_callstack")
    file = os.path.join(work, "children.data")
    other = os.path.join(work, "image.data")
    directory = runBoth(checks, work, "children", [built, "children", file, other], file)
    events = writesOf(directory, file)
    # Parent and child write records of the same numbers to the same places, of the same places in
    # the code.
    checks.equal(len({event["pid"] for event in events}), 2, "processes that write")
    wrong = []
    for event in events:
        functions = [NAMES.of(frame)[0] for frame in framesOf(event)]
        inner = functions.index("children") if "children" in functions else -1
        is_outer = functions[inner - 1:inner] == ["outer"]
        is_inner = functions[:2] == ["inner", "children"]
        if inner < 1 or not (is_outer or is_inner):
            wrong.append(functions)
    checks.that(not wrong, f"children: {wrong[:2]}")
    checkWrites(checks, "the image after exec", writesOf(directory, other), recordsIn(other))


def checkFortran(checks, work):
    built = program("fortran_callstack")
    if built is None:
        checks.skip("fortran_callstack", "it was not built")
        return
    file = os.path.join(work, "fortran.data")
    directory = runBoth(checks, work, "fortran", [built, file], file)
    checkWrites(checks, "fortran", writesOf(directory, file), recordsIn(file))
    by_statement = [event for event in readLog(directory, "--callstack")
                    if event.get("file") == file + ".fortran" and event["class"] == "write"]
    checks.equal(len(by_statement), 3, "writes by Fortran's own statements")
    checks.that(all("libgfortran" in framesOf(event)[0] for event in by_statement),
                "they are made by Fortran's library")


def checkMpi(checks, work):
    built = program("c_mpi_callstack")
    if built is None or mpirun(2) is None:
        checks.skip("c_mpi_callstack", "no MPI")
        return
    # OMPIO hands data to a buffer of its own before it writes it; ROMIO writes at once.
    file = os.path.join(work, "mpi.data")
    for way in ("ompio", "romio321"):
        directory = os.path.join(work, f"{way}.trace")
        traced = trace(directory, mpirun(2, "--mca", "io", way) + [built, file],
                       options=("--callstack",), cwd=work)
        checks.equal(traced.status, 0, f"{way}: {traced}")
        records = recordsIn(file)
        events = list(readLog(directory, "--callstack"))
        NAMES.learn([frame for event in events for frame in framesOf(event)])

        def named(event):
            return [NAMES.of(frame)[0] for frame in framesOf(event)]

        calls = [event for event in events if event["call"] == "MPI_File_write_at"]
        checks.equal(len(calls), len(records), f"{way}: MPI_File_write_at")
        wrong = [named(event) for event in calls
                 if named(event)[:2] != records[event["args"]["offset"] // RECORD].split(" ")[1:]]
        checks.that(not wrong, f"{way}: MPI calls: {wrong[:2]}")
        below = [event for event in events if event["depth"] > 0 and event["class"] == "write" and
                 event.get("file") == file]
        checks.that(len(below) >= len(records), f"{way}: {len(below)} POSIX writes below them")
        wrong = []
        for event in below:
            function = records[event["args"]["offset"] // RECORD].split(" ")[1]
            names = named(event)
            if names.count(function) != 1 or "timestep" not in names or names[0] == function:
                wrong.append((function, framesOf(event), names))
        checks.that(not wrong, f"{way}: POSIX calls below: {wrong[:2]}")
        # The same in both ranks.
        places = {}
        for event in below:
            function = records[event["args"]["offset"] // RECORD].split(" ")[1]
            places.setdefault((event["rank"], function), set()).add(event["stack"]["hash"])
        for function in ("checkpoint", "history"):
            checks.equal(places.get((0, function)), places.get((1, function)),
                         f"{way}: hashes of {function} in both ranks")


def checkSmallStacks(checks, work):
    """A handler on a small alternate stack needs hardly more of it than without call stacks."""
    MORE = 512  # bytes; the slow ways of the walk need some 3,000
    directory = os.path.join(work, "trace")
    # The loader's look-up of a symbol would need more than all else.
    environ = environment(LD_BIND_NOW="1")

    def runsOn(size, *options):
        shutil.rmtree(directory, ignore_errors=True)
        return trace(directory, [program("c_small_stack"), size], options=options, cwd=work, env=environ).status == 0

    least, most = 2048, 32768
    checks.that(runsOn(most), f"a stack of {most} bytes is enough")
    while most - least > 64:
        middle = (least + most) // 2
        least, most = (least, middle) if runsOn(middle) else (middle, most)
    checks.that(runsOn(most + MORE, "--callstack"), f"a stack of {most + MORE} bytes is enough with call stacks; "
                f"{most} are without")
    events = [event for event in readLog(directory, "--callstack") if event["call"] == "write"]
    checks.equal([len(framesOf(event)) > 0 for event in events], [True] * 3, "writes that have a stack")


def main():
    if program("c_callstack") is None:
        skipTest("c_callstack was not built")
    if shutil.which("addr2line") is None:
        skipTest("addr2line is not there (Debian: binutils)")
    checks = Checks()
    wanted = sys.argv[1:]
    cases = [
        ("one program", checkOneProgram),
        ("auto", checkAuto),
        ("tableless", checkTableless),
        ("hdf5", checkHdf5),
        ("no_pie", lambda c, w: checkCase(c, w, "c_callstack_no_pie", "plain")),
        ("killed", checkKilled),
        ("plugins", checkPlugins),
        ("reloads", checkReloads),
        ("many", checkMany),
        ("limited", checkLimited),
        ("sealed", checkSealed),
        ("drop", checkDrop),
        ("raw_forks", checkRawForks),
        ("children", checkChildren),
        ("small_stacks", checkSmallStacks),
        ("fortran", checkFortran),
        ("mpi", checkMpi),
        ("cxx", lambda c, w: checkCase(c, w, "cxx_callstack", "threads")),
        ("openmp", lambda c, w: checkCase(c, w, "cxx_callstack_openmp", "openmp", whole=False)),
    ]
    for case in ("threads", "deep"):
        cases.append((case, lambda c, w, case=case: checkCase(c, w, "c_callstack", case)))
    for case in ("signals", "rubbish", "coroutines"):
        cases.append((case, lambda c, w, case=case: checkCase(c, w, "c_callstack", case, False)))
    for case in ("threads", "deep"):
        cases.append((f"frameless {case}", lambda c, w, case=case: checkCase(
            c, w, "c_callstack_frameless", case)))
    for case in ("signals", "rubbish", "coroutines"):
        cases.append((f"frameless {case}", lambda c, w, case=case: checkCase(
            c, w, "c_callstack_frameless", case, False)))
    for case in ("threads", "signals", "rubbish", "coroutines", "deep"):
        cases.append((f"tableless {case}", lambda c, w, case=case: checkCase(
            c, w, "c_callstack_tableless", case, False)))
    with WorkDirectory() as work:
        for name, check in cases:
            if wanted and name not in wanted:
                continue
            with checks.case(name):
                check(checks, emptyIn(work, name.replace(" ", "_")))
    checks.finish()


if __name__ == "__main__":
    main()
