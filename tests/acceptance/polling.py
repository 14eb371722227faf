"""A rank that asks again and again for a message waits from its first test on. One that computes or
writes in between does not.

Where it had the core for about half of the time, because others had it, both are right: no test of
that is made. What it had is what the rank says of itself (c_polling.c)."""

import json
import os

from omnio_testing import Checks, WorkDirectory, environment, mpirun, omnio, program, run, skipTest
from replay_testing import MPI_ENVIRONMENT

WAYS = {"sleeping": "MPI_Test", "spinning": "MPI_Test", "probing": "MPI_Iprobe",
        "computing": "MPI_Test", "writing": "MPI_Test"}


def judged(name, first, last, inside, used):
    """Whether a rank waited from its first question on; None: that cannot be told. A question may have taken
    long, since others had the core: which part of it counts is the tracer's, so the share is the smallest or
    the largest that it can be."""
    if name == "writing":
        return False
    computed = min(used, last[1] - first[1] - (inside - (first[1] - first[0])))
    if name == "computing":
        return False if computed / (last[1] - first[0]) > 0.6 else None
    return True if computed / (last[0] - first[1]) < 0.4 else None


def main():
    if mpirun(2) is None or program("c_polling") is None:
        skipTest("there is no MPI")
    checks = Checks()
    with WorkDirectory() as work:
        trace = os.path.join(work, "trace")
        done = run([omnio(), "trace", "-o", trace, "--", *mpirun(2), program("c_polling")],
                   cwd=work, env=environment(**MPI_ENVIRONMENT))
        checks.equal(done.status, 0, f"c_polling: {done.err!r}")
        asked = {line.split()[0]: [int(word) for word in line.split()[1:]]
                 for line in done.out.decode().splitlines()}
        checks.equal(list(asked), list(WAYS), "ways of waiting")
        listed = run([omnio(), "log", trace, "--mpi", "--json"])
        checks.equal(listed.status, 0, f"log: {listed.err!r}")
        events = [json.loads(line) for line in listed.out.splitlines()]
        found = [event for event in events if event.get("call") in ("MPI_Test", "MPI_Iprobe")]
        if not checks.equal([event["call"] for event in found], list(WAYS.values()),
                            "calls that found something"):
            checks.finish()
        for event, (name, numbers) in zip(found, asked.items()):
            first_begin, first_end, last_begin, last_end, inside, used = numbers
            waits = judged(name, (first_begin, first_end), (last_begin, last_end), inside, used)
            print(f"{name}: {(last_end - first_begin) / 1e6:.1f} ms, {inside / 1e6:.1f} ms of them inside, "
                  f"{used / 1e6:.1f} ms with a core: "
                  f"{'cannot be told' if waits is None else 'waits' if waits else 'does not wait'}")
            checks.that(last_begin <= event["end_ns"] <= last_end, f"{name}: ends with the last: {event}")
            begins = {"first": first_begin <= event["start_ns"] <= first_end,
                      "last": last_begin <= event["start_ns"] <= last_end}
            wanted = ("first", "last") if waits is None else ("first",) if waits else ("last",)
            checks.that(any(begins[question] for question in wanted),
                        f"{name}: begins with the {' or the '.join(wanted)} of {numbers}: {event}")
    checks.finish()


if __name__ == "__main__":
    main()
