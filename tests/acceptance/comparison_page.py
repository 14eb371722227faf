"""omnio compare --page, omnio evaluate and omnio diff --page: the data of the page against the document
that --json prints, the form beside it, and the page itself in Chromium (tests/page/check_page.mjs), where node, npm and chromium are.

  comparison_page.py FOLDER-OF-CHECK_PAGE"""

import contextlib
import csv
import json
import os
import shutil
import signal
import statistics
import sys
import tempfile

from omnio_testing import (Checks, WorkDirectory, emptied, mpirun, omnio, program, run, skipTest,
                           trace)
from report_page import SCRIPT, Browser, dataOf

RANKS = 4
RUNS = 3


def done(checks, words, **more):
    result = run(words, **more)
    checks.equal(result.status, 0, f"{words}: {result}")
    return result


def traced(checks, work, name):
    to, directory = os.path.join(work, name + ".trace"), emptied(os.path.join(work, name))
    result = trace(to, mpirun(RANKS) + [program("c_kernels"), "btio-full", "24", "3", "0"],
                   cwd=directory)
    checks.equal(result.status, 0, f"trace: {result}")
    return to


def recorded(checks, work):
    """A trace of BT-IO, its model, and a trace of its replay."""
    to = traced(checks, work, "app")
    model, schedule = os.path.join(work, "app.phases.json"), os.path.join(work, "app.json")
    done(checks, [omnio(), "phases", to, "-o", model])
    done(checks, [omnio(), "preprocess", to, "-o", schedule])
    replayed = os.path.join(work, "replayed")
    done(checks, [omnio(), "replay", schedule, "--target", os.path.join(work, "target"), "-o",
                  replayed, "--launcher", " ".join(mpirun(RANKS))])
    return to, model, replayed


def results(checks, work, model):
    found = {"flash": [], "a <script>": []}
    for turn in range(RUNS):
        for number, names in enumerate(found.values()):
            target = os.path.join(work, f"target{number}")
            os.makedirs(target, exist_ok=True)
            names.append(os.path.join(work, f"{number}-{turn}.json"))
            done(checks, mpirun(RANKS) + [os.environ["OMNIO_TEST_PHASE_RUN"], model, "--target",
                                          target, "-o", names[-1]])
    return [f"{name}={','.join(paths)}" for name, paths in found.items()]


def checkPage(checks, work, browser, name, words):
    """The page says what the command says, and a browser shows it."""
    page = os.path.join(work, name + ".html")
    text = done(checks, [omnio(), *words, "--page", page]).out.decode()
    document = json.loads(done(checks, [omnio(), *words, "--json"]).out)
    data = dataOf(checks, page)
    checks.that(document["verdict"] in text, f"{name}: {document['verdict']}: {text}")
    checkData(checks, name, data, document)
    browser.check(checks, page, {})
    return data


def checkData(checks, name, data, document):
    for key in document.keys() - {"format", "version"}:
        # Both are of one order, but for phases and lines that differ as much.
        has_lines = key in ("classes", "calls", "files", "ranks", "phases")
        said, wanted = ([sorted(each, key=json.dumps) if has_lines else each
                         for each in (data[key], document[key])])
        checks.equal(said, wanted, f"{name}: {key}")
    for key in [key for key in data if key.endswith("_left_out")]:
        checks.equal(data[key], 0, f"{name}: {key}")
    wanted = "--resume" if document.get("rounds") else "--all"
    checks.that(wanted in data["all_command"], f"{name}: {data['all_command']}")


def checkForm(checks, path, data):
    """The form as CSV is that of the page. Returns its fields, each with a cell by candidate."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    checks.equal(rows, [[row["field"], *row["cells"]] for row in data["form"]], "form")
    names = [each["name"] for each in data["ranking"]]
    checks.equal(rows[0], ["Candidate", *names], "candidates of the form")
    return {field: dict(zip(names, cells, strict=True)) for field, *cells in rows}


# Buffered: what it reads comes from memory.
PROGRAM = """
import os, sys
fd = os.open(os.path.join(sys.argv[1], "file"), os.O_CREAT | os.O_RDWR, 0o644)
for block in range(32):
    os.pwrite(fd, bytes(65536), block * 65536)
for block in range(32):
    os.pread(fd, 65536, block * 65536)
os.close(fd)
"""


def checkEvaluation(checks, work, browser):
    """A candidate in memory, which has its mark, and two directories of one file system."""
    to, data = os.path.join(work, "small.trace"), emptied(os.path.join(work, "small.data"))
    checks.equal(trace(to, [sys.executable, "-c", PROGRAM, data],
                       options=["--exclude", "/*", "--include", f"{data}/*"]).status, 0, "recorded")
    on = {name: emptied(os.path.join(work, name)) for name in ("one", "other")}
    output = os.path.join(work, "purchase")
    with contextlib.ExitStack() as left:
        on["memory"] = tempfile.mkdtemp(prefix="omnio-", dir="/dev/shm")
        left.callback(shutil.rmtree, on["memory"], ignore_errors=True)
        done(checks, [omnio(), "evaluate", to, "-o", output, "--rounds", "3", "--at-most", "3",
                      *(word for name, path in on.items() for word in ("--on", f"{name}={path}"))])
    with open(os.path.join(output, "comparison.json"), encoding="utf-8") as file:
        document = json.load(file)
    page = os.path.join(output, "evaluation.html")
    data = dataOf(checks, page)
    checkData(checks, "evaluation", data, document)
    checks.equal(len(data["notes_beside"]), 1, f"on one mount: {data['notes_beside']}")
    fields = checkForm(checks, os.path.join(output, "form.csv"), data)
    for each in data["ranking"]:
        name, of_all = each["name"], each["evidence_of_all"]
        for key in ("calls", "storage", "storage_with_sync"):
            for way in ("read_bytes", "written_bytes"):
                checks.equal(of_all[key][way], statistics.median(run[key][way] for run in each["evidence"]),
                             f"{name}: median of {key}, {way}")
        checks.that(of_all["course_run"] in range(3), f"{name}: {of_all['course_run']}")
        checks.equal(each["times_s"][of_all["course_run"]], each["median_s"], f"{name}: its course")
        checks.equal(each["median_s"], statistics.median(each["times_s"]), f"{name}: median")
        spread = max(abs(time / each["median_s"] - 1) for time in each["times_s"])
        checks.that(abs(each["spread"] - spread) < 1e-9, f"{name}: spread {each['spread']}, not {spread}")
        checks.equal(fields["Measured: storage or memory"][name], of_all["measured"], f"{name}: measured")
        checks.equal(fields["Rounds"][name], "3", f"{name}: rounds")
        checks.equal(fields["Bytes read and written"][name], str(4 << 20), f"{name}: bytes")
        checks.equal(fields["Results of calls that differ"][name], "0", f"{name}: differences")
        checks.equal(fields["Explanation of projections"][name], "", f"{name}: nothing is projected")
        checks.equal(float(fields["I/O time, s"][name]), float(f"{each['io_s']['middle']:.6g}"), "I/O time")
        checks.equal(fields["Spread within 5 %"][name], "yes" if spread <= 0.05 else "no", f"{name}: {spread}")
    measured = {each["name"]: each["evidence_of_all"] for each in data["ranking"]}
    checks.equal(measured["memory"]["measured"], "memory", "a file system in memory")
    checks.that(f"memory is {measured['memory']['sentence']}" in data["warnings"], f"{data['warnings']}")
    browser.check(checks, page, {})


def checkNames(checks, work, browser):
    """A file whose name is a tag of HTML."""
    directory = emptied(os.path.join(work, "names"))
    with open(os.path.join(directory, SCRIPT), "wb") as file:
        file.write(b"x" * 1000)
    traces = []
    for turn in range(2):
        traces.append(os.path.join(work, f"names{turn}.trace"))
        result = trace(traces[-1], ["/bin/sh", "-c", 'for f in *; do cat "$f" >/dev/null; done'],
                       cwd=directory)
        checks.equal(result.status, 0, f"names: {result}")
    data = checkPage(checks, work, browser, "names", ["diff", *traces])
    checks.that(SCRIPT in [line["name"] for line in data["files"]], "the file is there")


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    checks = Checks()
    if mpirun(1) is None or not os.access(os.environ.get("OMNIO_TEST_PHASE_RUN", ""), os.X_OK):
        skipTest("no MPI, or no omnio-phase-run")
    with WorkDirectory() as work:
        browser = Browser(work, sys.argv[1])
        to, model, replayed = recorded(checks, work)
        candidates = results(checks, work, model)
        with checks.case("runs"):
            form = os.path.join(work, "form.csv")
            data = checkPage(checks, work, browser, "runs",
                             ["compare", model, *candidates, "--peak", "flash=3000,2000", "--form", form])
            fields = checkForm(checks, form, data)
            checks.that(fields["Share of the peak, writes, %"]["flash"], f"a share: {fields}")
            checks.equal(fields["Share of the peak, writes, %"]["a <script>"], "", "no peak")
            checks.equal(fields["Processes of the recording"]["flash"], str(RANKS), "processes")
            checks.that(fields["Platform"]["flash"].startswith("Linux "), f"{fields['Platform']}")
            checks.equal([each["origins"] for each in data["ranking"]], [["phase run"]] * 2, "origins")
            checks.that(data["application_s"] > 0, "the application's time")
            checks.that(all("write_s" in each or "read_s" in each for phase in data["phases"]
                            for each in phase["candidates"]), "times of writes and reads")
        with checks.case("traces"):
            data = checkPage(checks, work, browser, "traces",
                             ["compare", model, candidates[0], f"replay={replayed}", f"app={to}"])
            checks.equal({each["name"]: each["origins"] for each in data["ranking"]},
                         {"flash": ["phase run"], "replay": ["replay"], "app": ["application"]},
                         "origins")
        with checks.case("an application and its replay"):
            checkPage(checks, work, browser, "replay", ["diff", to, replayed, "--layer", "posix"])
        with checks.case("repeats"):
            more = [traced(checks, work, f"more{turn}") for turn in range(3)]
            data = checkPage(checks, work, browser, "repeats",
                             ["diff", to, more[0], "--with", more[1], more[2]])
            checks.that(data["phases"], f"phases: {data['phases_missing']}")
            checks.equal(len(data["a"]["repeats"]), 1, "repeats of A")
        with checks.case("names"):
            checkNames(checks, work, browser)
        with checks.case("no data moved"):
            moved = os.path.join(work, "none.trace")
            result = trace(moved, ["touch", "made"], cwd=emptied(os.path.join(work, "none")))
            checks.equal(result.status, 0, f"trace: {result}")
            data = checkPage(checks, work, browser, "none", ["diff", moved, moved])
            phases = [phase["name"].rpartition(" ")[0] for phase in data["phases"]]
            checks.equal(phases, ["phase 1: metadata"], "phases")
        with checks.case("a page that cannot be written"):
            for option in ("--page", "--form"):
                result = run([omnio(), "compare", model, *candidates, option, "/dev/full"])
                checks.equal(result.status, 1, f"/dev/full: {result}")
        with checks.case("an evaluation"):
            checkEvaluation(checks, work, browser)
    return checks.finish()


if __name__ == "__main__":
    main()
