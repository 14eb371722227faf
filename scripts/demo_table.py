#!/usr/bin/env python3
"""The demo's last table: what the application did, what its replays did, and what the phase model
estimates, side by side. The I/O time is that of omnio phases and omnio estimate: of the slowest
rank, the time in all of its calls on files.

    scripts/demo_table.py OMNIO --application TRACE... --replay NAME=TRACE... --model MODEL RESULTS...
"""

import argparse
import json
import statistics
import subprocess

MIB = 1 << 20
ROW = "{:<28}{:>11}{:>12}{:>16}{:>15}  {}"


def document(*words):
    return json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)


def of_trace(omnio, trace):
    """Of the reads and writes of a trace, as they reach the C library (a replay has no MPI-IO above
    them): how many, their bytes, and from the first write to the end of the last; and the I/O time.
    """
    lines = subprocess.run((omnio, "log", trace, "--json"), check=True, stdout=subprocess.PIPE).stdout
    row = {"operations": 0, "bytes": 0}
    begins, ends = [], []
    for line in lines.splitlines():
        event = json.loads(line)
        kind = event.get("class")
        if kind not in ("read", "write") or event["call"].startswith(("MPI_", "PMPI_")):
            continue
        row["operations"] += 1
        row["bytes"] += event.get("bytes", 0)
        if kind == "write":
            begins.append(event["start_ns"])
            ends.append(event["end_ns"])
    times = document(omnio, "phases", trace, "--json")["measured"]
    return row | {"io_s": sum(times[key] for key in ("data_ns", "metadata_ns", "sync_ns")) / 1e9,
                  "span_s": (max(ends, default=0) - min(begins, default=0)) / 1e9}


def of_results(path):
    with open(path, encoding="utf-8") as text:
        results = json.load(text)
    # Phases of metadata calls alone have neither reads nor writes.
    entries = [entry for test in results["tests"] for entry in test["Results"] if "requests" in entry]
    return {"operations": sum(entry["requests"] for entry in entries),
            "bytes": sum(entry["bytes"] for entry in entries), "io_s": results["runs"][0]["io_s"]}


def spread(values):
    """The median, and how much the values vary, in percent."""
    middle = statistics.median(values)
    return middle, 100 * statistics.stdev(values) / middle if len(values) > 1 else 0.0


def show(name, row, io_s, note=""):
    span = f"{row['span_s']:.3f}" if "span_s" in row else ""
    print(ROW.format(name, row["operations"], f"{row['bytes'] / MIB:.2f}", f"{io_s:.4f}", span, note))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("omnio")
    parser.add_argument("--application", action="append", required=True)
    parser.add_argument("--replay", action="append", default=[])
    parser.add_argument("--model", nargs="+", required=True, metavar="MODEL RESULTS")
    words = parser.parse_args()

    print(ROW.format("", "reads and", "", "I/O time, s,", "first to last", "").rstrip())
    print(ROW.format("", "writes", "MiB", "slowest rank", "write, s", "").rstrip())
    rows = [of_trace(words.omnio, trace) for trace in words.application]
    own, own_variation = spread([row["io_s"] for row in rows])
    show("application", rows[-1], own, f"{len(rows)} runs, which vary by {own_variation:.1f} %")
    for pair in words.replay:
        name, trace = pair.split("=", 1)
        row = of_trace(words.omnio, trace)
        show(f"replay, {name}", row, row["io_s"])
    rows = [of_results(path) for path in words.model[1:]]
    estimate, variation = spread([row["io_s"] for row in rows])
    show("estimate", rows[-1], estimate, f"{len(rows)} runs, which vary by {variation:.1f} %")
    print(f"the estimate differs from the application by {100 * (estimate - own) / own:+.1f} %")


if __name__ == "__main__":
    main()
