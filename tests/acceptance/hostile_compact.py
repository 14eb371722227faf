"""Compact schedules that make no sense, and files of times that are damaged: each is refused with one
sentence that says where, in little time and memory. Loops that were edited have their means, and those
after them their exact times.

  hostile_compact.py
"""

import json
import os
import random
import re
import resource
import shutil

from generated_schedules import generated
from omnio_testing import omnio, run, runCases
from replay_testing import closed, file, opened, schedule, write
from schedule_expander import expanded

MOST_BYTES = 512 << 20  # of memory
MOST_SECONDS = 10
PLACE = re.compile(r"^omnio: [^:]+: line \d+, column \d+: [^\n]+$")


def loop(turns, *body, **more):
    return {"repeat": turns, "body": list(body), **more}


def made(location, **more):
    return {"gap": 1, "duration": 1, "command": "mkdir", "location": location, "mode": "0755", "result": 0,
            **more}


def moved(**numbers):
    return {"gap": 1, "duration": 1, "command": "pread64", "fd": 0, "count": 1, "offset": 0, "result": 1,
            **numbers}


def inLoop(*body, turns=3, **more):
    """A schedule with a loop after an open of `a`."""
    return withItems(opened("a", 0), loop(turns, *body, **more))


def withItems(*items):
    document = schedule([file("a"), file("a0"), file("a1"), file("a2")], [[]])
    document["ranks"][0]["threads"][0]["events"] = [
        item if "repeat" in item or "gap" in item else {"start": 0, "end": 0, **item} for item in items]
    return document


def withRanks(text, ranks=6):
    document = schedule([file("a")], ranks=[[[]]] * ranks)
    document["ranks"] = [{"ranks": text, "threads": [
        {"thread": 0, "pid": 1, "tid": 1, "host": "h", "events": [made("a")]}]}]
    return document


def deep(levels):
    item = moved()
    for _ in range(levels):
        item = loop(1, item)
    return item


def expressions():
    """(an offset, what the sentence says)"""
    yield "{turns}", '"{turns}": turns is not one of turn'
    yield "{rank}", "rank is not one of turn"
    yield "{turn2}", "turn2 is not one of turn"
    yield "{turn*turn}", "a product of two names"
    yield "{2*turn*3*turn}", "a product of two names"
    yield "{turn", "has to be a whole number"
    yield "{turn}}", "a } without its {"
    yield "{{turn}", "a } without its {"
    yield "{}", "a number or a name is missing"
    yield "{+turn}", "a number or a name is missing"
    yield "{turn+}", "a number or a name is missing"
    yield "{turn*}", "a number or a name is missing"
    yield "{turn turn}", "are joined by"
    yield "{turn/2}", "are joined by"
    yield "{(turn)}", "a number or a name is missing"
    yield "{1.5*turn}", "are joined by"
    yield "{turn:05}", "one expression"
    yield "{turn}{turn}", "one expression"
    yield "{turn} {turn}", "one expression"
    yield "{9223372036854775808}", "beyond any number"
    yield "{9223372036854775807*9}", "beyond any number"
    yield "{9223372036854775807*turn}", "grows beyond any number"
    yield "{9223372036854775807+9223372036854775807}", "beyond any number"
    yield "{-turn}", "-1"
    yield "{" + "+".join(["turn"] * 65) + "}", "more than 64 names"
    yield "{" + "turn+" * 3000 + "turn}", "more than 64 names"
    yield "{" + "t" * 16000 + "}", "is not one of turn"


def names():
    """(a location, what the sentence says)"""
    yield "a{turn", "a { without its }"
    yield "a}", "a } without its {"
    yield "a{turn:5}", "a width is 01 to 018"
    yield "a{turn:0}", "a width is 01 to 018"
    yield "a{turn:099999999999}", "a width is 01 to 018"
    yield "a{-turn}", "a number in a name is negative"
    yield "a{turn-1}", "a number in a name is negative"
    yield "a{9223372036854775807*turn+1}", "beyond any number"
    yield "a{turn+7}", 'location "a7" is not in the list'
    yield "a{{turn}}", 'location "a{turn}" is not in the list'


def refusedDocuments():
    """(name, document, what the sentence says)"""
    for text, wanted in expressions():
        yield f"offset {text[:40]}", inLoop(moved(offset=text)), wanted
    for text, wanted in names():
        yield f"location {text[:40]}", inLoop(made(text)), wanted
    yield "an expression outside of loops", withItems(opened("a", 0), moved(offset="{7}")), "whole number"
    for turns in (0, -1, 1 << 51, 1 << 62, 1.5, "3", None, [], {}):
        yield f"{turns!r} turns", inLoop(moved(), turns=turns), '"repeat"'
    yield "turns without end", withItems(loop(100_000_000, loop(100_000_000, made("a")))), "1125899906842624 turns"
    yield "no body", withItems({"repeat": 3}), '"body" is missing'
    yield "a body that is no list", withItems({"repeat": 3, "body": {}}), '"body" has to be a list'
    yield "an item that is no object", inLoop(7), "has to be an object"
    yield "a loop with more", inLoop(moved(), more=7), '"more" has no place here'
    yield "a list that is too short", inLoop(moved(offset="{a}"), values={"a": [1, 2]}), "2 values"
    yield "a list that is too long", inLoop(moved(offset="{a}"), values={"a": [1, 2, 3, 4]}), "4 values"
    for name in ("", "rank", "turn", "a1", "a b", "\u00e9"):
        yield f"a list {name!r}", inLoop(moved(), values={name: [1, 2, 3]}), "cannot be the name of a list"
    yield "a list of texts", inLoop(moved(), values={"a": ["1", "2", "3"]}), "whole number"
    yield "a list that is none", inLoop(moved(), values={"a": 3}), '"a" has to be a list'
    yield "lists that are none", inLoop(moved(), values=[3]), '"values" has to be an object'
    yield "loops too deep", withItems(deep(40)), "deep"
    yield "a step that is no object", inLoop(moved(step=7)), '"step" has to be an object'
    yield "a step without its number", inLoop(moved(step={"location": 1})), "no step for"
    yield "a step outside of loops", withItems(opened("a", 0), moved(step={"offset": 1})), "step"
    yield "an id in each turn", inLoop(moved(id=1)), "id 1 appears twice"
    yield "an id that is 0 at first", inLoop(moved(id="{turn}")), '"id"'
    yield "a gap beyond all times", inLoop(moved(gap=1 << 62)), '"gap"'
    yield "times that grow beyond ten years", inLoop(moved(duration=10**17), turns=10), "ten years"
    yield "a negative duration", inLoop(moved(duration=-1)), '"duration"'
    yield "files in a loop, twice", {**withItems(), "files": [
        loop(3, {**file("b{2*turn-turn-turn}"), "source": ""})]}, 'location "b0" appears twice'
    yield "files out of the target", {**withItems(), "files": [
        loop(3, {**file("{turn}/../../b"), "source": ""})]}, "leads out of the target"
    for text in ("5-2", "0-9999999", "-1-3", "0-", "-", "", "a-b", "0-99999999999999999999", "0--1", "1-5",
                 "0-6", " 0-5"):
        yield f"ranks {text!r}", withRanks(text), "rank"
    yield "a number as ranks", withRanks(5), '"ranks"'
    yield "too few ranks", withRanks("0-3"), "it has 4 ranks"
    gap = withRanks("0-2")
    gap["ranks"].append({**gap["ranks"][0], "ranks": "4-5"})
    yield "a gap in the ranks", gap, '"ranks" has to begin with 3'
    again = withRanks("0-2")
    again["ranks"].append({**again["ranks"][0], "ranks": "2-5"})
    yield "a rank twice", again, '"ranks" has to begin with 3'
    many = withRanks("0-16777215", 1)
    many["global"]["ranks"] = 16777216
    many["ranks"][0]["threads"][0]["events"] = [made("a{rank}")]
    yield "very many ranks that name no file", many, 'location "a0" is not in the list'
    waits = [{"id": 1000 + (number << 32), "repeat": 1 << 20, "step": 1, "why": "name"} for number in range(64)]
    yield "waits for a million ids that no event has", withItems(made("a", after=[waits[0]])), '"after" names'
    yield "waits for many million ids", withItems(made("a", after=waits)), "after more than 1048576 others"
    yield "too many waits", withItems(made("a", after=[{**waits[0], "repeat": 1 << 40}])), '"repeat"'
    yield "waits for ids below 1", withItems(made("a", after=[{**waits[0], "step": -1000}])), "below 1"


def limited(*words):
    """omnio with little memory, and what is printed."""
    limits = ["prlimit", f"--as={MOST_BYTES}", "--core=0"] if shutil.which("prlimit") else []
    return run([*limits, omnio(), "schedule", *words])


def processorSeconds():
    """What ended children have used, which does not depend on who else uses the machine."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def checkRefused(checks, name, path, wanted, words=("check",)):
    before = processorSeconds()
    done = limited(*words, path)
    seconds = processorSeconds() - before
    sentence = done.err.decode(errors="replace").rstrip("\n")
    checks.equal((done.status, done.out), (1, b""), f"{name}: status and output; {sentence[:300]}")
    checks.that(PLACE.match(sentence) and len(sentence) < 1000,
                f"{name}: one sentence with its place: {sentence[:300]!r}")
    checks.that(wanted in sentence, f"{name}: {wanted!r} in {sentence[:300]!r}")
    checks.that(seconds < MOST_SECONDS, f"{name}: {seconds:.1f} s")


def writtenOut():
    """More turns than `expand` writes out."""
    yield "too many turns to write out", inLoop(moved(), turns=100_000_001), "100000000 turns"
    yield "turns in four loops", withItems(loop(10_000, loop(10_000, loop(2, made("a"))))), "100000000 turns"


def checkDocuments(checks, work):
    path = os.path.join(work, "hostile.json")
    flat = os.path.join(work, "flat.json")
    count = 0
    for name, document, wanted in writtenOut():
        with checks.case(name):
            checkRefused(checks, name, write(path, document), wanted, ("expand", "-o", flat))
            checks.that(not os.path.exists(flat), f"{name}: nothing is written")
            count += 1
    for name, document, wanted in refusedDocuments():
        with checks.case(name):
            checkRefused(checks, name, write(path, document), wanted)
            count += 1
    print(f"{count} documents refused")


# Files of times -----------------------------------------------------------------------------------


def compact(checks, work, name, document):
    """The path of the compact form."""
    flat, path = os.path.join(work, name + ".flat.json"), os.path.join(work, name + ".json")
    done = run([omnio(), "schedule", "compact", write(flat, document), "-o", path])
    checks.equal(done.status, 0, f"{name}: {done}")
    return path


def globalOf(path, **times):
    """The document with other `times` in its `global`."""
    with open(path, encoding="utf-8") as text:
        document = json.load(text)
    document["global"]["times"].update(times)
    return document


def manyReads():
    """A schedule whose threads have their times in several chunks each."""
    rng, threads = random.Random(1), []
    for thread in range(2):
        events = [opened("a", thread), *({"command": "read", "fd": thread, "count": 9, "result": 9}
                                         for _ in range(18_000)), closed(thread)]
        threads.append(events)
    document = schedule([file("a")], threads)
    for thread in document["ranks"][0]["threads"]:
        at = 0
        for event in thread["events"]:
            event.update(start=at, end=at + rng.randrange(200))
            at = event["end"] + rng.randrange(100)
    return document


def checkTimesFiles(checks, work):
    """Damage of a file of times: refused, or not met by what is read."""
    path = compact(checks, work, "times", manyReads())
    times = path + ".times"
    with open(times, "rb") as data:
        whole = data.read()
    wanted = expanded(path)
    other = compact(checks, work, "other", generated(4)) + ".times"

    def expand(name, may_be_same):
        out = os.path.join(work, "expanded.json")
        done = limited("expand", path, "-o", out)
        sentence = done.err.decode(errors="replace").rstrip("\n")
        if done.status == 0 and may_be_same:
            with open(out, encoding="utf-8") as text:
                checks.equal(json.load(text)["ranks"], wanted["ranks"], f"{name}: the same")
            return 0
        checks.equal(done.status, 1, f"{name}: status; {sentence[:300]}")
        checks.that(PLACE.match(sentence) and os.path.basename(times) in sentence,
                    f"{name}: one sentence that names the file: {sentence[:400]!r}")
        return 1

    os.unlink(times)
    expand("missing", False)
    shutil.copy(other, times)
    expand("of another schedule", False)
    for size in [*range(0, len(whole), 100), len(whole) - 1]:
        with open(times, "wb") as data:
            data.write(whole[:size])
        expand(f"cut off at {size}", False)
    refused, places = 0, range(0, len(whole), max(1, len(whole) // 300))
    for place in places:
        with open(times, "wb") as data:
            data.write(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1:])
        refused += expand(f"flipped at {place}", True)
    print(f"{len(whole)} bytes of times; of {len(places)} flipped bits {refused} refused, the others not met")
    checks.that(refused > len(places) * 0.9, "most flipped bits are refused")
    with open(times, "wb") as data:
        data.write(whole)
    edited = os.path.join(work, "edited.json")
    for name in ("../times.json.times", "/etc/passwd", "", "..", ".", "a/b", "nothing"):
        checkRefused(checks, f"times in {name!r}", write(edited, globalOf(path, file=name)), "")
    for digest in ("", "x" * 16, "0" * 16, "0" * 17):
        checkRefused(checks, f"digest {digest!r}", write(edited, globalOf(path, digest=digest)), "digest")


def checkPlaces(checks, work):
    """`times` of loops and threads that lead elsewhere: the means hold, or a sentence."""
    path = compact(checks, work, "places", schedule(
        [file("a")], [[opened("a", 0), *({"command": "read", "fd": 0, "count": 9, "result": 9}
                                         for _ in range(50)), closed(0)]]))
    with open(path, encoding="utf-8") as text:
        document = json.load(text)

    def edited(key, value):
        copy = json.loads(json.dumps(document))
        thread = copy["ranks"][0]["threads"][0]
        found = thread if key == "stream" else next(item for item in thread["events"] if "repeat" in item)
        found["times"] = value
        return write(os.path.join(work, "edited.json"), copy)

    for value in ([0, 1 << 62], [1 << 62, 100], [(1 << 63) - 1, 100], [5, 100], [0, 0], [100, 100]):
        done = limited("check", edited("loop", value))
        checks.equal((done.status, done.err), (0, b""), f"times {value}: {done}")
    for value in ([-1, 100], [0], [0, 1, 2], 7, "0", {}, ["0", "1"], None):
        checkRefused(checks, f"times {value}", edited("loop", value), '"times"')
    for value in ([0], {}, "{turn}", "{rank}", None, 1.5):
        checkRefused(checks, f"stream {value}", edited("stream", value), "")
    for value in (1, -1, 1 << 62, 1 << 32):
        done = limited("check", edited("stream", value))
        checks.that(done.status in (0, 1) and (done.status == 0 or PLACE.match(done.err.decode().strip())),
                    f"stream {value}: {done}")


def checkEdited(checks, work):
    """Loops with other numbers of turns."""
    directories = [file(f"{name}{number}") for name in "ab" for number in range(300)]
    events = [{"command": "mkdir", "location": f"{name}{number}", "mode": "0755", "result": 0}
              for name in "ab" for number in range(200)]
    document = schedule(directories, [events])
    at = 0
    for number, event in enumerate(document["ranks"][0]["threads"][0]["events"]):
        at += 100 + number * number % 37
        event.update(start=at, end=at + number % 11)
        at = event["end"]
    path = compact(checks, work, "loops", document)
    with open(path, encoding="utf-8") as text:
        whole = text.read()
    checks.that(b"mean times" not in limited("check", path).out, "exact times: no warning")
    head, ranks = whole.split('"ranks":[', 1)
    for turns in (100, 300, 1):
        write(path, head + '"ranks":[' + ranks.replace('"repeat":200', f'"repeat":{turns}', 1))
        line = head.count("\n") + ranks[:ranks.index('{"repeat":200')].count("\n") + 1
        checked = limited("check", path)
        checks.that(f"Warning: 1 loop or line stands for several events, with their mean times in place of exact "
                    f"ones: line {line}\n" in checked.out.decode(), f"{turns} turns: check: {checked}")
        out = os.path.join(work, "expanded.json")
        done = limited("expand", path, "-o", out)
        if not checks.equal((done.status, done.err), (0, b""), f"{turns} turns"):
            continue
        with open(out, encoding="utf-8") as text:
            found = json.load(text)
        checks.equal(found["ranks"], expanded(path)["ranks"], f"{turns} turns, as the documents say")
        mine = found["ranks"][0]["threads"][0]["events"]
        checks.equal(len(mine), turns + 200, f"{turns} turns: operations")
        lengths = [event["end"] - event["start"] for event in mine]
        checks.equal(set(lengths[:turns]), {5}, f"{turns} turns: the mean")
        checks.equal(lengths[turns:], [(200 + number) % 11 for number in range(200)],
                     f"{turns} turns: the times of the next loop")


if __name__ == "__main__":
    runCases(checkDocuments, checkTimesFiles, checkPlaces, checkEdited, needs_mpi=False)
