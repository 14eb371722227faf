#!/usr/bin/env python3
"""The estimate by IOR beside that of the phase runner, family by family of phases.

    bench/estimates/ior_families.py [--target NAME]... [--program NAME]... [--runs N] [--build DIR]

The targets are a tmpfs, an ext4 on a loop device, and slowfs with 20 ms for a read, write and sync,
and 1 ms for other calls. Each program (tests/programs/c_kernels.c) is recorded once in memory, and a model
made of that. Then, by turns, N times each (3): the program on the target, traced, the phase runner, and
the scripts of `omnio ior` with one iteration. A row is a line of `omnio phases`: the medians of its
time in the application, by the phase runner and by IOR. Needs root, what scripts/setup.sh installs, and
`ior` on the path, or the variable IOR.
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import sys

from estimates import TOP, Failed, fresh, ok, total, useBuild, wakefulProcessors
from omnio_testing import emptied, environment, mpirun, omnio, program, run
from targets import Loop, Memory, Slow, us
from workloads import YIELD

# Name -> size and steps of the kernel, and messages between two steps.
PROGRAMS = {"btio-full": (64, 12, 20), "btio-simple": (12, 2, 20), "madbench": (768, 8, 0),
            "s3d": (40, 3, 20), "hacc-shared": (200000, 3, 20)}
RANKS, PAUSE_MS = 4, 0
# How many times as many steps a target wants, for its times to be more than chance.
MORE_STEPS = {"tmpfs": 4, "ext4": 4, "slow": 1}
TARGETS = {"tmpfs": Memory, "ext4": lambda work, name: Loop(work, name, "ext4", {}),
           "slow": lambda work, name: Slow(work, name, *us(20000, 20000, 1000, 20000))}


def kindOf(phase):
    """As omnio ior can express it."""
    operations = phase["operations"]
    if any("nested" in each for each in operations):
        return "nested"
    if any("smallest_bytes" in each for each in operations):
        return "varying"
    mode = phase["mode"]
    return f"mixed, {mode}" if len(operations) > 1 else mode


class Row:
    def __init__(self, work, memory, target, name):
        self._work, self._target, self._name = work, target, name
        self.model = os.path.join(work, "model.json")
        self.traced(memory, self.model, "yes")
        self._scripts = emptied(os.path.join(work, "ior"))
        ok(run([omnio(), "ior", self.model, "--iterations", "1", "--emit", self._scripts]), "omnio ior")
        with open(os.path.join(self._scripts, "ior-plan.json"), encoding="utf-8") as text:
            self.plan = json.load(text)

    def traced(self, target, model, schedule):
        directory, trace = fresh(target), os.path.join(self._work, "trace")
        shutil.rmtree(trace, ignore_errors=True)
        size, steps, events = PROGRAMS[self._name]
        steps *= MORE_STEPS[self._target.name]
        words = [str(word) for word in (size, steps, PAUSE_MS, events)]
        ok(run([omnio(), "trace", "-o", trace, "--", *mpirun(RANKS), program("c_kernels"), self._name,
                *words], cwd=directory, env=environment(**YIELD), timeout=900), self._name)
        ok(run([omnio(), "phases", trace, "-o", model, "--schedule", schedule], timeout=600),
           "omnio phases")
        with open(model, encoding="utf-8") as text:
            return json.load(text)

    def application(self):
        found = self.traced(self._target, os.path.join(self._work, "truth.json"), "no")
        return {phase["id"]: total(phase["measured"]) for phase in found["phases"]}

    def _estimated(self, results):
        done = ok(run([omnio(), "estimate", self.model, results, "--json"]), "omnio estimate")
        return {phase["phase"]: phase["time_io_s"]["median"] for phase in json.loads(done.out)["phases"]}

    def byRunner(self):
        self._target.fresh()
        results = os.path.join(self._work, "results.json")
        ok(run([*mpirun(RANKS), os.environ["OMNIO_TEST_PHASE_RUN"], self.model, "--target",
                self._target.path, "-o", results], env=environment(**YIELD), timeout=900),
           "omnio-phase-run")
        return self._estimated(results)

    def byIor(self):
        self._target.fresh()
        results = emptied(os.path.join(self._work, "ior.results"))
        ok(run(["sh", os.path.join(self._scripts, "run-all.sh")], timeout=900,
               env=environment(TARGET=self._target.path, RESULTS=results, **YIELD,
                               LAUNCHER=" ".join(mpirun(1)[:-2]))), "run-all.sh")
        return self._estimated(f"{results}/ior-plan.json")


def measure(work, memory, target, name, runs):
    row = Row(work, memory, target, name)
    found = {"application": [], "runner": [], "ior": []}
    for _ in range(runs):
        found["application"].append(row.application())
        found["runner"].append(row.byRunner())
        found["ior"].append(row.byIor())
    with open(row.model, encoding="utf-8") as text:
        phases = {phase["id"]: phase for phase in json.load(text)["phases"]}
    starts, families = len(row.plan["runs"]), row.plan["families"]
    print(f"{target.name}, {name}: {starts} starts of IOR for {len(families)} families of "
          f"{len(phases)} phases", file=sys.stderr)
    for family in families:
        ids = family["phases"]
        times = {what: statistics.median(sum(each.get(i, float("nan")) for i in ids) for each in all_)
                 for what, all_ in found.items()}
        kinds = "+".join(each["operation"] for each in phases[ids[0]]["operations"])
        shown = f"{ids[0]}" if len(ids) == 1 else f"{ids[0]} to {ids[-1]} ({len(ids)})"
        print(f"| {target.name} | {name} | {shown} | {kinds}, {kindOf(phases[ids[0]])} | "
              f"{times['application']:.4f} | {times['runner']:.4f} | {times['ior']:.4f} | "
              f"{100 * (times['ior'] / times['runner'] - 1):+.1f} % |", flush=True)
    sums = {what: statistics.median(sum(each.values()) for each in all_)
            for what, all_ in found.items()}
    print(f"| {target.name} | {name} | all | {starts} starts, {len(families)} families | "
          f"{sums['application']:.4f} | {sums['runner']:.4f} | {sums['ior']:.4f} | "
          f"{100 * (sums['ior'] / sums['runner'] - 1):+.1f} % |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", action="append", choices=list(TARGETS))
    parser.add_argument("--program", action="append", choices=list(PROGRAMS))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--build", type=os.path.abspath,
                        default=os.path.join(TOP, "build", "release"))
    words = parser.parse_args()
    if shutil.which(os.environ.get("IOR", "ior")) is None:
        sys.exit("ior is not on the path, and IOR does not name it")
    useBuild(words.build)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what is mounted is unmounted
    work = os.path.join(words.build, "ior_families.work")
    os.makedirs(work, exist_ok=True)
    print("| target | program | phases | operations | application s | phase runner s | IOR s | IOR to the "
          "runner |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    with wakefulProcessors(), Memory(work, "memory") as memory:
        for name in words.target or TARGETS:
            with TARGETS[name](work, name) as target:
                for what in words.program or PROGRAMS:
                    try:
                        measure(work, memory, target, what, words.runs)
                    except Failed as problem:
                        print(f"{name}, {what}: {problem}", file=sys.stderr)
    shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
