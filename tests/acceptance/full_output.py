"""Standard output is full: every command ends with status 1 and says so in one sentence.

  full_output.py
"""

import os
import shutil
import subprocess

from omnio_testing import (PATIENCE_S, Checks, WorkDirectory, emptied, environment, mpirun, omnio,
                           program, run, trace)
from replay_testing import MPI_ENVIRONMENT
from run_account import inOwnMemory

SENTENCE = b"omnio: standard output: No space left on device\n"


def made(checks, work):
    """{name: command}: each command that prints, on documents that it takes."""
    recorded, directory = os.path.join(work, "trace"), emptied(os.path.join(work, "run"))
    result = trace(recorded, [program("c_posix"), directory])
    checks.equal(result.status, 0, f"a trace: {result.err!r}")
    path = {name: os.path.join(work, name) for name in
            ("schedule.json", "model.json", "results.json", "copy", "replayed", "scripts")}

    def make(*words):
        done = run([omnio(), *words], env=environment(**MPI_ENVIRONMENT))
        checks.equal(done.status, 0, f"{words[0]}: {done.err!r}")

    make("preprocess", recorded, "-o", path["schedule.json"])
    make("phases", recorded, "-o", path["model.json"])
    commands = {
        "no command": ["--help"], "version": ["--version"], "help": ["stats", "--help"],
        "settings": ["trace", "--dump-config"],
        "log": ["log", recorded], "log as JSON": ["log", recorded, "--json"],
        "log of MPI": ["log", recorded, "--mpi"],
        "stats": ["stats", recorded], "stats as JSON": ["stats", recorded, "--json"],
        "collect": ["collect", recorded], "orphans": ["collect", "--orphans"],
        "pack": ["pack", shutil.copytree(recorded, path["copy"])],
        "phases": ["phases", recorded], "phases as JSON": ["phases", recorded, "--json"],
        "preprocess": ["preprocess", recorded, "-o", path["schedule.json"]],
        "ior": ["ior", path["model.json"]], "ior as JSON": ["ior", path["model.json"], "--json"],
        "ior scripts": ["ior", path["model.json"], "--emit", path["scripts"]]}
    if mpirun(1) is not None:
        make("replay", path["schedule.json"], "--target", os.path.join(work, "target"), "-o",
             path["replayed"])
        commands["replay"] = ["replay", path["schedule.json"], "--target",
                              os.path.join(work, "again"), "-o", os.path.join(work, "again.out")]
        commands["verify"] = ["verify", path["schedule.json"], path["replayed"]]
        commands["verify as JSON"] = [*commands["verify"], "--json"]
        runner = os.environ.get("OMNIO_TEST_PHASE_RUN")
        if runner is not None:
            target = emptied(os.path.join(work, "phases"))
            measured = run([*mpirun(1), runner, path["model.json"], "--target", target, "-o",
                            path["results.json"]])
            checks.equal(measured.status, 0, f"omnio-phase-run: {measured.err!r}")
            commands["estimate"] = ["estimate", path["model.json"], path["results.json"]]
            commands["estimate as JSON"] = [*commands["estimate"], "--json"]
    return commands


def main():
    own_memory = inOwnMemory()
    checks = Checks()
    with WorkDirectory() as work:
        for name, words in made(checks, work).items():
            if name == "orphans" and not own_memory:
                checks.skip(name, "it would take the rings of other tests: no /dev/shm of its own")
                continue
            with open("/dev/full", "wb") as full:
                ended = subprocess.run([omnio(), *words], stdout=full, stderr=subprocess.PIPE,
                                       env=environment(**MPI_ENVIRONMENT), cwd=work, check=False,
                                       timeout=PATIENCE_S)
            print(f"{name}: status {ended.returncode}, {ended.stderr!r}")
            checks.equal((ended.returncode, ended.stderr), (1, SENTENCE), name)
    checks.finish()


if __name__ == "__main__":
    main()
