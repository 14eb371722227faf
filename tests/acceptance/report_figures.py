"""omnio report --figures: pictures that are valid XML, say what `omnio stats` says of the same trace to the
call and the byte, and run nothing that a name in the trace says; drawn by Chromium and rsvg-convert, where
these are."""

import os
import re
import shutil
import xml.etree.ElementTree as ElementTree

from omnio_testing import (Checks, WorkDirectory, emptied, mpirun, omnio, program, run, stats, trace)

SVG = "{http://www.w3.org/2000/svg}"
ALWAYS = {"bandwidth.svg", "heatmap.svg", "offsets.svg", "pattern.svg", "sizes.svg", "times.svg"}
SCRIPT = "<script>window.__pwned=1<"
ELEMENTS = {"svg", "title", "desc", "rect", "path", "line", "text", "g", "defs", "pattern",
            "linearGradient", "stop"}


def figures(checks, to, directory, *options):
    """The pictures by name, parsed."""
    result = run([omnio(), "report", to, "--figures", directory, *options])
    checks.equal(result.status, 0, f"report: {result}")
    found = {name: ElementTree.parse(os.path.join(directory, name)).getroot()
             for name in os.listdir(directory) if name.endswith(".svg")}
    checks.that(ALWAYS <= set(found), f"pictures: {sorted(found)}")
    for name, root in found.items():
        checkPicture(checks, name, root)
    return found


def checkPicture(checks, name, root):
    """Checks for the parts that each picture has, and for those that none may have."""
    checks.equal(root.tag, SVG + "svg", name)
    checks.equal(root.get("width"), "160mm", f"{name}: width")
    for tag in ("title", "desc"):
        checks.that((root.findtext(SVG + tag) or "").strip(), f"{name} has no {tag}")
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    checks.that(tags <= ELEMENTS, f"{name} has {sorted(tags - ELEMENTS)}")
    width, height = (float(number) for number in root.get("viewBox").split()[2:])
    for element in root.iter():
        for key, value in element.attrib.items():
            checks.that(not key.startswith("on") and "href" not in key, f"{name}: attribute {key}")
            checks.that("url(" not in value or value in ("url(#ramp)", "url(#several)"), f"{name}: {value}")
        if element.tag == SVG + "text":
            x, y = float(element.get("x")), float(element.get("y"))
            checks.that(0 <= x <= width and 0 <= y <= height, f"{name}: {element.text!r} at {x}, {y}")


def kinds(root):
    """Elements by what they are about: read, write, ..."""
    return {element.get("data-kind"): element for element in root.iter() if element.get("data-kind")}


def checkSums(checks, to, found, *options):
    """Against the statistics of the same calls."""
    by_file, by_call = (stats(to, "--by", by, *options) for by in ("file", "call"))
    total = by_call["total"]
    bytes_moved = {kind: total[kind]["size_bytes"]["total"] for kind in ("read", "write")}
    shown = {kind: sum(map(int, line.get("data-bytes").split()))
             for kind, line in kinds(found["bandwidth.svg"]).items()}
    checks.equal({kind: shown.get(kind, 0) for kind in bytes_moved}, bytes_moved, "bandwidth")
    for name, part in (("sizes.svg", "size_bytes"), ("times.svg", "time_ns")):
        panels = kinds(found[name])
        for kind in ("read", "write"):
            bars = [] if kind not in panels else [
                {key: int(bar.get("data-" + key)) for key in ("from", "to", "count")}
                for bar in panels[kind].iter(SVG + "rect")]
            checks.equal(bars, total[kind][part]["histogram"], f"{name}, {kind}")
    other = sum(group["time_ns"]["count"] for group in by_call["groups"]
                if group["read"]["time_ns"]["count"] + group["write"]["time_ns"]["count"] == 0)
    bars = [bar for kind in ("metadata", "sync") if kind in kinds(found["times.svg"])
            for bar in kinds(found["times.svg"])[kind].iter(SVG + "rect")]
    checks.equal(sum(int(bar.get("data-count")) for bar in bars), other, "times of other calls")
    groups = {group["name"]: group for group in by_file["groups"]}
    for name, root in found.items():
        panels = kinds(root)
        if not name.startswith("offsets") or not panels:
            continue
        path = re.fullmatch(r"Offsets in (.*) over time", root.findtext(SVG + "title"), re.DOTALL)[1]
        for kind in ("read", "write"):
            got = int(panels[kind].get("data-bytes")) if kind in panels else 0
            checks.equal(got, groups[path][kind]["size_bytes"]["total"], f"{name}, {kind} of {path}")


def drawn(checks, work, directory):
    """Each picture by the programs that people open them with."""
    for name in sorted(os.listdir(directory)):
        if not name.endswith(".svg"):
            continue
        svg, png = os.path.join(directory, name), os.path.join(work, name + ".png")
        if shutil.which("chromium"):
            result = run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                          f"--user-data-dir={os.path.join(work, 'profile')}", f"--screenshot={png}",
                          "--window-size=640,480", f"file://{svg}"])
            checks.that(os.path.exists(png) and os.path.getsize(png) > 2000, f"{name} in chromium: {result}")
        if shutil.which("rsvg-convert"):
            result = run(["rsvg-convert", "-o", png, svg])
            checks.equal(result.status, 0, f"{name} in rsvg-convert: {result}")
    for tool in ("chromium", "rsvg-convert"):
        if not shutil.which(tool):
            checks.skip(f"pictures in {tool}", f"no {tool}")


def checkNames(checks, work):
    """Paths with marks of XML and terminals, and odd bytes."""
    directory = emptied(os.path.join(work, "names"))
    for name in (SCRIPT.encode(), b'a"b&amp;\n', b"\x1b[31mred", b"\xff\xfe"):
        with open(os.path.join(os.fsencode(directory), name), "wb") as file:
            file.write(b"x" * 1000)
    to, pictures = os.path.join(work, "names.trace"), os.path.join(work, "names.figures")
    result = trace(to, ["/bin/sh", "-c", "for f in *; do cat \"$f\"; cp \"$f\" \"$f.copy\"; done"],
                   cwd=directory)
    checks.equal(result.status, 0, f"names: {result}")
    found = figures(checks, to, pictures)
    titles = [root.findtext(SVG + "title") for root in found.values()]
    checks.that(any(SCRIPT in title for title in titles), f"{SCRIPT} is a file: {titles}")
    checks.that(not any("\x1b" in title for title in titles), f"escapes: {titles}")
    checkSums(checks, to, found)
    drawn(checks, work, pictures)


def checkOptions(checks, work):
    """With and without a page, over what is there, and where nothing can be written."""
    to = os.path.join(work, "options.trace")
    result = trace(to, ["/bin/sh", "-c", "cat /etc/passwd > copy; cat copy"], cwd=work)
    checks.equal(result.status, 0, f"options: {result}")
    pictures, page = os.path.join(work, "deep", "figures"), os.path.join(work, "page.html")
    found = figures(checks, to, pictures, "-o", page)
    checks.that(os.path.getsize(page) > 1000, "a page beside the pictures")
    checkSums(checks, to, found)
    with open(os.path.join(pictures, "sizes.svg"), "w", encoding="utf-8") as file:
        file.write("old")
    other = os.path.join(pictures, "mine.txt")
    with open(other, "w", encoding="utf-8") as file:
        file.write("mine")
    figures(checks, to, pictures)
    checks.equal(sorted(name for name in os.listdir(pictures) if not name.startswith("offsets-")),
                 sorted(ALWAYS | {"mine.txt"}), "files in the directory")
    checkSums(checks, to, figures(checks, to, os.path.join(work, "path"), "--path", "*/copy"),
              "--path", "*/copy")
    for words, status in (([], 2), (["--figures", other], 1), (["--figures", "/dev/null/x"], 1)):
        result = run([omnio(), "report", to, *words], cwd=work)
        checks.equal(result.status, status, f"{words}: {result}")
        checks.that(result.err, f"{words}: a sentence")

    to = os.path.join(work, "empty.trace")
    result = trace(to, ["/bin/true"], cwd=work)
    checks.equal(result.status, 0, f"empty: {result}")
    empty = os.path.join(work, "empty.figures")
    for name, root in figures(checks, to, empty).items():
        checks.that(any("The trace has no" in (text.text or "") for text in root.iter(SVG + "text")),
                    f"{name} of an empty trace")
    drawn(checks, work, empty)


def checkProgram(checks, work, name, words, ranks):
    to, directory = os.path.join(work, name), emptied(os.path.join(work, "run"))
    result = trace(to, mpirun(ranks) + words, cwd=directory)
    checks.equal(result.status, 0, f"{name}: {result}")
    pictures = os.path.join(work, name + ".figures")
    found = figures(checks, to, pictures)
    checkSums(checks, to, found)
    drawn(checks, work, pictures)
    one = figures(checks, to, os.path.join(work, name + ".one"), "--rank", "1", "--window", "0..1000")
    checkSums(checks, to, one, "--rank", "1", "--window", "0..1000")


def main():
    checks = Checks()
    with WorkDirectory() as work:
        with checks.case("names"):
            checkNames(checks, work)
        with checks.case("options"):
            checkOptions(checks, work)
        if mpirun(1) is None:
            checks.skip("MPI programs", "no MPI launcher")
            return checks.finish()
        for name, words, ranks in (("collective", [program("c_kernels"), "btio-full", "24", "3", "0"], 4),
                                   ("messages", [program("c_workloads"), "token"], 4)):
            with checks.case(name):
                checkProgram(checks, work, name, words, ranks)
    return checks.finish()


if __name__ == "__main__":
    main()
