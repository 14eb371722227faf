"""cp shares blocks where the file system can (FICLONE), and copies elsewhere. The trace has either, and a
replay leaves the same files whatever its target can do.
"""

import filecmp
import os

import devices
from omnio_testing import Checks, WorkDirectory, emptied, mpirun, needRoot, omnio, readLog, run, skipTest, trace
from replay_testing import replay, report

BYTES = 300001  # no whole blocks


def recorded(checks, work, name, place):
    """A schedule of cp in that directory, and the events by which it cloned."""
    home, directory = emptied(os.path.join(place, "home")), os.path.join(work, name + "-trace")
    with open(os.path.join(home, "source"), "wb") as file:
        file.write(os.urandom(BYTES))
    done = trace(directory, ["cp", "source", "copy"], cwd=home)
    checks.equal(done.status, 0, f"{name}: {done.err!r}")
    checks.that(filecmp.cmp(os.path.join(home, "source"), os.path.join(home, "copy"), False), f"{name}: cp copies")
    schedule = os.path.join(work, name + ".json")
    made = run([omnio(), "preprocess", directory, "-o", schedule, "--timing", "asap"])
    checks.equal(made.status, 0, f"{name}: preprocess: {made}")
    return schedule, [event for event in readLog(directory) if event["call"] == "(clone_range)"]


def checkReplay(checks, work, name, schedule, place, substitutes):
    target, output = os.path.join(place, name + "-target"), os.path.join(work, name + "-replayed")
    done = replay(schedule, target, output)
    if not checks.equal(done.status, 0, f"{name}: {done}"):
        return
    checks.equal(sum(report(output)["substitutes"].values()), substitutes, f"{name}: substitutes")
    source, copy = (os.path.join(target, "tree", file) for file in ("source", "copy"))
    checks.equal(os.path.getsize(copy), BYTES, f"{name}: size")
    if name.startswith("shared"):
        checks.that(filecmp.cmp(source, copy, False), f"{name}: the copy has the source's bytes")
    verified = run([omnio(), "verify", schedule, output])
    checks.equal(verified.status, 0, f"{name}: verify: {verified.out.decode()}")


def main():
    needRoot()
    if mpirun(1) is None:
        skipTest("there is no MPI")
    checks = Checks()
    with WorkDirectory() as work:
        with devices.xfs(work, "sharing") as sharing, devices.ext4(work, "plain", 64) as plain:
            schedule, clones = recorded(checks, work, "shared", sharing.mount_point)
            if not clones or "errno" in clones[0]:
                skipTest("cp does not clone here, or xfs cannot")
            checks.equal([(event["result"], event["args"]["offset"]) for event in clones], [(BYTES, 0)],
                         "shared: one clone of all bytes")
            checkReplay(checks, work, "shared-again", schedule, sharing.mount_point, 0)
            checkReplay(checks, work, "shared-copied", schedule, plain.mount_point, 1)
            schedule, clones = recorded(checks, work, "copied", plain.mount_point)
            checks.that(clones and all("errno" in event for event in clones), f"copied: {clones}")
            checkReplay(checks, work, "copied-again", schedule, plain.mount_point, 0)
            checkReplay(checks, work, "copied-then-cloned", schedule, sharing.mount_point, len(clones))
    checks.finish()


if __name__ == "__main__":
    devices.runOrSkip(main)
