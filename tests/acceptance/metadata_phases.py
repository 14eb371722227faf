"""Phases of metadata: programs in the manner of mdtest (c_metadata.c), whose calls move no data, from
the trace to an estimate. Counts by call are those that the program prints, and those of strace; no
call is in two phases; a model without any call says so.

  metadata_phases.py [CASE...]    all cases by default
"""

import collections
import json
import os
import re
import shutil
import sys

from omnio_testing import (Checks, WorkDirectory, emptied, mpirun, omnio, program, run, skipTest,
                           stats, trace)

DEMO_TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "demo_table.py")
RANKS = 4
ITEMS = 40
EACH = RANKS * ITEMS

# By hand, from c_metadata.c: the steps between barriers, each with its calls, the opens that make a
# file, and whether each rank has a directory of its own. Names in the parent of the own directories
# are in one of all.
STEPS = [({"close": EACH, "open": EACH}, EACH), ({"stat": EACH}, 0),
         ({"close": EACH, "open": EACH}, 0), ({"rename": EACH}, 0), ({"unlink": EACH}, 0),
         ({"mkdir": EACH}, 0), ({"rmdir": EACH}, 0)]
CYCLE = [({"close": EACH, "open": EACH, "stat": EACH, "unlink": EACH}, EACH)]
DATA = {"chmod": 4, "close": 4, "fsync": 4, "open": 4, "unlink": 4, "write": 16}


def phasesOfMode(mode):
    """(calls, creates, name of the directory, shared, directories, ranks) of each metadata phase."""
    own = mode in ("own", "cycle")
    makers = RANKS if own else 1
    around = ("run", True, 1, list(range(makers)))
    inside = ("rank.{rank}", False, RANKS, list(range(RANKS))) if own else \
        ("all", True, 1, list(range(RANKS)))
    return [({"mkdir": makers}, 0, *around),
            *((calls, creates, *inside) for calls, creates in (CYCLE if mode == "cycle" else STEPS)),
            ({"rmdir": makers}, 0, *around)]


def ranMode(checks, work, mode, items=ITEMS, ranks=RANKS):
    """A traced run: the trace, and how often each call was made, by the program's own account."""
    directory = emptied(os.path.join(work, "run"))
    to = os.path.join(work, f"{mode}.{ranks}.trace")
    shutil.rmtree(to, ignore_errors=True)
    result = trace(to, mpirun(ranks) + [program("c_metadata"), directory, mode, str(items)])
    checks.equal(result.status, 0, f"{mode}: {result}")
    printed = dict(line.split() for line in result.out.decode().splitlines())
    return to, {name: int(number) for name, number in printed.items()}


def modelOf(checks, to):
    path = to + ".json"
    result = run([omnio(), "phases", to, "-o", path])
    checks.equal((result.status, result.err), (0, b""), f"omnio phases {to}")
    with open(path, encoding="utf-8") as file:
        return path, json.load(file), result.out.decode()


def callsOf(phases):
    calls = collections.Counter()
    for phase in phases:
        calls.update(phase["calls"])
    return dict(calls)


def checkModel(checks, work, mode):
    to, printed = ranMode(checks, work, mode)
    path, model, text = modelOf(checks, to)
    checks.equal(callsOf(model["phases"]), printed, f"{mode}: calls of all phases, and the program's")
    checks.equal(callsOfTrace(to), printed, f"{mode}: calls of the trace, and the program's")
    metadata = [phase for phase in model["phases"] if "metadata" in phase]
    found = []
    for phase in metadata:
        file = model["files"][phase["file"]]
        checks.equal(file["directory"], True, f"{mode}: a directory")
        checks.equal(phase["metadata"]["operations"], sum(phase["calls"].values()), f"{mode}: weight")
        checks.that(phase["measured"]["metadata_ns"] > 0 and phase["measured"]["data_ns"] == 0,
                    f"{mode}: {phase['measured']}")
        found.append((phase["calls"], phase["metadata"]["creates"], os.path.basename(file["path"]),
                      file["shared"], phase["metadata"]["directories"], phase["ranks"]))
    checks.equal(found, phasesOfMode(mode), f"{mode}: phases of metadata")
    checks.equal(sum(model["measured"]["outside"].values()), 0, f"{mode}: outside of phases")
    calls = sum(phase["metadata"]["operations"] for phase in metadata)
    checks.that(f"metadata call{'s' if calls > 1 else ''}; trace whole: yes" in text and
                f"and {calls} metadata" in text, f"{mode}: {text}")
    checks.that(re.search(rf"\nall +{calls} +\d+\.\d{{4}} s\n", text), f"{mode}: {text}")
    data = [phase for phase in model["phases"] if "metadata" not in phase]
    checks.equal(callsOf(data), DATA if mode == "data" else {}, f"{mode}: calls of data phases")
    checks.equal([phase["id"] for phase in model["phases"]],
                 list(range(1, len(model["phases"]) + 1)), f"{mode}: ids")
    return path, model, printed


def callsOfTrace(to):
    """How often each function was called, but for those of MPI."""
    return {each["name"]: sum(each["operations"].values())
            for each in stats(to, "--by", "call")["groups"] if not each["name"].startswith("MPI_")}


def checkStrace(checks, work):
    """The calls of a model are those that strace counts on names below the directory."""
    to, _ = ranMode(checks, work, "cycle")
    _, model, _ = modelOf(checks, to)
    directory = emptied(os.path.join(work, "run"))
    lines = os.path.join(work, "strace")
    result = run(["strace", "-f", "-y", "-qq", "-e", "trace=%file,close", "-o", lines] +
                 mpirun(RANKS) + [program("c_metadata"), directory, "cycle", str(ITEMS)])
    if b"ptrace" in result.err:
        checks.skip("strace", "ptrace is not allowed here")
        return
    checks.equal(result.status, 0, f"strace: {result}")
    names = {"openat": "open", "newfstatat": "stat"}
    counts = collections.Counter()
    with open(lines, encoding="utf-8", errors="replace") as file:
        for line in file:
            call = re.match(r"\d+ +(\w+)\(", line)
            if call and directory + "/" in line and "execve" not in line:
                counts[names.get(call.group(1), call.group(1))] += 1
    checks.equal(callsOf(model["phases"]), dict(counts), "calls of the model, and of strace")


def phaseRun(model, target, *options):
    return run(mpirun(RANKS) + [os.environ["OMNIO_TEST_PHASE_RUN"], model, "--target", target,
                                *options])


def firstLine(result):
    """mpirun adds lines of its own after what a program said."""
    return result.err.decode().split("\n", maxsplit=1)[0]


def estimated(checks, path, *results):
    result = run([omnio(), "estimate", path, *results, "--json"])
    checks.equal((result.status, result.err), (0, b""), f"omnio estimate {results}")
    return json.loads(result.out)


def checkRun(checks, work, mode):
    """The phase runner makes the calls of the model, and an estimate has them all."""
    path, model, printed = checkModel(checks, work, mode)
    target = emptied(os.path.join(work, "target"))
    results = os.path.join(work, "results.json")
    result = phaseRun(path, target, "-o", results)
    checks.equal((result.status, result.err), (0, b""), f"{mode}: phase runner")
    checks.that(("phase  api    metadata   processes           calls  operations/s  least .. most\n"
                 in result.out.decode()), f"{mode}: {result}")
    with open(results, encoding="utf-8") as file:
        document = json.load(file)
    whole = document["runs"][0]
    checks.equal((whole["differences"], whole["not_issued"], whole["operations"]),
                 (0, 0, sum(printed.values())), f"{mode}: calls of the run")
    checks.equal(whole["outside"]["io_s"], 0, f"{mode}: outside of phases")
    weights = {phase["id"]: phase["metadata"]["operations"] for phase in model["phases"]
               if "metadata" in phase}
    for test in document["tests"]:
        if test["phase"] not in weights:
            continue
        checks.equal((test["Notes"], [each["access"] for each in test["Results"]],
                      [each["operations"] for each in test["Results"]]),
                     ([], ["metadata"], [weights[test["phase"]]]), f"{mode}: {test['phase']}")
    estimate = estimated(checks, path, results)
    checks.equal(callsOf(estimate["phases"]), printed, f"{mode}: calls of the estimate")
    checks.equal(estimate["total"]["weight_operations"], sum(weights.values()), f"{mode}: weight")
    checks.that(estimate["whole"]["metadata_s"]["median"] > 0, f"{mode}: metadata of the estimate")
    return path, results


def checkArithmetic(checks, work, path, results):
    """Of results with known rates: weight / rate."""
    with open(results, encoding="utf-8") as file:
        document = json.load(file)
    for number, test in enumerate(document["tests"]):
        for each in test["Results"]:
            each["operationsPerSecond"] = 1000 * (number + 1)
    known = os.path.join(work, "known.json")
    with open(known, "w", encoding="utf-8") as file:
        json.dump(document, file)
    total = 0
    for number, phase in enumerate(estimated(checks, path, known)["phases"]):
        wanted = phase["weight_operations"] / (1000 * (number + 1))
        checks.that(abs(phase["time_io_s"]["median"] - wanted) < 1e-9, f"{phase}: {wanted}")
        checks.equal((phase["weight_bytes"], phase["operations"]), (0, []), "no bytes")
        total += wanted
    text = run([omnio(), "estimate", path, known]).out.decode()
    # The second phase makes the files: two calls each, at 2000 a second.
    checks.that(re.search(rf"\n +2  metadata +{2 * EACH} calls +2000\.0 calls/s +1 +"
                          rf"{2 * EACH / 2000:.6f} ", text), text)
    checks.that(re.search(rf"\n +sum +\d+ calls +{total:.6f} ", text), f"{total}: {text}")
    for each in document["tests"]:
        each["Results"] = []
    with open(known, "w", encoding="utf-8") as file:
        json.dump(document, file)
    refused = run([omnio(), "estimate", path, known])
    checks.that(refused.status == 1 and
                b"test 0 has nothing in its \"Results\": the run was aborted" in refused.err,
                str(refused))


def checkMdtest(checks, work, path):
    """The command lines, and what mdtest prints as a result."""
    text = run([omnio(), "ior", path]).out.decode()
    words = {1: "-D -C -r -n 1 -i 3", 2: f"-F -C -r -n {ITEMS} -u -i 3",
             3: f"-F -C -T -r -n {ITEMS} -u -i 3", 4: f"-F -C -E -r -n {ITEMS} -u -i 3",
             5: f"-D -C -U -r -n {ITEMS} -u -i 3", 6: f"-F -C -r -n {ITEMS} -u -i 3",
             7: f"-D -C -r -n {ITEMS} -u -i 3", 8: f"-D -C -r -n {ITEMS} -u -i 3",
             9: "-D -C -r -n 1 -i 3"}
    checks.equal(text, "".join(
        f'phase {phase}\n  mdtest {arguments} -d "$DIR" > "$RESULTS"/phase-{phase}.txt\n'
        for phase, arguments in words.items()), "command lines")
    rows = ("Directory creation", "Directory rename", "Directory removal", "File creation",
            "File stat", "File read", "File removal")
    printed = []
    for phase in words:
        printed.append(os.path.join(work, f"phase-{phase}.txt"))
        with open(printed[-1], "w", encoding="utf-8") as file:
            file.write("SUMMARY rate (in ops/sec): (of 3 iterations)\n" + "".join(
                f"   {row:<18}     {2000:14.3f} {500:14.3f} {1000:14.3f} {1:14.3f}\n"
                for row in rows))
    for phase in estimated(checks, path, *printed)["phases"]:
        items = phase["weight_operations"] // len(phase["calls"])
        time = phase["time_io_s"]
        checks.that(abs(time["median"] - items / 1000) < 1e-9 and
                    abs(time["min"] - items / 2000) < 1e-9 and
                    abs(time["max"] - items / 500) < 1e-9, f"{phase['phase']}: {items}: {time}")


def checkOthers(checks, work, path, results):
    """Commands beside the estimate."""
    refused = phaseRun(path, work, "--phase", "2")
    checks.equal((refused.status, firstLine(refused)), (
        1, f"omnio-phase-run: {path}: phase 2 is of metadata calls alone, which run by the schedule "
        "of the model, all phases together, and not by themselves (`omnio ior` has them as command "
        "lines of mdtest)"), "a metadata phase by itself")
    compared = run([omnio(), "compare", path, f"a={results}", f"b={results}"])
    checks.equal((compared.status, compared.err), (0, b""), "omnio compare")
    checks.that(f"{2 * EACH} calls" in compared.out.decode() and
                " 0.0 " not in compared.out.decode(), compared.out.decode())
    table = run([sys.executable, DEMO_TABLE, omnio(), "--application", os.path.join(work, "own.4.trace"),
                 "--model", path, results])
    checks.equal((table.status, table.err), (0, b""), "the demo's table")
    # It tells of reads and writes, of which there are none.
    checks.that(re.search(r"^estimate +0 +0\.00 ", table.out.decode(), re.M), f"the demo's table: {table}")
    page = os.path.join(work, "page.html")
    reported = run([omnio(), "report", os.path.join(work, "own.4.trace"), "-o", page])
    checks.equal((reported.status, reported.err), (0, b""), "omnio report")
    with open(page, encoding="utf-8") as file:
        data = re.search(r'<script type="application/json" id="data">(.*?)</script>', file.read(),
                         re.S)
    phases = json.loads(data.group(1))["phases"]
    checks.equal([(phase["operation"], phase["weight_operations"], phase["calls"])
                  for phase in phases[:2]],
                 [("metadata", RANKS, f"{RANKS} mkdir"),
                  ("metadata", 2 * EACH, f"{EACH} close, {EACH} open")], "phases of the page")


def checkGrowth(checks, work):
    """Two and four ranks make the calls of eight."""
    models = []
    for ranks in (2, 4):
        to, _ = ranMode(checks, work, "own", ranks=ranks)
        models.append(modelOf(checks, to)[0])
    grown = run([omnio(), "phases", *models, "--ranks", "8", "--scaling", "weak", "--json"])
    checks.equal((grown.status, grown.err), (0, b""), "omnio phases --ranks")
    phases = json.loads(grown.out)["phases"]
    checks.equal([phase["metadata"]["operations"] for phase in phases],
                 [8, *[8 * ITEMS * len(calls) for calls, _ in STEPS], 8], "calls of eight ranks")
    checks.equal([len(phase["ranks"]) for phase in phases], [8] * len(phases), "ranks")


def checkNothing(checks, work):
    """A model without phases."""
    path = os.path.join(work, "nothing.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"format": "omnio-phases", "version": 3, "processes": 1, "files": [], "phases": [],
                   "source": {"trace": "nothing.trace", "whole": True, "command": ["true"]},
                   "left_out": []}, file)
    why = (f"{path}: it has no phases: the trace has no call on a file or directory, so nothing can be "
           "estimated (`omnio stats` shows what was recorded)")
    refused = run(mpirun(1) + [os.environ["OMNIO_TEST_PHASE_RUN"], path, "--target", work])
    checks.equal((refused.status, firstLine(refused)), (1, f"omnio-phase-run: {why}"), "runner")
    refused = run([omnio(), "estimate", path, "none.json"])
    checks.equal((refused.status, firstLine(refused)), (1, f"omnio: {why}"), "estimate")


def main():
    if mpirun(1) is None or program("c_metadata") is None:
        skipTest("no MPI")
    if not os.access(os.environ.get("OMNIO_TEST_PHASE_RUN", ""), os.X_OK):
        skipTest("no omnio-phase-run")
    checks = Checks()
    wanted = sys.argv[1:]
    with WorkDirectory() as work:
        def case(name, *parts):
            if wanted and name not in wanted:
                return
            with checks.case(name):
                for part in parts:
                    part()

        def own():
            path, results = checkRun(checks, work, "own")
            checkArithmetic(checks, work, path, results)
            checkMdtest(checks, work, path)
            checkOthers(checks, work, path, results)

        case("own", own)
        for mode in ("shared", "cycle", "data"):
            case(mode, lambda mode=mode: checkRun(checks, work, mode))
        case("strace", lambda: checkStrace(checks, work) if shutil.which("strace") else
             checks.skip("strace", "there is no strace"))
        case("growth", lambda: checkGrowth(checks, work))
        case("nothing", lambda: checkNothing(checks, work))
    checks.finish()


main()
