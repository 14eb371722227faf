"""The log of a process that has become another user, who may not write the trace directory, is
written by `omnio trace`: no event is lost, also of workers that are killed, and no part of a log is
left in memory. No such process opens a socket. Without `omnio trace` the events are counted.
"""

import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from omnio_testing import (Checks, WorkDirectory, environment, needRoot, omnio, preloadLibrary, program,
                           run, stats, trace, until)
from run_account import waitUntilGone

OTHER_USER = 65534
WORKERS = 4
WRITES = 40000  # some 20 rings of events in all


def places(work, name):
    """A working directory for anyone, and a trace directory that only root may look into."""
    run_directory = os.path.join(work, "run-" + name)
    os.makedirs(run_directory)
    os.chmod(run_directory, 0o777)
    private = os.path.join(work, "private-" + name)
    os.makedirs(private, mode=0o700)
    return run_directory, os.path.join(private, "trace")


# A server as in c_drops_rights, of one worker that waits for a word before it writes.
SERVER = """
import os, sys, time
def put(name):
    with open(name, "w") as file:
        file.write(str(os.getpid()))
    os.rename(name, name + ".there")
def wait(name):
    while not os.path.exists(name):
        time.sleep(0.01)
put("server")
os.setgid(int(sys.argv[1]))
os.setuid(int(sys.argv[1]))
if os.fork() == 0:
    put("worker")
    wait("go")
    file = os.open("data", os.O_WRONLY | os.O_CREAT, 0o644)
    for _ in range(int(sys.argv[2])):
        os.write(file, b"w")
    os._exit(0)
os.wait()
put("end")
wait("never")
"""


def partsOf(directory, rings="/dev/shm"):
    """Parts of logs of this trace that are left."""
    with open(os.path.join(directory, "job"), encoding="utf-8") as file:
        run_id = file.read().splitlines()[1]
    names = [name for place in (rings, "/dev/shm", "/run/shm", "/tmp")
             for name in glob.glob(f"{place}/omnio-{run_id}-*")]
    return [name for name in names if ".part-" in name or ".new-" in name]


def checkServer(checks, work, name, extra, reasons, rings="/dev/shm"):
    run_directory, directory = places(work, name)
    done = trace(directory, [program("c_drops_rights"), OTHER_USER, WORKERS, WRITES, *extra],
                 cwd=run_directory, env=environment(OMNIO_RING_DIR=rings))
    checks.equal(done.status, 0, f"{name}: {done}")
    report = stats(directory)["trace"]
    checks.equal([re.sub(r"process \d+ on host \S+", "P", reason) for reason in report["reasons"]],
                 reasons, f"{name}: reasons")
    checks.equal(report["events_missing"], 0, f"{name}: events that are missing")
    # The open, the writes and the close of each worker; the server opens and writes twice.
    own = WRITES + (1 if extra else 2)
    checks.equal(report["events"], WORKERS * own + 3, f"{name}: events")
    said = [line for line in done.err.decode().splitlines() if "cannot write its log" in line]
    checks.equal(len(said), 1, f"{name}: {done.err!r}")
    pattern = (rf"omnio: {re.escape(directory)}: process \d+ \(\S*c_drops_rights\) of user \S+ cannot "
               r"write its log there: Permission denied; omnio trace writes it, and later ones, with "
               r"its own rights as long as it runs; to make this unnecessary, let user \S+ write to the "
               r"directory")
    checks.that(said and re.fullmatch(pattern, said[0]), f"{name}: {said}")
    for worker in range(WORKERS):
        size = os.path.getsize(os.path.join(run_directory, f"worker.{worker}"))
        checks.equal(size, WRITES, f"{name}: what worker {worker} wrote")
    checks.equal(partsOf(directory, rings), [], f"{name}: parts of logs that are left")


def checkSockets(checks, work):
    if shutil.which("strace") is None:
        checks.skip("sockets", "strace is not installed")
        return
    run_directory, directory = places(work, "sockets")
    log = os.path.join(work, "calls")
    done = trace(directory, ["strace", "-f", "-qq", "-e", "trace=network,renameat", "-o", log,
                             program("c_drops_rights"), OTHER_USER, 2, 100], cwd=run_directory)
    checks.equal(done.status, 0, f"sockets: {done}")
    checks.that(b"cannot write its log" in done.err, f"sockets: {done.err!r}")
    with open(log, encoding="utf-8", errors="replace") as file:
        calls = re.findall(r"^\d+ +(\w+)\(", file.read(), re.M)
    checks.that("renameat" in calls, "sockets: logs come in parts")
    checks.equal([call for call in calls if call != "renameat"], [], "sockets: other calls")


def checkLeft(checks, work):
    """`omnio trace` stops and is killed: what was left for it meanwhile is collected."""
    run_directory, directory = places(work, "left")

    def isThere(name):
        return os.path.exists(os.path.join(run_directory, name))

    with subprocess.Popen([omnio(), "trace", "-o", directory, "--", sys.executable, "-c", SERVER,
                           str(OTHER_USER), str(WRITES)], cwd=run_directory, env=environment(),
                          stderr=subprocess.DEVNULL) as tracing:
        until(lambda: isThere("worker.there"), "left: the worker's begin")
        tracing.send_signal(signal.SIGSTOP)
        with open(os.path.join(run_directory, "go"), "wb"):
            pass
        until(lambda: isThere("end.there"), "left: the worker's end")
        checks.that(len(partsOf(directory)) > 4, f"left: parts: {partsOf(directory)}")
        tracing.kill()
    with open(os.path.join(run_directory, "server.there"), encoding="utf-8") as file:
        server = int(file.read())
    os.kill(server, signal.SIGKILL)
    waitUntilGone(server)
    done = run([omnio(), "collect", directory])
    checks.equal(done.status, 0, f"left: {done}")
    checks.equal(partsOf(directory), [], "left: parts")
    report = stats(directory)["trace"]
    checks.equal(report["events_missing"], 0, f"left: {report['reasons']}")
    checks.that(report["events"] > WRITES, f"left: {report['events']} events")


def checkAlone(checks, work):
    """`omnio trace` cannot be asked: what is lost is counted."""
    run_directory, directory = places(work, "alone")
    os.makedirs(directory)
    done = run([program("c_drops_rights"), OTHER_USER, 1, WRITES], cwd=run_directory,
               env=environment(LD_PRELOAD=preloadLibrary("serial"), OMNIO_DIR=directory))
    checks.equal(done.status, 0, f"alone: {done}")
    report = stats(directory)["trace"]
    checks.equal(report["events"] + report["events_missing"], WRITES + 2 + 3, "alone: all are counted")
    checks.that(any(reason.endswith("were dropped: Permission denied")
                    for reason in report["reasons"]), f"alone: {report['reasons']}")


def main():
    needRoot()
    checks = Checks()
    with WorkDirectory() as work:
        os.chmod(work, 0o711)
        with checks.case("ended"):
            checkServer(checks, work, "ended", [], [])
        with checks.case("killed"):
            # Between two calls: their rings have all that they did.
            checkServer(checks, work, "killed", ["killed"], [])
        with checks.case("elsewhere"):
            with tempfile.TemporaryDirectory(dir="/dev/shm") as rings:
                os.chmod(rings, 0o1777)
                checkServer(checks, work, "elsewhere", [], [], rings)
        with checks.case("left"):
            checkLeft(checks, work)
        with checks.case("sockets"):
            checkSockets(checks, work)
        with checks.case("alone"):
            checkAlone(checks, work)
    checks.finish()


if __name__ == "__main__":
    main()
