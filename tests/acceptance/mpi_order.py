"""The order between ranks: what `omnio log --mpi --json` says of every MPI call (its counterparts,
the time it waited for a late peer, its own cost) is what the program c_order planted and accounts
for itself.

A call's waiting by its own account: from its start until the last of those it waits for made the
call of the same message or collective call, as far as the call lasted that long. Planted waits are
what the program's plan in milliseconds says, whatever happened: how far they are from the account
is printed, and judged only without a trace.

  mpi_order.py [CASE...]    cases of c_order, by one of the two flavours in turn, or by both with
                            OMNIO_TEST_ALL_FLAVOURS=1; with OMNIO_TEST_SELF=1 without a trace: the
                            program's account is compared with its plan alone
"""

import json
import os
import sys

from omnio_testing import (Checks, WorkDirectory, emptied, manifest, mpirun, omnio, program,
                           readLog, run, skipTest)

CASES = {"ring": 4, "producer": 4, "workers": 4, "halo": 4, "persistent": 4, "probes": 4,
         "modes": 4, "wildcards": 4, "relay": 4, "late_barrier": 4, "allreduce": 4, "rooted": 4,
         "communicators": 4, "topologies": 4, "intercommunicators": 4, "nonblocking": 4,
         "windows": 4, "threads": 2, "large": 4, "same_tag": 2}
FLAVOURS = ("mpi", "hybrid")
SHARE, LEAST_NS = 0.1, 200_000  # waiting and own cost: within 10 % or 200 us
# A rank may lose its processor between its own reading of the clock and the tracer's, and be woken
# late by a machine that has less processors than ranks. So each case runs REPEATS times, and a time
# is right when its median over the runs is within the tolerance. Calls, their counterparts and the
# counts of the summary have to be right in each run.
REPEATS = 5
FEWEST = 3  # runs of these, below which a median means little
WAKING_NS = 5_000_000
SUMMARY = "summary"
# Each case is rehearsed first: at the first event of a thread the tracer takes memory for it, and
# pages of code are read. Messages of threads that race with each other wait for whom they happen to.
UNTIMED = ("warm", "same")
MESSAGES = tuple("MPI_" + name for name in (
    "Send", "Bsend", "Rsend", "Ssend", "Isend", "Ibsend", "Irsend", "Issend", "Recv", "Irecv",
    "Mrecv", "Imrecv", "Sendrecv", "Sendrecv_replace", "Start", "Startall"))
# Calls that are neither messages nor made by all of a group.
OTHERS = ("MPI_Wait", "MPI_Test", "MPI_Request", "MPI_Probe", "MPI_Iprobe", "MPI_Mprobe",
          "MPI_Improbe", "MPI_Put", "MPI_Win_post", "MPI_Win_start", "MPI_Win_complete",
          "MPI_Win_wait")


def allowed(planted):
    return max(SHARE * planted, LEAST_NS)


class Call:
    """A call by the program's account, and what follows from it."""

    def __init__(self, line):
        self.__dict__.update({"planted_ns": None, "peer": None, "tag": None, "bytes": None,
                              "size": None}, **json.loads(line))
        self.names = [part[0] for part in self.parts]

    def isTimed(self):
        return not (self.names and self.names[0].startswith(UNTIMED))

    def __str__(self):
        return f"{self.call} {'+'.join(self.names)} of rank {self.rank}"


def accountOf(directory, ranks):
    calls = []
    for rank in range(ranks):
        with open(os.path.join(directory, f"account.{rank}"), encoding="utf-8") as file:
            calls += [Call(line) for line in file]
    first = {}  # (rank, part): start of its first call
    for call in calls:
        for name in call.names:
            key = call.rank, name
            first[key] = min(first.get(key, call.start_ns), call.start_ns)
    for call in calls:
        arrivals = [first[other, part[0]] for part in call.parts for other in part[1:]]
        last = max([call.start_ns] + [moment for moment in arrivals if moment <= call.end_ns])
        call.waited_ns = last - call.start_ns
        call.own_ns = call.end_ns - last
        call.late = any(moment > call.end_ns for moment in arrivals)
    return calls


def comparePlan(times, calls):
    """How far the program did as it had planned; a busy machine wakes ranks up late."""
    for call in calls:
        if call.planted_ns is not None and call.isTimed():
            # No rank is late by the plan: the machine wakes ranks up late, or the call is long itself.
            bound = (allowed(call.planted_ns) if call.planted_ns > 0
                     else max(WAKING_NS, SHARE * (call.end_ns - call.start_ns)))
            times.compare(call.waited_ns, call.planted_ns, bound, "planted", call)


class Times:
    """How far times of the trace are from those of the account, over all runs of a case."""

    def __init__(self):
        self.samples = {}  # (what, call): [(excess over the tolerance, got, wanted)]

    def compare(self, got, wanted, bound, what, call):
        self.samples.setdefault((what, str(call)), []).append(
            (abs(got - wanted) - bound, got, wanted))

    def medians(self):
        """[(what, call, how many samples, the one in the middle)]; of an even number the worse of the
        two. Which requests a test finds complete differs from run to run: calls that few runs have
        are judged together, since one sample says what the machine did, not what the tracer does."""
        together = {}
        for (what, call), samples in self.samples.items():
            name = call if len(samples) >= FEWEST else f"{call.split()[0]} that few runs have"
            together.setdefault((what, name), []).extend(samples)
        for (what, call), samples in together.items():
            if len(samples) >= FEWEST:
                yield what, call, len(samples), sorted(samples)[len(samples) // 2]

    def failures(self, judged):
        return [f"{what} of {call}: in the median of {count} "
                f"{got * 1e-6:.3f} ms instead of {wanted * 1e-6:.3f} ms"
                for what, call, count, (excess, got, wanted) in self.medians()
                if excess > 0 and what in judged]

    def __str__(self):
        worst = {}
        for what, call, _, (_, got, wanted) in self.medians():
            worst[what] = max(worst.get(what, (-1, "")), (abs(got - wanted), call))
        return ", ".join(f"median of {what} off by at most {off / 1000:.1f} us ({call})"
                         for what, (off, call) in sorted(worst.items()))


def plainName(symbol):
    return symbol[1:] if symbol.startswith("PMPI_") else symbol


def ordered(events):
    """{(rank, tid): [events]} by their start."""
    result = {}
    for event in events:
        result.setdefault((event["rank"], event["tid"]), []).append(event)
    return {key: sorted(of, key=lambda event: event["start_ns"]) for key, of in result.items()}


def pairs(checks, name, calls, events):
    """[(call, event)]; both sides have the same calls in the same order."""
    own = {}
    for call in calls:
        own.setdefault((call.rank, call.tid), []).append(call)
    of_trace = ordered(events)
    checks.equal(sorted(of_trace), sorted(own), f"{name}: ranks and threads")
    result = []
    for key, mine in own.items():
        its = of_trace.get(key, [])
        if checks.equal([plainName(event["call"]) for event in its], [call.call for call in mine],
                        f"{name}: calls of rank {key[0]}"):
            result += zip(mine, its)
    return result


def counterpartsOf(event):
    found = list(event.get("counterparts", []))
    for request in event.get("requests", []):
        found += request.get("counterparts", [])
    return found


def placeOf(event):
    """Two threads of a rank may begin calls in the same nanosecond."""
    return event["rank"], event["thread"], event["start_ns"]


def compareMatch(checks, name, matched):
    """Each event is matched with those of the same message or collective call, and no others."""
    at = {}  # place: call
    members = {}  # part: ranks
    events = {placeOf(event): event for _, event in matched}
    for call, event in matched:
        at[placeOf(event)] = call
        for part in call.names:
            members.setdefault(part, set()).add(call.rank)
    for call, event in matched:
        what = f"{name}: {call}"
        others = set().union(*[members[part] for part in call.names]) - {call.rank}
        seen = set()
        for counterpart in counterpartsOf(event):
            other = at.get(placeOf(counterpart))
            if not checks.that(other is not None, f"{what}: no such counterpart: {counterpart}"):
                continue
            checks.that(set(other.names) & set(call.names),
                        f"{what}: {other} is none of its counterparts")
            seen.add(other.rank)
            if call.call in ("MPI_Send", "MPI_Recv"):
                back = [placeOf(one) for one in counterpartsOf(events[placeOf(counterpart)])]
                checks.equal(back, [placeOf(event)],
                             f"{what}: its counterpart's counterpart")
        # A send that was complete at once is none of a wait's requests; who waited for it is.
        needed = others
        if call.call.startswith(("MPI_Wait", "MPI_Test", "MPI_Win_")):
            needed = {other for part in call.parts for other in part[1:]}
        checks.that(needed <= seen <= others, f"{what}: ranks of its counterparts: "
                    f"got {sorted(seen)}, wanted {sorted(needed)}")
        for key, wanted in (("peer", call.peer), ("tag", call.tag)):
            got = event.get("peer") if key == "peer" else event["args"].get("tag")
            if wanted is not None and got is not None:
                checks.equal(got, wanted, f"{what}: {key}")
        if call.bytes is not None and "count" in event["args"] and call.call != "MPI_Irecv":
            checks.equal(event["args"]["count"], call.bytes, f"{what}: bytes")
        if call.size is not None and call.size > 0 and call.bytes is None:
            checks.equal(event.get("comm", {}).get("size"), call.size, f"{what}: size of its group")


def compareTimes(times, matched):
    for call, event in matched:
        if not call.isTimed():
            continue
        times.compare(event["waited_ns"], call.waited_ns, allowed(call.waited_ns), "waiting", call)
        times.compare(event["own_ns"], call.own_ns, allowed(call.own_ns), "own cost", call)


def compareSummary(checks, name, summary, calls):
    """The counts of the matched picture are the program's own, and nothing is left unmatched."""
    if not checks.that(summary is not None, f"{name}: a summary ends the log"):
        return
    messages = sum(len(call.names) for call in calls if call.call in MESSAGES) // 2
    collectives = {}
    for call in calls:
        if call.call not in MESSAGES and not call.call.startswith(OTHERS):
            collectives[call.call] = collectives.get(call.call, 0) + 1
    for kind in ("sends", "receives"):
        checks.equal(summary[kind]["count"], messages, f"{name}: number of {kind}")
        checks.equal(summary[kind]["matched"], messages, f"{name}: matched {kind}")
    checks.equal({call: counts["count"] for call, counts in summary["collectives"].items()},
                 collectives, f"{name}: numbers of collective calls")
    left = [kind for kind in ("sends", "receives", "probes", "epochs")
            if summary[kind]["unmatched"] > 0]
    left += [call for call, counts in summary["collectives"].items() if counts["unmatched"] > 0]
    checks.equal(left, [], f"{name}: unmatched")


def runOnce(checks, name, case, flavour, work, times):
    """Checks one run, and adds its times. False when it went wrong itself."""
    ranks = CASES[case]
    directory, to = emptied(os.path.join(work, "run")), os.path.join(work, "trace")
    emptied(to)
    command = [*mpirun(ranks, "--mca", "mpi_yield_when_idle", "1"), program("c_order"), case,
               directory]
    traced = flavour is not None
    if traced:
        command = [omnio(), "trace", "-o", to, "--flavour", flavour, "--", *command]
    result = run(command)
    if not checks.equal(result.status, 0, f"{name}: status"):
        print(result)
        return False
    calls = accountOf(directory, ranks)
    comparePlan(times, calls)
    if traced:
        checks.that(manifest(to)["whole"], f"{name}: the trace is whole")
        lines = list(readLog(to, "--mpi"))
        summary = next((line[SUMMARY] for line in lines if SUMMARY in line), None)
        events = [line for line in lines if "call" in line and plainName(line["call"])
                  not in ("MPI_Init_thread", "MPI_Finalize", "(completed)")]
        matched = pairs(checks, name, calls, events)
        compareMatch(checks, name, matched)
        compareTimes(times, matched)
        compareSummary(checks, name, summary, calls)
    return True


def compareCase(checks, case, flavour, work):
    name = f"{case} ({flavour})" if flavour else case
    times = Times()
    for _ in range(REPEATS):
        if not runOnce(checks, name, case, flavour, work, times):
            return
    # Whether the program waited as planned is up to the machine; the trace is compared with what it
    # did. Only the program's own test judges the plan.
    failures = times.failures(("planted",) if flavour is None else ("waiting", "own cost"))
    print(f"{name}: {len(times.samples)} times in {REPEATS} runs; {times}", flush=True)
    checks.that(not failures, f"{name}: {len(failures)} times: {'; '.join(failures[:5])}")


def main(wanted):
    if mpirun(2) is None or program("c_order") is None:
        skipTest("no MPI here")
    checks = Checks()
    alone = os.environ.get("OMNIO_TEST_SELF")
    every = os.environ.get("OMNIO_TEST_ALL_FLAVOURS")
    with WorkDirectory() as work:
        for number, case in enumerate(CASES):
            if wanted and case not in wanted:
                continue
            flavours = FLAVOURS if every else (FLAVOURS[number % len(FLAVOURS)],)
            for flavour in (None,) if alone else flavours:
                with checks.case(case):
                    compareCase(checks, case, flavour, work)
    checks.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
