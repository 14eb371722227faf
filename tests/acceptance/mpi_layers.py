"""What an MPI library does for itself is not the application's I/O, and what the application does inside
of an MPI call is: a session's beginning and end; files that are written in MPI_Finalize, by functions
that are called when MPI_COMM_SELF loses its attributes, in C and Fortran; collective MPI-IO by calls
with counts of any length, of which a replay is made; and processes that MPI_Comm_spawn starts from
ranks that `omnio trace` runs in. A rank that a signal ends does so for its launcher too.

  mpi_layers.py [CASE...]    finalize, large_counts, session, signal, spawn, still_runs
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from omnio_testing import (PATIENCE_S, Checks, WorkDirectory, emptied, environment, omnio, readLog,
                           run, skipTest, stats)

MPIRUN = ["--allow-run-as-root", "--oversubscribe"]
KINDS = (("Open MPI", "", MPIRUN), ("MPICH", ".mpich", []))

FINALIZE = r"""
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
static MPI_File shared;
static int rank;
static int onDelete(MPI_Comm self, int keyval, void* directory, void* extra) {
  (void)self, (void)keyval, (void)extra;
  char name[4096];
  snprintf(name, sizeof name, "%s/last.%d", (const char*)directory, rank);
  int fd = open(name, O_CREAT | O_WRONLY, 0644);
  if (write(fd, "four", 4) != 4 || write(fd, "seven..", 7) != 7) return MPI_ERR_OTHER;
  close(fd);
  MPI_File_write_at_all(shared, 4 * rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
  return MPI_File_close(&shared);
}
int main(int argc, char** argv) {
  int keyval;
  char name[4096];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, onDelete, &keyval, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, keyval, argv[1]);
  snprintf(name, sizeof name, "%s/shared", argv[1]);
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &shared);
  return MPI_Finalize();
}
"""
FORTRAN = r"""
module ends
  use mpi
  implicit none
contains
  subroutine on_delete(comm, keyval, value, extra, error)
    integer :: comm, keyval, error
    integer(kind=MPI_ADDRESS_KIND) :: value, extra
    integer :: unit
    open(newunit=unit, file='last.fortran', status='replace')
    write(unit, '(a)') 'ten bytes'
    close(unit)
    error = MPI_SUCCESS
  end subroutine
end module
program finalize
  use ends
  implicit none
  integer :: error, keyval
  integer(kind=MPI_ADDRESS_KIND) :: zero = 0
  call MPI_Init(error)
  call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, keyval, zero, error)
  call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, zero, error)
  call MPI_Finalize(error)
end program
"""
LARGE_COUNTS = r"""
#include <mpi.h>
int main(int argc, char** argv) {
  int rank, ranks, data[1000] = {0};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_File file;
  MPI_Datatype type;
  MPI_Type_vector(250, 1, ranks, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_set_view(file, 4 * rank, MPI_INT, type, "native", MPI_INFO_NULL);
  MPI_File_write_at_all_c(file, 0, data, 1000, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_read_at_all_c(file, 0, data, 1000, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  return MPI_Finalize();
}
"""
SESSION = r"""
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  MPI_Session session;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  FILE* file = fopen(argv[argc - 1], "w");
  fputs("hello\n", file);
  fclose(file);
  return MPI_Session_finalize(&session);
}
"""
SPAWN = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char** argv) {
  MPI_Comm parent, both;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL) {
    MPI_Info info;
    MPI_Info_create(&info);
    if (strcmp(argv[1], "untraced") == 0) MPI_Info_set(info, "env", "LD_PRELOAD=");
    MPI_Comm_spawn(argv[0], argv + 1, 2, info, 0, MPI_COMM_WORLD, &both, MPI_ERRCODES_IGNORE);
    MPI_Info_free(&info);
  } else {
    int rank;
    char name[4096];
    both = parent;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(name, sizeof name, "%s/child.%d", argv[2], rank);
    FILE* file = fopen(name, "w");
    fputs("child\n", file);
    fclose(file);
  }
  MPI_Barrier(both);
  MPI_Comm_disconnect(&both);
  return MPI_Finalize();
}
"""


def compiled(work, name, source, compiler, suffix="c"):
    """The program; None where this compiler cannot make it."""
    if shutil.which(compiler) is None:
        return None
    path = os.path.join(work, f"{name}-{compiler}")
    with open(f"{path}.{suffix}", "w", encoding="ascii") as file:
        file.write(source)
    done = run([compiler, "-o", path, f"{path}.{suffix}"], cwd=work)
    return path if done.status == 0 else None


class Kind:
    """One of the MPI libraries."""

    def __init__(self, checks, work, name, suffix, options):
        self.checks, self.work, self.name, self.suffix = checks, work, name, suffix
        launcher = shutil.which("mpiexec" + (suffix or ".openmpi")) or shutil.which("mpiexec")
        self.launcher = [launcher, *options] if launcher else None

    def traced(self, name, ranks, command, inside=False, **variables):
        """A trace of it; with `inside`, each rank runs under `omnio trace` of its own."""
        to = os.path.join(self.work, f"{name}{self.suffix}.trace")
        tracer = [omnio(), "trace", "-o", to, "--"]
        launcher = [*self.launcher, "-n", str(ranks)]
        command = [*launcher, *tracer, *command] if inside else [*tracer, *launcher, *command]
        done = run(command, env=environment(**variables), cwd=self.work, timeout=PATIENCE_S)
        self.checks.equal(done.status, 0, f"{self.name}, {name}: {done.err!r}")
        return to

    def program(self, name, source, compiler="mpicc", suffix="c"):
        path = compiled(self.work, name, source, compiler + (self.suffix or ".openmpi"), suffix)
        if path is None:
            self.checks.skip(f"{self.name}, {name}", "its compiler cannot make the program")
        return path


def ownCalls(to, under):
    """The application's own POSIX and MPI-IO calls on files there: [(rank, call, bytes)]"""
    return sorted((event["rank"], event["call"], event.get("bytes") or 0) for event in readLog(to)
                  if event["depth"] == 0 and (event.get("file") or event.get("path") or "")
                  .startswith(under))


def checkFinalize(kind):
    checks, directory = kind.checks, emptied(os.path.join(kind.work, "finalize"))
    path = kind.program("finalize", FINALIZE)
    if path is not None:
        to = kind.traced("finalize", 2, [path, directory])
        wanted = [(rank, *call) for rank in (0, 1) for call in
                  (("MPI_File_close", 0), ("MPI_File_open", 0), ("MPI_File_write_at_all", 4),
                   ("close", 0), ("open", 0), ("write", 4), ("write", 7))]
        checks.equal(ownCalls(to, directory), wanted, f"{kind.name}: calls in MPI_Finalize")
        total = stats(to)["total"]
        checks.equal(total["write"]["size_bytes"]["total"], 2 * (4 + 4 + 7),
                     f"{kind.name}: bytes written in MPI_Finalize")
        *_, last = list(readLog(to, "--mpi"))
        for call in ("MPI_File_write_at_all", "MPI_File_close"):
            of = last["summary"]["collectives"][call]
            checks.equal((of["count"], of["matched"]), (2, 2), f"{kind.name}: {call} finds its like")
        schedule = to + ".json"
        made = run([omnio(), "preprocess", to, "-o", schedule])
        checks.equal(made.status, 0, f"{kind.name}: preprocess: {made.err!r}")
        shown = run([omnio(), "schedule", "show", schedule]).out
        checks.that(b"        30 B  " in shown, f"{kind.name}: 30 bytes in the schedule: {shown!r}")
    path = kind.program("fortran", FORTRAN, "mpif90", "f90")
    if path is not None:
        to = kind.traced("fortran", 1, [path])
        written = [event for event in readLog(to) if event["class"] == "write"]
        checks.equal([(event["depth"], event["bytes"], os.path.basename(event["file"]))
                      for event in written], [(0, 10, "last.fortran")],
                     f"{kind.name}: written by Fortran in MPI_Finalize")


def checkLargeCounts(kind):
    checks, path = kind.checks, kind.program("large", LARGE_COUNTS)
    if path is None:
        return
    file = os.path.join(kind.work, "large.data")
    to = kind.traced("large", 4, [path, file])
    own = {event["call"] for event in readLog(to)
           if event["depth"] == 0 and event["call"].startswith("MPI_")}
    checks.equal(own, {"MPI_Init", "MPI_Finalize", "MPI_File_open", "MPI_File_set_view",
                       "MPI_File_write_at_all_c", "MPI_File_read_at_all_c", "MPI_File_close"},
                 f"{kind.name}: the application's calls of MPI")
    *_, last = list(readLog(to, "--mpi"))
    checks.equal((last["summary"]["unmatched"], last["summary"]["missing_events"]), (0, 0),
                 f"{kind.name}: calls without a counterpart")
    checks.equal(stats(to)["total"]["write"]["size_bytes"]["total"], 16000, f"{kind.name}: bytes")
    made = run([omnio(), "preprocess", to, "-o", to + ".json"])
    # How much a launcher reads to pass it on is a matter of the moment.
    said = [line for line in made.err.splitlines() if b" is a shell or a launcher, " not in line]
    checks.equal((made.status, said), (0, []), f"{kind.name}: preprocess")


def checkSession(kind):
    checks, path = kind.checks, kind.program("session", SESSION)
    if path is None:
        return
    file = os.path.join(kind.work, "session.data")
    to = kind.traced("session", 1, [path, file])
    own = [event["call"] for event in readLog(to) if event["depth"] == 0]
    checks.equal(own, ["MPI_Session_init", "fopen", "fwrite", "fclose", "MPI_Session_finalize"],
                 f"{kind.name}: the application's calls")
    made = run([omnio(), "preprocess", to, "-o", to + ".json"])
    checks.equal(made.status, 0, f"{kind.name}: preprocess: {made.err!r}")
    checks.that(b": 3 events of 1 rank" in made.out, f"{kind.name}: schedule: {made.out!r}")


def checkSpawn(kind):
    checks, path = kind.checks, kind.program("spawn", SPAWN)
    directory = emptied(os.path.join(kind.work, "spawn"))
    if path is None:
        return
    if run([*kind.launcher, "-n", "1", path, "plain", directory], timeout=PATIENCE_S).status != 0:
        checks.skip(f"{kind.name}, spawn", "it starts no other jobs")
        return
    to = kind.traced("spawned", 1, [path, "traced", directory], inside=True)
    about = stats(to)["trace"]
    checks.equal((about["whole"], about["processes"], about["reasons"]), (True, 3, []),
                 f"{kind.name}: spawned processes are in the trace")
    checks.equal([call for _, call, _ in ownCalls(to, directory)],
                 ["fclose", "fopen", "fwrite"] * 2, f"{kind.name}: their calls")
    to = kind.traced("lost", 1, [path, "untraced", directory], inside=True)
    about = stats(to)["trace"]
    checks.equal((about["whole"], about["processes"], about["reasons"]),
                 (False, 1, [f"2 of 2 processes that MPI_Comm_spawn started ({path}) were not "
                             "traced: the launcher starts them without the tracer's environment; "
                             "run the launcher under `omnio trace`"]),
                 f"{kind.name}: spawned processes without the tracer are named")


STILL = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char** argv) {
  (void)argc;
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  if (rank == NULL) rank = getenv("PMI_RANK");
  char name[4096];
  snprintf(name, sizeof name, "%s/went.on", argv[1]);
  if (rank[0] == '1') {
    while (access(name, F_OK) != 0) usleep(1000);  // not recorded: no file is opened
    return 0;
  }
  snprintf(name, sizeof name, "%s/rank.%s", argv[1], rank);
  close(open(name, O_CREAT | O_WRONLY, 0644));
  return 0;
}
"""


def checkStillRuns(kind):
    """A rank that has not reported is said to run still, as long as it does."""
    checks, directory = kind.checks, emptied(os.path.join(kind.work, "still"))
    path = kind.program("still", STILL)
    if path is None:
        return
    to = os.path.join(kind.work, f"still{kind.suffix}.trace")
    with subprocess.Popen([*kind.launcher, "-n", "2", omnio(), "trace", "--exclude", "*/went.on",
                           "-o", to, "--", path, directory], env=environment(),
                          stderr=subprocess.PIPE) as running:
        def isSaid():
            return len(reasons) == 1 and re.fullmatch(
                r"rank 1 of 2 has not reported yet: its process \d+ still runs", reasons[0])

        reasons = []
        for _ in range(6000):
            done = run([omnio(), "stats", to, "--json"])
            reasons = json.loads(done.out)["trace"]["reasons"] if done.status == 0 else []
            if isSaid():
                break
            time.sleep(0.01)  # until the first rank has ended
        checks.that(isSaid(), f"{kind.name}: while it runs: {reasons}")
        open(os.path.join(directory, "went.on"), "w", encoding="ascii").close()
        running.communicate()
    checks.equal(running.returncode, 0, f"{kind.name}: status")
    about = stats(to)["trace"]
    checks.equal((about["whole"], about["reasons"]), (True, []), f"{kind.name}: in the end")


def checkSignal(kind):
    """The launcher sees the signal that ended a rank, and no status in its place."""
    checks, command = kind.checks, ["sh", "-c", "kill -SEGV $$"]
    to = os.path.join(kind.work, f"signal{kind.suffix}.trace")

    def statusOf(*words):
        """Not that of a launcher which itself ended by SIGPIPE, as MPICH's sometimes does when its
        ranks are gone before it has told them."""
        for _ in range(20):
            shutil.rmtree(to, ignore_errors=True)
            status = run([*kind.launcher, "-n", "1", *words, *command], timeout=PATIENCE_S).status
            if status not in (128 + signal.SIGPIPE, -signal.SIGPIPE):
                break
        return status

    wanted = statusOf()
    got = statusOf(omnio(), "trace", "-o", to, "--")
    checks.equal(got, wanted, f"{kind.name}: status of a rank that a signal ended")


CASES = {"finalize": checkFinalize, "large_counts": checkLargeCounts, "session": checkSession,
         "signal": checkSignal, "spawn": checkSpawn, "still_runs": checkStillRuns}


def main(wanted):
    if not os.path.exists(os.path.join(os.environ["OMNIO_TEST_LIBRARIES"], "libomnio_mpi.so")):
        skipTest("built without MPI")
    checks = Checks()
    with WorkDirectory() as work:
        for name, suffix, options in KINDS:
            kind = Kind(checks, work, name, suffix, options)
            if kind.launcher is None:
                checks.skip(name, "not installed")
                continue
            for case, check in CASES.items():
                if not wanted or case in wanted:
                    with checks.case(f"{name}, {case}"):
                        check(kind)
    checks.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
