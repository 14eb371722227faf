#!/usr/bin/env python3
"""How near estimates of programs with metadata calls alone come to the truth: c_metadata, in the manner of
mdtest, with ranks in directories of their own, in one of all, and with files that are opened, looked at,
closed and removed one by one.

    bench/estimates/metadata.py [--target NAME]... [--mode NAME]... [--ranks N] [--runs N]
                              [--items FACTOR] [--build DIR]

Each program is recorded once on tmpfs, and a model made of that. Then, by turns, N times each (5) on each
target: the program alone, the program traced, and the phase runner. The truth is the time that the first says
it spent in its calls; the second gives that which `omnio phases` finds in a trace. The estimate is what
`omnio estimate` makes of the run of the phase runner. The table has medians with the least and the most, and
the ratio of the medians. The target `twice` has twice the latencies of `once`: the last table says by how
much that lengthens both. Needs root.
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import statistics
import sys

from estimates import TOP, Failed, ok, useBuild, wakefulProcessors
from omnio_testing import emptied, environment, mpirun, omnio, program, run
from targets import Loop, Memory, Slow, us
from workloads import YIELD

MODES = ("own", "shared", "cycle")
LATENCY_US = 1000
# Name -> (maker, items of a rank): for some seconds of I/O.
PLACES = {
    "tmpfs": (Memory, 20000),
    # Not slowed down: the journal goes to the device behind the calls, and fills up where it may not.
    "ext4": (lambda work, name: Loop(work, name, "ext4", {}), 5000),
    "once": (lambda work, name: Slow(work, name, *us(*[LATENCY_US] * 4)), 200),
    "twice": (lambda work, name: Slow(work, name, *us(*[2 * LATENCY_US] * 4)), 200),
}


def traced(work, directory, ranks, mode, items):
    """The model of a run of the program there, and its I/O time."""
    to = os.path.join(work, "trace")
    shutil.rmtree(to, ignore_errors=True)
    base = emptied(os.path.join(directory, "run"))
    ok(run([omnio(), "trace", "-o", to, "--", *mpirun(ranks), program("c_metadata"), base, mode, items],
           env=environment(**YIELD), timeout=1200), f"c_metadata {mode}")
    path = os.path.join(work, f"{mode}.json")
    ok(run([omnio(), "phases", to, "-o", path], timeout=600), "omnio phases")
    with open(path, encoding="utf-8") as file:
        measured = json.load(file)["measured"]
    return path, sum(measured[part] for part in ("data_ns", "metadata_ns", "sync_ns")) * 1e-9


def alone(directory, ranks, mode, items):
    """The seconds that the program, which is not traced, spends in its calls."""
    base = emptied(os.path.join(directory, "run"))
    done = ok(run([*mpirun(ranks), program("c_metadata"), base, mode, items, "timed"],
                  env=environment(**YIELD), timeout=1200), f"c_metadata {mode}, alone")
    return float(done.out.split(b"io_us ")[1].split()[0]) * 1e-6


def estimated(work, directory, ranks, model):
    results = os.path.join(work, "results.json")
    ok(run([*mpirun(ranks), os.environ["OMNIO_TEST_PHASE_RUN"], model, "--target", directory, "-o", results],
           env=environment(**YIELD), timeout=1200), "omnio-phase-run")
    document = json.loads(ok(run([omnio(), "estimate", model, results, "--json"]), "omnio estimate").out)
    return document["total"]["time_io_s"]["median"], document["whole"]["differences"]


def spread(values):
    return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def measureAll(options, work, memory, places):
    """Prints a row for each program and target; returns the medians of both, by target and program."""
    medians = {}
    kept = os.path.join(work, "model")
    os.makedirs(kept, exist_ok=True)
    for mode in options.mode or MODES:
        for name, place in places.items():
            items = max(round(PLACES[name][1] * options.items), 1)
            model, _ = traced(kept, memory.path, options.ranks, mode, items)
            times, traces, estimates, differences = [], [], [], 0
            for _ in range(options.runs):
                place.fresh()
                times.append(alone(place.path, options.ranks, mode, items))
                place.fresh()
                traces.append(traced(work, place.path, options.ranks, mode, items)[1])
                place.fresh()
                estimate, differing = estimated(work, place.path, options.ranks, model)
                estimates.append(estimate)
                differences = max(differences, differing)
            medians[name, mode] = statistics.median(times), statistics.median(estimates)
            print(f"| {name} | {mode} | {items} | {spread(times)} | {spread(traces)} | "
                  f"{spread(estimates)} | "
                  f"{medians[name, mode][1] / medians[name, mode][0]:.3f} | {differences} |", flush=True)
    return medians


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", action="append", choices=list(PLACES))
    parser.add_argument("--mode", action="append", choices=MODES)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--items", type=float, default=1, help="times the usual number")
    parser.add_argument("--build", type=os.path.abspath, default=os.path.join(TOP, "build", "release"))
    words = parser.parse_args()
    useBuild(words.build)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what is mounted is unmounted
    work = os.path.join(words.build, "metadata.work")
    os.makedirs(work, exist_ok=True)
    print("| target | program | items of a rank | application, s | by its trace, s | estimate, s | "
          "estimate / application | differences |\n|---|---|---|---|---|---|---|---|", flush=True)
    with wakefulProcessors(), contextlib.ExitStack() as stack:
        memory = stack.enter_context(Memory(work, "recorded"))
        places = {name: stack.enter_context(PLACES[name][0](work, name))
                  for name in words.target or PLACES}
        try:
            medians = measureAll(words, work, memory, places)
        except Failed as problem:
            sys.exit(f"metadata.py: {problem}")
    if {"once", "twice"} <= set(places):
        print("\n| program | application, twice / once | estimate, twice / once |\n|---|---|---|")
        for mode in words.mode or MODES:
            ratios = [medians["twice", mode][i] / medians["once", mode][i] for i in range(2)]
            print(f"| {mode} | {ratios[0]:.3f} | {ratios[1]:.3f} |", flush=True)
    shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
