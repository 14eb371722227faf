"""A replay says what its storage did: the bytes that reached the device beside those that its calls
moved, on an ext4 file system of its own, in memory, and where the kernel does not count.

What programs write is known, so the bounds are bytes and no times: direct I/O reaches the device, what
is buffered does at the latest in the final sync, and what is overwritten before it was written back
need not."""

import os
import shutil
import sys
import tempfile

import devices
from devices import must
from omnio_testing import omnio, run, runCases
from replay_testing import replay, report

MIB = 1 << 20

PROGRAM = """
import mmap, os, sys
way, directory = sys.argv[1:]
page = mmap.mmap(-1, 1 << 20)
page.write(os.urandom(1 << 20))
flags = os.O_WRONLY | os.O_CREAT | (os.O_DIRECT if way == "direct" else 0)
fd = os.open(os.path.join(directory, "data"), flags, 0o644)
for turn in range(8 if way == "overwritten" else 1):
    for block in range(16 if way == "overwritten" else 128):
        os.pwrite(fd, page, block << 20)
if way == "synced":
    os.fsync(fd)
os.close(fd)
"""


def recorded(checks, work, way, disk):
    """The schedule of a program that writes 128 MiB in that way, into a directory of that file system."""
    trace, schedule = os.path.join(work, f"{way}.trace"), os.path.join(work, f"{way}.json")
    directory = os.path.join(disk, "run")
    os.makedirs(directory)
    done = run([omnio(), "trace", "-o", trace, "--exclude", "/*", "--include", f"{directory}/*", "--",
                sys.executable, "-c", PROGRAM, way, directory], cwd=directory)
    checks.equal(done.status, 0, f"{way}: recorded: {done}")
    made = run([omnio(), "preprocess", trace, "-o", schedule, "--timing", "asap"])
    checks.equal(made.status, 0, f"{way}: preprocess: {made}")
    shutil.rmtree(directory)
    must("sync", "-f", disk)  # or the replay's file system would still write that
    return schedule


def replayed(checks, work, schedule, target, name):
    output = os.path.join(work, f"{name}.replayed")
    done = replay(schedule, target, output)
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
        checks.that(abs(bytes_written - 128 * MIB) <= 0.02 * 128 * MIB,
                    f"{way}: {bytes_written} bytes on the device")
    with_sync = written["overwritten"][1]
    checks.that(16 * MIB <= with_sync <= 128 * MIB, f"overwritten: {with_sync} bytes with the sync")


def inMemory(checks, work):
    if not os.path.isdir("/dev/shm"):
        checks.skip("inMemory", "there is no /dev/shm")
        return
    target = tempfile.mkdtemp(prefix="omnio-test-", dir="/dev/shm")
    try:
        told, text = replayed(checks, work, os.path.join(work, "buffered.json"),
                              os.path.join(target, "target"), "memory")
    finally:
        shutil.rmtree(target, ignore_errors=True)
    checks.that(told["storage"][0]["in_memory"], f"memory: {told}")
    checks.equal(told["measured_with_sync"], "memory", "memory: measured")
    checks.that("Storage: the memory of the node\n" in text, f"memory: {text}")


devices.runOrSkip(lambda: runCases(onDisk, inMemory))
