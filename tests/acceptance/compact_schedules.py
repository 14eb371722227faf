"""The compact form of schedules says what the flat form says: for traces of real programs and for schedules
made at random, omnio and an expander of its own (schedule_expander.py) give back each operation with all
its arguments, by rank and thread, and its times to the nanosecond. Replays make the same system calls.

  compact_schedules.py [--many] [CASE...]      --many: 10,000 schedules at random
"""

import json
import os
import re
import shutil
import sys
import time

from generated_schedules import generated
from omnio_testing import (Checks, WorkDirectory, byTurns, emptied, environment, mpirun, omnio, program, run, trace)
from real_program_cases import writeMelt
from replay_testing import MPI_ENVIRONMENT, replay, write
from same_system_calls import STRACE, systemCalls
from schedule import fitsSchema, pythonWithSchemas
from schedule_expander import expanded

FEW, MANY = 200, 10_000
SHARE_OF_FLAT = {4: 0.01, 16: 0.01}
# How far the sum of means may be from that of the times.
TIME_SHARE = 0.01
# Connections of MPI, and the letters that mkstemp makes up.
OF_MPI, MADE_UP = "<socket:", re.compile(r"temporary\.\w{6}")


def operation(event):
    """An event with what may be left out of it."""
    result = dict(event)
    if "compute" in result:
        result.setdefault("communication", 0)
    if "after" in result:
        result["after"] = [(wait, "file", 0, 0) if not isinstance(wait, dict) else
                           (wait["id"], wait["why"], wait.get("compute", 0), wait.get("communication", 0))
                           for wait in result["after"]]
    return result


def threads(document):
    """(rank, thread) with what is said of the thread, and its operations."""
    return {(rank["rank"], thread["thread"]):
            ({key: value for key, value in thread.items() if key != "events"},
             [operation(event) for event in thread["events"]])
            for rank in document["ranks"] for thread in rank["threads"]}


def sameSchedule(checks, got, wanted, what):
    """One check; says where the first difference is."""
    def firstDifference():
        for part in ("format", "version"):
            if got[part] != wanted[part]:
                return f"{part}: {got[part]}, not {wanted[part]}"
        without_times = {key: value for key, value in got["global"].items() if key != "times"}
        if without_times != wanted["global"]:
            return f"global: {without_times}, not {wanted['global']}"
        ours, theirs = ({json.dumps(file, sort_keys=True) for file in document["files"]}
                        for document in (got, wanted))
        if len(got["files"]) != len(wanted["files"]) or ours != theirs:
            return f"files: {sorted(ours ^ theirs)[:4]}"
        mine, other = threads(got), threads(wanted)
        if list(mine) != list(other) or len(got["ranks"]) != len(wanted["ranks"]):
            return f"threads: {list(mine)[:9]}, not {list(other)[:9]}"
        for place, (head, events) in mine.items():
            wanted_head, wanted_events = other[place]
            if head != wanted_head:
                return f"rank and thread {place}: {head}, not {wanted_head}"
            for number, (event, wanted_event) in enumerate(zip(events, wanted_events)):
                if event != wanted_event:
                    return f"rank and thread {place}, operation {number}: {event}, not {wanted_event}"
            if len(events) != len(wanted_events):
                return f"rank and thread {place}: {len(events)} operations, not {len(wanted_events)}"
        return None

    difference = firstDifference()
    return checks.that(difference is None, f"{what}: {difference}")


def load(path):
    with open(path, encoding="utf-8") as text:
        return json.load(text)


def made(checks, *words):
    done = run([omnio(), *words])
    return checks.equal((done.status, done.err), (0, b""), " ".join(map(str, words)))


def checkForms(checks, name, flat, compact):
    """The compact schedule beside the flat one, which omnio makes of each other too."""
    wanted = load(flat)
    sameSchedule(checks, expanded(compact), wanted, f"{name}: the compact form, expanded by the test")
    other = compact + ".other"
    if made(checks, "schedule", "expand", compact, "-o", other):
        sameSchedule(checks, load(other), wanted, f"{name}: schedule expand")
    if made(checks, "schedule", "compact", flat, "-o", other):
        sameSchedule(checks, expanded(other), wanted, f"{name}: schedule compact, expanded by the test")
    return wanted


def said(path, *words):
    """What a command prints of the schedule, but for its name."""
    done = run([omnio(), "schedule", *words, path, "--json"])
    return done.status, done.err, {**json.loads(done.out), "schedule": ""}


def checkSaid(checks, name, flat, compact):
    for words in (("show",), ("show", "--by", "file"), ("show", "--by", "call"), ("check",)):
        checks.equal(said(compact, *words), said(flat, *words), f"{name}: {' '.join(words)}")


# Real programs ------------------------------------------------------------------------------------


def traceCases(directory):
    """(name, command, ranks, what prepares the directory, layers)"""
    both = ("posix", "mpi")
    yield "c_mpi_turns", [program("c_mpi_turns"), directory, "40"], 4, None, both
    yield "c_workloads token", [program("c_workloads"), "token"], 4, None, ("posix",)
    yield "c_workloads pipeline", [program("c_workloads"), "pipeline"], 4, None, ("posix",)
    yield "c_workloads collector", [program("c_workloads"), "collector", "4"], 4, None, ("posix",)
    yield "c_kernels btio-full", [program("c_kernels"), "btio-full", "24", "3", "0"], 4, None, both
    yield "c_kernels madbench", [program("c_kernels"), "madbench", "64", "3"], 4, None, both
    yield "fortran_kernels", [program("fortran_kernels"), "btio-full", "24", "3", "0"], 4, None, both
    yield "c_hdf5_flash", [program("c_hdf5_flash"), "4", "2"], 4, None, both
    for mode in ("nn", "n1"):
        yield f"c_mpi_io {mode}", [program("c_mpi_io"), directory, mode, "4096", "20"], 4, None, both
    yield "c_fork", [program("c_fork"), directory], 0, None, ("posix",)
    yield "cxx_threads", [program("cxx_threads"), directory], 0, None, ("posix",)
    yield "c_mixed", [program("c_mixed")], 0, None, ("posix",)
    yield "c_posix", [program("c_posix"), directory], 0, None, ("posix",)
    yield ("LAMMPS", [shutil.which("lmp"), "-in", "in.melt", "-log", "none", "-screen", "none"], 4,
           writeMelt, both)


def traced(checks, work, name, command, ranks, prepare=None):
    """The trace of a program, and None and a skip where it cannot run."""
    if None in command or (ranks and mpirun(ranks) is None):
        checks.skip(name, "not installed or not built here")
        return None
    directory = emptied(os.path.join(work, "run"))
    if prepare:
        prepare(directory)
    recorded = os.path.join(work, "trace")
    shutil.rmtree(recorded, ignore_errors=True)
    done = trace(recorded, [*(mpirun(ranks) if ranks else []), *command], cwd=directory,
                 env=environment(**MPI_ENVIRONMENT))
    return recorded if checks.equal(done.status, 0, f"{name}: trace: {done}") else None


def bothForms(checks, work, recorded, *options):
    flat, compact = os.path.join(work, "flat.json"), os.path.join(work, "compact.json")
    for path, form in ((flat, "flat"), (compact, "compact")):
        if not made(checks, "preprocess", recorded, "-o", path, "--form", form, *options):
            return None
    return flat, compact


def eventsIn(document):
    return sum(len(thread["events"]) for rank in document["ranks"] for thread in rank["threads"])


def checkTraces(checks, work):
    python = pythonWithSchemas()
    for number, (name, command, ranks, prepare, layers) in enumerate(traceCases(os.path.join(work, "run"))):
        with checks.case(name):
            recorded = traced(checks, work, name, command, ranks, prepare)
            for layer in byTurns(number, layers) if recorded else ():
                forms = bothForms(checks, work, recorded, "--layer", layer)
                if not forms:
                    continue
                label = f"{name}, {layer}"
                wanted = checkForms(checks, label, *forms)
                checkSaid(checks, label, *forms)
                if python:
                    fits, why = fitsSchema(python, forms[1])
                    checks.that(fits, f"{label}: the compact form fits its schema: {why}")
                sizes = [os.path.getsize(path) for path in forms]
                print(f"{label}: {eventsIn(wanted)} operations, flat {sizes[0]} bytes, compact {sizes[1]}, "
                      f"times {os.path.getsize(forms[1] + '.times')}", flush=True)


def checkSizes(checks, work):
    """A regular program in a small part of the flat form; the same with the means alone."""
    for ranks, most in byTurns(0, SHARE_OF_FLAT.items()):
        name = f"{ranks} ranks"
        with checks.case(name):
            recorded = traced(checks, work, name, [program("c_mpi_turns"), os.path.join(work, "run"), "1000"],
                              ranks)
            forms = recorded and bothForms(checks, work, recorded)
            if not forms:
                continue
            sizes = [os.path.getsize(path) for path in (*forms, forms[1] + ".times")]
            print(f"{name}, 1,000 turns: flat {sizes[0]} bytes, compact {sizes[1]} "
                  f"({sizes[1] / sizes[0]:.3%}), times {sizes[2]} ({sizes[2] / sizes[0]:.1%})", flush=True)
            checks.that(sizes[1] <= most * sizes[0], f"{name}: compact {sizes[1]} of {sizes[0]} bytes")
            sameSchedule(checks, expanded(forms[1]), load(forms[0]), name)
            checkStatistics(checks, work, name, recorded, load(forms[0]))


def timesOf(events):
    """The sums of the thread's times: its last end, in calls, and of work."""
    works = [work for event in events for work in (event, *event.get("after", ())) if isinstance(work, dict)]
    return {"end": events[-1]["end"] if events else 0,
            "in calls": sum(event["end"] - event["start"] for event in events),
            "compute": sum(work.get("compute", 0) for work in works),
            "communication": sum(work.get("communication", 0) for work in works)}


def checkStatistics(checks, work, name, recorded, wanted):
    """The means alone: one file, and the same times in sum."""
    path = os.path.join(work, "means.json")
    if not made(checks, "preprocess", recorded, "-o", path, "--form", "compact", "--timing-detail",
                "statistics"):
        return
    checks.that(not os.path.exists(path + ".times"), f"{name}: no times beside the means")
    checks.that("times" not in load(path)["global"], f"{name}: no times in the schedule")
    checked = run([omnio(), "schedule", "check", path])
    lines = sum('"repeat"' in line or '"gap"' in line for line in open(path, encoding="utf-8"))
    told = re.search(r"(\d+) loops? (?:and|or) lines? stands? for several events, with their mean times",
                     checked.out.decode())
    checks.that(told and 0 < int(told[1]) <= lines, f"{name}: check names the means: {checked}")
    other = os.path.join(work, "means.flat.json")
    made(checks, "schedule", "expand", path, "-o", other)
    means = expanded(path)
    sameSchedule(checks, load(other), means, f"{name}: the means, expanded")
    pairs = [(mine, theirs) for means_of, of in zip(means["ranks"], wanted["ranks"], strict=True)
             for mine, theirs in zip(means_of["threads"], of["threads"], strict=True)]
    # What ranks of one program have in common is the mean over them, so the sums are of all.
    for key in timesOf([]):
        mine, theirs = (sum(timesOf(pair[side]["events"])[key] for pair in pairs) for side in (0, 1))
        checks.that(abs(mine - theirs) <= TIME_SHARE * max(theirs, 1),
                    f"{name}: {key} {mine} ns by means, {theirs} exactly")
        print(f"{name}, means alone: {key} {mine / max(theirs, 1):.4f} of the exact sum")


def checkReplays(checks, work):
    """The same system calls, by strace, in each thread."""
    if mpirun(1) is None or shutil.which("strace") is None:
        checks.skip("replays", "needs MPI and strace")
        return
    recorded = traced(checks, work, "replays", [program("c_posix"), os.path.join(work, "run")], 0)
    forms = recorded and bothForms(checks, work, recorded, "--timing", "asap")
    calls = []
    for path in forms or ():
        target, account = emptied(os.path.join(work, "target")), os.path.join(work, "strace")
        done = run([*STRACE, "-o", account, "--", omnio(), "replay", path, "--target", target, "-o",
                    emptied(os.path.join(work, "out")), "--no-trace", "--fresh"],
                   env=environment(**MPI_ENVIRONMENT))
        checks.that(done.status in (0, 3), f"replay: {done}")
        by_thread = {}
        for thread, call in systemCalls(account, os.path.realpath(os.path.join(target, "tree"))):
            if OF_MPI not in str(call):
                by_thread.setdefault(thread, []).append(MADE_UP.sub("temporary.", str(call)))
        calls.append(sorted(by_thread.values(), key=len))
        shutil.rmtree(target)
    if calls:
        print(f"{sum(map(len, calls[0]))} system calls of a replay")
        checks.equal([len(one) for one in calls[1]], [len(one) for one in calls[0]], "calls by thread")
        for ours, theirs in zip(calls[1], calls[0]):
            differing = [pair for pair in zip(ours, theirs) if pair[0] != pair[1]]
            checks.equal(differing[:3], [], "system calls")
        checks.that(sum(map(len, calls[0])) > 100, "a replay makes calls")
    recorded = traced(checks, work, "verify", [program("c_mpi_turns"), os.path.join(work, "run"), "20"], 2)
    forms = recorded and bothForms(checks, work, recorded, "--timing", "asap")
    if forms:
        output = os.path.join(work, "replayed")
        done = replay(forms[1], os.path.join(work, "target"), output)
        checks.equal(done.status, 0, f"a replay of the compact form: {done}")
        verified = run([omnio(), "verify", forms[1], output])
        checks.equal(verified.status, 0, f"verify: {verified.out.decode()}")


# At random ----------------------------------------------------------------------------------------


def checkGenerated(checks, work, count):
    """Where a schedule fails, generated_schedules.generated(SEED) makes it again."""
    first = int(os.environ.get("OMNIO_TEST_SEED", "0"))
    flat, compact = os.path.join(work, "flat.json"), os.path.join(work, "compact.json")
    began, operations, sizes = time.monotonic(), 0, [0, 0]
    for seed in range(first, first + count):
        document = generated(seed)
        write(flat, document)
        with checks.case(f"seed {seed}"):
            if not made(checks, "schedule", "compact", flat, "-o", compact):
                continue
            sizes = [size + os.path.getsize(path) for size, path in zip(sizes, (flat, compact))]
            operations += eventsIn(document)
            sameSchedule(checks, expanded(compact), document, f"seed {seed}, expanded by the test")
            other = os.path.join(work, "other.json")
            # Statements about the compact one by omnio itself, for some.
            if seed % 4 == 0 and made(checks, "schedule", "expand", compact, "-o", other):
                sameSchedule(checks, load(other), document, f"seed {seed}, schedule expand")
    print(f"{count} schedules from seed {first} on, {operations} operations: flat {sizes[0]} bytes, compact "
          f"{sizes[1]}, in {time.monotonic() - began:.0f} s")


def main(words):
    is_many = "--many" in words
    cases = {"traces": checkTraces, "sizes": checkSizes, "replays": checkReplays,
             "generated": lambda checks, work: checkGenerated(checks, work, MANY if is_many else FEW)}
    checks = Checks()
    with WorkDirectory() as work:
        for name in [word for word in words if word != "--many"] or cases:
            with checks.case(name):
                cases[name](checks, work)
    checks.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
