#!/usr/bin/env python3
"""Whether omnio compare finds out which storage system is slower, and that two are alike: three targets,
two of which are equal, and one where each call takes some percent longer.

    bench/estimates/candidates.py [--program NAME]... [--runs N] [--slower PERCENT] [--call-us N]
                                  [--seconds S] [--build DIR]

The targets are slowfs (tests/support/slowfs): each call takes 5 ms (--call-us) on `one` and `two`, and
PERCENT more (20) on `slow`. For each program: it is sized so that its I/O takes S seconds on `one` (3), recorded once on
tmpfs, and a model made of that. Then, by turns, N times each (5): the phase runner on each target, and the
program itself, traced, on each target. omnio compare judges by the former, and by the latter. Needs root.
"""

import argparse
import json
import os
import shutil
import signal
import sys

from estimates import PROGRAMS, TOP, Failed, Row, ok, useBuild, wakefulProcessors
from omnio_testing import omnio, run
from targets import Memory, Slow, us

NAMES = ("one", "two", "slow")


def results(work, targets, what, seconds, runs):
    """The model, and {by: {target: [paths of results]}}."""
    rows = {name: Row(work, {"tmpfs": targets["memory"]}, targets[name], what, None) for name in NAMES}
    steps = rows["one"].sized(seconds)
    found = {by: {name: [] for name in NAMES} for by in ("phase runner", "application")}
    order = list(NAMES)
    for number in range(runs):
        for name in order:
            rows[name].estimated()
            path = os.path.join(work, f"{name}-{number}.json")
            os.replace(os.path.join(work, "results.json"), path)
            found["phase runner"][name].append(path)
            rows[name].truth(steps)
            path = os.path.join(work, f"{name}-{number}.trace")
            shutil.rmtree(path, ignore_errors=True)
            os.replace(os.path.join(work, "trace"), path)
            found["application"][name].append(path)
        order = order[1:] + order[:1]  # none is always the first
    return rows["one"].model, found


def judged(model, found):
    words = [f"{name}={','.join(paths)}" for name, paths in found.items()]
    return json.loads(ok(run([omnio(), "compare", model, *words, "--json"], timeout=600),
                         "omnio compare").out)


def isRight(document):
    """`slow` is slower, and of the other two none has won."""
    return document["winner"] is None and document["slower"] == ["slow"]


def show(program, by, document):
    by_name = {each["name"]: each for each in document["ranking"]}
    times = " | ".join(f"{by_name[name]['io_s']['middle']:.3f} ({by_name[name]['io_s']['interval_95'][0]:.3f}"
                       f" to {by_name[name]['io_s']['interval_95'][1]:.3f})" for name in NAMES)
    ratio = by_name["slow"]["times_the_best"]
    slower = ", ".join(document["slower"]) or "none"
    print(f"| {program} | {by} | {times} | {ratio['middle']:.3f} ({ratio['interval_95'][0]:.3f} to "
          f"{ratio['interval_95'][1]:.3f}) | slower: {slower}; winner: {document['winner'] or 'none'} | "
          f"{'yes' if isRight(document) else 'no'} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", action="append", choices=list(PROGRAMS))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--slower", type=float, default=20)
    parser.add_argument("--call-us", type=int, default=5000)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--build", type=os.path.abspath,
                        default=os.path.join(TOP, "build", "release"))
    words = parser.parse_args()
    if words.runs < 2:
        parser.error("--runs has to be 2 or more: one run has no interval")
    useBuild(words.build)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what is mounted is unmounted
    work = os.path.join(words.build, "candidates.work")
    os.makedirs(work, exist_ok=True)
    quick, slow = words.call_us, round(words.call_us * (1 + words.slower / 100))
    print(f"each call takes {quick} us on one and two, {slow} us on slow; {words.runs} runs each")
    print("| program | by | one, s | two, s | slow, s | slow to the best | verdict | right |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    with wakefulProcessors(), Memory(work, "memory") as memory, Slow(work, "one", *us(*[quick] * 4)) as one, \
            Slow(work, "two", *us(*[quick] * 4)) as two, Slow(work, "slow", *us(*[slow] * 4)) as three:
        targets = {"memory": memory, "one": one, "two": two, "slow": three}
        for name in words.program or ("btio-full", "madbench", "s3d"):
            try:
                model, found = results(work, targets, PROGRAMS[name], words.seconds, words.runs)
                for by, paths in found.items():
                    show(name, by, judged(model, paths))
            except Failed as problem:
                print(f"{name}: {problem}", file=sys.stderr)
    shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
