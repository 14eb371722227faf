"""A replay has the calls of its schedule and no others, and it says of itself what `omnio verify` says of it.

- The trace of a replay has as many calls in each thread as the schedule, the first of which is the
  schedule's first, also where its processes make trees of their nodes and look at inputs in place; a
  planted call, in a thread of the schedule, in another one and in a main thread, is reported.
- Programs whose replays came out otherwise than `verify` said: pages of a mapping that reach past the end
  of the file, streams that inlined code moves, lines after a scan.
- Texts of the processes in many pieces; nonblocking MPI-IO, whose requests share no memory.

  replay_calls.py [CASE...]
"""

import json
import os
import re
import shutil

from omnio_testing import (emptied, environment, mpirun, omnio, program, readLog, run, runCases, stats,
                           trace)
from replay_testing import MPI_ENVIRONMENT, closed, file, opened, replay, report, schedule, write

RANKS = 3


def written(fd, count, offset):
    return {"command": "pwrite64", "fd": fd, "count": count, "offset": offset, "result": count}


def eventsOf(rank, below=""):
    return [opened(f"{below}out.{rank}", 0), written(0, 100 + rank, 0), written(0, 10, 4096), closed(0)]


def files(below=""):
    return [file(f"{below}out.{rank}") for rank in range(RANKS)]


def verify(path, output, *options):
    return run([omnio(), "verify", path, output, *options])


def checkCalls(checks, what, path, output, wanted):
    """`wanted`: by rank, the calls of the schedule."""
    count = sum(map(len, wanted.values()))
    events = [event for event in readLog(output) if "call" in event]
    calls = {rank: [event["call"] for event in events if event["rank"] == rank] for rank in wanted}
    checks.equal(calls, wanted, f"{what}: the calls of each rank")
    verified = verify(path, output)
    checks.equal((verified.status, verified.out), (0, f"{count} operations compared, 0 differences; "
                                                      "0 done otherwise on purpose\n".encode()), f"{what}: verify")
    told = stats(output)
    checks.equal((told["trace"]["events"], told["trace"]["whole"]), (count, True), f"{what}: stats")
    checks.that(not any("stopped" in note for note in told["trace"]["notes"]), f"{what}: {told['trace']['notes']}")
    # A rank begins with its first call of the schedule.
    replaying = {thread["tid"] for thread in report(output)["threads"]}
    for rank in told["ranks"]:
        own = [event for event in events if event["rank"] == rank["rank"] and event["tid"] in replaying]
        span = max(event["end_ns"] for event in own) - min(event["start_ns"] for event in own)
        checks.equal(rank["run_ns"], span, f"{what}: the span of rank {rank['rank']}")


def nothingElse(checks, work):
    path = write(os.path.join(work, "plain.json"), schedule(files(), ranks=[[eventsOf(rank)]
                                                                            for rank in range(RANKS)]))
    output = os.path.join(work, "plain.replay")
    done = replay(path, os.path.join(work, "plain"), output)
    checks.equal(done.status, 0, f"plain: {done}")
    checkCalls(checks, "plain", path, output,
               {rank: [event["command"] for event in eventsOf(rank)] for rank in range(RANKS)})


def inMainThread(checks, work, what, path, output, file_path, named):
    """One more call, of a main thread: that of a program whose log is put into the replay's trace. verify
    calls its file `named`."""
    other = emptied(os.path.join(work, "other"))
    done = trace(other, ["python3", "-c", "import os, sys; os.access(sys.argv[1], 0)", file_path], "serial",
                 ("--no-config", "--exclude", "/*", "--include", file_path))
    checks.equal(done.status, 0, f"{what}: another program: {done}")
    for name in filter(lambda name: name.endswith(".omnio"), os.listdir(other)):
        shutil.copy(os.path.join(other, name), output)
    verified = verify(path, output)
    lines = verified.out.decode().splitlines()
    checks.equal(verified.status, 3, f"{what}: verify: {verified}")
    checks.that(len(lines) == 2 and re.fullmatch(
        rf"pid (\d+) thread \1: the replay did access of {named}, which the schedule does not have: none of "
        "it was replayed by this thread", lines[0]), f"{what}: the call of a main thread: {lines}")


def onNodes(checks, work):
    """The tree of a node is made by a process of the replay, and that of an earlier one removed."""
    below = "@node/host/"
    events = [eventsOf(rank, below) for rank in range(RANKS)]
    path = write(os.path.join(work, "node.json"), schedule(files(below), ranks=[[each] for each in events]))
    wanted = {rank: [event["command"] for event in each] for rank, each in enumerate(events)}
    node = os.path.join(work, "node")
    for turn in ("first", "again"):
        output = os.path.join(work, f"node.{turn}")
        done = replay(path, os.path.join(work, "node.target"), output, "--node-local", node, "--fresh")
        checks.equal(done.status, 0, f"on nodes, {turn}: {done}")
        checkCalls(checks, f"on nodes, {turn}", path, output, wanted)
    inMainThread(checks, work, "on nodes", path, output, os.path.join(node, "tree", f"{below}out.1"),
                 f"{below}out.1")


def inPlace(checks, work):
    """Processes look at inputs in place; the tracer is told few of them by their names, and with many it
    records all files."""
    home = emptied(os.path.join(work, "inputs"))
    for count in (2, 100):
        names = [f"input-{number:03d}-{'x' * 60}" for number in range(count)]
        events = [event for number, name in enumerate(names)
                  for event in (opened(name, number, "O_RDONLY", mode="0"),
                                {"command": "pread64", "fd": number, "count": 10, "offset": 0, "result": 10},
                                closed(number))]
        sources = [os.path.join(home, name) for name in names]
        for source in sources:
            write(source, "x" * 100)
        path = write(os.path.join(work, "inputs.json"), schedule(
            [file(name, "input", True, 100, source=source) for name, source in zip(names, sources)],
            ranks=[[events]] * RANKS))
        output = os.path.join(work, f"inputs.{count}")
        done = replay(path, os.path.join(work, "inputs.target"), output, "--inputs", "in-place", "--fresh")
        checks.equal(done.status, 0, f"{count} in place: {done}")
        checkCalls(checks, f"{count} in place", path, output,
                   dict.fromkeys(range(RANKS), [event["command"] for event in events]))
        inMainThread(checks, work, f"{count} in place", path, output, sources[1], sources[1])


def planted(checks, work):
    """The trace of a replay with one more call, told to be that of the schedule without it."""
    path = write(os.path.join(work, "own.json"), schedule(files(), ranks=[[eventsOf(rank)]
                                                                          for rank in range(RANKS)]))
    output = os.path.join(work, "own.replay")
    checks.equal(replay(path, os.path.join(work, "own"), output).status, 0, "own: replay")
    extra = {"command": "access", "location": "out.1", "mode": "0", "result": 0}
    for what, at, sentence in (
            ("before the first", 0, "rank 1 thread 0 event 1, open: before it the replay did access of out.1, "
                                    "which the schedule does not have"),
            ("in between", 2, "rank 1 thread 0 event 3, pwrite64: before it the replay did access of out.1, "
                              "which the schedule does not have"),
            ("at the end", 4, "rank 1 thread 0: the replay did access of out.1 after the schedule's end"),
            ("in a thread", None, "thread {tid}: the replay did access of out.1, which the schedule does "
                                  "not have: none of it was replayed by this thread")):
        threads = [[eventsOf(rank)] for rank in range(RANKS)]
        failing = {key: value for key, value in extra.items() if key != "result"}
        failing = {**failing, "errno": "ENOENT"} if at == 0 else extra
        if at is None:
            threads[1][0][0]["id"] = 1  # its open makes the file
            threads[1].append([{**extra, "start": 10_000_000, "end": 10_000_100,
                                "after": [{"id": 1, "why": "name"}]}])
        else:
            threads[1][0].insert(at, failing)
        more = write(os.path.join(work, "more.json"), schedule(files(), ranks=threads, timing="start"))
        changed = os.path.join(work, "more.replay")
        shutil.rmtree(changed, ignore_errors=True)
        done = replay(more, os.path.join(work, "more"), changed, "--fresh")
        checks.equal(done.status, 0, f"{what}: replay: {done}")
        own, other = report(output), report(changed)
        tid = [thread["tid"] for thread in other["threads"]
               if (thread["rank"], thread["thread"]) == (1, 1)]
        own["threads"] = [thread for thread in other["threads"] if thread["thread"] == 0]
        for key in ("tree", "target", "targets"):
            own[key] = other[key]
        with open(os.path.join(changed, "replay.json"), "w", encoding="utf-8") as out:
            json.dump(own, out)
        verified = verify(path, changed)
        lines = verified.out.decode().splitlines()
        checks.equal(verified.status, 3, f"{what}: verify: {verified}")
        if tid:
            sentence = sentence.format(tid=tid[0])
        checks.that(lines and lines[0].endswith(sentence), f"{what}: {sentence!r} first: {lines}")
        checks.that(lines and lines[-1].startswith(f"{4 * RANKS} operations compared, 1 differences"),
                    f"{what}: all others are compared: {lines}")


def agree(checks, work, name, command, cwd=None):
    """Records, replays and verifies; the two comparisons say the same. Returns the schedule."""
    recorded, path = os.path.join(work, name), os.path.join(work, name + ".json")
    done = trace(recorded, command, "serial", cwd=cwd)
    checks.equal(done.status, 0, f"{name}: trace: {done}")
    made = run([omnio(), "preprocess", recorded, "-o", path, "--timing", "asap"])
    checks.equal(made.status, 0, f"{name}: preprocess: {made}")
    output = os.path.join(work, name + ".replay")
    done = replay(path, os.path.join(work, name + ".target"), output, "--partial")
    verified = verify(path, output, "--partial")
    print(f"{name}: replay {done.status}, verify {verified.status}: {verified.out.decode().splitlines()[-1:]}")
    checks.equal((done.status, verified.status), (0, 0), f"{name}: replay, verify: {done} {verified}")
    return path, recorded


PAST_THE_END = """
import ctypes, mmap, os
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + 3 * [ctypes.c_int] + [ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
def touch(name, size, then, at, writes):
    fd = os.open(name, os.O_RDWR | os.O_CREAT, 0o644)
    os.ftruncate(fd, size)
    memory = libc.mmap(None, 16384, 3, mmap.MAP_SHARED, fd, 0)
    os.ftruncate(fd, then)
    for offset in at:
        if writes: ctypes.memset(memory + offset, 65, 1)
        else: ctypes.string_at(memory + offset, 1)
    os.close(fd)
    libc.munmap(memory, 16384)
touch("grown", 4096, 10000, [0, 4096, 8192], True)
touch("grown-read", 4096, 9000, [0, 8192], False)
touch("cut", 12288, 5000, [0, 4096], True)
touch("as-it-was", 5000, 5000, [0, 4096], True)
"""


def pastTheEnd(checks, work):
    home = emptied(os.path.join(work, "home"))
    _, recorded = agree(checks, work, "past-the-end", ["python3", "-c", PAST_THE_END], cwd=home)
    sums = {}
    for event in readLog(recorded):
        if event.get("call") in ("(map_read)", "(map_write)"):
            name = os.path.basename(event["file"])
            end = event["args"]["offset"] + event["bytes"]
            sums[name] = max(sums.get(name, 0), end)
    sums = {name: end for name, end in sums.items() if name in ("grown", "grown-read", "cut", "as-it-was")}
    checks.equal(sums, {"grown": 10000, "grown-read": 9000, "cut": 5000, "as-it-was": 5000},
                 "past the end: where the touched bytes end")


def positions(checks, work):
    home = emptied(os.path.join(work, "home"))
    path, _ = agree(checks, work, "positions", [program("c_positions"), home])
    with open(path, encoding="utf-8") as text:
        checks.that("ftell" in text.read(), "positions: they are in the schedule")


def pieces(checks, work):
    """Reports and names in pieces of seven bytes."""
    path = write(os.path.join(work, "pieces.json"), schedule(files(), ranks=[[eventsOf(rank)]
                                                                             for rank in range(RANKS)]))
    reports = []
    for more in ({}, {"OMNIO_REPLAY_LARGEST_PIECE": "7"}):
        output = os.path.join(work, f"pieces.{len(reports)}")
        done = run([omnio(), "replay", path, "--target", os.path.join(work, "pieces"), "-o", output, "--fresh"],
                   env=environment(**MPI_ENVIRONMENT, **more))
        checks.equal((done.status, done.err), (0, b""), f"pieces {more}: {done}")
        reports.append([(rank["operations"], rank["bytes_written"]) for rank in report(output)["ranks"]])
    checks.equal(reports[1], reports[0], "pieces: what the ranks report")
    checks.equal(len(reports[0]), RANKS, f"pieces: ranks: {reports}")


def pendingRequests(checks, work):
    """Each rank begins several writes of other sizes before it waits for any: the files have the content
    of each, which no other write has."""
    ranks = 2
    code = program("c_pending")
    home = emptied(os.path.join(work, "home"))
    recorded, path = os.path.join(work, "pending"), os.path.join(work, "pending.json")
    done = trace(recorded, [*mpirun(ranks), code, home])
    checks.equal(done.status, 0, f"pending: trace: {done}")
    made = run([omnio(), "preprocess", recorded, "-o", path, "--timing", "asap", "--layer", "mpi"])
    checks.equal(made.status, 0, f"pending: preprocess: {made}")
    target, output = os.path.join(work, "pending.target"), os.path.join(work, "pending.replay")
    done = replay(path, target, output)
    checks.equal(done.status, 0, f"pending: replay: {done}")
    # The trace has what the MPI library did for the calls, and not how it looked at its directory.
    own = [event for event in readLog(output) if event.get("file") == os.path.join(target, "tree")]
    checks.equal(own, [], "pending: calls on the tree itself")
    name = [name for parent, _, names in os.walk(target) for name in
            (os.path.join(parent, one) for one in names) if name.endswith("pending.dat")]
    checks.equal(len(name), 1, f"pending: the file: {name}")
    with open(name[0], "rb") as content:
        data = content.read()
    blocks = [data[at:at + 4096] for at in range(0, len(data), 4096)]
    checks.equal(len(blocks), ranks * 8 * 4, "pending: blocks")
    # The replayer stamps each block that it writes, so no two are alike unless they were overwritten.
    checks.equal(len(set(blocks)), len(blocks), "pending: blocks that no other write has")
    library = os.path.join(os.environ["OMNIO_TEST_PROGRAMS"], "libmpi_pending_memory.so")
    watched = [*mpirun(ranks), "-x", f"LD_PRELOAD={library}"]
    recorded = run([*watched, code, home])
    checks.equal((recorded.status, sorted(recorded.err.splitlines())), (0, [b"pending at once: 8"] * ranks),
                 f"pending: the program itself: {recorded}")
    done = replay(path, target, f"{output}.watched", "--fresh", "--no-trace", "-vv", "--launcher", " ".join(watched))
    checks.equal(done.status, 0, f"pending: replay without shared memory: {done}")
    checks.equal(done.err.count(b"said: pending at once: 8"), ranks, f"pending: in the replay too: {done}")


if __name__ == "__main__":
    runCases(nothingElse, onNodes, inPlace, planted, pastTheEnd, positions, pieces, pendingRequests)
