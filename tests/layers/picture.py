#!/usr/bin/env python3
"""ARCHITECTURE.md, its picture docs/img/rooms.svg and scripts/check_layers.py say the same.

In the picture, an element with data-room is a room, and a path with data-from and data-to is an
arrow: the room may include the other one, and whatever that one may include. In ARCHITECTURE.md,
the third column of the table of rooms says the same. What follows from either has to be LAYERS of
check_layers.py.

Paths and functions that ARCHITECTURE.md, CONTRIBUTING.md and core/calls/README.md name have to
exist, and the files in the tables of the rooms' READMEs.
"""

import importlib.util
import pathlib
import re
import sys
import unittest
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = "ARCHITECTURE.md"
PICTURE = "docs/img/rooms.svg"
GUIDES = (PAGE, "CONTRIBUTING.md", "core/calls/README.md")
MOST_LINES = 150
NEAR = 3  # units of the picture between the end of an arrow and its room

SVG = "{http://www.w3.org/2000/svg}"
CODE = re.compile(r"`([^`]+)`")
FILE = re.compile(r"[\w./-]+\.(?:cpp|hpp|def|py|sh|md|h|f90|cmake|txt|svg)")


sys.dont_write_bytecode = True  # the source tree may not be writable


def load_check_layers():
    spec = importlib.util.spec_from_file_location("check_layers", ROOT / "scripts/check_layers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CHECK_LAYERS = load_check_layers()


def closure(direct):
    """Room -> all rooms that follow from {room: rooms that it may include}."""
    def below(room, seen):
        for other in direct.get(room, ()):
            if other not in seen:
                seen.add(other)
                below(other, seen)
        return seen
    return {room: below(room, set()) for room in direct}


def compare(what, direct, layers):
    """Problems of a table of direct includes, against LAYERS."""
    problems = [f"{what}: {room} is missing" for room in sorted(set(layers) - set(direct))]
    problems += [f"{what}: {room} is not in check_layers.py"
                 for room in sorted(set(direct) - set(layers))]
    derived = closure(direct)
    for room in sorted(set(layers) & set(direct)):
        for other in sorted(derived[room] - set(layers[room])):
            problems.append(f"{what}: {room} may include {other}, which check_layers.py forbids")
        for other in sorted(set(layers[room]) - derived[room]):
            problems.append(f"{what}: {room} may not include {other}, which check_layers.py allows")
    return problems


def points(path):
    """First and last point of a path of M, L, H, V with absolute numbers."""
    x = y = 0.0
    found = []
    for letter, numbers in re.findall(r"([MLHV])([^MLHV]*)", path):
        values = [float(v) for v in numbers.split()]
        if letter == "H":
            x = values[0]
        elif letter == "V":
            y = values[0]
        else:
            x, y = values
        found.append((x, y))
    return found[0], found[-1]


def is_at(point, box):
    x, y, width, height = box
    return x - NEAR <= point[0] <= x + width + NEAR and y - NEAR <= point[1] <= y + height + NEAR


def read_picture(text):
    """({room: rooms it has an arrow to}, problems of the drawing itself)."""
    root = ElementTree.fromstring(text)
    direct, boxes, problems = {}, {}, []
    for group in root.iter(f"{SVG}g"):
        room = group.get("data-room")
        if room is None:
            continue
        direct[room] = set()
        box = group.find(f"{SVG}rect")
        boxes[room] = tuple(float(box.get(name)) for name in ("x", "y", "width", "height"))
        names = [label.text for label in group.iter(f"{SVG}text") if label.get("class") == "name"]
        if names != [room]:
            problems.append(f"picture: the room {room} bears the name {names}")
    for arrow in root.iter(f"{SVG}path"):
        if arrow.get("class") != "arrow":
            continue
        sources, targets = arrow.get("data-from", "").split(), arrow.get("data-to", "").split()
        label = f"picture: the arrow from {' '.join(sources)} to {' '.join(targets)}"
        unknown = [room for room in sources + targets if room not in direct]
        if unknown or not sources or not targets:
            problems.append(f"{label} names no room: {unknown}")
            continue
        for source in sources:
            direct[source].update(targets)
        begin, end = points(arrow.get("d"))
        # An arrow of several rooms begins or ends at the frame around them.
        if len(sources) == 1 and not is_at(begin, boxes[sources[0]]):
            problems.append(f"{label} begins elsewhere")
        if len(targets) == 1 and not is_at(end, boxes[targets[0]]):
            problems.append(f"{label} ends elsewhere")
    return direct, problems


def tables(text):
    """The tables of a page, each as a list of rows of cells."""
    found, rows = [], []
    for line in text.splitlines() + [""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
        elif rows:
            found.append(rows[2:])
            rows = []
    return found


def read_page(text):
    """({room: rooms in its third cell}, the folders of all tables of rooms)."""
    direct, folders = {}, []
    for rows in tables(text):
        for cells in rows:
            names = CODE.findall(cells[0])
            if not names or not names[0].endswith("/"):
                continue
            folders.append(names[0].rstrip("/"))
            if len(cells) == 3:
                direct[folders[-1]] = set(CODE.findall(cells[2]))
    return direct, folders


def folders_of_sources(root):
    found = set()
    for top in {folder.split("/")[0] for folder in CHECK_LAYERS.LAYERS}:
        for path in (root / top).rglob("*"):
            if path.suffix in CHECK_LAYERS.SOURCES:
                found.add(path.parent.relative_to(root).as_posix())
    return found


def problems_of(layers, picture, page, root=None):
    drawn, problems = read_picture(picture)
    problems += compare("picture", drawn, layers)
    written, folders = read_page(page)
    problems += compare(PAGE, written, layers)
    for room in sorted(set(drawn) & set(written)):
        if drawn[room] != written[room]:
            problems.append(f"{room}: the picture has arrows to {sorted(drawn[room])}, "
                            f"{PAGE} has {sorted(written[room])}")
    if root is not None:
        there = folders_of_sources(root)
        problems += [f"{PAGE}: {folder} has sources and no row"
                     for folder in sorted(there - set(folders))]
        problems += [f"{PAGE}: {folder} has a row and no folder"
                     for folder in folders if not (root / folder).is_dir()]
    return problems


def missing_names(page, text, root, names):
    """Files that a page names and that do not exist, functions that their file does not have."""
    problems = []
    for number, line in enumerate(text.splitlines(), 1):
        files = []
        for code in CODE.findall(line):
            if FILE.fullmatch(code):
                # A name without a folder is one of those that the text is about.
                beside = (root / page).parent / code
                path = root / code
                if "/" in code and not path.is_file():
                    problems.append(f"{page}:{number}: {code} does not exist")
                elif "/" not in code and not beside.is_file() and code not in names:
                    problems.append(f"{page}:{number}: no file is named {code}")
                elif "/" in code:
                    files.append(path)
            elif files and re.fullmatch(r"[\w:]+\(\)", code):
                name = code[:-2].split("::")[-1]
                if not any(re.search(rf"\b{name}\b", file.read_text()) for file in files):
                    problems.append(f"{page}:{number}: {code} is in none of the files before it")
    return problems


class Picture(unittest.TestCase):
    LAYERS = {"base": (), "wire": ("base",), "cli": ("wire", "base")}
    ROOM = ('<g data-room="{0}"><rect x="0" y="{1}" width="10" height="10"/>'
            '<text class="name">{0}</text></g>')
    ARROW = '<path class="arrow" data-from="{}" data-to="{}" d="M5 {} V{}"/>'
    ARROWS = ARROW.format("cli", "wire", 10, 18) + ARROW.format("wire", "base", 30, 38)
    ROOMS = ROOM.format("cli", 0) + ROOM.format("wire", 20) + ROOM.format("base", 40)
    TABLE = ("| room | what | may include |\n|---|---|---|\n| `base/` | x | nothing |\n"
             "| `wire/` | x | `base` |\n| `cli/` | x | `wire` |\n")

    def problems(self, rooms=ROOMS, arrows=ARROWS, table=TABLE):
        picture = f'<svg xmlns="http://www.w3.org/2000/svg">{rooms}{arrows}</svg>'
        return problems_of(self.LAYERS, picture, table)

    def test_what_agrees_passes(self):
        self.assertEqual(self.problems(), [])

    def test_a_missing_room_is_named(self):
        found = self.problems(rooms=self.ROOMS.replace(self.ROOM.format("cli", 0), ""))
        self.assertIn("picture: cli is missing", found)

    def test_an_arrow_the_wrong_way_round_is_named(self):
        arrows = self.ARROWS.replace('data-from="wire" data-to="base"',
                                     'data-from="base" data-to="wire"')
        found = self.problems(arrows=arrows)
        self.assertIn("picture: base may include wire, which check_layers.py forbids", found)
        self.assertIn("picture: the arrow from base to wire begins elsewhere", found)

    def test_a_missing_arrow_is_named(self):
        found = self.problems(arrows=self.ARROW.format("wire", "base", 30, 38))
        self.assertIn("picture: cli may not include wire, which check_layers.py allows", found)

    def test_a_label_that_is_not_the_rooms_is_named(self):
        found = self.problems(rooms=self.ROOMS.replace(">wire<", ">wires<"))
        self.assertIn("picture: the room wire bears the name ['wires']", found)

    def test_a_missing_row_is_named(self):
        found = self.problems(table=self.TABLE.replace("| `wire/` | x | `base` |\n", ""))
        self.assertIn("ARCHITECTURE.md: wire is missing", found)

    def test_a_row_with_other_includes_is_named(self):
        found = self.problems(table=self.TABLE.replace("x | `wire` |", "x | `wire`, `base` |"))
        self.assertEqual(found, ["cli: the picture has arrows to ['wire'], ARCHITECTURE.md has "
                                 "['base', 'wire']"])


class Tree(unittest.TestCase):
    maxDiff = None

    def text(self, name):
        return (ROOT / name).read_text(encoding="utf-8")

    def test_picture_page_and_layers_agree(self):
        self.assertEqual(problems_of(CHECK_LAYERS.LAYERS, self.text(PICTURE), self.text(PAGE),
                                     ROOT), [])

    def test_the_page_is_short(self):
        self.assertLessEqual(len(self.text(PAGE).splitlines()), MOST_LINES)

    def test_what_guides_name_exists(self):
        names = {path.name for top in ("core", "trace", "statistics", "preprocess", "phase_model",
                                       "predict", "replay", "ior_bridge", "procurement",
                                       "report", "cli", "tests", "scripts")
                 for path in (ROOT / top).rglob("*.*")}
        names |= {path.name for path in ROOT.glob("*.*")}
        for page in GUIDES:
            self.assertEqual(missing_names(page, self.text(page), ROOT, names), [])

    def test_what_tables_of_files_name_exists(self):
        missing = []
        for page in sorted(ROOT.glob("*/README.md")):
            for rows in tables(page.read_text(encoding="utf-8")):
                for name in [name for cells in rows for name in CODE.findall(cells[0])]:
                    if page.parent.name in CHECK_LAYERS.LAYERS and not any(
                            (page.parent / (name + end)).is_file() for end in ("", ".hpp", ".cpp")):
                        missing.append(f"{page.parent.name}: {name}")
        self.assertEqual(missing, [])

    def test_what_does_not_exist_is_named(self):
        text = "`core/calls/rolle.hpp`\n`rolle.hpp` `core/calls/table.hpp`: `roll()`, `indexOf()`\n"
        self.assertEqual(missing_names("page.md", text, ROOT, set()),
                         ["page.md:1: core/calls/rolle.hpp does not exist",
                          "page.md:2: no file is named rolle.hpp",
                          "page.md:2: roll() is in none of the files before it"])


if __name__ == "__main__":
    unittest.main()
