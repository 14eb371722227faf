"""Phase models of more processes than were traced: of 64, from models of 4 and 16 processes (and from
one of 4, where that decides it), against the model that was traced with 64. Programs whose I/O does
not follow from two models are refused by name.
"""

import json
import os

from omnio_testing import (Checks, WorkDirectory, emptied, environment, mpirun, omnio, program, run,
                           skipTest, trace)

COUNTS = (4, 16, 64)
BYTES = 1 << 20  # of a write, of all processes together where the scaling is strong
REPETITIONS = 6
# The mode of c_mpi_io, the scaling, and whether a model of 4 processes alone is enough.
CASES = (("nn", "weak", True), ("n1", "weak", True), ("individual", "weak", True),
         ("strided", "weak", False), ("view", "weak", False), ("view_at", "weak", False),
         ("nn", "strong", False), ("n1", "strong", False), ("strided", "strong", False))


def phases(checks, what, *words):
    result = run([omnio(), "phases", *words])
    checks.equal((result.status, result.err), (0, b""), what)


def traced(checks, work, name, ranks, words):
    """The model of a run with so many ranks."""
    to = os.path.join(work, f"{name}.{ranks}")
    result = trace(to, mpirun(ranks) + words, cwd=emptied(os.path.join(work, "run")),
                   env=environment(OMPI_MCA_mpi_yield_when_idle="1"))
    checks.equal(result.status, 0, f"{name}, {ranks} ranks: {result}")
    phases(checks, f"{name}, {ranks} ranks", to, "-o", to + ".json", "--schedule", "no")
    return to + ".json"


def saidOf(path):
    """What a model says of the application, not of the run."""
    with open(path, encoding="utf-8") as file:
        model = json.load(file)
    for phase in model["phases"]:
        del phase["measured"]
        phase.pop("ranks_per_node", None)  # of the machine
    return {key: model[key] for key in ("processes", "files", "phases")}


def grown(checks, models, ranks, scaling, to):
    phases(checks, f"{models} to {ranks}", *models, "--ranks", str(ranks), "--scaling", scaling, "-o",
           to)
    return saidOf(to)


def refusal(models, ranks, scaling):
    result = run([omnio(), "phases", *models, "--ranks", str(ranks), "--scaling", scaling])
    return result.status, result.err.decode().strip()


def checkMode(checks, work, mode, scaling, alone):
    name = f"{mode}-{scaling}"
    models = [traced(checks, work, name, ranks,
                     [program("c_mpi_io"), os.path.join(work, "run"), mode,
                      str(BYTES // ranks if scaling == "strong" else BYTES // 16), str(REPETITIONS),
                      "read"]) for ranks in COUNTS]
    truth = saidOf(models[2])
    to = os.path.join(work, "grown.json")
    checks.equal(grown(checks, models[:2], COUNTS[2], scaling, to), truth, f"{name} from two models")
    if alone:
        checks.equal(grown(checks, models[:1], COUNTS[2], scaling, to), truth,
                     f"{name} from one model")
    else:
        status, why = refusal(models[:1], COUNTS[2], scaling)
        checks.that(status == 1 and ("decides" in why or "two are needed" in why),
                    f"{name} from one model: {why}")
    other = "weak" if scaling == "strong" else "strong"
    status, why = refusal(models[:2], COUNTS[2], other)
    checks.that(status == 1 and f"does not scale {other}ly" in why, f"{name} as {other}: {why}")


def checkRefused(checks, work):
    for kernel, size, why in (("btio-full", "24", "of several blocks of a view"),
                              ("btio-simple", "24", "its strides differ from rank to rank")):
        models = [traced(checks, work, kernel, ranks, [program("c_kernels"), kernel, size, "3"])
                  for ranks in COUNTS[:2]]
        status, said = refusal(models, COUNTS[2], "strong")
        checks.that(status == 1 and said.startswith("omnio: phase 1 (") and "btio." in said and
                    why in said, f"{kernel}: {said}")
    status, said = refusal([models[0], models[0]], COUNTS[2], "weak")
    checks.equal((status, said), (1, "omnio: both models are of 4 processes"), "twice the same")


def main():
    if mpirun(1) is None or program("c_mpi_io") is None:
        skipTest("no MPI here")
    checks = Checks()
    with WorkDirectory() as work:
        for mode, scaling, alone in CASES:
            checkMode(checks, work, mode, scaling, alone)
        checkRefused(checks, work)
    checks.finish()


if __name__ == "__main__":
    main()
