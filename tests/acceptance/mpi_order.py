"""The order between ranks: what `omnio log --mpi --json` says of every MPI call (its counterparts,
the time it waited for a late peer, its own cost) is what the program c_order accounts for itself.

Each event lies within the program's own times of its call. What a call waited for, by the program's
account, are the first calls of others that have a part of it: from its start until the last of those
came, as far as the call lasted that long. With the times of their events in the trace that is a sum,
and has to be right to the nanosecond, however busy the machine is. A call that need not wait, such as
a small send, may seem to have waited for those of the same message that came before it ended.

  mpi_order.py [CASE...]    cases of c_order, by one of the two flavours in turn, or by both with
                            OMNIO_TEST_ALL_FLAVOURS=1
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
SUMMARY = "summary"
CLOCKS_NS = 2000  # how exactly the trace's counter is translated into the time of the program's clock
# Messages of threads that race with each other wait for whom they happen to.
RACING = ("same", "warm.same")
MESSAGES = tuple("MPI_" + name for name in (
    "Send", "Bsend", "Rsend", "Ssend", "Isend", "Ibsend", "Irsend", "Issend", "Recv", "Irecv",
    "Mrecv", "Imrecv", "Sendrecv", "Sendrecv_replace", "Start", "Startall"))
# Calls that are neither messages nor made by all of a group.
OTHERS = ("MPI_Wait", "MPI_Test", "MPI_Request", "MPI_Probe", "MPI_Iprobe", "MPI_Mprobe",
          "MPI_Improbe", "MPI_Put", "MPI_Win_post", "MPI_Win_start", "MPI_Win_complete",
          "MPI_Win_wait")


class Call:
    """A call by the program's account, and what follows from it."""

    def __init__(self, line):
        self.__dict__.update({"peer": None, "tag": None, "bytes": None,
                              "size": None}, **json.loads(line))
        self.names = [part[0] for part in self.parts]

    def races(self):
        return bool(self.names) and self.names[0].startswith(RACING)

    def __str__(self):
        return f"{self.call} {'+'.join(self.names)} of rank {self.rank}"


def accountOf(directory, ranks):
    calls = []
    for rank in range(ranks):
        with open(os.path.join(directory, f"account.{rank}"), encoding="utf-8") as file:
            calls += [Call(line) for line in file]
    return calls


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


def compareTimes(checks, name, ranks, matched):
    first = {}  # (rank, part): start of its first event
    for call, event in matched:
        for part in call.names:
            key = call.rank, part
            first[key] = min(first.get(key, event["start_ns"]), event["start_ns"])
    waits = 0
    for call, event in matched:
        start, end = event["start_ns"], event["end_ns"]
        checks.that(call.start_ns - CLOCKS_NS <= start <= end <= call.end_ns + CLOCKS_NS,
                    f"{name}: {call}: from {start} to {end}, by its own account from {call.start_ns} to "
                    f"{call.end_ns}")
        if call.races():
            continue
        needed = [first[other, part[0]] for part in call.parts for other in part[1:]]
        all_came = [first[other, name] for name in call.names for other in range(ranks)
                    if (other, name) in first and other != call.rank]
        allowed = []
        for came in (needed, all_came):
            waited = max([start] + [moment for moment in came if moment <= end]) - start
            allowed.append((waited, end - start - waited))
        waits += event["waited_ns"] > 0
        checks.that((event["waited_ns"], event["own_ns"]) in allowed,
                    f"{name}: {call}: waiting and own cost: got {event['waited_ns']} and "
                    f"{event['own_ns']} ns, wanted one of {allowed}")
    return waits


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


def compareCase(checks, case, flavour, work):
    name, ranks = f"{case} ({flavour})", CASES[case]
    directory, to = emptied(os.path.join(work, "run")), os.path.join(work, "trace")
    emptied(to)
    result = run([omnio(), "trace", "-o", to, "--flavour", flavour, "--",
                  *mpirun(ranks, "--mca", "mpi_yield_when_idle", "1"), program("c_order"), case,
                  directory])
    if not checks.equal(result.status, 0, f"{name}: status"):
        print(result)
        return
    calls = accountOf(directory, ranks)
    checks.that(manifest(to)["whole"], f"{name}: the trace is whole")
    lines = list(readLog(to, "--mpi"))
    summary = next((line[SUMMARY] for line in lines if SUMMARY in line), None)
    events = [line for line in lines if "call" in line and plainName(line["call"])
              not in ("MPI_Init_thread", "MPI_Finalize", "(completed)")]
    matched = pairs(checks, name, calls, events)
    compareMatch(checks, name, matched)
    waits = compareTimes(checks, name, ranks, matched)
    compareSummary(checks, name, summary, calls)
    print(f"{name}: {len(matched)} calls, {waits} of them waited", flush=True)


def main(wanted):
    if mpirun(2) is None or program("c_order") is None:
        skipTest("no MPI here")
    checks = Checks()
    every = os.environ.get("OMNIO_TEST_ALL_FLAVOURS")
    with WorkDirectory() as work:
        for number, case in enumerate(CASES):
            if wanted and case not in wanted:
                continue
            flavours = FLAVOURS if every else (FLAVOURS[number % len(FLAVOURS)],)
            for flavour in flavours:
                with checks.case(case):
                    compareCase(checks, case, flavour, work)
    checks.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
