"""Each POSIX and stream call of the table, made once by a program that is generated from the table,
is in the trace under its own name, with the arguments that it was made with and its result.

  every_call.py CALLS_DIRECTORY      where posix.def and stdio.def are
"""

import os
import re
import sys

from omnio_testing import (Checks, WorkDirectory, environment, holdsAttributes, mpirun, omnio, program,
                           readLog, run, skipTest)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs"))

from every_call import Made, followsOpen, order, rowsOf  # noqa: E402

# Results that are the tracer's own business to tell: a stream and a line have none that says more
# than that there is one.
WITHOUT_RESULT = ("kNewStream", "kLine", "kTemplate", "kNone")
# Calls whose replay differs: the stream of pclose is a pipe to a program, which a replay does not start.
OTHERWISE = ("pclose",)
# The end of a template is made up by the call.
MADE_UP = "XXXXXX"


def sameName(got, wanted):
    if MADE_UP not in wanted:
        return got == wanted
    begin, end = wanted.split(MADE_UP)
    return (got is not None and len(got) == len(wanted) and got.startswith(begin)
            and got.endswith(end) and MADE_UP not in got)


def compare(checks, directory, row, told, event):
    made = Made(row)
    _, fd, result, error = told
    checks.equal((row.name, int(error)), (told[0], 0), f"{row.name}: succeeds")
    args = dict(event["args"])
    for key, wanted in made.expected.items():
        got = args.pop(key, None)
        if key == "path":
            checks.that(sameName(got, wanted), f"{row.name}: path: {got!r}, wanted {wanted!r}")
        elif key == "source":
            checks.that(got is not None and got > 0, f"{row.name}: source: {got!r}")
        elif wanted is not None:
            checks.equal(got, wanted, f"{row.name}: {key}")
    if row.plain == "tmpfile":
        checks.that(args.pop("path", "").startswith("/"), f"{row.name}: path")
    if made.path is not None:
        checks.equal(event.get("file"), os.path.normpath(os.path.join(directory, made.path)),
                     f"{row.name}: its file")
        # A call that makes a descriptor is recorded with that one.
        if row.result not in ("kNewFd", "kNewStream"):
            checks.equal(event.get("fd"), int(fd), f"{row.name}: its descriptor")
        args.pop("path", None)
    checks.that(not event["failed"], f"{row.name}: failed: {event}")
    if row.result not in WITHOUT_RESULT:
        checks.equal(event.get("result"), int(result), f"{row.name}: result")
    return args


def main(calls_directory):
    path = program("every_call")
    if path is None:
        skipTest("every_call was not built")
    checks = Checks()
    rows = order(rowsOf(calls_directory))
    with WorkDirectory() as work:
        directory = os.path.realpath(os.path.join(work, "run"))
        os.makedirs(directory)
        with open(os.path.join(directory, "stdin"), "w", encoding="utf-8") as text:
            text.write("letters\n")
        trace = os.path.join(work, "trace")
        result = run(["sh", "-c", "exec \"$@\" < stdin > stdout", "sh", omnio(), "trace", "-o", trace,
                      "--flavour", "serial", "--", path, "told"], cwd=directory)
        checks.equal(result.status, 0, f"the program: {result.err!r}")
        with open(os.path.join(directory, "told"), encoding="utf-8") as text:
            told = [line.split() for line in text]
        events = list(readLog(trace))
        names, opened = [], {row.name for row in rows if followsOpen(row)}
        for row in rows:
            names += ["open", row.name] if followsOpen(row) else [row.name]
        if checks.equal([event["call"] for event in events], names, "calls in the trace"):
            events = [event for at, event in enumerate(events)
                      if not (event["call"] == "open" and names[at + 1:at + 2] and
                              names[at + 1] in opened)]
            for row, line, event in zip(rows, told, events):
                if row.has("kAttribute") and not holdsAttributes(directory):
                    continue  # each fails
                left = compare(checks, directory, row, line, event)
                checks.equal(left, {}, f"{row.name}: arguments that nobody expects")
        print(f"{len(rows)} rows, {len(events)} events")
        if mpirun(1) is None:
            checks.skip("replay", "there is no MPI")
        else:
            checkReplay(checks, work, trace)
    checks.finish()


def checkReplay(checks, work, trace):
    """Each call comes out in a replay as it was recorded, but for those that OTHERWISE names."""
    schedule, replayed = os.path.join(work, "schedule.json"), os.path.join(work, "replayed")
    made = run([omnio(), "preprocess", trace, "-o", schedule, "--timing", "asap"])
    checks.equal(made.status, 0, f"preprocess: {made}")
    as_root = environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    done = run([omnio(), "replay", schedule, "--target", os.path.join(work, "tree"), "-o", replayed],
               env=as_root)
    checks.equal(done.status, 3, f"replay: {done}")
    verified = run([omnio(), "verify", schedule, replayed])
    *differences, summary = verified.out.decode().splitlines()
    calls = sorted(re.search(r"event \d+, (\w+):", line).group(1) for line in differences)
    checks.equal(calls, sorted(OTHERWISE), f"calls that differ: {verified.out.decode()}")
    checks.that(int(summary.split()[0]) > 150, f"calls that were compared: {summary}")


if __name__ == "__main__":
    main(sys.argv[1])
