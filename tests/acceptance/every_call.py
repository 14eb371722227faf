"""Each POSIX and stream call of the table, made once by a program that is generated from the table,
is in the trace under its own name, with the arguments that it was made with and its result.

  every_call.py CALLS_DIRECTORY      where posix.def and stdio.def are
"""

import os
import sys

from omnio_testing import Checks, WorkDirectory, omnio, program, readLog, run, skipTest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs"))

from every_call import AFTER_OPEN, Made, order, rowsOf  # noqa: E402

# Results that are the tracer's own business to tell: a stream and a line have none that says more
# than that there is one.
WITHOUT_RESULT = ("kNewStream", "kLine", "kNone")
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
        names = []
        for row in rows:
            names += ["open", row.name] if row.name in AFTER_OPEN else [row.name]
        if checks.equal([event["call"] for event in events], names, "calls in the trace"):
            events = [event for at, event in enumerate(events)
                      if not (event["call"] == "open" and at + 1 < len(names)
                              and names[at + 1] in AFTER_OPEN)]
            for row, line, event in zip(rows, told, events):
                left = compare(checks, directory, row, line, event)
                checks.equal(left, {}, f"{row.name}: arguments that nobody expects")
        print(f"{len(rows)} rows, {len(events)} events")
    checks.finish()


if __name__ == "__main__":
    main(sys.argv[1])
