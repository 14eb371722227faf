"""The chain, the longest path through the I/O of all ranks: ranks that write in turn, each behind a
message of the one before, have little I/O time each and a chain that is the sum of all. The same for
the application (omnio phases), the phase runner, and a replay."""

import json
import os

from omnio_testing import (Checks, WorkDirectory, emptied, environment, mpirun, omnio, program,
                           readLog, run, trace)
from slow_storage import SlowStorage, needSlowStorage

RANKS, TURNS = 4, 10
LATENCY_MS = 2
SLOW = ("--read-us", LATENCY_MS * 1000, "--write-us", LATENCY_MS * 1000, "--metadata-us",
        LATENCY_MS * 1000)
CALLS = ("open", "openat", "open64", "pread", "pread64", "pwrite", "pwrite64", "close")


def total(times):
    return sum(times[key] for key in ("data_ns", "metadata_ns", "sync_ns"))


def document(path):
    with open(path, encoding="utf-8") as text:
        return json.load(text)


def traced(checks, work, directory, workload, words=None, env=None):
    to = os.path.join(work, workload)
    words = words or [program("c_workloads"), workload]
    result = trace(to, mpirun(RANKS) + words, cwd=directory, env=env)
    checks.equal(result.status, 0, f"{workload}: {result}")
    model = to + ".json"
    result = run([omnio(), "phases", to, "-o", model])
    checks.equal(result.status, 0, f"{workload}: {result}")
    checks.that(b"the longest path" in result.out, f"{workload}: {result}")
    return to, model


def checkToken(checks, work, storage):
    directory = emptied(os.path.join(storage.path, "run"))
    to, model = traced(checks, work, directory, "token")
    # By hand: all reads and writes follow each other, behind the open of rank 0 at least, and before
    # the close of the last rank. Other opens and closes may be longer.
    inside, ends = 0, 0
    for event in readLog(to):
        if event["depth"] != 0 or event["call"] not in CALLS:
            continue
        if not (event.get("file") or "").endswith("/token"):
            continue
        took = event["end_ns"] - event["start_ns"]
        if "read" in event["call"] or "write" in event["call"]:
            inside += took
        else:
            ends += took
    measured = document(model)["measured"]
    checks.that(inside <= measured["chain_ns"] <= inside + ends,
                f"chain of the application: {measured}, {inside} ns in reads and writes")
    others = ((RANKS - 1) * 2 * TURNS - 1) * LATENCY_MS * 1_000_000
    checks.that(total(measured) - ends + others <= measured["chain_ns"],
                f"the others' reads and writes are in it too: {measured}, {ends} ns in opens and closes")

    least_s = (2 * RANKS * TURNS - 1) * LATENCY_MS / 1e3
    results = to + ".results.json"
    result = run(mpirun(RANKS) + [os.environ["OMNIO_TEST_PHASE_RUN"], model, "--target",
                                  emptied(os.path.join(storage.path, "phases")), "-o",
                                  results],
                 env=environment())
    checks.equal(result.status, 0, f"phase runner: {result}")
    checks.that(b" chain " in result.out, f"phase runner: {result}")
    found = document(results)["runs"][0]
    checks.that(found["chain_s"] >= least_s and found["io_s"] < found["chain_s"],
                f"phase runner: {found}")
    result = run([omnio(), "estimate", model, results, "--json"])
    checks.equal(result.status, 0, f"estimate: {result}")
    estimate = json.loads(result.out)
    checks.equal((estimate["whole"]["chain_s"]["median"], estimate["application"]["chain_s"]),
                 (found["chain_s"], measured["chain_ns"] / 1e9), "chains of omnio estimate")

    schedule, replayed = to + ".schedule.json", to + ".replay"
    result = run([omnio(), "preprocess", to, "-o", schedule])
    checks.equal(result.status, 0, f"preprocess: {result}")
    result = run([omnio(), "replay", schedule, "--target", os.path.join(storage.path, "replay"), "-o",
                  replayed], env=environment())
    checks.equal(result.status, 0, f"replay: {result}")
    io = document(os.path.join(replayed, "replay.json"))["io"]
    checks.that(io["chain_ns"] / 1e9 >= least_s and total(io) < io["chain_ns"], f"replay: {io}")


def checkTogether(checks, work, storage, workload):
    """Where all are at work at once, the chain is not much longer than the slowest rank's time."""
    directory = emptied(os.path.join(storage.path, workload))
    to, model = traced(checks, work, directory, workload)
    by_rank = {}
    for event in readLog(to):
        if event["depth"] == 0 and (event.get("file") or "").startswith(directory):
            took = event["end_ns"] - event["start_ns"]
            by_rank[event["rank"]] = by_rank.get(event["rank"], 0) + took
    measured = document(model)["measured"]
    checks.that(total(measured) <= measured["chain_ns"] <= sum(by_rank.values()),
                f"{workload}: {measured}, {by_rank}")
    checkSameTime(checks, to, measured)


def checkSameTime(checks, to, measured):
    """`omnio stats` and `omnio phases` name the same I/O time."""
    ranks = json.loads(run([omnio(), "stats", to, "--json"]).out)["ranks"]
    slowest = max(ranks, key=lambda rank: rank["io_ns"])
    checks.equal([slowest[key] for key in ("data_ns", "metadata_ns", "sync_ns", "waiting_ns")],
                 [measured[key] for key in ("data_ns", "metadata_ns", "sync_ns", "waiting_ns")],
                 f"I/O time of rank {slowest['rank']} by omnio stats and omnio phases")


def checkEarly(checks, work, storage):
    """A rank that leaves a collective call before the others come does not wait for them: no chain is
    longer than the run."""
    romio = environment(OMPI_MCA_io="romio321")
    directory = emptied(os.path.join(storage.path, "early"))
    to, model = traced(checks, work, directory, "early", [program("c_mpi_early"), "20"], romio)
    calls = [event for event in readLog(to)
             if event["depth"] == 0 and (event.get("file") or "").startswith(directory)]
    arrivals = {}
    for event in calls:
        if event["call"] == "MPI_File_write_at_all":
            arrivals.setdefault(event["rank"], []).append((event["start_ns"], event["end_ns"]))
    turns = zip(*arrivals.values())
    checks.that(any(min(end for _, end in turn) < max(start for start, _ in turn) for turn in turns),
                f"a rank leaves before another comes: {arrivals}")
    span = max(event["end_ns"] for event in calls) - min(event["start_ns"] for event in calls)
    measured = document(model)["measured"]
    checks.that(total(measured) <= measured["chain_ns"] <= span,
                f"early: {measured}, {span} ns in all")
    checkSameTime(checks, to, measured)
    results = to + ".results.json"
    result = run(mpirun(RANKS) + [os.environ["OMNIO_TEST_PHASE_RUN"], model, "--target",
                                  emptied(os.path.join(storage.path, "early-run")), "-o", results],
                 env=romio)
    checks.equal(result.status, 0, f"phase runner: {result}")
    found = document(results)["runs"][0]
    checks.that(found["io_s"] <= found["chain_s"] <= found["makespan_s"], f"phase runner: {found}")


def main():
    needSlowStorage()
    checks = Checks()
    with WorkDirectory() as work, SlowStorage(work, *SLOW) as storage:
        checkToken(checks, work, storage)
        for workload in ("checkpoint", "collective"):
            checkTogether(checks, work, storage, workload)
        checkEarly(checks, work, storage)
    checks.finish()


if __name__ == "__main__":
    main()
