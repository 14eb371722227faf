"""Processes that take turns: a list of steps, each of one process, in which calls copy descriptors
and make names. Between two steps nothing is told by a call on a file.

  turns.py < STEPS      {"processes": N, "steps": [[process, operation, argument...], ...]}

Process 0 is this one; "fork" starts another one. Calls may fail: so do those of an application."""

import ctypes
import fcntl
import json
import os
import socket
import struct
import subprocess
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
PLAN = json.load(sys.stdin)
STEPS = PLAN["steps"]
PIPES = [os.pipe() for _ in range(PLAN["processes"])]
SOCKETS = [socket.socketpair() for _ in range(PLAN["processes"])]
KEPT = []  # sockets that are bound


def writer(count):
    """A program that writes so many bytes to its standard output."""
    return "/usr/bin/head", ["/usr/bin/head", "-c", str(count), "/dev/zero"], os.environ


class Process:
    def __init__(self, number, descriptors):
        self.number, self.descriptors, self.children = number, dict(descriptors), []

    def open(self, name, path, flags, mode=0o644):
        self.descriptors[name] = os.open(path, flags, mode)

    def dup(self, name, new):
        self.descriptors[new] = os.dup(self.descriptors[name])

    def dupfd(self, name, new, least):
        self.descriptors[new] = fcntl.fcntl(self.descriptors[name], fcntl.F_DUPFD, least)

    def dup2(self, name, new, number):
        self.descriptors[new] = os.dup2(self.descriptors[name], number)

    def close(self, name):
        os.close(self.descriptors.pop(name))

    def write(self, name, count):
        os.write(self.descriptors[name], b"w" * count)

    def read(self, name, count):
        os.read(self.descriptors[name], count)

    def pwrite(self, name, count, offset):
        os.pwrite(self.descriptors[name], b"p" * count, offset)

    def pread(self, name, count, offset):
        os.pread(self.descriptors[name], count, offset)

    def seek(self, name, offset, whence):
        os.lseek(self.descriptors[name], offset, whence)

    def truncate(self, name, length):
        os.ftruncate(self.descriptors[name], length)

    def allocate(self, name, offset, length):
        os.posix_fallocate(self.descriptors[name], offset, length)

    def send(self, name, to):
        # The receiver waits for a message, whether there is a descriptor or not.
        sent = [self.descriptors[name]] if name in self.descriptors else []
        socket.send_fds(SOCKETS[to][0], [b"."], sent)

    def receive(self, new):
        _, received, _, _ = socket.recv_fds(SOCKETS[self.number][1], 1, 1)
        self.descriptors[new] = received[0]

    def announce(self, name, to):
        SOCKETS[to][0].send(struct.pack("ii", os.getpid(), self.descriptors.get(name, -1)))

    def fetch(self, new):
        pid, number = struct.unpack("ii", SOCKETS[self.number][1].recv(8))
        pidfd = os.pidfd_open(pid)
        fetched = LIBC.syscall(438, pidfd, number, 0)
        os.close(pidfd)
        if fetched < 0:
            raise OSError(ctypes.get_errno(), "pidfd_getfd")
        self.descriptors[new] = fetched

    def spawn(self, name, count):
        pid = os.posix_spawn(*writer(count),
                             file_actions=[(os.POSIX_SPAWN_DUP2, self.descriptors[name], 1)])
        os.waitpid(pid, 0)

    def spawnopen(self, path, flags, count):
        pid = os.posix_spawn(*writer(count),
                             file_actions=[(os.POSIX_SPAWN_OPEN, 1, path, flags, 0o644)])
        os.waitpid(pid, 0)

    def vforked(self, name, count):
        subprocess.run(writer(count)[1], stdout=self.descriptors[name], check=False)

    def forked(self, name, count):
        number = self.descriptors[name]
        pid = os.fork()
        if pid == 0:
            try:
                os.dup2(number, 1)
                os.execv(*writer(count)[:2])
            finally:
                os._exit(1)
        os.waitpid(pid, 0)

    def headed(self, name, count):
        subprocess.run(["head", "-c", str(count)], stdin=self.descriptors[name],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)

    def shell(self, command):
        subprocess.run(["/bin/sh", "-c", command], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False)

    # Names.
    def mkdir(self, path):
        os.mkdir(path)

    def rmdir(self, path):
        os.rmdir(path)

    def unlink(self, path):
        os.unlink(path)

    def mkfifo(self, path):
        os.mkfifo(path)

    def mknod(self, path):
        os.mknod(path, 0o100644)

    def bind(self, path):
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        KEPT.append(made)
        made.bind(path)

    def link(self, path, new):
        os.link(path, new)

    def symlink(self, text, path):
        os.symlink(text, path)

    def readlink(self, path):
        os.readlink(path)

    def rename(self, path, new):
        os.rename(path, new)

    def exchange(self, path, new):
        LIBC.renameat2(-100, path.encode(), -100, new.encode(), 2)

    def put(self, path, flags, count):
        made = os.open(path, flags, 0o644)
        os.write(made, b"n" * count)
        os.close(made)

    def get(self, path, count):
        found = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        os.read(found, count)
        os.close(found)

    def stat(self, path):
        os.stat(path)

    def lstat(self, path):
        os.lstat(path)

    def chmod(self, path):
        os.chmod(path, 0o600)

    def cut(self, path, length):
        os.truncate(path, length)

    def list(self, path):
        os.listdir(path)


def run(me, begin, waits):
    """Does this process's steps from `begin` on, each when it is its turn. Returns the process that this
    is in the end: a child goes on with its own steps."""
    for at in range(begin, len(STEPS)):
        process, operation, *arguments = STEPS[at]
        if process != me.number:
            continue
        if waits:
            os.read(PIPES[me.number][0], 1)
        waits = True
        if operation == "fork":
            pid = os.fork()
            if pid == 0:
                return run(Process(arguments[0], me.descriptors), at + 1, True)
            me.children.append(pid)
        else:
            try:
                getattr(me, operation)(*arguments)
            except (OSError, LookupError):
                pass
        if at + 1 < len(STEPS):
            os.write(PIPES[STEPS[at + 1][0]][1], b".")
    for pid in me.children:
        os.waitpid(pid, 0)
    return me


if run(Process(0, {}), 0, False).number != 0:
    os._exit(0)
