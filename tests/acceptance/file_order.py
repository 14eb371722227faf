"""The order of ranks that race for names, for the end of a file, and in parallel HDF5 is that of the
recorded results, also where the calls overlapped: replays as fast as possible, on storage whose
calls take random times, get the same results. Without order, they do not.

Left out are rounds of the race for names in which a call overlaps both one that makes the name and one
that moves it away: its result is that of before the one and of after the other, so none tells where it
was. On a busy machine a rank may be kept from its processor within any call.

  file_order.py [REPLAYS]        of each program and order (2)
"""

import collections
import os
import re
import shutil
import sys

import devices
from omnio_testing import Checks, WorkDirectory, emptied, environment, mpirun, omnio, program, readLog, \
    run, skipTest
from order import RANKS, SLOW, reportOf
from replay_testing import MPI_ENVIRONMENT
from slow_storage import SlowStorage, needSlowStorage

# "file" alone has to do where the ranks do not communicate between their calls.
CASES = (
    ("names", "c_races", ("names", "40"), ("all", "file")),
    ("sizes", "c_races", ("sizes", "25"), ("all", "file")),
    ("HDF5", "c_hdf5_parallel", ("data.h5",), ("all",)),
    ("HDF5 with collective metadata", "c_hdf5_parallel", ("data.h5", "metadata"), ("all",)),
    ("HDF5 that extends", "c_hdf5_parallel", ("data.h5", "extend"), ("all",)),
)

# Whether one without order differs is a matter of chance.
MOST_WITHOUT_ORDER = 50


def roundOf(location):
    """The last number of a name of c_races, as in directory.7/of.2 and file.7."""
    found = re.search(r"(?:file|moved|link|symlink|directory)\.(\d+)", location or "")
    return int(found.group(1)) if found else None


def undecidedRounds(trace_directory):
    made, moved, looks = (collections.defaultdict(list) for _ in range(3))
    for event in readLog(trace_directory):
        path = event["args"].get("path") or ""
        if not re.fullmatch(r"file\.\d+", path):
            continue
        span = (event["start_ns"], event["end_ns"], event["rank"])
        if event["call"] == "rename" and not event["failed"]:
            moved[path].append(span)
        elif event["call"] == "open" and event["args"]["flags"] & os.O_CREAT and not event["failed"]:
            made[path].append(span)
        elif event["call"] in ("open", "rename"):
            looks[path].append(span)

    def overlaps(span, others):
        return any(other[0] <= span[1] and span[0] <= other[1] and other[2] != span[2]
                   for other in others)

    # A name that is made again may be looked at by its makers too.
    return {roundOf(path) for path in made
            if any(overlaps(span, made[path]) and overlaps(span, moved[path])
                   for span in looks[path] + made[path] + moved[path])}


def differencesBut(rounds, seen):
    """How many results differ in rounds that are not among these."""
    total = seen["total"]["differences"]
    first = [difference["location"] for difference in seen["first_differences"]]
    return total - sum(roundOf(location) in rounds for location in first)


def checkCase(checks, work, name, command, orders, replays):
    recorded = os.path.join(work, "trace")
    shutil.rmtree(recorded, ignore_errors=True)
    with SlowStorage(work, *SLOW, name="recorded") as storage:
        directory = emptied(os.path.join(storage.path, "run"))
        traced = run([omnio(), "trace", "-o", recorded, "--", *mpirun(RANKS), *command],
                     cwd=directory, env=environment(**MPI_ENVIRONMENT))
        checks.equal(traced.status, 0, f"{name}: {traced.err!r}")
    undecided = undecidedRounds(recorded) if command[1:2] == ["names"] else set()
    if undecided:
        print(f"{name}: left out are rounds {sorted(undecided)}", flush=True)
    with SlowStorage(work, *SLOW) as storage:
        for order in (*orders, "none"):
            schedule = os.path.join(work, f"{order}.json")
            made = run([omnio(), "preprocess", recorded, "-o", schedule, "--timing", "asap",
                        "--order", order, "--map", f"{directory}=."])
            checks.equal(made.status, 0, f"{name}, order {order}: {made.err!r}")
            counts = [differencesBut(undecided, reportOf(checks, work, storage, schedule, number,
                                                         f"{name}, order {order}"))
                      for number in range(replays)]
            while order == "none" and max(counts) <= 0 and len(counts) < MOST_WITHOUT_ORDER:
                counts.append(differencesBut(undecided, reportOf(checks, work, storage, schedule,
                                                                 len(counts), f"{name}, no order")))
            print(f"{name}, order {order}: results that differ: {counts}", flush=True)
            if order == "none":
                checks.that(max(counts) > 0, f"{name} without order: {counts}")
            else:
                checks.equal(counts, [0] * replays, f"{name}, order {order}")


def main():
    needSlowStorage()
    if mpirun(RANKS) is None:
        skipTest("there is no MPI")
    replays = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    checks = Checks()
    with WorkDirectory() as work:
        for name, wanted, arguments, orders in CASES:
            if program(wanted) is None:
                checks.skip(name, f"{wanted} could not be built here")
                continue
            with checks.case(name):
                checkCase(checks, work, name, [program(wanted), *arguments], orders, replays)
    checks.finish()


if __name__ == "__main__":
    devices.runOrSkip(main)
