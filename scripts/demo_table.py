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
    """Of a trace: reads and writes, their bytes, the time in them and in all calls on files."""
    ranks = document(omnio, "stats", trace, "--by", "rank", "--json")["groups"]
    calls = document(omnio, "stats", trace, "--by", "call", "--json")["groups"]
    data = [sum(rank[kind]["time_ns"]["total"] for kind in ("read", "write")) for rank in ranks]
    total = {"operations": 0, "bytes": 0, "all_s": 0.0}
    for call in calls:
        if call["operations"]["mpi_sync"]:
            continue  # MPI_Init and its like are no I/O
        total["operations"] += sum(call[kind]["time_ns"]["count"] for kind in ("read", "write"))
        total["bytes"] += sum(call[kind]["size_bytes"]["total"] for kind in ("read", "write"))
        total["all_s"] += call["time_ns"]["total"] / 1e9
    return total | {"data_s": max(data) / 1e9}


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
    print(f"{'':<28}{'reads and':>11}{'':>12}{'I/O time, s':>14}{'all calls, s':>14}")
    print(f"{'':<28}{'writes':>11}{'MiB':>12}{'slowest rank':>14}{'all ranks':>14}")
    for pair in sys.argv[4:]:
        name, trace = pair.split("=", 1)
        row = measured(omnio, trace)
        print(f"{name:<28}{row['operations']:>11}{row['bytes'] / MIB:>12.2f}"
              f"{row['data_s']:>14.3f}{row['all_s']:>14.3f}")
    operations, weight, time_io = estimated(omnio, model, results)
    print(f"{'estimate, phase by phase':<28}{operations:>11}{weight / MIB:>12.2f}"
          f"{time_io['median']:>14.3f}{'':>14}"
          f"  ({time_io['min']:.3f} to {time_io['max']:.3f})")


if __name__ == "__main__":
    main()
