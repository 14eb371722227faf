"""Names and directories that come to be in each way there is, also by what is not recorded: replays make
them when the application did, and leave the same tree.

  made_names.py [CASE]
"""

import json
import os
import sys

import random_turns
from omnio_testing import Checks, WorkDirectory, mpirun, program, skipTest
from replay_testing import checkReplays

TURNS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs", "turns.py")
PROGRAMS = 20  # at random
A_RUN = 5      # of them

# A shell's own writes are in no trace.
SHELL = {
    "new file in a new directory": "mkdir d; echo hi > d/new; cat d/new",
    "appended by a program": "mkdir d; echo hi > d/new; cat d/new >> d/two; cat d/two d/new",
    "directories of a shell": "mkdir -p d/e/f; echo hi > d/e/f/new; cat d/e/f/new; ls d/e",
    "made anew": "mkdir d; echo hi > d/new; cat d/new; rm d/new; echo longer > d/new; cat d/new",
    "made and moved": "mkdir d; echo hi > d/new; mv d e; cat e/new; mv e/new e/other; cat e/other",
    "made and removed": "mkdir d; echo hi > d/new; stat d/new; rm -r d; mkdir d; echo hi > d/new; cat d/new",
    "linked": "mkdir d; echo hi > d/new; ln d/new d/link; ln -s new d/soft; cat d/link d/soft",
    "directory that was there": "cat in/a; echo hi > in/b; cat in/b; rm -r in; mkdir in; echo x > in/a; cat in/a",
    "cut again": "mkdir d; seq 100 > d/f; seq 5 > d/f; cat d/f",
    "a link that moves": "mkdir d e; echo a > d/a; echo longer > e/a; ln -s a d/l; cat d/l; mv d/l e/l; cat e/l",
    "links in a directory that moves": "mkdir t t/s; seq 9 > t/a; ln -s a t/l; ln -s ../a t/s/l; mv t f; "
                                       "cat f/l f/s/l; ln -s f g; cat g/l",
}


def findsInputs(directory):
    os.mkdir(os.path.join(directory, "in"))
    with open(os.path.join(directory, "in", "a"), "w", encoding="utf-8") as file:
        file.write("an input\n")


def atRandom(checks, work, seed):
    steps = random_turns.Steps()
    for number in range(seed, seed + A_RUN):
        random_turns.addNames(steps, number)
    checkReplays(checks, work, f"random{seed}", [sys.executable, "-S", "-E", TURNS], replays=1,
                 stdin=json.dumps(steps.document()).encode())


def main():
    if mpirun(1) is None:
        skipTest("there is no MPI")
    cases = {}
    for name, script in SHELL.items():
        cases[name] = lambda checks, work, name=name, script=script: \
            checkReplays(checks, work, name.replace(" ", "_"), ["sh", "-c", script], replays=2,
                         before=findsInputs if "in/a" in script else None)
    for words in ((), ("x",), ("x", "y"), ("socket",)):
        name = " ".join(("c_made_names", *words))
        cases[name] = lambda checks, work, name=name, words=words: \
            checkReplays(checks, work, name.replace(" ", "_"), [program("c_made_names"), *words])
    for seed in range(0, PROGRAMS, A_RUN):
        cases[f"random{seed}"] = lambda checks, work, seed=seed: atRandom(checks, work, seed)
    checks = Checks()
    with WorkDirectory() as work:
        for name in sys.argv[1:] or cases:
            with checks.case(name):
                if name.startswith("random") and name not in cases:
                    atRandom(checks, work, int(name[6:]))
                else:
                    cases[name](checks, work)
    checks.finish()


main()
