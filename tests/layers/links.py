#!/usr/bin/env python3
"""Every link of a document to a file of the project, or to a heading of a page, leads somewhere, and
decisions are numbered from 1 without a gap and without a number that two of them have."""

import pathlib
import re
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("docs", "core", "trace", "statistics", "preprocess", "phase_model", "predict", "replay",
           "ior_bridge", "procurement", "report", "cli", "tests", "bench", "scripts", "configs")
LINK = re.compile(r"!?\[[^\]]*\]\(([^()\s]+)\)")
HEADING = re.compile(r"#{1,6}\s+(.*)")


def lines_without_code(text):
    """(number, line) of a page outside of code blocks."""
    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside:
            yield number, line


def anchors(text):
    """The names by which GitHub's pages find headings."""
    found = set()
    for _, line in lines_without_code(text):
        heading = HEADING.fullmatch(line.rstrip())
        if heading is None:
            continue
        words = LINK.sub(lambda m: m[0][m[0].index("[") + 1:m[0].index("]")], heading[1])
        name = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        repeated = sum(1 for other in found if re.fullmatch(re.escape(name) + r"(-\d+)?", other))
        found.add(f"{name}-{repeated}" if repeated else name)
    return found


def broken_links(root, pages):
    problems = []
    for page in pages:
        text = page.read_text(encoding="utf-8")
        name = page.relative_to(root).as_posix()
        for number, line in lines_without_code(text):
            for target in LINK.findall(line):
                if re.match(r"[a-z]+:", target):
                    continue
                path, _, anchor = target.partition("#")
                file = page if not path else page.parent / path
                if not file.exists():
                    problems.append(f"{name}:{number}: {target}: no such file")
                elif anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
                    problems.append(f"{name}:{number}: {target}: no such heading")
    return problems


class Links(unittest.TestCase):
    maxDiff = None

    def test_all_lead_somewhere(self):
        pages = sorted(ROOT.glob("*.md"))
        for folder in FOLDERS:
            pages += sorted((ROOT / folder).rglob("*.md"))
        self.assertGreater(len(pages), 30)
        self.assertEqual(broken_links(ROOT, pages), [])

    def test_decisions_have_numbers_of_their_own(self):
        names = sorted(page.name for page in (ROOT / "docs/decisions").glob("*.md"))
        self.assertEqual([name[:5] for name in names],
                         [f"{number:04}-" for number in range(1, len(names) + 1)])

    def test_headings_have_the_names_that_pages_give_them(self):
        text = "# `log`, and `--mpi`\n```\n# code\n```\n## Again\n## Again\n## [A](b.md) link\n"
        self.assertEqual(anchors(text), {"log-and---mpi", "again", "again-1", "a-link"})

    def test_broken_ones_are_named(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "page.md")
            page.write_text("# Here\n[a](#here) [b](#there)\n[c](none.md) [d](https://x.y/#z)\n")
            self.assertEqual(broken_links(page.parent, [page]),
                             ["page.md:2: #there: no such heading",
                              "page.md:3: none.md: no such file"])


if __name__ == "__main__":
    unittest.main()
