"""Two ranks on two hosts give one trace with two ranks, though the launch agent starts with an
empty environment.

The hosts are two network namespaces with host names of their own, joined by a pair of virtual
Ethernet devices. Their addresses exist inside the namespaces alone. Open MPI reaches the second
host by a launch agent (where a cluster has ssh) which clears the environment, as a login does.
"""

import os
import re
import shlex
import shutil
import sys

from omnio_testing import (Checks, WorkDirectory, emptied, environment, mpirun, needRoot, omnio,
                           program, readLog, run, skipTest, stats)

HOSTS = {"omnio-one": "10.77.0.1", "omnio-two": "10.77.0.2"}
SUBNET = "10.77.0.0/24"

AGENT = """\
#!/bin/sh
# Called as ssh would be: agent [options] address command...
address=$1; shift
case $address in
{cases}
  *) echo "agent: no host $address" >&2; exit 1 ;;
esac
exec ip netns exec "$space" unshare -u env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin \\
  sh -c "hostname $name; $*"
"""


class Network:
    """Two namespaces, named after this process so that a second test run is not disturbed."""

    def __init__(self, work):
        self.work = work
        self.spaces = {host: f"{host}-{os.getpid()}" for host in HOSTS}

    def __enter__(self):
        one, two = self.spaces.values()
        commands = [f"ip netns add {one}", f"ip netns add {two}",
                    f"ip link add veth0 netns {one} type veth peer name veth0 netns {two}"]
        for host, space in self.spaces.items():
            commands += [f"ip -n {space} addr add {HOSTS[host]}/24 dev veth0",
                         f"ip -n {space} link set lo up", f"ip -n {space} link set veth0 up"]
        try:
            for command in commands:
                result = run(command.split())
                if result.status != 0:
                    raise RuntimeError(f"{command}: {result.err.decode().strip()}")
        except RuntimeError as problem:
            self.__exit__()
            skipTest(f"no network namespaces here: {problem}")
        self.agent = os.path.join(self.work, "agent")
        with open(self.agent, "w", encoding="utf-8") as file:
            file.write(AGENT.format(cases="\n".join(
                f"  {HOSTS[host]}) space={space}; name={host} ;;"
                for host, space in self.spaces.items())))
        os.chmod(self.agent, 0o755)
        return self

    def __exit__(self, *_):
        for space in self.spaces.values():
            run(["ip", "netns", "del", space])

    def mpirun(self):
        hosts = ",".join(f"{address}:1" for address in HOSTS.values())
        return mpirun(2, "--mca", "plm_rsh_agent", self.agent,
                      "--mca", "oob_tcp_if_include", SUBNET, "--mca", "btl", "tcp,self",
                      "--mca", "btl_tcp_if_include", SUBNET, "--host", hosts)

    def run(self, command, **env):
        """Runs on the first host."""
        host, space = next(iter(self.spaces.items()))
        inner = f"hostname {host}; exec {shlex.join([str(word) for word in command])}"
        return run(["ip", "netns", "exec", space, "unshare", "-u", "sh", "-c", inner],
                   env=environment(**env), timeout=90)


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
    needRoot()
    if mpirun(2) is None or program("c_mpi") is None:
        skipTest("there is no MPI")
    if b"Open MPI" not in run(["mpirun", "--version"]).out:
        skipTest("the launch agent is set as Open MPI wants it")
    if shutil.which("ip") is None:
        skipTest("iproute2 is not installed")
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
