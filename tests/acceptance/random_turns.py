"""Programs at random for tests/programs/turns.py: steps of two or three processes that copy and hand on
descriptors, or that make, move and remove names. The same seed makes the same program."""

import os
import random

FLAGS = [os.O_RDWR | os.O_CREAT, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, os.O_RDWR,
         os.O_RDWR | os.O_CREAT | os.O_APPEND, os.O_RDONLY, os.O_WRONLY | os.O_APPEND]


class Steps:
    """The steps of several programs, one after the other, each with processes of its own."""

    def __init__(self):
        self.steps, self.processes = [], 1

    def add(self, process, operation, *arguments):
        self.steps.append([process, operation, *arguments])

    def fork(self, process):
        child = self.processes
        self.processes += 1
        self.add(process, "fork", child)
        return child

    def document(self):
        return {"processes": self.processes, "steps": self.steps}


def addCopies(steps, seed, count=40):
    """Descriptors that are opened, copied, inherited, sent and used, in a directory of their own."""
    chance = random.Random(f"copies {seed}")
    steps.add(0, "mkdir", f"c{seed}")
    known = {0: []}  # process: names of its descriptors
    made = 0

    def new(process):
        nonlocal made
        made += 1
        name = f"{seed}.{made}"
        known[process].append(name)
        return name

    def path():
        return f"c{seed}/{chance.choice('fgh')}"

    for step in range(count):
        process = chance.choice(list(known))
        mine = known[process]
        if len(known) < 3 and step % 7 == 3:
            child = steps.fork(process)
            known[child] = list(mine)
            continue
        if not mine or chance.random() < 0.12:
            where, flags = path(), chance.choice(FLAGS)
            steps.add(process, "open", new(process), where, flags)
            continue
        name = chance.choice(mine)
        others = [other for other in known if other != process]
        kind = chance.choice(["dup", "dupfd", "dup2", "write", "write", "write", "read", "pwrite", "pread",
                              "seek", "truncate", "close", "send", "fetch", "spawn", "vforked", "forked",
                              "headed", "spawnopen", "allocate"])
        if kind == "dup":
            steps.add(process, kind, name, new(process))
        elif kind == "dupfd":
            steps.add(process, kind, name, new(process), chance.randrange(100, 120))
        elif kind == "dup2":
            steps.add(process, kind, name, new(process), 200 + made)
        elif kind in ("write", "read"):
            steps.add(process, kind, name, chance.randrange(1, 3000))
        elif kind in ("pwrite", "pread"):
            steps.add(process, kind, name, chance.randrange(1, 3000), chance.randrange(20000))
        elif kind == "seek":
            steps.add(process, kind, name, chance.choice([0, 0, 100, 5000]), chance.choice([0, 1, 2]))
        elif kind == "truncate":
            steps.add(process, kind, name, chance.choice([0, 500, 4000, 30000]))
        elif kind == "allocate":
            steps.add(process, kind, name, chance.randrange(1000), chance.randrange(1, 9000))
        elif kind == "close":
            mine.remove(name)
            steps.add(process, kind, name)
        elif kind in ("send", "fetch") and others:
            to = chance.choice(others)
            steps.add(process, "send" if kind == "send" else "announce", name, to)
            steps.add(to, "receive" if kind == "send" else "fetch", new(to))
        elif kind in ("spawn", "vforked", "forked"):
            steps.add(process, kind, name, chance.randrange(1, 50))
        elif kind == "headed":
            steps.add(process, kind, name, chance.randrange(1, 1000))
        elif kind == "spawnopen":
            # Of a file that the process has open at its beginning, nothing tells that it was opened anew.
            flags = os.O_WRONLY | os.O_CREAT | chance.choice([0, os.O_TRUNC, os.O_APPEND])
            steps.add(process, kind, f"c{seed}/{chance.choice('ijk')}", flags, chance.randrange(1, 50))


def addNames(steps, seed, count=50):
    """Names of every kind that are made, moved and removed."""
    chance = random.Random(f"names {seed}")
    top = f"n{seed}"
    steps.add(0, "mkdir", top)
    processes = [0]
    places = [top, f"{top}/d", f"{top}/e", f"{top}/d/e"]

    def path():
        return f"{chance.choice(places)}/{chance.choice('deabc')}"

    for step in range(count):
        process = chance.choice(processes)
        if len(processes) < 3 and step in (5, 15):
            processes.append(steps.fork(process))
            continue
        # A shell's commands would wait at a FIFO.
        kind = chance.choice([("shell", "mkfifo")[seed % 2], "mkdir", "mkdir", "mkdir", "rmdir", "unlink", "mknod", "bind", "bind",
                               "link", "symlink", "readlink", "rename", "rename", "rename",
                              "exchange", "put", "put", "put", "put", "get", "stat", "lstat", "chmod",
                              ("cut", "stat")[seed % 2], "list", "spawnopen"])
        if kind in ("mkdir", "rmdir", "unlink", "mkfifo", "mknod", "bind", "readlink", "stat", "lstat",
                    "chmod", "list"):
            steps.add(process, kind, path())
        elif kind in ("link", "rename", "exchange"):
            steps.add(process, kind, path(), path())
        elif kind == "symlink":
            steps.add(process, kind, chance.choice(["a", "b", "../a", "d/a", "e"]), path())
        elif kind == "put":
            flags = os.O_WRONLY | chance.choice([os.O_CREAT, os.O_CREAT | os.O_EXCL, os.O_APPEND,
                                                 os.O_CREAT | os.O_TRUNC])
            steps.add(process, kind, path(), flags | os.O_NONBLOCK, chance.randrange(1, 2000))
        elif kind == "get":
            steps.add(process, kind, path(), chance.randrange(1, 4000))
        elif kind == "cut":
            steps.add(process, kind, path(), chance.choice([0, 10, 3000]))
        elif kind == "shell":
            # Redirections of the shell that no program uses would be in no trace.
            command = chance.choice(["mkdir {0}", "touch {0}", "mv {0} {1}", "cp {0} {1}", "rm -rf {0}",
                                     "ln {0} {1}", "cp -r {0} {1}", "dd if={0} of={1}", "cat {0}",
                                     "ln -s {0} {1}"])
            steps.add(process, kind, command.format(path(), path()))
        elif kind == "spawnopen":
            flags = os.O_WRONLY | os.O_CREAT | chance.choice([0, os.O_TRUNC, os.O_APPEND])
            steps.add(process, kind, path(), flags | os.O_NONBLOCK, chance.randrange(1, 50))
