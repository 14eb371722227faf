"""A file that four ranks write and read by MPI-IO, in each way that the standard has, by Open MPI's two I/O
libraries: the trace is whole, and the replay leaves a file of the same size with data in the same places.
"""

import os

from omnio_testing import (Checks, WorkDirectory, emptied, environment, mpirun, program, run, skipTest,
                           stats, trace)
from replay_testing import MPI_ENVIRONMENT, checkRoundTrip

IO_LIBRARIES = (("ompio",), ("romio321", "romio341"))  # by what versions of Open MPI call them
RANKS, SIZE = 4, (4 * 9 - 1) * 100_000  # in c_mpi_files.c
WAYS = ("independent", "collective", "nonblocking", "nonblocking-collective", "split", "view",
        "view-collective", "ordered")
WITH_HOLE = WAYS[:2]  # others may be served by a library that writes zeros there


def extents(path):
    """Where the file has data: [begin, end) of each part between two holes."""
    found = []
    with open(path, "rb") as file:
        size, end = os.path.getsize(path), 0
        while end < size:
            try:
                begin = os.lseek(file.fileno(), end, os.SEEK_DATA)
            except OSError:  # a hole up to its end
                break
            end = os.lseek(file.fileno(), begin, os.SEEK_HOLE)
            found.append((begin, end))
    return found


def command(library, way):
    return [*mpirun(RANKS, "--mca", "io", library), program("c_mpi_files"), way, "file"]


def worksHere(work, library):
    return run(command(library, "independent"), cwd=emptied(os.path.join(work, "tried")),
               env=environment(**MPI_ENVIRONMENT)).status == 0


def check(checks, work, library, way):
    name, words = f"{library}-{way}", command(library, way)
    home, env = emptied(os.path.join(work, name)), environment(**MPI_ENVIRONMENT)
    if run(words, cwd=home, env=env).status != 0:
        checks.skip(name, "this MPI library cannot do it")
        return
    emptied(home)
    directory = os.path.join(work, name + "-trace")
    done = trace(directory, words, cwd=home, env=env)
    if not checks.equal(done.status, 0, f"{name}: {done.err!r}"):
        return
    checks.equal(os.path.getsize(os.path.join(home, "file")), SIZE, f"{name}: what it wrote")
    told = stats(directory)["trace"]
    checks.that(told["whole"], f"{name}: {told['reasons']}")
    checks.that(told["bytes_seen"]["written"] >= SIZE - 100_000, f"{name}: {told['bytes_seen']}")
    tree = checkRoundTrip(checks, work, name, directory)
    if tree is None:
        return
    made = os.path.join(tree, "file")
    if way in WITH_HOLE:
        checks.that(len(extents(os.path.join(home, "file"))) == 2, f"{name}: there is a hole")
    checks.equal(os.path.getsize(made), SIZE, f"{name}: size of the replay's file")
    checks.equal(extents(made), extents(os.path.join(home, "file")), f"{name}: where it has data")


def main():
    if mpirun(RANKS) is None or program("c_mpi_files") is None:
        skipTest("there is no MPI")
    checks = Checks()
    with WorkDirectory() as work:
        for names in IO_LIBRARIES:
            library = next((name for name in names if worksHere(work, name)), None)
            if not checks.that(library is not None, f"none of {names} works here"):
                continue
            for way in WAYS:
                with checks.case(f"{library} {way}"):
                    check(checks, work, library, way)
    checks.finish()


if __name__ == "__main__":
    main()
