"""omnio predict: programs that are regular, and one that is not, beside the baselines. What
"contiguous" says of c_patterns is worked out here from what the program does."""

import os
import shutil
import xml.etree.ElementTree

from omnio_testing import Checks, WorkDirectory, program, trace
from prediction_cases import CASES, percent, predict, predicted

UNIT = 4096


def xorshift(seed):
    state = seed
    while True:
        state ^= state << 13 & 0xFFFFFFFFFFFFFFFF
        state ^= state >> 7
        state ^= state << 17 & 0xFFFFFFFFFFFFFFFF
        yield state >> 11


def irregular(turns, seed):
    """The transfers of `c_patterns irregular`: (file, writes, offset, bytes)."""
    draws = xorshift(seed)

    def below(limit):
        return next(draws) % limit

    ends = [0, 0]
    for _ in range(turns):
        file = below(2)
        size = 1 + below(24 * UNIT)
        at = ends[file] if below(2) == 0 else below(1 << 27)
        ends[file] = at + size
        yield file, below(2) != 0, at, size


def contiguousOf(transfers):
    """How many offsets are where the transfer before in the file ended, at 0 of the first."""
    ends, right = {}, 0
    for file, _, offset, size in transfers:
        right += ends.get(file, 0) == offset
        ends[file] = offset + size
    return right


def checkSums(checks, document, what):
    for part in ("whole_run", "after_first_period"):
        for way, total in document["total"][part].items():
            for key, value in total.items():
                if not isinstance(value, int) or key == "gaps":
                    continue
                for groups in ("ranks", "files"):
                    checks.equal(sum(one[part][way][key] for one in document[groups]), value,
                                 f"{what}: {part}, {way}: {key} of {groups}")


def checkText(checks, directory, document, what):
    """The table has what the document has."""
    lines = predict(directory).out.decode().splitlines()
    row = next(line for line in lines if line.endswith("  grammar")).split()
    own = document["total"]["whole_run"]["grammar"]
    wanted = [str(own["operations"]), f"{percent(own['contexts_right'], own['operations']):.1f}"]
    checks.equal([row[0], row[1]], wanted, f"{what}: the first columns of the table")
    shown = [word for word in row if word != "%"]
    offsets = percent(own["offsets_right"], own["placed"])
    checks.equal(shown[5:7], [f"{offsets:.1f}", f"{own['hit_ratio'][0]:.1f}"],
                 f"{what}: offsets and hit ratio in the table")


def checkCase(checks, work, case):
    if not case.isThere():
        checks.skip(case.name, "not installed or not built here")
        return
    directory = case.record(work, case.turns[1])
    document = predicted(directory)
    checkSums(checks, document, case.name)
    checkText(checks, directory, document, case.name)
    for part in ("whole_run", "after_first_period"):
        own, contiguous = (document["total"][part][way] for way in ("grammar", "contiguous"))
        if own["operations"] == 0:
            checks.that(not case.is_periodic,
                        f"{case.name}: there are operations after the first period")
            continue
        offsets = percent(own["offsets_right"], own["placed"])
        guessed = percent(contiguous["offsets_right"], contiguous["placed"])
        hit, hit_guessed = own["hit_ratio"][0], contiguous["hit_ratio"][0]
        what = f"{case.name}, {part}"
        print(f"{what}: {own['operations']} operations, offsets {offsets:.2f} % ({guessed:.2f} %), "
              f"hit ratio {hit:.2f} % ({hit_guessed:.2f} %)", flush=True)
        checks.that(own["offsets_right"] >= contiguous["offsets_right"],
                    f"{what}: no fewer offsets than \"contiguous\"")
        checks.that(hit >= hit_guessed, f"{what}: no lower hit ratio than \"contiguous\"")
        baselines = [document["total"][part][way]["offsets_right"]
                     for way in ("same_as_last", "contiguous", "same_distance", "patterns")]
        checks.that(own["offsets_right"] >= max(baselines) - max(own["placed"] / 100, 200),
                    f"{what}: offsets of {baselines}, and {own['offsets_right']}")
        if case.alternates:
            checks.that(offsets >= guessed + 20,
                        f"{what}: 20 points more offsets than \"contiguous\"")
        if case.name == "LAMMPS":
            checks.equal(f"{offsets:.1f}", "100.0", f"{what}: offsets")
            checks.that(hit >= 99.4, f"{what}: hit ratio {hit}")
    if case.name == "LAMMPS":
        own, reads = (document["total"]["whole_run"][way] for way in ("grammar", "read_ahead"))
        writes = own["placed"] - reads["operations"]
        checks.that(writes >= 20_000, f"{case.name}: at least 20,000 writes: {writes}")
    if case.least:
        own, same = (document["total"]["whole_run"][way] for way in ("grammar", "same_distance"))
        offsets = percent(own["offsets_right"], own["placed"])
        guessed = percent(same["offsets_right"], same["placed"])
        print(f"{case.name}: offsets {offsets:.1f} %, by the same distance {guessed:.1f} %, hit ratio "
              f"{own['hit_ratio'][0]:.1f} %", flush=True)
        checks.that(offsets >= case.least, f"{case.name}: offsets {offsets:.1f} %")
        checks.that(offsets >= guessed + 3, f"{case.name}: {offsets:.1f} %, and {guessed:.1f} %")
        checks.that(own["hit_ratio"][0] >= 80, f"{case.name}: hit ratio {own['hit_ratio'][0]}")
    checks.equal(document["stacks"]["operations"],
                 document["total"]["whole_run"]["grammar"]["operations"] if case.stacks else 0,
                 f"{case.name}: operations with stacks")
    model = document["total"]["model"]
    if case.is_periodic:
        checks.equal(model["models_that_stopped_growing"], model["models"],
                     f"{case.name}: the grammar stops growing")
    checks.that(0 < model["bytes"] <= 1 << 20, f"{case.name}: {model['bytes']} bytes of memory")


def checkKnown(checks, work):
    """What the program does is known, and so is what \"contiguous\" has to say of it."""
    turns, seed = 300, 11
    for way, wanted in (("restart", turns), ("planes", 1), ("append", turns + turns),
                        ("irregular", contiguousOf(irregular(turns, seed)))):
        directory = os.path.join(work, f"known-{way}.trace")
        run = os.path.join(work, f"known-{way}")
        os.mkdir(run)
        done = trace(directory, [program("c_patterns"), way, str(turns), str(seed)], cwd=run)
        checks.equal(done.status, 0, f"{way}: {done}")
        document = predicted(directory)
        contiguous = document["total"]["whole_run"]["contiguous"]
        placed = {"restart": 7 * turns, "planes": 2 * turns, "append": 3 * turns,
                  "irregular": sum(1 for _ in irregular(turns, seed))}[way]
        checks.equal(contiguous["placed"], placed, f"{way}: transfers")
        # Data goes on; of the log's lines the second goes on, and the first of the very first turn.
        if way == "append":
            wanted += 1
        checks.equal(contiguous["offsets_right"], wanted, f"{way}: contiguous offsets")


def checkChoice(checks, work):
    directory = os.path.join(work, "known-append.trace")
    everything = predicted(directory)["total"]["whole_run"]["grammar"]["operations"]
    log = predicted(directory, "--path", "*/log")["total"]["whole_run"]["grammar"]["operations"]
    data = predicted(directory, "--path", "*/data")["total"]["whole_run"]["grammar"]["operations"]
    checks.equal((log, data), (4 * 300, 300 + 2), "operations of each file")
    checks.equal(log + data, everything, "operations of both files")
    checks.equal(predicted(directory, "--ahead", "5")["ahead"], [1, 2, 4], "distances up to 5")
    picture = os.path.join(work, "hit.svg")
    checks.equal(predict(directory, "--plot", picture).status, 0, "--plot: exit status")
    root = xml.etree.ElementTree.parse(picture).getroot()
    checks.equal(root.tag, "{http://www.w3.org/2000/svg}svg", "the picture")
    checks.that(len(root.findall(".//{http://www.w3.org/2000/svg}path")) > 5,
                "the picture has lines")


def checkThreads(checks, work):
    """The models of a process stay within one bound; threads that are regular lose nothing to the
    others."""
    turns = 300
    for threads in (2, 16, 64):
        run = os.path.join(work, f"threads-{threads}")
        os.mkdir(run)
        directory = f"{run}.trace"
        done = trace(directory, [program("c_patterns"), "threads", str(turns), str(threads)],
                     cwd=run)
        checks.equal(done.status, 0, f"{threads} threads: {done}")
        document = predicted(directory)
        model = document["total"]["model"]
        checks.equal(model["models"], threads, f"{threads} threads: models")
        checks.that(model["bytes"] <= 1 << 20, f"{threads} threads: {model['bytes']} bytes")
        checks.that(threads < 64 or model["forgotten_operations"] > 0,
                    f"{threads} threads: together they want more than there is")
        planes = [one["whole_run"]["grammar"] for one in document["files"]
                  if "/planes." in one["name"]]
        right, placed = (sum(one[key] for one in planes) for key in ("offsets_right", "placed"))
        checks.equal(placed, 2 * turns * threads // 2, f"{threads} threads: planes")
        print(f"{threads} threads: {model['bytes']} bytes, {percent(right, placed):.1f} % of the "
              "offsets of planes", flush=True)
        checks.that(percent(right, placed) >= 95, f"{threads} threads: {right} of {placed} planes")


BUILD_ID_NOTE = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0"
# An instruction of padding that does nothing, whatever its address is.
PADDING = b"\x66\x2e\x0f\x1f\x84\0\0\0\0\0"


def copyModule(source, target, other_id=False, without_id=False, other_code=False):
    """The module as it is after it was built anew."""
    with open(source, "rb") as file:
        content = bytearray(file.read())
    note = content.index(BUILD_ID_NOTE)
    if other_id:
        for i in range(note + len(BUILD_ID_NOTE), note + len(BUILD_ID_NOTE) + 20):
            content[i] ^= 0xFF
    if without_id:
        content[note + 8] = 0x33  # a note of another kind
    if other_code:
        content[content.index(PADDING) + len(PADDING) - 1] = 1
    with open(target, "wb") as file:
        file.write(content)


def checkEarlierRun(checks, work):
    """The next run is predicted from its first operation on, in another directory and with modules
    at other addresses; contexts that go through a module which was updated are learnt anew."""
    names = [f"libcallstack_plugin_{letter}.so" for letter in "ab"]
    folder = os.path.dirname(program("c_callstack"))

    def record(number, **changes):
        run = os.path.join(work, f"earlier-{number}")
        os.mkdir(run)
        for name in names:
            copyModule(os.path.join(folder, name), os.path.join(run, name),
                       **(changes if name == names[1] else {}))
        command = [program("c_callstack"), "plugins", os.path.join(run, "data"),
                   *(os.path.join(run, name) for name in names)]
        done = trace(f"{run}.trace", command, options=["--callstack"], cwd=run)
        checks.equal(done.status, 0, f"run {number}: {done}")
        return f"{run}.trace"

    first, second, updated = record(0), record(1), record(2, other_id=True)
    anew = predicted(second)["total"]["whole_run"]["grammar"]
    again = predicted(second, "--learn-from", first)
    own = again["total"]["whole_run"]["grammar"]
    print(f"an earlier run: {own['whole_right']} of {own['operations']} operations, without it "
          f"{anew['whole_right']}", flush=True)
    checks.equal(own["whole_right"], own["operations"], "after an earlier run: all are predicted")
    checks.that(anew["whole_right"] < anew["operations"] * 0.8, "without it they are not")

    def checkSame(later, earlier, what):
        learnt = predicted(later, "--learn-from", earlier)["learnt_from"]
        checks.equal(learnt["contexts_again"], learnt["contexts"], f"{what}: contexts that are again")
        checks.equal(learnt["updated"], [], f"{what}: modules that were updated")

    def checkUpdated(later, earlier, what):
        learnt = predicted(later, "--learn-from", earlier)["learnt_from"]
        checks.equal([os.path.basename(one["path"]) for one in learnt["updated"]], [names[1]],
                     f"{what}: the module that was updated")
        gone = learnt["contexts"] - learnt["contexts_again"]
        checks.that(gone > 0, f"{what}: contexts went through it")
        checks.equal(learnt["updated"][0]["contexts"], gone, f"{what}: those, and no others, are new")

    checkSame(second, first, "build ids")
    checkUpdated(updated, first, "build ids")
    nameless = [record(3, without_id=True), record(4, without_id=True)]
    checkSame(nameless[1], nameless[0], "digests")
    checkUpdated(record(5, without_id=True, other_code=True), nameless[0], "digests")


def checkBad(checks, work):
    def refused(status, sentence, *words):
        done = predict(*words)
        checks.equal(done.status, status, f"{words}: exit status")
        checks.equal(done.err.decode().splitlines()[:1], [f"omnio: {sentence}"],
                     f"{words}: what it says")

    nothing = os.path.join(work, "nothing.trace")
    checks.equal(trace(nothing, ["mkdir", os.path.join(work, "new")]).status, 0, "trace of mkdir")
    refused(1, f"{nothing}: no call opens, closes, reads or writes a regular file: there is "
            "nothing to predict", nothing)
    good = os.path.join(work, "known-append.trace")
    refused(1, f"{good}: none of its 1502 operations on files is selected", good, "--path",
            "*/none")
    other = os.path.join(work, "earlier-0.trace")
    refused(1, f"{other}: it is a run of c_callstack, and {good} one of c_patterns: what one "
            "application has taught says nothing of another", good, "--learn-from", other)
    checks.equal(predict(good, "--ahead", "0").status, 2, "--ahead 0: exit status")
    checks.equal(predict(good, "--ahead", "65").status, 2, "--ahead 65: exit status")
    damaged = os.path.join(work, "damaged.trace")
    shutil.copytree(good, damaged)
    container = next(os.path.join(damaged, name) for name in os.listdir(damaged)
                     if name.endswith(".omnio"))
    with open(container, "r+b") as file:
        file.truncate(os.path.getsize(container) // 2)
    done = predict(damaged)
    checks.equal(done.status, 3, f"damaged: exit status ({done})")
    checks.that(b"the trace is not whole" in done.err.splitlines()[0],
                f"damaged: what it says: {done}")
    checks.that(b"The whole run" in done.out, "damaged: the tables are there")


def main():
    checks = Checks()
    with WorkDirectory() as work:
        with checks.case("known"):
            checkKnown(checks, work)
        with checks.case("choice"):
            checkChoice(checks, work)
        with checks.case("threads"):
            checkThreads(checks, work)
        with checks.case("earlier run"):
            checkEarlierRun(checks, work)
        with checks.case("bad input"):
            checkBad(checks, work)
        for case in CASES:
            with checks.case(case.name):
                checkCase(checks, work, case)
    checks.finish()


if __name__ == "__main__":
    main()
