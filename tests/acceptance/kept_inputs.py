"""`omnio replay --inputs keep`, where replays are killed, and where file systems lie in the way: the next replay
has all inputs with the right bytes, and nothing is left beside the tree.
"""

import os
import shutil

import devices
from hostile_schedules import factsOf
from omnio_testing import Checks, WorkDirectory, emptied, environment, mpirun, omnio, run, skipTest
from replay_testing import MPI_ENVIRONMENT, closed, file, replay, report, schedule, write
from several_targets import found, read

FILES = [f"d{number % 3}/in.{number}" for number in range(12)]


def makeSchedule(work):
    files = [file(name, "input", True, 20000 + number) for number, name in enumerate(FILES)]
    reads = [event for number in range(len(FILES))
             for event in (found(FILES[number], number), read(number, 20000 + number), closed(number))]
    return write(os.path.join(work, "kept.json"), schedule(files, [reads]))


def inputsIn(tree):
    """The inode and content of each."""
    inputs = {}
    for name in FILES:
        with open(os.path.join(tree, name), "rb") as content:
            inputs[name] = (os.fstat(content.fileno()).st_ino, content.read())
    return inputs


class Target:
    """A target with inputs that were kept, and replays in it."""

    def __init__(self, work, name):
        self.work, self.path = work, os.path.join(work, name)
        self.tree = os.path.join(self.path, "tree")
        self.schedule = makeSchedule(work)
        self.output = os.path.join(work, f"{name}.replay")

    def replay(self, *options):
        shutil.rmtree(self.output, ignore_errors=True)
        return replay(self.schedule, self.path, self.output, "--no-trace", *options)

    def checkAgain(self, checks, what, before, at_least):
        """Returns how many inputs the next replay has kept."""
        done = self.replay("--inputs", "keep", "--fresh")
        if not checks.equal(done.status, 0, f"{what}: the next replay: {done}"):
            return None
        now = inputsIn(self.tree)
        for name in FILES:
            checks.that(now[name][1] == before[name][1], f"{what}: the bytes of {name}")
        facts = report(self.output)["kept"]
        kept = sum(now[name][0] == before[name][0] for name in FILES)
        checks.that(facts["files"] >= at_least, f"{what}: {facts}, and {at_least} at least")
        # A new file may have the inode of one that was removed.
        checks.that(kept >= facts["files"], f"{what}: {kept} have their inodes, {facts}")
        checks.equal(facts["files"] + len(facts["made_anew"]), len(FILES), f"{what}: {facts}")
        checks.equal(sorted(os.listdir(self.path)), [".omnio-inputs", ".omnio-replay", "tree"],
                     f"{what}: what is left")
        return facts["files"]


# System calls that make, move and remove files: each process that makes that many of them is killed
# with the last one. The program omnio moves the old tree, the first rank of the replay its inputs.
KILLS = [("renameat2", number) for number in (1, 2, 3, 7, 12)] + [
    ("unlinkat", 1), ("unlinkat", 3), ("mkdirat", 1), ("mkdirat", 3), ("pwrite64", 2), ("rename", 1)]


def checkKilled(checks, work):
    devices.must("strace", "-V")
    target = Target(work, "killed")
    done = target.replay("--inputs", "keep")
    checks.equal(done.status, 0, f"the first: {done}")
    command = [omnio(), "replay", target.schedule, "--target", target.path, "-o", target.output,
               "--inputs", "keep", "--fresh", "--no-trace"]
    killed = in_between = 0
    for call, number in KILLS:
        what = f"killed with {call} {number}"
        before = inputsIn(target.tree)
        shutil.rmtree(target.output, ignore_errors=True)
        ended = run(["strace", "-f", "-qq", "-o", os.path.join(work, "calls"), "-e", f"trace={call}",
                     "-e", f"inject={call}:signal=KILL:when={number}", *command],
                    env=environment(**MPI_ENVIRONMENT))
        killed += ended.status != 0
        in_between += os.path.exists(os.path.join(target.path, ".omnio-kept"))
        print(f"{what}: status {ended.status}, {sorted(os.listdir(target.path))}")
        target.checkAgain(checks, what, before, len(FILES) - 1)
    checks.that(killed >= len(KILLS) // 2, f"{killed} replays were killed")
    checks.that(in_between >= 3, f"{in_between} while inputs were moved")
    # A replay that keeps nothing leaves nothing of a killed one.
    os.mkdir(os.path.join(target.path, ".omnio-kept"))
    os.rename(target.tree, os.path.join(target.path, ".omnio-kept", "1"))
    done = target.replay()
    checks.equal(done.status, 0, f"make after a kill: {done}")
    checks.equal(sorted(os.listdir(target.path)), [".omnio-replay", "tree"], "make after a kill: left")


def checkMounts(checks, work):
    """A tree with a mount in it cannot be removed, and a rename does not lead out of a mount: such trees are
    refused before anything is changed."""
    target = Target(work, "mounts")
    done = target.replay("--inputs", "keep")
    checks.equal(done.status, 0, f"the first: {done}")
    before = inputsIn(target.tree)
    outside = emptied(os.path.join(work, "mounts.outside"))
    write(os.path.join(outside, "canary"), "precious")
    inside = os.path.join(target.tree, "d1")
    # The second is the same file system as the one around it.
    for what, mount in (("another file system", ["mount", "-t", "tmpfs", "-o", "size=1m", "none"]),
                        ("the same file system", ["mount", "--bind", outside])):
        for where in (inside, target.tree):
            devices.must(*mount, where)
            try:
                canary = write(os.path.join(where, "canary"), "precious")
                facts = factsOf(target.path)
                for options in (("--inputs", "keep"), ()):
                    refused = target.replay("--fresh", *options)
                    lines = refused.err.decode().splitlines()
                    print(f"{what}, {options}: {lines}")
                    checks.equal(refused.status, 1, f"{what}: {refused}")
                    checks.that(len(lines) == 1 and f"{where} is on another file system" in lines[0],
                                f"{what}: {lines}")
                    checks.that(factsOf(target.path) == facts, f"{what}: nothing is changed")
                    checks.that(os.path.exists(canary), f"{what}: its file")
            finally:
                devices.must("umount", where)
    checks.equal(target.checkAgain(checks, "unmounted", before, len(FILES)), len(FILES), "unmounted: all")


def checkProjects(checks, work):
    """Where directories hand down another project id than before, no rename leads into them, though all is one
    file system. A replay says so before it changes anything, and how to go on."""
    with devices.xfs(work, "projects") as disk:
        target = Target(disk.mount_point, "run")
        checks.equal(target.replay("--inputs", "keep").status, 0, "the first")
        devices.must("chattr", "+P", "-p", "7", target.path)
        before = (factsOf(target.tree), sorted(os.listdir(target.path)))
        refused = target.replay("--inputs", "keep", "--fresh")
        lines = refused.err.decode().splitlines()
        print(f"project ids: {lines}")
        checks.equal(refused.status, 1, f"project ids: {refused}")
        checks.that(len(lines) == 1 and lines[0].endswith(
            ": Invalid cross-device link; replay once with --inputs make"), f"project ids: {lines}")
        checks.that((factsOf(target.tree), sorted(os.listdir(target.path))) == before,
                    "project ids: nothing is changed")
        checks.equal(target.replay("--inputs", "make", "--fresh").status, 0, "make")
        checks.equal(target.replay("--inputs", "keep", "--fresh").status, 0, "keep after make")
        target.checkAgain(checks, "project ids", inputsIn(target.tree), len(FILES))


def main():
    if mpirun(1) is None:
        skipTest("a replay needs MPI")
    checks = Checks()
    with WorkDirectory() as work:
        for name, case in (("kills", checkKilled), ("mounts", checkMounts), ("project ids", checkProjects)):
            with checks.case(name):
                try:
                    case(checks, work)
                except devices.NotHere as missing:
                    checks.skip(name, missing)
    checks.finish()


if __name__ == "__main__":
    main()
