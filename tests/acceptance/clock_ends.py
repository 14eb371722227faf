"""Clocks of two hosts are being compared, and something happens to one side: its process is killed
or stopped at any moment of MPI_Init or MPI_Finalize, leaves without MPI_Finalize, or finalizes past
the tracer; or there are marks of others. The job ends as it does untraced, nothing hangs, and what
is there can be read. And an application sees nothing of the comparison.

  clock_ends.py [KILLS]    so many kills; 4 when it is not told
"""

import contextlib
import glob
import os
import random
import signal
import sys
import threading
import time

from omnio_testing import (Checks, WorkDirectory, emptied, mpirun, omnio, program, readLog, run,
                           skipTest, stats)
from two_namespaces import HOSTS, Network, needTwoHosts

ONE, TWO = HOSTS
CLOCK = {"OMNIO_TEST_CLOCK": "3000000000:50"}
MOST_SECONDS = 30  # what a job takes that hangs is for ever


def ranksOf(to):
    """{rank: pid} of the application's processes that are traced into this directory."""
    found = {}
    for path in glob.glob("/proc/[0-9]*"):
        with contextlib.suppress(OSError):
            if not os.path.basename(os.readlink(path + "/exe")).startswith("c_clock"):
                continue
            with open(path + "/environ", "rb") as file:
                variables = dict(entry.split(b"=", 1) for entry in file.read().split(b"\0")
                                 if b"=" in entry)
            if to.encode() in variables.values():
                found[int(variables[b"OMPI_COMM_WORLD_RANK"])] = int(os.path.basename(path))
    return found


def launchersBelow(pid):
    """The launcher's processes among the descendants of a process."""
    parents = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
            number, rest = file.read().split(" (", 1)
            name, rest = rest.rsplit(") ", 1)
            parents[int(number)] = (int(rest.split()[1]), name)
    found = []
    below = {pid}
    while below:
        below = {child for child, (parent, _) in parents.items() if parent in below}
        found += [child for child in below if parents[child][1] in ("orted", "mpirun", "orterun")]
    return found


class Disturbed(threading.Thread):
    """Does something to a rank so long after all ranks were seen; or nothing, when it came late.

    A launch whose rank was killed has been seen to stand still with no rank left: mpirun in its own
    end, in PMIx_server_finalize below Open MPI's daemon, which is not traced. It is ended then, and
    that is told.
    """

    def __init__(self, to, rank, seconds, action):
        super().__init__()
        self.to, self.rank, self.seconds, self.action = to, rank, seconds, action
        self.is_over = False
        self.was_done = False

    def run(self):
        found = {}
        while len(found) < 2 and not self.is_over:
            found = ranksOf(self.to)
        time.sleep(self.seconds)
        with contextlib.suppress(KeyError, ProcessLookupError):
            self.action(found[self.rank])
            self.was_done = True
        until = time.monotonic() + MOST_SECONDS / 2
        while not self.is_over and time.monotonic() < until:
            time.sleep(0.05)
        if not self.is_over and not ranksOf(self.to):
            for pid in launchersBelow(os.getpid()):
                print(f"the launcher stands still: {pid} is ended")
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def untraced(network, to, *words):
    return network.run([*network.mpirun(), "-x", f"CLOCK_ENDS={to}", *words])


def traced(network, to, *words):
    return network.run([omnio(), "trace", "-o", to, "--", *network.mpirun(), *words])


def disturbed(how, network, to, rank, seconds, action):
    other = Disturbed(to, rank, seconds, action)
    other.start()
    result = how(network, to, program("c_clocks"), "0", "0")
    other.is_over = True
    other.join()
    return result, other.was_done


def checkOver(checks, result, to, name):
    """In time, with nobody left behind, and readable."""
    if not checks.that(result.seconds < MOST_SECONDS, f"{name}: took {result.seconds:.1f} s"):
        print(result)
    until = time.monotonic() + 10
    while ranksOf(to) and time.monotonic() < until:
        time.sleep(0.05)
    left = ranksOf(to)
    checks.equal(left, {}, f"{name}: processes left")
    for pid in left.values():
        os.kill(pid, signal.SIGKILL)
    if glob.glob(os.path.join(to, "*.omnio")):
        stats(to)
        return len(list(readLog(to)))
    return 0


def checkKills(checks, network, work, kills):
    done = events = 0
    states = {}
    slowest = 0
    for number in range(kills):
        rank = number % 2
        to = os.path.join(work, "killed")
        emptied(to)
        os.rmdir(to)
        seconds = random.uniform(0, 0.45)
        name = f"rank {rank} killed after {seconds:.3f} s"
        result, was_done = disturbed(traced, network, to, rank, seconds,
                                     lambda pid: os.kill(pid, signal.SIGKILL))
        done += was_done
        slowest = max(slowest, result.seconds)
        if checks.that(was_done or result.status == 0, f"{name}: status {result.status}"):
            events += checkOver(checks, result, to, name)
        states[result.status] = states.get(result.status, 0) + 1
    print(f"{kills} jobs, {done} killed, {events} events read; exit statuses {states}; the slowest "
          f"took {slowest:.1f} s")
    checks.that(done > 0, "one was killed")


def checkStops(checks, network, work):
    """Stopped for longer than anybody waits: its clock is not compared, and the job goes well."""
    for rank in (0, 1):
        to = os.path.join(work, f"stopped-{rank}")

        def rest(pid):
            os.kill(pid, signal.SIGSTOP)
            time.sleep(4)
            os.kill(pid, signal.SIGCONT)
        name = f"rank {rank} stopped"
        result, was_done = disturbed(traced, network, to, rank, random.uniform(0, 0.3), rest)
        checks.equal((result.status, was_done), (0, True), f"{name}: status, was done")
        checkOver(checks, result, to, name)
        print(f"{name}: {result.seconds:.1f} s, "
              f"{[clock['method'] for clock in stats(to)['clocks']]}")


def checkWays(checks, network, work):
    for way, methods in (("numbers", ["reference", "exchange"]),
                         ("thread", ["reference", "exchange"]),
                         ("past", ["reference", "start only"]),
                         ("leave", ["reference", "start only"])):
        to = os.path.join(work, way)
        plain = network.run([*network.mpirun(), program("c_clock_ends"), way])
        result = traced(network, to, program("c_clock_ends"), way)
        if not checks.equal((result.status, sorted(result.out.splitlines())),
                            (plain.status, sorted(plain.out.splitlines())),
                            f"{way}: status and output as untraced"):
            print(plain, result, sep="\n")
        checkOver(checks, result, to, way)
        found = {clock["host"]: clock["method"] for clock in stats(to)["clocks"]}
        checks.equal([found[ONE], found[TWO]], methods, f"{way}: clocks")
        print(f"{way}: status {result.status}, {result.seconds:.1f} s (untraced "
              f"{plain.seconds:.1f} s), {result.out.decode().splitlines()}")


def checkSpawn(checks, work):
    """The spawned job has a name of its own. On one machine that seems to be two nodes, since Open
    MPI cannot start processes across namespaces."""
    to = os.path.join(work, "spawned")
    words = ("OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=1 "
             'OMNIO_TEST_CLOCK=$((OMPI_COMM_WORLD_RANK * 1000000000)):0 exec "$0" "$@"')
    result = run([omnio(), "trace", "-o", to, "--", *mpirun(2), "sh", "-c", words,
                  program("c_mpi_ends"), "spawn"])
    if not checks.equal(result.status, 0, "spawn: status"):
        print(result)
        return
    checkOver(checks, result, to, "spawn")
    methods = [clock["method"] for clock in stats(to)["clocks"]]
    checks.equal(methods.count("exchange"), 1, f"spawn: of {methods} the second of the job")
    print(f"spawn: {result.seconds:.1f} s, {methods}")


def checkWrongMarks(checks, work):
    """Marks that are not of this job: of a rank that is not traced, and one of rank 0's that names
    another process. On one machine that seems to be three nodes."""
    for name, wrong, methods in (
            ("a stale mark", 'echo "00000000000000aa 1 7f000001" > "$d/2.00000000000000aa"',
             ["reference", "exchange"]),
            ("a stranger's token", 'sed -i "1s/^[0-9a-f]*/00000000000000aa/" "$d/0"',
             ["reference", "realtime"])):
        to = os.path.join(work, name.replace(" ", "-"))
        words = ("r=$OMPI_COMM_WORLD_RANK; export OMPI_COMM_WORLD_LOCAL_RANK=0 "
                 "OMPI_COMM_WORLD_LOCAL_SIZE=1 OMNIO_TEST_CLOCK=$((r * 1000000000)):0; "
                 'if [ $r = 1 ]; then while [ ! -s "$1"/clocks.*/0 ]; do sleep 0.01; done; '
                 f'd=$(echo "$1"/clocks.*); {wrong}; fi; '
                 'if [ $r = 2 ]; then unset LD_PRELOAD; fi; exec "$0" 0 0')
        result = run([omnio(), "trace", "-o", to, "--", *mpirun(3), "sh", "-c", words,
                      program("c_clocks"), to], timeout=60)
        if not checks.equal(result.status, 0, f"{name}: status"):
            print(result)
            continue
        checkOver(checks, result, to, name)
        found = {clock["ranks"][0]: clock["method"] for clock in stats(to)["clocks"]}
        checks.equal([found[0], found[1]], methods, f"{name}: clocks")
        print(f"{name}: {result.seconds:.1f} s, {found}")


def checkPrivateDirectories(checks, network, work):
    """The trace directory is each node's own: nobody finds the other, nobody waits for him."""
    to = os.path.join(work, "private")
    os.makedirs(to)
    network.secondHost(["--mount"], first=f"mount -t tmpfs none {to}", **CLOCK)
    result = network.run([*network.mpirun(), omnio(), "trace", "-o", to, "--",
                          program("c_clocks"), "0", "0"])
    network.secondHost(**CLOCK)
    if not checks.equal(result.status, 0, "private directories: status"):
        print(result)
        return
    checkOver(checks, result, to, "private directories")
    checks.equal([clock["method"] for clock in stats(to)["clocks"]], ["reference"],
                 "private directories: clocks")
    print(f"private directories: {result.seconds:.1f} s")


def main():
    needTwoHosts("c_clock_ends")
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    checks = Checks()
    with WorkDirectory() as work, Network(work) as network:
        if network.run([*network.mpirun(), program("c_clocks"), "0", "1"]).status != 0:
            skipTest("Open MPI does not reach the second namespace")
        network.secondHost(**CLOCK)
        with checks.case("ways"):
            checkWays(checks, network, work)
        with checks.case("spawn"):
            checkSpawn(checks, work)
        with checks.case("wrong marks"):
            checkWrongMarks(checks, work)
        with checks.case("private directories"):
            checkPrivateDirectories(checks, network, work)
        with checks.case("stops"):
            checkStops(checks, network, work)
        with checks.case("kills"):
            checkKills(checks, network, work, kills)
    checks.finish()


if __name__ == "__main__":
    sys.exit(main())
