"""configs/procurement/run.sh on three directories, from the recording to the answer."""

import json
import os
import re
import shlex
import shutil
import stat

from omnio_testing import (PATIENCE_S, Checks, WorkDirectory, emptied, environment, mpirun, omnio,
                           run, skipTest)

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "..", "..", "configs", "procurement", "run.sh")
NAMES = ("flash", "disk", "again")
RUNS = 2


def standIn(work):
    """A program in place of IOR: it moves the bytes of all its processes in the first one."""
    path = os.path.join(work, "ior")
    with open(path, "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\n[ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" = 0 ] || exit 0\n'
                   f'exec python3 {shlex.quote(os.path.join(HERE, "ior_stand_in.py"))} "$@"\n')
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    return path


def script(work, *candidates, **variables):
    # Two cores are enough here for the processes, and containers are often run as root.
    return run(["bash", SCRIPT, *candidates], cwd=work, timeout=PATIENCE_S,
               env=environment(OMNIO=omnio(), PHASE_RUN=os.environ["OMNIO_TEST_PHASE_RUN"],
                               LAUNCHER=shlex.join(mpirun(1)[:-2]), RUNS=RUNS, RANKS=2, STEPS=100,
                               CELLS=8, **variables))


def checkAnswer(checks, work):
    targets = {name: emptied(os.path.join(work, f"the {name}")) for name in NAMES}
    result = script(work, *(f"{name}={path}" for name, path in targets.items()), IOR=standIn(work),
                    PEAK_MIB=1)
    if not checks.equal(result.status, 0, f"run.sh: {result}"):
        return
    out = result.out.decode()
    checks.equal(re.findall(r"^round (\d): (\w+)$", out, re.MULTILINE),
                 [("1", "flash"), ("1", "disk"), ("1", "again"),
                  ("2", "disk"), ("2", "again"), ("2", "flash")], "turns")
    for said in ("trace whole: yes", "times the best", "share of peak", "peak, MiB/s"):
        checks.that(said in out, f"{said}: {out}")
    checks.that("no winner" in out or "is the fastest" in out, f"a verdict: {out}")
    output = os.path.join(work, "procurement.out")
    checks.that(os.path.getsize(os.path.join(output, "comparison.html")) > 100_000, "a page")
    with open(os.path.join(output, "comparison.json"), encoding="utf-8") as file:
        ranking = json.load(file)["ranking"]
    checks.equal(sorted(each["name"] for each in ranking), sorted(NAMES), "candidates")
    for each in ranking:
        checks.equal(each["io_s"]["runs"], RUNS, f"runs on {each['name']}")
        checks.that(each["target"].startswith(targets[each["name"]]), f"target: {each['target']}")
        checks.equal(sorted(each["peak"]), ["read_mib_s", "source", "write_mib_s"], "peak")
    for path in targets.values():
        checks.equal(os.listdir(path), [], f"what is left in {path}")
    again = script(work, *(f"{name}={path}" for name, path in targets.items()))
    checks.that(again.status == 1 and b"is there already" in again.err, f"a second time: {again}")


def checkUse(checks, work):
    target = emptied(os.path.join(work, "target"))
    for candidates, status, said in (
            ([], 2, "two candidates or more"), ([f"one={target}"], 2, "two candidates or more"),
            ([target, f"two={target}"], 2, "NAME=DIR"), ([f"a b={target}"], 2, "NAME=DIR"),
            ([f"one={target}", f"one={target}"], 2, "names two candidates"),
            ([f"one={target}", f"two={target}/no"], 1, "no such directory")):
        result = script(work, *candidates, OUTPUT=os.path.join(work, "none"))
        checks.equal(result.status, status, f"{candidates}: {result}")
        checks.equal(len(result.err.splitlines()), 1, f"{candidates}: one line: {result}")
        checks.that(said in result.err.decode(), f"{candidates}: names {said}: {result}")
    checks.that(not os.path.exists(os.path.join(work, "none")), "nothing is made")


def main():
    checks = Checks()
    if mpirun(1) is None or not os.access(os.environ.get("OMNIO_TEST_PHASE_RUN", ""), os.X_OK):
        skipTest("no MPI, or no omnio-phase-run")
    with WorkDirectory() as work:
        with checks.case("wrong use"):
            checkUse(checks, work)
        if shutil.which("lmp") is None:
            checks.skip("answer", "LAMMPS is not installed")
        else:
            with checks.case("answer"):
                checkAnswer(checks, work)
    checks.finish()


main()
