"""An MPI library of another ABI, MPICH's: the program runs as it would untraced, its I/O on files is
recorded with its ranks, and every reader says by name which library was refused.
"""

import json
import os
import shutil
import subprocess

from omnio_testing import Checks, WorkDirectory, manifest, readLog, skipTest, stats

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


def written(directory):
    texts = {}
    for name in sorted(os.listdir(directory)):
        with open(os.path.join(directory, name), encoding="latin-1") as file:
            texts[name] = file.read()
    return texts


def main():
    compiler, launcher = shutil.which("mpicc.mpich"), shutil.which("mpiexec.mpich")
    if compiler is None or launcher is None:
        skipTest("MPICH is not installed (Debian: mpich, libmpich-dev)")
    checks = Checks()
    omnio = os.environ["OMNIO_TEST_BIN"]
    with WorkDirectory() as work:
        source, application = os.path.join(work, "app.c"), os.path.join(work, "app")
        with open(source, "w", encoding="ascii") as file:
            file.write(SOURCE)
        subprocess.run([compiler, "-o", application, source], check=True)

        def run(name, command):
            directory = os.path.join(work, name)
            os.mkdir(directory)
            result = subprocess.run(command + [application, directory], capture_output=True,
                                    check=False, timeout=120)
            checks.equal(result.returncode, 0, f"{name}: status {result.stderr.decode()}")
            return written(directory)

        untraced = run("untraced", [launcher, "-n", "2"])
        checks.equal(len(untraced), 3, "files of two ranks, and the one they share")
        for flavour in ("auto", "mpi", "serial"):
            for name, command in (
                    ("before", [omnio, "trace", "--flavour", flavour, "-o", None, "--", launcher,
                                "-n", "2"]),
                    ("behind", [launcher, "-n", "2", omnio, "trace", "--flavour", flavour, "-o",
                                None, "--"])):
                name = f"{name}-{flavour}"
                to = os.path.join(work, "trace-" + name)
                command = [to if word is None else word for word in command]
                checks.equal(run(name, command), untraced, f"{name}: what the ranks wrote")
                about = stats(to)["trace"]
                checks.equal((about["ranks_expected"], about["ranks_reporting"]), (2, 2),
                             f"{name}: ranks")
                writes = [event for event in readLog(to)
                          if event["class"] == "write" and "/rank." in (event.get("file") or "")]
                checks.equal(sorted(event["rank"] for event in writes), [0, 1],
                             f"{name}: the ranks' own writes")
                if flavour == "serial":  # it has no MPI wrappers, so there is nothing to refuse
                    checks.that(about["whole"], f"{name}: whole {about['reasons']}")
                    continue
                print(f"{name}: {about['reasons']}")
                checks.that(not about["whole"], f"{name}: not whole")
                checks.that(all("libmpich" in reason for reason in about["reasons"]),
                            f"{name}: the library is named in {about['reasons']}")
                refused = {os.path.basename(process.get("mpi_refused", "none"))
                           for process in manifest(to)["processes"]}
                checks.that(all(library.startswith("libmpich") for library in refused),
                            f"{name}: refused in the manifest: {json.dumps(sorted(refused))}")
                if flavour == "auto":
                    chosen = {process["flavour"] for process in manifest(to)["processes"]}
                    checks.equal(chosen, {"serial"}, f"{name}: chosen where MPI is passed through")
    checks.finish()


if __name__ == "__main__":
    main()
