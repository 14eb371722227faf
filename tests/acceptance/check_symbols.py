"""The test programs reach the C library by the names that the acceptance tests are about: a
compiler that emitted others would make those tests pass without showing anything.
"""

import shutil

from omnio_testing import Checks, program, run, skipTest

WANTED = {
    "c_posix": "open open64 openat openat64 creat creat64 mkstemp read readv pread pread64 preadv "
               "preadv64 preadv2 write writev pwrite pwrite64 pwritev pwritev64 pwritev2 lseek "
               "lseek64 fsync fdatasync dup dup2 dup3 fcntl flock ftruncate rename unlink close",
    "c_posix_lfs": "open64 openat64 creat64 mkstemp64 pread64 preadv64 preadv64v2 pwrite64 "
                   "pwritev64 pwritev64v2 lseek64 fcntl64 ftruncate64",
    "c_posix_fortified": "__open_2 __openat_2 __read_chk __pread_chk __pread64_chk",
    "c_posix_lfs_fortified": "__open64_2 __openat64_2 __read_chk __pread64_chk",
    "c_stdio": "fopen fdopen freopen tmpfile fread fwrite fputs fputc putc fprintf vfprintf fgets "
               "fgetc getc ungetc fscanf|__isoc99_fscanf|__isoc23_fscanf getline|__getdelim "
               "getdelim fflush fseek fseeko ftell ftello rewind setvbuf fclose",
    "c_stdio_fortified": "__fread_chk __fgets_chk __fprintf_chk __vfprintf_chk",
    "c_fork": "fork vfork execve execl posix_spawn popen pclose closedir",
    "c_mpi": "MPI_Init MPI_Finalize MPI_File_write_at_all",
    "c_mpi_io": "MPI_File_open MPI_File_set_view MPI_File_seek MPI_File_close MPI_File_read "
                "MPI_File_write MPI_File_read_at MPI_File_write_at MPI_File_read_all "
                "MPI_File_write_all MPI_File_read_at_all MPI_File_write_at_all",
    "c_mpi_io_cases": "MPI_File_delete MPI_File_set_size MPI_File_sync MPI_File_write_shared "
                      "MPI_File_preallocate MPI_File_seek_shared MPI_File_read_ordered "
                      "MPI_File_write_ordered MPI_File_iwrite_at MPI_File_get_size",
}


def undefinedSymbols(path):
    lines = run(["nm", "--dynamic", "--undefined-only", path]).out.decode().splitlines()
    return {line.split()[-1].split("@")[0] for line in lines if line.split()}


def main():
    if shutil.which("nm") is None:
        skipTest("nm is not installed")
    checks = Checks()
    for name, wanted in WANTED.items():
        path = program(name)
        if path is None:
            checks.skip(name, "not built here")
            continue
        found = undefinedSymbols(path)
        for names in wanted.split():
            checks.that(set(names.split("|")) & found, f"{name} calls {names}")
    checks.finish()


if __name__ == "__main__":
    main()
