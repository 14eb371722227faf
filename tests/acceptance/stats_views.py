"""What omnio stats adds to its counts: access patterns of requests that are known beforehand, the
waits of ranks and who came late behind the longest, files summed up by folders; and the schema that
its document has."""

import json
import os
import random
import sys

from omnio_testing import Checks, WorkDirectory, emptied, mpirun, omnio, readLog, run, stats, trace
from schedule import pythonWithSchemas

SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "formats",
                      "stats.schema.json")
SYSTEM_PYTHON = "/usr/bin/python3"
RANKS = 4
LATE_S = 1
MOST_RUNS = 20  # until the ranks come in the order that the sleep is for

# Issues the requests of a JSON list: [kind, offset, bytes].
REQUESTS = """
import json, os, sys
descriptors = {}
for name, kind, offset, size in json.load(open(sys.argv[1])):
    if name not in descriptors:
        os.makedirs(os.path.dirname(name), exist_ok=True)
        descriptors[name] = os.open(name, os.O_RDWR | os.O_CREAT)
    if kind == "write":
        os.pwrite(descriptors[name], bytes(size), offset)
    else:
        os.pread(descriptors[name], size, offset)
"""

# Rank 2 comes late by itself, rank 1 because it waits for rank 2, and all others wait for rank 1.
LATE = """
import os, sys, time
from mpi4py import MPI
world = MPI.COMM_WORLD
def meet(where):  # without a wait in MPI
    open("%s.%s.%d" % (sys.argv[1], where, world.rank), "w").close()
    while not all(os.path.exists("%s.%s.%d" % (sys.argv[1], where, rank)) for rank in range(world.size)):
        time.sleep(0.001)
meet("begins")
with open(sys.argv[1] + "/rank%d" % world.rank, "w") as out:
    world.Barrier()
    meet("goes on")
    if world.rank == 2:
        time.sleep(float(sys.argv[2]))
        for turn in range(50):
            out.write("x" * 65536)
            out.flush()
        world.send("late", dest=1)
    if world.rank == 1: world.recv(source=2)
    world.Barrier()
"""


def truthOf(requests, alignment):
    """The counters of one rank, counted in another way: from the list of requests of a file."""
    found = {}
    for way in ("read", "write"):
        mine = [(offset, size) for kind, offset, size in requests if kind == way]
        pairs = list(zip(mine, mine[1:]))
        found[way] = {
            "placed": len(mine), "unplaced": 0, "first": min(1, len(mine)),
            "consecutive": sum(a[0] + a[1] == b[0] for a, b in pairs),
            "sequential": sum(a[0] + a[1] <= b[0] for a, b in pairs),
            "random": sum(a[0] + a[1] > b[0] for a, b in pairs),
            "alignment_checked": len(mine),
            "misaligned": sum(offset % alignment != 0 for offset, _ in mine)}
    kinds = [kind for kind, _, _ in requests]
    found["switches"] = sum(a != b for a, b in zip(kinds, kinds[1:]))
    reads = [(offset, size) for kind, offset, size in requests if kind == "read"]
    covered = max((o + s for o, s in reads), default=0) - min((o for o, _ in reads), default=0)
    found["reread_bytes"] = max(0, sum(size for _, size in reads) - covered)
    return found


def requestsOf(dice, name):
    """Within a file that is there: each read gets all that it asks for."""
    requests = [[name, "write", 0, 1 << 20]]
    place = 0
    for _ in range(400):
        kind = dice.choice(("read", "write"))
        size = dice.choice((100, 4096, 8192))
        place = dice.choice((place, place + 4096, dice.randrange(0, 1 << 19), place // 2))
        place = min(place, (1 << 20) - size)
        requests.append([name, kind, place, size])
        place += size
    return requests


def checkPatterns(checks, work):
    dice = random.Random(7)
    data = os.path.join(work, "data")
    names = [os.path.join(data, folder, name) for folder in ("a", "b") for name in ("one", "two")]
    requests = [request for name in names for request in requestsOf(dice, name)]
    listed = os.path.join(work, "requests.json")
    with open(listed, "w", encoding="utf-8") as out:
        json.dump(requests, out)
    to = os.path.join(work, "patterns.trace")
    result = trace(to, [sys.executable, "-c", REQUESTS, listed], "serial",
                   ["--exclude", "/*", "--include", data + "/*"])
    checks.equal(result.status, 0, f"the program: {result}")
    for alignment in (4096, 100):
        document = stats(to, "--patterns", "--alignment", str(alignment))
        groups = {group["name"]: group for group in document["groups"]}
        for name in names:
            truth = truthOf([request[1:] for request in requests if request[0] == name], alignment)
            pattern = groups[name]["pattern"]
            checks.equal({key: pattern[key] for key in truth}, truth, f"{name}, {alignment}")
        total = sum(group["pattern"]["read"]["random"] for group in document["groups"])
        checks.equal(document["total"]["pattern"]["read"]["random"], total, "the total")
    checkFolders(checks, to, data, requests)
    return to


def checkFolders(checks, to, data, requests):
    depth = len(data.strip("/").split("/")) + 1
    document = stats(to, "--depth", str(depth))
    got = {group["name"]: group["write"]["size_bytes"]["total"] + group["read"]["size_bytes"]["total"]
           for group in document["groups"] if group["name"].startswith(data)}
    truth = {}
    for name, _, _, size in requests:
        folder = os.path.dirname(name)
        truth[folder] = truth.get(folder, 0) + size
    checks.equal(got, truth, "bytes by folder")


class Came:
    """By hand: when the ranks came to the calls of the program in which they wait."""

    def __init__(self, to):
        events = [event for event in readLog(to) if event["rank"] is not None]
        barriers, between = [[] for _ in range(RANKS)], [[] for _ in range(RANKS)]
        for event in events:
            if event["call"] == "MPI_Barrier":
                barriers[event["rank"]].append(event)
            elif event["call"].startswith("MPI_") and len(barriers[event["rank"]]) == 1:
                between[event["rank"]].append(event)
        # How long each rank was in a barrier before the last one came.
        self.first, self.second = (
            [max(calls[number]["start_ns"] for calls in barriers) - calls[number]["start_ns"]
             for calls in barriers] for number in (0, 1))
        self.receives = between[1][0]["start_ns"]
        self.sends = between[2][0]["start_ns"]
        self.writes = min(event["start_ns"] for event in events
                          if event["rank"] == 2 and event["class"] == "write")
        self.longest_from = min(barriers[rank][1]["start_ns"] for rank in (0, 3))

    def isAsPlanned(self):
        """Whether rank 2 kept all others waiting with its sleep and its writes, in the second barrier or in the
        receive before that, most of the time of the longest wait."""
        began = max(self.receives, self.longest_from)
        return (max(self.first) < min(self.second[0], self.second[3]) and began < self.writes and
                2 * (self.sends - began) > max(self.second))


def checkWaits(checks, work):
    launcher = mpirun(RANKS)
    if launcher is None or run([SYSTEM_PYTHON, "-c", "import mpi4py"]).status != 0:
        checks.skip("waits", "no mpi4py")
        return None
    for number in range(MOST_RUNS):
        to, directory = os.path.join(work, f"late.{number}.trace"), emptied(os.path.join(work, "late"))
        result = trace(to, [*launcher, SYSTEM_PYTHON, "-c", LATE, directory, str(LATE_S)], "mpi",
                       ["--exclude", "/*", "--include", directory + "/*"])
        checks.equal(result.status, 0, f"the program: {result}")
        waits, came = stats(to, "--waits")["waits"], Came(to)
        by_rank = {line["name"]: line["waited_ns"] / 1e9 for line in waits["ranks"]}
        print(f"waits: {by_rank}; by hand {came.first} and {came.second} ns")
        for rank in (0, 3):
            checks.that(by_rank.get(f"rank {rank}", 0) >= came.second[rank] / 1e9 - 1e-6,
                        f"rank {rank} waits {came.second[rank]} ns: {by_rank}")
        if came.isAsPlanned():
            break
    else:
        checks.skip("the longest wait", f"others than rank 2 came late, {MOST_RUNS} times: {vars(came)}")
        return to
    checks.that(by_rank.get("rank 1", 0) >= (came.sends - came.receives) / 1e9 - 1e-6,
                f"rank 1 waits for a message: {by_rank}, {vars(came)}")
    chain = waits["longest"]
    checks.equal([link["late"] for link in chain["waits"]][-1:], ["rank 2"], f"{chain}")
    checks.that(chain["waits"][0]["waited_ns"] >= max(came.second) - 1000,
                f"the longest wait: {chain}, {came.second}")
    checks.that(chain["other_ns"] > 0, f"rank 2 slept: {chain}")
    checks.that(chain["data_ns"] > 0, f"and wrote: {chain}")
    text = run([omnio(), "stats", to, "--waits"]).out.decode()
    checks.that("The longest wait in MPI calls: rank " in text and "rank 2 came late by itself" in text, text)
    return to


def checkSchema(checks, traces):
    python = pythonWithSchemas()
    if python is None:
        checks.skip("schema", "no python has jsonschema")
        return
    script = ("import json, sys, jsonschema\n"
              "schema, document = json.load(open(sys.argv[1])), json.load(sys.stdin)\n"
              "jsonschema.Draft202012Validator.check_schema(schema)\n"
              "jsonschema.validate(document, schema, jsonschema.Draft202012Validator)\n")
    for to in filter(None, traces):
        for by in ("file", "rank", "thread", "call"):
            for options in ((), ("--patterns", "--waits"), ("--depth", "2", "--window", "0..1")):
                document = run([omnio(), "stats", to, "--json", "--by", by, *options]).out
                result = run([python, "-c", script, SCHEMA], stdin=document)
                checks.equal(result.status, 0, f"{by} {options}: {result.err[-600:]!r}")


def main():
    checks = Checks()
    with WorkDirectory() as work:
        work = os.path.realpath(work)
        with checks.case("patterns"):
            patterns = checkPatterns(checks, work)
        with checks.case("waits"):
            waits = checkWaits(checks, work)
        with checks.case("schema"):
            checkSchema(checks, [patterns, waits])
    checks.finish()


if __name__ == "__main__":
    main()
