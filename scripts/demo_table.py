#!/usr/bin/env python3
"""The demo's last table: what the application did, what its replays did, and what the phase model
estimates, side by side.

    scripts/demo_table.py OMNIO MODEL RESULTS NAME=TRACE...
"""

import json
import subprocess
import sys

MIB = 1 << 20


def document(*words):
    return json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)


def measured(omnio, trace):
    """Of the reads and writes of a trace, as they reach the C library (a replay has no MPI-IO above them):
    how many, their bytes, the time in them on the slowest rank, and from the first write to the end of
    the last."""
    lines = subprocess.run((omnio, "log", trace, "--json"), check=True, stdout=subprocess.PIPE).stdout
    total = {"operations": 0, "bytes": 0}
    of_rank, begins, ends = {}, [], []
    for line in lines.splitlines():
        event = json.loads(line)
        kind = event.get("class")
        if kind not in ("read", "write") or event["call"].startswith(("MPI_", "PMPI_")):
            continue
        total["operations"] += 1
        total["bytes"] += event.get("bytes", 0)
        of_rank[event["rank"]] = of_rank.get(event["rank"], 0) + event["end_ns"] - event["start_ns"]
        if kind == "write":
            begins.append(event["start_ns"])
            ends.append(event["end_ns"])
    return total | {"data_s": max(of_rank.values(), default=0) / 1e9,
                    "span_s": (max(ends, default=0) - min(begins, default=0)) / 1e9}


def estimated(omnio, model, results):
    with open(model, encoding="utf-8") as text:
        phases = json.load(text)["phases"]
    total = document(omnio, "estimate", model, results, "--json")["total"]
    time_io = total["time_io_s"]
    operations = sum(operation["repetitions"] * len(phase["ranks"])
                     for phase in phases for operation in phase["operations"])
    return operations, total["weight_bytes"], time_io


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__.strip())
    omnio, model, results = sys.argv[1:4]
    print(f"{'':<28}{'reads and':>11}{'':>12}{'in them, s':>14}{'first to last':>15}")
    print(f"{'':<28}{'writes':>11}{'MiB':>12}{'slowest rank':>14}{'write, s':>15}")
    for pair in sys.argv[4:]:
        name, trace = pair.split("=", 1)
        row = measured(omnio, trace)
        print(f"{name:<28}{row['operations']:>11}{row['bytes'] / MIB:>12.2f}"
              f"{row['data_s']:>14.3f}{row['span_s']:>15.3f}")
    operations, weight, time_io = estimated(omnio, model, results)
    print(f"{'estimate, phase by phase':<28}{operations:>11}{weight / MIB:>12.2f}"
          f"{time_io['median']:>14.3f}{'':>15}"
          f"  ({time_io['min']:.3f} to {time_io['max']:.3f})")


if __name__ == "__main__":
    main()
