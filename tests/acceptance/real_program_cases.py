"""Programs that sites run, as cases of real_programs.py: each does the same every time it is run,
apart from what its case leaves out of the comparison."""

import functools
import json
import os
import shutil
import struct
import subprocess
import sys

from behaviour import Case
from compare_strace import RANKS, writeMelt
from omnio_testing import WorkDirectory, program

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "..", "programs")
WORKERS = os.path.join(PROGRAMS, "python_workers.py")
MPI4PY = os.path.join(PROGRAMS, "mpi4py_io.py")
JAVA = os.path.join(PROGRAMS, "JavaWorkers.java")

GIT = """\
git init -q source && cd source && git config user.name n && git config user.email n@example.org
for i in 1 2 3 4 5 6 7 8; do mkdir -p d$i; seq 1 $((i * 300)) > d$i/f; git add .;
git commit -q -m "commit $i"; done
git checkout -q -b side HEAD~3 && seq 9 > side && git add side && git commit -q -m side
git checkout -q - && git merge -q side -m merged && git stash list
cd .. && git clone -q --no-hardlinks source cloned && cd cloned && git fsck --full 2>&1
git status --short; git log --format=%H | sed -n 1p; git count-objects; git gc -q; git log --oneline
git archive HEAD | sha256sum; git fsck --full 2>&1; git rev-list --objects --all | sort | sha256sum
"""

TREE = """\
mkdir tree && for i in 1 2 3 4 5; do seq 1 ${i}000 > tree/f$i; ln -s f$i tree/l$i; done
ln tree/f1 tree/hard; truncate -s 1M tree/sparse; mkdir tree/empty
"""

TAR = """\
tar --sort=name --mtime=@0 -cf all.tar tree && tar --sort=name --mtime=@0 -czf all.tgz tree
mkdir out zout && tar -xf all.tar -C out && tar -xzf all.tgz -C zout && tar -tf all.tgz
diff -r tree out/tree && diff -r tree zout/tree && echo same
(cd tree && tar -cS .) | (mkdir piped && cd piped && tar -xf -) && diff -r tree piped && echo piped
"""

COMPILER = """\
printf '#include <stdio.h>\\nint main(void) { puts("compiled"); return 4; }\\n' > p.c
cc -O1 -c p.c -o p.o && cc -pipe p.o -o p && ./p; echo $?
cc -static p.o -o p.static && ./p.static; echo $?; exit 4
"""

MAKE = """\
for i in 1 2 3 4 5 6 7 8; do echo "int f$i(void) { return $i; }" > f$i.c; done
printf 'int f3(void);\\nint main(void) { return f3() - 3; }\\n' > main.c
printf 'all: app\\napp: $(patsubst %%.c,%%.o,$(wildcard *.c))\\n\\t$(CC) -o $@ $^\\n' > Makefile
make -s -j4 && ./app && make -q && echo built
"""

FORTRAN = """\
cat > p.f90 <<END
program p
  integer :: i, s = 0, v
  open (10, file = 'numbers', form = 'unformatted', access = 'stream')
  do i = 1, 1000
    write (10) i * i
  end do
  rewind (10)
  do i = 1, 1000
    read (10) v
    s = s + v
  end do
  close (10)
  open (11, file = 'text'); write (11, '(a, i0)') 'sum ', s; close (11)
  print '(i0)', s
end program
END
gfortran -O1 p.f90 -o p && ./p
"""

HDF5 = """\
h5dump -d /group/values in.h5 | tail -n 20; h5ls -r in.h5; h5stat in.h5 | head -5
h5copy -i in.h5 -o copy.h5 -s /group -d /other && h5diff in.h5 copy.h5 /group /other && echo copied
h5repack -f GZIP=6 -l CHUNK=16x16 in.h5 small.h5 && h5diff in.h5 small.h5 && echo repacked
h5dump -p -H small.h5; h5dump -o values.txt -y -d /group/values small.h5
h5import in.bin -c conf -o again.h5 && h5diff -v in.h5 again.h5; echo $?
h5dump -d /group/nothing in.h5 2>&1 | grep -c unable; h5dump in.bin 2>&1 | grep -c unable
"""

COMPRESSION = """\
seq 300000 > in && for p in "gzip -9n" "bzip2" "xz -1 -T2 --block-size=256KiB" "zstd -q -T2"; do
set -- $p; "$@" -kc in > in.$1 && "$@" -dc in.$1 | cmp - in && "$@" -t in.$1 2>&1 && echo $1; done
gzip -n in; ls; zstd -q --rm -T2 in.bzip2
"""

SQLITE = """\
sqlite3 a.db 'create table t (a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
insert into t select i, hex(i * 7919) from n; create index x on t (b); delete from t where a % 3 = 0;
select count(*), sum(a) from t;'
sqlite3 a.db .dump > dump.sql && sqlite3 b.db < dump.sql && sqlite3 b.db 'pragma integrity_check'
sqlite3 a.db vacuum '.backup c.db' 'select max(b) from t where b < "5"'
sqlite3 a.db 'pragma mmap_size = 1000000; select sum(length(b)) from t' & wait
"""

PERL = """\
perl -e 'open(F, ">", "f") or die; print F "$_\\n" for 1 .. 5000; close F;
open(F, "+<", "f"); seek(F, 100, 0); read(F, $x, 20); print $x; truncate(F, 9000); close F;
open(P, "-|", "sort -rn f"); my @l = <P>; close P; print scalar(@l), " $l[0]";
if (my $p = fork) { waitpid $p, 0; print $? >> 8, "\\n" } else { open(G, ">g"); print G "x"; exit 9 }
rename "g", "h"; print -s "h", "\\n"; kill "TERM", $$ if 0; system("echo by system; exit 3");
print $? >> 8, "\\n"; local @ARGV = ("f"); local $^I = ".bak"; while (<>) { s/1/one/; print }'
"""

FILES = """\
seq 20000 > big; split -l 3000 -d big part.; cat part.* | cmp - big && echo split
sort -S 64k --parallel=2 -r -o sorted big; tail -n 2 sorted; sed -i 's/7/seven/' part.00
cp -a --sparse=always . ../copied 2>/dev/null; find . -name 'part.*' -print0 | sort -z |
xargs -0 -n 2 -P 1 wc -l; find . -type f -name 'part.0[12]' -exec cksum {} + | sort
find . -name 'part.*' | xargs -P 4 -n 1 sh -c 'tr 0-9 a-j < "$1" > "$1.letters"' sh
dd if=big of=copy bs=1000 status=none; dd if=big of=direct bs=4096 count=4 oflag=direct status=none
dd if=direct iflag=direct bs=4096 status=none | cksum; dd if=big of=copy seek=1 conv=notrunc status=none
awk '{ print > ("mod." $1 % 3) } END { close("mod.0"); while (getline l < "mod.0") n++; print n }' big
( flock 9; echo locked ) 9> lock; timeout 0.2 sleep infinity; echo $?; install -m 600 big installed
mktemp -p . temporary.XXXXXX > /dev/null; rm -f temporary.*; rm -rf ../copied; tee < big a b | wc
"""

RSYNC = """\
rsync -a --no-whole-file tree/ mirror/ && seq 777 > tree/f2 && rm tree/f5
rsync -a --checksum --delete --inplace --no-whole-file tree/ mirror/ && diff -r tree mirror && echo same
rsync -a --list-only --no-times tree/ | awk '{ print $1, $2, $5 }' | sort
"""

CMAKE = """\
printf 'project(p C)\\ncmake_minimum_required(VERSION 3.20)\\nadd_executable(p p.c)\\n' > CMakeLists.txt
printf 'int main(void) { return 0; }\\n' > p.c
cmake -G Ninja -S . -B build -Wno-dev > /dev/null && ninja -C build > /dev/null && build/p; echo $?
"""

NODE = """\
const fs = require("fs"), cp = require("child_process");
fs.writeFileSync("a", "x".repeat(100000));
Promise.all([...Array(20).keys()].map(i => fs.promises.writeFile("f" + i, "y".repeat(i * 1000))))
  .then(() => fs.promises.readFile("f7")).then(d => console.log(d.length))
  .then(() => console.log(cp.execSync("wc -c < f9").toString()))
  .then(() => fs.createReadStream("a").pipe(fs.createWriteStream("b"))
    .on("close", () => console.log(fs.statSync("b").size)));
"""

H5PY = """\
import h5py, numpy
with h5py.File("a.h5", "w") as file:
    data = file.create_dataset("d", data=numpy.arange(100000.0).reshape(100, 1000), chunks=(10, 100),
                               compression="gzip")
    file.create_group("g").attrs["x"] = 5
with h5py.File("a.h5", "r+") as file:
    file["d"][3, :] = 7
    print(float(file["d"][:].sum()), file["g"].attrs["x"])
with h5py.File("m.h5", "w", driver="core") as file: file["x"] = numpy.ones(10)
m = numpy.memmap("map", dtype="i4", mode="w+", shape=(1000,)); m[:] = 3; m.flush()
numpy.save("n.npy", numpy.arange(10)); print(numpy.load("n.npy", mmap_mode="r").sum())
"""


@functools.cache
def hdf5File():
    """One for all runs: it holds the time at which it was made."""
    with WorkDirectory() as directory:
        writeImported(directory)
        subprocess.run(["h5import", "in.bin", "-c", "conf", "-o", "in.h5"], cwd=directory,
                       check=True)
        with open(os.path.join(directory, "in.h5"), "rb") as file:
            return file.read()


def writeHdf5(directory):
    writeImported(directory)
    with open(os.path.join(directory, "in.h5"), "wb") as file:
        file.write(hdf5File())


def writeImported(directory):
    with open(os.path.join(directory, "in.bin"), "wb") as file:
        for i in range(64 * 64):
            file.write(struct.pack("<d", i * 0.5))
    with open(os.path.join(directory, "conf"), "w", encoding="utf-8") as file:
        file.write("PATH group/values\nINPUT-CLASS FP\nINPUT-SIZE 64\nRANK 2\n"
                   "DIMENSION-SIZES 64 64\nOUTPUT-CLASS FP\nOUTPUT-SIZE 64\n")


def writeTree(directory):
    subprocess.run(["sh", "-ec", TREE], cwd=directory, check=True)


def writeNode(directory):
    with open(os.path.join(directory, "p.js"), "w", encoding="utf-8") as file:
        file.write(NODE)


def fioTotals(out):
    """Times vary; what was moved, and that the verification found no error, does not."""
    text = out.decode()
    jobs = json.loads(text[text.index("{"):])["jobs"]
    return [(job["jobname"], job["error"],
             *((job[way]["total_ios"], job[way]["io_bytes"], job[way]["short_ios"])
               for way in ("read", "write", "trim"))) for job in jobs]


def fio(engine, *options):
    return [shutil.which("fio"), f"--name={engine}", f"--filename={engine}.data",
            f"--ioengine={engine}", "--rw=randrw", "--bs=4k", "--size=1m", "--randseed=7",
            "--allrandrepeat=1", "--output-format=json", *options]


def scriptOf(needed, script, shell="sh"):
    """The command, with None in it when the program that the case is about is not there."""
    return [shutil.which(needed) and shell, "-c", script]


def fioCases():
    for engine in ("psync", "mmap", "posixaio"):
        # The header that is verified holds the time of its writing.
        yield Case(f"fio {engine} verified", fio(engine, "--verify=crc32c", "--fsync=32"),
                   without=["*.data", "*.state"], normal=fioTotals)
        yield Case(f"fio {engine} pattern",
                   fio(engine, "--buffer_pattern=0x5ca1ab1e", "--numjobs=2", "--offset_increment=1m",
                       "--thread"), normal=fioTotals)


def pythonCases(directory):
    yield Case("python", [sys.executable, WORKERS, directory])
    system = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else None
    if system != os.path.realpath(sys.executable):
        yield Case("python of the system", [system, WORKERS, directory])
    has = [module for module in ("mpi4py", "h5py")
           if system and subprocess.run([system, "-c", f"import {module}"], check=False,
                                        stderr=subprocess.DEVNULL).returncode == 0]
    yield Case("mpi4py", [system if "mpi4py" in has else None, MPI4PY, directory], ranks=RANKS)
    yield Case("h5py", [system if "h5py" in has else None, "-c", H5PY])


def allCases(directory):
    yield Case("tar", scriptOf("tar", TAR), prepare=writeTree)
    # The index holds times and inode numbers, the logs the time of the clone; packs are compared
    # by what git says of them.
    yield Case("git", scriptOf("git", GIT),
               env={"GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z", "HOME": directory,
                    "GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z", "GIT_CONFIG_NOSYSTEM": "1"},
               without=("*/.git/index", "*/.git/logs/*", "*/.git/objects/*"))
    yield Case("compiler", scriptOf("cc", COMPILER))
    yield Case("make", scriptOf("make", MAKE))
    yield Case("cmake", scriptOf("cmake", CMAKE), without=("build/*",))
    yield Case("gfortran", scriptOf("gfortran", FORTRAN))
    yield Case("fortran_io", [program("fortran_io"), directory])
    # Files of HDF5 hold the time at which an object was made.
    yield Case("hdf5 tools", scriptOf("h5dump", HDF5), prepare=writeHdf5,
               without=("small.h5", "again.h5"))
    yield from fioCases()
    yield Case("compression", scriptOf("zstd", COMPRESSION))
    yield Case("sqlite3", scriptOf("sqlite3", SQLITE))
    yield Case("perl", scriptOf("perl", PERL))
    yield Case("file tools", scriptOf("sh", FILES))
    yield Case("rsync", scriptOf("rsync", RSYNC), prepare=writeTree)
    yield Case("node", [shutil.which("node"), "p.js"], prepare=writeNode)
    yield Case("java", [shutil.which("javac") and shutil.which("java"), JAVA])
    yield from pythonCases(directory)
    yield Case("cxx_threads", [program("cxx_threads"), directory])
    yield Case("cxx_openmp", [program("cxx_openmp"), directory])
    yield Case("c_mpi_threads", [program("c_mpi_threads"), directory], ranks=RANKS)
    lmp = shutil.which("lmp")
    lammps = [lmp, "-in", "in.melt", "-log", "none", "-screen", "none"]
    yield Case("lammps", lammps, ranks=RANKS, prepare=writeMelt)
    yield Case("lammps alone", lammps, prepare=writeMelt)


def stracedCases(directory):
    """Of one program each, without a shell, which opens files that no tracer sees it open."""
    yield Case("strace tar c", ["tar", "cf", "all.tar", "tree"], prepare=writeTree)
    if shutil.which("h5repack"):
        yield Case("strace h5repack", ["h5repack", "-f", "GZIP=6", "-l", "CHUNK=16x16", "in.h5",
                                       "small.h5"], prepare=writeHdf5)
        yield Case("strace h5copy", ["h5copy", "-i", "in.h5", "-o", "copy.h5", "-s", "/group",
                                     "-d", "/other"], prepare=writeHdf5)
        yield Case("strace h5diff", ["h5diff", "in.h5", "in.h5"], prepare=writeHdf5)
    if shutil.which("fio"):
        yield Case("strace fio psync", fio("psync", "--verify=crc32c", "--fsync=32"))
    if shutil.which("sqlite3"):
        yield Case("strace sqlite3", ["sqlite3", "a.db", "create table t (a); insert into t values "
                                      "(1), (2); pragma journal_mode = wal; insert into t select "
                                      "a + 2 from t; vacuum; select * from t"])
    yield Case("strace python", [sys.executable, "-S", WORKERS, directory, "threads",
                                 "pools", "mappings", "database", "child"], status=5)
