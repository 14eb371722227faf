"""A target with too little room: `omnio replay`, `omnio-replay` and `omnio-phase-run` say before they begin
how much they need and how much is free, and leave nothing behind. What fits, since it has holes or is
not there at the same time, is not refused.

OMNIO_TEST_PHASE_RUN names omnio-phase-run.
"""

import os
import re

import devices
from omnio_testing import (Checks, WorkDirectory, emptied, environment, mpirun, omnio, run,
                           skipTest)
from replay_testing import (MPI_ENVIRONMENT, closed, file, opened, replay, report, schedule,
                            write)

MIB = 1 << 20


def written(fd, size, offset=0):
    return {"command": "pwrite64", "fd": fd, "count": size, "offset": offset, "result": size}


def refused(checks, what, result, mount, left=()):
    print(f"{what}: {result.err.decode().strip()}")
    lines = result.err.decode().splitlines()
    checks.equal(result.status, 1, f"{what}: status")
    checks.that(len(lines) == 1 and mount in lines[0], f"{what}: one sentence: {lines}")
    told = re.search(r"too little room: (\d+) bytes .* and (\d+) are free", " ".join(lines))
    checks.that(told and int(told[1]) > int(told[2]) > 0, f"{what}: two numbers: {lines}")
    checks.equal(sorted(os.listdir(mount)), sorted(left), f"{what}: what is left in the target")


def checkReplays(checks, work, mount):
    target = os.path.join(mount, "target")
    large = file("in", "input", True, 4 * MIB)
    inputs = write(os.path.join(work, "inputs.json"), schedule(
        [large], [[opened("in", 0, "O_RDONLY"), closed(0)]]))
    outputs = write(os.path.join(work, "outputs.json"), schedule(
        [file("out")], [[opened("out", 0), written(0, 3 * MIB), closed(0)]]))
    output = os.path.join(work, "refused.replay")
    for name, path in (("inputs", inputs), ("outputs", outputs)):
        refused(checks, f"omnio replay, {name}", replay(path, target, output), mount)
        checks.that(not os.path.exists(output), f"{name}: no output is left")
        beside = os.path.join(os.path.dirname(os.path.dirname(omnio())), "replay", "omnio-replay")
        if os.access(beside, os.X_OK):
            alone = run([beside, path, "--target", target, "-o", output],
                        env=environment(**MPI_ENVIRONMENT))
            refused(checks, f"omnio-replay, {name}", alone, mount)
            checks.that(not os.path.exists(output), f"{name}: omnio-replay leaves no output")
    done = replay(outputs, target, os.path.join(work, "anyway"), "--ignore-free-space")
    checks.equal(done.status, 3, f"the replay goes on anyway: {done}")
    checks.equal(report(os.path.join(work, "anyway"))["total"]["differences"], 1,
                 "the write that found no room")
    # The tree of the replay before is removed first.
    fits = write(os.path.join(work, "fits.json"), schedule(
        [file("out")], [[opened("out", 0), written(0, MIB), closed(0)]]))
    done = replay(fits, target, os.path.join(work, "again"), "--fresh")
    checks.equal(done.status, 0, f"after the tree of an earlier replay: {done}")
    run(["rm", "-r", target])


def checkWhatFits(checks, work, mount):
    target = os.path.join(mount, "target")
    sparse = {**file("sparse", "input", True, 1 << 40), "read_before_written": 0,
              "holes": [{"begin": MIB, "end": 1 << 40}]}
    turns = []
    for turn in range(4):
        name = f"draft{turn}"
        turns += [opened(name, turn), written(turn, MIB), closed(turn),
                  {"command": "unlink", "location": name, "result": 0}]
    path = write(os.path.join(work, "turns.json"), schedule(
        [file(f"draft{turn}") for turn in range(4)], [turns]))
    holes = write(os.path.join(work, "holes.json"), schedule(
        [sparse, file("out")], [[opened("sparse", 0, "O_RDONLY"), opened("out", 1),
                                 written(1, 4096, 1 << 40), closed(1), closed(0)]]))
    for name, document in (("files after each other", path), ("holes", holes)):
        done = replay(document, target, os.path.join(work, name), "--fresh")
        checks.equal(done.status, 0, f"{name}: {done}")
    run(["rm", "-r", target])


def checkNodes(checks, work, mount):
    """The directory that a node has for itself is too small."""
    path = write(os.path.join(work, "nodes.json"), schedule(
        [file("@node/host/in", "input", True, 4 * MIB)],
        [[opened("@node/host/in", 0, "O_RDONLY"), closed(0)]]))
    target = emptied(os.path.join(work, "nodes.target"))
    result = replay(path, target, os.path.join(work, "nodes.replay"), "--node-local",
                    os.path.join(mount, "own"))
    checks.equal(result.status, 1, f"a node's directory: {result}")
    checks.that(b"too little room: 4194304 bytes" in result.err, f"a node's directory: {result}")
    for left in (target, os.path.join(mount, "own")):
        checks.equal(os.listdir(left), [], f"a node's directory: what is left in {left}")
    run(["rm", "-r", os.path.join(mount, "own")])


def checkPhases(checks, work, mount):
    program = os.environ.get("OMNIO_TEST_PHASE_RUN", "")
    if not os.access(program, os.X_OK):
        checks.skip("phases", "no omnio-phase-run")
        return
    home, trace = emptied(os.path.join(work, "home")), os.path.join(work, "home.trace")
    with open(os.path.join(home, "in"), "wb") as out:
        out.write(os.urandom(4 * MIB))
    model = os.path.join(work, "model.json")
    for command in ([omnio(), "trace", "-o", trace, "--", "dd", "if=in", "of=out", "bs=1M",
                     "status=none"],
                    [omnio(), "phases", trace, "-o", model]):
        done = run(command, cwd=home)
        checks.equal(done.status, 0, f"{done}")
    results = os.path.join(work, "results.json")
    command = [*mpirun(1), program, model, "--target", mount, "-o", results]
    what = "omnio-phase-run"
    result = run(command, cwd=work, env=environment(**MPI_ENVIRONMENT))
    lines = [line for line in result.err.decode().splitlines() if line.startswith(what)]
    print(f"{what}: {lines}")
    checks.equal(result.status, 1, f"{what}: status")
    told = re.search(r"too little room: (\d+) bytes .* and (\d+) are free", " ".join(lines))
    checks.that(len(lines) == 1 and told, f"{what}: one sentence: {lines}")
    checks.that(told and int(told[1]) == 8 * MIB, f"{what}: what it reads and writes: {lines}")
    checks.equal(os.listdir(mount), [], f"{what}: what is left in the target")
    checks.that(not os.path.exists(results), f"{what}: no results")
    apart = run([*command, "--apart"], cwd=work, env=environment(**MPI_ENVIRONMENT))
    checks.equal(apart.status, 1, f"{what} --apart: {apart}")
    checks.that(b"too little room: 4194304 bytes" in apart.err, f"{what} --apart: {apart}")
    checks.equal(os.listdir(mount), [], f"{what} --apart: what is left in the target")


def main():
    if mpirun(1) is None:
        skipTest("a replay needs MPI")
    checks = Checks()
    with WorkDirectory() as work:
        with devices.tmpfs(work, "small") as device:
            for case in (checkReplays, checkWhatFits, checkNodes, checkPhases):
                with checks.case(case.__name__):
                    case(checks, work, device.mount_point)
    checks.finish()


if __name__ == "__main__":
    devices.runOrSkip(main)
