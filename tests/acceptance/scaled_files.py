"""A schedule whose sizes are multiplied by file: that of a program with blocks of one size, scaled, is
that of the program with blocks of the other size. Files of other names keep their sizes.
"""

import os

from omnio_testing import Checks, WorkDirectory, emptied, mpirun, omnio, program, run, trace
from replay_testing import replay
from scaled_testing import checkSame
from schedule_expander import expanded

BLOCK = 8192


def recorded(checks, work, block):
    """The trace of the program with blocks of that size, always in the same directory."""
    home = emptied(os.path.join(work, "home"))
    with open(os.path.join(home, "in.dat"), "wb") as data:
        data.write(b"1 2 3 4 5\n" * 300)
    directory = os.path.join(work, f"{block}.trace")
    done = trace(directory, [program("c_dumps"), str(block)], cwd=home)
    checks.equal(done.status, 0, f"blocks of {block}: {done.err!r}")
    return directory


def scheduleOf(checks, directory, out, *options):
    made = run([omnio(), "preprocess", directory, "-o", out, "--timing", "asap", *options])
    print(made.out.decode(), made.err.decode(), end="")
    checks.equal(made.status, 0, f"preprocess {options}: {made}")
    return expanded(out)


def withoutPages(schedule):
    """Which of the pages that were touched are told together differs from run to run."""
    for rank in schedule["ranks"]:
        for thread in rank["threads"]:
            thread["events"] = [event for event in thread["events"] if not event["command"].startswith("(map_")]
    return schedule


def checkScaled(checks, got, wanted, what):
    checks.equal(got["files"], wanted["files"], f"{what}: files")
    # There is one thread: nothing waits.
    checkSame(checks, withoutPages(got), withoutPages(wanted), what, with_waits=False)


def checkRefused(checks, directory, out, status, sentence, *options):
    refused = run([omnio(), "preprocess", directory, "-o", out, *options])
    checks.equal(refused.status, status, f"{options}: exit status")
    checks.equal(refused.err.decode().splitlines(), [f"omnio: {sentence}"], f"{options}: what it says")
    checks.that(not os.path.exists(out), f"{options}: nothing is written")


def main():
    checks = Checks()
    with WorkDirectory() as work:
        small, large = recorded(checks, work, BLOCK), recorded(checks, work, 2 * BLOCK)
        of_large = scheduleOf(checks, large, os.path.join(work, "large.json"))
        doubled = os.path.join(work, "doubled.json")
        with checks.case("dumps of twice the size"):
            got = scheduleOf(checks, small, doubled, "--size-scale", "dump.*=2")
            checkScaled(checks, got, of_large, "dump.*=2")
            checks.equal((got["global"]["size_scale"], got["global"]["size_scales"]),
                         (1, [{"pattern": "dump.*", "factor": 2}]), "what the schedule says of it")
            checks.equal(got["global"]["source"]["left_out"], [], "nothing is left out")
            checks.that("size_scales" not in of_large["global"], "no factors without patterns")
        with checks.case("all but the dumps"):
            checkScaled(checks, scheduleOf(checks, large, os.path.join(work, "halved.json"), "--size-scale",
                                         "0.5", "--size-scale", "log=1", "--size-scale", "*/in.*=1"),
                      scheduleOf(checks, small, os.path.join(work, "small.json")), "0.5")
        with checks.case("all but small requests"):
            # Lines of the log, and the input in pieces of 1000 bytes.
            got = scheduleOf(checks, small, os.path.join(work, "kept.json"), "--size-scale", "2", "--keep-below",
                             "1001")
            checkScaled(checks, got, of_large, "2, but below 1001")
            checks.equal(got["global"]["keep_below"], 1001, "what the schedule says of it")
        with checks.case("replay"):
            if mpirun(1) is None:
                checks.skip("replay", "a replay needs MPI")
            else:
                output = os.path.join(work, "replayed")
                done = replay(doubled, os.path.join(work, "target"), output, "--fresh")
                checks.equal(done.status, 0, f"replay: {done}")
                verified = run([omnio(), "verify", doubled, output])
                checks.equal(verified.status, 0, f"verify: {verified.out.decode()[-600:]}")
                sizes = {name: os.path.getsize(os.path.join(work, "target", "tree", name))
                         for name in ("dump.0", "dump.map", "log")}
                checks.equal(sizes, {"dump.0": 9 * BLOCK, "dump.map": 4 * BLOCK, "log": 48},
                             "sizes of the files that the replay made")
        with checks.case("refusals"):
            never = os.path.join(work, "never.json")
            checkRefused(checks, small, never, 1,
                         f"{small}: no file of the run matches the pattern *.none of --size-scale",
                         "--size-scale", "2", "--size-scale", "*.none=2")
            checkRefused(checks, small, never, 2,
                         "--size-scale dump.*=0: 0 is not a number from 0.000001 to 1000000",
                         "--size-scale", "dump.*=0")
            checkRefused(checks, small, never, 2, "--keep-below 9: no size changes without --size-scale",
                         "--keep-below", "9")
            checkRefused(checks, small, never, 2,
                         "--size-scale dump.*=3: the factor of dump.* was given before, as 2",
                         "--size-scale", "dump.*=2", "--size-scale", "dump.*=3")
    checks.finish()


if __name__ == "__main__":
    main()
