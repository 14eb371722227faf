"""Runs a program without and with the tracer, under each flavour, and compares what it leaves:
exit status, output, files. Shared by same_behaviour.py and real_programs.py."""

import os
import re
import shutil
import sys

from omnio_testing import (FLAVOURS, differences, emptied, environment, mpirun, omnio, run, treeOf)


# Of children that `omnio trace` cannot trace, and of bytes that it has not seen.
NOT_TRACED, NOT_SEEN = b" not traced: ", b" by calls that are not recorded"


def withoutSaid(err, what):
    """Standard error without what `omnio trace` says of `what`."""
    return b"".join(line for line in err.splitlines(keepends=True)
                    if not (line.startswith(b"omnio: ") and what in line))



class Case:
    """A program with its directory's content; `without` are globs of files that differ anyway.

    `normal` takes the output and gives what of it has to be the same. `status` is what
    compare_strace wants to know beforehand. With `unseen`, it does I/O that is not recorded, which
    has to be said.
    """

    counts_itself = False  # as compare_strace asks

    def __init__(self, name, command, ranks=0, env=None, prepare=None, without=(), normal=None,
                 status=0, unseen=False):
        self.name, self.command, self.ranks, self.env = name, command, ranks, env or {}
        self.prepare, self.without, self.normal = prepare, without, normal or (lambda out: out)
        self.status, self.unseen = status, unseen

    def isMissing(self):
        return None in self.command or (self.ranks and mpirun(self.ranks) is None)


def runCase(case, directory, wrapper):
    emptied(directory)
    os.chmod(directory, 0o777)  # a case gives up its privileges
    if case.prepare:
        case.prepare(directory)
    command = [*(mpirun(case.ranks) if case.ranks else []), *wrapper, *case.command]
    result = run(command, cwd=directory, env=environment(**case.env))
    return result, treeOf(directory, case.without)


def compareCase(checks, case, flavours, work, directory, judge=None):
    """`judge(case, flavour, trace_directory)` looks at the trace of a run that went well."""
    if case.isMissing():
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
        same &= checks.equal(case.normal(got.out), case.normal(wanted.out), f"{what}: output")
        err = withoutSaid(got.err, NOT_TRACED)
        if case.unseen:
            same &= checks.that(NOT_SEEN in err, f"{what}: it is not said that I/O was not seen")
            err = withoutSaid(err, NOT_SEEN)
        same &= checks.equal(err, wanted.err, f"{what}: standard error")
        same &= checks.that(files == wanted_files,
                            f"{what}: files: {differences(files, wanted_files)}")
        if same and judge:
            judge(case, flavour, trace_directory)
        seconds.append(f"{flavour} {got.seconds:.2f}")
        shutil.rmtree(trace_directory, ignore_errors=True)
    print(f"{case.name}: status {wanted.status}, {len(wanted.out)} bytes of output, "
          f"{len(wanted_files)} files; seconds: {', '.join(seconds)}", flush=True)


def compareCases(checks, cases, wanted, flavours_of, work, judge):
    """Those of `cases` that are `wanted` (all unless stated), each with flavours_of(its number)."""
    directory = os.path.join(work, "run")
    for number, case in enumerate(cases):
        if not wanted or case.name in wanted:
            with checks.case(case.name):
                compareCase(checks, case, flavours_of(number), work, directory, judge)


def flavoursHere(checks):
    """A build without MPI has no MPI flavours."""
    there = []
    for flavour in FLAVOURS:
        path = os.path.join(os.environ.get("OMNIO_TEST_LIBRARIES", ""), f"libomnio_{flavour}.so")
        if os.path.exists(path):
            there.append(flavour)
        else:
            checks.skip(f"flavour {flavour}", "not part of this build")
    if not there:
        sys.exit("OMNIO_TEST_LIBRARIES has to name the directory of the tracers")
    return there
