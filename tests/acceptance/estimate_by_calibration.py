"""Estimates by a calibration: a storage where each operation takes a time of its own, so that the I/O
time of a recorded program is known to the nanosecond; runs beside it; what the estimate says of mapped
files, asynchronous I/O and calls of MPI-IO; and bad input, one sentence each.
"""

import json
import os

from calibration_testing import calibration, written
from omnio_testing import (PATIENCE_S, Checks, WorkDirectory, emptied, environment, mpirun, omnio,
                           program, run, trace)

RANKS, ROUNDS, BLOCKS, BLOCK = 2, 4, 8, 64 * 1024
# Nanoseconds, whatever the size and the number of processes; no two sums of few are alike.
TIMES = {"read": 1_000_003, "write": 2_000_029, "fsync": 5_000_167, "fdatasync": 7_000_311,
         "close": 110_017, "open": 230_003, "create": 470_021, "stat": 890_011}


def estimate(*words):
    return run([omnio(), "estimate", *words], timeout=PATIENCE_S)


def checkEstimate(checks, work, schedule, recorded, measured):
    done = estimate(schedule, "--calibration", measured, "--json", recorded)
    checks.equal((done.status, done.err), (0, b""), "status and standard error")
    document = json.loads(done.out)
    each = TIMES["create"] + BLOCKS * TIMES["write"] + TIMES["fsync"] + TIMES["close"]
    wanted = ROUNDS * each / 1e9
    checks.that(abs(document["io_s"]["total"] / wanted - 1) < 1e-6,
                f"the I/O time is {document['io_s']['total']}, wanted {wanted}")
    checks.that(document["io_s"]["least"] < wanted < document["io_s"]["most"], "the interval")
    calls = {each["operation"]: each["calls"] for each in document["operations"]}
    checks.equal(calls, {"write": RANKS * ROUNDS * BLOCKS, "fsync": RANKS * ROUNDS,
                         "close": RANKS * ROUNDS, "create": RANKS * ROUNDS}, "calls")
    checks.that(document["inside_share"] > 0.999, f"inside: {document['inside_share']}")
    stats = run([omnio(), "stats", recorded, "--by", "rank", "--json"])
    own = max(rank["io_ns"] for rank in json.loads(stats.out)["ranks"]) / 1e9
    checks.that(abs(document["beside"][0]["io_s"] - own) < 1e-9, "the trace beside it")
    again = estimate(schedule, "--calibration", measured, "--json", recorded)
    checks.equal(again.out, done.out, "the same estimate again")


def checkModel(checks, work, recorded, measured, total):
    model = os.path.join(work, "app.phases.json")
    checks.equal(run([omnio(), "phases", recorded, "-o", model]).status, 0, "omnio phases")
    by_schedule = json.loads(estimate(model, "--calibration", measured, "--json").out)
    checks.that(abs(by_schedule["io_s"]["total"] / total - 1) < 1e-6, "the model and its schedule")
    os.remove(os.path.join(work, "app.phases.schedule.json"))
    by_phases = json.loads(estimate(model, "--calibration", measured, "--json").out)
    checks.that(abs(by_phases["io_s"]["total"] / total - 1) < 0.15,
                f"the phases alone: {by_phases['io_s']['total']}, wanted about {total}")
    checks.that(any("is not beside it" in note for note in by_phases["notes"]), "which says so")


def checkModels(checks, measured):
    done = estimate("--calibration", measured, "--models")
    lines = done.out.decode().split("\n\n")[0].splitlines()
    checks.equal(done.status, 0, "the table of models")
    names = [line.split("  ")[0] for line in lines[1:]]
    checks.equal(names, 2 * ["ann+error class", "ann+ema", "ann", "table", "linear"], "models")
    for line in lines[1:]:
        checks.that(("explains" in line) == ("+" in line.split("  ")[0]), f"its use: {line}")


def checkRefused(checks, what, words, mentions):
    done = estimate(*words)
    lines = done.err.decode().splitlines()
    checks.equal((done.status, len(lines), done.out), (1, 1, b""), f"{what}: {lines}")
    checks.that(mentions in done.err.decode(), f"{what}: {lines} mentions {mentions}")


def recordedAs(checks, work, name, command):
    """The trace of the command, and what the command says."""
    recorded = os.path.join(work, name + ".trace")
    done = trace(recorded, command, cwd=emptied(os.path.join(work, name)), env=environment())
    checks.equal(done.status, 0, f"{name}: recording")
    return recorded, done.out.decode()


def estimateOf(checks, recorded, measured, *options):
    """The document of the estimate for a trace."""
    schedule = recorded + ".json"
    made = run([omnio(), "preprocess", recorded, "-o", schedule, *options])
    checks.equal(made.status, 0, f"{recorded}: preprocess")
    return json.loads(estimate(schedule, "--calibration", measured, "--json").out)


def checkMapped(checks, work, measured):
    """Pages of mapped files take no time; the sync finds those that were written. It is that of a
    new file."""
    recorded, told = recordedAs(checks, work, "mapped", [program("c_mapping"), "synced"])
    document = estimateOf(checks, recorded, measured)
    sizes = {"read": 0, "write": 0}
    for line in told.splitlines():
        sizes[line.split()[1]] += int(line.split()[3])
    checks.that(min(sizes.values()) > 0, f"it reads and writes: {sizes}")
    calls = {each["operation"]: each["calls"] for each in document["operations"]}
    checks.equal(calls, {"create": 2, "ftruncate": 2, "fsync": 1, "close": 2}, "mapped: calls")
    wanted = (2 * TIMES["create"] + TIMES["fsync"] + 2 * TIMES["close"]) / 1e9
    checks.that(abs(document["io_s"]["total"] / wanted - 1) < 1e-6,
                f"mapped: {document['io_s']['total']}, wanted {wanted}")
    words = f"{sum(sizes.values()) // 1024} KiB of mapped files"
    checks.that(any(words in note for note in document["notes"]),
                f"mapped: {words} in {document['notes']}")


def checkAsynchronous(checks, work, measured):
    """Each operation counts at its end, and the estimate says how many bytes these are."""
    recorded, told = recordedAs(checks, work, "aio", [program("c_aio"), "queue"])
    document = estimateOf(checks, recorded, measured)
    lines = [line.split() for line in told.splitlines()]
    moved = sum(int(line[-1]) for line in lines)
    calls = {each["operation"]: each["calls"] for each in document["operations"]}
    for kind in ("read", "write"):
        checks.equal(calls.get(kind), sum(line[1] == kind for line in lines), f"aio: {kind}s")
    words = f"{moved / 2**20:.2f} MiB are moved by asynchronous operations"
    checks.that(any(words in note for note in document["notes"]),
                f"aio: {words} in {document['notes']}")


def checkLayers(checks, work, measured):
    """Calls of MPI-IO count as one access each, which is said; a schedule of the calls below has
    no such note."""
    requests = 5
    command = [*mpirun(RANKS), program("c_mpi_io"), os.path.join(work, "layers"), "n1", "65536",
               str(requests)]
    recorded, _ = recordedAs(checks, work, "layers", command)
    words = "calls of MPI-IO count as one access each"
    for layer in ("mpi", "posix"):
        document = estimateOf(checks, recorded, measured, "--layer", layer)
        is_said = any(words in note for note in document["notes"])
        checks.equal(is_said, layer == "mpi", f"--layer {layer}: notes {document['notes']}")
        if layer == "mpi":
            calls = {each["operation"]: each["calls"] for each in document["operations"]}
            checks.equal(calls.get("write"), RANKS * requests, f"--layer {layer}: writes")


def checkBadInput(checks, work, schedule, measured):
    bad = written(work, "bad.json", {"format": "omnio-schedule", "version": 1})
    checkRefused(checks, "another format", (schedule, "--calibration", bad), "not a calibration")
    few = calibration(TIMES)
    few["cells"] = few["cells"][:1]
    checkRefused(checks, "few points",
                 (schedule, "--calibration", written(work, "few.json", few)), "too little")
    checkRefused(checks, "another state", (schedule, "--calibration", measured, "--cache", "direct"),
                 "cache state")
    direct = written(work, "direct.json", calibration(TIMES, cache="direct"))
    checkRefused(checks, "another state than the calls", (schedule, "--calibration", direct),
                 "without O_DIRECT")
    reads = written(work, "reads.json", calibration(TIMES, without=("write",)))
    checkRefused(checks, "without writes", (schedule, "--calibration", reads), "no write")
    checkRefused(checks, "no schedule", (measured, "--calibration", measured), "neither")
    checkRefused(checks, "no file", (os.path.join(work, "none"), "--calibration", measured),
                 "No such file")
    checks.equal(estimate("--calibration", measured).status, 2, "no model: wrong usage")
    checks.equal(estimate(schedule).status, 2, "neither results nor a calibration: wrong usage")


def main():
    checks = Checks()
    if mpirun(RANKS) is None or program("c_workloads") is None:
        checks.skip("all", "no MPI")
        checks.finish()
    with WorkDirectory() as work:
        recorded = os.path.join(work, "run.trace")
        done = trace(recorded, [*mpirun(RANKS), program("c_workloads"), "checkpoint", "1"],
                     cwd=emptied(os.path.join(work, "run")), env=environment())
        checks.equal(done.status, 0, "recording")
        schedule = os.path.join(work, "app.json")
        checks.equal(run([omnio(), "preprocess", recorded, "-o", schedule]).status, 0, "preprocess")
        measured = written(work, "cal.json", calibration(TIMES))
        total = ROUNDS * (TIMES["create"] + BLOCKS * TIMES["write"] + TIMES["fsync"] +
                          TIMES["close"]) / 1e9
        with checks.case("estimate"):
            checkEstimate(checks, work, schedule, recorded, measured)
        with checks.case("phase model"):
            checkModel(checks, work, recorded, measured, total)
        with checks.case("models"):
            checkModels(checks, measured)
        with checks.case("mapped files"):
            checkMapped(checks, work, measured)
        with checks.case("asynchronous I/O"):
            checkAsynchronous(checks, work, measured)
        with checks.case("layers"):
            checkLayers(checks, work, measured)
        with checks.case("bad input"):
            checkBadInput(checks, work, schedule, measured)
    checks.finish()


main()
