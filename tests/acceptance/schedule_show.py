"""`omnio schedule show` has the sums of `omnio stats` for the trace that the schedule was made of,
and those of a count over the schedule's JSON, with and without `repeat`. `omnio schedule check`
takes it, and refuses what a replay refuses.

  schedule_show.py
"""

import collections
import json
import os

from omnio_testing import emptied, omnio, program, run, runCases, stats, trace
from replay_testing import closed, file, opened, schedule, write
from schedule_expander import expanded

STEPS = ("preopened", "inherited", "delay")
READS = ("read", "write")
KIB = 1024


def show(checks, path, *options):
    done = run([omnio(), "schedule", "show", path, "--json", *options])
    checks.equal((done.status, done.err), (0, b""), f"show {os.path.basename(path)} {options}")
    document = json.loads(done.out)
    checks.equal((document["format"], document["version"]), ("omnio-schedule-overview", 1),
                 "what the document is")
    return document


def eventsOf(thread):
    """Each event as often as it is done, with its numbers advanced."""
    for event in thread["events"]:
        if "repeat" not in event:
            yield event
            continue
        for turn in range(event["repeat"]):
            for one in event["body"]:
                step = one.get("step", {})
                yield {key: value + turn * step[key] if key in step else value
                       for key, value in one.items() if key != "step"}


def counted(path):
    """An independent count over the document: operations and times by rank, call and file, waits,
    and the duration. Files by the descriptors of a rank, in the document's order."""
    document = expanded(path)
    found = {name: collections.Counter() for name in ("rank", "call", "rank_ns", "file", "why")}
    starts, ends, work = [], [], []
    for rank in document["ranks"]:
        files = {}
        for thread in rank["threads"]:
            own, before, recorder = 0, 0, thread.get("recorder", 0)
            work.append(0)
            for event in eventsOf(thread):
                waits = [wait for wait in event.get("after", [])
                         if not isinstance(wait, dict) or wait["id"] != 0]
                for wait in waits:
                    found["why"][wait["why"] if isinstance(wait, dict) else "file"] += 1
                location = event.get("location", files.get(event.get("fd")))
                if event["command"] in ("preopened", "open", "open64", "openat", "openat64",
                                        "fopen", "fopen64") and "result" in event:
                    files[event["result"]] = location
                is_delay = event["command"] == "delay"
                if event["command"] in ("preopened", "inherited"):
                    pass
                elif "compute" in event or "communication" in event:
                    own += event.get("compute", 0) + event.get("communication", 0)
                    own += event["end"] - event["start"] if is_delay else 0
                elif not waits:
                    begun = max(before, min(before + recorder, event["start"]))
                    own += max(0, event["end" if is_delay else "start"] - begun)
                if event["command"] != "preopened":
                    before = max(before, event["end"])
                if event["command"] in STEPS:
                    continue
                work[-1] = own
                found["rank"][str(rank["rank"])] += 1
                found["rank_ns"][str(rank["rank"])] += event["end"] - event["start"]
                found["call"][event["command"]] += 1
                found["file"][location] += 1
                starts.append(event["start"])
                ends.append(event["end"])
    found["recorded_ns"] = max(ends) - min(starts)
    found["without_io_ns"] = max(work)
    return found


def checkCounts(checks, path, files=True):
    """The document beside the count. Without `files`, descriptors are made in more ways than the
    count knows."""
    mine = counted(path)
    by_rank, by_call = show(checks, path), show(checks, path, "--by", "call")
    checks.equal({group["name"]: group["operations"] for group in by_rank["groups"]},
                 dict(mine["rank"]), "operations by rank")
    checks.equal({group["name"]: group["time_ns"] for group in by_rank["groups"]},
                 dict(mine["rank_ns"]), "time by rank")
    checks.equal({group["name"]: group["operations"] for group in by_call["groups"]},
                 dict(mine["call"]), "operations by call")
    checks.equal({why: number for why, number in by_rank["order"].items()
                  if number and why != "waiting_events"}, dict(mine["why"]), "waits by why")
    for key in ("recorded_ns", "without_io_ns"):
        checks.equal(by_rank["duration"][key], mine[key], key)
    by_file = show(checks, path, "--by", "file")
    if files:
        checks.equal({group["name"]: group["operations"] for group in by_file["groups"]},
                     dict(mine["file"]), "operations by file")
    for document in (by_rank, by_call, by_file):
        for key, total in document["total"].items():
            checks.equal(sum(group[key] for group in document["groups"]), total,
                         f"the sum of {key} by {document['by']}")
        checks.equal(document["total"], by_rank["total"], f"the total by {document['by']}")
    return by_rank


def checkTraced(checks, work):
    recorded, directory = os.path.join(work, "trace"), emptied(os.path.join(work, "run"))
    done = trace(recorded, [program("c_posix"), directory])
    checks.equal(done.status, 0, f"a trace: {done.err!r}")
    path = os.path.join(work, "schedule.json")
    made = run([omnio(), "preprocess", recorded, "-o", path])
    checks.equal(made.status, 0, f"preprocess: {made.err!r}")
    document = checkCounts(checks, path, files=False)
    seen = stats(recorded, "--layer", "posix")["total"]
    shown = document["total"]
    checks.equal({kind: shown[f"{kind}s"] for kind in READS},
                 {kind: seen["operations"][kind] for kind in READS}, "reads and writes")
    checks.equal((shown["read_bytes"], shown["written_bytes"]),
                 (seen["read"]["size_bytes"]["total"], seen["write"]["size_bytes"]["total"]),
                 "bytes, as in the statistics")
    checks.that(shown["written_bytes"] > 0 and shown["read_bytes"] > 0, f"bytes are moved: {shown}")
    checked = run([omnio(), "schedule", "check", path])
    checks.equal((checked.status, checked.err), (0, b""), "check takes it")
    checks.that(b": a replay takes it: 1 rank, " in checked.out, f"check says so: {checked.out!r}")


def checkWritten(checks, work):
    """A schedule with loops, by hand."""
    def moved(command, fd, size, **more):
        return {"command": command, "fd": fd, "count": size, "offset": 0, "result": size, **more}

    loop = {"repeat": 1000, "body": [
        moved("pwrite64", 0, 4 * KIB, start=0, end=300,
              step={"start": 1000, "end": 1000, "offset": 4 * KIB})]}
    document = schedule(
        [file("out"), file("in", "input", True, 64 * KIB)],
        ranks=[[[opened("out", 0, id=1), loop, closed(0)]],
               [[opened("in", 0, "O_RDONLY", after=[{"id": 1, "why": "mpi"}], compute=70),
                 moved("read", 0, 64 * KIB), closed(0)]]])
    for key in ("start", "end"):  # which the loop's own events have
        del document["ranks"][0]["threads"][0]["events"][1][key]
    document["ranks"][0]["threads"][0] = {"recorder": 18, **document["ranks"][0]["threads"][0]}
    document["ranks"][0]["threads"][0]["events"][2:2] = [
        {"command": "delay", "start": 1_000_000, "end": 1_002_000},
        {"command": "delay", "start": 1_002_000, "end": 1_003_000, "compute": 40},
        moved("pread64", 0, 0, start=1_004_000, end=1_004_500, after=[{"id": 0, "why": "mpi"}])]
    document["ranks"][0]["threads"][0]["events"].append(
        {"command": "delay", "start": 2_000_000, "end": 3_000_000})
    path = write(os.path.join(work, "written.json"), document)
    found = checkCounts(checks, path)
    checks.equal((found["total"]["written_bytes"], found["total"]["read_bytes"]),
                 (4000 * KIB, 64 * KIB), "bytes with a repeat")
    checks.equal(found["room"], {"bytes": 4064 * KIB, "prepared_bytes": 64 * KIB,
                                 "at_end_bytes": 4064 * KIB}, "room")
    document["ranks"][0]["threads"][0]["events"] = list(
        eventsOf(document["ranks"][0]["threads"][0]))
    flat = show(checks, write(os.path.join(work, "flat.json"), document))
    checks.equal({**flat, "schedule": ""}, {**found, "schedule": ""},
                 "without repeat, the document is the same")
    # Refused with the sentence of a replay.
    document["ranks"][1]["threads"][0]["events"][1]["fd"] = 7
    broken = write(os.path.join(work, "broken.json"), document)
    replayed = run([omnio(), "replay", broken, "--target", os.path.join(work, "target"), "-o",
                    os.path.join(work, "replayed")])
    checked = run([omnio(), "schedule", "check", broken])
    checks.equal((checked.status, checked.out), (1, b""), "check refuses it")
    checks.that(b"fd 7 is used, but no event of rank 1 opens it" in checked.err,
                f"check says why: {checked.err!r}")
    if b"built without MPI" not in replayed.err:
        checks.equal(checked.err, replayed.err, "the sentence of a replay")


if __name__ == "__main__":
    runCases(checkTraced, checkWritten, needs_mpi=False)
