"""fio by each of its engines: what stats says of bytes and operations is what fio says itself, or the
trace says that it has not seen all. The replay leaves a file of the same size, and verify finds no
difference. Where not all was seen, the schedule says so, and replay and verify end with status 3
unless they are told to take it as it is.
"""

import itertools
import json
import os
import shutil

from omnio_testing import (Checks, WorkDirectory, byTurns, emptied, mpirun, omnio, readLog, run,
                           skipTest, stats, trace)
from replay_testing import checkRoundTrip, replay

MIB = 4
PATTERNS = (("write", "randread"), ("read", "randwrite"))  # an engine has one pair, or all
# Engines whose transfers are recorded; of the others, a reason of the trace says that they are not.
RECORDED = ("psync", "vsync", "pvsync2", "sync", "libaio", "posixaio", "splice", "mmap")
UNSEEN = {"io_uring": "used io_uring"}
DEPTHS = {"libaio": (1, 16), "posixaio": (1, 16)}


def fio(work, engine, pattern, depth):
    return ["fio", "--name=job", "--filename=data", f"--ioengine={engine}", f"--rw={pattern}",
            f"--iodepth={depth}", "--bs=16k", f"--size={MIB}M", "--thread", "--end_fsync=1", "--randseed=7",
            "--output-format=json", f"--output={os.path.join(work, 'fio.json')}", "--fallocate=none"]


def moved(work):
    """(bytes, operations) of reads and of writes, by fio."""
    with open(os.path.join(work, "fio.json"), encoding="utf-8") as text:
        text = text.read()
    job = json.loads(text[text.index("{"):])["jobs"][0]
    return {kind: (job[kind]["io_bytes"], job[kind]["total_ios"]) for kind in ("read", "write")}


def meanDepth(directory):
    """Operations under way whenever one was begun, that one with them; 0 where there are none."""
    under_way, seen, begun = set(), 0, 0
    for event in sorted(readLog(directory), key=lambda event: event["end_ns"]):
        request = event["args"].get("request")
        if request is None:
            continue
        if "_end" in event["call"]:
            under_way.discard(request)
        else:
            under_way.add(request)
            seen, begun = seen + len(under_way), begun + 1
    return seen / max(begun, 1)


def checkEngine(checks, work, engine, pattern, depth):
    name = f"{engine}-{pattern}-{depth}"
    home = emptied(os.path.join(work, name))
    if "read" in pattern or engine == "mmap":  # else fio lays the file out first
        run(fio(work, "psync", "write", 1), cwd=home)
    if engine in UNSEEN and run(fio(work, engine, pattern, depth), cwd=home).status != 0:
        checks.skip(name, "the system does not allow it")
        return
    directory = os.path.join(work, name + "-trace")
    done = trace(directory, fio(work, engine, pattern, depth), cwd=home)
    if not checks.equal(done.status, 0, f"{name}: {done.err!r}"):
        return
    wanted, report = moved(work), stats(directory)
    reasons = " ".join(report["trace"]["reasons"])
    if engine in UNSEEN:
        checks.that(not report["trace"]["whole"] and UNSEEN[engine] in reasons, f"{name}: {reasons!r}")
        checkLacking(checks, work, name, directory, UNSEEN[engine])
        return
    group = next(group for group in report["groups"] if group["name"].endswith("/data"))
    found = {kind: (group[kind]["size_bytes"]["total"], group["operations"][kind])
             for kind in ("read", "write")}
    if engine == "mmap":  # pages have no operations
        found = {kind: bytes for kind, (bytes, _) in found.items()}
        wanted = {kind: bytes for kind, (bytes, _) in wanted.items()}
    checks.equal(found, wanted, f"{name}: bytes and operations")
    checks.that(report["trace"]["whole"], f"{name}: {reasons}")
    tree = checkRoundTrip(checks, work, name, directory)
    if tree is None:
        return
    checks.equal(os.path.getsize(os.path.join(tree, "data")), MIB << 20, f"{name}: size of the file")
    if engine in DEPTHS:
        recorded, replayed = meanDepth(directory), meanDepth(os.path.join(work, name + "-replayed"))
        checks.that(recorded >= depth / 2, f"{name}: {recorded} operations under way")
        checks.that(abs(replayed - recorded) <= 0.1 * recorded, f"{name}: {replayed} under way, not {recorded}")


def checkLacking(checks, work, name, directory, words):
    schedule, target = os.path.join(work, name + ".json"), os.path.join(work, name + "-target")
    made = run([omnio(), "preprocess", directory, "-o", schedule, "--timing", "asap"])
    checks.equal(made.status, 0, f"{name}: preprocess: {made}")
    with open(schedule, encoding="utf-8") as document:
        left_out = json.load(document)["global"]["source"]["left_out"]
    checks.that(any(words in sentence for sentence in left_out), f"{name}: {left_out}")
    if mpirun(1) is None:
        checks.skip(name, "a replay needs MPI")
        return
    for i, (options, status) in enumerate((((), 3), (("--partial",), 0))):
        output = os.path.join(work, f"{name}-replayed-{i}")
        done = replay(schedule, target, output, "--fresh", *options)
        checks.equal(done.status, status, f"{name}: replay: {done}")
        verified = run([omnio(), "verify", schedule, output, *options])
        checks.equal(verified.status, status, f"{name}: verify: {verified.out.decode()}")
        for result in (done, verified):
            checks.equal(words.encode() in result.err, status == 3, f"{name}: {result.err!r}")


def main():
    if shutil.which("fio") is None:
        skipTest("fio is not installed")
    checks = Checks()
    with WorkDirectory() as work:
        for number, engine in enumerate((*RECORDED, *UNSEEN)):
            for pattern in itertools.chain(*byTurns(number, PATTERNS)):
                for depth in DEPTHS.get(engine, (1,)):
                    with checks.case(f"{engine} {pattern} {depth}"):
                        checkEngine(checks, work, engine, pattern, depth)
    checks.finish()


if __name__ == "__main__":
    main()
