"""Counts of I/O calls by kind, from whichever side they come; and the same from a trace."""

import fnmatch
import os
import re

KINDS = ("open", "failed opens", "close", "read", "write", "seek", "sync")

# Calls on buffered streams, by the name that the program wrote.
STREAM_CALLS = frozenset((
    "fopen fdopen freopen tmpfile fread fwrite fputs fputc putc puts putchar fprintf vfprintf "
    "printf vprintf fgets getdelim fgetc getc getchar ungetc fscanf vfscanf fflush fseek fseeko "
    "ftell ftello rewind fgetpos fsetpos setvbuf setbuf setbuffer setlinebuf fclose").split())
STREAM_DATA_CALLS = STREAM_CALLS - {"fopen", "fdopen", "freopen", "tmpfile", "fclose"}


class Counts:
    def __init__(self):
        self.calls = dict.fromkeys(KINDS, 0)
        self.read_bytes = 0
        self.write_bytes = 0
        self.streams = {}  # call: [calls, bytes]

    def add(self, kind, moved=0, failed=False):
        if kind == "open" and failed:
            kind = "failed opens"
        if kind in self.calls:
            self.calls[kind] += 1
        if kind == "read":
            self.read_bytes += moved
        elif kind == "write":
            self.write_bytes += moved

    def addStream(self, call, moved):
        row = self.streams.setdefault(call, [0, 0])
        row[0] += 1
        row[1] += moved

    @property
    def buffered(self):
        """Whether data passed a stream's buffer: then the system's calls are not the program's."""
        return any(call in STREAM_DATA_CALLS for call in self.streams)

    @property
    def rereads(self):
        """Whether what a stream read from the system may differ from what the program took."""
        return any(call in self.streams for call in
                   ("fseek", "fseeko", "rewind", "ungetc", "fscanf", "vfscanf", "fsetpos"))


def plainCall(symbol):
    """The call as a program's source names it: __pread64_chk is pread, __open_2 is open."""
    name = re.sub(r"^(__isoc99_|_IO_|__)", "", symbol)
    name = re.sub(r"(_chk|_2)$", "", name)
    name = re.sub(r"_unlocked$", "", name)
    name = re.sub(r"64(v2)?$", "", name)
    # Headers turn a getline into a call of __getdelim when optimising.
    return "getdelim" if name == "getline" else name


def isOwn(event):
    """Whether the application made the call, and not a library below one of its calls."""
    return event["depth"] == 0


def isBelowMpi(event):
    """Whether strace may see the call, whichever layer made it: MPI-IO arrives there as POSIX.
    Pages are touched in a mapping without one."""
    return not event["call"].startswith(("MPI_", "PMPI_", "(map_"))


def countEvents(events, which=isBelowMpi):
    """{(rank, path): Counts} of these events of a trace, as `omnio log --json` gives them."""
    result = {}
    for event in events:
        path = event.get("file")
        if not path or not which(event):
            continue
        counts = result.setdefault((event.get("rank") or 0, path), Counts())
        call = plainCall(event["call"])
        moved = event.get("bytes") or 0
        failed = event.get("failed", False)
        if call in STREAM_CALLS:
            counts.addStream(call, moved)
            if event["class"] in ("open", "close"):
                counts.add(event["class"], 0, failed)
            elif event["class"] in ("read", "write"):
                counts.read_bytes += moved if event["class"] == "read" else 0
                counts.write_bytes += moved if event["class"] == "write" else 0
        else:
            counts.add(event["class"], moved, failed)
    return result


class Selection:
    """The files a comparison is about: regular, below the run directory, not left out by default.

    The names are judged after the run, by the same list for both sides.
    """

    def __init__(self, directory, filters):
        self.directory = os.path.realpath(directory)
        self.filters = list(filters)

    def __contains__(self, path):
        if not path.startswith(self.directory + "/") or os.path.isdir(path):
            return False
        return not any(fnmatch.fnmatchcase(path, pattern) for pattern in self.filters)

    def name(self, path):
        return os.path.relpath(path, self.directory)


def withoutRandomNames(counts):
    """mkstemp draws a name each run: the programs here call their templates temporary.XXXXXX."""
    return {(rank, re.sub(r"/temporary\.[A-Za-z0-9]{6}$", "/temporary.XXXXXX", path)): row
            for (rank, path), row in counts.items()}
