"""What a program writes, and reads twice, stays in the page cache, and the report says that its time is of
memory. With --fill-memory it cannot stay there: the same calls are of the storage. In a control group of
2 GiB and an ext4 file system of its own; what moves is known, so the bounds are bytes and no times.
"""

import contextlib
import json
import os
import shutil
import sys

import devices
from devices import must
from omnio_testing import mpirun, omnio, run, runCases
from replay_testing import report

MIB = 1 << 20
MEMORY = 2 << 30
BYTES = 1280 * MIB  # fits into the group, and not into the GiB that --fill-memory leaves
GROUP = f"/sys/fs/cgroup/memory/omnio-fill-memory-{os.getpid()}"

PROGRAM = f"""
import mmap, os, sys
page = mmap.mmap(-1, {MIB})
page.write(os.urandom({MIB}))
fd = os.open(os.path.join(sys.argv[1], "data"), os.O_RDWR | os.O_CREAT, 0o644)
for block in range({BYTES // MIB}):
    os.pwrite(fd, page, block << 20)
for block in range(2 * {BYTES // MIB}):
    os.preadv(fd, [page], block % {BYTES // MIB} << 20)
os.close(fd)
"""


@contextlib.contextmanager
def memoryGroup():
    """Words to start a program in a control group of 2 GiB."""
    try:
        os.mkdir(GROUP)
        with open(os.path.join(GROUP, "memory.limit_in_bytes"), "w", encoding="ascii") as limit:
            limit.write(str(MEMORY))
    except OSError as problem:
        raise devices.NotHere(f"no control group for memory: {problem}") from problem
    try:
        yield ["sh", "-c", f'echo $$ > {GROUP}/tasks && exec "$@"', "sh"]
    finally:
        os.rmdir(GROUP)


@contextlib.contextmanager
def disk(work):
    """A file system on a device that keeps nothing of it in the page cache of its own file."""
    image, mount_point = os.path.join(work, "disk.image"), os.path.join(work, "disk.mount")
    if shutil.disk_usage(work).free < 2 * BYTES:
        raise devices.NotHere(f"{work} has too little room for a file system of {2 * BYTES} bytes")
    with open(image, "wb") as file:
        file.truncate(2 * BYTES)
    must("mkfs.ext4", "-q", "-F", image)
    os.makedirs(mount_point)
    made = run(["losetup", "--direct-io=on", "--find", "--show", image])
    if made.status != 0:
        raise devices.NotHere(f"losetup: {made}")
    device = made.out.decode().strip()
    try:
        must("mount", device, mount_point)
        yield mount_point
    finally:
        run(["umount", "-l", mount_point])
        run(["losetup", "-d", device])


def checkStorage(checks, told, storage, is_filled, name):
    """Of a document: what was held, and what it says of its time."""
    # What the kernel writes back by itself is a third at most.
    moved = {"read_bytes": 2 * BYTES, "written_bytes": BYTES}
    checks.equal(storage["calls"], moved, f"{name}: moved by calls")
    of_device = storage["read_bytes"] + storage["written_bytes"]
    print(f"{name}: {of_device / MIB:.0f} of {3 * BYTES / MIB:.0f} MiB to and from the device, "
          f"{told.get('fill_memory')}", flush=True)
    checks.equal(told["measured"], "storage" if is_filled else "memory", f"{name}: {of_device} bytes")
    if not is_filled:
        checks.that("fill_memory" not in told, f"{name}: {told.get('fill_memory')}")
        return
    held = told["fill_memory"]
    checks.equal((held["share"], held["wanted_bytes"]), (0.8, int(0.8 * MEMORY)), f"{name}: asked for")
    checks.that(MEMORY - (1 << 30) - 256 * MIB <= held["held_bytes"] <= MEMORY - (1 << 30),
                f"{name}: held {held}")


def both(checks, work):
    trace, schedule = os.path.join(work, "trace"), os.path.join(work, "schedule.json")
    model, results = os.path.join(work, "model.json"), os.path.join(work, "results.json")
    with disk(work) as mount_point, memoryGroup() as within:
        directory = os.path.join(mount_point, "run")
        os.makedirs(directory)
        for command in (["trace", "-o", trace, "--exclude", "/*", "--include", f"{directory}/*", "--",
                         sys.executable, "-c", PROGRAM, directory],
                        ["preprocess", trace, "-o", schedule, "--timing", "asap"],
                        ["phases", trace, "-o", model]):
            done = run([omnio(), *command])
            checks.equal(done.status, 0, f"{command[0]}: {done}")
        shutil.rmtree(directory)
        runner = os.environ.get("OMNIO_TEST_PHASE_RUN")
        for is_filled in (False, True):
            options = ["--fill-memory", "80%"] if is_filled else []
            name = " ".join(["replay", *options])
            output = os.path.join(work, f"replayed-{is_filled}")
            done = run([*within, omnio(), "replay", schedule, "--target",
                        os.path.join(mount_point, "target"), "--fresh", "-o", output, *options])
            checks.equal(done.status, 0, f"{name}: {done}")
            told = report(output)
            checkStorage(checks, told, told["storage"][0], is_filled, name)
            checks.equal("were held, so that files could not stay there" in done.out.decode(), is_filled,
                         f"{name}: {done}")
            shutil.rmtree(os.path.join(mount_point, "target"))
            if runner is None:
                checks.skip("omnio-phase-run", "it is not built")
                continue
            name = " ".join(["omnio-phase-run", *options])
            done = run([*within, *mpirun(1), runner, model, "--target", mount_point, "-o", results,
                        *options])
            checks.equal(done.status, 0, f"{name}: {done}")
            with open(results, encoding="utf-8") as file:
                told = json.load(file)
            checkStorage(checks, told, told["storage"][0], is_filled, name)


def badShares(checks, work):
    runner = os.environ.get("OMNIO_TEST_PHASE_RUN")
    commands = {"omnio": [omnio(), "replay", "none.json", "--target", work]}
    if runner is not None:
        commands["omnio-phase-run"] = [runner, "none.json", "--target", work]
    for who, command in commands.items():
        for word in ("0.8", "0%", "101%", "much"):
            done = run([*command, "--fill-memory", word])
            checks.equal((done.status, done.err.decode()),
                         (2, f"{who}: --fill-memory: {word} is not a share of the memory: use a "
                             f"percentage from 1% to 100% (80%)\nTry `{who}"
                             f"{' replay' if who == 'omnio' else ''} --help`.\n"), f"{who}: {word}")


runCases(*map(devices.orSkipped, (badShares, both)))
