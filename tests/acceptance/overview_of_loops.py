"""What commands say of a schedule with loops, without a replay: as much as of its events, written out, and of
a thousand million turns in the time and the memory that a thousand take.

  overview_of_loops.py [CASE...]    all cases by default
"""

import json
import os
import subprocess
import sys

from omnio_testing import emptied, environment, mpirun, omnio, program, run, trace
from replay_testing import opened, write
from running_loops import TURNS, at, document, endless, loop, moved, runCases

FEW = 1000
MORE_KIB = 8 * 1024    # resident, than for the few turns; a byte for each turn would be a GiB
MORE_TIMES = 100       # of the processor's time; there are a million times as many turns
LEAST_S = 0.05         # of that, as clocks of processes are coarse
SHOW = ("schedule", "show", "--json")
CHECK = ("schedule", "check", "--json")


def dryRun(work):
    return ("replay", "--target", os.path.join(work, "target"), "-o", os.path.join(work, "out"), "--dry-run",
            "--ignore-free-space", "--json")


def measured(words):
    """Document, seconds of the processor, KiB resident."""
    with subprocess.Popen([omnio(), *words], env=environment(), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        out, err = process.stdout.read(), process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return (json.loads(out) if process.returncode == 0 else None, err.decode(),
            usage.ru_utime + usage.ru_stime, usage.ru_maxrss)


def fewer(item):
    """The same with a millionth of the turns."""
    if isinstance(item, list):
        return [fewer(one) for one in item]
    if "repeat" not in item:
        return item
    turns = item["repeat"] // (TURNS // FEW) if item["repeat"] >= TURNS // 8 else item["repeat"]
    return {**item, "repeat": turns, "body": fewer(item["body"])}


def events(items):
    return sum(item["repeat"] * events(item["body"]) if "repeat" in item else 1 for item in items)


def checkEndless(checks, work):
    path = os.path.join(work, "endless.json")
    for name, ranks in endless():
        for words in (SHOW, CHECK, dryRun(work)):
            with checks.case(f"{name}, {words[1] if words[0] == 'schedule' else 'dry run'}"):
                compareTurns(checks, path, ranks, words)


def compareTurns(checks, path, ranks, words):
    write(path, document(fewer(ranks)))
    few, err, few_s, few_kib = measured([*words, path])
    if not checks.that(few is not None, f"{FEW} turns: {err}"):
        return
    write(path, document(ranks))
    many, err, many_s, many_kib = measured([*words, path])
    if not checks.that(many is not None, f"{TURNS} turns: {err}"):
        return
    print(f"{few_s:.3f} s and {few_kib} KiB, and {many_s:.3f} s and {many_kib} KiB", flush=True)
    checks.that(many_s <= MORE_TIMES * max(few_s, LEAST_S), f"{few_s} s, and {many_s} s of the processor")
    checks.that(many_kib <= few_kib + MORE_KIB, f"{few_kib} KiB, and {many_kib} KiB resident")
    for said, items in ((few, fewer(ranks)), (many, ranks)):
        if "events" in said:
            checks.equal(said["events"], sum(map(events, items)), "events")
    if "total" in many:
        checkTotals(checks, many, ranks)


def checkTotals(checks, many, ranks):
    """Sums of the documents' numbers, by formula."""
    writes = sum(turns for rank in ranks for turns in countsOf(rank, "pwrite64"))
    checks.equal(many["total"]["writes"], writes, "writes")
    operations = sum(sum(countsOf(rank, None)) for rank in ranks)
    checks.equal(many["total"]["operations"], operations, "operations")
    checks.equal([group["operations"] for group in many["groups"]], [sum(countsOf(rank, None)) for rank in ranks],
                 "operations of ranks")
    checks.equal(many["total"]["written_bytes"],
                 sum(size * turns for rank in ranks for size, turns in sizesOf(rank)), "bytes written")


def countsOf(items, call, turns=1):
    for item in items:
        if "repeat" in item:
            yield from countsOf(item["body"], call, turns * item["repeat"])
        elif item["command"] == call or (call is None and item["command"] != "delay"):
            yield turns


def sizesOf(items, turns=1):
    for item in items:
        if "repeat" in item:
            yield from sizesOf(item["body"], turns * item["repeat"])
        elif item["command"] == "pwrite64":
            yield item["count"], turns


def checkSums(checks, work):
    """Sizes that grow with the turn: the sum of all whole numbers below one."""
    path = write(os.path.join(work, "sums.json"), document([[
        at(opened("a", 0)),
        loop(moved(count="{turn}", result="{turn}"), moved(count=3, offset="{3*turn}", result=3), turns=TURNS)]]))
    said, err, _, _ = measured([*SHOW, path])
    if checks.that(said is not None, err):
        checks.equal(said["total"]["written_bytes"], TURNS * (TURNS - 1) // 2 + 3 * TURNS, "bytes written")
        checks.equal(said["duration"]["recorded_ns"], 10 + 2 * TURNS * 15, "recorded")
        checks.equal(said["duration"]["without_io_ns"], 5 + 2 * TURNS * 5, "without I/O")


def checkWrittenOut(checks, work):
    """What only the events tell is refused where they are too many, by all commands with one sentence."""
    line = {"gap": 1, "duration": 1, "command": "dup", "fd": "{turn}", "result": "{turn+1}"}
    path = write(os.path.join(work, "chain.json"), document([[at(opened("a", 0)), loop(line)]]))
    sentences = set()
    for words in (SHOW, CHECK, ("schedule", "expand", "-o", os.path.join(work, "flat.json")), dryRun(work),
                  ("replay", "--target", os.path.join(work, "target"), "-o", os.path.join(work, "out"))):
        if words[0] == "replay" and mpirun(1) is None:
            continue
        done = run([omnio(), *words, path])
        checks.equal(done.status, 1, f"{words[:2]}: {done}")
        sentences.add(done.err.decode())
    checks.that(len(sentences) == 1 and "100000000 turns in all, that have to be written out" in min(sentences),
                f"one sentence: {sentences}")
    checks.that(not os.path.exists(os.path.join(work, "flat.json")), "nothing is written")


def checkTrace(checks, work):
    """The exact times of a recording, in loops and as single lines."""
    recorded = os.path.join(work, "trace")
    if mpirun(1) is None:
        checks.skip("trace", "needs MPI")
        return
    traced = trace(recorded, [*mpirun(4), program("c_mpi_turns"), emptied(os.path.join(work, "run")), "60"])
    if not checks.equal(traced.status, 0, f"trace: {traced}"):
        return
    said = {}
    for form in ("flat", "compact"):
        path = os.path.join(work, f"{form}.json")
        done = run([omnio(), "preprocess", recorded, "-o", path, "--form", form])
        checks.equal(done.status, 0, f"preprocess: {done}")
        said[form] = []
        for words in (CHECK, *((*SHOW, "--by", by) for by in ("rank", "file", "call"))):
            one, err, _, _ = measured([*words, path])
            if checks.that(one is not None, err):
                said[form].append({**one, "schedule": None})
    with open(os.path.join(work, "compact.json"), encoding="utf-8") as compact:
        checks.that('"repeat"' in compact.read(), "the compact form has loops")
    checks.equal(len(said["flat"]), 4, "documents")
    checks.equal(said["compact"], said["flat"], "the compact form")


def main(chosen):
    runCases({"endless": checkEndless, "sums": checkSums, "written out": checkWrittenOut, "trace": checkTrace}, chosen)


if __name__ == "__main__":
    main(sys.argv[1:])
