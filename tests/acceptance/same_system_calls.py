"""A replay makes the system calls that the application made, by strace: each call of the table, made once
by the program `every_call`, and then by a replay of its trace.

  same_system_calls.py CALLS_DIRECTORY      where posix.def and stdio.def are
"""

import os
import re
import shutil
import sys

from omnio_testing import (Checks, WorkDirectory, emptied, mpirun, omnio, program, run, skipTest, trace)
from replay_testing import MPI_ENVIRONMENT, environment
from strace_counts import wholeLines

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs"))

from every_call import order, rowsOf  # noqa: E402

STRACE = ["strace", "-f", "-y", "-s", "0", "-qq", "-e", "signal=none"]
CALL = re.compile(r"^(\w+)\((.*)\)\s+= (-?\d+|\?|0x[0-9a-f]+)(.*)$")
MARK = re.compile(r"^lseek\(-1, (\d+), SEEK_SET\)")
# Rows whose system calls are others in a replay, and why.
OTHERWISE = {
    "dup2": "descriptors have other numbers",
    "flock": "the replay never waits for a lock in the kernel: another rank may be late",
    "freopen": "the replay opens the new file under a number of its own first",
    "freopen64": "the replay opens the new file under a number of its own first",
    "bind": "the replay has a socket of its own",
    "mkfifo": "a file stands for a FIFO: no rank may be there to open its other end",
    "mkfifoat": "a file stands for a FIFO: no rank may be there to open its other end"}


def normal(root, line):
    """One system call without its result, numbers of descriptors, addresses and contents, and with paths
    below the root; None where it names nothing there."""
    match = CALL.match(line)
    if match is None or root not in line and '"' not in line:
        return None
    name, arguments = match.groups()[:2]
    arguments = re.sub(r'""(\.\.\.)?', "*", arguments)
    arguments = re.sub(r"(?:\d+|AT_FDCWD)<([^>]*)>, \"((?:[^\"\\]|\\.)*)\"",
                       lambda found: joined(found.group(1), found.group(2)), arguments)
    arguments = re.sub(r"\d+<([^>]*)>", lambda found: f"<{found.group(1)}>", arguments)
    arguments = re.sub(r'"((?:[^"\\]|\\.)+)"', lambda found: joined(root, found.group(1)), arguments)
    if f"<{root}" not in arguments:
        return None
    arguments = arguments.replace(f"<{root}", "<")
    arguments = re.sub(r"\{(?:st_|stx_|f_|d_)[^{}]*(?:\{[^{}]*\}[^{}]*)*\}", "*", arguments)
    arguments = re.sub(r"0x[0-9a-f]{6,}|<pipe:\[\d+\]>", "*", arguments)
    arguments = re.sub(r" /\* \d+ entries \*/|S_IFREG\|", "", arguments)
    # The end of a name that the call made up.
    arguments = re.sub(r"(</p1\d\d?)\w{6}(\.end)?>", r"\1XXXXXX\2>", arguments)
    return f"{name}({arguments})"


def joined(directory, name):
    return f"<{os.path.normpath(os.path.join(directory, name))}>"


def systemCalls(path, root):
    """(process or thread, call) of each call that names something below the root; marks as numbers."""
    with open(path, encoding="utf-8", errors="replace") as text:
        for thread, line in wholeLines(text):
            mark = MARK.match(line)
            call = int(mark.group(1)) if mark else normal(root, line)
            if call is not None:
                yield thread, call


def byRow(path, root):
    """{number of a row: the system calls that its call made}. Threads that the C library has for
    asynchronous I/O make theirs at any time, which is left out."""
    found, row, main_thread = {}, 0, None
    for thread, call in systemCalls(path, root):
        if isinstance(call, int):
            row, main_thread = call, thread
        elif row != 0 and thread == main_thread and "/told>" not in call:
            found.setdefault(row, []).append(call)
    return found


def within(calls, all_of_them):
    return any(all_of_them[at:at + len(calls)] == calls for at in range(len(all_of_them)))


def others(row, threads):
    """What the replay did with the row's files."""
    name = re.compile(rf"</[fpns]{row.number}(?![0-9])")
    return [call for calls in threads.values() for call in calls if name.search(call)]


def main(calls_directory):
    if shutil.which("strace") is None:
        skipTest("strace is not installed")
    if program("every_call") is None or mpirun(1) is None:
        skipTest("there is no MPI")
    checks = Checks()
    with WorkDirectory() as work:
        home = os.path.realpath(os.path.join(work, "run"))
        command = ["sh", "-c", "exec \"$@\" < stdin > stdout", "sh"]
        account, replayed = os.path.join(work, "application"), os.path.join(work, "replay")

        def started(run_it, words):
            emptied(home)
            with open(os.path.join(home, "stdin"), "w", encoding="utf-8") as text:
                text.write("letters\n")
            done = run_it([*command, *words, program("every_call"), "told"])
            checks.equal(done.status, 0, f"{words}: {done.err!r}")

        started(lambda words: run(words, cwd=home), [*STRACE, "-o", account, "--"])
        log, schedule = os.path.join(work, "trace"), os.path.join(work, "schedule.json")
        started(lambda words: run(words, cwd=home), [omnio(), "trace", "-o", log, "--flavour", "serial", "--"])
        made = run([omnio(), "preprocess", log, "-o", schedule, "--timing", "asap"])
        checks.equal(made.status, 0, f"preprocess: {made}")
        target = os.path.join(work, "target")
        done = run([*STRACE, "-o", replayed, "--", omnio(), "replay", schedule, "--target", target,
                    "-o", os.path.join(work, "out"), "--no-trace"], env=environment(**MPI_ENVIRONMENT))
        checks.equal(done.status, 3, f"replay: {done}")
        threads = {}
        for thread, call in systemCalls(replayed, os.path.realpath(os.path.join(target, "tree"))):
            threads.setdefault(thread, []).append(call)
        wanted = byRow(account, home)
        same = 0
        for row in order(rowsOf(calls_directory)):
            calls = wanted.get(row.number, [])
            if row.name in OTHERWISE:
                continue
            found = any(within(calls, of_thread) for of_thread in threads.values())
            checks.that(found, f"{row.name}: {calls}, not {others(row, threads)}")
            same += found and bool(calls)
        print(f"{same} rows with system calls, as in the application")
        checks.that(same > 150, f"{same} rows with system calls")
    checks.finish()


if __name__ == "__main__":
    main(sys.argv[1])
