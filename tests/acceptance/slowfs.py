"""The slow file system of the other tests (tests/support/slowfs) does what they take for granted:
latencies, bandwidth, turns and planned errors are as asked, files are those of the backing
directory, and its counts are those of the programs.

A busy machine makes calls longer, so a call's time has a lower limit alone: the rest is in what
slowfs plans for each request, and in the requests that it holds at the same time.

  slowfs.py [CASE...]    all cases by default
"""

import contextlib
import errno
import fcntl
import mmap
import os
import random
import re
import shutil
import socket
import stat
import statistics
import subprocess
import sys
import threading
import time

import devices
from omnio_testing import (Checks, WorkDirectory, differences, emptied, program, run, treeOf,
                           until)
from slow_storage import SlowStorage, needSlowStorage

MIB = 1 << 20
OTHER_USER = 65534


def timesOf(call, repeats):
    """In microseconds."""
    result = []
    for _ in range(repeats):
        begin = time.monotonic_ns()
        call()
        result.append((time.monotonic_ns() - begin) / 1000)
    return result


@contextlib.contextmanager
def opened(path, flags=os.O_RDWR | os.O_CREAT):
    file = os.open(path, flags, 0o644)
    try:
        yield file
    finally:
        os.close(file)


def atOnce(*calls):
    """The time of all calls, each on a thread of its own, in seconds."""
    threads = [threading.Thread(target=call) for call in calls]
    begin = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.monotonic() - begin


def errorOf(call, *arguments, **more):
    """The name of the error that a call gives, or 'none'."""
    try:
        call(*arguments, **more)
    except OSError as problem:
        return errno.errorcode[problem.errno]
    return "none"


def latencies(checks, work, more=()):
    asked = {"metadata": 500.5, "read": 2000, "write": 8000, "sync": 32000}
    kinds = {"metadata": "GETATTR", "read": "READ", "write": "WRITE", "sync": "FSYNC"}
    options = [word for name, value in asked.items() for word in (f"--{name}-us", value)]
    with SlowStorage(work, *options, *more) as slow:
        with opened(os.path.join(slow.path, "file")) as file:
            os.pwrite(file, b"x" * 4096, 0)
            calls = {"metadata": lambda: os.fstat(file), "read": lambda: os.pread(file, 4096, 0),
                     "write": lambda: os.pwrite(file, b"y" * 4096, 0),
                     "sync": lambda: os.fsync(file)}
            times = {name: timesOf(call, 15) for name, call in calls.items()}
        counts = slow.counts()
    medians = {name: statistics.median(values) for name, values in times.items()}
    print(f"asked {asked}, medians {medians}; replies late by {counts['late_us']}")
    for name, values in times.items():
        checks.that(min(values) >= asked[name],
                    f"each {name} call takes {asked[name]} us: the shortest took {min(values)}")
        requests, planned = (counts[key][kinds[name]] for key in ("requests", "planned_us"))
        checks.that(requests >= 15, f"{requests} {kinds[name]} requests")
        checks.equal(planned, requests * asked[name], f"planned for {kinds[name]}, us")


def realTime(checks, work):
    if run(["chrt", "-r", "1", "true"]).status != 0:
        raise devices.NotHere("this machine does not allow real-time scheduling")
    latencies(checks, work, ["--real-time"])


def jitter(checks, work):
    def planned(seed):
        result = []
        with SlowStorage(work, "--write-us", 20000, "--jitter", 50, "--seed", seed) as slow:
            with opened(os.path.join(slow.path, "file")) as file:
                for _ in range(30):
                    [took] = timesOf(lambda: os.pwrite(file, b"x", 0), 1)
                    result.append(round(slow.counts()["planned_us"]["WRITE"] - sum(result), 3))
                    checks.that(took >= result[-1], f"a write that takes {result[-1]}: {took} us")
        return result

    first = planned(7)
    print(f"jitter: {min(first)} to {max(first)} us")
    checks.that(10000 <= min(first) < 15000 < 25000 < max(first) <= 30000,
                f"latencies are spread over half the latency: {first}")
    checks.equal(planned(7), first, "latencies with the same seed")
    checks.that(planned(8) != first, "latencies with another seed")


def bandwidth(checks, work):
    size, mib_s = 4 * MIB, 32

    def transfer(call, path, data):
        with opened(path) as file:
            for offset in range(0, size, MIB // 2):
                call(file, data, offset)

    def path(number):
        return os.path.join(slow.path, f"file{number}")

    def write(number):
        return lambda: transfer(os.pwrite, path(number), bytes(MIB // 2))

    def read(number):
        return lambda: transfer(os.pread, path(number), MIB // 2)

    with SlowStorage(work, "--bandwidth", mib_s) as slow:
        cases = {"one writer": [write(1)], "two writers": [write(2), write(3)],
                 "a reader and a writer": [read(1), write(2)]}
        for name, calls in cases.items():
            took = atOnce(*calls)
            least = len(calls) * size / MIB / mib_s
            print(f"bandwidth, {name}: {took:.3f} s, at least {least} s")
            checks.that(took >= least * 0.999, f"{name}: took {took} s, at least {least} s")


def turns(checks, work):
    """Requests that are held are served at the same time, where requests do not take turns."""
    workers, repeats, latency_us = 4, 10, 10000
    options = {"by default": [], "one at a time": ["--one-at-a-time"]}
    for name, more in options.items():
        with SlowStorage(work, "--write-us", latency_us, *more, control=True) as slow:
            def writes(number):
                with opened(os.path.join(slow.path, f"file{number}")) as file:
                    timesOf(lambda: os.pwrite(file, b"x", 0), repeats)

            slow.hold("write")
            threads = [threading.Thread(target=writes, args=(number,)) for number in range(workers)]
            began = time.monotonic()
            for thread in threads:
                thread.start()
            until(lambda: len(slow.held()) == (1 if more else workers), f"{name}: held writes")
            slow.go()
            for thread in threads:
                thread.join()
            took = time.monotonic() - began
            counts = slow.counts()
        asked_us = workers * repeats * latency_us
        service_us = counts["service_us"]["WRITE"]
        print(f"{name}: {took:.3f} s; busy {counts['busy_us']} us, writes {service_us} us, at most "
              f"{counts['most_at_once']} requests at once")
        checks.that(service_us >= asked_us, f"{name}: writes take {asked_us} us in all: "
                                            f"{service_us}")
        if more:
            checks.that(took * 1e6 >= asked_us, f"{name}: {took} s for {asked_us} us of writes")
            checks.equal(counts["most_at_once"], 1, f"{name}: requests at once")
        else:
            checks.that(counts["most_at_once"] >= workers, f"{name}: requests at once: {counts}")


def errors(checks, work):
    wanted = {
        "write": ["none", "none", "ENOSPC", "none", "EDQUOT", "EDQUOT", "EDQUOT"],
        "read": ["none", "EIO", "none"],
        "mkdir": ["none", "EROFS", "none"],
        "fsync": ["EIO", "none"],
        "close": ["none", "EDQUOT", "none"],
    }
    options = ["write:ENOSPC:3", "write:EDQUOT:5+", "read:EIO:2", "mkdir:EROFS:2", "fsync:5:1",
               "flush:EDQUOT:2"]
    with SlowStorage(work, *[word for text in options for word in ("--fail", text)]) as slow:
        path = os.path.join(slow.path, "file")
        got = {}
        with opened(path) as file:
            got["write"] = [errorOf(os.pwrite, file, b"abc", 0) for _ in wanted["write"]]
            got["read"] = [errorOf(os.pread, file, 3, 0) for _ in wanted["read"]]
            got["mkdir"] = [errorOf(os.mkdir, f"{path}.{number}") for number in range(3)]
            got["fsync"] = [errorOf(os.fsync, file) for _ in wanted["fsync"]]
        got["close"] = ["none", *[errorOf(os.close, os.open(path, os.O_RDONLY)) for _ in range(2)]]
        checks.equal(sorted(os.listdir(slow.path)), ["file", "file.0", "file.2"],
                     "a call that fails changes nothing")
        failed = slow.counts()["failed"]
    for call, results in wanted.items():
        checks.equal(got[call], results, f"results of {call}")
    checks.equal([failed[kind] for kind in ("WRITE", "READ", "MKDIR", "FSYNC", "FLUSH")],
                 [4, 1, 1, 1, 1], "failed requests in the counts")


class RandomFiles:
    """Makes the same random calls below several directories, and compares what they return."""

    def __init__(self, checks, what, seed, folders, holes):
        self.checks, self.what, self.folders, self.holes = checks, what, folders, holes
        self.random = random.Random(seed)
        self.names = [f"{folder}{name}" for folder in ("", "d1/", "d1/d2/") for name in "abcdef"]
        self.open_files = []  # a descriptor for each of the folders

    def each(self, what, call):
        results = []
        for index, folder in enumerate(self.folders):
            try:
                results.append(call(index, folder))
            except OSError as problem:
                results.append(errno.errorcode[problem.errno])
        self.checks.that(all(result == results[0] for result in results),
                         f"{self.what}: {what}: {str(results)[:200]}")

    def onName(self, what, call):
        name = self.random.choice(self.names)
        self.each(f"{what} {name}", lambda _, folder: call(os.path.join(folder, name)))

    def onTwoNames(self, what, call):
        first, second = self.random.choice(self.names), self.random.choice(self.names)
        self.each(f"{what} {first} {second}", lambda _, folder: call(os.path.join(folder, first),
                                                                     os.path.join(folder, second)))

    def onFile(self, what, call):
        if self.open_files:
            files = self.random.choice(self.open_files)
            self.each(what, lambda index, _: call(files[index]))

    def openFile(self):
        name = self.random.choice(self.names)
        flags = os.O_RDWR | self.random.choice([0, os.O_CREAT, os.O_CREAT | os.O_EXCL, os.O_TRUNC,
                                                os.O_CREAT | os.O_APPEND])
        files = {}

        def openBelow(index, folder):
            files[index] = os.open(os.path.join(folder, name), flags, 0o640)

        self.each(f"open {name} {flags:o}", openBelow)
        if len(files) == len(self.folders):
            self.open_files.append([files[index] for index in range(len(files))])
        if len(self.open_files) > 6:
            self.closeFile()

    def closeFile(self):
        if self.open_files:
            files = self.open_files.pop(self.random.randrange(len(self.open_files)))
            self.each("close", lambda index, _: os.close(files[index]))

    def step(self):
        data = self.random.randbytes(self.random.choice([1, 100, 4096, 70000]))
        offset = self.random.randrange(200000)
        mode = self.random.randrange(0o1000) | 0o600
        time_ns = self.random.randrange(10**18)
        calls = [
            self.openFile, self.openFile, self.openFile, self.closeFile,
            lambda: self.onFile("pwrite", lambda file: os.pwrite(file, data, offset)),
            lambda: self.onFile("pwrite", lambda file: os.pwrite(file, data, offset)),
            lambda: self.onFile("write", lambda file: os.write(file, data)),
            lambda: self.onFile("pread", lambda file: os.pread(file, 50000, offset)),
            lambda: self.onFile("ftruncate", lambda file: os.ftruncate(file, offset)),
            lambda: self.onFile("fallocate", lambda file: os.posix_fallocate(file, offset, 9000)),
            lambda: self.onFile("size", lambda file: os.fstat(file).st_size),
            lambda: self.onFile("links", lambda file: os.fstat(file).st_nlink),
            lambda: self.onFile("fsync", os.fsync),
            lambda: self.onName("unlink", os.unlink),
            lambda: self.onName("chmod", lambda path: os.chmod(path, mode)),
            lambda: self.onName("truncate", lambda path: os.truncate(path, offset)),
            lambda: self.onName("utime", lambda path: os.utime(path, ns=(time_ns, time_ns))),
            lambda: self.onName("mtime", lambda path: os.stat(path).st_mtime_ns == time_ns),
            lambda: self.onName("readlink", os.readlink),
            lambda: self.onName("mkdir", os.mkdir),
            lambda: self.onName("rmdir", os.rmdir),
            lambda: self.onTwoNames("rename", os.rename),
            lambda: self.onTwoNames("rename", os.rename),
            lambda: self.onTwoNames("link", lambda a, b: os.link(a, b, follow_symlinks=False)),
            lambda: self.onTwoNames("symlink", lambda a, b: os.symlink(os.path.basename(a), b)),
        ]
        if self.holes:
            calls += [
                lambda: self.onFile("hole", lambda file: os.lseek(file, 0, os.SEEK_HOLE)),
                lambda: self.onFile("data", lambda file: os.lseek(file, offset, os.SEEK_DATA)),
            ]
        self.random.choice(calls)()

    def run(self, steps):
        self.each("mkdir", lambda _, folder: os.makedirs(os.path.join(folder, "d1/d2")))
        for _ in range(steps):
            self.step()
        while self.open_files:
            self.closeFile()


def sameFiles(checks, work):
    seed = int(os.environ.get("OMNIO_TEST_SEED", random.randrange(1 << 32)))
    print(f"same files: OMNIO_TEST_SEED={seed}")
    reference = emptied(os.path.join(work, "reference"))
    devices.must("mount", "-t", "tmpfs", "none", reference)
    try:
        for options in ([], ["--cache"], ["--write-back"], ["--one-at-a-time"]):
            what = f"same files, {' '.join(options) or 'no option'}"
            folder = emptied(os.path.join(reference, "files"))
            with SlowStorage(work, *options) as slow:
                files = os.path.join(slow.path, "files")
                os.mkdir(files)
                # The kernel does not look for holes in what it has yet to write.
                holes = "--write-back" not in options
                RandomFiles(checks, what, seed, [folder, files], holes).run(1500)
                wanted, got = treeOf(folder), treeOf(files)
                backing = treeOf(os.path.join(slow.backing, "files"))
                checks.that(got == wanted, f"{what}: {differences(got, wanted)}")
                checks.that(backing == wanted, f"{what}, backing: {differences(backing, wanted)}")
    finally:
        devices.must("umount", "-l", reference)


def programs(checks, work):
    """Programs that would notice wrong bytes."""
    sources = os.path.dirname(os.path.abspath(__file__))
    with SlowStorage(work, "--metadata-us", 20, "--read-us", 20, "--write-us", 20) as slow:
        copy = os.path.join(slow.path, "copy")
        shutil.copytree(sources, copy, symlinks=True)
        wanted, got = treeOf(sources), treeOf(os.path.join(slow.backing, "copy"))
        checks.that(got == wanted, f"a copied tree: {differences(got, wanted)}")
        if shutil.which("git") is None:
            checks.skip("git", "not installed")
        else:
            git = ["git", "-C", copy, "-c", "user.name=test", "-c", "user.email=test@localhost"]
            clone = os.path.join(slow.path, "clone")
            for command in ([*git, "init", "-q"], [*git, "add", "."],
                            [*git, "commit", "-q", "-m", "a tree"],
                            ["git", "clone", "-q", copy, clone],
                            ["git", "-C", clone, "fsck", "--strict"]):
                result = run(command)
                checks.equal(result.status, 0, f"{' '.join(command)}: {result.err!r}")
            got = treeOf(clone, (".git", ".git/*"))
            checks.that(got == wanted, f"a cloned tree: {differences(got, wanted)}")
        if shutil.which("fio") is None:
            checks.skip("fio", "not installed")
        else:
            result = run(["fio", "--name=verify", f"--directory={slow.path}", "--rw=randrw",
                          "--size=2m", "--bsrange=4k-64k", "--numjobs=2", "--verify=crc32c",
                          "--verify_fatal=1", "--ioengine=psync", "--thread"], cwd=work)
            checks.equal(result.status, 0, f"fio verifies what it wrote: {result.err[-500:]!r}")


def counts(checks, work):
    """Requests of a known program, one call after the other, and of dd as strace sees it."""
    with SlowStorage(work, "--trust-callers") as slow:
        path = os.path.join(slow.path, "file")
        for number in range(10):
            with opened(path) as file:
                os.pwrite(file, b"x" * 1000, 1000 * number)
                os.pwrite(file, b"y" * 3 * MIB, 0)
                os.pread(file, 500, 0)
                os.fsync(file)
        for number in range(5):
            os.mkdir(f"{path}.{number}")
            os.rename(f"{path}.{number}", f"{path}.new")
            os.chmod(f"{path}.new", 0o700)
            os.rmdir(f"{path}.new")
        os.link(path, f"{path}.link")
        os.symlink("file", f"{path}.symlink")
        os.readlink(f"{path}.symlink")
        os.unlink(f"{path}.link")
        got = slow.counts()
        # A piece is at most 1 MiB, or what the kernel allows when that is less.
        pieces = max(1, round((got["requests"]["WRITE"] - 10) / 10))
        wanted = {"CREATE": 1, "OPEN": 9, "WRITE": 10 + 10 * pieces, "READ": 10, "FSYNC": 10,
                  "FLUSH": 10, "MKDIR": 5, "RENAME": 5, "SETATTR": 5, "RMDIR": 5, "LINK": 1,
                  "SYMLINK": 1, "READLINK": 1, "UNLINK": 1, "STATFS": 0, "OPENDIR": 0}
        found = {kind: got["requests"][kind] for kind in wanted}
        checks.that(pieces >= 3 and found == wanted, f"requests: {differences(found, wanted)}")
        checks.equal((got["bytes_written"], got["bytes_read"]), (10 * (3 * MIB + 1000), 5000),
                     "bytes written and read")
        if shutil.which("strace") is None:
            checks.skip("strace", "not installed")
            return
        log = os.path.join(work, "strace.log")
        result = run(["strace", "-y", "-o", log, "-e", "trace=write,fsync,openat,close", "dd",
                      "if=/dev/zero", f"of={path}.dd", "bs=40000", "count=25", "conv=fsync"])
        checks.equal(result.status, 0, f"dd: {result.err!r}")
        with open(log, encoding="utf-8") as file:
            calls = file.read()
        written = [int(size) for size in
                   re.findall(rf"^write\(\d+<{path}\.dd>.* = (\d+)$", calls, re.MULTILINE)]
        synced = len(re.findall(rf"^fsync\(\d+<{path}\.dd>", calls, re.MULTILINE))
        now = slow.counts()
        more = {kind: now["requests"][kind] - got["requests"][kind] for kind in ("WRITE", "FSYNC")}
        checks.equal(more, {"WRITE": len(written), "FSYNC": synced}, "requests of dd by strace")
        checks.that(written and now["bytes_written"] - got["bytes_written"] == sum(written),
                    f"bytes of dd: {sum(written)} by strace")


def asOther(*words, **more):
    # It leaves the groups of root too.
    return subprocess.run(["sh", "-c", *words], user=OTHER_USER, group=OTHER_USER, extra_groups=[],
                          stderr=subprocess.PIPE, check=False, **more)


def callers(checks, work):
    """Owners, permissions and privilege bits."""
    os.chmod(work, 0o755)
    with SlowStorage(work) as slow:
        os.chdir(slow.path)
        os.chmod(slow.path, 0o1777)
        asOther("umask 027; echo x > file; mkdir folder; mkfifo fifo; ln -s file link; "
                "ln file hard")
        for name, mode in (("file", 0o100640), ("folder", 0o40750), ("fifo", 0o10640),
                           ("link", 0o120777), ("hard", 0o100640)):
            found = os.lstat(name)
            checks.equal((found.st_uid, found.st_gid, oct(found.st_mode)),
                         (OTHER_USER, OTHER_USER, oct(mode)), f"owner and mode of {name}")
        os.mkdir("shared")
        os.chown("shared", 0, 7)
        os.chmod("shared", 0o2777)
        asOther("mkdir shared/folder; echo x > shared/file")
        checks.equal([os.stat(f"shared/{name}").st_gid for name in ("folder", "file")], [7, 7],
                     "a directory with the set-group-id bit gives its group")
        checks.that(os.stat("shared/folder").st_mode & stat.S_ISGID, "and a new directory the bit")
        with open("secret", "w", encoding="ascii") as file:
            file.write("not for all")
        os.chmod("secret", 0o600)
        for command in ("cat secret", "echo x >> secret", "chmod 666 secret", "rm -f secret"):
            checks.that(asOther(command, stdout=subprocess.DEVNULL).returncode != 0,
                        f"another user cannot: {command}")
        for wanted, mode in (("04777", 0o4777), ("06777", 0o6777)):
            with open("program", "w", encoding="ascii"):
                pass
            os.chmod("program", mode)
            checks.equal(oct(os.stat("program").st_mode & 0o7777), oct(mode), f"chmod {wanted}")
            asOther("echo x >> program")
            checks.equal(oct(os.stat("program").st_mode & 0o7777), oct(0o777),
                         f"a write of another user takes {wanted} away")
        os.chdir("/")


def otherFiles(checks, work):
    """Special files, locks, attributes, maps, directories with many entries."""
    with SlowStorage(work) as slow, SlowStorage(work, "--cache", name="cached") as cached:
        path = os.path.join(slow.path, "file")
        with opened(path) as file, opened(path) as second:
            fcntl.flock(file, fcntl.LOCK_EX)
            checks.equal(errorOf(fcntl.flock, second, fcntl.LOCK_EX | fcntl.LOCK_NB), "EAGAIN",
                         "flock keeps another open file out")
            fcntl.lockf(file, fcntl.LOCK_EX, 10, 0)
            child = os.fork()
            if child == 0:
                os._exit(errorOf(fcntl.lockf, second, fcntl.LOCK_EX | fcntl.LOCK_NB, 5, 3)
                         != "EAGAIN")
            checks.equal(os.waitpid(child, 0)[1], 0, "a POSIX lock keeps another process out")
        checks.equal(errorOf(os.setxattr, path, "trusted.test", b"value"), "none", "setxattr")
        checks.equal((os.getxattr(path, "trusted.test"), os.listxattr(path)),
                     (b"value", ["trusted.test"]), "getxattr and listxattr")
        os.removexattr(path, "trusted.test")
        checks.equal(errorOf(os.getxattr, path, "trusted.test"), "ENODATA", "removexattr")
        checks.equal(os.statvfs(slow.path).f_blocks, os.statvfs(slow.backing).f_blocks, "statvfs")

        os.mknod(f"{path}.null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        with opened(f"{path}.null", os.O_RDWR) as null:
            checks.equal((os.write(null, b"gone"), os.read(null, 10)), (4, b""), "a device file")
        with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
            server.bind(f"{path}.socket")
            server.listen()
            checks.equal(errorOf(client.connect, f"{path}.socket"), "none", "a socket")

        names = {f"{number:04}" + "n" * 100 for number in range(2000)}
        os.mkdir(f"{path}.many")
        for name in names:
            with opened(os.path.join(f"{path}.many", name)):
                pass
        checks.that(set(os.listdir(f"{path}.many")) == names, "a directory of 2000 names")
        shutil.rmtree(f"{path}.many")
        checks.that(not os.path.exists(f"{path}.many"), "and all of them removed")

        path = os.path.join(cached.path, "file")
        with opened(path) as file:
            os.ftruncate(file, 8192)
            with mmap.mmap(file, 8192) as shared:
                shared[4096:4100] = b"here"
                shared.flush()
        with open(os.path.join(cached.backing, "file"), "rb") as file:
            checks.that(file.read() == bytes(4096) + b"here" + bytes(4092),
                        "a shared map of a cached file reaches the backing directory")


def ends(checks, work):
    """Wrong command lines, counts in a file, and an end by a signal."""
    slowfs = program("slowfs")
    for words, sentence in (
            (["--read-us", "fast"], "--read-us: 'fast' is not a number of microseconds up to an "
                                    "hour"),
            (["--fail", "write:ENOSPC"], "--fail write:ENOSPC: has to be CLASS:ERRNO:N or "
                                         "CLASS:ERRNO:N+"),
            (["--fail", "write:EFULL:1"], "--fail write:EFULL:1: 'EFULL' is not the name of an "
                                          "error"),
            (["--fail", "release:EIO:1"], "--fail release:EIO:1: 'release' is neither a class "
                                          "(read, write, metadata, sync, all) nor a kind of "
                                          "request"),
            (["--fail", "read:EIO:0"], "--fail read:EIO:0: '0' is not the number of a call; the "
                                       "first one is 1"),
            ([], "BACKING and MOUNT_POINT have to be given; --help says more")):
        result = run([slowfs, *words])
        checks.equal((result.status, result.err.decode()), (2, f"slowfs: {sentence}\n"),
                     f"slowfs {' '.join(words)}")
    result = run([slowfs, "/no/such", work])
    checks.equal((result.status, result.err), (1, b"slowfs: /no/such: No such file or directory\n"),
                 "no backing directory")

    counts_file = os.path.join(work, "counts.json")
    with SlowStorage(work, "--counts", counts_file) as slow:
        os.mkdir(os.path.join(slow.path, "folder"))
        checks.equal(slow.stop(), 0, "status after SIGTERM")
        checks.that(not os.path.ismount(slow.path), "unmounted after SIGTERM")
    with open(counts_file, encoding="utf-8") as file:
        checks.that('"MKDIR": 1,' in file.read(), f"counts in {counts_file}")


CASES = {"latencies": latencies, "real time": realTime, "jitter": jitter, "bandwidth": bandwidth,
         "turns": turns, "errors": errors, "same files": sameFiles, "programs": programs,
         "counts": counts, "callers": callers, "other files": otherFiles, "ends": ends}


def main(chosen):
    needSlowStorage()
    checks = Checks()
    with WorkDirectory() as work:
        for name, case in CASES.items():
            if chosen and name not in chosen:
                continue
            begin = time.monotonic()
            with checks.case(name):
                try:
                    case(checks, work)
                except devices.NotHere as reason:
                    checks.skip(name, str(reason))
            print(f"{name}: {time.monotonic() - begin:.1f} s", flush=True)
    checks.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
