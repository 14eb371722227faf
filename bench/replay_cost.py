#!/usr/bin/env python3
"""What a replay's own work costs: a program that only writes, and its replay as fast as possible.

  bench/replay_cost.py [--calls N] [--rounds N] [--build DIR]

The program (replay_cost.cpp) makes N writes of 4 bytes, one behind the other. It is recorded once. Then
the program and `omnio replay --timing asap --no-trace` run by turns on tmpfs, which needs root. Times
run from the first call to the end of the last one.
"""

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path[:0] = [os.path.join(ROOT, "tests", "acceptance")]

# pylint: disable=wrong-import-position
from omnio_testing import environment, run


def ok(result, what):
    if result.status != 0:
        sys.exit(f"replay_cost.py: {what}: status {result.status}: "
                 f"{(result.err or result.out).decode(errors='replace').strip()[-400:]}")
    return result


class Bench:
    """`work` is on the file system to measure on."""

    def __init__(self, build, work, calls):
        self._omnio = os.path.join(build, "cli", "omnio")
        self._program = os.path.join(build, "bench", "replay_cost")
        self._work, self._calls = work, calls
        self._schedule = os.path.join(work, "schedule.json")

    def _fresh(self, name):
        path = os.path.join(self._work, name)
        if os.path.isdir(path):
            shutil.rmtree(path)
        elif os.path.exists(path):
            os.remove(path)
        return path

    def _command(self):
        return [self._program, self._calls, self._fresh("file")]

    def record(self):
        trace = self._fresh("trace")
        ok(run([self._omnio, "trace", "-o", trace, "--", *self._command()], cwd=self._work),
           "omnio trace")
        ok(run([self._omnio, "preprocess", trace, "-o", self._schedule]), "omnio preprocess")
        self._fresh("trace")

    def program(self):
        """In seconds."""
        return int(ok(run(self._command(), cwd=self._work), "replay_cost").out) / 1e9

    def replay(self):
        """In seconds: from the open, which the program's time has not, to the close."""
        output = self._fresh("replayed")
        as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        ok(run([self._omnio, "replay", self._schedule, "--target", self._fresh("target"), "-o",
                output, "--timing", "asap", "--no-trace"],
               env=environment(**as_root), cwd=self._work, timeout=600), "omnio replay")
        with open(os.path.join(output, "replay.json"), encoding="utf-8") as file:
            total = json.load(file)["total"]
        return (total["makespan_ns"] - total["begin_ns"]) / 1e9


def main():
    parser = argparse.ArgumentParser(description="Measures what a replay's own work costs.")
    parser.add_argument("--calls", type=int, default=1_000_000, help="writes (1000000)")
    parser.add_argument("--rounds", type=int, default=7, help="of both by turns (7)")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"),
                        help="the build to measure (build/release)")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="omnio-replay-cost-", dir="/tmp") as work:
        ok(run(["mount", "-t", "tmpfs", "tmpfs", work]), "mount")
        try:
            bench = Bench(os.path.abspath(chosen.build), work, chosen.calls)
            bench.record()
            pairs = [(bench.program(), bench.replay()) for _ in range(chosen.rounds)]
        finally:
            run(["umount", "-l", work])
    program, replay = (statistics.median(times) for times in zip(*pairs))
    ratios = sorted(b / a for a, b in pairs)
    print(f"{chosen.calls} writes of 4 bytes, medians of {chosen.rounds} by turns: program "
          f"{program:.3f} s, replay {replay:.3f} s, ratio {replay / program:.3f} "
          f"(of the turns: {ratios[0]:.3f} to {ratios[-1]:.3f})")


if __name__ == "__main__":
    main()
