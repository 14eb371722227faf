"""Output, exit status and files are the same with and without the tracer, for each flavour.

  same_behaviour.py [CASE...]    all cases by default
"""

import os
import re
import shutil
import sys

from compare_strace import EXITS, MPI, RANKS, SERIAL, writeMelt
from omnio_testing import (FLAVOURS, Checks, WorkDirectory, differences, emptied, environment,
                           mpirun, omnio, program, readLog, run, treeOf)

PYTHON = """\
import mmap, os, subprocess, sys, tempfile, threading
def work(number):
    with open(f"file.{number}", "w") as file:
        for line in range(1000):
            print(number, line, file=file)
threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
[t.start() for t in threads]; [t.join() for t in threads]
print(subprocess.run(["sort", "-rn", "file.3"], capture_output=True, check=True).stdout[:20])
print(subprocess.run("cat file.1 | wc -l > lines; cat lines; exit 7", shell=True).returncode)
with open("mapped", "w+b") as file:
    file.truncate(8192)
    with mmap.mmap(file.fileno(), 0) as mapped:
        mapped[4000:4004] = b"word"
with tempfile.TemporaryFile(dir=".") as file:
    file.write(b"x" * 100000); file.seek(5); print(len(file.read()))
if os.fork() == 0:
    open("child", "w").write("child"); os._exit(3)
print(os.waitstatus_to_exitcode(os.wait()[1]))
print(sorted(int(fd) for fd in os.listdir("/proc/self/fd"))[:4])
sys.exit(5)
"""

# Of the descriptors, the low numbers are compared: the tracer keeps one from 1000 on for its log.
SHELL = """\
seq 1 20000 | sort -r | tee copy.txt | wc -l > count.txt; cat count.txt
exec 7> by_number; echo one >&7; (echo two >&7); exec 7>&-
while read -r a rest; do echo "$a$rest"; done < by_number >> read_back
cat <<END > here
$(head -3 copy.txt)
END
sh -c 'trap "echo caught > trapped" TERM; kill -TERM $$; echo after' & wait
env -i /bin/sh -c 'echo clean > clean; env | sort | grep -v -e PWD -e SHLVL -e ^_='
for i in 1 2 3; do (sleep 0.01; echo $i > background.$i) & done; wait; cat background.*
ls /proc/self/fd | awk '$1 < 100'; exit 6
"""

GIT = """\
git init -q source && cd source && git config user.name n && git config user.email n@example.org
for i in 1 2 3 4 5 6 7 8; do mkdir -p d$i; seq 1 $((i * 300)) > d$i/f; git add .;
git commit -q -m "commit $i" --date "2020-01-01T00:00:00Z"; done
cd .. && git clone -q --no-hardlinks source cloned && cd cloned && git fsck --full 2>&1
git status --short; git log --format=%H | sed -n 1p; git count-objects; git gc -q; git log --oneline
"""

TAR = """\
mkdir tree && for i in 1 2 3 4 5; do seq 1 ${i}000 > tree/f$i; ln -s f$i tree/l$i; done
ln tree/f1 tree/hard; truncate -s 1M tree/sparse
tar --sort=name --mtime=@0 -cf all.tar tree && tar --sort=name --mtime=@0 -czf all.tgz tree
mkdir out zout && tar -xf all.tar -C out && tar -xzf all.tgz -C zout && tar -tf all.tgz
diff -r tree out/tree && diff -r tree zout/tree && echo same
"""

COMPILER = """\
printf '#include <stdio.h>\\nint main(void) { puts("compiled"); return 4; }\\n' > p.c
cc -O1 -c p.c -o p.o && cc p.o -o p && ./p
"""

HOSTILE = ["plain", "close_each", "close_range", "closefrom", "chdir", "umask", "limits", "user",
           "root", "clearenv", "fork"]
HOSTILE_CALLS = 20000


class Case:
    def __init__(self, name, command, ranks=0, env=None, prepare=None, without=()):
        self.name, self.command, self.ranks, self.env = name, command, ranks, env or {}
        self.prepare, self.without = prepare, without


def allCases(directory):
    for name in SERIAL:
        yield Case(name, [program(name), directory])
    for mode in EXITS:
        yield Case(f"c_exit {mode}", [program("c_exit"), directory, mode],
                   env={"EARLY_DIRECTORY": directory})
    for mode in HOSTILE:
        if os.geteuid() == 0 or mode not in ("user", "root"):
            yield Case(f"c_hostile {mode}",
                       [program("c_hostile"), directory, mode, str(HOSTILE_CALLS)])
    yield Case("shell", ["sh", "-c", SHELL])
    yield Case("bash", [shutil.which("bash"), "-c", SHELL])
    yield Case("python", [sys.executable, "-c", PYTHON])
    yield Case("tar", ["sh", "-c", TAR])
    yield Case("compiler", [shutil.which("cc") and "sh", "-c", COMPILER])
    # The index holds times and inode numbers, the logs the time of the clone; packs are compared
    # by what git says of them.
    yield Case("git", [shutil.which("git") and "sh", "-c", GIT],
               env={"GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z", "HOME": directory,
                    "GIT_CONFIG_NOSYSTEM": "1"},
               without=("*/.git/index", "*/.git/logs/*", "*/.git/objects/*"))
    for name in MPI:
        yield Case(name, [program(name), directory], ranks=RANKS)
    yield Case("lammps", [shutil.which("lmp"), "-in", "in.melt", "-log", "none", "-screen",
                          "none"], ranks=RANKS, prepare=writeMelt)


def runCase(case, directory, wrapper):
    emptied(directory)
    os.chmod(directory, 0o777)  # a case gives up its privileges
    if case.prepare:
        case.prepare(directory)
    command = [*(mpirun(case.ranks) if case.ranks else []), *wrapper, *case.command]
    result = run(command, cwd=directory, env=environment(**case.env))
    return result, treeOf(directory, case.without)


def checkHostileEvents(checks, case, flavour, trace_directory):
    """Here the events are counted as well: what is not noticed must not be lost either."""
    writes = sum(1 for event in readLog(trace_directory)
                 if event["class"] == "write" and event["call"].startswith("pwrite"))
    processes = 4 if case.name.endswith(" fork") else 1
    checks.equal(writes, processes * HOSTILE_CALLS, f"{case.name} under {flavour}: writes recorded")


def compareCase(checks, case, flavours, work, directory):
    if None in case.command or (case.ranks and mpirun(case.ranks) is None):
        checks.skip(case.name, "the program or the MPI launcher is not there")
        return
    wanted, wanted_files = runCase(case, directory, [])
    seconds = [f"untraced {wanted.seconds:.2f}"]
    for flavour in flavours:
        trace_directory = os.path.join(work, re.sub(r"\W", "-", f"{case.name} {flavour}"))
        got, files = runCase(case, directory, [omnio(), "trace", "-o", trace_directory,
                                               "--flavour", flavour, "--"])
        what = f"{case.name} under {flavour}"
        same = checks.equal(got.status, wanted.status, f"{what}: exit status")
        same &= checks.equal(got.out, wanted.out, f"{what}: output")
        same &= checks.equal(got.err, wanted.err, f"{what}: standard error")
        same &= checks.that(files == wanted_files,
                            f"{what}: files: {differences(files, wanted_files)}")
        if same and case.name.startswith("c_hostile"):
            checkHostileEvents(checks, case, flavour, trace_directory)
        seconds.append(f"{flavour} {got.seconds:.2f}")
        shutil.rmtree(trace_directory, ignore_errors=True)
    print(f"{case.name}: status {wanted.status}, {len(wanted.out)} bytes of output, "
          f"{len(wanted_files)} files; seconds: {', '.join(seconds)}", flush=True)


def main(wanted):
    checks = Checks()
    with WorkDirectory() as work:
        os.chmod(work, 0o755)
        directory = os.path.join(work, "run")
        flavours = [flavour for flavour in FLAVOURS if hasFlavour(checks, flavour)]
        for case in allCases(directory):
            if not wanted or case.name in wanted:
                with checks.case(case.name):
                    compareCase(checks, case, flavours, work, directory)
    checks.finish()


def hasFlavour(checks, flavour):
    """A build without MPI has no MPI flavours."""
    path = os.path.join(os.environ.get("OMNIO_TEST_LIBRARIES", ""), f"libomnio_{flavour}.so")
    if not os.path.exists(path):
        checks.skip(f"flavour {flavour}", "not part of this build")
        return False
    return True


if __name__ == "__main__":
    main(sys.argv[1:])
