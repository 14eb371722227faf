#!/usr/bin/env python3
"""Checks that only core/calls knows the names and numbers of calls.

Code elsewhere names a row by its CallId and asks what it does (core/calls/README.md). Prints one
line for each place that compares the name of a call or writes a row's number, and exits 1; exits
0 when there is none. Tests may do both.

    scripts/check_calls.py [ROOT]       ROOT: the top of the source tree; this script's own one
                                        when left out
"""

import pathlib
import re
import sys

TABLES = ("posix.def", "stdio.def", "mpi.def", "threads.def")
OWNER = "core/calls"
TOPS = ("bench", "cli", "core", "ior_bridge", "procurement", "phase_model", "predict", "preprocess",
        "replay", "report", "statistics", "trace")
SOURCES = (".hpp", ".cpp", ".h", ".c", ".inc")

# Words of other vocabularies that are names of calls by chance: file -> literals.
OTHER_WORDS = {
    "core/mpi/datatype.cpp": {"dup"},  # the text form of datatypes
    "replay/run/mpi_types.cpp": {"dup"},  # the same
    "ior_bridge/ior/summary_reader.cpp": {"read", "write"},  # IOR's "access"
}

ROW = re.compile(r"OMNIO_CALL\(\s*k\w+\s*,\s*\d+\s*,\s*(\w+)")
THREAD_ROW = re.compile(r"OMNIO_THREAD_CALL\(\s*\d+\s*,\s*(\w+)")
MPI_ROW = re.compile(r"OMNIO_MPI_CALL\(\s*\d+\s*,\s*(\w+)")
MPI_LARGE = re.compile(r"OMNIO_MPI_LARGE\(\s*\d+\s*,\s*(\w+)")

LITERAL = r'"([^"\\\n]*)"'
COMPARED = re.compile(rf"[=!]=\s*{LITERAL}|{LITERAL}\s*[=!]=")
SEARCHED = re.compile(r"\b(starts_with|ends_with|contains|find|rfind|compare)\(\s*" + LITERAL)
# The name of a row is there to be shown.
ROW_NAME = r"(?:\brow(?:\.|->)name|\bplainName\((?:[^()]|\([^()]*\))*\))"
ROW_NAME_COMPARED = re.compile(
    rf"{ROW_NAME}\s*(?:[=!]=|\.\s*(?:starts_with|ends_with|contains|find|rfind|compare)\b)")
LIST = re.compile(r'\{((?:\s*"[^"\\\n]*"\s*,?)+)\}')

TEMPLATES = ("intercept", "interceptWith", "record", "append", "realFunction", "realMpi",
             "encodeEvent", "Arguments", "byHand", "FileCall", "onFile")
NUMBERS = (
    (re.compile(r"\bOMNIO_(?:CALL|MPI_CALL|MPI_PAIR|MPI_BOTH|BY_HAND|VARIADIC|WRAP)\(\s*\d+"),
     "the macro takes the name of a call"),
    (re.compile(rf"\b(?:{'|'.join(TEMPLATES)})\s*<\s*\d+"), "the template takes a CallId"),
    (re.compile(r"\bCallId\s*[({]\s*\d+"), "write CallId::NAME"),
    (re.compile(r"\bcast<(?:\w+::)*CallId>\(\s*\d+"), "write CallId::NAME"),
    (re.compile(r"\bkTable\s*\[\s*\d+"), "write rowOf(CallId::NAME)"),
    (re.compile(r"\brow(?:\.|->)number\s*[=!<>]=?\s*[1-9]"), "compare with CallId::NAME"),
)


def without_comments(text):
    """The same text with comments blanked, line by line, so that places keep their numbers."""
    pattern = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
    return pattern.sub(
        lambda match: match[0] if match[0].startswith('"') else re.sub(r"[^\n]", " ", match[0]),
        text)


def names_of_calls(root):
    """The symbols of all rows."""
    names = set()
    for table in TABLES:
        path = root / OWNER / table
        if not path.is_file():
            continue
        text = without_comments(path.read_text(encoding="utf-8"))
        names.update(ROW.findall(text))
        for name in MPI_ROW.findall(text) + [name + "_c" for name in MPI_LARGE.findall(text)]:
            names.update(("MPI_" + name, "PMPI_" + name))
        names.update(THREAD_ROW.findall(text))
    return names


def is_part(method, literal, names):
    """Whether a search for the literal asks for some of the calls."""
    if len(literal) < 4:
        return False
    if method == "starts_with":
        return any(name.startswith(literal) for name in names)
    if method == "ends_with":
        return any(name.endswith(literal) for name in names)
    return any(literal in name for name in names)


def complaints_about(text, names, other_words):
    """(offset, why) of each place in a source without comments."""
    for match in ROW_NAME_COMPARED.finditer(text):
        yield match.start(), "compares the name of a row: ask for its CallId or its effects"
    for match in COMPARED.finditer(text):
        literal = match[1] if match[1] is not None else match[2]
        if literal in names and literal not in other_words:
            yield match.start(), f'compares with "{literal}", a call: ask for CallId or effects'
    for match in SEARCHED.finditer(text):
        method, literal = match[1], match[2]
        if is_part(method, literal, names) and literal not in other_words:
            yield match.start(), f'{method}("{literal}") is of names of calls: ask for effects'
    for match in LIST.finditer(text):
        listed = [word for word in re.findall(LITERAL, match[1]) if word in names]
        if len(listed) > 1:
            yield match.start(), f'lists calls by name ("{listed[0]}"): list CallIds'
    for pattern, advice in NUMBERS:
        for match in pattern.finditer(text):
            yield match.start(), f"writes a row's number: {advice}"


def check(root, other_words=None):
    """All complaints about the tree below root, the number of calls and of files read."""
    allowed = OTHER_WORDS if other_words is None else other_words
    names = names_of_calls(root)
    complaints = []
    files = 0
    for top in TOPS:
        for source in sorted((root / top).rglob("*")):
            name = source.relative_to(root).as_posix()
            if source.suffix not in SOURCES or not source.is_file() or name.startswith(OWNER + "/"):
                continue
            files += 1
            text = without_comments(source.read_text(encoding="utf-8", errors="replace"))
            found = complaints_about(text, names, allowed.get(name, ()))
            complaints += [f"{name}:{text.count(chr(10), 0, at) + 1}: {why}"
                           for at, why in sorted(found)]
    return complaints, len(names), files


def main():
    if len(sys.argv) > 2 or sys.argv[1:2] in (["-h"], ["--help"]):
        print(__doc__.strip())
        return 0 if len(sys.argv) == 2 else 2
    given = sys.argv[1] if len(sys.argv) == 2 else pathlib.Path(__file__).parent.parent
    root = pathlib.Path(given).resolve()
    complaints, calls, files = check(root)
    if calls == 0 or files == 0:
        print(f"{root}: {calls} calls and {files} source files are here; is it the top of the "
              "tree?", file=sys.stderr)
        return 2
    for complaint in complaints:
        print(complaint)
    print(f"{files} files, {calls} calls, {len(complaints)} names or numbers of calls "
          f"outside {OWNER}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
