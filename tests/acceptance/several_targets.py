"""Replays with several targets, on an ext4 and a tmpfs of their own: bytes and names are where --map
or the schedule sends them, calls find them there by as many names as they had, and what cannot be is
refused with one sentence before anything is made. Nothing outside of the targets changes.
"""

import os
import re

import devices
from hostile_schedules import factsOf
from omnio_testing import Checks, WorkDirectory, emptied, environment, mpirun, omnio, run, skipTest
from replay_testing import (MPI_ENVIRONMENT, closed, file, opened, replay, report, schedule, write)

KIB, MIB = 1 << 10, 1 << 20


def namesIn(directory):
    """What is below a directory: sizes of files, and of directories None."""
    found = {}
    for parent, folders, files in os.walk(directory):
        for name in folders:
            found[os.path.relpath(os.path.join(parent, name), directory)] = None
        for name in files:
            path = os.path.join(parent, name)
            size = "link" if os.path.islink(path) else os.path.getsize(path)
            found[os.path.relpath(path, directory)] = size
    return found


def written(fd, size, offset=0):
    return {"command": "pwrite64", "fd": fd, "count": size, "offset": offset, "result": size}


def read(fd, size, offset=0):
    return {"command": "pread64", "fd": fd, "count": size, "offset": offset, "result": size}


def found(location, fd):
    """An input that is opened."""
    return opened(location, fd, "O_RDONLY", mode="0")


def mkdir(location):
    return {"command": "mkdir", "location": location, "mode": "0755", "result": 0}


class Targets:
    """A plain target and two with names; each lies in a file system with a canary beside it."""

    def __init__(self, work, large, fast):
        self.work = work
        self.plain = os.path.join(large, "run")
        self.fast = os.path.join(fast, "run")
        self.third = os.path.join(work, "third")
        self.options = ["--target", f"fast={self.fast}"]
        self.roots = (large, fast)
        for root in self.roots:
            with open(os.path.join(root, "canary"), "w", encoding="ascii") as out:
                out.write("precious")
        self.before = self.canaries()
        self.outputs = 0

    def canaries(self):
        """All beside the targets in their file systems, and a directory elsewhere."""
        facts = factsOf(os.path.join(self.work, "outside"))
        for root in self.roots:
            inside = os.path.join(root, "run")
            facts.update({path: fact for path, fact in factsOf(root, without=inside).items()
                          if path != root})
        return facts

    def output(self):
        self.outputs += 1
        return os.path.join(self.work, f"out.{self.outputs}")

    def document(self, name, content):
        return write(os.path.join(self.work, f"{name}.json"), content)

    def replay(self, path, *options, fresh=True, plain=True, output=None):
        """Returns the result and the output directory."""
        output = output or self.output()
        first = ["--target", self.plain] if plain else []
        command = [omnio(), "replay", path, *first, *self.options, "-o", output,
                   *(["--fresh"] if fresh else []), *options]
        return run(command, env=environment(**MPI_ENVIRONMENT)), output

    def verified(self, checks, name, path, output):
        result = run([omnio(), "verify", path, output])
        checks.equal(result.status, 0, f"{name}: verify: {result}")
        checks.that(b" 0 differences" in result.out, f"{name}: verify: {result.out!r}")

    def treesAre(self, checks, name, plain, fast):
        checks.equal(namesIn(os.path.join(self.plain, "tree")), plain, f"{name}: the plain tree")
        checks.equal(namesIn(os.path.join(self.fast, "tree")), fast, f"{name}: the fast tree")

    def clear(self):
        for target in (self.plain, self.fast, self.third):
            run(["rm", "-rf", target])


def madeByHand():
    """A directory with files in both targets, opened and entered; a rename and a link within the
    fast one; a symbolic link that leads from one to the other."""
    files = [file("in", "input", True, 64 * KIB, source="/home/in"),
             file("fast/in", "input", True, 96 * KIB, source="/fast/in"),
             file("dir", "directory", source="/home/dir"),
             file("dir/slow", source="/home/dir/slow"),
             file("dir/fast", source="/fast/dir/fast"),
             file("dir/moved", source="/fast/dir/moved"),
             file("dir/linked", source="/fast/dir/linked"),
             file("dir/sub", "directory", source="/fast/dir/sub"),
             file("dir/sub/out", source="/fast/dir/sub/out"),
             file("sign", source="/home/sign"),
             file("none", "absent", source="/fast/none")]
    events = [
        found("in", 0), read(0, 64 * KIB), closed(0),
        found("fast/in", 1), read(1, 96 * KIB), closed(1),
        mkdir("dir"), mkdir("dir/sub"),
        {"command": "open", "location": "dir", "flags": "O_RDONLY|O_DIRECTORY", "mode": "0",
         "result": 2},
        {**opened("dir/slow", 3), "command": "openat", "dirfd": 2, "lookups": 1}, written(3, 5000),
        {**opened("dir/fast", 4), "command": "openat", "dirfd": 2, "lookups": 1}, written(4, 6000),
        {"command": "sendfile64", "fd": 4, "source": 3, "source_offset": 0, "count": 1000,
         "result": 1000},
        closed(3), closed(4),
        {"command": "fchdir", "fd": 2, "result": 0},
        {"command": "rename", "location": "dir/fast", "newlocation": "dir/moved", "lookups": 1,
         "newlookups": 1, "result": 0},
        {"command": "link", "location": "dir/moved", "newlocation": "dir/linked", "lookups": 1,
         "newlookups": 1, "result": 0},
        {**opened("dir/sub/out", 5), "lookups": 2}, written(5, 7000), closed(5),
        {**opened("dir/slow", 6, "O_RDWR", mode="0"), "lookups": 1}, written(6, 100, 5000), closed(6),
        closed(2),
        {"command": "symlink", "location": "sign", "target": "dir/moved", "result": 0},
        found("sign", 7), read(7, 6000), closed(7),
        {"command": "stat", "location": "none", "errno": "ENOENT"},
        {"command": "unlink", "location": "dir/linked", "lookups": 4, "result": 0},
    ]
    return schedule(files, [events])


def checkPlaces(checks, targets):
    path = targets.document("places", madeByHand())
    plain = {"in": 64 * KIB, "dir": None, "dir/slow": 5100, "sign": "link"}
    fast = {"fast": None, "fast/in": 96 * KIB, "dir": None, "dir/moved": 6000, "dir/sub": None,
            "dir/sub/out": 7000}
    for name, more in (("traced", []), ("not traced", ["--no-trace"]), ("in dt", ["--timing", "dt"]),
                       ("often", ["--repeat", "2"])):
        done, output = targets.replay(path, "--map", "/fast/**=fast:", *more)
        if not checks.equal(done.status, 0, f"{name}: {done}"):
            continue
        checks.equal(done.err, b"", f"{name}: no warning")
        targets.treesAre(checks, name, plain, fast)
        output = os.path.join(output, "2") if name == "often" else output
        facts = report(output)
        checks.equal(facts["total"]["differences"], 0, f"{name}: differences")
        checks.equal(facts["targets"], [
            {"directory": targets.plain, "tree": os.path.join(targets.plain, "tree"),
             "file_system": "ext4", "files": 1, "bytes": 64 * KIB},
            {"name": "fast", "directory": targets.fast,
             "tree": os.path.join(targets.fast, "tree"), "file_system": "tmpfs", "files": 1,
             "bytes": 96 * KIB}], f"{name}: the targets of the report")
        checks.equal([facts["preparation"][key] for key in ("files", "bytes")], [2, 160 * KIB],
                     f"{name}: what was prepared in both")
        checks.that(f"  in fast={targets.fast} (tmpfs): 1 files".encode() in done.out,
                    f"{name}: the printed report: {done.out!r}")
        if "--no-trace" not in more:
            targets.verified(checks, name, path, output)
    link = os.readlink(os.path.join(targets.plain, "tree", "sign"))
    checks.equal(link, os.path.join(targets.fast, "tree", "dir/moved"), "where the link leads")


def checkRules(checks, targets):
    """What --map and the schedule say, and which goes over which."""
    files = [file("a", "input", True, 100, source="/x/a"),
             file("b", "input", True, 200, source="/x/b"),
             file("c.log", "input", True, 300, source="/y/c.log", target="fast")]
    events = [event for number, one in enumerate(files)
              for event in (found(one["location"], number),
                            read(number, one["size"]), closed(number))]
    path = targets.document("rules", schedule(files, [events]))
    sizes = {one["location"]: one["size"] for one in files}
    for name, maps, in_fast in (
            ("the schedule", [], {"c.log"}),
            ("a pattern of a name", ["a=fast:"], {"a", "c.log"}),
            ("the last one", ["/x/*=fast:", "/x/b=third:"], {"a", "c.log"}),
            ("back to the plain one", ["*=fast:", "/x/b=:"], {"a", "c.log"}),
            ("a map over the schedule", ["*.log=third:", "/x/*=fast:"], {"a", "b"})):
        third = ["--target", f"third={targets.third}"] if any("third" in m for m in maps) else []
        done, _ = targets.replay(path, *third, *(word for m in maps for word in ("--map", m)))
        checks.equal(done.status, 0, f"{name}: {done}")
        checks.equal(set(namesIn(os.path.join(targets.fast, "tree"))), in_fast, name)
        in_plain = set(namesIn(os.path.join(targets.plain, "tree")))
        in_third = set(namesIn(os.path.join(targets.third, "tree"))) if third else set()
        checks.equal(in_plain | in_third | in_fast, set(sizes), f"{name}: all are somewhere")
        checks.that(not in_plain & in_fast and not in_third & in_fast, f"{name}: each once")
    # Without a plain target, where each file has another.
    done, output = targets.replay(path, "--map", "/x/*=fast:", plain=False)
    checks.equal(done.status, 0, f"no plain target: {done}")
    checks.equal(namesIn(os.path.join(targets.fast, "tree")), sizes, "no plain target: files")
    targets.verified(checks, "no plain target", path, output)
    checked = run([omnio(), "schedule", "check", path])
    checks.equal(checked.status, 0, f"schedule check does not ask for targets: {checked}")
    # One that nothing goes to is named, and used all the same.
    for more in (["--dry-run"], []):
        done, _ = targets.replay(path, "--target", f"third={targets.third}", *more)
        checks.equal(done.status, 0, f"an unused target: {done}")
        checks.equal(done.err.decode(), f"omnio: --target third={targets.third}: no file of the schedule "
                     "goes there\n", f"an unused target {more}: the warning")


def checkApplication(checks, targets):
    """A recorded shell that works in two directories; its replay with two processes."""
    home, fast = (emptied(os.path.join(targets.work, name)) for name in ("app-home", "app-fast"))
    with open(os.path.join(home, "in"), "wb") as out:
        out.write(os.urandom(70000))
    script = (f"mkdir {fast}/d && cp in {fast}/d/copy && cat {fast}/d/copy > out && "
              f"mv {fast}/d/copy {fast}/d/moved && mv {fast}/d {fast}/e && ls {fast}/e && "
              f"ln -s {fast}/e/moved sign && cat sign > again && rm sign")
    trace = os.path.join(targets.work, "app.trace")
    done = run([omnio(), "trace", "-o", trace, "--", "sh", "-c", script], cwd=home)
    checks.equal(done.status, 0, f"application: {done}")
    path = os.path.join(targets.work, "app.json")
    made = run([omnio(), "preprocess", trace, "-o", path])
    checks.equal(made.status, 0, f"application: preprocess: {made}")
    done, output = targets.replay(path, "--map", f"{fast}/**=fast:")
    if not checks.equal(done.status, 0, f"application: {done}"):
        return
    targets.verified(checks, "application", path, output)
    in_fast = {name: size for name, size in namesIn(os.path.join(targets.fast, "tree")).items()
               if size is not None}
    checks.equal(in_fast, {"@root" + os.path.realpath(fast) + "/e/moved": 70000},
                 "application: the fast tree")
    in_plain = {name: size for name, size in namesIn(os.path.join(targets.plain, "tree")).items()
                if size is not None}
    checks.that({"in": 70000, "out": 70000, "again": 70000}.items() <= in_plain.items(),
                f"application: the plain tree: {in_plain}")
    compared = run([omnio(), "diff", trace, output])
    checks.that(f"{fast}/d/copy".encode() in compared.out and b"/tree/" not in compared.out,
                f"application: its names in omnio diff: {compared.out!r}")


def checkLaunched(checks, targets):
    """mpirun omnio-replay, without `omnio replay` around it: two ranks, a file each in each target."""
    beside = os.path.join(os.path.dirname(os.path.dirname(omnio())), "replay", "omnio-replay")
    if not os.access(beside, os.X_OK):
        checks.skip("launched", "no omnio-replay")
        return
    ranks = [[[opened(f"{place}.{rank}", number), written(number, 4096 * (rank + 1)), closed(number)]
              for number, place in enumerate(("plain", "fast"))] for rank in range(2)]
    files = [file(f"{place}.{rank}", source=f"/{place}/{rank}")
             for rank in range(2) for place in ("plain", "fast")]
    path = targets.document("launched", schedule(
        files, ranks=[[[event for part in rank for event in part]] for rank in ranks]))
    for more in ([], ["--no-trace"]):
        output = targets.output()
        done = run([*mpirun(2), beside, path, "--target", targets.plain, *targets.options, "--map",
                    "/fast/*=fast:", "--fresh", "-o", output, *more],
                   env=environment(**MPI_ENVIRONMENT))
        checks.equal(done.status, 0, f"launched {more}: {done}")
        targets.treesAre(checks, f"launched {more}", {"plain.0": 4096, "plain.1": 8192},
                         {"fast.0": 4096, "fast.1": 8192})


def checkNodes(checks, targets):
    """A directory that the node has for itself beside both targets; a map goes over it."""
    files = [file("in", "input", True, 1000, source="/home/in"),
             file("fast", "input", True, 2000, source="/fast/in"),
             file("@node/host/own", "input", True, 3000, source="/tmp/own"),
             file("@node/host/new", source="/tmp/new"),
             file("@node/host/mapped", "input", True, 5000, source="/tmp/mapped")]
    events = [event for number, one in enumerate(files) if one["location"] != "@node/host/new"
              for event in (found(one["location"], number),
                            read(number, one["size"]), closed(number))]
    events += [{**opened("@node/host/new", 9), "lookups": 1}, written(9, 4000), closed(9)]
    path = targets.document("nodes", schedule(files, [events]))
    own = os.path.join(targets.work, "own")
    done, output = targets.replay(path, "--node-local", own, "--map", "/fast/*=fast:", "--map",
                                  "/tmp/mapped=fast:")
    checks.equal(done.status, 0, f"nodes: {done}")
    targets.treesAre(checks, "nodes", {"in": 1000}, {"fast": 2000, "@node": None,
                                                     "@node/host": None, "@node/host/mapped": 5000})
    checks.equal(namesIn(os.path.join(own, "tree")),
                 {"@node": None, "@node/host": None, "@node/host/own": 3000,
                  "@node/host/new": 4000}, "nodes: the node's own tree")
    targets.verified(checks, "nodes", path, output)
    inside, _ = targets.replay(path, "--node-local", os.path.join(targets.fast, "own"), "--map",
                               "/fast/*=fast:")
    checks.equal(inside.status, 1, f"nodes in a target: {inside}")
    checks.that(b"lie in each other" in inside.err, f"nodes in a target: {inside.err!r}")


def refusals(targets):
    """(name, options, words that the sentence has, exit status); the schedule is that of refused()."""
    plain, fast, third = targets.plain, targets.fast, targets.third
    yield "a name twice", ["--target", f"fast={third}"], "the target fast was given before", 2
    yield "two plain ones", ["--target", third], "the plain target was given before", 2
    yield "one directory", ["--target", f"x={fast}"], "are the same directory", 1
    yield "one directory by another name", ["--target", f"x={targets.work}/link/run"], \
        "are the same directory", 1
    yield "inside", ["--target", f"x={plain}/tree/x"], f"lies in --target {plain}", 1
    yield "around", ["--target", f"x={os.path.dirname(fast)}"], "lies in --target x=", 1
    yield "no name", ["--target", f"={third}"], "the name is empty", 2
    yield "a slash in a name", ["--target", f"a/b={third}"], "has a /, = or : in it", 2
    yield "no directory", ["--target", "x="], "the directory is empty", 2
    yield "a map without a colon", ["--map", "/m/*=fast"], "PATTERN=NAME: is wanted", 2
    yield "a map without a pattern", ["--map", "=fast:"], "the pattern before = is empty", 2
    yield "a map with a slash", ["--map", "/m/*=a/b:"], "has a /, = or : in it", 2
    yield "an unknown target", ["--map", "/m/*=x:"], "no --target x=DIR is given", 2
    yield "nothing matches", ["--map", "/nowhere/*=fast:"], \
        "no file of the schedule matches the pattern /nowhere/* of --map", 1
    yield "a rename across", ["--map", "/m/a=fast:"], \
        'rename gives "a", which is in the target fast, the name "b", which is in the plain', 1
    yield "a link across", ["--map", "/m/c=fast:"], \
        'link gives "b", which is in the plain target, the name "c", which is in the target fast', 1
    yield "a directory with files elsewhere", ["--map", "/m/d/x=fast:"], \
        'rename of the directory "d", which is in the plain target: "d/x" below it is in the', 1


def checkRefusals(checks, targets):
    files = [file("a", source="/m/a"), file("b", source="/m/b"), file("c", source="/m/c"),
             file("d", "directory", source="/m/d"), file("d/x", source="/m/d/x"),
             file("e", "directory", source="/m/e")]
    path = targets.document("refused", schedule(files, [[
        opened("a", 0), closed(0),
        {"command": "rename", "location": "a", "newlocation": "b", "result": 0},
        {"command": "link", "location": "b", "newlocation": "c", "result": 0},
        mkdir("d"), opened("d/x", 1), closed(1),
        {"command": "rename", "location": "d", "newlocation": "e", "result": 0}]]))
    targets.clear()
    os.symlink(os.path.dirname(targets.fast), os.path.join(targets.work, "link"))
    cases = [(name, path, options, words, status)
             for name, options, words, status in refusals(targets)]
    unknown = targets.document("unknown", schedule(
        [file("a", "absent", target="x"), file("b", "absent")], [[]]))
    slash = targets.document("slash", schedule([file("a", "absent", target="x/y")], [[]]))
    empty = targets.document("empty", schedule([file("a", "absent", target="")], [[]]))
    cases += [("an unknown target of the schedule", unknown, [],
               'location "a" goes to the target x, which this replay does not have', 1),
              ("a slash in a target of the schedule", slash, [], '"target" is "x/y"', 1),
              ("an empty target of the schedule", empty, [], '"target" is ""', 1)]
    for name, document, options, words, status in cases:
        result, output = targets.replay(document, *options)
        lines = result.err.decode().splitlines()
        print(f"{name}: {lines}")
        checks.equal(result.status, status, f"{name}: status: {result}")
        checks.that(len(lines) == 1 and words in lines[0], f"{name}: one sentence: {lines}")
        for made in (targets.plain, targets.fast, targets.third, output):
            checks.that(not os.path.exists(made), f"{name}: {made} is not made")
    result, _ = targets.replay(path, output=f"{targets.fast}/out")
    checks.equal(result.status, 1, f"an output inside: {result}")
    checks.that(f"lies in the target {targets.fast}".encode() in result.err,
                f"an output inside: {result.err!r}")
    checks.that(not os.path.exists(targets.fast), "an output inside: nothing is made")
    result, _ = targets.replay(path, "--map", "/m/a=fast:", plain=False)
    checks.equal(result.status, 1, f"a file without a target: {result}")
    checks.that(b'location "b" has no target' in result.err, f"without a target: {result.err!r}")
    checks.that(not os.path.exists(targets.fast), "a file without a target: nothing is made")
    result, _ = targets.replay(path, "--map", "/m/a=:", plain=False)
    checks.equal(result.status, 2, f"a map to a plain target that is not there: {result}")
    checks.that(b"--map /m/a=:: no --target DIR is given" in result.err, f"{result.err!r}")
    checkColons(checks, targets)


def checkColons(checks, targets):
    """ROMIO takes what stands before a colon off a name: of a whole path, what is left may be another one."""
    document = schedule(
        [file("x:", "directory", True, source="/m/x:"), file("x:/etc/canary", source="/m/x:/etc/canary")],
        [[{"command": "MPI_File_open", "location": "x:/etc/canary", "group": 0,
           "amode": "MPI_MODE_CREATE|MPI_MODE_RDWR", "result": 0},
          {"command": "MPI_File_close", "fd": 0, "result": 0}]])
    document["global"]["mpi"] = {"groups": [[0]], "types": []}
    path = targets.document("colon", document)
    for name, options, words in (
            ("a name", ["--map", "*=fast:"], 'MPI_File_open names "x:/etc/canary" in the target fast'),
            ("a target", ["--target", f"third={targets.work}/a:b", "--map", "*canary=third:"],
             'MPI_File_open names')):
        result, output = targets.replay(path, *options)
        checks.equal(result.status, 1, f"colons, {name}: {result}")
        checks.that(words.encode() in result.err, f"colons, {name}: {result.err!r}")
        for made in (targets.plain, targets.fast, output):
            checks.that(not os.path.exists(made), f"colons, {name}: {made} is not made")
    document["files"][1].update(location="plain", source="/m/plain")
    document["ranks"][0]["threads"][0]["events"][0]["location"] = "plain"
    colon = f"third={targets.work}/a:b"
    result, output = targets.replay(targets.document("colon", document), "--target", colon, "--map",
                                    "*plain=third:")
    checks.equal(result.status, 1, f"colons, a directory: {result}")
    checks.that(f"--target {colon}: MPI libraries take".encode() in result.err, f"{result.err!r}")
    checks.that(not os.path.exists(f"{targets.work}/a:b"), "colons, a directory: nothing is made")
    result, _ = targets.replay(targets.document("colon", document), "--map", "*plain=fast:")
    checks.equal(result.status, 0, f"no colons in a second target: {result}")
    checks.that("plain" in namesIn(os.path.join(targets.fast, "tree")), "the file is there")
    targets.clear()


def checkListed(checks, targets):
    """`targets` of the schedule: a directory that --target goes over, and names that files may use."""
    files = [file("a", "input", True, 100, source="/x/a", target="fast"),
             file("b", "input", True, 200, source="/x/b", target="third")]
    events = [event for number, one in enumerate(files)
              for event in (found(one["location"], number), read(number, one["size"]), closed(number))]
    document = schedule(files, [events])
    document["global"]["targets"] = [{"name": "fast", "comment": "the burst buffer"},
                                     {"name": "third", "directory": targets.third, "comment": [1]}]
    path = targets.document("listed", document)
    targets.clear()
    done, output = targets.replay(path, plain=False)
    checks.equal(done.status, 0, f"listed: {done}")
    checks.equal(namesIn(os.path.join(targets.third, "tree")), {"b": 200}, "listed: its directory")
    targets.verified(checks, "listed", path, output)
    targets.clear()
    other = os.path.join(targets.work, "other")
    done, _ = targets.replay(path, "--target", f"third={other}", plain=False)
    checks.equal(done.status, 0, f"listed, and given: {done}")
    checks.equal(namesIn(os.path.join(other, "tree")), {"b": 200}, "listed, and given: the option's")
    checks.that(not os.path.exists(targets.third), "listed, and given: not the schedule's")
    dry = run([omnio(), "replay", path, "--target", f"fast={targets.fast}", "--dry-run", "--fresh"])
    checks.equal(dry.status, 0, f"listed: dry run: {dry}")
    checks.that(targets.third.encode() in dry.out, f"listed: dry run: {dry.out!r}")
    checks.that(not os.path.exists(targets.third), "listed: a dry run makes nothing")
    # Without its directory, and without any option.
    del document["global"]["targets"][1]["directory"]
    done, _ = targets.replay(targets.document("listed", document), plain=False)
    checks.that(done.status == 1 and b"goes to the target third, which this replay does not have"
                in done.err, f"listed without a directory: {done}")
    for listed, words in (([{"name": "fast"}], b'names the target third, which "targets" does not have'),
                          ([{"name": "third", "directory": "here"}], b"has to be an absolute path"),
                          ([{"name": "third"}, {"name": "third"}], b"the target third appears twice"),
                          ([{"name": "a/b"}], b"the name of a target has no /")):
        document["global"]["targets"] = listed
        done, output = targets.replay(targets.document("listed", document))
        checks.that(done.status == 1 and words in done.err and done.err.count(b"\n") == 1,
                    f"listed {listed}: {done}")
        checks.that(not os.path.exists(output), f"listed {listed}: nothing is made")
    # A directory of others is not touched, whoever names it.
    document["global"]["targets"] = [{"name": "fast"}, {"name": "third", "directory":
                                                        os.path.join(targets.work, "outside")}]
    done, _ = targets.replay(targets.document("listed", document))
    checks.that(done.status == 1 and b"which no replay made" in done.err, f"listed: outside: {done}")
    targets.clear()


def checkContent(checks, targets):
    """A target that holds something is not touched, nor is the other one; each has --fresh."""
    path = targets.document("content", schedule([file("a", source="/m/a"), file("b", source="/b")], [[
        opened("a", 0), closed(0), opened("b", 1), closed(1)]]))
    targets.clear()
    os.makedirs(targets.fast)
    precious = write(os.path.join(targets.fast, "precious"), "precious")
    before = factsOf(targets.fast)
    for fresh in (False, True):
        result, output = targets.replay(path, "--map", "/m/*=fast:", fresh=fresh)
        checks.equal(result.status, 1, f"content: {result}")
        checks.that(b"holds precious, which no replay made" in result.err, f"{result.err!r}")
        checks.equal(factsOf(targets.fast), before, "content: it stays as it was")
        checks.that(not os.path.exists(targets.plain), "content: the plain target is not made")
        checks.that(not os.path.exists(output), "content: no output")
    os.remove(precious)
    for turn, fresh in enumerate((False, False, True)):
        result, _ = targets.replay(path, "--map", "/m/*=fast:", fresh=fresh)
        checks.equal(result.status, 1 if turn == 1 else 0, f"content, replay {turn}: {result}")
        targets.treesAre(checks, f"content, replay {turn}", {"b": 0}, {"a": 0})
    run(["rm", "-r", targets.plain])
    result, _ = targets.replay(path, "--map", "/m/*=fast:", fresh=False)
    checks.equal(result.status, 1, f"content: the tree of an earlier replay in one: {result}")
    checks.that(f"{targets.fast} holds the tree of an earlier replay".encode() in result.err,
                f"content: {result.err!r}")
    checks.that(not os.path.exists(targets.plain), "content: and the other is not made")


def checkRoom(checks, targets):
    """The fast target is too small for what goes there, though the plain one has room for all."""
    path = targets.document("room", schedule(
        [file("in", "input", True, 4 * MIB, source="/fast/in"), file("b", source="/b")],
        [[opened("in", 0, "O_RDONLY"), closed(0), opened("b", 1), closed(1)]]))
    targets.clear()
    result, output = targets.replay(path, "--map", "/fast/*=fast:")
    lines = result.err.decode().splitlines()
    print(f"room: {lines}")
    checks.equal(result.status, 1, f"room: {result}")
    told = re.search(r"\(the target fast\): too little room: (\d+) bytes .* and (\d+) are free",
                     " ".join(lines))
    checks.that(len(lines) == 1 and told and int(told[1]) == 4 * MIB > int(told[2]),
                f"room: one sentence: {lines}")
    for made in (targets.plain, targets.fast, output):
        checks.that(not os.path.exists(made), f"room: {made} is not made")
    result, _ = targets.replay(path)
    checks.equal(result.status, 0, f"room in the plain target: {result}")
    # Each fits by itself, and not both: a target and what nodes have for themselves on one device.
    own = os.path.join(os.path.dirname(targets.plain), "own")
    path = targets.document("both", schedule(
        [file("in", "input", True, 35 * MIB, source="/in"),
         file("@node/host/own", "input", True, 35 * MIB, source="/tmp/own")],
        [[found("in", 0), closed(0), found("@node/host/own", 1), closed(1)]]))
    targets.clear()
    for more in (["--dry-run"], []):
        result, output = targets.replay(path, "--node-local", own, *more)
        checks.equal(result.status, 1, f"room of both: {result}")
        told = re.search(r"too little room: (\d+) bytes", result.err.decode())
        checks.that(told and int(told[1]) == 70 * MIB, f"room of both: {result.err!r}")
        for made in (os.path.join(targets.plain, "tree"), os.path.join(own, "tree")):
            checks.that(not os.path.exists(made), f"room of both: {made} is not there")
    targets.clear()
    run(["rm", "-rf", own, output])


CASES = (checkPlaces, checkRules, checkApplication, checkLaunched, checkNodes, checkRefusals,
         checkListed, checkContent, checkRoom)


def main():
    if mpirun(1) is None:
        skipTest("a replay needs MPI")
    checks = Checks()
    with WorkDirectory() as work, devices.ext4(work, "large", 64) as large, \
            devices.tmpfs(work, "fast") as fast:
        outside = emptied(os.path.join(work, "outside"))
        write(os.path.join(outside, "canary"), "precious")
        targets = Targets(work, large.mount_point, fast.mount_point)
        for case in CASES:
            with checks.case(case.__name__):
                case(checks, targets)
                checks.equal(targets.canaries(), targets.before, f"{case.__name__}: the canaries")
    checks.finish()


if __name__ == "__main__":
    devices.runOrSkip(main)
