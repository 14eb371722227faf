"""Extended attributes: each call is in the trace with the attribute's name and size, and a replay makes
the same calls; where the target holds other attributes, it says so.
"""

import os
import shutil
import sys

from omnio_testing import (Checks, WorkDirectory, holdsAttributes, mpirun, omnio, readLog, run, skipTest,
                           trace)
from replay_testing import replay, report

CODE = """
import errno, os
for name in ("user.missing", "user." + 300 * "n"):
    try:
        os.getxattr("found", name)
    except OSError as error:
        assert error.errno in (errno.ENODATA, errno.ERANGE)
try:
    os.setxattr("found", "user." + 300 * "n", b"")
except OSError as error:
    assert error.errno == errno.ERANGE
open("file", "w").close()
os.symlink("file", "link")
os.setxattr("file", "user.colour", b"green", os.XATTR_CREATE)
try:
    os.setxattr("file", "user.colour", b"red", os.XATTR_CREATE)
except OSError as error:
    assert error.errno == errno.EEXIST
fd = os.open("file", os.O_RDWR)
os.setxattr(fd, "user.large", b"x" * 1000)
assert os.getxattr("link", "user.colour") == b"green"
assert len(os.getxattr(fd, "user.large")) == 1000
for name in ("user.missing", "security.missing"):
    for follow in (True, False):
        try:
            os.getxattr("file", name, follow_symlinks=follow)
        except OSError as error:
            assert error.errno in (errno.ENODATA, errno.EOPNOTSUPP)
assert sorted(os.listxattr("file"))[-2:] == ["user.colour", "user.large"]
os.listxattr("link", follow_symlinks=False)
os.listxattr(fd)
os.removexattr("file", "user.colour")
os.removexattr(fd, "user.large")
try:
    os.setxattr("file", "trusted.colour", b"x")
except OSError as error:
    assert error.errno in (errno.EPERM, errno.EOPNOTSUPP)
"""


def main():
    checks = Checks()
    with WorkDirectory() as work:
        home, log = os.path.join(work, "home"), os.path.join(work, "trace")
        os.mkdir(home)
        if not holdsAttributes(home):
            skipTest("the file system here holds no attributes of users")
        with open(os.path.join(home, "found"), "w", encoding="utf-8"):
            pass
        done = trace(log, [sys.executable, "-I", "-c", CODE], cwd=home)
        checks.equal(done.status, 0, f"the program: {done}")
        told = [(event["call"], event["args"].get("attribute"), event["args"].get("size"),
                 event.get("errno"))
                for event in readLog(log) if "xattr" in event["call"]]
        long = [event for event in told if event[1] and len(event[1]) > 255]
        # Python asks again with a larger buffer.
        checks.equal([event[3] for event in long], 3 * ["ERANGE"], "names that are too long")
        told = told[len(long) + 1:]  # and the first that is missing
        missing = [event for event in told if event[1] and event[1].endswith("missing")]
        checks.equal([(event[0], event[1]) for event in missing],
                     [("getxattr", "user.missing"), ("lgetxattr", "user.missing"),
                      ("getxattr", "security.missing"), ("lgetxattr", "security.missing")], "missing")
        checks.that(all(event[3] for event in missing), f"missing: {missing}")
        sets = [event for event in told if "set" in event[0] and event[1] != "trusted.colour"]
        checks.equal(sets, [("setxattr", "user.colour", 5, None), ("setxattr", "user.colour", 3, "EEXIST"),
                            ("fsetxattr", "user.large", 1000, None)], "sets")
        checks.equal([event[:2] for event in told if "remove" in event[0]],
                     [("removexattr", "user.colour"), ("fremovexattr", "user.large")], "removed")
        checks.equal({event[0] for event in told if "list" in event[0]},
                     {"listxattr", "llistxattr", "flistxattr"}, "listed")
        if mpirun(1) is None:
            checks.skip("replay", "there is no MPI")
        else:
            checkReplay(checks, work, log, len(long) + 1 + len(told))
    checks.finish()


def checkReplay(checks, work, log, calls):
    schedule, output = os.path.join(work, "schedule.json"), os.path.join(work, "replayed")
    made = run([omnio(), "preprocess", log, "-o", schedule, "--timing", "asap"])
    checks.equal(made.status, 0, f"preprocess: {made}")
    done = replay(schedule, os.path.join(work, "target"), output)
    checks.equal(done.status, 0, f"replay: {done}")
    others = [count for kind, count in report(output)["substitutes"].items() if kind.startswith("attributes")]
    checks.equal(others, [1], "attributes that the replay handled otherwise")
    # Attributes of other name spaces are set as those of users, with a value of the same size.
    file = os.path.join(work, "target", "tree", "file")
    checks.equal(os.listxattr(file), ["user.trusted.colour"], "attributes of the file")
    checks.equal(len(os.getxattr(file, "user.trusted.colour")), 1, "bytes of the attribute")
    checks.equal(sum("xattr" in event["call"] for event in readLog(output)), calls, "calls of the replay")
    checks.equal(os.listxattr(os.path.join(work, "target", "tree", "found")), [], "attributes of the found file")
    verified = run([omnio(), "verify", schedule, output])
    checks.equal(verified.status, 0, f"verify: {verified.out.decode()}")
    # tmpfs of older kernels holds no attributes of users.
    plain = os.path.join("/dev/shm", os.path.basename(work))
    os.mkdir(plain)
    try:
        done = replay(schedule, os.path.join(plain, "target"), output + "-plain")
        checks.equal(done.status, 0, f"replay to tmpfs: {done}")
    finally:
        shutil.rmtree(plain, ignore_errors=True)


if __name__ == "__main__":
    main()
