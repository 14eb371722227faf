"""Two ranks on two hosts give one trace with two ranks, though the launch agent starts with an
empty environment. And no flavour of the tracer opens a socket.
"""

import json
import os
import re
import shlex
import sys

from omnio_testing import (Checks, WorkDirectory, emptied, omnio, program, readLog, run, skipTest,
                           stats)
from schedule_expander import expanded
from two_namespaces import HOSTS, Network, needTwoHosts


def checkTrace(checks, form, trace_directory, directory):
    document = stats(trace_directory, "--by", "rank")
    state = document["trace"]
    checks.equal((state["whole"], state["reasons"]), (True, []), f"{form}: whole, reasons")
    checks.equal((state["ranks_expected"], state["ranks_reporting"]), (2, 2), f"{form}: ranks")
    written = {(event["rank"], os.path.basename(event["file"]))
               for event in readLog(trace_directory) if event["class"] == "write" and
               event.get("file", "").startswith(f"{directory}/each.")}
    checks.equal(written, {(0, "each.0"), (1, "each.1")}, f"{form}: which rank wrote which file")
    hosts = {name.split(".")[0] for name in os.listdir(trace_directory)
             if re.fullmatch(r".+\.\d+\.\d+\.omnio", name)}
    checks.equal(hosts, set(HOSTS), f"{form}: hosts with logs")
    print(f"{form}: {state['processes']} processes, {state['events']} events, hosts "
          f"{sorted(hosts)}")


def checkForms(checks, network, work):
    directory = os.path.join(work, "run")
    app = [program("c_mpi"), directory]
    forms = {
        "omnio trace -- mpirun": lambda to: [omnio(), "trace", "-o", to, "--", *network.mpirun(),
                                             *app],
        "mpirun omnio trace": lambda to: [*network.mpirun(), omnio(), "trace", "-o", to, "--",
                                          *app],
        "omnio trace -- sh -c mpirun": lambda to: [
            omnio(), "trace", "-o", to, "--", "sh", "-c",
            shlex.join([*network.mpirun(), "sh", "-c", f"exec {shlex.join(app)}"]) + "; exit $?"],
    }
    for form, command in forms.items():
        emptied(directory)
        trace_directory = os.path.join(work, re.sub(r"\W+", "-", form))
        with checks.case(form):
            result = network.run(command(trace_directory))
            if checks.equal(result.status, 0, f"{form}: status"):
                checkTrace(checks, form, trace_directory, directory)
            else:
                print(result)


def checkUntracedRank(checks, network, work):
    """Rank 1 is started without omnio: the trace has to say that it lacks a rank."""
    directory = emptied(os.path.join(work, "run"))
    trace_directory = os.path.join(work, "untraced-rank")
    app = [program("c_mpi"), directory]
    command = network.mpirun()
    at = command.index("-n")
    command = [*command[:at], "-n", "1", omnio(), "trace", "-o", trace_directory, "--", *app, ":",
               "-n", "1", *app]
    result = network.run(command)
    if not checks.equal(result.status, 0, "untraced rank: status"):
        print(result)
        return
    state = stats(trace_directory)["trace"]
    checks.equal((state["whole"], state["ranks_expected"], state["ranks_reporting"]), (False, 2, 1),
                 "untraced rank: whole, ranks expected, ranks reporting")
    checks.that(state["reasons"], "untraced rank: a reason is given")
    print(f"untraced rank: {state['reasons']}")


def checkUserEnvironment(checks, network, work):
    """What the user has the launcher forward arrives still, beside what the tracer needs."""
    command = [omnio(), "trace", "-o", os.path.join(work, "forwarded"), "--", *network.mpirun(),
               "sh", "-c", 'echo "$OMPI_COMM_WORLD_RANK: $FORWARDED, $TOO"']
    result = network.run(command, OMPI_MCA_mca_base_env_list="FORWARDED=a word;TOO=b")
    checks.equal((result.status, sorted(result.out.decode().splitlines())),
                 (0, ["0: a word, b", "1: a word, b"]), "the user's own mca_base_env_list")


NETWORK_CALL = re.compile(r"(?:^\d+ +)?(socket|socketpair|bind|listen|connect)\(")
FRAME = re.compile(r"^ > (\S+?)\(")


def networkCalls(checks, network, work, name, command):
    """The libraries from which mpirun and the processes below it make sockets: a list of the frames
    of each call, innermost first."""
    log = os.path.join(work, f"network-{name}")
    strace = ["strace", "-f", "-k", "-qq", "-e", "trace=network", "-e", "signal=none", "-o", log]
    result = network.run(command([*strace, *network.mpirun()]))
    if not checks.equal(result.status, 0, f"sockets, {name}: status"):
        print(result)
        return []
    calls = []
    frames = None
    with open(log, encoding="utf-8", errors="replace") as file:
        for line in file:
            if frame := FRAME.match(line):
                if frames is not None:
                    frames.append(os.path.basename(frame.group(1)))
            else:
                frames = [] if NETWORK_CALL.match(line) else None
                if frames is not None:
                    calls.append(frames)
    return calls


def ownCalls(calls):
    """Those that a tracer makes itself or through the C library. Further out its wrapper of MPI_Init
    stands in every stack."""
    return [frames for frames in calls if any("libomnio" in frame for frame in frames[:2])]


def checkSockets(checks, network, work):
    """No tracer opens a socket: all there are Open MPI has made. (How many it makes differs from run
    to run.)"""
    if b"Optional features enabled: stack-trace" not in run(["strace", "-V"]).out:
        checks.skip("sockets", "strace is not installed, or shows no stacks")
        return
    app = [program("c_mpi"), emptied(os.path.join(work, "run"))]
    for flavour in ("serial", "openmp", "mpi", "hybrid"):
        to = os.path.join(work, f"sockets-{flavour}")
        calls = networkCalls(checks, network, work, flavour,
                             lambda start, to=to, flavour=flavour: [
                                 omnio(), "trace", "-o", to, "--flavour", flavour, "--", *start,
                                 *app])
        own = ownCalls(calls)
        print(f"sockets, {flavour}: {len(calls)} calls, {len(own)} by the tracer, "
              f"{sum(any('libomnio' in frame for frame in frames) for frames in calls)} in MPI_Init")
        checks.that(len(calls) > 10, f"sockets, {flavour}: those of Open MPI are seen")
        checks.equal(own, [], f"sockets, {flavour}: made by the tracer")
        if flavour in ("mpi", "hybrid"):
            checks.that(any("libomnio" in frame for frames in calls for frame in frames),
                        f"sockets, {flavour}: frames of the tracer are seen")
    # A call from a library of the tracer's name is found.
    checks.equal(len(ownCalls([["libc.so.6", "libomnio_mpi.so", "c_mpi"],
                               ["libc.so.6", "mca_btl_tcp.so", "libomnio_mpi.so"]])), 1,
                 "sockets: a call of the tracer's is told from one of Open MPI's")


def checkReplay(checks, network, work):
    """Ranks on two hosts keep their order and begin at one moment, whatever their clocks say."""
    trace, schedule = os.path.join(work, "to-replay"), os.path.join(work, "schedule.json")
    traced = network.run([omnio(), "trace", "-o", trace, "--", *network.mpirun(4),
                          program("c_workloads"), "token", 4], cwd=emptied(work + "/run"))
    checks.equal(traced.status, 0, f"replay: trace: {traced.err!r}")
    made = run([omnio(), "preprocess", trace, "-o", schedule, "--timing", "dt"])
    checks.equal(made.status, 0, f"replay: preprocess: {made.err!r}")
    recorded_ns = max(event["end"] for rank in expanded(schedule)["ranks"]
                      for thread in rank["threads"] for event in thread["events"])
    apart = run(["unshare", "--time", "--monotonic", "1", "--fork", "true"]).status == 0
    if not apart:
        checks.skip("clocks that differ", "unshare cannot make a time namespace here")
    for ahead_s, wait in ((0, "yield"), (0, "spin"), (0, "block"),
                          *([(1000, "auto"), (-20, "auto")] if apart else [])):
        what = f"replay, second clock {ahead_s} s ahead, wait {wait}"
        network.secondHost(["--time", "--monotonic", str(ahead_s), "--fork"] if ahead_s else ())
        output = emptied(os.path.join(work, "replayed"))
        as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        done = network.run([omnio(), "replay", schedule, "--target", work + "/target", "--fresh",
                            "-o", output, "--wait", wait, "--launcher",
                            " ".join(network.mpirun(4))], cwd=work, **as_root)
        if not checks.equal(done.status, 0, f"{what}: {done.err!r}"):
            continue
        with open(os.path.join(output, "replay.json"), encoding="utf-8") as file:
            report = json.load(file)
        checks.equal(report["nodes"], 2, f"{what}: nodes")
        checks.equal(report["total"]["differences"], 0, f"{what}: differences")
        # A clock that is compared wrongly shifts the second host's part by 20 or 1,000 s: it took
        # longer than all of the command, or the command is ended.
        checks.that(report["total"]["makespan_ns"] < done.seconds * 1e9,
                    f"{what}: took {report['total']['makespan_ns'] / 1e9} of {done.seconds} s")
        verified = run([omnio(), "verify", schedule, output])
        checks.equal(verified.status, 0, f"{what}: verify: {verified.out[-400:]!r}")
        print(f"{what}: {report['total']['makespan_ns'] / 1e9:.3f} s, recorded "
              f"{recorded_ns / 1e9:.3f} s")
    network.secondHost()


def main():
    needTwoHosts()
    checks = Checks()
    with WorkDirectory() as work, Network(work) as network:
        # Without omnio first: a network that does not work says nothing about the tracer.
        plain = network.run([*network.mpirun(), program("c_mpi"), emptied(work + "/run")])
        if plain.status != 0:
            print(plain)
            skipTest("Open MPI does not reach the second namespace")
        checkForms(checks, network, work)
        with checks.case("untraced rank"):
            checkUntracedRank(checks, network, work)
        with checks.case("sockets"):
            checkSockets(checks, network, work)
        with checks.case("replay"):
            checkReplay(checks, network, work)
        with checks.case("the user's own environment"):
            checkUserEnvironment(checks, network, work)
    checks.finish()


if __name__ == "__main__":
    sys.exit(main())
