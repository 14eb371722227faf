"""A memory control group (version 1) for what a campaign starts. The kernel counts the pages that the
page cache keeps for its processes, so that files larger than the limit leave the cache."""

import contextlib
import os
import time

from devices import NotHere
from targets import GROUPS, ownGroup


class MemoryGroup:
    """The group is made anew for each run, with no pages of the run before. What it needs for the
    processes themselves is in the limit, too."""

    WAIT_S = 120  # a process that ends may have to wait until its pages are written

    def __init__(self):
        parent = ownGroup("memory") or os.path.join(GROUPS, "memory")
        if not os.path.exists(os.path.join(parent, "memory.limit_in_bytes")):
            raise NotHere(f"{parent} has no memory limit (control groups version 1)")
        self._path = os.path.join(parent, f"omnio-estimates-{os.getpid()}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._remove()

    def words(self, limit_bytes):
        """What comes before a command so that it runs in a new group of this limit."""
        self._remove()
        os.mkdir(self._path)
        self._write("memory.limit_in_bytes", limit_bytes)
        return ["sh", "-c", f'echo $$ > "{self._path}/cgroup.procs" && exec "$@"', "sh"]

    def _write(self, name, value):
        with open(os.path.join(self._path, name), "w", encoding="ascii") as file:
            file.write(f"{value}\n")

    def _remove(self):
        """Processes that are ending keep a group from being removed for a while."""
        deadline = time.monotonic() + self.WAIT_S
        while os.path.isdir(self._path):
            with contextlib.suppress(OSError):
                os.rmdir(self._path)
                return
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self._path}: its processes do not end")
            time.sleep(0.05)
