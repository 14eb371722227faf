"""omnio evaluate: from a recording to the answer by one command, what it refuses before anything runs,
candidates elsewhere, and going on after it was ended."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import devices
from omnio_testing import PATIENCE_S, emptied, environment, mpirun, omnio, run, runCases

# Three files, written and read again: 12 MiB each way.
PROGRAM = """
import os, sys
for name in "abc":
    fd = os.open(os.path.join(sys.argv[1], name), os.O_CREAT | os.O_RDWR, 0o644)
    for block in range(64):
        os.pwrite(fd, bytes(65536), block * 65536)
    os.fsync(fd)
    for block in range(64):
        os.pread(fd, 65536, block * 65536)
    os.close(fd)
"""


def recorded(checks, work, name="run", program=PROGRAM):
    trace, data = os.path.join(work, f"{name}.trace"), os.path.join(work, f"{name}.data")
    os.makedirs(data)
    done = run([omnio(), "trace", "-o", trace, "--exclude", "/*", "--include", f"{data}/*", "--",
                sys.executable, "-c", program, data])
    checks.equal(done.status, 0, f"{name}: recorded: {done}")
    shutil.rmtree(data)
    return trace


def directories(work, *names):
    """{name: a fresh directory}"""
    made = {}
    for name in names:
        made[name] = os.path.join(work, "on", name)
        shutil.rmtree(made[name], ignore_errors=True)
        os.makedirs(made[name])
    return made


def on(candidates):
    return [word for name, path in candidates.items() for word in ("--on", f"{name}={path}")]


def evaluate(*words, **more):
    return run([omnio(), "evaluate", *words], timeout=PATIENCE_S, **more)


def document(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return json.load(file)


def runsIn(output):
    """The names of finished runs, in order."""
    return sorted(name for name in os.listdir(os.path.join(output, "runs"))
                  if not name.endswith((".txt", ".unfinished")))


def rounds(count, *names):
    return sorted(f"{number + 1:03}-{name}" for number in range(count) for name in names)


def fromATraceToTheAnswer(checks, work):
    trace = recorded(checks, work)
    candidates = directories(work, "flash", "disk", "again")
    output = os.path.join(work, "purchase")
    done = evaluate(trace, *on(candidates), "-o", output, "--rounds", "2", "--at-most", "3")
    if not checks.equal(done.status, 0, f"evaluate: {done}"):
        return
    out, said = done.out.decode(), done.err.decode()
    answer = document(output, "comparison.json")
    count = answer["ranking"][0]["io_s"]["runs"]
    checks.that(2 <= count <= 3 and (count == 3 or answer["winner"]), f"{count} rounds: {answer}")
    checks.equal(runsIn(output), rounds(count, *candidates), "finished runs")
    turns = [line.split(": ")[2].split(",")[0] for line in said.splitlines()
             if line.startswith("omnio: round ")]
    checks.equal(turns[:6], ["flash", "disk", "again", "disk", "again", "flash"], f"turns: {said}")
    checks.equal(answer["rounds"], {"least": 2, "most": 3, "wrong_winner": 0.01}, "the rule")
    checks.that(out.startswith(answer["verdict"] + "\n"), f"the answer comes first: {out}")
    checks.that("flash and disk and again lie on one mount, " in out, f"one mount: {out}")
    for each in answer["ranking"]:
        checks.equal(each["origins"], ["replay"], f"{each['name']}: origins")
        checks.equal(len(each["times_s"]), count, f"{each['name']}: times")
        checks.that(each["target"].startswith(candidates[each["name"]] + " ("), each["target"])
        for evidence in each["evidence"]:
            checks.equal(evidence["calls"], {"read_bytes": 12 << 20, "written_bytes": 12 << 20},
                         f"{each['name']}: bytes of the calls")
            checks.equal(evidence["differences"], 0, f"{each['name']}: differences")
        own = [document(output, "runs", name, "replay.json")["io"] for name in rounds(count, each["name"])]
        wanted = [(io["data_ns"] + io["metadata_ns"] + io["sync_ns"]) / 1e9 for io in own]
        checks.equal([round(value, 9) for value in each["times_s"]],
                     [round(value, 9) for value in wanted], f"{each['name']}: its runs' own I/O times")
    checks.equal([phase["weight_bytes"] for phase in answer["phases"]], [4 << 20] * 6, "phases")
    checks.that(os.path.getsize(os.path.join(output, "evaluation.html")) > 100_000, "a page")
    with open(os.path.join(output, "answer.txt"), encoding="utf-8") as file:
        checks.equal(file.read(), out, "answer.txt is what was printed")
    for name, path in candidates.items():
        checks.equal(os.listdir(path), [], f"what is left on {name}")
    with open(os.path.join(output, "commands.txt"), encoding="utf-8") as file:
        commands = file.read().splitlines()
    checks.equal(sum(" replay " in line and "--dry-run" not in line for line in commands), 3 * count,
                 "replays in commands.txt")
    checks.that(all(" status 0, " in line for line in commands), f"commands: {commands}")
    again = evaluate("-o", output, "--resume", "--json")
    checks.equal(json.loads(again.out), answer, f"the same answer, with nothing run: {again.err}")


def otherRecordingsAndRunners(checks, work):
    trace = recorded(checks, work, "other")
    model, schedule = os.path.join(work, "other.phases.json"), os.path.join(work, "other.json")
    checks.equal(run([omnio(), "phases", trace, "-o", model]).status, 0, "phases")
    checks.equal(run([omnio(), "preprocess", trace, "-o", schedule]).status, 0, "preprocess")
    for what, words, by in (("a phase model", [model], "runs of all phases together"),
                            ("a schedule", [schedule, "--no-traces"], "runs of all phases together"),
                            ("a schedule in asap", [schedule, "--timing", "asap"], "run times"),
                            ("the phase runner", [trace, "--by", "phase-run"],
                             "runs of all phases together")):
        candidates = directories(work, "one", "two")
        output = os.path.join(work, what.replace(" ", "-"))
        done = evaluate(*words, *on(candidates), "-o", output, "--rounds", "2", "--at-most", "2", "--json")
        if not checks.equal(done.status, 0, f"{what}: {done}"):
            continue
        answer = json.loads(done.out)
        checks.equal(answer["by"], by, f"{what}: times")
        checks.equal([len(each["times_s"]) for each in answer["ranking"]], [2, 2], f"{what}: runs")
        checks.equal([each["evidence"][0]["calls"]["written_bytes"] for each in answer["ranking"]],
                     [12 << 20] * 2, f"{what}: bytes")
        checks.equal(os.listdir(candidates["one"]), [], f"{what}: what is left")


def candidatesElsewhere(checks, work):
    trace = recorded(checks, work, "sent")
    candidates = directories(work, "site", "here")
    theirs = os.path.join(work, "offer.results")
    few = ("--rounds", "3", "--at-most", "3")
    done = evaluate(trace, "--on", f"offer={candidates['site']}", "-o", theirs, *few)
    checks.equal(done.status, 0, f"one candidate alone: {done}")
    checks.that(done.out.startswith(b"offer is alone: "), f"nothing to compare with: {done.out}")
    files = ",".join(os.path.join(theirs, "runs", name) for name in runsIn(theirs))
    for number, result in enumerate((theirs, files)):
        output = os.path.join(work, f"elsewhere{number}")
        done = evaluate(trace, "--on", f"here={candidates['here']}", "--on", f"offer={result}", "-o",
                        output, *few, "--json")
        if not checks.equal(done.status, 0, f"elsewhere, {result}: {done}"):
            continue
        counts = {each["name"]: each["io_s"]["runs"] for each in json.loads(done.out)["ranking"]}
        checks.equal(counts, {"here": 3, "offer": 3}, f"runs, {result}")
        checks.equal(runsIn(output), rounds(3, "here"), f"only the one here is run, {result}")
    done = evaluate(trace, "--on", f"one={theirs}", "--on", f"two={files}", "-o",
                    os.path.join(work, "all-elsewhere"), "--json")
    checks.equal(done.status, 0, f"all candidates elsewhere: {done}")
    checks.equal([each["io_s"]["runs"] for each in json.loads(done.out or "{}").get("ranking", [])], [3, 3],
                 "all candidates elsewhere: runs")
    other = recorded(checks, work, "unlike", PROGRAM.replace("range(64)", "range(63)"))
    output = os.path.join(work, "unlike")
    done = evaluate(other, "--on", f"here={candidates['here']}", "--on", f"offer={theirs}", "-o", output)
    checks.equal(done.status, 1, f"results of another recording: {done}")
    wanted = (rf"omnio: offer: {re.escape(theirs)}/runs/001-offer: it made \d+ calls that read {12 << 20} bytes "
              rf"and write {12 << 20}, and the recording has \d+ calls that read {63 * 3 << 16} bytes and write "
              rf"{63 * 3 << 16}: its calls failed, or it is of another recording\n")
    checks.that(re.search(wanted, done.err.decode()), f"{done.err}")
    checks.that(not os.path.exists(output), "nothing is left")
    done = evaluate(trace, "--on", f"here={candidates['here']}", "--on", f"offer={theirs}", "-o", output,
                    "--timing", "asap")
    checks.that(done.status == 1 and b"replayed in dt, and this evaluation is in asap" in done.err,
                f"results of another timing: {done}")


def whatIsRefused(checks, work):
    trace = recorded(checks, work, "refused")
    candidates = directories(work, "a", "b", "b/inner")
    a, b, inner = candidates["a"], candidates["b"], candidates["b/inner"]
    link = os.path.join(work, "link")
    os.symlink(a, link)
    output = os.path.join(work, "out")
    full = os.path.join(work, "full")
    os.makedirs(os.path.join(full, "x"))
    kept = os.path.join(work, "kept")
    shutil.copytree(trace, os.path.join(kept, "copy.trace"))
    model = os.path.join(work, "alone.phases.json")
    checks.equal(run([omnio(), "phases", trace, "-o", model, "--schedule", "no"]).status, 0, "phases")
    for words, status, sentence in (
            ([model, "--on", f"a={a}", "-o", output, "--by", "phase-run"], 2,
             f"{model}: it names no schedule, and its phases cannot be run together; `omnio phases TRACE -o` "
             "writes one beside the model"),
            ([trace, "--on", f"a={a}", "--on", f"b={link}", "-o", output], 1,
             f"a={a}: the same directory as b"),
            ([trace, "--on", f"a={inner}", "--on", f"b={b}", "-o", output], 1,
             f"a={inner}: in the directory of b, {b}"),
            ([trace, "--on", f"a={a}", "--on", f"b={b}", "-o", os.path.join(b, "out")], 1,
             f"b={b}: the directory of the evaluation lies in it, {b}/out"),
            ([os.path.join(kept, "copy.trace"), "--on", f"a={kept}", "--on", f"b={b}", "-o", output], 1,
             f"a={kept}: the recording lies in it, {kept}/copy.trace"),
            ([trace, "--on", f"a={work}/none", "--on", f"b={b}", "-o", output], 1,
             f"a={work}/none: no such directory; a candidate is a directory on it, or its results"),
            ([trace, "--on", f"a={a}", "--on", f"a={b}", "-o", output], 2,
             f'--on a={b}: "a" names two candidates'),
            ([trace, "--on", a, "-o", output], 2,
             f"--on {a}: a candidate is given as NAME=DIR or NAME=RESULT, with a name of letters, "
             "digits, -, _ and ."),
            ([trace, "--on", f"a={a}", "-o", full], 1, f"{full}: not an empty directory: name another"),
            ([os.path.join(work, "nothing"), "--on", f"a={a}", "-o", output], 2,
             f"{work}/nothing: no such trace, schedule or phase model"),
            ([__file__, "--on", f"a={a}", "-o", output], 2,
             f"{__file__}: neither a trace, nor a schedule, nor a phase model"),
            ([trace, "--on", f"a={a}", "-o", output, "--timing", "asap", "--criterion", "io"], 2,
             "--criterion io needs --timing dt: in asap calls are not timed one by one"),
            ([trace, "--on", f"a={a}", "-o", output, "--peak", "b=1,1"], 2,
             "--peak b=1,1: no candidate has this name"),
            ([trace, "-o", output, "--resume"], 2,
             "--resume goes on as the evaluation began: it takes no RECORDING"),
            (["-o", output, "--resume", "--at-most", "7"], 2,
             "--resume goes on as the evaluation began: it takes no --at-most"),
            (["-o", output, "--resume"], 1, f"{output}: no evaluation is there"),
            ([trace, "--on", f"a={a}", "-o", output, "--at-most", "3"], 2,
             "--at-most 3 is less than the 5 rounds that are made at the least (--rounds)"),
            ([trace, "--on", f"a={a}", "-o", output, "--run-option=--repeat=2"], 2,
             "--run-option=--repeat=2: omnio evaluate says that itself"),
            ([trace, "--on", f"a={a}", "-o", output, "--ranks", "4", "--launcher", "mpirun -n 2"], 2,
             "--ranks starts as many processes as there are ranks: it takes no --launcher and no -n")):
        done = evaluate(*words)
        checks.equal((done.status, done.err.decode()), (status, f"omnio: {sentence}\n"), sentence)
        checks.that(not os.path.exists(output), f"nothing is made: {sentence}")
    done = evaluate(trace, "--on", f"a={a}", "-o", output, "--run-option=--cach=warm")
    checks.that(done.status == 1 and done.err.endswith(
        b"omnio: a: The following argument was not expected: --cach=warm; did you mean `--cache`?\n"),
        f"a wrong option of the runs: {done}")
    checks.that(not os.path.exists(output), "nothing is left")
    checks.equal(os.listdir(a) + os.listdir(inner), [], "candidates are as they were")


@devices.orSkipped
def withoutRoom(checks, work):
    trace = recorded(checks, work, "room")
    candidates = directories(work, "wide")
    output = os.path.join(work, "without-room")
    with devices.ext4(work, "narrow", 8) as disk:
        candidates["narrow"] = disk.mount_point
        done = evaluate(trace, *on(candidates), "-o", output)
        checks.equal(done.status, 1, f"too little room: {done}")
        checks.that(b"omnio: narrow: " in done.err and b"too little room: 12582912 bytes" in done.err,
                    f"says so: {done.err}")
        checks.that(not os.path.exists(output), "nothing was run on the other candidate, and nothing is left")
        done = evaluate(trace, *on(candidates), "-o", output, "--by", "phase-run")
        checks.that(done.status == 1 and b"omnio: narrow: " in done.err and b"too little room" in done.err,
                    f"of the phase runner too: {done}")


@devices.orSkipped
def candidatesThatChange(checks, work):
    """A target that is full while a run is made, and one that is not mounted any more."""
    trace = recorded(checks, work, "changes")
    candidates = directories(work, "wide")
    output = os.path.join(work, "changes.out")
    few = ("--rounds", "2", "--at-most", "2")
    with devices.ext4(work, "small", 8) as disk:
        candidates["small"] = disk.mount_point
        done = evaluate(trace, *on(candidates), "-o", output, *few, "--run-option=--ignore-free-space")
        checks.equal(done.status, 1, f"full: {done}")
        checks.that(b"omnio: round 1, small: " in done.err and b" did otherwise than in the recording; " in done.err,
                    f"{done.err}")
        checks.equal(runsIn(output), ["001-wide"], "the run that failed does not count")
        shutil.rmtree(os.path.join(candidates["small"], os.listdir(candidates["small"])[0]),
                      ignore_errors=True)
    done = evaluate("-o", output, "--resume")
    checks.equal(done.status, 1, f"not mounted: {done}")
    checks.that(b"small=" in done.err and (b"it was on the mount " in done.err or b"is gone" in done.err or
                                           b"no such directory" in done.err), f"{done.err}")
    checks.equal(runsIn(output), ["001-wide"], "nothing was run elsewhere")


def dryRun(checks, work):
    trace = recorded(checks, work, "dry")
    candidates = directories(work, "one", "two")
    output = os.path.join(work, "dry.out")
    done = evaluate(trace, *on(candidates), "-o", output, "--dry-run")
    checks.equal(done.status, 0, f"dry run: {done}")
    for said in ("candidate     needs     free  a run takes", "12.0 MiB", "5 to 20 rounds: ", "nothing was run\n"):
        checks.that(said in done.out.decode(), f"{said}: {done.out}")
    checks.that(not os.path.exists(output), "nothing is left")
    checks.equal(os.listdir(candidates["one"]), [], "nothing was made")


# All have opened the file before any writes, and all have written before any closes it, or the ranks
# would wait for each other as it happened.
PIECES = """
import os, sys, time
def meet(step):
    open(os.path.join(sys.argv[2], f"{step}-{rank}"), "w").close()
    while sum(name.startswith(f"{step}-") for name in os.listdir(sys.argv[2])) < ranks: time.sleep(0.01)
rank, ranks = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
fd = os.open(os.path.join(sys.argv[1], "shared"), os.O_RDWR)
meet(1)
for turn in range(16):
    os.pwrite(fd, bytes(65536), (turn * ranks + rank) * 65536)
os.fsync(fd)
meet(2)
os.close(fd)
"""


@devices.orSkipped
def otherNumbersOfRanks(checks, work):
    """A shared file whose pieces belong to ranks in turn, at 3 ranks, projected to 4."""
    launcher = mpirun(3)
    if launcher is None:
        raise devices.NotHere("no mpirun")
    trace, data = os.path.join(work, "ranks.trace"), emptied(os.path.join(work, "ranks.data"))
    with open(os.path.join(data, "shared"), "wb"):
        pass
    done = run([omnio(), "trace", "-o", trace, "--exclude", "/*", "--include", f"{data}/*", "--", *launcher,
                sys.executable, "-c", PIECES, data, emptied(os.path.join(work, "meetings"))])
    checks.equal(done.status, 0, f"recorded: {done}")
    candidates = directories(work, "one", "two")
    output = os.path.join(work, "ranks.out")
    few = ("--rounds", "2", "--at-most", "2", *(f"--mpi-option={word}" for word in launcher[1:-2]))
    done = evaluate(trace, *on(candidates), "-o", output, *few, "--ranks", "4")
    checks.equal(done.status, 1, f"one trace does not tell: {done}")
    checks.that(b"--assume strided-by-ranks" in done.err, f"it says what helps: {done.err}")
    checks.that(not os.path.exists(output), "nothing is left")
    done = evaluate(trace, *on(candidates), "-o", output, *few, "--ranks", "4", "--assume", "strided-by-ranks")
    if not checks.equal(done.status, 0, f"projected: {done}"):
        return
    projections = document(output, "projections.json")
    checks.equal((projections["recorded_ranks"], [each["ranks"] for each in projections["projections"]]),
                 (3, [4]), "numbers of ranks")
    itself, recorded_ = document(output, "ranks-3", "comparison.json"), document(output, "comparison.json")
    middles = [{each["name"]: each["io_s"]["middle"] for each in answer["ranking"]}
               for answer in (itself, recorded_)]
    band = max(max(a / b, b / a) for a, b in ((middles[0][name], middles[1][name]) for name in candidates)) - 1
    checks.that(abs(projections["error_band"] - band) < 1e-9, f"error band {band}: {projections}")
    checks.that(b"projections of 3 recorded ranks; error band " in done.out, f"says so: {done.out}")
    with open(os.path.join(output, "ranks-4", "form.csv"), encoding="utf-8") as file:
        checks.that("a projection: the schedule was scaled from 3 recorded ranks" in file.read(), "in the form")
    report = document(output, "ranks-4", "runs", "001-one", "replay.json")
    checks.equal((len(report["ranks"]), report["total"]["bytes_written"]), (4, 4 * 16 << 16), "what was run")


def killedAndResumed(checks, work):
    """Ended at random moments, it goes on: each run is finished once."""
    trace = recorded(checks, work, "killed")
    candidates = directories(work, "one", "two")
    output = os.path.join(work, "killed.out")
    words = [trace, *on(candidates), "-o", output, "--rounds", "4", "--at-most", "4"]
    kills = 20 if os.environ.get("OMNIO_TEST_ALL") else 5
    chance = random.Random(47)
    finished = {}
    ended = 0
    for number in range(kills):
        child = subprocess.Popen([omnio(), "evaluate", *words], env=environment(),
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.05, 1.5))
        child.send_signal(chance.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT)))
        ended += child.wait(PATIENCE_S) != 0
        if not os.path.exists(os.path.join(output, "evaluation.json")):
            shutil.rmtree(output, ignore_errors=True)
            continue
        words = ["-o", output, "--resume"]
        if not os.path.exists(os.path.join(output, "runs")):
            continue
        now = {name: os.stat(os.path.join(output, "runs", name)).st_ino for name in runsIn(output)}
        checks.that(finished.items() <= now.items(), f"kill {number}: what was finished stays: "
                                                     f"{finished}, then {now}")
        finished = now
    checks.that(ended > 0, "it was ended at least once")
    done = evaluate(*words)
    checks.equal(done.status, 0, f"the last one ends: {done}")
    checks.equal(runsIn(output), rounds(4, *candidates), "each run once")
    now = {name: os.stat(os.path.join(output, "runs", name)).st_ino for name in runsIn(output)}
    checks.that(finished.items() <= now.items(), "none was made again")
    left = [name for name in os.listdir(os.path.join(output, "runs")) if name.endswith(".unfinished")]
    checks.equal(left, [], "nothing unfinished is left")
    answer = document(output, "comparison.json")
    checks.equal([len(each["times_s"]) for each in answer["ranking"]], [4, 4], "each run counts once")
    for path in candidates.values():
        checks.equal(os.listdir(path), [], f"what is left in {path}")


def interrupted(checks, work):
    trace = recorded(checks, work, "stopped", PROGRAM + "\nimport time; time.sleep(0.5); os.stat(sys.argv[1] + '/a')\n")
    candidates = directories(work, "one", "two")
    output = os.path.join(work, "stopped.out")
    child = subprocess.Popen([omnio(), "evaluate", trace, *on(candidates), "-o", output],
                             env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = b""
    while b"round 1 of 5" not in said:
        said += child.stderr.readline()
    busy = evaluate("-o", output, "--resume")
    checks.equal((busy.status, busy.err.decode()),
                 (1, f"omnio: {output}: an evaluation works there at this moment\n"), "one at a time")
    child.send_signal(signal.SIGINT)
    said += child.stderr.read()
    checks.equal(child.wait(PATIENCE_S), -signal.SIGINT, f"ends by the signal: {said}")
    checks.that(f"omnio: interrupted by SIGINT; `omnio evaluate -o {output} --resume` goes on\n".encode()
                in said, f"says how to go on: {said}")


runCases(fromATraceToTheAnswer, otherRecordingsAndRunners, candidatesElsewhere, whatIsRefused, withoutRoom,
         candidatesThatChange, dryRun, otherNumbersOfRanks, killedAndResumed, interrupted)
