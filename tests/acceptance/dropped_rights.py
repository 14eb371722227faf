"""A process that has become another user, who may not write the trace directory, gets its log from
`omnio trace`: no event is lost, also of workers that are killed. Without `omnio trace` they are
counted.
"""

import os
import re

from omnio_testing import (Checks, WorkDirectory, environment, needRoot, preloadLibrary, program, run,
                           stats, trace)

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


def checkServer(checks, work, name, extra, reasons):
    run_directory, directory = places(work, name)
    done = trace(directory, [program("c_drops_rights"), OTHER_USER, WORKERS, WRITES, *extra],
                 cwd=run_directory)
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
               r"write its log there: Permission denied; omnio trace opens it, and later ones, with its "
               r"own rights as long as it runs; to make this unnecessary, let user \S+ write to the "
               r"directory")
    checks.that(said and re.fullmatch(pattern, said[0]), f"{name}: {said}")
    for worker in range(WORKERS):
        size = os.path.getsize(os.path.join(run_directory, f"worker.{worker}"))
        checks.equal(size, WRITES, f"{name}: what worker {worker} wrote")


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
        with checks.case("alone"):
            checkAlone(checks, work)
    checks.finish()


if __name__ == "__main__":
    main()
