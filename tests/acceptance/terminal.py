"""What omnio shows on a terminal: a line that says how far long work has come, and nothing else that
a file would not have.

  terminal.py

The line comes after 2 s of work. Here a variable makes it come at once.
"""

import os
import pty
import re
import select
import subprocess
import threading

from omnio_testing import Checks, WorkDirectory, environment, omnio, program, run, trace

LINE = re.compile(rb"\romnio: ([^\r\x1b]*)\x1b\[K")
CLEARED = b"\r\x1b[K"
AT_ONCE = {"OMNIO_TEST_PROGRESS_DELAY_MS": "0", "TERM": "xterm"}


def onTerminal(words, both=False, **variables):
    """(status, standard output, what the terminal got); with `both`, the terminal gets all."""
    master, side = pty.openpty()
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=side,
                          stdout=side if both else subprocess.PIPE,
                          env=environment(**variables)) as process:
        os.close(side)
        out = []
        if not both:
            reader = threading.Thread(target=lambda: out.append(process.stdout.read()))
            reader.start()
        shown = b""
        while True:
            # Asked before the look at the terminal: what ended programs wrote is there by then.
            is_over = process.poll() is not None
            if select.select([master], [], [], 0.1)[0]:
                try:
                    part = os.read(master, 65536)
                except OSError:  # the other end is closed
                    break
                shown += part
            elif is_over:
                break
        if not both:
            reader.join()
        status = process.wait()
    os.close(master)
    return status, b"".join(out), shown


def commandsOn(work, recorded):
    """Each command that reads a whole trace."""
    to = os.path.join(work, "made")
    return {
        "stats": ["stats", recorded], "report": ["report", recorded, "-o", to],
        "export": ["export", recorded, "--csv", "-o", to], "diff": ["diff", recorded, recorded],
        "advise": ["advise", recorded], "preprocess": ["preprocess", recorded, "-o", to],
        "phases": ["phases", recorded], "log": ["log", recorded], "collect": ["collect", recorded]}


def checkLine(checks, work, recorded):
    for name, words in commandsOn(work, recorded).items():
        plain = run([omnio(), *words])
        checks.equal((plain.status, plain.err), (0, b""), f"{name} without a terminal")
        status, out, shown = onTerminal([omnio(), *words], **AT_ONCE)
        checks.equal(status, 0, f"{name} on a terminal")
        if name != "report":  # which says when it was made
            checks.equal(out, plain.out, f"{name} writes the same")
        if name == "collect":
            continue  # there is nothing to collect
        for _ in range(60):  # the line has a thread of its own, which may not get to run
            if LINE.search(shown):
                break
            _, _, shown = onTerminal([omnio(), *words], **AT_ONCE)
        lines = LINE.findall(shown)
        checks.that(lines, f"{name} shows how far it has come: {shown[:200]!r}")
        checks.that(shown.endswith(CLEARED), f"{name} leaves no line: {shown[-100:]!r}")
        left = LINE.sub(b"", shown).replace(CLEARED, b"")
        checks.equal(left, b"", f"{name} shows nothing else")
        for line in lines:
            checks.that(len(line) < 80, f"{name} keeps to the line: {line!r}")
    for _ in range(60):
        _, _, shown = onTerminal([omnio(), "stats", recorded], **AT_ONCE)
        counted = re.search(rb"reading the trace: \d+ of 40000\d events, \d+ %", shown)
        if counted:
            break
    checks.that(counted, f"the events read, of how many: {shown[:300]!r}")


def checkNone(checks, recorded):
    for what, variables in {"within 2 s": {"TERM": "xterm"},
                            "on a dumb terminal": AT_ONCE | {"TERM": "dumb"},
                            "where the terminal has no name": AT_ONCE | {"TERM": None}}.items():
        # The time that the work takes does not depend on the trace: there is none.
        words = [omnio(), "stats", recorded if what != "within 2 s" else recorded + ".not"]
        _, _, shown = onTerminal(words, **variables)
        checks.that(b"\x1b" not in shown and b"\r" not in shown.replace(b"\r\n", b""),
                    f"no line {what}: {shown[:200]!r}")
    plain = run([omnio(), "stats", recorded], env=environment(**AT_ONCE))
    checks.equal(plain.err, b"", "no line in a file")
    status, _, shown = onTerminal([omnio(), "stats", recorded, "--rank", "7"], **AT_ONCE)
    checks.equal(status, 1, "a failure")
    end = shown.rpartition(CLEARED)[2] if CLEARED in shown else shown
    checks.that(end.startswith(b"omnio: ") and end.count(b"\n") == 1,
                f"the sentence stands alone: {shown!r}")


def checkColour(checks, recorded):
    """omnio has no colours, with and without NO_COLOR (no-color.org)."""
    for words in (["--help"], ["stats", "--help"], ["stats", recorded], ["advise", recorded],
                  ["diff", recorded, recorded], ["nonsense"]):
        for more in ({}, {"NO_COLOR": "1"}):
            # The line of progress takes itself away by such a sequence, so it has to stay away.
            _, _, shown = onTerminal([omnio(), *words], both=True, TERM="xterm",
                                     OMNIO_TEST_PROGRESS_DELAY_MS="100000", **more)
            checks.that(shown and b"\x1b" not in shown,
                        f"no escape sequence of {words[0]} {more}: {shown[:200]!r}")


def main():
    checks = Checks()
    with WorkDirectory() as work:
        recorded, directory = os.path.join(work, "trace"), os.path.join(work, "run")
        os.mkdir(directory)
        result = trace(recorded, [program("c_steady"), directory, "2", "200000", "16"])
        checks.equal(result.status, 0, f"a trace: {result.err!r}")
        checkLine(checks, work, recorded)
        checkNone(checks, recorded)
        checkColour(checks, recorded)
    checks.finish()


if __name__ == "__main__":
    main()
