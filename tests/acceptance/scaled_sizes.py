"""A schedule with other sizes: no call of a replay has another result than the schedule says, and none is
empty that was not. Where all sizes come out whole and aligned, the replay does what the program itself
does with such sizes.
"""

import os
import shutil

from omnio_testing import (Checks, WorkDirectory, emptied, environment, mpirun, omnio, program, readLog,
                           run, skipTest, trace)
from replay_testing import MPI_ENVIRONMENT, replay

MELT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "configs", "demo", "in.melt")
FACTORS = ("0.25", "0.3", "0.5", "0.9", "1.37", "2")
# way of c_sizes, unit, what the ends of pieces are multiples of
CASES = (("direct", 2048, 512), ("direct", 16384, 4096), ("direct", 512, 512), ("direct", 4096, 4096),
         ("strided", 4000, 1), ("strided", 20, 1), ("strided", 1, 1), ("lines", 80, 1), ("lines", 3, 1),
         ("tiny", 1000, 1), ("mapped", 8192, 4096), ("mapped", 4096, 4096))
NUMBERS = ("count", "offset", "size", "length", "nmemb", "iov", "whence")


def steps(directory):
    """What each call of the data did: name, arguments in bytes, result."""
    found = []
    for event in readLog(directory):
        # A replay asks for its tree before it begins. Which touched pages are told together differs.
        if event["call"].startswith(("access", "(map_")):
            continue
        if event["class"] not in ("read", "write", "seek", "sync", "metadata", "space"):
            continue
        arguments = {key: event["args"][key] for key in NUMBERS if key in event["args"]}
        if "nmemb" in arguments:
            arguments = {"bytes": arguments["nmemb"] * arguments["size"]}
        if "iov" in arguments:
            arguments = {"bytes": sum(arguments["iov"])}
        found.append((event["call"], tuple(sorted(arguments.items())), event.get("result")))
    return found


def traced(checks, work, name, command, env=None):
    """The trace of the command in a directory of its own; None where it cannot run here."""
    home, directory = emptied(os.path.join(work, "home")), os.path.join(work, name)
    if command[0] != program("c_sizes"):
        shutil.copy(MELT, os.path.join(home, "in.melt"))
    done = trace(directory, command, cwd=home, env=env)
    if done.status == 77:
        return None
    checks.equal(done.status, 0, f"{name}: {done.err!r}")
    return directory


def replayed(checks, work, name, directory, factor):
    """The trace of the replay, without one difference."""
    schedule, output = os.path.join(work, f"{name}.json"), os.path.join(work, f"{name}.replayed")
    made = run([omnio(), "preprocess", directory, "-o", schedule, "--timing", "asap", "--size-scale", factor])
    checks.equal(made.status, 0, f"{name}: preprocess: {made}")
    done = replay(schedule, os.path.join(work, "target"), output, "--fresh")
    checks.equal(done.status, 0, f"{name}: replay: {done}")
    verified = run([omnio(), "verify", schedule, output])
    checks.equal(verified.status, 0, f"{name}: verify: {verified.out.decode()[-600:]}")
    return output


def checkCase(checks, work, way, unit, aligned):
    def run_of(size):
        return traced(checks, work, f"{way}.{unit}.{size}", [program("c_sizes"), way, str(size)])

    recording = run_of(unit)
    if recording is None:
        checks.skip(f"{way} {unit}", "no direct I/O here")
        return
    recorded = steps(recording)
    for factor in FACTORS:
        name = f"{way}.{unit}.{factor}"
        with checks.case(name):
            output = replayed(checks, work, name, recording, factor)
            got = steps(output)
            checks.equal([call for call, _, _ in got], [call for call, _, _ in recorded], f"{name}: calls")
            for (call, _, before), (_, arguments, after) in zip(recorded, got):
                if "count" in dict(arguments) or "bytes" in dict(arguments):
                    checks.equal(before == 0, after == 0, f"{name}: {call}{arguments} = {after}, was {before}")
            if way == "direct":
                ends = [number for _, arguments, _ in got for key, number in arguments if key != "whence"]
                checks.that(all(end % aligned == 0 for end in ends), f"{name}: {ends}")
            scaled = unit * float(factor)
            if way != "tiny" and scaled % aligned == 0 and scaled % 4 == 0:
                wanted = run_of(int(scaled)) if int(scaled) != unit else recording
                checks.equal(got, steps(wanted), f"{name}: as the program with that size")
                shutil.rmtree(wanted)


def main():
    if mpirun(1) is None:
        skipTest("a replay needs MPI")
    checks = Checks()
    with WorkDirectory() as work:
        for way, unit, aligned in CASES:
            with checks.case(f"{way} {unit}"):
                checkCase(checks, work, way, unit, aligned)
        launcher = mpirun(4)
        if launcher is None or shutil.which("lmp") is None:
            checks.skip("LAMMPS", "no lmp or no MPI launcher here")
        else:
            with checks.case("LAMMPS"):
                lammps = launcher + ["lmp", "-in", "in.melt", "-var", "steps", "100", "-var", "cells", "8",
                                     "-log", "none", "-screen", "none"]
                recording = traced(checks, work, "lammps", lammps, environment(**MPI_ENVIRONMENT))
                for factor in ("0.5", "2"):
                    replayed(checks, work, f"lammps.{factor}", recording, factor)
    checks.finish()


if __name__ == "__main__":
    main()
