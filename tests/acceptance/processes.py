"""Programs and threads that follow each other do so in a replay: the commands of a shell, children
in the background that are waited for, what a parent does before and after its children, threads
that are created and joined, and threads that wait for each other by conditions, semaphores,
barriers and mutexes. Without that order the same replays run side by side.

  processes.py [REPLAYS]        of each case and order, 2 unless told otherwise
"""

import os
import shutil
import sys

import devices
from omnio_testing import Checks, WorkDirectory, emptied, omnio, program, readLog, run, trace
from replay_testing import replay, report
from slow_storage import SlowStorage, needSlowStorage

SLOW = ("--read-us", 100, "--write-us", 400, "--metadata-us", 100, "--jitter", 100)
DD = "dd if=/dev/zero of={} bs=16k count=4 conv=fsync 2>/dev/null"
IN_A_ROW = "\n".join(DD.format(f"out.{i}") for i in range(8))

PYTHON = """
import os, subprocess, sys
def note(name):
    with open(name, "wb", 0) as out:
        for _ in range(4): out.write(bytes(4096))
def dd(name): return ["dd", "if=/dev/zero", "of=" + name, "bs=16k", "count=4", "status=none"]
note("a")
subprocess.run(dd("b"), check=True)
note("c")
os.system("dd if=/dev/zero of=d bs=16k count=4 status=none")
note("e")
first = subprocess.Popen(dd("f"))
second = subprocess.Popen(dd("g"))
first.wait()
second.wait()
note("h")
child = os.fork()
if child == 0:
    note("i")
    os._exit(0)
os.waitpid(child, 0)
note("j")
child = os.posix_spawn("/bin/dd", dd("k"), os.environ)
os.waitid(os.P_PID, child, os.WEXITED)
note("l")
"""

MAKEFILE = """all: c d
a:
\tdd if=/dev/zero of=$@ bs=16k count=4 conv=fsync status=none
b: a
\tdd if=/dev/zero of=$@ bs=16k count=4 conv=fsync status=none
c: b
\tdd if=/dev/zero of=$@ bs=16k count=4 conv=fsync status=none
d: a
\tdd if=/dev/zero of=$@ bs=16k count=4 conv=fsync status=none
"""

THREADS = program("cxx_thread_order") or "cxx_thread_order"
WAITS = program("cxx_thread_waits") or "cxx_thread_waits"
TEAMS = program("cxx_teams") or "cxx_teams"
WAITED_FOR = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("d", "f"), ("f", "g"), ("e", "g"),
              ("g", "h"), ("h", "i"), ("i", "j")]

# Name, the programs it needs, the command, and which file is used only after which.
CASES = [
    ("eight commands of dash", ["dash"], ["dash", "-c", IN_A_ROW],
     [(f"out.{i}", f"out.{i + 1}") for i in range(7)]),
    ("eight commands of bash", ["bash"], ["bash", "-c", IN_A_ROW],
     [(f"out.{i}", f"out.{i + 1}") for i in range(7)]),
    ("background and wait", ["sh"],
     ["sh", "-c", "\n".join([DD.format("first"), DD.format("a") + " &", DD.format("b") + " &",
                             "wait", DD.format("last")])],
     [("first", "a"), ("first", "b"), ("a", "last"), ("b", "last")]),
    ("a shell in a shell, and a subshell", ["sh"],
     ["sh", "-c", f"sh -c '{DD.format('a')}; {DD.format('b')}'; ({DD.format('c')}; "
                  f"{DD.format('d')}) | cat; {DD.format('e')}"],
     [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")]),
    ("Python", ["python3"], ["python3", "-c", PYTHON],
     [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "f"), ("e", "g"), ("f", "h"),
      ("g", "h"), ("h", "i"), ("i", "j"), ("j", "k"), ("k", "l")]),
    ("threads", [THREADS], [THREADS],
     [("a", "b"), ("b", "c"), ("c", "d"), ("c", "e"), ("d", "f"), ("e", "f"), ("f", "g"),
      ("g", "h"), ("h", "i"), ("i", "j")]),
    ("threads that wait", [WAITS], [WAITS], WAITED_FOR),
    ("threads that find what they would wait for", [WAITS], [WAITS, "late"], WAITED_FOR),
    ("teams of OpenMP", [TEAMS], [TEAMS], [(one, chr(ord(one) + 1)) for one in "abcdef"]),
    ("make", ["make"], ["make", "-s", "-j2"], [("a", "b"), ("b", "c"), ("a", "d")]),
]
# Cases whose pairs nothing but processes and threads order.
UNORDERED = [(CASES[0], [("out.0", "out.7")])] + [(case, WAITED_FOR) for case in CASES
                                                  if case[0] == "threads that wait"]

MOST_WITHOUT_ORDER = 50


def spansOf(directory):
    """By file: when its first call began, and when its last one ended. Looking at a name (make looks
    at all before it begins) does not use the file."""
    spans = {}
    for event in readLog(directory):
        if event["class"] == "metadata":
            continue
        name = os.path.basename(event.get("file") or "")
        begin, end = event["start_ns"], event["end_ns"]
        if name in spans:
            begin, end = min(begin, spans[name][0]), max(end, spans[name][1])
        spans[name] = (begin, end)
    return spans


def overtakes(spans, pairs):
    return [(earlier, later) for earlier, later in pairs
            if spans[later][0] < spans[earlier][1]]


def scheduleOf(checks, work, traced, order, what):
    path = os.path.join(work, f"{order}.json")
    made = run([omnio(), "preprocess", traced, "-o", path, "--timing", "asap", "--order", order])
    checks.equal(made.status, 0, f"{what}, order {order}: {made.err!r}")
    return path


def replayed(checks, work, storage, schedule, what):
    target = os.path.join(storage, "target")
    output = os.path.join(work, "replayed")
    shutil.rmtree(output, ignore_errors=True)
    done = replay(schedule, target, output)
    checks.equal(done.status, 0, f"{what}: {done}")
    checks.equal(report(output)["total"]["differences"], 0, f"{what}: results that differ")
    shutil.rmtree(target, ignore_errors=True)
    return spansOf(output)


def recorded(checks, work, name, command):
    directory = os.path.join(work, "trace")
    shutil.rmtree(directory, ignore_errors=True)
    place = emptied(os.path.join(work, "run"))
    with open(os.path.join(place, "Makefile"), "w") as out:
        out.write(MAKEFILE)
    done = trace(directory, command, cwd=place)
    checks.equal(done.status, 0, f"{name}: {done}")
    return directory


def main():
    needSlowStorage()
    replays = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    checks = Checks()
    with WorkDirectory() as work, SlowStorage(work, *SLOW) as storage:
        for name, needed, command, pairs in CASES:
            missing = [word for word in needed if shutil.which(word) is None]
            if missing:
                checks.skip(name, f"{missing[0]} is not installed")
                continue
            traced = recorded(checks, work, name, command)
            checks.equal(overtakes(spansOf(traced), pairs), [], f"{name}: as recorded")
            schedule = scheduleOf(checks, work, traced, "mpi", name)
            for number in range(replays):
                for where in (storage.path, work):
                    spans = replayed(checks, work, where, schedule, f"{name}, replay {number}")
                    checks.equal(overtakes(spans, pairs), [], f"{name}, replay {number} in {where}")
        for (name, needed, command, _), pairs in UNORDERED:
            if any(shutil.which(word) is None for word in needed):
                checks.skip(f"{name}, without order", f"{needed[0]} is not installed")
                continue
            traced = recorded(checks, work, name, command)
            schedule = scheduleOf(checks, work, traced, "none", name)
            early = []
            while not any(early) and len(early) < MOST_WITHOUT_ORDER:  # chance has a part in it
                early.append(overtakes(replayed(checks, work, storage.path, schedule,
                                                "without order"), pairs))
            print(f"{name}, without order: {early}")
            checks.that(any(early), f"{name}: without order later ones overtake earlier ones")
    checks.finish()


if __name__ == "__main__":
    devices.runOrSkip(main)
