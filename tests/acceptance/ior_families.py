"""IOR runs a family of phases once: the kernels of known programs take no more starts of IOR than
`omnio phases` has lines for them, all phases get a time, and the times are those of IOR's columns with
the opens and closes of the application. IOR is a stand-in, and IOR itself too where there is one
(ior_testing.py).
"""

import json
import os
import re
import shlex
import statistics

from ior_testing import NO_IOR, executable, ior, standIn
from omnio_testing import (Checks, WorkDirectory, emptied, environment, mpirun, omnio, program, run,
                           skipTest, trace)

RANKS = 4
# Kernel -> its size and steps, and the starts of IOR and the families of phases.
KERNELS = {"btio-full": (8, 5, 1, 2), "btio-simple": (8, 2, 1, 2), "madbench": (64, 8, 3, 5),
           "s3d": (4, 3, 3, 3), "hacc-shared": (1000, 2, 3, 6)}


def must_(result):
    if result.status != 0:
        raise RuntimeError(str(result))
    return result


def recorded(work, name, size, steps):
    """The model of a run of the kernel, with exchanges between its steps where it had them."""
    directory, model = os.path.join(work, f"{name}.trace"), os.path.join(work, f"{name}.json")
    if os.path.exists(model):
        return directory, model
    events = [] if name == "madbench" else ["0", "20"]
    must_(trace(directory, mpirun(RANKS) + [program("c_kernels"), name, str(size), str(steps), *events],
                "mpi", cwd=emptied(os.path.join(work, "data"))))
    must_(run([omnio(), "phases", directory, "-o", model]))
    return directory, model


def familyTimes(plan, phases, results):
    """By family: the medians of its operations, of the transfers at the rate of IOR, and the opens and
    closes that a process made."""
    times = {}
    for family in plan["families"]:
        ids, first = family["phases"], phases[family["phases"][0]]
        total = 0
        for number, (operation, name) in enumerate(zip(first["operations"], family["runs"])):
            with open(os.path.join(results, f"{name}.json"), encoding="utf-8") as file:
                found = [each for each in json.load(file)["tests"][0]["Results"]
                         if each["access"] == operation["operation"]]
            [size] = [each["transfer_bytes"] for each in plan["runs"] if each["name"] == name]
            weight = sum(o["request_bytes"] * o["repetitions"] * len(phases[i]["ranks"])
                         for i in ids for o in [phases[i]["operations"][number]])
            opens, closes = (sum(phases[i]["calls"].get(f"MPI_File_{call}", 0) for i in ids) / RANKS
                             if number == 0 else 0 for call in ("open", "close"))
            total += statistics.median(weight / (each["iops"] * size) + opens * each["openTime"] +
                                       closes * each["closeTime"] for each in found)
        times[ids[0]] = total
    return times


def checkKernel(checks, work, name, what, variables):
    size, steps, starts, families = KERNELS[name]
    directory, model = recorded(work, name, size, steps)
    scripts, target, results = (emptied(os.path.join(work, folder))
                                for folder in ("scripts", "target", "results"))
    said = must_(run([omnio(), "ior", model, "--emit", scripts])).out.decode()
    count = re.search(r"^(\d+) starts? of IOR for (\d+) families of phases$", said, re.MULTILINE)
    checks.equal((int(count[1]), int(count[2])), (starts, families), f"{name}: starts and families")
    checks.that(starts <= families, f"{name}: {starts} starts for {families} families")
    log = os.path.join(work, "starts")
    launcher = executable(os.path.join(work, "counting"),
                          f'#!/bin/sh\n[ "$3" = sh ] || printf "%s\\n" "$*" >>{shlex.quote(log)}\n'
                          f'exec {variables["LAUNCHER"]} "$@"\n')
    if os.path.exists(log):
        os.unlink(log)
    must_(run(["sh", os.path.join(scripts, "run-all.sh")],
              env=environment(TARGET=target, RESULTS=results, IOR=variables["IOR"],
                              LAUNCHER=launcher)))
    with open(log, encoding="utf-8") as file:
        lines = file.read().splitlines()
    checks.equal(len(lines), starts, f"{name}, {what}: starts of IOR: {lines}")
    checks.equal(os.listdir(target), [], f"{name}, {what}: what is left on the target")

    plan_file = os.path.join(results, "ior-plan.json")
    estimate = json.loads(must_(run([omnio(), "estimate", model, plan_file, "--json"])).out)
    with open(model, encoding="utf-8") as file:
        phases = {phase["id"]: phase for phase in json.load(file)["phases"]}
    with open(plan_file, encoding="utf-8") as file:
        plan = json.load(file)
    checks.equal(([each["phase"] for each in estimate["phases"]], estimate["missing"]),
                 (sorted(phases), []), f"{name}, {what}: phases with a time")
    found = {each["phase"]: each["time_io_s"]["median"] for each in estimate["phases"]}
    for first, wanted in familyTimes(plan, phases, results).items():
        [ids] = [family["phases"] for family in plan["families"] if family["phases"][0] == first]
        own = sum(found[i] for i in ids)
        checks.that(abs(own - wanted) < 1e-6 * wanted,
                    f"{name}, {what}: family of phase {first}: {own} s, wanted {wanted} s")
    text = must_(run([omnio(), "estimate", model, plan_file])).out.decode()
    checks.equal(len(re.findall(r"^ *\d[\d, .-]*(?:\(\d+ phases\))?  (?:write|read)", text, re.MULTILINE)),
                 families, f"{name}, {what}: a row for each family: {text}")
    beside = must_(run([omnio(), "compare", model, f"life={directory}", f"ior={plan_file}"])).out.decode()
    checks.that("I/O times are sums over the phases, also of life, since others ran them one by one\n"
                in beside, f"{name}, {what}: IOR beside the trace: {beside}")


def checkRandom(checks, work, what, variables):
    """Random reads of an eighth of a file that was there before: IOR ranges over all of it."""
    request, requests, extent = 65536, 2, 4 << 20
    model = os.path.join(work, "random.json")
    reads = {"operation": "read", "request_bytes": request, "repetitions": requests,
             "displacement_bytes": 0, "init_offset": {"base": 0, "per_rank": 0}}
    times = {f"{part}_ns": 0 for part in ("begin", "end", "data", "metadata", "sync", "waiting")}
    with open(model, "w", encoding="utf-8") as file:
        json.dump({"format": "omnio-phases", "version": 3, "processes": RANKS, "left_out": [],
                   "source": {"trace": "hand", "whole": True, "command": ["app"]},
                   "files": [{"path": "/data/table", "shared": True, "size_bytes": extent}],
                   "phases": [{"id": 1, "file": 0, "operations": [reads], "ranks": list(range(RANKS)),
                               "weight_bytes": request * requests * RANKS, "first_tick": 0,
                               "last_tick": 0, "mode": "random", "interface": "posix",
                               "pointer": "explicit", "collective": False, "blocking": True,
                               "view": False, "etype_bytes": 1, "measured": times}]}, file)
    scripts, target, results = (emptied(os.path.join(work, folder))
                                for folder in ("scripts", "target", "results"))
    said = must_(run([omnio(), "ior", model, "--emit", scripts])).out.decode()
    checks.that(f"  ior -a POSIX -r -N 4 -t {request} -b {extent // RANKS} -s 1 -i 3 -z -g -m "
                f"-O stoneWallingWearOutIterations={requests} -o" in said, f"random, {what}: {said}")
    checks.that(f"approximation: the reads are at random over the {extent} bytes of the file; IOR deals "
                "out by lot which of them a task does, none of them twice, and in which order\n" in said,
                f"random, {what}: {said}")
    must_(run(["sh", os.path.join(scripts, "run-all.sh")],
              env=environment(TARGET=target, RESULTS=results, **variables)))
    checks.equal(os.listdir(target), [], f"random, {what}: what is left on the target")
    estimate = json.loads(must_(run([omnio(), "estimate", model, f"{results}/ior-plan.json",
                                     "--json"])).out)
    checks.equal([each["iterations"] for each in estimate["phases"]], [3], f"random, {what}: runs")


def main():
    checks = Checks()
    if mpirun(RANKS) is None or program("c_kernels") is None:
        skipTest("no MPI")
    with WorkDirectory() as work:
        for name in KERNELS:
            with checks.case(f"{name}, the stand-in"):
                checkKernel(checks, work, name, "the stand-in", standIn(work))
        with checks.case("random, the stand-in"):
            checkRandom(checks, work, "the stand-in", standIn(work))
        if ior() is None:
            checks.skip("IOR itself", NO_IOR)
        else:
            variables = {"IOR": ior(), "LAUNCHER": shlex.join(mpirun(RANKS)[:-2])}
            for name in KERNELS:
                with checks.case(f"{name}, IOR"):
                    checkKernel(checks, work, name, "IOR", variables)
            with checks.case("random, IOR"):
                checkRandom(checks, work, "IOR", variables)
    checks.finish()


main()
