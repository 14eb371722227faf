"""All views of a trace have the same totals, to the operation and the byte: the statistics by file,
rank, thread and call as JSON and CSV, the page, the difference with itself, and the exported calls.
For LAMMPS, tools of HDF5, and a generated trace of 64 ranks with 8 threads each. The bytes by file of
the programs are those that strace counts; so are their operations, except those of streams, which the
C library cuts up."""

import csv
import io
import json
import os
import shutil
import sys

import compare_strace
from omnio_testing import Checks, WorkDirectory, defaultFilters, emptied, omnio, program, run, stats, trace
from real_program_cases import HDF5, writeHdf5
from report_page import checkData, made

GROUPS = ("file", "rank", "thread", "call")


def totalsOf(groups):
    return {"calls": sum(group["time_ns"]["count"] + group["mpi_sync_ns"]["count"] for group in groups),
            "bytes_read": sum(group["read"]["size_bytes"]["total"] for group in groups),
            "bytes_written": sum(group["write"]["size_bytes"]["total"] for group in groups)}


def csvTotals(checks, to, by):
    result = run([omnio(), "stats", to, "--by", by, "--csv"])
    checks.equal(result.status, 0, f"csv by {by}: {result}")
    rows = list(csv.DictReader(io.StringIO(result.out.decode(errors="replace"), newline="")))
    calls = sum(int(value) for row in rows for name, value in row.items()
                if name.endswith("_calls") and name not in ("reads_calls", "writes_calls"))
    return {"calls": calls, "bytes_read": sum(int(row["reads_bytes_total"]) for row in rows),
            "bytes_written": sum(int(row["writes_bytes_total"]) for row in rows)}


def checkViews(checks, work, to):
    wanted = totalsOf([stats(to)["total"]])
    for by in GROUPS:
        document = stats(to, "--by", by)
        checks.equal(totalsOf(document["groups"]), wanted, f"groups by {by}")
        checks.equal(totalsOf([document["total"]]), wanted, f"total by {by}")
        checks.equal(csvTotals(checks, to, by), wanted, f"csv by {by}")
    _, data, _ = made(checks, work, to)
    page = checkData(checks, to, data)
    checks.equal({key: page[key] for key in wanted}, wanted, "page")

    result = run([omnio(), "diff", to, to, "--json", "--tolerance", "0"])
    checks.equal(result.status, 0, f"diff: {result.err}")
    difference = json.loads(result.out)
    for side in ("a", "b"):
        total = difference[side]["total"]
        checks.equal({key: total[key] for key in wanted}, wanted, f"diff, {side}")

    path = to + ".csv"
    result = run([omnio(), "export", to, "--csv", "-o", path])
    checks.equal(result.status, 0, f"export: {result}")
    exported = {"calls": 0, "bytes_read": 0, "bytes_written": 0}
    with open(path, newline="", encoding="utf-8") as text:
        for row in csv.DictReader(text):
            if row["depth"] != "0":
                continue
            exported["calls"] += 1
            if row["class"] in ("read", "write"):
                exported["bytes_read" if row["class"] == "read" else "bytes_written"] += \
                    int(row["bytes"] or 0)
    checks.equal(exported, wanted, "exported calls")
    print(f"{os.path.basename(to)}: {wanted}")


def checkStraced(checks, work, case):
    directory = os.path.join(work, "run")
    compare_strace.compareCase(checks, case, work, directory, defaultFilters())
    to = os.path.join(work, f"{case.name}.trace")
    if os.path.exists(to):
        checkViews(checks, work, to)


def checkGenerated(checks, work):
    to = os.path.join(work, "generated.trace")
    result = run([program("make_trace"), to, "200000", "64", "8"])
    checks.equal(result.status, 0, f"generated: {result}")
    document = stats(to, "--by", "thread")
    checks.equal(len(document["groups"]), 64 * 8, "threads")
    checks.equal(document["trace"]["events"], 200000 // 512 * 512, "events")
    checkViews(checks, work, to)
    # More rows and files than a page has: what is left out is said.
    page, data, _ = made(checks, work, to)
    checks.equal(len(data["rows"]), 64, "rows, which are ranks where there are too many threads")
    # A thread changes its file every 8 calls.
    checks.equal(data["files_left_out"] + len(data["files"]), 64 * 8 * (390 // 8 + 1), "files")
    checks.that(data["files_left_out"] > 0, "more files than a page has")
    checks.that(os.path.getsize(page) <= 2 << 20, "the size of the page")


def main():
    checks = Checks()
    with WorkDirectory() as work:
        work = os.path.realpath(work)
        with checks.case("generated"):
            checkGenerated(checks, work)
        if shutil.which("strace") is None:
            checks.skip("programs", "strace is not installed")
            return checks.finish()
        lammps = next(case for case in compare_strace.allCases(os.path.join(work, "run"))
                      if case.name == "lammps")
        with checks.case("lammps"):
            checkStraced(checks, work, lammps)
        with checks.case("hdf5"):
            if shutil.which("h5repack") is None:
                checks.skip("hdf5", "no tools of HDF5")
            else:
                case = compare_strace.Case("hdf5", ["sh", "-c", HDF5], prepare=writeHdf5)
                checkStraced(checks, work, case)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
