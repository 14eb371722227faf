"""omnio-phase-run --beyond-cache in a control group of little memory: the requests of a phase come
again and again, of the same sizes and at new offsets, until they move twice that memory. The results
are labelled, and no estimate takes them; a target without room for them is refused before anything
is written.
"""

import contextlib
import json
import os

from omnio_testing import (Checks, WorkDirectory, emptied, mpirun, omnio, program, readLog, run,
                           skipTest, trace)

RANKS = 2
REQUEST, REPETITIONS = 256 << 10, 8
MEMORY = 96 << 20
GROUP = "/sys/fs/cgroup/memory/omnio-beyond-cache"


def modelOf(checks, work, mode):
    """Of writes and reads of a shared file."""
    to = os.path.join(work, mode)
    result = trace(to, mpirun(RANKS) + [program("c_mpi_io"), emptied(os.path.join(work, "run")), mode,
                                        str(REQUEST), str(REPETITIONS), "read"])
    checks.equal(result.status, 0, f"{mode}: {result}")
    result = run([omnio(), "phases", to, "-o", to + ".json"])
    checks.equal(result.status, 0, f"{mode}: {result}")
    return to + ".json"


def inGroup(words):
    return ["sh", "-c", f'echo $$ > {GROUP}/tasks && exec "$@"', "sh", *words]


def phaseRun(model, target, *options):
    return inGroup(mpirun(RANKS) + [os.environ["OMNIO_TEST_PHASE_RUN"], model, "--target", target,
                                    "--beyond-cache", "--iterations", "1", *options])


def checkRun(checks, work, mode):
    model = modelOf(checks, work, mode)
    target, results = emptied(os.path.join(work, "target")), os.path.join(work, "results.json")
    to = os.path.join(work, f"{mode}.run")
    result = trace(to, phaseRun(model, target, "-o", results))
    checks.equal(result.status, 0, f"{mode}: {result}")
    checks.that(b"beyond the cache" in result.out, f"{mode}: {result}")
    with open(results, encoding="utf-8") as file:
        found = json.load(file)
    checks.equal(found["of"]["memory_bytes"], MEMORY, f"{mode}: memory")
    weight = RANKS * REQUEST * REPETITIONS
    turns = 2 * MEMORY // weight + 1
    for test in found["tests"]:
        checks.equal((test["Parameters"]["beyondCache"], [one["bytes"] for one in test["Results"]]),
                     (turns, [turns * weight]), f"{mode}: phase {test['phase']}")
    moved = {"write": set(), "read": set()}
    count = dict.fromkeys(moved, 0)
    for event in readLog(to):
        for kind in moved:
            if event["call"].startswith(f"MPI_File_{kind}_at"):
                moved[kind].add((event["file_offset"], event["bytes"]))
                count[kind] += 1
    for kind, places in moved.items():
        checks.equal(places, {(n * REQUEST, REQUEST) for n in range(turns * RANKS * REPETITIONS)},
                     f"{mode}: {kind}s")
        checks.equal(count[kind], len(places), f"{mode}: {kind}s, each once")
    for words in (["estimate", model, results], ["compare", model, f"a={results}", f"b={results}"]):
        result = run([omnio(), *words])
        checks.that(result.status == 1 and b"was run beyond the cache" in result.err,
                    f"{mode}: {result}")
    checks.equal(os.listdir(target), [], f"{mode}: left in the target")


def checkRoom(checks, work):
    model, small = modelOf(checks, work, "individual"), emptied(os.path.join(work, "small"))
    if run(["mount", "-t", "tmpfs", "-o", "size=32m", "none", small]).status != 0:
        return checks.skip("a small target", "mount is not allowed here")
    try:
        result = run(phaseRun(model, small))
        checks.that(result.status == 1 and b"too little room" in result.err,
                    f"a small target: {result}")
        checks.equal(os.listdir(small), [], "a small target: left in it")
    finally:
        run(["umount", "-l", small])
    return None


def main():
    if mpirun(1) is None or program("c_mpi_io") is None:
        skipTest("no MPI here")
    try:
        os.makedirs(GROUP, exist_ok=True)
        with open(os.path.join(GROUP, "memory.limit_in_bytes"), "w", encoding="ascii") as limit:
            limit.write(str(MEMORY))
    except OSError as problem:
        skipTest(f"no memory control groups here: {problem}")
    checks = Checks()
    with WorkDirectory() as work, contextlib.ExitStack() as stack:
        stack.callback(os.rmdir, GROUP)
        for mode in ("n1", "strided"):
            checkRun(checks, work, mode)
        checkRoom(checks, work)
    checks.finish()


if __name__ == "__main__":
    main()
