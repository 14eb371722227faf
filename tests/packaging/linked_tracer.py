#!/usr/bin/env python3
"""Links a program with each of the four tracers of an installed omnio (docs/commands/trace.md,
"Linking the tracer"), and records it without `omnio trace`: the trace is complete and has what the
preloaded tracer records of the same program."""

import json
import os
import pathlib
import shutil
import sys

from installed import ask_pkg_config, check_installed, expect, run

SOURCE = pathlib.Path(__file__).resolve().parent / "linked.c"
RANKS = 2
THREADS = 3
# Each thread makes an open, 8 writes, seeks and reads, fsync, close; fopen, fwrite and fclose.
OF_THREAD = {"open": 1, "pwrite": 8, "lseek": 8, "read": 8, "fsync": 1, "close": 1, "fopen": 1,
             "fwrite": 1, "fclose": 1}
OF_MPI = {"MPI_File_open": 1, "MPI_File_write_at_all": 1, "MPI_File_close": 1, "MPI_Init": 1,
          "MPI_Comm_rank": 0, "MPI_Barrier": 1, "MPI_Finalize": 1}
LAUNCHER = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1"}


class Installed:
    def __init__(self, given, prefix, scratch):
        self.omnio = prefix / "bin" / "omnio"
        self.compiler = given.compiler
        self._scratch = scratch
        self.tracers = pathlib.Path(ask_pkg_config(given, prefix, "--variable=tracerdir", "omnio"))

    def place(self, name):
        folder = self._scratch / name
        folder.mkdir()
        return folder

    def found(self, trace):
        """What a trace is made of: calls by name, how many of them, and the number of threads."""
        of_calls = json.loads(run(self.omnio, "stats", trace, "--by", "call", "--json"))
        of_threads = json.loads(run(self.omnio, "stats", trace, "--by", "thread", "--json"))
        expect(f"why {trace.name} would not be complete", of_calls["trace"]["reasons"], [])
        return {"calls": {group["name"]: sum(group["operations"].values())
                          for group in of_calls["groups"]},
                "bytes": [of_calls["total"][way]["size_bytes"]["total"] for way in ("read", "write")],
                "threads": len(of_threads["groups"]),
                "ranks": of_calls["trace"]["ranks_reporting"]}


def check_flavour(installed, flavour, has_mpi, has_openmp):
    compiler = ["mpicc", "-DWITH_MPI"] if has_mpi else [installed.compiler]
    compile_it = [*compiler, *(["-fopenmp"] if has_openmp else []), SOURCE, "-o"]
    launcher = ["mpirun", "-n", str(RANKS)] if has_mpi else []
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith("OMNIO_")} | LAUNCHER
    folder = installed.place(flavour)
    plain, linked = folder / "plain", folder / "linked"
    run(*compile_it, plain)
    run(*compile_it, linked, f"-L{installed.tracers}", f"-Wl,-rpath,{installed.tracers}",
        "-Wl,--no-as-needed", f"-lomnio_{flavour}")

    def record(name, command, **more):
        trace, work = folder / f"{name}.trace", folder / f"{name}.run"
        trace.mkdir()
        work.mkdir()
        values = {key: value.format(trace=trace) for key, value in more.items()}
        run(*(part.format(trace=trace) if isinstance(part, str) else part for part in command),
            cwd=work, env=environment | values)
        return trace

    preloaded = installed.found(record("preloaded", [
        installed.omnio, "trace", "--flavour", flavour, "-o", "{trace}", "--", *launcher, plain]))
    processes, threads = RANKS if has_mpi else 1, THREADS if has_openmp else 1
    wanted = {call: count * processes * threads for call, count in OF_THREAD.items()}
    calls = preloaded["calls"]
    expect(f"{flavour}, preloaded: calls on files of threads",
           {call: calls.get(call, 0) for call in OF_THREAD}, wanted)
    if has_mpi:
        expect(f"{flavour}, preloaded: calls of MPI", {call: calls.get(call, 0) for call in OF_MPI},
               {call: count * RANKS for call, count in OF_MPI.items()})
    expect(f"{flavour}, preloaded: threads", preloaded["threads"], processes * threads)
    expect(f"{flavour}, linked",
           installed.found(record("linked", [*launcher, linked], OMNIO_DIR="{trace}")), preloaded)
    # `omnio trace` preloads the library that is linked already, which is in the process once then,
    # or another one, of which one records.
    for other in dict.fromkeys((flavour, "openmp" if flavour == "serial" else flavour)):
        expect(f"{flavour}, linked, and {other} preloaded", installed.found(record(f"both-{other}", [
            installed.omnio, "trace", "--flavour", other, "-o", "{trace}", "--", *launcher, linked])),
               preloaded)
    for name, value in {"unset": "", "relative": "../relative.trace",
                        "missing": "{trace}/missing"}.items():
        trace = record(name, [*launcher, linked], OMNIO_DIR=value)
        expect(f"{flavour}, OMNIO_DIR {name}: what is recorded", list(trace.iterdir()), [])


def check(given, prefix, scratch):
    installed = Installed(given, prefix, scratch)
    check_flavour(installed, "serial", has_mpi=False, has_openmp=False)
    check_flavour(installed, "openmp", has_mpi=False, has_openmp=True)
    if (installed.tracers / "libomnio_mpi.so").exists() and shutil.which("mpicc"):
        check_flavour(installed, "mpi", has_mpi=True, has_openmp=False)
        check_flavour(installed, "hybrid", has_mpi=True, has_openmp=True)
    else:
        print("skipped: the flavours of MPI; this build has none, or there is no mpicc")


if __name__ == "__main__":
    sys.exit(check_installed(check, __doc__, ("build", "cmake", "compiler", "libdir"),
                             ("runtime", "devel")))
