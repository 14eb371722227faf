#!/usr/bin/env python3
"""How near estimates come to the truth: Time_io by the phase runner, from models that were recorded on
another target, beside the application's own I/O time on the target.

    bench/estimates/estimates.py [--target NAME]... [--program NAME]... [--runs N] [--seconds S]
                                 [--build DIR] [--results FILE]
    bench/estimates/estimates.py --table [--results FILE]

For each target and program: the program is sized so that its I/O takes S seconds there (5), recorded
once on tmpfs, and a model made of that. Then, by turns, N times each (5): the program on the target,
traced, and the phase runner on the target. The truth is what `omnio phases` measures in the trace of
the program, the estimate what the phase runner measures, by one definition
(docs/formats/phase_model.md). A line of results for each is appended to FILE, and those that are
there are not measured again.
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import statistics
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, "bench", "fidelity"), os.path.join(TOP, "tests", "acceptance")]

from omnio_testing import environment, mpirun, omnio, program, run  # noqa: E402
from targets import TARGETS, Pool  # noqa: E402
from workloads import MELT, YIELD  # noqa: E402

RANKS = 4
MOST_STEPS_BYTES = 1 << 30  # of the targets that are in memory
# A phase counts where it takes both of these.
LEAST_SHARE, LEAST_SECONDS = 0.05, 0.1


class Failed(Exception):
    pass


def ok(result, what):
    if result.status != 0:
        raise Failed(f"{what}: status {result.status}: {result.err.decode(errors='replace')[-400:]}")
    return result


class Kernel:
    """Of tests/programs/c_kernels.c; `bytes_a_step` bounds how many steps there may be."""

    def __init__(self, name, size, steps, bytes_a_step, pause_ms=2):
        self.name, self.steps = name, steps
        self._size, self._bytes, self._pause = size, bytes_a_step, pause_ms

    def most(self):
        return max(self.steps, MOST_STEPS_BYTES // self._bytes)

    def prepare(self, directory):
        pass

    def words(self, steps):
        return [program("c_kernels"), self.name, self._size, steps, self._pause]


class Workload:
    """Of tests/programs/c_workloads.c."""

    def __init__(self, name, factor, bytes_a_factor):
        self.name, self.steps, self._bytes = name, factor, bytes_a_factor

    def most(self):
        return max(self.steps, MOST_STEPS_BYTES // self._bytes)

    def prepare(self, directory):
        pass

    def words(self, steps):
        return [program("c_workloads"), self.name, steps]


class Lammps:
    name, steps = "lammps", 600

    def most(self):
        return 6000

    def prepare(self, directory):
        with open(os.path.join(directory, "in.melt"), "w", encoding="utf-8") as script:
            script.write(MELT)

    def words(self, steps):
        return [shutil.which("lmp"), "-in", "in.melt", "-log", "none", "-screen", "none", "-var",
                "steps", steps]


PROGRAMS = {each.name: each for each in (
    Kernel("btio-full", 48, 10, 48 ** 3 * 40), Kernel("btio-simple", 16, 4, 16 ** 3 * 40),
    Kernel("madbench", 1024, 12, 4 << 20), Kernel("s3d", 16, 6, 16 ** 3 * 4 * 16 * 8),
    Kernel("hacc-shared", 50000, 4, 50000 * 38 * 4), Kernel("hacc-files", 50000, 4, 50000 * 38 * 4),
    Workload("metadata", 4, 1 << 20), Workload("collector", 8, 16 << 20), Lammps())}


def total(times):
    return sum(times[key] for key in ("data_ns", "metadata_ns", "sync_ns")) / 1e9


def fresh(target):
    target.fresh()
    directory = os.path.join(target.path, "run")
    os.mkdir(directory)
    return directory


def measured(work, target, what, steps, keep=None):
    """The model of a run of the program on the target; with its schedule where `keep` names it."""
    directory, trace = fresh(target), os.path.join(work, "trace")
    shutil.rmtree(trace, ignore_errors=True)
    what.prepare(directory)
    words = [str(word) for word in what.words(steps)]
    ok(run([omnio(), "trace", "-o", trace, "--", *mpirun(RANKS), *words], cwd=directory,
           env=environment(**YIELD), timeout=600), f"{what.name} on {target.name}")
    model = keep or os.path.join(work, "truth.json")
    ok(run([omnio(), "phases", trace, "-o", model, "--schedule", "yes" if keep else "no"],
           timeout=600), f"omnio phases, {what.name}")
    with open(model, encoding="utf-8") as text:
        return json.load(text)


def estimated(work, target, model):
    results = os.path.join(work, "results.json")
    target.fresh()
    ok(run([*mpirun(RANKS), os.environ["OMNIO_TEST_PHASE_RUN"], model, "--target", target.path,
            "-o", results], env=environment(**YIELD), timeout=600), f"omnio-phase-run, {model}")
    with open(results, encoding="utf-8") as text:
        return json.load(text)


def phaseTimes(results):
    return {test["phase"]: sum(entry["totalTime"] for entry in test["Results"])
            for test in results["tests"]}


def compare(work, pool, name, what, runs, seconds):
    memory, target = pool.get("tmpfs"), pool.get(name)
    first = total(measured(work, target, what, what.steps)["measured"])
    steps = int(min(max(what.steps, what.steps * seconds * 1.2 / max(first, 1e-3)), what.most()))
    model = os.path.join(work, "model.json")
    measured(work, memory, what, steps, keep=model)
    truths, estimates = [], []
    for _ in range(runs):
        truths.append(measured(work, target, what, steps))
        estimates.append(estimated(work, target, model))
    own = [total(each["measured"]) for each in truths]
    io = [each["runs"][0]["io_s"] for each in estimates]
    row = {"target": name, "program": what.name, "steps": steps, "truth_s": own, "estimate_s": io,
           "differences": max(each["runs"][0]["differences"] for each in estimates), "phases": []}
    alike = all([p["weight_bytes"] for p in each["phases"]] ==
                [p["weight_bytes"] for p in truths[0]["phases"]] for each in truths)
    times = [phaseTimes(each) for each in estimates]
    for index, phase in enumerate(truths[0]["phases"] if alike else []):
        truth = [total(each["phases"][index]["measured"]) for each in truths]
        middle = statistics.median(truth)
        if middle < max(LEAST_SHARE * statistics.median(own), LEAST_SECONDS):
            continue
        found = [each[phase["id"]] for each in times if phase["id"] in each]
        if found:
            row["phases"].append({"phase": phase["id"], "truth_s": truth, "estimate_s": found})
    return row


def variation(values):
    return 100 * statistics.stdev(values) / statistics.median(values) if len(values) > 1 else 0


def errorOf(row):
    truth = statistics.median(row["truth_s"])
    return 100 * (statistics.median(row["estimate_s"]) - truth) / truth


def show(rows):
    print("| target | program | I/O time s | varies | estimate s | varies | error | phases, the "
          "largest error |")
    print("|---|---|---|---|---|---|---|---|")
    for row in rows:
        worst = max((errorOf(phase) for phase in row["phases"]), key=abs, default=None)
        phases = f"{len(row['phases'])}: {worst:+.1f} %" if worst is not None else "-"
        print(f"| {row['target']} | {row['program']} | {statistics.median(row['truth_s']):.2f} | "
              f"{variation(row['truth_s']):.1f} % | {statistics.median(row['estimate_s']):.2f} | "
              f"{variation(row['estimate_s']):.1f} % | {errorOf(row):+.1f} % | {phases} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", action="append", choices=[name for name in TARGETS])
    parser.add_argument("--program", action="append", choices=list(PROGRAMS))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--build", default=os.path.join(TOP, "build", "release"))
    parser.add_argument("--results", default=os.path.join(TOP, "build", "estimates.jsonl"))
    parser.add_argument("--table", action="store_true")
    words = parser.parse_args()
    rows = []
    with contextlib.suppress(FileNotFoundError), open(words.results, encoding="utf-8") as text:
        rows = [json.loads(line) for line in text]
    if words.table:
        return show(rows)
    os.environ.setdefault("OMNIO_TEST_PROGRAMS", os.path.join(words.build, "tests", "programs"))
    os.environ.setdefault("OMNIO_TEST_BIN", os.path.join(words.build, "cli", "omnio"))
    os.environ.setdefault("OMNIO_TEST_LIBRARIES", os.path.join(words.build, "trace"))
    os.environ.setdefault("OMNIO_TEST_PHASE_RUN",
                          os.path.join(words.build, "ior_bridge", "omnio-phase-run"))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what is mounted is unmounted
    work = os.path.join(words.build, "estimates.work")
    os.makedirs(work, exist_ok=True)
    done = {(row["target"], row["program"]) for row in rows}
    with Pool(work) as pool:
        for name in words.target or ["even", "slow", "shared", "ext4", "gluster"]:
            for key in words.program or PROGRAMS:
                if (name, key) in done:
                    continue
                if pool.get(name) is None:
                    print(f"{name}: not here: {pool.missing[name]}")
                    break
                try:
                    row = compare(work, pool, name, PROGRAMS[key], words.runs, words.seconds)
                except Failed as problem:
                    print(f"{name}, {key}: {problem}", file=sys.stderr)
                    continue
                with open(words.results, "a", encoding="utf-8") as out:
                    out.write(json.dumps(row) + "\n")
                show([row])
    shutil.rmtree(work, ignore_errors=True)
    return None


if __name__ == "__main__":
    sys.exit(main())
