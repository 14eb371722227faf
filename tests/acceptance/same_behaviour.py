"""Output, exit status and files are the same with and without the tracer, in one flavour or another
(OMNIO_TEST_ALL=yes: in each): the project's own programs, which do what is hard to trace, and shells.
real_programs.py has other people's.

  same_behaviour.py [CASE...]    all cases by default
"""

import os
import shutil
import sys

from behaviour import Case, compareCases, flavoursHere
from compare_strace import EXITS, MPI, RANKS, SERIAL
from omnio_testing import Checks, WorkDirectory, byTurns, program, readLog

# The low numbers of descriptors are compared: the tracer keeps a high one for its log.
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

HOSTILE = ["plain", "close_each", "close_range", "closefrom", "chdir", "umask", "limits", "user",
           "root", "clearenv", "fork"]
HOSTILE_CALLS = 20000


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
    for name in MPI:
        yield Case(name, [program(name), directory], ranks=RANKS)


def hostileJudge(checks):
    """Here the events are counted as well: what is not noticed must not be lost either."""

    def judge(case, flavour, trace_directory):
        if not case.name.startswith("c_hostile"):
            return
        writes = sum(1 for event in readLog(trace_directory)
                     if event["class"] == "write" and event["call"].startswith("pwrite"))
        processes = 4 if case.name.endswith(" fork") else 1
        checks.equal(writes, processes * HOSTILE_CALLS,
                     f"{case.name} under {flavour}: writes recorded")

    return judge


def main(wanted):
    checks = Checks()
    with WorkDirectory() as work:
        os.chmod(work, 0o755)
        flavours = flavoursHere(checks)
        compareCases(checks, allCases(os.path.join(work, "run")), wanted,
                     lambda number: byTurns(number, flavours), work, hostileJudge(checks))
    checks.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
