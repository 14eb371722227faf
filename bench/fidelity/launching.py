"""Where the ranks of the campaign run: on this machine, or on two hosts made of network namespaces."""

from omnio_testing import environment, mpirun, run


class OneHost:
    def mpirun(self, ranks, *options):
        """The words that start an MPI program; None without an MPI launcher."""
        return mpirun(ranks, *options)

    def run(self, command, **more):
        return run(command, **more)

    def replayWords(self, ranks):
        """Options of `omnio replay`."""
        del ranks
        return []


class TwoHosts:
    """Half of the ranks and of the processors on each host of `network` (two_namespaces.Network)."""

    def __init__(self, network):
        self._network = network
        network.shareProcessors()

    def mpirun(self, ranks, *options):
        return [*self._network.mpirun(ranks), *options]

    def run(self, command, cwd, env, timeout):
        return self._network.run(command, cwd=cwd, timeout=timeout,
                                 **{name: value for name, value in env.items()
                                    if environment().get(name) != value})

    def replayWords(self, ranks):
        return ["--launcher", " ".join(self.mpirun(ranks))]
