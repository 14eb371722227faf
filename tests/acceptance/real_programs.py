"""Programs that sites run are not disturbed: output, exit status and files are the same with and
without the tracer, and the trace of each is whole.

Each program runs under `auto` and one flavour besides, in turn. With OMNIO_TEST_ALL_FLAVOURS=1 each
runs under all five, which takes minutes. What strace sees of some of them is what the trace holds.

  real_programs.py [CASE...]    all cases by default
"""

import os
import shutil
import sys

import compare_strace
from behaviour import compareCases, flavoursHere
from omnio_testing import Checks, WorkDirectory, defaultFilters, emptied, run, stats, trace
from real_program_cases import allCases, stracedCases


def wholeJudge(checks):
    def judge(case, flavour, trace_directory):
        said = stats(trace_directory)["trace"]
        what = f"{case.name} under {flavour}"
        # One case starts a program that no library can be preloaded into, and that has to be said.
        untraced = "p.static was started once and not traced: it is statically linked"
        others = [reason for reason in said["reasons"] if not reason.endswith(untraced)]
        checks.equal(len(said["reasons"]) - len(others), 1 if case.name == "compiler" else 0,
                     f"{what}: static programs that are named")
        if case.unseen:
            others = [reason for reason in others if "calls that are not recorded" not in reason]
        checks.equal((not others, said["events_missing"]), (True, 0),
                     f"{what}: trace whole, events missing (reasons: {said['reasons']})")
        checks.that(said["events"] > 0, f"{what}: events were recorded")
        if case.ranks:
            checks.equal((said["ranks_expected"], said["ranks_reporting"]),
                         (case.ranks, case.ranks), f"{what}: ranks expected, ranks reporting")

    return judge


def flavoursOf(number, flavours):
    if os.environ.get("OMNIO_TEST_ALL_FLAVOURS"):
        return ["auto", *flavours]
    return ["auto", flavours[number % len(flavours)]]


def checkStaticProgram(checks, work):
    """No library can be preloaded into it: it runs as ever, and that nothing was traced is said."""
    source, binary = os.path.join(work, "static.c"), os.path.join(work, "static")
    with open(source, "w", encoding="utf-8") as file:
        file.write('#include <stdio.h>\nint main(void) { puts("as ever"); return 4; }\n')
    compiler = shutil.which("cc")
    if compiler is None or run([compiler, "-static", source, "-o", binary]).status != 0:
        checks.skip("static", "no compiler, or no static C library")
        return
    result = trace(os.path.join(work, "static.trace"), [binary])
    checks.equal((result.status, result.out), (4, b"as ever\n"), "static: status and output")
    checks.that(b"statically linked" in result.err, f"static: it is said: {result.err!r}")


def main(wanted):
    checks = Checks()
    with WorkDirectory() as work:
        os.chmod(work, 0o755)
        directory = os.path.join(work, "run")
        flavours = flavoursHere(checks)
        compareCases(checks, allCases(directory), wanted,
                     lambda number: flavoursOf(number, flavours), work, wholeJudge(checks))
        if not wanted or "static" in wanted:
            with checks.case("static"):
                checkStaticProgram(checks, work)
        if shutil.which("strace") is None:
            checks.skip("comparisons with strace", "strace is not installed")
        else:
            filters = defaultFilters()
            for case in stracedCases(emptied(directory)):
                if not wanted or case.name in wanted:
                    with checks.case(case.name):
                        compare_strace.compareCase(checks, case, work, directory, filters)
    checks.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
