#!/usr/bin/env python3
"""Finds phrases that are hard to read for those who read English as a second language.

Looks through documents, string literals and comments. Prints FILE:LINE and the phrase for each one
found, and exits with 1; exits with 0 when there is none.

    scripts/check_words.py [--only docs|strings|comments] [ROOT]

    ROOT       the top of the source tree; this script's own one when left out
    docs       all Markdown, without code: a code block quotes a program, whose text is in `strings`
    strings    string literals of C, C++, Python and shell, without those of tests
    comments   comments of C, C++, Python, shell and CMake, and docstrings of tests

A phrase is found across the ends of lines too.
"""

import argparse
import bisect
import io
import pathlib
import re
import sys
import tokenize

# Phrase -> what to write in its place.
PHRASES = {
    r"is no": "is not a, has no",
    r"that is none": "that is not one",
    r"nobody": "no process, no thread, no one",
    r"somebody": "another process, a thread",
    r"comes from nowhere": "is used before anything opens it",
    r"stands twice": "occurs twice",
}
FOUND = {phrase: re.compile(r"\b" + phrase.replace(" ", r"\s+") + r"(?=\s)"
                            if phrase == "is no" else
                            r"\b" + phrase.replace(" ", r"\s+") + r"\b", re.IGNORECASE)
         for phrase in PHRASES}

FOLDERS = ("core", "trace", "statistics", "preprocess", "phase_model", "predict", "replay",
           "ior_bridge", "procurement", "report", "cli", "tests", "bench", "scripts", "cmake",
           "configs", "docs")
C_LIKE = (".cpp", ".hpp", ".c", ".h", ".def", ".inc")

# A string, a character or a comment of C++, whichever comes first.
C_TOKEN = re.compile(r'(?P<raw>\bu?8?R"(?P<mark>[^()\\\s]{0,16})\((?P<inside>.*?)\)(?P=mark)")'
                     r'|(?P<string>"(?:\\.|[^"\\\n])*")'
                     r"|(?P<char>(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+')"
                     r"|(?P<line>//(?:[^\n\\]|\\.|\\\n)*)"
                     r"|(?P<block>/\*.*?\*/)", re.DOTALL)
HASH_COMMENT = re.compile(r"(?:^|(?<=\s))#(?!!)[^\n]*")
HASH_STRING = re.compile(r'"(?:\\.|[^"\\])*"|\'[^\']*\'', re.DOTALL)


class Block:
    """Text that is read as one, with the line of the file that each part of it is from."""

    def __init__(self):
        self.text = ""
        self.starts = []  # offset in text where a part begins
        self.lines = []   # its line in the file

    def add(self, text, line):
        for number, part in enumerate(text.split("\n")):
            self.starts.append(len(self.text))
            self.lines.append(line + number)
            self.text += part + "\n"

    def line_of(self, offset):
        return self.lines[bisect.bisect_right(self.starts, offset) - 1]


def merged(parts, text):
    """Blocks of (begin, end, words) parts: parts with nothing but blanks between belong together."""
    blocks, last_end = [], None
    for begin, end, words in parts:
        if last_end is None or text[last_end:begin].strip():
            blocks.append(Block())
        elif text.count("\n", last_end, begin) > 1:
            blocks.append(Block())
        blocks[-1].add(words, text.count("\n", 0, begin) + 1)
        last_end = end
    return blocks


def c_blocks(text):
    """(blocks of strings, blocks of comments) of a C or C++ source."""
    strings, comments = [], []
    for match in C_TOKEN.finditer(text):
        begin, end = match.span()
        if match["raw"]:
            strings.append((begin, end, match["inside"]))
        elif match["string"]:
            line = text.rfind("\n", 0, begin) + 1
            if not re.match(r"\s*#\s*include", text[line:begin]):
                # An escaped quote or line end separates words as a blank does.
                strings.append((begin, end, re.sub(r"\\.", " ", match["string"][1:-1])))
        elif match["line"]:
            comments.append((begin, end, match["line"].lstrip("/")))
        elif match["block"]:
            words = re.sub(r"\n[ \t]*\*(?!/)", "\n", match["block"][2:-2])
            comments.append((begin, end, words))
    # Between two parts of one literal there is nothing but blanks: the language joins them.
    return merged(strings, text), merged(comments, text)


def python_blocks(text, is_test):
    """A script prints its docstring as its help; a test does not."""
    strings, comments = [], []
    after = False  # whether the statement has begun
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        begin = starts[token.start[0] - 1] + token.start[1]
        end = starts[token.end[0] - 1] + token.end[1]
        if token.type == tokenize.STRING:
            words = re.sub(r"\\[^\n]", " ", token.string)
            (comments if is_test and not after else strings).append((begin, end, words))
        elif token.type == tokenize.COMMENT and not token.string.startswith("#!"):
            comments.append((begin, end, token.string.lstrip("#")))
        if token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            after = False
        elif token.type not in (tokenize.NL, tokenize.COMMENT):
            after = True
    return merged(strings, text), merged(comments, text)


def hash_blocks(text):
    """Of shell and CMake. A # inside quotes is taken for a comment; no phrase is lost by that."""
    comments = [(m.start(), m.end(), m[0].lstrip("#")) for m in HASH_COMMENT.finditer(text)]
    code = HASH_COMMENT.sub(lambda m: " " * len(m[0]), text)
    strings = [(m.start(), m.end(), m[0][1:-1]) for m in HASH_STRING.finditer(code)]
    return merged(strings, text), merged(comments, text)


def doc_blocks(text):
    """Paragraphs of a page, without code."""
    blocks, inside = [Block()], False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            inside = not inside
            line = ""
        if inside or not line.strip():
            blocks.append(Block())
            continue
        blocks[-1].add(re.sub(r"``[^`].*?``|`[^`]*`", "CODE", line), number)
    return blocks


def blocks_of(path, name):
    """[(kind, block)] of a file, None of one that is not read; `name` is its path from the root."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".md":
        return [("docs", block) for block in doc_blocks(text)]
    if path.suffix in C_LIKE:
        strings, comments = c_blocks(text)
    elif path.suffix == ".py":
        strings, comments = python_blocks(text, name.startswith("tests/"))
    elif path.suffix in (".sh", ".cmake") or path.name == "CMakeLists.txt":
        strings, comments = hash_blocks(text)
    else:
        return None
    if name.startswith("tests/"):
        strings = []
    return [("strings", block) for block in strings] + [("comments", block) for block in comments]


def files_of(root):
    yield from sorted(path for path in root.glob("*") if path.is_file())
    for folder in FOLDERS:
        yield from sorted(path for path in (root / folder).rglob("*") if path.is_file())


def check(root, kinds):
    """(lines to print, number of files read) of a tree."""
    found, files = [], 0
    for path in files_of(root):
        name = path.relative_to(root).as_posix()
        if name == "scripts/check_words.py" or name == "tests/layers/words.py":
            continue  # they name the phrases
        blocks = blocks_of(path, name)
        if blocks is None:
            continue
        files += 1
        blocks = [block for kind, block in blocks if kind in kinds]
        lines = []
        for block in blocks:
            for phrase, pattern in FOUND.items():
                for match in pattern.finditer(block.text):
                    lines.append((block.line_of(match.start()), phrase))
        found += [f'{name}:{line}: "{phrase}"; write: {PHRASES[phrase]}'
                  for line, phrase in sorted(lines)]
    return found, files


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("docs", "strings", "comments"))
    parser.add_argument("root", nargs="?", default=pathlib.Path(__file__).parent.parent)
    options = parser.parse_args()
    root = pathlib.Path(options.root).resolve()
    kinds = (options.only,) if options.only else ("docs", "strings", "comments")
    found, files = check(root, kinds)
    if files == 0:
        print(f"{root}: no file to read is here; is it the top of the tree?", file=sys.stderr)
        return 2
    for line in found:
        print(line)
    print(f"{files} files, {len(found)} phrases to rewrite")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
