"""fio by each of its engines: what stats says of bytes and operations is what fio says itself, or the
trace says that it has not seen all. The replay leaves a file of the same size, and verify finds no
difference.
"""

import json
import os
import shutil

from omnio_testing import (Checks, WorkDirectory, emptied, run, skipTest, stats, trace)
from replay_testing import checkRoundTrip

MIB = 4
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
    if tree is not None:
        checks.equal(os.path.getsize(os.path.join(tree, "data")), MIB << 20, f"{name}: size of the file")


def main():
    if shutil.which("fio") is None:
        skipTest("fio is not installed")
    checks = Checks()
    with WorkDirectory() as work:
        for engine in (*RECORDED, *UNSEEN):
            for pattern in ("write", "read", "randwrite", "randread"):
                for depth in DEPTHS.get(engine, (1,)):
                    with checks.case(f"{engine} {pattern} {depth}"):
                        checkEngine(checks, work, engine, pattern, depth)
    checks.finish()


if __name__ == "__main__":
    main()
