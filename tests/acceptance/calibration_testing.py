"""A calibration of a target that was never measured: each kind of access takes the time that the test
gives it."""

import json
import os


def cell(operation, time, size, processes, order="none", files="own", **more):
    """Accesses of `time` ns each: 40 of them, in two rounds."""
    count = 20
    low = 1 << (time.bit_length() - 4)  # the width of a class of the histogram
    runs = []
    for number in range(2):
        one = {"round": number, "process": 0, "begin_ns": number}
        if order != "none":
            one |= {"offset": 0, "stride": size}
        runs.append(one | {"times_ns": [time] * count})
    return {"operation": operation, "order": order, "files": files, **more, "bytes": size,
            "processes": processes,
            "all": {"accesses": 2 * count, "total_ns": 2 * count * time, "least_ns": time,
                    "most_ns": time, "squares_ns2": 0,
                    "histogram": [[time // low * low, 2 * count]]},
            "runs": runs}


def calibration(times, without=(), cache="cached"):
    """`times`: ns by operation; "extend" is a write behind the end of its file, and takes as long as any
    where it has no time of its own. Operations of `without` are not measured."""
    cells = []
    extend = times.get("extend", times["write"])
    for operation, time, extends in (("read", times["read"], {}), ("write", times["write"], {}),
                                     ("write", extend, {"extends": True})):
        for size in (1, 4096, 1 << 20):
            for processes in (1, 2):
                cells.append(cell(operation, time, size, processes, "sequential", **extends))
    for operation, time in times.items():
        if operation in ("read", "write", "extend"):
            continue
        sizes = (0, 4096, 1 << 24) if operation in ("fsync", "fdatasync", "close") else (0,)
        ways = [("own", (1, 2), {}), ("shared", (2,), {})]
        if operation == "fsync":
            ways.insert(1, ("own", (1, 2), {"new": True}))
        cells += [cell(operation, time, size, processes, files=files, **more)
                  for files, counts, more in ways for size in sizes for processes in counts]
    return {"format": "omnio-calibration", "version": 1, "tool": "a test",
            "date": "2026-11-27T11:00:00Z",
            "target": {"path": "/scratch", "file_system": "ext4", "mount": "/scratch ext4 /dev/sda1",
                       "size_bytes": 1 << 40, "host": "node1", "kernel": "Linux 6", "processors": 2,
                       "memory_bytes": 1 << 36},
            "cache": {"state": cache, "automatic": False, "checks": 0},
            "seed": 1, "budget_ns": 10**12, "spent_ns": 10**12, "reserved_ns": 0, "sessions": 1,
            "rounds": 2, "processes": 2, "accesses": 40, "largest_bytes": 1 << 20,
            "shared_file_bytes": 0, "own_file_bytes": 1 << 24, "clock_ns": 0, "references": [],
            "cells": [each for each in cells if each["operation"] not in without], "unreached": []}


def written(work, name, document):
    path = os.path.join(work, name)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file)
    return path
