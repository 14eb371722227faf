"""A storage target that is as slow as wanted (tests/support/slowfs), mounted while in use."""

import json
import os
import signal
import subprocess
import time

import devices
from omnio_testing import (PATIENCE_S, emptied, endingSignalsHeld, environment, program, quietDeath,
                           run, skipTest)



def whyNotSlow():
    """Why slowfs cannot run here; None where it can."""
    if os.geteuid() != 0:
        return "needs root"
    if program("slowfs") is None:
        return "libfuse3 was not there when the programs were built"
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as problem:
        return f"no FUSE here: {problem}"
    return None


def needSlowStorage():
    """Skips the test where slowfs cannot run."""
    if why := whyNotSlow():
        skipTest(why)


class SlowStorage:
    """Below `work` are the mount point and the backing directory, which is a fresh tmpfs unless
    `backing` names a directory. `options` are those of slowfs. `path` is a directory for any user.

    With `control` requests can be held, so that a test needs no clock to know what happens while
    storage does not answer: hold(), let(), go() and held().
    """

    def __init__(self, work, *options, name="slow", backing=None, control=False):
        self.path = os.path.join(work, f"{name}.mount")
        self.backing = backing or os.path.join(work, f"{name}.backing")
        self._own_tmpfs = backing is None
        self._options = [str(option) for option in options] + ["--control"] * control
        self._control = control
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

    def hold(self, of):
        """Requests of a class ("read", "write", "metadata", "sync") wait from now on."""
        return self._command(f"hold {of}")

    def let(self, requests=1):
        """Those that wait longest go on."""
        return self._command(f"let {requests}")

    def go(self):
        """All that wait go on, and later ones do not wait."""
        return self._command("go")

    def held(self):
        """The threads whose requests wait, in the order of their arrival."""
        return self._command("held")

    def _command(self, line):
        self._process.stdin.write(f"{line}\n".encode())
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())["held"]

    def stop(self):
        """Ends slowfs in place of unmounting, and returns its status."""
        self._process.terminate()
        return self._process.wait(timeout=PATIENCE_S)

    def _start(self):
        command = [program("slowfs"), self.backing, self.path, *self._options]
        with endingSignalsHeld():
            self._process = subprocess.Popen(
                command, env=environment(),
                stdin=subprocess.PIPE if self._control else subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, preexec_fn=quietDeath)
        deadline = time.monotonic() + PATIENCE_S
        while not os.path.ismount(self.path):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._process.kill()
                raise RuntimeError(f"{' '.join(command)}: {self._process.communicate()}")
            time.sleep(0.01)

    def _end(self):
        if self._process is not None and self._process.returncode is None:
            if self._control:  # whoever waits goes on
                self._process.stdin.close()
                self._process.stdin = None
            # A process that was just told to end may have a file open still.
            deadline = time.monotonic() + PATIENCE_S
            while run(["umount", self.path]).status != 0 and time.monotonic() < deadline:
                time.sleep(0.1)
            try:
                out, err = self._process.communicate(timeout=PATIENCE_S)
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
