"""Names that hold what a terminal obeys: ESC, the one-byte escape U+009B, characters that turn text
around, bytes that are not UTF-8, a backslash. No command prints them raw or escapes them twice, and a
replay gives files the names that the application gave them.
"""

import json
import os
import re
import shutil
import sys

from omnio_testing import Checks, WorkDirectory, emptied, mpirun, omnio, run, trace
from replay_testing import MPI_ENVIRONMENT, replay

NAMES = (b"escape \x1b[31m red", b"csi \xc2\x9b31m", b"override \xe2\x80\xaetxt.exe",
         b"isolate \xe2\x81\xa6x", b"mark \xd8\x9cx \xe2\x80\x8f", b"hidden \xe2\x80\x8b\xef\xbb\xbf",
         b"separator \xe2\x80\xa8x", b"no utf-8 \xff\xc3", b"back\\slash", b"back\\x41 \xc2\x85",
         b"new\nline", b"del \x7f", "gr\u00fc\u00df".encode())
ODD = b"odd \x1b[2J \xc2\x9b2J \xe2\x80\xae \xff back\\slash"

RAW = re.compile(rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8b-\x8f\xa8-\xae]|"
                 rb"\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf")
TWICE = re.compile(rb"x5Cx(?!41)[0-9A-F]{2}")  # one name has \x41 in it

# Writes five bytes to each file, then reads them.
PROGRAM = 'printf 12345 | tee -- "$@" > /dev/null; cat -- "$@"'


def isSafe(checks, what, text):
    found = RAW.search(text)
    checks.that(found is None, f"{what}: no raw {found} in {text[:2000]!r}")
    twice = TWICE.search(text)
    checks.that(twice is None, f"{what}: {twice} is escaped twice in {text[:2000]!r}")
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as problem:
        checks.that(False, f"{what}: {problem} in {text[:2000]!r}")


def printable(name):
    """What stands for a name: the rule of core/base/printable.hpp, for the names here."""
    out = re.sub(rb"\\", rb"\\x5C", name)
    for bad in (RAW, re.compile(rb"\n|\xff|\xc3(?![\x80-\xbf])")):
        out = bad.sub(lambda found: b"".join(b"\\x%02X" % byte for byte in found.group()), out)
    return out


def checkOutput(checks, work, traced):
    """Every command that shows names; each shows all of them, once escaped."""
    shown = [printable(name) for name in NAMES]
    for words in (["log"], ["log", "--json"], ["stats"], ["stats", "--json"], ["phases"],
                  ["phases", "--json"], ["stats", "--by", "thread"], ["log", "--mpi"]):
        what = " ".join(words)
        result = run([omnio(), words[0], traced, *words[1:]])
        checks.equal(result.status, 0, f"{what}: status; {result.err!r}")
        isSafe(checks, what, result.out)
        isSafe(checks, f"{what}, standard error", result.err)
        if words[-1] not in ("thread", "--mpi"):
            text = result.out
            if words[-1] == "--json":
                text = text.replace(b"\\\\", b"\\")
            for name in shown:
                name = name if words != ["log"] else name.replace(b" ", b"\\x20")
                checks.that(name in text, f"{what}: {name!r} is shown in {text[:2000]!r}")
    for name in os.listdir(traced):
        if name.endswith(".json"):
            with open(os.path.join(traced, name), "rb") as document:
                text = document.read()
            isSafe(checks, name, text)
            json.loads(text)


def checkErrors(checks, work, traced):
    """A sentence about what is not there, is not a trace, or is not understood."""
    odd = os.fsdecode(ODD)
    missing = os.path.join(work, "missing " + odd)
    empty = emptied(os.path.join(work, "empty " + odd))
    text_file = os.path.join(work, "file " + odd)
    with open(text_file, "w", encoding="ascii") as file:
        file.write("no document\n")
    strange = emptied(os.path.join(work, "strange " + odd))
    with open(os.path.join(strange, odd + ".omnio"), "wb") as file:
        file.write(b"garbage")
    schedule = os.path.join(work, "s.json")
    target = os.path.join(work, "t")
    cases = [[odd], ["stats", "--" + odd], ["stats", traced, "--rank", odd],
             ["log", traced, "--thread", odd], ["stats", traced, "--by", odd],
             ["preprocess", traced, "-o", schedule, "--map", odd],
             ["preprocess", traced, "-o", schedule, "--size-scale", odd],
             ["preprocess", traced, "-o", os.path.join(missing, "s.json")],
             ["phases", traced, "--gap", odd], ["phases", traced, "-o", os.path.join(missing, "m")],
             ["pack", traced, "--level", odd],
             ["trace", "--flavour", odd, "--", "true"], ["trace", "-o", text_file, "--", "true"],
             ["trace", "--config", missing, "--", "true"],
             ["trace", "--config", text_file, "--", "true"],
             ["trace", "--lib-dir", missing, "--", "true"],
             ["trace", "-o", os.path.join(work, "unused"), "--", missing],
             ["trace", "-o", traced, "--", "true"],
             ["replay", missing, "--target", target], ["replay", text_file, "--target", target],
             ["verify", missing, traced], ["ior", missing], ["ior", text_file],
             ["estimate", text_file, missing]]
    for command in ("log", "stats", "collect", "pack", "phases"):
        cases += [[command, path] for path in (missing, empty, text_file, strange)]
    for words in cases:
        what = ascii(" ".join(["omnio", *words]))
        result = run([omnio(), *words], env={**os.environ, **MPI_ENVIRONMENT})
        checks.that(result.status != 0 and result.err, f"{what}: is refused with a sentence")
        isSafe(checks, what, result.err)
        isSafe(checks, f"{what}, standard output", result.out)


def checkReasons(checks, traced, work):
    """A reason for an incomplete trace names the file, in all forms alike."""
    damaged = os.path.join(work, "damaged " + os.fsdecode(ODD))
    shutil.copytree(traced, damaged)
    with open(os.path.join(damaged, os.fsdecode(ODD) + ".omnio"), "wb") as file:
        file.write(b"garbage")
    for words in (["stats"], ["stats", "--json"], ["log"], ["log", "--json"], ["phases"],
                  ["phases", "--json"], ["preprocess", "-o", os.path.join(work, "d.json")],
                  ["collect"]):
        what = "damaged, " + " ".join(words[:2])
        result = run([omnio(), words[0], damaged, *words[1:]])
        checks.equal(result.status, 0, f"{what}: status; {result.err!r}")
        isSafe(checks, what, result.out)
        isSafe(checks, f"{what}, standard error", result.err)
        both = result.out.replace(b"\\\\", b"\\") + result.err
        if words[0] not in ("preprocess", "collect"):
            checks.that(printable(ODD) + b".omnio" in both, f"{what}: names the file: {both[:2000]!r}")


def checkReplay(checks, work, traced):
    """The target gets the names that the application used."""
    schedule = os.path.join(work, "schedule " + os.fsdecode(ODD) + ".json")
    made = run([omnio(), "preprocess", traced, "-o", schedule])
    checks.equal(made.status, 0, f"preprocess: {made}")
    isSafe(checks, "preprocess", made.out + made.err)
    with open(schedule, "rb") as file:
        isSafe(checks, "the schedule", file.read())
    if mpirun(1) is None:
        checks.skip("replay", "no MPI")
        return
    target = os.path.join(work, "target " + os.fsdecode(ODD))
    output = os.path.join(work, "replayed " + os.fsdecode(ODD))
    result = replay(schedule, target, output)
    isSafe(checks, "replay", result.out + result.err)
    checks.equal(result.status, 0, f"replay: {result}")
    tree = os.fsencode(target) + b"/tree"
    found = {name: os.path.getsize(os.path.join(tree, name)) for name in os.listdir(tree)
             if not name.startswith(b"@")}
    checks.equal(found, {name: 5 for name in NAMES}, "files of the replay, and their sizes")
    with open(os.path.join(output, "replay.json"), "rb") as file:
        isSafe(checks, "replay.json", file.read())
    verified = run([omnio(), "verify", schedule, output])
    checks.equal(verified.status, 0, f"verify: {verified}")
    isSafe(checks, "verify", verified.out + verified.err)


def main():
    checks = Checks()
    with WorkDirectory() as work:
        directory = emptied(os.path.join(work, "run"))
        traced = os.path.join(work, "trace " + os.fsdecode(ODD))
        result = trace(traced, ["sh", "-c", PROGRAM, "sh", *map(os.fsdecode, NAMES)],
                       cwd=directory)
        checks.equal(result.status, 0, f"the traced program: {result}")
        checks.equal(result.err, b"", "the traced program says nothing")
        checks.equal(sorted(os.listdir(os.fsencode(directory))), sorted(NAMES), "files of the run")
        for name, part in (("output", lambda: checkOutput(checks, work, traced)),
                           ("errors", lambda: checkErrors(checks, work, traced)),
                           ("reasons", lambda: checkReasons(checks, traced, work)),
                           ("replay", lambda: checkReplay(checks, work, traced))):
            with checks.case(name):
                part()
    checks.finish()


if __name__ == "__main__":
    sys.exit(main())
