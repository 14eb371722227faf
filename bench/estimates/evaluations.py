#!/usr/bin/env python3
"""Whether omnio evaluate names a wrong winner, and finds the slower of three targets where the
application itself, run as often, finds it.

    bench/estimates/evaluations.py [--program NAME]... [--evaluations N] [--rounds N] [--at-most N]
                                   [--slower PERCENT] [--call-us N] [--seconds S] [--build DIR]

The targets are slowfs (tests/support/slowfs): each call takes 2 ms (--call-us) on `one` and `two`, and
PERCENT more (10) on `slow`. A program is sized so that its I/O takes S seconds (0.5) on `one`, and
recorded in memory. An evaluation is `omnio evaluate` by replay, with at least 5 and at most 12 rounds.
Since two targets are equal, a winner would be wrong, and all rounds are made. Then the program itself
runs as often, in the same turns, traced, and omnio compare judges it by the same rule. Needs root.
"""

import argparse
import json
import os
import shutil
import signal
import sys

from candidates import NAMES
from estimates import PROGRAMS, TOP, Failed, Row, mpirun, ok, useBuild, wakefulProcessors
from omnio_testing import omnio, run
from targets import Memory, Slow, us

CHOSEN = ("btio-full", "btio-simple", "madbench", "s3d", "hacc-shared")


def ofReplays(work, trace, targets, words):
    output = os.path.join(work, "evaluation")
    shutil.rmtree(output, ignore_errors=True)
    on = [word for name in NAMES for word in ("--on", f"{name}={targets[name].path}")]
    launcher = [f"--mpi-option={word}" for word in mpirun(1)[1:-2]]
    done = run([omnio(), "evaluate", trace, *on, "-o", output, "--rounds", words.rounds, "--at-most",
                words.at_most, "--no-traces", "--json", *launcher], timeout=3600)
    return json.loads(ok(done, "omnio evaluate").out)


def ofApplication(work, rows, steps, words):
    found = {name: [] for name in NAMES}
    for number in range(words.at_most):
        for place in range(len(NAMES)):
            name = NAMES[(number + place) % len(NAMES)]
            rows[name].truth(steps)
            path = os.path.join(work, f"{name}-{number}.trace")
            shutil.rmtree(path, ignore_errors=True)
            os.replace(os.path.join(work, "trace"), path)
            found[name].append(path)
    sources = [f"{name}={','.join(paths)}" for name, paths in found.items()]
    done = run([omnio(), "compare", rows["one"].model, *sources, "--rounds", words.rounds, "--at-most",
                words.at_most, "--json"], timeout=600)
    return json.loads(ok(done, "omnio compare").out)


def show(name, number, by, document):
    ratio = {each["name"]: each["times_the_best"] for each in document["ranking"]}["slow"]
    least, most = ratio["interval_99"] or (0, 0)
    print(f"| {name} | {number} | {by} | {document['ranking'][0]['io_s']['middle']:.3f} | "
          f"{ratio['middle']:.3f} ({least:.3f} to {most:.3f}) | {', '.join(document['slower']) or 'none'} | "
          f"{document['winner'] or 'none'} |", flush=True)
    return "slow" in document["slower"], document["winner"] is not None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", action="append", choices=list(PROGRAMS))
    parser.add_argument("--evaluations", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--at-most", type=int, default=12)
    parser.add_argument("--slower", type=float, default=10)
    parser.add_argument("--call-us", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--build", type=os.path.abspath, default=os.path.join(TOP, "build", "release"))
    words = parser.parse_args()
    useBuild(words.build)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what is mounted is unmounted
    work = os.path.join(words.build, "evaluations.work")
    os.makedirs(work, exist_ok=True)
    quick, slow = words.call_us, round(words.call_us * (1 + words.slower / 100))
    print(f"each call takes {quick} us on one and two, {slow} us on slow; {words.at_most} rounds")
    print("| program | | by | best, s | slow to the best | slower | winner |")
    print("|---|---|---|---|---|---|---|", flush=True)
    count = {"replay": [0, 0], "application": [0, 0]}
    missed = evaluations = 0
    with wakefulProcessors(), Memory(work, "memory") as memory, Slow(work, "one", *us(*[quick] * 4)) as one, \
            Slow(work, "two", *us(*[quick] * 4)) as two, Slow(work, "slow", *us(*[slow] * 4)) as three:
        targets = {"memory": memory, "one": one, "two": two, "slow": three}
        for name in words.program or CHOSEN:
            rows = {target: Row(work, {"tmpfs": memory}, targets[target], PROGRAMS[name], None)
                    for target in NAMES}
            try:
                steps = rows["one"].sized(words.seconds)
                rows["one"].record(steps)
                trace = os.path.join(work, "recorded.trace")
                shutil.rmtree(trace, ignore_errors=True)
                os.replace(os.path.join(work, "trace"), trace)
                for number in range(1, words.evaluations + 1):
                    for target in NAMES:
                        targets[target].fresh()
                    found = {"replay": show(name, number, "replay", ofReplays(work, trace, targets, words))}
                    found["application"] = show(name, number, "application",
                                                ofApplication(work, rows, steps, words))
                    evaluations += 1
                    missed += found["application"][0] and not found["replay"][0]
                    for by, (is_found, is_wrong) in found.items():
                        count[by][0] += is_found
                        count[by][1] += is_wrong
            except Failed as problem:
                print(f"{name}: {problem}", file=sys.stderr)
    for by, (is_found, is_wrong) in count.items():
        print(f"by {by}: the slower one found in {is_found} of {evaluations}, a wrong winner in {is_wrong}")
    print(f"found by the application and not by the replay: {missed}")
    shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
