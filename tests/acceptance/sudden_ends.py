"""Processes that a signal ends. One that was between two calls has lost nothing: the trace is whole, a
note counts such processes, and a schedule is made of it without a word. So end the workers of
Python's multiprocessing.Pool. One that was inside of a call that would have been an event, or had
mapped a file, may have done what no event tells of: the trace is not whole.

  sudden_ends.py [CASE...]    pool, in_call, mapped, threads
"""

import os
import re
import sys

from omnio_testing import (Checks, WorkDirectory, emptied, omnio, readLog, run, stats, trace)

PYTHON = "/usr/bin/python3"
POOL = """
import multiprocessing, sys
def work(results, stop):
    for number in range(4):
        with open(f"{sys.argv[1]}/file.{multiprocessing.current_process().name}", "ab") as file:
            file.write(b"%d" % number)
    results.put(number)
    stop.wait()  # for ever, as a worker waits for its next task
if __name__ == "__main__":
    results, stop = multiprocessing.SimpleQueue(), multiprocessing.Event()
    pool = [multiprocessing.Process(target=work, args=(results, stop)) for _ in range(3)]
    for worker in pool: worker.start()
    assert [results.get() for _ in pool] == [3, 3, 3]
    for worker in pool: worker.terminate()
    for worker in pool: worker.join()
"""
# A child that stops in the way named, when it has written ten times.
CHILD = """
import fcntl, mmap, os, signal, sys, threading, time
directory, way = sys.argv[1:]
held = os.open(f"{directory}/held", os.O_RDWR | os.O_CREAT)
os.ftruncate(held, 4096)
if way == "in_call": fcntl.lockf(held, fcntl.LOCK_EX)
told, tell = os.pipe()
child = os.fork()
if child == 0:
    fd = os.open(f"{directory}/file", os.O_WRONLY | os.O_CREAT)
    for _ in range(10): os.write(fd, b"x")
    if way == "mapped":
        with mmap.mmap(held, 4096) as memory:
            memory[0] = 1
            os.write(tell, b"y")
            signal.pause()
    if way == "threads":
        def other():
            one = os.open(f"{directory}/other", os.O_WRONLY | os.O_CREAT)
            os.write(one, b"z")
            os.write(tell, b"y")
            signal.pause()
        threading.Thread(target=other).start()
        signal.pause()
    os.write(tell, b"y")
    fcntl.lockf(os.open(f"{directory}/held", os.O_RDWR), fcntl.LOCK_EX)  # for ever
os.read(told, 1)
def waits():  # in the list of those who wait for a lock
    return any("->" in line and f" {child} " in line for line in open("/proc/locks"))
while way == "in_call" and not waits(): time.sleep(0.01)
os.kill(child, signal.SIGTERM)
os.waitpid(child, 0)
"""
NOTE = ("{} {} ended by a signal, or in a way that the tracer does not see, between two calls: all "
        "that {} did until then is in the trace")


def traced(checks, work, name, program, *words, is_killed=False):
    directory, to = emptied(os.path.join(work, name)), os.path.join(work, f"{name}.trace")
    done = trace(to, [PYTHON, "-c", program, directory, *words])
    checks.equal(done.status, 0, f"{name}: status: {done.err!r}")
    said = re.sub(rb"process \d+ on host \S+", b"process", done.err)
    checks.equal(said, b"omnio: the trace is not whole: process was killed\n" if is_killed else b"",
                 f"{name}: standard error")
    written = [event for event in readLog(to) if event["class"] == "write"
               and (event.get("file") or "").startswith(directory)]
    document = stats(to)
    about = document["trace"]
    about["notes"] = [note for note in about["notes"] if not note.startswith("left out by default")]
    return to, written, document


def checkSchedule(checks, name, to):
    made = run([omnio(), "preprocess", to, "-o", to + ".json"])
    checks.equal(made.status, 0, f"{name}: preprocess: {made.err!r}")
    shown = run([omnio(), "schedule", "show", to + ".json"])
    checks.that(b", whole\n" in shown.out, f"{name}: the schedule's source is whole: {shown.out!r}")


def checkPool(checks, work):
    to, written, document = traced(checks, work, "pool", POOL)
    about = document["trace"]
    checks.equal((about["whole"], about["reasons"], about["events_missing"]), (True, [], 0),
                 "pool: nothing is missing")
    checks.equal(len(written), 12, "pool: writes")
    checks.equal(about["notes"], [NOTE.format("3 of 4 processes", "were", "they")],
                 "pool: notes")
    checkSchedule(checks, "pool", to)


def checkThreads(checks, work):
    to, written, document = traced(checks, work, "threads", CHILD, "threads")
    about = document["trace"]
    checks.equal((about["whole"], about["reasons"], about["events_missing"]), (True, [], 0),
                 "threads: nothing is missing")
    checks.equal(sum(event["bytes"] for event in written), 11, "threads: bytes")
    checks.equal(about["notes"], [NOTE.format("1 of 2 processes", "was", "it")], "threads: notes")
    checkSchedule(checks, "threads", to)


def checkUnknown(way):
    def check(checks, work):
        to, written, document = traced(checks, work, way, CHILD, way, is_killed=True)
        about = document["trace"]
        checks.equal((about["whole"], about["events_missing"], about["notes"]), (False, 0, []),
                     f"{way}: not whole")
        checks.that(len(about["reasons"]) == 1 and re.fullmatch(
            r"process \d+ on host \S+ was killed", about["reasons"][0]),
            f"{way}: reasons: {about['reasons']}")
        checks.equal(sum(event["bytes"] for event in written), 10, f"{way}: bytes")
    return check


CASES = {"pool": checkPool, "in_call": checkUnknown("in_call"), "mapped": checkUnknown("mapped"),
         "threads": checkThreads}


def main(wanted):
    checks = Checks()
    with WorkDirectory() as work:
        for name, check in CASES.items():
            if not wanted or name in wanted:
                with checks.case(name):
                    check(checks, work)
    checks.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
