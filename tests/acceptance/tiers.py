"""A run of two hosts on tiers of storage, replayed on another system's: a disk of each node, two targets with names
on file systems of their own, and inputs that are read where they are. Of the whole run, and of parts of it by path,
rank and time. Each file is in its tree and in no other, with its size, what was there before stays as it was, and
the calls do as recorded.
"""

import os

import devices
from hostile_schedules import factsOf
from node_files import INPUTS, Disks
from omnio_testing import Checks, WorkDirectory, emptied, omnio, program, readLog, run, stats
from replay_testing import report
from schedule_expander import expanded
from two_namespaces import HOSTS, Network, needTwoHosts

RANKS, STEPS = 4, 3
# Those of tests/programs/c_tiers.c.
PIECE, CACHE, LINE, STATE = 65536, 1000, 64, 500


def hostOf(rank):
    return list(HOSTS)[rank * len(HOSTS) // RANKS]


class Site:
    """Where the application ran, and where it is replayed. All has a canary beside it."""

    def __init__(self, work, disks, fast, large):
        self.work, self.disks = work, disks
        self.input, self.scratch, self.home = (
            emptied(os.path.join(work, name)) for name in ("project", "scratch.shared", "home"))
        for name, size in (("mesh", RANKS * STEPS * PIECE), ("table", 5000)):
            with open(os.path.join(self.input, name), "wb") as out:
                out.write(os.urandom(size))
        self.targets = {"scratch": os.path.join(fast, "run"), "home": os.path.join(large, "run")}
        self.on_node = os.path.join(disks.at, "replayed")
        self.roots = [fast, large]
        for root in [*self.roots, *map(disks.of, HOSTS)]:
            with open(os.path.join(root, "canary"), "w", encoding="ascii") as out:
                out.write("precious")
        self.trace = os.path.join(work, "tiers.trace")
        self.replays = 0

    def application(self):
        return [program("c_tiers"), self.disks.at, self.input, self.scratch, self.home, STEPS]

    def directories(self):
        return self.input, self.scratch, self.home

    def treeOf(self, tier):
        """A tier is a target's name, or a host's."""
        if tier in self.targets:
            return os.path.join(self.targets[tier], "tree")
        return os.path.join(self.disks.of(tier), "replayed", "tree")

    def facts(self):
        """All that no replay may touch: inodes, times of changes, contents."""
        facts = {}
        for root in self.directories():
            facts.update(factsOf(root))
        for root in self.roots:
            facts.update({path: fact for path, fact in factsOf(root, os.path.join(root, "run")).items()
                          if path != root})
        for host in HOSTS:
            root = self.disks.of(host)
            facts.update({path: fact for path, fact in
                          factsOf(root, os.path.join(root, "replayed")).items() if path != root})
        return {path: (fact, os.lstat(path).st_ctime_ns) for path, fact in facts.items()}


def tierOf(site, entry):
    """(tier, name) of a file of the schedule; None for what is in no tree."""
    directory, name = os.path.split(entry["source"])
    if entry["role"] in ("directory", "absent") or directory == site.input:
        return None
    tiers = {site.scratch: "scratch", site.home: "home"}
    parts = entry["location"].split("/")
    return (parts[1] if parts[0] == "@node" else tiers.get(directory, f"none: {entry}"), name)


def wholeRun():
    """By (tier, name): the size at the end."""
    sizes = {("home", "run.log"): STEPS * LINE, ("home", "state"): STATE,
             ("scratch", "all"): STEPS * RANKS * PIECE}
    for rank in range(RANKS):
        sizes["scratch", f"out.{rank}"] = STEPS * PIECE
        sizes[hostOf(rank), f"cache.{rank}"] = CACHE + rank
    return {**sizes, **{(host, "in"): size for host, size in INPUTS.items()}}


def makeSchedule(checks, site, name, *rules):
    path = os.path.join(site.work, f"{name}.json")
    made = run([omnio(), "preprocess", site.trace, "-o", path, "--check", *rules])
    checks.equal(made.status, 0, f"{name}: preprocess: {made}")
    return path, expanded(path)


def callsIn(document):
    """(rank, event) for each."""
    return [(rank["rank"], event) for rank in document["ranks"] for thread in rank["threads"]
            for event in thread["events"]]


def checkReplay(checks, site, network, what, schedule, sizes, maps=("scratch", "home")):
    """`sizes`: by (tier, name). `maps`: the targets that files go to."""
    path, document = schedule
    site.replays += 1
    output = os.path.join(site.work, f"replay.{site.replays}")
    before = site.facts()
    directories = {"scratch": site.scratch, "home": site.home}
    words = [word for target in maps for word in (
        "--target", f"{target}={site.targets[target]}", "--map", f"{directories[target]}/*={target}:")]
    done = site.disks.run([omnio(), "replay", path, "-o", output, "--timing", "asap", "--fresh", *words, "--inputs", "in-place",
                           "--node-local", site.on_node,
                           "--launcher", " ".join(network.mpirun(RANKS))])
    if not checks.equal(done.status, 0, f"{what}: {done}"):
        return
    files = {tierOf(site, entry): entry["location"] for entry in document["files"]}
    files.pop(None, None)
    checks.equal(set(files), set(sizes), f"{what}: files of the schedule")
    for tier in (*maps, *HOSTS):
        tree = site.treeOf(tier)
        found = {os.path.relpath(os.path.join(parent, name), tree): os.path.getsize(os.path.join(parent, name))
                 for parent, _, names in os.walk(tree) for name in names}
        wanted = {location: sizes[key] for key, location in files.items() if key[0] == tier}
        checks.equal(found, wanted, f"{what}: the tree of {tier}")
        for location in found:
            with open(os.path.join(tree, location), "rb") as content:
                checks.that(any(content.read()), f"{what}: {location} has bytes")
    now = site.facts()
    checks.equal(sorted(now), sorted(before), f"{what}: names outside of the trees")
    for name, fact in before.items():
        checks.that(now.get(name) == fact, f"{what}: {name} is as before")
    facts = report(output)
    checks.equal(facts["nodes"], len(HOSTS), f"{what}: nodes")
    checks.equal(facts["total"]["differences"], 0, f"{what}: differences")
    inputs = {entry["source"] for entry in document["files"] if entry["role"] == "input"
              and os.path.dirname(entry["source"]) == site.input}
    checks.equal({entry["source"] for entry in facts["in_place"]}, inputs, f"{what}: inputs in place")
    verified = run([omnio(), "verify", path, output])
    checks.that(verified.status == 0 and b" 0 differences" in verified.out, f"{what}: verify: {verified}")
    # What the calls of the replay were on, as its own trace has it.
    used = {os.path.realpath(event["file"]) for event in readLog(output)
            if event["class"] in ("read", "write")}
    trees = [os.path.realpath(site.treeOf(target)) for target in maps]
    trees.append(os.path.join(site.on_node, "tree"))
    stray = [name for name in used if name not in inputs and not any(name.startswith(tree + "/") for tree in trees)]
    checks.equal(stray, [], f"{what}: files that the replay used")
    print(f"{what}: {facts['total']['operations']} calls, {sizes}")


def middleStep(site):
    """How many calls ranks 0 and 1 make in the second step, and between which times it lies, in seconds from the start of
    the run. Each rank begins a step with its only pread in it, and none does before all have ended the step before."""
    log = list(readLog(site.trace))
    base = min(event["start_ns"] for event in log)
    calls = sorted((event["start_ns"] - base, event["rank"]) for event in log
                   if event["class"] in ("open", "close", "read", "write")
                   and event.get("file", "").startswith((site.disks.at, *site.directories())))
    begins = sorted(event["start_ns"] - base for event in log if event["call"].startswith("pread"))[::RANKS]
    cuts = [(begin + max(at for at, _ in calls if at < begin)) // 2 for begin in begins]
    return sum(cuts[1] <= at < cuts[2] and rank < 2 for at, rank in calls), cuts[1] / 1e9, cuts[2] / 1e9


def checkAll(checks, site, network):
    traced = site.disks.run([omnio(), "trace", "-o", site.trace, "--", *network.mpirun(RANKS),
                             *site.application()])
    if not checks.equal(traced.status, 0, f"trace: {traced}"):
        return
    checks.that(stats(site.trace)["trace"]["whole"], "the trace is whole")
    whole = makeSchedule(checks, site, "whole")
    with checks.case("the whole run"):
        checkReplay(checks, site, network, "the whole run", whole, wholeRun())
    with checks.case("by path"):
        # Neither the caches of the nodes nor what ranks write by themselves.
        schedule = makeSchedule(checks, site, "paths", "--exclude", "cache.*", "--exclude",
                                f"path={site.scratch}/out.?")
        checkReplay(checks, site, network, "by path", schedule,
                    {(tier, name): size for (tier, name), size in wholeRun().items()
                     if not name.startswith(("cache", "out"))})
    with checks.case("by rank"):
        # All of one host: nothing is left for the other's disk, and nothing for home.
        schedule = makeSchedule(checks, site, "ranks", "--include", f"rank={RANKS // 2}-{RANKS - 1}")
        second = list(HOSTS)[1]
        sizes = {(tier, name): size for (tier, name), size in wholeRun().items()
                 if tier == second or (tier == "scratch" and name in ("all", "out.2", "out.3"))}
        checkReplay(checks, site, network, "by rank", schedule, sizes, maps=("scratch",))
    with checks.case("by time and rank"):
        number, begin, end = middleStep(site)
        schedule = makeSchedule(checks, site, "window", "--include", f"rank=0-1,window={begin:.9f}..{end:.9f}",
                                "--exclude", "*.log")
        calls = [event for _, event in callsIn(schedule[1]) if event["command"] != "preopened"]
        checks.equal(len(calls), number - 3, "by time and rank: all calls of the step but three on the log")
        first = list(HOSTS)[0]
        sizes = {(first, "in"): INPUTS[first], ("home", "state"): STATE,
                 ("scratch", "all"): (RANKS + 2) * PIECE,
                 **{("scratch", f"out.{rank}"): 2 * PIECE for rank in (0, 1)},
                 **{(first, f"cache.{rank}"): CACHE + rank for rank in (0, 1)}}
        checkReplay(checks, site, network, "by time and rank", schedule, sizes)


def main():
    needTwoHosts("c_tiers")
    checks = Checks()
    with WorkDirectory() as work, Network(work) as network, \
            devices.tmpfs(work, "fast") as fast, devices.ext4(work, "large", 64) as large, \
            Disks(work, network, "tmpfs") as disks:
        disks.fill()
        checkAll(checks, Site(work, disks, fast.mount_point, large.mount_point), network)
    checks.finish()


if __name__ == "__main__":
    devices.runOrSkip(main)
