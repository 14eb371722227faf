"""Calls on files that a program makes by syscall(2): each is in the trace as the C library's function that
makes the same system call, with its arguments and result, and a replay makes the same system calls.
"""

import errno
import os
import platform
import re
import sys
from collections import Counter

from omnio_testing import Checks, WorkDirectory, mpirun, omnio, readLog, run, skipTest, trace
from replay_testing import replay

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "trace", "wrap", "system_calls.cpp")
AT_FDCWD = -100
# name, number on x86-64, arguments in Python; the function that it is recorded as, with which arguments
CALLS = (
    ("open", 2, 'b"a", os.O_RDWR | os.O_CREAT, 0o600', "open64",
     {"path": "a", "flags": os.O_RDWR | os.O_CREAT, "mode": 0o600}),
    ("write", 1, "3, data, 100", "write", {"count": 100}),
    ("pwrite64", 18, "3, data, 50, 200", "pwrite64", {"count": 50, "offset": 200}),
    ("lseek", 8, "3, 10, 0", "lseek64", {"offset": 10, "whence": 0}),
    ("read", 0, "3, data, 20", "read", {"count": 20}),
    ("pread64", 17, "3, data, 30, 5", "pread64", {"count": 30, "offset": 5}),
    ("readv", 19, "3, vector, 2", "readv", {"iov": [10, 20]}),
    ("writev", 20, "3, vector, 2", "writev", {"iov": [10, 20]}),
    ("preadv", 295, "3, vector, 2, 3, 0", "preadv64", {"iov": [10, 20], "offset": 3}),
    ("pwritev", 296, "3, vector, 2, 500, 0", "pwritev64", {"iov": [10, 20], "offset": 500}),
    ("preadv2", 327, "3, vector, 2, 4, 0, 1", "preadv64v2", {"iov": [10, 20], "offset": 4, "flags": 1}),
    ("pwritev2", 328, "3, vector, 2, 600, 0, 2", "pwritev64v2", {"iov": [10, 20], "offset": 600, "flags": 2}),
    ("fsync", 74, "3", "fsync", {}),
    ("fdatasync", 75, "3", "fdatasync", {}),
    ("syncfs", 306, "3", "syncfs", {}),
    ("sync_file_range", 277, "3, 10, 20, 2", "sync_file_range", {"offset": 10, "length": 20, "flags": 2}),
    ("sync", 162, "", "sync", {}),
    ("ftruncate", 77, "3, 1000", "ftruncate64", {"length": 1000}),
    ("fallocate", 285, "3, 1, 7, 2000", "fallocate64", {"flags": 1, "offset": 7, "length": 2000}),
    ("readahead", 187, "3, 5, 100", "readahead", {"offset": 5, "length": 100}),
    ("fstat", 5, "3, data", "fstat64", {}),
    ("fstatfs", 138, "3, data", "fstatfs64", {}),
    ("flock", 73, "3, 1", "flock", {"value": 1}),
    ("fchmod", 91, "3, 0o640", "fchmod", {"mode": 0o640}),
    ("fchown", 93, "3, os.getuid(), os.getgid()", "fchown", {"uid": os.getuid(), "gid": os.getgid()}),
    ("futimens by utimensat", 280, "3, None, None, 0", "futimens", {}),
    ("fsetxattr", 190, '3, b"user.x", data, 6, 0', "fsetxattr", {"attribute": "user.x", "size": 6}),
    ("fgetxattr", 193, '3, b"user.x", data, 60', "fgetxattr", {"attribute": "user.x", "size": 60}),
    ("flistxattr", 196, "3, data, 61", "flistxattr", {"size": 61}),
    ("fremovexattr", 199, '3, b"user.x"', "fremovexattr", {"attribute": "user.x"}),
    ("dup", 32, "3", "dup", {}),
    ("dup2", 33, "3, 50", "dup2", {"newfd": 50}),
    ("dup3", 292, "3, 51, 0", "dup3", {"newfd": 51, "flags": 0}),
    ("fcntl", 72, "3, 0, 52", "fcntl", {"cmd": 0, "value": 52}),
    ("mknod", 133, 'b"m", 0o100600, 0', "mknod", {"path": "m", "mode": 0o100600}),
    ("mknodat", 259, '-100, b"o", 0o100600, 0', "mknodat", {"dirfd": AT_FDCWD, "path": "o", "mode": 0o100600}),
    ("bind", 49, "unix, address, 110", "bind", {"path": "socket"}),
    ("creat", 85, 'b"b", 0o600', "creat64", {"path": "b", "mode": 0o600}),
    ("sendfile", 40, "made, 3, None, 100", "sendfile64", {"source": 3, "count": 100}),
    ("copy_file_range", 326, "3, None, made, None, 101, 0", "copy_file_range", {"source": 3, "count": 101}),
    ("close", 3, "made", "close", {}),
    ("openat", 257, '-100, b"c", os.O_RDWR | os.O_CREAT, 0o600', "openat64",
     {"dirfd": AT_FDCWD, "path": "c", "flags": os.O_RDWR | os.O_CREAT, "mode": 0o600}),
    ("openat2", 437, '-100, b"a", how, 24', "openat64", {"dirfd": AT_FDCWD, "path": "a", "flags": os.O_RDONLY}),
    ("mkdir", 83, 'b"d", 0o700', "mkdir", {"path": "d", "mode": 0o700}),
    ("mkdirat", 258, '-100, b"e", 0o700', "mkdirat", {"dirfd": AT_FDCWD, "path": "e", "mode": 0o700}),
    ("rmdir", 84, 'b"e"', "rmdir", {"path": "e"}),
    ("rename", 82, 'b"b", b"f"', "rename", {"path": "b", "newpath": "f"}),
    ("renameat", 264, '-100, b"f", -100, b"b"', "renameat",
     {"dirfd": AT_FDCWD, "path": "f", "newdirfd": AT_FDCWD, "newpath": "b"}),
    ("renameat2", 316, '-100, b"b", -100, b"g", 1', "renameat2",
     {"dirfd": AT_FDCWD, "path": "b", "newdirfd": AT_FDCWD, "newpath": "g", "flags": 1}),
    ("link", 86, 'b"g", b"h"', "link", {"path": "g", "newpath": "h"}),
    ("linkat", 265, '-100, b"g", -100, b"j", 0', "linkat",
     {"dirfd": AT_FDCWD, "path": "g", "newdirfd": AT_FDCWD, "newpath": "j", "flags": 0}),
    ("symlink", 88, 'b"g", b"i"', "symlink", {"target": "g", "path": "i"}),
    ("symlinkat", 266, 'b"h", -100, b"k"', "symlinkat", {"target": "h", "dirfd": AT_FDCWD, "path": "k"}),
    ("readlink", 89, 'b"i", data, 50', "readlink", {"path": "i", "size": 50}),
    ("readlinkat", 267, '-100, b"k", data, 51', "readlinkat", {"dirfd": AT_FDCWD, "path": "k", "size": 51}),
    ("stat", 4, 'b"g", data', "stat64", {"path": "g"}),
    ("lstat", 6, 'b"i", data', "lstat64", {"path": "i"}),
    ("newfstatat", 262, '-100, b"g", data, 0x100', "fstatat64", {"dirfd": AT_FDCWD, "path": "g", "flags": 0x100}),
    ("statx", 332, '-100, b"g", 0x100, 0x7ff, data', "statx",
     {"dirfd": AT_FDCWD, "path": "g", "flags": 0x100, "value": 0x7ff}),
    ("statfs", 137, 'b"g", data', "statfs64", {"path": "g"}),
    ("access", 21, 'b"g", 4', "access", {"path": "g", "mode": 4}),
    ("faccessat", 269, '-100, b"g", 2', "faccessat", {"dirfd": AT_FDCWD, "path": "g", "mode": 2, "flags": 0}),
    ("faccessat2", 439, '-100, b"g", 4, 0x200', "faccessat",
     {"dirfd": AT_FDCWD, "path": "g", "mode": 4, "flags": 0x200}),
    ("chmod", 90, 'b"g", 0o640', "chmod", {"path": "g", "mode": 0o640}),
    ("fchmodat", 268, '-100, b"g", 0o600', "fchmodat", {"dirfd": AT_FDCWD, "path": "g", "mode": 0o600, "flags": 0}),
    ("chown", 92, 'b"g", os.getuid(), -1', "chown", {"path": "g", "uid": os.getuid()}),
    ("lchown", 94, 'b"i", -1, os.getgid()', "lchown", {"path": "i", "gid": os.getgid()}),
    ("fchownat", 260, '-100, b"i", os.getuid(), os.getgid(), 0x100', "fchownat",
     {"dirfd": AT_FDCWD, "path": "i", "uid": os.getuid(), "gid": os.getgid(), "flags": 0x100}),
    ("utime", 132, 'b"g", None', "utime", {"path": "g"}),
    ("utimes", 235, 'b"g", None', "utimes", {"path": "g"}),
    ("futimesat", 261, '-100, b"g", None', "futimesat", {"dirfd": AT_FDCWD, "path": "g"}),
    ("utimensat", 280, '-100, b"i", None, 0x100', "utimensat", {"dirfd": AT_FDCWD, "path": "i", "flags": 0x100}),
    ("setxattr", 188, 'b"g", b"user.y", data, 7, 1', "setxattr",
     {"path": "g", "attribute": "user.y", "size": 7, "flags": 1}),
    ("lsetxattr", 189, 'b"g", b"user.z", data, 8, 0', "lsetxattr", {"path": "g", "attribute": "user.z", "size": 8}),
    ("getxattr", 191, 'b"g", b"user.y", data, 62', "getxattr", {"path": "g", "attribute": "user.y", "size": 62}),
    ("lgetxattr", 192, 'b"g", b"user.z", data, 63', "lgetxattr", {"path": "g", "attribute": "user.z", "size": 63}),
    ("listxattr", 194, 'b"g", data, 64', "listxattr", {"path": "g", "size": 64}),
    ("llistxattr", 195, 'b"g", data, 65', "llistxattr", {"path": "g", "size": 65}),
    ("removexattr", 197, 'b"g", b"user.y"', "removexattr", {"path": "g", "attribute": "user.y"}),
    ("lremovexattr", 198, 'b"g", b"user.z"', "lremovexattr", {"path": "g", "attribute": "user.z"}),
    ("truncate", 76, 'b"g", 10', "truncate64", {"path": "g", "length": 10}),
    ("unlink", 87, 'b"h"', "unlink", {"path": "h"}),
    ("unlinkat", 263, '-100, b"k", 0', "unlinkat", {"dirfd": AT_FDCWD, "path": "k", "flags": 0}),
    ("unlink", 87, 'b"missing"', "unlink", {"path": "missing"}),
    ("open", 2, 'b"missing", os.O_RDONLY, 0o4321', "open64", {"path": "missing", "flags": os.O_RDONLY}),
    ("chdir", 80, 'b"d"', "chdir", {"path": "d"}),
    ("creat", 85, 'b"l", 0o600', "creat64", {"path": "l"}),  # in d
    ("fchdir", 81, "home", "fchdir", {}),
    ("access", 21, 'b"d/l", 4', "access", {"path": "d/l"}),
)
CODE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
data = ctypes.create_string_buffer(4096)
class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]
vector = (Piece * 2)((ctypes.addressof(data), 10), (ctypes.addressof(data), 20))
how = (ctypes.c_uint64 * 3)(os.O_RDONLY, 0, 0)
def call(name, number, *arguments):
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    result = libc.syscall(ctypes.c_long(number), *words)
    print(name, number, result, ctypes.get_errno() if result < 0 else 0)
    return result
made = -1
home = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
os.dup2(home, 40), os.close(home)
home = 40
unix = libc.socket(1, 1, 0)
os.dup2(unix, 41), os.close(unix)
unix = 41
address = ctypes.create_string_buffer(b"\\x01\\x00socket", 110)
"""


def program():
    lines = [CODE]
    for name, number, arguments, *_ in CALLS:
        arguments = ", ".join(filter(None, (f"'{name.split()[0]}'", str(number), arguments)))
        lines.append(f"{'made = ' if name == 'creat' else ''}call({arguments})")
    return "\n".join(lines)


def main():
    if platform.machine() != "x86_64":
        skipTest("system calls by number are recorded on x86-64")
    checks = Checks()
    with WorkDirectory() as work:
        home, log = os.path.join(work, "home"), os.path.join(work, "trace")
        os.mkdir(home)
        done = trace(log, [sys.executable, "-I", "-c", program()], cwd=home)
        if not checks.equal(done.status, 0, f"the program: {done}"):
            checks.finish()
        told = [line.split() for line in done.out.decode().splitlines()]
        names = {call for *_, call, _ in CALLS}
        events = [event for event in readLog(log) if event["call"] in names and inHome(event, home)]
        # Before these, the program has opened its directory.
        while events and events[0]["args"].get("path") != "a":
            events.pop(0)
        for (name, _, _, wanted, arguments), (_, _, result, error), event in zip(CALLS, told, events):
            checks.equal(event["call"], wanted, f"{name}: recorded as")
            checks.equal(bool(event["failed"]), int(result) < 0, f"{name}: failed")
            if int(result) < 0:
                checks.equal(getattr(errno, event["errno"]), int(error), f"{name}: error")
            elif "result" in event:
                checks.equal(event["result"], int(result), f"{name}: result")
            for key, value in arguments.items():
                got = event["args"].get(key)
                checks.equal(got[-len(value):] if key == "path" and got else got, value, f"{name}: {key}")
        checks.equal(len(events), len(CALLS), f"events: {[event['call'] for event in events]}")
        made_in = [event["file"] for event in events if event["call"] == "creat64"][-1:]
        checks.equal(made_in, [os.path.join(os.path.realpath(home), "d", "l")], "where chdir led")
        with open(SOURCE, encoding="utf-8") as source:
            recorded = set(re.findall(r"^  CALL\((\w+)[,)]", source.read(), re.MULTILINE))
        checks.equal(recorded, {name for name, *_ in CALLS if " " not in name}, "system calls of the table")
        if mpirun(1) is None:
            checks.skip("replay", "there is no MPI")
        else:
            checkReplay(checks, work, log)
    checks.finish()


def inHome(event, home):
    """Whether it is about a file there, and not one of the interpreter's own."""
    home = os.path.realpath(home)
    path = event["args"].get("path", "")
    return (str(event.get("file", "")).startswith(home) or event["call"] == "sync" or len(path) == 1 or
            path in ("missing", "d/l"))


def checkReplay(checks, work, log):
    schedule, output = os.path.join(work, "schedule.json"), os.path.join(work, "replayed")
    made = run([omnio(), "preprocess", log, "-o", schedule, "--timing", "asap"])
    checks.equal(made.status, 0, f"preprocess: {made}")
    done = replay(schedule, os.path.join(work, "target"), output)
    checks.equal(done.status, 0, f"replay: {done}")
    verified = run([omnio(), "verify", schedule, output])
    checks.equal(verified.status, 0, f"verify: {verified.out.decode()}")
    names = {call for *_, call, _ in CALLS}
    # A replay asks for its tree before it begins.
    count = [Counter(event["call"] for event in readLog(where)
                     if event["call"] in names and not event["args"].get("path", "").endswith("/target/tree"))
             for where in (log, output)]
    checks.equal(count[1], count[0], "calls of the replay")


if __name__ == "__main__":
    main()
