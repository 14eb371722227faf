"""Not a trace, another version's, or damaged: one sentence and exit 1, wrong usage exit 2; a
log cut or damaged anywhere is read as far as it is whole, and what was lost is told.
"""

import json
import os
import random
import struct
import sys
import time

import devices
from damage import change, containers, copyOf, cut, flip, largestContainer
from omnio_testing import (PATIENCE_S, Checks, WorkDirectory, emptied, environment, omnio,
                           preloadLibrary, program, run, stats, trace)

THREADS, CALLS = 3, 12000
PLACES = 50
VERSION_OFFSET = 8  # in a container: the magic number's 8 bytes, then the format's version


def sentences(output):
    return [line for line in output.decode(errors="replace").splitlines() if line.strip()]


def checkRefused(checks, what, words, status, mentions=None):
    result = run([omnio(), *words])
    lines = sentences(result.err)
    checks.equal(result.status, status, f"{what}: exit status")
    checks.that(len(lines) == 1, f"{what}: one sentence on standard error, not {lines}")
    if mentions:
        checks.that(mentions in " ".join(lines), f"{what}: the sentence names {mentions}: {lines}")
    checks.equal(result.out, b"", f"{what}: nothing on standard output")
    print(f"{what}: {' '.join(lines)}")


def checkNoTrace(checks, work, good):
    empty = emptied(os.path.join(work, "empty"))
    strange = emptied(os.path.join(work, "strange"))
    with open(os.path.join(strange, "host.1.0.omnio"), "wb") as file:
        file.write(random.Random(1).randbytes(100000))
    later = copyOf(good, os.path.join(work, "later"))
    for container in containers(later):
        change(container, VERSION_OFFSET, struct.pack("<I", 999))
    file = os.path.join(work, "a_file")
    with open(file, "w", encoding="utf-8") as text:
        text.write("not a trace\n")
    missing = os.path.join(work, "missing")
    for command in ("log", "stats"):
        for what, path in (("missing", missing), ("empty directory", empty),
                           ("random bytes", strange), ("another version", later),
                           ("a text file", file)):
            checkRefused(checks, f"{command}, {what}", [command, path], 1, path)


def checkEmptyLog(checks, work):
    """A process on a full device leaves a file of 0 bytes: a trace of which nothing is known."""
    directory = emptied(os.path.join(work, "empty log"))
    log = os.path.join(directory, "host.1.0.omnio")
    open(log, "wb").close()
    reason = f"{log}: empty: the process could not write its log"
    state = stats(directory)["trace"]
    checks.that(not state["whole"] and state["events"] == 0 and state["reasons"] == [reason],
                f"empty log: {state}")
    for words in (["stats"], ["log"], ["log", "--mpi"], ["phases"], ["collect"], ["pack"]):
        result = run([omnio(), words[0], directory, *words[1:]])
        checks.equal(result.status, 0, f"empty log, {' '.join(words)}: {result.err!r}")
        if words[0] != "collect":
            checks.that(reason.encode() in result.out + result.err,
                        f"empty log, {' '.join(words)}: the file is named: {result}")
    result = run([omnio(), "preprocess", directory, "-o", os.path.join(work, "schedule.json")])
    checks.equal(result.status, 1, "empty log, preprocess: there is nothing to replay")
    checks.that(reason.encode() in result.err, f"empty log, preprocess: {result.err!r}")
    # The whole way: the tracer itself, on a device without a byte.
    if os.geteuid() != 0:
        checks.skip("empty log of a full device", "needs root")
        return
    with devices.tmpfs(work, "full") as device:
        os.makedirs(device.path)
        device.fillUp(0)
        result = run([program("c_steady"), emptied(os.path.join(work, "run")), "1", "10", "10"],
                     env=environment(LD_PRELOAD=preloadLibrary("serial"), OMNIO_DIR=device.path,
                                     OMNIO_RING_DIR="/nonexistent"))
        checks.equal(result.status, 0, f"empty log, the program: {result}")
        left = containers(device.path)
        print(f"on a full device: {[(path, os.path.getsize(path)) for path in left]}")
        if left:
            checks.equal(run([omnio(), "stats", device.path]).status, 0, "full device: omnio stats")


def checkUsage(checks, good):
    """A hint may follow, so the number of lines is left open."""
    for words in ([], ["no-such-command"], ["log"], ["stats"], ["log", good, "--rank", "x"],
                  ["log", good, "--no-such-option"], ["stats", good, "--by", "colour"],
                  ["stats", good, "--rank", "-1"], ["trace", "--flavour", "vanilla", "--", "true"],
                  ["trace", "--no-such-option", "--", "true"]):
        result = run([omnio(), *words])
        lines = sentences(result.err)
        # omnio trace keeps 1 to 124 for the application.
        wanted = 125 if words[:1] == ["trace"] and result.status == 125 else 2
        checks.equal(result.status, wanted, f"wrong usage: omnio {' '.join(words)}")
        # The option parser's own words (ranges of double, "auto->0") do not help a person.
        checks.that(1 <= len(lines) <= 4 and max(map(len, lines), default=0) < 200 and
                    "->" not in result.err.decode(),
                    f"wrong usage: omnio {' '.join(words)}: a sentence and a hint: {lines}")
        print(f"omnio {' '.join(words[:1])} ...: {' '.join(lines)[:200]}")
    for words in (["--help"], ["log", "--help"], ["stats", "--help"], ["trace", "--help"],
                  ["--version"]):
        result = run([omnio(), *words])
        checks.that(result.status == 0 and result.out, f"omnio {' '.join(words)} answers")


def readDamaged(checks, what, directory, whole_events):
    """The number of events that are read, or None if the trace was refused."""
    result = run([omnio(), "stats", directory, "--json"], timeout=PATIENCE_S)
    if result.status != 0:
        checks.equal(result.status, 1, f"{what}: refused with exit status")
        checks.equal(len(sentences(result.err)), 1, f"{what}: one sentence: {result.err!r}")
        return None
    state = json.loads(result.out)["trace"]
    checks.that(state["events"] <= whole_events, f"{what}: {state['events']} events are read, of "
                f"{whole_events}")
    if state["events"] < whole_events:
        checks.that(not state["whole"] and state["reasons"],
                    f"{what}: {whole_events - state['events']} events are gone, and the "
                    f"trace does not say so: {state}")
    log = run([omnio(), "log", directory], timeout=PATIENCE_S)
    checks.equal(log.status, 0, f"{what}: omnio log")
    lines = sum(1 for line in log.out.splitlines() if line and not line.startswith(b"#"))
    checks.equal(lines, state["events"], f"{what}: events of omnio log against omnio stats")
    return state["events"]


def checkCuts(checks, work, good, whole_events, chance):
    size = os.path.getsize(largestContainer(good))
    places = sorted({1, 8, 12, 100, 4095, 4096, 4097, size - 1, size - 8,
                     *(chance.randrange(size) for _ in range(PLACES))})
    read = []
    for place in places:
        damaged = copyOf(good, os.path.join(work, "damaged"))
        cut(largestContainer(damaged), place)
        read.append(readDamaged(checks, f"cut at {place} of {size}", damaged, whole_events))
    counts = [events for events in read if events is not None]
    checks.that(counts == sorted(counts), f"the more is left, the more is read: {counts}")
    checks.that(counts and counts[-1] > counts[0], f"a cut log is read up to the cut: {counts}")
    print(f"{len(places)} cuts: refused {read.count(None)}, else {counts[:1]} to {counts[-1:]} of "
          f"{whole_events} events")


def checkFlips(checks, work, good, whole_events, chance):
    size = os.path.getsize(largestContainer(good))
    read, places = [], sorted(chance.randrange(size) for _ in range(PLACES))
    for place in places:
        damaged = copyOf(good, os.path.join(work, "damaged"))
        flip(largestContainer(damaged), place)
        read.append(readDamaged(checks, f"byte {place} of {size} flipped", damaged, whole_events))
    counts = [events for events in read if events is not None]
    checks.that(counts and max(counts) > whole_events // 2,
                f"reading goes on behind a damaged place: {counts}")
    print(f"{len(places)} flips: refused {read.count(None)}, else {min(counts)} to {max(counts)} "
          f"of {whole_events} events")


def checkHoles(checks, work, good, whole_events):
    """A run of zeros in the middle, as a crashed node's file system leaves; and strange bytes."""
    size = os.path.getsize(largestContainer(good))
    for what, data in (("zeros", bytes(8192)), ("strange bytes", random.Random(2).randbytes(8192))):
        damaged = copyOf(good, os.path.join(work, "damaged"))
        change(largestContainer(damaged), size // 2, data)
        events = readDamaged(checks, f"{what} in the middle", damaged, whole_events)
        checks.that(events and 0 < events < whole_events, f"{what} in the middle: {events} events")
    damaged = copyOf(good, os.path.join(work, "damaged"))
    with open(largestContainer(damaged), "ab") as file:
        file.write(random.Random(3).randbytes(5000))
    checks.equal(readDamaged(checks, "strange bytes at the end", damaged, whole_events),
                 whole_events, "strange bytes at the end take nothing away")


def checkDocuments(checks, work, good, whole_events):
    """The JSON documents beside the logs may be damaged or gone; the logs speak for themselves."""
    for name in sorted(os.listdir(good)):
        if not name.endswith(".json"):
            continue
        for what, make in (("gone", os.unlink), ("empty", lambda path: cut(path, 0)),
                           ("cut", lambda path: cut(path, os.path.getsize(path) // 2)),
                           ("not JSON", lambda path: change(path, 0, b"\0\0\0\0"))):
            damaged = copyOf(good, os.path.join(work, "damaged"))
            make(os.path.join(damaged, name))
            readDamaged(checks, f"{name} {what}", damaged, whole_events)


def main():
    checks = Checks()
    seed = int(os.environ.get("OMNIO_TEST_SEED", time.time_ns() % 1000000))
    print(f"OMNIO_TEST_SEED={seed}")
    chance = random.Random(seed)
    with WorkDirectory() as work:
        good = os.path.join(work, "good")
        result = trace(good, [program("c_steady"), emptied(os.path.join(work, "run")),
                              str(THREADS), str(CALLS), "1000"])
        checks.equal(result.status, 0, "the program whose trace is damaged here")
        state = stats(good)["trace"]
        checks.that(state["whole"] and state["events"] >= THREADS * (CALLS + 2),
                    f"the trace before any damage: {state}")
        events = state["events"]
        for name, part in (("no trace", lambda: checkNoTrace(checks, work, good)),
                           ("empty log", lambda: checkEmptyLog(checks, work)),
                           ("usage", lambda: checkUsage(checks, good)),
                           ("cuts", lambda: checkCuts(checks, work, good, events, chance)),
                           ("flips", lambda: checkFlips(checks, work, good, events, chance)),
                           ("holes", lambda: checkHoles(checks, work, good, events)),
                           ("documents", lambda: checkDocuments(checks, work, good, events))):
            with checks.case(name):
                part()
    checks.finish()


if __name__ == "__main__":
    sys.exit(main())
