#!/usr/bin/env python3
"""What tests run in place of IOR, which no Debian package has: takes IOR's options, moves the bytes
of all tasks in one process, and writes a summary with the names that IOR 4 writes. It is started by
a launcher that starts a command once, whatever number of tasks it is told."""

import argparse
import json
import os
import random
import time

MIB = 1 << 20


def offsets(words):
    """Those of all tasks in a file, in the order in which they are moved."""
    sharers = 1 if words.F else words.N
    of_block = words.b // words.t
    found = [block * words.b + k * words.t for block in range(words.s * sharers) for k in range(of_block)]
    if words.z:
        random.shuffle(found)
    return found[:sharers * words.limit] if words.limit else found


def move(words, path, writes):
    """Opens, moves and closes; the seconds of each."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC if writes else os.O_RDONLY
    data = bytes(words.t)
    begin = time.monotonic()
    descriptor = os.open(path, flags, 0o644)
    opened = time.monotonic()
    for offset in offsets(words):
        if writes:
            os.pwrite(descriptor, data, offset)
            if words.Y:
                os.fsync(descriptor)
        elif len(os.pread(descriptor, words.t, offset)) != words.t:
            raise SystemExit(f"{path}: shorter than {offset + words.t} bytes")
    if writes and words.e:
        os.fsync(descriptor)
    moved = time.monotonic()
    os.close(descriptor)
    return opened - begin, moved - opened, time.monotonic() - moved


def measured(words, paths, writes):
    open_s, data_s, close_s = (max(sum(times), 1e-6)
                               for times in zip(*(move(words, path, writes) for path in paths)))
    size = len(paths) * len(offsets(words)) * words.t
    return {"access": "write" if writes else "read",
            "bwMiB": size / MIB / (open_s + data_s + close_s), "iops": size / words.t / data_s,
            "openTime": open_s, "wrRdTime": data_s, "closeTime": close_s,
            "totalTime": open_s + data_s + close_s}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-a")
    for name in "Ntbsi":
        parser.add_argument(f"-{name}", type=int)
    for name in "wrFczeYgkCm":
        parser.add_argument(f"-{name}", action="store_true")
    parser.add_argument("-o")
    parser.add_argument("-O", action="append", default=[])
    words = parser.parse_args()
    directives = dict(each.split("=", 1) for each in words.O)
    words.limit = int(directives.get("stoneWallingWearOutIterations", 0))
    if words.z and (words.c or words.b == words.t):
        raise SystemExit("IOR refuses -z with -c, and with blocks of one transfer")
    results = []
    for iteration in range(words.i):
        suffix = f".{iteration}" if words.m else ""
        paths = [f"{words.o}.{task:08}{suffix}" for task in range(words.N)] if words.F else [
            words.o + suffix]
        for writes, wanted in ((True, words.w), (False, words.r)):
            if wanted:
                results.append(measured(words, paths, writes))
        # Without -m, IOR keeps the file until the last iteration, and each write makes it anew.
        if not words.k and (words.m or iteration == words.i - 1):
            for path in paths:
                os.unlink(path)
    summary = directives.get("summaryFile")
    if summary is None:
        return
    parameters = {"api": words.a, "testFileName": words.o, "repetitions": words.i,
                  "multiFile": int(words.m), "fsync": int(words.e), "fsyncperwrite": int(words.Y),
                  "readFile": int(words.r), "writeFile": int(words.w), "filePerProc": int(words.F),
                  "reorderTasks": int(words.C), "randomOffset": int(words.z),
                  "collective": int(words.c), "segmentCount": words.s, "transferSize": words.t,
                  "blockSize": words.b}
    with open(summary, "w", encoding="utf-8") as out:
        json.dump({"Version": "a stand-in", "tests": [
            {"TestID": 0, "Path": words.o, "Parameters": parameters,
             "Options": {"api": words.a, "tasks": words.N}, "Results": results}]}, out, indent=2)


if __name__ == "__main__":
    main()
