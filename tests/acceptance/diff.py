"""omnio diff: a trace with itself, two runs that differ in a known way, and an application with its
replays, as recorded and with sizes scaled by two; repeats of both sides; phases."""

import json
import os
import sys

from omnio_testing import Checks, WorkDirectory, emptied, mpirun, omnio, program, run, trace

WRITE = """
import os, sys
size, count = map(int, sys.argv[1:])
fd = os.open("data", os.O_WRONLY | os.O_CREAT)
for turn in range(count): os.write(fd, bytes(size))
os.close(fd)
"""


def diffOf(checks, a, b, *options, status=0):
    result = run([omnio(), "diff", a, b, "--json", *options])
    checks.equal(result.status, status, f"diff {a} {b} {options}: {result}")
    return json.loads(result.out), result


def amounts(document, table, name):
    """(calls, bytes) of both sides."""
    line = next(line for line in document[table] if line["name"] == name)
    return [(side["calls"], side["bytes_read"] + side["bytes_written"]) if side else None
            for side in (line["a"], line["b"])]


def traced(checks, work, name, words):
    """In a directory of its own. What Python reads for itself is left out."""
    to, directory = os.path.join(work, name + ".trace"), emptied(os.path.join(work, name))
    result = trace(to, words, options=["--exclude", "/*", "--include", work + "/*"], cwd=directory)
    checks.equal(result.status, 0, f"{name}: {result}")
    return to


def checkItself(checks, to):
    document, _ = diffOf(checks, to, to, "--tolerance", "0")
    for table in ("classes", "calls", "files", "ranks"):
        checks.that(document[table], f"{table} of a trace")
        checks.equal([line for line in document[table] if line["a"] != line["b"]], [], table)
    result = run([omnio(), "diff", to, to])
    checks.that(b" alike" in result.out and b"%" not in result.out, f"with itself: {result}")


def checkChange(checks, before, after):
    document, result = diffOf(checks, before, after, "--tolerance", "10%", status=3)
    checks.equal(amounts(document, "classes", "write"), [(512, 2 << 20), (2, 2 << 20)], "writes")
    checks.equal(amounts(document, "files", "data"), [(514, 2 << 20), (4, 2 << 20)], "the file")
    checks.that(b"calls of class write differ by -99.6 %: 512 and 2" in result.err, f"{result}")
    checks.that(b"bytes of class" not in result.err, f"{result}")
    document, _ = diffOf(checks, before, after)  # without a tolerance, a difference is not a failure
    checks.equal(document["a"]["total"]["bytes_written"], 2 << 20, "bytes in total")


def checkReplay(checks, work, to, scale):
    schedule, replayed = os.path.join(work, "s.json"), os.path.join(work, f"replay{scale}")
    target = os.path.join(work, f"target{scale}")
    result = run([omnio(), "preprocess", to, "-o", schedule, "--timing", "asap", "--size-scale",
                  str(scale)])
    checks.equal(result.status, 0, f"preprocess: {result}")
    result = run([omnio(), "replay", schedule, "--target", target, "-o", replayed])
    checks.equal(result.status, 0, f"replay: {result}")
    # With a map, and by the working directory of each.
    mapped, _ = diffOf(checks, to, replayed, "--layer", "posix", "--map",
                       f"{os.path.join(work, 'before')}={target}/tree")
    slashed, _ = diffOf(checks, to, replayed, "--layer", "posix", "--map",
                        f"{os.path.join(work, 'before')}/={target}/tree")
    checks.equal(slashed["files"], mapped["files"], "the files, with a slash in the map")
    document, _ = diffOf(checks, to, replayed, "--layer", "posix")
    checks.equal(mapped["files"], document["files"], "the files, with a map")
    checks.equal(amounts(document, "classes", "write"), [(512, 2 << 20), (512, scale * (2 << 20))],
                 f"writes of a replay, sizes times {scale}")
    checks.equal([moved for _, moved in amounts(document, "files", "data")],
                 [2 << 20, scale * (2 << 20)], "the file, and that of the replay")


OUTSIDE = """
import os, sys
for name in ("data", sys.argv[1] + "/outside"):
    fd = os.open(name, os.O_WRONLY | os.O_CREAT)
    os.write(fd, bytes(4096))
    os.close(fd)
"""


def checkReplayNames(checks, work):
    """Files below the working directory and elsewhere have the application's names in a replay."""
    elsewhere = emptied(os.path.join(work, "elsewhere"))
    to = traced(checks, work, "outside", [sys.executable, "-c", OUTSIDE, elsewhere])
    for name, options in (("plain", []), ("mapped", ["--map", f"{elsewhere}=there"])):
        schedule, replayed = (os.path.join(work, f"{name}.json"), os.path.join(work, name + ".replay"))
        result = run([omnio(), "preprocess", to, "-o", schedule, *options])
        checks.equal(result.status, 0, f"preprocess: {result}")
        result = run([omnio(), "replay", schedule, "--target", os.path.join(work, name + ".target"),
                      "-o", replayed])
        checks.equal(result.status, 0, f"replay: {result}")
        document, _ = diffOf(checks, to, replayed, "--layer", "posix")
        for file in ("data", elsewhere + "/outside"):
            checks.equal(amounts(document, "files", file), [(3, 4096)] * 2, f"{name}: {file}")
        names = [line["name"] for line in document["files"]]
        checks.that(not [each for each in names if ".target" in each or "@root" in each],
                    f"{name}: names of the replay: {names}")
        checks.equal((document["a"]["replay"], document["b"]["replay"]), (False, True), "replay")
        # The other way round, and two replays.
        document, _ = diffOf(checks, replayed, to, "--layer", "posix")
        checks.equal(amounts(document, "files", "data"), [(3, 4096)] * 2, f"{name}: B is not one")


def checkRepeats(checks, before, after):
    """Medians, spread and significance, and a tolerance that only counts what surely differs."""
    document, _ = diffOf(checks, *before, "--with", *after, "--tolerance", "10%", status=3)
    write = next(line for line in document["classes"] if line["name"] == "write")
    checks.equal((write["a"]["calls"], write["b"]["calls"]), (512, 2), "medians")
    checks.equal((write["calls"]["differs"], write["calls"]["a_range"]), (True, [512, 512]), "calls")
    checks.equal(write["bytes"]["differs"], False, "bytes")
    checks.equal(len(write["time"]["interval_95"]), 2, "interval of the times")
    checks.equal(len(document["a"]["repeats"]), len(before) - 1, "repeats of A")
    text = run([omnio(), "diff", *before, "--with", *after]).out
    checks.that(document["verdict"].encode() in text and b"95 %" in text, f"{text}")
    # As many runs on both sides that do the same: nothing may be found to differ in calls and bytes.
    document, _ = diffOf(checks, *before, "--with", *before, "--tolerance", "0")
    checks.equal([line for line in document["classes"] if line["time"]["differs"]], [], "with itself")
    # The same runs in another order are other repeats of the same thing.
    result = run([omnio(), "diff", *before, "--with", before[1], before[2], before[0]])
    checks.equal(result.status, 0, f"{result}")
    document, _ = diffOf(checks, *before, "--with", after[0])
    checks.equal(document["totals"][0]["repeats"]["interval_95"], None, "one run")
    checks.that("of one run it is not known" in document["verdict"], document["verdict"])


def checkPhases(checks, work):
    """Two runs of the same program have the same phases; a run with others says so."""
    if mpirun(1) is None:
        checks.skip("phases", "no MPI launcher")
        return
    def made(name, size):
        words = mpirun(4) + [program("c_kernels"), "btio-full", size, "3", "0"]
        to, directory = os.path.join(work, name + ".trace"), emptied(os.path.join(work, name))
        checks.equal(trace(to, words, cwd=directory).status, 0, name)
        return to
    first, second, other = made("p1", "24"), made("p2", "24"), made("p3", "36")
    document, _ = diffOf(checks, first, second)
    checks.that(document["phases"] and not document["phases_missing"], f"{document['phases_missing']}")
    for line in document["phases"]:
        checks.equal(line["a"]["bytes_read"] + line["a"]["bytes_written"],
                     line["b"]["bytes_read"] + line["b"]["bytes_written"], line["name"])
        checks.that(line["a"]["time_ns"] > 0 and line["a"]["bandwidth_mib_s"] > 0, f"{line}")
    document, _ = diffOf(checks, first, other)
    checks.equal(document["phases"], [], "other phases")
    checks.that("the phases are not the same" in document["phases_missing"], document["phases_missing"])
    document, _ = diffOf(checks, first, other, "--phases", "no")
    checks.equal((document["phases"], document["phases_missing"]), ([], ""), "--phases no")


def checkRefusals(checks, work, to):
    for words, status, sentence in (
            ([to, os.path.join(work, "none")], 1, b"none"), ([to], 2, b"1 trace is given"),
            ([to, to, to], 2, b"3 traces are given"),
            ([to, to, "--with", to, "--tolerance", "5%"], 2, b"one run of a side"),
            ([to, to, "--tolerance", "much"], 2, b"percent"),
            ([to, to, "--map", "nothing"], 2, b"FROM=TO")):
        result = run([omnio(), "diff", *words])
        checks.equal(result.status, status, f"{words}: {result}")
        checks.that(sentence in result.err, f"{words}: {result}")


def main():
    checks = Checks()
    with WorkDirectory() as work:
        python = [sys.executable, "-c", WRITE]
        before = traced(checks, work, "before", [*python, "4096", "512"])
        after = traced(checks, work, "after", [*python, str(1 << 20), "2"])
        checkItself(checks, before)
        checkChange(checks, before, after)
        checkRefusals(checks, work, before)
        checkRepeats(checks,
                     [before, *(traced(checks, work, f"before{turn}", [*python, "4096", "512"])
                                for turn in (2, 3))],
                     [after, *(traced(checks, work, f"after{turn}", [*python, str(1 << 20), "2"])
                               for turn in (2, 3))])
        checkPhases(checks, work)
        if program("omnio-replay") is None and not os.path.exists(
                os.path.join(os.path.dirname(omnio()), "..", "replay", "omnio-replay")):
            checks.skip("replays", "no omnio-replay")
            return checks.finish()
        for scale in (1, 2):
            checkReplay(checks, work, before, scale)
        checkReplayNames(checks, work)
    return checks.finish()


if __name__ == "__main__":
    main()
