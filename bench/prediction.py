#!/usr/bin/env python3
"""Prints the tables of docs/prediction.md: how well omnio predict predicts the operations of
programs, beside the baselines.

  bench/prediction.py [--only NAME,...] [--keep DIR] [--build DIR]

The programs are those of tests/acceptance/prediction.py, with more turns. --keep keeps their
traces.
"""

import argparse
import os
import sys
import tempfile

from runs import BUILD

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "tests", "acceptance"))

WAYS = ("grammar", "same_as_last", "contiguous", "same_distance", "patterns", "read_ahead")


def share(part, whole):
    return f"{100 * part / whole:.1f}" if whole else "-"


def number(value):
    return "-" if value is None else f"{value:.1f}"


def row(name, part, of_ways):
    own = of_ways["grammar"]
    cells = [name, part, str(own["operations"])]
    cells += [share(of_ways[way]["offsets_right"], of_ways[way]["placed"]) for way in WAYS]
    cells += [number(of_ways[way]["hit_ratio"][0]) for way in WAYS]
    cells += [number(own["hit_ratio"][-1])]
    return "| " + " | ".join(cells) + " |"


def costs(name, document):
    model, own = document["total"]["model"], document["total"]["whole_run"]["grammar"]
    stopped = model["models_that_stopped_growing"] == model["models"]
    error = own["size_error"]
    cells = [name, share(own["contexts_right"], own["operations"]),
             share(own["whole_right"], own["operations"]),
             share(own["sizes_right"], own["sized"]), "-" if error is None else f"{error:.3f}",
             str(model["most_symbols"]), "yes" if stopped else "no", f"{model['bytes'] / 1024:.0f}",
             f"{model['update_ns'] / 1000:.1f}"]
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description="How well operations of programs are predicted.")
    parser.add_argument("--only", default="", help="names of programs, with commas between them")
    parser.add_argument("--keep", default="", help="the directory where traces stay")
    parser.add_argument("--build", type=os.path.abspath, default=BUILD,
                        help="the build to measure (build/release)")
    chosen = parser.parse_args()
    os.environ.setdefault("OMNIO_TEST_BIN", os.path.join(chosen.build, "cli", "omnio"))
    os.environ.setdefault("OMNIO_TEST_PROGRAMS", os.path.join(chosen.build, "tests", "programs"))
    from prediction_cases import CASES, predicted  # pylint: disable=import-outside-toplevel
    names = [name for name in chosen.only.split(",") if name]
    first, second = [], []
    with tempfile.TemporaryDirectory() as work:
        for case in CASES:
            if names and case.name not in names:
                continue
            if not case.isThere():
                print(f"{case.name}: not installed or not built here", file=sys.stderr)
                continue
            document = predicted(case.record(chosen.keep or work, case.turns[0]))
            first.append(row(case.name, "whole run", document["total"]["whole_run"]))
            after = document["total"]["after_first_period"]
            if after["grammar"]["operations"] > 0:
                first.append(row("", "after the first period", after))
            second.append(costs(case.name, document))
    print("| program | part | operations | offsets right (%): grammar | same as last | "
          "contiguous | same distance | patterns | read-ahead | hit ratio (%): grammar | same as last | "
          "contiguous | same distance | patterns | read-ahead | grammar, next 8 |")
    print("|---|---|" + "---:|" * 14)
    print("\n".join(first))
    print("\n| program | contexts (%) | whole (%) | sizes (%) | E_size | symbols | stops growing | "
          "KiB | us an update |")
    print("|---|" + "---:|" * 5 + "---|---:|---:|")
    print("\n".join(second))


if __name__ == "__main__":
    main()
