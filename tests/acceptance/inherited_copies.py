"""Descriptors that processes copy and hand on in each way there is: replays share positions as the
application did, and leave files as long as it did.

  inherited_copies.py [CASE]
"""

import json
import os
import sys

import random_turns
from omnio_testing import Checks, WorkDirectory, mpirun, program, run, skipTest
from replay_testing import checkReplays

COPIES = ("none", "dup", "dup2", "dup3", "dupfd", "dupfd_cloexec")
WAYS = ("fork", "grandchild", "exec", "vfork", "spawn", "rights", "pidfd")
TURNS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs", "turns.py")
PROGRAMS = 20  # at random
A_RUN = 5      # of them


def allWays(checks, work):
    """One program after the other, each in a directory of its own: a shell starts them."""
    ways = list(WAYS)
    # Containers and Yama may forbid it.
    if run([program("c_copies"), "none", "pidfd"], cwd=work).status != 0:
        checks.skip("pidfd", "a process may not fetch another one's descriptor here")
        ways.remove("pidfd")
    script = "set -e; " + "; ".join(
        f"mkdir {copy}.{way}; cd {copy}.{way}; {program('c_copies')} {copy} {way}; cd .."
        for copy in COPIES for way in ways)
    checkReplays(checks, work, "ways", ["sh", "-c", script], replays=2)


def lengths(checks, work):
    """A file is cut, another process makes it long again, and the first one reads what lies before the end,
    at it, and looks where it is."""
    steps = random_turns.Steps()
    number = 0
    for cutter in (["truncate", "f", 10], ["truncate", "f", 0], ["cut", "", 10], ["open", "g", "", os.O_RDWR | os.O_TRUNC]):
        for grower in (["pwrite", "f", 1000, 100000], ["allocate", "f", 100000, 1000], ["truncate", "f", 101000],
                       ["seek", "f", 100000, 0]):
            number += 1
            path = f"l{number}"
            steps.add(0, "open", "f", path, os.O_RDWR | os.O_CREAT)
            steps.add(0, "pwrite", "f", 200000, 0)
            child = steps.fork(0)
            steps.add(0, *[path if word == "" else word for word in cutter])
            steps.add(child, "open", "f", path, os.O_RDWR)
            steps.add(child, *grower)
            if grower[0] == "seek":
                steps.add(child, "write", "f", 1000)
            steps.add(0, "pread", "f", 1000, 150000)
            steps.add(0, "pread", "f", 1000, 50000)
            steps.add(0, "pread", "f", 5000, 100000)
            steps.add(0, "seek", "f", 0, os.SEEK_END)
            steps.add(child, "truncate", "f", 60000)
            steps.add(0, "pread", "f", 20000, 50000)
    checkReplays(checks, work, "lengths", [sys.executable, "-S", "-E", TURNS], replays=5,
                 stdin=json.dumps(steps.document()).encode())


def atRandom(checks, work, seed):
    steps = random_turns.Steps()
    for number in range(seed, seed + A_RUN):
        random_turns.addCopies(steps, number)
    checkReplays(checks, work, f"random{seed}", [sys.executable, "-S", "-E", TURNS], replays=1,
                 stdin=json.dumps(steps.document()).encode())


def main():
    if mpirun(1) is None:
        skipTest("there is no MPI")
    cases = {"ways": allWays, "lengths": lengths}
    at_random = {}
    for seed in range(0, PROGRAMS, A_RUN):
        at_random[f"random{seed}"] = lambda checks, work, seed=seed: atRandom(checks, work, seed)
    for copy in ("none", "dupfd_cloexec"):
        for way in ("fork", "rights"):
            command = [program("c_copies"), copy, way]
            cases[f"{copy}.{way}"] = lambda checks, work, name=f"{copy}.{way}", command=command: \
                checkReplays(checks, work, name, command)
    checks = Checks()
    with WorkDirectory() as work:
        for name in (at_random if sys.argv[1:] == ["random"] else sys.argv[1:] or cases):
            with checks.case(name):
                if name.startswith("random"):
                    atRandom(checks, work, int(name[6:]))
                else:
                    cases[name](checks, work)
    checks.finish()


main()
