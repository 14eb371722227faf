"""configs/procurement/run.sh on three directories, from the recording to the answer."""

import json
import os
import shlex
import shutil

from omnio_testing import (PATIENCE_S, Checks, WorkDirectory, emptied, environment, mpirun, omnio,
                           run, skipTest)

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "..", "..", "configs", "procurement", "run.sh")
NAMES = ("flash", "disk", "again")


def script(work, *words, **variables):
    # Two cores are enough here for the processes, and containers are often run as root.
    path = f"{os.path.dirname(omnio())}:{os.environ['PATH']}"
    return run(["bash", SCRIPT, *words], cwd=work, timeout=PATIENCE_S,
               env=environment(PATH=path, LAUNCHER=shlex.join(mpirun(1)[:-2]), RANKS=2, STEPS=100,
                               CELLS=8, **variables))


def checkAnswer(checks, work):
    targets = {name: emptied(os.path.join(work, f"the {name}")) for name in NAMES}
    on = [word for name, path in targets.items() for word in ("--on", f"{name}={path}")]
    for by, origin in (("replay", "replay"), ("phase-run", "phase run")):
        output = os.path.join(work, f"{by}.out")
        result = script(work, *on, "--rounds", "2", "--at-most", "2", "--by", by, "--peak",
                        "disk=1000,1000", OUTPUT=output)
        if not checks.equal(result.status, 0, f"run.sh: {result}"):
            return
        out = result.out.decode()
        for said in ("times the best", "share of peak", "peak, MiB/s"):
            checks.that(said in out, f"{by}, {said}: {out}")
        checks.that("no winner" in out or "is the fastest" in out, f"{by}: a verdict: {out}")
        checks.that(os.path.getsize(os.path.join(output, "evaluation.html")) > 100_000, "a page")
        with open(os.path.join(output, "comparison.json"), encoding="utf-8") as file:
            ranking = json.load(file)["ranking"]
        checks.equal(sorted(each["name"] for each in ranking), sorted(NAMES), f"{by}: candidates")
        for each in ranking:
            checks.equal((each["io_s"]["runs"], each["origins"]), (2, [origin]), f"runs of {each['name']}")
            checks.equal("peak" in each, each["name"] == "disk", f"peak of {each['name']}")
        for path in targets.values():
            checks.equal(os.listdir(path), [], f"{by}: what is left in {path}")


def main():
    checks = Checks()
    if mpirun(1) is None or not os.access(os.environ.get("OMNIO_TEST_PHASE_RUN", ""), os.X_OK):
        skipTest("no MPI, or no omnio-phase-run")
    if shutil.which("lmp") is None:
        skipTest("LAMMPS is not installed")
    with WorkDirectory() as work:
        with checks.case("answer"):
            checkAnswer(checks, work)
    checks.finish()


main()
