"""Schedules edited into something hostile or nonsensical: each is refused with one sentence before
anything is done, or harmless; `omnio schedule check` agrees. Files beside the target keep their
content, time and inode.
"""

import os
import shutil

from omnio_testing import Checks, WorkDirectory, mpirun, omnio, run, skipTest
from replay_testing import closed, file, opened, replay, report, schedule, write

CANARY = "outside/canary"


def factsOf(root, without=None):
    """Inode, size, time, links, mode and content of all below a directory, and of the directory."""
    facts = {}
    for parent, folders, files in os.walk(root):
        if without in [os.path.join(parent, name) for name in folders]:
            folders.remove(os.path.basename(without))
        for name in [".", *folders, *files]:
            path = os.path.normpath(os.path.join(parent, name))
            status = os.lstat(path)
            content = None
            if os.path.isfile(path):
                with open(path, "rb") as canary:
                    content = canary.read()
            facts[path] = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_nlink,
                           status.st_mode, content)
    return facts


def canaries(work):
    """All that no replay may touch."""
    return factsOf(os.path.join(work, "outside"))


def one(event, *files):
    return schedule(files, [[event]])


def stream(location, fd, mode):
    return {"command": "fopen", "location": location, "type": mode, "result": fd}


def edgesOfMemory():
    """Calls that get, or ask for, more than their recording did: (name, document)"""
    a, large = file("a"), file("in", "input", True, 1 << 25)
    reads = [stream("in", 0, "r"), *({"command": name, "fd": 0, **arguments, "errno": "EIO"}
                                     for name, arguments in (
        ("fread", {"size": 1, "nmemb": 1 << 25}), ("fread", {"size": 1, "nmemb": -1}),
        ("fread_unlocked", {"size": 1 << 40, "nmemb": 1 << 40})))]
    yield "streams that read what failed", schedule([large], [reads])
    yield "descriptors that read what failed", schedule([large], [[
        opened("in", 0, "O_RDONLY"),
        {"command": "read", "fd": 0, "count": 1 << 25, "errno": "EIO"},
        {"command": "pread", "fd": 0, "count": -1, "offset": 0, "errno": "EIO"},
        {"command": "preadv", "fd": 0, "iov": [1 << 24, 1 << 62, 1 << 62, 1 << 62, 1 << 62],
         "offset": 0, "errno": "EIO"}]])
    yield "writes that failed", schedule([a], [[
        stream("a", 0, "w"),
        {"command": "fwrite", "fd": 0, "size": 1, "nmemb": -1, "errno": "EIO"},
        {"command": "fwrite", "fd": 0, "size": 1 << 40, "nmemb": 1 << 40, "errno": "EIO"},
        {"command": "write", "fd": 0, "count": 1 << 24, "errno": "EIO"}]])
    sparse = [opened("a", 0), {"command": "ftruncate", "fd": 0, "length": 1 << 43, "result": 0},
              {"command": "fdopen", "fd": 0, "type": "r", "result": 1}]
    yield "a line of terabytes", schedule([a], [[
        *sparse, *[{"command": "getline", "fd": 1, "result": 5}] * 3]])
    yield "a read that gets terabytes", schedule([a], [[
        *sparse, {"command": "fread", "fd": 1, "size": 1, "nmemb": 1 << 45, "result": 5}]])
    yield "a mapped stream whose file is cut off", schedule([large], [[
        opened("in", 0), stream("in", 1, "rm"), {"command": "fgetc", "fd": 1, "result": 1},
        {"command": "ftruncate", "fd": 0, "length": 0, "result": 0},
        {"command": "fread", "fd": 1, "size": 1, "nmemb": 100000, "result": 100000}]])
    lines = {**a, "lines": True}
    yield "a write far behind all lines", schedule([lines], [[
        opened("a", 0), {"command": "fdopen", "fd": 0, "type": "r+", "result": 1},
        {"command": "fgets", "fd": 1, "size": 100, "offset": 10, "result": 5},
        {"command": "pwrite", "fd": 0, "count": 5, "offset": 1 << 56, "result": 5}]])
    yield "each byte ends a line", schedule([lines], [[
        stream("a", 0, "w+"),
        *({"command": "getdelim", "fd": 0, "char": byte, "offset": 5 * byte, "result": 5}
          for byte in range(256)),
        {"command": "fputs", "fd": 0, "count": 100, "offset": 0, "result": 1}]])


def threadsOnOneStream():
    """What two threads do to a stream that one of them closes: (name, document)"""
    for name in ("fputc", "fputc_unlocked"):
        puts = [{"command": name, "char": 65, "fd": 0, "result": 1}] * 20000
        yield f"fclose amid {name}", schedule([file("a")], [
            [{**stream("a", 0, "w"), "id": 1}, *puts], [{**puts[0], "after": [1]}, *puts],
            [{"command": "delay", "after": [1], "start": 0, "end": 2000000},
             {"command": "fclose", "fd": 0, "result": 0}]])


def mpiSchedule(ranks, groups=((0, 1), (0,)), types=("b1", "b8", "contiguous(3;b1)")):
    """Calls of MPI-IO, by rank."""
    document = schedule([file("a")], ranks=[[events] for events in ranks])
    document["global"]["mpi"] = {"groups": groups, "types": types}
    return document


def mpiOpened(amode="MPI_MODE_CREATE|MPI_MODE_RDWR", group=0):
    return {"command": "MPI_File_open", "location": "a", "amode": amode, "group": group, "result": 0}


def contradictionsOfMpi():
    """(name, document, what the sentence has to hold)"""
    good = mpiOpened()

    def both(*more):
        return mpiSchedule([[good, *more], [good, *more]])

    for amode, wanted in (("MPI_MODE_RDONLY|MPI_MODE_CREATE", "has MPI_MODE_RDONLY, and"),
                          ("MPI_MODE_RDONLY|MPI_MODE_WRONLY", "it has to have one"),
                          ("MPI_MODE_CREATE", "it has to have one"),
                          ("MPI_MODE_RDWR|MPI_MODE_SEQUENTIAL", "MPI_MODE_SEQUENTIAL")):
        yield f"amode {amode}", mpiSchedule([[mpiOpened(amode)], [mpiOpened(amode)]]), wanted
    yield ("a rank that does not exist in a group", mpiSchedule([[good], [good]], ((0, 2), (0,))),
           '"groups" is 2; it has to be from 0 to 1')
    yield ("an unknown group", mpiSchedule([[mpiOpened(group=5)], []]),
           '"group" is 5; it has to be from 0 to 1')
    yield ("an open by a rank outside the group", mpiSchedule([[], [mpiOpened(group=1)]]),
           "rank 1 is not in group 1")
    yield ("an open that one of the group does not make", mpiSchedule([[good], []]),
           "all ranks of group 0 open its files together")
    yield ("a negative size", both({"command": "MPI_File_set_size", "fd": 0, "length": -1,
                                    "result": 0}), "it has to be 0 or more")
    yield ("a negative offset", both({"command": "MPI_File_write_at", "fd": 0, "count": 5,
                                      "offset": -5, "result": 5}), "it has to be 0 or more")

    def view(etype, filetype):
        return {"command": "MPI_File_set_view", "fd": 0, "disp": 0, "etype": etype,
                "filetype": filetype, "result": 0}
    yield ("a part of an etype", both(view(1, 1), {"command": "MPI_File_write_all", "fd": 0,
                                                   "count": 12, "result": 12}),
           "MPI_File_write_all moves 12 bytes, and the etype of its view has 8")
    yield ("a filetype of other etypes", both(view(1, 2)),
           "a filetype of 3 bytes of data is not made of etypes of 8")
    yield "an unknown type", both(view(7, 1)), '"etype" is 7; it has to be from 0 to 2'


def refusedSchedules(canary):
    """(name, document, what the sentence has to hold)"""
    a = file("a")
    yield "absolute location", schedule([file(canary)]), "leads out of the target"
    yield "location with ..", schedule([file("a/../../outside/canary")]), "leads out of the target"
    yield "location ..", schedule([file("..")]), "leads out of the target"
    yield "empty location", schedule([file("")]), "is empty"
    yield ("absolute unlink", one({"command": "unlink", "location": canary, "result": 0}, a),
           "is not in the list of files")
    yield ("rename by ..", one({"command": "rename", "location": "a",
                                "newlocation": "../outside/canary", "result": 0}, a),
           "is not in the list of files")
    yield ("hard link of what is outside", one({"command": "link", "location": canary,
                                                "newlocation": "a", "result": 0}, a),
           "is not in the list of files")
    yield ("O_TRUNC of what is outside", one(opened(canary, 0, "O_WRONLY|O_TRUNC"), a),
           "is not in the list of files")
    yield ("chdir out", one({"command": "chdir", "location": "/", "result": 0}, a),
           "is not in the list of files")
    for command in ("F_SETOWN", "F_DUPFD", "F_SETSIG", "10"):
        yield (f"{command} as a lock", one({"command": "(fcntl_lock)", "fd": 0, "cmd": command, "lock": "F_WRLCK",
                                            "whence": "SEEK_SET", "offset": 0, "length": 0, "result": 0}, a),
               "unknown cmd")
    for target in ("/", "../..", os.path.dirname(canary)):
        yield (f"symbolic link to {target}",
               schedule([a, file("link"), file("link/canary")],
                        [[{"command": "symlink", "target": target, "location": "link", "result": 0},
                          opened("link/canary", 0, "O_WRONLY|O_TRUNC"), closed(0)]]),
               "is not in the list of files")
    yield ("descriptor that no event opens", one(closed(7), a),
           "fd 7 is used, but no event of rank 0 opens it")
    yield ("descriptor made twice",
           schedule([a], [[opened("a", 0), opened("a", 0)]]), "is made twice")
    yield ("descriptor far out", schedule([a], [[opened("a", 900000000), closed(900000000)]]),
           "numbered from 0")
    yield ("negative count", schedule([a], [[opened("a", 0), {
        "command": "write", "fd": 0, "count": -1, "result": 0}]]), "it has to be 0 or more")
    yield from contradictionsOfMpi()
    yield ("negative length", schedule([a], [[opened("a", 0), {
        "command": "ftruncate", "fd": 0, "length": -1, "result": 0}]]), "it has to be 0 or more")
    yield ("negative offset", schedule([a], [[opened("a", 0), {
        "command": "pwrite", "fd": 0, "count": 1, "offset": -1, "result": 1}]]),
           "it has to be 0 or more")
    yield "negative size", schedule([file("a", "input", True, -5)]), "it has to be 0 or more"
    yield ("a request beyond all memory", schedule([a], [[opened("a", 0), {
        "command": "read", "fd": 0, "count": 1 << 60, "result": 0}]]), "bytes in one call")
    yield ("a text for a number", schedule([a], [[opened("a", 0), {
        "command": "read", "fd": 0, "count": "many", "result": 0}]]), "has to be")
    yield "no such call", one({"command": "format_disk", "result": 0}, a), "no call has the name"
    yield ("waits for itself", one(opened("a", 0, id=1, after=[1]), a),
           "wait for each other in a circle: id 1")
    yield ("a circle of two threads",
           schedule([a], [[opened("a", 0, id=1, after=[2])], [opened("a", 1, id=2, after=[1])]]),
           "wait for each other in a circle: id ")
    yield ("a circle through the order of a thread", schedule([a], [
        [opened("a", 0, after=[4]), closed(0, id=3)],
        [opened("a", 1, after=[3]), closed(1, id=4)]]), "wait for each other in a circle")
    yield "waits for an id that no event has", one(opened("a", 0, after=[99]), a), "id 99, which no event has"
    yield ("ends before it starts", one({**opened("a", 0), "start": 10, "end": 5}, a),
           "before it starts")
    yield ("a file below a file",
           schedule([file("a", "input", True, 5), file("a/b", "input", True, 5)]),
           "which is a file")
    yield "an unknown key", one({**opened("a", 0), "shell": "rm -rf /"}, a), "has no place here"
    yield ("a descriptor used before it is opened", schedule([a], [[
        {"command": "write", "fd": 0, "count": 5, "result": 5}, opened("a", 0)]]),
           "fd 0 is used before its own thread opens it")
    yield ("an open that the C library ends the process for", one(
        {"command": "__open_2", "location": "a", "flags": "O_RDWR|O_CREAT", "result": 0}, a),
           "__open_2 takes no mode")
    yield ("items beyond all numbers", schedule([a], [[stream("a", 0, "w+"), {
        "command": "__fread_chk", "fd": 0, "size": 1 << 33, "nmemb": 1 << 33, "result": 0}]]),
           "bytes in one call")
    yield ("a text beyond an int", schedule([a], [[stream("a", 0, "w"), {
        "command": "fprintf", "fd": 0, "result": 1 << 32}]]), "its result is an int")
    yield "more ranks than there are", {**schedule([a]), "global": {
        "time_replay": "asap", "ranks": 16777216}}, 'it has 1 ranks, but "global" names 16777216'
    yield "deep nesting", '{"format":"omnio-schedule","version":1,"global":' + "[" * 200000, "deep"
    yield ("a megabyte of location", schedule([file("x" * (1 << 20))]),
           "line 1, column 1048694: a text of 1048581 bytes")
    yield "another version", {**schedule([a]), "version": 99}, "version 99"
    yield "not ours", '{"a":1}', "not a schedule"
    yield "empty", "", "empty"


def harmlessSchedules():
    """(name, document)"""
    yield from edgesOfMemory()
    yield from threadsOnOneStream()
    # Through links within the tree, which is all that links can be.
    yield "through a link to a link", schedule(
        [file("d", "directory", True), file("link"), file("other"), file("other/a")],
        [[{"command": "symlink", "target": "d", "location": "link", "result": 0},
          {"command": "symlink", "target": "link", "location": "other", "result": 0},
          opened("other/a", 0, "O_WRONLY|O_CREAT|O_TRUNC"), closed(0)]])
    yield "removes the directory of a link", schedule(
        [file("d", "directory", True), file("link"), file("link/a")],
        [[{"command": "symlink", "target": "d", "location": "link", "result": 0},
          {"command": "rmdir", "location": "d", "result": 0},
          {"command": "unlink", "location": "link/a", "result": 0}]])
    yield "closes everything", schedule([file("a")], [[
        opened("a", 0), {"command": "closefrom", "fd": 0}]])
    yield "dup2 over all numbers", schedule([file("a")], [[
        opened("a", 0), *({"command": "dup2", "fd": 0, "newfd": -1, "result": number}
                          for number in range(1, 40))]])
    yield "signals, owners, leases", schedule([file("a")], [[
        opened("a", 0), *({"command": "fcntl", "fd": 0, "cmd": command, "value": 9, "result": 0}
                          for command in ("F_SETOWN", "F_SETLEASE"))]])
    yield "sizes beyond the file system", schedule([file("a")], [[
        opened("a", 0),
        {"command": "ftruncate", "fd": 0, "length": (1 << 63) - 1, "result": 0},
        {"command": "posix_fallocate", "fd": 0, "offset": 1 << 61, "length": 1 << 61, "result": 0},
        {"command": "pwrite", "fd": 0, "count": 5, "offset": (1 << 63) - 3, "result": 5}]])
    yield "a stream's buffer beyond all memory", schedule([file("a")], [[
        {"command": "fopen", "location": "a", "type": "w", "result": 0},
        {"command": "setvbuf", "fd": 0, "buffer": 1, "value": 0, "count": 1 << 45, "result": 0},
        {"command": "fputs", "fd": 0, "count": 100, "result": 1},
        {"command": "fclose", "fd": 0, "result": 0}]])
    yield "chdir within, then relative", schedule(
        [file("d", "directory", True), file("a")],
        [[{"command": "chdir", "location": "d", "result": 0}, opened("a", 0), closed(0)]])


def sentenceOf(result):
    return result.err.decode(errors="replace").strip()


def checkRefused(checks, work, name, document, wanted):
    what = f"{name}, refused"
    path = write(os.path.join(work, "hostile.json"), document)
    target, output = os.path.join(work, "target"), os.path.join(work, "out")
    result = replay(path, target, output)
    sentence = sentenceOf(result)
    print(f"{what}: {sentence[:200]}")
    checks.equal(result.status, 1, f"{what}: exit status")
    checks.that(sentence.startswith("omnio: ") and "\n" not in sentence,
                f"{what}: one sentence: {sentence[:400]!r}")
    checks.that(len(sentence) < 1000, f"{what}: a sentence of {len(sentence)} bytes")
    checks.that(wanted in sentence, f"{what}: {wanted!r} in {sentence[:300]!r}")
    checks.that(not os.path.exists(target) and not os.path.exists(output),
                f"{what}: nothing is made")
    checked = run([omnio(), "schedule", "check", path])
    checks.equal((checked.status, checked.out, checked.err), (1, b"", result.err),
                 f"{what}: by `omnio schedule check` too")
    for made in (target, output):  # one that was not refused is not to fail those after it
        shutil.rmtree(made, ignore_errors=True)


def checkTargets(checks, work):
    """Targets that are not ours to use."""
    good = write(os.path.join(work, "good.json"),
                 schedule([file("a")], [[opened("a", 0), closed(0)]]))
    output = os.path.join(work, "out")
    linked = os.path.join(work, "linked")
    os.makedirs(linked)
    os.symlink(os.path.join(work, "outside"), os.path.join(linked, "tree"))
    for name, target, wanted in (
            ("a directory with files", os.path.join(work, "outside"), "which no replay made"),
            ("a file", os.path.join(work, CANARY), "not a directory"),
            ("the root", "/", "which no replay made"),
            ("a tree that is a link", linked,
             f"{os.path.join(linked, 'tree')}: not a directory; name another --target")):
        for options in ((), ("--fresh",)):
            result = replay(good, target, output, *options)
            sentence = sentenceOf(result)
            checks.equal(result.status, 1, f"target is {name} {options}: exit status")
            checks.that(wanted in sentence and "\n" not in sentence,
                        f"target is {name} {options}: one sentence: {sentence!r}")
            checks.that(not os.path.exists(output), f"target is {name}: nothing is made")


def main():
    if mpirun(1) is None:
        skipTest("there is no MPI")
    checks = Checks()
    with WorkDirectory() as work:
        os.makedirs(os.path.join(work, "outside/folder"))
        canary = os.path.join(work, CANARY)
        for name in ("canary", "folder/other"):
            write(os.path.join(work, "outside", name), f"{name} must not change\n")
        before = canaries(work)
        for name, document, wanted in refusedSchedules(canary):
            with checks.case(name):
                checkRefused(checks, work, name, document, wanted)
        whole = write(os.path.join(work, "whole.json"),
                      schedule([file("a")], [[opened("a", 0), closed(0)]]))
        with open(whole, encoding="utf-8") as text:
            whole_text = text.read()
        for cut in range(1, len(whole_text), max(1, len(whole_text) // 12)):
            with checks.case(f"cut at {cut}"):
                checkRefused(checks, work, f"cut off at {cut}", whole_text[:cut],
                             f"line 1, column {cut + 1}: not JSON: ")
        for name, document in harmlessSchedules():
            with checks.case(name):
                path = write(os.path.join(work, "hostile.json"), document)
                target, output = os.path.join(work, "target"), os.path.join(work, "out")
                checked = run([omnio(), "schedule", "check", path])
                checks.equal((checked.status, checked.err), (0, b""), f"{name}: check takes it")
                result = replay(path, target, output)
                print(f"{name}: status {result.status}; {sentenceOf(result)[:150]}")
                checks.that(result.status in (0, 3), f"{name}: harmless: {result}")
                if result.status in (0, 3):
                    checks.that(report(output)["fence"], f"{name}: the fence is told")
                for made in (target, output):
                    shutil.rmtree(made, ignore_errors=True)
                checks.equal(canaries(work), before, f"{name}: what is outside")
        checkTargets(checks, work)
        checks.equal(canaries(work), before, "what is outside, at the end")
    checks.finish()


if __name__ == "__main__":
    main()
