"""`omnio replay --inputs`: files that existed before the run are copied from their recorded paths, read
there, or made up. The sources keep inode, times and content; what cannot be copied, and calls that do more
than read what is read in place, are refused before anything is made.
"""

import os
import shutil

from hostile_schedules import factsOf
from omnio_testing import Checks, WorkDirectory, emptied, environment, mpirun, omnio, run, skipTest
from replay_testing import MPI_ENVIRONMENT, closed, file, opened, replay, report, schedule, write
from several_targets import found, namesIn, read, written

MIB = 1 << 20


def timesIn(directory):
    """Of all files: when they were last read, written and changed."""
    times = {}
    for parent, _, names in os.walk(directory):
        for name in names:
            facts = os.stat(os.path.join(parent, name))
            times[name] = (facts.st_atime_ns, facts.st_mtime_ns, facts.st_ctime_ns)
    return times


def contentOf(*names):
    with open(os.path.join(*names), "rb") as content:
        return content.read()


class Home:
    """Where the application ran: an input, a file that it reads by lines, one that it goes on
    writing, and a link to the first."""

    def __init__(self, work):
        self.at = emptied(os.path.join(work, "home"))
        for name, size in (("in", 3 * MIB + 7), ("lines", 5000), ("log", 3000)):
            with open(os.path.join(self.at, name), "wb") as out:
                out.write(os.urandom(size))
        os.symlink("in", os.path.join(self.at, "link"))
        os.mkdir(os.path.join(self.at, "d"))
        write(os.path.join(self.at, "d", "more"), "x" * 100)
        # Old enough that a read would change the time of the last access (relatime).
        for name in os.listdir(self.at):
            os.utime(os.path.join(self.at, name), (10**9, 10**9))
        self.facts = factsOf(self.at)
        self.readNow()

    def readNow(self):
        """The test itself has read the files."""
        self.times = timesIn(self.at)

    def source(self, name):
        return os.path.join(self.at, name)

    def isUnchanged(self, checks, what):
        checks.equal(timesIn(self.at), self.times, f"{what}: the times of the sources")
        checks.equal(factsOf(self.at), self.facts, f"{what}: the sources")
        self.readNow()


def application(home):
    files = [file("in", "input", True, 2 * MIB, source=home.source("in")),
             file("lines", "input", True, 5000, lines=True, source=home.source("lines")),
             file("log", "updated", True, 3000, source=home.source("log")),
             file("link", "input", True, 100, source=home.source("link")),
             file("out", source=home.source("out"))]
    return schedule(files, [[
        found("in", 0), read(0, 2 * MIB), closed(0), found("lines", 1), read(1, 5000), closed(1),
        found("link", 2), read(2, 100), closed(2),
        opened("log", 3, "O_WRONLY", mode="0"), written(3, 500, 3000), closed(3),
        opened("out", 4), written(4, 1000), closed(4)]])


def checkCopies(checks, work, home):
    path = write(os.path.join(work, "copies.json"), application(home))
    target = os.path.join(work, "target")
    for more in ([], ["--cache", "warm"], ["--no-trace"]):
        output = os.path.join(work, f"copies{'.'.join(more)}")
        done = replay(path, target, output, "--fresh", "--inputs", "copy", *more)
        if not checks.equal(done.status, 0, f"copy {more}: {done}"):
            continue
        home.isUnchanged(checks, f"copy {more}")
        checks.equal(report(output)["inputs"], "copy", f"copy {more}: the report")
        tree = os.path.join(target, "tree")
        for name, size in (("in", 2 * MIB), ("lines", 5000), ("link", 100)):
            checks.that(contentOf(tree, name) == contentOf(home.at, name)[:size],
                        f"copy {more}: the content of {name}")
        checks.that(contentOf(tree, "log")[:3000] == contentOf(home.at, "log"),
                    f"copy {more}: what the application goes on writing")
        checks.equal(os.path.getsize(os.path.join(tree, "log")), 3500, f"copy {more}: log")
        checks.that(not os.path.islink(os.path.join(tree, "link")), "a link is copied as its file")
        if not more:
            verified = run([omnio(), "verify", path, output])
            checks.equal(verified.status, 0, f"copy: verify: {verified}")
    done = replay(path, target, os.path.join(work, "made"), "--fresh")
    checks.equal(done.status, 0, f"make: {done}")
    checks.equal(report(os.path.join(work, "made"))["inputs"], "make", "make: the report")
    checks.that(contentOf(target, "tree", "in") != contentOf(home.at, "in")[:2 * MIB],
                "make: the content is made up")
    home.isUnchanged(checks, "make")


def readInPlace(home):
    """All calls that may be made on an input, by its name, by a directory, by a descriptor that was
    open before, and by a stream."""
    files = [file("in", "input", True, 2 * MIB, source=home.source("in")),
             file("lines", "input", True, 5000, source=home.source("lines")),
             file("log", "updated", True, 3000, source=home.source("log")),
             file("link", "input", True, 100, source=home.source("link")),
             file("d/in", "input", True, 100, source=home.source("d/more")),
             file("d", "directory", True, source=home.source("d"))]
    return schedule(files, [[
        {"command": "preopened", "location": "link", "flags": "O_RDONLY", "offset": 10, "result": 9},
        {"command": "stat", "location": "in", "result": 0},
        {"command": "access", "location": "in", "mode": "04", "result": 0},
        found("in", 0), read(0, 2 * MIB), {"command": "dup", "fd": 0, "result": 1},
        {"command": "flock", "fd": 1, "value": 1, "result": 0},
        {"command": "fstat", "fd": 1, "result": 0}, closed(1), closed(0),
        {"command": "read", "fd": 9, "count": 50, "result": 50},
        {"command": "fopen", "location": "lines", "type": "r", "result": 2},
        {"command": "fread", "fd": 2, "size": 1, "nmemb": 5000, "result": 5000},
        {"command": "fclose", "fd": 2, "result": 0},
        {"command": "open", "location": "d", "flags": "O_RDONLY|O_DIRECTORY", "mode": "0",
         "result": 3},
        {**found("d/in", 4), "command": "openat", "dirfd": 3, "lookups": 1},
        {"command": "mmap", "fd": 4, "length": 100, "offset": 0, "value": 1, "flags": 2,
         "mapping": 1, "result": 0},
        closed(4),
        opened("log", 5, "O_WRONLY", mode="0"), written(5, 500, 3000), closed(5)]])


def checkInPlace(checks, work, home):
    path = write(os.path.join(work, "inplace.json"), readInPlace(home))
    target = os.path.join(work, "inplace.target")
    for more in ([], ["--cache", "warm"], ["--no-trace"], ["--timing", "dt"]):
        output = os.path.join(work, f"inplace{'.'.join(more)}")
        done = replay(path, target, output, "--fresh", "--inputs", "in-place", *more)
        if not checks.equal(done.status, 0, f"in place {more}: {done}"):
            continue
        checks.equal(factsOf(home.at), home.facts, f"in place {more}: the sources")
        checks.equal({name: times[1:] for name, times in timesIn(home.at).items()},
                     {name: times[1:] for name, times in home.times.items()},
                     f"in place {more}: when the sources were written and changed")
        checks.equal(namesIn(os.path.join(target, "tree")), {"d": None, "log": 3500},
                     f"in place {more}: what is in the tree")
        facts = report(output)
        checks.equal(facts["in_place"], [
            {"location": name, "source": home.source(source),
             "real": os.path.realpath(home.source(source)), "bytes": size}
            for name, source, size in (("in", "in", 2 * MIB), ("lines", "lines", 5000),
                                       ("link", "link", 100), ("d/in", "d/more", 100))],
            f"in place {more}: the report")
        checks.equal(facts["total"]["bytes_read"], 2 * MIB + 5050, f"in place {more}: bytes read")
        checks.that(b"4 inputs are read in place, 2.00 MiB" in done.out, f"{done.out!r}")
        if "--no-trace" not in more:
            verified = run([omnio(), "verify", path, output])
            checks.equal(verified.status, 0, f"in place {more}: verify: {verified}")
    home.readNow()


def checkManyInPlace(checks, work):
    """More of them than the tracer can be told by name."""
    many = emptied(os.path.join(work, "many: inputs"))
    names = [f"input-{number:03d}-{'x' * 60}" for number in range(100)]
    for name in names:
        write(os.path.join(many, name), "x" * 100)
    before = factsOf(many)
    for count in (3, len(names)):
        path = write(os.path.join(work, f"many.{count}.json"), schedule(
            [file(name, "input", True, 100, source=os.path.join(many, name))
             for name in names[:count]],
            [[event for number, name in enumerate(names[:count])
              for event in (found(name, number), read(number, 100), closed(number))]]))
        output = os.path.join(work, f"many.{count}")
        done = replay(path, os.path.join(work, "many.target"), output, "--fresh", "--inputs",
                      "in-place")
        checks.equal(done.status, 0, f"{count} in place: {done}")
        verified = run([omnio(), "verify", path, output])
        checks.equal(verified.status, 0, f"{count} in place: verify: {verified}")
        checks.equal(factsOf(many), before, f"{count} in place: the sources")


def checkHarm(checks, work, home):
    """Calls that do more than read an input, whether they were recorded to fail or not."""
    target, fd = os.path.join(work, "harm.target"), {"fd": 0}
    by_name, new = {"location": "in"}, {"location": "new", "newlocation": "in"}
    cases = [opened("in", 1, "O_RDWR", mode="0"), opened("in", 1, "O_RDONLY|O_CREAT"),
             opened("in", 1, "O_RDONLY|O_TRUNC", mode="0"),
             {"command": "creat", "mode": "0644", "result": 1, **by_name},
             {"command": "fopen", "type": "r+", "result": 1, **by_name},
             {"command": "fopen", "type": "a", "result": 1, **by_name},
             {"command": "truncate", "length": 5, "result": 0, **by_name},
             {"command": "ftruncate", "length": 5, "result": 0, **fd},
             {"command": "unlink", "result": 0, **by_name},
             {"command": "remove", "result": 0, **by_name},
             {"command": "rename", "location": "in", "newlocation": "new", "result": 0},
             {"command": "rename", "result": 0, **new},
             {"command": "link", "location": "in", "newlocation": "new", "result": 0},
             {"command": "link", "result": 0, **new},
             {"command": "symlink", "location": "new", "target": "in", "result": 0},
             {"command": "mkdir", "mode": "0755", "result": 0, **by_name},
             {"command": "mkfifo", "mode": "0755", "result": 0, **by_name},
             {"command": "chmod", "mode": "0600", "result": 0, **by_name},
             {"command": "fchmod", "mode": "0600", "result": 0, **fd},
             {"command": "chown", "uid": 0, "gid": 0, "result": 0, **by_name},
             {"command": "fchown", "uid": 0, "gid": 0, "result": 0, **fd},
             {"command": "utime", "result": 0, **by_name},
             {"command": "futimens", "result": 0, **fd},
             {"command": "setxattr", "attribute": "user.a", "size": 4, "flags": 0, "result": 0,
              **by_name},
             {"command": "fsetxattr", "attribute": "user.a", "size": 4, "flags": 0, "result": 0,
              **fd},
             {"command": "fremovexattr", "attribute": "user.a", "result": 0, **fd},
             {"command": "flock", "value": 2, "result": 0, **fd},
             {"command": "fallocate", "flags": 0, "offset": 0, "length": 10, "result": 0, **fd}]
    files = [file("in", "input", True, 100, source=home.source("in")), file("new"),
             file("b", "directory", True)]
    for case in cases:
        failed = {key: value for key, value in case.items() if key != "result"}
        for event in (case, {**failed, "errno": "EACCES"}):
            name = f"{event['command']} {event.get('flags', '')}{event.get('type', '')}"
            path = write(os.path.join(work, "harm.json"), schedule(
                files, [[found("in", 0), event, closed(0)]]))
            output = os.path.join(work, "harm")
            result = replay(path, target, output, "--inputs", "in-place")
            lines = result.err.decode().splitlines()
            checks.equal(result.status, 1, f"{name}: {result}")
            checks.that(len(lines) == 1 and 'on "in", an input that' in lines[0],
                        f"{name}: {lines}")
            checks.that(not os.path.exists(target), f"{name}: nothing is made")
    # The descriptor is made by a thread that comes later in the document.
    path = write(os.path.join(work, "harm.json"), schedule(files, [
        [{"command": "fchmod", "fd": 0, "mode": "0600", "result": 0}], [found("in", 0), closed(0)]]))
    result = replay(path, target, os.path.join(work, "harm"), "--inputs", "in-place")
    checks.that(b'fchmod on "in", an input' in result.err, f"another thread's: {result}")
    path = write(os.path.join(work, "harm.json"), schedule(files, [[
        {"command": "preopened", "location": "in", "flags": "O_RDWR", "offset": 0, "result": 0}]]))
    result = replay(path, target, os.path.join(work, "harm"), "--inputs", "in-place")
    checks.that(b'preopened on "in", an input' in result.err, f"preopened: {result}")
    checks.that(not os.path.exists(target), "nothing is made")
    home.isUnchanged(checks, "harm")


def checkRefusals(checks, work, home):
    target = os.path.join(work, "refused.target")
    other = emptied(os.path.join(work, "other"))
    os.mkfifo(os.path.join(other, "fifo"))
    inside = os.path.join(target, "tree", "in")
    cases = [("missing", home.source("none"), 10, "none: No such file or directory"),
             ("too small", home.source("log"), 3001, "has 3000 bytes, and 3001 were recorded"),
             ("a directory", home.at, 10, "is not a regular file"),
             ("a FIFO", os.path.join(other, "fifo"), 10, "is not a regular file"),
             ("relative", "in", 10, "is not an absolute path"),
             ("none", "", 10, 'location "in" has no source')]
    for how in ("copy", "in-place"):
        for name, source, size, words in cases:
            path = write(os.path.join(work, "refused.json"), schedule(
                [file("first", "input", True, 10, source=home.source("in")),
                 file("in", "input", True, size, source=source)]))
            output = os.path.join(work, "refused.replay")
            result = replay(path, target, output, "--inputs", how)
            lines = result.err.decode().splitlines()
            print(f"{how}, {name}: {lines}")
            checks.equal(result.status, 1, f"{how}, {name}: {result}")
            checks.that(len(lines) == 1 and words in lines[0], f"{how}, {name}: {lines}")
            for made in (target, output):
                checks.that(not os.path.exists(made), f"{how}, {name}: {made} is not made")
        # A source that an earlier replay has left in the target is not removed under its own feet.
        path = write(os.path.join(work, "inside.json"), schedule(
            [file("in", "input", True, 10, source=inside)]))
        checks.equal(replay(path, target, os.path.join(work, f"{how}.left")).status, 0, "a replay")
        before = contentOf(inside)
        result = replay(path, target, os.path.join(work, f"{how}.inside"), "--inputs", how,
                        "--fresh")
        checks.equal(result.status, 1, f"{how}, a source in the target: {result}")
        checks.that(b"lies in the target" in result.err, f"{how}: {result.err!r}")
        checks.equal(contentOf(inside), before, f"{how}: the source in the target")
        run(["rm", "-r", target])
    home.isUnchanged(checks, "refusals")


def recipes(home, **changed):
    """Inputs of all kinds, a file that is written, and one that the run removes."""
    sizes = {"in": 2 * MIB, "d/deep/in": 3 * MIB + 5, "holes": 4 * MIB, "gone": 1000, **changed}
    files = [file(name, "input", True, size, source=home.source(name),
                  **({"holes": [{"begin": 0, "end": MIB}]} if name == "holes" else {}))
             for name, size in sizes.items()]
    files += [file("log", "updated", True, 3000, source=home.source("log")), file("out")]
    reads = [event for number, (name, size) in enumerate(sizes.items())
             for event in (found(name, number), read(number, size), closed(number))]
    return schedule(files, [[*reads, {"command": "unlink", "location": "gone", "result": 0},
                             opened("log", 8, "O_WRONLY", mode="0"), written(8, 500, 3000), closed(8),
                             opened("out", 9), written(9, 1000), closed(9)]])


def checkInterrupted(checks, work, home, target, again, wanted):
    """What was kept is not lost with a replay that ends before its inputs are prepared."""
    names, gone = wanted
    # Ended when the tree was put aside.
    aside = os.path.join(target, ".omnio-kept", "1")
    os.mkdir(os.path.dirname(aside))
    os.rename(os.path.join(target, "tree"), aside)
    inode = os.stat(os.path.join(aside, "in")).st_ino
    again("ended in between", names, [gone], options=(),
          aside={name: os.path.join(aside, name) for name in names})
    checks.equal(os.stat(os.path.join(target, "tree", "in")).st_ino, inode, "ended in between: in")
    # Ended when those that were kept were there, and others were not: no file may be so long.
    path = write(os.path.join(work, "kept.long.json"), recipes(home, long=40 * MIB))
    limited = ["sh", "-c", f"ulimit -f {20 * MIB // 512}; exec \"$@\"", "sh"]
    ended = run([*limited, omnio(), "replay", path, "--target", target, "-o",
                 os.path.join(work, "kept.long"), "--inputs", "keep", "--fresh", "--no-trace"],
                env=environment(**MPI_ENVIRONMENT))
    checks.that(ended.status != 0, f"a limit of file sizes: {ended}")
    checks.equal(sorted(os.listdir(target)), [".omnio-inputs", ".omnio-replay", "tree"],
                 f"a limit of file sizes: it was preparing: {ended}")
    again("ended while others were made", names, [gone])


def checkKept(checks, work, home):
    """Inputs of one replay in the next: the same inodes, whatever was changed is made anew and named, and
    what links and notes lead to stays as it is."""
    target = os.path.join(work, "kept.target")
    tree, note = os.path.join(target, "tree"), os.path.join(target, ".omnio-inputs")
    outside = emptied(os.path.join(work, "kept.outside"))
    for name in ("canary", "other"):
        write(os.path.join(outside, name), "precious")
    before = factsOf(outside)
    names = ("in", "d/deep/in", "holes")
    runs = iter(range(100))

    def again(what, kept, anew=(), document=None, options=("--fresh",),
              aside=()):
        """One more replay: files that have to be kept, and words about those that are made anew."""
        path = write(os.path.join(work, "kept.json"), document or recipes(home))
        inodes = {name: os.stat(os.path.join(tree, name)).st_ino for name in names
                  if os.path.isfile(os.path.join(tree, name))}
        contents = {name: contentOf(tree, name) for name in kept if name not in aside}
        for name, path_aside in dict(aside).items():
            inodes[name], contents[name] = os.stat(path_aside).st_ino, contentOf(path_aside)
        output = os.path.join(work, f"kept.{next(runs)}")
        done = replay(path, target, output, "--inputs", "keep", *options)
        if not checks.equal(done.status, 0, f"{what}: {done}"):
            return
        if "--repeat" in options:
            output = os.path.join(output, "2")
        facts = report(output)
        print(f"{what}: {facts['kept']}")
        checks.equal(facts["inputs"], "keep", f"{what}: the report")
        checks.equal(facts["kept"]["files"], len(kept), f"{what}: how many were kept")
        checks.equal(facts["kept"]["bytes"], sum(map(len, contents.values())), f"{what}: bytes")
        for name in kept:
            checks.equal(os.stat(os.path.join(tree, name)).st_ino, inodes[name], f"{what}: {name} stays")
            checks.that(contentOf(tree, name) == contents[name], f"{what}: the content of {name}")
        said = facts["kept"]["made_anew"]
        checks.equal(len(said), len(anew), f"{what}: {said}")
        for words in anew:
            checks.that(any(words in one for one in said), f"{what}: {words!r} in {said}")
            if len(anew) <= 3:
                checks.that(words in done.out.decode(), f"{what}: {words!r} is printed")
        checks.equal(sorted(set(os.listdir(target)) - {".omnio-replay", ".omnio-inputs", "tree"}), [], f"{what}: what is left")
        checks.equal(factsOf(outside), before, f"{what}: the canaries")
        verified = run([omnio(), "verify", path, output])
        checks.equal(verified.status, 0, f"{what}: verify: {verified}")

    gone = "gone: it was changed since it was made"
    again("the first", (), options=())
    again("the same", names, [gone])
    again("warm", names, [gone], options=("--fresh", "--cache", "warm"))
    again("repeated", names, [gone], options=("--fresh", "--repeat", "2"))
    refused = replay(os.path.join(work, "kept.json"), target, os.path.join(work, "kept.refused"),
                     "--inputs", "keep")
    checks.that(refused.status == 1 and b"--fresh removes it" in refused.err, f"not fresh: {refused}")
    again("after a refusal", names, [gone])
    again("another size", names[1:], [f"in: it had {2 * MIB} bytes, and has {MIB} now", gone],
          recipes(home, **{"in": MIB}))
    again("other data", (), ["in: it had", *(f"{name}: its content is made otherwise now"
                                             for name in ("d/deep/in", "holes", "gone"))],
          options=("--fresh", "--data", "ratio=2"))
    again("random data again", (), [f"{name}: its content" for name in (*names, "gone")])
    with open(os.path.join(tree, "in"), "r+b") as changed:
        changed.write(b"x")
    again("a byte was written", names[1:], ["in: it was changed", gone])
    os.truncate(os.path.join(tree, "holes"), MIB)
    again("one was cut", names[:2], ["holes: it was changed", gone])
    # Neither size, inode nor the time of the last write is another one.
    os.chmod(os.path.join(tree, "in"), 0o600)
    again("a mode was changed", names[1:], ["in: it was changed", gone])
    os.link(os.path.join(tree, "holes"), os.path.join(tree, "second"))
    os.unlink(os.path.join(tree, "second"))
    again("it had a second name", names[:2], ["holes: it was changed", gone])
    checkInterrupted(checks, work, home, target, again, (names, gone))
    # Links and second names lead to what is not ours.
    os.unlink(os.path.join(tree, "in"))
    os.symlink(os.path.join(outside, "canary"), os.path.join(tree, "in"))
    os.rename(os.path.join(tree, "d/deep"), os.path.join(tree, "d/moved"))
    os.symlink(os.path.join(tree, "d/moved"), os.path.join(tree, "d/deep"))
    os.link(os.path.join(tree, "holes"), os.path.join(work, "second name"))
    again("links", (), [f"{name}: it was changed" for name in (*names, "gone")])
    with open(os.path.join(work, "second name"), "rb") as second:
        checks.equal(len(second.read()), 4 * MIB, "the second name is not touched")
    # Notes that lie.
    facts = os.stat(os.path.join(outside, "canary"))
    lie = f"{'0' * 16} {facts.st_size} {facts.st_mtime_ns} {facts.st_ino} {facts.st_ctime_ns} "
    up = "../" * target.count("/") + outside.lstrip("/")
    for text in (lie + "../../kept.outside/canary", lie + up + "/canary", lie + outside + "/canary",
                 lie + "..", lie, "0" * 16, "../../x 1 1 1 1 in", lie.rsplit(" ", 2)[0] + " in", "\xff\xfe", ""):
        with open(note, "wb") as out:
            out.write(text.encode("latin-1") + b"\0")
        again(f"a note {text[:30]!r}", ())
        again("after it", names, [gone])
    os.unlink(note)
    os.symlink(os.path.join(outside, "canary"), note)
    refused = replay(os.path.join(work, "kept.json"), target, os.path.join(work, "kept.link"),
                     "--inputs", "keep", "--fresh")
    checks.that(refused.status == 1 and b"holds .omnio-inputs" in refused.err, f"a link: {refused}")
    os.unlink(note)
    os.symlink(outside, os.path.join(target, ".omnio-kept"))
    refused = replay(os.path.join(work, "kept.json"), target, os.path.join(work, "kept.link"),
                     "--inputs", "keep", "--fresh")
    checks.that(refused.status == 1 and b"holds .omnio-kept" in refused.err, f"a link: {refused}")
    os.unlink(os.path.join(target, ".omnio-kept"))
    # Without keep they go.
    again("once more", ())
    done = replay(os.path.join(work, "kept.json"), target, os.path.join(work, "kept.made"), "--fresh")
    checks.equal(done.status, 0, f"make after keep: {done}")
    checks.equal(sorted(os.listdir(target)), [".omnio-replay", "tree"], "make after keep: left")
    checks.that("kept" not in report(os.path.join(work, "kept.made")), "make after keep: the report")
    # By several processes.
    again("of several, the first", ())
    again("of several", names, [gone], options=("--fresh", "-n", "3"))
    # In a target that was adopted, files have to be made in its directories.
    shutil.rmtree(target)
    os.makedirs(os.path.join(tree, "d"))
    checks.equal(run([omnio(), "replay", "--adopt", target]).status, 0, "adopt")
    adopted = factsOf(target)
    refused = replay(os.path.join(work, "kept.json"), target, os.path.join(work, "kept.adopted"),
                     "--inputs", "keep")
    checks.that(refused.status == 1 and b"was adopted" in refused.err and refused.err.count(b"\n") == 1,
                f"adopted: {refused}")
    checks.equal(factsOf(target), adopted, "adopted: nothing is made")
    checks.equal(factsOf(outside), before, "the canaries")


def main():
    if mpirun(1) is None:
        skipTest("a replay needs MPI")
    checks = Checks()
    with WorkDirectory() as work:
        home = Home(work)
        for case in (checkCopies, checkInPlace, checkHarm, checkRefusals, checkKept):
            with checks.case(case.__name__):
                case(checks, work, home)
        with checks.case("many inputs"):
            checkManyInPlace(checks, work)
    checks.finish()


if __name__ == "__main__":
    main()
