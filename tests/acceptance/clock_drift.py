"""The clocks of two hosts are found from the messages of the application alone: a trace in which one
clock is put 3 s ahead and 50 ppm too fast, one whose clock is stepped meanwhile, one with real clocks
that differ (a time namespace), four clocks in a chain, and ranks that send no message.

Drift cannot be had on one machine: shift_clock puts it into the finished trace.
"""

import os
import sys

from omnio_testing import (Checks, WorkDirectory, manifest, mpirun, omnio, program, readLog, run,
                           skipTest, stats)
from two_namespaces import HOSTS, Network, needTwoHosts

ONE, TWO = HOSTS
AHEAD_NS = 3_000_000_000
FAST_PPM = 50
ROUNDS = 500
KEPT = "clocks.json"


def clocks(trace_directory):
    return {clock["ranks"][0]: clock for clock in stats(trace_directory)["clocks"]}


def messages(trace_directory):
    """(begin of the send, end of the receive) of every message: those of a pair are received in the
    order in which they were sent."""
    sends, receives = {}, {}
    for event in readLog(trace_directory):
        peer = event["args"].get("peer")
        if event["call"] == "MPI_Send":
            sends.setdefault((event["rank"], peer), []).append(event["start_ns"])
        elif event["call"] == "MPI_Recv":
            receives.setdefault((peer, event["rank"]), []).append(event["end_ns"])
    return [pair for key in sends for pair in zip(sends[key], receives[key], strict=True)]


def beginsOf(trace_directory):
    """When the first event of each rank began."""
    result = {}
    for event in readLog(trace_directory):
        result[event["rank"]] = min(event["start_ns"], result.get(event["rank"], event["start_ns"]))
    return result


def checkOrder(checks, to, name, wanted, steps=0):
    """No message is received before it was sent, but for one at each of the `steps` that a clock made,
    and that by no more than the error which the clocks tell: where a host stops for a while as its
    clock is set, nothing says more exactly when that was."""
    took = [receive - send for send, receive in messages(to)]
    early = sum(1 for ns in took if ns < 0)
    print(f"{name}: {len(took)} messages, the shortest took {min(took)} ns, {early} came before "
          "they went")
    checks.equal(len(took), wanted, f"{name}: messages")
    checks.that(early <= steps, f"{name}: {early} messages were received before they were sent")
    error_ns = max((clock.get("error_ns", 0) for clock in clocks(to).values()), default=0)
    checks.that(early == 0 or -min(took) <= error_ns,
                f"{name}: {-min(took)} ns before it was sent, with clocks to within {error_ns} ns")
    for clock in clocks(to).values():
        checks.that(clock.get("early_receives", 0) <= steps,
                    f"{name}: {clock.get('early_receives')} early receives of {clock['host']}")


def succeeds(checks, result, name):
    if checks.equal(result.status, 0, f"{name}: status"):
        return True
    print(result)
    return False


def traced(checks, network, to, rounds, pause_ms, name):
    command = [omnio(), "trace", "-o", to, "--", *network.mpirun(), program("c_clocks"), rounds,
               pause_ms]
    if not succeeds(checks, network.run(command), name):
        return False
    state = stats(to)["trace"]
    return checks.equal((state["whole"], state["reasons"]), (True, []), f"{name}: whole")


def shift(checks, to, rank, *numbers):
    return succeeds(checks, run([program("shift_clock"), to, rank, *numbers]), f"shift rank {rank}")


def checkFound(checks, clock, name, ahead_ns, fast_ppm, later_ns=0):
    """What is said of a clock is what was done to it, within the error that is stated. The error
    follows from how long messages take and how long the run is. The offset is told for the begin of a
    rank, which comes `later_ns` than that of rank 0, from which on the clock drifts."""
    error = clock["error_ns"]
    print(f"{name}: offset {clock['offset_ns']} ns ({ahead_ns} put in), drift "
          f"{clock['drift_ppm']:.4f} +- {clock['drift_error_ppm']:.4f} ppm ({fast_ppm}), error at "
          f"most {error} ns")
    checks.equal(clock["method"], "messages", f"{name}: method")
    checks.that(error > 0, f"{name}: error {error} ns")
    drifted_ns = abs(fast_ppm * later_ns) / 1e6
    checks.that(abs(clock["offset_ns"] - ahead_ns) <= error + drifted_ns,
                f"{name}: offset {clock['offset_ns']}, {ahead_ns} was put in")
    checks.that(abs(clock["drift_ppm"] - fast_ppm) <= clock["drift_error_ppm"],
                f"{name}: drift {clock['drift_ppm']} +- {clock['drift_error_ppm']} ppm")


def checkSkewed(checks, network, work):
    network.secondHost()
    to = os.path.join(work, "skewed")
    if not traced(checks, network, to, ROUNDS, 20, "skewed"):
        return
    begins = beginsOf(to)  # while there is one clock
    laters = {rank: abs(begin - begins[0]) for rank, begin in begins.items()}
    before = {(event["rank"], i): event["start_ns"] for i, event in enumerate(readLog(to))}
    checks.that(not os.path.exists(os.path.join(to, KEPT)), "one clock: nothing is worked out")
    if not shift(checks, to, 1, AHEAD_NS, FAST_PPM):
        return
    checkOrder(checks, to, "skewed", 2 * ROUNDS)
    found = clocks(to)
    checks.equal((found[0]["method"], found[0]["offset_ns"]), ("reference", 0), "host one")
    two = found[1]
    checkFound(checks, two, "skewed", AHEAD_NS, FAST_PPM, laters[1])
    after = {(event["rank"], i): event["start_ns"] for i, event in enumerate(readLog(to))}
    off = max(abs(after[key] - before[key]) for key in before)
    print(f"skewed: events are at most {off} ns from where they are by the right clock")
    checks.that(off <= two["error_ns"], f"skewed: an event is {off} ns off, {two['error_ns']} said")
    text = run([omnio(), "stats", to]).out.decode()
    checks.that(f"wrong by at most {two['error_ns'] / 1000:.1f} us (messages)" in text,
                f"the error is printed: {text[:500]}")
    kept = os.path.join(to, KEPT)
    written = os.stat(kept).st_mtime_ns
    stats(to)
    checks.equal(os.stat(kept).st_mtime_ns, written, "what was found is kept")


def checkStepped(checks, work):
    """A clock that was stepped between dense messages: their order holds."""
    for name, step_ns in (("forward", 5_000_000), ("back", -5_000_000)):
        to = os.path.join(work, f"stepped-{name}")
        result = run([omnio(), "trace", "-o", to, "--", *mpirun(2), program("c_clocks"), "1500",
                      "1"])
        if not succeeds(checks, result, f"stepped {name}"):
            return
        sent = [send for send, _ in messages(to)]
        halfway_ns = sorted(sent)[len(sent) // 2] - beginsOf(to)[0]
        if not shift(checks, to, 1, AHEAD_NS, 0, halfway_ns, step_ns):
            return
        checkOrder(checks, to, f"stepped {name}", 3000, steps=1)
        print(f"stepped {name}: {clocks(to)[1]}")
        checks.equal(clocks(to)[1]["method"], "messages", f"stepped {name}: method")


def checkTimeNamespace(checks, network, work):
    """The kernel's own clock is another one there, and the counter is not."""
    apart_s = 1000
    if run(["unshare", "--time", "--monotonic", "1", "--fork", "true"]).status != 0:
        checks.skip("time namespace", "unshare cannot make one here")
        return
    network.secondHost(unshare=["--time", "--monotonic", str(apart_s), "--fork"])
    to = os.path.join(work, "namespace")
    if not traced(checks, network, to, 100, 5, "time namespace"):
        return
    checkOrder(checks, to, "time namespace", 200)
    two = clocks(to)[1]
    checkFound(checks, two, "time namespace", apart_s * 1_000_000_000, 0)
    hosts = {host["name"]: host for host in manifest(to)["hosts"]}
    checks.equal({name: host["ranks"] for name, host in hosts.items()}, {ONE: [0], TWO: [1]},
                 "ranks on their hosts in the manifest")
    # (Documents round to different numbers of places.)
    checks.equal({key: hosts[TWO]["clock"][key] for key in ("method", "offset_ns", "error_ns")},
                 {key: two[key] for key in ("method", "offset_ns", "error_ns")},
                 "clock in the manifest")


def checkSameClock(checks, network, work):
    """Two hosts that are one machine have one clock, which needs no correction."""
    network.secondHost()
    to = os.path.join(work, "same")
    if traced(checks, network, to, 50, 5, "same clock"):
        checkOrder(checks, to, "same clock", 100)
        checks.equal({rank: (clock["method"], clock["offset_ns"], clock["drift_ppm"],
                             clock["error_ns"]) for rank, clock in clocks(to).items()},
                     {0: ("reference", 0, 0, 0), 1: ("reference", 0, 0, 0)}, "same clock")


def checkUntraced(checks, network, work, rank):
    """A rank that is not traced takes part in nothing."""
    network.secondHost()
    to = os.path.join(work, f"untraced-{rank}")
    app = [program("c_clocks"), "50", "5"]
    traced_app = [omnio(), "trace", "-o", to, "--", *app]
    command = network.mpirun()
    at = command.index("-n")
    parts = [app, traced_app] if rank == 0 else [traced_app, app]
    result = network.run([*command[:at], "-n", "1", *parts[0], ":", "-n", "1", *parts[1]])
    if succeeds(checks, result, f"rank {rank} untraced"):
        methods = [clock["method"] for clock in clocks(to).values()]
        checks.equal(methods, ["reference"], f"rank {rank} untraced: clocks")


def checkChain(checks, work):
    """Each of four hosts has messages with its neighbours alone; their errors add up."""
    ranks = 4
    to = os.path.join(work, "chain")
    result = run([omnio(), "trace", "-o", to, "--", *mpirun(ranks, "--mca", "mpi_yield_when_idle",
                                                            "1"), program("c_clocks"), "200", "5"])
    if not succeeds(checks, result, "chain"):
        return
    begins = beginsOf(to)  # while there is one clock
    for rank in range(1, ranks):
        if not shift(checks, to, rank, rank * 1_000_000_000, rank * 10):
            return
    checkOrder(checks, to, "chain", 2 * (ranks - 1) * 200)
    found = clocks(to)
    for rank in range(1, ranks):
        checkFound(checks, found[rank], f"chain: rank {rank}", rank * 1_000_000_000, rank * 10,
                   abs(begins[rank] - begins[0]))
    checks.that(found[1]["error_ns"] < found[2]["error_ns"] < found[3]["error_ns"],
                "chain: errors add up")


def checkSilent(checks, work):
    """Without messages the time of day has to do, and its error is not known."""
    to = os.path.join(work, "silent")
    result = run([omnio(), "trace", "-o", to, "--", *mpirun(2), program("c_clocks"), "-1", "0"])
    if not succeeds(checks, result, "silent") or not shift(checks, to, 1, AHEAD_NS, 0):
        return
    two = clocks(to)[1]
    checks.equal((two["method"], two["drift_ppm"], two["error_ns"]), ("realtime", None, None),
                 "silent")
    text = run([omnio(), "stats", to]).out.decode()
    checks.that("error not bounded: as well as the site's time service keeps the time of day "
                "(realtime)" in text, f"silent: it is said: {text[:500]}")


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
        with checks.case("stepped"):
            checkStepped(checks, work)
        with checks.case("time namespace"):
            checkTimeNamespace(checks, network, work)
        with checks.case("chain"):
            checkChain(checks, work)
        with checks.case("silent"):
            checkSilent(checks, work)
        for rank in (0, 1):
            with checks.case(f"rank {rank} is not traced"):
                checkUntraced(checks, network, work, rank)
    checks.finish()


if __name__ == "__main__":
    sys.exit(main())
