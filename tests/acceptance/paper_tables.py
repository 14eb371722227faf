"""Tables VIII and XI of Mendez, Rexachs and Luque (MADbench2 and NAS BT-IO full) from programs that
do the same, in C and Fortran, on 16 ranks: the lines that omnio phases prints, f(initOffset) among
them. The models are the same from two file systems, from both MPI-IO libraries and from both
languages.

The requests are smaller than in the paper. Phase 4 of table VIII is what the program's order gives
(the paper prints - 2 * 32MB instead of + 6 * 32MB).
"""

import contextlib
import json
import os
import tempfile

from omnio_testing import (Checks, WorkDirectory, emptied, environment, ioLibraries, mpirun, omnio,
                           program, run, skipTest, trace)

RANKS = 16
LIBRARIES = ioLibraries({"ompio": {"OMPI_MCA_io": "ompio"}, "romio": {"OMPI_MCA_io": "romio321"}})
PROGRAMS = {"C": lambda kernel, size, steps, events: [program("c_kernels"), kernel, size, steps,
                                                      "0", events],
            "Fortran": lambda kernel, size, steps, events: [program("fortran_kernels"), kernel, size,
                                                            steps, events]}
EVENTS = "20"  # between two writes of BT-IO: more than the 16 that omnio phases counts as no gap

RS = "idP * 8 * 32 KiB"
TABLE_VIII = ["1 0 16 write 8 32 KiB 4 MiB " + RS, "2 0 16 read 2 32 KiB 1 MiB " + RS,
              "3 0 16 write 6 32 KiB 3 MiB " + RS,
              "16 read 6 32 KiB 3 MiB " + RS + " + 2 * 32 KiB",
              "4 0 16 write 2 32 KiB 1 MiB " + RS + " + 6 * 32 KiB",
              "5 0 16 read 8 32 KiB 4 MiB " + RS]
# rs = 16^3 * 40 / 16. As printed, rs * idP + rs * (ph - 1) + rs * (np - 1) * (ph - 1): the same.
TABLE_XI = ["1-40 0 16 write 1 10 KiB 6400 KiB idP * 10 KiB + (ph - 1) * np * 10 KiB (nominal)",
            "41 0 16 read 40 10 KiB 6400 KiB idP * 10 KiB + (rep - 1) * np * 10 KiB (nominal)"]
KERNELS = {"madbench": (("32", "8", "0"), TABLE_VIII,
                        "mpi-io, individual pointers, non-collective, blocking, sequential"),
           "btio-full": (("16", "40", EVENTS), TABLE_XI,
                         "mpi-io, explicit offset, collective, blocking, strided, set_view with "
                         "etype 40")}


def linesOf(text):
    """The lines of the table of phases, without the I/O times, one blank between the words."""
    lines = []
    for line in text.partition("\nPhases")[2].split("\n")[2:]:
        if line.startswith("all "):
            return lines
        words = line.split()
        if "s" in words:  # the I/O time, "0.1234 s", before f(initOffset)
            place = words.index("s")
            words = words[:place - 1] + words[place + 1:]
        lines.append(" ".join(words))
    return lines


def sameInAll(model):
    """What a model says of the application, not of the run."""
    for phase in model["phases"]:
        del phase["measured"]
    for file in model["files"]:
        file["path"] = os.path.basename(file["path"])
    return {"files": model["files"], "phases": model["phases"], "left_out": model["left_out"],
            "processes": model["processes"]}


def checkKernel(checks, work, kernel, folders):
    words, table, manner = KERNELS[kernel]
    first = None
    for language, command in PROGRAMS.items():
        for library, variables in LIBRARIES.items():
            for number, folder in enumerate(folders):
                what = f"{kernel}, {language}, {library}, {folder}"
                to = os.path.join(work, f"{kernel}.{language}.{library}.{number}")
                directory = tempfile.mkdtemp(dir=folder)
                result = trace(to, mpirun(RANKS) + command(kernel, *words), cwd=directory,
                               env=environment(OMPI_MCA_mpi_yield_when_idle="1", **variables))
                checks.equal(result.status, 0, f"{what}: {result}")
                result = run([omnio(), "phases", to, "-o", to + ".json", "--schedule", "no"])
                text = result.out.decode()
                checks.equal((result.status, linesOf(text)), (0, table), f"{what}: {result}")
                checks.that(manner in text, f"{what}: {text}")
                with open(to + ".json", encoding="utf-8") as file:
                    model = sameInAll(json.load(file))
                first = first or model
                checks.equal(model, first, f"{what}: the model")


def main():
    if mpirun(1) is None or program("c_kernels") is None:
        skipTest("no MPI here")
    checks = Checks()
    if program("fortran_kernels") is None:
        del PROGRAMS["Fortran"]
        checks.skip("Fortran", "no compiler with the module mpi")
    with WorkDirectory() as work, contextlib.ExitStack() as stack:
        folders = [emptied(os.path.join(work, name)) for name in ("disk", "memory")]
        if run(["mount", "-t", "tmpfs", "none", folders[1]]).status == 0:
            stack.callback(run, ["umount", "-l", folders[1]])
        else:
            checks.skip("two file systems", "mount is not allowed here")
            folders.pop()
        for kernel in KERNELS:
            checkKernel(checks, work, kernel, folders)
    checks.finish()


if __name__ == "__main__":
    main()
