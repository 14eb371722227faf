"""A job on two hosts has a helper on each, which tells of itself by its host's name; none stays, and no file.
"""

import os

from omnio_testing import Checks, WorkDirectory, emptied, omnio, program, stats, until
from prefetch_testing import leavesNothing, needOwnMemory
from two_namespaces import HOSTS, Network, needTwoHosts


def documents(directory):
    return sorted(name for name in os.listdir(directory) if name.startswith("prefetch-"))


def main():
    needTwoHosts()
    needOwnMemory()
    checks = Checks()
    with WorkDirectory() as work, Network(work) as network:
        app = [program("c_mpi"), emptied(os.path.join(work, "run"))]
        to = os.path.join(work, "kept")
        for options in (["-o", to], []):
            with checks.case(f"options {options}"):
                result = network.run([omnio(), "prefetch", "-q", *options, "--", *network.mpirun(), *app],
                                     cwd=emptied(os.path.join(work, "here")))
                checks.equal((result.status, result.err), (0, b""), f"{options}: status, standard error")
                leavesNothing(checks, f"{options}", os.path.join(work, "here"))
        # That of the second host is written when its helper sees that the job is over.
        wanted = sorted(f"prefetch-{host}.json" for host in HOSTS)
        until(lambda: len(documents(to)) >= len(wanted), "each helper has told of itself")
        checks.equal(documents(to), wanted, "who has told of itself")
        state = stats(to)["trace"]
        checks.equal((state["whole"], state["ranks_reporting"]), (True, 2), f"the trace: {state}")
    checks.finish()


if __name__ == "__main__":
    main()
