"""Counts the I/O of a program from the output of strace, by path.

The calls are run with `strace -f -y -s 0 --seccomp-bpf`: -y prints the path of each descriptor, so
that no table of descriptors has to be kept here, and -s 0 leaves the data out.
"""

import re

from io_counts import Counts

CALLS = {
    "open": "open", "openat": "open", "openat2": "open", "creat": "open",
    "close": "close",
    "read": "read", "pread64": "read", "readv": "read", "preadv": "read", "preadv2": "read",
    "write": "write", "pwrite64": "write", "writev": "write", "pwritev": "write",
    "pwritev2": "write",
    "lseek": "seek",
    "fsync": "sync", "fdatasync": "sync", "sync_file_range": "sync", "syncfs": "sync",
}

OPTIONS = ["-f", "-y", "-s", "0", "-qq", "--seccomp-bpf", "-e", "signal=none",
           "-e", "trace=" + ",".join(CALLS)]

_UNFINISHED = " <unfinished ...>"
_LINE = re.compile(r"^(\d+)\s+(.*)$")
_RESUMED = re.compile(r"^<\.\.\. (\w+) resumed>(.*)$")
_CALL = re.compile(r"^(\w+)\((.*)\)\s+= (-?\d+|\?)(.*)$")
_DESCRIPTOR = re.compile(r"^(?:\d+|AT_FDCWD)<([^>]*)>")
_NAME = re.compile(r'^"((?:[^"\\]|\\.)*)"')


class BadLine(ValueError):
    pass


def wholeLines(lines):
    """Joins the two halves of a call that another thread's call interrupted in the output."""
    begun = {}
    for number, line in enumerate(lines, 1):
        match = _LINE.match(line.rstrip("\n"))
        if match is None:
            raise BadLine(f"line {number}: no process id: {line!r}")
        pid, text = match.groups()
        resumed = _RESUMED.match(text)
        if text.endswith(_UNFINISHED):
            begun[pid] = text[:-len(_UNFINISHED)]
        elif resumed is not None:
            if pid not in begun:
                raise BadLine(f"line {number}: {resumed.group(1)} resumed, but never begun")
            yield pid, begun.pop(pid) + resumed.group(2)
        else:
            yield pid, text


def _plain(path):
    """strace escapes what is not plain ASCII; a name that has been unlinked is still the file."""
    path = path.encode("latin-1", "backslashreplace").decode("unicode_escape")
    path = path.encode("latin-1", "replace").decode("utf-8", "replace")
    return path[:-len(" (deleted)")] if path.endswith(" (deleted)") else path


def _opened(arguments, result, rest):
    """The path of an open: where it led if it succeeded, else what was asked for."""
    if not result.startswith("-"):
        found = re.match(r"^<([^>]*)>", rest)
        return _plain(found.group(1)) if found else None
    folder = ""
    directory = _DESCRIPTOR.match(arguments)
    if directory is not None:
        folder = _plain(directory.group(1))
        arguments = arguments[directory.end():].lstrip(", ")
    name = _NAME.match(arguments)
    if name is None:
        return None
    path = _plain(name.group(1))
    return path if path.startswith("/") or not folder else f"{folder}/{path}"


def countStrace(lines):
    """{path: Counts} of all calls that name a file."""
    result = {}
    for _, text in wholeLines(lines):
        match = _CALL.match(text)
        if match is None or match.group(1) not in CALLS:
            continue  # the end of a process, a signal
        name, arguments, value, rest = match.groups()
        if value == "?":
            continue  # the process ended in the middle
        kind = CALLS[name]
        failed = value.startswith("-")
        if kind == "open":
            path = _opened(arguments, value, rest)
        else:
            descriptor = _DESCRIPTOR.match(arguments)
            path = _plain(descriptor.group(1)) if descriptor else None
        if path is None or not path.startswith("/"):
            continue  # a pipe, a socket, a closed descriptor
        moved = int(value) if kind in ("read", "write") and not failed else 0
        result.setdefault(path, Counts()).add(kind, moved, failed)
    return result


def countStraceFile(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        try:
            return countStrace(file)
        except BadLine as problem:
            raise BadLine(f"{path}: {problem}") from None
