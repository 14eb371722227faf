"""omnio predict --page, --figures and its lists: known programs with known curves and patterns, and
the page itself in Chromium (tests/page/check_page.mjs), where node, npm and chromium are.

  prediction_page.py FOLDER-OF-CHECK_PAGE"""

import json
import math
import os
import sys
import xml.etree.ElementTree

from omnio_testing import Checks, WorkDirectory, program, trace
from prediction_cases import predict, predicted
from report_page import SCRIPT, Browser, dataOf

PICTURES = ["contexts.svg", "gaps.svg", "grammar.svg", "hit-ratio.svg", "next-contexts.svg",
            "size-error.svg"]
TURNS = 300
# Files with other names, so that the page leaves some out.
FILES = """
for first in "abcdefghijkl":
    for second in "abcdefghijkl":
        with open(first + second + ".data", "wb") as file: file.write(b"x" * 100)
"""
SHOWN = {"ranks": 50, "files": 50, "patterns": 100, "contexts": 100}  # lines of the page
# Reads of a file with a name that a page must not run: three patterns, one after the other.
READS = f"""
import os
fd = os.open({SCRIPT!r}, os.O_RDWR | os.O_CREAT)
os.ftruncate(fd, 1 << 24)
for i in range(100): os.pread(fd, 512, 4096 * i)
for i in range(50): os.pread(fd, 2048, (1 << 20) + 2048 * i)
for i in range(4):
    for k in range(6): os.pread(fd, 16, (1 << 22) + (1 << 16) * i + 1024 * k)
"""
# The expected rows: call, pattern, parameters, accesses, bytes, offset of the first.
PATTERNS = [("read", "contiguous", "50 x 2048 B", 50, 102400, 1 << 20),
            ("read", "strided", "100 x 512 B, every 4096 B", 100, 51200, 0),
            ("read", "nested", "4 x 6 x 16 B, every 65536 B, every 1024 B", 24, 384, 1 << 22)]


def checkCurves(checks, directory):
    """`planes` opens a file, writes 3 and 1 pages in turn, and closes it."""
    document = predicted(directory)
    curves = document["curves"]
    operations = 2 * TURNS + 2
    bins = math.ceil(operations / 10)
    checks.equal((curves["operations"], curves["window"]), (10, 10), "operations of a bin, and window")
    lists = {key: value for key, value in curves.items() if isinstance(value, list)}
    lists |= {f"{key}, {way}": value for key in ("contexts_right", "size_error")
              for way, value in curves[key].items()}
    checks.equal({key: len(value) for key, value in lists.items()}, dict.fromkeys(lists, bins), "bins")
    right = document["total"]["whole_run"]["grammar"]["contexts_right"]
    of_bins = [part * (10 if at < bins - 1 else 2) / 100
               for at, part in enumerate(curves["contexts_right"]["grammar"])]
    checks.equal(round(sum(of_bins)), right, "contexts that are right")
    checks.equal(curves["contexts_right"]["grammar"][1:-1], [100] * (bins - 2), "after the first bin")
    checks.equal(curves["window_least"][2:], [10] * (bins - 3) + [9], "the close is not expected")
    known = [count for count in curves["followed_most"] if count is not None]
    checks.that(sum(known) <= operations and known[-1] > TURNS / 3, f"how far ahead: {known}")
    checks.equal(max(curves["symbols"]), document["total"]["model"]["most_symbols"], "symbols")
    checks.equal(curves["size_error"]["grammar"][1:], [0] * (bins - 1), "sizes are right")
    checks.equal(document["contexts_left_out"], 0, "contexts that are left out")
    of_file = [{key: one[key] for key in ("call", "count", "different", "min", "average",
                                          "standard_deviation", "max")}
               for one in document["contexts"]]
    checks.equal(of_file, [{"call": "write", "count": 2 * TURNS, "different": 2, "min": 4096,
                            "average": 8192, "standard_deviation": 4096, "max": 12288}],
                 "sizes by context")


def checkPatterns(checks, directory):
    document = predicted(directory, "--path", "*script*")
    found = [(one["call"], one["kind"], one["parameters"], one["accesses"], one["bytes"],
              one["first_offset"]) for one in document["patterns"]]
    checks.equal(found, PATTERNS, "patterns")
    checks.equal([one["times"] for one in document["patterns"]], [1, 1, 1], "times")
    whole = sum(bytes for *_, bytes, _ in PATTERNS)
    checks.that(all(abs(one["share"] - one["bytes"] / whole) < 1e-6
                    for one in document["patterns"]), "shares")
    text = predict(directory, "--path", "*script*").out.decode()
    for call, kind, parameters, accesses, _, at in PATTERNS:
        words = f"{accesses} 1 {at} {at} {call} {kind} {parameters}"
        checks.that(words in " ".join(text.split()), f"{words} in the text")


def checkManyFiles(checks, directory):
    document = predicted(directory, "--path", "*.data")
    checks.equal((len(document["files"]), len(document["contexts"])), (144, 144), "files")


def checkPage(checks, work, browser, name, directory):
    page, figures = os.path.join(work, name + ".html"), os.path.join(work, name + ".figures")
    done = predict(directory, "--page", page, "--figures", figures, "--json")
    checks.equal(done.status, 0, f"{name}: {done}")
    data, document = dataOf(checks, page), json.loads(done.out)
    for key, value in document.items():
        most = SHOWN.get(key.removesuffix("_left_out"), 1000)
        if isinstance(value, list):
            checks.equal(data[key], value[:most], f"{name}: {key} of the page")
        elif key.endswith("left_out"):
            left = max(0, len(document[key.removesuffix("_left_out")]) - most)
            checks.equal(data[key], left + value, f"{name}: {key} of the page")
        elif key in ("timeline", "stacks", "trace"):
            checks.equal(data[key], value, f"{name}: {key} of the page")
    checks.equal(sorted(os.listdir(figures)), PICTURES, f"{name}: pictures")
    for picture in PICTURES:
        root = xml.etree.ElementTree.parse(os.path.join(figures, picture)).getroot()
        checks.equal(root.tag, "{http://www.w3.org/2000/svg}svg", picture)
        checks.that(root.find(".//{http://www.w3.org/2000/svg}path") is not None,
                    f"{name}: {picture} has lines")
    browser.check(checks, page, None)


def main():
    checks = Checks()
    with WorkDirectory() as work:
        browser = Browser(work, sys.argv[1])
        for name, command, check in (
                ("planes", [program("c_patterns"), "planes", str(TURNS)], checkCurves),
                ("reads", [sys.executable, "-c", READS], checkPatterns),
                ("files", [sys.executable, "-c", FILES], checkManyFiles)):
            directory, run = os.path.join(work, name + ".trace"), os.path.join(work, name)
            os.mkdir(run)
            done = trace(directory, command, cwd=run)
            checks.equal(done.status, 0, f"{name}: {done}")
            check(checks, directory)
            checkPage(checks, work, browser, name, directory)
        missing = os.path.join(work, "none", "page.html")
        done = predict(directory, "--page", missing)
        checks.equal(done.status, 1, "a page in a directory that does not exist")
        for option in ("--page", "--figures"):
            done = predict(directory, option, "x", "--at", "1")
            checks.equal(done.status, 2, f"{option} with --at: {done}")
    checks.finish()


if __name__ == "__main__":
    main()
