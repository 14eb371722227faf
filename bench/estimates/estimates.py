#!/usr/bin/env python3
"""How near estimates come to the truth: Time_io by the phase runner, from models that were recorded on
another target, beside the application's own I/O time on the target.

    bench/estimates/estimates.py [--target NAME]... [--program NAME]... [--runs N] [--seconds S]
                                 [--build DIR] [--results FILE] [--no-ior|--ior-runs N]
    bench/estimates/estimates.py --table [--results FILE]

For each target and program: the program is sized so that its I/O takes S seconds there (5), recorded
once on tmpfs, and a model made of that. Then, by turns, N times each (5): the program on the target,
traced, the phase runner on the target, and, where `ior` is installed, the scripts of `omnio ior`. The
truth is what `omnio phases` measures in the trace of the program, the estimate what the phase runner
measures, by one definition (docs/formats/phase_model.md). On targets of LIMITED all of them run in a
memory control group whose limit is a quarter of the data that the program leaves in its files. A line
of results for each is appended to FILE, and those that are there are not measured again. Idle
processors are kept from halting meanwhile, where the system allows that (/dev/cpu_dma_latency).
"""

import argparse
import contextlib
import json
import math
import os
import shutil
import signal
import statistics
import struct
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, "bench", "fidelity"), os.path.join(TOP, "tests", "acceptance")]

from devices import NotHere  # noqa: E402
from ior_column import IorColumn  # noqa: E402
from memory_group import MemoryGroup  # noqa: E402
from omnio_testing import environment, mpirun, omnio, program, run  # noqa: E402
from targets import TARGETS, Pool  # noqa: E402
from workloads import YIELD, Failed, melt, ok  # noqa: E402

RANKS = 4
MOST_BYTES = 1 << 30  # of the targets that are in memory
# Targets that the page cache would hide, and how many times the memory the data is there.
LIMITED, TIMES_MEMORY = ("ext4", "xfs"), 4
# A phase counts where it takes both of these.
LEAST_SHARE, LEAST_SECONDS = 0.05, 0.1
# An error is small within these, or within twice the application's own variation.
TOTAL_PERCENT, PHASE_PERCENT = 5, 10
MOST_REASONS = 5  # of a row


class Program:
    """A test program, which is told its size, its steps and the pause between them. `large` is the
    size on limited targets, where small calls would be millions. `memory_mib` is the least limit of
    memory that its ranks and the phase runner's can work with; the runner keeps the plan of all calls
    in memory, and what is left for the page cache has to be about the same for both."""

    def __init__(self, name, size, steps, large=None, memory_mib=64, binary="c_kernels",
                 pause_ms=2):
        self.name, self.steps = name, steps
        self._size, self._large, self._pause = size, large or size, pause_ms
        self._binary, self.memory_mib = binary, memory_mib

    def prepare(self, directory):
        pass

    def words(self, steps, limited):
        kernel = [self.name] if self._binary == "c_kernels" else []
        size = self._large if limited else self._size
        return [program(self._binary), *kernel, size, steps, self._pause]


class Workload:
    """Of tests/programs/c_workloads.c."""

    memory_mib = 64

    def __init__(self, name, factor):
        self.name, self.steps = name, factor

    def prepare(self, directory):
        pass

    def words(self, steps, limited):
        del limited
        return [program("c_workloads"), self.name, steps]


class Lammps:
    """A melt of 32,000 atoms, which writes 2.2 MB a step: so much that it waits for the storage more
    than it computes. Where both are alike, chance says which hides the other."""

    name, steps, memory_mib = "lammps", 24, 128

    def prepare(self, directory):
        with open(os.path.join(directory, "in.melt"), "w", encoding="utf-8") as script:
            script.write(melt(20, 2, 4))

    def words(self, steps, limited):
        del limited
        return [shutil.which("lmp"), "-in", "in.melt", "-log", "none", "-screen", "none", "-var",
                "steps", steps]


PROGRAMS = {each.name: each for each in (
    Program("btio-full", 48, 10), Program("btio-simple", 16, 4, large=192, memory_mib=128),
    Program("madbench", 1024, 12), Program("s3d", 16, 6, large=40, memory_mib=192),
    Program("flash", 16, 4, memory_mib=192, binary="c_hdf5_flash"), Program("hacc-shared", 50000, 4),
    Program("hacc-files", 50000, 4), Lammps(), Workload("metadata", 4), Workload("collector", 8))}
# The two workloads are measured where they are asked for.
CAMPAIGN = [name for name, what in PROGRAMS.items() if not isinstance(what, Workload)]


def total(times):
    return sum(times[key] for key in ("data_ns", "metadata_ns", "sync_ns")) / 1e9


def fresh(target):
    target.fresh()
    directory = os.path.join(target.path, "run")
    os.mkdir(directory)
    return directory


def bytesBelow(directory):
    return sum(os.path.getsize(os.path.join(parent, name))
               for parent, _, names in os.walk(directory) for name in names)


def useBuild(build):
    """The programs of that build, where the environment names no others."""
    for name, *path in (("OMNIO_TEST_PROGRAMS", "tests", "programs"),
                        ("OMNIO_TEST_BIN", "cli", "omnio"), ("OMNIO_TEST_LIBRARIES", "trace"),
                        ("OMNIO_TEST_PHASE_RUN", "ior_bridge", "omnio-phase-run")):
        os.environ.setdefault(name, os.path.join(build, *path))


class Row:
    """Measures a program on a target. With a group, what runs there has `memory_bytes`."""

    def __init__(self, work, pool, target, what, group):
        self._work, self._memory, self._target = work, pool.get("tmpfs"), target
        self._what, self._group = what, group
        self.model = os.path.join(work, "model.json")
        self.memory_bytes = None

    def _inGroup(self):
        return self._group.words(self.memory_bytes) if self.memory_bytes else []

    def _traced(self, target, steps, model, schedule):
        """The model of a run of the program, and the bytes that it leaves."""
        directory, trace = fresh(target), os.path.join(self._work, "trace")
        shutil.rmtree(trace, ignore_errors=True)
        self._what.prepare(directory)
        words = [str(word) for word in self._what.words(steps, self._group is not None)]
        before = self._inGroup() if target is self._target else []
        ok(run([*before, omnio(), "trace", "-o", trace, "--", *mpirun(RANKS), *words],
               cwd=directory, env=environment(**YIELD), timeout=900),
           f"{self._what.name} on {target.name}")
        ok(run([omnio(), "phases", trace, "-o", model, "--schedule", schedule], timeout=600),
           f"omnio phases, {self._what.name}")
        with open(model, encoding="utf-8") as text:
            return json.load(text), bytesBelow(directory)

    def truth(self, steps):
        return self._traced(self._target, steps, os.path.join(self._work, "truth.json"), "no")[0]

    def record(self, steps):
        """Makes the model of a run in memory. The bytes that it leaves set the limit of memory."""
        _, left = self._traced(self._memory, steps, self.model, "yes")
        if self._group is not None:
            self.memory_bytes = left // TIMES_MEMORY
        return left

    def sized(self, seconds):
        """How many steps take `seconds` of I/O, and a bit more, on the target. The program is
        recorded with these."""
        steps = self._what.steps
        each = self.record(steps) / steps
        if self._group is not None:
            # The page cache takes what is less than the memory: with that little, no time is right.
            steps = math.ceil((self._what.memory_mib << 20) * TIMES_MEMORY * 1.01 / each)
            self.record(steps)
        io_s = max(total(self.truth(steps)["measured"]), 1e-3)
        wanted = int(min(max(steps, steps * seconds * 1.2 / io_s), MOST_BYTES / each))
        if wanted != steps or self._group is None:
            self.record(max(wanted, steps))
        return max(wanted, steps)

    def estimated(self):
        results = os.path.join(self._work, "results.json")
        self._target.fresh()
        ok(run([*self._inGroup(), *mpirun(RANKS), os.environ["OMNIO_TEST_PHASE_RUN"], self.model,
                "--target", self._target.path, "-o", results], env=environment(**YIELD),
               timeout=900), f"omnio-phase-run, {self._what.name} on {self._target.name}")
        with open(results, encoding="utf-8") as text:
            return json.load(text)

    def byIor(self, column, application_s):
        return column.estimated(self._target, application_s, self._inGroup())


def phaseTimes(results):
    return {test["phase"]: sum(entry["totalTime"] for entry in test["Results"])
            for test in results["tests"]}


def compare(work, pool, name, what, words):
    with contextlib.ExitStack() as stack:
        group = stack.enter_context(MemoryGroup()) if name in LIMITED else None
        row = Row(work, pool, pool.get(name), what, group)
        steps = row.sized(words.seconds)
        column = None if words.no_ior else IorColumn(work, row.model)
        truths, estimates, by_ior = [], [], []
        for number in range(words.runs):
            truths.append(row.truth(steps))
            estimates.append(row.estimated())
            if column is not None and column.why_missing is None and number < words.ior_runs:
                by_ior.append(row.byIor(column, total(truths[-1]["measured"])))
        result = {"target": name, "program": what.name, "steps": steps,
                  "memory_bytes": row.memory_bytes, **figures(truths, estimates)}
        if column is not None:
            result["ior"] = {"estimate_s": [each for each in by_ior if each is not None],
                             "missing": column.why_missing,
                             "approximations": column.approximations}
        return result


def figures(truths, estimates):
    """The times of all runs, and those of each phase that counts."""
    own = [total(each["measured"]) for each in truths]
    result = {"truth_s": own, "estimate_s": [each["runs"][0]["io_s"] for each in estimates],
              "differences": max(each["runs"][0]["differences"] for each in estimates),
              "phases": []}
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
            result["phases"].append({"phase": phase["id"], "truth_s": truth, "estimate_s": found})
    return result


def variation(values):
    return 100 * statistics.stdev(values) / statistics.median(values) if len(values) > 1 else 0


def errorOf(row):
    truth = statistics.median(row["truth_s"])
    return 100 * (statistics.median(row["estimate_s"]) - truth) / truth


def isWithin(row, percent):
    return abs(errorOf(row)) <= max(percent, 2 * variation(row["truth_s"]))


def show(rows):
    print("| target | program | I/O time s | varies | estimate s | varies | error | phases, the "
          "largest error | within | IOR s | varies | error |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        worst = max((errorOf(phase) for phase in row["phases"]), key=abs, default=None)
        phases = f"{len(row['phases'])}: {worst:+.1f} %" if worst is not None else "-"
        within = isWithin(row, TOTAL_PERCENT) and all(isWithin(phase, PHASE_PERCENT)
                                                      for phase in row["phases"])
        by_ior = {"truth_s": row["truth_s"], **row.get("ior", {"estimate_s": []})}
        ior = "- | - | -"
        if by_ior["estimate_s"]:
            ior = (f"{statistics.median(by_ior['estimate_s']):.2f} | "
                   f"{variation(by_ior['estimate_s']):.1f} % | {errorOf(by_ior):+.1f} %")
        print(f"| {row['target']} | {row['program']} | {statistics.median(row['truth_s']):.2f} | "
              f"{variation(row['truth_s']):.1f} % | {statistics.median(row['estimate_s']):.2f} | "
              f"{variation(row['estimate_s']):.1f} % | {errorOf(row):+.1f} % | {phases} | "
              f"{'yes' if within else 'no'} | {ior} |")


def showIor(rows):
    """What IOR does in another way, and where it is left out."""
    print("\n| target | program | IOR, how many times |")
    print("|---|---|---|")
    for row in rows:
        ior = row.get("ior")
        if ior is None:
            continue
        reasons = [f"{sentence} ({times})" for sentence, times in
                   sorted(ior["approximations"].items(), key=lambda item: -item[1])[:MOST_REASONS]]
        if ior["missing"]:
            reasons.insert(0, f"not run: {ior['missing']}")
        print(f"| {row['target']} | {row['program']} | {'; '.join(reasons) or '-'} |")


@contextlib.contextmanager
def wakefulProcessors():
    """Idle processors do not halt. Where they do, each wake-up takes its time, and a program that
    sleeps between its calls pays for more of them than one that looks at the clock."""
    try:
        held = os.open("/dev/cpu_dma_latency", os.O_WRONLY)
    except OSError as problem:
        print(f"idle processors may halt: {problem}", file=sys.stderr)
        yield
        return
    try:
        os.write(held, struct.pack("i", 0))  # microseconds; holds until it is closed
        yield
    finally:
        os.close(held)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", action="append", choices=[name for name in TARGETS])
    parser.add_argument("--program", action="append", choices=list(PROGRAMS))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--build", type=os.path.abspath,
                        default=os.path.join(TOP, "build", "release"))
    parser.add_argument("--results", default=os.path.join(TOP, "build", "estimates.jsonl"))
    parser.add_argument("--ior-runs", type=int, help="at most so many by IOR (as --runs)")
    parser.add_argument("--no-ior", action="store_true")
    parser.add_argument("--table", action="store_true")
    words = parser.parse_args()
    if words.ior_runs is None:
        words.ior_runs = words.runs
    rows = []
    with contextlib.suppress(FileNotFoundError), open(words.results, encoding="utf-8") as text:
        rows = [json.loads(line) for line in text]
    if words.table:
        show(rows)
        return showIor(rows)
    useBuild(words.build)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what is mounted is unmounted
    work = os.path.join(words.build, "estimates.work")
    os.makedirs(work, exist_ok=True)
    done = {(row["target"], row["program"]) for row in rows}
    with wakefulProcessors(), Pool(work) as pool:
        for name in words.target or ["even", "slow", "shared", "ext4", "gluster"]:
            for key in words.program or CAMPAIGN:
                if (name, key) in done:
                    continue
                if pool.get(name) is None:
                    print(f"{name}: not here: {pool.missing[name]}")
                    break
                try:
                    row = compare(work, pool, name, PROGRAMS[key], words)
                except (Failed, NotHere) as problem:
                    print(f"{name}, {key}: {problem}", file=sys.stderr)
                    continue
                with open(words.results, "a", encoding="utf-8") as out:
                    out.write(json.dumps(row) + "\n")
                show([row])
    shutil.rmtree(work, ignore_errors=True)
    return None


if __name__ == "__main__":
    sys.exit(main())
