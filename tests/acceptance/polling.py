"""A rank that asks again and again for a message waits from its first test on. One that computes or
writes in between does not."""

import json
import os

from omnio_testing import Checks, WorkDirectory, environment, mpirun, omnio, program, run, skipTest
from replay_testing import MPI_ENVIRONMENT

SENT_AFTER_S = 0.2
WAITS = (("sleeping", "MPI_Test"), ("spinning", "MPI_Test"), ("probing", "MPI_Iprobe"))


def main():
    if mpirun(2) is None or program("c_polling") is None:
        skipTest("there is no MPI")
    checks = Checks()
    with WorkDirectory() as work:
        trace = os.path.join(work, "trace")
        done = run([omnio(), "trace", "-o", trace, "--", *mpirun(2), program("c_polling")],
                   cwd=work, env=environment(**MPI_ENVIRONMENT))
        checks.equal(done.status, 0, f"c_polling: {done.err!r}")
        busy = dict(line.split() for line in done.out.decode().splitlines())
        listed = run([omnio(), "log", trace, "--mpi", "--json"])
        checks.equal(listed.status, 0, f"log: {listed.err!r}")
        events = [json.loads(line) for line in listed.out.splitlines()]
        found = [(event["call"], (event["end_ns"] - event["start_ns"]) / 1e9) for event in events
                 if event.get("call") in ("MPI_Test", "MPI_Iprobe")]
        checks.equal([call for call, _ in found],
                     [call for _, call in WAITS] + ["MPI_Test", "MPI_Test"], "calls that found something")
        for (name, _), (call, seconds) in zip(WAITS, found):
            checks.that(seconds > SENT_AFTER_S / 2, f"{name}: {call} lasts {seconds} s")
        # Where other programs had the core for a third of the time or longer, the rank looks as if
        # it had slept.
        if len(found) == len(WAITS) + 2 and float(busy["computing"]) > 2 / 3:
            seconds = found[-2][1]
            checks.that(seconds < SENT_AFTER_S / 2, f"computing: MPI_Test lasts {seconds} s")
        seconds = found[-1][1]
        checks.that(seconds < SENT_AFTER_S / 2, f"writing: MPI_Test lasts {seconds} s")
    checks.finish()


if __name__ == "__main__":
    main()
