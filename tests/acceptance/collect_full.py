"""A process and its `omnio trace` are killed while the device of the trace is full: `omnio collect`
ends with one sentence that says what to do, as often as it is run, and takes no space that a later
try needs; nothing is lost, and when there is room everything is brought in.

  collect_full.py [CASE...]    all cases by default
"""

import contextlib
import os
import signal
import subprocess
import sys

import devices
from omnio_testing import (PATIENCE_S, Checks, WorkDirectory, emptied, environment, needRoot, omnio,
                           program, quietDeath, ringsOf, run, stats, until)
from run_account import waitUntilGone

THREADS, CALLS, SLOTS = 4, 40000, 4000
EVENTS = THREADS * (1 + CALLS // 2)  # when it is halfway: an open and the writes
TRIES = 3
FUTEX = {"x86_64": "202", "aarch64": "98"}[os.uname().machine]  # no thread of the program makes this call


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


def writesNothing(pid):
    """Whether the program, whose own threads have stopped, has no thread that writes to its log: one that the
    tracer has begun, since a write took long, sleeps when it has written what was handed over to it."""
    threads = os.listdir(f"/proc/{pid}/task")
    if len(threads) <= 1 + THREADS:
        return True
    for thread in threads:
        with open(f"/proc/{pid}/task/{thread}/syscall", encoding="ascii") as file:
            if file.read().split()[0] == FUTEX:
                return True
    return False


def killedHalfway(device, directory, left, supervisor):
    """Fills the device when the program is halfway, and kills the program; `supervisor`: and its
    `omnio trace` before. Returns the status and standard error of `omnio trace`."""
    command = [omnio(), "trace", "-o", device.path, "--", program("c_steady"), emptied(directory),
               str(THREADS), str(CALLS), str(SLOTS)]
    with subprocess.Popen(command, env=environment(), stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          preexec_fn=quietDeath) as process:
        assert process.stdout.readline() == b"half\n"
        traced = children(process.pid)[0]
        until(lambda: writesNothing(traced), "what was handed over is written")
        device.fillUp(left)
        if supervisor:
            process.kill()
        os.kill(traced, signal.SIGKILL)
        waitUntilGone(traced)
        _, err = process.communicate(timeout=PATIENCE_S)
        return process.returncode, err


def containersOf(path):
    return {name: os.path.getsize(os.path.join(path, name)) for name in os.listdir(path)
            if name.endswith(".omnio")}


def checkSentence(checks, what, path, err):
    lines = [line for line in err.decode().splitlines() if " stay in " in line]
    checks.equal(len(lines), 1, f"{what}: one sentence about the process: {err!r}")
    wanted = f"free space and run `omnio collect {path}`, or give them up with `omnio collect " \
             f"{path} --discard`"
    checks.that(lines and wanted in lines[0] and "No space left on device" in lines[0],
                f"{what}: the sentence says why, and what to do: {lines}")


def checkComplete(checks, what, path):
    state = stats(path)["trace"]
    checks.equal((state["events"], state["events_missing"]), (EVENTS, 0), f"{what}: events")


def staysFull(make, left):
    def case(checks, name, work):
        with make(work, name.replace(" ", "-")) as device:
            killedHalfway(device, os.path.join(work, "run"), left, supervisor=True)
            checkComplete(checks, f"{name}, before collecting", device.path)
            sizes = None
            for number in range(TRIES):
                what = f"{name}, try {number + 1}"
                result = run([omnio(), "collect", device.path], timeout=PATIENCE_S)
                checks.equal(result.status, 1, f"{what}: status")
                checkSentence(checks, what, device.path, result.err)
                checks.that(len(ringsOf(os.path.dirname(device.path))) >= THREADS,
                            f"{what}: the rings stay")
                if sizes is not None:
                    checks.equal(containersOf(device.path), sizes, f"{what}: writes nothing again")
                sizes = containersOf(device.path)
                checkComplete(checks, what, device.path)
            print(f"{name}: {result.err.decode().strip()}", flush=True)
            os.unlink(os.path.join(device.mount_point, "somebody-else"))
            result = run([omnio(), "collect", device.path], timeout=PATIENCE_S)
            checks.equal((result.status, result.err), (0, b""), f"{name}, with room: {result}")
            checks.equal(ringsOf(os.path.dirname(device.path)), [], f"{name}, with room: rings")
            checkComplete(checks, f"{name}, with room", device.path)
    return case


def givenUp(checks, name, work):
    with devices.tmpfs(work, "given-up") as device:
        killedHalfway(device, os.path.join(work, "run"), 0, supervisor=True)
        result = run([omnio(), "collect", device.path, "--discard"], timeout=PATIENCE_S)
        checks.equal(result.status, 0, f"{name}: {result}")
        checks.equal(ringsOf(os.path.dirname(device.path)), [], f"{name}: rings")
        result = run([omnio(), "collect", device.path], timeout=PATIENCE_S)
        checks.equal(result.status, 0, f"{name}: nothing is left to do: {result}")


def traceEnds(checks, name, work):
    """`omnio trace` itself: it ends, and says the same."""
    with devices.tmpfs(work, "trace-ends") as device:
        status, err = killedHalfway(device, os.path.join(work, "run"), 0, supervisor=False)
        checks.equal(status, 128 + signal.SIGKILL, f"{name}: the status of the command")
        checkSentence(checks, name, device.path, err)
        checkComplete(checks, name, device.path)


CASES = {
    "full tmpfs": staysFull(devices.tmpfs, 0),
    "tmpfs with little room": staysFull(devices.tmpfs, 200 << 10),
    "full ext4": staysFull(devices.ext4, 0),
    "ext4 with little room": staysFull(devices.ext4, 200 << 10),
    "given up": givenUp,
    "omnio trace": traceEnds,
}


def main(chosen):
    needRoot()
    checks = Checks()
    with WorkDirectory() as work:
        for name, case in CASES.items():
            if chosen and name not in chosen:
                continue
            with checks.case(name):
                try:
                    case(checks, name, work)
                except devices.NotHere as reason:
                    checks.skip(name, reason)
            for ring in ringsOf(work):
                with contextlib.suppress(OSError):
                    os.unlink(ring)
    checks.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
