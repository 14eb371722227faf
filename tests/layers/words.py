#!/usr/bin/env python3
"""Shows what scripts/check_words.py finds and what it leaves alone: small trees, each with the answer."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check_words.py"


class CheckWords(unittest.TestCase):
    def check(self, files, *options):
        """Exit status, and FILE:LINE: "PHRASE" for each phrase found."""
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                path = pathlib.Path(root, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            run = subprocess.run([sys.executable, SCRIPT, *options, root], capture_output=True,
                                 text=True)
            lines = run.stdout.splitlines()[:-1]
            return run.returncode, [line.partition(";")[0] for line in lines]

    def test_plain_text_passes(self):
        self.assertEqual(self.check({
            "README.md": "A rank is not a thread. The answer is no.\n",
            "core/a.cpp": 'f("not a number");  // this node, no other\n',
        }), (0, []))

    def test_a_page_is_read_across_lines(self):
        self.assertEqual(self.check({"docs/a.md": "one\n\nA trace that is\nno trace, and nobody.\n"}),
                         (1, ['docs/a.md:3: "is no"', 'docs/a.md:4: "nobody"']))

    def test_code_of_a_page_is_left_alone(self):
        self.assertEqual(self.check({
            "README.md": "The key `nobody` counts.\n\n```\nx: is no trace\n```\n\n"
                         "```console\n$ nobody\n```\n",
        }), (0, []))

    def test_paragraphs_are_apart(self):
        self.assertEqual(self.check({"README.md": "what it is\n\nno one knows\n"}), (0, []))

    def test_strings_are_read_as_the_compiler_joins_them(self):
        self.assertEqual(
            self.check({"cli/a.cpp": 'int x;\nfail("\\"{}\\" is "\n     "no mode");\n'}),
            (1, ['cli/a.cpp:2: "is no"']))

    def test_raw_strings_and_characters(self):
        self.assertEqual(
            self.check({"cli/a.cpp": "char c = '\"'; int n = 1'000;\nf(R\"(a\nthat is none)\");\n"}),
            (1, ['cli/a.cpp:3: "that is none"']))

    def test_neighbouring_comments_are_one(self):
        self.assertEqual(
            self.check({"core/a.hpp": "// A rank is\n// no thread.\nint is;  // is\n\n// no\n"}),
            (1, ['core/a.hpp:1: "is no"']))

    def test_block_comments_and_comments_of_scripts(self):
        self.assertEqual(
            self.check({"core/a.h": "/* one\n * stands twice */\n",
                        "scripts/a.sh": "#!/bin/sh\n# it comes from nowhere\necho 'Nobody'\n",
                        "core/CMakeLists.txt": "set(a b) # somebody\n"}),
            (1, ['core/CMakeLists.txt:1: "somebody"', 'core/a.h:2: "stands twice"',
                 'scripts/a.sh:2: "comes from nowhere"', 'scripts/a.sh:3: "nobody"']))

    def test_names_are_left_alone(self):
        self.assertEqual(self.check({"core/a.cpp": "case Match::kNobody: return nobody;\n"}), (0, []))

    def test_strings_of_tests_are_left_alone_but_not_their_docstrings(self):
        self.assertEqual(
            self.check({"tests/a.py": '"""A user that is none."""\nuser = "nobody"\n',
                        "tests/a.cpp": 'EXPECT_EQ(error, "is no trace");\n'}),
            (1, ['tests/a.py:1: "that is none"']))

    def test_help_of_a_script_is_a_string(self):
        files = {"scripts/a.py": '"""Prints what is no trace."""\nx = 1  # nobody\n'}
        self.assertEqual(self.check(files, "--only", "strings"), (1, ['scripts/a.py:1: "is no"']))
        self.assertEqual(self.check(files, "--only", "comments"),
                         (1, ['scripts/a.py:2: "nobody"']))

    def test_only_documents(self):
        self.assertEqual(self.check({"README.md": "x\n", "core/a.cpp": "// nobody\n"},
                                    "--only", "docs"), (0, []))

    def test_an_empty_tree_is_refused(self):
        self.assertEqual(self.check({})[0], 2)


if __name__ == "__main__":
    unittest.main()
