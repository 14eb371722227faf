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

        got, _ = seen("all left out", "--exclude", f"{directory}/*")
        checks.equal(got, set(), "everything left out: an empty trace is still a trace")
    checks.finish()


if __name__ == "__main__":
    main()
