"""`omnio prefetch` on GlusterFS, for function and not for time: a volume of two bricks on this node. What is wanted
is fetched; a mount that keeps no pages is found, said, and nothing more is fetched from it.

A process namespace of its own ends the daemons with the test.

  prefetch_gluster.py [CASE...]    all cases by default
"""

import contextlib
import os
import shutil
import sys

import devices
from omnio_testing import needRoot, run, runCases, skipTest, until
from prefetch_testing import (checksumOf, forget, leavesNothing, makeFile, needOwnMemory, prefetched, readInTime,
                              reader)

APART = "OMNIO_TEST_APART"
ADDRESS = "10.77.0.1"  # GlusterFS takes no brick of the loopback address
ITS_OWN = ("/var/lib/glusterd", "/var/log/glusterfs", "/run/gluster")
BRICK_MIB = 384


def beApart():
    """Starts the test again in a process namespace, whose processes end with it."""
    if os.environ.get(APART) == "yes":
        return
    around = ["unshare", "-m", "-p", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"]
    if run([*around, "true"]).status != 0:
        skipTest("needs namespaces of its own")
    sys.stdout.flush()
    os.environ[APART] = "yes"
    os.execvp(around[0], [*around, sys.executable, *sys.argv])


@contextlib.contextmanager
def brick(work, number):
    image, path = os.path.join(work, f"brick{number}.image"), os.path.join(work, f"brick{number}")
    with open(image, "wb") as file:
        file.truncate(BRICK_MIB << 20)
    devices.must("mkfs.ext4", "-q", "-F", image)
    os.mkdir(path)
    devices.must("mount", "-o", "loop", image, path)
    try:
        yield f"{ADDRESS}:{path}/data"
    finally:
        until(lambda: run(["umount", path]).status == 0, f"{path} is unmounted")


@contextlib.contextmanager
def volume(work):
    """The name that it is mounted by."""
    for directory in ITS_OWN:
        os.makedirs(directory, exist_ok=True)
        devices.must("mount", "-t", "tmpfs", "none", directory)
    devices.must("ip", "address", "add", f"{ADDRESS}/32", "dev", "lo")
    pid_file = os.path.join(work, "glusterd.pid")
    with brick(work, 1) as one, brick(work, 2) as two:
        devices.must("glusterd", f"--pid-file={pid_file}")
        try:
            until(lambda: run(["gluster", "--mode=script", "pool", "list"]).status == 0, "glusterd answers")
            devices.must("gluster", "--mode=script", "volume", "create", "data", one, two)
            devices.must("gluster", "--mode=script", "volume", "start", "data")
            yield f"{ADDRESS}:/data"
        finally:
            run(["gluster", "--mode=script", "volume", "stop", "data", "force"])
            with open(pid_file, encoding="ascii") as file:
                run(["kill", file.read().strip()])


@contextlib.contextmanager
def mounted(work, name, *options):
    path = os.path.join(work, "mount")
    os.makedirs(path, exist_ok=True)
    devices.must("mount", "-t", "glusterfs", *(word for option in options for word in ("-o", option)), name, path)
    try:
        yield path
    finally:
        until(lambda: run(["umount", path]).status == 0, f"{path} is unmounted")


def gluster(checks, work):
    try:
        with volume(work) as name:
            onVolume(checks, work, name)
    except devices.NotHere as why:
        checks.skip("gluster", why)


def onVolume(checks, work, name):
    command = reader(os.path.join(work, "mount", "data"), 200, "--compute-us", 500)

    def check(what):
        forget(command[2])
        result, counts = prefetched(work, command)
        checks.equal((result.status, result.err, checksumOf(result)), (0, b"", checksum),
                     f"{what}: status, standard error, checksum")
        print(f"{what}: {counts['text']}")
        return counts

    with mounted(work, name) as path:
        makeFile(command[2])
        checksum = checksumOf(run(command))
        checks.equal(check("usual mount")["left_alone"], [], "usual mount: what is said")
        readInTime(checks, "usual mount, in time", work, os.path.join(path, "other"))
        leavesNothing(checks, "usual mount")
    with mounted(work, name, "direct-io-mode=enable") as path:
        checks.equal(check("direct I/O")["left_alone"],
                     [f"nothing was fetched from {path} fuse.glusterfs {name}, since it keeps no pages of what is read"],
                     "direct I/O: what is said")
        leavesNothing(checks, "direct I/O")


def main():
    needRoot()
    missing = [name for name in ("glusterd", "gluster", "mount.glusterfs", "ip") if shutil.which(name) is None]
    if missing:
        skipTest(f"no GlusterFS here: {', '.join(missing)}")
    beApart()
    needOwnMemory()
    runCases(gluster, needs_mpi=False)


if __name__ == "__main__":
    main()
