"""`omnio prefetch`: what is wanted is fetched and nothing else; no byte that is read is older than without;
what the helper does beside a program changes nothing for it; orders, budget and output; bad input; users.
prefetch_ends.py has kills and many processes, prefetch_behaviour.py other people's programs.

What depends on the helper being in time is waited for, or is only compared with a run without it.

  prefetch.py [CASE...]    all cases by default
"""

import contextlib
import json
import os
import shlex
import shutil
import sys
import time

from omnio_testing import (emptied, environment, omnio, preloadLibrary, program, run, runCases, stats, takesAll,
                           until)
from prefetch_testing import (BLOCK, FILE_BYTES, PAGE, STRIDE, Cached, OnDemand, checksumOf, ended, forget, helperOf,
                              helpers, leavesNothing, localDisk, makeFile, needOwnMemory, prefetched, python,
                              readInTime, reader, started, words)
from run_account import NOBODY, asUser, canBeRunBy
from slow_storage import SlowStorage, whyNotSlow

READ_US = 500


@contextlib.contextmanager
def slowStorage(work, **more):
    if why := whyNotSlow():
        raise RuntimeError(why)
    with SlowStorage(work, "--cache", "--read-us", READ_US, **more) as slow:
        yield slow


# What is fetched.

def wanted(checks, work):
    if why := whyNotSlow():
        checks.skip("slow storage", why)
    else:
        with slowStorage(work) as slow:
            readInTime(checks, "slow storage", work, os.path.join(slow.path, "data"))
    with localDisk(work) as local:
        readInTime(checks, "local disk", work, os.path.join(local, "data"))
    leavesNothing(checks, "wanted")


def sameBytes(checks, work):
    """Patterns of each kind: what is read is what is there, whatever was fetched."""
    with slowStorage(work) as slow:
        path = makeFile(os.path.join(slow.path, "data"), 96 << 20)
        for pattern in ("strided1", "strided2", "composition", "random"):
            command = reader(path, 100, "--compute-us", 200, pattern=pattern)
            plain = run(command)
            forget(path)
            result, counts = prefetched(work, command)
            checks.equal((result.status, result.err), (0, b""), f"{pattern}: status, standard error")
            checks.equal(checksumOf(result), checksumOf(plain), f"{pattern}: checksum")
            print(f"{pattern}: {counts['text']}")
        command = [program("c_loader"), path, "--records", 200, "--request", BLOCK, "--processes", 4,
                   "--epochs", 2]
        plain = run(command)
        forget(path)
        result, counts = prefetched(work, command)
        checks.equal((result.status, checksumOf(result)), (0, checksumOf(plain)), "loader: status, checksum")
        checks.that(counts["processes"] >= 4, f"loader: processes: {counts['processes']}")
    leavesNothing(checks, "same bytes")


SMALL_READS = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
for i in range(400):
    os.pread(fd, 1024, (i + 1) * 65536)
"""
DIRECT_READS = """
import mmap, os, sys, time
fd, page = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 65536)
for i in range(200):
    os.preadv(fd, [page], (i + 1) * 131072)
    time.sleep(0.0003)
"""
WRITTEN = """
import os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR)
os.pwrite(fd, b"x" * 65536, 0)
for i in range(200):
    os.pread(fd, 65536, (i + 1) * 131072)
    time.sleep(0.0003)
"""
OPEN_TO_WRITE = """
import os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR)
for i in range(200):
    os.pread(fd, 65536, (i + 1) * 131072)
    time.sleep(0.0003)
"""
WRITTEN_BY_OTHER = """
import os, sys, time
fd = os.open(sys.argv[1], os.O_RDONLY)
if os.fork() == 0:
    other = os.open(sys.argv[1], os.O_WRONLY)
    os.pwrite(other, b"x" * 65536, 0)
    time.sleep(0.1)
    os._exit(0)
os.wait()
for i in range(200):
    os.pread(fd, 65536, (i + 1) * 131072)
    time.sleep(0.0003)
"""


def notWanted(checks, work):
    """Nothing is fetched, by the counts."""
    def check(what, path, command):
        forget(path)
        result, counts = prefetched(work, command)
        checks.equal((result.status, result.err), (0, b""), f"{what}: status, standard error")
        checks.equal((counts["prefetched_bytes"], counts["requests"]), (0, 0), f"{what}: fetched: {counts}")
        return counts

    with slowStorage(work) as slow, localDisk(work) as local:
        for name, folder in (("slow storage", slow.path), ("local disk", local)):
            path = makeFile(os.path.join(folder, "data"))
            check(f"{name}, contiguous", path, reader(path, 400, "--compute-us", 200, pattern="contiguous"))
            check(f"{name}, small", path, [sys.executable, "-c", SMALL_READS, path])
            check(f"{name}, direct", path, [sys.executable, "-c", DIRECT_READS, path])
            check(f"{name}, written", path, [sys.executable, "-c", WRITTEN, path])
            check(f"{name}, written by another", path, [sys.executable, "-c", WRITTEN_BY_OTHER, path])
        path = makeFile(os.path.join(slow.path, "data"))
        check("slow storage, open to be written", path, [sys.executable, "-c", OPEN_TO_WRITE, path])
    in_memory = makeFile("/dev/shm/data", 16 << 20)
    counts = check("memory", in_memory, reader(in_memory, 100, "--compute-us", 500))
    os.unlink(in_memory)
    checks.that(len(counts["left_alone"]) <= 1 and all("memory" in why for why in counts["left_alone"]),
                f"memory: why: {counts['left_alone']}")
    leavesNothing(checks, "not wanted")


# Two mounts that do not tell each other.

def staleBlocks(checks, work):
    rounds = 1000 if takesAll() else 300
    with slowStorage(work, name="one") as one, slowStorage(work, name="two", backing=one.backing) as two:
        for where in ("inside", "outside", None):
            with open(os.path.join(one.backing, "data"), "wb") as file:
                file.truncate((rounds + 1) * STRIDE + BLOCK)
            pipes = [os.path.join(work, name) for name in ("to-reader", "to-writer")]
            for pipe in pipes:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(pipe)
                os.mkfifo(pipe)
            write = python("rewritten_blocks.py", "write", os.path.join(two.path, "data"), rounds, 0, *pipes)
            read = python("rewritten_blocks.py", "read", os.path.join(one.path, "data"), rounds, 0, *pipes)
            if where == "inside":
                script = os.path.join(work, "both.sh")
                with open(script, "w", encoding="utf-8") as file:
                    file.write(f"{shlex.join(write)} &\nexec {shlex.join(read)}\n")
                result = run([*words("-q"), "sh", script])
            else:
                with started(write) as writer:
                    result = run((words("-q") if where else []) + read)
                    checks.equal(ended(writer)[0], 0, f"writer {where}: its status")
            checks.equal((result.status, result.out), (0, b"0 of %d stale: []\n" % rounds),
                         f"writer {where or 'outside, untraced'}: blocks of the reader; {result.err!r}")
    leavesNothing(checks, "stale blocks")


# What the helper does beside a program.

def sideEffects(checks, work):
    """Each right after reads, while the helper is busy: what the calls give is what they give untraced."""
    times = 10 if takesAll() else 2
    with slowStorage(work) as slow, localDisk(work) as local:
        for name, folder in (("slow storage", slow.path), ("local disk", local)):
            for what in ("remove", "rename", "truncate", "lease", "locks", "wait", "descriptors"):
                said = set()
                for way in ["plain"] + ["traced"] * (what == "descriptors") + ["prefetched"] * times:
                    for old in os.listdir(folder):
                        if old.startswith("of"):
                            shutil.rmtree(os.path.join(folder, old))
                    directory = os.path.join(folder, "of")
                    os.mkdir(directory)
                    path = makeFile(os.path.join(directory, "data"), 16 << 20)
                    forget(path)
                    command = python("after_reads.py", path, what)
                    if way == "traced":
                        result = run([omnio(), "trace", "-o", emptied(os.path.join(work, "trace")), "--", *command])
                        said = set()  # the tracer has a descriptor of its own
                    else:
                        result = run((words("-q") if way == "prefetched" else []) + command)
                    said.add((result.status, result.out, result.err))
                checks.equal(len(said), 1, f"{name}, {what}: {sorted(said)}")
    leavesNothing(checks, "side effects")


def unmounted(checks, work):
    """By a user who waits for the reader to end: the helper lets go of a file as soon as it sees that."""
    with slowStorage(work) as slow, localDisk(work) as local:
        for name, folder in (("slow storage", slow.path), ("local disk", local)):
            path = makeFile(os.path.join(folder, "data"))
            forget(path)
            process = started([*words("-q"), "sh", "-c", '"$@" > /dev/null; echo read; read -r _', "sh",
                               *reader(path, 100, "--compute-us", 300)])
            checks.equal(process.stdout.readline(), b"read\n", f"{name}: the reader has ended")
            # The run goes on, and its helper is there still.
            until(lambda where=folder: run(["umount", where]).status == 0, f"{name} can be unmounted")
            if folder == slow.path:
                slow.stop()  # it has ended
            checks.equal(len(helpers()), 1, f"{name}: helpers")
            checks.equal(ended(process, b"\n"), (0, b"", b""), f"{name}: the rest of the run")
    leavesNothing(checks, "unmounted")


def openFiles(pid):
    found = set()
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # it was closed just now
            found.add(os.readlink(f"/proc/{pid}/fd/{name}"))
    return found


def letGo(checks, work):
    """A file on a local disk is open in the helper for the time of a request alone; on other storage until
    the reader has closed it, though no event tells of that, and what was under way then is answered."""
    with localDisk(work) as local:
        path = makeFile(os.path.join(local, "data"))
        forget(path)
        with Cached(path) as cached, OnDemand(path, words("-q")) as on_demand:
            readAhead(cached, on_demand, range(1, 41))
            until(lambda: path not in openFiles(helperOf()), "local disk: the helper has closed the file")
            checks.equal(on_demand.end(), (0, b"", b""), "local disk: status, output")
    with slowStorage(work, control=True) as slow:
        path = makeFile(os.path.join(slow.path, "data"))
        forget(path)
        numbers = iter(range(1, FILE_BYTES // STRIDE))
        with OnDemand(path, words("-q")) as on_demand:
            def isOpen():
                on_demand.read(next(numbers) * STRIDE)
                return path in openFiles(helperOf())
            until(isOpen, "slow storage: the helper has the file open")
            slow.hold("read")
            checks.equal(on_demand.tell("close"), 0, "slow storage: it is closed")

            def isLetGo():
                if waiting := len(slow.held()):  # requests that were under way hold the file
                    slow.let(waiting)
                return path not in openFiles(helperOf())
            until(isLetGo, "slow storage: the helper has closed the file")
            slow.go()
            until(lambda: run(["umount", slow.path]).status == 0, "slow storage: it can be unmounted")
            slow.stop()
            checks.equal(on_demand.end(), (0, b"", b""), "slow storage: status, output")
    leavesNothing(checks, "let go")


# Orders, budget, output.

def readAhead(cached, on_demand, numbers):
    """Reads those blocks, and waits until the helper is ahead of them."""
    for number in numbers:
        on_demand.read(number * STRIDE)
    last = numbers[-1] + 1
    until(lambda: cached.has(last * STRIDE), f"block {last} is fetched")


def orders(checks, work):
    with slowStorage(work) as slow:
        path = makeFile(os.path.join(slow.path, "data"))
        forget(path)
        with Cached(path) as cached, OnDemand(path, words("-q")) as on_demand:
            readAhead(cached, on_demand, range(1, 41))
            result = run([omnio(), "prefetch", "--off"])
            checks.equal((result.status, result.out), (0, b"1 helper was told\n"), "--off")
            for number in range(41, 81):  # by then it has heard it, and what was under way has come
                on_demand.read(number * STRIDE)
            time.sleep(0.1)
            forget(path)
            for number in range(81, 121):
                on_demand.read(number * STRIDE)
            checks.that(not cached.has(121 * STRIDE) and not cached.has(122 * STRIDE), "nothing after --off")
            checks.equal(run([omnio(), "prefetch", "--on"]).status, 0, "--on")
            for number in range(121, 401):
                on_demand.read(number * STRIDE)
                if cached.has((number + 1) * STRIDE):
                    break
            until(lambda: cached.has((number + 1) * STRIDE), "fetched again after --on")
            if shutil.which("setpriv") and canBeRunBy(NOBODY, omnio()):
                result = run([*asUser(NOBODY), omnio(), "prefetch", "--off"])
                checks.equal((result.status, result.out), (1, b""), "--off by another user")
            else:
                checks.skip("--off by another user", "omnio cannot be run by others here")
            checks.equal(on_demand.end(), (0, b"", b""), "status, output")
    leavesNothing(checks, "orders")
    result = run([omnio(), "prefetch", "--off"])
    checks.equal((result.status, result.err.count(b"\n")), (1, 1), f"--off without a run: {result.err!r}")
    checks.that(run([omnio(), "prefetch", "--off", "--on"]).status == 2, "--off and --on")


def budget(checks, work):
    """What is fetched and not read yet is never more."""
    with slowStorage(work) as slow:
        path = makeFile(os.path.join(slow.path, "data"))
        for name, size in (("256K", 256 << 10), ("1M", 1 << 20)):
            forget(path)
            said = os.path.join(work, "said.json")
            most = 0
            with Cached(path) as cached, OnDemand(path, words("-q", "--json", said, "--budget", name)) as on_demand:
                readAhead(cached, on_demand, range(1, 41))
                for number in range(41, 161, 20):
                    readAhead(cached, on_demand, range(number, number + 20))
                    after = (number + 20) * STRIDE
                    most = max(most, cached.pages(after, FILE_BYTES - after) * PAGE)
                checks.equal(on_demand.end(), (0, b"", b""), f"{name}: status, output")
            with open(said, encoding="utf-8") as file:
                counts = json.load(file)
            checks.equal(counts["budget_bytes"], size, f"{name}: the budget that is told")
            checks.that(0 < most <= size, f"{name}: most bytes ahead of the reader: {most}")
    for word in ("0", "much", "-1"):
        result = run([*words(f"--budget={word}"), "true"])
        checks.equal((result.status, result.err.count(b"is not a size")), (2, 1), f"--budget {word}: {result.err!r}")
    leavesNothing(checks, "budget")


def output(checks, work):
    """With -o the trace is there and whole; without it nothing is, though a process outlives the command."""
    directory = emptied(os.path.join(work, "here"))
    with localDisk(work) as local:
        path = makeFile(os.path.join(local, "data"))
        forget(path)
        to = os.path.join(work, "kept")
        result, counts = prefetched(work, reader(path, 100, "--compute-us", 300), ["-o", to])
        checks.equal((result.status, result.err), (0, b""), "-o: status, standard error")
        state = stats(to)["trace"]
        checks.equal((state["whole"], state["processes"]), (True, 1), f"-o: the trace: {state}")
        names = [name for name in os.listdir(to) if name.startswith("prefetch-")]
        checks.equal(names, [f"prefetch-{counts['host']}.json"], "-o: what is told of the helper")
        with open(os.path.join(to, names[0]), encoding="utf-8") as file:
            checks.equal(json.load(file), counts, "-o: that document and the one of --json")
        leavesNothing(checks, "-o", directory)

        result = run([*words(), *reader(path, 100)], cwd=directory)
        checks.equal((result.status, result.err.count(b"\n")), (0, 1), f"one sentence at the end: {result.err!r}")
        leavesNothing(checks, "without -o", directory)
        result = run([*words("-q"), *reader(path, 100)], cwd=directory)
        checks.equal((result.status, result.err), (0, b""), "-q")
        leavesNothing(checks, "-q", directory)
        result = run([*words("-q", "--json", "/nowhere/said"), *reader(path, 10)], cwd=directory)
        checks.equal((result.status, result.err.count(b"\n"), b"/nowhere/said" in result.err), (0, 1, True),
                     f"--json that cannot be written: {result.err!r}")
        private = os.path.join(work, "private")
        with open(private, "w", encoding="utf-8"):
            os.chmod(private, 0o600)
        run([*words("-q", "--json", private), *reader(path, 10)], cwd=directory)
        checks.equal((oct(os.stat(private).st_mode & 0o777), os.path.getsize(private) > 0), ("0o600", True),
                     "--json to a file that is there: its mode, whether it has something")
        result = run([*words("-q", "--json", "/dev/stdout"), "true"], cwd=directory)
        checks.that(result.out.startswith(b"{") and result.err == b"", f"--json to standard output: {result}")

        # The daemon goes on, has its rings, and starts processes when the run is over.
        fifo = os.path.join(work, "fifo")
        os.mkfifo(fifo)
        daemon = 'setsid sh -c \'cat "$0"; cat "$1" > /dev/null; exec "$@"\' "$@" > /dev/null 2>&1 &'
        result = run([*words("-q"), "sh", "-c", daemon, "sh", fifo, path, *reader(path, 10)[:0], "cat", path],
                     cwd=directory)
        checks.equal((result.status, result.out, result.err), (0, b"", b""), "with a daemon")
        with open(fifo, "wb"):
            pass
    leavesNothing(checks, "after the daemon", directory)


# Bad input.

def badInput(checks, work):
    directory = emptied(os.path.join(work, "here"))
    with localDisk(work) as local:
        path = makeFile(os.path.join(local, "data"), 16 << 20)
        command = reader(path, 50)
        checksum = checksumOf(run(command))

        def check(what, result, says):
            checks.equal((result.status, checksumOf(result)), (0, checksum), f"{what}: status, checksum")
            checks.that(result.err.count(b"\n") == 1 and says in result.err, f"{what}: it is said: {result.err!r}")
            leavesNothing(checks, what, directory)

        for status, name in ((127, "no-such-command"), (126, local)):
            result = run([*words(), name], cwd=directory)
            checks.equal((result.status, result.out, result.err.count(b"\n")), (status, b"", 1),
                         f"{name}: {result.err!r}")
            leavesNothing(checks, name, directory)
        for status in (0, 3, 255):
            result = run([*words("-q"), "sh", "-c", f"exit {status}"], cwd=directory)
            checks.equal((result.status, result.out, result.err), (status, b"", b""), f"exit {status}")
        result = run([*words("-q"), "sh", "-c", "kill -9 $$"], cwd=directory)
        checks.equal(result.status, 137, "killed")

        rings = emptied(os.path.join(local, "rings"))
        check("rings on a disk", run([*words(), *command], cwd=directory, env=environment(OMNIO_RING_DIR=rings)),
              b"")
        checks.equal(os.listdir(rings), [], "rings on a disk: what is left there")
        result = run(["unshare", "-m", "sh", "-c", 'mount --bind "$0" /dev/shm && exec "$@"', rings, *words(),
                      *command], cwd=directory)
        if os.stat("/tmp").st_dev != os.stat("/dev/shm").st_dev and not isTmpfs("/tmp"):
            check("no tmpfs", result, b"nothing is prefetched: ")
            result = run(["unshare", "-m", "sh", "-c", 'mount --bind "$0" /dev/shm && exec "$@"', rings,
                          *words("-o", os.path.join(work, "no-tmpfs")), *command], cwd=directory)
            check("no tmpfs, with -o", result, b"nothing was prefetched: ")
        else:
            checks.skip("no tmpfs", "/tmp is one here")

        check("no library", run([*words(), *command], cwd=directory, env=environment(OMNIO_LIBRARY_DIR=directory)),
              b"nothing is prefetched: ")

        # The helper is the program that was started, whose file is gone by then.
        copy = os.path.join(work, "omnio")
        gone = ("import os, shutil, sys; shutil.copy(sys.argv[1], sys.argv[2]); "
                "fd = os.open(sys.argv[2], os.O_RDONLY); os.set_inheritable(fd, True); os.unlink(sys.argv[2]); "
                "os.execve(fd, sys.argv[3:], os.environ)")
        result = run([sys.executable, "-c", gone, omnio(), copy, *words(), *command], cwd=directory,
                     env=environment(OMNIO_LIBRARY_DIR=os.path.dirname(preloadLibrary("serial"))))
        check("a helper that cannot be executed", result, b"nothing was prefetched: ")

        static = staticProgram(work)
        if static is None:
            checks.skip("static program", "no compiler, or no static C library")
        else:
            result = run([*words(), static], cwd=directory)
            checks.equal((result.status, result.out), (4, b"as ever\n"), "static: status, output")
            checks.that(result.err.count(b"\n") == 1, f"static: one sentence: {result.err!r}")
            leavesNothing(checks, "static", directory)

        # What a process may have limits the helper as well.
        for limit in ("-n 16", "-v 300000", "-u 1"):
            result = run(["sh", "-c", f'ulimit {limit}; exec "$@"', "sh", *words(), *command], cwd=directory)
            checks.equal((result.status, checksumOf(result)), (0, checksum), f"ulimit {limit}: status, checksum")
            leavesNothing(checks, f"ulimit {limit}", directory)


def isTmpfs(path):
    return run(["stat", "-f", "-c", "%T", path]).out == b"tmpfs\n"


def staticProgram(work):
    source, binary = os.path.join(work, "static.c"), os.path.join(work, "static")
    with open(source, "w", encoding="utf-8") as file:
        file.write('#include <stdio.h>\nint main(void) { puts("as ever"); return 4; }\n')
    compiler = shutil.which("cc")
    return None if compiler is None or run([compiler, "-static", source, "-o", binary]).status else binary


# Two users on one node.

def users(checks, work):
    """Each has a helper of their own, also where both are in one run."""
    if not shutil.which("setpriv") or not canBeRunBy(NOBODY, program("c_prefetch_reader")) or \
            not canBeRunBy(NOBODY, omnio()):
        checks.skip("users", "the programs cannot be run by another user here")
        return
    by = next((one for one in (sys.executable, "/usr/bin/python3") if canBeRunBy(NOBODY, one)), None)
    if by is None:
        checks.skip("users", "Python cannot be run by another user here")
        return
    os.chmod(work, 0o755)
    with localDisk(work) as local:
        path = makeFile(os.path.join(local, "data"))
        pairs = [[words("-q"), [*asUser(NOBODY), *words("-q")]],     # a run each
                 [words("-q"), None]]                                # both in one
        for pair in pairs:
            forget(path)
            if pair[1] is None:
                script = '"$@" & exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"'
                processes = [started([*pair[0], "sh", "-c", script, "sh",
                                      *python("blocks_on_demand.py", path, BLOCK, by=by)])]
            else:
                processes = [started([*one, *python("blocks_on_demand.py", path, BLOCK, by=by)]) for one in pair]
            found = until(lambda: len(helpers()) == 2 and helpers(), "two helpers are there")
            owners = {os.stat(f"/proc/{pid}").st_uid for pid in found}
            checks.equal(owners, {0, NOBODY}, "whose helpers there are")
            for process in processes:
                status, _, err = ended(process)
                checks.equal(status, 0, f"status; {err!r}")
            leavesNothing(checks, f"{len(processes)} runs")


def main():
    needOwnMemory()
    runCases(wanted, sameBytes, notWanted, staleBlocks, sideEffects, unmounted, letGo, orders, budget, output, badInput,
             users, needs_mpi=False)


if __name__ == "__main__":
    main()
