"""However a run of `omnio prefetch` ends, no process of it is left, no shared memory and no file: where the
application, the helper or `omnio prefetch` is killed, where many processes come and go or read at once.

  prefetch_ends.py [CASE...]    all cases by default; OMNIO_TEST_ALL=yes: each kill 100 times
"""

import contextlib
import os
import random
import signal
import sys
import time

from omnio_testing import emptied, program, run, runCases, takesAll, until
from prefetch_testing import (BLOCK, STRIDE, checksumOf, ended, forget, helperOf, helpers, leavesNothing, localDisk,
                              makeFile, needOwnMemory, prefetched, reader, removeLeft, started, words)

TIMES = 100 if takesAll() else 5
LATEST_KILL_S = 0.1
READS = 120


def chances():
    seed = int(os.environ.get("OMNIO_TEST_SEED", time.time_ns() % 1000000))
    print(f"OMNIO_TEST_SEED={seed}", flush=True)
    return random.Random(seed)


def childOf(pid):
    """The first child, as soon as there is one."""
    def look():
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return file.read().split()
    return int(until(look, "the application is started")[0])


def kill(pid, number):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def kills(checks, work):
    """At random moments. Where the helper is killed, or `omnio prefetch` itself, the application goes on as
    without."""
    chance = chances()
    directory = emptied(os.path.join(work, "here"))
    with localDisk(work) as local:
        path = makeFile(os.path.join(local, "data"), (READS + 1) * STRIDE)
        command = reader(path, READS, "--compute-us", 500)
        checksum = checksumOf(run(command))

        def begun(**more):
            forget(path)
            return started([*words("-q"), *command], cwd=directory, **more)

        def application():
            process = begun()
            child = childOf(process.pid)
            time.sleep(chance.uniform(0, LATEST_KILL_S))
            kill(child, signal.SIGKILL)
            status, out, _ = ended(process)
            checks.that(status == 137 or (status == 0 and checksum.encode() in out),
                        f"application killed: {status}, {out!r}")

        def helper():
            process = begun()
            time.sleep(chance.uniform(0, LATEST_KILL_S))
            for pid in helpers():
                kill(pid, signal.SIGKILL)
            status, out, _ = ended(process)
            checks.that(status == 0 and checksum.encode() in out, f"helper killed: {status}, {out!r}")

        def omnioItself():
            process = begun()
            child = childOf(process.pid)
            time.sleep(chance.uniform(0, LATEST_KILL_S))
            process.kill()
            status, out, _ = ended(process)  # its end of the pipe is the application's as well
            checks.that(checksum.encode() in out, f"omnio killed: {status}, {out!r}")
            until(lambda: not os.path.exists(f"/proc/{child}"), "the application ends")

        def group():
            """The helper is in a group of its own."""
            process = begun(start_new_session=True)
            childOf(process.pid)
            time.sleep(chance.uniform(0, LATEST_KILL_S))
            os.killpg(process.pid, signal.SIGKILL)
            ended(process)

        for case in (application, helper, omnioItself, group):
            for _ in range(TIMES):
                case()
                if case is group and not helpers():
                    # Killed before a helper was there, or when it had done its work: no process is left to clean up.
                    removeLeft()
                leavesNothing(checks, case.__name__, directory)

        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            for _ in range(TIMES):
                process = begun()
                childOf(process.pid)
                time.sleep(chance.uniform(0, LATEST_KILL_S))
                process.send_signal(number)
                status, _, _ = ended(process)
                checks.that(status in (128 + number, -number, 0), f"{number.name}: status {status}")
                leavesNothing(checks, number.name, directory)


def helperDies(checks, work):
    """The next process starts another helper."""
    with localDisk(work) as local:
        path = makeFile(os.path.join(local, "data"))
        process = started([*words("-q"), "sh", "-c", 'cat "$0" | cksum; read -r _; cat "$0" | cksum; read -r _',
                           path])
        first = helperOf()
        process.stdout.readline()
        kill(first, signal.SIGKILL)
        # Its name is free when the last of it is: its command line and namespaces are gone before that.
        until(lambda: not os.path.exists(f"/proc/{first}"), "the helper is gone")
        process.stdin.write(b"\n")
        process.stdin.flush()
        second = helperOf("another helper is there")
        checks.that(second != first, "another helper")
        process.stdout.readline()
        checks.equal(ended(process, b"\n")[::2], (0, b""), "status, standard error")
    leavesNothing(checks, "helper dies")


def manyProcesses(checks, work):
    one_by_one, at_once = (500, 64) if takesAll() else (100, 32)
    directory = emptied(os.path.join(work, "here"))
    with localDisk(work) as local:
        path = makeFile(os.path.join(local, "data"), 2 << 20)
        loop = f'i=0; while [ $i -lt {one_by_one} ]; do cat "$0" > /dev/null || exit 1; i=$((i + 1)); done; echo done'
        result, counts = prefetched(work, ["sh", "-c", loop, path], cwd=directory)
        checks.equal((result.status, result.out, result.err), (0, b"done\n", b""), "one after the other")
        checks.that(counts and counts["processes"] >= 1, f"one after the other: {counts}")
        leavesNothing(checks, "one after the other", directory)
        parts = f'for i in $(seq {at_once}); do "$@" > out.$i & done; wait; cat out.* | sort -u | wc -l; rm out.*'
        command = [program("c_prefetch_reader"), "strided1", path, "--requests", "10", "--request", str(BLOCK)]
        parts = parts.replace('> out.$i', '| sed "s/.*checksum/checksum/" > out.$i')
        result, counts = prefetched(work, ["sh", "-c", parts, "sh", *command], cwd=directory)
        checks.equal((result.status, result.out.strip(), result.err), (0, b"1", b""), f"{at_once} at once")
        leavesNothing(checks, f"{at_once} at once", directory)


THREADS = """
import os, sys, threading, zlib
path, count = sys.argv[1], int(sys.argv[2])
sums = [0] * count
barrier = threading.Barrier(count)
def read(number):
    fd = os.open(path, os.O_RDONLY)
    barrier.wait()
    for i in range(20):
        sums[number] = zlib.crc32(os.pread(fd, 65536, (i + 1) * 131072), sums[number])
    os.close(fd)
threads = [threading.Thread(target=read, args=(number,)) for number in range(count)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(set(sums)), sums[0])
"""


def manyThreads(checks, work):
    with localDisk(work) as local:
        path = makeFile(os.path.join(local, "data"), 4 << 20)
        command = [sys.executable, "-c", THREADS, path, "200"]
        plain = run(command)
        for _ in range(50 if takesAll() else 5):
            forget(path)
            result, counts = prefetched(work, command)
            checks.equal((result.status, result.out, result.err), (0, plain.out, b""), "200 threads")
            checks.equal(counts and counts["processes"], 1, f"200 threads: {counts}")
    leavesNothing(checks, "200 threads")


def fullSpeed(checks, work):
    """Small reads from the page cache, faster than the helper can look at them: it loses some and goes on."""
    reads = 1000000 if takesAll() else 300000
    with localDisk(work) as local:
        path = makeFile(os.path.join(local, "data"), 128 << 20)
        for request in (64, 2048):
            count = min(reads, (100 << 20) // request // 2)
            command = [program("c_prefetch_reader"), "strided1", path, "--requests", str(count), "--request",
                       str(request), "--stride", str(2 * request)]
            plain = run(command)
            result, counts = prefetched(work, command)
            checks.equal((result.status, result.err), (0, b""), f"{count} reads of {request}: status")
            checks.equal(checksumOf(result), checksumOf(plain), f"{count} reads of {request}: checksum")
            checks.that(counts is not None, f"{count} reads of {request}: the helper has told what it did")
            if counts:
                checks.that(0 <= counts["used_bytes"] <= counts["prefetched_bytes"], f"counts: {counts}")
                print(f"{count} reads of {request}: {counts['events_lost']} events lost; {counts['text']}")
            leavesNothing(checks, f"{count} reads of {request}")


def main():
    needOwnMemory()
    runCases(kills, helperDies, manyProcesses, manyThreads, fullSpeed, needs_mpi=False)


if __name__ == "__main__":
    main()
