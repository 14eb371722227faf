#!/usr/bin/env python3
"""How near estimates by a calibration come to the truth: three targets, five programs.

    bench/estimates/by_calibration.py [--target NAME]... [--program NAME]... [--runs N]
                                      [--budget TIME] [--build DIR] [--results FILE]
    bench/estimates/by_calibration.py --table [--results FILE]

Each target is calibrated (omnio calibrate, of TIME: 3m). Each program is recorded in memory once, and
its schedule made of that; omnio estimate --calibration gives its I/O time on the target from these
two alone. The truth is the I/O time of the slowest rank, in POSIX calls, in N traced runs (5) of the
program on the target, each with a fresh file system. Memory is used once before each run and each
calibration: the host of a virtual machine takes back what has been free for a while, and a page that
it has to give again takes several times as long. A line of results for each is appended to FILE,
and those that are there are not measured again. Needs root and what scripts/setup.sh installs.
"""

import argparse
import contextlib
import json
import mmap
import os
import shutil
import signal
import statistics
import sys

from estimates import TOP, Failed, fresh, ok, useBuild, variation, wakefulProcessors
from omnio_testing import environment, mpirun, omnio, program, run
from targets import TARGETS, Pool
from workloads import YIELD

# Name -> the workload of tests/programs/c_workloads.c, its factor by target, and its ranks.
# The I/O time is a seventh of a second at least.
PROGRAMS = {"checkpoint": ({"tmpfs": 200, "ext4": 12, "even": 16}, 2),
            "btio": ({"tmpfs": 300, "ext4": 200, "even": 80}, 2),
            "metadata": ({"tmpfs": 250, "ext4": 250, "even": 6}, 2),
            "append": ({"tmpfs": 3000, "ext4": 10, "even": 20}, 2),
            "commit": ({"tmpfs": 800, "ext4": 8, "even": 12}, 2)}
PROCESSES = 4  # of the calibration
WITHIN_PERCENT = 15
INSIDE_SHARE = 0.9
WIDEST = 0.3
MEMORY_MIB = 3072  # more than a program or a calibration has in files


def useMemory():
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with mmap.mmap(-1, min(MEMORY_MIB << 20, free // 2),
                   flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE):
        pass


def traced(work, target, name, factor, ranks):
    """The directory of the trace of a run."""
    directory, trace = fresh(target), os.path.join(work, "trace")
    shutil.rmtree(trace, ignore_errors=True)
    useMemory()
    ok(run([omnio(), "trace", "-o", trace, "--", *mpirun(ranks), program("c_workloads"), name,
            str(factor)], cwd=directory, env=environment(**YIELD), timeout=900),
       f"{name} on {target.name}")
    return trace


def truth(work, target, name, factor, ranks):
    trace = traced(work, target, name, factor, ranks)
    done = ok(run([omnio(), "stats", trace, "--layer", "posix", "--by", "rank", "--json"],
                  timeout=600), "omnio stats")
    return max(rank["io_ns"] for rank in json.loads(done.out)["ranks"]) / 1e9


def calibrated(work, target, budget, processes):
    path = os.path.join(work, f"{target.name}.calibration.json")
    if not os.path.exists(path):
        target.fresh()
        useMemory()
        ok(run([omnio(), "calibrate", "--target", target.path, "-o", path, "--budget", budget,
                "--processes", str(processes)], timeout=3600), f"omnio calibrate, {target.name}")
    return path


def estimated(calibration, schedule):
    done = ok(run([omnio(), "estimate", schedule, "--calibration", calibration, "--json"],
                  timeout=600), "omnio estimate")
    return json.loads(done.out)


def compare(work, pool, name, what, words):
    factors, ranks = PROGRAMS[what]
    factor = factors[name]
    target = pool.get(name)
    calibration = calibrated(work, target, words.budget, PROCESSES)
    trace = traced(work, pool.get("tmpfs"), what, factor, ranks)
    schedule = os.path.join(work, "schedule.json")
    ok(run([omnio(), "preprocess", trace, "-o", schedule], timeout=600), "omnio preprocess")
    document = estimated(calibration, schedule)
    own = [truth(work, target, what, factor, ranks) for _ in range(words.runs)]
    return {"target": name, "program": what, "truth_s": own, "estimate": document}


def errorOf(row):
    return 100 * (row["estimate"]["io_s"]["total"] / statistics.median(row["truth_s"]) - 1)


def isNear(row):
    return abs(errorOf(row)) <= max(WITHIN_PERCENT, 2 * variation(row["truth_s"]))


def isCovered(row):
    io = row["estimate"]["io_s"]
    return io["least"] <= statistics.median(row["truth_s"]) <= io["most"]


def show(rows):
    print("| target | program | I/O time s | varies | estimate s | interval | error | near | covered "
          "| within range | model |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        estimate = row["estimate"]
        io = estimate["io_s"]
        print(f"| {row['target']} | {row['program']} | {statistics.median(row['truth_s']):.3f} | "
              f"{variation(row['truth_s']):.1f} % | {io['total']:.3f} | {io['least']:.3f} to "
              f"{io['most']:.3f} | {errorOf(row):+.1f} % | {'yes' if isNear(row) else 'no'} | "
              f"{'yes' if isCovered(row) else 'no'} | {100 * estimate['inside_share']:.0f} % | "
              f"{estimate['model']} |", flush=True)


def sumUp(rows):
    inside = sum(row["estimate"]["inside_share"] >= INSIDE_SHARE for row in rows)
    narrow = sum(row["estimate"]["uncertainty"]["total"] <= WIDEST for row in rows)
    print(f"\nnear: {sum(map(isNear, rows))} of {len(rows)}; covered by the interval: "
          f"{sum(map(isCovered, rows))}; no wider than +-{100 * WIDEST:.0f} %: {narrow}; "
          f"{100 * INSIDE_SHARE:.0f} % of the time within the calibrated range: {inside}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", action="append", choices=list(TARGETS))
    parser.add_argument("--program", action="append", choices=list(PROGRAMS))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--budget", default="3m")
    parser.add_argument("--build", type=os.path.abspath,
                        default=os.path.join(TOP, "build", "release"))
    parser.add_argument("--results", default=os.path.join(TOP, "build", "by_calibration.jsonl"))
    parser.add_argument("--table", action="store_true")
    words = parser.parse_args()
    rows = []
    with contextlib.suppress(FileNotFoundError), open(words.results, encoding="utf-8") as text:
        rows = [json.loads(line) for line in text]
    if not words.table:
        useBuild(words.build)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what is mounted is unmounted
        work = os.path.join(words.build, "by_calibration.work")
        os.makedirs(work, exist_ok=True)
        done = {(row["target"], row["program"]) for row in rows}
        with wakefulProcessors(), Pool(work) as pool:
            for name in words.target or ["tmpfs", "ext4", "even"]:
                for what in words.program or PROGRAMS:
                    if (name, what) in done:
                        continue
                    if pool.get(name) is None:
                        print(f"{name}: not here: {pool.missing[name]}", file=sys.stderr)
                        break
                    try:
                        rows.append(compare(work, pool, name, what, words))
                    except Failed as problem:
                        print(f"{name}, {what}: {problem}", file=sys.stderr)
                        continue
                    with open(words.results, "a", encoding="utf-8") as out:
                        out.write(json.dumps(rows[-1]) + "\n")
    show(rows)
    sumUp(rows)


if __name__ == "__main__":
    main()
