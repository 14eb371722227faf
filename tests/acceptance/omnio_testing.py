"""What the acceptance tests share: running programs with and without the tracer, and checks that
count themselves, so that a test which checked nothing does not pass.

From the environment (set by CMake):
  OMNIO_TEST_BIN        the omnio program
  OMNIO_TEST_PROGRAMS   the directory of the test programs
  OMNIO_TEST_LIBRARIES  the directory of the preloaded libraries
  OMNIO_TEST_KEEP       if set, work directories stay for a look
"""

import contextlib
import fnmatch
import functools
import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

SKIPPED = 77  # ctest's SKIP_RETURN_CODE for these tests
FLAVOURS = ("serial", "openmp", "mpi", "hybrid")
# For `omnio preprocess` where a test changes the document, or counts on a line for each operation. One that
# reads it takes schedule_expander.expanded(), and the default form.
FLAT = ("--form", "flat")


class Checks:
    """Counts what was compared; a failure is printed where it happens and the test goes on."""

    def __init__(self):
        self.done = 0
        self.failures = []
        self.skipped = []

    def that(self, condition, sentence):
        self.done += 1
        if not condition:
            self.failures.append(sentence)
            print(f"FAILED: {sentence}", flush=True)
        return bool(condition)

    def equal(self, got, wanted, what):
        return self.that(got == wanted, f"{what}: got {got!r}, wanted {wanted!r}")

    @contextlib.contextmanager
    def case(self, name):
        """What goes wrong inside is this case's failure; the next case is tried all the same."""
        try:
            yield
        except Exception as problem:  # pylint: disable=broad-except
            traceback.print_exc(file=sys.stdout)
            self.that(False, f"{name}: {type(problem).__name__}: {problem}")

    def skip(self, case, reason):
        self.skipped.append(case)
        print(f"SKIPPED {case}: {reason}", flush=True)

    def finish(self):
        """Ends the test: 0 all well, 1 a check failed or none was made, 77 all skipped."""
        skipped = f", {len(self.skipped)} cases skipped" if self.skipped else ""
        print(f"{self.done} checks, {len(self.failures)} failed{skipped}")
        for sentence in self.failures:
            print(f"  failed: {sentence}")
        if self.failures:
            sys.exit(1)
        if self.done == 0:
            if not self.skipped:
                print("no check was made: a test that shows nothing does not pass")
            sys.exit(SKIPPED if self.skipped else 1)
        sys.exit(0)


def skipTest(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(SKIPPED)


def runCases(*cases, needs_mpi=True):
    """A whole test: its cases, each a function of the checks and of the work directory that they share, or
    those of them that the command line names."""
    if needs_mpi and mpirun(1) is None:
        skipTest("a replay needs MPI")
    chosen = sys.argv[1:]
    checks = Checks()
    with WorkDirectory() as work:
        for case in cases:
            if chosen and case.__name__ not in chosen:
                continue
            with checks.case(case.__name__):
                case(checks, work)
    checks.finish()


def needRoot():
    if os.geteuid() != 0:
        skipTest("needs root")


def holdsAttributes(directory):
    """Whether the file system there holds extended attributes of users."""
    try:
        os.setxattr(directory, "user.omnio", b"")
        os.removexattr(directory, "user.omnio")
    except OSError:
        return False
    return True


def omnio():
    path = os.environ.get("OMNIO_TEST_BIN", "")
    if not os.access(path, os.X_OK):
        sys.exit(f"OMNIO_TEST_BIN is '{path}', which cannot be run: it has to name omnio")
    return path


def usesMpich():
    """Whether this run of a test is one with MPICH in place of the MPI that omnio is built with."""
    return os.environ.get("OMNIO_TEST_MPI") == "mpich"


def ioLibraries(of_open_mpi):
    """The MPI-IO libraries that a test goes through, {name: what it does with it}: MPICH has ROMIO
    alone, and in its own version."""
    return {name: value for name, value in of_open_mpi.items()
            if not usesMpich() or name.startswith("romio")}


def program(name):
    """The path of a test program, or None where it could not be built (MPI, Fortran, OpenMP)."""
    programs = os.environ.get("OMNIO_TEST_PROGRAMS", "")
    path = os.path.join(programs, "mpich", name)
    if not usesMpich() or not os.access(path, os.X_OK):
        path = os.path.join(programs, name)
    return path if os.access(path, os.X_OK) else None


def preloadLibrary(flavour):
    """For running a program under the tracer without `omnio trace` around it."""
    path = os.path.join(os.environ.get("OMNIO_TEST_LIBRARIES", ""), f"libomnio_{flavour}.so")
    if not os.path.exists(path):
        sys.exit(f"OMNIO_TEST_LIBRARIES has to name the directory of the tracer: no {path}")
    return path


def ringsOf(directory):
    """What tracers of traces below `directory` keep in shared memory: each names its trace."""
    result = []
    for name in os.listdir("/dev/shm"):
        path = os.path.join("/dev/shm", name)
        if name.startswith("omnio-"):
            with contextlib.suppress(OSError), open(path, "rb") as file:
                if directory.encode() + b"/" in file.read(16384):
                    result.append(path)
    return result


SESSIONS = "OMPI_MCA_orte_tmpdir_base"


class WorkDirectory:
    """A fresh directory with its real path, since traces and strace name real paths.

    Open MPI has its sessions in a directory of its own meanwhile: of two mpiruns in the usual one, which
    another test may use, one may remove a directory that the other has just found (`mkdir: File exists`).
    """

    def __enter__(self):
        self.path = os.path.realpath(tempfile.mkdtemp(prefix="omnio-test-"))
        self._sessions = tempfile.mkdtemp(prefix="omnio-mpi-")
        os.chmod(self._sessions, 0o1777)  # some tests run as another user
        self._before = os.environ.get(SESSIONS)
        os.environ[SESSIONS] = self._sessions
        return self.path

    def __exit__(self, *_):
        if self._before is None:
            os.environ.pop(SESSIONS, None)
        else:
            os.environ[SESSIONS] = self._before
        shutil.rmtree(self._sessions, ignore_errors=True)
        if os.environ.get("OMNIO_TEST_KEEP"):
            print(f"kept: {self.path}")
            return
        # A trace that could not be written leaves its last events in memory, which are not wanted.
        for ring in ringsOf(self.path):
            with contextlib.suppress(OSError):
                os.unlink(ring)
        shutil.rmtree(self.path, ignore_errors=True)


def emptied(directory):
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    return directory


class Result:
    def __init__(self, command, status, out, err, seconds):
        self.command, self.status, self.out, self.err = command, status, out, err
        self.seconds = seconds

    def __str__(self):
        return (f"{' '.join(self.command)}\n  status {self.status}\n"
                f"  stdout: {self.out[-2000:]!r}\n  stderr: {self.err[-2000:]!r}")


ENDING_SIGNALS = {signal.SIGTERM, signal.SIGHUP, signal.SIGINT}


@contextlib.contextmanager
def endingSignalsHeld():
    """Inside, a signal that ends this program waits. A program that is being started is known only
    when it has started, and one that is not known cannot be ended."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# When what has not ended, or has not come about, hangs: never met where all is well, also on a machine
# that has a hundredth of its time for a test.
PATIENCE_S = 1800


def quietDeath():
    """Programs here are killed and abort on purpose: no core files. They do not inherit held
    signals."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING_SIGNALS)


def environment(**changes):
    """The caller's environment without what would steer the tracer; None removes a variable."""
    result = {key: value for key, value in os.environ.items()
              if not key.startswith("OMNIO_") and key != "LD_PRELOAD"}
    for key, value in changes.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = str(value)
    return result


def run(command, cwd=None, env=None, stdin=b"", timeout=PATIENCE_S):
    """Runs to the end; the status is as a shell gives it (128+n for a signal)."""
    command = [str(word) for word in command]
    started = time.monotonic()
    process = None
    try:
        with endingSignalsHeld():
            process = subprocess.Popen(
                command, cwd=cwd, env=env if env is not None else environment(),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                preexec_fn=quietDeath)
        out, err = process.communicate(stdin, timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        err += f"\n(ended by the test after {timeout} s)".encode()
    except BaseException:  # a signal that ends the caller: what it started must not stay
        if process is not None:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=PATIENCE_S)
            process.kill()
        raise
    status = process.returncode
    return Result(command, 128 - status if status < 0 else status, out, err,
                  time.monotonic() - started)


def until(condition, what, seconds=PATIENCE_S):
    """What `condition` returns as soon as that is true of it: a busy machine takes its time, and one
    on which it does not become true fails the test."""
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        if time.monotonic() > deadline:
            raise RuntimeError(f"not within {seconds} s: {what}")
        time.sleep(0.002)
    return result


def trace(directory, command, flavour=None, options=(), **more):
    words = [omnio(), "trace", "-o", directory]
    words += ["--flavour", flavour] if flavour else []
    return run(words + list(options) + ["--"] + list(command), **more)


def takesAll():
    """Whether a test takes every combination of its cases with flavours, libraries and the like, as
    its nightly run does; otherwise each case has one of them, by turns."""
    return os.environ.get("OMNIO_TEST_ALL") == "yes"


def byTurns(number, choices):
    """A list of those of the choices that case `number` has: takesAll()."""
    choices = list(choices)
    return choices if takesAll() else [choices[number % len(choices)]]


@functools.lru_cache(maxsize=None)
def isOpenMpi(launcher):
    version = run([launcher, "--version"]).out
    return b"Open MPI" in version or b"OpenRTE" in version


def mpirun(ranks, *options):
    """The start of an mpirun command, or None without an MPI launcher. The options are Open MPI's:
    they are left out where the test runs with MPICH."""
    if usesMpich():
        launcher = shutil.which("mpiexec.mpich")
        return None if launcher is None else [launcher, "-n", str(ranks)]
    launcher = shutil.which("mpirun")
    if launcher is None:
        return None
    words = [launcher]
    if isOpenMpi(launcher):
        words += ["--oversubscribe", "--bind-to", "none"]
        words += ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return words + list(options) + ["-n", str(ranks)]


def stats(directory, *options):
    """The statistics document of a trace; raises with the whole output when there is none."""
    result = run([omnio(), "stats", directory, "--json", *options])
    if result.status != 0:
        raise RuntimeError(f"omnio stats failed: {result}")
    return json.loads(result.out)


def readLog(directory, *options):
    """The events of a trace, one dictionary each, as they are printed."""
    command = [omnio(), "log", directory, "--json", *options]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        for line in process.stdout:
            yield json.loads(line)
        err = process.stderr.read()
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: status {process.returncode}: {err!r}")


def manifest(directory):
    with open(os.path.join(directory, "manifest.json"), encoding="utf-8") as file:
        return json.load(file)


def treeOf(directory, without=()):
    """{relative name: type, mode and content} of all below a directory, to compare two runs."""
    result = {}
    for parent, folders, files in os.walk(directory):
        for name in folders + files:
            path = os.path.join(parent, name)
            relative = os.path.relpath(path, directory)
            if any(fnmatch.fnmatchcase(relative, pattern) for pattern in without):
                continue
            mode = oct(os.lstat(path).st_mode)
            if os.path.islink(path):
                result[relative] = (mode, os.readlink(path))
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    result[relative] = (mode, hashlib.sha256(file.read()).hexdigest())
            else:
                result[relative] = (mode, "")
    return result


def differences(got, wanted):
    """What two dictionaries disagree on, in a line."""
    parts = [f"{key}: {got.get(key)} instead of {wanted.get(key)}"
             for key in sorted(set(got) | set(wanted)) if got.get(key) != wanted.get(key)]
    return "; ".join(parts[:5]) + (f"; and {len(parts) - 5} more" if len(parts) > 5 else "")


def defaultFilters():
    """The globs that the tracer leaves out by itself; used on both sides of a comparison."""
    result = run([omnio(), "trace", "--list-filters"])
    if result.status != 0:
        raise RuntimeError(f"omnio trace --list-filters failed: {result}")
    return [line for line in result.out.decode().splitlines() if line.strip()]
