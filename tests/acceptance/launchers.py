"""Both launch forms on one host, with shells, scripts and interpreters between launcher and
program; exit statuses; who counts as a rank; and which flavour was chosen, and why.
"""

import os
import re
import shlex
import shutil
import sys

from omnio_testing import (Checks, WorkDirectory, emptied, environment, manifest, mpirun, omnio,
                           program, readLog, run, stats, trace)

RANKS = 4

# A rank in Python: it writes one file of its own, and a child of its writes another.
PYTHON_RANK = """\
import os, subprocess, sys
rank = os.environ["OMPI_COMM_WORLD_RANK"]
with open(os.path.join(sys.argv[1], "each." + rank), "wb", buffering=0) as file:
    for i in range(10): file.write(b"0123456789")
subprocess.run([sys.argv[2], sys.argv[1], "child", "child." + rank, "12"], check=True)
"""


def processesOf(trace_directory):
    return manifest(trace_directory)["processes"]


def writersOf(trace_directory, directory):
    """{file name: {ranks that wrote it}} below the run directory."""
    result = {}
    for event in readLog(trace_directory):
        path = event.get("file") or ""
        if event["class"] == "write" and path.startswith(directory + "/"):
            result.setdefault(os.path.basename(path), set()).add(event["rank"])
    return result


def checkRanks(checks, form, trace_directory, ranks):
    state = stats(trace_directory, "--by", "rank")["trace"]
    checks.equal((state["ranks_expected"], state["ranks_reporting"], state["whole"],
                  state["reasons"]), (ranks, ranks, True, []),
                 f"{form}: ranks expected, reporting, whole, reasons")


def launchForms(directory):
    """{name: (ranks, application command)}; each is started both ways."""
    app = [program("c_mpi"), directory]
    script = os.path.join(directory, "..", "rank.sh")
    with open(script, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n: a script in between\n{shlex.join(app)}\n")
    os.chmod(script, 0o755)
    return {
        "program": (RANKS, app),
        "sh -c exec": (2, ["sh", "-c", f"exec {shlex.join(app)}"]),
        "sh -c child": (2, ["sh", "-c", f"{shlex.join(app)}; exit $?"]),
        "script": (2, [script]),
        "env": (2, ["env", "WORD=value", *app]),
        "python": (2, [sys.executable, "-c", PYTHON_RANK, directory, program("c_fork")]),
    }


def checkForms(checks, work):
    directory = os.path.join(work, "run")
    for name, (ranks, app) in launchForms(emptied(directory)).items():
        for form, command in (
                ("omnio trace -- mpirun", lambda to: [omnio(), "trace", "-o", to, "--",
                                                      *mpirun(ranks), *app]),
                ("mpirun omnio trace", lambda to: [*mpirun(ranks), omnio(), "trace", "-o", to,
                                                   "--", *app])):
            what = f"{form}, {name}"
            with checks.case(what):
                emptied(directory)
                to = os.path.join(work, re.sub(r"\W+", "-", what))
                result = run(command(to))
                if not checks.equal((result.status, result.err), (0, b""), f"{what}: status, "
                                                                          "standard error"):
                    print(result)
                    continue
                checkRanks(checks, what, to, ranks)
                writers = writersOf(to, directory)
                for rank in range(ranks):
                    checks.equal(writers.get(f"each.{rank}"), {rank},
                                 f"{what}: who wrote each.{rank}")
                    if name == "python":
                        checks.equal(writers.get(f"child.{rank}"), {rank},
                                     f"{what}: a child's file belongs to its rank")
                checkChoice(checks, what, to, name)


def checkChoice(checks, what, trace_directory, name):
    """`auto` chose an MPI flavour for the MPI program, and none for the interpreters around it."""
    processes = processesOf(trace_directory)
    chosen = {}
    for process in processes:
        checks.that(process.get("flavour_reason"),
                    f"{what}: the manifest says why a flavour was chosen: {process}")
        chosen.setdefault(os.path.basename(process.get("program", "?")), set()).add(
            process["flavour"])
    print(f"{what}: {len(processes)} processes, flavours {chosen}")
    if name != "python":
        checks.equal(chosen.get("c_mpi"), {"mpi"}, f"{what}: flavour of c_mpi")
    for other in ("sh", "dash", "bash", "env"):
        checks.that(chosen.get(other, {"serial"}) == {"serial"},
                    f"{what}: flavour of {other}: {chosen.get(other)}")


def checkFlavours(checks, work):
    for name, flavour in (("c_posix", "serial"), ("cxx_openmp", "openmp"), ("c_mpi", "mpi")):
        if program(name) is None:
            checks.skip(name, "not built here")
            continue
        with checks.case(f"flavour of {name}"):
            to = os.path.join(work, f"flavour-{name}")
            result = trace(to, [program(name), emptied(os.path.join(work, "run"))])
            checks.equal(result.status, 0, f"{name} alone: status")
            checks.equal({process["flavour"] for process in processesOf(to)}, {flavour},
                         f"{name}: the flavour chosen")


def checkStatuses(checks, work):
    """The status is the application's; omnio's own troubles are 125, 126 and 127, as env's are."""
    plain = os.path.join(work, "not_executable")
    with open(plain, "w", encoding="utf-8") as file:
        file.write("text\n")
    counter = 0
    for command, status, sentences in (
            (["true"], 0, 0), (["sh", "-c", "exit 3"], 3, 0), (["sh", "-c", "exit 255"], 255, 0),
            (["sh", "-c", "kill -TERM $$"], 143, 0), (["sh", "-c", "kill -KILL $$"], 137, 0),
            (["sh", "-c", "kill -SEGV $$"], 139, 0), ([plain], 126, 1), ([work], 126, 1),
            (["/nonexistent/program"], 127, 1), (["no-such-command-here"], 127, 1)):
        counter += 1
        # A directory in PATH that this user may not search would make a missing command a 126.
        result = trace(os.path.join(work, f"status-{counter}"), command,
                       env=environment(PATH="/usr/bin:/bin"))
        checks.equal(result.status, status, f"status of {' '.join(command)}")
        lines = [line for line in result.err.decode().splitlines() if line.strip()]
        if sentences:
            checks.that(len(lines) == 1 and os.path.basename(command[0]) in lines[0],
                        f"one sentence that names {command[0]}: {lines}")
    file = os.path.join(work, "a_file")
    open(file, "w", encoding="utf-8").close()
    for to, why in ((file, "a file is in the way"), (os.path.join(file, "below"), "no directory"),
                    (os.path.join(work, "status-1"), "it holds a trace already")):
        result = trace(to, ["true"])
        checks.equal(result.status, 125, f"trace directory refused: {why}")
        checks.equal(len(result.err.decode().strip().splitlines()), 1, f"one sentence: {why}")
        print(f"refused: {result.err.decode().strip()}")


def checkMpiStatuses(checks, work):
    """mpirun gives the status of a failing rank; both forms hand it on."""
    for form in ("outer", "inner"):
        for text, status in (("exit 0", 0), ("exit 5", 5)):
            to = os.path.join(work, f"mpi-status-{form}-{status}")
            start = [omnio(), "trace", "-o", to, "--"]
            command = ["sh", "-c", text]
            words = [*start, *mpirun(2), *command] if form == "outer" else [*mpirun(2), *start,
                                                                            *command]
            checks.equal(run(words).status, status, f"{form}: status of mpirun {text}")


def checkStandardStreams(checks, work):
    """Input, output and a large amount of both pass through untouched."""
    data = os.urandom(3 << 20)
    result = run([omnio(), "trace", "-o", os.path.join(work, "streams"), "--", "cat"], stdin=data)
    checks.that(result.status == 0 and result.out == data and result.err == b"",
                f"cat under omnio trace: status {result.status}, {len(result.out)} bytes of "
                f"{len(data)}, stderr {result.err[:200]!r}")


def main():
    checks = Checks()
    with WorkDirectory() as work:
        with checks.case("statuses"):
            checkStatuses(checks, work)
        with checks.case("standard streams"):
            checkStandardStreams(checks, work)
        checkFlavours(checks, work)
        if shutil.which("mpirun") is None or program("c_mpi") is None:
            checks.skip("launch forms", "there is no MPI")
        else:
            checkForms(checks, work)
            with checks.case("MPI statuses"):
                checkMpiStatuses(checks, work)
    checks.finish()


if __name__ == "__main__":
    main()
