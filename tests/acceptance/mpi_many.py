"""One wait for more requests than a record holds: all of them are in the trace, and each message is
matched. Also where the library has one request for all sends that are complete at once, as Open MPI
has over UCX.
"""

import json
import os
import sys

from omnio_testing import (Checks, WorkDirectory, emptied, mpirun, omnio, program, readLog, run,
                           skipTest)

REQUESTS = 6000  # of each kind, in each of two ranks
WAYS = {"by default": (),
        "over UCX": ("--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca",
                     "pml_ucx_devices", "any", "--mca", "osc", "^ucx", "-x", "UCX_TLS=tcp,self")}


def compare(checks, way, words, to):
    result = run([omnio(), "trace", "-o", to, "--", *words])
    checks.equal(result.status, 0, f"{way}: status ({result.err.decode()})")
    listed = run([omnio(), "log", "--mpi", "--json", to])
    checks.equal(listed.status, 0, f"{way}: log --mpi ({listed.err.decode()})")
    events = [json.loads(line) for line in listed.out.splitlines()]
    for rank in (0, 1):
        name = f"{way}, rank {rank}"
        more = [event for event in readLog(to) if event["call"] == "(completed)"
                and event["rank"] == rank]
        checks.that(more, f"{name}: {2 * REQUESTS} requests were in one record")
        own = [event for event in events if event.get("rank") == rank]
        waits = [event for event in own if event["call"] == "MPI_Waitall"]
        checks.equal(len(waits), 1, f"{name}: waits")
        done = [request for event in waits for request in event["requests"]]
        received = [request for request in done if request["kind"] == "receive"]
        checks.that(sorted(request["tag"] for request in received) == list(range(REQUESTS)),
                    f"{name}: tags of the {len(received)} that were received")
        checks.that(all(request["match"] == "matched" for request in done),
                    f"{name}: all are matched")
        begun = [event["args"]["request"] for event in own
                 if event["call"] in ("MPI_Irecv", "MPI_Isend")]
        checks.equal(len(begun), 2 * REQUESTS, f"{name}: requests begun")
        # An operation that was complete at once has the number 0.
        checks.that(sorted(request["request"] for request in done) ==
                    sorted(number for number in begun if number != 0),
                    f"{name}: the {len(done)} requests that were found complete")
        checks.that(0 in begun, f"{name}: no send was complete at once: nothing is shown of those")
        print(f"{name}: {len(done)} requests in {1 + len(more)} records, "
              f"{begun.count(0)} more complete at once")


def main():
    if mpirun(2) is None or program("c_mpi_many") is None:
        skipTest("there is no MPI")
    checks = Checks()
    with WorkDirectory() as work:
        for way, options in WAYS.items():
            words = [*mpirun(2, *options), program("c_mpi_many"), str(REQUESTS)]
            if options and run(words).status != 0:
                checks.skip(way, "MPI does not run that way here")
                continue
            compare(checks, way, words, emptied(os.path.join(work, "trace")))
    checks.finish()


if __name__ == "__main__":
    sys.exit(main())
