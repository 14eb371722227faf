"""Small file systems for a trace to be written to, and ways for them to fail while it is."""

import contextlib
import fcntl
import functools
import os
import shutil
import struct

from omnio_testing import run, skipTest

# _IOR('X', 125, __u32), from the kernel's headers of xfs and ext4: the file system stops as if its
# device had gone, and each call on it gives EIO.
GOING_DOWN = 0x8004587D
WITHOUT_LOG_FLUSH = 2


class NotHere(Exception):
    """This machine cannot make such a device; the case is skipped, with this reason."""


def runOrSkip(main):
    """Runs a test; where the machine lacks a device that it needs, the test is skipped."""
    try:
        main()
    except NotHere as missing:
        skipTest(missing)


def orSkipped(case):
    """A case for runCases() that is skipped where this machine cannot make its devices."""
    @functools.wraps(case)
    def skippable(checks, work):
        try:
            case(checks, work)
        except NotHere as missing:
            checks.skip(case.__name__, missing)
    return skippable


def must(*command):
    if shutil.which(command[0]) is None:
        raise NotHere(f"{command[0]} is not installed")
    result = run(command)
    if result.status != 0:
        reason = result.err.decode(errors="replace").strip().splitlines()
        raise NotHere(f"{' '.join(map(str, command))}: {reason[-1:]}")


class Device:
    """A mounted file system of its own; `refresh` mounts it again for reading what is on it."""

    def __init__(self, mount_point, mount):
        self.path = os.path.join(mount_point, "trace")
        self.mount_point = mount_point
        self._mount = mount

    def available(self):
        state = os.statvfs(self.mount_point)
        return state.f_bfree * state.f_frsize  # with what is reserved for root, who runs this

    def fillUp(self, leave):
        """Another process uses the device: less than `leave` bytes stay free."""
        with open(os.path.join(self.mount_point, "somebody-else"), "ab") as file:
            with contextlib.suppress(OSError):
                while self.available() > leave:
                    file.write(bytes(min(1 << 20, max(1024, self.available() - leave))))
                    file.flush()

    def shutDown(self):
        """What was written before is on the device, what is in memory is lost."""
        must("sync", "-f", self.mount_point)
        folder = os.open(self.mount_point, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(folder, GOING_DOWN, struct.pack("=I", WITHOUT_LOG_FLUSH))
        finally:
            os.close(folder)

    def becomeReadOnly(self):
        """As ext4 does by itself when it finds damage; an ordinary remount is refused while the
        log is open for writing."""
        source = next(line.split()[0] for line in open("/proc/self/mounts", encoding="utf-8")
                      if line.split()[1] == self.mount_point)
        trigger = f"/sys/fs/ext4/{os.path.basename(source)}/trigger_fs_error"
        if not os.path.exists(trigger):
            raise NotHere(f"no {trigger}")
        # Directories that were never written could not be read any more once their pages are gone.
        must("sync", "-f", self.mount_point)
        with open(trigger, "w", encoding="ascii") as file:
            file.write("a test of a file system that turns read-only\n")

    def unmountLazily(self):
        must("umount", "-l", self.mount_point)

    def refresh(self):
        run(["umount", "-l", self.mount_point])
        must(*self._mount)


@contextlib.contextmanager
def _mounted(work, name, command):
    mount_point = os.path.join(work, f"{name}.mount")
    os.makedirs(mount_point, exist_ok=True)
    mount = [*command, mount_point]
    must(*mount)
    try:
        yield Device(mount_point, mount)
    finally:
        while run(["umount", "-l", mount_point]).status == 0:
            pass


def _image(work, name, mebibytes):
    path = os.path.join(work, f"{name}.image")
    with open(path, "wb") as file:
        file.truncate(mebibytes << 20)
    return path


def ext4(work, name, mebibytes=4):
    """Blocks of 1 KiB, four to a page: a mapped page may lack some even after fallocate."""
    image = _image(work, name, mebibytes)
    must("mkfs.ext4", "-q", "-F", "-b", "1024", image)
    return _mounted(work, name, ["mount", "-o", "loop,errors=remount-ro", image])


def xfs(work, name):
    """The smallest that mkfs.xfs makes, so that a test has to fill it up first."""
    image = _image(work, name, 300)
    must("mkfs.xfs", "-q", "-f", image)
    return _mounted(work, name, ["mount", "-o", "loop", image])


def roomyExt4(work, name):
    """Holds the whole log, so that what happens in the middle is the first thing to happen."""
    return ext4(work, name, 128)


def tmpfs(work, name, mebibytes=2):
    return _mounted(work, name, ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "none"])
