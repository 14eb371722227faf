"""The campaign that compares replays with applications (bench/fidelity): its figures on known
numbers, its tables, and a run with two short rows, which is taken up again where it was ended. No
check looks at how long anything took.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

from omnio_testing import (PATIENCE_S, Checks, WorkDirectory, environment, mpirun, needRoot,
                           program, run, skipTest)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CAMPAIGN = os.path.join(ROOT, "bench", "fidelity", "fidelity.py")
BUILD = os.path.dirname(os.path.dirname(os.environ.get("OMNIO_TEST_PROGRAMS", "")))
sys.path.append(os.path.dirname(CAMPAIGN))

# pylint: disable=wrong-import-position
import figures
import measure
import tables
import targets


def rowOf(application, replay, workload="token", start="tmpfs", to="slow", **more):
    return {"workload": workload, "from": start, "to": to, "timing": "dt", "order": "all",
            "rounds": len(application), "factor": 4, "ranks": 2, "application": application,
            "replay": replay, "share": 0.75, "differences": 0, **more}


def checkFigures(checks):
    checks.equal(figures.median([3.0, 1.0, 2.0]), 2.0, "median of three")
    checks.equal(figures.median([4.0, 1.0, 2.0, 3.0]), 2.5, "median of four")
    # The deviations are -1, 0 and 1, so that of the sample is 1.
    checks.equal(figures.variation([9.0, 10.0, 11.0]), 10.0, "variation")
    checks.equal(figures.variation([5.0]), 0.0, "variation of one value")
    checks.equal(round(figures.bias([2.0, 2.0, 9.0], [1.0, 3.0, 3.0]), 9), 50.0, "bias of medians")
    checks.equal(round(figures.bias([4.0], [3.0]), 9), -25.0, "bias of a replay that is too fast")
    checks.equal(figures.spread([9.0, 10.0, 12.0]), 30.0, "spread")
    for one, other, meets in (([1, 2], [2, 3], True), ([1, 2], [3, 4], False),
                              ([3, 4], [1, 2], False), ([1, 9], [4, 5], True)):
        checks.equal(figures.overlap(one, other), meets, f"overlap of {one} and {other}")


def checkRanking(checks):
    slow, quick = rowOf([9.0, 11.0], [10.0]), rowOf([1.0, 2.0], [1.5], to="quick")
    checks.equal(figures.ranking([slow, quick]), (1, []), "ranking as the application")
    wrong = {**quick, "replay": [12.0]}
    checks.equal(figures.ranking([slow, wrong]), (1, [(wrong, slow)]), "ranking otherwise")
    checks.equal(figures.ranking([slow, {**wrong, "application": [10.5, 12.0]}]), (0, []),
                 "ranking where the intervals overlap")
    checks.equal(figures.ranking([slow, {**wrong, "to": "slow"}]), (0, []), "one target")
    checks.equal(figures.ranking([slow, {**wrong, "workload": "small"}]), (0, []), "two workloads")
    checks.equal(figures.ranking([slow, {**wrong, "factor": 8}]), (0, []), "two lengths")
    longer = {**quick, "factor": 8, "application": [9.0, 30.0],
              "at_first": {key: wrong[key] for key in ("factor", "application", "replay")}}
    compared, found = figures.ranking(figures.atFirst([slow, longer]))
    checks.equal((compared, len(found)), (1, 1), "a row that was made longer, as at first")
    unsteady = {**longer, "application": [10.0, 10.0], "replay": [10.0, 20.0]}
    steady = {**longer, "application": [10.0, 10.0], "replay": [9.0, 9.0]}
    for row, lengths in ((slow, []), (unsteady, []), (steady, [8]), (rowOf([2.0, 2.0], [3.0]), [4])):
        checks.equal([one["factor"] for one in figures.steadyLengths([row], 5)], lengths, f"steady lengths of {row}")
    both = {**steady, "at_first": {"factor": 4, "application": [9.0, 9.0], "replay": [9.0, 9.1]}}
    checks.equal([one["factor"] for one in figures.steadyLengths([both], 5)], [8, 4], "steady at both lengths")


def checkTables(checks):
    rows = [rowOf([2.0, 2.0], [2.1]), rowOf([1.0, 1.0], [0.8], to="quick", share=0.25),
            rowOf([1.0, 2.0], [9.0], to="even"),
            {**rowOf([2.0, 2.0], [3.0]), "order": "none"},
            {"workload": "small", "from": "tmpfs", "to": "slow", "timing": "dt", "order": "all",
             "failed": "small on slow: status 1"}]
    text = tables.document(rows, {"gluster": "glusterd is not installed"})
    for line in (
            f"4 rows; 1 left out because the application varies by more than {measure.VARIES_PERCENT} %; 1 failed.",
            "Mean error 12.5 %, worst 20.0 % (token, tmpfs → quick). In 1 of 2 rows at least half of "
            "the time is I/O or waiting for it.",
            "| tmpfs → slow | 1 | 5.0 % | 5.0 % |",
            "| token | 2 | 12.5 % | 20.0 % |",
            "| token | tmpfs → slow | 4 | 2.000 | 0.0 % | 2.100 | 0.0 % | +5.0 % | 75 % |  |",
            "| small | tmpfs → slow |  |  |  |  |  |  |  | failed: small on slow: status 1 |",
            "| workload | recorded → replayed | dt | dt, no order |",
            "| token | tmpfs → slow | +5.0 % | +50.0 % |",
            "Left out: gluster (glusterd is not installed)."):
        checks.that(line in text.splitlines(), f"the tables have '{line}'")
    checks.that("left out: the application varies" in text, "the tables name a row that varies")


def checkTimeWithoutStorage(checks):
    """Rank 0 computes 10 ns before each of two calls; rank 1 starts 5 ns after the first of them,
    computes 30 ns by then, and waits 7 ns more than is known for its second call."""
    def event(start, end, **more):
        return {"start": start, "end": end, "command": "pwrite64", **more}
    schedule = {"ranks": [
        {"threads": [{"events": [event(10, 510, compute=10, id=1), event(520, 900, compute=10)]}]},
        {"threads": [{"events": [
            event(515, 600, compute=30, after=[{"id": 1, "compute": 4, "communication": 1}]),
            event(607, 700)]}]}]}
    checks.equal(round(measure.timeWithoutStorage(schedule) * 1e9), 27, "time without storage")
    schedule["ranks"][0]["threads"][0]["events"][0]["after"] = [2]
    schedule["ranks"][1]["threads"][0]["events"][0]["id"] = 2
    try:
        measure.timeWithoutStorage(schedule)
        checks.that(False, "a circle is refused")
    except measure.Failed as problem:
        checks.equal(str(problem), "the events of the schedule wait for each other in a circle",
                     "a circle")


def campaign(results, *options, **more):
    return run([sys.executable, CAMPAIGN, "--build", BUILD, "--results", results, *options],
               timeout=1200, **more)


def checkUsage(checks, work):
    for options, sentence in (
            (["--workloads", "tokens"], "--workloads: 'tokens' is not a workload; these are: checkpoi"),
            (["--pairs", "tmpfs"], "--pairs: 'tmpfs' has to be FROM:TO, as in tmpfs:slow"),
            (["--pairs", "tmpfs:disk"], "--pairs: 'disk' is not a target; these are: tmpfs, quick, "),
            (["--rounds", "0"], "argument --rounds: '0' is not a whole number above 0"),
            (["--table"], f"{work}/none has no rows.jsonl; run the campaign first")):
        wrong = campaign(os.path.join(work, "none"), *options)
        checks.equal(wrong.status, 2, f"{options}: status")
        checks.that(sentence in wrong.err.decode(), f"{options}: {wrong.err.decode()!r}")


def rowsIn(results):
    with open(os.path.join(results, "rows.jsonl"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def checkRun(checks, work):
    """Two rows, a run that finds one of them done, and a target that is missing."""
    results = os.path.join(work, "results")
    short = ["--workloads", "token", "--rounds", "2", "--doublings", "0", "--no-modes"]
    first = campaign(results, *short, "--pairs", "tmpfs:quick")
    if not checks.equal(first.status, 0, f"first run: {first}"):
        return
    rows = rowsIn(results)
    checks.equal([(row["workload"], row["from"], row["to"], len(row["application"]),
                   len(row["replay"]), row["differences"]) for row in rows],
                 [("token", "tmpfs", "quick", 2, 2, 0)], "first run: rows")
    checks.that(all(time > 0 for time in rows[0]["application"] + rows[0]["replay"]),
                f"first run: {rows[0]}")
    checks.that(0 <= rows[0]["share"] <= 1, f"share of I/O: {rows[0]['share']}")

    # The end of a line that was being written when a run was killed.
    with open(os.path.join(results, "rows.jsonl"), "a", encoding="utf-8") as file:
        file.write('{"workload": "tok')
    # Without its programs, GlusterFS is missing; it has to be named, and the rest goes on.
    empty = os.path.join(work, "empty")
    os.makedirs(empty)
    for name in ("mpirun", "python3", "mount", "umount", "sync"):
        where = run(["which", name]).out.decode().strip()
        os.symlink(where, os.path.join(empty, name))
    second = campaign(results, *short, "--pairs", "tmpfs:gluster,tmpfs:quick,quick:tmpfs",
                      env=environment(PATH=empty))
    checks.equal(second.status, 0, f"second run: {second}")
    text = second.out.decode()
    checks.that("LEFT OUT tmpfs:gluster: gluster: glusterd is not installed" in text,
                f"a missing target is named: {text}")
    checks.that("token tmpfs:quick dt:" not in text, "a row that is there is not measured again")
    checks.that("token quick:tmpfs dt:" in text, "the row that was missing is measured")
    with open(os.path.join(results, "rows.jsonl"), encoding="utf-8") as file:
        checks.equal(len(file.read().splitlines()), 3, "the broken line and the new row are apart")
    table = campaign(results, "--table")
    checks.equal(table.status, 0, "table: status")
    checks.that("Left out: gluster (glusterd is not installed)." in table.out.decode() and
                "| token | quick → tmpfs |" in table.out.decode(), f"table: {table.out.decode()}")
    checks.that("rows.jsonl:2: not a row, and left out" in table.err.decode(), "the broken line")


def mountsBelow(pid):
    """The mounts of a campaign, whose directory's name tells nothing of its process."""
    with open(f"/proc/{pid}/mounts", encoding="utf-8") as file:
        return [line.split()[1] for line in file if "/omnio-fidelity-" in line.split()[1]]


def processesIn(directories):
    """The processes whose working directory is below one of them, or was until it was unmounted."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            where = os.readlink(f"/proc/{pid}/cwd")
            if any(where.startswith(directory) for directory in directories):
                found.append(pid)
    return found


def checkInterrupted(checks, work):
    """A campaign that is told to end takes down what it mounted, and what it started."""
    before = set(mountsBelow("self"))
    with subprocess.Popen(
            [sys.executable, CAMPAIGN, "--build", BUILD, "--results", os.path.join(work, "ended"),
             "--workloads", "token", "--pairs", "tmpfs:quick", "--no-modes", "--rounds", "50"],
            env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        deadline = time.monotonic() + PATIENCE_S
        mounted = set()
        while len(mounted) < 3 and time.monotonic() < deadline:
            time.sleep(0.02)
            mounted = set(mountsBelow("self")) - before
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=PATIENCE_S)
    checks.that(len(mounted) >= 3, f"the targets were mounted: {mounted}; {out.decode()}")
    checks.equal(process.returncode, 128 + signal.SIGTERM, f"ended by a signal: {out.decode()}")
    checks.equal(set(mountsBelow("self")) & mounted, set(), "mounts that remain")
    checks.equal(processesIn(mounted), [], "processes that remain")


def main():
    checks = Checks()
    checkFigures(checks)
    checkRanking(checks)
    checkTables(checks)
    checkTimeWithoutStorage(checks)
    needRoot()
    if mpirun(1) is None or program("c_workloads") is None:
        skipTest("there is no MPI")
    with WorkDirectory() as work:
        checkUsage(checks, work)
        if targets.program("slowfs") is None or not os.access("/dev/fuse", os.R_OK | os.W_OK):
            checks.skip("rows", "no slowfs, or no FUSE here")
        else:
            with checks.case("rows"):
                checkRun(checks, work)
            with checks.case("interrupted"):
                checkInterrupted(checks, work)
    checks.finish()


if __name__ == "__main__":
    main()
