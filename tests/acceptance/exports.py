"""omnio export: timelines for Perfetto and Chrome's viewer, and CSV, against `omnio log` and
`omnio stats` of the same trace: the same calls with the same times and arguments, slices that nest,
an arrow for each message. With protoc and OMNIO_PERFETTO_PROTO, a folder that has Perfetto's
protos/perfetto/trace/perfetto_trace.proto, protoc reads the file and finds no field unknown."""

import collections
import csv
import json
import os
import re
import shutil

from omnio_testing import (Checks, WorkDirectory, emptied, mpirun, omnio, program, readLog, run, stats,
                           trace)
from perfetto_file import PerfettoFile

PROTO = "protos/perfetto/trace/perfetto_trace.proto"


def exported(checks, to, form, *options):
    path = f"{to}.{form}"
    result = run([omnio(), "export", to, f"--{form}", "-o", path, *options])
    checks.equal(result.status, 0, f"{form}: {result}")
    return path


def sums(pairs):
    found = collections.Counter()
    for call, ns in pairs:
        found[call] += ns
    return found


def checkProtoc(checks, path, wanted):
    protos, protoc = os.environ.get("OMNIO_PERFETTO_PROTO"), shutil.which("protoc")
    if protos is None or protoc is None:
        checks.skip("protoc", "OMNIO_PERFETTO_PROTO is not set" if protos is None else "no protoc")
        return
    with open(path, "rb") as file:
        result = run([protoc, f"--proto_path={protos}", "--decode=perfetto.protos.Trace", PROTO],
                     stdin=file.read())
    checks.equal(result.status, 0, f"protoc: {result.err[-300:]}")
    text = result.out.decode(errors="replace")
    checks.equal(text.count("type: TYPE_SLICE_BEGIN\n"), wanted, "slices by protoc")
    unknown = re.findall(r"^\s*\d+(?::| \{).*", text, re.MULTILINE)
    checks.equal(unknown[:3], [], "fields that Perfetto does not know")


def checkPerfetto(checks, to, events, messages):
    path = exported(checks, to, "perfetto")
    file = PerfettoFile(path)
    wanted = sums((event["call"], event["end_ns"] - event["start_ns"]) for event in events)
    checks.equal(sums((each.call, each.end - each.start) for each in file.slices), wanted,
                 "time by call, perfetto")
    checks.equal(len(file.slices), len(events), "slices, perfetto")
    by_call = {group["name"]: group for group in stats(to, "--by", "call")["groups"]}
    own = sums((each.call, each.end - each.start) for each in file.slices if each.depth == 0)
    for call, group in by_call.items():
        ns = group["time_ns"]["total"] + group["mpi_sync_ns"]["total"]
        checks.equal(own[call], ns, f"time of {call}, perfetto and stats")
    checks.equal(sorted(each["name"] for each in file.tracks.values() if each["tid"] is None), [],
                 "tracks of calls that overlap")
    begun = [flow for each in file.slices for flow in each.flows]
    ended = [flow for each in file.slices for flow in each.ending]
    checks.equal(sorted(begun), sorted(ended), "each arrow begins and ends once")
    checks.equal(len(set(begun)), messages, "arrows")
    checks.equal([arrow for arrow in file.arrows.values() if arrow[0] > arrow[1]], [],
                 "arrows that lead back in time")
    start = min(event["start_ns"] for event in events)
    of_pid = {each["pid"]: uuid for uuid, each in file.processes.items()}
    tracks = {(each["parent"], each["tid"]): uuid for uuid, each in file.tracks.items()}
    found = {(each.track, each.start, each.end, each.call): each for each in file.slices}
    for event in events:
        track = tracks[(of_pid[event["pid"]], event["tid"])]
        key = (track, event["start_ns"] - start, event["end_ns"] - start, event["call"])
        if not checks.that(key in found, f"no slice of {event}"):
            break
        each = found[key]
        checks.equal(each.category, event["class"], f"class of {event}")
        for name, value in event["args"].items():
            if isinstance(value, (int, str)) and name in each.arguments:
                checks.equal(str(each.arguments[name]), str(value), f"{name} of {event}")
        checks.equal(set(event["args"]) - set(each.arguments), set(), f"arguments of {event}")
    checkProtoc(checks, path, len(events))


def checkChrome(checks, to, events, messages):
    with open(exported(checks, to, "chrome"), encoding="utf-8") as text:
        found = json.load(text)["traceEvents"]
    slices = [each for each in found if each["ph"] == "X"]
    checks.equal(len(slices), len(events), "slices, chrome")
    wanted = sums((event["call"], event["end_ns"] - event["start_ns"]) for event in events)
    checks.equal(sums((each["name"], round(each["dur"] * 1e3)) for each in slices), wanted,
                 "time by call, chrome")
    times = {phase: {each["id"]: each["ts"] for each in found if each["ph"] == phase}
             for phase in "sf"}
    for phase in "sf":
        checks.equal(len(times[phase]), messages, f"messages, {phase}")
    checks.equal([flow for flow, at in times["s"].items() if times["f"][flow] < at], [],
                 "arrows that lead back in time, chrome")


def checkCsv(checks, to, events):
    with open(exported(checks, to, "csv"), encoding="utf-8", newline="") as text:
        rows = list(csv.DictReader(text))
    checks.equal(len(rows), len(events), "rows, csv")
    wanted = sums((event["call"], event["end_ns"] - event["start_ns"]) for event in events)
    checks.equal(sums((row["call"], int(row["end_ns"]) - int(row["start_ns"])) for row in rows), wanted,
                 "time by call, csv")
    moved = sum(event.get("bytes") or 0 for event in events)
    checks.equal(sum(int(row["bytes"]) for row in rows), moved, "bytes, csv")


def checkTrace(checks, to):
    events = list(readLog(to))
    checks.that(len(events) > 20, f"{to}: {len(events)} events")
    messages = 0
    for line in readLog(to, "--mpi"):
        if "summary" in line:
            messages = line["summary"]["receives"]["matched"]
    checkPerfetto(checks, to, events, messages)
    checkChrome(checks, to, events, messages)
    checkCsv(checks, to, events)
    return events, messages


def checkNames(checks, work):
    """Paths with marks of JSON, CSV, HTML and terminals."""
    directory = emptied(os.path.join(work, "names"))
    names = [b'a"b,c\n.dat', b"<script>alert(1)<", b"\x1b[31mred", b"\xff\xfe", b"back\\slash"]
    words = ["/bin/sh", "-c", 'for name; do cat "$name"; done', "sh"]
    for name in names:
        with open(os.path.join(os.fsencode(directory), name), "wb") as file:
            file.write(b"x")
    to = os.path.join(work, "names.trace")
    result = trace(to, [*words, *[os.fsdecode(name) for name in names]], cwd=directory)
    checks.equal(result.status, 0, f"names: {result}")
    checkTrace(checks, to)


def checkChoices(checks, work, to, events):
    by_window = len(PerfettoFile(exported(checks, to, "perfetto", "--window", "0..0.001")).slices)
    start = min(event["start_ns"] for event in events)
    wanted = sum(event["start_ns"] - start < 1_000_000 for event in events)
    checks.equal(by_window, wanted, "calls of the first millisecond")
    of_rank = PerfettoFile(exported(checks, to, "perfetto", "--rank", "1"))
    wanted = sum(event["rank"] == 1 for event in events)
    checks.equal(len(of_rank.slices), wanted, "calls of rank 1")
    result = run([omnio(), "export", to, "--perfetto", "--rank", "1", "-o", os.path.join(work, "1")])
    whole = sum(None not in arrow for arrow in of_rank.arrows.values())
    checks.that(f"{wanted} calls of ".encode() in result.out, f"rank 1: {result}")
    checks.that(f", {whole} message".encode() in result.out, f"rank 1, {whole} messages: {result}")

    path = os.path.join(work, "out")
    for words, status, sentence in (
            ((), 2, b"one of --perfetto, --chrome and --csv"),
            (("--perfetto", "--csv"), 2, b"excludes"),
            (("--csv", "--rank", "99"), 1, b"rank 99")):
        result = run([omnio(), "export", to, *words, "-o", path])
        checks.equal(result.status, status, f"{words}: {result}")
        checks.that(sentence in result.err, f"{words}: {result}")
        checks.that(not os.path.exists(path), f"{words}: no file")
    result = run([omnio(), "export", to, "--csv", "-o", "/dev/full"])
    checks.equal(result.status, 1, f"a full device: {result}")
    checks.that(b"/dev/full" in result.err, f"a full device: {result}")


def main():
    checks = Checks()
    with WorkDirectory() as work:
        with checks.case("names"):
            checkNames(checks, work)
        if mpirun(1) is None:
            checks.skip("MPI programs", "no MPI launcher")
            return checks.finish()
        for name, words in (("kernel", [program("c_mpi"), "."]),
                            ("messages", [program("c_workloads"), "token"])):
            with checks.case(name):
                to = os.path.join(work, name)
                result = trace(to, mpirun(4) + words, cwd=emptied(os.path.join(work, "run")))
                checks.equal(result.status, 0, f"{name}: {result}")
                events, messages = checkTrace(checks, to)
                if name == "messages":
                    checks.that(messages > 10, f"{messages} messages")
                    checkChoices(checks, work, to, events)
    return checks.finish()


if __name__ == "__main__":
    main()
