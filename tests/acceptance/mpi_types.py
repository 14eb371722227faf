"""Views of every kind of datatype and accesses of every kind, in C and Fortran, by OMPIO and ROMIO, 4
and 9 ranks: the pieces of the file that `omnio log --json` gives for each call are those that the
program computed by itself, and in which it found its bytes. In Fortran there are 9 ranks only where
OMNIO_TEST_ALL=yes.

Accesses by shared pointers that are not ordered, and by individual ones behind a short read, may have
no place in the log, never a wrong one.

  mpi_types.py [PROGRAM...]    all programs by default
"""

import os
import sys

from omnio_testing import (Checks, WorkDirectory, emptied, ioLibraries, mpirun, program, readLog,
                           run, skipTest, omnio, takesAll, usesMpich)

RANKS = (4, 9)
PROGRAMS = ("c_mpi_types", "fortran_mpi_types_mpif", "fortran_mpi_types_f08")
# The libraries cannot do this: in the ROMIO of Open MPI 4.1 nonblocking collective calls end the
# program, and so do the pairs of MPI-3.1, 5.9.4; its OMPIO never ends a nonblocking or split read that
# meets the end of the file.
IO_LIBRARIES = {"ompio": ("without_short_nonblocking",),
                "romio321": ("without_nonblocking_all", "without_pairs")}

OPENED_WITH_HINTS = 1 | 8  # MPI_MODE_CREATE | MPI_MODE_RDWR


def plainName(symbol):
    return symbol[1:] if symbol.startswith("PMPI_") else symbol


def piecesOf(event):
    """[(begin, bytes)] of the file, neighbours joined; None where the log does not know."""
    if event["bytes"] == 0:
        return []
    if "pieces" in event:
        pieces = event["pieces"]
    elif "strides" in event:
        pieces = [[first + i * stride, size] for first, size, stride, count in event["strides"]
                  for i in range(count)]
    else:
        return None
    assert "bytes_left_out" not in event, event
    return [tuple(piece) for piece in pieces]


def accountOfTrace(events):
    """{rank: [(call, path, bytes, pieces)]} of the MPI-IO calls."""
    result = {}
    for event in events:
        call = plainName(event["call"])
        # A query has no tick, and is not in the program's account.
        if (not call.startswith("MPI_File_") or call.endswith("_end")
                or "tick" not in event["args"]):
            continue
        moves = event["class"] in ("read", "write")
        result.setdefault(event["rank"], []).append(
            (call, event["file"], event["bytes"] if moves else 0,
             piecesOf(event) if moves else None))
    return result


def ownAccount(path):
    """[((call, path, bytes, pieces), whether the log may not know these)]"""
    result = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            call, name, size, words = (line.split() + [""])[:4]
            pieces = None if words == "?" else [
                tuple(int(number) for number in word.split("+"))
                for word in words.removeprefix("~").split(",") if word]
            result.append(((call, name, int(size), pieces), words.startswith("~")))
    return result


def compareFileFacts(checks, name, events, directory):
    """Hints and layout: told by the one who is rank 0 of those that share the file."""
    opens = [event for event in events if plainName(event["call"]) == "MPI_File_open"]
    block = os.statvfs(directory).f_bsize
    for event in opens:
        if event["rank"] != 0 and event["args"]["ranks"] > 1:
            checks.that("hints" not in event and "layout" not in event,
                        f"{name}: only one tells of {event['file']}")
            continue
        checks.equal(event["layout"]["block_bytes"], block, f"{name}: blocks of {event['file']}")
        if name.startswith("c_") and event["args"]["amode"] == OPENED_WITH_HINTS:
            hints = event["hints"]
            checks.equal(hints["given"], {"collective_buffering": "true"}, f"{name}: hints given")
            key, value = ("cb_nodes", "1") if usesMpich() else ("collective_buffering", "true")
            checks.equal(hints["used"].get(key), value, f"{name}: hints used")


def compare(checks, name, library, ranks, program_name, work):
    directory, to = emptied(os.path.join(work, "run")), os.path.join(work, f"{name}.trace")
    result = run([omnio(), "trace", "-o", to, "--", *mpirun(ranks, "--mca", "io", library),
                  program(program_name), directory, *IO_LIBRARIES[library]])
    if not checks.equal(result.status, 0, f"{name}: status"):
        print(result)
        return
    events = list(readLog(to))
    compareFileFacts(checks, name, events, directory)
    got = accountOfTrace(events)
    checks.equal(sorted(got), list(range(ranks)), f"{name}: ranks")
    known = {}
    for rank in range(ranks):
        wanted = ownAccount(os.path.join(directory, f"account.{rank}"))
        checks.equal(len(got.get(rank, [])), len(wanted), f"{name}: calls of rank {rank}")
        for number, (left, (right, may_be_unknown)) in enumerate(zip(got.get(rank, []), wanted)):
            if may_be_unknown:
                kind = "shared" if left[0].endswith("_shared") else "behind a short read"
                known.setdefault(kind, []).append(left[3] is not None)
                if left[3] is None:
                    right = (*right[:3], None)
            if not checks.equal(left, right, f"{name}: call {number} of rank {rank}"):
                break
    # All but OMPIO's nonblocking ones, whose POSIX layer cannot be seen.
    checks.that(3 * sum(known["shared"]) > len(known["shared"]), f"{name}: places of shared pointers")
    print(f"{name}: {sum(len(calls) for calls in got.values())} calls; " + "; ".join(
        f"{kind}: {sum(places)} of {len(places)} places known" for kind, places in known.items()))


def main(wanted):
    if mpirun(RANKS[0]) is None or program("c_mpi_types") is None:
        skipTest("no MPI here")
    checks = Checks()
    with WorkDirectory() as work:
        for library in ioLibraries(IO_LIBRARIES):
            listed = run(["ompi_info", "--param", "io", library, "--level", "9"])
            if listed.status != 0 or f"MCA io: {library}".encode() not in listed.out:
                checks.skip(library, "this Open MPI does not have it")
                continue
            for name in PROGRAMS:
                # MPICH's ranks never yield: more of them than processors take long. The program in C
                # makes all calls that those in Fortran make.
                is_small = usesMpich() or not (name.startswith("c_") or takesAll())
                for ranks in RANKS[:1] if is_small else RANKS:
                    if program(name) is None:
                        checks.skip(name, "not built here")
                    elif not wanted or name in wanted:
                        label = f"{name}.{library}.{ranks}"
                        with checks.case(label):
                            compare(checks, label, library, ranks, name, work)
    checks.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
