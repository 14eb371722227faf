"""The phases of MPI-IO programs in C and Fortran against what follows from their mode by hand: number
of phases, repetitions, weights to the byte, f(initOffset); and the weights against omnio stats.
"""

import json
import os

from omnio_testing import (Checks, WorkDirectory, emptied, mpirun, omnio, program, run,
                           skipTest, stats, trace)

RANKS = 4
REQUEST = 65536
REPETITIONS = 8
PROGRAMS = ("c_mpi_io", "fortran_mpi_io_mpif", "fortran_mpi_io_mpi", "fortran_mpi_io_f08")
PLAIN_PROGRAMS = ("c_posix", "c_stdio", "c_fork", "cxx_threads", "cxx_openmp", "fortran_io")

# By hand, from the description of the modes in c_mpi_io.c: where rank idP begins, the displacement,
# and what else a phase says of itself.
BLOCK = {"base": 0, "per_rank": REPETITIONS * REQUEST}
TURNS = {"base": 0, "per_rank": REQUEST}
MODES = {
    "nn": ({"base": 0, "per_rank": 0}, REQUEST, "sequential", "explicit", False, False),
    "n1": (BLOCK, REQUEST, "sequential", "explicit", False, False),
    "strided": (TURNS, RANKS * REQUEST, "strided", "explicit", True, False),
    "view": (TURNS, RANKS * REQUEST, "strided", "individual", True, True),
    "view_at": (TURNS, RANKS * REQUEST, "strided", "explicit", True, True),
    "individual": (BLOCK, REQUEST, "sequential", "individual", False, False),
}


def phasesOf(checks, directory, *options):
    """The model that omnio phases writes, and the tables it prints."""
    path = directory + ".model.json"
    result = run([omnio(), "phases", directory, "-o", path, *options])
    checks.equal((result.status, result.err), (0, b""), f"omnio phases {directory}")
    with open(path, encoding="utf-8") as file:
        return json.load(file), result.out.decode()


def bytesMoved(directory):
    total = stats(directory)["total"]
    return total["read"]["size_bytes"]["total"] + total["write"]["size_bytes"]["total"]


def traced(checks, work, name, mode, *words):
    directory = emptied(os.path.join(work, "run"))
    to = os.path.join(work, f"trace{len(os.listdir(work))}")
    result = trace(to, mpirun(RANKS) + [program(name), directory, mode, str(REQUEST),
                                        str(REPETITIONS), *words])
    checks.equal(result.status, 0, f"{name} {mode} {words}: {result}")
    return to


def checkMode(checks, work, name, mode):
    what = f"{name} {mode}"
    offset, displacement, order, pointer, collective, view = MODES[mode]
    to = traced(checks, work, name, mode, "read")
    model, text = phasesOf(checks, to)
    checks.equal((model["format"], model["version"]), ("omnio-phases", 3), f"{what}: format")
    checks.equal(model["processes"], RANKS, f"{what}: processes")
    checks.equal(model["left_out"], [], f"{what}: left out")
    checks.equal([(os.path.basename(file["path"]), file["shared"]) for file in model["files"]],
                 [("nn.{rank}", False) if mode == "nn" else (mode, True)], f"{what}: files")
    checks.equal(model["files"][0]["size_bytes"],
                 REQUEST * REPETITIONS * (1 if mode == "nn" else RANKS), f"{what}: size")
    checks.equal(len(model["phases"]), 2, f"{what}: phases")
    # Seen through the view, each process writes the next etypes.
    in_view = {"in_view": {"init_offset": {"base": 0, "per_rank": 0}, "displacement": REQUEST // 8}}
    for phase, operation in zip(model["phases"], ("write", "read")):
        checks.equal(phase["operations"], [{"operation": operation, "request_bytes": REQUEST,
                                            "repetitions": REPETITIONS,
                                            "displacement_bytes": displacement,
                                            "init_offset": offset, **(in_view if view else {})}],
                     f"{what}: {operation}")
        checks.equal(phase["weight_bytes"], RANKS * REPETITIONS * REQUEST, f"{what}: weight")
        checks.equal(phase["ranks"], list(range(RANKS)), f"{what}: ranks")
        checks.equal((phase["mode"], phase["interface"], phase["pointer"], phase["collective"],
                      phase["blocking"], phase["view"], phase["etype_bytes"]),
                     (order, "mpi-io", pointer, collective, True, view, 8 if view else 1),
                     f"{what}: manner of the {operation}")
        measured = phase["measured"]
        checks.that(0 <= measured["begin_ns"] < measured["end_ns"] and measured["data_ns"] > 0
                    and phase["first_tick"] < phase["last_tick"], f"{what}: measured {measured}")
    checks.equal(sum(phase["weight_bytes"] for phase in model["phases"]), bytesMoved(to),
                 f"{what}: weight against omnio stats")
    expression = {"nn": "0", "n1": f"idP * {REPETITIONS} * 64 KiB",
                  "individual": f"idP * {REPETITIONS} * 64 KiB"}.get(
                      mode, "idP * 64 KiB + (rep - 1) * np * 64 KiB")
    lines = [line for line in text.splitlines() if f"{RANKS} write" in line]
    checks.that(len(lines) == 1 and lines[0].endswith("  " + expression),
                f"{what}: f(initOffset) as printed: {lines}")


def checkWeights(checks, work, name):
    """Whatever a program does with POSIX calls and streams: no byte is lost or counted twice."""
    to = os.path.join(work, f"trace{len(os.listdir(work))}")
    result = trace(to, [program(name), emptied(os.path.join(work, "run"))])
    checks.equal(result.status, 0, f"{name}: {result}")
    model, _ = phasesOf(checks, to)
    checks.that(model["phases"], f"{name}: there are phases")
    checks.equal(sum(phase["weight_bytes"] for phase in model["phases"]), bytesMoved(to),
                 f"{name}: weight against omnio stats")


def checkGaps(checks, work):
    """Few events between two requests end nothing, many do, and how many is the caller's choice."""
    to = traced(checks, work, "c_mpi_io", "strided", "gap=3")
    model, _ = phasesOf(checks, to)
    checks.equal(len(model["phases"]), 1, "3 events between requests")
    to = traced(checks, work, "c_mpi_io", "strided", "gap=122")
    model, text = phasesOf(checks, to)
    checks.equal([phase["operations"][0]["init_offset"] for phase in model["phases"]],
                 [{"base": i * RANKS * REQUEST, "per_rank": REQUEST} for i in range(REPETITIONS)],
                 "122 events between requests: a phase each")
    checks.that("idP * 64 KiB + (ph - 1) * np * 64 KiB" in text, f"as in the paper: {text}")
    model, _ = phasesOf(checks, to, "--gap", "122")
    checks.equal(len(model["phases"]), 1, "122 events between requests, --gap 122")


def checkNotWhole(checks, work):
    to = traced(checks, work, "c_mpi_io", "n1")
    containers = sorted(name for name in os.listdir(to) if name.endswith(".omnio"))
    os.unlink(os.path.join(to, containers[-1]))
    result = run([omnio(), "phases", to, "--json"])
    checks.equal(result.status, 0, "a trace that is not whole: status")
    checks.equal(result.err.decode().strip(), f"omnio: {to}: the trace is not whole, and the model "
                 "is that of what it has", "a trace that is not whole: stderr")
    model = json.loads(result.out)
    checks.equal(model["source"]["whole"], False, "a trace that is not whole: the model says so")
    checks.that(any("not whole" in line for line in model["left_out"]), model["left_out"])


def checkBadInput(checks, work):
    to = traced(checks, work, "c_mpi_io", "n1")
    for words, status in ((["/nowhere"], 1), ([work], 1), ([to, "-o", "/nowhere/m.json"], 1),
                          ([], 2), ([to, "--gap", "-1"], 2), ([to, "--no-such-option"], 2)):
        result = run([omnio(), "phases", *words])
        checks.equal((result.status, result.out), (status, b""), f"omnio phases {words}")
        lines = result.err.decode().splitlines()
        checks.equal(len(lines), 1 if status == 1 else 2, f"omnio phases {words}: {lines}")


def checkSurroundings(checks, work):
    """Hints at the open and later, flags, and the calls of a phase that are not reads or writes."""
    directory, to = emptied(os.path.join(work, "handled")), os.path.join(work, "handled.trace")
    result = trace(to, mpirun(2) + [program("c_mpi_handled"), "closed"], cwd=directory)
    checks.equal(result.status, 0, f"handled: {result}")
    phase = phasesOf(checks, to)[0]["phases"][0]
    checks.equal(phase["opened"]["flags"], "MPI_MODE_CREATE|MPI_MODE_RDWR", "handled: flags")
    checks.equal(phase["opened"]["hints"], {"cb_nodes": "1", "romio_cb_write": "disable"},
                 "handled: hints")
    checks.equal((phase["calls"]["MPI_File_open"], phase["calls"]["MPI_File_set_info"],
                  phase["ranks_per_node"]), (2, 2, 2), "handled: calls, ranks on a node")


def main():
    checks = Checks()
    if mpirun(RANKS) is None or program("c_mpi_io") is None:
        skipTest("no MPI")
    with WorkDirectory() as work:
        for name in PROGRAMS:
            if program(name) is None:
                checks.skip(name, "it was not built here")
                continue
            for mode in MODES:
                with checks.case(f"{name} {mode}"):
                    checkMode(checks, work, name, mode)
        for name in PLAIN_PROGRAMS:
            if program(name) is None:
                checks.skip(name, "it was not built here")
                continue
            with checks.case(name):
                checkWeights(checks, work, name)
        for name, part in (("gaps", checkGaps), ("handled", checkSurroundings),
                           ("not whole", checkNotWhole),
                           ("bad input", checkBadInput)):
            with checks.case(name):
                part(checks, work)
    checks.finish()


if __name__ == "__main__":
    main()
