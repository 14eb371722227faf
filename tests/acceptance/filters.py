"""Files are left out and taken in by pattern, on the command line and by the environment, and the
trace says which patterns were in force.
"""

import os
import re

from omnio_testing import (Checks, WorkDirectory, defaultFilters, emptied, manifest, program,
                           readLog, trace)


def filesSeen(trace_directory, directory):
    return {os.path.relpath(event["file"], directory) for event in readLog(trace_directory)
            if (event.get("file") or "").startswith(directory + "/")}


def checkNames(checks, work):
    """What a name below /dev or /proc leads to decides, and not its text."""
    there = os.path.join(work, "names")
    os.makedirs(there)
    with open(os.path.join(there, "in"), "wb") as file:
        file.write(b"i" * 4096)
    to = os.path.join(work, "names.trace")
    command = ["sh", "-c", f"exec {program('c_dev_names')} < in > out"]
    result = trace(to, command, cwd=there)
    checks.equal(result.status, 0, f"names: {result}")
    seen = [(event["call"], os.path.relpath(event["file"], there), event.get("bytes", 0))
            for event in readLog(to)
            if event["call"] not in ("fstat", "setvbuf") and event.get("file")]
    checks.equal(seen, [
        *[("open", "out", 0), ("write", "out", 1000), ("close", "out", 0)] * 3,
        ("open", "made", 0), ("write", "made", 1000), ("close", "made", 0),
        ("fopen", "in", 0), ("fread", "in", 4096), ("fclose", "in", 0),
        ("stat", "out", 0), ("truncate", "out", 0), ("open", ".", 0), ("mkdir", "sub", 0),
        ("rename", "made", 0), ("unlink", "renamed", 0)], "names: events")
    left_out = {entry["pattern"]: (entry["calls"], entry["bytes_read"], entry["bytes_written"])
                for entry in manifest(to)["filters"]["left_out"]}
    # The open and the read of /proc/self/status, and the open that fails.
    checks.equal(left_out.get("/proc/*"), (3, 10, 0), f"names: left out: {left_out}")


def main():
    checks = Checks()
    with WorkDirectory() as work:
        directory = os.path.join(work, "run")
        command = [program("c_stdio"), directory]

        def seen(name, *options, **variables):
            to = os.path.join(work, re.sub(r"\W+", "-", name))
            emptied(directory)
            result = trace(to, command, options=options,
                           env={**os.environ, **variables})
            checks.equal(result.status, 0, f"{name}: status")
            return filesSeen(to, directory), manifest(to)["filters"]

        everything, filters = seen("no pattern")
        text = {name for name in everything if name.startswith("text")}
        checks.that({"text.txt", "mixed.txt", "reopened.txt"} <= everything, f"all: {everything}")
        checks.equal((filters["exclude"], filters["include"]), ([], []), "manifest, no pattern")
        checks.equal(filters["default_exclude"], defaultFilters(),
                     "the default filters in the manifest are those of --list-filters")

        got, filters = seen("one left out", "--exclude", "*/text.txt")
        checks.equal(got, everything - text, "--exclude '*/text.txt'")
        checks.equal(filters["exclude"], ["*/text.txt"], "manifest, --exclude")

        got, _ = seen("two left out", "--exclude", "*/text.txt", "--exclude", "*/m*.txt")
        checks.equal(got, everything - {"text.txt", "mixed.txt", "missing.txt"}, "--exclude twice")

        got, filters = seen("one taken in", "--exclude", f"{directory}/*", "--include",
                            "*/mixed.txt")
        checks.equal(got, {"mixed.txt"}, "--include wins over --exclude")
        checks.equal(filters["include"], ["*/mixed.txt"], "manifest, --include")

        got, _ = seen("by the environment", OMNIO_EXCLUDE="*/text.txt:*/mixed.txt",
                      OMNIO_INCLUDE="*/mixed.txt")
        checks.equal(got, everything - text, "OMNIO_EXCLUDE and OMNIO_INCLUDE")

        with checks.case("names below /dev and /proc"):
            checkNames(checks, work)

        got, _ = seen("all left out", "--exclude", f"{directory}/*")
        checks.equal(got, set(), "everything left out: an empty trace is still a trace")
    checks.finish()


if __name__ == "__main__":
    main()
