"""The device of the log fills up, turns read-only, fails or disappears in the middle, or a limit
on the size of files is hit: the application finishes with the same output, and the readers say how
many events are missing.

  log_device.py [CASE...]    all cases by default
"""

import os
import shutil
import subprocess
import sys

import devices
from omnio_testing import (Checks, WorkDirectory, differences, emptied, environment, omnio,
                           preloadLibrary, program, quietDeath, run, stats, treeOf)

THREADS, CALLS, SLOTS = 4, 400000, 4000  # files of 32 KB; more log than any device here holds
EVENTS = THREADS * (1 + CALLS + 1)  # opens, writes and closes; its output goes to a pipe


class Outcome:
    def __init__(self, status, out, err, tree):
        self.status, self.out, self.err, self.tree = status, out, err, tree


def runProgram(directory, wrapper=(), env=None, at_half=lambda: None):
    """The program stops halfway until its input ends: meanwhile `at_half` happens."""
    emptied(directory)
    command = [*wrapper, program("c_steady"), directory, str(THREADS), str(CALLS), str(SLOTS)]
    with subprocess.Popen(command, env=env or environment(), stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          preexec_fn=quietDeath) as process:
        first = process.stdout.readline()
        try:
            if first == b"half\n":
                at_half()
        finally:
            out, err = process.communicate()
    status = process.returncode
    return Outcome(128 - status if status < 0 else status, first + out, err, treeOf(directory))


def traced(path):
    return [omnio(), "trace", "-o", path, "--"]


def sameAs(checks, case, got, wanted):
    checks.equal((got.status, got.out), (wanted.status, wanted.out), f"{case}: status and output")
    checks.that(got.tree == wanted.tree,
                f"{case}: files: {differences(got.tree, wanted.tree)}")
    if got.err:
        print(f"{case}: standard error: {got.err.decode(errors='replace').strip()}")


def tellsItsLoss(checks, case, path, some=True):
    state = stats(path)["trace"]
    print(f"{case}: {state['events']} events, {state['events_missing']} missing, of "
          f"{EVENTS}; {state['reasons']}")
    checks.equal(state["events"] + state["events_missing"], EVENTS,
                 f"{case}: events that are there and events that are missing")
    checks.that(state["events_missing"] > 0, f"{case}: events are missing")
    if some:
        checks.that(state["events"] > 0, f"{case}: some events are there")
    checks.that(not state["whole"] and state["reasons"], f"{case}: not whole, with a reason")
    text = run([omnio(), "stats", path]).out.decode().splitlines()[:6]
    # Large numbers may be grouped for the eye.
    plain = [line.replace(",", "").replace("'", "") for line in text]
    checks.that(any(str(state["events_missing"]) in line for line in plain),
                f"{case}: the text form says how many are missing in its first lines: {text}")


def onDevice(make, at_half, prepare=lambda device: None):
    def case(checks, name, work, wanted):
        with make(work, name.replace(" ", "-")) as device:
            prepare(device)
            directory = os.path.join(work, "run")
            got = runProgram(directory, traced(device.path), at_half=lambda: at_half(device))
            sameAs(checks, name, got, wanted)
            tellsItsLoss(checks, name, device.path)
    return case


def _nothing(_):
    pass


def readOnlyFromTheStart(checks, name, work, wanted):
    """Only the preloaded library can meet this: `omnio trace` makes the directory itself."""
    with devices.tmpfs(work, "read-only") as device:
        os.makedirs(device.path)
        devices.must("mount", "-o", "remount,ro", device.mount_point)
        env = environment(LD_PRELOAD=preloadLibrary("serial"), OMNIO_DIR=device.path)
        sameAs(checks, name, runProgram(os.path.join(work, "run"), env=env), wanted)


def unmounted(checks, name, work, wanted):
    """The file system lives on while the log is open, so that most of it can be found later."""
    with devices.roomyExt4(work, "unmounted") as device:
        got = runProgram(os.path.join(work, "run"), traced(device.path),
                         at_half=device.unmountLazily)
        sameAs(checks, name, got, wanted)
        device.refresh()
        saysWhatIsLeft(checks, name, device.path)


def deviceFails(checks, name, work, wanted):
    """What had been accepted but not yet written is gone with the device: it cannot be counted
    by the process, but the reader sees the gap."""
    with devices.roomyExt4(work, "failing") as device:
        got = runProgram(os.path.join(work, "run"), traced(device.path), at_half=device.shutDown)
        sameAs(checks, name, got, wanted)
        device.refresh()
        saysWhatIsLeft(checks, name, device.path)


def saysWhatIsLeft(checks, name, path):
    result = run([omnio(), "stats", path, "--json"])
    if result.status == 1:
        lines = result.err.decode().strip().splitlines()
        checks.equal(len(lines), 1, f"{name}: one sentence")
        print(f"{name}: {lines}")
        return
    state = stats(path)["trace"]
    print(f"{name}: {state['events']} events, {state['events_missing']} missing, of "
          f"{EVENTS}; {state['reasons']}")
    checks.that(state["events"] <= EVENTS, f"{name}: no event is read twice")
    if state["events"] < EVENTS:
        checks.that(not state["whole"] and state["reasons"], f"{name}: not whole, with a reason")


def slowToBegin(checks, name, work, wanted):
    """The first write of the log takes a second, as on a busy metadata server, while all threads go
    on: they have to wait for it, or keep what they have; nothing is lost, for nothing failed."""
    path = emptied(os.path.join(work, "slow"))
    if shutil.which("strace") is None:
        raise devices.NotHere("strace is not installed, which delays the calls")
    # Only the tracer writes by pwritev here; `when=1` is the first of each thread.
    delay = ["strace", "-f", "-qq", "--seccomp-bpf", "-o", "/dev/null", "-e", "signal=none",
             "-e", "trace=pwritev,pwritev2", "-e", "inject=pwritev,pwritev2:delay_exit=1s:when=1",
             "-E", f"LD_PRELOAD={preloadLibrary('serial')}", "-E", f"OMNIO_DIR={path}"]
    sameAs(checks, name, runProgram(os.path.join(work, "run"), delay), wanted)
    state = stats(path)["trace"]
    checks.equal((state["whole"], state["events"], state["events_missing"]), (True, EVENTS, 0),
                 f"{name}: whole, events, missing; {state['reasons']}")


def removed(checks, name, work, wanted):
    """rm -r of the whole trace in the middle; what is readable afterwards is the reader's luck."""
    path = os.path.join(work, "removed-trace")
    got = runProgram(os.path.join(work, "run"), traced(path),
                     at_half=lambda: shutil.rmtree(path))
    sameAs(checks, name, got, wanted)
    if os.path.isdir(path):
        saysWhatIsLeft(checks, name, path)
    else:
        checks.equal(run([omnio(), "stats", path]).status, 1, f"{name}: omnio stats")


def renamed(checks, name, work, wanted):
    """The log goes where its directory goes; only what is not yet begun has no place any more."""
    path, moved = os.path.join(work, "renamed-trace"), os.path.join(work, "moved-trace")
    got = runProgram(os.path.join(work, "run"), traced(path),
                     at_half=lambda: os.rename(path, moved))
    sameAs(checks, name, got, wanted)
    state = stats(moved)["trace"]
    checks.equal((state["events"], state["events_missing"]), (EVENTS, 0),
                 f"{name}: events, missing; {state['reasons']}")


def fileSizeLimit(kibibytes, everything):
    """SIGXFSZ would end the application; its own files stay below the limit, the log does not."""
    def case(checks, name, work, wanted):
        path = os.path.join(work, name.replace(" ", "-"))
        limit = ["sh", "-c", f"ulimit -f {kibibytes * 2}; exec \"$@\"", "sh"]  # blocks of 512 bytes
        wrapper = [*limit, *traced(path)] if everything else [*traced(path), *limit]
        sameAs(checks, name, runProgram(os.path.join(work, "run"), wrapper), wanted)
        # A limit that nothing of the log fits under leaves nothing.
        tellsItsLoss(checks, name, path, some=not everything)
    return case


CASES = {
    "ext4 of 4 MiB": onDevice(devices.ext4, _nothing),
    "ext4 filled by others": onDevice(devices.roomyExt4, lambda device: device.fillUp(0)),
    "tmpfs of 2 MiB": onDevice(devices.tmpfs, _nothing),
    "xfs with 2 MiB left": onDevice(devices.xfs, _nothing,
                                    prepare=lambda device: device.fillUp(2 << 20)),
    "ext4 turns read-only": onDevice(devices.roomyExt4, lambda device: device.becomeReadOnly()),
    "tmpfs read-only from the start": readOnlyFromTheStart,
    "slow to begin": slowToBegin,
    "ext4 fails": deviceFails,
    "ext4 is unmounted": unmounted,
    "trace removed": removed,
    "trace renamed": renamed,
    "file size limit of 1 MiB": fileSizeLimit(1024, everything=False),
    "file size limit of 64 KiB for all": fileSizeLimit(64, everything=True),
}
NEED_NO_ROOT = [name for name in CASES
                if "limit" in name or name in ("trace removed", "trace renamed", "slow to begin")]


def main(chosen):
    checks = Checks()
    with WorkDirectory() as work:
        directory = os.path.join(work, "run")
        wanted = runProgram(directory)
        checks.equal(wanted.status, 0, "the program untraced")
        healthy = os.path.join(work, "healthy")
        sameAs(checks, "healthy", runProgram(directory, traced(healthy)), wanted)
        state = stats(healthy)["trace"]
        checks.that(state["whole"] and state["events_missing"] == 0 and
                    state["events"] == EVENTS, f"on a healthy device: {state}")
        bytes_per_event = sum(os.path.getsize(os.path.join(healthy, name))
                              for name in os.listdir(healthy)) / max(1, state["events"])
        print(f"healthy: {state['events']} events, {bytes_per_event:.1f} bytes each")
        shutil.rmtree(healthy)
        for name, case in CASES.items():
            if chosen and name not in chosen:
                continue
            if name not in NEED_NO_ROOT and os.geteuid() != 0:
                checks.skip(name, "needs root to mount")
                continue
            try:
                with checks.case(name):
                    try:
                        case(checks, name, work, wanted)
                    except devices.NotHere as reason:
                        checks.skip(name, str(reason))
            finally:
                sys.stdout.flush()
    checks.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
