"""The peak of a storage system: what peak.sh runs and leaves behind, with a stand-in for IOR, and
with IOR itself where OMNIO_TEST_IOR names one.
"""

import json
import os
import shlex
import stat

from omnio_testing import (Checks, WorkDirectory, emptied, environment, mpirun, omnio, run)

STAND_IN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ior_stand_in.py")


def must_(result):
    if result.status != 0:
        raise RuntimeError(str(result))
    return result


def executable(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    return path


def standIn(work, before=""):
    """TARGET and RESULTS apart, the variables of a script of omnio ior: IOR, and a launcher that
    starts it once."""
    return {"IOR": executable(os.path.join(work, "ior"),
                              f'#!/bin/sh\n{before}\nexec python3 {shlex.quote(STAND_IN)} "$@"\n'),
            "LAUNCHER": executable(os.path.join(work, "launch"),
                                   '#!/bin/sh\nshift 2\nexec "$@"\n')}


def measured(work, scripts, name, target, **variables):
    """The result of peak.sh, and its folder of results."""
    results = os.path.join(work, name)
    return run(["sh", os.path.join(scripts, "peak.sh")],
               env=environment(TARGET=target, RESULTS=results, **variables)), results


def checkScript(checks, work, what, variables, tasks):
    scripts, target = os.path.join(work, "scripts"), emptied(os.path.join(work, "target"))
    command = [omnio(), "ior", "--peak", "--tasks", str(tasks), "--task-mib", "2", "--iterations",
               "2"]
    must_(run([*command, "--emit", scripts]))
    result, results = measured(work, scripts, "whole", target, **variables)
    checks.equal(result.status, 0, f"{what}: {result}")
    checks.equal(os.listdir(target), [], f"{what}: what is left on the target")
    wanted = {f"peak-{kind}-{size}m-{operation}.{i}.json" for kind in ("shared", "files")
              for size in (1, 4, 16) for operation in ("write", "read") for i in (1, 2)}
    checks.equal(set(os.listdir(results)), wanted | {"peak.json"}, f"{what}: results")
    with open(os.path.join(results, "peak.json"), encoding="utf-8") as file:
        checks.equal(json.load(file), json.loads(must_(run([*command, "--json"])).out),
                     f"{what}: peak.json and --json")


def checkIoNodes(checks, work):
    scripts, target = os.path.join(work, "nodes"), emptied(os.path.join(work, "target"))
    os.mkdir(os.path.join(target, "o'ne"))
    far = emptied(os.path.join(work, "far away"))
    must_(run([omnio(), "ior", "--peak", "--tasks", "2", "--task-mib", "1", "--iterations", "1",
               "--io-node", "a=o'ne", "--io-node", f"b={far}", "--emit", scripts]))
    log = os.path.join(work, "files")
    variables = standIn(work, f'echo "$@" >>{shlex.quote(log)}')
    result, results = measured(work, scripts, "two", target, **variables)
    checks.equal(result.status, 0, f"I/O nodes: {result}")
    with open(log, encoding="utf-8") as file:
        lines = file.read().splitlines()
    for name, directory in (("a", os.path.join(target, "o'ne")), ("b", far)):
        own = [line for line in lines if f"-o {directory}/omnio-ior." in line]
        checks.equal(len(own), 12, f"runs on I/O node {name}")
        checks.equal([line for line in own if f"/peak-{name}-" not in line], [], "their names")
        checks.equal(os.listdir(directory), [], f"what is left on I/O node {name}")
    # A run that fails ends it all, without peak.json, also where an earlier one was there.
    checks.that(os.path.exists(os.path.join(results, "peak.json")), "peak.json is there")
    variables = standIn(work, 'case "$*" in *peak-b-shared-4m-read*) exit 9 ;; esac')
    result, results = measured(work, scripts, "two", target, **variables)
    checks.equal(result.status, 9, f"a run that fails: {result}")
    checks.that(not os.path.exists(os.path.join(results, "peak.json")), "no peak.json")
    checks.equal(os.listdir(far), [], "what is left of the run that failed")


def checkUse(checks, work):
    for words, said in (
            (["--peak"], "give --tasks, or a MODEL"),
            (["--peak", "--tasks", "2", "--no-fsync"], "--no-fsync"),
            (["--peak", "--tasks", "2", "--io-node", "a"], "NAME=DIR"),
            (["--peak", "--tasks", "2", "--io-node", "a=x", "--io-node", "a=y"], "two I/O nodes"),
            (["--peak", "--tasks", "0"], "--tasks"),
            ([os.path.join(work, "model"), "--tasks", "2"], "go with --peak alone")):
        result = run([omnio(), "ior", *words])
        checks.equal(result.status, 2, f"{words}: {result}")
        checks.that(said in result.err.decode(), f"{words}: names {said}: {result}")


def main():
    checks = Checks()
    with WorkDirectory() as work:
        with checks.case("peak.sh with the stand-in"):
            checkScript(checks, work, "stand-in", standIn(work), 3)
        if os.environ.get("OMNIO_TEST_IOR"):
            with checks.case("peak.sh with IOR"):
                checkScript(checks, work, "IOR",
                            {"IOR": os.environ["OMNIO_TEST_IOR"],
                             "LAUNCHER": shlex.join(mpirun(2)[:-2])}, 2)
        with checks.case("I/O nodes"):
            checkIoNodes(checks, work)
        with checks.case("wrong use"):
            checkUse(checks, work)
    checks.finish()


main()
