"""A storage target that is as slow as wanted (tests/support/slowfs), mounted while in use."""

import json
import os
import signal
import subprocess
import time

import devices
from omnio_testing import (emptied, endingSignalsHeld, environment, needRoot, program, quietDeath,
                           run, skipTest)


def needSlowStorage():
    """Skips the test where slowfs cannot run."""
    needRoot()
    if program("slowfs") is None:
        skipTest("libfuse3 was not there when the programs were built")
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as problem:
        skipTest(f"no FUSE here: {problem}")


class SlowStorage:
    """Below `work` are the mount point and the backing directory, which is a fresh tmpfs unless
    `backing` names a directory. `options` are those of slowfs. `path` is a directory for any user.
    """

    def __init__(self, work, *options, name="slow", backing=None):
        self.path = os.path.join(work, f"{name}.mount")
        self.backing = backing or os.path.join(work, f"{name}.backing")
        self._own_tmpfs = backing is None
        self._options = [str(option) for option in options]
        self._process = None
        self._last_counts = None

    def __enter__(self):
        emptied(self.path)
        if self._own_tmpfs:
            emptied(self.backing)
            devices.must("mount", "-t", "tmpfs", "-o", "mode=1777", "none", self.backing)
        try:
            self._start()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_):
        self._end()

    def counts(self):
        """The document of counts: the newest while mounted, the last one afterwards."""
        if self._last_counts is None:
            self._process.send_signal(signal.SIGUSR1)
            return json.loads(self._process.stdout.readline())
        return self._last_counts

    def stop(self):
        """Ends slowfs in place of unmounting, and returns its status."""
        self._process.terminate()
        return self._process.wait(timeout=30)

    def _start(self):
        command = [program("slowfs"), self.backing, self.path, *self._options]
        with endingSignalsHeld():
            self._process = subprocess.Popen(
                command, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, preexec_fn=quietDeath)
        deadline = time.monotonic() + 20
        while not os.path.ismount(self.path):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._process.kill()
                raise RuntimeError(f"{' '.join(command)}: {self._process.communicate()}")
            time.sleep(0.01)

    def _end(self):
        if self._process is not None and self._process.returncode is None:
            # A process that was just told to end may have a file open still.
            deadline = time.monotonic() + 20
            while run(["umount", self.path]).status != 0 and time.monotonic() < deadline:
                time.sleep(0.1)
            try:
                out, err = self._process.communicate(timeout=30)
            except subprocess.TimeoutExpired:
                run(["umount", "-l", self.path])
                self._process.kill()
                out, err = self._process.communicate()
            if self._process.returncode != 0 or err:
                print(f"slowfs: status {self._process.returncode}: {err.decode()}")
            lines = out.splitlines()
            self._last_counts = json.loads(lines[-1]) if lines else None
        if self._own_tmpfs:
            run(["umount", "-l", self.backing])
