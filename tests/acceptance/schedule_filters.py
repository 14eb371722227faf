"""Schedules of a part of a run: what is left out by path, size, time or call is neither called nor made in
the target, and what stays has the results and the files that the run had.
"""

import os
import sys

from omnio_testing import Checks, WorkDirectory, emptied, mpirun, omnio, readLog, run, skipTest, trace
from replay_testing import replay

# Writes blocks and lines in turns, reads an input, then reads back what it wrote. A moment lies between
# the two halves.
PROGRAM = """
import os, time
data = os.open("out.dat", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
log = os.open("run.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
given = os.open("given.in", os.O_RDONLY)
for half in range(2):
    for turn in range(20):
        os.write(data, b"d" * 8192)
        os.write(log, b"one more line\\n")
        os.read(given, 512)
    if half == 0:
        time.sleep(0.02)
back = os.open("out.dat", os.O_RDONLY)
for turn in range(40):
    os.read(back, 8192)
os.mkdir("parts")
os.rename("run.log", "parts/run.log")
"""
FILES = ("out.dat", "run.log", "given.in", "parts")


def own(events):
    """Those on the program's files, without what Python reads of its own."""
    return [event for event in events
            if os.path.basename(event["args"].get("path", "")) in FILES]


def sizesIn(tree):
    found = {}
    for directory, _, names in os.walk(tree):
        for name in names:
            path = os.path.join(directory, name)
            found[os.path.relpath(path, tree)] = os.path.getsize(path)
    return found


def main():
    if mpirun(1) is None:
        skipTest("a replay needs MPI")
    checks = Checks()
    with WorkDirectory() as work:
        home, recording = emptied(os.path.join(work, "home")), os.path.join(work, "trace")
        with open(os.path.join(home, "given.in"), "wb") as given:
            given.write(b"i" * 65536)
        done = trace(recording, [sys.executable, "-S", "-c", PROGRAM], cwd=home)
        checks.equal(done.status, 0, f"the program: {done}")
        whole = list(readLog(recording))
        base = min(event["start_ns"] for event in whole)
        own_files = ["path=*out.dat", "path=*run.log", "path=*given.in", "path=*/parts"]

        def replayed(name, *rules):
            """The calls of the replay by name, and the sizes of the files that it left."""
            schedule, output = os.path.join(work, name + ".json"), os.path.join(work, name + ".replayed")
            target = emptied(os.path.join(work, "target"))
            made = run([omnio(), "preprocess", recording, "-o", schedule, "--timing", "asap", *rules])
            if not checks.equal(made.status, 0, f"{name}: {made}"):
                return {}, {}, made
            ran = replay(schedule, target, output)
            checks.equal(ran.status, 0, f"{name}: {ran}")
            verified = run([omnio(), "verify", schedule, output])
            checks.equal(verified.status, 0, f"{name}: {verified.out.decode()[-600:]}")
            calls = {}
            for event in own(readLog(output)):
                if event["class"] in ("read", "write"):
                    key = (event["call"], os.path.basename(event["args"]["path"]))
                    calls[key] = calls.get(key, 0) + 1
            return calls, sizesIn(os.path.join(target, "tree")), made

        mine = [part for pattern in own_files for part in ("--include", pattern)]
        calls, sizes, made = replayed("mine", *mine)
        checks.equal(calls, {("write", "out.dat"): 40, ("write", "run.log"): 40, ("read", "given.in"): 40,
                             ("read", "out.dat"): 40}, "all of the program's own files")
        checks.equal(sizes, {"out.dat": 40 * 8192, "given.in": 65536, "parts/run.log": 40 * 14}, "their sizes")
        checks.that(b"left out: " in made.err and b"--include 'path=*out.dat'" in made.err,
                    f"says what is left out: {made.err!r}")

        calls, sizes, _ = replayed("no-log", *mine, "--exclude", "*run.log")
        checks.that(all(name != "run.log" for _, name in calls), f"without the log: {calls}")
        checks.equal(sizes, {"out.dat": 40 * 8192, "given.in": 65536}, "files without the log")

        calls, sizes, _ = replayed("large", "--include", "path=*out.dat,request>=4K", "--exclude", "class=read")
        checks.equal(calls, {("write", "out.dat"): 40}, "large writes")

        # The second half alone: descriptors are where the first half left them.
        mine_only = own(whole)
        begins = [at for at, event in enumerate(mine_only) if event["class"] == "write"][40]
        pause = mine_only[begins - 1]["end_ns"], mine_only[begins]["start_ns"]
        checks.that(pause[1] - pause[0] >= 20e6, f"between the halves: {pause}")
        at = (sum(pause) / 2 - base) / 1e9
        windows = [part for pattern in own_files
                   for part in ("--include", f"{pattern},window={at:.6f}..")]
        calls, sizes, made = replayed("second-half", *windows)
        checks.equal(calls, {("write", "out.dat"): 20, ("write", "run.log"): 20, ("read", "given.in"): 20,
                             ("read", "out.dat"): 40}, "the second half")
        checks.equal(sizes, {"out.dat": 40 * 8192, "given.in": 65536, "parts/run.log": 40 * 14},
                     "files after the second half")

        unused = run([omnio(), "preprocess", recording, "-o", os.path.join(work, "u.json"),
                      "--exclude", "*.lgo"])
        checks.equal(unused.status, 0, f"a rule without a call: {unused}")
        checks.that(b"--exclude '*.lgo': is for no call of the trace" in unused.err, f"{unused.err!r}")
        for rules, words in ((["--include", "rank=9"], b"leaves out all of its"),
                             (["--exclude", "rank=x"], b"`rank=x` is not a number")):
            left = os.path.join(work, "left.json")
            refused = run([omnio(), "preprocess", recording, "-o", left, *rules])
            checks.that(refused.status in (1, 2) and words in refused.err, f"{rules}: {refused}")
            checks.that(not os.path.exists(left), f"{rules}: writes nothing")
    checks.finish()


if __name__ == "__main__":
    main()
