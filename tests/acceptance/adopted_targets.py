"""Targets that were made by hand and adopted (`omnio replay --adopt`): replays work in them, keep their
directories with inode, mode, flags and attributes, and remove files alone. What cannot be adopted is
refused and stays as it was, and nothing outside of a target changes.
"""

import json
import os
import stat

import devices
from hostile_schedules import factsOf
from omnio_testing import Checks, WorkDirectory, emptied, mpirun, omnio, run, skipTest
from replay_testing import closed, file, opened, replay, report, schedule, write
from several_targets import found, mkdir, namesIn, read, written

ADOPTED = ".omnio-adopted"


def adopt(directory, *more):
    return run([omnio(), "replay", "--adopt", directory, *more])


def madeByHand(target):
    """Directories of an administrator: `out` with a mode, a flag and an attribute, `out/sub`, `spare`."""
    tree = os.path.join(target, "tree")
    for name in ("out/sub", "spare"):
        os.makedirs(os.path.join(tree, name))
    os.chmod(os.path.join(tree, "out"), 0o2775)
    os.setxattr(os.path.join(tree, "out"), "user.stripes", b"8")
    run(["chattr", "+A", os.path.join(tree, "out")])
    return tree


def kept(tree):
    """What has to stay of each directory that was made by hand, and of the tree."""
    facts = {}
    for name in ("", "out", "out/sub", "spare"):
        path = os.path.join(tree, name)
        status = os.stat(path)
        flags = run(["lsattr", "-d", path])
        facts[name] = (status.st_ino, stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid,
                       {key: os.getxattr(path, key) for key in os.listxattr(path)}, flags.out)
    return facts


def application():
    """It finds `in`, makes `out` and files in it, and a directory that it moves."""
    return schedule(
        [file("in", "input", True, 5000), file("out", "directory"), file("out/a"),
         file("out/sub", "directory", True), file("out/sub/b"), file("draft", "directory"),
         file("draft/part", "directory"), file("draft/part/c"), file("final", "directory"),
         file("final/part/c")],
        [[found("in", 0), read(0, 5000), closed(0), mkdir("out"),
          opened("out/a", 1), written(1, 3000), closed(1),
          opened("out/sub/b", 2), written(2, 4000), closed(2),
          mkdir("draft"), mkdir("draft/part"), opened("draft/part/c", 3), closed(3),
          {"command": "rename", "location": "draft", "newlocation": "final", "result": 0},
          {"command": "stat", "location": "final/part/c", "result": 0}]])


LEFT = {"in": 5000, "out": None, "out/a": 3000, "out/sub": None, "out/sub/b": 4000, "spare": None,
        "final": None, "final/part": None, "final/part/c": 0}


def checkKept(checks, work, target):
    path = write(os.path.join(work, "application.json"), application())
    tree = madeByHand(target)
    refused = replay(path, target, os.path.join(work, "before"), "--fresh")
    checks.equal(refused.status, 1, f"before it is adopted: {refused}")
    checks.that(b"holds tree, which no replay made" in refused.err, f"{refused.err!r}")
    done = adopt(target)
    checks.equal(done.status, 0, f"adopt: {done}")
    checks.equal(done.out.decode(),
                 f"{target} is adopted: {ADOPTED} is written there\n"
                 "Replays keep 3 directories in its tree, and remove files there with --fresh\n",
                 "adopt: what it says")
    checks.equal(sorted(os.listdir(target)), [ADOPTED, "tree"], "adopt: what is in the target")
    before = kept(tree)
    for turn, options in enumerate(([], ["--fresh"], ["--fresh", "--no-trace"],
                                    ["--fresh", "--repeat", "2"])):
        output = os.path.join(work, f"kept.{turn}")
        done = replay(path, target, output, *options)
        if not checks.equal(done.status, 0, f"replay {turn}: {done}"):
            continue
        checks.equal(namesIn(tree), LEFT, f"replay {turn}: the tree")
        checks.equal(kept(tree), before, f"replay {turn}: the directories made by hand")
        output = os.path.join(output, "2") if "--repeat" in options else output
        facts = report(output)
        checks.equal([one.get("adopted") for one in facts["targets"]], [True], f"replay {turn}")
        checks.equal(facts["substitutes"].get(
            "directories that the application made, and an adopted target had"), 1,
            f"replay {turn}: the mkdir of out: {facts['substitutes']}")
        if "--no-trace" not in options:
            verified = run([omnio(), "verify", path, output])
            checks.equal(verified.status, 0, f"replay {turn}: verify: {verified}")
        again = replay(path, target, os.path.join(work, f"again.{turn}"))
        checks.equal(again.status, 1, f"replay {turn}: files are left: {again}")
        checks.that(b"of an earlier replay; --fresh removes it" in again.err, f"{again.err!r}")
        checks.equal(namesIn(tree), LEFT, f"replay {turn}: the refused replay changed nothing")
    # Made between two replays, and not adopted anew.
    os.mkdir(os.path.join(tree, "later"))
    done = replay(path, target, os.path.join(work, "later"), "--fresh")
    checks.equal(done.status, 0, f"a directory made later: {done}")
    checks.equal(namesIn(tree), {**LEFT, "later": None}, "a directory made later stays")
    done = adopt(target)
    checks.that(done.status == 0 and b"was adopted before" in done.out, f"adopt again: {done}")
    checks.equal(kept(tree), before, "adopt again: the directories")


def checkLinks(checks, work, target):
    """Links that were put into the tree go, and what they lead to stays; none is followed."""
    path = write(os.path.join(work, "links.json"), schedule(
        [file("d", "directory"), file("d/a")], [[mkdir("d"), opened("d/a", 0), closed(0)]]))
    os.makedirs(os.path.join(target, "tree/hand"))
    checks.equal(adopt(target).status, 0, "links: adopt")
    outside = os.path.join(work, "outside")
    os.symlink(outside, os.path.join(target, "tree/d"))
    os.symlink(os.path.join(outside, "canary"), os.path.join(target, "tree/hand/link"))
    os.link(os.path.join(os.path.dirname(target), "linked"),
            os.path.join(target, "tree/hand/hard"))
    refused = replay(path, target, os.path.join(work, "links.refused"))
    checks.equal(refused.status, 1, f"links: {refused}")
    done = replay(path, target, os.path.join(work, "links"), "--fresh")
    checks.equal(done.status, 0, f"links: {done}")
    checks.equal(namesIn(os.path.join(target, "tree")), {"d": None, "d/a": 0, "hand": None},
                 "links: the tree")


def checkRefusals(checks, work, target):
    path = write(os.path.join(work, "refused.json"), schedule())

    def with_file(name):
        os.makedirs(os.path.dirname(os.path.join(target, name)), exist_ok=True)
        write(os.path.join(target, name), "precious")

    def with_link():
        os.makedirs(target)
        os.symlink(os.path.join(work, "outside"), os.path.join(target, "tree"))

    cases = [("nothing there", lambda: None, [], "not a directory; make it first", 1),
             ("a file beside the tree", lambda: with_file("data"), [], "holds data; a target", 1),
             ("a file in the tree", lambda: with_file("tree/a/data"), [],
              "tree/a/data is not a directory, and no replay made it", 1),
             ("a tree that is a file", lambda: with_file("tree"), [], "holds tree; a target", 1),
             ("a tree that is a link", with_link, [], "holds tree; a target", 1),
             ("a schedule", lambda: os.makedirs(target), [path], "--adopt takes no SCHEDULE", 2),
             ("a target", lambda: os.makedirs(target), ["--target", target],
              "--adopt takes no SCHEDULE and no other option", 2)]
    for name, make, more, words, status in cases:
        run(["rm", "-rf", target])
        make()
        before = factsOf(target)
        result = adopt(target, *more)
        lines = result.err.decode().splitlines()
        print(f"{name}: {lines}")
        checks.equal(result.status, status, f"{name}: {result}")
        checks.that(len(lines) == 1 and words in lines[0], f"{name}: one sentence: {lines}")
        checks.equal(factsOf(target), before, f"{name}: nothing is changed")
    for words, missing in (([], b"SCHEDULE is required"), ([path], b"--target is required")):
        result = run([omnio(), "replay", *words])
        checks.equal(result.status, 2, f"without --adopt: {result}")
        checks.that(missing in result.err, f"without --adopt: {result.err!r}")


def checkRoom(checks, work, target):
    """A replay that is refused for lack of room leaves the adopted directories, and no marker."""
    path = write(os.path.join(work, "room.json"), schedule([file("in", "input", True, 1 << 40)]))
    tree = madeByHand(target)
    checks.equal(adopt(target).status, 0, "room: adopt")
    before = kept(tree)
    result = replay(path, target, os.path.join(work, "room"))
    checks.equal(result.status, 1, f"room: {result}")
    checks.equal(kept(tree), before, "room: the directories")
    checks.equal(sorted(os.listdir(target)), [ADOPTED, "tree"], "room: what is in the target")


def checkWithOthers(checks, work, target):
    """An adopted target with a name beside a plain one; without a tree, the first replay makes it."""
    path = write(os.path.join(work, "others.json"), schedule(
        [file("a", source="/fast/a"), file("b", source="/home/b")],
        [[opened("a", 0), closed(0), opened("b", 1), closed(1)]]))
    os.makedirs(target)
    done = adopt(target)
    checks.that(b"the first replay makes it" in done.out, f"no tree yet: {done}")
    plain = os.path.join(work, "plain")
    inode = None
    for turn in range(2):
        done = replay(path, plain, os.path.join(work, f"others.{turn}"), "--fresh", "--target",
                      f"fast={target}", "--map", "/fast/*=fast:")
        checks.equal(done.status, 0, f"others {turn}: {done}")
        checks.equal([namesIn(os.path.join(one, "tree")) for one in (plain, target)],
                     [{"b": 0}, {"a": 0}], f"others {turn}: the trees")
        now = os.stat(os.path.join(target, "tree")).st_ino
        checks.that(inode in (None, now), f"others {turn}: the tree stays")
        inode = now


def checkOnNode(checks, work, target):
    """An adopted directory of --node-local: the directories that a replay makes there go with --fresh, and
    those made by hand stay. verify counts directories that were there in adopted trees alone."""
    path = write(os.path.join(work, "on_node.json"), schedule(
        [file("@node/h/new", "directory"), file("@node/h/new/a"), file("@node/h/hand", "directory"),
         file("plain", "directory"), file("plain/b")],
        [[mkdir("@node/h/new"), opened("@node/h/new/a", 0), closed(0), mkdir("@node/h/hand"),
          mkdir("plain"), opened("plain/b", 1), closed(1)]]))
    hand = os.path.join(target, "tree/@node/h/hand")
    os.makedirs(hand)
    checks.equal(adopt(target).status, 0, "on a node: adopt")
    inode, plain = os.stat(hand).st_ino, os.path.join(work, "node.plain")
    for turn in range(2):
        output = os.path.join(work, f"on_node.{turn}")
        done = replay(path, plain, output, "--node-local", target, "--fresh")
        if not checks.equal(done.status, 0, f"on a node {turn}: {done}"):
            continue
        checks.equal(namesIn(os.path.join(target, "tree/@node/h")),
                     {"hand": None, "new": None, "new/a": 0}, f"on a node {turn}: the tree")
        checks.equal(os.stat(hand).st_ino, inode, f"on a node {turn}: made by hand")
        checks.equal(report(output)["substitutes"].get(
            "directories that the application made, and an adopted target had"), 1,
            f"on a node {turn}: only the one that was there")
        verified = run([omnio(), "verify", path, output])
        checks.that(verified.status == 0 and b" 0 differences" in verified.out,
                    f"on a node {turn}: verify: {verified}")
    # The same result in a tree that was not adopted is a difference.
    facts = report(output)
    del facts["adopted_node_trees"]
    write(os.path.join(output, "replay.json"), json.dumps(facts))
    verified = run([omnio(), "verify", path, output])
    checks.equal(verified.status, 3, f"on a node: verify without it: {verified}")


def main():
    if mpirun(1) is None:
        skipTest("a replay needs MPI")
    checks = Checks()
    with WorkDirectory() as work, devices.ext4(work, "disk", 64) as disk:
        outside = emptied(os.path.join(work, "outside"))
        write(os.path.join(outside, "canary"), "precious")
        write(os.path.join(disk.mount_point, "linked"), "precious")
        before = factsOf(outside)
        for case in (checkKept, checkLinks, checkRefusals, checkRoom, checkWithOthers, checkOnNode):
            target = os.path.join(disk.mount_point, "run")
            run(["rm", "-rf", target])
            with checks.case(case.__name__):
                case(checks, work, target)
                checks.equal(factsOf(outside), before, f"{case.__name__}: the canaries")
        with open(os.path.join(disk.mount_point, "linked"), encoding="ascii") as canary:
            checks.equal(canary.read(), "precious", "the file of two names")
    checks.finish()


if __name__ == "__main__":
    devices.runOrSkip(main)
