"""Replays that fail: one line says where, why and what to do; with -vv the log has the rank, the node and
the system's error, and the steps before it. And the log itself: silent by default, at each level, whole
lines.

  replay_failures.py [CASE...]
"""

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

import devices
from omnio_testing import PATIENCE_S, emptied, environment, mpirun, omnio, run, runCases
from replay_testing import MPI_ENVIRONMENT, closed, file, opened, schedule, write

RANKS = 2
MIB = 1 << 20
LATE_NS = 600_000_000_000
LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6} (debug|info|warning) "
                  r"(omnio|omnio replay|omnio trace|omnio-replay) on (\S+?)(?:, rank (\d+))?: (.+)")


def words(work, path, *options, target=None, output=None):
    target = target or emptied(os.path.join(work, "target"))
    output = output or emptied(os.path.join(work, "out"))
    return [omnio(), "replay", path, "--target", target, "-o", output, *options]


def env(**more):
    return environment(**{**MPI_ENVIRONMENT, **more})


def plain(work, name="plain.json", files=(), late=False):
    """Each rank writes a file; `late`: and closes it after ten minutes."""
    ranks = []
    for rank in range(RANKS):
        last = {**closed(0), **({"start": LATE_NS, "end": LATE_NS + 1} if late else {})}
        ranks.append([[opened(f"out.{rank}", 0),
                       {"command": "pwrite64", "fd": 0, "count": 4096, "offset": 0, "result": 4096},
                       last]])
    return write(os.path.join(work, name), schedule(
        [*files, *(file(f"out.{rank}") for rank in range(RANKS))], ranks=ranks,
        timing="start" if late else "asap"))


def logged(text):
    """The lines of the log, as (level, program, node, rank, text); the others as they are."""
    lines, others = [], []
    for line in text.splitlines():
        match = LINE.fullmatch(line)
        if match:
            lines.append(match.groups())
        else:
            others.append(line)
    return lines, others


def failsInOneLine(checks, what, result, *parts):
    lines = result.err.decode().splitlines()
    print(f"{what}: {lines}")
    checks.equal(result.status, 1, f"{what}: status")
    checks.equal(result.out, b"", f"{what}: standard output")
    if not checks.equal(len(lines), 1, f"{what}: one line: {lines}"):
        return
    checks.that(lines[0].startswith("omnio: "), f"{what}: {lines[0]}")
    for part in parts:
        checks.that(part in lines[0], f"{what}: {part!r} in the line: {lines[0]}")


def tells(checks, what, result, *parts, rank=None, before=None):
    """With -vv: the one line, and a log that has these, and in it the node, a rank and a step."""
    lines, others = logged(result.err.decode())
    checks.equal(result.status, 1, f"{what} -vv: status")
    checks.equal(len(others), 1, f"{what} -vv: one line beside the log: {others}")
    text = [line[4] for line in lines]
    for part in parts:
        checks.that(any(part in line for line in text), f"{what} -vv: {part!r} in the log: {text}")
    checks.that(all(line[2] == os.uname().nodename for line in lines), f"{what} -vv: the node")
    if rank is not None:
        checks.that(any(line[3] is not None for line in lines), f"{what} -vv: ranks: {lines}")
    if before is not None:
        checks.that(any(before in line for line in text), f"{what} -vv: {before!r} came before: {text}")


def noLauncher(checks, work):
    path = plain(work)
    nowhere = emptied(os.path.join(work, "nowhere"))
    more = {"PATH": nowhere}
    result = run(words(work, path), env=env(**more))
    failsInOneLine(checks, "no launcher", result, "cannot run mpirun: No such file or directory",
                   "install an MPI launcher, or name the one that there is with --launcher")
    tells(checks, "no launcher", run(words(work, path, "-vv"), env=env(**more)), "starts mpirun -n 2 ")
    failsInOneLine(checks, "other launcher", run(words(work, path, "--launcher", "srun-of-nowhere -n 2"),
                                                 env=env()),
                   "cannot run srun-of-nowhere: No such file or directory", "--launcher")


def mountRefused(checks, work):
    path = plain(work)
    with devices.tmpfs(work, "readonly") as device:
        run(["mount", "-o", "remount,ro", device.mount_point])
        target = os.path.join(device.mount_point, "target")
        parts = (target, "Read-only file system", "name a target that can be written")
        failsInOneLine(checks, "mount refused", run(words(work, path, target=target), env=env()), *parts)
        tells(checks, "mount refused", run(words(work, path, "-vv", target=target), env=env()),
              "Read-only file system", rank=0, before="making the output and the targets ready begins")
        run(["mount", "-o", "remount,rw", device.mount_point])


def rankDies(checks, work):
    path = plain(work, late=True)
    for options in ((), ("--no-trace",)):
        for verbose in ((), ("-vv",)):
            what = " ".join(["rank dies", *options, *verbose])
            target = emptied(os.path.join(work, "target"))
            command = words(work, path, *options, *verbose, target=target)
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, env=env())
            last = os.path.join(target, "tree", f"out.{RANKS - 1}")
            deadline = time.monotonic() + 120
            while not (os.path.exists(last) and os.path.getsize(last) > 0) and time.monotonic() < deadline:
                time.sleep(0.02)
            victim = rankOf(path, RANKS - 1)
            os.kill(victim, signal.SIGKILL)
            out, err = process.communicate(timeout=PATIENCE_S)
            result = type("Result", (), {"status": process.returncode, "out": out, "err": err})
            if not verbose:
                parts = (("signal 9 (Killed)",) if options else
                         ("rank 1: ended by signal 9 (Killed) on " + os.uname().nodename,
                          "the kernel's log there says whether memory ran out"))
                failsInOneLine(checks, what, result, *parts)
            else:
                tells(checks, what, result, "signal 9 (Killed)", rank=1, before="replaying begins")


def rankOf(path, rank):
    """The process that replays this rank: the innermost that has the schedule in its command line."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as command, open(f"/proc/{pid}/environ", "rb") as variables:
                line = command.read().split(b"\0")
                own = f"OMPI_COMM_WORLD_RANK={rank}".encode() in variables.read().split(b"\0")
                if own and path.encode() in line and line[0].endswith(b"omnio-replay"):
                    found.append(int(pid))
        except OSError:
            continue
    return max(found)


def launcherGoesOn(checks, work):
    """A launcher that does not end when a rank has said why the replay fails, also not when it is asked to."""
    launcher = os.path.join(work, "launcher")
    write(launcher, "#!/bin/sh\ntrap '' TERM\n" + " ".join(mpirun(RANKS)) + ' "$@"\nwhile :; do sleep 1; done\n')
    os.chmod(launcher, 0o755)
    huge = 1 << 44
    path = write(os.path.join(work, "hungry.json"), schedule(
        [file("out")], ranks=[[[opened("out", 0), {"command": "pwrite64", "fd": 0, "count": huge, "offset": 0,
                                                  "result": huge}, closed(0)]]]))
    result = run(words(work, path, "--launcher", launcher, "--ignore-free-space"),
                 env=env(OMNIO_REPLAY_LAUNCHER_PATIENCE="500"))
    failsInOneLine(checks, "a launcher that goes on", result, "rank 0: ", "bytes of memory")
    # As Open MPI's where a rank is killed while others begin: it takes no note of its children's end.
    write(launcher, "#!/bin/sh\nexec " + sys.executable + " -c 'import os, time\n"
                    "if os.fork() == 0: os._exit(0)\nwhile True: time.sleep(1)' \n")
    result = run(words(work, path, "--launcher", launcher, "--ignore-free-space"),
                 env=env(OMNIO_REPLAY_LAUNCHER_PATIENCE="500"))
    failsInOneLine(checks, "a launcher that takes no note", result,
                   f"{launcher}: did not end though its processes had, and was ended", "start the replay again")
    checks.equal(run(["pgrep", "-f", launcher]).out, b"", "a launcher that goes on: processes that are left")


def fullTarget(checks, work):
    path = plain(work, "full.json", files=[file("in", "input", True, 8 * MIB)])
    with devices.tmpfs(work, "small") as device:
        device.fillUp(2 * MIB)
        target = os.path.join(device.mount_point, "target")
        options = ("--ignore-free-space",)
        parts = ("rank ", "cannot make in in the tree: No space left on device; name a target with more room")
        failsInOneLine(checks, "full target", run(words(work, path, *options, target=target), env=env()),
                       *parts)
        shutil.rmtree(target, ignore_errors=True)
        tells(checks, "full target", run(words(work, path, *options, "-vv", target=target), env=env()),
              "No space left on device", rank=0, before="preparing files begins")


def noSharedMemory(checks, work):
    path = plain(work)
    quoted = " ".join(f"'{word}'" for word in words(work, path, "--no-trace"))
    script = f"mount -t tmpfs -o size=4k none /dev/shm && exec {quoted}"
    if run(["unshare", "-m", "true"]).status != 0:
        checks.skip("no shared memory", "needs unshare")
        return
    result = run(["unshare", "-m", "sh", "-c", script], env=env())
    failsInOneLine(checks, "no shared memory", result, os.uname().nodename, "shared memory", "/dev/shm")
    quoted = " ".join(f"'{word}'" for word in words(work, path, "--no-trace", "-vv"))
    script = f"mount -t tmpfs -o size=4k none /dev/shm && exec {quoted}"
    tells(checks, "no shared memory", run(["unshare", "-m", "sh", "-c", script], env=env()), "shared memory",
          rank=0)


def withoutThreads(checks, work):
    """An MPI library that gives less than was asked for (mpi_no_threads)."""
    path = plain(work)
    library = os.path.join(os.environ["OMNIO_TEST_PROGRAMS"], "libmpi_no_threads.so")
    more = {"LD_PRELOAD": library, "OMNIO_REPLAY_NODE_PER_PROCESS": "1"}
    result = run(words(work, path, "--no-trace"), env=env(**more))
    failsInOneLine(checks, "without threads", result, ": this MPI library gives MPI_THREAD_SINGLE",
                   "use an MPI library that was built with threads, or one node")
    tells(checks, "without threads", run(words(work, path, "--no-trace", "-vv"), env=env(**more)),
          "MPI_THREAD_SINGLE", rank=0)


def levels(checks, work):
    """What a replay says that succeeds."""
    path = plain(work)
    silent = run(words(work, path), env=env())
    checks.equal((silent.status, silent.err), (0, b""), f"silent by default: {silent}")
    for options, more, wanted in ((["-v"], {}, {"info"}), (["-vv"], {}, {"debug", "info"}),
                                  ([], {"OMNIO_LOG": "info"}, {"info"}),
                                  ([], {"OMNIO_LOG": "debug"}, {"debug", "info"}),
                                  ([], {"OMNIO_LOG": "warn"}, set()), ([], {"OMNIO_LOG": "off"}, set())):
        what = f"{options} {more}"
        result = run(words(work, path, *options), env=env(**more))
        lines, others = logged(result.err.decode())
        checks.equal(result.status, 0, f"{what}: {result}")
        checks.equal(others, [], f"{what}: other lines")
        checks.equal({line[0] for line in lines}, wanted, f"{what}: levels")
        steps = [line[4].split(" took ")[0] for line in lines
                 if line[0] == "info" and line[1] == "omnio-replay" and " took " in line[4] and line[3] == "0"]
        if wanted:
            checks.equal(steps[-5:], ["reading the plan", "preparing files", "starting threads", "replaying",
                                      "gathering the report"], f"{what}: steps of rank 0")
        if "debug" in wanted:
            checks.equal({line[3] for line in lines if line[1] == "omnio-replay"},
                         {str(rank) for rank in range(RANKS)}, f"{what}: ranks")


def descriptors(checks, work):
    """A limit that is too small is told before anything is done."""
    events = [opened(f"out.{number}", number) for number in range(300)]
    events += [closed(number) for number in range(300)]
    path = write(os.path.join(work, "many.json"), schedule(
        [file(f"out.{number}") for number in range(300)], [events]))
    target, output = os.path.join(work, "many"), os.path.join(work, "many.replay")

    def limited(limit, *options):
        return subprocess.run(
            words(work, path, *options, target=target, output=output), env=env(), capture_output=True,
            check=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, limit)))

    sentence = ("omnio: process 0 of the replay needs 300 descriptors at once for the files of the schedule "
                "and 17 of its own, and its limit is 256; raise the limit (ulimit -Hn), or use more processes\n")
    for options in ((), ("--dry-run",)):
        refused = limited(256, *options)
        checks.equal((refused.returncode, refused.stdout, refused.stderr.decode()), (1, b"", sentence),
                     f"descriptors {options}")
        checks.that(not os.path.exists(target) and not os.path.exists(output), "descriptors: nothing is left")
    raised = limited(1024)
    checks.equal((raised.returncode, raised.stderr), (0, b""), "descriptors: the limit is raised")


def directIo(checks, work):
    """Requests that are not of whole blocks, of files opened with O_DIRECT."""
    def moved(fd, count, offset):
        return {"command": "pwrite64", "fd": fd, "count": count, "offset": offset, "result": count}
    direct = "O_RDWR|O_CREAT|O_DIRECT"
    path = write(os.path.join(work, "direct.json"), schedule([file("a"), file("b")], [[
        opened("a", 0, direct), moved(0, 4096, 0), moved(0, 100, 4096), moved(0, 512, 5000), closed(0),
        opened("b", 1), moved(1, 7, 0), closed(1)]]))
    sentence = ("2 requests of files opened with O_DIRECT are not of whole blocks of 512 bytes, the first in a: "
                "a file system that wants whole blocks answers EINVAL, where the recorded one did not")
    checked = run([omnio(), "schedule", "check", path])
    checks.that(sentence in checked.out.decode(), f"schedule check: {checked}")
    dry = run(words(work, path, "--dry-run"), env=env())
    checks.equal(dry.status, 0, f"dry run: {dry}")
    checks.that(f"Direct I/O: {sentence}\n" in dry.out.decode(), f"dry run: {dry}")


if __name__ == "__main__":
    devices.runOrSkip(lambda: runCases(noLauncher, mountRefused, rankDies, launcherGoesOn, fullTarget,
                                       noSharedMemory, withoutThreads, levels, descriptors, directIo))
