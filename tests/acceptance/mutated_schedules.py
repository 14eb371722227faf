"""Real schedules, changed at random, through `omnio replay` itself. Each mutant is refused with one
sentence, or replayed, and either way: no crash, no hang, no process left running, nothing left in
/dev/shm or /tmp, nothing touched outside the target.

  mutated_schedules.py [NUMBER [FIRST]]    mutants FIRST to FIRST + NUMBER - 1; default 60 from 0

OMNIO_TEST_REPEATS is the number of mutants too. OMNIO_TEST_SEED repeats the edits of a run; the
schedules that are edited are traced anew each time, so a mutant that failed is also kept:
mutated_schedules.failed/ in the working directory holds it.

The test runs in namespaces of its own (mounts and processes), with a /tmp and /dev/shm of its own,
so that whatever is new there was left by a replay. The target is a tmpfs of 64 MiB.
"""

import collections
import contextlib
import ctypes
import json
import os
import random
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time

from hostile_schedules import factsOf
from omnio_testing import (FLAT, PATIENCE_S, Checks, WorkDirectory, emptied, environment, mpirun,
                           needRoot, omnio, program, quietDeath, run, skipTest, trace)
from replay_testing import MPI_ENVIRONMENT
from round_trip import PYTHON
from schedule_mutation import horizonNs, mutant

INSIDE = "OMNIO_TEST_INSIDE"
# Writes of 4 GiB are the most that a mutant has to do: some seconds, and a busy machine gets more.
SHORT_NS = 1_000_000_000
DEVICE_MIB = 64
PLACE = re.compile(r"line \d+, column \d+: |(rank|id|fd|location|ranks|files?)\b.*\d|location \"")
# Left by an mpirun whose job was aborted, and no business of the replayer's.
OF_THE_LAUNCHER = ("ompi.", "openmpi-sessions", "pmix", "prte")
# (name, ranks, command); {} is the directory that the program works in.
PROGRAMS = (("c_posix", 1, ["c_posix", "{}"]),
            ("c_posix_lfs_fortified", 1, ["c_posix_lfs_fortified", "{}"]),
            ("c_stdio", 1, ["c_stdio", "{}"]),
            ("c_stdio_fortified", 1, ["c_stdio_fortified", "{}"]),
            ("c_fork", 1, ["c_fork", "{}"]),
            ("cxx_threads", 1, ["cxx_threads", "{}"]),
            ("c_mpi", 2, ["c_mpi", "{}"]),
            ("c_mpi_io", 2, ["c_mpi_io", "{}", "n1", "4096", "3", "2"]),
            ("fortran_io", 1, ["fortran_io", "{}"]),
            ("python", 1, [sys.executable, "-S", "-c", PYTHON]))
LIBC = ctypes.CDLL(None, use_errno=True)


def mountTmpfs(path, mib):
    os.makedirs(path, exist_ok=True)
    if LIBC.mount(b"tmpfs", path.encode(), b"tmpfs", 0, f"size={mib}m".encode()) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"mount of a tmpfs: {os.strerror(error)}", path)


def unmount(path):
    """0, or why it cannot be unmounted: something still uses it."""
    if LIBC.umount2(path.encode(), 0) == 0:
        return 0
    error = ctypes.get_errno()
    LIBC.umount2(path.encode(), 2)  # MNT_DETACH
    return error


def enterNamespaces():
    """Starts this program anew as the first process of its own namespaces."""
    needRoot()
    if mpirun(1) is None:
        skipTest("there is no MPI")
    if shutil.which("unshare") is None:
        skipTest("unshare is not installed")
    words = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if run([*words, "true"]).status != 0:
        skipTest("no namespaces of its own for mounts and processes")
    for path in (omnio(), os.environ.get("OMNIO_TEST_PROGRAMS", ""), os.path.abspath(__file__)):
        if os.path.realpath(path).startswith(("/tmp/", "/dev/shm/")):
            skipTest(f"{path} would be hidden by the test's own /tmp")
    os.environ[INSIDE] = "1"
    os.environ.pop("TMPDIR", None)
    os.execvp(words[0], [*words, sys.executable, os.path.abspath(__file__), *sys.argv[1:]])


def isAlive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def otherProcesses():
    """{pid: name} of all in this namespace but this one."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid() and isAlive(name):
            with contextlib.suppress(OSError), open(f"/proc/{name}/comm", encoding="utf-8") as comm:
                found[int(name)] = comm.read().strip()
    return found


def reap():
    """Orphans of the namespace are this process's to bury."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass


def endAll():
    until = time.monotonic() + PATIENCE_S
    while (others := otherProcesses()) and time.monotonic() < until:
        for pid in others:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
        reap()
    reap()


def leftRunning(patience_s=PATIENCE_S):
    """What is still there some time after the command has ended."""
    until = time.monotonic() + patience_s
    while otherProcesses() and time.monotonic() < until:
        time.sleep(0.02)
        reap()
    left = otherProcesses()
    if left:
        endAll()
    reap()
    return left


class Site:
    """The target on a device of its own, and around it what no replay may touch."""

    def __init__(self, work):
        self.root = os.path.join(work, "site")
        self.device = os.path.join(self.root, "device")
        self.target = os.path.join(self.device, "target")
        self.schedule = os.path.join(work, "mutant.json")
        self.output = os.path.join(work, "out")
        self.before = {}
        os.makedirs(os.path.join(self.root, "home"))
        self.furnish(self.root)

    @staticmethod
    def furnish(directory):
        """Canaries, by names that schedules and their mutants use."""
        for folder in ("folder", "empty", "a", "tree", "device.not"):
            os.makedirs(os.path.join(directory, folder), exist_ok=True)
        for name in ("canary", "folder/other", "a/canary", "plain.dat", "stdin", "tree/plain.dat",
                     ".omnio-replay", "in.txt"):
            with open(os.path.join(directory, name), "w", encoding="utf-8") as canary:
                canary.write(f"{name} must not change\n" * 100)
        os.symlink("canary", os.path.join(directory, "link"))
        os.link(os.path.join(directory, "canary"), os.path.join(directory, "hard"))

    def prepare(self):
        mountTmpfs(self.device, DEVICE_MIB)
        self.furnish(self.device)
        shutil.rmtree(self.output, ignore_errors=True)
        self.before = self.facts()

    def facts(self):
        facts = factsOf(self.root, without=self.target)
        del facts[self.device]  # the target is made in it
        for place in ("/dev/shm", "/tmp", "/var/tmp"):
            for name in os.listdir(place):
                if place != "/tmp" or not name.startswith(OF_THE_LAUNCHER):
                    facts[f"{place}/{name}"] = "there"
        return facts

    def changes(self):
        after = self.facts()
        names = [name for name in sorted(set(after) | set(self.before))
                 if after.get(name) != self.before.get(name)]
        for name in names:
            if name.startswith("/dev/shm/"):
                os.unlink(name)
        return names

    def leave(self):
        for name in os.listdir("/tmp"):
            if name.startswith(OF_THE_LAUNCHER):
                shutil.rmtree(os.path.join("/tmp", name), ignore_errors=True)
        return unmount(self.device)


def makeSchedules(checks, work):
    """{name: document} of what the test programs do."""
    documents = {}
    for name, ranks, command in PROGRAMS:
        directory, recorded, made = (os.path.join(work, f"{name}.{what}")
                                     for what in ("run", "trace", "json"))
        emptied(directory)
        if name == "python":
            with open(os.path.join(directory, "in.txt"), "w", encoding="utf-8") as lines:
                lines.writelines(f"{number}\n" for number in range(1000))
            with open(os.path.join(directory, "bytes"), "wb") as file:
                file.write(bytes(100_000))
        else:
            command = [program(command[0]), *command[1:]]
            if command[0] is None:
                checks.skip(name, "not built here")
                continue
        words = [word.format(directory) for word in command] if name != "python" else command
        words = words if ranks == 1 else [*mpirun(ranks), *words]
        result = trace(recorded, words, cwd=directory, env=environment(**MPI_ENVIRONMENT))
        checks.equal(result.status, 0, f"{name}: traced run: {result.err[-300:]!r}")
        result = run([omnio(), "preprocess", recorded, "-o", made, *FLAT, "--timing",
                      "asap" if len(documents) % 3 else "dt", "--map", f"{directory}=."])
        checks.equal(result.status, 0, f"{name}: preprocess: {result.err[-300:]!r}")
        with open(made, encoding="utf-8") as text:
            documents[name] = json.load(text)
        shutil.rmtree(recorded)
        shutil.rmtree(directory)
    return documents


def optionsFor(dice, data):
    """What the replay is told besides, and the environment that it gets."""
    options, variables = [], {}
    horizon = horizonNs(data.decode("utf-8", "replace"))
    if horizon is None or horizon > SHORT_NS:
        options += ["--timing", "asap"]
    elif dice.random() < 0.3:
        options += ["--timing", dice.choice(("asap", "dt", "start"))]
    processes = dice.choice((0, 1, 1, 1, 2))
    options += ["-n", str(processes)] if processes else []
    if dice.random() < 0.35:
        options.append("--no-trace")
    if dice.random() < 0.2:
        options += ["--cache", dice.choice(("warm", "as-is"))]
    if dice.random() < 0.1:
        variables["OMNIO_REPLAY_NODE_PER_PROCESS"] = "1"
    return options, variables


class Ended:
    def __init__(self, status, out, err, seconds, timed_out):
        self.status, self.out, self.err = status, out, err
        self.seconds, self.timed_out = seconds, timed_out


def replayMutant(site, options, variables):
    command = [omnio(), "replay", site.schedule, "--target", site.target, "-o", site.output,
               *options]
    env = environment(**MPI_ENVIRONMENT, **variables)
    env["HOME"] = os.path.join(site.root, "home")
    started = time.monotonic()
    with subprocess.Popen(command, cwd=site.root, env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          preexec_fn=quietDeath) as process:
        timed_out = False
        try:
            out, err = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            timed_out = True
            endAll()
            out, err = process.communicate()
    return Ended(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"),
                 time.monotonic() - started, timed_out)


def judgeRefusal(site, sentence):
    """What is wrong with a refusal: nothing was started, so one sentence is all there is."""
    if "\n" in sentence:
        yield "more than one line"
    if len(sentence) > 2000:
        yield f"a sentence of {len(sentence)} bytes"
    prefix = f"omnio: {site.schedule}: "
    if sentence.startswith(f"omnio: {site.target}: too little room: "):
        pass  # the schedule is sound, its files are too large for this target
    elif not sentence.startswith(prefix):
        yield "the sentence does not name the schedule"
    elif not PLACE.search(sentence[len(prefix):]):
        yield "the sentence names no place"
    for made in (site.target, site.output):
        if os.path.exists(made):
            yield f"{os.path.basename(made)} was made"


def judge(site, ended):
    """(how it went, what is wrong with that)"""
    if ended.timed_out:
        return "hang", [f"no end within {PATIENCE_S} s"]
    sentence = ended.err.strip()
    if ended.status in (0, 3):
        wrong = []
        try:
            with open(os.path.join(site.output, "replay.json"), encoding="utf-8") as text:
                report = json.load(text)
        except (OSError, ValueError) as problem:
            return "replayed", [f"no report: {problem}"]
        differences = report["total"]["differences"]
        if (differences > 0) != (ended.status == 3):
            wrong.append(f"status {ended.status} with {differences} differences")
        if not report["fence"]:
            wrong.append("the report names no fence")
        if sentence:
            wrong.append("words on stderr")
        return ("replayed" if ended.status == 0 else "replayed with differences"), wrong
    if ended.status != 1:
        return "crash", [f"status {ended.status}"]
    if not sentence.startswith("omnio: rank "):
        return "refused", list(judgeRefusal(site, sentence))
    wrong = []
    if not re.fullmatch(r"omnio: rank \d+: .*\S", sentence):
        wrong.append("not one sentence that names the rank")
    for word in ("ended by signal", "terminate called", "signal 11", "Segmentation", "Assertion",
                 "exited on signal", "buffer overflow", "corrupt", "bad_alloc"):
        if word in sentence:
            wrong.append(f"died: {word}")
    return "gave up", wrong


def keep(folder, site, number, name, told, options, ended):
    os.makedirs(folder, exist_ok=True)
    place = os.path.join(folder, f"{number}.{name}")
    shutil.copy(site.schedule, place + ".json")
    with open(place + ".txt", "w", encoding="utf-8") as text:
        text.write(f"edits: {told}\noptions: {options}\nstatus {ended.status}, "
                   f"{ended.seconds:.1f} s\n{ended.out[-3000:]}\n{ended.err[-6000:]}\n")
    return place


def runMutant(checks, site, seed, number, documents, failed_folder):
    """(how it went, seconds, the first line that it said)"""
    dice = random.Random(f"{seed}:{number}")
    name = dice.choice(sorted(documents))
    told, data = mutant(dice, documents[name])
    options, variables = optionsFor(dice, data)
    with open(site.schedule, "wb") as file:
        file.write(data)
    site.prepare()
    ended = replayMutant(site, options, variables)
    kind, wrong = judge(site, ended)
    left = leftRunning()
    if left:
        wrong.append(f"still running: {left}")
    changes = site.changes()
    if changes:
        wrong.append(f"changed outside of the target: {changes[:5]}")
    busy = site.leave()
    if busy:
        wrong.append(f"the device is in use: {os.strerror(busy)}")
    what = f"mutant {number} of {name}, {' and '.join(told)}, {' '.join(options)}"
    if not checks.that(not wrong, f"{what}: {'; '.join(wrong)}"):
        print(f"  status {ended.status}, {ended.seconds:.1f} s, stderr {ended.err[-1500:]!r}")
        kept = keep(failed_folder, site, number, name, told, options, ended)
        print(f"  kept: {kept}.json", flush=True)
    return kind, ended.seconds, (ended.err.strip().splitlines() or [""])[0]


def reasonOf(line):
    """A refusal without what is particular to the mutant."""
    line = re.sub(r"^omnio(-replay)?: (\S+: )?(line \d+, column \d+: )?(rank \d+: )?", "", line)
    return re.sub(r'"[^"]*"|-?\d[\d.]*|/\S*', "*", line)[:70]


def main():
    if INSIDE not in os.environ:
        enterNamespaces()
    del os.environ[INSIDE]
    failed_folder = os.path.join(os.getcwd(), "mutated_schedules.failed")
    mountTmpfs("/tmp", 4096)
    mountTmpfs("/var/tmp", 16)
    mountTmpfs("/dev/shm", 1024)
    mutants = int(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("OMNIO_TEST_REPEATS", "60"))
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    seed = os.environ.get("OMNIO_TEST_SEED") or str(secrets.randbits(32))
    print(f"seed {seed}: OMNIO_TEST_SEED={seed} repeats these edits", flush=True)
    checks = Checks()
    with WorkDirectory() as work:
        documents = makeSchedules(checks, work)
        site = Site(work)
        started = time.monotonic()
        kinds, reasons, slowest = collections.Counter(), collections.Counter(), []
        for number in range(first, first + mutants):
            with checks.case(f"mutant {number}"):
                kind, seconds, line = runMutant(checks, site, seed, number, documents,
                                                failed_folder)
                kinds[kind] += 1
                if kind in ("refused", "gave up"):
                    reasons[reasonOf(line)] += 1
                slowest = sorted([*slowest, (seconds, number)])[-5:]
            if (number + 1 - first) % 100 == 0:
                print(f"{number + 1 - first} mutants, {time.monotonic() - started:.0f} s, "
                      f"{dict(kinds)}", flush=True)
        print(f"seed {seed}, {mutants} mutants of {len(documents)} schedules, "
              f"{time.monotonic() - started:.0f} s: {dict(kinds)}")
        print("slowest: " + ", ".join(f"{number} ({seconds:.1f} s)" for seconds, number in slowest))
        for reason, times in reasons.most_common(40):
            print(f"  {times} {reason}")
        # A campaign that refuses all, or accepts all, tests less than it says.
        if mutants >= 50:
            replayed = kinds["replayed"] + kinds["replayed with differences"]
            checks.that(kinds["refused"] * 5 >= mutants, f"a fifth is refused: {dict(kinds)}")
            checks.that(replayed * 5 >= mutants, f"a fifth is replayed: {dict(kinds)}")
    checks.finish()


if __name__ == "__main__":
    main()
