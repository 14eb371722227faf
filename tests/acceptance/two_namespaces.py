"""Two hosts on one machine: network namespaces with host names of their own, joined by a pair of
virtual Ethernet devices. Their addresses exist inside the namespaces alone. Open MPI reaches the
second host by a launch agent (where a cluster has ssh) which clears the environment, as a login
does.
"""

import os
import shlex
import shutil

from omnio_testing import PATIENCE_S, environment, mpirun, needRoot, program, run, skipTest

HOSTS = {"omnio-one": "10.77.0.1", "omnio-two": "10.77.0.2"}
SUBNET = "10.77.0.0/24"

AGENT = """\
#!/bin/sh
# Called as ssh would be: agent [options] address command...
address=$1; shift
unset OMNIO_PREFETCH  # else `ip` starts a helper there that has this host's name
case $address in
{cases}
  *) echo "agent: no host $address" >&2; exit 1 ;;
esac
exec ip netns exec "$space" unshare -u {unshare} env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin \\
  {variables} sh -c "hostname $name; {first} $*"
"""


def needTwoHosts(name="c_mpi"):
    """Skips the test without Open MPI and that program, or where namespaces cannot be made."""
    needRoot()
    if mpirun(2) is None or program(name) is None:
        skipTest("there is no MPI")
    if b"Open MPI" not in run(["mpirun", "--version"]).out:
        skipTest("the launch agent is set as Open MPI wants it")
    if shutil.which("ip") is None:
        skipTest("iproute2 is not installed")


class Network:
    """Two namespaces, named after this process so that a second test run is not disturbed."""

    def __init__(self, work):
        self.work = work
        self.spaces = {host: f"{host}-{os.getpid()}" for host in HOSTS}
        self.agent = os.path.join(work, "agent")
        self._bind = {host: "" for host in HOSTS}

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
        self.secondHost()
        return self

    def __exit__(self, *_):
        for space in self.spaces.values():
            run(["ip", "netns", "del", space])

    def secondHost(self, unshare=(), first="", **variables):
        """What is different on the second host from now on: options of unshare, a command that is
        run there before each other, and variables of the environment."""
        with open(self.agent, "w", encoding="utf-8") as file:
            file.write(AGENT.format(
                cases="\n".join(f"  {HOSTS[host]}) space={space}; name={host} ;;"
                                for host, space in self.spaces.items()),
                unshare=" ".join(unshare),
                first=self._bind[list(HOSTS)[1]] + (first and first + ";"),
                variables=" ".join(shlex.quote(f"{name}={value}")
                                   for name, value in variables.items())))
        os.chmod(self.agent, 0o755)

    def shareProcessors(self):
        """From now on, each host has processors of its own, as many as the other one."""
        mine = sorted(os.sched_getaffinity(0))
        half = max(1, len(mine) // 2)
        for host, part in zip(HOSTS, (mine[:half], mine[-half:])):
            self._bind[host] = f"taskset -pc {','.join(map(str, part))} $$ >/dev/null; "
        self.secondHost()

    def mpirun(self, ranks=2):
        """Half of the ranks on each."""
        hosts = ",".join(f"{address}:{ranks // 2}" for address in HOSTS.values())
        return mpirun(ranks, "--mca", "plm_rsh_agent", self.agent,
                      "--mca", "oob_tcp_if_include", SUBNET, "--mca", "btl", "tcp,self",
                      "--mca", "btl_tcp_if_include", SUBNET, "--host", hosts)

    def run(self, command, cwd=None, timeout=PATIENCE_S, **env):
        """Runs on the first host."""
        host, space = next(iter(self.spaces.items()))
        inner = f"{self._bind[host]}hostname {host}; exec {shlex.join([str(word) for word in command])}"
        return run(["ip", "netns", "exec", space, "unshare", "-u", "sh", "-c", inner],
                   cwd=cwd, env=environment(**env), timeout=timeout)
