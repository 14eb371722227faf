"""Reads and writes of streams that their results do not tell in full: errors and the end of the file,
lines with NUL bytes, and what the compiler makes of getc_unlocked and putc_unlocked. The trace has
the bytes that were moved, and replays do the same.
"""

import collections
import os

from omnio_testing import Checks, WorkDirectory, emptied, omnio, program, readLog, run, skipTest, stats, trace
from replay_testing import checkRoundTrip

COPIED = 100000  # in c_inlined.c


def traced(checks, work, name):
    home = emptied(os.path.join(work, name))
    directory = os.path.join(work, name + "-trace")
    done = trace(directory, [program(name)], cwd=home)
    checks.equal(done.status, 0, f"{name}: {done.err!r}")
    about = stats(directory)["trace"]
    checks.that(about["whole"], f"{name}: {about['reasons']}")
    checks.equal(about["notes"], [], f"{name}: notes")
    by_file = collections.defaultdict(list)
    for event in readLog(directory):
        by_file[os.path.basename(event.get("file", ""))].append(event)
    return directory, by_file, done.out.decode().splitlines()


def outcomeOf(event):
    return "EOF" if event.get("end_of_file") else event.get("errno", "no error")


def checkReads(checks, work):
    directory, by_file, told = traced(checks, work, "c_stream_reads")
    plain = reads = ("fgetc", "fgets", "getline", "fscanf")
    forms = {"__getdelim": "getline", "__isoc99_fscanf": "fscanf"}  # that headers make of them

    def outcomes(name, calls):
        named = [(forms.get(event["call"], event["call"]), outcomeOf(event)) for event in by_file[name]]
        return collections.Counter((call, outcome) for call, outcome in named if call in calls)

    checks.equal(dict(outcomes("errors", reads)), {(call, "EBADF"): 2 for call in plain},
                 "reads of a stream for writing")
    checks.equal(dict(outcomes("not_for_writing", ("fputc",))), {("fputc", "EBADF"): 2},
                 "writes to a stream for reading")
    checks.equal(dict(outcomes("ends", reads)),
                 {("fgetc", "no error"): 1} | {(call, "EOF"): 3 for call in plain}, "reads at the end")
    in_truth = collections.defaultdict(list)
    for line in told:
        name, size = line.split()
        in_truth[name].append(int(size))
    least = {"hidden": [1], "zeros": [0]}  # of the last lines
    for name, sizes in in_truth.items():
        lines = [event for event in by_file[name] if event["call"] == "fgets" and not event.get("end_of_file")]
        wanted = sizes[:-1] + least.get(name, sizes[-1:])
        checks.equal([event["bytes"] for event in lines], wanted, f"bytes of the lines of {name}")
        checks.equal([event["args"].get("at_least", 0) for event in lines],
                     [0] * (len(sizes) - 1) + [int(name in least)], f"marked lines of {name}")
    checks.equal(sum(map(len, in_truth.values())), len([0 for events in by_file.values() for event in events
                                                        if event["call"] == "fgets" and not event["failed"]
                                                        and not event.get("end_of_file")]), "lines")
    text = run([omnio(), "stats", directory]).out.decode()
    note = ("Note: 2 reads of lines with NUL bytes at the end of a file (fgets): the bytes are at least those that "
            "are counted\n")
    checks.that(note in text, f"stats does not say so: {text}")
    checks.equal(stats(directory)["total"]["read"].get("at_least"), 2, "at_least in the JSON")
    phases = run([omnio(), "phases", directory])
    words = "2 accesses of lines with NUL bytes at the end of a file (fgets): of at least the bytes that count"
    checks.that(words in (phases.out + phases.err).decode(), f"phases does not say so: {phases}")
    checkRoundTrip(checks, work, "c_stream_reads", directory)


def checkInlined(checks, work):
    directory, by_file, _ = traced(checks, work, "c_inlined")
    if not any(event["call"] == "__uflow" for event in by_file["in"]):
        checks.skip("inlined code", "this compiler does not put getc_unlocked into the program")
        return

    def moved(name, kind):
        return sum(event["bytes"] for event in by_file[name] if event["class"] == kind)

    checks.equal(moved("in", "write"), COPIED, "bytes written to `in`")
    checks.equal(moved("out", "write"), COPIED, "bytes written to `out`")
    # The copy, 50 and 150 and 30 anew, and the one that was put back.
    checks.equal(moved("in", "read"), COPIED + 231, "bytes read from `in`")
    checks.equal(moved("left", "write"), 100, "bytes of the stream that was left open")
    checkRoundTrip(checks, work, "c_inlined", directory)


def main():
    if program("c_stream_reads") is None or program("c_inlined") is None:
        skipTest("its programs were not built")
    checks = Checks()
    with WorkDirectory() as work:
        with checks.case("reads"):
            checkReads(checks, work)
        with checks.case("inlined"):
            checkInlined(checks, work)
    checks.finish()


if __name__ == "__main__":
    main()
