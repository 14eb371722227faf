"""The numbers of MPI calls, rank by rank: what the trace has is what an independent profiler
(tests/programs/mpi_profiler.c) counts in the same run, in C and in the three ways of Fortran. The
profiler counts all calls of MPI-3.1 and the forms of MPI-IO with counts of any length; those that a
trace leaves out are listed here. Each function that the MPI libraries of this machine export is
wrapped, or is listed.

  mpi_counts.py [CASE...]    a program's name, mpi4py, a case of c_mpi_ends, or symbols
"""

import glob
import json
import os
import re
import subprocess
import sys

from omnio_testing import (Checks, WorkDirectory, differences, emptied, environment, ioLibraries,
                           manifest, mpirun, omnio, program, readLog, run, skipTest, stats, usesMpich)

PROGRAMS = ("c_mpi_calls", "fortran_mpi_calls_mpif", "fortran_mpi_calls_mpi",
            "fortran_mpi_calls_f08")
PYTHON = "/usr/bin/python3"
MPI4PY = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../programs/mpi4py_io.py")
IO_LIBRARIES = {"ompio": (), "romio321": ("romio",)}
SENDS = ("Send", "Bsend", "Rsend", "Ssend", "Isend", "Ibsend", "Irsend", "Issend", "Sendrecv",
         "Sendrecv_replace")
# Cases of c_mpi_ends: status, processes besides the two, and whether the trace is whole.
ENDS = (("spawn", 0, 2, True), ("spawn_multiple", 0, 2, True), ("port", 0, 0, True),
        ("abort", 7, 0, False), ("unfinished", 1, 0, True), ("exit", 3, 0, True))
# Handles and queries: they order no ranks and touch no file.
NOT_RECORDED = re.compile("MPI_(%s)" % "|".join((
    "Initialized", "Finalized", "Query_thread", "Is_thread_main", "Error_.*", "Topo_test",
    "Get_(address|count|elements|elements_x|library_version|processor_name|version)",
    "Type_.*", "Op_.*", "Info_.*", "Group_.*", "Errhandler_.*", "Pack.*", "Unpack.*", "Status_.*",
    "Alloc_mem", "Free_mem", "Address", "Buffer_.*", "Reduce_local", "Dims_create",
    "Test_cancelled",
    "Open_port", "Close_port", "(Send|Bsend|Ssend|Rsend|Recv)_init", "(Comm|Win)_(get|set|create|"
    "free|delete)_(attr|name|errhandler|keyval)", "Comm_get_(parent|info)", "Comm_set_info",
    "Win_get_(group|info)", "Win_set_info", "File_get_(?!size|position_shared).*",
    "File_set_errhandler",
    "Comm_(rank|size|group|compare|remote_size|remote_group|test_inter)", "Keyval_.*", "Attr_.*",
    "(Cart|Graph|Dist_graph)_(get|coords|rank|shift|map|neighbors.*)", "(Cartdim|Graphdims)_get")))
# The same of functions that the profiler does not count: of MPI-4, of tools, those that return
# something else, and those that move data to no rank of a known group.
NOT_WRAPPED = re.compile("MPI_(%s)" % "|".join((
    "T_.*", "Add_error_(class|code|string)", ".*_(c2f|f2c|f082f|f2f08|c2f08|f082c)", "Pcontrol",
    "Wtime|Wtick", "Aint_(add|diff)", "Buffer_.*_c", "File_(create|call)_errhandler",
    "Register_datarep(_c)?", "Comm_call_errhandler|Win_call_errhandler|Session_call_errhandler",
    "Grequest_(start|complete)", "(Lookup|Publish|Unpublish)_name", "Get_(count|elements)_c",
    "Parrived|Pready|Pready_list|Pready_range", "Request_get_status", "Reduce_local_c",
    "Session_(create|get|set)_.*", "Win_(attach|detach|sync|shared_query|shared_query_c)",
    # What mpi.h needs besides functions that order ranks.
    "(COMM_|TYPE_|WIN_)?(NULL_COPY|NULL_DELETE|DUP)_FN", "CONVERSION_FN_NULL(_C)?",
    "(F|F08)_STATUS(ES)?_IGNORE", "UNWEIGHTED", "WEIGHTS_EMPTY", "(AINT|WTIME|WTICK).*_F90",
)))
LIBRARIES = ("libmpi.so.40", "libmpich.so.12")
# Kinds of calls that the programs here make at least.
LEAST_KINDS = 160


def profilerLibrary():
    path = os.path.join(os.environ["OMNIO_TEST_PROGRAMS"], "libmpi_profiler.so")
    return path if os.path.exists(path) else None


def plainName(symbol):
    return symbol[1:] if symbol.startswith("PMPI_") else symbol


def isRecorded(call):
    return not NOT_RECORDED.fullmatch(call)


def countsOfProfiler(directory, without=()):
    """{pid: {call: count}}"""
    result = {}
    for path in glob.glob(os.path.join(directory, "counts.*")):
        pid = int(path.rsplit(".", 1)[1])
        if pid not in without:
            with open(path, encoding="utf-8") as file:
                result[pid] = json.load(file)
    return result


def countsOfTrace(events):
    result = {}
    for event in events:
        call = plainName(event["call"])
        if call.startswith("MPI_") and event["depth"] == 0:
            counts = result.setdefault(event["pid"], {})
            counts[call] = counts.get(call, 0) + 1
    return result


def profiled(ranks, options, command):
    """Each rank with the profiler before the tracer, so that it sees what the program calls."""
    return [*mpirun(ranks, "--mca", "mpi_yield_when_idle", "1", *options), "sh", "-c",
            f'LD_PRELOAD="{profilerLibrary()}${{LD_PRELOAD:+:$LD_PRELOAD}}" exec "$@"', "sh",
            *command]


def traced(checks, name, to, flavour, command, statuses=(0,), **variables):
    emptied(to)
    variables_of_run = environment(**variables)
    result = run([omnio(), "trace", "-o", to, "--flavour", flavour, "--", *command],
                 env=variables_of_run)
    if not checks.that(result.status in statuses, f"{name}: status {result.status}"):
        print(result)
    return result


def compareCounts(checks, name, counted, to, spawned=0):
    """The total of what was compared, {call: count}. Spawned processes have the tracer alone: the
    launcher starts them."""
    events = list(readLog(to))
    recorded = countsOfTrace(events)
    total = {}
    checks.that(len(counted) > 0, f"{name}: the profiler counted something")
    for pid, counts in counted.items():
        wanted = {call: count for call, count in counts.items() if isRecorded(call)}
        checks.that(recorded.get(pid) == wanted, f"{name}: calls of process {pid}: "
                    f"{differences(recorded.get(pid, {}), wanted)}")
        for call, count in wanted.items():
            total[call] = total.get(call, 0) + count
    checks.equal(len(set(recorded) - set(counted)), spawned, f"{name}: processes without profiler")
    return total


def compareSummary(checks, name, total, to):
    """What the matched picture counts is what the profiler does, and nothing in it is alone."""
    lines = list(readLog(to, "--mpi"))
    summary = lines[-1]["summary"]
    for line in lines[:-1]:
        if line["failed"]:  # of no message and no collective call
            total[plainName(line["call"])] -= 1
    checks.equal({key: summary[key] for key in ("unmatched", "missing_events", "behind_later")},
                 {"unmatched": 0, "missing_events": 0, "behind_later": 0}, f"{name}: left over")
    for line in [line for line in lines[:-1] if not line["matched"]][:20]:
        print(f"{name}: without a counterpart: {json.dumps(line)}")
    # Calls with counts of any length are in it under the plain name.
    for call in [call for call in total if call.startswith("MPI_File_") and call.endswith("_c")]:
        total[call[:-2]] = total.get(call[:-2], 0) + total.pop(call)
    counts = {call: of["count"] for call, of in summary["collectives"].items()}
    checks.equal(differences(counts, {call: total.get(call) for call in counts}), "",
                 f"{name}: collective calls in the matched picture")
    sends = sum(total.get(f"MPI_{call}", 0) for call in SENDS)
    sends += total.get("MPI_Start", 0) // 2 + total.get("MPI_Startall", 0)  # of a pair each
    checks.equal(summary["sends"]["count"], sends, f"{name}: sends in the matched picture")
    return f"{sends} sends and {sum(counts.values())} collective calls matched"


def compareProgram(checks, name, library, flavour, least, command, work):
    ranks = 4
    if usesMpich():  # whose own faults end some programs
        untraced = run([*mpirun(ranks), *command, emptied(os.path.join(work, "run")),
                        *IO_LIBRARIES[library]])
        if untraced.status != 0:
            checks.skip(name, f"without the tracer it ends with {untraced.status} too")
            return
    directory, to = emptied(os.path.join(work, "run")), os.path.join(work, name.replace(" ", "_"))
    traced(checks, name, to, flavour,
           profiled(ranks, ("--mca", "io", library),
                    [*command, directory, *IO_LIBRARIES[library]]),
           MPI_PROFILE=directory)
    counted = countsOfProfiler(directory)
    checks.equal(len(counted), ranks, f"{name}: processes that the profiler counted in")
    checks.that(manifest(to)["whole"], f"{name}: the trace is whole")
    total = compareCounts(checks, name, counted, to)
    checks.that(len(total) >= least, f"{name}: {len(total)} kinds of calls, at least {least}")
    calls = sum(total.values())
    summary = compareSummary(checks, name, total, to)
    print(f"{name}: {calls} calls of {len(total)} kinds; {summary}", flush=True)


def symbolsOf(path):
    """The names of MPI that a library exports."""
    done = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True,
                          check=True)
    names = (line.split()[-1].split("@")[0] for line in done.stdout.splitlines())
    return {name for name in names if re.match("P?MPI_", name)}


def pathOf(library):
    """Where the loader finds it; None: nowhere."""
    listed = run(["/sbin/ldconfig", "-p"]).out.decode()
    found = re.search(rf"^\s*{re.escape(library)} .*=> (\S+)$", listed, re.MULTILINE)
    return found and found[1]


def checkSymbols(checks):
    """A function without a wrapper is one that is known to need none: a call of MPI that the library
    makes inside of it would else be taken for the application's."""
    wrapped = symbolsOf(os.path.join(os.environ["OMNIO_TEST_LIBRARIES"], "libomnio_mpi.so"))
    for library in LIBRARIES:
        path = pathOf(library)
        if path is None:
            checks.skip(library, "not here")
            continue
        names = {plainName(name) for name in symbolsOf(path)}
        left = {name for name in names
                if not NOT_WRAPPED.fullmatch(name) and isRecorded(name)}
        unknown = sorted(name for name in left if not {name, "P" + name} <= wrapped)
        checks.equal(unknown, [], f"{library}: neither wrapped nor named")
        files = {name for name in names if name.startswith("MPI_File_")}
        without = sorted(name for name in files if name not in wrapped)
        print(f"{library}: {len(names)} names, {len(files - set(without))} of MPI_File_ wrapped; "
              f"not wrapped: {', '.join(without)}", flush=True)


def compareEnd(checks, way, status, spawned, whole, work):
    """A program of several jobs, or one that does not end as it should, behaves as without the
    tracer, and what it did is in the trace."""
    name = f"c_mpi_ends {way}"
    to, counts = os.path.join(work, way), emptied(os.path.join(work, "counts"))
    command = [program("c_mpi_ends"), way]
    untraced = run([*mpirun(2), *command])
    if usesMpich() and spawned + (way == "port") > 0 and untraced.status != 0:
        checks.skip(name, "this MPICH starts no other jobs and joins none")
        return
    # A launcher ends the rank that is left when one ends so, unless that one has ended as well. MPICH's
    # says nothing then.
    may_be_ended = way in ("unfinished", "exit")
    statuses = (0, 1) if usesMpich() and way == "unfinished" else (status,)
    checks.that(untraced.status in statuses, f"{name}: status without the tracer: {untraced}")
    result = traced(checks, name, to, "hybrid", profiled(2, (), command), statuses=statuses,
                    MPI_PROFILE=counts)
    about = manifest(to)
    killed = {process["pid"] for process in about["processes"] if process["end"] == "killed"}
    if may_be_ended:
        checks.that(len(killed) < 2, f"{name}: one rank at least ends by itself: {about['processes']}")
    if way == "unfinished":
        said = sorted(line for line in result.out.splitlines() if line.startswith(b"rank "))
        wanted = [b"rank 0 of 2", b"rank 1 of 2"]
        checks.that(said == wanted or killed and len(said) == 1 and said[0] in wanted,
                    f"{name}: output: {result}")
    else:
        checks.equal(sorted(result.out.splitlines()), sorted(untraced.out.splitlines()),
                     f"{name}: output")
    # A rank that is killed leaves no counts, or a part of their file.
    counted = countsOfProfiler(counts, killed if may_be_ended else ())
    if way == "abort":
        # Rank 1 calls it; what has not returned then (a barrier) is in neither.
        called = [counts["MPI_Abort"] for counts in counted.values() if "MPI_Abort" in counts]
        checks.equal(called, [1], f"{name}: calls of MPI_Abort")
    elif way != "unfinished":  # nothing counts in a process that ends by _exit
        compareCounts(checks, name, counted, to, spawned + len(killed))
    recorded = countsOfTrace(readLog(to))
    checks.equal(len(recorded), 2 + spawned, f"{name}: processes with MPI")
    checks.equal(about["whole"], whole and not killed, f"{name}: whole")
    if may_be_ended:
        reasons = stats(to)["trace"]["reasons"]
        checks.that(len(reasons) == len(killed) and all(reason.endswith(" was killed") for reason in reasons),
                    f"{name}: killed {killed}: {reasons}")
    summary = [line["summary"] for line in readLog(to, "--mpi") if "summary" in line]
    checks.equal(len(summary), 1, f"{name}: the matched picture can be read")
    events = sum(sum(counts.values()) for counts in recorded.values())
    print(f"{name}: {events} MPI calls of {len(recorded)} processes", flush=True)


def main(wanted):
    if mpirun(2) is None or program("c_mpi_calls") is None or profilerLibrary() is None:
        skipTest("no MPI here")
    checks = Checks()
    with WorkDirectory() as work:
        for number, name in enumerate(PROGRAMS):
            for turn, library in enumerate(ioLibraries(IO_LIBRARIES)):
                if wanted and name not in wanted:
                    continue
                if program(name) is None:
                    checks.skip(name, "not built here")
                    continue
                flavour = ("mpi", "hybrid")[(number + turn) % 2]
                with checks.case(f"{name} by {library}"):
                    compareProgram(checks, f"{name} ({library}, {flavour})", library, flavour,
                                   LEAST_KINDS, [program(name)], work)
        if not wanted or "mpi4py" in wanted:
            if usesMpich() or run([PYTHON, "-c", "import mpi4py"]).status != 0:
                checks.skip("mpi4py", "not here")
            else:
                with checks.case("mpi4py"):
                    compareProgram(checks, "mpi4py (ompio, hybrid)", "ompio", "hybrid", 6,
                                   [PYTHON, MPI4PY], work)
        if not wanted or "symbols" in wanted:
            with checks.case("symbols"):
                checkSymbols(checks)
        for way, status, spawned, whole in ENDS:
            if not wanted or way in wanted:
                with checks.case(way):
                    compareEnd(checks, way, status, spawned, whole, work)
    checks.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
