"""What the tests of the replayer share: schedules written by hand, and replays of them."""

import json
import os
import shutil
import stat

from omnio_testing import differences, emptied, environment, mpirun, omnio, run

MPI_ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def schedule(files=(), threads=((),), ranks=None, timing="asap"):
    """A schedule document. `threads` are those of rank 0: lists of events; `ranks` instead, where
    there are several: lists of threads."""
    ranks = [threads] if ranks is None else ranks
    return {
        "format": "omnio-schedule", "version": 1,
        "global": {"time_replay": timing, "ranks": len(ranks)},
        "files": [{"source": f"/app/{file['location']}", **file} for file in files],
        "ranks": [{"rank": rank, "threads": [
            {"thread": number, "pid": 1000 + rank, "tid": 2000 + number, "host": "node",
             "events": [{"start": at * 1000, "end": at * 1000 + 500, **event}
                        for at, event in enumerate(events)]}
            for number, events in enumerate(of_rank)]} for rank, of_rank in enumerate(ranks)],
    }


def file(location, role="output", exists=False, size=0, **more):
    result = {"location": location, "role": role, "exists": exists, **more}
    if role not in ("directory", "absent"):
        result = {**result, "size": size, "read_before_written": size}
    return result


def opened(location, fd, flags="O_RDWR|O_CREAT", **more):
    return {"command": "open", "location": location, "flags": flags, "mode": "0644",
            "result": fd, **more}


def closed(fd, **more):
    return {"command": "close", "fd": fd, "result": 0, **more}


def write(path, document):
    with open(path, "w", encoding="utf-8") as out:
        out.write(document if isinstance(document, str) else json.dumps(document))
    return path


def numbersIn(text):
    """Of a list as the report has it: "0-2, 5"."""
    numbers = []
    for part in filter(None, text.split(", ")):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def replay(path, target, output, *options, **more):
    return run([omnio(), "replay", path, "--target", target, "-o", output, *options],
               env=environment(**MPI_ENVIRONMENT), **more)


def checkRoundTrip(checks, work, name, directory):
    """Replays the trace as fast as possible, and verifies that: no difference. Returns the tree that the
    replay has left; None, and a skip, without MPI or where a step has failed."""
    schedule = os.path.join(work, name + ".json")
    made = run([omnio(), "preprocess", directory, "-o", schedule, "--timing", "asap"])
    if not checks.equal(made.status, 0, f"{name}: preprocess: {made}"):
        return None
    if mpirun(1) is None:
        checks.skip(name, "a replay needs MPI")
        return None
    target, output = os.path.join(work, name + "-target"), os.path.join(work, name + "-replayed")
    done = replay(schedule, target, output)
    checks.equal(done.status, 0, f"{name}: replay: {done}")
    verified = run([omnio(), "verify", schedule, output])
    checks.equal(verified.status, 0, f"{name}: verify: {verified.out.decode()}")
    return os.path.join(target, "tree")


def shapeOf(directory, without=()):
    """{relative name: type and, of a file, bytes} of all below a directory. What a replay makes in place of
    a FIFO or a device is a file."""
    result = {}
    for parent, folders, files in os.walk(directory):
        for name in folders + files:
            path = os.path.join(parent, name)
            relative = os.path.relpath(path, directory)
            if relative.split("/")[0] in ("@root", *without):
                continue
            about = os.lstat(path)
            kind = stat.S_IFMT(about.st_mode)
            if kind == stat.S_IFIFO:
                kind = stat.S_IFREG
            result[relative] = (oct(kind), about.st_size if kind == stat.S_IFREG else 0)
    return result


def checkReplays(checks, work, name, command, replays=5, stdin=b"", before=None, is_same=True):
    """Runs the command untraced, traced, and replays it as fast as possible: each replay has the results of
    the application and leaves its files and directories, and `omnio verify` finds no difference.
    `before` makes what the command finds in a directory. `is_same`: two runs leave the same."""
    runs = {}
    recorded = os.path.join(work, f"{name}.trace")
    for kind, words in (("untraced", []), ("traced", [omnio(), "trace", "-o", recorded, "--"])):
        directory = runs[kind] = emptied(os.path.join(work, f"{name}.{kind}"))
        if before is not None:
            before(directory)
        done = run([*words, *command], cwd=directory, stdin=stdin)
        if not checks.equal(done.status, 0, f"{name}, {kind}: {done}"):
            return
    wanted = shapeOf(runs["traced"])
    if is_same:
        checks.equal(differences(wanted, shapeOf(runs["untraced"])), "", f"{name}: files of the traced run")
    schedule = os.path.join(work, f"{name}.json")
    made = run([omnio(), "preprocess", recorded, "-o", schedule, "--timing", "asap"])
    if not checks.equal(made.status, 0, f"{name}: preprocess: {made}"):
        return
    for number in range(replays):
        target = os.path.join(work, f"{name}.target{number}")
        output = os.path.join(work, f"{name}.replay{number}")
        done = replay(schedule, target, output)
        if not checks.that(done.status in (0, 3), f"{name}, replay {number}: {done}"):
            continue
        told = report(output)
        checks.equal(told["total"]["differences"], 0,
                     f"{name}, replay {number}: differences, {told.get('first_differences', [])[:3]}")
        left = shapeOf(os.path.join(target, "tree"))
        checks.equal(differences(left, wanted), "", f"{name}, replay {number}: files that it leaves")
        verified = run([omnio(), "verify", schedule, output])
        checks.equal(verified.status, 0, f"{name}, replay {number}: verify: {verified.out.decode()}")
        shutil.rmtree(target, ignore_errors=True)


def report(output):
    with open(os.path.join(output, "replay.json"), encoding="utf-8") as document:
        return json.load(document)


def processesOf(schedule_path, is_traced):
    """{rank: pid} of the replayer's processes that issue that schedule's calls. Where they are traced, each has
    another replayer's process above it."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm", encoding="ascii") as comm:
                if comm.read().strip() != "omnio-replay":
                    continue
            with open(f"/proc/{pid}/cmdline", "rb") as words:
                if schedule_path.encode() not in words.read().split(b"\0"):
                    continue
            with open(f"/proc/{pid}/environ", "rb") as variables:
                names = dict(word.partition(b"=")[::2] for word in variables.read().split(b"\0"))
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii"):
                pass
        except OSError:
            continue
        is_rank = b"OMPI_COMM_WORLD_RANK" in names and (b"OMNIO_REPLAY_TRACED" in names) == is_traced
        if is_rank and len(os.listdir(f"/proc/{pid}/task")) > 1:
            found[int(names[b"OMPI_COMM_WORLD_RANK"])] = int(pid)
    return found
