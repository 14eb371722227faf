"""Two ranks on two hosts give one trace with two ranks, though the launch agent starts with an
empty environment.
"""

import os
import re
import shlex
import sys

from omnio_testing import (Checks, WorkDirectory, emptied, omnio, program, readLog, skipTest, stats)
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
        with checks.case("the user's own environment"):
            checkUserEnvironment(checks, network, work)
    checks.finish()


if __name__ == "__main__":
    sys.exit(main())
