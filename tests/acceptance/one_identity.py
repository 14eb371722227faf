"""What each command says of files that have several names, that are renamed, emptied or appended to, and of
positions that descriptors share: how many files there are, how far each goes, and how many bytes were read and
written in each. The kernel says what is right: the programs (tests/programs/c_identity.c) count by inode.

  one_identity.py [CASE...]    all cases by default

known_identities.py has the answers that are known to be wrong. A command that gives another answer in such a
place fails the test, also where it has become right: then its entry is to be taken out.
"""

import json
import os
import re
import stat
import sys

from calibration_testing import calibration, written
from known_identities import KNOWN
from omnio_testing import (PATIENCE_S, Checks, WorkDirectory, emptied, environment, mpirun, omnio,
                           program, run, trace)
from replay_testing import replay

SERIAL = ("hard_link", "hard_link_across", "linked_temporary", "symlink_to_file", "symlink_to_directory",
          "renamed_directory", "renamed_output", "renamed_over_open", "rotated_log", "exchanged",
          "unlinked_open", "creat_over", "open_over", "truncate_over", "ftruncate_over", "append_by_open",
          "append_by_fcntl", "append_by_duplicate", "append_no_more", "duplicated_over", "forked", "copied")
OF_RANKS = ("ranks", "ranks_rename")
RANKS = 2

# By POSIX the programs of each group do the same, so that each command gives the same answer.
SAME = (("creat_over", "open_over"), ("append_by_open", "append_by_fcntl", "append_by_duplicate"))

# ns. The sum of an estimate tells how many writes of each kind there were, beside calls that take little.
TIMES = {"read": 1000, "write": 100_000_000, "extend": 1_000_000}
TIMES |= dict.fromkeys(("fsync", "fdatasync", "close", "open", "create", "stat", "readdir", "rename", "ftruncate",
                        "unlink", "mkdir", "rmdir"), 1000)


# ---- what the kernel has ----

def truthOf(output):
    """A dictionary for each file, from the lines of all processes."""
    files = {}
    for line in output.splitlines():
        words = line.split()
        if words[:1] != ["file"]:
            continue
        found = dict(zip(words[2::2], map(int, words[3::2])))
        known = files.setdefault(words[1], dict.fromkeys(found, 0))
        for key, value in found.items():
            known[key] = max(known[key], value) if key in ("furthest", "size") else known[key] + value
    return list(files.values())


def treeOf(directory):
    """{name: what it is}: files by length, and which of them are one."""
    first, tree = {}, {}
    for parent, folders, names in os.walk(directory):
        for name in sorted(folders + names):
            path = os.path.join(parent, name)
            found = os.lstat(path)
            relative = os.path.relpath(path, directory)
            if stat.S_ISLNK(found.st_mode):
                tree[relative] = ("link", os.path.relpath(os.path.realpath(path), directory))
            elif stat.S_ISDIR(found.st_mode):
                tree[relative] = ("directory",)
            else:
                same = first.setdefault(found.st_ino, relative)
                tree[relative] = ("file", found.st_size, found.st_nlink, same)
    return tree


def listOf(files, *keys):
    """What a command has to say of the files, whatever it calls them."""
    return sorted(tuple(file[key] for key in keys) for file in files if file["operations"] > 0)


# ---- what the commands say: each returns its answer and the right one ----

def document(checks, *words):
    done = run([omnio(), *words], timeout=PATIENCE_S)
    checks.equal((done.status, done.err), (0, b""), " ".join(words[:2]))
    return json.loads(done.out)


def isHere(name, recorded):
    """A temporary file without a name has that of its directory."""
    return name == recorded.directory or name.startswith(os.path.join(recorded.directory, ""))


def byStats(checks, recorded):
    groups = document(checks, "stats", recorded.trace, "--json")["groups"]
    said = [(group["read"]["size_bytes"]["total"], group["write"]["size_bytes"]["total"]) for group in groups
            if isHere(group["name"], recorded)]
    return sorted(each for each in said if any(each)), listOf(recorded.truth, "read", "written")


def byPhases(checks, recorded):
    model = document(checks, "phases", recorded.trace, "--json")
    moved = [{"read": 0, "write": 0} for _ in model["files"]]
    for phase in model["phases"]:
        for each in phase["operations"]:
            weight = each.get("varying", {}).get("weight_bytes")
            if weight is None:
                weight = each["request_bytes"] * each["repetitions"] * len(phase["ranks"])
            moved[phase["file"]][each["operation"]] += weight
    # Phases of metadata calls are in a directory.
    said = sorted((of["read"], of["write"], file["size_bytes"]) for of, file in zip(moved, model["files"])
                  if not file.get("directory"))
    return said, listOf(recorded.truth, "read", "written", "furthest")


def byReport(checks, recorded):
    """The table of files, and the files that are drawn: each byte has its place."""
    page = recorded.trace + ".html"
    checks.equal(run([omnio(), "report", recorded.trace, "-o", page]).status, 0, "report")
    with open(page, encoding="utf-8") as text:
        data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text.read(),
                                    re.DOTALL)[1])
    os.remove(page)
    tables = [[(file["bytes_read"], file["bytes_written"]) for file in data[table]
               if isHere(file["name"], recorded)] for table in ("files", "offsets")]
    unplaced = sum(file["unplaced_reads"] + file["unplaced_writes"] for file in data["offsets"])
    wanted = listOf(recorded.truth, "read", "written")
    return ([sorted(each for each in table if any(each)) for table in tables], unplaced), ([wanted, wanted], 0)


def byPredict(checks, recorded):
    """It has no bytes: how many operations each file has."""
    words = ("predict", recorded.trace, "--json", "--path", recorded.directory + "*")
    files = document(checks, *words)["files"]
    said = sorted(file["whole_run"]["grammar"]["operations"] for file in files)
    return said, [operations for operations, in listOf(recorded.truth, "operations")]


def bySchedule(checks, recorded):
    shown = document(checks, "schedule", "show", recorded.schedule, "--by", "file", "--json")
    said = [(group["read_bytes"], group["written_bytes"]) for group in shown["groups"]]
    return sorted(each for each in said if any(each)), listOf(recorded.truth, "read", "written")


def byRoom(checks, recorded):
    """Of what is there at the end: at the least, so never more. checkSame() asks for the same room."""
    room = document(checks, "schedule", "show", recorded.schedule, "--json")["room"]
    inodes = {what[3]: what[1] for what in recorded.tree.values() if what[0] == "file"}
    there = sum(inodes.values())
    recorded.room = room["at_end_bytes"]
    return recorded.room if recorded.room > there else "at most what is there", "at most what is there"


def byCheck(checks, recorded):
    return document(checks, "schedule", "check", recorded.schedule, "--json")["warnings"], []


def byEstimate(checks, recorded):
    """Calls that make a file or a name of one, or cut one; writes that make one longer, and others."""
    said = document(checks, "estimate", recorded.schedule, "--calibration", recorded.calibration, "--json")
    calls = {each["operation"]: each["calls"] for each in said["operations"]}
    ns = round(sum(each["time_s"] for each in said["operations"]) * 1e9)
    overwriting, rest = divmod(ns, TIMES["write"])
    got = {"creates": calls.get("create", 0), "cuts": calls.get("ftruncate", 0),
           "extending": rest // TIMES["extend"], "overwriting": overwriting}
    return got, {key: sum(file[key] for file in recorded.truth) for key in got}


def byReplay(checks, recorded):
    """The tree that it leaves."""
    if mpirun(1) is None:
        return None, None
    target, output = recorded.trace + ".target", recorded.trace + ".replay"
    done = replay(recorded.schedule, target, output)
    verified = run([omnio(), "verify", recorded.schedule, output])
    got = {"replay": done.status, "verify": verified.status}
    tree = os.path.join(target, "tree", os.path.basename(recorded.directory))
    if not os.path.isdir(tree):
        tree = os.path.join(target, "tree")
    got["tree"] = differencesOf(treeOf(tree), recorded.tree)
    return got, {"replay": 0, "verify": 0, "tree": {}}


def differencesOf(got, wanted):
    return {name: (got.get(name), wanted.get(name)) for name in sorted({*got, *wanted})
            if got.get(name) != wanted.get(name)}


COMMANDS = {"stats": byStats, "phases": byPhases, "report": byReport, "predict": byPredict,
            "schedule show": bySchedule, "room": byRoom, "schedule check": byCheck, "estimate": byEstimate,
            "replay": byReplay}


# ---- cases ----

class Recorded:
    def __init__(self, checks, work, case):
        self.directory = emptied(os.path.join(work, case))
        self.trace = os.path.join(work, case + ".trace")
        self.schedule = os.path.join(work, case + ".json")
        self.calibration = os.path.join(work, "calibration.json")
        command = [program("c_identity"), case]
        if case in OF_RANKS:
            command = [*mpirun(RANKS), program("c_identity_ranks"), case]
        done = trace(self.trace, command, cwd=self.directory, env=environment())
        checks.equal(done.status, 0, f"{case}: {done}")
        self.truth = truthOf(done.out.decode())
        self.tree = treeOf(self.directory)
        made = run([omnio(), "preprocess", self.trace, "-o", self.schedule, "--timing", "asap"])
        checks.equal(made.status, 0, f"{case}: {made}")


def checkCase(checks, work, case):
    """The cells of its row in the matrix, and its answers."""
    recorded = Recorded(checks, work, case)
    checks.that(len(recorded.truth) > 0, f"{case}: files of the program")
    cells, answers = {}, {}
    for command, ask in COMMANDS.items():
        with checks.case(f"{case}, {command}"):
            got, wanted = ask(checks, recorded)
            if wanted is None:
                checks.skip(f"{case}, {command}", "no MPI")
                continue
            answers[command] = recorded.room if command == "room" else got
            known = KNOWN.get((case, command))
            if known is None:
                checks.equal(got, wanted, f"{case}, {command}")
                cells[command] = "as the kernel" if got == wanted else "WRONG"
            elif checks.equal(got, known, f"{case}, {command}: the kernel has {wanted}; known to be wrong was"):
                cells[command] = f"known: {got}, not {wanted}"
            else:
                cells[command] = "CHANGED" if got != wanted else "as the kernel; take it out of KNOWN"
    return cells, answers


def checkSame(checks, answers):
    for group in SAME:
        there = [case for case in group if case in answers]
        for case in there[1:]:
            for command, answer in answers[case].items():
                # A duplicate has a close of its own, which is an operation.
                if command == "predict" or (case, command) in KNOWN or (there[0], command) in KNOWN:
                    continue
                checks.equal(answer, answers[there[0]][command], f"{command}: {case} as {there[0]}")


def printMatrix(rows):
    """"ok" where a command says what the kernel has; a line for each other cell says what it says."""
    marks = {"as the kernel": "ok", "WRONG": "WRONG", "CHANGED": "CHANGED"}
    width = max(map(len, rows), default=0)
    print(f"{'':{width}}  " + "  ".join(f"{command:>14}" for command in COMMANDS))
    for case, cells in rows.items():
        words = [marks.get(cells.get(command), "known" if command in cells else "-") for command in COMMANDS]
        print(f"{case:{width}}  " + "  ".join(f"{word:>14}" for word in words))
    for case, cells in rows.items():
        for command, words in cells.items():
            if words != "as the kernel":
                print(f"{case}, {command}: {words}")


def main():
    checks = Checks()
    wanted = sys.argv[1:] or [*SERIAL, *OF_RANKS]
    if program("c_identity_ranks") is None or mpirun(RANKS) is None:
        for case in OF_RANKS:
            checks.skip(case, "no MPI")
        wanted = [case for case in wanted if case not in OF_RANKS]
    rows, answers = {}, {}
    with WorkDirectory() as work:
        written(work, "calibration.json", calibration(TIMES))
        for case in wanted:
            with checks.case(case):
                rows[case], answers[case] = checkCase(checks, work, case)
        checkSame(checks, answers)
    printMatrix(rows)
    checks.finish()


if __name__ == "__main__":
    main()
