"""The form in which `omnio preprocess` writes schedules when it is not told one: compact, two files. What a user
meets with it: places that cannot be written, a schedule without its file of times, loops that are edited, traces in
which nothing repeats, and traces with little or cut off.

  default_form.py [CASE ...]     these cases alone
"""

import json
import os
import random
import shutil
import sys

import devices
from compact_schedules import sameSchedule
from omnio_testing import (FLAT, Checks, WorkDirectory, emptied, environment, mpirun, omnio, program, run, stats,
                           trace, treeOf)
from replay_testing import MPI_ENVIRONMENT, replay
from schedule_expander import expanded

RANKS = 4
# Turns of an open, three writes and a close; and requests at random places.
REGULAR = """
import os
for turn in range(200):
    fd = os.open(f"out.{turn}", os.O_WRONLY | os.O_CREAT)
    for part in range(3):
        os.pwrite(fd, b"x" * 512, 512 * part)
    os.close(fd)
"""
RANDOM = """
import os, random
dice = random.Random(5)
fds = [os.open(f"out.{number}", os.O_RDWR | os.O_CREAT) for number in range(7)]
for _ in range(20000):
    fd, count, at = dice.choice(fds), dice.randrange(1, 9000), dice.randrange(1 << 30)
    dice.choice((lambda: os.pwrite(fd, bytes(count), at), lambda: os.pread(fd, count, at),
                 lambda: os.lseek(fd, at, 0), lambda: os.fsync(fd) if dice.random() < 0.01 else os.fstat(fd)))()
"""


def traced(checks, work, name, code):
    """A trace of the program alone, without what Python reads."""
    directory, to = emptied(os.path.join(work, f"{name}.run")), os.path.join(work, f"{name}.trace")
    shutil.rmtree(to, ignore_errors=True)
    done = trace(to, [sys.executable, "-S", "-c", code], cwd=directory,
                 options=("--exclude", "/*", "--include", f"{directory}/*"))
    checks.equal(done.status, 0, f"{name}: {done}")
    return to


def preprocess(checks, directory, path, *options, status=0):
    done = run([omnio(), "preprocess", directory, "-o", path, *options])
    checks.equal(done.status, status, f"preprocess {options}: {done}")
    return done


def listed(directory):
    return sorted(os.listdir(directory))


def document(path):
    with open(path, encoding="utf-8") as text:
        return json.load(text)


def events(schedule):
    return [event for rank in schedule["ranks"] for thread in rank["threads"] for event in thread["events"]]


def sameAsFlat(checks, work, directory, what, *options):
    """The default form says what the flat one says, and is what is checked by `--check`."""
    place = emptied(os.path.join(work, "forms"))
    path, flat = os.path.join(place, "s.json"), os.path.join(place, "flat.json")
    preprocess(checks, directory, path, *options)
    preprocess(checks, directory, flat, *options, *FLAT)
    checks.equal(listed(place), ["flat.json", "s.json", "s.json.times"], f"{what}: files")
    wanted = document(flat)
    sameSchedule(checks, expanded(path), wanted, what)
    checks.that(events(wanted), f"{what}: has events")
    sizes = {name: os.path.getsize(os.path.join(place, name)) for name in listed(place)}
    print(f"{what}: {len(events(wanted))} events, {sizes}", flush=True)
    return sizes


def refusedOnce(checks, what, done, *words):
    lines = done.err.decode().splitlines()
    print(f"{what}: {lines}", flush=True)
    checks.equal(done.status, 1, f"{what}: status")
    checks.equal(len(lines), 1, f"{what}: one sentence: {lines}")
    for word in words:
        checks.that(word in "".join(lines), f"{what}: says {word!r}: {lines}")


def checkOptions(checks, work):
    """Options that change what is in the schedule, in the default form as in the flat one."""
    recorded = traced(checks, work, "options", REGULAR)
    for options in ((), ("--timing", "asap"), ("--timing", "start", "--time-scale", "3"),
                    ("--size-scale", "2"), ("--size-scale", "out.1*=0.5", "--keep-below", "100"),
                    ("--include", "*.1*", "--exclude", "class=metadata"), ("--order", "none"),
                    ("--write-overwrite",), ("--map", f"{work}=all")):
        sameAsFlat(checks, work, recorded, " ".join(options) or "no option", *options, "--check")
    for options in (("--repeat-scale", "2"), ("--repeat-scale", "0.5")):
        sameAsFlat(checks, work, recorded, " ".join(options), *options)
    path = os.path.join(work, "both.json")
    done = preprocess(checks, recorded, path, *FLAT, "--timing-detail", "statistics", status=2)
    checks.that(b"--form flat and --timing-detail statistics" in done.err, f"both options are named: {done.err!r}")
    preprocess(checks, recorded, path, "--timing-detail", "statistics")
    checks.that(os.path.exists(path) and not os.path.exists(path + ".times"), "means are in one file")


def checkRanks(checks, work):
    """Ranks that meet: as MPI-IO too, and at another number of ranks."""
    if mpirun(RANKS) is None or program("c_mpi_turns") is None:
        checks.skip("ranks", "needs MPI")
        return
    directory, recorded = emptied(os.path.join(work, "ranks.run")), os.path.join(work, "ranks.trace")
    done = trace(recorded, [*mpirun(RANKS), program("c_mpi_turns"), directory, "40"], cwd=directory,
                 env=environment(**MPI_ENVIRONMENT))
    checks.equal(done.status, 0, f"ranks: {done}")
    for options in ((), ("--layer", "mpi"), ("--include", "rank=1-2")):
        sizes = sameAsFlat(checks, work, recorded, " ".join(options) or "ranks", *options, "--check")
        checks.that(sizes["s.json"] < sizes["flat.json"], f"{options}: loops make it small: {sizes}")


def checkPlaces(checks, work):
    """Where a schedule cannot be written, a sentence says so, nothing is left, and an older one is as it was."""
    recorded = traced(checks, work, "places", REGULAR)
    home = emptied(os.path.join(work, "places"))
    os.mkdir(os.path.join(home, "directory"))
    os.mkfifo(os.path.join(home, "pipe"))
    before = listed(home)
    for what, to, words in (("standard output", "-", "standard output"), ("a pipe", "pipe", "not a regular file"),
                            ("a device", "/dev/stdout", "not a regular file"),
                            ("a directory", "directory", "not a regular file"),
                            ("no directory", "no/s.json", "No such file")):
        for options in ((), ("--repeat-scale", "2")):
            done = run([omnio(), "preprocess", recorded, "-o", to, *options], cwd=home)
            refusedOnce(checks, f"{what} {options}", done, words, os.path.basename(to))
    checks.equal(listed(home), before, "what is left")
    done = run([omnio(), "preprocess", recorded, "-o", "./-"], cwd=home)
    checks.equal((done.status, listed(home)), (0, sorted([*before, "-", "-.times"])), "a file named -")

    path = os.path.join(home, "s.json")
    with open(path + ".times", "wb") as foreign:
        foreign.write(b"letters")
    refusedOnce(checks, "times of the user", run([omnio(), "preprocess", recorded, "-o", path]),
                "s.json.times", "not a file of times")
    checks.that(not os.path.exists(path), "times of the user: there is no schedule")
    with open(path + ".times", "rb") as foreign:
        checks.equal(foreign.read(), b"letters", "times of the user are kept")


def checkOlder(checks, work):
    """A schedule in the place of an older one, in each form; a directory that is full or read-only."""
    recorded, other = traced(checks, work, "older", REGULAR), traced(checks, work, "other", RANDOM)
    place = emptied(os.path.join(work, "older"))
    path = os.path.join(place, "s.json")
    for directory, options, files in ((recorded, (), 2), (other, (), 2), (recorded, FLAT, 1), (other, FLAT, 1),
                                      (recorded, (), 2), (recorded, ("--timing-detail", "statistics"), 1)):
        preprocess(checks, directory, path, *options)
        checks.equal(listed(place), ["s.json", "s.json.times"][:files], f"{options}: files")
        taken = run([omnio(), "schedule", "check", path])
        checks.equal(taken.status, 0, f"{options}: {taken}")
    preprocess(checks, recorded, path)
    before = treeOf(place)
    with devices.tmpfs(work, "small") as small:
        for name in listed(place):
            shutil.copy(os.path.join(place, name), small.mount_point)
        small.fillUp(8192)
        filled = set(listed(small.mount_point)) - set(before)
        done = run([omnio(), "preprocess", other, "-o", os.path.join(small.mount_point, "s.json")])
        refusedOnce(checks, "full", done, "No space left on device")
        kept = {name: value for name, value in treeOf(small.mount_point).items() if name not in filled}
        checks.equal(kept, before, "full: the older schedule and its times")
        devices.must("mount", "-o", "remount,ro", small.mount_point)
        done = run([omnio(), "preprocess", other, "-o", os.path.join(small.mount_point, "s.json")])
        refusedOnce(checks, "read-only", done, "Read-only file system", "s.json")


def checkApart(checks, work):
    """A schedule that was moved or copied: with its times it is taken, without them refused by each command."""
    recorded, other = traced(checks, work, "apart", REGULAR), traced(checks, work, "apart2", RANDOM)
    home, away = emptied(os.path.join(work, "home")), os.path.join(work, "away")
    path = os.path.join(home, "s.json")
    preprocess(checks, recorded, path)
    commands = [["schedule", "show"], ["schedule", "check"], ["schedule", "expand", "-o", os.path.join(work, "e.json")]]
    if mpirun(1) is not None:
        commands.append(["replay", "--target", os.path.join(work, "target"), "-o", os.path.join(work, "replayed")])

    def all(what, where, *words):
        for command in commands:
            done = run([omnio(), *command, where], env=environment(**MPI_ENVIRONMENT))
            if words:
                refusedOnce(checks, f"{what}: {command[:2]}", done, *words)
            else:
                checks.equal(done.status, 0, f"{what}: {done}")
        if words:
            for left in ("target", "replayed", "e.json"):
                checks.that(not os.path.exists(os.path.join(work, left)), f"{what}: {left} was made")

    os.mkdir(away)
    shutil.copy(path, away)
    all("copied alone", os.path.join(away, "s.json"), "away/s.json.times", "is not there", "together with the schedule")
    preprocess(checks, other, os.path.join(away, "t.json"))
    os.rename(os.path.join(away, "t.json.times"), os.path.join(away, "s.json.times"))
    all("other times", os.path.join(away, "s.json"), "of another schedule", "made with this schedule")
    shutil.copy(path + ".times", away)
    os.rename(os.path.join(away, "s.json"), os.path.join(away, "renamed.json"))
    os.symlink("away/renamed.json", os.path.join(work, "link.json"))
    all("copied with its times, and renamed", os.path.join(away, "renamed.json"))
    for left in ("target", "replayed"):
        shutil.rmtree(os.path.join(work, left), ignore_errors=True)
    all("by a link", os.path.join(work, "link.json"))


def checkEdited(checks, work):
    """Values of a loop, its turns, and lines of it, changed as docs/formats/schedule.md says."""
    recorded, place = traced(checks, work, "edited", REGULAR), emptied(os.path.join(work, "edits"))
    path = os.path.join(place, "s.json")
    preprocess(checks, recorded, path, "--timing", "asap")
    with open(path, encoding="utf-8") as text:
        written = text.read()
    whole = expanded(path)

    def edited(what, *changes):
        text = written
        for old, new in changes:
            checks.equal(text.count(old), 1, f"{what}: {old} is there once")
            text = text.replace(old, new)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        taken = run([omnio(), "schedule", "check", path])
        checks.equal(taken.status, 0, f"{what}: {taken}")
        if mpirun(1) is not None:
            target, output = os.path.join(work, "target"), os.path.join(work, "edited.out")
            done = replay(path, target, output, "--fresh")
            checks.equal(done.status, 0, f"{what}: {done}")
            verified = run([omnio(), "verify", path, output])
            checks.equal(verified.status, 0, f"{what}: {verified.out.decode()}")
            shutil.rmtree(output)
        return expanded(path), taken.out.decode()

    def writes(schedule):
        return [event for event in events(schedule) if event["command"].startswith("pwrite")]

    got, said = edited("larger requests", ('"count":512', '"count":1024'), ('"offset":"{512*turn}"', '"offset":"{1024*turn}"'),
                       ('"result":512', '"result":1024'))
    checks.equal([(event["count"], event["offset"]) for event in writes(got)], [(1024, 1024 * part) for part in range(3)] * 200,
                 "larger requests")
    checks.equal([event["start"] for event in events(got)], [event["start"] for event in events(whole)],
                 "larger requests: the times stay")
    checks.that("mean" not in said, f"larger requests: {said}")
    got, said = edited("more turns", ('{"repeat":3,', '{"repeat":5,'))
    checks.equal(len(writes(got)), 1000, "more turns")
    checks.that("Warning: " in said and "mean" in said, f"more turns: {said}")
    got, said = edited("fewer turns", ('{"repeat":200,"gap"', '{"repeat":100,"gap"'))
    checks.equal(len(writes(got)), 300, "fewer turns")
    checks.that("Warning: " in said and "mean" in said, f"fewer turns: {said}")


def checkNothingRepeats(checks, work):
    """Each operation with other numbers: both files together are not larger than the flat form."""
    sizes = sameAsFlat(checks, work, traced(checks, work, "random", RANDOM), "random", "--check")
    both = sizes["s.json"] + sizes["s.json.times"]
    print(f"random: {both / sizes['flat.json']:.1%} of the flat form")
    checks.that(both < sizes["flat.json"], f"nothing repeats: {sizes}")


def checkLittle(checks, work):
    """Traces without a call, with one, and cut off in the middle."""
    nothing = traced(checks, work, "nothing", "pass")
    path = os.path.join(work, "little.json")
    done = run([omnio(), "preprocess", nothing, "-o", path])
    refusedOnce(checks, "no call", done, "no I/O")
    checks.equal([name for name in listed(work) if name.startswith("little")], [], "no call: what is left")
    sameAsFlat(checks, work, traced(checks, work, "one", "import os\nos.mkdir('d')"), "one call", "--check")
    recorded, dice = traced(checks, work, "cut", RANDOM), random.Random(9)
    container = max((os.path.join(recorded, name) for name in os.listdir(recorded) if name.endswith(".omnio")),
                    key=os.path.getsize)
    for _ in range(3):
        os.truncate(container, dice.randrange(os.path.getsize(container) // 2, os.path.getsize(container)))
        checks.that(not stats(recorded)["trace"]["whole"], "the damage is seen")
        sameAsFlat(checks, work, recorded, "cut off", "--check")


CASES = {"options": checkOptions, "ranks": checkRanks, "places": checkPlaces, "older": checkOlder,
         "apart": checkApart, "edited": checkEdited, "nothing repeats": checkNothingRepeats,
         "little": checkLittle}


def main():
    checks = Checks()
    for name, check in CASES.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        with WorkDirectory() as work, checks.case(name):
            try:
                check(checks, work)
            except devices.NotHere as reason:
                checks.skip(name, str(reason))
    checks.finish()


if __name__ == "__main__":
    main()
