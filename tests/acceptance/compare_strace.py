"""The counts of calls and bytes, by rank and file, agree with `strace -f` of the same program.

strace and omnio see two separate runs of a program whose I/O is the same each time: in one run
strace would see the tracer's own calls too. Both runs use the same directory, emptied between.

  compare_strace.py [CASE...]    all cases by default
"""

import glob
import os
import shutil
import sys

from io_comparison import compareCounts, compareOwnCounts, ownCounts, streamCalls
from io_counts import Selection, countEvents, isOwn, plainCall, withoutRandomNames
from lammps_input import writeInput
from omnio_testing import (Checks, WorkDirectory, defaultFilters, emptied, environment, mpirun,
                           program, readLog, run, skipTest, stats, trace, omnio)
from strace_counts import OPTIONS, countStraceFile

RANKS = 4
SERIAL = ["c_posix", "c_posix_lfs", "c_posix_fortified", "c_posix_lfs_fortified", "c_stdio",
          "c_stdio_fortified", "c_fork", "c_many_threads", "cxx_threads", "cxx_openmp",
          "fortran_io"]
MPI = ["c_mpi", "fortran_mpi_mpif", "fortran_mpi_mpi", "fortran_mpi_f08"]
EXITS = ["exit", "_exit", "_Exit", "quick_exit", "abort", "segv", "pthread_exit", "exec_fails"]

DUMPS = """\
dump text all atom 20 dump.txt
dump each all custom 50 dump.*.txt id x y z
dump ranks all atom 50 dump.%.txt
dump mpiio all atom/mpiio 25 dump.mpiio
restart 50 melt.restart.*
thermo 20
run 100
write_restart melt.%.restart
write_data melt.data
"""


class Case:
    def __init__(self, name, command, ranks=0, env=None, counts_itself=False, status=0,
                 prepare=None):
        self.name, self.command, self.ranks, self.env = name, command, ranks, env or {}
        self.counts_itself, self.status, self.prepare = counts_itself, status, prepare


def writeMelt(directory):
    writeInput(directory, DUMPS)


def allCases(directory):
    for name in SERIAL:
        yield Case(name, [program(name), directory], counts_itself=name.startswith("c_stdio"))
    for mode, status in zip(EXITS, (3, 4, 5, 6, 134, 139, 0, 9)):
        yield Case(f"c_exit {mode}", [program("c_exit"), directory, mode],
                   env={"EARLY_DIRECTORY": directory}, status=status)
    for name in MPI:
        yield Case(name, [program(name), directory], ranks=RANKS)
    lmp = shutil.which("lmp")
    # No log of its own: it tells times, whose number of digits differs from run to run.
    yield Case("lammps", [lmp, "-in", "in.melt", "-log", "none", "-screen", "none"],
               ranks=RANKS, prepare=writeMelt)


def runStraced(case, directory, prefix):
    """Returns the run and {(rank, path): Counts}."""
    env = environment(**case.env)
    if case.ranks:
        # Each rank gets a strace of its own, which names its output by the rank it was given.
        inner = f'exec strace {" ".join(OPTIONS)} -o "{prefix}.$OMPI_COMM_WORLD_RANK" "$@"'
        result = run([*mpirun(case.ranks), "sh", "-c", inner, "sh", *case.command], cwd=directory,
                     env=env)
    else:
        result = run(["strace", *OPTIONS, "-o", f"{prefix}.0", *case.command], cwd=directory,
                     env=env)
    counts = {}
    for path in glob.glob(f"{glob.escape(prefix)}.*"):
        rank = int(path.rsplit(".", 1)[1])
        for file, row in countStraceFile(path).items():
            counts[(rank, file)] = row
    return result, counts


def runTraced(case, directory, trace_directory):
    env = environment(**case.env)
    if case.ranks:
        return run([*mpirun(case.ranks), omnio(), "trace", "-o", trace_directory, "--",
                    *case.command], cwd=directory, env=env)
    return trace(trace_directory, case.command, cwd=directory, env=env)


def compareStatistics(checks, case, selection, own, trace_directory):
    """The statistics are a second reader of the same trace: bytes by file have to be the log's.

    They count the application's own calls: MPI-IO, and not what that does below. The names of a file before and
    after a rename are one file of theirs.
    """
    document = stats(trace_directory, "--by", "file")
    checks.equal((document["trace"]["events_missing"], document["trace"]["whole"]),
                 (0, case.status < 128), f"{case.name}: events missing, trace whole "
                 f"(reasons: {document['trace']['reasons']})")
    name_of = {other: group["name"] for group in document["groups"] for other in group.get("other_names", [])}
    wanted = {}
    for (_, path), counts in own.items():
        if path in selection:
            sums = wanted.setdefault(name_of.get(path, path), [0, 0])
            sums[0] += counts.read_bytes
            sums[1] += counts.write_bytes
    got = {group["name"]: [group["read"]["size_bytes"]["total"],
                           group["write"]["size_bytes"]["total"]]
           for group in document["groups"] if group["name"] in selection}
    checks.equal(got, wanted, f"{case.name}: bytes by file in `omnio stats` against `omnio log`")


def compareCase(checks, case, work, directory, filters):
    missing = None in case.command or (case.ranks and mpirun(case.ranks) is None)
    if missing:
        checks.skip(case.name, "the program or the MPI launcher is not there")
        return
    name = case.name.replace(" ", "-")
    results = []
    for prepare_and_run in ("strace", "omnio"):
        emptied(directory)
        if case.prepare:
            case.prepare(directory)
        if prepare_and_run == "strace":
            result, straced = runStraced(case, directory, os.path.join(work, f"{name}.strace"))
        else:
            result = runTraced(case, directory, os.path.join(work, f"{name}.trace"))
        results.append(result)
        if not checks.equal(result.status, case.status, f"{case.name}: status under "
                                                        f"{prepare_and_run}"):
            print(result)
            return
    selection = Selection(directory, filters)
    events = list(readLog(os.path.join(work, f"{name}.trace")))
    traced = countEvents(events)
    compareCounts(checks, case.name, selection, withoutRandomNames(traced),
                  withoutRandomNames(straced))
    if case.counts_itself:
        compareOwnCounts(checks, case.name, selection, streamCalls(traced),
                         ownCounts(results[1].out))
    compareStatistics(checks, case, selection, countEvents(events, isOwn),
                      os.path.join(work, f"{name}.trace"))


def compareSignals(checks, work, directory, filters):
    """A handler's writes: their number differs from run to run, so that the program counts."""
    trace_directory = os.path.join(work, "c_signal.trace")
    result = trace(trace_directory, [program("c_signal"), emptied(directory)])
    if not checks.equal(result.status, 0, "c_signal: status"):
        print(result)
        return
    got = {}
    for event in readLog(trace_directory):
        if event["class"] == "write" and event.get("file"):
            sums = got.setdefault(event["file"], {}).setdefault(plainCall(event["call"]), [0, 0])
            sums[0] += 1
            sums[1] += event["bytes"]
    compareOwnCounts(checks, "c_signal", Selection(directory, filters), got, ownCounts(result.out))


def main(wanted):
    if shutil.which("strace") is None:
        skipTest("strace is not installed")
    checks = Checks()
    with WorkDirectory() as work:
        directory = emptied(os.path.join(work, "run"))
        filters = defaultFilters()
        checks.that(filters, "omnio trace --list-filters names the default filters")
        for case in allCases(directory):
            if not wanted or case.name in wanted:
                with checks.case(case.name):
                    compareCase(checks, case, work, directory, filters)
        if not wanted or "c_signal" in wanted:
            with checks.case("c_signal"):
                compareSignals(checks, work, directory, filters)
    checks.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
