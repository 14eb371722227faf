"""The scripts of `omnio completion`, by the shells themselves.

  completion.py [SHELL...]

In each shell, the script is read and words are completed. bash calls the function, as it does for
the tab key; fish is asked; zsh gets the tab key on a terminal.
"""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time

from omnio_testing import PATIENCE_S, Checks, WorkDirectory, environment, omnio, run

# What is typed, without `omnio`, and a part of what is offered. "!": that is not offered.
# None: names of files, as those of the working directory.
CASES = (
    (["st"], ["stats"]),
    (["he"], ["help"]),
    (["--ver"], ["--version"]),
    (["stats", "--hist"], ["--histograms"]),
    (["stats", "--"], ["--by", "--layer", "--json", "!--perfetto"]),
    (["stats", "--layer", ""], ["application", "posix", "!stats"]),
    (["stats", "--by", "f"], ["file", "!rank"]),
    (["trace", "--flavour", ""], ["auto", "serial", "openmp", "mpi", "hybrid"]),
    (["trace", "--when-slow", "w"], ["wait"]),
    (["completion", ""], ["bash", "zsh", "fish"]),
    (["help", "pre"], ["preprocess"]),
    (["sched"], ["schedule"]),
    (["schedule", ""], ["show", "check", "!my file"]),
    (["schedule", "sh"], ["show", "!check"]),
    (["schedule", "show", "--"], ["--by", "--json", "!--histograms"]),
    (["schedule", "show", "--by", ""], ["rank", "file", "call", "!check"]),
    (["schedule", "check", "--"], ["--json", "!--by"]),
    (["schedule", "show", "my"], None),
    (["schedule", "show", "--by", "file", "my"], None),
    (["stats", "my"], None),
    (["stats", "run", "--path", "my"], None),
    (["report", "run", "-o", "my"], None),
    (["stats", "--rank", "my"], ["!my file"]),
    (["trace", "-o", "run", "--", "tru"], ["true"]),
    (["trace", "-o", "run", "tru"], ["true"]),
    (["trace", "--", "cat", "my"], None),
)


def hasFile(offered):
    """Shells print blanks in names with and without a backslash, and may add one at the end."""
    return any(word.replace("\\", "").startswith("my file") for word in offered)


def check(checks, shell, typed, offered, wanted):
    what = f"{shell}: omnio {' '.join(typed)}<tab> offers"
    if wanted is None:
        checks.that(hasFile(offered), f"{what} the file: {offered[:10]}")
        return
    for word in wanted:
        if word == "!my file":
            checks.that(not hasFile(offered), f"{what} no file: {offered[:10]}")
        elif word.startswith("!"):
            checks.that(word[1:] not in offered, f"{what} no {word[1:]}: {offered[:10]}")
        else:
            checks.that(word in offered, f"{what} {word}: {offered[:10]}")


def bash(checks, script, work):
    checks.equal(run(["bash", "-n", script]).err, b"", "bash -n")
    loaders = {"bash": f"source {script}"}
    package = "/usr/share/bash-completion/bash_completion"
    if os.path.exists(package):
        loaders["bash with bash-completion"] = f"source {package}; source {script}"
    for shell, loader in loaders.items():
        for typed, wanted in CASES:
            words = ["omnio", *typed]
            quoted = " ".join(f"'{word}'" for word in words)
            line = " ".join(words)
            code = (f"{loader}; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; "
                    f"COMP_LINE='{line}'; COMP_POINT={len(line)}; "
                    "_omnio omnio; printf '%s\\n' \"${COMPREPLY[@]}\"")
            done = run(["bash", "--norc", "-c", code], cwd=work)
            offered = [word.strip() for word in done.out.decode().splitlines()]
            check(checks, shell, typed, offered, wanted)
    # bash takes this apart at the equals sign.
    for words in (["stats", "--by", "="], ["stats", "--by", "=", "f"]):
        quoted = " ".join(f"'{word}'" for word in ["omnio", *words])
        code = (f"source {script}; COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _omnio; "
                "printf '%s\\n' \"${COMPREPLY[@]}\"")
        offered = run(["bash", "--norc", "-c", code], cwd=work).out.decode().split()
        checks.that("file" in offered, f"bash: {words} offers file: {offered}")
    done = run(["bash", "--norc", "-c", f"source {script}; complete -p omnio"])
    checks.equal(done.out, b"complete -F _omnio omnio\n", "bash knows the function")


def fish(checks, script, work):
    checks.equal(run(["fish", "-n", script]).err, b"", "fish -n")
    for typed, wanted in CASES:
        code = f"source {script}; complete -C 'omnio {' '.join(typed)}'"
        done = run(["fish", "--no-config", "-c", code], cwd=work,
                   env=environment(HOME=work, TERM="dumb"))
        offered = [line.split("\t")[0] for line in done.out.decode().splitlines()]
        check(checks, "fish", typed, offered, wanted)
        checks.equal(done.err, b"", f"fish says nothing: {typed}")


class Zsh:
    """An interactive zsh on a terminal of its own."""

    def __init__(self, script, work):
        self.master, side = pty.openpty()
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            ["zsh", "-f", "-i"], stdin=side, stdout=side, stderr=side, cwd=work,
            start_new_session=True,
            env=environment(HOME=work, TERM="dumb", PATH=os.environ["PATH"], COLUMNS="200"))
        os.close(side)
        setup = ("unsetopt prompt_cr prompt_sp; PS1='READY> '; "
                 "autoload -Uz compinit; compinit -u -D; "
                 "zstyle ':completion:*' list-prompt ''; LISTMAX=1000; "
                 # The list of what is offered, in place of a change of the line.
                 "zstyle ':completion:*' verbose no; bindkey '^T' list-choices; "
                 f"source {script}; echo LOAD''ED")
        self.send(setup + "\n")
        self.until("LOADED\r\nREADY> ")

    def send(self, text):
        os.write(self.master, text.encode())

    def until(self, mark, seconds=PATIENCE_S):
        """What comes until the mark."""
        text = ""
        end = time.monotonic() + seconds
        while mark not in text and time.monotonic() < end:
            if select.select([self.master], [], [], 0.2)[0]:
                text += os.read(self.master, 65536).decode(errors="replace")
        return text

    def offered(self, typed):
        # The end of the answer is known by what the next command prints.
        self.send(f"omnio {' '.join(typed)}\x14\x15echo DO''NE\n")
        text = self.until("DONE\r\nREADY> ")
        return re.split(r"\s{2,}|[\r\n\b]+", text)

    def close(self):
        os.close(self.master)
        self.process.kill()
        self.process.wait()


def zsh(checks, script, work):
    checks.equal(run(["zsh", "-n", script]).err, b"", "zsh -n")
    shell = Zsh(script, work)
    try:
        for typed, wanted in CASES:
            check(checks, "zsh", typed, [word.strip() for word in shell.offered(typed)], wanted)
    finally:
        shell.close()


def main(chosen):
    checks = Checks()
    with WorkDirectory() as work:
        with open(os.path.join(work, "my file"), "w", encoding="utf-8"):
            pass
        for name, test in (("bash", bash), ("zsh", zsh), ("fish", fish)):
            if chosen and name not in chosen:
                continue
            if shutil.which(name) is None:
                checks.skip(name, "not installed here")
                continue
            made = run([omnio(), "completion", name])
            checks.equal((made.status, made.err), (0, b""), f"omnio completion {name}")
            script = os.path.join(work, f"omnio.{name}")
            with open(script, "wb") as file:
                file.write(made.out)
            with checks.case(name):
                test(checks, script, work)
    refused = run([omnio(), "completion", "csh"])
    checks.equal((refused.status, refused.out), (2, b""), "another shell is refused")
    checks.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
