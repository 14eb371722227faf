#!/usr/bin/env python3
"""How long replays take beside the application: records each workload on one storage target, and
runs application and replay by turns on another. Needs root, and a release build with its tests.

  bench/fidelity/fidelity.py [--quick] [--workloads NAME,...] [--pairs FROM:TO,...] [--rounds N]
                             [--no-modes] [--doublings N] [--shorter N] [--again] [--two-hosts] [--means]
                             [--hours N] [--build DIR] [--results DIR]
  bench/fidelity/fidelity.py --table [--results DIR]
  bench/fidelity/fidelity.py --list

Each row goes to rows.jsonl in the results as soon as it is measured; another run of the same command
goes on with the rows that are missing. docs/fidelity.md explains the method and the figures.
"""

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from contextlib import nullcontext

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "tests", "acceptance")]

# pylint: disable=wrong-import-position
import figures
import tables
from devices import NotHere
from launching import TwoHosts
from measure import VARIES_PERCENT, Campaign
from targets import TARGETS, Pool
from two_namespaces import Network
from workloads import WORKLOADS, Failed

# Half of them from slow to fast.
PAIRS = (("tmpfs", "slow"), ("tmpfs", "gluster"), ("ext4", "even"), ("xfs", "shared"),
         ("slow", "quick"), ("slow", "tmpfs"), ("even", "gluster"), ("shared", "quick"))
MODE_PAIRS = (("slow", "quick"), ("tmpfs", "slow"), ("even", "gluster"))
MODES = (("asap", "all"), ("start", "all"), ("dt", "none"))

TWO_HOSTS_WORKLOADS = ("checkpoint", "strided", "token", "collector", "imbalance", "collective", "btio")
QUICK_WORKLOADS = ("checkpoint", "token", "metadata", "restart", "imbalance", "btio")
QUICK_PAIRS = (("tmpfs", "slow"), ("slow", "quick"))

# A row that takes so many seconds is not doubled in length any more.
LONG_ENOUGH = 8

ROWS = "rows.jsonl"
MISSING = "missing.json"


def wrongUsage(sentence):
    print(f"fidelity.py: {sentence}", file=sys.stderr)
    sys.exit(2)


def keyOf(row):
    return tuple(row[part] for part in ("workload", "from", "to", "timing", "order"))


class Results:
    """The rows so far. A row that failed is measured again by the next run, and replaced."""

    def __init__(self, directory):
        self._path = os.path.join(directory, ROWS)
        self._missing_path = os.path.join(directory, MISSING)
        self.rows = {}
        if os.path.exists(self._path):
            with open(self._path, encoding="utf-8") as file:
                for number, line in enumerate(file, 1):
                    try:
                        row = json.loads(line)
                        self.rows[keyOf(row)] = row
                    except (ValueError, KeyError, TypeError):
                        # The last line of a run that was killed while it wrote.
                        print(f"{self._path}:{number}: not a row, and left out", file=sys.stderr)

    def get(self, *key):
        row = self.rows.get(key)
        return row if row is not None and "failed" not in row else None

    def add(self, row):
        self.rows[keyOf(row)] = row
        with open(self._path, "a+b") as file:
            if file.tell() > 0:
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    file.write(b"\n")
            file.write(json.dumps(row).encode() + b"\n")

    def setMissing(self, missing):
        with open(self._missing_path, "w", encoding="utf-8") as file:
            json.dump(missing, file)

    def missing(self):
        if not os.path.exists(self._missing_path):
            return {}
        with open(self._missing_path, encoding="utf-8") as file:
            return json.load(file)

    def table(self):
        return tables.document(list(self.rows.values()), self.missing())


def chosenWorkloads(text, quick, two_hosts):
    if text is None:
        return TWO_HOSTS_WORKLOADS if two_hosts else QUICK_WORKLOADS if quick else tuple(WORKLOADS)
    names = tuple(text.split(","))
    for name in names:
        if name not in WORKLOADS:
            wrongUsage(f"--workloads: '{name}' is not a workload; these are: {', '.join(WORKLOADS)}")
    return names


def chosenPairs(text, quick):
    if text is None:
        return QUICK_PAIRS if quick else PAIRS
    pairs = tuple(tuple(pair.split(":")) for pair in text.split(","))
    for pair in pairs:
        if len(pair) != 2:
            wrongUsage(f"--pairs: '{':'.join(pair)}' has to be FROM:TO, as in tmpfs:slow")
        for name in pair:
            if name not in TARGETS:
                wrongUsage(f"--pairs: '{name}' is not a target; these are: {', '.join(TARGETS)}")
    return pairs


def positive(text):
    value = int(text) if text.isdigit() else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number above 0")
    return value


def notNegative(text):
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number")
    return int(text)


def arguments():
    parser = argparse.ArgumentParser(
        description="Compares the times of replays with those of the application.")
    parser.add_argument("--quick", action="store_true",
                        help="some workloads, two pairs, 3 rounds: ten minutes")
    parser.add_argument("--workloads", help="only these, separated by commas")
    parser.add_argument("--pairs", help="only these, as FROM:TO,FROM:TO")
    parser.add_argument("--rounds", type=positive,
                        help="runs of application and replay for each row (5; --quick: 3)")
    parser.add_argument("--no-modes", action="store_true", help="only the timing dt with order")
    parser.add_argument("--doublings", type=notNegative,
                        help="how often a row may be doubled in length when application or replay "
                             f"vary by more than {VARIES_PERCENT} %% (3; --quick: 0)")
    parser.add_argument("--shorter", type=positive, default=1, metavar="N",
                        help="begin with an N-th of the usual work, for slow targets")
    parser.add_argument("--again", action="store_true",
                        help="measure rows that vary too much again, beginning with "
                             "twice their length")
    parser.add_argument("--two-hosts", action="store_true",
                        help="4 ranks, two on each of two hosts, which are network namespaces")
    parser.add_argument("--means", action="store_true",
                        help="replay schedules with means of times (--timing-detail statistics)")
    parser.add_argument("--hours", type=positive, default=3,
                        help="no row begins after that time; the next run goes on (3)")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"),
                        help="the build to measure (build/release)")
    parser.add_argument("--results",
                        help="where the rows are (build/fidelity; --two-hosts: build/fidelity-two-hosts; "
                             "--means: -means behind it)")
    parser.add_argument("--table", action="store_true", help="print the tables of the rows so far")
    parser.add_argument("--list", action="store_true", help="print targets, pairs and workloads")
    chosen = parser.parse_args()
    chosen.workloads = chosenWorkloads(chosen.workloads, chosen.quick, chosen.two_hosts)
    chosen.pairs = chosenPairs(chosen.pairs, chosen.quick)
    if chosen.results is None:
        chosen.results = os.path.join(ROOT, "build",
                                      "fidelity-two-hosts" if chosen.two_hosts else "fidelity")
        chosen.results += "-means" if chosen.means else ""
    chosen.rounds = chosen.rounds or (3 if chosen.quick else 5)
    if chosen.doublings is None:
        chosen.doublings = 0 if chosen.quick else 3
    return chosen


def useBuild(build):
    """The modules of the acceptance tests find the programs by these."""
    programs = os.path.join(build, "tests", "programs")
    binary = os.path.join(build, "cli", "omnio")
    for path in (binary, programs):
        if not os.path.exists(path):
            wrongUsage(f"{path} does not exist; build the preset `release` first, or name another "
                       "build with --build")
    os.environ.update(OMNIO_TEST_BIN=binary, OMNIO_TEST_PROGRAMS=programs,
                      OMNIO_TEST_LIBRARIES=os.path.join(build, "trace"))


def varies(row):
    """Whether its figures need a longer row. One is left out when the application alone varies."""
    return max(figures.variation(row[side]) for side in ("application", "replay")) > VARIES_PERCENT


def factorOf(workload, chosen):
    return max(workload.factor // chosen.shorter, 1)


def mayBeLonger(row, workload, chosen):
    return (varies(row) and row["factor"] < factorOf(workload, chosen) << chosen.doublings and
            figures.median(row["application"]) < LONG_ENOUGH)


def steadyRow(campaign, workload, pair, chosen, row=None):
    """Doubles the length until the application is steady enough, as often as allowed. `row` is that
    of an earlier run, to begin behind. Rows of targets are compared as they were `at_first`, since
    all of a workload begin with one length."""
    row = row or campaign.row(workload, pair, chosen.rounds, factorOf(workload, chosen))
    first = row.get("at_first") or {key: row[key] for key in ("factor", "application", "replay")}
    while mayBeLonger(row, workload, chosen):
        row = {**campaign.row(workload, pair, chosen.rounds, 2 * row["factor"]), "at_first": first}
    return row


def say(row):
    if "failed" in row:
        text = f"FAILED: {row['failed']}"
    else:
        text = (f"application {figures.median(row['application']):.3f} s "
                f"(varies {figures.variation(row['application']):.1f} %), replay "
                f"{figures.median(row['replay']):.3f} s, error "
                f"{figures.bias(row['application'], row['replay']):+.1f} %")
        text += f", {row['differences']} results differ" if row["differences"] else ""
    mode = row["timing"] + ("" if row["order"] == "all" else f" order {row['order']}")
    print(f"{row['workload']} {row['from']}:{row['to']} {mode}: {text}", flush=True)


def measure(chosen, results, pool, campaign):
    for pair in chosen.pairs:
        missing = [name for name in pair if pool.get(name) is None]
        if missing:
            for name in missing:
                print(f"LEFT OUT {pair[0]}:{pair[1]}: {name}: {pool.missing[name]}", flush=True)
            continue
        for name in chosen.workloads:
            workload = WORKLOADS[name]
            if reason := workload.whyMissing():
                print(f"LEFT OUT {name}: {reason}", flush=True)
                continue
            modes = MODES if pair in MODE_PAIRS and not chosen.no_modes else ()
            measureWorkload(chosen, results, campaign, workload, pair, modes)


def measureWorkload(chosen, results, campaign, workload, pair, modes):
    def add(key, made, is_wanted=False):
        if time.monotonic() > chosen.until or not (is_wanted or results.get(*key) is None):
            return
        try:
            row = made()
        except (Failed, NotHere, RuntimeError) as problem:
            if is_wanted:
                print(f"{' '.join(key)}: stays as it was: {problem}", flush=True)
                return
            row = {**dict(zip(("workload", "from", "to", "timing", "order"), key)),
                   "failed": str(problem)}
        results.add(row)
        say(row)

    key = (workload.name, *pair)
    known = results.get(*key, "dt", "all")
    again = chosen.again and known is not None and mayBeLonger(known, workload, chosen)
    add((*key, "dt", "all"), lambda: steadyRow(campaign, workload, pair, chosen, known), again)
    of = results.get(*key, "dt", "all")
    for mode in modes if of is not None else ():
        add((*key, *mode), lambda mode=mode: campaign.mode(workload, pair, *mode, of), again)


def interrupted(number, _):
    """What is mounted and started has to be undone, so a signal leaves as an exception does."""
    sys.exit(128 + number)


def main():
    chosen = arguments()
    if chosen.list:
        for name, (text, _) in TARGETS.items():
            print(f"target {name}: {text}")
        print("pairs:", ", ".join(":".join(pair) for pair in PAIRS))
        print("workloads:", ", ".join(WORKLOADS))
        return
    if chosen.table:
        if not os.path.exists(os.path.join(chosen.results, ROWS)):
            wrongUsage(f"{chosen.results} has no {ROWS}; run the campaign first")
        print(Results(chosen.results).table())
        return
    if os.geteuid() != 0:
        wrongUsage("the targets are mounted, which needs root")
    useBuild(os.path.abspath(chosen.build))
    chosen.results = os.path.abspath(chosen.results)
    os.makedirs(chosen.results, exist_ok=True)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    results = Results(chosen.results)
    started = time.monotonic()
    chosen.until = started + 3600 * chosen.hours
    # Not below /dev/shm, which the tracer leaves out.
    with tempfile.TemporaryDirectory(prefix="omnio-fidelity-", dir="/tmp") as work:
        with Pool(work) as pool, Network(work) if chosen.two_hosts else nullcontext() as network:
            if network is not None:
                launch = TwoHosts(network)
                for name in chosen.workloads:
                    WORKLOADS[name].launch, WORKLOADS[name].ranks = launch, 4
            measure(chosen, results, pool, Campaign(pool, work, chosen.results, chosen.means))
            results.setMissing(pool.missing)
    print(f"\n{time.monotonic() - started:.0f} s\n")
    if time.monotonic() > chosen.until:
        print(f"Ended after {chosen.hours} hours; the same command goes on with the rows that are "
              "missing.\n")
    print(results.table())


if __name__ == "__main__":
    main()
