"""Call stacks through I/O libraries (omnio trace --callstack=auto): HDF5, serial and parallel, its C++
and Fortran libraries, netCDF and PnetCDF, in programs with frame pointers and without. Beside the
tracer, a library of the tests takes libc's backtrace() of the same calls in the same process
(tests/programs/stack_account.c). Each read and write has to have the frames that backtrace() has, cut
where --callstack=auto cuts them, so there are as many different stacks.

  library_stacks.py [CASE...]    all cases by default
"""

import collections
import fnmatch
import functools
import os
import sys

from omnio_testing import (Checks, WorkDirectory, byTurns, emptied, environment, mpirun,
                           preloadLibrary, program, readLog, run, skipTest, stats, trace)

# As docs/commands/trace.md has it: frames of these files do not count,
# and the fourth of another file is the last.
LIBRARIES = ("libhdf5*", "libnetcdf*", "libpnetcdf*", "libadios*", "libmpi*", "libmpl.so*",
             "libmca_*", "mca_*.so", "libopen-pal.so*", "libopen-rte.so*", "libompi*", "libpmpi*",
             "libgfortran.so*", "libstdc++.so*", "libc++.so*", "libc.so*")
CALLERS = 4
MOST_FRAMES = 64
VARIABLES = 30
ACCOUNT = "libstack_account.so"

TRANSFERS = ("read", "write", "pread", "pwrite", "readv", "writev", "preadv", "pwritev")
MPI_TRANSFERS = ("MPI_File_read_at", "MPI_File_read_at_all", "MPI_File_write_at",
                 "MPI_File_write_at_all", "MPI_File_read", "MPI_File_read_all", "MPI_File_write",
                 "MPI_File_write_all")


class Case:
    """A program, and how many stacks its calls have at least, by kind of call."""

    def __init__(self, name, built, words=(), least=None, ranks=0, io=None):
        self.name, self.built, self.words = name, built, [str(word) for word in words]
        self.least = least or {"pwrite": VARIABLES, "pread": VARIABLES}
        self.ranks, self.io = ranks, io

    def command(self, executable, file):
        words = [executable, file, *self.words]
        return mpirun(self.ranks, "--mca", "io", self.io) + words if self.ranks else words


# Each variable has its own MPI call, which makes one POSIX call at least.
BY_MPI = {"MPI_File_write_at": VARIABLES, "MPI_File_read_at": VARIABLES, "pwrite": VARIABLES,
          "pread": VARIABLES}
BY_MPI_TOGETHER = {"MPI_File_write_at_all": VARIABLES, "MPI_File_read_at_all": VARIABLES,
                   "pwrite": VARIABLES, "pread": VARIABLES}
# Ten variables are written by each rank alone, and all of them once more in one call.
BY_PNETCDF = {"MPI_File_write_at_all": 21, "MPI_File_write_at": 10, "pwrite": VARIABLES,
              "MPI_File_read_at_all": VARIABLES, "pread": VARIABLES}

CASES = [
    Case("hdf5", "c_stacks_hdf5", ["contiguous"]),
    Case("hdf5_deflate", "c_stacks_hdf5", ["deflate"]),
    Case("hdf5_cxx", "cxx_stacks_hdf5"),
    Case("hdf5_fortran", "fortran_stacks_hdf5"),
    # HDF5 buffers small parts, and reads them together.
    Case("netcdf4", "c_stacks_netcdf", ["netcdf4"], {"pwrite": VARIABLES}),
    Case("netcdf_classic", "c_stacks_netcdf", ["classic"], {"write": VARIABLES, "read": VARIABLES}),
]
for io in ("ompio", "romio321"):
    CASES += [
        Case(f"hdf5_parallel_{io}", "c_stacks_hdf5_parallel", ["collective"], BY_MPI_TOGETHER, 2, io),
        Case(f"hdf5_independent_{io}", "c_stacks_hdf5_parallel", ["independent"], BY_MPI, 2, io),
        Case(f"pnetcdf_{io}", "c_stacks_pnetcdf", [], BY_PNETCDF, 2, io),
    ]
# Without frame pointers and with; what the account's place says is in the order of LD_PRELOAD.
WAYS = [(suffix, place) for suffix in ("_frameless", "") for place in ("after", "before")]


def account():
    return os.path.join(os.environ.get("OMNIO_TEST_PROGRAMS", ""), ACCOUNT)


@functools.lru_cache(maxsize=None)
def realPath(path):
    return os.path.realpath(path)


@functools.lru_cache(maxsize=None)
def isOfTheTest(path):
    """Whether frames there are the tracer's, or the account's own."""
    return os.path.basename(path) == ACCOUNT or os.path.basename(path).startswith("libomnio_")


@functools.lru_cache(maxsize=None)
def isWalkedThrough(path, libraries=LIBRARIES):
    return any(fnmatch.fnmatchcase(os.path.basename(path), name) for name in libraries)


class Call(collections.namedtuple("Call", "size offset frames")):
    """A read or write: what it was asked for, None where that is not known, and its frames."""


def cut(frames, libraries=LIBRARIES, depth=MOST_FRAMES, callers=CALLERS):
    """Those that the tracer keeps, of (path, offset)."""
    kept, left = [], callers
    for path, offset in frames:
        if isOfTheTest(path):
            continue
        kept.append(f"{path}+{offset}".replace(" ", "\\x20"))
        left -= not isWalkedThrough(path, libraries)
        if len(kept) == depth or left == 0:
            break
    return tuple(kept)


def accountOf(prefix, file):
    """{(process, kind of call): its calls on that file, or of MPI-IO, in order}, with all frames."""
    result = collections.defaultdict(list)
    folder, beginning = os.path.split(prefix)
    for name in os.listdir(folder):
        start, _, pid = name.rpartition(".")
        if start != beginning:
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as lines:
            for line in lines:
                call, path, size, offset, *frames = line.rstrip("\n").split("\t")
                if path not in ("-", file):
                    continue
                pairs = [frame.rpartition("+") for frame in frames]
                # What MPI counts are elements of a type.
                result[int(pid), call.removesuffix("64")].append(Call(
                    None if path == "-" else int(size), int(offset) if int(offset) >= 0 else None,
                    [(realPath(module), address) for module, _, address in pairs]))
    return result


def recordedIn(directory, file):
    """The same as the trace has it."""
    result = collections.defaultdict(list)
    for event in readLog(directory, "--callstack"):
        call, args = event["call"].removesuffix("64"), event["args"]
        if event.get("file") != file or call not in TRANSFERS + MPI_TRANSFERS:
            continue
        size = None if call in MPI_TRANSFERS else sum(args["iov"]) if "iov" in args else args["count"]
        result[event["pid"], call].append(Call(
            size, args.get("offset"), tuple(event.get("stack", {}).get("frames", ()))))
    return result


def runTraced(directory, prefix, command, place, options, variables, has_mpi):
    """Under the tracer with the account, which has its place in LD_PRELOAD before the tracer or after."""
    changes = {"STACK_ACCOUNT": prefix}
    if place == "after":
        return trace(directory, command, options=options, env=environment(LD_PRELOAD=account(), **changes))
    library = preloadLibrary("mpi" if has_mpi else "serial")
    os.makedirs(directory)
    changes.update(OMNIO_DIR=directory, LD_PRELOAD=f"{account()}:{library}", **variables)
    return run(command, env=environment(**changes))


def difference(got, wanted):
    """Where two stacks part, in a line."""
    same = next((i for i, pair in enumerate(zip(got, wanted)) if pair[0] != pair[1]),
                min(len(got), len(wanted)))
    around = [[os.path.basename(frame) for frame in frames[max(same - 1, 0):same + 2]]
              for frames in (got, wanted)]
    return f"{len(got)} frames, {len(wanted)} wanted; the first {same} are the same, then {around}"


def compare(checks, what, counted, recorded, least, **limits):
    """That the same calls have the same frames, and so there are as many stacks of each kind."""
    checks.equal({key: [call[:2] for call in calls] for key, calls in recorded.items() if key in counted},
                 {key: [call[:2] for call in calls] for key, calls in counted.items()},
                 f"{what}: calls, with sizes and offsets")
    stacks = collections.defaultdict(lambda: (set(), set()))
    for key, calls in counted.items():
        wanted = [cut(call.frames, **limits) for call in calls]
        got = [call.frames for call in recorded.get(key, [])]
        wrong = [difference(one, other) for one, other in zip(got, wanted) if one != other]
        checks.that(not wrong, f"{what}: {key[1]} of process {key[0]}: {len(wrong)} of {len(got)} stacks "
                    f"differ, such as {wrong[:1]}")
        told, traced = len(set(wanted)), len(set(got))
        # As the bar of the project has it.
        checks.that(abs(traced - told) <= 0.05 * told,
                    f"{what}: {key[1]} of process {key[0]}: {traced} stacks, backtrace() has {told}")
        stacks[key[1]][0].update(got)
        stacks[key[1]][1].update(wanted)
    for call, count in least.items():
        checks.that(len(stacks[call][1]) >= count,
                    f"{what}: {len(stacks[call][1])} stacks of {call}, {count} places write or read")
    print(f"{what}: " + ", ".join(f"{call} {len(got)}/{len(wanted)}"
                                  for call, (got, wanted) in sorted(stacks.items())), flush=True)


def checkUntruncated(checks, what, directory):
    told = stats(directory)["trace"]
    checks.equal((told["stacks_not_kept"], told["processes_with_short_stacks"]), (0, 0),
                 f"{what}: stacks that are missing, processes with short ones")


def isThere(checks, case, executable):
    if executable is None:
        checks.skip(case.name, f"{case.built} was not built")
    elif case.ranks and mpirun(1) is None:
        checks.skip(case.name, "no MPI")
    else:
        return True
    return False


def checkCase(checks, work, case, suffix, place, options=("--callstack=auto",),
              variables=(("OMNIO_CALLSTACK", "auto"),), least=None, **limits):
    executable = program(case.built + suffix)
    if not isThere(checks, case, executable):
        return
    emptied(work)
    what = f"{case.name}{suffix} {place}"
    file, prefix = os.path.join(work, "data"), os.path.join(work, "account")
    command = case.command(executable, file)
    alone = run(command)
    checks.equal(alone.status, 0, f"{what}, untraced: {alone}")
    with open(file, "rb") as written:
        before = written.read()
    os.unlink(file)
    directory = os.path.join(work, "trace")
    traced = runTraced(directory, prefix, command, place, options, dict(variables), case.ranks)
    checks.equal((traced.status, traced.out), (alone.status, alone.out), f"{what}: {traced}")
    with open(file, "rb") as written:
        checks.that(written.read() == before, f"{what}: it writes the same")
    # After the tracer, the account does not see calls of MPI.
    least = {call: count for call, count in (case.least if least is None else least).items()
             if place == "before" or call not in MPI_TRANSFERS}
    compare(checks, what, accountOf(prefix, file), recordedIn(directory, file), least, **limits)
    checkUntruncated(checks, what, directory)


def checkOtherLimits(checks, work):
    """A number of frames in place of auto, other libraries, and no stacks."""
    # Stacks that are deeper than the frames that are kept.
    case, suffix = Case("hdf5", "c_stacks_hdf5", ["contiguous", MOST_FRAMES]), "_frameless"
    for depth in (1, 12, MOST_FRAMES):
        checkCase(checks, work, case, suffix, "after", options=(f"--callstack={depth}",), depth=depth,
                  callers=MOST_FRAMES, least={})
    alone = ("libhdf5_serial.so*",)
    checkCase(checks, work, case, suffix, "after", libraries=alone, least={},
              options=("--callstack=auto", "--callstack-through", ",".join(alone)))
    more = LIBRARIES + (case.built + "*",)
    checkCase(checks, work, case, suffix, "before", libraries=more,
              variables=(("OMNIO_CALLSTACK", "auto"),
                         ("OMNIO_CALLSTACK_THROUGH", f"default,{case.built}*")))
    executable = program(case.built + suffix)
    directory, file = os.path.join(work, "none"), os.path.join(work, "data")
    traced = trace(directory, case.command(executable, file))
    checks.equal(traced.status, 0, f"without stacks: {traced}")
    checks.equal([event for event in readLog(directory, "--callstack") if "stack" in event], [],
                 "stacks without --callstack")


def main():
    if program("c_stacks_hdf5") is None:
        skipTest("c_stacks_hdf5 was not built (Debian: libhdf5-dev)")
    checks = Checks()
    wanted = sys.argv[1:]
    with WorkDirectory() as work:
        for number, case in enumerate(CASES):
            if wanted and case.name not in wanted:
                continue
            for suffix, place in byTurns(number, WAYS):
                with checks.case(f"{case.name}{suffix} {place}"):
                    checkCase(checks, os.path.join(work, "case"), case, suffix, place)
        if not wanted or "limits" in wanted:
            with checks.case("limits"):
                checkOtherLimits(checks, os.path.join(work, "limits"))
    checks.finish()


if __name__ == "__main__":
    main()
