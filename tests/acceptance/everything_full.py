"""The log's device, shared memory, the limit on file sizes and that on descriptors are exhausted at
once: the application's output, status and files are those without the tracer, and the readers tell
how many events are missing.

  everything_full.py [CASE...]    all cases by default
"""

import os
import shutil
import sys

import devices
from log_device import EVENTS, runProgram, sameAs, traced
from omnio_testing import Checks, WorkDirectory, needRoot, run, stats

# The program opens one file a thread, four in all, besides the standard descriptors.
DESCRIPTORS = 8
FILE_BLOCKS = 3000  # of 512 bytes: an eighth of the log; its own files are of 32 KB
DEVICE_LEFT = 700 << 10


def sharedMemory(kibibytes):
    """A /dev/shm of that size that no other process sees; the machine's own stays as it is."""
    return ["unshare", "-m", "--propagation", "private", "sh", "-c",
            f"mount -t tmpfs -o size={kibibytes}k none /dev/shm && exec \"$@\"", "sh"]


def limits(descriptors=DESCRIPTORS, blocks=FILE_BLOCKS):
    return ["sh", "-c", f"ulimit -S -n {descriptors}; ulimit -f {blocks}; exec \"$@\"", "sh"]


def tellsItsLoss(checks, case, path):
    state = stats(path)["trace"]
    print(f"{case}: {state['events']} events, {state['events_missing']} missing, of {EVENTS}; "
          f"{state['reasons']}", flush=True)
    checks.equal(state["events"] + state["events_missing"], EVENTS,
                 f"{case}: events that are there and events that are missing")
    checks.that(state["events_missing"] > 0 and not state["whole"] and state["reasons"],
                f"{case}: not whole, with a reason: {state}")
    return state


def allAtOnce(make, kibibytes, own_rings):
    """`own_rings`: without a ring in memory that outlives the process no reader can be told more than
    the container holds."""
    def case(checks, name, work):
        directory = os.path.join(work, "run")
        around, inside = sharedMemory(kibibytes), limits()
        wanted = runProgram(directory, [*around, *inside])
        checks.equal(wanted.status, 0, f"{name}: the program untraced; {wanted.err!r}")
        with make(work, name.replace(" ", "-")) as device:
            device.fillUp(DEVICE_LEFT)  # full before the limit is reached; afterwards both refuse
            got = runProgram(directory, [*around, *traced(device.path), *inside])
            sameAs(checks, name, got, wanted)
            state = tellsItsLoss(checks, name, device.path)
            checks.that(state["events"] > 0 or not own_rings, f"{name}: some events are there")
    return case


def filledInTheMiddle(checks, name, work):
    """All is well until half of the run."""
    directory = os.path.join(work, "run")
    around, inside = sharedMemory(1 << 20), limits(blocks=100000)
    wanted = runProgram(directory, [*around, *inside])
    with devices.roomyExt4(work, "middle") as device:
        got = runProgram(directory, [*around, *traced(device.path), *inside],
                         at_half=lambda: device.fillUp(0))
        sameAs(checks, name, got, wanted)
        state = tellsItsLoss(checks, name, device.path)
        checks.that(state["events"] >= EVENTS // 4, f"{name}: what came before is there")


CASES = {
    "ext4 and two rings": allAtOnce(devices.ext4, 320, own_rings=True),
    "ext4 and no ring": allAtOnce(devices.ext4, 16, own_rings=True),
    "tmpfs and no ring": allAtOnce(devices.tmpfs, 16, own_rings=True),
    "filled in the middle": filledInTheMiddle,
}


def main(chosen):
    needRoot()
    checks = Checks()
    with WorkDirectory() as work:
        if shutil.which("unshare") is None or run([*sharedMemory(64), "true"]).status != 0:
            for name in CASES:
                checks.skip(name, "no mount namespace of its own for /dev/shm")
            checks.finish()
        for name, case in CASES.items():
            if not chosen or name in chosen:
                with checks.case(name):
                    try:
                        case(checks, name, work)
                    except devices.NotHere as reason:
                        checks.skip(name, str(reason))
    checks.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
