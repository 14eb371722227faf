"""Comparing schedules that were scaled with those of programs that ran so: operation for operation, with all
arguments, names, descriptors and files. Times are left out, and an `id` is the event that has it."""

import json

from schedule_expander import expanded

# These say when and where it ran.
OF_THE_RUN = ("start", "end", "compute", "communication", "pid", "tid", "recorder", "host", "computing")


def load(path):
    """A schedule of either form, with each operation written out."""
    return expanded(path)


def orderOf(schedule):
    """For each operation how many of each thread come before it, by what it and others wait for. Delays count for
    the order alone: which calls have one is a matter of chance."""
    threads = {(rank["rank"], thread["thread"]): thread["events"]
               for rank in schedule["ranks"] for thread in rank["threads"]}
    of_id = {event["id"]: (place, number) for place, events in threads.items()
             for number, event in enumerate(events) if "id" in event}
    known = {place: [] for place in threads}
    order = {place: [] for place in threads}
    left = sum(map(len, threads.values()))
    while left:
        before = left
        for place, events in threads.items():
            while len(known[place]) < len(events):
                event = events[len(known[place])]
                waits = [of_id[number] for number in map(waitedFor, event.get("after", [])) if number != 0]
                if any(len(known[other]) <= number for other, number in waits):
                    break
                clock = dict(known[place][-1]) if known[place] else {}
                for other, number in waits:
                    for thread, count in known[other][number].items():
                        clock[thread] = max(clock.get(thread, 0), count)
                if event["command"] != "delay":
                    order[place].append(dict(clock))
                    clock[place] = len(order[place])
                known[place].append(clock)
                left -= 1
        if left == before:
            raise ValueError("events wait for each other in a circle")
    return order


def waitedFor(wait):
    return wait["id"] if isinstance(wait, dict) else wait


def operations(schedule, with_waits=True):
    """By rank and thread the operations, without times."""
    order = orderOf(schedule) if with_waits else None
    found = {}
    for rank in schedule["ranks"]:
        for thread in rank["threads"]:
            place = rank["rank"], thread["thread"]
            events = found[place] = []
            for event in thread["events"]:
                if event["command"] == "delay":
                    continue
                kept = {key: value for key, value in event.items()
                        if key not in (*OF_THE_RUN, "id", "after")}
                if order:
                    kept["comes after"] = sorted(order[place][len(events)].items())
                events.append(kept)
    return found


def checkSame(checks, got, wanted, what, with_waits=True, ignored=()):
    """Returns how many operations were compared. `ignored`: members of events that are not."""
    def files(schedule):
        named = {event.get(key) for rank in schedule["ranks"] for thread in rank["threads"]
                 for event in thread["events"] for key in ("location", "newlocation", "target")}
        return sorted(json.dumps(file, sort_keys=True) for file in schedule["files"]
                      if file["exists"] or file["location"] in named)

    ours, theirs = files(got), files(wanted)
    checks.that(ours == theirs, f"{what}: files: only in one of both: "
                f"{sorted(set(ours) ^ set(theirs))[:4]}, {len(ours)} and {len(theirs)}")
    mine, other = operations(got, with_waits), operations(wanted, with_waits)
    checks.equal(sorted(mine), sorted(other), f"{what}: ranks and threads")
    count, differences = 0, []
    for place in sorted(set(mine) & set(other)):
        if len(mine[place]) != len(other[place]):
            differences.append((place, f"{len(mine[place])} operations, not {len(other[place])}"))
        for number, (one, two) in enumerate(zip(mine[place], other[place])):
            count += 1
            one, two = ({key: value for key, value in event.items() if key not in ignored}
                        for event in (one, two))
            if one != two:
                differences.append((place, number, one, two))
    checks.that(not differences, f"{what}: {len(differences)} differences, the first: {differences[:2]}")
    return count


# What each rank but the first works in the mode "late" of c_ranks before it makes a call on a file.
LATE_NS = 100_000_000


def checkLate(checks, schedule, what):
    """The first rank waits for work of others that no call of theirs comes before: from the beginning of the run.
    Returns how long."""
    # It has opened the file and written its header before the others come.
    waits = [wait for rank in schedule["ranks"][:1] for thread in rank["threads"]
             for wait in thread["events"][2].get("after", []) if waitedFor(wait) == 0]
    print(f"{what}: {waits}")
    checks.equal([wait["why"] for wait in waits], ["mpi"], f"{what}: waits for the beginning: {waits}")
    checks.that(all(wait["compute"] >= LATE_NS for wait in waits), f"{what}: {waits}")
    return max((wait["compute"] for wait in waits), default=0)
