#!/usr/bin/env python3
"""What tests run in place of IOR, which no Debian package has: takes IOR's options, moves the bytes
of all tasks in one process, and writes a summary with the names that IOR 4 writes. It is started by
a launcher that starts a command once, whatever number of tasks it is told."""

import argparse
import json
import os
import time

MIB = 1 << 20


def move(words, path):
    """Writes or reads a file in transfers; for a read, it has to be as large as the write made it."""
    flags = os.O_RDONLY if words.r else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    data = bytes(words.t)
    size = words.b * words.s * (1 if words.F else words.N)
    descriptor = os.open(path, flags, 0o644)
    for _ in range(0, size, words.t):
        if words.w:
            os.write(descriptor, data)
        elif len(os.read(descriptor, words.t)) != words.t:
            raise SystemExit(f"{path}: shorter than {size} bytes")
    if words.e:
        os.fsync(descriptor)
    os.close(descriptor)
    return size


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-a")
    for name in "Ntbsi":
        parser.add_argument(f"-{name}", type=int)
    for name in "wrFczekC":
        parser.add_argument(f"-{name}", action="store_true")
    parser.add_argument("-o")
    parser.add_argument("-O", action="append", default=[])
    words = parser.parse_args()
    summary = dict(each.split("=", 1) for each in words.O).get("summaryFile")
    paths = [f"{words.o}.{task:08}" for task in range(words.N)] if words.F else [words.o]
    results = []
    for _ in range(words.i):
        begin = time.monotonic()
        size = sum(move(words, path) for path in paths)
        taken = max(time.monotonic() - begin, 1e-6)
        results.append({"access": "write" if words.w else "read", "bwMiB": size / MIB / taken,
                        "totalTime": taken})
    if not words.k:
        for path in paths:
            os.unlink(path)
    if summary is None:
        return
    parameters = {"api": words.a, "testFileName": words.o, "repetitions": words.i, "fsync": int(words.e),
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
