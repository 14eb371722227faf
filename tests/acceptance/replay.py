"""Replays of programs whose I/O is known, from the trace to the tree that they leave: the same files
and sizes as the application left, no result that differs, and what strace sees of the replayer is
what it sees of the application. Then what only schedules written by hand can show: order between
ranks, timing, fewer processes than ranks, and how a replay ends when one of its ranks does.

OMNIO_TEST_REPEATS: how often each program is replayed in asap (default 1).
"""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from io_counts import KINDS, Counts
from omnio_testing import (PATIENCE_S, Checks, WorkDirectory, emptied, environment, mpirun, omnio,
                           program, readLog, run, skipTest)
from replay_testing import (MPI_ENVIRONMENT, closed, file, opened, processesOf, replay, report, schedule,
                            write)
from schedule_expander import expanded
from strace_counts import OPTIONS, countStraceFile

REPEATS = int(os.environ.get("OMNIO_TEST_REPEATS", "1"))
# Program: ranks, and whether its data passes streams (then the system's calls are the library's).
PROGRAMS = {"c_posix": (1, False), "c_posix_lfs_fortified": (1, False), "c_stdio": (1, True),
            "c_stdio_fortified": (1, True), "cxx_threads": (1, False), "cxx_openmp": (1, False),
            "fortran_io": (1, False), "c_mpi": (4, False), "LAMMPS": (4, True)}
MELT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "configs", "demo",
                    "in.melt")


def replayer():
    beside = os.path.dirname(omnio())
    for path in (os.path.join(beside, "omnio-replay"),
                 os.path.join(os.path.dirname(beside), "replay", "omnio-replay")):
        if os.access(path, os.X_OK):
            return path
    return None


def sizes(directory):
    """{relative name: size of a file, target of a link, or that it is a directory}"""
    result = {}
    for parent, folders, files in os.walk(directory):
        for name in folders + files:
            path = os.path.join(parent, name)
            relative = os.path.relpath(path, directory)
            if os.path.islink(path):
                result[relative] = "link"
            else:
                result[relative] = "directory" if os.path.isdir(path) else os.path.getsize(path)
    return result


def commandOf(name, home):
    if name == "LAMMPS":
        return ["lmp", "-in", MELT, "-var", "steps", "100", "-var", "cells", "10", "-log", "none",
                "-screen", "none"]
    return [program(name), home]


def onRanks(ranks, command):
    return command if ranks == 1 else [*mpirun(ranks), *command]


def traced(checks, work, name, ranks):
    """Runs the program under the tracer in an empty directory and makes schedules of the trace."""
    home = emptied(os.path.join(work, f"{name}.run"))
    trace = os.path.join(work, f"{name}.trace")
    command = onRanks(ranks, commandOf(name, home))
    result = run([omnio(), "trace", "-o", trace, "--", *command], cwd=home,
                 env=environment(**MPI_ENVIRONMENT))
    checks.equal(result.status, 0, f"{name}: traced run")
    schedules = {}
    for timing in ("asap", "dt"):
        path = os.path.join(work, f"{name}.{timing}.json")
        made = run([omnio(), "preprocess", trace, "-o", path, "--timing", timing])
        checks.equal(made.status, 0, f"{name}: preprocess: {made.err[-300:]!r}")
        schedules[timing] = path
    return home, schedules


def checkProgram(checks, work, name, ranks):
    home, schedules = traced(checks, work, name, ranks)
    wanted = sizes(home)
    checks.that(wanted, f"{name}: leaves files")
    target, output = os.path.join(work, f"{name}.target"), os.path.join(work, f"{name}.replay")
    for timing, times in (("asap", REPEATS), ("dt", 1)):
        for turn in range(times):
            shutil.rmtree(output, ignore_errors=True)
            what = f"{name}, {timing}, replay {turn}"
            result = replay(schedules[timing], target, output, "--fresh")
            if not checks.equal(result.status, 0, f"{what}: exit status"):
                print(result)
                break
            facts = report(output)
            checks.equal(facts["total"]["differences"], 0, f"{what}: differences")
            checks.equal(facts["total"]["not_issued"], 0, f"{what}: not issued")
            got = sizes(os.path.join(target, "tree"))
            got = {key: value for key, value in got.items() if not key.startswith("@root")}
            checks.equal(got, wanted, f"{what}: files and sizes")
            verified = run([omnio(), "verify", schedules[timing], output])
            checks.equal(verified.status, 0, f"{what}: verify: {verified.out[-500:]!r}")
    # Untraced, a program of one thread has a table of descriptors of its own.
    shutil.rmtree(output, ignore_errors=True)
    result = replay(schedules["asap"], target, output, "--fresh", "--no-trace")
    checks.equal(result.status, 0, f"{name}, untraced: exit status")
    checks.equal(report(output)["total"]["differences"], 0, f"{name}, untraced: differences")
    got = sizes(os.path.join(target, "tree"))
    checks.equal({key: value for key, value in got.items() if not key.startswith("@root")}, wanted,
                 f"{name}, untraced: files and sizes")
    print(f"{name}: {facts['total']['operations']} operations, {len(wanted)} files; "
          f"as recorded but for: {facts['substitutes']}")
    return home, schedules["asap"]


def byName(counts, below):
    prefix = below + "/"
    result = {}
    for path, count in counts.items():
        if not path.startswith(prefix):
            continue
        # mkstemp thinks of a name of its own each time.
        name = re.sub(r"^temporary\..*", "temporary", path[len(prefix):])
        sums = result.setdefault(name, Counts())
        for kind, calls in count.calls.items():
            sums.calls[kind] += calls
        sums.read_bytes += count.read_bytes
        sums.write_bytes += count.write_bytes
    return result


def figures(counts, buffered):
    """What has to agree. How a stream's data is cut into system calls is the C library's affair, which
    goes by the pieces that a format has and by the file system; their sum is the program's."""
    kinds = ("open", "failed opens") if buffered else KINDS
    result = {kind: counts.calls[kind] for kind in kinds}
    result["bytes written"] = counts.write_bytes
    if not buffered:
        result["bytes read"] = counts.read_bytes
    return result


def checkStrace(checks, work, name, home, path, ranks, buffered):
    """The system's calls, by file, of the program and of the replayer."""
    seen = {}
    target = os.path.join(work, f"{name}.straced")
    emptied(home)
    for who, command, below in (
            ("program", onRanks(ranks, commandOf(name, home)), home),
            ("replayer", onRanks(ranks, [replayer(), path, "--target", target, "--no-trace", "-o",
                                         os.path.join(work, f"{name}.strace-report")]),
             os.path.join(target, "tree"))):
        log = os.path.join(work, f"{name}.{who}.strace")
        result = run(["strace", *OPTIONS, "-o", log, *command], cwd=home,
                     env=environment(**MPI_ENVIRONMENT))
        checks.equal(result.status, 0, f"{name}: {who} under strace: {result.err[-300:]!r}")
        seen[who] = byName(countStraceFile(log), below)
    names = {key for key in set(seen["program"]) | set(seen["replayer"])
             if key != "." and not key.startswith(("@root", "#")) and "/#" not in key}
    checks.that(names, f"{name}: strace saw files")
    for key in sorted(names):
        # LAMMPS's MPI-IO goes to the system as it is.
        in_streams = buffered and not key.endswith(".mpiio")
        ours, theirs = (figures(seen[who].get(key, Counts()), in_streams)
                        for who in ("replayer", "program"))
        checks.equal(ours, theirs, f"{name}: strace of the replayer, {key}")
    calls = sum(sum(count.calls.values()) for count in seen["program"].values())
    print(f"{name}: strace agrees on {len(names)} files, {calls} calls"
          f"{' (streams: opens and bytes written)' if buffered else ''}")



def checkOrder(checks, work):
    """A baton that goes round over the ranks, in every way of carrying it."""
    ranks = 4
    files = [file(f"baton.{rank}") for rank in range(ranks)]
    path = write(os.path.join(work, "baton.json"), schedule(files, ranks=[[[
        opened(f"baton.{rank}", 0, id=rank + 1, **({"after": [rank]} if rank else {})),
        closed(0)]] for rank in range(ranks)]))
    for what, processes, variables in (("a process a rank", ranks, {}),
                                       ("two processes", 2, {}), ("one process", 1, {}),
                                       ("by messages", ranks,
                                        {"OMNIO_REPLAY_NODE_PER_PROCESS": "1"}),
                                       ("by messages, two processes", 2,
                                        {"OMNIO_REPLAY_NODE_PER_PROCESS": "1"})):
        target, output = os.path.join(work, "baton"), os.path.join(work, "baton.out")
        shutil.rmtree(output, ignore_errors=True)
        result = run([omnio(), "replay", path, "--target", target, "--fresh", "-o", output,
                      "-n", str(processes)], env=environment(**MPI_ENVIRONMENT, **variables),
                     timeout=PATIENCE_S)
        if not checks.equal(result.status, 0, f"baton, {what}: exit status"):
            print(result)
            continue
        times = {}
        for event in readLog(output):
            if event.get("file") and event["call"] == "open":
                times[os.path.basename(event["file"])] = (event["start_ns"], event["end_ns"])
        checks.equal(len(times), ranks, f"baton, {what}: opens")
        for rank in range(1, ranks):
            checks.that(times[f"baton.{rank}"][0] >= times[f"baton.{rank - 1}"][1],
                        f"baton, {what}: rank {rank} waits for rank {rank - 1}: {times}")
        places = {(thread["rank"], thread["thread"]) for thread in report(output)["threads"]}
        checks.equal(places, {(rank, 0) for rank in range(ranks)}, f"baton, {what}: threads")


def checkTiming(checks, work):
    """Never early, in dt and start; asap leaves the pauses out."""
    def document(timing, pause):
        events = [{**opened("a", 0), "start": pause, "end": pause + 1000},
                  {**closed(0), "start": 2 * pause, "end": 2 * pause + 1000}]
        return schedule([file("a")], [events], timing=timing)

    short, long = 80_000_000, 200_000_000_000
    for timing in ("asap", "dt", "start"):
        # Two calls do not take as long as the pauses that are left out, however busy the machine is.
        pause = long if timing == "asap" else short
        path = write(os.path.join(work, "timing.json"), document(timing, pause))
        target, output = os.path.join(work, "timing"), os.path.join(work, f"timing.{timing}")
        result = replay(path, target, output, "--fresh")
        checks.equal(result.status, 0, f"{timing}: exit status")
        total = report(output)["total"]
        makespan = total["makespan_ns"]
        earliest = 0 if timing == "asap" else pause
        checks.that(earliest <= total["begin_ns"] <= makespan,
                    f"{timing}: the first call begins at {total['begin_ns']} of {makespan} ns")
        if timing == "asap":
            checks.that(makespan < 2 * pause, f"asap leaves pauses out: {makespan} ns")
        else:
            checks.that(makespan >= 2 * pause, f"{timing} keeps the pauses: {makespan} ns")
        path = write(path, document(timing, short))
        given = replay(path, target, f"{output}.given", "--fresh", "--timing", "dt", "--no-trace")
        checks.equal(given.status, 0, f"{timing}, replayed in dt: exit status")
        checks.that(report(f"{output}.given")["makespan_ns"] >= 2 * short - 1000,
                    f"--timing goes before the schedule's {timing}")


def checkProcessors(checks, work):
    """Two ranks that may use one and the same processor do not spin; a rank alone on it does."""
    processor = min(os.sched_getaffinity(0))
    events = [opened("a", 0), closed(0)]
    for ranks in (1, 2):
        path = write(os.path.join(work, "processors.json"),
                     schedule([file("a")], ranks=[[events]] * ranks))
        output = os.path.join(work, f"processors.{ranks}")
        done = run(["taskset", "-c", processor, omnio(), "replay", path, "--target",
                    os.path.join(work, "processors"), "-o", output, "--fresh", "--no-trace"],
                   env=environment(**MPI_ENVIRONMENT))
        if checks.equal(done.status, 0, f"{ranks} ranks on one processor: {done.err!r}"):
            checks.equal(report(output)["spins"], ranks == 1, f"{ranks} ranks on one processor: spins")


def checkDifferences(checks, work):
    """A result that differs is told, counted, and the exit status says so."""
    path = write(os.path.join(work, "different.json"), schedule(
        [file("in", "input", True, 100)],
        [[opened("in", 0, "O_RDONLY"),
          {"command": "read", "fd": 0, "count": 500, "result": 500}, closed(0)]]))
    output = os.path.join(work, "different.out")
    result = replay(path, os.path.join(work, "different"), output)
    checks.equal(result.status, 3, "differences: exit status")
    checks.equal(result.err, b"", "differences: nothing on stderr")
    checks.that(b"read in: 500 was recorded, got 100" in result.out,
                f"differences: {result.out[-300:]!r}")
    first = report(output)["first_differences"]
    checks.equal([(one["call"], one["expected"], one["got"]) for one in first],
                 [("read", "500", "100")], "differences in the report")


def checkDeath(checks, work):
    """A rank that is killed, and one that cannot go on, end the replay long before its last call."""
    late = 3_000_000_000_000
    path = write(os.path.join(work, "death.json"), schedule(
        [file("a")], ranks=[[[{**opened("a", 0), "start": late, "end": late + 1}, {
            **closed(0), "start": late + 2, "end": late + 3}]] for _ in range(3)], timing="start"))
    with subprocess.Popen(
            [omnio(), "replay", path, "--target", os.path.join(work, "death"), "-o",
             os.path.join(work, "death.out")], env=environment(**MPI_ENVIRONMENT),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        until = time.monotonic() + PATIENCE_S
        while len(processesOf(path, is_traced=True)) < 3 and time.monotonic() < until:
            time.sleep(0.1)
        victims = processesOf(path, is_traced=True)
        if checks.that(2 in victims, f"the ranks are at work: {victims}"):
            os.kill(victims[2], signal.SIGKILL)
        killed = time.monotonic()
        try:
            _, err = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            _, err = process.communicate()
        took = time.monotonic() - killed
    checks.equal(process.returncode, 1, "a killed rank: exit status")
    checks.that(re.fullmatch(rb"omnio: rank 2: ended by signal 9 \(Killed\) on \S+; the kernel's log "
                             rb"there says whether memory ran out, else a batch system or a user did "
                             rb"it\n", err), f"a killed rank is named, once: {err!r}")
    print(f"killed rank: ended after {took:.2f} s")

    path = write(os.path.join(work, "space.json"),
                 schedule([file("in", "input", True, 1 << 60)], [[opened("in", 0), closed(0)]]))
    result = replay(path, os.path.join(work, "space"), os.path.join(work, "space.out"))
    checks.equal(result.status, 1, "no space: exit status")
    checks.that(result.err.startswith(b"omnio: ") and b"too little room" in result.err,
                f"no space: reason: {result.err[-400:]!r}")
    checks.equal(result.err.count(b"\n"), 1, f"no space: said once: {result.err[-400:]!r}")


def checkStall(checks, work):
    """A replay that stands still ends, and says who waits for whom."""
    soon = 60_000_000_000
    path = write(os.path.join(work, "stall.json"), schedule(
        [file("a"), file("b"), file("begun")],
        ranks=[[[{**opened("a", 0), "start": soon, "end": soon + 1, "id": 1}, closed(0)]],
               [[opened("begun", 0), opened("b", 1, after=[1])]]], timing="start"))
    for turn in range(10):
        target, output = os.path.join(work, f"stall.{turn}"), os.path.join(work, f"stall.{turn}.out")
        with subprocess.Popen(
                [omnio(), "replay", path, "--target", target, "-o", output, "--no-trace", "--stall", "2"],
                env=environment(**MPI_ENVIRONMENT), stdout=subprocess.PIPE,
                stderr=subprocess.PIPE) as process:
            begun = os.path.join(target, "tree", "begun")
            until = time.monotonic() + PATIENCE_S
            while not os.path.exists(begun) and time.monotonic() < until and process.poll() is None:
                time.sleep(0.01)
            victims = processesOf(path, is_traced=False)
            if 0 in victims:
                os.kill(victims[0], signal.SIGSTOP)
            try:
                _, err = process.communicate(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                _, err = process.communicate()
        # On a busy machine it may have stood still by itself.
        if 0 in victims:
            break
    checks.that(0 in victims, f"the ranks are at work: {victims}")
    checks.equal(process.returncode, 1, "a replay that stands still: exit status")
    checks.that(err.startswith(b"omnio: rank 1: nothing has moved for ") and
                b"event 2 of rank 1, thread 0 waits for rank 0, thread 0" in err,
                f"a replay that stands still: {err!r}")


def isInMemory(path):
    return run(["stat", "-f", "-c", "%T", path]).out.strip() == b"tmpfs"


def checkCache(checks, work):
    """The report says what the page cache holds; a file system in memory is never cold."""
    size = 1 << 20
    pages = size // 4096
    path = write(os.path.join(work, "cache.json"), schedule(
        [file("in", "input", True, size)],
        [[opened("in", 0, flags="O_RDONLY"),
          {"command": "pread", "fd": 0, "count": size, "offset": 0, "result": size}]]))
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        for place in (work, memory):
            target = os.path.join(place, "cache")
            for cache in ("cold", "warm"):
                output = os.path.join(work, "cache.out")
                shutil.rmtree(output, ignore_errors=True)
                done = replay(path, target, output, "--no-trace", "--fresh", "--cache", cache)
                what = f"cache {cache} in {target}"
                checks.equal(done.status, 0, f"{what}: {done.err!r}")
                expected = pages if cache == "warm" or isInMemory(place) else 0
                found = report(output)["preparation"]
                checks.equal((found["sampled_pages"], found["resident_pages"]), (pages, expected),
                             what)
                checks.equal(b"although" in done.out, cache == "cold" and expected > 0,
                             f"{what}: what is said: {done.out!r}")


def checkHoles(checks, work):
    """cp finds the holes of a sparse file in the replay, too. Of a very large file only what dd reads
    is made."""
    home, target = emptied(os.path.join(work, "holes")), os.path.join(work, "holes.target")
    sparse, large = os.path.join(home, "sparse"), os.path.join(home, "large")
    with open(sparse, "wb") as file:
        for at in (1 << 20, 5 << 20):
            file.seek(at)
            file.write(b"x" * 65536)
    with open(large, "wb") as file:
        file.seek(1 << 39)
        file.write(b"x" * (1 << 20))
        file.truncate(1 << 40)
    trace, path = os.path.join(work, "holes.trace"), os.path.join(work, "holes.json")
    script = "cp sparse copy && dd if=large of=/dev/null bs=1M skip=524288 count=1"
    done = run([omnio(), "trace", "-o", trace, "--", "sh", "-c", script], cwd=home)
    checks.equal(done.status, 0, f"trace: {done.err!r}")
    done = run([omnio(), "preprocess", trace, "-o", path])
    checks.equal(done.status, 0, f"preprocess: {done.err!r}")
    files = {file["location"]: file for file in expanded(path)["files"]}
    def hole(begin, end):
        return {"begin": begin, "end": end}
    checks.equal(files["sparse"].get("holes"),
                 [hole(0, 1 << 20), hole((1 << 20) + 65536, 5 << 20)], "the holes that cp found")
    # Behind what it read, the system may have read ahead.
    checks.equal(files["large"].get("holes"),
                 [hole(0, 1 << 39), hole((1 << 39) + (2 << 20), 1 << 40)], "what dd did not come near")
    output = os.path.join(work, "holes.replay")
    done = replay(path, target, output, "--no-trace")
    checks.equal(done.status, 0, f"replay: {done.out!r} {done.err!r}")
    prepared = report(output)["preparation"]["bytes"]
    checks.that(prepared < 4 << 20, f"{prepared} bytes were prepared")
    for name in ("sparse", "copy"):
        recorded = os.stat(os.path.join(home, name))
        replayed = os.stat(os.path.join(target, "tree", name))
        checks.equal((replayed.st_size, replayed.st_blocks), (recorded.st_size, recorded.st_blocks),
                     f"size and blocks of {name}")


def checkRepeat(checks, work):
    """Each replay has a fresh tree and a report of its own; the median is that of the reports."""
    path = write(os.path.join(work, "repeat.json"), schedule(
        [file("a")], [[opened("a", 0, flags="O_RDWR|O_CREAT|O_EXCL"), closed(0)]]))
    output = os.path.join(work, "repeat.out")
    for sync in ("none", "file", "final"):
        shutil.rmtree(output, ignore_errors=True)
        done = replay(path, os.path.join(work, "repeat"), output, "--no-trace", "--repeat", "3",
                      "--fresh", "--sync", sync)
        checks.equal(done.status, 0, f"three replays: {done.err!r}")
        reports = [report(os.path.join(output, str(number))) for number in (1, 2, 3)]
        checks.equal([one["sync"] for one in reports], [sync] * 3, "what is written back")
        checks.equal([one["sync_ns"] > 0 for one in reports], [sync != "none"] * 3,
                     f"the time of writing back ({sync})")
        with open(os.path.join(output, "repeats.json"), encoding="utf-8") as document:
            repeats = json.load(document)
        makespans = [one["makespan_ns"] for one in reports]
        checks.equal(repeats["makespan_ns"], makespans, "makespans of three replays")
        checks.equal(repeats["median_ns"], sorted(makespans)[1], "the median of three replays")


def checkVerify(checks, work):
    """A position that differs is told; the replay of another schedule is refused."""
    def seeking(name, position):
        return write(os.path.join(work, name), schedule([file("a")], [[
            opened("a", 0), {"command": "lseek", "fd": 0, "offset": 100, "whence": "SEEK_SET",
                             "result": position}, closed(0)]]))
    right, wrong = seeking("right.json", 100), seeking("wrong.json", 50)
    output = {}
    for path, status in ((right, 0), (wrong, 3)):
        output[path] = path + ".out"
        result = replay(path, path + ".target", output[path])
        checks.equal(result.status, status, f"{path}: status of the replay: {result}")
        verified = run([omnio(), "verify", path, output[path]])
        checks.equal(verified.status, status, f"{path}: status of verify: {verified}")
    checks.equal(verified.out.decode().splitlines()[0], "rank 0 thread 0 event 2, lseek: position "
                 "50 in the schedule, 100 in the replay", "the position that differs")
    verified = run([omnio(), "verify", right, output[wrong]])
    checks.equal((verified.status, verified.out), (1, b""), "another schedule: status")
    checks.equal(verified.err.decode(), f"omnio: {right}: not the schedule that was replayed, or "
                 f"changed since; {os.path.join(output[wrong], 'replay.json')} is the report of a "
                 f"replay of {wrong}\n", "another schedule: the sentence")


def checkVerifyFlags(checks, work):
    """Flags of a call that opens nothing are compared too: one replay passes for another's."""
    outputs = []
    for mode in (0, 1):
        path = write(os.path.join(work, f"mode{mode}.json"), schedule([file("a")], [[
            opened("a", 0), {"command": "fallocate", "fd": 0, "flags": mode, "offset": 0,
                             "length": 4096, "result": 0}, closed(0)]]))
        outputs.append(path + ".out")
        result = replay(path, path + ".target", outputs[-1])
        checks.equal(result.status, 0, f"{path}: status of the replay: {result}")
    digests = [report(output)["schedule_digest"] for output in outputs]
    path = os.path.join(outputs[0], "replay.json")
    with open(path, encoding="utf-8") as document:
        text = document.read().replace(digests[0], digests[1])
    write(path, text)
    verified = run([omnio(), "verify", os.path.join(work, "mode1.json"), outputs[0]])
    checks.equal((verified.status, verified.out.decode().splitlines()[0]),
                 (3, "rank 0 thread 0 event 2, fallocate: flags 0x1 in the schedule, 0x0 in the "
                  "replay"), "the flags that differ")


def checkDirect(checks, work):
    """mpirun omnio-replay, without `omnio replay` around it."""
    path = write(os.path.join(work, "direct.json"), schedule(
        [file("a"), file("b")], ranks=[[[opened(name, 0), closed(0)]] for name in "ab"]))
    output = os.path.join(work, "direct.out")
    command = [*mpirun(2), replayer(), path, "--target", os.path.join(work, "direct"), "-o", output]
    result = run(command, env=environment(**MPI_ENVIRONMENT))
    checks.equal(result.status, 0, "mpirun omnio-replay: exit status")
    # Nothing but the calls of the schedule.
    calls = [event["call"] for event in readLog(output)]
    checks.equal(sorted(calls), sorted(["open", "close"] * 2),
                 "mpirun omnio-replay: events in its trace")
    broken = write(os.path.join(work, "broken.json"), '{"format":')
    nowhere = os.path.join(work, "direct.none")
    command = [*mpirun(2), replayer(), broken, "--target", nowhere, "-o", nowhere + ".out"]
    result = run(command, env=environment(**MPI_ENVIRONMENT), timeout=PATIENCE_S)
    checks.equal(result.status, 1, "mpirun omnio-replay, a broken schedule: exit status")
    checks.that(b"omnio-replay: " + broken.encode() + b": line 1" in result.err,
                f"a broken schedule is named: {result.err[-300:]!r}")
    checks.that(not os.path.exists(nowhere) and not os.path.exists(nowhere + ".out"),
                "a broken schedule leaves nothing")


def main():
    if mpirun(1) is None or replayer() is None:
        skipTest("there is no MPI")
    checks = Checks()
    with WorkDirectory() as work:
        for name, (ranks, buffered) in PROGRAMS.items():
            if not (shutil.which("lmp") if name == "LAMMPS" else program(name)):
                checks.skip(name, "it is not here")
                continue
            with checks.case(name):
                home, path = checkProgram(checks, work, name, ranks)
                if shutil.which("strace"):
                    checkStrace(checks, work, name, home, path, ranks, buffered)
        for check in (checkOrder, checkTiming, checkProcessors, checkDifferences, checkVerify, checkVerifyFlags,
                      checkDirect, checkDeath, checkStall, checkCache, checkHoles, checkRepeat):
            with checks.case(check.__name__):
                check(checks, work)
    checks.finish()


if __name__ == "__main__":
    main()
