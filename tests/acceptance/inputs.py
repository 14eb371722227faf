"""`omnio replay --inputs`: files that existed before the run are copied from their recorded paths, or are
made up. The sources keep inode, times and content; what cannot be copied is refused before anything is
made.
"""

import os

from hostile_schedules import factsOf
from omnio_testing import Checks, WorkDirectory, emptied, mpirun, omnio, run, skipTest
from replay_testing import closed, file, opened, replay, report, schedule, write
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
    for how in ("copy",):
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


def main():
    if mpirun(1) is None:
        skipTest("a replay needs MPI")
    checks = Checks()
    with WorkDirectory() as work:
        home = Home(work)
        for case in (checkCopies, checkRefusals):
            with checks.case(case.__name__):
                case(checks, work, home)
    checks.finish()


if __name__ == "__main__":
    main()
