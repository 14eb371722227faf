#!/usr/bin/env python3
"""Measures how many events a second `omnio preprocess` takes, and the most memory it needs; and how
many of its schedule's events `omnio schedule check` reads and compiles, as a replay does first.

  bench/preprocess_throughput.py [--events N] [--ranks N] [--rounds N] [--build DIR] [--beside OMNIO]

The traces are made (preprocess_traces.cpp, stats_throughput.cpp): regular ones whose ranks meet in
barriers, writes of one shared file at random offsets, a rank that collects what others send as in
LAMMPS, and one without MPI. Each is preprocessed in both forms. With --beside, another omnio does the
same by turns; its schedules are compared byte for byte. An event is one of the trace, calls of MPI too.
"""

import argparse
import filecmp
import os
import statistics
import sys
import tempfile

from many_ranks import measured
from runs import BUILD

KINDS = ("regular", "random", "collector", "no order")
FORMS = ("flat", "compact")


def makeTrace(build, kind, events, ranks, trace):
    """Returns how many events it has."""
    if kind == "no order":
        measured([os.path.join(build, "bench", "stats_throughput"), "--make", trace, str(events),
                  str(ranks), "1"])
        return events
    # In a turn a rank writes nine blocks and meets the others; or one rank receives and writes.
    a_turn = 4 * ranks - 3 if kind == "collector" else 10 * ranks
    turns = max(1, events // a_turn)
    measured([os.path.join(build, "bench", "preprocess_traces"), kind, str(ranks), str(turns), trace])
    return turns * a_turn


class Side:
    """One omnio, and what it was measured to need."""

    def __init__(self, omnio, directory):
        self._omnio = omnio
        self.schedule = os.path.join(directory, "schedule.json")
        self.seconds, self.check_seconds, self.memory = [], [], 0
        os.mkdir(directory)

    def preprocess(self, trace, form):
        for ending in ("", ".times"):  # to remove them takes time, too
            if os.path.exists(self.schedule + ending):
                os.remove(self.schedule + ending)
        seconds, memory = measured([self._omnio, "preprocess", trace, "-o", self.schedule, "--form", form])
        self.seconds.append(seconds)
        self.memory = max(self.memory, memory)
        self.check_seconds.append(measured([self._omnio, "schedule", "check", self.schedule])[0])

    def text(self, events):
        seconds = statistics.median(self.seconds)
        check = statistics.median(self.check_seconds)
        return (f"{seconds:.2f} s, {events / seconds / 1e6:.2f} million events/s, {self.memory / 2**20:.0f} MiB; "
                f"checked: {events / check / 1e6:.2f} million events/s")


def compare(omnios, work, trace, form, rounds):
    """The sides, measured by turns."""
    sides = [Side(omnio, os.path.join(work, f"{form}{number}")) for number, omnio in enumerate(omnios)]
    for _ in range(rounds):
        for side in sides:
            side.preprocess(trace, form)
    for side in sides[1:]:
        for ending in ("", ".times") if form == "compact" else ("",):
            if not filecmp.cmp(sides[0].schedule + ending, side.schedule + ending, shallow=False):
                print(f"  {form}: the schedules differ{' in their times' if ending else ''}")
    return sides


def main():
    parser = argparse.ArgumentParser(description="Measures the speed and memory of preprocessing.")
    parser.add_argument("--events", type=int, default=2_000_000, help="of each trace (2000000)")
    parser.add_argument("--ranks", type=int, default=16, help="of each trace (16)")
    parser.add_argument("--rounds", type=int, default=3, help="of all by turns (3)")
    parser.add_argument("--kind", choices=KINDS, help="this kind of trace alone")
    parser.add_argument("--build", default=BUILD, help="the build to measure (build/release)")
    parser.add_argument("--beside", help="another omnio, to compare with")
    chosen = parser.parse_args()
    if chosen.ranks < 2 or chosen.rounds < 1:
        sys.exit("preprocess_throughput.py: --ranks has to be 2 or more, --rounds 1 or more")
    omnios = [os.path.join(chosen.build, "cli", "omnio")] + ([chosen.beside] if chosen.beside else [])
    for kind in [chosen.kind] if chosen.kind else KINDS:
        with tempfile.TemporaryDirectory(prefix="omnio-preprocess-") as work:
            trace = os.path.join(work, "trace")
            events = makeTrace(chosen.build, kind, chosen.events, chosen.ranks, trace)
            print(f"{kind}: {events} events of {chosen.ranks} ranks, medians of {chosen.rounds}", flush=True)
            for form in FORMS:
                own, *others = compare(omnios, work, trace, form, chosen.rounds)
                print(f"  {form}: {own.text(events)}")
                for other in others:
                    ratios = sorted(b / a for a, b in zip(own.seconds, other.seconds))
                    print(f"    beside: {other.text(events)}; takes {statistics.median(ratios):.2f} times as "
                          f"long (of the turns: {ratios[0]:.2f} to {ratios[-1]:.2f})", flush=True)


if __name__ == "__main__":
    main()
