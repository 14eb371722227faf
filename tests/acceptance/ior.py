"""From phases to benchmarks and to Time_io: the offsets that the emitted IOR lines mean, those of
the phase runner and those of the application are the same, seen in their traces; what is measured
is read back and added up; what is wrong is refused in one sentence.

OMNIO_TEST_PHASE_RUN names omnio-phase-run. Where there is an IOR (ior_testing.py), the emitted scripts
are run with it too.
"""

import collections
import contextlib
import json
import math
import os
import re
import shlex

from devices import NotHere, must
from ior_testing import NO_IOR, ior
from omnio_testing import (Checks, WorkDirectory, emptied, environment, mpirun, omnio, program,
                           readLog, run, skipTest, trace)

RANKS = 4
REQUEST = 65536
REPETITIONS = 8
MODES = ("nn", "n1", "strided", "view", "individual")
PROGRAMS = ("c_mpi_io", "fortran_mpi_io_mpi", "fortran_mpi_io_f08")
MIB = 1 << 20


def phaseRun(model, target, *options, ranks=RANKS):
    return mpirun(ranks) + [os.environ["OMNIO_TEST_PHASE_RUN"], model, "--target", target, *options]


def must_(result):
    if result.status != 0:
        raise RuntimeError(str(result))
    return result


def traced(directory, command, **more):
    must_(trace(directory, command, "mpi", **more))
    return directory


def offsetsOf(directory, wanted):
    """{(file name, kind): {rank: [(offset, bytes)...]}} of the calls that `wanted` names."""
    result = {}
    for event in readLog(directory):
        if event["depth"] == 0 and not event["failed"] and re.fullmatch(wanted, event["call"]):
            name = os.path.basename(event["file"])
            ranks = result.setdefault((name, event["class"]), {})
            ranks.setdefault(event["rank"], []).append((event["args"]["offset"], event["bytes"]))
    return result


def offsetsOfAccount(out):
    """The same, as the program itself says."""
    result = {}
    for line in out.decode().splitlines():
        rank, call, path, offset, size, _ = line.split()
        kind = re.fullmatch(r"MPI_File_(write|read)(_at)?(_all)?", call)
        if kind:
            ranks = result.setdefault((os.path.basename(path), kind[1]), {})
            ranks.setdefault(int(rank), []).append((int(offset), int(size)))
    return result


def withoutNames(offsets, kind):
    """Of one kind, whatever the files are called: of files of their own each rank has one."""
    result = {}
    for (_, found), ranks in offsets.items():
        if found == kind:
            for rank, requests in ranks.items():
                result.setdefault(rank, []).extend(requests)
    return result


def iorLine(scripts, phase):
    """What IOR does for the phase: whether it writes and reads, with files of each process, and the numbers
    of its options."""
    with open(os.path.join(scripts, "ior-plan.json"), encoding="utf-8") as file:
        plan = json.load(file)
    [name] = [name for family in plan["families"] if phase in family["phases"]
              for name in family["runs"]]
    with open(os.path.join(scripts, f"{name}.sh"), encoding="utf-8") as file:
        [words] = [line.split() for line in file if re.match(r"run \d", line)]
    options = dict(zip(words, words[1:]))
    return ({kind for kind, flag in (("write", "-w"), ("read", "-r")) if flag in words}, "-F" in words,
            {key: int(options[key]) for key in ("-N", "-t", "-b", "-s")})


def offsetsOfLine(unique, options):
    """What IOR's parameters mean, from its manual; {rank: [(offset, bytes)...]}."""
    tasks, transfer, block, segments = (options[key] for key in ("-N", "-t", "-b", "-s"))
    return {rank: [((s if unique else s * tasks + rank) * block + t, transfer)
                   for s in range(segments) for t in range(0, block, transfer)]
            for rank in range(tasks)}


def checkMode(checks, work, application, mode):
    name = f"{os.path.basename(application)} {mode}"
    data, target = (emptied(os.path.join(work, folder)) for folder in ("data", "target"))
    app, runner = (os.path.join(work, f"{name.replace(' ', '-')}.{what}")
                   for what in ("app", "run"))
    command = mpirun(RANKS) + [application, data, mode, REQUEST, REPETITIONS, "read", "account"]
    account = must_(trace(app, command, "mpi")).out
    model, scripts = os.path.join(work, "model.json"), emptied(os.path.join(work, "scripts"))
    results = os.path.join(work, "results.json")
    must_(run([omnio(), "phases", app, "-o", model]))
    must_(run([omnio(), "ior", model, "--emit", scripts]))
    traced(runner, phaseRun(model, target, "-o", results, "--iterations", "1", "--apart"))
    checks.equal(os.listdir(target), [], f"{name}: what the phase runner left")

    said, ran = offsetsOfAccount(account), offsetsOf(runner, r"MPI_File_(write|read)_at(_all)?")
    if mode in ("nn", "n1", "strided"):
        seen = offsetsOf(app, r"P?MPI_File_(write|read)_at(_all)?")
        checks.equal(seen, said, f"{name}: the application's trace and its own account")
    phases = json.load(open(model, encoding="utf-8"))["phases"]
    checks.equal([phase["operations"][0]["operation"] for phase in phases], ["write", "read"],
                 f"{name}: phases")
    for phase in phases:
        kind = phase["operations"][0]["operation"]
        wanted = withoutNames(said, kind)
        checks.equal({rank: len(requests) for rank, requests in wanted.items()},
                     {rank: REPETITIONS for rank in range(RANKS)}, f"{name}: {kind}s said")
        own = {key: value for key, value in ran.items()
               if re.fullmatch(rf"phase-{phase['id']}(\.\d+)?", key[0])}
        checks.equal(withoutNames(own, kind), wanted, f"{name}: {kind}s of the phase runner")
        kinds, unique, options = iorLine(scripts, phase["id"])
        checks.equal((kinds, unique), ({"write", "read"}, mode == "nn"),
                     f"{name}: kind of the IOR line")
        checks.equal(offsetsOfLine(unique, options), wanted, f"{name}: {kind}s of the IOR line")
    checkEstimate(checks, name, model, results, phases)
    if ior():
        checkWithIor(checks, work, name, model, scripts, phases, said)


def checkEstimate(checks, name, model, results, phases):
    estimate = json.loads(must_(run([omnio(), "estimate", model, results, "--json"])).out)
    measured = {test["phase"]: test for test in json.load(open(results, encoding="utf-8"))["tests"]}
    total = 0
    for phase, estimated in zip(phases, estimate["phases"]):
        checks.equal(estimated["phase"], phase["id"], f"{name}: order of phases")
        times = sum(operation["weight_bytes"] / MIB / result["bwMiB"]
                    for operation, result in zip(estimated["operations"],
                                                 measured[phase["id"]]["Results"]))
        checks.that(abs(estimated["time_io_s"]["median"] - times) < 1e-9 * max(1, times),
                    f"{name}: Time_io of phase {phase['id']}: {estimated['time_io_s']}, {times}")
        taken = sum(result["totalTime"] for result in measured[phase["id"]]["Results"])
        checks.that(abs(times - taken) < 1e-6 + 1e-3 * taken,
                    f"{name}: {times} s from bandwidths, {taken} s measured")
        total += times
    checks.that(abs(estimate["total"]["time_io_s"]["median"] - total) < 1e-9 * max(1, total),
                f"{name}: total Time_io {estimate['total']}, wanted {total}")
    checks.equal(len(estimate["phases"]), len(phases), f"{name}: phases estimated")


def checkWithIor(checks, work, name, model, scripts, phases, said):
    """The application's offsets are those of IOR itself, run by the emitted script."""
    target, runs = (emptied(os.path.join(work, folder)) for folder in ("target", "ior-runs"))
    launcher = shlex.join(mpirun(RANKS)[:-2])
    wrapper = os.path.join(work, "launch")
    with open(wrapper, "w", encoding="utf-8") as file:
        # IOR alone is traced, a directory for each start.
        file.write(f"""#!/bin/sh
case "$3" in
  sh) exec {launcher} "$@" ;;
  *) exec {omnio()} trace -o "$(mktemp -d {runs}/XXXXXX)/trace" --flavour mpi -- {launcher} "$@" ;;
esac
""")
    os.chmod(wrapper, 0o755)
    must_(run(["sh", os.path.join(scripts, "run-all.sh")],
              env=environment(TARGET=target, LAUNCHER=wrapper, IOR=ior())))
    checks.equal(os.listdir(target), [], f"{name}: what the scripts left")
    seen = set()
    for directory in os.listdir(runs):
        offsets = offsetsOf(os.path.join(runs, directory, "trace"),
                            r"MPI_File_(write|read)_at(_all)?")
        for kind in ("write", "read"):
            ranks = withoutNames(offsets, kind)
            for rank, requests in ranks.items():
                wanted = withoutNames(said, kind)[rank]
                turns = len(requests) // len(wanted)
                checks.equal(requests, wanted * turns, f"{name}: {kind}s of IOR, rank {rank}")
                seen.add(kind)
    checks.equal(seen, {"write", "read"}, f"{name}: what IOR did")
    checks.equal(len(os.listdir(runs)), 1, f"{name}: starts of IOR")
    result = run([omnio(), "estimate", model, os.path.join(scripts, "ior-plan.json"), "--json"])
    checks.equal(result.status, 0, f"{name}: estimate from IOR's summaries: {result}")
    estimate = json.loads(result.out)
    checks.equal([(phase["phase"], phase["iterations"]) for phase in estimate["phases"]],
                 [(phase["id"], 3) for phase in phases], f"{name}: iterations of IOR")


def operation(kind, repetitions, displacement, base, per_rank, size=REQUEST):
    return {"operation": kind, "request_bytes": size, "repetitions": repetitions,
            "displacement_bytes": displacement,
            "init_offset": {"base": base, "per_rank": per_rank}}


def phase(number, file, operations, mode, interface, ranks=range(RANKS)):
    return {"id": number, "file": file, "operations": operations, "ranks": list(ranks),
            "weight_bytes": sum(o["request_bytes"] * o["repetitions"] * len(ranks)
                                for o in operations),
            "first_tick": 0, "last_tick": 0, "mode": mode, "interface": interface,
            "pointer": "explicit", "collective": False, "blocking": True, "view": False,
            "etype_bytes": 1, "measured": {"begin_ns": 0, "end_ns": 9, "data_ns": 9,
                                             "metadata_ns": 0, "sync_ns": 0, "waiting_ns": 0}}


def handMade(phases):
    return {"format": "omnio-phases", "version": 3,
            "source": {"trace": "hand", "whole": True, "command": ["app"]}, "processes": RANKS,
            "files": [{"path": "/data/shared", "shared": True, "size_bytes": 1 << 22},
                      {"path": "/data/own.{rank}", "shared": False, "size_bytes": 1 << 20}],
            "phases": phases, "left_out": []}


def written(path, document):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file)
    return path


def checkOtherPhases(checks, work):
    """Mixed, random, streams, and some of the ranks: what IOR cannot express, by the runner."""
    r = REQUEST
    model = written(os.path.join(work, "model.json"), handMade([
        phase(1, 0, [operation("write", 6, r, 0, 8 * r), operation("read", 6, r, 2 * r, 8 * r)],
              "sequential", "posix"),
        dict(phase(2, 1, [operation("read", 3, 0, 0, 0)], "random", "posix", ranks=[1, 3]),
             random=[{"rank": 1, "operation": 0, "requests": [[5 * r, r], [r, r], [3 * r, r]],
                      "left_out": 0}]),
        phase(3, 1, [operation("write", 1000, 40, 0, 0, 40)], "sequential", "stdio"),
        phase(4, 0, [operation("read", 5, -r, 4 * r, 5 * r)], "strided", "posix", ranks=[2])]))
    target = emptied(os.path.join(work, "target"))
    directory, results = (os.path.join(work, name) for name in ("other.run", "other.json"))
    traced(directory, phaseRun(model, target, "-o", results, "--iterations", "1"))
    offsets = offsetsOf(directory, r"p(read|write)(64)?")

    def ofPhase(name, kind):
        found = offsets.get((name, kind), {})
        return {rank: [one for one in requests if one[1] == r] for rank, requests in found.items()}

    ranks = range(RANKS)
    checks.equal(ofPhase("phase-1", "write"),
                 {k: [(8 * k * r + i * r, r) for i in range(6)] for k in ranks}, "mixed, writes")
    checks.equal(ofPhase("phase-1", "read"),
                 {k: [((8 * k + 2) * r + i * r, r) for i in range(6)] for k in ranks},
                 "mixed, reads")
    checks.equal(ofPhase("phase-2.1", "read"), {1: [(5 * r, r), (r, r), (3 * r, r)]},
                 "random, as it is stored")
    checks.equal({rank: sorted(list_) for rank, list_ in ofPhase("phase-2.3", "read").items()},
                 {3: [(0, r), (r, r), (2 * r, r)]}, "random, shuffled")
    checks.equal(ofPhase("phase-4", "read"), {2: [((14 - i) * r, r) for i in range(5)]},
                 "backwards, of one rank")
    turns = [(event["rank"], event["class"]) for event in readLog(directory)
             if event["class"] in ("read", "write") and event["bytes"] == r
             and os.path.basename(event["file"]) == "phase-1" and event["depth"] == 0]
    for rank in ranks:
        checks.equal([kind for who, kind in turns if who == rank], ["write", "read"] * 6,
                     f"mixed: turns of rank {rank}")
    lines = collections.Counter(
        (os.path.basename(event["file"]), event["bytes"]) for event in readLog(directory)
        if event["call"].startswith("fwrite") and event["depth"] == 0
        and os.path.basename(event["file"]).startswith("phase-"))
    checks.equal(lines, {(f"phase-3.{rank}", 40): 1000 for rank in ranks}, "streams")
    checkEstimate(checks, "hand-made", model, results,
                  json.load(open(model, encoding="utf-8"))["phases"])


def oneSentence(checks, what, result, status, *mentions):
    lines = [line for line in result.err.decode(errors="replace").splitlines()
             if line.startswith("omnio")]
    checks.equal(result.status, status, f"{what}: exit status of {result}")
    checks.that(len(lines) == 1, f"{what}: one sentence, not {lines}")
    for mention in mentions:
        checks.that(mention in " ".join(lines), f"{what}: names {mention}: {lines}")
    print(f"{what}: {' '.join(lines)}")


def checkRefusals(checks, work):
    target, other = emptied(os.path.join(work, "target")), os.path.join(work, "other.json")
    good = written(os.path.join(work, "model.json"),
                   handMade([phase(1, 0, [operation("write", 2, REQUEST, 0, 2 * REQUEST)],
                                   "sequential", "posix")]))
    results = os.path.join(work, "refused.json")
    out = ("-o", results, "--iterations", "1")
    oneSentence(checks, "three processes", run(phaseRun(good, target, *out, ranks=3)), 1, good,
                "4 processes")
    oneSentence(checks, "no such phase", run(phaseRun(good, target, *out, "--phase", "2")), 1, good)
    oneSentence(checks, "no target", run(phaseRun(good, os.path.join(work, "no"), *out)), 1)
    oneSentence(checks, "no model", run(phaseRun(other, target, *out)), 1, other)
    far = handMade([phase(1, 0, [operation("write", 2, 1 << 60, 0, 0)], "strided", "posix")])
    oneSentence(checks, "beyond any file",
                run(phaseRun(written(other, far), target, *out)), 1, "rank 0", "phase 1")
    huge = handMade([phase(1, 0, [operation("write", 1, 0, 0, 0, 1 << 33)], "sequential", "posix")])
    oneSentence(checks, "a request beyond a call",
                run(phaseRun(written(other, huge), target, *out)), 1, "rank 0", "phase 1")
    checks.that(not os.path.exists(results), "no results under a final name")
    checks.equal(os.listdir(target), [], "what refused runs left")
    oneSentence(checks, "wrong usage", run(phaseRun(good, target, "--iterations", "0")), 2)

    for command in (["ior", other, "--emit", os.path.join(work, "refused")],
                    ["estimate", other, other]):
        for what, text in (("empty", ""), ("no JSON", "{\"format\":\n nonsense"),
                           ("another version", json.dumps({**handMade([]), "version": 9})),
                           ("another format", "{\"format\": \"omnio-schedule\"}")):
            with open(other, "w", encoding="utf-8") as file:
                file.write(text)
            oneSentence(checks, f"{command[0]}, {what}", run([omnio(), *command]), 1, other)
    checks.that(not os.path.exists(os.path.join(work, "refused")), "no scripts of refused models")
    oneSentence(checks, "no result", run([omnio(), "estimate", good, other]), 1, other)
    must_(run(phaseRun(good, target, *out)))
    more = handMade([phase(n, 0, [operation("write", 2, REQUEST, 0, 2 * REQUEST)], "sequential",
                           "posix") for n in (1, 2)])
    written(other, more)
    oneSentence(checks, "results of another model", run([omnio(), "estimate", other, results]), 1,
                "results of another model")
    must_(run(phaseRun(other, target, *out, "--phase", "1")))
    oneSentence(checks, "a phase without a result", run([omnio(), "estimate", other, results]), 1,
                "phase 2")
    partial = run([omnio(), "estimate", other, results, "--partial"])
    checks.equal(partial.status, 0, f"--partial: {partial}")
    checks.that(b"phase 2: no result" in partial.out, f"--partial says what is left out: {partial}")
    # The same phases on another target.
    elsewhere, apart = emptied(os.path.join(work, "elsewhere")), os.path.join(work, "apart.json")
    must_(run(phaseRun(other, elsewhere, "-o", apart, "--iterations", "1")))
    oneSentence(checks, "results of two targets",
                run([omnio(), "estimate", other, results, apart]), 1, elsewhere, target)


def checkComparison(checks, work):
    """Two directories of one file system, and a third candidate that is never there."""
    data = emptied(os.path.join(work, "data"))
    app = traced(os.path.join(work, "compared.app"),
                 mpirun(RANKS) + [program("c_mpi_io"), data, "n1", REQUEST, REPETITIONS])
    model = os.path.join(work, "compared.json")
    must_(run([omnio(), "phases", app, "-o", model]))
    results = {}
    for name in ("one", "two"):
        target = emptied(os.path.join(work, name))
        results[name] = [os.path.join(work, f"compared.{name}.{number}") for number in range(3)]
        for path in results[name]:
            must_(run(phaseRun(model, target, "-o", path)))
    words = [f"{name}={','.join(paths)}" for name, paths in results.items()]
    compared = must_(run([omnio(), "compare", model, *words, f"life={app}", "--json"]))
    document = json.loads(compared.out)
    checks.equal(sorted(each["name"] for each in document["ranking"]), ["life", "one", "two"],
                 "candidates")
    runs = {each["name"]: each["io_s"] for each in document["ranking"]}
    checks.equal({name: io["runs"] for name, io in runs.items()}, {"one": 3, "two": 3, "life": 1},
                 "runs")
    checks.that(runs["life"]["interval_95"] is None and document["winner"] is None,
                f"of one run nothing is sure: {document['ranking']}")
    for name, paths in results.items():
        times = [json.load(open(path, encoding="utf-8"))["runs"][0]["io_s"] for path in paths]
        mean = math.exp(sum(map(math.log, times)) / len(times))
        checks.that(abs(runs[name]["middle"] - mean) < 1e-6 * mean, f"{name}: {times}, {runs}")
        low, high = runs[name]["interval_95"]
        checks.that(low <= mean <= high, f"{name}: {runs}")
    for each in document["ranking"]:
        parts = each["parts"]
        checks.equal(parts["chain_s"] is None, each["name"] == "life", f"chain: {each}")
        # Medians of parts need not add up to the mean of the whole.
        checks.that(parts["data_s"] > 0 and parts["sum_s"] > 0 and
                    (each["name"] != "life" or abs(each["io_s"]["middle"] - sum(
                        parts[key] for key in ("data_s", "metadata_s", "sync_s"))) < 1e-9),
                    f"parts: {each}")
    text = must_(run([omnio(), "compare", model, *words])).out.decode()
    checks.that("medians, s" in text, text)
    checks.that("no winner" in text or "is the fastest" in text, text)
    lines = must_(run([omnio(), "compare", model, *words, "--csv"])).out.decode().splitlines()
    checks.equal(len(lines), 1 + 2 * 2, f"CSV: {lines}")
    for what, candidates, status, said in (
            ("one candidate", words[:1], 2, "nothing to be compared with"),
            ("a name twice", [words[0], words[0]], 2, "one"),
            ("no name", [words[0], results["two"][0]], 1, "NAME=RESULT"),
            ("two targets", [words[0], "both=" + ",".join(results["one"] + results["two"])], 1,
             "both"),
            ("a model as a result", [words[0], f"other={model}"], 1, model)):
        oneSentence(checks, what, run([omnio(), "compare", model, *candidates]), status, said)
    checkApart(checks, work)


def checkApart(checks, work):
    """Phases that were run one by one: compared by their sums, where all are there."""
    model = written(os.path.join(work, "apart.model.json"), handMade(
        [phase(n, 0, [operation("write", 2, REQUEST, 0, 2 * REQUEST)], "sequential", "posix")
         for n in (1, 2)]))
    words, sums = [], {}
    for name in ("one", "two"):
        results = os.path.join(work, f"apart.{name}")
        must_(run(phaseRun(model, emptied(os.path.join(work, name)), "--iterations", "3", "-o",
                           results)))
        words.append(f"{name}={results}")
        with open(results, encoding="utf-8") as text:
            tests = json.load(text)["tests"]
        sums[name] = [sum(times) for times in
                      zip(*([entry["totalTime"] for entry in test["Results"]] for test in tests))]
    document = json.loads(must_(run([omnio(), "compare", model, *words, "--json"])).out)
    checks.equal(document["by"], "the sum over the phases", "compared by")
    for each in document["ranking"]:
        mean = math.exp(sum(map(math.log, sums[each["name"]])) / 3)
        checks.equal(each["io_s"]["runs"], 3, f"apart: runs of {each['name']}")
        checks.that(abs(each["io_s"]["middle"] - mean) < 1e-4 * mean, f"apart: {each}, {sums}")
    one = os.path.join(work, "apart.phase")
    must_(run(phaseRun(model, emptied(os.path.join(work, "one")), "--phase", "1", "-o", one)))
    oneSentence(checks, "a phase is missing",
                run([omnio(), "compare", model, words[1], f"one={one}"]), 1, "phase 2 is not there")


@contextlib.contextmanager
def smallFileSystem(path, size):
    os.makedirs(path)
    must("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", path)
    try:
        yield path
    finally:
        run(["umount", path])


def checkFullDevice(checks, work):
    for interface in ("posix", "stdio", "mpi-io"):
        model = written(os.path.join(work, "model.json"), handMade([
            phase(1, 0, [operation("write", 64, REQUEST, 0, 64 * REQUEST)], "sequential",
                  interface)]))
        with smallFileSystem(os.path.join(work, f"small-{interface}"), 4 * MIB) as target:
            result = run(phaseRun(model, target, "--iterations", "1"))
            # MPI libraries report a full device in different words.
            oneSentence(checks, f"full device, {interface}", result, 1, "rank ",
                        f"{target}/omnio-phase-run.",
                        *([] if interface == "mpi-io" else ["No space left on device"]))
            checks.equal(result.out, b"", f"full device, {interface}: no results")
            checks.equal(os.listdir(target), [], f"full device, {interface}: what is left")


def main():
    checks = Checks()
    if mpirun(1) is None or not os.access(os.environ.get("OMNIO_TEST_PHASE_RUN", ""), os.X_OK):
        skipTest("no MPI, or no omnio-phase-run")
    with WorkDirectory() as work:
        if ior() is None:
            checks.skip("offsets of IOR", NO_IOR)
        for name in PROGRAMS:
            if program(name) is None:
                checks.skip(name, "it was not built")
                continue
            for mode in MODES:
                with checks.case(f"{name} {mode}"):
                    checkMode(checks, work, program(name), mode)
        with checks.case("other phases"):
            checkOtherPhases(checks, work)
        with checks.case("refusals"):
            checkRefusals(checks, work)
            checkComparison(checks, work)
        with checks.case("full device"):
            try:
                checkFullDevice(checks, work)
            except NotHere as reason:
                checks.skip("full device", reason)
    checks.finish()


main()
