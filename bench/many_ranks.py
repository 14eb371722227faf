#!/usr/bin/env python3
"""Measures `omnio preprocess` and `omnio phases` on traces of very many ranks.

  bench/many_ranks.py [--ranks N,...] [--barriers N] [--build DIR]

Ranks that write to files of their own meet in barriers, with a master without I/O among them
(many_ranks.cpp). Two barriers are a phase of the I/O. Prints, for each number of ranks, the time and
the most memory, and how large the schedule is for each rank: where that grows with the ranks, it is
not linear.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

from runs import BUILD


def measured(command):
    """The seconds and the most bytes of memory of a command that has to succeed."""
    begin = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as child:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"many_ranks.py: {' '.join(command)}: status {child.returncode}")
    return time.monotonic() - begin, usage.ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser(description="Measures preprocessing of very many ranks.")
    parser.add_argument("--ranks", default="512,4096", help="numbers of ranks (512,4096)")
    parser.add_argument("--barriers", type=int, default=200, help="that each meets in (200)")
    parser.add_argument("--build", default=BUILD,
                        help="the build to measure (build/release)")
    chosen = parser.parse_args()
    for ranks in map(int, chosen.ranks.split(",")):
        with tempfile.TemporaryDirectory(prefix="omnio-many-ranks-") as work:
            trace, schedule = os.path.join(work, "trace"), os.path.join(work, "schedule.json")
            measured([os.path.join(chosen.build, "bench", "many_ranks"), str(ranks),
                      str(chosen.barriers), trace])
            seconds, memory = measured([os.path.join(chosen.build, "cli", "omnio"), "preprocess",
                                        trace, "-o", schedule])
            size = os.path.getsize(schedule) + os.path.getsize(schedule + ".times")
            model = os.path.join(work, "model.json")
            phases = measured([os.path.join(chosen.build, "cli", "omnio"), "phases", trace, "-o", model,
                               "--schedule", "no"])
            with open(model, encoding="utf-8") as file:
                found = len(json.load(file)["phases"])
        print(f"{ranks} ranks, {chosen.barriers} barriers: {seconds:.1f} s, {memory / 2**20:.0f} MiB, "
              f"schedule {size / 2**20:.1f} MiB, {size / ranks / 1024:.1f} KiB a rank; "
              f"{found} phases: {phases[0]:.1f} s, {phases[1] / 2**20:.0f} MiB", flush=True)


if __name__ == "__main__":
    main()
