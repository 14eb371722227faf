"""The commands of docs/tutorial.md, run as they stand there; the lines shown there have to come up.
And every command of omnio has its page.

In its `console` blocks, a line that begins with "$ " is a command, the lines behind it are some of
its output, "..." stands for any. Numbers, units, paths of the run's directory and runs of blanks
are not compared. A command ends with 0, or with N where "# exits with N" stands behind it.
"""

import os
import re
import shutil

from omnio_testing import (PATIENCE_S, Checks, WorkDirectory, environment, mpirun, omnio, run,
                           skipTest)

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
PAGE = os.path.join(ROOT, "docs", "tutorial.md")
INPUT = os.path.join(ROOT, "configs", "demo", "in.melt")
DOCUMENTED = "/data/run"
EXITS = re.compile(r"\s*# exits with (\d+)$")
# A number, and a unit behind it, which depends on the number's size.
NUMBER = re.compile(r"\b0x[0-9a-f]+\b|\d+(\.\d+)?(\s*(B|KiB|MiB|GiB|ns|us|ms|s)\b)?")
PHASE_RUN = os.environ.get("OMNIO_TEST_PHASE_RUN")
# Two cores are enough for four ranks here, and containers are often run as root.
LAUNCHER = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def commands():
    """[(command, exit status, lines shown)] in the page's order."""
    found = []
    inside = False
    with open(PAGE, encoding="utf-8") as page:
        for line in page.read().splitlines():
            if line.startswith("```"):
                inside = line == "```console"
            elif inside and line.startswith("$ "):
                status = EXITS.search(line)
                found.append((EXITS.sub("", line[2:]), int(status[1]) if status else 0, []))
            elif inside and line != "...":
                found[-1][2].append(line)
    return found


def plain(line, directory):
    line = line.replace(os.path.realpath(directory), DOCUMENTED).replace(directory, DOCUMENTED)
    return " ".join(NUMBER.sub("N", line).split())


def checkPages(checks):
    """Of the commands that `omnio --help` names, and of the programs beside it."""
    text = run([omnio(), "--help"]).out.decode()
    names = re.findall(r"^  ([a-z]+) ", text.partition("Subcommands:")[2], re.MULTILINE)
    checks.that(len(names) >= 10, f"the help names commands: {names}")
    for name in [*names, "phase-run"]:
        page = os.path.join(ROOT, "docs", "commands", f"{name}.md")
        if checks.that(os.path.exists(page), f"docs/commands/{name}.md"):
            with open(page, encoding="utf-8") as text:
                checks.that(f"{name} " in text.read(), f"{page} shows how {name} is called")


def main():
    if mpirun(4) is None or shutil.which("lmp") is None:
        skipTest("needs mpirun and LAMMPS")
    if not PHASE_RUN:
        skipTest("omnio-phase-run is not built here")
    checks = Checks()
    checkPages(checks)
    path = os.pathsep.join([os.path.dirname(omnio()), os.path.dirname(PHASE_RUN),
                            os.environ["PATH"]])
    with WorkDirectory() as work:
        shutil.copy(INPUT, work)
        for command, status, lines in commands():
            result = run(["bash", "-o", "pipefail", "-c", command], cwd=work, timeout=PATIENCE_S,
                         env=environment(PATH=path, **LAUNCHER))
            print(f"$ {command}\n{result.out.decode(errors='replace')}"
                  f"{result.err.decode(errors='replace')}", flush=True)
            checks.equal(result.status, status, f"`{command}` ends with")
            shown = [plain(line, work) for line in result.out.decode(errors="replace").splitlines()]
            for line in lines:
                checks.that(plain(line, work) in shown, f"`{command}` shows: {line}")
    checks.that(checks.done > 20, "the page has commands")
    checks.finish()


if __name__ == "__main__":
    main()
