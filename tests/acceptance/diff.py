"""omnio diff: a trace with itself, two runs that differ in a known way, and an application with its
replays, as recorded and with sizes scaled by two."""

import json
import os
import sys

from omnio_testing import Checks, WorkDirectory, emptied, omnio, program, run, trace

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
    document, _ = diffOf(checks, to, replayed, "--layer", "posix")
    checks.equal(mapped["files"], document["files"], "the files, with a map")
    checks.equal(amounts(document, "classes", "write"), [(512, 2 << 20), (512, scale * (2 << 20))],
                 f"writes of a replay, sizes times {scale}")
    checks.equal([moved for _, moved in amounts(document, "files", "data")],
                 [2 << 20, scale * (2 << 20)], "the file, and that of the replay")


def checkRefusals(checks, work, to):
    for words, status, sentence in (
            ([to, os.path.join(work, "none")], 1, b"none"), ([to], 2, b"B is"),
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
        if program("omnio-replay") is None and not os.path.exists(
                os.path.join(os.path.dirname(omnio()), "..", "replay", "omnio-replay")):
            checks.skip("replays", "no omnio-replay")
            return checks.finish()
        for scale in (1, 2):
            checkReplay(checks, work, before, scale)
    return checks.finish()


if __name__ == "__main__":
    main()
