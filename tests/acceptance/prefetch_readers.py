"""The readers of bench/prefetch.py read what they say in the order that they say, whether they tell the
kernel of it or not, and slowfs --cache is the storage that they need: its pages stay over an open, another
process can fill them, and the kernel reads strided requests as they are.

  prefetch_readers.py [CASE...]    all cases by default
"""

import json
import os

from omnio_testing import program, readLog, run, runCases, skipTest, trace, until
from slow_storage import SlowStorage, whyNotSlow

REQUEST, STRIDE, COLUMNS, REQUESTS = 4096, 8192, 5, 60
WORD = (1 << 64) - 1


def mixed(value):
    value = (value + 0x9e3779b97f4a7c15) & WORD
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9 & WORD
    value = (value ^ value >> 27) * 0x94d049bb133111eb & WORD
    return value ^ value >> 31


def checksumOf(path, offsets, bytes_each):
    """As the readers have it: the words of a request are added, and mixed into the sum so far."""
    checksum = 0
    with open(path, "rb") as file:
        for offset in offsets:
            file.seek(offset)
            words = memoryview(file.read(bytes_each)).cast("Q")
            checksum = mixed(checksum ^ sum(words) & WORD)
    return f"{checksum:016x}"


def offsetsOf(pattern):
    if pattern == "strided1":
        return [(1 + i) * STRIDE for i in range(REQUESTS)]
    if pattern == "strided2":
        return [(row * (COLUMNS + 2) + column + 1) * STRIDE
                for row in range(REQUESTS // COLUMNS) for column in range(COLUMNS)]
    if pattern == "composition":
        records = [1]
        while len(records) < REQUESTS:
            records.append(records[-1] + (1, 8, 1, 14)[(len(records) - 1) % 4])
        return [record * STRIDE for record in records]
    return [i * REQUEST for i in range(REQUESTS)]


def made(checks, work):
    """A file for all patterns."""
    path = os.path.join(work, "data")
    done = run([program("c_prefetch_reader"), "make", path, "--bytes", REQUESTS * 24 // 4 * STRIDE + REQUEST])
    checks.equal(done.status, 0, f"make: {done}")
    return path


def traced(checks, work, words, path):
    """(what the program printed, its reads and advice of the file as (pid, call, offset, bytes))."""
    directory = os.path.join(work, "trace")
    run(["rm", "-rf", directory])
    done = trace(directory, words, flavour="serial")
    checks.equal(done.status, 0, f"{done}")
    calls = [(event["pid"], event["call"], event["args"]["offset"],
              event["args"].get("count", event["args"].get("length")))
             for event in readLog(directory)
             if event["call"] in ("pread", "posix_fadvise", "pwrite") and event.get("file") == path]
    return json.loads(done.out) if done.out else None, calls


def of(calls, name):
    return [offset for _, call, offset, _ in calls if call == name]


def reader(pattern, path, *options):
    return [program("c_prefetch_reader"), pattern, path, "--requests", str(REQUESTS), "--request", str(REQUEST),
            "--stride", str(STRIDE), "--columns", str(COLUMNS), *map(str, options)]


def patterns(checks, work):
    path = made(checks, work)
    for pattern in ("strided1", "strided2", "composition", "contiguous"):
        offsets = offsetsOf(pattern)
        found, calls = traced(checks, work, reader(pattern, path), path)
        checks.equal(of(calls, "pread"), offsets, f"{pattern}: offsets")
        checks.equal(found["checksum"], checksumOf(path, offsets, REQUEST), f"{pattern}: checksum")
        told, calls = traced(checks, work, reader(pattern, path, "--ahead", 3), path)
        checks.equal(of(calls, "pread"), offsets, f"{pattern}, ahead: offsets")
        checks.equal(of(calls, "posix_fadvise"), offsets[1:], f"{pattern}, ahead: advice")
        checks.equal([call for _, call, _, _ in calls[:6]],
                     ["posix_fadvise"] * 3 + ["pread", "posix_fadvise", "pread"], f"{pattern}, ahead: order")
        checks.equal(told["checksum"], found["checksum"], f"{pattern}, ahead: checksum")


def atRandom(checks, work):
    path = made(checks, work)
    offsets, sums = {}, {}
    for seed in (1, 2):
        found, calls = traced(checks, work, reader("random", path, "--seed", seed), path)
        offsets[seed], sums[seed] = of(calls, "pread"), found["checksum"]
        blocks = {offset // REQUEST for offset in offsets[seed] if offset % REQUEST == 0}
        checks.equal(len(blocks), REQUESTS, f"seed {seed}: each block once")
        checks.that(max(blocks) < 4 * REQUESTS, f"seed {seed}: {max(blocks)} is no block of the file")
        checks.equal(sums[seed], checksumOf(path, offsets[seed], REQUEST), f"seed {seed}: checksum")
    checks.that(offsets[1] != offsets[2] and sums[1] != sums[2], "two seeds give two orders")
    again, calls = traced(checks, work, reader("random", path, "--seed", 1, "--ahead", 2), path)
    checks.equal((of(calls, "pread"), again["checksum"]), (offsets[1], sums[1]), "the same seed again")


def computing(checks, work):
    path = made(checks, work)
    plain = json.loads(run(reader("strided1", path)).out)
    for options in (["--compute-us", 500], ["--busy", 1000]):
        found = json.loads(run(reader("strided1", path, *options)).out)
        checks.equal(found["checksum"], plain["checksum"], f"{options}: checksum")
        if options[0] == "--compute-us":
            checks.that(found["wall_s"] - found["read_s"] >= 500e-6 * REQUESTS, f"{options}: {found}")
    loops = json.loads(run([program("c_prefetch_reader"), "calibrate"]).out)["loops_per_us"]
    checks.that(loops > 0, f"{loops} loops a microsecond")
    refused = run(reader("strided1", path, "--computing", 1))
    checks.equal((refused.status, refused.err), (2, b"'--computing' is not an option with a number\n"), "an option")


def loader(checks, work):
    """A process has every fourth record of one order, in each epoch."""
    records, processes, epochs = 30, 4, 3
    path, found = made(checks, work), {}
    for ahead in (0, 2):
        words = [program("c_loader"), path, "--records", str(records), "--request", str(REQUEST), "--processes",
                 str(processes), "--epochs", str(epochs), "--ahead", str(ahead)]
        printed, calls = traced(checks, work, words, path)
        by_process = {}
        for pid, call, offset, _ in calls:
            if call == "pread":
                by_process.setdefault(pid, []).append(offset)
        first = sorted(offsets[:len(offsets) // epochs] for offsets in by_process.values())
        for offsets in by_process.values():
            checks.equal(offsets, offsets[:len(offsets) // epochs] * epochs, "the same order in each epoch")
        checks.equal(sorted(map(len, first)), [7, 7, 8, 8], "shares")
        checks.equal(sorted(sum(first, [])), [i * REQUEST for i in range(records)], "each record once")
        sums = sum(int(checksumOf(path, share * epochs, REQUEST), 16) for share in first) & WORD
        checks.equal(printed["checksum"], f"{sums:016x}", "checksum")
        found[ahead] = (printed["requests"], printed["checksum"], first)
    checks.equal(found[2], found[0], "with advice")


def restart(checks, work):
    if program("c_hdf5_restart") is None:
        checks.skip("restart", "no HDF5 here")
        return
    variables, steps, chunk = 5, 6, 64 << 10
    path = os.path.join(work, "restart.h5")
    words = [program("c_hdf5_restart"), "MODE", path, "--variables", str(variables), "--steps", str(steps)]
    _, calls = traced(checks, work, [word.replace("MODE", "write") for word in words], path)
    written = [offset for _, call, offset, length in calls if call == "pwrite" and length == chunk]
    checks.equal(len(written), variables * steps, "chunks that were written")
    checks.equal(written, sorted(written), "chunks are in the order of the steps")
    wanted = [written[step * variables + v] for v in reversed(range(variables)) for step in range(steps)]
    for options in ([], ["--ahead", "4"]):
        found, calls = traced(checks, work, [word.replace("MODE", "read") for word in words] + options, path)
        offsets = [offset for _, call, offset, length in calls if call == "pread" and length == chunk]
        checks.equal(offsets, wanted, f"{options}: variable by variable from the last")
        checks.equal(found["checksum"], checksumOf(path, wanted, chunk), f"{options}: checksum")
        checks.equal(of(calls, "posix_fadvise"), wanted[1:] if options else [], f"{options}: advice")


def storage(checks, work):
    """Counts what reaches slowfs; its latencies are tested by slowfs.py."""
    if why := whyNotSlow():
        checks.skip("storage", why)
        return
    each = 64 << 10
    with SlowStorage(work, "--cache") as slow:
        path = os.path.join(slow.path, "data")
        made(checks, slow.backing)
        words = [program("c_prefetch_reader"), "strided1", path, "--requests", "3", "--stride", str(128 << 10)]
        # The first request of a file is at a stride: the kernel reads ahead at offset 0.
        offsets = [(1 + i) * (128 << 10) for i in range(3)]

        def reads(what, requests):
            before = slow.counts()
            done = run(words)
            after = slow.counts()
            checks.equal(json.loads(done.out)["checksum"], checksumOf(os.path.join(slow.backing, "data"), offsets,
                                                                      each), f"{what}: checksum")
            checks.equal((after["requests"]["READ"] - before["requests"]["READ"],
                          after["bytes_read"] - before["bytes_read"]), (requests, requests * each), what)

        def forget():
            with open(path, "rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

        reads("nothing in the cache", 3)
        reads("pages stay over an open", 0)
        forget()
        reads("after the pages were dropped", 3)
        forget()
        served = slow.counts()["requests"]["READ"]
        with open(path, "rb") as file:  # another process than the reader
            for offset in offsets:
                os.posix_fadvise(file.fileno(), offset, each, os.POSIX_FADV_WILLNEED)
        until(lambda: slow.counts()["requests"]["READ"] == served + 3, "advice reaches the storage")
        reads("after the advice of another process", 0)
        forget()
        with open(path, "rb") as file:
            for offset in offsets:
                os.pread(file.fileno(), each, offset)
        reads("after reads of another process", 0)


def main():
    if program("c_prefetch_reader") is None:
        skipTest("the readers were not built")
    runCases(patterns, atRandom, computing, loader, restart, storage, needs_mpi=False)


if __name__ == "__main__":
    main()
