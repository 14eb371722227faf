"""The manual pages that the build makes: one of each command, without a complaint of those who read
them, and with all that --help says.

  manual_pages.py
"""

import os
import re
import shutil

from omnio_testing import Checks, WorkDirectory, environment, omnio, run

# What mandoc says of pages without a date: the same source has to make the same bytes.
ALLOWED = ("missing date", "new sentence, new line", "input text line longer")


def commandsOf(text):
    return re.findall(r"^  ([a-z]+) ", text.partition("Subcommands:")[2], re.MULTILINE)


def printed(page):
    """The page as a reader has it, without blanks: lines are broken anywhere."""
    done = run(["man", "-l", "-E", "ascii", page], env=environment(MANPAGER="cat", MANWIDTH="400"))
    return re.sub(r"\s+|.\b", lambda found: "" if found[0].isspace() else found[0],
                  done.out.decode())


def checkPage(checks, page, words):
    name = os.path.basename(page)
    if shutil.which("man") is not None:
        done = run(["man", "--warnings", "-E", "UTF-8", "-l", page],
                   env=environment(MANPAGER="cat", MANWIDTH="80"))
        checks.equal((done.status, done.err), (0, b""), f"man has no complaint of {name}")
        text = printed(page)
        shown = "" if words is None else run(words).out.decode()
        for option in re.findall(r"(?<!\S)--[a-z-]+", shown):
            checks.that(option in text, f"{name} names {option}")
        # The explanations, word by word: in --help they stand behind two blanks.
        for line in re.findall(r"\S  +(\S.*)$", shown.partition("Options:")[2], re.MULTILINE):
            wanted = re.sub(r"\s+", "", line)
            checks.that(wanted in text, f"{name} says: {line}")
    if shutil.which("mandoc") is not None:
        done = run(["mandoc", "-T", "lint", "-W", "warning", page])
        complaints = [line for line in done.out.decode().splitlines()
                      if not any(word in line for word in ALLOWED)]
        checks.equal(complaints, [], f"mandoc has no complaint of {name}")


def main():
    checks = Checks()
    for tool in ("man", "mandoc"):
        if shutil.which(tool) is None:
            checks.skip(tool, "not installed here")
    runner = os.environ.get("OMNIO_TEST_PHASE_RUN")
    with WorkDirectory() as work:
        made = run([omnio(), "--manual-pages", work])
        checks.equal((made.status, made.out, made.err), (0, b"", b""), "the pages are made")
        commands = commandsOf(run([omnio(), "--help"]).out.decode())
        checks.that(len(commands) >= 18, f"commands: {commands}")
        wanted = {f"omnio-{name}.1" for name in commands} | {"omnio.1"}
        checks.equal(set(os.listdir(work)), wanted, "a page of each command")
        checkPage(checks, os.path.join(work, "omnio.1"), [omnio(), "--help"])
        for name in commands:
            checkPage(checks, os.path.join(work, f"omnio-{name}.1"), [omnio(), name, "--help"])
        if runner is None:
            checks.skip("omnio-phase-run", "not built here")
        else:
            # Without a launcher and without MPI: the build makes it so.
            made = run([runner, "--manual-pages", work])
            checks.equal((made.status, made.err), (0, b""), "omnio-phase-run makes its page")
            checkPage(checks, os.path.join(work, "omnio-phase-run.1"), None)
    checks.finish()


if __name__ == "__main__":
    main()
