"""Flat schedules made at random: several ranks and threads, loops in loops with numbers that advance by
turn, by rank, or at random, odd names, waits between threads, and times that no rule gives. Ranks of a
group do the same with their own numbers, but for some that differ in one event.
"""

import random

# Digits, leading zeros, braces, escapes and names that look like expressions.
STEMS = ("out", "a{b", "x}", "{turn}", "{{", "007.", "d0/e", "n\\x1Bq", "\u00e9\"", "9999999999999999999.",
         "r-", "{", "}", "1{2}3", "p.00.", "\\x5Cu00")
KINDS = ("pwrite64", "pread64", "write", "read", "lseek64", "readv", "stat", "mkdir", "setxattr",
         "fopen64", "ftruncate64")
REASONS = ("file", "mpi", "name", "thread")


class Numbers:
    """A number of an event: a base, a step for each loop around it and for the rank; or at random."""

    def __init__(self, rng, loops, least, most_step):
        self.base = least + rng.choice((0, 1, 9, 100, 4096, rng.randrange(10**rng.randrange(1, 13))))
        self.steps = [rng.choice((0, 0, 1, 1, 10, 4096, rng.randrange(most_step))) for _ in range(loops)]
        self.rank = rng.choice((0, 0, 1, 7, rng.randrange(most_step)))
        self.noise = rng.random() < 0.15 and rng.choice((3, 10**6))

    def at(self, rng, turns, rank):
        result = self.base + self.rank * rank + sum(step * turn for step, turn in zip(self.steps, turns))
        return result + (rng.randrange(self.noise) if self.noise else 0)


class Operation:
    """One line of a program."""

    def __init__(self, rng, loops):
        self.kind = rng.choice(KINDS)
        self.numbers = [Numbers(rng, loops, 0, 10**rng.randrange(1, 9)) for _ in range(4)]
        self.stem, self.width = rng.choice(STEMS), rng.choice((1, 1, 1, 3, 5))
        self.between = rng.choice((".", "", "/", "{", "}}", "0"))
        self.has_work, self.has_id = rng.random() < 0.2, rng.random() < 0.2
        self.waits = [] if rng.random() < 0.8 else [rng.choice(REASONS) for _ in range(rng.randrange(1, 3))]
        self.run, self.apart = rng.choice((0, 0, 2, 4, 5, 30)), rng.randrange(1, 9)
        self.fails = rng.random() < 0.1
        self.text = rng.choice(("user.a", "{turn}", "{", "user.{rank}1"))
        self.has_offset = rng.random() < 0.5


class Loop:
    def __init__(self, rng, depth, loops=0):
        self.turns = rng.choice((1, 2, 3, 4, 5, 8, 20)) if depth < 3 else rng.choice((2, 3))
        self.body = programOf(rng, depth, loops + 1)


def programOf(rng, depth, loops):
    return [Loop(rng, depth - 1, loops) if depth > 0 and rng.random() < 0.45 else Operation(rng, loops)
            for _ in range(rng.randrange(1, 4))]


class Maker:
    """Writes down the events of one schedule."""

    def __init__(self, rng):
        self.rng, self.files, self.next_id, self.ids, self.left = rng, {}, 1, [], 1500
        self.odd_rank = None

    def file(self, location, role="output"):
        self.files.setdefault(location, {
            "location": location, "role": role, "exists": False, "size": 0, "read_before_written": 0,
            "source": "/app/" + location})
        return location

    def place(self, operation, turns, rank):
        rng = self.rng
        first, second = (number.at(rng, turns, rank) for number in operation.numbers[2:])
        return self.file(f"{operation.stem}{first % 10**6:0{operation.width}}{operation.between}"
                         f"{second % 1000}".replace("//", "/"))

    def event(self, operation, turns, rank):
        """The call and its arguments."""
        rng, kind = self.rng, operation.kind
        first, second = (number.at(rng, turns, rank) for number in operation.numbers[:2])
        if kind in ("mkdir", "stat", "setxattr"):
            event = {"command": kind, "location": self.place(operation, turns, rank)}
            if kind == "mkdir":
                event.update(mode="0755")
            if kind == "setxattr":
                event.update(attribute=operation.text, size=first % 1000, flags=0)
            if kind == "stat" and rng.random() < 0.1:
                event["lookups"] = first % 8
            event.update({"errno": "ENOENT"} if operation.fails else {"result": 0})
            return event
        if kind == "fopen64":
            return {"command": kind, "location": self.place(operation, turns, rank), "type": "{r}",
                    "errno": "EINVAL"}
        fd = self.fd
        if kind == "lseek64":
            return {"command": kind, "fd": fd, "offset": first, "whence": "SEEK_SET", "result": first}
        if kind == "ftruncate64":
            return {"command": kind, "fd": fd, "length": first, "result": 0}
        if kind == "readv":
            return {"command": kind, "fd": fd, "iov": [first % 4096, second % 4096],
                    "result": first % 4096 + second % 4096}
        count = first % 2**40
        event = {"command": kind, "fd": fd, "count": count}
        if kind.startswith("p") or operation.has_offset:
            event["offset"] = second
        event.update({"errno": "EIO"} if operation.fails else {"result": count})
        return event

    def add(self, events, event, operation=None):
        rng = self.rng
        start = max(0, self.clock + rng.choice((0, 1, 1000, rng.randrange(10**6), -rng.randrange(50))))
        end = start + rng.choice((0, 900, rng.randrange(10**7)))
        self.clock = end
        event = {"start": start, "end": end, **event}
        if operation and operation.has_id:
            event["id"] = self.next_id
            self.next_id += 1
        if operation and operation.has_work:
            event.update(self.work())
        if operation and operation.waits and self.ids:
            event["after"] = []
            for why in operation.waits:
                wait = rng.choice(self.ids[-40:])
                if operation.run and len(self.ids) > 9 * operation.run:
                    for at in range(operation.run):
                        one = {"id": self.ids[-9 * operation.run:][at * operation.apart], "why": why}
                        event["after"].append({**one, **self.work()} if why in ("mpi", "thread") else one)
                plain = {"id": wait, "why": why}
                if why in ("mpi", "thread") and rng.random() < 0.9:
                    plain.update(self.work())
                event["after"].append(wait if why == "file" else plain)
        if "id" in event:
            self.ids.append(event["id"])
        events.append(event)
        self.left -= 1

    def work(self):
        work = {"compute": self.rng.randrange(10**5)}
        if self.rng.random() < 0.5:
            work["communication"] = 1 + self.rng.randrange(10**4)
        return work

    def run(self, program, turns, rank, events):
        for part in program:
            if self.left <= 0:
                return
            if isinstance(part, Operation):
                if rank == self.odd_rank and self.rng.random() < 0.05:
                    continue
                self.add(events, self.event(part, turns, rank), part)
                continue
            for turn in range(part.turns):
                self.run(part.body, [*turns, turn], rank, events)

    def thread(self, number, rank, program):
        events, self.clock = [], self.rng.randrange(10**6)
        # Each thread has its own descriptors.
        self.fd = 1000 * number
        if self.rng.random() < 0.3:
            events.append({"start": 0, "end": 0, "command": "preopened",
                           "location": self.file(f"log.{rank}"), "flags": "O_RDWR", "offset": 0,
                           "result": self.fd + 999})
        turns = self.turns
        for turn in range(turns):
            self.fd = 1000 * number + turn
            self.add(events, {"command": "open64",
                              "location": self.file(f"{self.name}.{rank:0{self.width}}.{turn}"),
                              "flags": "O_RDWR|O_CREAT", "mode": "0644", "result": self.fd})
            self.run(program, [], rank, events)
            self.add(events, {"command": "close", "fd": self.fd, "result": 0})
        thread = {"thread": number, "pid": 100 + rank, "tid": 200 + 10 * rank + number,
                  "recorder": 18 + rank % 3, "host": f"node{rank // 4}"}
        if self.has_computing:
            thread["computing"] = round(self.rng.random(), 2)
        return {**thread, "events": events}


def generated(seed):
    """A schedule document."""
    rng = random.Random(seed)
    maker, ranks = Maker(rng), []
    while len(ranks) < 1 or (len(ranks) < 7 and rng.random() < 0.3):
        programs = [programOf(rng, rng.randrange(4), 0) for _ in range(rng.choice((0, 1, 1, 1, 2)))]
        maker.name, maker.width = rng.choice(STEMS), rng.choice((1, 1, 5))
        maker.turns, maker.has_computing = rng.choice((1, 1, 2, 7)), rng.random() < 0.5
        members = rng.choice((1, 1, 2, 3, 5))
        maker.odd_rank = len(ranks) + rng.randrange(members) if rng.random() < 0.3 else None
        for _ in range(members):
            rank, maker.left = len(ranks), 1500 // members
            ranks.append({"rank": rank, "threads": [maker.thread(number, rank, program)
                                                    for number, program in enumerate(programs)]})
    files = list(maker.files.values())
    rng.shuffle(files)
    return {"format": "omnio-schedule", "version": 1,
            "global": {"time_replay": "dt", "write_overwrite": False, "size_scale": 1.0,
                       "time_scale": 1.0, "ranks": len(ranks),
                       "source": {"trace": "t", "whole": True, "events_missing": 0,
                                  "command": ["./app", "{turn}"], "left_out": []}},
            "files": files, "ranks": ranks}
