"""omnio report: the data of the page against `omnio stats` of the same trace, to the call and the byte;
and the page itself in Chromium (tests/page/check_page.mjs), where node, npm and chromium are.

  report_page.py FOLDER-OF-CHECK_PAGE"""

import base64
import json
import os
import re
import shutil
import signal
import sys

from omnio_testing import (Checks, WorkDirectory, emptied, mpirun, omnio, program, run, stats, trace)
from real_program_cases import writeMelt

MOST_BYTES = 2 << 20
SCRIPT = "<script>window.__pwned=1<"


def dataOf(checks, page):
    """What the page says, as a browser would find it."""
    with open(page, encoding="utf-8") as text:
        html = text.read()
    checks.that(len(html.encode()) <= MOST_BYTES, f"{page}: {len(html)} characters")
    checks.equal(re.findall(r"/\*(?:CSS|ECHARTS|DATA|COMPARISON|PAGE)\*/", html), [], "marks that were not replaced")
    found = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    checks.equal(len(found), 1, "documents in the page")
    checks.that("<" not in found[0], "no tag in the document")
    return json.loads(found[0])


def made(checks, work, to, *options):
    page = os.path.join(work, os.path.basename(to) + ".html")
    result = run([omnio(), "report", to, "-o", page, *options])
    checks.equal(result.status, 0, f"report: {result}")
    return page, dataOf(checks, page), result


def checkData(checks, to, data):
    """Against the statistics, and within itself."""
    by_file, by_call, by_rank = (stats(to, "--by", by) for by in ("file", "call", "rank"))
    total, summary = by_file["total"], data["summary"]
    calls = total["time_ns"]["count"] + total["mpi_sync_ns"]["count"]
    wanted = {"calls": calls, "calls_below": by_file["events_below"],
              "bytes_read": total["read"]["size_bytes"]["total"],
              "bytes_written": total["write"]["size_bytes"]["total"],
              "files": sum(group["name"] != "(no file)" for group in by_file["groups"])}
    checks.equal({key: summary[key] for key in wanted}, wanted, "summary")
    for key in ("bytes_read", "bytes_written"):
        checks.equal(sum(rank[key] for rank in data["ranks"]), wanted[key], f"ranks, {key}")
        in_time = sum(data["bandwidth"][key.removeprefix("bytes_") + "_bytes"])
        checks.equal(in_time, wanted[key], f"bandwidth, {key}")
    checks.equal(sum(call["bytes"] for call in data["calls"]),
                 wanted["bytes_read"] + wanted["bytes_written"], "calls, bytes")
    checks.equal(sum(call["count"] for call in data["calls"]), calls, "calls, count")
    for call, group in zip(data["calls"], by_call["groups"], strict=True):
        own = group["time_ns"]["total"] + group["mpi_sync_ns"]["total"]
        checks.equal((call["name"], call["time_ns"]), (group["name"], own), "calls by time")
    files = [group for group in by_file["groups"] if group["name"] != "(no file)"]
    for file, group in zip(data["files"], files):
        checks.equal((file["name"], file["time_ns"], file["bytes_read"], file["bytes_written"]),
                     (group["name"], group["time_ns"]["total"], group["read"]["size_bytes"]["total"],
                      group["write"]["size_bytes"]["total"]), "files by time")
    checks.equal(len(data["files"]) + data["files_left_out"], len(files), "files")
    slowest = max(by_rank["ranks"], key=lambda rank: rank["io_ns"])
    checks.equal({key: summary["slowest"][key] for key in ("rank", "data_ns", "waiting_ns")},
                 {key: slowest[key] for key in ("rank", "data_ns", "waiting_ns")}, "the slowest rank")
    for which in ("sizes", "times"):
        for kind in ("read", "write"):
            histogram = total[kind]["size_bytes" if which == "sizes" else "time_ns"]["histogram"]
            checks.equal(data[which][kind], [[bin["from"], bin["to"], bin["count"]] for bin in histogram],
                         f"{which} of {kind}")
    checkActivity(checks, data, by_rank)
    checkOffsets(checks, data, by_file)
    result = run([omnio(), "advise", to, "--json"])
    checks.equal(result.status, 0, f"advise: {result}")
    checks.equal(data["advice"], json.loads(result.out)["findings"], "advice")
    return {key: wanted[key] for key in ("calls", "bytes_read", "bytes_written", "files")}


def checkActivity(checks, data, by_rank):
    """The heat map has the I/O time of the ranks, as well as 255 shades tell it."""
    bins, bin_ns, rows = data["time"]["bins"], data["time"]["bin_ns"], len(data["rows"])
    checks.that(bins <= 512 and rows <= 256, f"{rows} rows, {bins} bins")
    shown = {}
    for kind, text in data["activity"].items():
        shades = base64.b64decode(text)
        checks.equal(len(shades), rows * bins, f"cells of {kind}")
        shown[kind] = sum((shade / 255)**2 * bin_ns * data["row_threads"] for shade in shades)
    if rows != len(by_rank["ranks"]):
        return  # several threads a rank, whose time is that of all
    told = {"read and write": sum(rank["data_ns"] for rank in by_rank["ranks"]),
            "metadata": sum(rank["metadata_ns"] for rank in by_rank["ranks"]),
            "sync": sum(rank["sync_ns"] for rank in by_rank["ranks"]),
            "waiting": sum(rank["waiting_ns"] for rank in by_rank["ranks"])}
    shown["read and write"] = shown.pop("read") + shown.pop("write")
    for kind, ns in told.items():
        # Half a shade in each cell that is not empty, at the most.
        slack = 0.02 * ns + rows * bins * bin_ns * data["row_threads"] / 255**2
        checks.that(abs(shown[kind] - ns) <= slack, f"{kind}: {shown[kind]} ns shown, {ns} ns told")


def cellsOf(checks, file, kind):
    """The cells of a direction: the bytes and the user of each that is not empty, by its index."""
    data = iter(base64.b64decode(file[kind]))

    def varint(first):
        value, shift = first & 127, 7
        while first > 127:
            first = next(data)
            value |= (first & 127) << shift
            shift += 7
        return value

    cells, index, user = {}, 0, 0
    for first in data:
        index += varint(first)
        for _ in range(varint(next(data))):
            units, step = varint(next(data)), varint(next(data))
            user += step // 2 if step % 2 == 0 else -(step + 1) // 2
            cells[index] = (units * file["unit_bytes"], user)
            index += 1
    checks.that(index <= file["rows"] * file["bins"], f"{file['name']}: {index} cells")
    return cells


def checkOffsets(checks, data, by_file):
    """The planes have the bytes of the files, as well as their units tell them."""
    groups = {group["name"]: group for group in by_file["groups"]}
    for file in data["offsets"]:
        for kind, moved in (("read", "bytes_read"), ("write", "bytes_written")):
            wanted = groups[file["name"]][kind]["size_bytes"]["total"]
            checks.equal(file[moved], wanted, f"{moved} of {file['name']}")
            cells = cellsOf(checks, file, kind)
            shown = sum(amount for amount, _ in cells.values()) + file["unplaced_" + moved]
            checks.that(abs(shown - wanted) <= len(cells) * file["unit_bytes"] // 2 * 2,
                        f"{file['name']}: {shown} bytes in cells, {wanted} in all, {kind}")
            checks.that(all(user > 0 for _, user in cells.values()), f"users of {file['name']}")


class Browser:
    """check_page.mjs with what it needs, or why it cannot run."""

    def __init__(self, work, folder):
        self.missing = None
        self._folder = os.path.join(work, "browser")
        for name in ("node", "npm", "chromium"):
            if shutil.which(name) is None:
                self.missing = f"no {name}"
                return
        shutil.copytree(folder, self._folder, ignore=shutil.ignore_patterns("node_modules"))
        result = run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=self._folder)
        if result.status != 0:
            self.missing = f"npm ci: {result.err[-200:]!r}"

    def check(self, checks, page, expect):
        name = os.path.basename(page)
        if self.missing is not None:
            checks.skip(f"{name} in a browser", self.missing)
            return
        result = run(["node", "check_page.mjs", page, "--expect", json.dumps(expect)],
                     cwd=self._folder, timeout=900)
        print(f"{name}: {result.out.decode(errors='replace').strip().splitlines()[-1:]}")
        checks.equal(result.status, 0, f"{name} in a browser: {result}")
        checks.that(re.search(rb"[1-9]\d* checks, 0 failed", result.out), f"{name}: {result}")


def checkNames(checks, work, browser):
    """Paths with marks of HTML, JSON and terminals, and odd bytes."""
    directory = emptied(os.path.join(work, "names"))
    for name in (SCRIPT.encode(), b'a"b&amp;\n', b"\x1b[31mred", b"\xff\xfe"):
        with open(os.path.join(os.fsencode(directory), name), "wb") as file:
            file.write(b"x" * 1000)
    to = os.path.join(work, "names.trace")
    result = trace(to, ["/bin/sh", "-c", "for f in *; do cat \"$f\"; cp \"$f\" \"$f.copy\"; done"],
                   cwd=directory)
    checks.equal(result.status, 0, f"names: {result}")
    page, data, _ = made(checks, work, to)
    names = [file["name"] for file in data["files"]]
    checks.that(os.path.join(directory, SCRIPT) in names, f"{SCRIPT} is a file: {names}")
    browser.check(checks, page, checkData(checks, to, data))


def checkProgram(checks, work, browser, name, words, ranks, phases):
    to, directory = os.path.join(work, name), emptied(os.path.join(work, "run"))
    if name == "lammps":
        writeMelt(directory)
    result = trace(to, mpirun(ranks) + words, cwd=directory)
    checks.equal(result.status, 0, f"{name}: {result}")
    page, data, _ = made(checks, work, to)
    expect = checkData(checks, to, data)
    checks.equal(len(data["ranks"]), ranks, f"{name}: ranks")
    checks.that(not phases or len(data["phases"]) > 0, f"{name}: no phases: {data['phases_missing']}")
    browser.check(checks, page, expect)
    _, window, _ = made(checks, work, to, "--window", "0..0.001", "--rank", "1")
    checks.that(window["summary"]["calls"] < expect["calls"], f"{name}: calls of a window")
    checks.that(window["phases_missing"], f"{name}: no phases of a window")


def checkDamaged(checks, work, browser):
    """A trace of a program without any call, and one whose log was cut off."""
    to = os.path.join(work, "empty")
    result = trace(to, ["/bin/true"], cwd=work)
    checks.equal(result.status, 0, f"empty: {result}")
    page, data, _ = made(checks, work, to)
    checks.equal((data["summary"]["calls"], data["ranks"], data["rows"]), (0, [], []), "empty")
    browser.check(checks, page, {"calls": 0, "bytes_read": 0, "bytes_written": 0, "files": 0})

    to = os.path.join(work, "cut")
    result = trace(to, ["/bin/sh", "-c", "cat /etc/passwd; cat /etc/group"], cwd=work)
    checks.equal(result.status, 0, f"cut: {result}")
    logs = sorted(name for name in os.listdir(to) if name.endswith(".omnio"))
    with open(os.path.join(to, logs[-1]), "r+b") as file:
        file.truncate(4096 + 64)  # behind its header
    page, data, result = made(checks, work, to)
    checks.equal(data["summary"]["whole"], False, "a log that was cut off")
    checks.that(data["summary"]["missing"] and data["summary"]["reasons"], f"reasons: {data['summary']}")
    checks.that(b"not whole" in result.err, f"cut: {result}")
    browser.check(checks, page, {"calls": data["summary"]["calls"]})

    for words, status in ((["-o", "/dev/full"], 1), ([], 2), (["-o", "x", "--phases", "some"], 2)):
        result = run([omnio(), "report", to, *words], cwd=work)
        checks.equal(result.status, status, f"{words}: {result}")


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    checks = Checks()
    with WorkDirectory() as work:
        browser = Browser(work, sys.argv[1])
        with checks.case("names"):
            checkNames(checks, work, browser)
        with checks.case("damaged"):
            checkDamaged(checks, work, browser)
        if mpirun(1) is None:
            checks.skip("MPI programs", "no MPI launcher")
            return checks.finish()
        cases = [("collective", [program("c_kernels"), "btio-full", "24", "3", "0"], 4, True),
                 ("messages", [program("c_workloads"), "token"], 4, True)]
        if shutil.which("lmp"):
            cases.append(("lammps", [shutil.which("lmp"), "-in", "in.melt"], 2, True))
        else:
            checks.skip("lammps", "no lmp")
        for name, words, ranks, phases in cases:
            with checks.case(name):
                checkProgram(checks, work, browser, name, words, ranks, phases)
    return checks.finish()


if __name__ == "__main__":
    main()
