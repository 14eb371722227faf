"""A replay and a run of phases say what their storage did: the bytes that reached the device beside
those that their calls moved, on an ext4 file system of its own, in memory, and where another program
uses the device too.

What programs write is known, so the bounds are bytes and no times: direct I/O reaches the device, what
is buffered does at the latest in the final sync, and what is overwritten before it was written back
need not."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

import devices
from devices import must
from omnio_testing import mpirun, omnio, run, runCases
from replay_testing import report
from slow_storage import SlowStorage, whyNotSlow

MIB = 1 << 20

PROGRAM = """
import mmap, os, sys, time
way, directory = sys.argv[1:]
page = mmap.mmap(-1, 1 << 20)
page.write(os.urandom(1 << 20))
flags = os.O_WRONLY | os.O_CREAT | (os.O_DIRECT if way in ("direct", "paced") else 0)
fd = os.open(os.path.join(directory, "data"), flags, 0o644)
for turn in range(8 if way == "overwritten" else 1):
    for block in range(16 if way == "overwritten" else 128):
        os.pwrite(fd, page, block << 20)
    if way == "paced" and block == 64:
        time.sleep(1)
if way == "synced":
    os.fsync(fd)
os.close(fd)
"""


# Writes as well, until it is told to stop, and says how many bytes it wrote.
OTHER = """
import mmap, os, select, sys
page = mmap.mmap(-1, 1 << 20)
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_DIRECT, 0o644)
written = os.pwrite(fd, page, 0)
print("begun", flush=True)
while not select.select([0], [], [], 0)[0]:
    written += os.pwrite(fd, page, 0)
print(written, flush=True)
"""


def recorded(checks, work, way, disk, timing="asap", command=None):
    """The schedule of a program that writes 128 MiB in that way, or of the command, into a directory of that
    file system."""
    trace, schedule = os.path.join(work, f"{way}.trace"), os.path.join(work, f"{way}.json")
    directory = os.path.join(disk, "run")
    os.makedirs(directory)
    done = run([omnio(), "trace", "-o", trace, "--exclude", "/*", "--include", f"{directory}/*", "--",
                *(command or [sys.executable, "-c", PROGRAM, way, directory])], cwd=directory)
    checks.equal(done.status, 0, f"{way}: recorded: {done}")
    made = run([omnio(), "preprocess", trace, "-o", schedule, "--timing", timing])
    checks.equal(made.status, 0, f"{way}: preprocess: {made}")
    shutil.rmtree(directory)
    must("sync", "-f", disk)  # or the replay's file system would still write that
    return schedule


def replayed(checks, work, schedule, target, name, within=()):
    output = os.path.join(work, f"{name}.replayed")
    done = run([*within, omnio(), "replay", schedule, "--target", target, "-o", output])
    checks.equal(done.status, 0, f"{name}: replay: {done}")
    return report(output), done.out.decode() + done.err.decode()


def onDisk(checks, work):
    """{way: bytes on the device at the end of the calls, and after the sync}"""
    written = {}
    for way in ("direct", "buffered", "synced", "overwritten"):
        with devices.ext4(work, way, 512) as disk:
            schedule = recorded(checks, work, way, disk.mount_point)
            target = os.path.join(disk.mount_point, "target")
            told, text = replayed(checks, work, schedule, target, way)
            storage = told["storage"][0]
            checks.equal(told["total"]["bytes_written"], 128 * MIB, f"{way}: written by calls")
            checks.equal(storage["calls"], {"read_bytes": 0, "written_bytes": 128 * MIB}, way)
            checks.that(storage["known"] and not storage["in_memory"], f"{way}: {storage}")
            node = storage["nodes"][0]
            checks.equal(node["kind"], "devices", f"{way}: {node}")
            checks.equal(node["mount"].split(" ")[1], "ext4", f"{way}: mount")
            checks.equal(sum(sample["written_bytes"] for sample in node["samples"]),
                         node["written_bytes"], f"{way}: samples add up")
            checks.that("Storage: calls read 0 B and wrote 128 MiB; " in text, f"{way}: {text}")
            if way in ("direct", "synced"):
                checks.equal(told["measured"], "storage", f"{way}: measured")
            if way != "overwritten":
                checks.equal(told["measured_with_sync"], "storage", f"{way}: measured with the sync")
            written[way] = (storage["written_bytes"], storage["written_bytes_with_sync"])
            print(f"{way}: {written[way]}", flush=True)
    for way, (by_end, with_sync) in written.items():
        checks.that(by_end <= with_sync, f"{way}: {by_end} at the end, {with_sync} with the sync")
    for way, bytes_written in (("direct", written["direct"][0]), ("synced", written["synced"][0]),
                               ("buffered", written["buffered"][1])):
        checks.that(isNear(bytes_written, 128 * MIB), f"{way}: {bytes_written} bytes on the device")
    with_sync = written["overwritten"][1]
    checks.that(16 * MIB <= with_sync <= 128 * MIB, f"overwritten: {with_sync} bytes with the sync")


def isNear(count, wanted):
    return abs(count - wanted) <= 0.02 * wanted


def byFio(checks, work):
    """A GiB of direct writes by a program of others, as people measure storage."""
    if shutil.which("fio") is None:
        checks.skip("byFio", "fio is not installed")
        return
    if shutil.disk_usage(work).free < 3 << 30:
        checks.skip("byFio", f"{work} has too little room")
        return
    with devices.ext4(work, "fio", 1536) as disk:
        schedule = recorded(checks, work, "fio", disk.mount_point, command=[
            "fio", "--name=job", "--filename=data", "--ioengine=psync", "--rw=write", "--bs=1m",
            "--size=1g", "--direct=1", "--thread", "--fallocate=none", "--output=/dev/null"])
        told, _ = replayed(checks, work, schedule, os.path.join(disk.mount_point, "target"), "fio")
        storage = told["storage"][0]
        checks.equal(storage["calls"]["written_bytes"], 1024 * MIB, "fio: written by calls")
        checks.that(isNear(storage["written_bytes"], 1024 * MIB),
                    f"fio: {storage['written_bytes']} bytes on the device")
        checks.equal(told["measured"], "storage", "fio: measured")
        print(f"fio: {storage['written_bytes']}, {storage['written_bytes_with_sync']} with the sync",
              flush=True)


def byPhases(checks, work):
    """The runner of phases, by the schedule of a model and phase by phase."""
    runner = os.environ.get("OMNIO_TEST_PHASE_RUN")
    if runner is None:
        checks.skip("byPhases", "there is no omnio-phase-run")
        return
    model, results = os.path.join(work, "model.json"), os.path.join(work, "results.json")
    with devices.ext4(work, "phases", 512) as disk:
        recorded(checks, work, "phased", disk.mount_point)
        made = run([omnio(), "phases", os.path.join(work, "phased.trace"), "-o", model])
        checks.equal(made.status, 0, f"phases: {made}")
        for name, options, turns in (("whole", (), 1), ("twice", ("--iterations", "2"), 2),
                                     ("apart", ("--apart", "--iterations", "3"), 3)):
            done = run([*mpirun(1), runner, model, "--target", disk.mount_point, "-o", results, *options])
            checks.equal(done.status, 0, f"{name}: {done}")
            with open(results, encoding="utf-8") as file:
                told = json.load(file)
            storage = told["storage"]
            checks.equal(len(storage), 2 if name == "twice" else 1, f"{name}: {storage}")
            moved, to_disk = (sum(one["calls"]["written_bytes"] for one in storage),
                              sum(one["written_bytes_with_sync"] for one in storage))
            checks.equal(moved, turns * 128 * MIB, f"{name}: written by calls")
            checks.that(isNear(to_disk, moved), f"{name}: {to_disk} bytes on the device")
            for one in storage:
                checks.equal([node["kind"] for node in one["nodes"]], ["devices"], f"{name}: {one}")
                samples = one["nodes"][0]["samples"]
                checks.equal(sum(sample["written_bytes"] for sample in samples), one["written_bytes"],
                             f"{name}: samples add up")
                ends = [sample["end_s"] for sample in samples]
                checks.that(ends == sorted(ends) and ends[-1] <= one["nodes"][0]["seconds"] * 1.001,
                            f"{name}: {ends}, {one['nodes'][0]['seconds']}")
            checks.equal(told["measured_with_sync"], "storage", f"{name}: measured")
            checks.that(f"Storage: calls read 0 B and wrote {turns * 128} MiB; " in done.out.decode(),
                        f"{name}: {done}")


@contextlib.contextmanager
def blockGroup(directory):
    """A control group that counts the bytes of its processes on the device of the directory: words to start
    one in it. Since Linux 6.10, version 1 counts for devices with a limit alone: this one is out of reach."""
    group = f"/sys/fs/cgroup/blkio/omnio-storage-{os.getpid()}"
    try:
        os.mkdir(group)
    except OSError as problem:
        raise devices.NotHere(f"no control group for block devices: {problem}") from problem
    number = os.stat(directory).st_dev
    try:
        with open(f"{group}/blkio.throttle.write_bps_device", "w", encoding="ascii") as limit:
            limit.write(f"{os.major(number)}:{os.minor(number)} {1 << 40}")
        yield ["sh", "-c", f'echo $$ > {group}/tasks && exec "$@"', "sh"]
    finally:
        os.rmdir(group)


def anotherProgram(checks, work):
    """The bytes of another program on the device are told apart by the control group of the replay."""
    with devices.ext4(work, "shared", 512) as disk, blockGroup(disk.mount_point) as within:
        schedule = recorded(checks, work, "paced", disk.mount_point, "dt")
        for name, has_other in (("alone", False), ("beside", True)):
            told_by_other = 0
            with contextlib.ExitStack() as stack:
                if has_other:
                    other = stack.enter_context(subprocess.Popen(
                        [sys.executable, "-c", OTHER, os.path.join(disk.mount_point, "other")],
                        stdin=subprocess.PIPE, stdout=subprocess.PIPE))
                    checks.equal(other.stdout.readline(), b"begun\n", name)
                told, text = replayed(checks, work, schedule, os.path.join(disk.mount_point, name), name,
                                      within)
                if has_other:
                    told_by_other = int(other.communicate(b"\n")[0])
            storage = told["storage"][0]
            checks.that(isNear(storage["own"]["written_bytes"], 128 * MIB), f"{name}: own {storage['own']}")
            checks.equal(storage["nodes"][0]["own"], storage["own"], f"{name}: own of the node")
            others = storage["written_bytes"] - storage["own"]["written_bytes"]
            checks.that((MIB if has_other else 0) <= others <= told_by_other + 2 * MIB,
                        f"{name}: {others} bytes of others, which wrote {told_by_other}")
            checks.that("written outside the run's control group" in text, f"{name}: {text}")
            print(f"{name}: own {storage['own']['written_bytes']}, others {others}", flush=True)


def countedElsewhere(checks, work):
    """The kernel counts nothing of a FUSE file system, and the record says so by name. What the report says
    the calls moved is what the file system itself counted."""
    if why := whyNotSlow():
        checks.skip("countedElsewhere", why)
        return
    schedule = recorded(checks, work, "elsewhere", work)
    with SlowStorage(work) as slow:
        before = slow.counts()["bytes_written"]
        told, text = replayed(checks, work, schedule, os.path.join(slow.path, "target"), "elsewhere")
        counted = slow.counts()["bytes_written"] - before
    storage = told["storage"][0]
    node = storage["nodes"][0]
    checks.equal((storage["known"], node["kind"]), (False, "unknown"), "FUSE: known")
    checks.equal(node["why_unknown"], "the kernel does not count what fuse.slowfs does", "FUSE: why")
    checks.that("Storage: the kernel does not count what fuse.slowfs does\n" in text, f"FUSE: {text}")
    checks.equal((told["measured"], told["measured_with_sync"]), ("unknown", "unknown"), "FUSE: measured")
    checks.equal(counted, 128 * MIB, "FUSE: what slowfs counted")
    checks.equal(storage["calls"]["written_bytes"], counted, "FUSE: what the calls wrote")
    # Capacity and fill are those of the file system all the same.
    grown = node["free_begin_bytes"] - node["free_end_bytes"]
    checks.that(isNear(grown, counted), f"FUSE: {grown} bytes less are free")


def inMemory(checks, work):
    if not os.path.isdir("/dev/shm"):
        checks.skip("inMemory", "there is no /dev/shm")
        return
    schedule = recorded(checks, work, "memory", work)
    target = tempfile.mkdtemp(prefix="omnio-test-", dir="/dev/shm")
    try:
        told, text = replayed(checks, work, schedule, os.path.join(target, "target"), "memory")
    finally:
        shutil.rmtree(target, ignore_errors=True)
    checks.that(told["storage"][0]["in_memory"], f"memory: {told}")
    checks.equal(told["measured_with_sync"], "memory", "memory: measured")
    checks.that("Storage: the memory of the node\n" in text, f"memory: {text}")


runCases(*map(devices.orSkipped, (onDisk, byFio, byPhases, anotherProgram, countedElsewhere, inMemory)))
