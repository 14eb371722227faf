"""Programs that list directories: each entry that they read is in the trace, as the file system has it, and
a replay reads as many by the same calls, where the entries are of the run.
"""

import os
import sys
from collections import Counter

from omnio_testing import Checks, WorkDirectory, mpirun, omnio, readLog, run, trace
from replay_testing import replay

FILES = 300
# Shells are not recorded, so another program makes the files.
MAKE = f"""
set -e
mkdir -p all/some all/none
touch $(seq -f all/file%g {FILES})
touch all/some/1 all/some/2 all/some/3
"""
LIST = """
set -e
ls -a all > listed
find all -type f > found
"""
# Entries of `all`, `all/some` and `all/none`, with `.` and `..`.
ENTRIES = FILES + 2 + 2 + 3 + 2 + 2

EDGES = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
for name in ("opendir", "readdir"):
    getattr(libc, name).restype = ctypes.c_void_p
for name in ("readdir", "rewinddir", "closedir"):
    getattr(libc, name).argtypes = [ctypes.c_void_p]
assert libc.closedir(None) == -1 and ctypes.get_errno() == errno.EINVAL
assert libc.opendir(b"plain") is None and ctypes.get_errno() == errno.ENOTDIR
assert len(os.listdir(int(os.environ["GIVEN"]))) == 1
assert libc.opendir(b"missing") is None and ctypes.get_errno() == errno.ENOENT
stream = libc.opendir(b"here")
for turn in range(2):
    ctypes.set_errno(errno.EXDEV)
    assert [libc.readdir(stream) is not None for _ in range(4)] == [True, True, False, False]
    assert ctypes.get_errno() == errno.EXDEV  # as it was: the end is not an error
    libc.rewinddir(stream)
assert libc.closedir(stream) == 0
names = ctypes.c_void_p()
assert libc.scandir(b"there", ctypes.byref(names), None, None) == 2
assert libc.scandir(b"missing", ctypes.byref(names), None, None) == -1
libc.opendir(b"here")  # left open
"""


def listings(log):
    """Opened directories, entries and ends of directories, by the calls of one trace."""
    counts = Counter()
    for event in readLog(log):
        if event["call"] in ("opendir", "fdopendir"):
            counts["opened"] += "errno" not in event
        elif event["call"] in ("readdir", "readdir64"):
            counts["entries" if event["result"] == 1 else "ends"] += 1
        elif event["call"] == "closedir":
            counts["closed"] += 1
    return counts


def checkReplay(checks, work, name, log, *options):
    """The replay makes the same calls with the same results; its trace, or None where there is none."""
    if mpirun(1) is None:
        checks.skip(f"{name}: replay", "there is no MPI")
        return None
    schedule, output = os.path.join(work, f"{name}.json"), os.path.join(work, f"{name}-replayed")
    made = run([omnio(), "preprocess", log, "-o", schedule, "--timing", "asap"])
    checks.equal(made.status, 0, f"{name}: preprocess: {made}")
    done = replay(schedule, os.path.join(work, f"{name}-target"), output, *options)
    checks.equal(done.status, 0, f"{name}: replay: {done}")
    if "--no-trace" in options:
        return None
    verified = run([omnio(), "verify", schedule, output])
    checks.equal(verified.status, 0, f"{name}: verify: {verified.out.decode()}")
    return output


def checkListings(checks, work):
    home, log = os.path.join(work, "home"), os.path.join(work, "trace")
    os.mkdir(home)
    done = trace(log, ["sh", "-c", MAKE + LIST + "rm -r all"], cwd=home)
    checks.equal(done.status, 0, f"the script: {done}")
    counts = listings(log)
    # ls reads `all` alone, find and rm read all three; rm may look into them once more.
    least = FILES + 4 + 2 * ENTRIES
    checks.that(least <= counts["entries"] <= least + ENTRIES, f"entries: {counts}")
    checks.that(counts["opened"] == counts["closed"] and counts["ends"] >= 7, f"directories: {counts}")
    output = checkReplay(checks, work, "made", log)
    if output is not None:
        checks.equal(listings(output), counts, "made: listings of the replay")


def checkFound(checks, work):
    """Listings of directories that were there before: they are in the tree, with what the run named in it."""
    home, log = os.path.join(work, "found-home"), os.path.join(work, "found-trace")
    os.mkdir(home)
    checks.equal(run(["sh", "-c", MAKE], cwd=home).status, 0, "making files")
    done = trace(log, ["sh", "-c", LIST], cwd=home)
    checks.equal(done.status, 0, f"listing: {done}")
    checks.equal(listings(log)["entries"], FILES + 4 + ENTRIES, "found: entries")
    checkReplay(checks, work, "found", log)


def checkEdges(checks, work):
    """A directory that is not there, or none; one that was open from the start; one that ends, errno, a second
    reading, scandir, one left open."""
    home, log = os.path.join(work, "edges"), os.path.join(work, "edges-trace")
    for name in ("here", "there", "given/one"):
        os.makedirs(os.path.join(home, name))
    with open(os.path.join(home, "plain"), "w", encoding="utf-8"):
        pass
    # A shell opens a directory for the program, which is not told to be one (O_DIRECTORY).
    done = trace(log, ["sh", "-c", 'GIVEN=7 exec "$@" 7< given', "sh", sys.executable, "-I", "-c", EDGES],
                 cwd=home)
    checks.equal(done.status, 0, f"edges: {done}")
    here = os.path.join(os.path.realpath(home), "here")
    told = [(event["call"], event.get("errno") or event.get("result")) for event in readLog(log)
            if event.get("file") == here or event["args"].get("path") in ("there", "missing")]
    told = [(call, result) for call, result in told if call != "opendir" or result == "ENOENT"]
    turn = [("readdir", 1), ("readdir", 1), ("readdir", 0), ("readdir", 0), ("rewinddir", None)]
    checks.equal(told, [("opendir", "ENOENT"), *turn, *turn, ("closedir", 0), ("scandir", 2),
                        ("scandir", "ENOENT")], "edges: in the trace")
    checkReplay(checks, work, "edges", log)
    checkReplay(checks, work, "edges-untraced", log, "--no-trace")


def main():
    checks = Checks()
    with WorkDirectory() as work:
        checkListings(checks, work)
        checkFound(checks, work)
        checkEdges(checks, work)
    checks.finish()


if __name__ == "__main__":
    main()
