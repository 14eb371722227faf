"""A gather orders its root behind all others, and no other rank behind one that it did not wait for: what
a schedule says of a real program, against what the program does.

  rooted_order.py
"""

import os

from omnio_testing import Checks, WorkDirectory, emptied, environment, mpirun, omnio, program, run, \
    skipTest
from replay_testing import MPI_ENVIRONMENT
from schedule_expander import expanded

RANKS, TURNS = 8, 60
ROOT = RANKS - 1


def eventsOf(checks, work):
    """The events of each rank, as the schedule has them."""
    trace, schedule = os.path.join(work, "trace"), os.path.join(work, "schedule.json")
    directory = emptied(os.path.join(work, "run"))
    traced = run([omnio(), "trace", "-o", trace, "--", *mpirun(RANKS), program("c_mpi_rooted"), directory,
                  str(TURNS)], cwd=directory, env=environment(**MPI_ENVIRONMENT))
    checks.equal(traced.status, 0, f"the program: {traced.err!r}")
    made = run([omnio(), "preprocess", trace, "-o", schedule])
    checks.equal(made.status, 0, f"preprocess: {made.err!r}")
    ranks = expanded(schedule)["ranks"]
    checks.equal([len(rank["threads"]) for rank in ranks], [1] * RANKS, "a thread a rank")
    return [rank["threads"][0]["events"] for rank in ranks]


def comesBefore(events, rank, place):
    """By rank, how many of its events have to be over before that event begins."""
    place_of = {event["id"]: (owner, at) for owner, own in enumerate(events)
                for at, event in enumerate(own) if "id" in event}
    reached = [0] * len(events)
    following = [(rank, place)]
    while following:
        owner, last = following.pop()
        while reached[owner] <= last:
            for wait in events[owner][reached[owner]].get("after", ()):
                number = wait["id"] if isinstance(wait, dict) else wait
                if number in place_of:
                    following.append(place_of[number])
            reached[owner] += 1
    return reached


def main():
    if mpirun(RANKS) is None or program("c_mpi_rooted") is None:
        skipTest("there is no MPI")
    checks = Checks()
    with WorkDirectory() as work:
        events = eventsOf(checks, work)
        writes = [[at for at, event in enumerate(own) if event.get("command", "").startswith("pwrite")]
                  for own in events]
        checks.equal([len(own) for own in writes], [TURNS + 1] * RANKS, "writes of each rank")
        for turn in range(TURNS):
            for rank in range(RANKS):
                reached = comesBefore(events, rank, writes[rank][turn + 1])
                for other in range(RANKS):
                    if other == rank:
                        continue
                    waits = reached[other] > writes[other][turn]
                    if rank == ROOT:
                        checks.that(waits, f"turn {turn}: the root does not wait for rank {other}")
                    elif other != ROOT:
                        checks.that(not waits, f"turn {turn}: rank {rank} waits for rank {other}")
    checks.finish()


if __name__ == "__main__":
    main()
