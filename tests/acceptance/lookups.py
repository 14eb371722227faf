"""A file system is asked for as much by a replay as by the application, whether a tracer watches or
not: a path is as deep as it was, and looked up from where the application looked it up.

Each program runs with few and with many rounds, so that what starts and ends it cancels out.
"""

import os
import shutil

import devices
from omnio_testing import Checks, WorkDirectory, emptied, omnio, program, run
from replay_testing import replay, report
from slow_storage import SlowStorage, needSlowStorage

WAYS = ("absolute", "above", "inside", "deep", "dirfd")
FEW, MANY = 2, 12


def requestsOf(storage, prepare, action):
    """The requests by kind that the action makes."""
    prepare()
    before = storage.counts()["requests"]
    action()
    after = storage.counts()["requests"]
    return {kind: after.get(kind, 0) - before.get(kind, 0) for kind in after}


def perRounds(storage, prepare, action):
    """The requests of the rounds in which many are more than few."""
    few, many = (requestsOf(storage, prepare, lambda: action(rounds)) for rounds in (FEW, MANY))
    # The kernel sends the end of an open file later, and no call waits for it.
    kinds = (few.keys() | many.keys()) - {"RELEASE", "RELEASEDIR", "FORGET"}
    counts = {kind: many.get(kind, 0) - few.get(kind, 0) for kind in sorted(kinds)}
    return {kind: count for kind, count in counts.items() if count != 0}


def checkWay(checks, work, storage, way, place, map_to_target):
    """The program runs in the directory `place`, or names it from elsewhere."""
    directory = os.path.join(storage.path, place)

    def traceOf(rounds):
        return os.path.join(work, f"{way}.{rounds}.trace")

    def scheduleOf(rounds):
        return os.path.join(work, f"{way}.{rounds}.json")

    def empty():
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory)

    def runIt(rounds, traced):
        start = directory if map_to_target == "run" else work
        command = [program("c_names"), way, directory, str(rounds)]
        if traced:
            shutil.rmtree(traceOf(rounds), ignore_errors=True)
            command = [omnio(), "trace", "-o", traceOf(rounds), "--", *command]
        done = run(command, cwd=start)
        checks.equal(done.status, 0, f"{way}: {done.err!r}")

    target = os.path.join(storage.path, "target")
    output = os.path.join(work, "replayed")

    def removeReplay():
        for old in (target, output):
            shutil.rmtree(old, ignore_errors=True)

    def replayIt(rounds, traced):
        done = replay(scheduleOf(rounds), target, output, *([] if traced else ["--no-trace"]))
        checks.equal(done.status, 0, f"{way}, replayed: {done.err!r}")
        checks.equal(report(output)["total"]["differences"], 0, f"{way}: differences")

    what = f"{way}, {place}, {map_to_target}"
    expected = perRounds(storage, empty, lambda rounds: runIt(rounds, False))
    checks.that(expected.get("LOOKUP", 0) > 0, f"{what}: look-ups of the program: {expected}")
    checks.equal(perRounds(storage, empty, lambda rounds: runIt(rounds, True)), expected,
                 f"{what}: the traced program")
    for rounds in (FEW, MANY):
        mapping = ["--map", f"{directory}="] if map_to_target == "map" else []
        made = run([omnio(), "preprocess", traceOf(rounds), "-o", scheduleOf(rounds), *mapping])
        checks.equal(made.status, 0, f"{what}: {made.err!r}")
    for traced in (False, True):
        checks.equal(perRounds(storage, removeReplay, lambda rounds: replayIt(rounds, traced)),
                     expected, f"{what}: replay, {'traced' if traced else 'not traced'}")


def main():
    needSlowStorage()
    checks = Checks()
    with WorkDirectory() as work:
        emptied(os.path.join(work, "elsewhere"))
        with SlowStorage(work, "--metadata-us", 50) as storage:
            for way in WAYS:
                # Where the files lie below the target: by the directory in which the program ran, by
                # a rule, or by their whole path.
                for how in ("run", "map", "root"):
                    checkWay(checks, work, storage, way, "dir/run", how)
    checks.finish()


if __name__ == "__main__":
    devices.runOrSkip(main)
