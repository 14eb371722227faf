"""omnio phases --lap and --plot: the local access patterns of MADbench2- and BT-IO-like programs, and the
picture of the global one, which is the same byte for byte on ext4, in memory and on slow storage, and from
the phase model alone; and what is refused."""

import contextlib
import json
import os
import xml.etree.ElementTree as ElementTree

import devices
from omnio_testing import (Checks, WorkDirectory, emptied, environment, mpirun, omnio, program, run, trace)
from report_figures import checkPicture
from slow_storage import SlowStorage, whyNotSlow

RANKS = 4
KERNELS = {"madbench": ["32", "8", "0", "0"], "btio-full": ["16", "10", "0", "20"]}
BIN = 32 << 10
# A row of a process: operation, rep, first bin, phase. The operations of one phase alternate.
MADBENCH = [("write", 8, 0, 1), ("read", 2, 0, 2), ("write", 6, 0, 3), ("read", 6, 2, 3),
            ("write", 2, 6, 4), ("read", 8, 0, 5)]
# rs = 16^3 * 40 / 4, at multiples of rs / 40 etypes, as figure 3 of the paper has it.
BTIO = [f"0-{RANKS - 1} 0 MPI_File_{name}_at_all 10 40960 1024 0 etype 40 {phases}"
        for name, phases in (("write", "1-10"), ("read", "11"))]
NO_PICTURE = "no picture of the global access pattern: "
NO_TICKS = ("no phase has ticks, which count the MPI events of a process and are known of MPI-IO that "
            "omnio traced")


def linesOf(text):
    """The rows of the table without the ticks."""
    lines = []
    for line in text.partition("\nPatterns")[2].split("\n")[2:]:
        if not line:
            break
        words = line.split()
        lines.append(" ".join(words[:-2] + words[-1:]))
    return lines


def wantedLines(kernel):
    if kernel == "btio-full":
        return BTIO
    return [f"{rank} 0 MPI_File_{operation} {rep} {BIN} {BIN} {(rank * 8 + first) * BIN} byte {phase}"
            for operation, rep, first, phase in MADBENCH for rank in range(RANKS)]


def read(path):
    with open(path, "rb") as file:
        return file.read()


def checkEverywhere(checks, work, folders):
    for kernel, words in KERNELS.items():
        pictures = {}
        for name, folder in folders.items():
            what = f"{kernel} on {name}"
            to, svg, model = (os.path.join(work, f"{kernel}.{name}.{end}")
                              for end in ("trace", "svg", "json"))
            result = trace(to, mpirun(RANKS) + [program("c_kernels"), kernel, *words], cwd=folder,
                           env=environment(OMPI_MCA_mpi_yield_when_idle="1"))
            checks.equal(result.status, 0, f"{what}: {result}")
            result = run([omnio(), "phases", to, "--lap", "--plot", svg, "-o", model])
            checks.equal((result.status, linesOf(result.out.decode())), (0, wantedLines(kernel)),
                         f"{what}: {result}")
            pictures[name] = read(svg)
            alone = run([omnio(), "phases", model, "--lap", "--plot", svg])
            checks.equal((alone.status, alone.out), (0, result.out), f"{what}, from the model: {alone}")
            checks.that(read(svg) == pictures[name], f"{what}: another picture from the model")
            document = json.loads(run([omnio(), "phases", model, "--lap", "--json"]).out)
            checks.equal(document["format"], "omnio-local-patterns", f"{what}: JSON")
            checks.equal([pattern["ranks"] for pattern in document["patterns"]],
                         [list(range(RANKS))] * len(document["patterns"]), f"{what}: ranks")
        first = next(iter(pictures.values()))
        for name, picture in pictures.items():
            checks.that(picture == first, f"{kernel}: another picture on {name}")
        checkPicture(checks, kernel, ElementTree.fromstring(first))


def checkRefused(checks, work):
    """Without ticks, and where the words do not fit."""
    directory = emptied(os.path.join(work, "posix"))
    to, svg, model = (os.path.join(work, name) for name in ("posix.trace", "posix.svg", "posix.json"))
    result = trace(to, ["/bin/sh", "-c", "cat /etc/passwd > copy; cat copy copy > other"], cwd=directory)
    checks.equal(result.status, 0, f"posix: {result}")
    result = run([omnio(), "phases", to, "--lap", "-o", model])
    checks.equal(result.status, 0, f"POSIX calls have patterns, too: {result}")
    for source in (to, model):
        result = run([omnio(), "phases", source, "--plot", svg])
        checks.equal((result.status, result.out, result.err.decode()),
                     (1, b"", f"omnio: {source}: {NO_PICTURE}{NO_TICKS}\n"), "no ticks")
    checks.that(not os.path.exists(svg), "no picture was made")
    result = run([omnio(), "phases", model, "-o", svg])
    checks.equal((result.status, result.err.decode()),
                 (2, f"omnio: {model}: is a phase model; -o writes that of a trace, or with --ranks\n"),
                 "-o of a model")
    result = run([omnio(), "phases", "/etc/passwd", "--lap"])
    checks.that(result.status == 1 and result.err.startswith(b"omnio: /etc/passwd: line 1, column 1: "),
                f"no model: {result}")
    empty = os.path.join(work, "empty.json")
    with open(model, encoding="utf-8") as file:
        document = json.load(file)
    document["phases"] = []
    with open(empty, "w", encoding="utf-8") as file:
        json.dump(document, file)
    result = run([omnio(), "phases", empty, "--plot", svg])
    checks.equal((result.status, result.err.decode()),
                 (1, f"omnio: {empty}: {NO_PICTURE}no phase moves data\n"), "no phases")


def main():
    checks = Checks()
    with WorkDirectory() as work:
        with checks.case("refused"):
            checkRefused(checks, work)
        if mpirun(1) is None or program("c_kernels") is None:
            checks.skip("everywhere", "no MPI here")
            return checks.finish()
        with contextlib.ExitStack() as stack, checks.case("everywhere"):
            folders = {"directory": emptied(os.path.join(work, "directory"))}
            if os.geteuid() == 0:
                folders["ext4"] = stack.enter_context(devices.ext4(work, "ext4", 64)).mount_point
                folders["tmpfs"] = stack.enter_context(devices.tmpfs(work, "tmpfs", 64)).mount_point
            else:
                checks.skip("ext4 and tmpfs", "needs root")
            if why := whyNotSlow():
                checks.skip("slow storage", why)
            else:
                options = ("--read-us", 300, "--write-us", 500, "--sync-us", 1000)
                folders["slowfs"] = stack.enter_context(SlowStorage(work, *options)).path
            checkEverywhere(checks, work, folders)
    return checks.finish()


if __name__ == "__main__":
    main()
