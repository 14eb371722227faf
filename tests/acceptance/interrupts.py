"""Commands that are interrupted, and errors of several ranks: one sentence, the status of the signal,
nothing half-made, and no process that goes on."""

import os
import signal
import subprocess
import time

import devices
from omnio_testing import PATIENCE_S, emptied, environment, omnio, run, runCases
from replay_testing import (MPI_ENVIRONMENT, closed, file, opened, replay, schedule, write)

RANKS = 4
MIB = 1 << 20


def processesOf(word):
    """Those that have the word in their command line, but for this one."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as words:
                if int(pid) != os.getpid() and word.encode() in words.read():
                    found.append(int(pid))
        except OSError:
            continue
    return found


def waitUntil(condition, seconds=PATIENCE_S):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.01)
    return False


def hasContent(path):
    try:
        return os.path.getsize(path) > 0
    except OSError:
        return False


def start(words):
    """In a process group of its own."""
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            stdin=subprocess.DEVNULL, env=environment(**MPI_ENVIRONMENT),
                            start_new_session=True)


def isLeft(path):
    """Whether a process with the path in its command line is left, when all had time to go."""
    return not waitUntil(lambda: not processesOf(path))


def interruptedInTime(words, has_begun, number, before, in_time):
    """The command and what it wrote, ended by a signal after `has_begun()`; started anew where the signal came
    when what was to be interrupted was over, and `in_time(process, out, err)` says so. `before()` makes things as
    they were."""
    for _ in range(20):
        before()
        process = start(words)
        assert waitUntil(lambda process=process: has_begun(process) or process.poll() is not None), f"{words} begins"
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE_S)
        if in_time(process, out, err):
            break
    return process, out, err


def endedBy(checks, what, process, number):
    return judgedEnd(checks, what, process, *process.communicate(timeout=PATIENCE_S), number)


def judgedEnd(checks, what, process, out, err, number):
    print(f"{what}: {err.decode().strip()}")
    checks.equal(process.returncode, -number, f"{what}: ended by the signal")
    checks.equal(out, b"", f"{what}: nothing on standard output")
    lines = err.decode().splitlines()
    checks.equal(len(lines), 1, f"{what}: one line: {lines}")
    name = signal.Signals(number).name
    checks.that(lines and lines[0].startswith(f"omnio: interrupted by {name}"),
                f"{what}: the sentence: {lines}")
    return err.decode()


def slowSchedule(work):
    """Each rank writes at once, and then once more after what no test takes."""
    late = 3_000_000_000_000
    ranks = []
    for rank in range(RANKS):
        written = {"command": "pwrite64", "fd": 0, "count": 4096, "offset": 0, "result": 4096}
        ranks.append([[opened(f"out.{rank}", 0), written,
                       {**written, "offset": 4096, "start": late, "end": late + 1},
                       {**closed(0), "start": late + 2, "end": late + 3}]])
    files = [file("in", "input", True, MIB), *(file(f"out.{rank}") for rank in range(RANKS))]
    return write(os.path.join(work, "slow.json"), schedule(files, ranks=ranks, timing="start"))


def writesIn(directory):
    """How many the log has: the replay may go on."""
    return sum("pwrite" in line for line in run([omnio(), "log", directory]).out.decode().splitlines())


def checkReplay(checks, work):
    path = slowSchedule(work)
    for number, to_group, options in ((signal.SIGINT, False, []), (signal.SIGINT, True, []),
                                      (signal.SIGTERM, False, []), (signal.SIGTERM, True, []),
                                      (signal.SIGHUP, False, []),
                                      (signal.SIGINT, False, ["--no-trace"])):
        what = (f"replay, {signal.Signals(number).name} to the {'group' if to_group else 'process'}"
                f"{' '.join(['', *options])}")
        target, output = emptied(os.path.join(work, "target")), emptied(os.path.join(work, "out"))
        process = start([omnio(), "replay", path, "--target", target, "-o", output, *options])
        tree = os.path.join(target, "tree")
        wrote = waitUntil(lambda: all(hasContent(os.path.join(tree, f"out.{rank}")) for rank in range(RANKS)))
        # A rank may have written and not have recorded that yet.
        wrote = wrote and (bool(options) or waitUntil(lambda: writesIn(output) == RANKS))
        checks.that(wrote, f"{what}: the ranks have begun")
        (os.killpg if to_group else os.kill)(process.pid, number)
        err = endedBy(checks, what, process, number)
        checks.that(not isLeft(path), f"{what}: processes that are left")
        checks.that(f"its files are in {tree}" in err, f"{what}: names the files")
        if options:
            checks.that("it has no trace" in err, f"{what}: no trace")
            checks.equal(os.listdir(output), [], f"{what}: the output that was there")
            continue
        checks.that(f"the trace of the replay so far is in {output}" in err,
                    f"{what}: names the trace")
        checks.that(not os.path.exists(os.path.join(output, "replay-programs")),
                    f"{what}: no programs are left")
        checks.that(not os.path.exists(os.path.join(output, "replay.json")), f"{what}: no report")
        checks.equal(writesIn(output), RANKS, f"{what}: the writes so far are in the trace")


def checkOnNodes(checks, work):
    """The files of nodes are named too."""
    late = 3_000_000_000_000
    path = write(os.path.join(work, "nodes.json"), schedule(
        [file("out"), file("@node/h/own")],
        [[opened("out", 0), opened("@node/h/own", 1), {**closed(1), "start": late, "end": late + 1}]],
        timing="start"))
    target, own = emptied(os.path.join(work, "target")), os.path.join(work, "own")
    process = start([omnio(), "replay", path, "--target", target, "-o", emptied(os.path.join(work, "out")),
                     "--node-local", own, "--no-trace"])
    made = os.path.join(own, "tree", "@node/h/own")
    checks.that(waitUntil(lambda: os.path.exists(made)), "on nodes: the rank has begun")
    process.send_signal(signal.SIGINT)
    err = endedBy(checks, "on nodes", process, signal.SIGINT)
    checks.that(f"its files are in {target}/tree and {own}/tree of its nodes" in err, f"on nodes: {err}")


def checkTerminal(checks, work):
    """^C on a terminal reaches omnio, the launcher and the ranks in their groups."""
    path = slowSchedule(work)
    target, output = os.path.join(work, "terminal"), os.path.join(work, "terminal.replay")
    pid, terminal = os.forkpty()
    if pid == 0:
        os.environ.update(environment(**MPI_ENVIRONMENT))
        os.execv(omnio(), [omnio(), "replay", path, "--target", target, "-o", output])
    last = os.path.join(target, "tree", f"out.{RANKS - 1}")
    checks.that(waitUntil(lambda: os.path.exists(last) and os.path.getsize(last) == 4096),
                "terminal: the ranks have begun")
    os.write(terminal, b"\x03")
    text = b""
    try:
        while part := os.read(terminal, 4096):
            text += part
    except OSError:
        pass  # the other end is closed
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    print(f"terminal: {text!r}")
    checks.that(os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGINT,
                f"terminal: ended by SIGINT: {status}")
    lines = [line for line in text.decode().replace("^C", "").split("\r\n") if line]
    checks.equal(len(lines), 1, f"terminal: one line: {lines}")
    checks.that("interrupted by SIGINT; the trace of the replay so far is in" in text.decode(),
                f"terminal: {text!r}")
    checks.that(not isLeft(path), "terminal: processes that are left")


def largeSchedule(work):
    events = [opened("out", 0)]
    for at in range(400_000):
        events.append({"command": "pwrite64", "fd": 0, "count": 8, "offset": 8 * at, "result": 8})
    return write(os.path.join(work, "large.json"), schedule([file("out")],
                                                            [[*events, closed(0)]]))


def checkCompiling(checks, work):
    """While the schedule is read, before anything is started."""
    path = largeSchedule(work)
    for options in ([], ["--repeat", "2"]):
        for number in (signal.SIGINT, signal.SIGTERM):
            what = f"compiling, {signal.Signals(number).name}{' '.join(['', *options])}"
            target, output = os.path.join(work, "large"), os.path.join(work, "large.replay")
            first = os.path.join(output, *(["1"] if options else []), "replay-programs", "thread.0")
            process, out, err = interruptedInTime(
                [omnio(), "replay", path, "--target", target, "-o", output, *options],
                lambda _, first=first: os.path.exists(first), number,
                lambda made=(target, output): run(["rm", "-rf", *made]),
                lambda process, _, err: process.returncode != 0 and b"its files are in" not in err)
            err = judgedEnd(checks, what, process, out, err, number)
            checks.that("before the replay began" in err, f"{what}: {err}")
            for left in (target, output):
                checks.that(not os.path.exists(left), f"{what}: {left} is not there")


def checkPreprocess(checks, work):
    """A long trace; the schedule of that name stays as it was, or is not there."""
    home, trace = emptied(os.path.join(work, "home")), os.path.join(work, "long.trace")
    code = ("import os\nfd = os.open('out', os.O_RDWR | os.O_CREAT)\n"
            "for at in range(200000): os.pwrite(fd, b'12345678', at)\n")
    made = run([omnio(), "trace", "-o", trace, "--", "python3", "-c", code], cwd=home)
    checks.equal(made.status, 0, f"preprocess: the trace: {made}")
    path = os.path.join(work, "made.json")
    for old in (None, "the old one"):
        for number in (signal.SIGINT, signal.SIGTERM):
            what = f"preprocess, {signal.Signals(number).name}, {old or 'none'} before"

            def asBefore(old=old):
                run(["rm", "-f", path, f"{path}.times"])
                if old:
                    write(path, old)

            process, out, err = interruptedInTime(
                [omnio(), "preprocess", trace, "-o", path],
                lambda process: hasContent(f"{path}.times.{process.pid}.tmp"), number, asBefore,
                lambda process, *_: process.returncode != 0)
            err = judgedEnd(checks, what, process, out, err, number)
            checks.that(("is as it was before" if old else "nothing of") in err, f"{what}: {err}")
            left = [name for name in os.listdir(work) if name.startswith("made.json")]
            checks.equal(left, ["made.json"] if old else [], f"{what}: what is left")
            if old:
                with open(path, encoding="utf-8") as kept:
                    checks.equal(kept.read(), old, f"{what}: the old schedule")
    with devices.tmpfs(work, "full") as device:
        path = write(os.path.join(device.mount_point, "made.json"), "the old one")
        device.fillUp(8192)
        before = sorted(os.listdir(device.mount_point))
        done = run([omnio(), "preprocess", trace, "-o", path])
        lines = done.err.decode().splitlines()
        print(f"preprocess, full disk: {lines}")
        checks.equal(done.status, 1, f"preprocess, full disk: status: {done}")
        checks.that(len(lines) == 1 and "No space left on device" in lines[0],
                    f"preprocess, full disk: one sentence: {lines}")
        checks.equal(sorted(os.listdir(device.mount_point)), before, "preprocess, full disk: left")
        with open(path, encoding="utf-8") as kept:
            checks.equal(kept.read(), "the old one", "preprocess, full disk: the old schedule")


def checkRewriting(checks, work):
    """A schedule that is made from a schedule."""
    path, made = largeSchedule(work), os.path.join(work, "expanded.json")
    process, out, err = interruptedInTime(
        [omnio(), "schedule", "expand", path, "-o", made],
        lambda process: hasContent(f"{made}.{process.pid}.tmp"), signal.SIGINT,
        lambda: run(["rm", "-f", made]), lambda process, *_: process.returncode != 0)
    err = judgedEnd(checks, "schedule expand", process, out, err, signal.SIGINT)
    checks.that(f"nothing of {made} is left" in err, f"schedule expand: {err}")
    left = [name for name in os.listdir(work) if name.startswith("expanded")]
    checks.equal(left, [], "schedule expand: what is left")


def refused(checks, what, result, words, status=1):
    lines = result.err.decode().splitlines()
    print(f"{what}: {lines}")
    checks.equal(result.status, status, f"{what}: status")
    checks.equal(result.out, b"", f"{what}: nothing on standard output")
    checks.that(lines and words in lines[0], f"{what}: {words!r} in the sentence: {lines}")
    # Wrong usage has a line that names --help too.
    checks.equal(len(lines), 1 if status == 1 else 2, f"{what}: one sentence: {lines}")


def checkErrors(checks, work):
    """Of four ranks, before the replay begins: told once, and the launcher's words are not."""
    ranks = [[[opened(f"out.{rank}", 0), closed(0)]] for rank in range(RANKS)]
    files = [file(f"out.{rank}") for rank in range(RANKS)]
    fits = write(os.path.join(work, "fits.json"), schedule(files, ranks=ranks))
    output = os.path.join(work, "errors.replay")

    with devices.tmpfs(work, "readonly") as device:
        run(["mount", "-o", "remount,ro", device.mount_point])
        refused(checks, "target on a read-only device",
                replay(fits, os.path.join(device.mount_point, "target"), output),
                "Read-only file system")
        refused(checks, "output on a read-only device",
                replay(fits, os.path.join(work, "readonly-target"),
                       os.path.join(device.mount_point, "out")), "Read-only file system")
        run(["mount", "-o", "remount,rw", device.mount_point])
        large = write(os.path.join(work, "no-room.json"), schedule(
            [*files, file("in", "input", True, 4 * MIB)], ranks=ranks))
        refused(checks, "no room", replay(large, os.path.join(device.mount_point, "target"),
                                          output), "too little room")
    foreign = emptied(os.path.join(work, "foreign"))
    write(os.path.join(foreign, "precious"), "data")
    refused(checks, "foreign target", replay(fits, foreign, output), "which no replay made")
    broken = write(os.path.join(work, "broken.json"), '{"format": "omnio-schedule", "version": 1,')
    refused(checks, "broken schedule", replay(broken, os.path.join(work, "none"), output),
            "broken.json")
    refused(checks, "no schedule", replay(os.path.join(work, "absent.json"),
                                          os.path.join(work, "none"), output), "absent.json")
    huge = 1 << 44
    hungry = write(os.path.join(work, "hungry.json"), schedule(files, ranks=[
        [[opened(f"out.{rank}", 0), {"command": "pwrite64", "fd": 0, "count": huge, "offset": 0,
                                     "result": huge}, closed(0)]] for rank in range(RANKS)]))
    refused(checks, "buffers that do not fit",
            replay(hungry, os.path.join(work, "hungry"), os.path.join(work, "hungry.replay"),
                   "--ignore-free-space"),
            "bytes of memory")
    mode = [[{**opened(f"out.{rank}", 0), "mode": "999"}, closed(0)] for rank in range(RANKS)]
    wrong = write(os.path.join(work, "mode.json"), schedule(files, ranks=[[one] for one in mode]))
    refused(checks, "mode 999", replay(wrong, os.path.join(work, "none"), output),
            'unknown mode "999"')
    for option, value in (("-n", "0"), ("-n", "-3"), ("-n", "two"), ("-n", "1.5"), ("-n", "1e3"),
                          ("--repeat", "0"), ("--repeat", "-1"), ("--repeat", "x")):
        refused(checks, f"{option} {value}",
                replay(fits, os.path.join(work, "none"), output, option, value),
                f"{value} is not a whole number", 2)
    for left in ("errors.replay", "none"):
        checks.that(not os.path.exists(os.path.join(work, left)), f"errors: {left} is not there")


def checkRepeats(checks, work):
    """A signal at any time of a row of replays, also between two launchers: one sentence, and no programs
    are left."""
    path = write(os.path.join(work, "short.json"), schedule([file("out")], [[opened("out", 0), closed(0)]]))
    ended = os.path.join(work, "ended")
    launcher = os.path.join(work, "launcher")
    first = os.path.join(work, "first")
    # A shell dies of a signal before what it waits for. When the second one has ended, the first has been told of.
    write(launcher, "#!/bin/sh\ntrap 'kill -TERM $pid' TERM\n"
                    "mpirun --allow-run-as-root --oversubscribe -n 1 \"$@\" &\npid=$!\nwait $pid\nstatus=$?\n"
                    f"wait $pid\nif [ -e {first} ]; then touch {ended}; fi\ntouch {first}\nexit $status\n")
    os.chmod(launcher, 0o755)
    for delay in (0, 0.001, 0.002, 0.004, 0.008, 0.016, 0.03, 0.06):
        what = f"repeats, {delay * 1000:.0f} ms after a launcher"
        target, output = emptied(os.path.join(work, "target")), os.path.join(work, "repeats")
        run(["rm", "-rf", output, first, ended])
        process = start([omnio(), "replay", path, "--target", target, "-o", output, "--repeat", "1000",
                         "--launcher", launcher])
        checks.that(waitUntil(lambda: os.path.exists(ended)), f"{what}: two have ended")
        time.sleep(delay)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE_S)
        checks.equal(process.returncode, -signal.SIGTERM, f"{what}: ended by the signal: {err!r}")
        lines = err.decode().splitlines()
        checks.that(len(lines) == 1 and lines[0].startswith("omnio: interrupted by SIGTERM"),
                    f"{what}: one sentence: {lines}")
        left = [name for parent, _, names in os.walk(output) for name in names if "thread." in name]
        checks.equal(left, [], f"{what}: programs")
        checks.that(b"Makespan" in out, f"{what}: the report of the first")


def checkLeftovers(checks, work):
    """What an earlier replay left refuses no other, and a refusal leaves no directories."""
    ranks = [[[opened(f"out.{rank}", 0), closed(0)]] for rank in range(RANKS)]
    path = write(os.path.join(work, "left.json"), schedule(
        [file(f"out.{rank}") for rank in range(RANKS)], ranks=ranks))
    output = os.path.join(work, "left.replay")
    for word in ("refused\n", "", f"{os.uname().nodename} 1\n"):
        write(output + ".refused", word)
        run(["rm", "-rf", output])
        done = replay(path, os.path.join(work, "left"), output, "--fresh")
        checks.equal((done.status, done.err), (0, b""), f"an old word {word!r}: {done}")
        checks.that(not os.path.exists(output + ".refused"), f"an old word {word!r} is removed")
    broken = write(os.path.join(work, "left.broken.json"), '{"format": "omnio-schedule",')
    large = write(os.path.join(work, "left.large.json"), schedule([file("in", "input", True, 1 << 50)]))
    deep = os.path.join(work, "deep", "a", "b")
    for one in (broken, large):
        for options in ([], ["--repeat", "2"]):
            done = replay(one, os.path.join(work, "left"), deep, "--fresh", *options)
            checks.equal(done.status, 1, f"deep {options}: {done}")
            checks.that(not os.path.exists(os.path.join(work, "deep")), f"deep {options}: nothing is left")
    os.makedirs(os.path.join(work, "deep"))
    replay(broken, os.path.join(work, "left"), deep, "--fresh")
    checks.equal(os.listdir(os.path.join(work, "deep")), [], "deep: what was there stays")


if __name__ == "__main__":
    devices.runOrSkip(lambda: runCases(checkReplay, checkOnNodes, checkTerminal, checkCompiling,
                                       checkPreprocess, checkRewriting, checkRepeats, checkLeftovers,
                                       checkErrors))
