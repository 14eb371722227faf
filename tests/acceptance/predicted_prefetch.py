"""omnio predict --prefetch says of a trace on plain storage what omnio prefetch does on slow storage: bytes that
are used, for strided reads, a 2-D array and a composition; nothing of random and contiguous ones.

How late the helper is says nothing here: beside it, the readers make each request but for the first few when
it was fetched, or after a second: some request of a helper may be dropped.

  predicted_prefetch.py [CASE...]    all cases by default
"""

import json
import os

from omnio_testing import omnio, program, run, runCases, skipTest, trace
from prediction_cases import predict, predicted
from slow_storage import SlowStorage, whyNotSlow

REQUEST, STRIDE, REQUESTS = 16 << 10, 32 << 10, 600
AWAITED_FROM = 25  # by then all three orders are known
READ_US = 2000


def make(checks, path):
    done = run([program("c_prefetch_reader"), "make", path, "--bytes", REQUESTS * 24 // 4 * STRIDE + REQUEST])
    checks.equal(done.status, 0, f"make: {done}")


def reader(pattern, path, *options):
    return [program("c_prefetch_reader"), pattern, path, "--requests", str(REQUESTS), "--request", str(REQUEST),
            "--stride", str(STRIDE), "--columns", "5", *map(str, options)]


def traced(checks, work, pattern, *options):
    """The directory of a trace of the reader on plain storage."""
    path = os.path.join(work, "data")
    if not os.path.exists(path):
        make(checks, path)
    directory = os.path.join(work, f"{pattern}.trace")
    run(["rm", "-rf", directory])
    checks.equal(trace(directory, reader(pattern, path, *options), flavour="serial").status, 0, "trace")
    return directory


def asItIsDone(checks, work):
    if why := whyNotSlow():
        checks.skip("asItIsDone", why)
        return
    with SlowStorage(work, "--cache", "--read-us", READ_US) as slow:
        make(checks, os.path.join(slow.backing, "data"))
        path = os.path.join(slow.path, "data")
        for pattern in ("strided1", "strided2", "composition"):
            said = predicted(traced(checks, work, pattern), "--prefetch")["total"]
            checks.equal((said["reads"], said["read_bytes"]), (REQUESTS, REQUESTS * REQUEST), f"{pattern}: reads")
            with open(path, "rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            document = os.path.join(work, f"{pattern}.json")
            words = reader(pattern, path, "--compute-us", 1000, "--await", AWAITED_FROM)
            done = run([omnio(), "prefetch", "--json", document, "--", *words])
            checks.equal(done.status, 0, f"{pattern}: {done}")
            with open(document, encoding="utf-8") as file:
                live = json.load(file)
            checks.that(abs(said["used_bytes"] - live["used_bytes"]) <= 0.05 * live["used_bytes"],
                        f"{pattern}: {said['used_bytes']} bytes are used by prediction, {live['used_bytes']} were")
            checks.that(said["used_bytes"] >= 0.95 * REQUESTS * REQUEST, f"{pattern}: most are used: {said}")
            checks.equal(said["prefetched_bytes"], said["used_bytes"] + said["wasted_bytes"], f"{pattern}: the sum")


def nothing(checks, work):
    # Contiguous requests of 64 KiB are the kernel's before they are trusted.
    for pattern, *options in (("random",), ("contiguous", "--request", 64 << 10)):
        document = predicted(traced(checks, work, pattern, *options), "--prefetch")
        total = document["total"]
        checks.equal((total["reads"], total["requests"], total["prefetched_bytes"]), (REQUESTS, 0, 0), pattern)
        for times in total["times"]:
            checks.equal((times["hidden_ns"], times["run_ns"]), (0, times["prefetched_run_ns"]), f"{pattern}: times")


def document(checks, work):
    directory = traced(checks, work, "strided1", "--compute-us", 1000)
    found = predicted(directory, "--prefetch", "--delay-us", "50")
    checks.equal((found["format"], found["version"], found["delay_ns"]), ("omnio-predicted-prefetch", 1, 50_000),
                 "format, version and delay")
    total = found["total"]
    checks.equal([times["as_recorded"] for times in total["times"]], [True] + 5 * [False], "times")
    for times, ratio in zip(total["times"][1:], (0.25, 0.5, 1, 2, 4)):
        checks.that(abs(times["computing_ns"] - ratio * total["read_ns"]) < 10, f"{ratio}: {times}")
        checks.that(times["prefetched_run_ns"] <= times["run_ns"], f"{ratio}: {times}")
    checks.equal([rank["used_bytes"] for rank in found["ranks"]], [total["used_bytes"]], "one rank")
    text = predict(directory, "--prefetch", "--rank", "0").out.decode()
    checks.that(text.count("\n") == 17 and "as recorded" in text, f"text: {text}")


def knownBefore(checks, work):
    """With a model the second read is fetched; without one some are read first."""
    directory = traced(checks, work, "strided2", "--compute-us", 1000)
    model = os.path.join(work, "reader.model")
    checks.equal(predict(directory, "--save-model", model).status, 0, "--save-model")
    anew = predicted(directory, "--prefetch")["total"]
    for known in (["--model", model], ["--learn-from", directory]):
        total = predicted(directory, "--prefetch", *known)["total"]
        checks.that(anew["used_bytes"] < total["used_bytes"] >= (REQUESTS - 2) * REQUEST,
                    f"{known}: used: {total['used_bytes']}, without {anew['used_bytes']}")
    other = trace(os.path.join(work, "other.trace"), ["cat", model], flavour="serial")
    checks.equal(other.status, 0, f"another program: {other}")
    done = predict(os.path.join(work, "other.trace"), "--prefetch", "--model", model)
    checks.that(done.status == 1 and b"says nothing of another" in done.err, f"another program's: {done}")


def wrongUse(checks, work):
    directory = traced(checks, work, "strided1")
    for options, sentence in (
            (["--delay-us", "5"], "--delay-us goes with --prefetch alone"),
            (["--prefetch", "--thread", "0"], "--thread, --path and --window do not go with it")):
        done = predict(directory, *options)
        checks.that(done.status == 2 and sentence.encode() in done.err, f"{options}: {done}")
    for other in (["--at", "0.1"], ["--ahead", "4"], ["--save-model", "x"], ["--plot", "x.svg"]):
        checks.equal(predict(directory, "--prefetch", *other).status, 2, f"with {other}")
    done = predict(directory, "--prefetch", "--rank", "7")
    checks.that(done.status == 1 and b"rank 7" in done.err, f"no such rank: {done}")


def main():
    if program("c_prefetch_reader") is None:
        skipTest("the readers were not built")
    runCases(asItIsDone, nothing, document, knownBefore, wrongUse, needs_mpi=False)


if __name__ == "__main__":
    main()
