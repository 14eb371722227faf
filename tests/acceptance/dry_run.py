"""omnio replay --dry-run beside the replay that follows: the same numbers in both, the same refusals, and
nothing is made."""

import json
import os
import shutil

import devices
from omnio_testing import emptied, environment, omnio, run, runCases
from replay_testing import (MPI_ENVIRONMENT, closed, file, numbersIn, opened, replay, report, schedule,
                            write)

MIB = 1 << 20


def everythingIn(directory):
    return sorted(os.path.join(parent, name) for parent, folders, files in os.walk(directory)
                  for name in folders + files)


def written(fd, size, offset=0, **more):
    return {"command": "pwrite64", "fd": fd, "count": size, "offset": offset, "result": size, **more}


def read(fd, size, offset=0, **more):
    return {"command": "pread64", "fd": fd, "count": size, "offset": offset, "result": size, **more}


def makeSchedule(work, timing="dt"):
    """Five ranks, the third with two threads; the second waits for the first."""
    pause = 50_000_000
    ranks = []
    for rank in range(5):
        first = [opened("in", 0, "O_RDONLY"), read(0, 4096 * (rank + 1)), opened(f"out.{rank}", 1),
                 written(1, 1000 * (rank + 1)), closed(1), closed(0)]
        first[0].update({"id": rank + 1, **({"after": [1]} if rank == 1 else {})})
        first[3].update({"start": pause, "end": pause + 1000})
        for at in (4, 5):
            first[at].update({"start": pause + 1000 * at, "end": pause + 1000 * at + 1})
        ranks.append([first])
    ranks[2].append([opened("more", 7), written(7, 70000), closed(7)])
    made = schedule([file("in", "input", True, MIB), file("more"),
                     *(file(f"out.{rank}") for rank in range(5))], ranks=ranks, timing=timing)
    return write(os.path.join(work, f"{timing}.json"), made)


def dryRun(path, target, output, *options, **more):
    return replay(path, target, output, "--dry-run", *options, **more)


def checkNumbers(checks, work):
    target, output = os.path.join(work, "target"), os.path.join(work, "replayed")
    for timing, options in (("dt", []), ("dt", ["-n", "2", "--place", "block"]),
                            ("start", ["-n", "7", "--no-trace"]),
                            ("asap", ["-n", "3", "--order", "none"])):
        what = " ".join([timing, *options])
        path = makeSchedule(work, timing)
        before = everythingIn(work)
        made = dryRun(path, target, output, *options, "--json")
        text = dryRun(path, target, output, *options)
        checks.equal(everythingIn(work), before, f"{what}: nothing is made")
        if not checks.equal((made.status, made.err, text.status, text.err), (0, b"", 0, b""),
                            f"{what}: {made}"):
            continue
        dry = json.loads(made.out)
        done = replay(path, target, output, *options)
        checks.equal(done.status, 0, f"{what}: the replay: {done}")
        facts = report(output)
        checks.equal(dry["format"], "omnio-replay-dry-run", f"{what}: format")
        checks.equal([(target.get("name"), target["directory"]) for target in dry["targets"]],
                     [(target.get("name"), target["directory"]) for target in facts["targets"]],
                     f"{what}: targets")
        for key in ("schedule", "time_replay", "order", "cache", "data", "place", "traced"):
            checks.equal(dry[key], facts[key], f"{what}: {key}")
        checks.equal(dry["preparation"], {key: facts["preparation"][key]
                                          for key in ("files", "bytes")}, f"{what}: preparation")
        for key in ("operations", "bytes_read", "bytes_written"):
            checks.equal(dry[key], facts["total"][key], f"{what}: {key}")
        checks.equal([[rank["rank"] for rank in process["ranks"]] for process in dry["processes"]],
                     [numbersIn(ranks) for ranks in facts["ranks_by_process"]], f"{what}: ranks")
        places = {(rank["rank"], thread) for process in dry["processes"]
                  for rank in process["ranks"] for thread in numbersIn(rank["threads"])}
        checks.equal(places, {(one["rank"], one["thread"]) for one in facts["threads"]},
                     f"{what}: threads")
        checks.equal(sum(process["threads"] for process in dry["processes"]), 6,
                     f"{what}: number of threads")
        room = dry["rooms"][0]
        used = sum(os.path.getsize(name) for name in everythingIn(os.path.join(target, "tree"))
                   if os.path.isfile(name))
        checks.equal(room["needed_bytes"], used, f"{what}: room is what is there at the end")
        checks.that(room["free_bytes"] > used and room["directory"] == target, f"{what}: {room}")
        checks.that(0 < dry["memory"]["needed_bytes"] < dry["memory"]["available_bytes"],
                    f"{what}: {dry['memory']}")
        times = dry["duration"]
        checks.equal(times["expected_ns"], times["recorded_ns"] - (
            times["without_io_ns"] if timing == "asap" else 0), f"{what}: {times}")
        checks.that(50_000_000 < times["recorded_ns"] < 60_000_000, f"{what}: {times}")
        if timing != "asap":
            checks.that(facts["makespan_ns"] >= times["without_io_ns"] - 1000,
                        f"{what}: takes at least {times}: {facts['makespan_ns']}")
        print(text.out.decode())
        shutil.rmtree(target)
        shutil.rmtree(output)


def refusedAlike(checks, what, path, target, output, *options, **more):
    before = everythingIn(os.path.dirname(target))
    dry = dryRun(path, target, output, *options, **more)
    checks.equal(everythingIn(os.path.dirname(target)), before, f"{what}: nothing is made")
    real = replay(path, target, output, *options, **more)
    print(f"{what}: {dry.err.decode().strip()}")
    checks.that(dry.status == real.status != 0, f"{what}: status: {dry} {real}")
    checks.equal(dry.out, b"", f"{what}: nothing on standard output")
    # What is available changes from one moment to the next.
    checks.equal(withoutAvailable(dry.err), withoutAvailable(real.err), f"{what}: sentence")


def withoutAvailable(sentence):
    begin, _, rest = sentence.partition(b" bytes of memory, and ")
    return begin + rest.partition(b" are available")[2]


def checkRefusals(checks, work):
    path = makeSchedule(work)
    output = os.path.join(work, "refused")
    foreign = emptied(os.path.join(work, "foreign"))
    write(os.path.join(foreign, "precious"), "data")
    refusedAlike(checks, "foreign content", path, foreign, output)
    full = emptied(os.path.join(work, "full"))
    write(os.path.join(full, "old"), "a trace")
    refusedAlike(checks, "output not empty", path, os.path.join(work, "none"), full)
    refusedAlike(checks, "no schedule", os.path.join(work, "absent.json"),
                 os.path.join(work, "none"), output)
    circle = write(os.path.join(work, "circle.json"), schedule([file("a")], ranks=[
        [[opened("a", 0, id=1, after=[2]), closed(0)]],
        [[opened("a", 0, id=2, after=[1]), closed(0)]]]))
    refusedAlike(checks, "circle", circle, os.path.join(work, "none"), output)
    refusedAlike(checks, "output in the target", path, os.path.join(work, "none"),
                 os.path.join(work, "none", "out"))
    huge = 1 << 44
    hungry = write(os.path.join(work, "hungry.json"), schedule([file("a")], [
        [opened("a", 0), written(0, huge), closed(0)]]))
    refusedAlike(checks, "memory", hungry, os.path.join(work, "hungry"),
                 os.path.join(work, "hungry.out"), "--ignore-free-space")
    mpi = schedule([file("out")], ranks=[[[
        {"command": "MPI_File_open", "location": "out", "group": 0,
         "amode": "MPI_MODE_CREATE|MPI_MODE_RDWR", "result": 0},
        {"command": "MPI_File_close", "fd": 0, "result": 0}]] for _ in range(3)])
    mpi["global"]["mpi"] = {"groups": [[0, 1, 2]], "types": []}
    refusedAlike(checks, "MPI-IO", write(os.path.join(work, "mpi.json"), mpi),
                 os.path.join(work, "none"), output, "-n", "2")
    with devices.tmpfs(work, "small") as device:
        large = write(os.path.join(work, "large.json"), schedule(
            [file("in", "input", True, 4 * MIB)], [[opened("in", 0, "O_RDONLY"), closed(0)]]))
        target = os.path.join(device.mount_point, "target")
        refusedAlike(checks, "room", large, target, output)
        node = write(os.path.join(work, "node.json"), schedule(
            [file("@node/host/in", "input", True, 4 * MIB)],
            [[opened("@node/host/in", 0, "O_RDONLY"), closed(0)]]))
        refusedAlike(checks, "room on the node", node, os.path.join(work, "by-node"),
                     os.path.join(work, "by-node.out"), "--node-local",
                     os.path.join(device.mount_point, "own"))
        run(["mount", "-o", "remount,ro", device.mount_point])
        refusedAlike(checks, "read-only", path, target, output)
        refusedAlike(checks, "read-only output", path, os.path.join(work, "none"),
                     os.path.join(device.mount_point, "out"))
    lacking = json.load(open(path, encoding="utf-8"))
    lacking["global"]["source"] = {"trace": "t", "whole": False, "events_missing": 1}
    lacks = write(os.path.join(work, "lacking.json"), lacking)
    dry = dryRun(lacks, os.path.join(work, "none"), output)
    real = replay(lacks, os.path.join(work, "lacking"), os.path.join(work, "lacking.out"))
    checks.equal((dry.status, dry.err), (3, real.err), f"lacks data: {dry}")
    checks.equal(real.status, 3, f"lacks data: {real}")
    wrong = run([omnio(), "replay", path, "--target", os.path.join(work, "none"), "--json"],
                env=environment(**MPI_ENVIRONMENT))
    checks.equal(wrong.status, 2, f"--json alone: {wrong}")


def checkFresh(checks, work):
    """The tree of an earlier replay is refused, or counted as free with --fresh."""
    path = makeSchedule(work)
    target = os.path.join(work, "again")
    checks.equal(replay(path, target, os.path.join(work, "first")).status, 0, "a first replay")
    refusedAlike(checks, "an earlier tree", path, target, os.path.join(work, "second"))
    before = everythingIn(target)
    dry = dryRun(path, target, os.path.join(work, "second"), "--fresh", "--json", "--launcher",
                 "srun -n 3")
    checks.equal(everythingIn(target), before, "--fresh: the old tree is there")
    checks.equal(dry.status, 0, f"--fresh: {dry}")
    made = json.loads(dry.out)
    checks.that(made["rooms"][0]["removed_bytes"] >= MIB, f"--fresh: {made['rooms']}")
    checks.equal(len(made["processes"]), 3, "as many processes as the launcher starts")
    checks.equal(made["memory"]["one_node"], False, "a launcher may use other nodes")
    # Inputs that an earlier replay has put aside go too, as the replay counts them.
    aside = os.path.join(target, ".omnio-kept")
    os.mkdir(aside)
    with open(os.path.join(aside, "0" * 16), "wb") as out:
        out.write(os.urandom(3 * MIB))
        os.fsync(out.fileno())
    dry = dryRun(path, target, os.path.join(work, "second"), "--fresh", "--json")
    removed = json.loads(dry.out)["rooms"][0]["removed_bytes"]
    checks.that(removed >= made["rooms"][0]["removed_bytes"] + 3 * MIB, f"put aside: {removed}")


if __name__ == "__main__":
    devices.runOrSkip(lambda: runCases(checkNumbers, checkRefusals, checkFresh))
