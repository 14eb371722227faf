"""The workloads of the campaign: how each is prepared, run and timed.

To add one to tests/programs/c_workloads.c or c_libraries.c, add a row of WORKLOADS. Another program
needs a class with the members of Own.
"""

import os
import re
import shutil

from launching import OneHost
from omnio_testing import environment, mpirun, program, run

MELT = """\
units           lj
atom_style      atomic
lattice         fcc 0.8442
region          box block 0 {cells} 0 {cells} 0 {cells}
create_box      1 box
create_atoms    1 box
mass            1 1.0
velocity        all create 3.0 4928459 loop geom
pair_style      lj/cut 2.5
pair_coeff      1 1 1.0 1.0 2.5
neighbor        0.3 bin
neigh_modify    every 20 delay 0 check no
fix             move all nve
dump            text all atom {dump} melt.*.dump
dump            local all custom {dump} melt.rank%.txt id type x y z vx vy vz
restart         {restart} melt.*.%.restart
thermo          60
run             ${{steps}}
"""



def melt(cells, dump, restart):
    """A script of LAMMPS, for a melt of 4 * cells^3 atoms that writes each `dump` and `restart` steps.
    The variable `steps` says how many steps there are."""
    return MELT.format(cells=cells, dump=dump, restart=restart)


# Ranks that wait for each other leave their core to the file system, which has cores of its own where
# it is not on the same two.
YIELD = {"OMPI_MCA_mpi_yield_when_idle": "1"}


class Failed(Exception):
    """A program of the campaign ended with an error."""


def ok(result, what, statuses=(0,)):
    if result.status not in statuses:
        text = (result.err or result.out).decode(errors="replace").strip().splitlines()
        raise Failed(f"{what}: status {result.status}: {' | '.join(text[-4:])}")
    return result


class Own:
    """A workload of tests/programs/c_workloads.c, which times itself."""

    launch = OneHost()

    def __init__(self, name, factor=16, ranks=2, files=False):
        self.name, self.factor, self.ranks = name, factor, ranks
        self._files = files  # whether it finds files that `NAME-files` makes

    def whyMissing(self):
        if program("c_workloads") is None or mpirun(1) is None:
            return "c_workloads was not built: MPI was missing"
        return None

    def prepare(self, directory, factor):
        """Makes what the workload finds, with its pages neither dirty nor in the page cache."""
        if self._files:
            made = self.launch.run(self._command(f"{self.name}-files", factor), cwd=directory,
                                   env=self.environment(), timeout=600)
            ok(made, f"{self.name}-files")
            evict(directory)

    def command(self, factor):
        return self._command(self.name, factor)

    def _command(self, name, factor):
        return [*self.launch.mpirun(self.ranks), program("c_workloads"), name, factor]

    def environment(self):
        return environment(**YIELD)

    def seconds(self, output, outside_s):
        """From the first call of I/O to the end of the last, as the run printed it."""
        del outside_s
        return float(output.split()[-1])


class Libraries(Own):
    """A workload of tests/programs/c_libraries.c, by four ranks; `io` is the component of Open MPI that
    makes MPI-IO, where it is not the usual one."""

    def __init__(self, name, factor, io=None):
        super().__init__(name, factor, ranks=4)
        self._io = () if io is None else ("--mca", "io", io)

    def whyMissing(self):
        if program("c_libraries") is None or mpirun(1) is None:
            return "c_libraries was not built: MPI, HDF5 or PnetCDF was missing"
        return None

    def _command(self, name, factor):
        return [*self.launch.mpirun(self.ranks, *self._io), program("c_libraries"), name, factor]


class Lammps:
    """LAMMPS with a melt that dumps and writes restarts. It does not time its I/O, so a library tells
    the time from MPI_Init to MPI_Finalize. The recording says how much of that lies before the first
    call of I/O and after the last."""

    name, factor, ranks, launch = "lammps", 8, 2, OneHost()

    def whyMissing(self):
        if shutil.which("lmp") is None:
            return "lmp is not installed"
        if not os.path.exists(self._library()):
            return "mpi_span was not built: MPI was missing"
        return None

    def _library(self):
        return os.path.join(os.environ["OMNIO_TEST_PROGRAMS"], "libmpi_span.so")

    def prepare(self, directory, factor):
        del factor
        with open(os.path.join(directory, "in.melt"), "w", encoding="utf-8") as file:
            file.write(melt(8, 60, 240))
        evict(directory)

    def command(self, factor):
        # Only what mpirun starts is timed.
        preload = ("-x", f"LD_PRELOAD={self._library()}")
        return [*self.launch.mpirun(self.ranks, *preload), shutil.which("lmp"),
                "-in", "in.melt", "-log", "none", "-screen", "none", "-var", "steps", 120 * factor]

    def recorded(self, factor):
        """The tracer preloads its own library."""
        words = self.launch.mpirun(self.ranks)
        return [*words, *self.command(factor)[len(words) + 2:]]

    def environment(self):
        return environment(OMP_NUM_THREADS=1, **YIELD)

    def seconds(self, output, outside_s):
        found = re.search(r"^mpi_span (\d+\.\d+)$", output, re.MULTILINE)
        if found is None:
            raise Failed(f"lammps: no time from mpi_span in {output[-200:]!r}")
        return float(found.group(1)) - outside_s


def evict(directory):
    """Writes back, and drops from the page cache, what is below `directory`."""
    ok(run(["sync", "-f", directory]), "sync")
    for parent, _, names in os.walk(directory):
        for name in names:
            fd = os.open(os.path.join(parent, name), os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


# The factors give 0.2 s and more on `quick`, and some seconds on `slow`.
WORKLOADS = {workload.name: workload for workload in (
    Own("checkpoint", 12), Own("strided"), Own("token"), Own("pipeline"), Own("metadata", 2),
    Own("collector"), Own("imbalance"), Own("collective"), Own("small", 8), Own("append"),
    Own("holes", 32), Own("restart", 40, files=True), Own("commit", 12),
    Own("sleepers", 8, ranks=8), Own("readahead", files=True), Own("overlapped"), Own("madbench", 32),
    Own("btio", ranks=4), Lammps(),
    # Some seconds in memory too.
    Libraries("pnetcdf-arrays", 48), Libraries("pnetcdf-requests", 48),
    Libraries("pnetcdf-records", 48), Libraries("hdf5-metadata", 24), Libraries("hdf5-chunks", 48),
    Libraries("views", 48), Libraries("ior-ompio", 48, io="ompio"),
    Libraries("ior-romio", 48, io="romio321"))}
