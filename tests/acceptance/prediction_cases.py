"""Programs whose operations omnio predict predicts: what the test and the table
(bench/prediction.py) share.
"""

import json
import os
import shutil

from lammps_input import writeInput
from omnio_testing import emptied, environment, mpirun, omnio, program, run, trace
from replay_testing import MPI_ENVIRONMENT

RANKS = 4
# Gathered dumps: rank 0 writes the atoms of all ranks, in numbers of a fixed width.
DUMPS = """\
dump each all custom 50 dump.*.txt id x y z
dump_modify each sort id format line "%6d %12.6f %12.6f %12.6f"
dump one all custom 1 dump.all id type x y z
dump_modify one sort id format line "%6d %d %12.6f %12.6f %12.6f"
run {steps}
"""
# As LAMMPS writes them if it is not told otherwise: the widths of numbers vary.
USUAL_DUMPS = """\
dump one all atom 1 dump.lammpstrj
thermo 10
run {steps}
"""


class Case:
    """A program. `turns`: of the table, then of the test. `alternates`: offsets go to and fro
    between variables; `is_periodic`: the same turn comes again and again. `stacks`: call stacks are
    recorded. `least`: they are, and so many per cent of the offsets are right, and 3 points more than
    by the distance that the place in the program had the last time; and a hit ratio of at least
    80 %."""

    def __init__(self, name, command, turns, is_periodic=True, alternates=False, dumps=None,
                 stacks=False, least=None):
        self.name, self.command, self.turns = name, command, turns
        self.is_periodic, self.alternates, self.dumps = is_periodic, alternates, dumps
        self.stacks, self.least = stacks or least is not None, least

    def isThere(self):
        words = self.command(1)
        return None not in words and all(words)

    def record(self, work, turns):
        """The trace of the program; it runs in an empty directory."""
        directory = emptied(os.path.join(work, "run"))
        if self.dumps:
            writeInput(directory, self.dumps.format(steps=turns))
        result = os.path.join(work, f"{self.name.replace(' ', '-')}.trace")
        shutil.rmtree(result, ignore_errors=True)
        done = trace(result, self.command(turns), cwd=directory, env=environment(**MPI_ENVIRONMENT),
                     options=["--callstack=auto"] if self.stacks else [])
        if done.status != 0:
            raise RuntimeError(str(done))
        return result


def patterns(way, *more):
    return lambda turns: [program("c_patterns"), way, str(turns), *more]


def ofRanks(ranks, *words):
    start = mpirun(ranks)
    return [*(start or [None]), *words]


def gzip(mode):
    return lambda turns: [program("c_hdf5_gzip"), mode, str(turns)]


def lammps(_):
    return ofRanks(RANKS, shutil.which("lmp"), "-in", "in.melt", "-log", "log.lammps", "-screen",
                   "none")


CASES = [
    Case("LAMMPS", lammps, (1800, 1800), dumps=DUMPS),
    Case("LAMMPS usual dumps", lammps, (1800, 300), dumps=USUAL_DUMPS),
    Case("restart writer", patterns("restart"), (1500, 150), alternates=True),
    Case("planes in turn", patterns("planes"), (5000, 500), alternates=True),
    Case("BT-IO simple",
         lambda turns: ofRanks(RANKS, program("c_kernels"), "btio-simple", "12", str(turns)),
         (40, 8), alternates=True),
    Case("stream with seeks", patterns("stream"), (1000, 100)),
    Case("appended log", patterns("append"), (2000, 200)),
    Case("irregular", patterns("irregular", "7"), (5000, 500), is_periodic=False),
    Case("HDF5 gzip, same data", gzip("same"), (40, 40), is_periodic=False, least=95),
    Case("HDF5 gzip, varying data", gzip("varying"), (40, 40), is_periodic=False, least=82),
    Case("HDF5 gzip, restart", gzip("restart"), (15, 15), is_periodic=False, least=80),
    Case("HDF5 gzip, appended", gzip("appended"), (40, 20), is_periodic=False, least=80),
    Case("HDF5 gzip, flushed", gzip("flushed"), (40, 20), is_periodic=False, least=80),
    Case("HDF5 gzip, parallel",
         lambda turns: ofRanks(2, program("c_hdf5_gzip_parallel"), "parallel", str(turns)),
         (40, 20), is_periodic=False, stacks=True),
]


def predict(directory, *options):
    return run([omnio(), "predict", directory, *options])


def predicted(directory, *options):
    """The document of a trace that is whole."""
    result = predict(directory, "--json", *options)
    if result.status != 0:
        raise RuntimeError(str(result))
    return json.loads(result.out)


def percent(part, whole):
    return 100 * part / whole if whole else 0.0
