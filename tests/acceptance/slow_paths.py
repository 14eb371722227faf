"""Which accesses took a slow path: omnio advise and omnio report with a calibration in which all accesses
of a kind take the same time, so that the factor of each recorded access is known; the tables, the picture
and the documents of calibrations; and bad input, one sentence each.
"""

import html
import json
import os
import re
import shutil
import xml.etree.ElementTree as ElementTree

from calibration_testing import calibration, written
from omnio_testing import Checks, WorkDirectory, emptied, omnio, program, run, trace

TIMES = {"read": 1_000, "write": 1_000, "fsync": 1_000, "fdatasync": 1_000, "close": 1_000, "open": 1_000,
         "create": 1_000, "stat": 1_000}


def regular(checks, work):
    """Calls of a made trace take 0.9 to 1.0 us each, so they are one class, whatever the factor is."""
    made = os.path.join(work, "made.trace")
    done = run([program("make_trace"), made, "40000", "2", "2"])
    checks.equal(done.status, 0, f"make_trace: {done.err!r}")
    for each, factor in ((1_000, 0.9), (100, 9)):
        times = {name: each for name in TIMES}
        measured = written(work, "cal.json", calibration(times))
        done = run([omnio(), "advise", made, "--calibration", measured, "--json"])
        checks.equal((done.status, done.err), (0, b""), "omnio advise")
        paths = json.loads(done.out)["paths"]
        checks.equal(len(paths["classes"]), 1, "one class")
        one = paths["classes"][0]
        checks.that(abs(one["median_factor"] / factor - 1) < 0.1,
                    f"measured over predicted is {one['median_factor']}, wanted about {factor}")
        stats = json.loads(run([omnio(), "stats", made, "--json"]).out)
        data = sum(stats["total"]["operations"][kind] for kind in ("read", "write"))
        checks.equal(one["accesses"], data, "all reads and writes are accesses")
        checks.that(abs(sum(one["when"]) - 1) < 1e-4, f"when: {sum(one['when'])}")
        checks.equal({rank["name"] for rank in one["ranks"]}, {"0", "1"}, "ranks")
    done = run([omnio(), "advise", made, "--calibration", measured])
    checks.that(b"does not predict the next one" in done.out, "the text says what a class is")
    done = run([omnio(), "advise", made, "--json"])
    checks.that("paths" not in json.loads(done.out), "no paths without a calibration")
    return made, measured


def page(checks, work, made, measured):
    to = os.path.join(work, "page.html")
    done = run([omnio(), "report", made, "-o", to, "--phases", "no", "--calibration", measured])
    checks.equal((done.status, done.err), (0, b""), "omnio report")
    with open(to, encoding="utf-8") as file:
        data = re.search(r'id="data">(.*?)</script>', file.read(), re.DOTALL)[1]
    checks.equal(len(json.loads(data)["paths"]["classes"]), 1, "the page has the class")
    done = run([omnio(), "report", made, "-o", to, "--calibration", measured, "--rank", "0"])
    checks.equal((done.status, done.err.decode()),
                 (2, "omnio: --calibration: paths of accesses are of whole runs, and not of the calls that "
                     "--rank, --thread, --path and --window choose\n"), "chosen calls")


def otherTarget(checks, work):
    """The file system of a recorded run is known, and is not that of the calibration."""
    recorded = os.path.join(work, "real.trace")
    done = trace(recorded, ["dd", "if=/dev/zero", f"of={work}/file", "bs=4096", "count=100"], "serial")
    checks.equal(done.status, 0, f"omnio trace: {done.err!r}")
    measured = written(work, "other.json", calibration(TIMES))
    done = run([omnio(), "advise", recorded, "--calibration", measured])
    found = re.fullmatch(
        rf"omnio: {re.escape(measured)}: it was measured on /scratch ext4 /dev/sda1, and \d+ % of the I/O "
        rf"time of {re.escape(recorded)} is on other file systems, most on (\S+ \S+): calibrate that "
        r"one\n", done.err.decode())
    checks.that(done.status == 1 and found, f"another target: {done.status} {done.err!r}")
    if not found:
        return
    document = calibration(TIMES)
    document["target"]["mount"] = f"/elsewhere {found[1]}"
    measured = written(work, "same.json", document)
    done = run([omnio(), "advise", recorded, "--calibration", measured])
    checks.equal((done.status, done.err), (0, b""), "the same file system")


def badInput(checks, work, made, measured):
    direct = written(work, "direct.json", calibration(TIMES, cache="direct"))
    unread = written(work, "unread.json", calibration(TIMES, without=("read",)))
    missing = os.path.join(work, "missing.json")
    for words, sentence in (
            (["--calibration", direct], f"{direct}: it was measured with the cache state direct, and 100 % "
                                        f"of the bytes of {made} are without O_DIRECT"),
            (["--calibration", unread], f"{unread}: no read was measured, and {made} has some"),
            (["--calibration", missing], f"{missing}: No such file or directory")):
        done = run([omnio(), "advise", made, *words])
        checks.equal((done.status, done.err.decode(), done.out), (1, f"omnio: {sentence}\n", b""), sentence)
    picture = os.path.join(work, "p.svg")
    for words, sentence in (
            (["--calibration", measured, "--plot", picture], "--plot: only with --models"),
            (["--plot", picture], "--plot: only with --calibration and --models")):
        done = run([omnio(), "estimate", made, *words])
        checks.equal((done.status, done.err.decode()), (2, f"omnio: {sentence}\n"), sentence)


def tables(checks, work, measured):
    """All times of a case are the same, so they are all quartiles; and no input has to do with them."""
    picture = os.path.join(work, "p.svg")
    done = run([omnio(), "estimate", "--calibration", measured, "--models", "--json", "--plot", picture])
    checks.equal((done.status, done.err), (0, b""), "estimate --models --json")
    document = json.loads(done.out)
    checks.equal([case["case"] for case in document["cases"]],
                 ["read sequential", "write sequential", "write new"], "cases")
    for case in document["cases"]:
        checks.equal({case[f"{name}_s"] for name in
                      ("least", "quartile1", "median", "quartile3", "mean", "most")}, {1e-07},
                     f"times of {case['case']}")
        checks.equal(case["accesses"], 3 * 40, f"accesses of {case['case']}")
    checks.equal({document["correlations"][name] for name in ("size", "distance", "type")}, {0},
                 "correlations")
    checks.equal([model["model"] for model in document["models"]],
                 ["ann+error class", "ann+ema", "ann", "table", "linear"], "models")
    for size in document["sizes"]:
        checks.equal(round(size["predicted_s"]["table"], 9), 1e-07, f"predicted of {size['bytes']} B")
    root = ElementTree.parse(picture).getroot()
    texts = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    for wanted in ("Access times of /scratch (ext4) on node1, cached", "read sequential", "read random",
                   "write sequential", "write random", "ann", "table", "linear", "not measured"):
        checks.that(wanted in texts, f"the picture says {wanted!r}: {texts}")
    done = run([omnio(), "estimate", "--calibration", measured, "--models"])
    checks.that(b"correlation with the time, of 360 accesses: size 0.00" in done.out, "tables as text")


# Lists the texts that leave the picture, or lie on each other, as Chromium draws them.
MEASURE = """<script>
const picture = document.querySelector("svg").getBoundingClientRect();
const texts = [...document.querySelectorAll("text")].map((node) => [node.textContent, node.getBoundingClientRect()]);
const inside = ([, box]) => box.left >= picture.left && box.right <= picture.right && box.top >= picture.top &&
  box.bottom <= picture.bottom;
const meet = (a, b) => a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom;
const wrong = texts.filter((text) => !inside(text)).map(([text]) => "outside: " + text);
texts.forEach(([text, box], at) => texts.slice(at + 1).forEach(([other, second]) => {
  if (meet(box, second)) wrong.push(text + " on " + other);
}));
document.title = JSON.stringify({ texts: texts.length, wrong });
</script>"""


def boxes(checks, work):
    picture = os.path.join(work, "p.svg")
    if shutil.which("chromium") is None:
        checks.skip("the boxes of texts", "no chromium")
        return
    with open(picture, encoding="utf-8") as file:
        drawn = file.read()
    page = os.path.join(work, "boxes.html")
    with open(page, "w", encoding="utf-8") as file:
        file.write(f"<!DOCTYPE html><meta charset=utf-8>{drawn[drawn.index('<svg'):]}{MEASURE}")
    result = run(["chromium", "--headless", "--no-sandbox", "--disable-gpu",
                  f"--user-data-dir={work}/chromium", "--dump-dom", f"file://{page}"])
    found = re.search(r"</script><title>(.*)</title>|<title>(\{.*\})</title>", result.out.decode())
    checks.that(found is not None, f"chromium: {result.status} {result.err[-300:]!r}")
    if found is None:
        return
    measured = json.loads(html.unescape(found[1] or found[2]))
    checks.that(measured["texts"] > 20, f"{measured['texts']} texts")
    checks.equal(measured["wrong"], [], "texts outside of the picture or on each other")


def main():
    checks = Checks()
    with WorkDirectory() as work:
        emptied(work)
        made, measured = regular(checks, work)
        page(checks, work, made, measured)
        badInput(checks, work, made, measured)
        tables(checks, work, measured)
        boxes(checks, work)
        otherTarget(checks, work)
    checks.finish()


if __name__ == "__main__":
    main()
