#!/usr/bin/env python3
"""Compares replays of both forms of a schedule: how late calls are, how long the replay takes, and
how much memory a rank has.

  bench/replay_forms.py [--workloads NAME,...] [--factor N] [--ranks N] [--rounds N]
                        [--timing T] [--build DIR]

Each workload of tests/programs/c_workloads.c is recorded once on tmpfs. Its flat and its compact
schedule (with exact times) are replayed by turns there. Lateness is that of the replay's report.
Needs root.
"""

import argparse
import os
import statistics
import sys
import tempfile
import threading

from runs import BUILD, Place, mpirun, ok, run

FORMS = ("flat", "compact")
WORKLOADS = ("checkpoint", "strided", "metadata", "token")


class Memory:
    """The largest resident memory of a process of omnio-replay, in KiB, while the block runs."""

    def __enter__(self):
        self.kib = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()

    def _watch(self):
        while not self._ended.wait(0.05):
            for process in filter(str.isdigit, os.listdir("/proc")):
                try:
                    with open(f"/proc/{process}/status", encoding="utf-8") as file:
                        fields = dict(line.split(":", 1) for line in file)
                except (OSError, ValueError):
                    continue  # It has ended.
                if fields["Name"].strip() == "omnio-replay" and "VmHWM" in fields:
                    self.kib = max(self.kib, int(fields["VmHWM"].split()[0]))


class Bench:
    """One workload, with both forms of its schedule."""

    def __init__(self, build, work, command, timing):
        self._place, self._timing = Place(build, work), timing
        self._paths = {form: os.path.join(work, f"{form}.json") for form in FORMS}
        os.mkdir(os.path.join(work, "files"))
        trace = self._place.trace(*command)
        for form, path in self._paths.items():
            self._place.preprocess(trace, path, "--form", form)

    def bytes(self, form):
        times = self._paths[form] + ".times"
        return os.path.getsize(self._paths[form]) + (
            os.path.getsize(times) if os.path.exists(times) else 0)

    def replay(self, form):
        with Memory() as memory:
            total = self._place.replay("--timing", self._timing, schedule=self._paths[form])
        if total["differences"]:
            sys.exit(f"replay_forms.py: {form}: {total['differences']} calls differ")
        late = total["lateness_ns"]
        return {"mean late, us": late["mean"] / 1e3, "p99 late, us": late["p99"] / 1e3,
                "took, ms": (total["makespan_ns"] - total["begin_ns"]) / 1e6,
                "memory, MiB": memory.kib / 1024, "calls": total["operations"]}


def main():
    parser = argparse.ArgumentParser(description="Compares replays of both forms of a schedule.")
    parser.add_argument("--workloads", default=",".join(WORKLOADS), help=",".join(WORKLOADS))
    parser.add_argument("--factor", type=int, default=32, help="of their rounds (32)")
    parser.add_argument("--ranks", type=int, default=2, help="(2)")
    parser.add_argument("--rounds", type=int, default=9, help="of both forms by turns (9)")
    parser.add_argument("--timing", default="dt", help="of the replays (dt)")
    parser.add_argument("--build", default=BUILD, help="the build to measure (build/release)")
    chosen = parser.parse_args()
    program = os.path.join(os.path.abspath(chosen.build), "tests", "programs", "c_workloads")
    for name in chosen.workloads.split(","):
        with tempfile.TemporaryDirectory(prefix="omnio-replay-forms-", dir="/tmp") as work:
            ok(run(["mount", "-t", "tmpfs", "tmpfs", work]), "mount")
            try:
                bench = Bench(os.path.abspath(chosen.build), work,
                              (*mpirun(chosen.ranks), program, name, chosen.factor), chosen.timing)
                rounds = [[bench.replay(form) for form in FORMS] for _ in range(chosen.rounds)]
                sizes = [bench.bytes(form) for form in FORMS]
            finally:
                run(["umount", "-l", work])
        print(f"{name}, {rounds[0][0]['calls']} calls, schedules of {sizes[0]} and {sizes[1]} bytes, "
              f"medians of {chosen.rounds} by turns, with the least and the most:")
        for figure in ("mean late, us", "p99 late, us", "took, ms", "memory, MiB"):
            columns = [sorted(turn[at][figure] for turn in rounds) for at in range(len(FORMS))]
            words = [f"{form} {statistics.median(column):.1f} ({column[0]:.1f} .. {column[-1]:.1f})"
                     for form, column in zip(FORMS, columns)]
            print(f"  {figure:14} {', '.join(words)}", flush=True)


if __name__ == "__main__":
    main()
