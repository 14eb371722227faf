"""Standard output has nothing but data: what each command prints with --json or --csv is a document
from its first byte to its last, also where it has something to say of a trace that is not whole.

  data_alone.py
"""

import csv
import io
import json
import os
import re
import shutil

from omnio_testing import (Checks, WorkDirectory, emptied, environment, mpirun, omnio, program, run,
                           stats, trace)
from replay_testing import MPI_ENVIRONMENT


def formsOf(name):
    """The options of a command that choose a form of its standard output."""
    text = run([omnio(), *name.split(), "--help"]).out.decode()
    forms = set(re.findall(r"^  (--json|--csv)\b", text, re.MULTILINE))
    # With -o, the form is that of a file.
    # Those that go to a file of their own.
    return forms - {"export": {"--csv"}, "prefetch": {"--json"}}.get(name, set())


def namesOf(*above):
    """Of the commands; "schedule show" where one has commands of its own."""
    text = run([omnio(), *above, "--help"]).out.decode().partition("Subcommands:")[2]
    names = []
    for name in re.findall(r"^  ([a-z]+) ", text, re.MULTILINE):
        names += namesOf(*above, name) or [" ".join([*above, name])]
    return names


def damaged(recorded, to):
    """A copy of the trace whose last events are cut off, so that commands have to say so."""
    shutil.copytree(recorded, to)
    container = max((os.path.join(to, name) for name in os.listdir(to) if name.endswith(".omnio")),
                    key=os.path.getsize)
    os.truncate(container, os.path.getsize(container) // 2)
    return to


def commandsOn(checks, work):
    """{command: [its words, without the form]}; some of them on a trace that is not whole."""
    recorded, directory = os.path.join(work, "trace"), emptied(os.path.join(work, "run"))
    result = trace(recorded, [program("c_posix"), directory])
    checks.equal(result.status, 0, f"a trace: {result.err!r}")
    broken = damaged(recorded, os.path.join(work, "broken"))
    checks.equal(stats(broken)["trace"]["whole"], False, "the damage is seen")
    at = {name: os.path.join(work, name) for name in
          ("schedule.json", "model.json", "results.json", "replayed", "copy", "evaluated")}

    def make(*words):
        done = run([omnio(), *words], env=environment(**MPI_ENVIRONMENT))
        checks.equal(done.status, 0, f"{words[0]}: {done.err!r}")

    make("preprocess", recorded, "-o", at["schedule.json"])
    make("phases", recorded, "-o", at["model.json"])
    commands = {"log": [["log", recorded], ["log", broken], ["log", recorded, "--mpi"]],
                "stats": [["stats", recorded], ["stats", broken]],
                "advise": [["advise", recorded], ["advise", broken]],
                # Few accesses of few cells: a second.
                "calibrate": [["calibrate", "--target", emptied(os.path.join(work, "measured")), "-o",
                               os.path.join(work, "calibration.json"), "--force", "--budget", "60s",
                               "--largest", "64K", "--processes", "1", "--accesses", "20"]],
                "diff": [["diff", recorded, recorded], ["diff", recorded, broken],
                         ["diff", recorded, broken, "--tolerance", "0"]],
                "predict": [["predict", recorded]],
                "pack": [["pack", shutil.copytree(recorded, at["copy"])], ["pack", at["copy"]]],
                "phases": [["phases", recorded], ["phases", broken]],
                "schedule show": [["schedule", "show", at["schedule.json"]]],
                "schedule check": [["schedule", "check", at["schedule.json"]]],
                "ior": [["ior", at["model.json"]], ["ior", "--peak", at["model.json"]]]}
    if mpirun(1) is None:
        return commands
    commands["replay"] = [["replay", at["schedule.json"], "--dry-run", "--target",
                           os.path.join(work, "dry"), "-o", os.path.join(work, "dry.out")]]
    make("replay", at["schedule.json"], "--target", os.path.join(work, "target"), "-o",
         at["replayed"])
    commands["verify"] = [["verify", at["schedule.json"], at["replayed"]],
                          ["verify", at["schedule.json"],
                           damaged(at["replayed"], os.path.join(work, "half"))]]
    make("evaluate", at["schedule.json"], "--on", f"a={emptied(os.path.join(work, 'candidate'))}", "-o",
         at["evaluated"], "--rounds", "2", "--at-most", "2", "--no-traces")
    commands["evaluate"] = [["evaluate", "-o", at["evaluated"], "--resume"]]  # it is finished
    runner = os.environ.get("OMNIO_TEST_PHASE_RUN")
    if runner is None:
        return commands
    measured = run([*mpirun(1), runner, at["model.json"], "--target",
                    emptied(os.path.join(work, "phases")), "-o", at["results.json"]])
    checks.equal(measured.status, 0, f"omnio-phase-run: {measured.err!r}")
    results = at["results.json"]
    commands["estimate"] = [["estimate", at["model.json"], results]]
    commands["compare"] = [["compare", at["model.json"], f"a={results}", f"b={results}"]]
    return commands


def checkLines(checks, what, out, rows):
    """Each row is a line that ends in one newline, and no cell has an end of a line in it."""
    written = io.StringIO(newline="")
    csv.writer(written, lineterminator="\n").writerows(rows)
    checks.equal(out, written.getvalue().encode(), f"{what}: lines")
    checks.equal([line for line in out.split(b"\n") if b"\r" in line or b"\\x0D" in line], [],
                 f"{what}: lines with a carriage return")


def checkForm(checks, words, form):
    done = run([omnio(), *words, form])
    what = f"{' '.join(words)} {form}"
    checks.that(done.status in (0, 3), f"{what}: status {done.status}, {done.err!r}")
    text = done.out.decode()
    # The log of a trace without a whole chunk has no line.
    checks.that(text.endswith("\n") or words[0] == "log" and not text,
                f"{what}: ends with the end of a line")
    for line in done.err.decode().splitlines():
        checks.that(line.startswith("omnio: "), f"{what}: says {line!r}")
    try:
        if form == "--csv":
            rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
            checks.equal({len(row) for row in rows}, {len(rows[0])}, f"{what}: columns")
            checkLines(checks, what, done.out, rows)
        elif words[0] == "log":
            for line in text.splitlines():
                checks.that(isinstance(json.loads(line), dict), f"{what}: {line}")
        else:
            checks.that("format" in json.loads(text), f"{what}: names its format")
    except ValueError as problem:
        checks.that(False, f"{what}: {problem}: {text[:200]!r}")


def checkExport(checks, work):
    path = os.path.join(work, "calls.csv")
    done = run([omnio(), "export", os.path.join(work, "trace"), "--csv", "-o", path])
    checks.equal(done.status, 0, f"export --csv: {done.err!r}")
    with open(path, "rb") as file:
        out = file.read()
    checkLines(checks, "export --csv", out,
               list(csv.reader(io.StringIO(out.decode(), newline=""), strict=True)))
    checks.equal(out.partition(b"\n")[0], b"rank,host,pid,thread,start_ns,end_ns,call,class,depth,"
                 b"bytes,failed,arguments", "export --csv: names of the columns")


def main():
    checks = Checks()
    with WorkDirectory() as work:
        commands = commandsOn(checks, work)
        for name in namesOf():
            forms = formsOf(name)
            if name not in commands and forms and (mpirun(1) is None or
                                                   "OMNIO_TEST_PHASE_RUN" not in os.environ):
                checks.skip(name, "needs MPI")
                continue
            checks.that(name in commands or not forms, f"{name} {forms} is tried here")
            for words in commands.get(name, ()):
                for form in sorted(forms):
                    if form == "--csv" and "--mpi" in words:
                        continue
                    checkForm(checks, words, form)
        checkExport(checks, work)
    checks.finish()


if __name__ == "__main__":
    main()
