"""The phase runner does what the application did, seen in the traces of both: by rank the same calls
in the same order, with the same bytes at the same places of the same files; and the files that it
leaves have the same sizes and holes. For the calls of known programs, by one MPI-IO library or the
other (OMNIO_TEST_ALL=yes: each by both).

Permitted: what streams and MPI libraries do below these calls, and the folder that files are in.

  same_calls.py [CASE...]    all cases by default
"""

import json
import os
import shutil
import sys

from omnio_testing import (Checks, WorkDirectory, byTurns, emptied, environment, ioLibraries, mpirun, omnio,
                           program, readLog, run, skipTest, trace, usesMpich)
from real_program_cases import writeMelt

LIBRARIES = ioLibraries({"ompio": {"OMPI_MCA_io": "ompio"}, "romio": {"OMPI_MCA_io": "romio321"}})
# Of the arguments of a call, these say what it does; others are numbers that a run gives.
SAID = ("amode", "cmd", "count", "disp", "flags", "length", "mode", "nmemb", "offset", "size",
        "type", "value", "whence")


class Case:
    """With `by_file`, each file has a thread of its own, and nothing orders calls on several."""

    def __init__(self, name, words, ranks=4, prepare=None, libraries=LIBRARIES, by_file=False):
        self.name, self.words, self.ranks = name, words, ranks
        self.prepare, self.libraries, self.by_file = prepare, libraries, by_file


def cases():
    kernels = program("c_kernels")
    for words in ("btio-full 24 3", "btio-simple 24 2", "madbench 256 6", "s3d 8 2",
                  "hacc-shared 5000 2", "hacc-files 5000 2"):
        yield Case(words.split()[0], [kernels, *words.split()])
    yield Case("btio-full of 9", [kernels, "btio-full", "25", "2"], ranks=9)
    for how in ("independent", "collective", "nonblocking", "nonblocking-collective", "split",
                "view", "view-collective", "ordered"):
        # ROMIO of Open MPI 4 has no nonblocking collective calls.
        libraries = {name: value for name, value in LIBRARIES.items()
                     if name != "romio" or how != "nonblocking-collective" or usesMpich()}
        yield Case(how, [program("c_mpi_files"), how, "file"], libraries=libraries)
    yield Case("shared", [program("c_mpi_shared"), "file"])
    yield Case("handled", [program("c_mpi_handled"), "closed"], ranks=2)
    # ROMIO of Open MPI 4 does not take two threads at once.
    yield Case("thread files", [program("c_mpi_thread_files")],
               libraries={name: value for name, value in LIBRARIES.items() if name != "romio"},
               by_file=True)
    for more in ([], ["metadata"], ["extend"]):
        yield Case(" ".join(["hdf5", *more]), [program("c_hdf5_parallel"), "file.h5", *more],
                   libraries={} if usesMpich() else LIBRARIES)
    yield Case("flash", [program("c_hdf5_flash"), "8", "2"],
               libraries={} if usesMpich() else LIBRARIES)
    for how in ("blocking", "nonblocking", "independent", "strided"):
        yield Case(f"pnetcdf {how}", [program("c_pnetcdf_flash"), how, "2"],
                   libraries={} if usesMpich() else LIBRARIES)
    any_library = dict(list(LIBRARIES.items())[:1])
    yield Case("workloads", [program("c_workloads"), "collector"], libraries=any_library)
    yield Case("metadata", [program("c_workloads"), "metadata"], libraries=any_library)
    yield Case("commit", [program("c_workloads"), "commit"], libraries=any_library)
    yield Case("lammps", [shutil.which("lmp"), "-in", "in.melt", "-log", "none", "-screen", "none"],
               prepare=writeMelt, libraries={} if usesMpich() else any_library)


def callsOf(directory, below):
    """{rank: [call...]} of the application's own calls on files below a folder, by the time they
    began."""
    found = {}
    for event in readLog(directory):
        name = event.get("file") or ""
        if event["depth"] != 0 or not name.startswith(below + "/"):
            continue
        # OMPIO asks after its asynchronous operations wherever it is called next.
        if event["call"].startswith("(aio_"):
            continue
        # A replay has files of other folders too.
        if name.startswith(os.path.join(below, "@root/")):
            continue
        call = event["call"].removeprefix("P") if "MPI_" in event["call"] else event["call"]
        said = {key: value for key, value in event["args"].items()
                if key in SAID and not (key == "mode" and event["failed"])}
        # MPI does not say where requests of no bytes are.
        where = [event.get(key) for key in ("pieces", "strides")] if event.get("bytes") else None
        found.setdefault(event["rank"], []).append(
            (event["start_ns"], call, os.path.relpath(name, below), event["failed"],
             event.get("bytes", 0), sorted(said.items()), where))
    return {rank: [call[1:] for call in sorted(calls)] for rank, calls in found.items()}


def extentsOf(directory):
    """{file: (bytes, [(begin, end) of data...])}"""
    result = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                data, at = [], 0
                while at < size:
                    try:
                        begin = os.lseek(file.fileno(), at, os.SEEK_DATA)
                    except OSError:
                        break
                    at = os.lseek(file.fileno(), begin, os.SEEK_HOLE)
                    data.append((begin, at))
                result[os.path.relpath(path, directory)] = (size, data)
    return result


def check(checks, work, case, library, settings):
    what = f"{case.name}, {library}"
    data, target = (emptied(os.path.join(work, folder)) for folder in ("data", "target"))
    app, replayed = (os.path.join(work, folder) for folder in ("app.trace", "run.trace"))
    for directory in (app, replayed):
        shutil.rmtree(directory, ignore_errors=True)
    if case.prepare:
        case.prepare(data)
    env = environment(**settings)
    first = trace(app, mpirun(case.ranks) + case.words, cwd=data, env=env)
    if not checks.equal(first.status, 0, f"{what}: the application: {first}"):
        return
    model, results = (os.path.join(work, name) for name in ("model.json", "results.json"))
    made = run([omnio(), "phases", app, "-o", model])
    if not checks.equal(made.status, 0, f"{what}: omnio phases: {made}"):
        return
    runner = mpirun(case.ranks) + [os.environ["OMNIO_TEST_PHASE_RUN"], model, "--target", target,
                                   "-o", results, "--keep"]
    second = trace(replayed, runner, "mpi", ["--no-config"], env=env)
    if not checks.equal((second.status, second.err), (0, b""), f"{what}: the runner: {second}"):
        return
    [folder] = os.listdir(target)
    tree = os.path.join(target, folder)
    wanted, got = callsOf(app, data), callsOf(replayed, tree)
    for rank in range(case.ranks):
        of_rank, own = wanted.get(rank, []), got.get(rank, [])
        if case.by_file:
            of_rank, own = (sorted(calls, key=lambda call: call[1]) for calls in (of_rank, own))
        checks.that(rank > 0 or of_rank, f"{what}: rank 0 makes calls")
        differing = next((i for i, (a, b) in enumerate(zip(of_rank, own)) if a != b),
                         min(len(of_rank), len(own)))
        checks.equal(own[differing:differing + 2], of_rank[differing:differing + 2],
                     f"{what}: rank {rank}, from call {differing} of {len(of_rank)}, {len(own)}")
    shutil.rmtree(os.path.join(tree, "@root"), ignore_errors=True)
    checks.equal(extentsOf(tree), extentsOf(data), f"{what}: files")
    with open(results, encoding="utf-8") as file:
        [measured] = json.load(file)["runs"]
    checks.equal((measured["differences"], measured["not_issued"]), (0, 0),
                 f"{what}: calls that went otherwise: {measured}")


def checkLeftOpen(checks, work, library, settings):
    """A file that is deleted when it is closed, and is not closed: the run closes it, and deletes none
    of that name where it was started."""
    data, target, start = (emptied(os.path.join(work, folder))
                           for folder in ("data", "target", "start"))
    app, model, results = (os.path.join(work, name) for name in ("left", "left.json", "results.json"))
    shutil.rmtree(app, ignore_errors=True)
    env = environment(**settings)
    first = trace(app, mpirun(2) + [program("c_mpi_handled")], cwd=data, env=env)
    made = run([omnio(), "phases", app, "-o", model])
    checks.equal((first.status, made.status), (0, 0), f"left open, {library}: {first} {made}")
    precious = os.path.join(start, "vanishes")
    with open(precious, "w", encoding="utf-8") as file:
        file.write("of somebody else")
    second = run(mpirun(2) + [os.environ["OMNIO_TEST_PHASE_RUN"], model, "--target", target, "-o",
                              results], cwd=start, env=env)
    checks.equal(second.status, 0, f"left open, {library}: {second}")
    checks.that(os.path.exists(precious), f"left open, {library}: a file of that name stays")
    checks.equal(os.listdir(target), [], f"left open, {library}: what the run left")


def main():
    if mpirun(1) is None or program("c_kernels") is None:
        skipTest("no MPI here")
    checks = Checks()
    with WorkDirectory() as work:
        for number, case in enumerate(cases()):
            if sys.argv[1:] and case.name not in sys.argv[1:]:
                continue
            if None in case.words:
                checks.skip(case.name, "its program is not here")
                continue
            for library, settings in byTurns(number, case.libraries.items() or [(None, None)]):
                if library is None:
                    checks.skip(case.name, "not with this MPI library")
                    continue
                check(checks, work, case, library, settings)
        if not sys.argv[1:]:
            for library, settings in LIBRARIES.items():
                checkLeftOpen(checks, work, library, settings)
    checks.finish()


if __name__ == "__main__":
    main()
