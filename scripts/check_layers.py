#!/usr/bin/env python3
"""Checks that includes follow the layers of ARCHITECTURE.md ("Folders").

Prints one line for each include that breaks the table and exits 1; exits 0 when there is none.

    scripts/check_layers.py [ROOT]      ROOT: the top of the source tree; this script's own one
                                        when left out

A new folder of code gets a row in LAYERS and one in ARCHITECTURE.md.
"""

import pathlib
import re
import sys

SHARED = ("core/calls", "core/wire")
EVENT = ("core/base", "core/calls/words", *SHARED)
TRACEFILE = (*EVENT, "core/event")
MPI = (*TRACEFILE, "core/tracefile")
ORDER = (*MPI, "core/mpi")
ALL_OF_CORE = (*ORDER, "core/order", "core/model", "core/pattern")
ALL_BUT_TRACE = (*ALL_OF_CORE, "core/storage", "logging", "statistics", "preprocess", "phase_model", "predict", "prefetch",
                 "replay", "ior_bridge", "procurement", "report")

# Folder -> the other folders that it may include. A file belongs to the longest that fits its path.
LAYERS = {
    "core/base": (),
    "core/calls": (),
    "core/calls/words": ("core/calls", "core/base"),
    "core/wire": ("core/calls",),
    "core/event": EVENT,
    "core/tracefile": TRACEFILE,
    "core/mpi": MPI,
    "core/order": ORDER,
    "core/model": (*EVENT, "core/event", "core/pattern"),
    "core/pattern": ("core/base",),
    "core/storage": ("core/base",),
    "logging": ("core/base",),
    "trace": SHARED,
    "statistics": ALL_OF_CORE,
    "report": (*ALL_OF_CORE, "statistics", "phase_model"),
    "preprocess": ALL_OF_CORE,
    "phase_model": ALL_OF_CORE,
    "predict": (*ALL_OF_CORE, "core/storage"),
    "prefetch": (*ALL_OF_CORE, "core/storage", "predict"),
    "replay": (*ALL_OF_CORE, "core/storage", "logging"),
    "ior_bridge": (*ALL_OF_CORE, "core/storage", "logging", "replay"),
    "procurement": (*ALL_OF_CORE, "core/storage", "logging", "phase_model", "replay", "ior_bridge"),
    "cli": ALL_BUT_TRACE,
}

# Code inside the traced process does without all that allocates, throws or logs.
HOST_ONLY = re.compile(r"(string|vector|deque|list|map|set|unordered_map|unordered_set|memory|"
                       r"functional|iostream|fstream|sstream|ostream|istream|filesystem|regex|"
                       r"thread|mutex|future|stdexcept|format|fmt/.*|spdlog/.*|rapidjson/.*)")
FREESTANDING = ("core/calls", "core/wire", "trace")

# Reading, reporting and preprocessing are built without MPI too.
MPI_HEADER = re.compile(r"mpio?\.h")
MPI_FOLDERS = ("trace", "replay", "ior_bridge")

SOURCES = (".hpp", ".cpp", ".h", ".c", ".def", ".inc")
INCLUDE = re.compile(r'\s*#\s*include(?:_next)?\s*([<"])([^">]+)[">]')


def layer_of(path):
    """The folder of LAYERS that holds a path relative to the root, or None."""
    text = path.as_posix()
    fitting = [folder for folder in LAYERS if text.startswith(folder + "/")]
    return max(fitting, key=len, default=None)


def resolve(root, source, name):
    """The file of the project that an include means, relative to the root, or None."""
    for base in (root, source.parent):
        candidate = (base / name).resolve()
        if candidate.is_file() and candidate.is_relative_to(root):
            return candidate.relative_to(root)
    return None


def complaint_about(root, source, layer, quote, name):
    """Why a file of that layer may not hold this include, or None."""
    included = resolve(root, source, name)
    if included is None:
        if quote == "<" and layer in FREESTANDING and HOST_ONLY.fullmatch(name):
            return f"includes <{name}>, which {layer} may not: it is freestanding"
        if MPI_HEADER.fullmatch(name) and layer not in MPI_FOLDERS:
            return f"includes {name}, which {layer} may not: it is built without MPI"
        return None
    target = layer_of(included)
    if target is None:
        return f"includes {included}, which {layer} may not: it is in no layer"
    if target != layer and target not in LAYERS[layer]:
        return f"includes {included}, which {layer} may not"
    return None


def check(root):
    """All complaints about the tree below root, and the number of files read."""
    complaints = []
    files = 0
    for top in sorted({folder.split("/")[0] for folder in LAYERS}):
        for source in sorted((root / top).rglob("*")):
            if source.suffix not in SOURCES or not source.is_file():
                continue
            files += 1
            layer = layer_of(source.relative_to(root))
            lines = source.read_text(encoding="utf-8", errors="replace").splitlines()
            for number, line in enumerate(lines, 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                why = complaint_about(root, source, layer, match[1], match[2])
                if why:
                    complaints.append(f"{source.relative_to(root)}:{number}: {why}")
    return complaints, files


def main():
    if len(sys.argv) > 2 or sys.argv[1:2] in (["-h"], ["--help"]):
        print(__doc__.strip())
        return 0 if len(sys.argv) == 2 else 2
    given = sys.argv[1] if len(sys.argv) == 2 else pathlib.Path(__file__).parent.parent
    root = pathlib.Path(given).resolve()
    complaints, files = check(root)
    if files == 0:
        print(f"{root}: no source file of any layer is here; is it the top of the tree?",
              file=sys.stderr)
        return 2
    for complaint in complaints:
        print(complaint)
    print(f"{files} files, {len(complaints)} includes against the layers")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
