#!/usr/bin/env python3
"""Measures what a replay's own work costs: a program that only writes, and its replay in asap.

  bench/replay_cost.py [--calls N] [--rounds N] [--build DIR]

The program (replay_cost.cpp) makes N writes of 4 bytes, one behind the other. It is recorded once. Then
the program and `omnio replay --timing asap --no-trace` run by turns on tmpfs, which needs root. Times
run from the first call to the end of the last one.
"""

import argparse
import os
import statistics
import tempfile

from runs import BUILD, Place, ok, run


class Bench:
    def __init__(self, build, work, calls):
        self._place = Place(build, work)
        self._program, self._calls = os.path.join(build, "bench", "replay_cost"), calls
        self._place.record(*self._command())

    def _command(self):
        return [self._program, self._calls, self._place.fresh("file")]

    def program(self):
        """In seconds."""
        return int(self._place.run(self._command(), "replay_cost").out) / 1e9

    def replay(self):
        """In seconds: from the open, which the program's time has not, to the close."""
        total = self._place.replay("--timing", "asap")
        return (total["makespan_ns"] - total["begin_ns"]) / 1e9


def main():
    parser = argparse.ArgumentParser(description="Measures what a replay's own work costs.")
    parser.add_argument("--calls", type=int, default=1_000_000, help="writes (1000000)")
    parser.add_argument("--rounds", type=int, default=7, help="of both by turns (7)")
    parser.add_argument("--build", default=BUILD,
                        help="the build to measure (build/release)")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="omnio-replay-cost-", dir="/tmp") as work:
        ok(run(["mount", "-t", "tmpfs", "tmpfs", work]), "mount")
        try:
            bench = Bench(os.path.abspath(chosen.build), work, chosen.calls)
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
