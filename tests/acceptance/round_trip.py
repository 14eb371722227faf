"""Real programs, all the way: traced, made a schedule, replayed into a fresh tree, verified. The
replay leaves the files that the program left, of the same sizes, with the same links, and verify
finds no difference.

The programs are those of a base Debian, and LAMMPS where there is one. Shells are not recorded, so
what a case writes, it writes with a program.
"""

import os
import shutil
import stat
import subprocess
import sys

from omnio_testing import (Checks, WorkDirectory, emptied, environment, mpirun, omnio, program, readLog, run,
                           trace)
from replay_testing import MPI_ENVIRONMENT, replay

HERE = os.path.dirname(os.path.abspath(__file__))
MELT = os.path.join(HERE, "..", "..", "configs", "demo", "in.melt")
GIT = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
       for what, value in (("NAME", "nobody"), ("EMAIL", "nobody@localhost"))}
SOURCES = """mkdir -p src/sub/deep src/empty && seq 60000 > src/big && seq 20 > src/sub/few
             ln src/big src/sub/hard && ln -s few src/sub/link && ln -s ../sub src/empty/up
             : > src/sub/nothing && ln -s /nowhere src/dangling"""

PYTHON = """
import os, shelve, shutil, tempfile, threading
with open("in.txt") as file: lines = file.readlines()
with open("out.txt", "w") as file: file.writelines(reversed(lines))
with open("out.txt", "a") as file: file.write("x" * 100)
os.rename("out.txt", "final.txt"); os.symlink("final.txt", "link"); os.link("final.txt", "hard")
open("link").read(); open("hard", "a").write("yy")
with open("bytes", "r+b") as file:
    file.seek(50000); file.write(b"q" * 10); file.seek(0, 2); file.write(b"z" * 20)
    file.seek(10); file.read(30); file.truncate(90000)
os.truncate("hard", 500)
for attempt in range(2):
    try: os.close(os.open("once", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError: pass
for fails in (lambda: os.stat(""), lambda: open(""), lambda: os.symlink("", "never"), lambda: os.mkdir(""),
              lambda: os.rename("once", ""), lambda: os.chmod("", 0o700), lambda: os.chdir("")):
    try: fails()
    except FileNotFoundError: pass
os.makedirs("a/b/c"); open("a/b/c/f", "wb").write(b"k" * 5000)
shutil.copy("a/b/c/f", "a/g"); shutil.copytree("a", "a2"); shutil.rmtree("a/b"); os.rename("a", "a3")
open("a3/g", "ab").write(b"k" * 7)
with tempfile.NamedTemporaryFile(dir=".") as file: file.write(b"abc"); file.flush()
with tempfile.TemporaryFile(dir=".") as file: file.write(b"abc" * 1000); file.seek(0); file.read()
with shelve.open("shelf") as shelf:
    for i in range(50): shelf[str(i)] = list(range(i))
os.mkdir("dir"); os.chdir("dir"); open("x", "w").write("1"); open("../y", "w").write("22"); os.chdir("..")

def work(number):
    with open(f"own{number}", "w") as file:
        for i in range(200): file.write(f"line {i}\\n")
    for i in range(20): os.pwrite(shared, os.pread(given, 500, (number * 20 + i) * 500),
                                  (number * 20 + i) * 500)
given, shared = os.open("bytes", os.O_RDONLY), os.open("shared", os.O_RDWR | os.O_CREAT)
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
os.fsync(shared); [open(f"own{i}").read() for i in range(4)]

log, one = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_APPEND), os.open("one", os.O_RDWR | os.O_CREAT)
os.write(one, b"0" * 100)
for child in range(4):
    if os.fork() == 0:
        for i in range(20): os.write(log, b"child %d %d\\n" % (child, i))
        os.write(one, b"1" * 50)
        os._exit(0)
for child in range(4): os.wait()
os.write(one, b"end"); os.lseek(one, 0, os.SEEK_SET); os.read(one, 1000); open("log").read()
"""

SHELL = """seq 2000 > a; sort -rn < a > b; sort -n a b > c; head -n 10 c >> d; tail -n 5 c >> d
mkdir e; seq 5 > e/f; dd if=e/f of=e/g; mv e h; dd if=/dev/zero of=h/f bs=1k count=3; rm h/f
sort h/g > i; ln -s i j; seq 7 > k; ( seq 3; seq 9 ) > l; sort -o k k
for n in 1 2 3; do seq $n >> m & done; wait; sort -n m > n; seq 100 | dd of=o bs=64; rm b"""

DD = """dd if=in of=one bs=4096 count=10; dd if=in of=one bs=1000 seek=5 count=3 conv=notrunc
dd if=in of=one bs=64k oflag=append conv=notrunc count=2; dd if=in of=two bs=10000 skip=3 conv=fsync
dd if=/dev/zero of=hole bs=1 count=0 seek=1M; dd if=one of=three conv=excl,swab; dd if=in of=one"""

CLONE = """git clone -q --no-hardlinks r copy && git clone -q "file://$PWD/r" other && git clone -q r linked
cd other && git checkout -q -b more && seq 77 > a && git commit -q -a -m three && git push -q origin more
cd ../copy && git pull -q origin more && git gc -q && git log --stat > ../log && git status > ../status"""

# Readers beside writers, in a log beside the database that all processes map. One process has it open
# until the others have ended: else the last one that closes it removes the log, while others look for it.
WAL = """sqlite3 db 'PRAGMA journal_mode=WAL; CREATE TABLE t (i INTEGER PRIMARY KEY, who, text);'
exec 3>&1
{ echo 'SELECT count(*) FROM t;'
  while [ ! -e db-wal ]; do sleep 0.05; done
  for who in 1 2 3; do (
    for i in 1 2 3 4 5 6 7 8; do
      sqlite3 -cmd '.timeout 240000' db "INSERT INTO t (who, text) VALUES ($who, hex(randomblob(2000)));"
      sqlite3 -cmd '.timeout 240000' db 'SELECT count(*), sum(length(text)) FROM t;'
    done ) >&3 & done; wait; } | sqlite3 db
sqlite3 db 'PRAGMA wal_checkpoint(TRUNCATE); VACUUM;'"""

# name, how its directory is prepared, command, statuses of the replay. git finds its position in a
# file that it reads with getc_unlocked, which is not a call: in the replay, ftell tells another one.
CASES = (
    ("tar c", SOURCES, ["tar", "cf", "made.tar", "src"], (0,)),
    ("tar x", SOURCES + "\ntar cf made.tar src && rm -r src", ["tar", "xf", "made.tar"], (0,)),
    ("cp", SOURCES, ["cp", "-a", "src", "copy"], (0,)),
    ("python", "seq 1000 > in.txt; head -c 100000 /dev/urandom > bytes",
     [sys.executable, "-S", "-c", PYTHON], (0,)),
    ("shell", ":", ["sh", "-c", SHELL], (0,)),
    ("dd", "head -c 300000 /dev/urandom > in", ["sh", "-c", DD], (0,)),
    ("git", ":", ["sh", "-c", "git init -q r && cd r && seq 1000 > a && mkdir d && seq 5 > d/b && "
                  "git add . && git commit -q -m one && seq 9 >> a && git commit -q -a -m two"],
     (0, 3)),
    ("git clone", "git init -q r && cd r && seq 1000 > a && mkdir d && seq 5 > d/b && git add . && "
                  "git commit -q -m one && seq 9 >> a && git commit -q -a -m two", ["sh", "-e", "-c", CLONE],
     (0, 3)),
    ("sqlite3", ":", ["sh", "-c", WAL], (0,)),
    ("mixed layers", ":", [program("c_mixed")], (0,)),
)


def leadsTo(path, root):
    """Where a link leads, as a location: what lies outside of the application's directory, the
    replay has below @root."""
    target = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))
    below = os.path.relpath(target, root)
    return "@root" + target if below.startswith("..") else below


def treeOf(root):
    """{location: (type, size or target, links)} of all below a directory but @root, and the same
    with what changes when a file is written to."""
    tree, stamps = {}, {}
    for parent, folders, files in os.walk(root):
        if parent == root and "@root" in folders:
            folders.remove("@root")
        for name in folders + files:
            path = os.path.join(parent, name)
            facts = os.lstat(path)
            location = os.path.relpath(path, root)
            if stat.S_ISDIR(facts.st_mode):
                tree[location] = ("directory",)
            elif stat.S_ISLNK(facts.st_mode):
                tree[location] = ("link", leadsTo(path, root))
            else:
                tree[location] = ("file", facts.st_size, facts.st_nlink)
            stamps[location] = (tree[location], facts.st_ino) + (
                () if stat.S_ISDIR(facts.st_mode) else (facts.st_mtime_ns, facts.st_ctime_ns))
    return tree, stamps


def directoriesOf(traced, root):
    """Where calls of chdir led, by the trace."""
    return sorted(os.path.relpath(event["file"], root) for event in readLog(traced)
                  if event["call"] == "chdir" and not event["failed"])


def checkTree(checks, name, before, after, replayed):
    """Made or changed by the run: as the replay left it. Only read, or never touched: there as far
    as it was read, or not at all."""
    (_, was), (wanted, stamps), (got, _) = before, after, replayed
    compared = 0
    for location in sorted(set(wanted) | set(got)):
        untouched = location in wanted and was.get(location) == stamps[location]
        if untouched:
            known = got.get(location, ("file", 0))
            fits = (known[0] != "file" or wanted[location][0] != "file" or
                    known[1] <= wanted[location][1])
            checks.that(fits, f"{name}: {location}: {known} of {wanted[location]}")
            continue
        compared += 1
        checks.equal(got.get(location), wanted.get(location), f"{name}: {location}")
    checks.that(compared > 0, f"{name}: the run made something")
    return compared


def roundTrip(checks, work, name, prepare, command, timing="asap", statuses=(0,)):
    place = emptied(os.path.join(work, f"{name} {timing}".replace(" ", ".")))
    directory = emptied(os.path.join(place, "run"))
    subprocess.run(["sh", "-e", "-c", prepare], cwd=directory, check=True, env=environment(**GIT))
    recorded, made, again = (os.path.join(place, word) for word in ("trace", "made.json", "replay"))
    before = treeOf(directory)
    result = trace(recorded, command, cwd=directory, env=environment(**MPI_ENVIRONMENT, **GIT))
    checks.equal(result.status, 0, f"{name}: status, {result.err[-300:]!r}")
    after = treeOf(directory)
    result = run([omnio(), "preprocess", recorded, "-o", made, "--timing", timing,
                  "--map", f"{directory}=."])
    checks.equal(result.status, 0, f"{name}: preprocess, {result.err!r}")
    target = os.path.join(place, "target")
    result = replay(made, target, again)
    checks.that(result.status in statuses,
                f"{name}: replay, status {result.status}, {result.out[-900:]!r} {result.err[-300:]!r}")
    verified = run([omnio(), "verify", made, again])
    checks.equal(verified.status, 0, f"{name}: verify, {verified.out[-900:]!r} {verified.err!r}")
    checks.equal(directoriesOf(again, os.path.join(target, "tree")),
                 directoriesOf(recorded, directory), f"{name}: directories that it went to")
    compared = checkTree(checks, name, before, after, treeOf(os.path.join(target, "tree")))
    words = verified.out.decode(errors="replace").splitlines() or ["nothing verified"]
    print(f"{name}, {timing}: {words[-1]}; {compared} names of the tree compared", flush=True)


def main():
    checks = Checks()
    with WorkDirectory() as work:
        for name, prepare, command, statuses in CASES:
            if command[0] is None:
                checks.skip(name, "its program was not built")
                continue
            needed = name.split()[0] if name.startswith(("git", "sqlite")) else command[0]
            if shutil.which(needed) is None:
                checks.skip(name, f"no {needed} here")
                continue
            with checks.case(name):
                roundTrip(checks, work, name, prepare, command, statuses=statuses)
        launcher = mpirun(4)
        if launcher is None or shutil.which("lmp") is None:
            checks.skip("LAMMPS", "no lmp or no MPI launcher here")
        else:
            lammps = launcher + ["lmp", "-in", "in.melt", "-var", "steps", "100", "-var", "cells",
                                 "8", "-log", "none", "-screen", "none"]
            for timing in ("asap", "dt"):
                with checks.case(f"LAMMPS {timing}"):
                    roundTrip(checks, work, "LAMMPS", f"cp '{MELT}' in.melt", lammps, timing)
    checks.finish()


if __name__ == "__main__":
    main()
