"""What IOR measured as figures of omnio compare: the peaks of storage systems, and the phases of an
application. IOR is a stand-in, and IOR itself too where there is one (ior_testing.py).
"""

import json
import math
import os
import shlex
import shutil
import statistics

from ior_testing import NO_IOR, ior, standIn
from omnio_testing import (Checks, WorkDirectory, emptied, environment, mpirun, omnio, program, run,
                           trace)

RANKS = 2
REQUEST = 65536
REPETITIONS = 8
MIB = 1 << 20


def must_(result):
    if result.status != 0:
        raise RuntimeError(str(result))
    return result


def measured(work, scripts, name, target, **variables):
    """The result of peak.sh, and its folder of results."""
    results = os.path.join(work, name)
    return run(["sh", os.path.join(scripts, "peak.sh")],
               env=environment(TARGET=target, RESULTS=results, **variables)), results


def checkScript(checks, work, what, variables, tasks):
    scripts, target = os.path.join(work, "scripts"), emptied(os.path.join(work, "target"))
    command = [omnio(), "ior", "--peak", "--tasks", str(tasks), "--task-mib", "2", "--iterations",
               "2"]
    must_(run([*command, "--emit", scripts]))
    result, results = measured(work, scripts, "whole", target, **variables)
    checks.equal(result.status, 0, f"{what}: {result}")
    checks.equal(os.listdir(target), [], f"{what}: what is left on the target")
    wanted = {f"peak-{kind}-{size}m-{operation}.json" for kind in ("shared", "files")
              for size in (1, 4, 16) for operation in ("write", "read")}
    checks.equal(set(os.listdir(results)), wanted | {"peak.json"}, f"{what}: results")
    with open(os.path.join(results, "peak.json"), encoding="utf-8") as file:
        checks.equal(json.load(file), json.loads(must_(run([*command, "--json"])).out),
                     f"{what}: peak.json and --json")


def checkIoNodes(checks, work):
    scripts, target = os.path.join(work, "nodes"), emptied(os.path.join(work, "target"))
    os.mkdir(os.path.join(target, "o'ne"))
    far = emptied(os.path.join(work, "far away"))
    must_(run([omnio(), "ior", "--peak", "--tasks", "2", "--task-mib", "1", "--iterations", "1",
               "--io-node", "a=o'ne", "--io-node", f"b={far}", "--emit", scripts]))
    log = os.path.join(work, "files")
    variables = standIn(work, f'echo "$@" >>{shlex.quote(log)}')
    result, results = measured(work, scripts, "two", target, **variables)
    checks.equal(result.status, 0, f"I/O nodes: {result}")
    with open(log, encoding="utf-8") as file:
        lines = file.read().splitlines()
    for name, directory in (("a", os.path.join(target, "o'ne")), ("b", far)):
        own = [line for line in lines if f"-o {directory}/omnio-ior." in line]
        checks.equal(len(own), 12, f"runs on I/O node {name}")
        checks.equal([line for line in own if f"/peak-{name}-" not in line], [], "their names")
        checks.equal(os.listdir(directory), [], f"what is left on I/O node {name}")
    # A run that fails ends it all, without peak.json, also where an earlier one was there.
    checks.that(os.path.exists(os.path.join(results, "peak.json")), "peak.json is there")
    variables = standIn(work, 'case "$*" in *peak-b-shared-4m-read*) exit 9 ;; esac')
    result, results = measured(work, scripts, "two", target, **variables)
    checks.equal(result.status, 9, f"a run that fails: {result}")
    checks.that(not os.path.exists(os.path.join(results, "peak.json")), "no peak.json")
    checks.equal(os.listdir(far), [], "what is left of the run that failed")
    result, _ = measured(work, scripts, "a blank", target, **variables)
    checks.equal(result.status, 1, f"a blank, at which IOR ends the name: {result}")
    checks.that(b"with a blank in its name" in result.err, f"the blank is named: {result}")


def oneSentence(checks, what, result, status, *mentions):
    lines = [line for line in result.err.decode(errors="replace").splitlines()
             if line.startswith("omnio")]
    checks.equal(result.status, status, f"{what}: exit status of {result}")
    checks.that(len(lines) == 1, f"{what}: one sentence, not {lines}")
    for mention in mentions:
        checks.that(mention in " ".join(lines), f"{what}: names {mention}: {lines}")
    print(f"{what}: {' '.join(lines)}")


def bandwidths(results, pattern):
    """Of the summaries in the folder whose names begin so, by name."""
    found = []
    for name in sorted(os.listdir(results)):
        if name.startswith(pattern):
            with open(os.path.join(results, name), encoding="utf-8") as file:
                found += [each["bwMiB"] for each in json.load(file)["tests"][0]["Results"]]
    return found


def phaseTimes(folder, model, kind):
    """The times of the phase of writes, or of reads, by iteration: its transfers at the rate that IOR
    measured, and its opens and closes, as many as a process made."""
    with open(model, encoding="utf-8") as file:
        [phase] = [each for each in json.load(file)["phases"]
                   if each["operations"][0]["operation"] == kind]
    with open(os.path.join(folder, "phase-1.json"), encoding="utf-8") as file:
        results = [each for each in json.load(file)["tests"][0]["Results"] if each["access"] == kind]
    opens, closes = (phase["calls"].get(f"MPI_File_{name}", 0) / RANKS for name in ("open", "close"))
    return [RANKS * REPETITIONS / each["iops"] + opens * each["openTime"] + closes * each["closeTime"]
            for each in results]


def checkComparison(checks, work, variables):
    """Two candidates by IOR, with the peaks that IOR found; all figures from the summaries."""
    app, model = (os.path.join(work, name) for name in ("app", "model.json"))
    shutil.rmtree(app, ignore_errors=True)
    must_(trace(app, mpirun(RANKS) + [program("c_mpi_io"), emptied(os.path.join(work, "data")), "n1",
                                      str(REQUEST), str(REPETITIONS), "read"], "mpi"))
    must_(run([omnio(), "phases", app, "-o", model]))
    scripts = os.path.join(work, "phases")
    must_(run([omnio(), "ior", model, "--emit", scripts]))
    must_(run([omnio(), "ior", model, "--peak", "--task-mib", "1", "--emit", scripts]))
    results = {}
    for name in ("one", "two"):
        target, results[name] = (emptied(os.path.join(work, f"{what}-{name}"))
                                 for what in ("target", "results"))
        must_(run(["sh", os.path.join(scripts, "run-all.sh")],
                  env=environment(TARGET=target, RESULTS=results[name], **variables)))
        must_(run(["sh", os.path.join(scripts, "peak.sh")],
                  env=environment(TARGET=target, RESULTS=results[name], **variables)))
    words = [f"{name}={folder}/ior-plan.json" for name, folder in results.items()]
    peaks = [f"--peak=one={results['one']}/peak.json", "--peak=two=1000,2000"]
    compare = [omnio(), "compare", model]
    document = json.loads(must_(run([*compare, *words, *peaks, "--json"])).out)
    checks.equal(document["by"], "the sum over the phases", "what the times are")
    phase_mib = RANKS * REPETITIONS * REQUEST / MIB
    for each in document["ranking"]:
        folder = results[each["name"]]
        writes, reads = (phaseTimes(folder, model, kind) for kind in ("write", "read"))
        sums = [write + read for write, read in zip(writes, reads)]
        mean = math.exp(sum(map(math.log, sums)) / len(sums))
        checks.equal((each["io_s"]["runs"], each["target"]),
                     (3, os.path.join(work, f"target-{each['name']}")), "runs and target")
        checks.that(abs(each["io_s"]["middle"] - mean) < 1e-6 * mean, f"{each}: {sums}")
        if each["name"] == "one":
            most = {kind: max(bandwidth for size in (1, 4, 16) for shape in ("shared", "files")
                              for bandwidth in bandwidths(folder, f"peak-{shape}-{size}m-{kind}."))
                    for kind in ("write", "read")}
        else:
            most = {"write": 1000, "read": 2000}
        for kind, found in (("write", writes), ("read", reads)):
            checks.that(abs(each["peak"][f"{kind}_mib_s"] - most[kind]) < 1e-6 * most[kind],
                        f"{each['name']}: peak {each['peak']}, wanted {most}")
            share = phase_mib / math.exp(sum(map(math.log, found)) / len(found)) / most[kind]
            checks.that(abs(each["peak_share"][kind] - share) < 1e-6 * share,
                        f"{each['name']}: {kind} {each['peak_share']}, wanted {share}")
    text = must_(run([*compare, *words, *peaks])).out.decode()
    for said in ("share of peak", "all phases", "sums over the phases"):
        checks.that(said in text, f"{said}: {text}")

    summary = os.path.join(results["one"], "phase-1.json")
    trace_of_two = f"two={app}"
    # The trace of the application and the phase runner beside IOR: by the sums over the phases.
    beside = json.loads(must_(run([*compare, words[0], trace_of_two, "--json"])).out)
    checks.equal((beside["by"], sorted(each["name"] for each in beside["ranking"])),
                 ("the sum over the phases", ["one", "two"]), "IOR beside a trace")
    own = {each["name"]: each["io_s"]["middle"] for each in beside["ranking"]}
    with open(model, encoding="utf-8") as file:
        sum_ns = sum(phase["measured"][f"{part}_ns"] for phase in json.load(file)["phases"]
                     for part in ("data", "metadata", "sync"))
    checks.that(abs(own["two"] - sum_ns / 1e9) < 1e-9, f"the sum of the trace: {own}, {sum_ns}")
    text = must_(run([*compare, words[0], trace_of_two])).out.decode()
    checks.that("sums over the phases, also of two, since others ran them one by one" in text, text)
    estimate = json.loads(must_(run([omnio(), "estimate", model, words[0].split("=")[1],
                                     "--json"])).out)
    wanted = sum(statistics.median(phaseTimes(results["one"], model, kind))
                 for kind in ("write", "read"))
    checks.that(abs(estimate["total"]["time_io_s"]["median"] - wanted) < 1e-6 * wanted,
                f"estimate: {estimate['total']}, wanted {wanted}")
    for what, arguments, status, said in (
            ("a summary by itself", [f"one={summary}", trace_of_two], 1, "ior-plan.json"),
            ("two targets", [words[0] + f",{results['two']}/ior-plan.json", words[1]], 1, "target"),
            ("a peak of a model", [*words, f"--peak=one={model}"], 1, "peak.json"),
            ("a peak of a plan", [*words, f"--peak=one={results['one']}/ior-plan.json"], 1,
             "peak.json"),
            ("a peak that is not there", [*words, "--peak=one=no"], 2, "nor a file"),
            ("one number", [*words, "--peak=one=7"], 2, "two numbers"),
            ("a peak of no candidate", [*words, "--peak=three=1,2"], 2, "no candidate"),
            ("two peaks", [*words, "--peak=one=1,2", "--peak=one=1,2"], 2, "one peak")):
        oneSentence(checks, what, run([*compare, *arguments]), status, said)
    lost = os.path.join(results["one"], "peak-files-4m-read.json")
    os.unlink(lost)
    oneSentence(checks, "a summary that is lost", run([*compare, *words, *peaks]), 1, lost, "missing")
    other = os.path.join(work, "other.json")
    with open(model, encoding="utf-8") as file:
        changed = json.load(file)
    changed["source"]["trace"] = "another"
    with open(other, "w", encoding="utf-8") as file:
        json.dump(changed, file)
    oneSentence(checks, "another model", run([omnio(), "compare", other, *words]), 1,
                f"{results['one']}/ior-plan.json: the plan of another model")
    for result in ("ior-plan.json", "phase-1.json"):
        path = os.path.join(results["one"], result)
        oneSentence(checks, f"{result} of another plan", run([omnio(), "estimate", other, path]), 1,
                    path, "another model")
    must_(run([omnio(), "ior", model, "--fsync", "always", "--emit", results["one"]]))
    oneSentence(checks, "results of another plan of the model", run([*compare, *words]), 1,
                f"{results['one']}/phase-1.json: not the run that ior-plan.json plans: it has fsync 0, "
                "not 1")


def checkUse(checks, work):
    for words, said in (
            (["--peak"], "give --tasks, or a MODEL"),
            (["--peak", "--tasks", "2", "--fsync", "never"], "--fsync"),
            (["--peak", "--tasks", "2", "--io-node", "a"], "NAME=DIR"),
            (["--peak", "--tasks", "2", "--io-node", "a=x", "--io-node", "a=y"], "two I/O nodes"),
            (["--peak", "--tasks", "0"], "--tasks"),
            ([os.path.join(work, "model"), "--tasks", "2"], "go with --peak alone")):
        result = run([omnio(), "ior", *words])
        checks.equal(result.status, 2, f"{words}: {result}")
        checks.that(said in result.err.decode(), f"{words}: names {said}: {result}")


def main():
    checks = Checks()
    with WorkDirectory() as work:
        with checks.case("peak.sh with the stand-in"):
            checkScript(checks, work, "stand-in", standIn(work), 3)
        if ior() is None:
            checks.skip("IOR itself", NO_IOR)
        else:
            variables = {"IOR": ior(),
                         "LAUNCHER": shlex.join(mpirun(RANKS)[:-2])}
            with checks.case("peak.sh with IOR"):
                checkScript(checks, work, "IOR", variables, RANKS)
            with checks.case("comparison by IOR"):
                checkComparison(checks, work, variables)
        with checks.case("I/O nodes"):
            checkIoNodes(checks, work)
        if mpirun(RANKS) is None or program("c_mpi_io") is None:
            checks.skip("comparison", "no MPI")
        else:
            with checks.case("comparison"):
                checkComparison(checks, work, standIn(work))
        with checks.case("wrong use"):
            checkUse(checks, work)
    checks.finish()


main()
