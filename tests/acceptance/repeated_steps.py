"""Schedules with other numbers of time steps (`omnio preprocess --repeat-scale`): that of a program, scaled, is
that of the program run so, operation for operation, with all that operations wait for."""

import os
import shutil

from lammps_input import writeInput
from omnio_testing import Checks, WorkDirectory, emptied, environment, mpirun, omnio, program, run, trace
from replay_testing import MPI_ENVIRONMENT, replay, report
from scaled_testing import checkLate, checkSame, load

RANKS = 4
RECORD = 96
# Dumps of fixed width, and a step more than a multiple of 50 at the begin: twice the steps are twice the dumps.
DUMPS = """\
reset_timestep 1001
dump each all custom 50 dump.*.txt id x y z
dump_modify each sort id format line "%6d %12.6f %12.6f %12.6f"
dump one all custom 50 dump.all id vx
dump_modify one sort id format line "%6d %12.6f"
run {steps}
"""


def recorded(checks, work, name, command, ranks=RANKS, prepare=None):
    """The trace of a program, always in the same directory."""
    directory = emptied(os.path.join(work, "run"))
    if prepare:
        prepare(directory)
    result = os.path.join(work, f"{name}.trace")
    shutil.rmtree(result, ignore_errors=True)
    done = trace(result, [*(mpirun(ranks) if ranks else []), *command], cwd=directory,
                 env=environment(**MPI_ENVIRONMENT))
    checks.equal(done.status, 0, f"{name}: trace: {done}")
    return result


def scheduled(checks, work, name, directory, *options):
    path = os.path.join(work, f"{name}.json")
    made = run([omnio(), "preprocess", directory, "-o", path, *options])
    print(made.out.decode(), made.err.decode(), end="")
    checks.equal(made.status, 0, f"{name}: preprocess {options}: {made}")
    return path


def inputOf(records):
    def prepare(directory):
        with open(os.path.join(directory, "steps.in"), "wb") as data:
            data.write(bytes(records * RECORD))
    return prepare


def dumps(steps):
    def prepare(directory):
        writeInput(directory, DUMPS.format(steps=steps))
    return prepare


def cases(work):
    """(name, command of so many steps, fewer, more, layer, what prepares its directory for so many, whether the
    order is the same in each run)"""
    directory = os.path.join(work, "run")
    yield ("c_mpi_turns", lambda steps: [program("c_mpi_turns"), directory, str(steps)], 10, 20, "posix", None,
           True)
    yield ("c_steps", lambda steps: [program("c_steps"), directory, str(steps)], 20, 40, "posix", inputOf, True)
    yield ("madbench", lambda steps: [program("c_kernels"), "madbench", "64", str(steps)], 4, 8, "posix", None,
           False)
    for name in ("c_kernels", "fortran_kernels"):
        yield (f"{name} btio-full", lambda steps, name=name: [program(name), "btio-full", "24", str(steps), "0"],
               4, 8, "posix", None, False)
    for mode in ("nn", "n1", "strided"):
        for layer in ("posix", "mpi"):
            yield (f"c_mpi_io {mode} {layer}",
                   lambda steps, mode=mode: [program("c_mpi_io"), directory, mode, "4096", str(steps), "read"],
                   8, 16, layer, None, False)
    yield ("LAMMPS", lambda steps: [shutil.which("lmp"), "-in", "in.melt", "-log", "none", "-screen", "none"],
           499, 999, "posix", dumps, False)


def checkCase(checks, work, case):
    name, command, few, many, layer, prepare, has_order = case
    if None in command(few) or mpirun(RANKS) is None:
        checks.skip(name, "not installed or not built here")
        return
    # Half of the steps read as much as there is for all; twice as many need an input of twice the size.
    small = recorded(checks, work, "small", command(few), prepare=prepare and prepare(few))
    large = recorded(checks, work, "large", command(many), prepare=prepare and prepare(many))
    options = ("--layer", layer)
    of_small = load(scheduled(checks, work, "small", small, *options))
    of_large = load(scheduled(checks, work, "large", large, *options))
    compared = checkSame(checks, load(scheduled(checks, work, "doubled", small, *options, "--repeat-scale", "2")),
                         of_large, f"{name}, twice the steps", has_order)
    halved = load(scheduled(checks, work, "halved", large, *options, "--repeat-scale", "0.5", "--form", "compact"))
    checks.equal(halved["global"]["repeat_scale"], 0.5, f"{name}: what the schedule says of it")
    if prepare is inputOf:
        again = recorded(checks, work, "small", command(few), prepare=prepare(many))
        of_small = load(scheduled(checks, work, "small", again, *options))
    compared += checkSame(checks, halved, of_small, f"{name}, half of the steps", has_order)
    checks.that(compared > 100, f"{name}: there is something to compare")
    print(f"{name}: {compared} operations compared", flush=True)


def checkLateRanks(checks, work):
    """The wait for work of others before their first calls stays where it is, and a replay in dt keeps it."""
    command = [program("c_ranks"), os.path.join(work, "run"), "late"]
    small = recorded(checks, work, "small", [*command, "8"])
    wanted = load(scheduled(checks, work, "large", recorded(checks, work, "large", [*command, "16"])))
    checkLate(checks, wanted, "late, recorded")
    for form in ("flat", "compact"):
        doubled = scheduled(checks, work, "doubled", small, "--repeat-scale", "2", "--form", form)
        late = checkLate(checks, load(doubled), f"late, {form}")
        checkSame(checks, load(doubled), wanted, f"late, {form}")
    output = os.path.join(work, "late")
    done = replay(doubled, os.path.join(work, "late.target"), output, "--timing", "dt")
    checks.equal(done.status, 0, f"late: replay: {done}")
    checks.that(report(output)["total"]["makespan_ns"] >= late > 0, "late: the replay waits as long")


def checkReplay(checks, work):
    """The scaled schedule is replayed, and leaves the files of the longer run."""
    directory = os.path.join(work, "run")
    small = recorded(checks, work, "small", [program("c_steps"), directory, "12"], prepare=inputOf(12))
    schedule = scheduled(checks, work, "longer", small, "--repeat-scale", "3", "--timing", "asap", "--map",
                         f"{directory}=steps")
    output = os.path.join(work, "replayed")
    done = replay(schedule, os.path.join(work, "target"), output, "--fresh")
    checks.equal(done.status, 0, f"replay: {done}")
    verified = run([omnio(), "verify", schedule, output])
    checks.equal(verified.status, 0, f"verify: {verified.out.decode()[-600:]}")
    tree = os.path.join(work, "target", "tree", "steps")
    recorded(checks, work, "longer", [program("c_steps"), directory, "36"], prepare=inputOf(36))
    sizes = {name: os.path.getsize(os.path.join(directory, name)) for name in os.listdir(directory)}
    checks.equal({name: os.path.getsize(os.path.join(tree, name)) for name in os.listdir(tree)}, sizes,
                 "files that the replay leaves")


def checkRefused(checks, work):
    """One sentence, and nothing is written."""
    single = recorded(checks, work, "single", [program("c_put"), os.path.join(work, "out"), "2"], ranks=0)
    never = os.path.join(work, "never.json")

    def refused(status, sentence, *options):
        done = run([omnio(), "preprocess", single, "-o", never, *options])
        checks.equal(done.status, status, f"{options}: exit status")
        checks.equal(done.err.decode().splitlines()[:1], [f"omnio: {sentence}"], f"{options}: what it says")
        checks.equal([name for name in os.listdir(work) if name.startswith("never")], [],
                     f"{options}: what it leaves")

    refused(1, "--repeat-scale 2: no thread makes the same calls three times or more in a row: there are no time "
            "steps that could be repeated", "--repeat-scale", "2")
    refused(2, "--check: with --repeat-scale a schedule does not say what the trace does", "--repeat-scale", "2",
            "--check")
    refused(2, "--repeat-scale: 0 is not a number from 0.000001 to 1000000", "--repeat-scale", "0")


def main():
    checks = Checks()
    with WorkDirectory() as work:
        for case in cases(work):
            with checks.case(case[0]):
                checkCase(checks, work, case)
        with checks.case("replay"):
            if mpirun(RANKS) is None:
                checks.skip("replay", "needs MPI")
            else:
                checkReplay(checks, work)
        with checks.case("late ranks"):
            if mpirun(RANKS) is None:
                checks.skip("late ranks", "needs MPI")
            else:
                checkLateRanks(checks, work)
        with checks.case("refusals"):
            checkRefused(checks, work)
    checks.finish()


if __name__ == "__main__":
    main()
