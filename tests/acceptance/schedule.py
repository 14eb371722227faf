"""Schedules of real programs: as the schema says, with every call that the log has; memory that does
not grow with events; and one sentence where there is nothing to schedule or verify.
"""

import collections
import json
import os
import sys

from omnio_testing import (Checks, WorkDirectory, emptied, environment, mpirun, omnio, program,
                           readLog, run, trace)
from replay_testing import replay
from schedule_expander import expanded

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEMA = os.path.join(HERE, "..", "..", "docs", "formats", "schedule.schema.json")
PROGRAMS = ("c_posix", "c_posix_lfs_fortified", "c_stdio", "c_fork", "cxx_threads", "cxx_openmp",
            "fortran_io")
MPI_ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# Steps of a schedule that no call of the log is.
STEPS = ("preopened", "inherited", "delay")
MEMORY_MARGIN_KIB = 20 * 1024


def pythonWithSchemas():
    """A Python that has jsonschema: this one, or the system's."""
    for python in (sys.executable, "/usr/bin/python3"):
        if os.path.exists(python) and run([python, "-c", "import jsonschema"]).status == 0:
            return python
    return None


def fitsSchema(python, path):
    script = ("import json, sys, jsonschema\n"
              "schema, document = (json.load(open(name)) for name in sys.argv[1:3])\n"
              "jsonschema.Draft202012Validator.check_schema(schema)\n"
              "jsonschema.validate(document, schema, jsonschema.Draft202012Validator)\n")
    result = run([python, "-c", script, SCHEMA, path])
    return result.status == 0, result.err.decode(errors="replace")[-600:]


def events(document):
    for rank in document["ranks"]:
        for thread in rank["threads"]:
            yield from thread["events"]


def checkProgram(checks, work, name, python):
    path = program(name)
    if path is None:
        checks.skip(name, "not built here")
        return
    directory = emptied(os.path.join(work, name))
    recorded = os.path.join(work, f"{name}.trace")
    checks.equal(trace(recorded, [path, directory]).status, 0, f"{name}: status")
    documents = {}
    for timing in ("asap", "dt", "start"):
        out = os.path.join(work, f"{name}.{timing}.json")
        result = run([omnio(), "preprocess", recorded, "-o", out, "--timing", timing,
                      "--map", f"{directory}=."])
        checks.equal(result.status, 0, f"{name}: preprocess, {result.err!r}")
        documents[timing] = expanded(out)
        checks.equal(documents[timing]["global"]["time_replay"], timing, f"{name}: timing")
        if python:
            fits, why = fitsSchema(python, out)
            checks.that(fits, f"{name}: the schedule fits its schema: {why}")
    logged = collections.Counter(event["call"] for event in readLog(recorded)
                                 if event["depth"] == 0 and event["class"] != "thread_sync"
                                 and not event["call"].startswith("MPI_"))
    scheduled = collections.Counter(event["command"] for event in events(documents["dt"])
                                    if event["command"] not in STEPS)
    print(f"{name}: {sum(logged.values())} calls logged, {sum(scheduled.values())} scheduled")
    checks.that(sum(logged.values()) > 0, f"{name}: has calls")
    checks.equal(scheduled, logged, f"{name}: every call of the log is in the schedule")
    for file in documents["dt"]["files"]:
        if file["role"] == "output":
            checks.equal(file["exists"], False, f"{name}: {file['location']} is made by the run")


def largestIn(path):
    """The largest of the peaks, in KiB, that c_peak has noted there."""
    with open(path, encoding="ascii") as peaks:
        return max(map(int, peaks))


def checkMemory(checks, work):
    """1,000,000 events against 100,000, of 4 ranks with 2 threads each."""
    launcher, path, peak = mpirun(4), program("c_bulk"), program("c_peak")
    if None in (launcher, path, peak):
        checks.skip("memory", "no MPI launcher here")
        return
    peaks = collections.defaultdict(dict)
    for total in (100000, 1000000):
        directory = emptied(os.path.join(work, f"bulk.{total}"))
        recorded = os.path.join(work, f"bulk.{total}.trace")
        out = os.path.join(work, f"bulk.{total}.json")
        again = os.path.join(work, f"bulk.{total}.replay")
        result = trace(recorded, launcher + [path, directory, str(total // 8), "2"],
                       env=environment(**MPI_ENVIRONMENT))
        checks.equal(result.status, 0, f"{total} events: status, {result.err!r}")
        ranks = os.path.join(work, f"ranks.{total}.peaks")
        through = " ".join([*launcher, peak, ranks])
        steps = {"preprocess": [omnio(), "preprocess", recorded, "-o", out, "--timing", "asap",
                                "--map", f"{directory}=."],
                 "replay": [omnio(), "replay", out, "--target", os.path.join(work, f"t.{total}"),
                            "-o", again, "--launcher", through],
                 "verify": [omnio(), "verify", out, again]}
        for step, command in steps.items():
            own = os.path.join(work, f"{step}.{total}.peaks")
            done = run([peak, own, *command], env=environment(**MPI_ENVIRONMENT))
            checks.equal(done.status, 0, f"{step} of {total} events: status, {done.err!r}")
            peaks[step][total] = largestIn(own)
        peaks["replay, its ranks"][total] = largestIn(ranks)
        if total == 1000000:
            result = run([omnio(), "verify", out, again, "--json"])
            document = json.loads(result.out or b"{}")
            checks.equal(document.get("compared"), total, "every operation is compared")
            checks.equal(document.get("differences"), 0, "and none differs")
    print(f"{'peak memory, KiB':<32}{'100,000 events':>16}{'1,000,000 events':>18}")
    for name, most in peaks.items():
        print(f"{name:<32}{most[100000]:>16}{most[1000000]:>18}")
        checks.that(most[1000000] - most[100000] <= MEMORY_MARGIN_KIB,
                    f"{name}: ten times the events take {most[1000000] - most[100000]} KiB more")


COMPUTING = """\
import os, sys, time
fd = os.open("file", os.O_WRONLY | os.O_CREAT, 0o644)
began, used = time.monotonic(), time.thread_time()
for _ in range(10):
    os.write(fd, b"x")
    if sys.argv[1] == "sleeps":
        time.sleep(0.03)
    end = time.thread_time() + 0.03
    while sys.argv[1] == "computes" and time.thread_time() < end:
        pass
print((time.thread_time() - used) / (time.monotonic() - began))
"""


def checkComputing(checks, work):
    """The tracer looks whether a thread computes or sleeps between its calls."""

    def computing(kind, turn=0):
        directory = emptied(os.path.join(work, f"{kind}.{turn}"))
        recorded, out = f"{directory}.trace", f"{directory}.json"
        only = ("--exclude", "/*", "--include", f"{directory}/*")
        result = trace(recorded, [sys.executable, "-c", COMPUTING, kind], options=only, cwd=directory)
        checks.equal(result.status, 0, f"a program that {kind}: {result.err!r}")
        checks.equal(run([omnio(), "preprocess", recorded, "-o", out]).status, 0, "preprocess")
        return expanded(out)["ranks"][0]["threads"][0].get("computing"), float(result.out)

    asleep, _ = computing("sleeps")
    checks.that(asleep is not None and asleep < 0.2, f"asleep: {asleep}")
    # Others may take the processor from it, and not each time: the program says how much it had.
    for turn in range(5):
        awake, had = computing("computes", turn)
        checks.that(awake is not None and awake > asleep, f"computing: {awake}, asleep: {asleep}")
        if had > 0.9:
            checks.that(awake is not None and awake > 0.3, f"computing: {awake}, had {had}")
            break


def checkRefused(checks, what, words, status=1, mentions=""):
    result = run([omnio(), *words])
    lines = result.err.decode(errors="replace").splitlines()
    print(f"{what}: {' '.join(lines)}")
    checks.equal(result.status, status, f"{what}: exit status")
    checks.that(status == 2 or len(lines) == 1, f"{what}: one sentence, not {lines}")
    checks.that(mentions in " ".join(lines), f"{what}: names {mentions!r}: {lines}")


def checkBadInput(checks, work):
    recorded = os.path.join(work, "c_posix.trace")
    good = os.path.join(work, "c_posix.dt.json")
    out = os.path.join(work, "never.json")
    empty = emptied(os.path.join(work, "empty"))
    checkRefused(checks, "no trace", ["preprocess", os.path.join(work, "none"), "-o", out], 1,
                 "none")
    checkRefused(checks, "an empty directory", ["preprocess", empty, "-o", out], 1, empty)
    checkRefused(checks, "nowhere to write",
                 ["preprocess", recorded, "-o", os.path.join(work, "no", "s.json")], 1, "s.json")
    checkRefused(checks, "a rule out of the target",
                 ["preprocess", recorded, "-o", out, "--map", "/x=../y"], 2, "leads out")
    checkRefused(checks, "a scale of nothing",
                 ["preprocess", recorded, "-o", out, "--size-scale", "0"], 2, "size-scale")
    checks.that(not os.path.exists(out), "nothing is written under the final name")
    checkRefused(checks, "verify of a trace that is no replay", ["verify", good, recorded], 1,
                 "replay.json")
    with open(good, encoding="utf-8") as text:
        whole = text.read()
    cut = os.path.join(work, "cut.json")
    with open(cut, "w", encoding="utf-8") as text:
        text.write(whole[:len(whole) // 2])
    target = os.path.join(work, "never-made")
    checkRefused(checks, "a schedule cut off",
                 ["replay", cut, "--target", target, "-o", os.path.join(work, "no-trace")], 1,
                 "line ")
    checks.that(not os.path.exists(target), "a refused schedule makes no target")


def checkSizesBeforeTheRun(checks, work):
    """A file that is appended to, and one of which a part is read, are prepared as long as they were."""
    home = emptied(os.path.join(work, "sizes.run"))
    wanted = {"log": 100000, "in": 5000000}
    for name, size in wanted.items():
        with open(os.path.join(home, name), "wb") as out:
            out.write(os.urandom(size))
    directory, path = os.path.join(work, "sizes.trace"), os.path.join(work, "sizes.json")
    ran = run([omnio(), "trace", "-o", directory, "--", "dd", "if=in", "of=log", "bs=10", "count=1",
               "oflag=append", "conv=notrunc", "status=none"], cwd=home)
    checks.equal(ran.status, 0, f"dd appends: {ran}")
    made = run([omnio(), "preprocess", directory, "-o", path, "--timing", "asap"])
    checks.equal(made.status, 0, f"preprocess: {made}")
    files = {file["location"]: file["size"] for file in expanded(path)["files"]}
    checks.equal({name: files.get(name) for name in wanted}, wanted, "sizes before the run")
    if mpirun(1) is None:
        checks.skip("sizes", "a replay needs MPI")
        return
    target = os.path.join(work, "sizes.target")
    done = replay(path, target, os.path.join(work, "sizes.replay"))
    checks.equal(done.status, 0, f"replay: {done}")
    checks.equal(os.path.getsize(os.path.join(target, "tree", "log")), wanted["log"] + 10,
                 "the size of what was appended to")


def main():
    checks = Checks()
    python = pythonWithSchemas()
    if python is None:
        checks.skip("schema", "no Python with jsonschema here (Debian: python3-jsonschema)")
    with WorkDirectory() as work:
        for name in PROGRAMS:
            with checks.case(name):
                checkProgram(checks, work, name, python)
        with checks.case("bad input"):
            checkBadInput(checks, work)
        with checks.case("sizes before the run"):
            checkSizesBeforeTheRun(checks, work)
        with checks.case("computing"):
            checkComputing(checks, work)
        with checks.case("memory"):
            checkMemory(checks, work)
    checks.finish()


if __name__ == "__main__":
    main()
