"""Real programs with MPI-IO, LAMMPS and one that uses parallel HDF5: what they leave behind is what
they leave without the tracer, and the bytes that MPI-IO wrote are those of the files.

  mpi_real.py [CASE...]    lammps, hdf5
"""

import os
import shutil
import sys

from mpi_counts import compareCounts, countsOfProfiler, profiled, profilerLibrary
from omnio_testing import (Checks, WorkDirectory, differences, emptied, environment, manifest,
                           mpirun, omnio, program, readLog, run, skipTest, treeOf)

RANKS = 4
FLAVOURS = ("mpi", "hybrid")
MELT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../configs/demo/in.melt")


def plainName(symbol):
    return symbol[1:] if symbol.startswith("PMPI_") else symbol


def piecesOf(event):
    """[(offset in the file, bytes)] of a resolved MPI-IO event."""
    result = [tuple(piece) for piece in event.get("pieces", ())]
    for first, size, stride, count in event.get("strides", ()):
        result += [(first + number * stride, size) for number in range(count)]
    assert sum(size for _, size in result) == event["bytes"], event
    return result


def coveredBytes(pieces):
    """How many bytes of a file were written at least once, and where the last one is."""
    covered, end = 0, 0
    for begin, size in sorted(pieces):
        covered += max(0, begin + size - max(end, begin))
        end = max(end, begin + size)
    return covered, end


def mpiWrites(directory):
    """{file: [event]}"""
    result = {}
    for event in readLog(directory):
        call = plainName(event["call"])
        if event["depth"] == 0 and call.startswith("MPI_File_") and event["class"] == "write":
            result.setdefault(event["file"], []).append(event)
    return result


def compareRuns(checks, name, command, prepare, work, flavour):
    """The trace of a run that left the same as one without a tracer, or None."""
    trees, outputs = [], []
    run_in, to = os.path.join(work, "run"), emptied(os.path.join(work, "trace"))
    counts = emptied(os.path.join(work, "counts"))
    for words in ([*mpirun(RANKS), *command],
                  [omnio(), "trace", "-o", to, "--flavour", flavour, "--",
                   *profiled(RANKS, (), command)]):
        prepare(emptied(run_in))
        result = run(words, cwd=run_in, env=environment(MPI_PROFILE=counts))
        if not checks.equal(result.status, 0, f"{name}: status"):
            print(result)
            return None
        trees.append(treeOf(run_in))
        outputs.append(sorted(result.out.splitlines()))
    checks.that(trees[0] == trees[1], f"{name}: files: {differences(trees[1], trees[0])}")
    checks.equal(outputs[1], outputs[0], f"{name}: output")
    checks.that(manifest(to)["whole"], f"{name}: the trace is whole")
    total = compareCounts(checks, name, countsOfProfiler(counts), to)
    print(f"{name}: {sum(total.values())} MPI calls of {len(total)} kinds", flush=True)
    return to


def compareLammps(checks, name, flavour, work):
    to = compareRuns(checks, name,
                     [shutil.which("lmp"), "-in", "in.melt", "-var", "steps", "100", "-var",
                      "cells", "8", "-log", "none", "-screen", "none"],
                     lambda directory: shutil.copy(MELT, os.path.join(directory, "in.melt")), work,
                     flavour)
    if to is None:
        return
    dumps = {file: events for file, events in mpiWrites(to).items() if file.endswith(".mpiio")}
    checks.equal(len(dumps), 3, f"{name}: dumps that were written by MPI-IO")
    total = 0
    for file, events in dumps.items():
        size = os.path.getsize(file)
        checks.equal(sum(event["bytes"] for event in events), size, f"{name}: bytes of {file}")
        covered, end = coveredBytes([piece for event in events for piece in piecesOf(event)])
        checks.equal((covered, end), (size, size), f"{name}: bytes covered, and the end of {file}")
        total += size
    print(f"{name}: {total} bytes of {len(dumps)} files by MPI-IO", flush=True)


def compareHdf5(checks, name, flavour, work):
    to = compareRuns(checks, name, [program("c_hdf5_parallel"), "data.h5"], lambda directory: None,
                     work, flavour)
    if to is None:
        return
    file = os.path.join(work, "run", "data.h5")
    events = mpiWrites(to).get(file, [])
    size = os.path.getsize(file)
    covered, end = coveredBytes([piece for event in events for piece in piecesOf(event)])
    checks.equal(end, size, f"{name}: end of what MPI-IO wrote")
    # HDF5 leaves gaps of alignment and of what it freed again.
    checks.that(size - 512 <= covered <= size, f"{name}: {covered} of {size} bytes written")
    # Ranks write parts of the metadata together as well; data is by far the most.
    data = 3 * 24 * 512 * 4 * RANKS
    checks.that(data <= covered, f"{name}: {covered} bytes written, {data} of data")
    print(f"{name}: {covered} of {size} bytes in {len(events)} calls of MPI-IO", flush=True)


def main(wanted):
    if mpirun(RANKS) is None or profilerLibrary() is None:
        skipTest("no MPI here")
    checks = Checks()
    cases = {"lammps": (compareLammps, shutil.which("lmp")),
             "hdf5": (compareHdf5, program("c_hdf5_parallel"))}
    with WorkDirectory() as work:
        for case, (compare, there) in cases.items():
            if wanted and case not in wanted:
                continue
            if there is None:
                checks.skip(case, "not here")
                continue
            for flavour in FLAVOURS:
                with checks.case(f"{case} ({flavour})"):
                    compare(checks, f"{case} ({flavour})", flavour, work)
    checks.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
