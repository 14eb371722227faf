"""What the tests of `omnio prefetch` share: runs of it with what the helper counted, and a look at what is
left. A test has a /dev/shm of its own, so that it sees what its own runs leave and nothing else."""

import contextlib
import ctypes
import fcntl
import json
import mmap
import os
import socket
import struct
import subprocess
import sys
import time

import devices
from omnio_testing import (PATIENCE_S, endingSignalsHeld, environment, omnio, program, quietDeath, run, skipTest,
                           until)
from run_account import RINGS, inOwnMemory

BLOCK = 64 << 10
STRIDE = 128 << 10
FILE_BYTES = 64 << 20
PAGE = os.sysconf("SC_PAGESIZE")
PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs")
# For a block that does not come: it is read all the same, and counted.
BLOCK_PATIENCE_S = 20


CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS, IFF_UP = 0x8914, 1


def needOwnMemory():
    """And an own network, in which the helpers of others have no names: orders go to all that have one."""
    if not inOwnMemory() or ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        skipTest("needs root and unshare, for a /dev/shm of its own")
    with socket.socket() as any_socket:  # MPI wants the loopback device
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", IFF_UP))
    if program("c_prefetch_reader") is None:
        skipTest("the readers were not built")


def helpers():
    """The helpers that this test started: those that see its /dev/shm."""
    mine = os.readlink("/proc/self/ns/mnt")
    found = []
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdigit() and os.readlink(f"/proc/{name}/ns/mnt") == mine:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    if b"--as-helper" in file.read().split(b"\0"):
                        found.append(int(name))
    return found


def helperOf(what="a helper is there"):
    return until(helpers, what)[0]


def leftInMemory():
    return sorted(name for name in os.listdir(RINGS) if name.startswith("omnio"))


def removeLeft():
    """What is left in shared memory: {name: what is in it}."""
    left = {}
    for name in leftInMemory():
        path = os.path.join(RINGS, name)
        left[name] = sorted(os.listdir(path)) if os.path.isdir(path) else ""
        run(["rm", "-rf", path])
    return left


def leavesNothing(checks, what, directory=None):
    """No process is there, and then no file."""
    until(lambda: not helpers(), f"{what}: the helper ends")
    checks.equal(removeLeft(), {}, f"{what}: what is left in shared memory")
    if directory is not None:
        checks.equal(sorted(os.listdir(directory)), [], f"{what}: what is left in the working directory")


def words(*options):
    return [omnio(), "prefetch", *map(str, options), "--"]


def prefetched(work, command, options=(), **more):
    """Runs it: the result, and what the helper counted, None where it has told nothing."""
    said = os.path.join(work, "said.json")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(said)
    result = run(words("-q", "--json", said, *options) + list(command), **more)
    if not os.path.exists(said):
        return result, None
    with open(said, encoding="utf-8") as file:
        return result, json.load(file)


def started(command, **more):
    """A process with pipes, which the caller ends; as a context it is killed where a check went wrong."""
    with endingSignalsHeld():
        return subprocess.Popen([str(word) for word in command], env=more.pop("env", None) or environment(),
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                preexec_fn=quietDeath, **more)


def ended(process, text=b""):
    """(status, standard output, standard error) of one that was started."""
    try:
        out, err = process.communicate(text, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return process.returncode, out, err


def reader(path, requests, *options, pattern="strided1"):
    return [program("c_prefetch_reader"), pattern, path, "--requests", str(requests), "--request", str(BLOCK),
            "--stride", str(STRIDE), *map(str, options)]


def checksumOf(result):
    return json.loads(result.out)["checksum"]


def makeFile(path, size=FILE_BYTES):
    result = run([program("c_prefetch_reader"), "make", path, "--bytes", size])
    if result.status != 0:
        raise RuntimeError(f"cannot make a file to be read: {result}")
    return path


def forget(path):
    """Its pages leave the page cache."""
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def python(script, *arguments, by=sys.executable):
    return [by, os.path.join(PROGRAMS, script), *map(str, arguments)]


class Cached:
    """Which bytes of a file are in the page cache, as a mapping of it tells."""

    def __init__(self, path):
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 0)
        begin = ctypes.c_char.from_buffer(self.map)
        self.address = ctypes.addressof(begin)
        del begin  # or the mapping could not be closed
        self.mincore = ctypes.CDLL(None, use_errno=True).mincore

    def pages(self, begin, size):
        pages = -(-size // PAGE)
        found = (ctypes.c_ubyte * pages)()
        if self.mincore(ctypes.c_void_p(self.address + begin), ctypes.c_size_t(size), found) != 0:
            raise OSError(ctypes.get_errno(), "mincore")
        return sum(one & 1 for one in found)

    def has(self, begin, size=BLOCK):
        return self.pages(begin, size) == -(-size // PAGE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.map.close()  # else it could not be unmounted


class OnDemand:
    """A reader that reads when it is told to."""

    def __init__(self, path, around):
        self.process = started([*around, *python("blocks_on_demand.py", path, BLOCK)])
        self.process.stdout.readline()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def read(self, offset):
        return self.tell("%d" % offset)

    def tell(self, word):
        self.process.stdin.write(word.encode() + b"\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def end(self):
        return ended(self.process)


def readInTime(checks, what, work, path):
    """Each block is read when it was fetched, from the first one on that was: a busy machine changes
    nothing."""
    count, first = 300, 40
    size = count * STRIDE + BLOCK
    makeFile(path, size)
    forget(path)
    said = os.path.join(work, "said.json")
    late = 0
    with Cached(path) as cached, OnDemand(path, words("-q", "--json", said)) as on_demand:
        for number in range(1, count + 1):
            deadline = time.monotonic() + BLOCK_PATIENCE_S
            while number > first and not cached.has(number * STRIDE) and time.monotonic() < deadline:
                time.sleep(0.0005)
            late += number > first and not cached.has(number * STRIDE)
            on_demand.read(number * STRIDE)
        checks.equal(on_demand.end(), (0, b"", b""), f"{what}: status, output")
    with open(said, encoding="utf-8") as file:
        counts = json.load(file)
    wanted = (count - first) * BLOCK
    checks.equal(late, 0, f"{what}: blocks that never came")
    checks.that(counts["used_bytes"] >= 0.9 * wanted, f"{what}: of {wanted} bytes used: {counts}")
    checks.that(counts["wasted_bytes"] <= 0.05 * wanted, f"{what}: wasted: {counts}")
    checks.equal(counts["prefetched_bytes"], counts["used_bytes"] + counts["wasted_bytes"],
                 f"{what}: used or wasted")
    checks.equal((counts["processes"], counts["events_lost"], counts["left_alone"]), (1, 0, []), f"{what}: rest")
    print(f"{what}: {counts['text']}")


@contextlib.contextmanager
def localDisk(work, name="local", megabytes=256):
    """A file system of its own, whose pages no other node changes."""
    image, path = os.path.join(work, f"{name}.image"), os.path.join(work, name)
    with open(image, "wb") as file:
        file.truncate(megabytes << 20)
    devices.must("mkfs.ext4", "-q", "-F", image)
    os.makedirs(path, exist_ok=True)
    devices.must("mount", "-o", "loop", image, path)
    try:
        yield path
    finally:
        until(lambda: not os.path.ismount(path) or run(["umount", path]).status == 0, f"{path} is unmounted")
        os.unlink(image)
