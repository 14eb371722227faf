"""MPI-IO in C and Fortran, by OMPIO and ROMIO: what the log says of each call (file, offset in the
file, bytes, number of the MPI event) is what the programs themselves say they did.

  mpi_io.py [CASE...]    all cases by default, e.g. c_mpi_io.view
"""

import os
import sys

from omnio_testing import (Checks, WorkDirectory, byTurns, emptied, ioLibraries, mpirun, program, readLog,
                           run, skipTest, stats, omnio, usesMpich)

RANKS = 4
MODES = ("nn", "n1", "strided", "view", "view_at", "individual")
C_MODES = ("vector", "subarray")
PROGRAMS = ("c_mpi_io", "fortran_mpi_io_mpif", "fortran_mpi_io_mpi", "fortran_mpi_io_f08")
IO_LIBRARIES = {"ompio": None, "romio321": None}
QUERIES = ("MPI_File_get_size", "MPI_File_get_position_shared")
# The programs do these by themselves, or they lie outside, or go on after a call has begun them.
OWN_FILES = ("sum.", "account.", "turn", "..", "nonblocking", ".nonblocking")
REQUEST_BYTES, REPETITIONS, GAP = 4096, 3, 2


def plainName(symbol):
    return symbol[1:] if symbol.startswith("PMPI_") else symbol


def accountOfTrace(checks, name, events, directory):
    """{rank: [(call, path, offset, bytes, tick)]} of the application's own MPI-IO calls."""
    result = {}
    for event in events:
        call, args = plainName(event["call"]), event["args"]
        if not call.startswith("MPI_File_"):
            file = os.path.relpath(event.get("file") or "/", directory)
            # Communication has no file.
            if not file.startswith(OWN_FILES):
                checks.that(event["depth"] > 0,
                            f"{name}: what MPI-IO does below is a layer deeper: {event}")
            continue
        checks.equal(event["depth"], 0, f"{name}: depth of {call}")
        if call in QUERIES:
            continue
        offset = event.get("file_offset", -1) if event["class"] in ("read", "write") else 0
        result.setdefault(event["rank"], []).append(
            (call, event["file"], offset, event.get("bytes") or 0, args["tick"]))
    return result


def ownAccount(lines):
    result = {}
    for line in lines:
        rank, call, path, offset, moved, tick = line.split(" ")
        if not any(word in call for word in ("read", "write")):
            offset = 0  # not of data
        result.setdefault(int(rank), []).append((call, path, int(offset), int(moved), int(tick)))
    return result


def compareAccounts(checks, name, got, wanted):
    checks.equal(sorted(got), sorted(wanted), f"{name}: ranks")
    for rank in wanted:
        mine, its = got.get(rank, []), wanted[rank]
        checks.equal(len(mine), len(its), f"{name}: MPI-IO calls of rank {rank}")
        for number, (left, right) in enumerate(zip(mine, its)):
            if right[2] == -1:  # the program does not know (mpi_types.py looks for it)
                left = (*left[:2], -1, *left[3:])
            if not checks.equal(left, right, f"{name}: call {number} of rank {rank}"):
                break


def compareStatistics(checks, name, wanted, directory):
    """The application's calls by name, and their bytes by file."""
    calls, moved = {}, {}
    for account in wanted.values():
        for call, path, _, size, _ in account:
            calls[call] = calls.get(call, 0) + 1
            moved[path] = moved.get(path, 0) + size
    document = stats(directory, "--by", "call")
    checks.that(document["trace"]["whole"], f"{name}: whole {document['trace']['reasons']}")
    got = {plainName(group["name"]): group["time_ns"]["count"] for group in document["groups"]
           if plainName(group["name"]).startswith("MPI_File_")
           and plainName(group["name"]) not in QUERIES}
    checks.equal(got, calls, f"{name}: calls in `omnio stats`")
    got = {group["name"]: sum(group[kind]["size_bytes"]["total"] for kind in ("read", "write"))
           for group in stats(directory, "--by", "file")["groups"]}
    wrong = [path for path in moved
             if got.get(path) != moved[path] and not path.endswith("/nonblocking")]
    checks.equal({path: got.get(path) for path in wrong}, {path: moved[path] for path in wrong},
                 f"{name}: bytes of {len(moved)} files in `omnio stats`")


def trace(checks, name, to, library, command):
    result = run([omnio(), "trace", "-o", to, "--", *mpirun(RANKS, "--mca", "io", library),
                  *command])
    if checks.equal(result.status, 0, f"{name}: status"):
        return result
    print(result)
    return None


def compareMode(checks, name, library, program_name, mode, work):
    directory, to = emptied(os.path.join(work, "run")), os.path.join(work, f"{name}.trace")
    options = ["read", f"gap={GAP}", "account"]
    result = trace(checks, name, to, library, [program(program_name), directory, mode,
                                               REQUEST_BYTES, REPETITIONS, *options])
    if result is None:
        return
    wanted = ownAccount(result.out.decode().splitlines())
    events = list(readLog(to))
    compareAccounts(checks, name, accountOfTrace(checks, name, events, directory), wanted)
    compareStatistics(checks, name, wanted, to)
    opens = [event for event in events if plainName(event["call"]) == "MPI_File_open"]
    checks.equal({event["args"]["ranks"] for event in opens}, {1 if mode == "nn" else RANKS},
                 f"{name}: ranks that share a file")
    # The bindings of Open MPI call PMPI_X, of MPICH's those of mpi_f08 alone.
    by_pmpi = program_name.startswith("fortran") and (not usesMpich() or "f08" in program_name)
    checks.equal({event["call"].startswith("PMPI_") for event in opens}, {by_pmpi},
                 f"{name}: the name that was called")


def compareCases(checks, name, library, work):
    directory, to = emptied(os.path.join(work, "run")), os.path.join(work, f"{name}.trace")
    if trace(checks, name, to, library, [program("c_mpi_io_cases"), directory]) is None:
        return
    wanted = {}
    for rank in range(RANKS):
        with open(os.path.join(directory, f"account.{rank}"), encoding="utf-8") as file:
            wanted.update(ownAccount(file.read().splitlines()))
    events = list(readLog(to))
    compareAccounts(checks, name, accountOfTrace(checks, name, events, directory), wanted)
    compareStatistics(checks, name, wanted, to)
    failed = [event for event in events
              if event["call"] == "MPI_File_open" and event["file"].endswith("/missing")]
    checks.equal([(event["failed"], event["result"] > 0) for event in failed],
                 [(True, True)] * RANKS, f"{name}: the open that fails")
    handles = {}
    for event in events:
        if event["call"] == "MPI_File_open" and not event["failed"]:
            handles.setdefault(event["rank"], []).append(event["args"]["fh"])
    checks.that(all(len(set(numbers)) == len(numbers) for numbers in handles.values()),
                f"{name}: each open has a number of its own")
    sums = [event for event in events if "/sum." in (event.get("file") or "")]
    checks.that(len(sums) > 0 and all(event["depth"] == 0 for event in sums),
                f"{name}: what the application does in a function that MPI calls is its own")


def compareFilters(checks, name, library, work):
    """A file that is left out is left out in all its layers."""
    directory, to = emptied(os.path.join(work, "run")), os.path.join(work, f"{name}.trace")
    result = run([omnio(), "trace", "-o", to, "--exclude", "*/nn.1", "--exclude", "*/nn.2", "--",
                  *mpirun(RANKS, "--mca", "io", library), program("c_mpi_io"), directory, "nn",
                  REQUEST_BYTES, REPETITIONS])
    if not checks.equal(result.status, 0, f"{name}: status"):
        print(result)
        return
    seen = {os.path.basename(event["file"]) for event in readLog(to)
            if (event.get("file") or "").startswith(directory + "/nn.")
            and ".locktest." not in event["file"]}  # OMPIO's own
    checks.equal(seen, {"nn.0", "nn.3"}, f"{name}: files in the log")


def main(wanted):
    if mpirun(RANKS) is None or program("c_mpi_io") is None:
        skipTest("no MPI here")
    checks = Checks()
    with WorkDirectory() as work:
        libraries = ioLibraries(IO_LIBRARIES)
        for library in libraries:
            listed = run(["ompi_info", "--param", "io", library, "--level", "9"])
            if listed.status != 0 or f"MCA io: {library}".encode() not in listed.out:
                checks.skip(library, "this Open MPI does not have it")
                continue
            cases = [(f"{name}.{mode}", lambda label, name=name, mode=mode: compareMode(
                checks, label, library, name, mode, work))
                     for name in PROGRAMS
                     for mode in MODES + (C_MODES if name == "c_mpi_io" else ())]
            cases.append(("c_mpi_io_cases", lambda label: compareCases(checks, label, library,
                                                                       work)))
            cases.append(("c_mpi_io.filters", lambda label: compareFilters(checks, label, library,
                                                                           work)))
            for number, (case, compare) in enumerate(cases):
                if library not in byTurns(number, libraries):
                    continue
                if program(case.split(".")[0]) is None:
                    checks.skip(case, "not built here")
                elif not wanted or case in wanted:
                    with checks.case(f"{case} by {library}"):
                        compare(f"{case}.{library}")
    checks.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
