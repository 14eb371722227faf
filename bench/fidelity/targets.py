"""The storage targets of the campaign. Each is a context manager: inside, `path` is a directory on
the target, and fresh() empties it and brings the caches to the state of a new mount. Leaving it
unmounts, ends the processes that it started and removes what it made, also after an interruption.

To add a target, write a class with __enter__, __exit__ and fresh(), and a row of TARGETS.
"""

import contextlib
import os
import shutil
import time

from devices import NotHere, must
from omnio_testing import emptied, program, run
from slow_storage import SlowStorage

ROOM_MIB = 2048  # of the targets that are in memory
GROUPS = "/sys/fs/cgroup"  # control groups version 1
BLKIO = os.path.join(GROUPS, "blkio")


class Target:
    """What all targets share: a directory for their parts, and undoing each step in turn."""

    def __init__(self, work, name):
        self.name = name
        self.work = os.path.join(work, name)
        self.path = os.path.join(self.work, "mount")
        self._undo = contextlib.ExitStack()

    def __enter__(self):
        os.makedirs(self.path, exist_ok=True)
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self._undo.close()
        # Only where nothing is mounted any more: what is there is not ours to remove.
        if not any(os.path.ismount(os.path.join(self.work, name)) for name in
                   (os.listdir(self.work) if os.path.isdir(self.work) else ())):
            shutil.rmtree(self.work, ignore_errors=True)

    def undoLater(self, function, *arguments):
        self._undo.callback(function, *arguments)

    def start(self):
        raise NotImplementedError

    def fresh(self):
        raise NotImplementedError


def mustRun(*command):
    """A step that can go wrong only where the machine cannot do it, or a part is missing."""
    must(*command)


def unmount(path):
    """All that is mounted at `path`. A process that was just told to end may have a file open for a
    while; after that it loses its mount."""
    deadline = time.monotonic() + 20
    while os.path.ismount(path):
        if run(["umount", path]).status == 0:
            continue
        if time.monotonic() > deadline and run(["umount", "-l", path]).status != 0:
            break
        time.sleep(0.1)


class Memory(Target):
    """A tmpfs: the fastest there is."""

    def start(self):
        self.undoLater(unmount, self.path)
        self.fresh()

    def fresh(self):
        unmount(self.path)
        mustRun("mount", "-t", "tmpfs", "-o", f"size={ROOM_MIB}m", "none", self.path)


class Slow(Target):
    """tests/support/slowfs above a tmpfs, with the options given. The kernel caches nothing of it."""

    def __init__(self, work, name, *options):
        super().__init__(work, name)
        self._options = [*options, "--real-time"]
        self._storage = None

    def start(self):
        if program("slowfs") is None:
            raise NotHere("slowfs was not built: libfuse3 was missing")
        if not os.access("/dev/fuse", os.R_OK | os.W_OK):
            raise NotHere("/dev/fuse is missing or cannot be opened")
        self.undoLater(self._stop)
        self.fresh()

    def fresh(self):
        self._stop()
        storage = SlowStorage(self.work, *self._options, name="slow")
        self._storage = storage  # before it is mounted, so that an interruption finds it
        storage.__enter__()
        self.path = storage.path

    def _stop(self):
        if self._storage is not None:
            self._storage.__exit__()
        self._storage = None


class Loop(Target):
    """A file system on a loop device of its own, whose file is in memory. A rule of blkio (control
    groups version 1) for this device, and no other, makes it slow."""

    def __init__(self, work, name, system, rules):
        super().__init__(work, name)
        self._make = {"ext4": ["mkfs.ext4", "-q", "-F", "-E",
                               "lazy_itable_init=0,lazy_journal_init=0"],
                      "xfs": ["mkfs.xfs", "-q", "-f"]}[system]
        self._rules = rules
        self._device = None

    def start(self):
        if not os.path.exists(os.path.join(BLKIO, "blkio.throttle.write_bps_device")):
            raise NotHere(f"{BLKIO} has no throttling (control groups version 1)")
        if shutil.which(self._make[0]) is None:
            raise NotHere(f"{self._make[0]} is not installed")
        room = os.path.join(self.work, "room")
        os.makedirs(room, exist_ok=True)
        self.undoLater(unmount, room)
        mustRun("mount", "-t", "tmpfs", "-o", f"size={ROOM_MIB + 64}m", "none", room)
        image = os.path.join(room, "image")
        with open(image, "wb") as file:
            file.truncate(ROOM_MIB << 20)
        attached = run(["losetup", "--find", "--show", image])
        if attached.status != 0:
            raise NotHere(f"losetup: {attached.err.decode().strip()}")
        self._device = attached.out.decode().strip()
        self.undoLater(self._detach)
        self.fresh()

    def fresh(self):
        self._throttle(False)  # writing the rest and making a file system are not what is measured
        unmount(self.path)
        # Whoever has a copy of the mounts for a while (`ip netns exec`) keeps the device in use.
        deadline = time.monotonic() + 60
        while run([*self._make, self._device]).status != 0 and time.monotonic() < deadline:
            time.sleep(0.2)
        if time.monotonic() >= deadline:
            mustRun(*self._make, self._device)
        mustRun("mount", self._device, self.path)
        self._throttle(True)

    def _detach(self):
        self._throttle(False)
        unmount(self.path)
        run(["losetup", "--detach", self._device])

    def _throttle(self, on):
        number = os.stat(self._device).st_rdev
        for rule, value in self._rules.items():
            for group in throttledGroups():
                path = os.path.join(group, f"blkio.throttle.{rule}_device")
                with open(path, "w", encoding="ascii") as file:
                    file.write(f"{os.major(number)}:{os.minor(number)} {value if on else 0}\n")


def ownGroup(controller):
    """The control group (version 1) of this process, where it is another one than the root group, or
    None."""
    with open("/proc/self/cgroup", encoding="ascii") as file:
        for line in file:
            _, controllers, path = line.rstrip("\n").split(":", 2)
            own = os.path.join(GROUPS, controller, path.lstrip("/"))
            if controller in controllers.split(",") and path != "/" and os.path.isdir(own):
                return own
    return None


def throttledGroups():
    """The root group, in whose name the kernel writes back, and that of this process, where it is
    another one."""
    own = ownGroup("blkio")
    return [BLKIO] + ([own] if own else [])


class Gluster(Target):
    """A distributed GlusterFS volume of two bricks. Its daemon, bricks and client are in a network
    namespace whose `lo` has an address that GlusterFS takes for a host's; the mount is for all.

    They have one processor, and few threads, which leaves the others to the ranks. On two processors
    that all shared, four programs varied by 7 to 18 %. Here seven of ten vary by 2 to 4 %, and three
    by 15 to 20 %."""

    ADDRESS = "10.77.0.1"
    WAIT_S = 60
    OPTIONS = ("client.event-threads 1", "server.event-threads 1", "performance.io-thread-count 1",
               "performance.client-io-threads off")

    def __init__(self, work, name):
        super().__init__(work, name)
        self._space = f"omnio-{name}-{os.getpid()}"
        self._volume = f"omnio{os.getpid()}"

    def _inside(self, *command):
        processor = str(max(os.sched_getaffinity(0)))
        return ["taskset", "-c", processor, "nsenter", f"--net=/run/netns/{self._space}", *command]

    def _gluster(self, *words):
        return run(self._inside("gluster", f"--glusterd-sock={self.work}/daemon.socket",
                                "--mode=script", "volume", *words))

    def start(self):
        for name in ("glusterd", "gluster", "glusterfs", "ip", "nsenter", "taskset"):
            if shutil.which(name) is None:
                raise NotHere(f"{name} is not installed")
        mustRun("ip", "netns", "add", self._space)
        self.undoLater(run, ["ip", "netns", "del", self._space])
        mustRun("ip", "-n", self._space, "addr", "add", f"{self.ADDRESS}/32", "dev", "lo")
        mustRun("ip", "-n", self._space, "link", "set", "lo", "up")
        room = os.path.join(self.work, "room")
        os.makedirs(room, exist_ok=True)
        self.undoLater(unmount, room)
        mustRun("mount", "-t", "tmpfs", "-o", f"size={ROOM_MIB}m", "none", room)
        self.undoLater(self._endProcesses)
        self._startDaemon()
        bricks = [f"{self.ADDRESS}:{emptied(os.path.join(room, brick))}"
                  for brick in ("one", "two")]
        self._until("create", self._volume, *bricks, "force")
        for option in self.OPTIONS:
            self._until("set", self._volume, *option.split())
        self._until("start", self._volume)
        self.undoLater(unmount, self.path)
        self._mount()

    def _startDaemon(self):
        for name in ("state", "run", "log"):
            emptied(os.path.join(self.work, name))
        settings = os.path.join(self.work, "glusterd.vol")
        with open(settings, "w", encoding="utf-8") as file:
            file.write("volume management\n    type mgmt/glusterd\n"
                       f"    option working-directory {self.work}/state\n"
                       f"    option run-directory {self.work}/run\n"
                       f"    option glusterd-sockfile {self.work}/daemon.socket\n"
                       "    option transport-type socket\n"
                       "    option transport.address-family inet\nend-volume\n")
        mustRun(*self._inside("glusterd", "-f", settings, "-p", f"{self.work}/daemon.pid",
                              "-l", f"{self.work}/log/daemon.log"))

    def _until(self, *words):
        """The daemon takes a while to answer."""
        deadline = time.monotonic() + self.WAIT_S
        while (done := self._gluster(*words)).status != 0:
            if time.monotonic() > deadline:
                raise NotHere(f"gluster volume {words[0]}: {(done.err or done.out).decode().strip()}")
            time.sleep(0.2)

    def _mount(self):
        deadline = time.monotonic() + self.WAIT_S
        while True:
            mustRun(*self._inside("glusterfs", f"--volfile-server={self.ADDRESS}",
                                  f"--volfile-id={self._volume}", "-l",
                                  f"{self.work}/log/client.log", self.path))
            if os.path.ismount(self.path) and run(["stat", "-f", self.path]).status == 0:
                return
            unmount(self.path)
            if time.monotonic() > deadline:
                raise NotHere(f"the volume cannot be mounted; see {self.work}/log/client.log")
            time.sleep(0.2)

    def fresh(self):
        """Empties the volume and mounts it again. The bricks keep what they have cached."""
        for name in os.listdir(self.path):
            shutil.rmtree(os.path.join(self.path, name))
        unmount(self.path)
        self._mount()

    def _processes(self):
        return run(["ip", "netns", "pids", self._space]).out.split()

    def _endProcesses(self):
        """Those in the namespace, which are all of this volume: first politely."""
        for signal, wait_s in (("-TERM", 5), ("-KILL", 5)):
            processes = self._processes()
            if processes:
                run(["kill", signal, *[pid.decode() for pid in processes]])
            deadline = time.monotonic() + wait_s
            while self._processes() and time.monotonic() < deadline:
                time.sleep(0.05)


def us(read, write, metadata, sync):
    return ("--read-us", read, "--write-us", write, "--metadata-us", metadata, "--sync-us", sync)


# Name -> (description, maker). The order is that of the tables.
TARGETS = {
    "tmpfs": ("memory", Memory),
    "quick": ("slowfs: each call 0.2 ms",
              lambda work, name: Slow(work, name, *us(200, 200, 200, 200))),
    "even": ("slowfs: each call 1 ms",
             lambda work, name: Slow(work, name, *us(1000, 1000, 1000, 1000))),
    "slow": ("slowfs: a write or sync 4 ms, a read 1 ms, other calls 2.5 ms",
             lambda work, name: Slow(work, name, *us(1000, 4000, 2500, 4000))),
    "shared": ("slowfs: 100 MiB/s for all together, each call 0.1 ms",
               lambda work, name: Slow(work, name, *us(100, 100, 100, 100), "--bandwidth", 100)),
    # The rules let a tenth of a second's worth pass at once, so rates are low enough for that to
    # matter little.
    "ext4": ("ext4 on a loop device with 200 reads, 200 writes and 30 MiB each way a second",
             lambda work, name: Loop(work, name, "ext4", {
                 "read_bps": 30 << 20, "write_bps": 30 << 20, "read_iops": 200,
                 "write_iops": 200})),
    "xfs": ("xfs on a loop device with 400 reads, 400 writes and 80 MiB each way a second",
            lambda work, name: Loop(work, name, "xfs", {
                "read_bps": 80 << 20, "write_bps": 80 << 20, "read_iops": 400,
                "write_iops": 400})),
    "gluster": ("GlusterFS: a distributed volume of two bricks in memory", Gluster),
}


class Pool:
    """The targets in use. Each is set up when it is first wanted, and taken down in the end."""

    def __init__(self, work):
        self._work = work
        self._up = {}
        self._stack = contextlib.ExitStack()
        self.missing = {}  # name -> the reason

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stack.close()

    def get(self, name):
        """The target, or None where this machine cannot have it; `missing` says why."""
        if name not in self._up and name not in self.missing:
            try:
                target = TARGETS[name][1](self._work, name)
                # Before it is set up, so that an interruption at any moment takes it down.
                self._stack.push(target)
                self._up[name] = target.__enter__()
            except NotHere as reason:
                self.missing[name] = str(reason)
        return self._up.get(name)
