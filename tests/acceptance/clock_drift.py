"""Two hosts whose clocks differ by 3 s, and one of which runs 50 ppm too fast: in the trace no
message is received before it was sent, and what is said of the clocks is what was done to them. The
same with clocks that differ for real, by a time namespace, and with seven clocks; and ranks that
are not traced are left alone.

Drift cannot be had on one machine: OMNIO_TEST_CLOCK has the tracer read wrong clocks on purpose.
"""

import glob
import os
import shutil
import struct
import sys
import time

from omnio_testing import (Checks, WorkDirectory, manifest, mpirun, omnio, program, readLog, run,
                           skipTest, stats)
from two_namespaces import HOSTS, Network, needTwoHosts

ONE, TWO = HOSTS
AHEAD_NS = 3_000_000_000
FAST_PPM = 50
MOST_RESIDUAL_NS = 100_000
SECONDS = 10
CHUNK_HEADER = 80  # docs/formats/trace.md


def clocks(trace_directory):
    return {clock["host"]: clock for clock in stats(trace_directory)["clocks"]}


def messages(trace_directory):
    """(sender, begin of the send, end of the receive) of every message: its number among those of
    its sender is the same on both sides."""
    sends, receives = {0: [], 1: []}, {0: [], 1: []}
    for event in readLog(trace_directory):
        if event["call"] == "MPI_Send":
            sends[event["rank"]].append(event["start_ns"])
        elif event["call"] == "MPI_Recv":
            receives[event["rank"]].append(event["end_ns"])
    return [(rank, send, receive) for rank in (0, 1)
            for send, receive in zip(sends[rank], receives[1 - rank], strict=True)]


def early(trace_directory):
    """How many messages come before they went, and how long the earliest and the fastest took."""
    found = [(receive - send) for _, send, receive in messages(trace_directory)]
    return len(found), sum(1 for ns in found if ns < 0), min(found)


def without(trace_directory, *facts):
    """A copy of the trace in which no process has told these facts: the chunks are zeros, which
    readers take for a hole."""
    copy = f"{trace_directory}-without-{len(facts)}"
    shutil.copytree(trace_directory, copy)
    erased = 0
    for path in glob.glob(os.path.join(copy, "*.omnio")):
        with open(path, "rb") as file:
            data = bytearray(file.read())
        for fact in facts:
            at = data.find(fact.encode() + b"\0")
            if at < 0:
                continue
            chunk = at - CHUNK_HEADER
            assert data[chunk:chunk + 4] == b"OCHK", (path, fact)
            size = CHUNK_HEADER + struct.unpack_from("<I", data, chunk + 60)[0]
            data[chunk:chunk + size] = bytes(size)
            erased += 1
        with open(path, "wb") as file:
            file.write(data)
    assert erased == len(facts), (erased, facts)
    return copy


def traced(checks, network, to, seconds, pause_ms, name):
    command = [omnio(), "trace", "-o", to, "--", *network.mpirun(), program("c_clocks"), seconds,
               pause_ms]
    result = network.run(command)
    if not checks.equal(result.status, 0, f"{name}: status"):
        print(result)
        return False
    state = stats(to)["trace"]
    checks.equal((state["whole"], state["reasons"]), (True, []), f"{name}: whole")
    checks.equal(glob.glob(os.path.join(to, "clocks.*")), [], f"{name}: marks are taken away")
    return True


def checkOrder(checks, to, name, least):
    count, too_early, shortest = early(to)
    print(f"{name}: {count} messages, the shortest took {shortest} ns, {too_early} came before "
          "they went")
    checks.that(count >= least, f"{name}: {count} messages, at least {least} were wanted")
    checks.equal(too_early, 0, f"{name}: messages received before they were sent")


def checkSkewed(checks, network, work):
    to = os.path.join(work, "skewed")
    network.secondHost(OMNIO_TEST_CLOCK=f"{AHEAD_NS}:{FAST_PPM}")
    before = time.monotonic_ns()
    if not traced(checks, network, to, SECONDS, 20, "skewed"):
        return
    after = time.monotonic_ns()
    checkOrder(checks, to, "skewed", 100)
    found = clocks(to)
    two = found[TWO]
    print(f"skewed: {two}")
    checks.equal((found[ONE]["method"], found[ONE]["ranks"]), ("reference", [0]), "host one")
    checks.equal((two["method"], two["ranks"]), ("exchange", [1]), "host two")
    error = two["error_ns"]
    checks.that(0 < error <= MOST_RESIDUAL_NS, f"residual {error} ns")
    least, most = (AHEAD_NS + moment * FAST_PPM // 1_000_000 for moment in (before, after))
    checks.that(least - error <= two["offset_ns"] <= most + error,
                f"offset {two['offset_ns']}, injected was {least} to {most}")
    checks.that(abs(two["drift_ppm"] - FAST_PPM) <= two["drift_error_ppm"] <= 2e6 * error /
                (SECONDS * 1e9), f"drift {two['drift_ppm']} +- {two['drift_error_ppm']} ppm")
    text = run([omnio(), "stats", to]).out.decode()
    checks.that(f"wrong by at most {error / 1000:.1f} us (exchange)" in text,
                f"the residual is printed: {text[:500]}")
    hosts = {host["name"]: host for host in manifest(to)["hosts"]}
    checks.equal({name: host["ranks"] for name, host in hosts.items()}, {ONE: [0], TWO: [1]},
                 "ranks on their nodes in the manifest")
    # (Documents round to different numbers of places.)
    checks.equal({key: hosts[TWO]["clock"][key] for key in ("method", "offset_ns", "error_ns")},
                 {key: two[key] for key in ("method", "offset_ns", "error_ns")},
                 "clock in the manifest")
    checks.that(abs(hosts[TWO]["clock"]["drift_ppm"] - two["drift_ppm"]) < 0.001,
                "drift in the manifest")
    checkWithoutFacts(checks, to, error)


def checkWithoutFacts(checks, to, error):
    """The same run as a process tells it that was killed, and as one without MPI would."""
    started = without(to, "clock.end")
    two = clocks(started)[TWO]
    checks.equal((two["method"], two["drift_ppm"]), ("start only", None), "without the end")
    corrected, drifting = ([event for event in readLog(directory) if event["rank"] == 1 and
                            event["call"] == "MPI_Send"] for directory in (to, started))
    elapsed = corrected[-1]["start_ns"] - corrected[0]["start_ns"]
    gained = (drifting[-1]["start_ns"] - drifting[0]["start_ns"]) - elapsed
    wanted = elapsed * FAST_PPM // 1_000_000
    count, too_early, shortest = early(started)
    print(f"without the end: in {elapsed} ns the clock gained {gained}; of {count} messages "
          f"{too_early} came before they went, the shortest took {shortest} ns")
    checks.that(abs(gained - wanted) <= 2 * error,
                f"without the end: the clock gained {gained} ns, {wanted} were injected")
    neither = without(to, "clock.start", "clock.end")
    two = clocks(neither)[TWO]
    checks.equal((two["method"], two["error_ns"]), ("realtime", None), "without both")
    count, too_early, shortest = early(neither)
    print(f"without both: of {count} messages {too_early} came up to {-shortest} ns early")
    checks.equal(too_early, count // 2, "without both: what the wrong clock's host sent")
    checks.that(-shortest > AHEAD_NS * 9 // 10, "without both: as early as the clock is wrong")


def checkTimeNamespace(checks, network, work):
    """The kernel's own clock is another one there, and the counter is not."""
    apart_s = 1000
    network.secondHost(unshare=["--time", "--monotonic", str(apart_s), "--fork"])
    if run(["unshare", "--time", "--monotonic", "1", "--fork", "true"]).status != 0:
        checks.skip("time namespace", "unshare cannot make one here")
        return
    to = os.path.join(work, "namespace")
    if not traced(checks, network, to, 1, 5, "time namespace"):
        return
    checkOrder(checks, to, "time namespace", 20)
    two = clocks(to)[TWO]
    print(f"time namespace: {two}")
    checks.equal(two["method"], "exchange", "time namespace: method")
    checks.that(0 < two["error_ns"] <= MOST_RESIDUAL_NS, f"residual {two['error_ns']} ns")
    checks.that(abs(two["offset_ns"] - apart_s * 1_000_000_000) <= two["error_ns"],
                f"time namespace: offset {two['offset_ns']}")


def checkSameClock(checks, network, work):
    """Two hosts that are one machine have one clock, which needs no correction."""
    network.secondHost()
    to = os.path.join(work, "same")
    if traced(checks, network, to, 1, 5, "same clock"):
        checkOrder(checks, to, "same clock", 20)
        checks.equal({host: (clock["method"], clock["offset_ns"], clock["drift_ppm"],
                             clock["error_ns"]) for host, clock in clocks(to).items()},
                     {ONE: ("reference", 0, 0, 0), TWO: ("reference", 0, 0, 0)}, "same clock")


def checkUntraced(checks, network, work, rank):
    """The clocks are not compared with a rank that is not traced, and nobody waits for it."""
    network.secondHost(OMNIO_TEST_CLOCK=f"{AHEAD_NS}:0")
    to = os.path.join(work, f"untraced-{rank}")
    app = [program("c_clocks"), "1", "5"]
    traced_app = [omnio(), "trace", "-o", to, "--", *app]
    command = network.mpirun()
    at = command.index("-n")
    parts = [app, traced_app] if rank == 0 else [traced_app, app]
    result = network.run([*command[:at], "-n", "1", *parts[0], ":", "-n", "1", *parts[1]])
    if not checks.equal(result.status, 0, f"rank {rank} untraced: status"):
        print(result)
        return
    methods = [clock["method"] for clock in clocks(to).values()]
    checks.equal(methods, ["reference"], f"rank {rank} untraced: clocks")
    checks.equal(glob.glob(os.path.join(to, "clocks.*")), [], f"rank {rank} untraced: marks")


def checkManyClocks(checks, work):
    """Seven clocks on one machine, each the only one of its node as the launcher seems to tell: the
    comparison goes along a tree."""
    ranks = 7
    to = os.path.join(work, "many")
    words = ("r=$OMPI_COMM_WORLD_RANK; OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=1 "
             'OMNIO_TEST_CLOCK=$((r * 1000000000)):$((r * 10)) exec "$0" "$@"')
    before = time.monotonic_ns()
    result = run([omnio(), "trace", "-o", to, "--", *mpirun(ranks), "sh", "-c", words,
                  program("c_clocks"), "1", "5"])
    after = time.monotonic_ns()
    if not checks.equal(result.status, 0, "many clocks: status"):
        print(result)
        return
    found = {clock["ranks"][0]: clock for clock in stats(to)["clocks"]}
    checks.equal([found[rank]["method"] for rank in range(ranks)],
                 ["reference"] + ["exchange"] * (ranks - 1), "many clocks: methods")
    print("many clocks: errors " + ", ".join(f"{found[rank]['error_ns']}" for rank in range(ranks)))
    for rank in range(1, ranks):
        error, offset = found[rank]["error_ns"], found[rank]["offset_ns"]
        least, most = (rank * (1_000_000_000 + moment * 10 // 1_000_000)
                       for moment in (before, after))
        checks.that(least - error <= offset <= most + error,
                    f"many clocks: rank {rank} is {offset} ns ahead, not {least} to {most}")
    checks.equal(glob.glob(os.path.join(to, "clocks.*")), [], "many clocks: marks")


def main():
    needTwoHosts("c_clocks")
    checks = Checks()
    with WorkDirectory() as work, Network(work) as network:
        plain = network.run([*network.mpirun(), program("c_clocks"), "0", "1"])
        if plain.status != 0:
            print(plain)
            skipTest("Open MPI does not reach the second namespace")
        with checks.case("same clock"):
            checkSameClock(checks, network, work)
        with checks.case("skewed"):
            checkSkewed(checks, network, work)
        with checks.case("time namespace"):
            checkTimeNamespace(checks, network, work)
        with checks.case("many clocks"):
            checkManyClocks(checks, work)
        for rank in (0, 1):
            with checks.case(f"rank {rank} is not traced"):
                checkUntraced(checks, network, work, rank)
    checks.finish()


if __name__ == "__main__":
    sys.exit(main())
