"""Packed traces: every command says of them what it says of the unpacked ones; killing `omnio pack`
or filling its disk loses nothing; what is collected into a packed trace is read.

  pack.py [KILLS]
"""

import glob
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time

import devices
from omnio_testing import (Checks, WorkDirectory, differences, emptied, environment, mpirun, omnio,
                           preloadLibrary, program, quietDeath, run, stats, trace, treeOf)
from replay_testing import MPI_ENVIRONMENT, replay

MELT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../configs/demo/in.melt")
EVENTS = 1000000


def pack(directory, *options, **more):
    return run([omnio(), "pack", directory, *options], **more)


def figures(directory, *options):
    result = pack(directory, "--json", *options)
    if result.status != 0:
        raise RuntimeError(f"omnio pack failed: {result}")
    document = json.loads(result.out)
    if (document["format"], document["version"]) != ("omnio-pack", 1):
        raise RuntimeError(f"omnio pack printed another document: {document}")
    return document


def containers(directory):
    return sorted(glob.glob(os.path.join(directory, "*.omnio")))


def readings(place):
    """What each command that reads traces makes of place/trace, by its name."""
    directory = os.path.join(place, "trace")
    results = {}

    def note(name, *words, made=None):
        result = run([omnio(), *words])
        results[name] = (result.status, result.out, result.err)
        for path in filter(os.path.exists, (made, made + ".times") if made else ()):
            with open(path, "rb") as file:
                results[name] += (file.read(),)
            os.unlink(path)

    note("log", "log", directory)
    note("log --json", "log", directory, "--json")
    for by in ("file", "rank", "thread", "call"):
        note(f"stats by {by}", "stats", directory, "--by", by, "--json")
    note("stats", "stats", directory)
    made = os.path.join(place, "made.json")
    for timing in ("asap", "dt", "start"):
        note(f"preprocess {timing}", "preprocess", directory, "-o", made, "--timing", timing,
             made=made)
    note("phases", "phases", directory, "-o", made, made=made)
    note("collect", "collect", directory)
    return results


def cases(work):
    """Name, command and directory of the programs whose traces are compared."""
    for name in ("c_posix", "c_stdio", "c_fork", "cxx_threads", "c_many_threads"):
        if program(name):
            yield name, [program(name), os.path.join(work, "run")] + (
                ["300"] if name == "c_many_threads" else [])
    launcher = mpirun(4)
    if launcher and program("c_mpi_io"):
        yield "c_mpi_io", [*launcher, program("c_mpi_io"), os.path.join(work, "run"), "view",
                           "4096", "50"]
    if launcher and shutil.which("lmp"):
        yield "LAMMPS", [*launcher, "lmp", "-in", MELT, "-var", "steps", "100", "-var", "cells",
                         "8", "-log", "none", "-screen", "none"]


def sameReadings(checks, work, name, command):
    place = emptied(os.path.join(work, "place"))
    directory = os.path.join(place, "trace")
    result = trace(directory, command, cwd=emptied(os.path.join(work, "run")),
                   env=environment(**MPI_ENVIRONMENT))
    checks.that(containers(directory), f"{name}: there is a trace: {result}")
    before, wanted = treeOf(directory), readings(place)
    checks.equal(wanted["log"][0], 0, f"{name}: the trace is read")
    document = figures(directory)
    checks.equal(document["containers"], len(containers(directory)), f"{name}: containers read")
    # The few bytes of a process or thread that lived for a moment are not made smaller.
    checks.that(document["changed"] > 0 or name == "c_many_threads", f"{name}: is packed: {document}")
    packed = treeOf(directory)
    checks.that(all(packed[entry] == before[entry] for entry in before
                    if not entry.endswith(".omnio")), f"{name}: nothing but containers is changed")
    got = readings(place)
    for reading, said in wanted.items():
        checks.that(got[reading] == said, f"{name}: {reading}: packed {got[reading][0]}, "
                    f"{got[reading][2][-200:]!r}; unpacked {said[0]}, {said[2][-200:]!r}")
    checks.equal(pack(directory).out, f"{directory}: already packed\n".encode(),
                 f"{name}: a second time")
    checks.that(treeOf(directory) == packed, f"{name}: a second time changes nothing: "
                f"{differences(treeOf(directory), packed)}")
    print(f"{name}: {document['events']} events in {document['containers']} containers, "
          f"{document['bytes_before']} to {document['bytes_after']} bytes; "
          f"{len(wanted)} readings compared", flush=True)


def verifyPacked(checks, work):
    """The trace of a replay, packed, against its schedule."""
    place = emptied(os.path.join(work, "replayed"))
    recorded, made, again = (os.path.join(place, word) for word in ("trace", "made.json", "replay"))
    directory = emptied(os.path.join(place, "run"))
    trace(recorded, [program("c_pwrites"), os.path.join(directory, "data"), "200", "random"])
    pack(recorded)
    run([omnio(), "preprocess", recorded, "-o", made, "--map", f"{directory}=."])
    result = replay(made, os.path.join(place, "target"), again)
    checks.equal(result.status, 0, f"verify: the replay: {result}")
    wanted = run([omnio(), "verify", made, again])
    checks.equal(wanted.status, 0, f"verify: {wanted}")
    checks.that(figures(again)["changed"] > 0, "verify: the replay's trace is packed")
    got = run([omnio(), "verify", made, again])
    checks.equal((got.status, got.out), (wanted.status, wanted.out), "verify of a packed trace")


def bytesAnEvent(checks, work):
    for order, most, most_packed in (("sequential", 10, 4), ("random", 13, None)):
        directory = os.path.join(work, f"trace.{order}")
        trace(directory, [program("c_pwrites"), os.path.join(work, "data"), str(EVENTS), order])
        document = figures(directory)
        checks.equal(document["events"], EVENTS + 2, f"{order}: events")
        size = sum(os.path.getsize(path) for path in containers(directory))
        checks.equal(document["bytes_after"], size, f"{order}: bytes after packing as told")
        recorded, packed = document["bytes_before"] / EVENTS, size / EVENTS
        print(f"{order}: {recorded:.2f} bytes an event as recorded, {packed:.2f} packed",
              flush=True)
        checks.that(recorded <= most, f"{order}: {recorded} bytes an event")
        checks.that(most_packed is None or packed <= most_packed, f"{order}: {packed} packed")
        shutil.rmtree(directory)


def manyContainers(work):
    """A trace of several processes, some large, with packing long enough to be killed in."""
    directory = os.path.join(work, "trace.many")
    script = " & ".join(f"{program('c_bulk')} {work}/run.{i} {40000 * (i % 3 + 1)} 2"
                        for i in range(6)) + " & wait"
    for i in range(6):
        emptied(os.path.join(work, f"run.{i}"))
    trace(directory, ["sh", "-c", script])
    return directory


def killedAnywhere(checks, work, kills):
    seed = int(os.environ.get("OMNIO_TEST_SEED", time.time_ns() % 1000000))
    print(f"OMNIO_TEST_SEED={seed}")
    chance = random.Random(seed)
    directory = manyContainers(work)
    recorded = os.path.join(work, "recorded")
    shutil.copytree(directory, recorded)
    before = treeOf(directory)
    wanted = stats(directory, "--by", "file")
    log = run([omnio(), "log", directory]).out
    started = time.monotonic()
    pack(directory, "--jobs", "2")
    longest = (time.monotonic() - started) * 1.1
    packed = treeOf(directory)
    seen = {"none packed": 0, "some packed": 0, "all packed": 0}
    for number in range(kills):
        for path in containers(recorded):
            shutil.copy2(path, directory)
        with subprocess.Popen([omnio(), "pack", directory, "--jobs", "2"], env=environment(),
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              preexec_fn=quietDeath) as process:
            time.sleep(chance.uniform(0, longest))
            process.kill()
        halfway = {name: data for name, data in treeOf(directory).items()
                   if not name.endswith(".draft")}
        checks.that(all(data in (before[name], packed[name]) for name, data in halfway.items()),
                    f"kill {number}: each file is as recorded or packed")
        document = stats(directory, "--by", "file")
        checks.that(document == wanted, f"kill {number}: read as before: {document['trace']}")
        checks.that(run([omnio(), "log", directory]).out == log, f"kill {number}: the same log")
        finished = figures(directory)
        state = ("none" if finished["changed"] == finished["containers"] else
                 "all" if finished["changed"] == 0 else "some")
        seen[f"{state} packed"] += 1
        left = glob.glob(os.path.join(directory, "*.draft"))
        checks.that(not left, f"kill {number}: drafts that stay: {left}")
        checks.that(treeOf(directory) == packed, f"kill {number}: finished as without the kill")
    print(f"killed {kills} times: {seen}", flush=True)
    return recorded


def fullDevice(checks, work):
    source = os.path.join(work, "trace.small")
    trace(source, [program("c_pwrites"), os.path.join(work, "data"), "100000", "random"])
    with devices.tmpfs(work, "pack-full") as device:
        shutil.copytree(source, device.path)
        before = treeOf(device.path)
        device.fillUp(8192)
        result = pack(device.path)
        checks.equal(result.status, 1, f"full device: {result}")
        checks.that(result.err.decode().strip().endswith("No space left on device") and
                    result.err.count(b"\n") == 1, f"full device: one sentence: {result.err!r}")
        checks.that(treeOf(device.path) == before, "full device: the trace is as it was")
        os.unlink(os.path.join(device.mount_point, "somebody-else"))
        checks.equal(pack(device.path).status, 0, "full device: with room again")
        checks.that(stats(device.path)["trace"]["whole"], "full device: whole afterwards")


def sizeLimit(checks, source):
    before = treeOf(source)
    result = subprocess.run(
        [omnio(), "pack", source], env=environment(), capture_output=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)))
    checks.equal(result.returncode, 1, f"file-size limit: {result}")
    checks.that(result.stderr.decode().strip().endswith("File too large"),
                f"file-size limit: one sentence: {result.stderr!r}")
    checks.that(treeOf(source) == before, "file-size limit: the trace is as it was")


def running(checks, work):
    directory = emptied(os.path.join(work, "trace.running"))
    env = environment(LD_PRELOAD=preloadLibrary("serial"), OMNIO_DIR=directory)
    command = [program("c_counter"), emptied(os.path.join(work, "counted")), "2"]
    with subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          preexec_fn=quietDeath) as process:
        pid = int(process.stdout.readline().split()[1])
        result = pack(directory)
        checks.equal((result.status, result.err.decode()),
                     (1, f"omnio: {directory}: process {pid} is still running\n"), "running")
        process.send_signal(signal.SIGKILL)
    result = pack(directory)
    checks.equal((result.status, result.err.decode()),
                 (1, f"omnio: {directory}: events of process {pid} are still in memory: run "
                     "`omnio collect` first\n"), "killed, not collected")
    run([omnio(), "collect", directory])
    wanted = stats(directory)
    checks.equal(pack(directory).status, 0, "killed and collected")
    checks.that(stats(directory) == wanted and wanted["trace"]["events"] > 0,
                "killed and collected: read as before")


def main(kills):
    checks = Checks()
    with WorkDirectory() as work:
        for name, command in cases(work):
            with checks.case(name):
                sameReadings(checks, work, name, command)
        with checks.case("verify"):
            verifyPacked(checks, work)
        with checks.case("bytes an event"):
            bytesAnEvent(checks, work)
        with checks.case("running"):
            running(checks, work)
        with checks.case("killed"):
            sizeLimit(checks, killedAnywhere(checks, work, kills))
            try:
                fullDevice(checks, work)
            except devices.NotHere as reason:
                checks.skip("full device", str(reason))
    checks.finish()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
