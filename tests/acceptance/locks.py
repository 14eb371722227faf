"""Locks by flock, fcntl and lockf: the trace has type, range and command of each, and the replay has them
in the order in which the application had them, although nothing else orders its ranks. A replay never
waits for long for a lock that others keep, and takes none that the application did not get.
"""

import fcntl
import os
import shutil

from omnio_testing import (Checks, WorkDirectory, emptied, environment, mpirun, omnio, program, readLog, run,
                           skipTest, trace)
from replay_testing import MPI_ENVIRONMENT, closed, file, opened, replay, report, schedule, write

RANKS, TURNS = 4, 25
MOST_TIMES = 50  # whether ranks take turns, and whether a replay without order has others, is a matter of chance
F_OFD_SETLKW = 38
ASKED = {"fcntl": fcntl.F_SETLKW, "ofd": F_OFD_SETLKW}


def isTaken(event):
    if "errno" in event:
        return False
    if event["call"] == "flock":
        return event["args"]["value"] & fcntl.LOCK_EX != 0
    if event["call"] == "lockf":
        return event["args"]["value"] in (os.F_LOCK, os.F_TLOCK)
    return event["call"] == "(fcntl_lock)" and event["args"]["lock"] == fcntl.F_WRLCK


def turnsOf(directory):
    """The ranks in the order in which they had the lock."""
    events = [event for event in readLog(directory) if isTaken(event)]
    return [event["rank"] for event in sorted(events, key=lambda event: event["end_ns"])]


def hasTurns(turns):
    """Whether a rank had the lock again after another one, so that it does not suffice to begin in order."""
    return sum(one != other for one, other in zip(turns, turns[1:])) >= RANKS


def check(checks, work, how):
    directory = os.path.join(work, how + "-trace")
    for _ in range(MOST_TIMES):
        shutil.rmtree(directory, ignore_errors=True)
        done = trace(directory, [*mpirun(RANKS), program("c_mpi_locks"), how],
                     cwd=emptied(os.path.join(work, how)), env=environment(**MPI_ENVIRONMENT))
        if not checks.equal(done.status, 0, f"{how}: {done.err!r}"):
            return
        turns = [int(line) for line in done.out.split()]
        checks.equal(len(turns), RANKS * TURNS, f"{how}: turns")
        if hasTurns(turns):
            break
    checks.that(hasTurns(turns), f"{how}: ranks took turns: {turns}")
    checks.equal(turnsOf(directory), turns, f"{how}: the trace has the application's order")
    if how in ASKED:
        asked = [event["args"] for event in readLog(directory) if event["call"] == "(fcntl_lock)"]
        asked = {tuple(args[key] for key in ("cmd", "lock", "whence", "offset", "length")) for args in asked}
        checks.equal(asked, {(ASKED[how], kind, os.SEEK_SET, 100, 8) for kind in (fcntl.F_WRLCK, fcntl.F_UNLCK)},
                     f"{how}: what the locks asked for")
    made_schedule = os.path.join(work, how + ".json")
    made = run([omnio(), "preprocess", directory, "-o", made_schedule, "--timing", "asap"])
    if not checks.equal(made.status, 0, f"{how}: preprocess: {made}"):
        return
    output = os.path.join(work, how + "-replayed")
    done = replay(made_schedule, os.path.join(work, how + "-target"), output)
    checks.equal(done.status, 0, f"{how}: replay: {done}")
    checks.equal(report(output)["substitutes"], {}, f"{how}: locks that the replay did without")
    checks.equal(turnsOf(output), turns, f"{how}: the replay has the application's order")
    verified = run([omnio(), "verify", made_schedule, output])
    checks.equal(verified.status, 0, f"{how}: verify: {verified.out.decode()}")
    # Without the order, the same ranks have the lock as it comes.
    loose, is_other = os.path.join(work, how + "-loose"), False
    for _ in range(MOST_TIMES):
        shutil.rmtree(loose, ignore_errors=True)
        done = replay(made_schedule, os.path.join(work, how + "-target"), loose, "--fresh", "--order", "none")
        checks.that(done.status in (0, 3), f"{how}: replay without order: {done}")
        if is_other := turnsOf(loose) != turns:
            break
    checks.that(is_other, f"{how}: without order the turns are others")


def lockCalls(fd, **result):
    """Each call that waits for a lock of the file, or tries to get it."""
    part = {"lock": "F_WRLCK", "whence": "SEEK_SET", "offset": 0, "length": 8}
    for command in ("F_SETLKW", "F_SETLK", "F_OFD_SETLKW", "F_OFD_SETLK"):
        yield {"command": "(fcntl_lock)", "fd": fd, "cmd": command, **part, **result}
    for value in (fcntl.LOCK_EX, fcntl.LOCK_EX | fcntl.LOCK_NB):
        yield {"command": "flock", "fd": fd, "value": value, **result}
    for value in (os.F_LOCK, os.F_TLOCK):
        yield {"command": "lockf", "fd": fd, "value": value, "length": 8, **result}


def unlockCalls(fd):
    part = {"lock": "F_UNLCK", "whence": "SEEK_SET", "offset": 0, "length": 8}
    for command in ("F_SETLK", "F_OFD_SETLK"):
        yield {"command": "(fcntl_lock)", "fd": fd, "cmd": command, **part, "result": 0}
    yield {"command": "flock", "fd": fd, "value": fcntl.LOCK_UN, "result": 0}
    yield {"command": "lockf", "fd": fd, "value": os.F_ULOCK, "length": 8, "result": 0}


def checkByHand(checks, work, name, ranks, wanted):
    """Replays a schedule in which the second rank begins when the first has locked the file, and the first
    goes on when the second is done. `wanted`: the locks that count as substitutes."""
    path = write(os.path.join(work, name + ".json"), schedule([file("a")], ranks=[[rank] for rank in ranks]))
    output = os.path.join(work, name + "-replayed")
    done = replay(path, os.path.join(work, name + "-target"), output)
    if not checks.equal(done.status, 0, f"{name}: replay: {done}"):
        return
    checks.equal(sum(report(output)["substitutes"].values()), wanted, f"{name}: substitutes")
    verified = run([omnio(), "verify", path, output])
    checks.equal(verified.status, 0, f"{name}: verify: {verified.out.decode()}")


def checkKept(checks, work):
    """Locks that another rank keeps: those that the application got, and those that it did not get."""
    for kind, calls in (("record", {"(fcntl_lock)", "lockf"}), ("whole", {"flock"})):
        def ofKind(events, calls=calls):
            return [event for event in events if event["command"] in calls]
        holds = ofKind([*lockCalls(0, result=0)])[:1]
        frees = [event for event in ofKind(unlockCalls(0)) if event.get("cmd") != "F_OFD_SETLK"]
        for name, result in (("again", {"errno": "EAGAIN"}), ("interrupted", {"errno": "EINTR"}),
                             ("got", {"result": 0})):
            tries = ofKind(lockCalls(0, **result))
            had = ofKind(lockCalls(0, result=0, after=[3]))[0]
            synced = {"command": "fsync", "fd": 0, "result": 0}
            ranks = [[opened("a", 0), *holds, {**synced, "id": 1}, {**frees[0], "after": [2]}, *frees[1:],
                      {**synced, "id": 3}, closed(0)],
                     [opened("a", 0, after=[1]), *tries, {**synced, "id": 2}, had, closed(0)]]
            checkByHand(checks, work, f"{kind}-{name}", ranks, len(tries))


def main():
    if mpirun(RANKS) is None or program("c_mpi_locks") is None:
        skipTest("there is no MPI")
    checks = Checks()
    with WorkDirectory() as work:
        for how in ("fcntl", "ofd", "flock", "lockf", "close", "dup", "exit"):
            with checks.case(how):
                check(checks, work, how)
        with checks.case("locks that another rank keeps"):
            checkKept(checks, work)
    checks.finish()


if __name__ == "__main__":
    main()
