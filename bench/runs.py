"""What the benchmarks of replays share: runs that have to succeed, and fresh places for their files."""

import json
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path[:0] = [os.path.join(ROOT, "tests", "acceptance")]

# pylint: disable=wrong-import-position
from omnio_testing import environment, mpirun, run

BUILD = os.path.join(ROOT, "build", "release")


def ok(result, what):
    """The result of a command; ends the benchmark with a sentence unless it succeeded."""
    if result.status != 0:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {what}: status {result.status}: "
                 f"{(result.err or result.out).decode(errors='replace').strip()[-400:]}")
    return result


class Place:
    """The files of a benchmark: below `work`, on the file system to measure on."""

    def __init__(self, build, work):
        self._omnio = os.path.join(build, "cli", "omnio")
        self._work = work
        self.schedule = os.path.join(work, "schedule.json")

    def fresh(self, name):
        """The path of what does not exist, or not any more."""
        path = os.path.join(self._work, name)
        if os.path.isdir(path):
            shutil.rmtree(path)
        elif os.path.exists(path):
            os.remove(path)
        return path

    def run(self, command, what):
        return ok(run(command, cwd=self._work, timeout=600), what)

    def trace(self, *command):
        """The directory of the trace."""
        trace = self.fresh("trace")
        self.run([self._omnio, "trace", "-o", trace, "--", *command], "omnio trace")
        return trace

    def log(self, trace):
        return self.run([self._omnio, "log", trace, "--json"], "omnio log").out

    def record(self, *command, options=()):
        """Makes the schedule, with these options of `omnio preprocess`."""
        trace = self.trace(*command)
        self.preprocess(trace, self.schedule, *options)
        shutil.rmtree(trace)

    def preprocess(self, trace, schedule, *options):
        self.run([self._omnio, "preprocess", trace, "-o", schedule, *options], "omnio preprocess")

    def replay(self, *options, schedule=None):
        """`total` of the report of an untraced replay."""
        output = self.fresh("replayed")
        as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        ok(run([self._omnio, "replay", schedule or self.schedule, "--target", self.fresh("target"), "-o", output,
                "--no-trace", *options],
               env=environment(**as_root), cwd=self._work, timeout=600), "omnio replay")
        with open(os.path.join(output, "replay.json"), encoding="utf-8") as file:
            return json.load(file)["total"]
