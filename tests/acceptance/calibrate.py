"""`omnio calibrate` measures what it says: on a file system with a known latency for each kind of request
every cell shows it, in each state of the page cache; a budget that ends names what is missing; and
calibrations that are interrupted, killed or run out of room keep what they have and leave nothing behind.

A busy machine makes calls longer, so times are compared with lower limits.
"""

import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import time

import devices
from omnio_testing import (PATIENCE_S, Checks, WorkDirectory, emptied, endingSignalsHeld,
                           environment, omnio, quietDeath, run, until)
from slow_storage import SlowStorage, needSlowStorage

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEMA = os.path.join(HERE, "..", "..", "docs", "formats", "calibration.schema.json")

# In ns; far apart, so that none is taken for another.
METADATA, READ, WRITE, SYNC = 2_000_000, 8_000_000, 24_000_000, 60_000_000
LATENCIES = ("--metadata-us", METADATA // 1000, "--read-us", READ // 1000,
             "--write-us", WRITE // 1000, "--sync-us", SYNC // 1000)
# The least that each operation has to wait for: of a path, the look-up of its last part too.
LEAST = {"read": READ, "write": WRITE, "fsync": SYNC, "fdatasync": SYNC, "close": SYNC,
         "open": 2 * METADATA, "create": 2 * METADATA, "stat": METADATA,
         "readdir": 2 * METADATA, "rename": METADATA, "ftruncate": METADATA,
         "unlink": METADATA, "mkdir": METADATA, "rmdir": METADATA}
MOST_TIMES = 5  # a calibration is made until one of its reads shows that it did not wait
PAUSED = {"read", "write", "create", "close", "open", "stat", "ftruncate", "rename", "unlink"}


def command(target, output, *options):
    return [omnio(), "calibrate", "--target", target, "-o", output, *map(str, options)]


def calibrate(target, output, *options):
    return run(command(target, output, *options))


def started(target, output, *options):
    with endingSignalsHeld():
        return subprocess.Popen(command(target, output, *options), env=environment(),
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, preexec_fn=quietDeath)


def document(path):
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    try:
        import jsonschema  # pylint: disable=import-outside-toplevel
    except ImportError:
        return found
    with open(SCHEMA, encoding="utf-8") as file:
        jsonschema.Draft202012Validator(json.load(file)).validate(found)
    return found


def timesOf(cell):
    return [one for part in cell["runs"] for one in part["times_ns"]]


def nameOf(cell):
    words = [str(cell[key]) for key in ("operation", "order", "files", "bytes", "processes")]
    return " ".join(words + [flag for flag in ("extends", "new", "paused") if cell.get(flag)])


def checkSums(checks, found):
    """The sums are those of the sample, where that has all."""
    for cell in found["cells"]:
        times = timesOf(cell)
        every = cell["all"]
        name = nameOf(cell)
        if len(times) == every["accesses"]:
            checks.equal(sum(times), every["total_ns"], f"{name}: total")
            checks.equal((min(times), max(times)), (every["least_ns"], every["most_ns"]),
                         f"{name}: ends")
        else:
            checks.that(len(times) <= every["accesses"], f"{name}: no more than there are")
        checks.equal(sum(count for _, count in every["histogram"]), every["accesses"],
                     f"{name}: histogram")


def checkLatencies(checks, work):
    with SlowStorage(work, *LATENCIES) as storage:
        output = os.path.join(work, "latencies.json")
        done = calibrate(storage.path, output, "--processes", 1, "--largest", "4K",
                         "--accesses", 3, "--budget", "10m")
        checks.equal(done.status, 0, f"latencies: {done}")
        checks.equal(os.listdir(storage.path), [], "latencies: what is left")
        found = document(output)
        checks.equal(found["unreached"], [], "latencies: all are reached")
        checkSums(checks, found)
        seen = {}
        for cell in found["cells"]:
            operation = cell["operation"]
            # Calls on paths have several requests to wait for: those of each directory. Each kind of
            # request takes another time, so that one taken for another shows.
            least = LEAST[operation]
            # The clock is read before the call and after it.
            checks.that(min(timesOf(cell)) >= least - found["clock_ns"],
                        f"{nameOf(cell)}: {min(timesOf(cell))} ns are less than {least}")
            seen.setdefault(operation, []).extend(timesOf(cell))
        checks.equal(sorted(seen), sorted(LEAST), "latencies: all operations")
        print({operation: f"{statistics.median(times) / 1e6:.1f} ms" for operation, times in seen.items()})
        for cell in found["cells"]:
            if cell["operation"] != "write":
                continue
            if cell.get("extends"):  # the file is made empty
                checks.that("writeback" not in cell, f"{nameOf(cell)}: no write-back")
            else:
                checks.that(cell["writeback"]["time_ns"] >= SYNC, f"{nameOf(cell)}: write-back")


def checkProcesses(checks, work):
    """Two at once wait side by side, and one after the other where the target serves one at a time."""
    for name, options in (("side", ()), ("turns", ("--one-at-a-time",))):
        with SlowStorage(work, "--read-us", READ // 1000, *options, name=name) as storage:
            output = os.path.join(work, f"{name}.json")
            done = calibrate(storage.path, output, "--processes", 2, "--largest", 1,
                             "--accesses", 20, "--budget", "2m")
            checks.equal(done.status, 0, f"{name}: {done}")
            cells = [cell for cell in document(output)["cells"]
                     if cell["operation"] == "read" and cell["processes"] == 2]
            checks.equal(len(cells), 7, f"{name}: sequential, strided and random, own and shared, "
                                        "and of new data")
            checks.equal({run["process"] for cell in cells for run in cell["runs"]}, {0, 1},
                         f"{name}: both processes")
            at_once = storage.counts()["most_at_once"]
            longest = max(max(timesOf(cell)) for cell in cells)
        if options:
            checks.that(longest >= 1.8 * READ, f"one at a time, two wait for each other: {longest} ns")
        else:
            checks.that(at_once >= 2, f"side by side they do not: {at_once} requests at once")


def checkCacheStates(checks, work):
    """The kernel keeps pages of this file system: cold reads wait for it, cached ones do not."""
    def reads(found, **what):
        """The times of reads of 4 KiB in the cell that is meant."""
        return [ns for cell in found["cells"]
                if cell["operation"] == "read" and cell["bytes"] == 4096 and
                all(cell.get(key, False) == value for key, value in what.items())
                for ns in timesOf(cell)]

    # Reads that find their bytes in memory: of what is cached, and of what was just written.
    fast = {"cached": {"order": "random"}, "cold": {"new": True}}
    with SlowStorage(work, "--read-us", READ // 1000, "--cache") as storage:
        times = {}
        for state in ("cached", "cold", "direct"):
            # Any read may take long on a busy machine; if one does not, it has not waited for the storage.
            for number in range(MOST_TIMES):
                output = os.path.join(work, f"{state}.{number}.json")
                done = calibrate(storage.path, output, "--cache", state, "--processes", 1,
                                 "--largest", "4K", "--accesses", 5, "--budget", "10m")
                checks.equal(done.status, 0, f"{state}: {done}")
                found = document(output)
                if state not in fast or min(reads(found, **fast[state])) < READ:
                    break
            checks.equal(found["cache"]["state"], state, f"{state}: said")
            times[state] = reads(found, order="random")
            if state in fast:
                in_memory = reads(found, **fast[state])
                checks.that(min(in_memory) < READ, f"{state}: what is in memory is not waited for: {in_memory}")
            if state == "cold":
                checks.that(found["cache"]["checks"] > 0, "cold: checked")
                checks.equal(found["cache"]["most_percent"], 0, "cold: pages in memory")
            if state == "cached":
                checks.that(found["cache"]["least_percent"] > 99, "cached: pages in memory")
            if state == "direct":
                blocks = {one["bytes"] for one in found["unreached"]}
                checks.that(1 in blocks and 4096 not in blocks and
                            all(one["impossible"] for one in found["unreached"]),
                            f"direct: parts of blocks cannot be measured: {blocks}")
        for state in ("cold", "direct"):
            checks.that(statistics.median(times[state]) >= READ, f"{state} reads wait: {times}")
    with devices.tmpfs(work, "memory", 400) as device:
        for state in ("cold", "direct"):
            output = os.path.join(work, "none.json")
            done = calibrate(device.mount_point, output, "--cache", state, "--budget", "5s")
            checks.equal((done.status, done.err.decode().strip()),
                         (1, f"omnio: {device.mount_point}: --cache {state}: tmpfs keeps its files "
                             "in memory; --cache auto takes what there is"), f"{state} on tmpfs")
            checks.that(not os.path.exists(output), f"{state} on tmpfs: no document")
        output = os.path.join(work, "auto.json")
        done = calibrate(device.mount_point, output, "--cache", "auto", "--budget", "10m",
                         "--largest", "4K", "--accesses", 5, "--processes", 1)
        checks.equal(done.status, 0, f"auto: {done}")
        found = document(output)
        checks.equal((found["cache"]["state"], found["cache"]["automatic"]), ("cached", True),
                     "auto on tmpfs")
        checks.equal(found["directory_names"], 5300, "names in the directories, in memory")
        checks.equal({cell["operation"] for cell in found["cells"] if cell.get("paused")},
                     PAUSED, "what is measured after pauses")


def checkNames(checks, work):
    """Files that are made have names that were not there before: of others, a kernel remembers that they
    are gone, and need not ask the file system."""
    if shutil.which("strace") is None:
        checks.skip("names", "needs strace")
        return
    calls = os.path.join(work, "calls")
    done = run(["strace", "-f", "-qq", "-e", "trace=openat", "-o", calls,
                *command(emptied(os.path.join(work, "target")), os.path.join(work, "names.json"),
                         "--processes", 2, "--largest", 1, "--accesses", 5, "--budget", "10m")],
               timeout=PATIENCE_S)
    checks.equal(done.status, 0, f"names: {done}")
    with open(calls, encoding="utf-8") as text:
        made = re.findall(r'openat\(AT_FDCWD, "([^"]+)", [^)]*O_EXCL', text.read())
    # Five rounds through metadata in each directory, with five accesses together.
    checks.that(len(made) >= 5 * (1 + 2 + 2), f"names: files are made: {len(made)}")
    checks.equal(len(set(made)), len(made), "names: each is used once")


def checkBudget(checks, work):
    """On a target that is too slow for all cells, the missing ones are named."""
    with SlowStorage(work, "--write-us", 200_000, "--read-us", 200_000) as storage:
        output = os.path.join(work, "budget.json")
        done = calibrate(storage.path, output, "--processes", 2, "--budget", "6s")
        checks.equal(os.listdir(storage.path), [], "budget: what is left")
        if done.status == 1:
            # A busy machine may leave no time for any.
            checks.equal(done.err.decode().strip().splitlines()[-1],
                         f"omnio: {storage.path}: nothing was measured in the time; a larger --budget or a "
                         "smaller --largest helps", "budget: no cells")
            checks.that(not os.path.exists(output), "budget: no document without cells")
            return
        checks.equal(done.status, 0, f"budget: {done}")
        found = document(output)
        checks.that(found["cells"] and found["unreached"], "budget: some cells, and some not")
        keys = {nameOf(cell) for cell in found["cells"]}
        missing = {nameOf(cell) for cell in found["unreached"]}
        checks.that(not keys & missing, "budget: no cell is both")
        checks.that("the budget ended before" in done.out.decode(), f"budget: said: {done}")


def checkInterruptions(checks, work):
    target = os.path.join(work, "target")
    emptied(target)
    output = os.path.join(work, "stopped.json")
    more = ("--largest", "64K", "--accesses", 100000)

    def made():
        return os.listdir(target)

    killed = started(target, output, *more, "--budget", "10m")
    until(lambda: os.path.exists(output), "a document")
    checks.equal(len(made()), 1, "one directory in the target")
    def refusedBeside(what, second, who):
        checks.equal((second.status, second.err.decode().strip()),
                     (1, f"omnio: {target}: {who}; two at a time would measure each other"), what)
        checks.equal(len(made()), 1, f"{what}: leaves what the first one has")

    other = command(target, os.path.join(work, "second.json"), "--budget", "5s")
    refusedBeside("a second one at the same time", run(other), f"process {killed.pid} calibrates this target")
    container = ["unshare", "--pid", "--fork", "--mount-proc"]
    if run([*container, "true"]).status == 0:
        refusedBeside("a second one in another container", run([*container, *other]),
                      "another process has locked this target, as a calibration in another "
                      "container does")
    else:
        checks.skip("a second one in another container", "unshare cannot make one here")
    killed.kill()
    killed.communicate()
    checks.equal(len(made()), 1, "a killed one cannot clean up")
    before = document(output)

    # Its processes are gone with it.
    def atWork():
        count = 0
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                for fd in os.listdir(f"/proc/{entry}/fd"):
                    count += os.readlink(f"/proc/{entry}/fd/{fd}").startswith(target)
            except OSError:
                continue
        return count
    until(lambda: atWork() == 0, "the processes of the killed one end")

    refused = calibrate(target, output, *more)
    checks.equal(refused.err.decode().strip(),
                 f"omnio: {output}: it exists; --resume goes on with it, --force replaces it",
                 "without --resume")
    checks.equal(refused.status, 1, "without --resume: status")
    other = calibrate(target, output, "--resume", "--largest", "4K", "--accesses", 100000)
    checks.that("--largest was 65536, and is 4096 now" in other.err.decode(), f"{other}")

    resumed = started(target, output, *more, "--resume", "--budget", "10m")
    until(lambda: document(output)["sessions"] == 2, "the document of the second session")
    resumed.send_signal(signal.SIGINT)
    _, err = resumed.communicate(timeout=PATIENCE_S)
    checks.equal(resumed.returncode, -signal.SIGINT, f"interrupted: {err}")
    checks.that(b"removed; a calibration that was killed left it" in err, f"what was left: {err}")
    checks.that(b"interrupted by SIGINT" in err and b"--resume goes on" in err, f"said: {err}")
    checks.equal(made(), [], "an interrupted one cleans up")
    after = document(output)
    checks.that(after["spent_ns"] > before["spent_ns"], "time goes on")
    cells = {nameOf(cell): cell for cell in after["cells"]}
    for cell in before["cells"]:
        later = cells[nameOf(cell)]
        checks.that(later["all"]["accesses"] >= cell["all"]["accesses"],
                    f"{nameOf(cell)}: goes on")
        checks.equal(later["runs"][0], cell["runs"][0], f"{nameOf(cell)}: what it had")
    ended = calibrate(target, output, *more, "--resume", "--budget", "5s")
    checks.that("is used up; a larger --budget goes on with it" in ended.err.decode(), f"{ended}")
    checks.equal(document(output), after, "which leaves the document as it is")


def checkRoom(checks, work):
    with devices.tmpfs(work, "small", 8) as device:
        output = os.path.join(work, "room.json")
        done = calibrate(device.mount_point, output, "--processes", 2)
        checks.equal(done.status, 1, f"too little room: {done}")
        checks.that("too little room: 192 MiB are needed, and 8.00 MiB are free"
                    in done.err.decode(), f"too little room: {done}")
        checks.that(not os.path.exists(output), "too little room: no document")
        checks.equal(os.listdir(device.mount_point), [], "too little room: what is left")
    with devices.tmpfs(work, "filled", 200) as device:
        filled = started(device.mount_point, output, "--processes", 1, "--largest", "64K",
                         "--accesses", 100000, "--budget", "5m")
        until(lambda: os.path.exists(output), "a document")
        device.fillUp(0)
        _, err = filled.communicate(timeout=PATIENCE_S)
        checks.equal(filled.returncode, 1, f"another one fills the target: {err}")
        checks.that(b"No space left on device; what was measured is in " in err, f"said: {err}")
        checks.equal(os.listdir(device.mount_point), ["somebody-else"], "what is left")
        checks.that(document(output)["cells"], "what was measured is kept")
    with devices.tmpfs(work, "inodes", 400) as device:
        devices.must("mount", "-o", "remount,nr_inodes=1200", device.mount_point)
        output = os.path.join(work, "inodes.json")
        done = calibrate(device.mount_point, output, "--processes", 4, "--largest", "4K",
                         "--accesses", 100, "--budget", "10m")
        checks.equal(done.status, 0, f"few inodes: {done}")
        names = 4 * document(output)["directory_names"]
        checks.that(0 < names < 1200 - 400, f"few inodes: some are left free: {names} names")
    with devices.tmpfs(work, "fewer", 400) as device:
        output = os.path.join(work, "fewer.json")
        more = ("--processes", 1, "--largest", "4K", "--accesses", 100, "--budget", "10m")
        checks.equal(calibrate(device.mount_point, output, *more).status, 0, "many inodes")
        found = document(output)
        checks.equal(found["directory_names"], 5300, "many inodes: names")
        # As documents of before, it has no reads of new data.
        older = {**found, "cells": [cell for cell in found["cells"]
                                    if cell["operation"] != "read" or not cell.get("new")]}
        with open(output, "w", encoding="utf-8") as file:
            json.dump(older, file)
        devices.must("mount", "-o", "remount,nr_inodes=1200", device.mount_point)
        done = calibrate(device.mount_point, output, *more, "--resume")
        checks.equal(done.status, 0, f"gone on with, with fewer inodes: {done}")
        found = document(output)
        checks.that(0 < found["directory_names"] < 1200, f"fewer names: {found['directory_names']}")
        checks.equal(found["unreached"], [], "gone on with: what was missing is measured")
    with devices.tmpfs(work, "read-only", 200) as device:
        devices.must("mount", "-o", "remount,ro", device.mount_point)
        done = calibrate(device.mount_point, os.path.join(work, "ro.json"))
        checks.equal((done.status, done.err.decode().strip()),
                     (1, f"omnio: cannot make a directory in {device.mount_point}: Read-only file "
                         "system"), "read-only")
    target = os.path.join(work, "target")
    emptied(target)
    full = calibrate(target, "/dev/full", "--budget", "5s")
    checks.equal((full.status, full.err.decode().strip()),
                 (1, "omnio: /dev/full: it exists; --resume goes on with it, --force replaces it"),
                 "/dev/full")
    for words, status in ((("--budget", "1x"), 2), (("--budget", "2s"), 1), (("--largest", "1G"), 2),
                          (("--resume", "--force"), 2)):
        checks.equal(calibrate(target, os.path.join(work, "x.json"), *words).status, status,
                     f"{words}")
    checks.equal(os.listdir(target), [], "wrong usage leaves nothing")


def checkStorage(checks, work):
    """The document and the text say whether accesses were of the storage or of memory, by what the device
    counted, and a calibration that goes on adds to both."""
    with devices.ext4(work, "disk", 512) as disk:
        for cache, part in (("direct", "storage"), ("cached", "memory")):
            output = os.path.join(work, f"{cache}.json")
            more = ("--cache", cache, "--processes", 1, "--largest", "64K", "--accesses", 20)
            done = calibrate(disk.mount_point, output, *more, "--budget", "6s")
            checks.equal(done.status, 0, f"{cache}: {done}")
            found = document(output)
            [storage] = found["storage"]
            checks.equal((found["measured"], storage["known"], storage["nodes"][0]["kind"]),
                         (part, True, "devices"), f"{cache}: {storage}")
            moved = {"read_bytes": 0, "written_bytes": 0}
            for cell in found["cells"]:
                kind = "read_bytes" if cell["operation"] == "read" else "written_bytes"
                moved[kind] += cell["bytes"] * cell["all"]["accesses"]
            moved["read_bytes"] += sum(4096 * one["accesses"] for one in found["references"])
            checks.equal(storage["calls"], moved, f"{cache}: what accesses moved")
            if cache == "direct":
                for kind, count in moved.items():
                    checks.that(storage[kind] >= 0.98 * count, f"{cache}: {kind}: {storage[kind]} of {count}")
            checks.that("Storage: calls read " in done.out.decode(), f"{cache}: {done}")
            done = calibrate(disk.mount_point, output, *more, "--budget", "12s", "--resume")
            checks.equal(done.status, 0, f"{cache}, resumed: {done}")
            [later] = document(output)["storage"]
            for kind, count in storage["calls"].items():
                checks.that(later["calls"][kind] >= count and later[kind] >= storage[kind],
                            f"{cache}, resumed: {later} after {storage}")


def main():
    needSlowStorage()
    checks = Checks()
    with WorkDirectory() as work:
        for case in (checkLatencies, checkProcesses, checkCacheStates, checkNames, checkBudget,
                     checkInterruptions, checkRoom, checkStorage):
            began = time.monotonic()
            with checks.case(case.__name__):
                case(checks, work)
            print(f"{case.__name__}: {time.monotonic() - began:.0f} s", flush=True)
    checks.finish()


devices.runOrSkip(main)
