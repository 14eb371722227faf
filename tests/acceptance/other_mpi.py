"""MPI libraries beside the one that omnio is built with. Under MPICH, whose binary interface is
another, a program is recorded by the same libraries, with its ranks, its MPI calls and what they
belong to. Under a library of an unknown interface it runs as it would untraced, its I/O on files is
recorded, and every reader says by name which library was passed through.
"""

import json
import os
import shutil
import subprocess

from omnio_testing import (PATIENCE_S, Checks, WorkDirectory, environment, manifest, omnio, readLog,
                           run, skipTest, stats)

SOURCE = r"""
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, sum = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  // Many arguments, of types of another size: some come on the stack.
  int mine[2] = {rank, -rank}, other[2] = {-1, -1};
  MPI_Sendrecv(mine, 2, MPI_INT, (rank + 1) % ranks, 5, other, 2, MPI_INT,
               (rank + ranks - 1) % ranks, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  char name[4096];
  snprintf(name, sizeof name, "%s/shared", argv[1]);
  MPI_File shared;
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &shared);
  MPI_File_write_at_all(shared, 8 * rank, other, 2, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(&shared);
  snprintf(name, sizeof name, "%s/rank.%d", argv[1], rank);
  FILE* file = fopen(name, "w");
  fprintf(file, "rank %d of %d, sum %d\n", rank, ranks, sum);
  fclose(file);
  return MPI_Finalize();
}
"""

# An MPI of one process whose handles are numbers of 64 bits, all of which have to arrive.
HEADER = r"""
#include <stdint.h>
#include <stdio.h>
typedef int64_t MPI_Comm, MPI_Datatype, MPI_Op, MPI_Info;
typedef struct { int64_t descriptor; } * MPI_File;
typedef struct { int words[7]; } MPI_Status;
#define MPI_COMM_WORLD INT64_C(0x1234567812345678)
#define MPI_INT INT64_C(0x2345678923456789)
#define MPI_SUM INT64_C(0x3456789a3456789a)
#define MPI_INFO_NULL INT64_C(0x456789ab456789ab)
#define MPI_STATUS_IGNORE ((MPI_Status*)INT64_C(0x56789abc56789abc))
#define MPI_MODE_CREATE 1
#define MPI_MODE_WRONLY 4
#define BOTH(NAME, ...) int MPI_##NAME(__VA_ARGS__); int PMPI_##NAME(__VA_ARGS__)
BOTH(Init, int*, char***);
BOTH(Finalize, void);
BOTH(Comm_rank, MPI_Comm, int*);
BOTH(Comm_size, MPI_Comm, int*);
BOTH(Allreduce, const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
BOTH(Sendrecv, const void*, int, MPI_Datatype, int, int, void*, int, MPI_Datatype, int, int,
     MPI_Comm, MPI_Status*);
BOTH(File_open, MPI_Comm, const char*, int, MPI_Info, MPI_File*);
BOTH(File_write_at_all, MPI_File, int64_t, const void*, int, MPI_Datatype, MPI_Status*);
BOTH(File_close, MPI_File*);
"""
LIBRARY = r"""
#include "mpi.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define CHECK(CONDITION) \
  if (!(CONDITION)) { fprintf(stderr, "not so: %s\n", #CONDITION); exit(70); }
#define DEFINE(NAME, PARAMETERS, ARGUMENTS) \
  int MPI_##NAME PARAMETERS { return PMPI_##NAME ARGUMENTS; } int PMPI_##NAME PARAMETERS
DEFINE(Init, (int* argc, char*** argv), (argc, argv)) { CHECK(*argc == 2 && *argv); return 0; }
DEFINE(Finalize, (void), ()) { return 0; }
DEFINE(Comm_rank, (MPI_Comm comm, int* rank), (comm, rank)) {
  CHECK(comm == MPI_COMM_WORLD); *rank = 0; return 0;
}
DEFINE(Comm_size, (MPI_Comm comm, int* size), (comm, size)) {
  CHECK(comm == MPI_COMM_WORLD); *size = 1; return 0;
}
DEFINE(Allreduce, (const void* in, void* out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
       (in, out, n, type, op, comm)) {
  CHECK(type == MPI_INT && op == MPI_SUM && comm == MPI_COMM_WORLD);
  memcpy(out, in, n * sizeof(int));
  return 0;
}
DEFINE(Sendrecv, (const void* in, int n, MPI_Datatype t, int to, int tag, void* out, int m,
                  MPI_Datatype u, int from, int mark, MPI_Comm comm, MPI_Status* status),
       (in, n, t, to, tag, out, m, u, from, mark, comm, status)) {
  CHECK(n == 2 && m == 2 && to == 0 && from == 0 && tag == 5 && mark == 5);
  CHECK(t == MPI_INT && u == MPI_INT && comm == MPI_COMM_WORLD && status == MPI_STATUS_IGNORE);
  memcpy(out, in, n * sizeof(int));
  return 0;
}
DEFINE(File_open, (MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* file),
       (comm, name, mode, info, file)) {
  CHECK(comm == MPI_COMM_WORLD && mode == 5 && info == MPI_INFO_NULL);
  *file = malloc(sizeof **file);
  (*file)->descriptor = open(name, O_CREAT | O_WRONLY, 0600);
  return 0;
}
DEFINE(File_write_at_all, (MPI_File file, int64_t at, const void* data, int n, MPI_Datatype type,
                           MPI_Status* status), (file, at, data, n, type, status)) {
  CHECK(type == MPI_INT && status == MPI_STATUS_IGNORE);
  return pwrite(file->descriptor, data, n * sizeof(int), at) < 0;
}
DEFINE(File_close, (MPI_File* file), (file)) { return close((*file)->descriptor); }
"""


def written(directory):
    texts = {}
    for name in sorted(os.listdir(directory)):
        with open(os.path.join(directory, name), encoding="latin-1") as file:
            texts[name] = file.read()
    return texts


def put(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    return path


class Application:
    """The program as one MPI builds it, run untraced and in every way of tracing it."""

    def __init__(self, checks, work, name, application, launcher, ranks):
        self.checks, self.work, self.name = checks, work, name
        self.application, self.launcher, self.ranks = application, launcher, ranks
        self.untraced = self.run("untraced", launcher)
        checks.equal(len(self.untraced), ranks + 1, f"{name}: files, one a rank and one of all")

    def run(self, what, command):
        directory = os.path.join(self.work, f"{self.name}-{what}")
        os.mkdir(directory)
        result = run(command + [self.application, directory], timeout=PATIENCE_S)
        self.checks.equal(result.status, 0, f"{self.name} {what}: status {result.err!r}")
        return written(directory)

    def traces(self):
        """(what, flavour, trace) of each way, once what the ranks wrote is seen to be the same."""
        for flavour in ("auto", "mpi", "serial"):
            for place in ("before", "behind") if self.launcher else ("before",):
                what = f"{place}-{flavour}"
                to = os.path.join(self.work, f"trace-{self.name}-{what}")
                tracer = [omnio(), "trace", "--flavour", flavour, "-o", to, "--"]
                command = tracer + self.launcher if place == "before" else self.launcher + tracer
                self.checks.equal(self.run(what, command), self.untraced,
                                  f"{self.name} {what}: what the ranks wrote")
                about = stats(to)["trace"]
                self.checks.equal((about["ranks_expected"], about["ranks_reporting"]),
                                  (self.ranks, self.ranks), f"{self.name} {what}: ranks")
                writes = [event for event in readLog(to)
                          if event["class"] == "write" and "/rank." in (event.get("file") or "")]
                self.checks.equal(sorted(event["rank"] for event in writes),
                                  list(range(self.ranks)),
                                  f"{self.name} {what}: the ranks' own writes")
                yield what, flavour, to


def flavours(to):
    return {process["flavour"] for process in manifest(to)["processes"]}


def checkMatched(checks, name, to, jobs=1):
    """Messages and collective calls of each job are those of the program, and find each other."""
    *_, last = list(readLog(to, "--mpi"))
    summary = last["summary"]
    checks.equal((summary["sends"]["count"], summary["sends"]["matched"]), (2 * jobs, 2 * jobs),
                 f"{name}: messages")
    for call in ("MPI_Allreduce", "MPI_File_open", "MPI_File_write_at_all", "MPI_File_close"):
        of = summary["collectives"].get(call, {})
        checks.equal((of.get("count"), of.get("matched")), (2 * jobs, 2 * jobs), f"{name}: {call}")


def checkMpich(checks, work, source):
    compiler, launcher = shutil.which("mpicc.mpich"), shutil.which("mpiexec.mpich")
    if compiler is None or launcher is None:
        checks.skip("MPICH", "not installed (Debian: mpich, libmpich-dev)")
        return
    application = os.path.join(work, "mpich-app")
    subprocess.run([compiler, "-o", application, source], check=True)
    of = Application(checks, work, "mpich", application, [launcher, "-n", "2"], 2)
    for what, flavour, to in of.traces():
        about = stats(to)["trace"]
        checks.that(about["whole"], f"{what}: whole {about['reasons']}")
        checks.equal(flavours(to), {"serial" if flavour == "serial" else "mpi"},
                     f"{what}: flavour")
        if flavour == "serial":  # it has no MPI wrappers
            continue
        reasons = {process["flavour_reason"] for process in manifest(to)["processes"]}
        if flavour == "auto":
            checks.that(all("libmpich" in reason for reason in reasons), f"{what}: {reasons}")
        checkMatched(checks, what, to)
    checkLargeCounts(checks, work, compiler, launcher)
    # The launcher names no job: two of them in one trace are two all the same.
    to, directory = os.path.join(work, "trace-twice"), os.path.join(work, "twice")
    os.mkdir(directory)
    once = f"'{launcher}' -n 2 '{application}' '{directory}'"
    # Not even where they inherit that of a job around them.
    result = run([omnio(), "trace", "-o", to, "--", "sh", "-c", f"{once} && {once}"],
                 env=environment(PMI_JOBID="outer"))
    checks.equal(result.status, 0, f"two jobs: status {result.err!r}")
    checkMatched(checks, "two jobs", to, jobs=2)
    checks.equal(manifest(to)["ranks_expected"], 4, "two jobs: ranks")


LARGE_COUNTS = r"""
#include <mpi.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, other = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) MPI_Send_c(&rank, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv_c(&other, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  MPI_File_write_at_c(file, 4 * rank, &other, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  return MPI_Finalize() || (rank == 1 && other != 0);
}
"""


def checkLargeCounts(checks, work, compiler, launcher):
    """Calls of MPI-4: they do what they should, and are not lost in silence."""
    application = os.path.join(work, "large-counts")
    built = run([compiler, "-o", application, put(os.path.join(work, "large.c"), LARGE_COUNTS)])
    if built.status != 0:
        checks.skip("large counts", "this MPICH has no MPI-4")
        return
    to, path = os.path.join(work, "trace-large"), os.path.join(work, "large-file")
    done = run([omnio(), "trace", "-o", to, "--", launcher, "-n", "2", application, path])
    checks.equal(done.status, 0, f"large counts: {done.err!r}")
    about = stats(to)["trace"]
    checks.that(not about["whole"], "large counts: not whole")
    reasons = " ".join(about["reasons"])
    for call in ("MPI_Send_c", "MPI_Recv_c"):
        checks.that(f"MPI calls that are not recorded ({call})" in reasons, f"{call}: {reasons}")
    written = [(event["rank"], event["depth"], event["call"].removeprefix("P"))
               for event in readLog(to) if event["class"] == "write" and event.get("file") == path]
    checks.equal(sorted(written), [(0, 0, "MPI_File_write_at_c"), (0, 1, "pwrite"),
                                   (1, 0, "MPI_File_write_at_c"), (1, 1, "pwrite")],
                 "large counts: the writes, and the calls below them")


def checkUnknown(checks, work, source):
    compiler = shutil.which("cc")
    if compiler is None:
        checks.skip("unknown interface", "there is no C compiler")
        return
    put(os.path.join(work, "mpi.h"), HEADER)
    library = os.path.join(work, "libmpi.so.99")
    application = os.path.join(work, "unknown-app")
    subprocess.run([compiler, "-shared", "-fPIC", "-I", work, "-Wl,-soname,libmpi.so.99",
                    "-Wl,-Bsymbolic", "-o", library,
                    put(os.path.join(work, "library.c"), LIBRARY)], check=True)
    subprocess.run([compiler, "-I", work, "-o", application, source, library,
                    f"-Wl,-rpath,{work}"], check=True)
    of = Application(checks, work, "unknown", application, [], 1)
    for what, flavour, to in of.traces():
        about = stats(to)["trace"]
        if flavour == "serial":  # it has no MPI wrappers, so there is nothing to refuse
            checks.that(about["whole"], f"{what}: whole {about['reasons']}")
            continue
        checks.that(not about["whole"], f"{what}: not whole")
        checks.that(all("libmpi.so.99" in reason for reason in about["reasons"]),
                    f"{what}: the library is named in {about['reasons']}")
        refused = {os.path.basename(process.get("mpi_refused", "none"))
                   for process in manifest(to)["processes"]}
        checks.equal(refused, {"libmpi.so.99"}, f"{what}: refused: {json.dumps(sorted(refused))}")
        if flavour == "auto":
            checks.equal(flavours(to), {"serial"}, f"{what}: flavour")


def main():
    if not os.path.exists(os.path.join(os.environ["OMNIO_TEST_LIBRARIES"], "libomnio_mpi.so")):
        skipTest("built without MPI")
    checks = Checks()
    with WorkDirectory() as work:
        source = put(os.path.join(work, "app.c"), SOURCE)
        checkMpich(checks, work, source)
        checkUnknown(checks, work, source)
    checks.finish()


if __name__ == "__main__":
    main()
