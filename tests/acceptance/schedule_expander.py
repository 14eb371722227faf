"""A schedule in its compact form, written out: each operation of each thread with its own numbers, names
and times. Made from docs/formats/schedule.md and schedule_times.md alone, so that it finds where omnio
and these documents differ. It is slow, and takes only schedules that are right.

  schedule_expander.py SCHEDULE      prints the flat form
"""

import json
import os
import re
import struct
import subprocess
import sys

MAGIC = b"omnitim1"
NAMES = ("location", "newlocation", "target")
# Members whose texts are words or bytes of the application: braces in them are braces.
WORDS = ("command", "flags", "mode", "type", "attribute", "hints", "whence", "cmd", "lock", "errno",
         "why", "comment", "amode", "role")
# Marks waits of a line without times that have none in the file either.
AS_WRITTEN = "as written"
TERM = re.compile(r"([+-]?)([^+-]+)")
PART = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[^{}]+|.", re.DOTALL)


class TimesFile:
    """The streams of a file of times."""

    def __init__(self, path, digest):
        with open(path, "rb") as file:
            data = file.read()
        begin, checksum = struct.unpack("<QQ", data[-24:-8])
        if (data[:8], data[-8:], f"{checksum:016x}") != (MAGIC, MAGIC, digest):
            raise ValueError(f"{path}: not the times of this schedule")
        index, self.streams, chunks = data[begin:-24], [], []
        at = 0
        while at < len(index):
            pid, tid, recorder, computing, host_bytes, count = struct.unpack_from("<IIqdII", index, at)
            at += 32
            host = index[at:at + host_bytes]
            at += host_bytes
            stream = {"pid": pid, "tid": tid, "recorder": recorder, "computing": computing,
                      "host": host, "values": []}
            for _ in range(count):
                place, size, values, _ = struct.unpack_from("<QIIQ", index, at)
                at += 24
                if values > 32768:
                    raise ValueError(f"{path}: a chunk of {values} values")
                chunks.append((data[place:place + size], values, stream))
            self.streams.append(stream)
        unpack(chunks)


def unpack(chunks):
    """All chunks by one process: frames that follow each other are one input to zstd."""
    if not chunks:
        return
    planes = subprocess.run(["zstd", "-dcq"], input=b"".join(packed for packed, _, _ in chunks),
                            stdout=subprocess.PIPE, check=True).stdout
    at = 0
    for _, count, stream in chunks:
        lengths = planes[at:at + count]
        at += count
        numbers = [0] * count
        for byte in range(8):
            for value, length in enumerate(lengths):
                if length > byte:
                    numbers[value] |= planes[at] << 8 * byte
                    at += 1
        stream["values"] += [-(number + 1) // 2 if number & 1 else number // 2 for number in numbers]
    if at != len(planes):
        raise ValueError(f"{len(planes) - at} bytes of times are too many")


def valueOf(expression, names):
    """4096*turn+a-7"""
    total, read = 0, 0
    for sign, product in TERM.findall(expression):
        read += len(sign) + len(product)
        value = -1 if sign == "-" else 1
        for factor in product.split("*"):
            value *= int(factor) if factor.isdigit() else names[factor]
        total += value
    if read != len(expression) or not expression:
        raise ValueError(f"not a sum: {expression}")
    return total


def nameOf(text, names):
    """out.{rank:05}.{{x}}"""
    result = ""
    for found in PART.finditer(text):
        part, inside = found.group(0), found.group(1)
        if part in ("{{", "}}"):
            result += part[0]
        elif inside is not None:
            expression, _, width = inside.partition(":")
            number = valueOf(expression, names)
            if number < 0:
                raise ValueError(f"{text}: a negative number in a name")
            result += f"{number:0{int(width or 1)}}"
        elif part in "{}":
            raise ValueError(f"{text}: a brace alone")
        else:
            result += part
    return result


def inTurn(value, names, key=None, is_file=False):
    """A value as it is where the names have these values; `names` is None outside of loops and programs
    of several ranks, where nothing changes."""
    if names is None or key == "comment":
        return value
    if isinstance(value, dict):
        if isinstance(value.get("step"), dict):
            value = dict(value)
            for member, by in value.pop("step").items():
                value[member] += by * names["turn"]
        return {member: inTurn(item, names, member, is_file) for member, item in value.items()}
    if isinstance(value, list):
        return [inTurn(item, names, key, is_file) for item in value]
    if not isinstance(value, str) or key in WORDS:
        return value
    if key in NAMES or (is_file and key == "source"):
        return nameOf(value, names)
    if value.startswith("{") and value.endswith("}"):
        return valueOf(value[1:-1], names)
    return value


def inLoop(loop, turn, names):
    """The names in a turn of the loop: turns of the loops around it have a number that is one more."""
    result = {}
    for name, value in (names or {}).items():
        found = re.fullmatch(r"turn(\d*)", name)
        result[f"turn{int(found.group(1) or 1) + 1}" if found else name] = value
    result["turn"] = turn
    result.update((name, values[turn]) for name, values in loop.get("values", {}).items())
    return result


def items(item, names, loops=()):
    """Each event that an item stands for: itself, its names, and the loops around it that begin with it,
    the outermost first."""
    if "repeat" not in item:
        yield item, names, loops
        return
    for turn in range(item["repeat"]):
        inside = inLoop(item, turn, names)
        for place, part in enumerate(item["body"]):
            begun = loops if place == 0 and turn == 0 else ()
            if place == 0 and turn == 0:
                begun = (*loops, item)
            yield from items(part, inside, begun)


def hasTimes(wait):
    """Whether the file has times of an item of `after`."""
    return isinstance(wait, dict) and "compute" in wait and AS_WRITTEN not in wait


def timesOf(event):
    """How many times of an event there are in the file."""
    waits = [wait for wait in event.get("after", []) if hasTimes(wait)]
    return 5 + sum(2 * wait.get("repeat", 1) for wait in waits) if "gap" in event else 0


def withPlaces(event):
    """A line without times of its own, with each member that there is an exact time for."""
    event = {"gap": None, "duration": None, **event, "after": [
        wait if not isinstance(wait, dict) else
        {**wait, "compute": None} if wait["why"] in ("mpi", "thread") else {**wait, AS_WRITTEN: True}
        for wait in event.get("after", [])]}
    if not event["after"]:
        del event["after"]
    return event


class Thread:
    """Gives the events of a thread their times."""

    def __init__(self, values, counts):
        """`counts`: how many events each line with a `share` has stood for, in all ranks of the program."""
        self.values, self.counts, self.end = values, counts, 0

    def events(self, item, names):
        """The events that an item of the thread stands for, in the flat form."""
        place, exact = item.get("times"), None
        if place and self.values is not None:
            first, count = place
            if not {"gap", "start", "repeat"} & set(item):
                item = withPlaces(item)
            needed = sum(timesOf(event) for event, _, _ in items(item, names))
            if needed == count and first + count <= len(self.values):
                exact = iter(self.values[first:first + count])
        for line, of_turn, begun in items(item, names):
            event = {key: value for key, value in inTurn(line, of_turn).items()
                     if key not in ("times", "comment")}
            share = event.pop("share", None)
            if share and not exact and not self.hasShare(id(line), *share):
                del event["compute"]
                event.pop("communication", None)
            yield self.timed(event, begun, exact)

    def hasShare(self, line, with_work, events):
        number = self.counts.get(line, 0)
        self.counts[line] = number + 1
        before = [(2 * count * with_work + events) // (2 * events) for count in (number, number + 1)]
        return before[1] > before[0]

    def timed(self, event, begun, exact):
        if "gap" in event:
            gap, duration = event.pop("gap"), event.pop("duration")
            if exact:
                gap, duration = next(exact), next(exact)
                has_work, *work = next(exact), next(exact), next(exact)
                event.pop("compute", None)
                event.pop("communication", None)
                event.update(zip(("compute", "communication"), work) if has_work else ())
            else:
                gap = next((loop["gap"] for loop in begun if "gap" in loop), gap)
            if event["command"] == "preopened" and gap == duration == 0:
                event = {"start": 0, "end": 0, **event}
            else:
                start = max(0, self.end + gap)
                event = {"start": start, "end": start + duration, **event}
                self.end = event["end"]
        else:
            self.end, exact = event["end"], None
        if "after" in event:
            event["after"] = [one for wait in event["after"] for one in singleWaits(wait, exact)]
        return event


def singleWaits(wait, exact):
    """The waits that an item of `after` stands for."""
    if not isinstance(wait, dict):
        return [wait]
    wait = dict(wait)
    has_times = exact and hasTimes(wait)
    wait.pop(AS_WRITTEN, None)
    count, step = wait.pop("repeat", 1), wait.pop("step", 0)
    waits = [{**wait, "id": wait["id"] + step * number} for number in range(count)]
    if has_times:
        for key in ("compute", "communication"):
            for one in waits:
                one[key] = next(exact)
    return waits


def threadsOf(program, rank, is_shared, times, counts):
    """The threads of a rank, each with its events. `counts`: of the program (Thread)."""
    names = {"rank": rank} if is_shared else None
    for thread in program["threads"]:
        head = {key: value for key, value in thread.items()
                if key not in ("events", "times", "comment")}
        values = None
        if times is not None and "times" in thread:
            number = inTurn(thread["times"], names)
            if 0 <= number < len(times.streams):
                stream = times.streams[number]
                values = stream["values"]
                if is_shared:
                    head.update(pid=stream["pid"], tid=stream["tid"], recorder=stream["recorder"],
                                host=stream["host"].decode())
                    head.pop("computing", None)
                    if stream["computing"] >= 0:
                        head["computing"] = stream["computing"]
        of_thread = Thread(values, counts)
        yield {**head, "events": [event for item in thread["events"]
                                  for event in of_thread.events(item, names)]}


def ranksOf(program):
    """The ranks that a program is that of, and whether they are written once."""
    if "rank" in program:
        return range(program["rank"], program["rank"] + 1), False
    first, _, last = program["ranks"].partition("-")
    return range(int(first), int(last or first) + 1), True


def expanded(path):
    """The schedule of that file, in the flat form."""
    with open(path, encoding="utf-8") as text:
        document = json.load(text)
    beside = document["global"].pop("times", None)
    times = beside and TimesFile(os.path.join(os.path.dirname(path), beside["file"]), beside["digest"])
    document["files"] = [inTurn(file, names, is_file=True) for item in document["files"]
                         for file, names, _ in items(item, None)]
    ranks = []
    for program in document["ranks"]:
        numbers, is_shared = ranksOf(program)
        counts = {}
        for rank in numbers:
            if rank != len(ranks):
                raise ValueError(f"rank {rank} after {len(ranks)} ranks")
            ranks.append({"rank": rank, "threads": list(threadsOf(program, rank, is_shared, times, counts))})
    document["ranks"] = ranks
    return document


if __name__ == "__main__":
    json.dump(expanded(sys.argv[1]), sys.stdout)
