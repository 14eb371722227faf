#!/usr/bin/env python3
"""Shows that scripts/check_layers.py can fail: small trees, each with the answer it must give."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check_layers.py"


class CheckLayers(unittest.TestCase):
    def check(self, files):
        """Exit status and complaint lines for a tree of the given files."""
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                path = pathlib.Path(root, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            run = subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True)
            return run.returncode, run.stdout.splitlines()[:-1]

    def test_downward_includes_pass(self):
        self.assertEqual(
            self.check({
                "core/calls/table.hpp": "",
                "core/wire/record.hpp": '#include "core/calls/table.hpp"\n',
                "core/tracefile/reader.hpp": '#include "core/wire/record.hpp"\n#include <vector>\n',
                "statistics/count.cpp": '#include "core/tracefile/reader.hpp"\n',
                "cli/main.cpp": '#include "statistics/count.hpp"\n',
                "trace/log.cpp": '#include "core/wire/record.hpp"\n#include <mpi.h>\n',
            }), (0, []))

    def test_tracer_may_not_include_core(self):
        self.assertEqual(
            self.check({
                "core/tracefile/reader.hpp": "",
                "trace/log.cpp": '#include <cstdint>\n#  include "core/tracefile/reader.hpp"\n',
            }), (1, ["trace/log.cpp:2: includes core/tracefile/reader.hpp, which trace may not"]))

    def test_a_relative_path_does_not_hide_an_include(self):
        self.assertEqual(
            self.check({
                "core/tracefile/reader.hpp": "",
                "trace/wrap/log.cpp": '#include "../../core/tracefile/reader.hpp"\n',
            }), (1, ["trace/wrap/log.cpp:1: includes core/tracefile/reader.hpp, which trace may not"]))

    def test_angle_brackets_do_not_hide_an_include(self):
        self.assertEqual(
            self.check({
                "core/calls/table.hpp": "#include <core/wire/record.hpp>\n",
                "core/wire/record.hpp": "",
            }), (1, ["core/calls/table.hpp:1: includes core/wire/record.hpp, "
                     "which core/calls may not"]))

    def test_stages_may_not_include_each_other(self):
        self.assertEqual(
            self.check({
                "statistics/count.hpp": "",
                "phase_model/model.cpp": '#include "statistics/count.hpp"\n',
            }), (1, ["phase_model/model.cpp:1: includes statistics/count.hpp, "
                     "which phase_model may not"]))

    def test_command_line_may_not_include_the_tracer(self):
        self.assertEqual(
            self.check({"trace/log.hpp": "", "cli/main.cpp": '#include "trace/log.hpp"\n'}),
            (1, ["cli/main.cpp:1: includes trace/log.hpp, which cli may not"]))

    def test_a_folder_without_a_layer_is_named(self):
        self.assertEqual(
            self.check({"tests/fake.hpp": "", "core/base/a.cpp": '#include "tests/fake.hpp"\n'}),
            (1, ["core/base/a.cpp:1: includes tests/fake.hpp, which core/base may not: it is in no layer"]))

    def test_freestanding_layers_do_without_the_heap(self):
        self.assertEqual(
            self.check({"core/wire/a.cpp": "#include <vector>\n"}),
            (1, ["core/wire/a.cpp:1: includes <vector>, which core/wire may not: "
                 "it is freestanding"]))

    def test_readers_do_without_mpi(self):
        self.assertEqual(
            self.check({"statistics/a.cpp": "#include <mpi.h>\n"}),
            (1, ["statistics/a.cpp:1: includes mpi.h, which statistics may not: "
                 "it is built without MPI"]))

    def test_an_empty_tree_is_refused(self):
        self.assertEqual(self.check({})[0], 2)


if __name__ == "__main__":
    unittest.main()
