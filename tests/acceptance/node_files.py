"""Two hosts that have a directory each at the same path, and one in common: the schedule has one file
a node of the former, and one in all of the latter. Replays put the former where each node has them
for itself, or below the target, and are verified without a difference.
"""

import os

from omnio_testing import Checks, WorkDirectory, emptied, omnio, program, run, stats
from schedule_expander import expanded
from two_namespaces import HOSTS, Network, needTwoHosts

RANKS = 4
PIECE = 65536
INPUTS = {"omnio-one": 1000, "omnio-two": 3000}  # bytes of "in"


class Disks:
    """What each host has for itself, seen by all at one path: a directory of the same file system, or
    a file system (tmpfs)."""

    def __init__(self, work, network, kind):
        self.work, self.network, self.kind = work, network, kind
        self.at = os.path.join(work, "scratch")
        os.makedirs(self.at, exist_ok=True)

    def of(self, host):
        return os.path.join(self.work, f"disk-{self.kind}-{host}")

    def __enter__(self):
        for host in HOSTS:
            os.makedirs(self.of(host), exist_ok=True)
            if self.kind == "tmpfs":
                run(["mount", "-t", "tmpfs", "scratch", self.of(host)])
        self.network.secondHost(unshare=["-m"], first=self.mount(list(HOSTS)[1]))
        return self

    def __exit__(self, *_):
        for host in HOSTS:
            run(["umount", self.of(host)])

    def mount(self, host):
        return f"mount --bind {self.of(host)} {self.at}"

    def run(self, command, **more):
        first, words = list(HOSTS)[0], " ".join(f"'{word}'" for word in map(str, command))
        inner = f"mount --make-rprivate / && {self.mount(first)} && exec {words}"
        return self.network.run(["unshare", "-m", "sh", "-c", inner], **more)

    def fill(self):
        for host, size in INPUTS.items():
            with open(os.path.join(self.of(host), "in"), "wb") as file:
                file.write(os.urandom(size))


def sizesIn(directory, without=(".omnio-replay",)):
    return {name: os.path.getsize(os.path.join(parent, name))
            for parent, _, names in os.walk(directory) for name in names if name not in without}


def expected(host):
    first = 0 if host == list(HOSTS)[0] else RANKS // 2
    own = {f"own.{rank}": 100 + rank for rank in range(first, first + RANKS // 2)}
    return {"in": INPUTS[host], "part": RANKS // 2 * PIECE, **own}


def checkSchedule(checks, name, path):
    files = expanded(path)["files"]
    found = {}
    for entry in files:
        base = os.path.basename(entry["location"])
        if base in ("in", "part", "sizes") or base.startswith("own."):
            parts = entry["location"].split("/")
            node = parts[1] if parts[0] == "@node" else ""
            found.setdefault(node, {})[base] = (entry["role"], entry["size"])
    wanted = {"": {"sizes": ("output", 0)}}
    for host in HOSTS:
        wanted[host] = {file: ("output", 0) for file in expected(host)}
        wanted[host]["in"] = ("input", INPUTS[host])
    checks.equal(found, wanted, f"{name}: files of the schedule")


def checkReplays(checks, work, name, network, disks, schedule):
    target, launcher = os.path.join(work, f"target-{name}"), " ".join(network.mpirun(RANKS))
    # A file that a killed replay may have left does not matter to others.
    for host in HOSTS:
        os.makedirs(os.path.join(disks.of(host), "replayed"), exist_ok=True)
        with open(os.path.join(disks.of(host), "replayed", ".omnio-node.1.7"), "wb"):
            pass
    for what, options in (("apart", ["--node-local", os.path.join(disks.at, "replayed")]),
                          ("together", [])):
        to = os.path.join(work, f"{name}-{what}")
        command = [omnio(), "replay", schedule, "--target", target, "--fresh", "-o", to,
                   "--timing", "asap", *options, "--launcher", launcher]
        done = disks.run(command)
        if not checks.equal(done.status, 0, f"{name} {what}: {done.err!r}"):
            continue
        verified = run([omnio(), "verify", schedule, to])
        checks.equal(verified.status, 0, f"{name} {what}: verify {verified.out!r}")
        checks.that(b" 0 differences" in verified.out, f"{name} {what}: {verified.out!r}")
        tree = os.path.join(target, "tree")
        for host in HOSTS:
            own = os.path.join(disks.of(host), "replayed", "tree") if options else tree
            made = {name: size for name, size in sizesIn(os.path.join(own, "@node", host)).items()
                    if name in expected(host)}
            checks.equal(made, expected(host), f"{name} {what}: files of {host}")
        checks.equal(os.path.exists(os.path.join(tree, "@node")), not options,
                     f"{name} {what}: files of nodes in the target")
        checks.equal([size for file, size in sizesIn(tree).items() if file == "sizes"],
                     [RANKS * 64], f"{name} {what}: the file of all")
    # A directory that the nodes have in common is none of their own.
    refused = disks.run([omnio(), "replay", schedule, "--target", target, "--fresh", "-o",
                         os.path.join(work, f"{name}-refused"), "--node-local",
                         os.path.join(work, "common"), "--launcher", launcher])
    checks.equal(refused.status, 1, f"{name}: a common directory as --node-local")
    checks.that(b"have the directory in common" in refused.err, f"{name}: {refused.err!r}")


    inside = disks.run([omnio(), "replay", schedule, "--target", target, "--fresh", "-o",
                        os.path.join(disks.at, "out"), "--node-local", disks.at, "--launcher",
                        launcher])
    checks.equal(inside.status, 1, f"{name}: an output in the nodes' directory")
    checks.that(b"lie in each other" in inside.err, f"{name}: {inside.err!r}")
    # Neither can ranks of two nodes have one's files.
    moved = disks.run([omnio(), "replay", schedule, "--target", target, "--fresh", "-o",
                       os.path.join(work, f"{name}-moved"), "--node-local",
                       os.path.join(disks.at, "replayed"), "--launcher",
                       launcher + " --map-by node"])
    checks.equal(moved.status, 1, f"{name}: ranks placed otherwise")
    # The sentence names the file that an event named first, on either node.
    checks.that(any(b"was on one node, and is used by the ranks " + ranks in moved.err
                    for ranks in (b"0 and 1", b"2 and 3")), f"{name}: {moved.err!r}")


def checkKind(checks, work, network, kind):
    shared = emptied(os.path.join(work, f"shared-{kind}"))
    with Disks(work, network, kind) as disks:
        disks.fill()
        directory = os.path.join(work, f"trace-{kind}")
        done = disks.run([omnio(), "trace", "-o", directory, "--", *network.mpirun(RANKS),
                          program("c_node_files"), disks.at, shared])
        if not checks.equal(done.status, 0, f"{kind}: {done.err!r}"):
            return
        checks.that(stats(directory)["trace"]["whole"], f"{kind}: the trace is whole")
        schedule = os.path.join(work, f"{kind}.json")
        made = run([omnio(), "preprocess", directory, "-o", schedule])
        checks.equal(made.status, 0, f"{kind}: {made.err!r}")
        checks.that(b"on nodes: " in made.out, f"{kind}: {made.out!r}")
        checkSchedule(checks, kind, schedule)
        checkReplays(checks, work, kind, network, disks, schedule)
        merged = os.path.join(work, f"{kind}-merged.json")
        made = run([omnio(), "preprocess", directory, "-o", merged, "--shared", disks.at])
        locations = [entry["location"] for entry in expanded(merged)["files"]]
        checks.equal(len([at for at in locations if at.endswith("/part")]), 1,
                     f"{kind}: --shared makes one file of them")


def main():
    needTwoHosts("c_node_files")
    checks = Checks()
    with WorkDirectory() as work, Network(work) as network:
        for kind in ("directories", "tmpfs"):
            with checks.case(kind):
                checkKind(checks, work, network, kind)
    checks.finish()


if __name__ == "__main__":
    main()
