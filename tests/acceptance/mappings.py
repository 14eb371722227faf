"""Files that are read and written through mappings: the trace has the pages that the program says
it touched, and no others but those that the kernel brings along with a page that is read. The
replay leaves files of the same sizes, and verify finds no difference. What is not followed (too
many mappings at once, a child that touches its parent's, storage that does not answer) is said.
"""

import os
import subprocess

from omnio_testing import (Checks, WorkDirectory, emptied, environment, omnio, program, quietDeath, readLog,
                           stats, trace, until)
from replay_testing import checkRoundTrip
from slow_storage import SlowStorage, whyNotSlow

PAGE = 4096
BROUGHT_ALONG = 16  # pages of the block around one that is read (fault_around_bytes, 64 KiB)
WHOLE = ("grown", "parts", "copies", "idle_child", "moved", "synced", "flushed")
PRIVATE = ("copies",)  # what is written there is a copy: the file is read for it
KINDS = {"(map_read)": "read", "(map_write)": "write"}


def pagesTold(events):
    pages = set()
    for event in events:
        if kind := KINDS.get(event["call"]):
            first, size = event["args"]["offset"], event["args"]["count"]
            name = os.path.basename(event["file"])
            pages |= {(name, kind, page) for page in range(first // PAGE, (first + size + PAGE - 1) // PAGE)}
    return pages


def pagesTouched(lines):
    pages = set()
    for line in lines:
        name, kind, offset, size = line.split()
        kind = "read" if name in PRIVATE else kind
        pages |= {(name, kind, page) for page in range(int(offset) // PAGE, (int(offset) + int(size)) // PAGE)}
    return pages


def mayCome(touched):
    """With those that the kernel may bring along."""
    pages = set(touched)
    for name, kind, page in touched:
        if kind == "read":  # blocks are of addresses
            pages |= {(name, kind, page + i) for i in range(1 - BROUGHT_ALONG, BROUGHT_ALONG)}
    return pages


def traced(checks, work, case):
    home = emptied(os.path.join(work, case))
    directory = os.path.join(work, case + "-trace")
    done = trace(directory, [program("c_mapping"), case], cwd=home)
    checks.equal(done.status, 0, f"{case}: {done.err!r}")
    return home, directory, done.out.decode().splitlines()


def checkReplay(checks, work, case, home, directory):
    """The replay leaves files of the same sizes, with blocks in the same number."""
    tree = checkRoundTrip(checks, work, case, directory)
    if tree is None:
        return

    def filesOf(where):
        found = {name: os.stat(os.path.join(where, name)) for name in os.listdir(where)}
        return {name: (about.st_size, about.st_blocks) for name, about in found.items()}
    checks.equal(filesOf(tree), filesOf(home), f"{case}: sizes and blocks of the replay's files")


def checkWhole(checks, work, case):
    home, directory, lines = traced(checks, work, case)
    told, touched = pagesTold(readLog(directory)), pagesTouched(lines)
    checks.that(touched, f"{case}: it touches pages")
    checks.equal(touched - told, set(), f"{case}: pages that are missing")
    checks.equal(told - mayCome(touched), set(), f"{case}: pages that nothing touched")
    about = stats(directory)["trace"]
    checks.that(about["whole"], f"{case}: {about['reasons']}")
    checkReplay(checks, work, case, home, directory)


def checkTold(checks, work, case, words):
    _, directory, _ = traced(checks, work, case)
    about = stats(directory)["trace"]
    checks.that(not about["whole"], f"{case}: it is not called whole")
    checks.that(any(words in reason for reason in about["reasons"]), f"{case}: {about['reasons']}")


def checkHeld(checks, work):
    """A thread that asks storage about its mapping, and gets no answer, holds up no other for good."""
    directory = os.path.join(work, "held-trace")
    with SlowStorage(work, control=True) as slow:
        words = [program("c_held_unmap"), os.path.join(slow.path, "slow"), os.path.join(work, "fast")]
        with subprocess.Popen([omnio(), "trace", "-o", directory, "--", *words], env=environment(),
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=quietDeath) as running:
            checks.equal(running.stdout.readline(), b"mapped\n", "held: first")
            slow.hold("metadata")
            os.write(running.stdin.fileno(), b"1")
            until(slow.held, "held: the thread asks")
            os.write(running.stdin.fileno(), b"2")
            # Without a time of the test's own: ctest ends a test in which this never comes.
            checks.equal(running.stdout.readline(), b"went on\n", "held: the other thread")
            checks.that(slow.held(), "held: the first one still waits")
            slow.go()
            checks.equal(running.wait(), 0, "held: status")
    about = stats(directory)["trace"]
    words = "mappings and asynchronous operations is not recorded"
    checks.that(not about["whole"] and any(words in reason for reason in about["reasons"]),
                f"held: {about['reasons']}")


def main():
    checks = Checks()
    with WorkDirectory() as work:
        for case in WHOLE:
            with checks.case(case):
                checkWhole(checks, work, case)
        with checks.case("many"):
            checkTold(checks, work, "many", "by 904 mappings and asynchronous operations is not recorded")
        if why := whyNotSlow():
            checks.skip("held", why)
        else:
            with checks.case("held"):
                checkHeld(checks, work)
        with checks.case("child"):
            checkTold(checks, work, "child", "by 1 mapping or asynchronous operation is not recorded")
    checks.finish()


if __name__ == "__main__":
    main()
