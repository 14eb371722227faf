#!/usr/bin/env python3
"""Shows that scripts/check_calls.py can fail: small trees, each with the answer it must give."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check_calls.py"

TABLE = {
    "core/calls/posix.def":
        "// OMNIO_CALL(kRegular, 9, of_a_comment, of_a_comment, kOpen, kNewFd)\n"
        "OMNIO_CALL(kCustom, 1, open, open, kOpen, kNewFd, kPath)\n"
        "OMNIO_CALL(kRegular, 100, unlink, unlink, kMetadata, kZero, kPath)\n"
        "OMNIO_CALL(kRegular, 101, unlinkat, unlinkat, kMetadata, kZero,\n           kPath)\n",
    "core/calls/mpi.def":
        "OMNIO_MPI_CALL(454, File_open, kOpen, kAll, kFile)\n"
        "OMNIO_MPI_CALL(464, File_read_all, kRead, kAll, kFile)\n",
}


class CheckCalls(unittest.TestCase):
    def check(self, files):
        """Exit status and complaint lines for a tree of the table and the given files."""
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                path = pathlib.Path(root, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            run = subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True)
            return run.returncode, run.stdout.splitlines()[:-1]

    def places(self, text, name="replay/a.cpp"):
        """Line numbers that are complained about in a file of that text."""
        status, complaints = self.check({**TABLE, "cli/main.cpp": "", name: text})
        self.assertEqual(status, 1 if complaints else 0)
        return [int(line.split(":")[1]) for line in complaints]

    def test_ids_and_effects_pass(self):
        self.assertEqual(
            self.places("if (row.plain == CallId::unlink || does(row, Effect::kRenames)) f();\n"
                        "OMNIO_MPI_PAIR(MPI_File_open, 5, openMpiFile)\n"
                        "intercept<CallId::open, int>(path);\n"
                        "if (row.number != 0) print(row.name);\n"
                        'if (word == "asap" || path.starts_with("/files")) g();\n'
                        'void* const symbol = symbolNamed("unlink");\n'
                        '// plain == "unlink" was here, and OMNIO_BY_HAND(1)\n'), [])

    def test_a_compared_name_is_found(self):
        self.assertEqual(self.places('f();\nif (plain == "unlink") g();\n'), [2])
        self.assertEqual(self.places('if ("unlinkat" != plain) g();\n'), [1])
        self.assertEqual(self.places('if (plain ==\n    "unlink") g();\n'), [1])
        self.assertEqual(self.places('if (name == "MPI_File_open") g();\n'), [1])
        self.assertEqual(self.places('if (name == "PMPI_File_open") g();\n'), [1])

    def test_the_complaint_names_the_place_and_the_call(self):
        self.assertEqual(
            self.check({**TABLE, "replay/a.cpp": 'bool b = x == "unlink";\n'}),
            (1, ['replay/a.cpp:1: compares with "unlink", a call: ask for CallId or effects']))

    def test_a_part_of_a_name_is_found(self):
        self.assertEqual(self.places('bool b = plain.starts_with("unli");\n'), [1])
        self.assertEqual(self.places('bool b = plain.ends_with("_all");\n'), [1])
        self.assertEqual(self.places('bool b = plain.find("_read") != npos;\n'), [1])

    def test_the_name_of_a_row_is_not_compared_with_anything(self):
        self.assertEqual(self.places("bool b = event.row->name == wanted;\n"), [1])
        self.assertEqual(self.places("bool b = plainName(*event.row) != other;\n"), [1])
        self.assertEqual(self.places("bool b = row.name.starts_with('i');\n"), [1])

    def test_a_list_of_names_is_found(self):
        self.assertEqual(self.places('constexpr A kTests = {"unlink",\n  "unlinkat"};\n'), [1])

    def test_numbers_are_found(self):
        for line in ("OMNIO_BY_HAND(1) { return 0; }", "OMNIO_MPI_PAIR(454, MPI_File_open, 5, f)",
                     "OMNIO_VARIADIC(\n    298, fd, format, f())", "intercept<1, int>(path);",
                     "realFunction<100, int(int)>();", "wire::Arguments<42> numbers;",
                     "calls::CallId{42};", "calls::kTable[42];", "if (row.number == 361) f();"):
            self.assertEqual(self.places("f();\n" + line + "\n"), [2], line)

    def test_core_calls_and_tests_may(self):
        text = 'bool b = plain == "unlink";\nOMNIO_BY_HAND(1);\n'
        self.assertEqual(self.places(text, "core/calls/words/names.cpp"), [])
        self.assertEqual(self.places(text, "tests/core/a.cpp"), [])

    def test_all_folders_of_code_are_read(self):
        for folder in ("bench", "cli", "core/order", "ior_bridge", "procurement", "phase_model",
                       "predict", "preprocess", "report", "statistics", "trace/wrap"):
            self.assertEqual(self.places('bool b = plain == "unlink";\n', folder + "/a.hpp"), [1])

    def test_a_tree_without_calls_is_refused(self):
        self.assertEqual(self.check({"replay/a.cpp": ""})[0], 2)


if __name__ == "__main__":
    unittest.main()
