"""Schedules changed at random: structure-aware edits (numbers, descriptors, locations, flags, calls,
order, edges, times, threads, ranks, files) and edits of bytes. The same Random makes the same mutant
of the same schedule.

A replay of a mutant never has to think for long, unless it is told `--timing asap`: horizonNs()
says up to when its times reach, and delays, which asap keeps, stay short.
"""

import copy
import json
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
CALLS = os.path.join(HERE, "..", "..", "core", "calls")
LONGEST_DELAY_NS = 50_000_000

# None between 4 GiB and 1 TiB: what a machine has the memory for takes its time, and is not a hang.
NUMBERS = (0, 1, -1, 2, 7, 4095, 4096, 4097, 65536, 1 << 20, 1 << 26, (1 << 31) - 1, 1 << 31,
           (1 << 32) - 1, 1 << 32, 1 << 40, 1 << 46, (1 << 46) + 1, 1 << 56, 1 << 60,
           1 << 62, (1 << 63) - 4096, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 1 << 64, -2,
           -4096, -(1 << 31), -(1 << 63))
LOCATIONS = ("..", ".", "", "/", "/etc/passwd", "../canary", "../../canary", "a/../../canary",
             "./a", "a//b", "a/", "a/.", "/tmp/outside", "/dev/shm/outside", "x" * 255, "x" * 256,
             "d/" * 1700 + "f", "d/" * 5000, "n" * 16000, "new\nline", "nul\0nul", "\u00fc", "*",
             "@root/tmp/x", "canary", "folder/other", "link", "link/x", "tree", ".omnio-replay",
             "a" * 200 + "/" + "b" * 200, "-rf")
OPEN_FLAGS = ("O_RDONLY", "O_WRONLY", "O_RDWR", "O_CREAT", "O_EXCL", "O_TRUNC", "O_APPEND",
              "O_NONBLOCK", "O_DSYNC", "O_ASYNC", "O_DIRECT", "O_LARGEFILE", "O_DIRECTORY",
              "O_NOFOLLOW", "O_NOATIME", "O_CLOEXEC", "O_SYNC", "O_PATH", "O_TMPFILE", "O_NOCTTY")
STREAM_MODES = ("r", "w", "a", "r+", "w+", "a+", "rb", "wx", "rm", "r+m", "re", "we", "ac", "wcx",
                "r,ccs=UTF-8", "w+,ccs=UTF-8", "b", "+", "x", "", "q", "r" * 64, "w" * 65)
WHENCES = ("SEEK_SET", "SEEK_CUR", "SEEK_END", "SEEK_DATA", "SEEK_HOLE")
COMMANDS = ("F_DUPFD", "F_GETFD", "F_SETFD", "F_GETFL", "F_SETFL", "F_GETLK", "F_SETLK", "F_SETLKW",
            "F_DUPFD_CLOEXEC", "F_OFD_SETLKW", "F_OFD_GETLK", "F_SETOWN", "F_SETLEASE", "F_NOTIFY",
            "F_SETPIPE_SZ", "F_ADD_SEALS")
ERRORS = ("ENOENT", "EEXIST", "EBADF", "EINVAL", "ENOSPC", "EIO", "EOF", "EAGAIN", "ENOTEMPTY")
ROLES = ("input", "updated", "output", "directory", "absent")
STEPS = ("preopened", "inherited", "delay")

# How a role of the table of calls is named in a schedule (core/model/schedule_keys.cpp).
KEYS = {"Fd": "fd", "Stream": "fd", "FdSource": "source", "FdNew": "newfd", "Path": "location",
        "PathTemplate": "location", "PathNew": "newlocation", "LinkText": "target",
        "Flags": "flags", "Mode": "mode", "Size": "count", "TextOut": "count", "ItemSize": "size",
        "ItemCount": "nmemb", "Offset": "offset", "Length": "length", "Whence": "whence",
        "Iov": "iov", "OpenMode": "type", "Char": "char", "Command": "cmd", "LockType": "lock", "Number": "value",
        "Request": "request", "Mapping": "mapping", "RangeOffset": "range_offset", "Context": "context", "Left": "left"}


class Call:
    """A row of the table of calls, as far as a schedule shows it."""

    def __init__(self, name, variant_of, call_class, result, roles):
        self.name, self.call_class, self.result = name, call_class, result
        self.keys = [KEYS[role] for role in roles if role in KEYS]
        if "LineIn" in roles:
            self.keys = ["size" if key == "count" else key for key in self.keys]
        if variant_of == "freopen":
            self.keys.append("newfd")
        self.moves_data = call_class in ("Read", "Write")
        self.makes = result in ("NewFd", "NewStream")


def tableOfCalls():
    calls = {}
    for name in ("posix.def", "stdio.def"):
        with open(os.path.join(CALLS, name), encoding="utf-8") as table:
            for match in re.finditer(r"^OMNIO_(CALL|PART)\(([^)]*)\)", table.read(), re.MULTILINE):
                words = [word.strip() for word in match.group(2).split(",")]
                if match.group(1) == "PART":  # without a way to wrap it; its name is in brackets
                    words = ["", words[0], f"({words[1]})", *words[2:]]
                _, _, symbol, variant_of, call_class, result = words[:6]
                calls[symbol] = Call(symbol, variant_of, call_class[1:], result[1:],
                                     [word[1:] for word in words[6:]])
    return calls


CALLS_BY_NAME = tableOfCalls()


def callOf(event):
    """The row of an event's call; None for a step, and for what an edit made of a command."""
    command = event.get("command")
    return CALLS_BY_NAME.get(command) if isinstance(command, str) else None


def textOf(document):
    """One event a line, as omnio preprocess writes it, so that places in refusals mean something."""
    text = json.dumps(document, separators=(",", ":"))
    return re.sub(r',(\{"(?:start|location|rank|thread)":)', r",\n\1", text)


def numbersIn(value, keys):
    if isinstance(value, dict):
        for key, item in value.items():
            if key in keys and isinstance(item, (int, float)):
                yield item
            yield from numbersIn(item, keys)
    elif isinstance(value, list):
        for item in value:
            yield from numbersIn(item, keys)


def steps(value):
    """All events, those that are repeated too."""
    if isinstance(value, dict):
        if isinstance(value.get("command"), str):
            yield value
        for item in value.values():
            yield from steps(item)
    elif isinstance(value, list):
        for item in value:
            yield from steps(item)


def horizonNs(text):
    """Up to when the times of a schedule reach; None where it cannot be told."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    try:
        return max(numbersIn(document, ("start", "end")), default=0)
    except RecursionError:
        return None


def thinksLong(text):
    """Whether even `--timing asap` would sleep: delays are kept, and repeats multiply."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return False
    for event in steps(document):
        if event["command"] == "delay" and isinstance(event.get("end"), (int, float)):
            if event["end"] > LONGEST_DELAY_NS:
                return True
    return any(1000 < turns <= 1 << 50 for turns in numbersIn(document, ("repeat",)))


class Mutator:
    """Changes one document in place; `told` names what it did."""

    def __init__(self, random, document):
        self.random, self.document, self.told = random, document, []
        self.tame = False  # only what a schedule may hold: many edits of the other kind are refused

    # ---- places -------------------------------------------------------------------------------
    def threads(self):
        return [(rank, thread) for rank in self.document["ranks"] for thread in rank["threads"]]

    def someThread(self, wanted=lambda thread: thread["events"]):
        found = [place for place in self.threads() if wanted(place[1])]
        return self.random.choice(found) if found else (None, None)

    def someEvent(self, wanted=lambda event: True):
        """(rank, thread, index) of an event; calls are drawn before single events, so that a rare
        call is changed as often as one that comes a thousand times."""
        places = {}
        for rank, thread in self.threads():
            for index, event in enumerate(thread["events"]):
                if isinstance(event.get("command"), str) and wanted(event):
                    places.setdefault(event["command"], []).append((rank, thread, index))
        if not places:
            return None
        return self.random.choice(places[self.random.choice(sorted(places))])

    def eventAt(self, place):
        return place[1]["events"][place[2]]

    def makes(self, event):
        if event.get("command") in ("preopened", "inherited"):
            return "result" in event
        call = callOf(event)
        duplicates = str(event.get("cmd", "")).startswith("F_DUPFD")
        return call is not None and "result" in event and (call.makes or duplicates)

    def descriptors(self, rank):
        return [event["result"] for thread in rank["threads"] for event in thread["events"]
                if self.makes(event) and isinstance(event["result"], int)]

    def freshDescriptor(self, rank):
        return max(self.descriptors(rank), default=-1) + 1

    def someDescriptor(self, rank):
        known = self.descriptors(rank)
        if known and (self.tame or self.random.random() < 0.9):
            return self.random.choice(known)
        if self.tame:
            return -1
        return self.random.choice((-1, 0, self.freshDescriptor(rank), 99999, 1 << 31))

    def locations(self):
        return [file["location"] for file in self.document["files"]] or ["none"]

    def someLocation(self):
        known = self.locations()
        if self.tame or self.random.random() < 0.93:
            return self.random.choice(known)
        return self.random.choice(LOCATIONS)

    def freshId(self):
        ids = [event["id"] for event in steps(self.document) if isinstance(event.get("id"), int)]
        return max(ids, default=0) + 1

    def someNumber(self, old=0):
        if self.tame:
            return self.random.choice((0, 1, 511, 4096, 100_000, 1 << 24, 1 << 40))
        dice = self.random.random()
        if dice < 0.25 and isinstance(old, int):
            return old + self.random.choice((-1, 1, 4096, -4096, old, 3 * old))
        if dice < 0.4:
            return self.random.randrange(0, 100_000)
        return self.random.choice(NUMBERS)

    # ---- events -------------------------------------------------------------------------------
    def changeNumber(self):
        def numbersOf(event):
            return [key for key in ("count", "size", "nmemb", "length", "offset", "value", "char",
                                    "result", "flags") if isinstance(event.get(key), int)]

        place = self.someEvent(numbersOf)
        if place is None:
            return "nothing to change"
        event = self.eventAt(place)
        keys = numbersOf(event)
        if self.makes(event) and "result" in keys and len(keys) > 1:
            keys.remove("result")
        key = self.random.choice(keys)
        old = event[key]
        event[key] = self.someNumber(old)
        # A call that asks for more may also be told to have moved more.
        if key == "count" and isinstance(event.get("result"), int) and self.random.random() < 0.3:
            event["result"] = event[key]
        return f"{event['command']}: {key} {old} -> {event[key]}"

    def changePieces(self):
        place = self.someEvent(lambda event: "iov" in event)
        if place is None:
            return self.changeNumber()
        event = self.eventAt(place)
        pieces = event["iov"]
        dice = self.random.randrange(5)
        if dice == 0 or not pieces:
            event["iov"] = [self.someNumber() for _ in range(self.random.randrange(5))]
        elif dice == 1:
            event["iov"] = pieces * self.random.choice((2, 10, 600))
        elif dice == 2:
            event["iov"] = []
        else:
            pieces[self.random.randrange(len(pieces))] = self.someNumber(pieces[0])
        return f"{event['command']}: iov {str(event['iov'])[:60]}"

    def changeDescriptor(self):
        place = self.someEvent(lambda event: any(key in event for key in ("fd", "source", "newfd")))
        if place is None:
            return "nothing to change"
        event = self.eventAt(place)
        key = self.random.choice([key for key in ("fd", "source", "newfd") if key in event])
        old = event[key]
        event[key] = self.someDescriptor(place[0])
        return f"{event['command']}: {key} {old} -> {event[key]}"

    def changeMadeDescriptor(self):
        place = self.someEvent(self.makes)
        if place is None:
            return "nothing to change"
        event = self.eventAt(place)
        old = event["result"]
        event["result"] = self.random.choice((self.someDescriptor(place[0]),
                                              self.freshDescriptor(place[0]), 900000, 1 << 30))
        return f"{event['command']}: makes {event['result']} instead of {old}"

    def changeEventLocation(self):
        keys = ("location", "newlocation", "target")
        place = self.someEvent(lambda event: any(key in event for key in keys))
        if place is None:
            return "nothing to change"
        event = self.eventAt(place)
        key = self.random.choice([key for key in keys if key in event])
        old = event[key]
        event[key] = self.someLocation()
        return f"{event['command']}: {key} {old!r} -> {event[key][:60]!r}"

    def changeFlags(self):
        keys = ("flags", "mode", "type", "whence", "cmd", "value")
        place = self.someEvent(lambda event: any(key in event for key in keys))
        if place is None:
            return "nothing to change"
        event = self.eventAt(place)
        key = self.random.choice([key for key in keys if key in event])
        event[key] = self.someArgument(key, event, place[0])
        return f"{event['command']}: {key} {event[key]!r}"

    def someArgument(self, key, event, rank):
        random = self.random
        if key in ("fd", "source", "newfd"):
            return self.someDescriptor(rank)
        if key in ("location", "newlocation", "target"):
            return self.someLocation()
        if key == "flags":
            call = callOf(event)
            if event.get("command") == "preopened" or (call is not None and call.result == "NewFd"):
                some = random.sample(OPEN_FLAGS, random.randrange(1, 4))
                return "|".join(some) if random.random() < 0.95 else random.choice(("0", "O_NONE"))
            return random.choice((0, 1, 2, 4, 8, 0x100, 0x200, 0x400, 0x1000, 0x7FFFFFFF, -1))
        if key == "mode":
            modes = ("0644", "0", "0777", "07777", "04755", "0000", "1", "4", "010000")
            return random.choice(modes[:-1] if self.tame else modes)
        if key == "type":
            return random.choice(STREAM_MODES[:14] if self.tame else STREAM_MODES)
        if key == "whence":
            return random.choice(WHENCES)
        if key == "cmd":
            return random.choice(COMMANDS)
        if key == "iov":
            return [random.choice((0, 1, 100, 4096, 1 << 20)) for _ in range(random.randrange(6))]
        if key == "char":
            return random.choice((10, 0, 65, 255, -1, 256, 1 << 31))
        small = random.choice((0, 1, 2, 100, 4096, 5000, 1 << 20))
        return small if random.random() < 0.7 else self.someNumber()

    def renameCall(self):
        place = self.someEvent(callOf)
        if place is None:
            return "nothing to change"
        event = self.eventAt(place)
        old = CALLS_BY_NAME[event["command"]]
        alike = [name for name, call in CALLS_BY_NAME.items()
                 if sorted(call.keys) == sorted(old.keys) and call.makes == old.makes]
        names = alike if len(alike) > 1 and self.random.random() < 0.5 else list(CALLS_BY_NAME)
        name = self.random.choice(names)
        call = CALLS_BY_NAME[name]
        event["command"] = name
        for key in old.keys:
            if key not in call.keys and self.random.random() < 0.97:
                event.pop(key, None)
        if not call.moves_data and "offset" not in call.keys:
            event.pop("offset", None)
        for key in call.keys:
            if key not in event or key in ("flags", "value"):
                event[key] = self.someArgument(key, event, place[0])
        self.fitResult(event, place[0], call, old.makes)
        return f"{old.name} becomes {name}"

    def fitResult(self, event, rank, call, made_before=False):
        if "errno" in event:
            return
        if call.makes or str(event.get("cmd", "")).startswith("F_DUPFD"):
            if not made_before:
                event["result"] = self.freshDescriptor(rank)
        elif call.result == "None":
            event.pop("result", None)
        else:
            event.setdefault("result", 0)

    def madeUp(self, rank, name=None):
        """An event of any call of the table."""
        call = CALLS_BY_NAME[name or self.random.choice(list(CALLS_BY_NAME))]
        event = {"start": 0, "end": 0, "command": call.name}
        if self.random.random() < 0.15:
            event["errno"] = self.random.choice(ERRORS)
        for key in call.keys:
            event[key] = self.someArgument(key, event, rank)
        if call.moves_data and "offset" not in call.keys and self.random.random() < 0.5:
            event["offset"] = self.someArgument("offset", event, rank)
        self.fitResult(event, rank, call)
        if call.moves_data and "result" in event and self.random.random() < 0.7:
            event["result"] = self.random.choice((0, 1, 100, 4096, 1 << 20, 1 << 40))
        return event

    def insertEvents(self):
        rank, thread = self.someThread()
        if thread is None:
            return "no events"
        at = self.random.randrange(len(thread["events"]) + 1)
        names = []
        self.tame = self.random.random() < 0.6
        for _ in range(self.random.choice((1, 3, 10, 40) if self.tame else (1, 3))):
            event = self.madeUp(rank)
            self.setTime(thread, at, event)
            thread["events"].insert(at, event)
            names.append(event["command"])
            at += 1
        self.tame = False
        return f"inserted {', '.join(names)}"

    def setTime(self, thread, at, event):
        before = thread["events"][at - 1] if 0 < at <= len(thread["events"]) else {}
        time = before.get("end", 0)
        event["start"] = event["end"] = time if isinstance(time, int) else 0

    def insertStep(self):
        rank, thread = self.someThread()
        if thread is None:
            return "no events"
        at = self.random.randrange(len(thread["events"]) + 1)
        step = self.random.choice(STEPS)
        event = {"start": 0, "end": 0, "command": step}
        self.setTime(thread, at, event)
        if step == "preopened":
            event.update(location=self.someLocation(), offset=self.random.choice((0, 5, 1 << 62)),
                         result=self.freshDescriptor(rank))
            event["flags"] = self.someArgument("flags", event, rank)
        elif step == "inherited":
            event.update(fd=self.someDescriptor(rank), result=self.freshDescriptor(rank))
        else:
            event["start"] = self.random.randrange(0, 1000)
            event["end"] = event["start"] + self.random.randrange(0, 1_000_000)
        thread["events"].insert(at, event)
        return f"inserted {step}"

    def deleteEvents(self):
        _, thread = self.someThread()
        if thread is None:
            return "no events"
        first = self.random.randrange(len(thread["events"]))
        count = self.random.choice((1, 1, 1, 3, 20))
        deleted = thread["events"][first:first + count]
        del thread["events"][first:first + count]
        return f"deleted {[event.get('command') for event in deleted][:5]}"

    def duplicateEvent(self):
        place = self.someEvent()
        if place is None:
            return "no events"
        rank, thread, index = place
        again = copy.deepcopy(self.eventAt(place))
        kept = self.random.random() < 0.1
        if not kept:
            again.pop("id", None)
            if self.makes(again):
                again["result"] = self.freshDescriptor(rank)
        anywhere = self.random.randrange(len(thread["events"]) + 1)
        at = self.random.choice((index, index + 1, anywhere))
        thread["events"].insert(at, again)
        return f"{again['command']} twice, at {index} and {at}"

    def reorder(self):
        _, thread = self.someThread(lambda thread: len(thread["events"]) > 1)
        if thread is None:
            return "no events"
        events = thread["events"]
        first = self.random.randrange(len(events))
        last = min(len(events), first + self.random.choice((2, 2, 3, 10, 100)))
        span = events[first:last]
        self.random.shuffle(span)
        events[first:last] = span
        return f"shuffled {first} to {last}"

    def moveEvents(self):
        from_rank, from_thread = self.someThread()
        to_rank, to_thread = self.someThread(lambda thread: True)
        if from_thread is None:
            return "no events"
        first = self.random.randrange(len(from_thread["events"]))
        last = first + self.random.choice((1, 1, 5, 50))
        moved = from_thread["events"][first:last]
        del from_thread["events"][first:last]
        at = self.random.randrange(len(to_thread["events"]) + 1)
        to_thread["events"][at:at] = moved
        return (f"moved {len(moved)} events of rank {from_rank.get('rank')}, thread "
                f"{from_thread.get('thread')} to rank {to_rank.get('rank')}, thread "
                f"{to_thread.get('thread')}")

    def flipFailed(self):
        place = self.someEvent(callOf)
        if place is None:
            return "no events"
        event = self.eventAt(place)
        if event.pop("errno", None) is None:
            event.pop("result", None)
            event["errno"] = self.random.choice(ERRORS)
        else:
            self.fitResult(event, place[0], CALLS_BY_NAME[event["command"]])
        return f"{event['command']}: {event.get('errno', 'done')}"

    def repeatEvent(self):
        place = self.someEvent(lambda event: not self.makes(event) and "id" not in event and
                               event["command"] in CALLS_BY_NAME)
        if place is None:
            return "no events"
        event = copy.deepcopy(self.eventAt(place))
        numbers = [key for key, value in event.items()
                   if isinstance(value, int) and key not in ("result", "id")]
        if self.random.random() < 0.6:
            event["step"] = {key: self.random.choice((1, 10, 4096, -1, 1 << 40, 1 << 62))
                             for key in self.random.sample(numbers, min(2, len(numbers)))}
        turns = self.random.choice((0, 1, 2, 10, 300, (1 << 50) + 1, -1))
        place[1]["events"][place[2]] = {"repeat": turns, "body": [event]}
        return f"{event['command']} {turns} times, steps {event.get('step')}"

    # ---- order and time -----------------------------------------------------------------------
    def changeEdges(self):
        place, other = self.someEvent(), self.someEvent()
        if place is None:
            return "no events"
        event, before = self.eventAt(place), self.eventAt(other)
        dice = self.random.randrange(7)
        if dice == 0:
            place = self.someEvent(lambda one: "after" in one) or place
            self.eventAt(place).pop("after", None)
            return "an edge less"
        if dice == 1:
            for one in steps(self.document):
                one.pop("after", None)
            return "no edges at all"
        if dice == 2:
            event["after"] = [self.random.choice((0, 1, -1, 987654321, (1 << 63) - 1, 1 << 64))]
            return f"after {event['after']}"
        if dice == 3:
            place = self.someEvent(lambda one: "after" in one) or place
            event = self.eventAt(place)
            event["after"] = event.get("after", []) * self.random.choice((2, 1000))
            return "edges twice"
        before.setdefault("id", self.freshId())
        event.setdefault("after", []).append(before["id"])
        if dice == 4:
            event.setdefault("id", self.freshId())
            before.setdefault("after", []).append(event["id"])
            return "a circle of two"
        return f"{event['command']} after {before['command']}"

    def changeIds(self):
        place = self.someEvent(lambda event: "id" in event)
        if place is None:
            return "no ids"
        event = self.eventAt(place)
        event["id"] = self.random.choice((0, 1, -1, event["id"] + 1, 1 << 40, (1 << 63) - 1))
        return f"id {event['id']}"

    def changeTimes(self):
        dice = self.random.randrange(5)
        if dice == 0:
            for event in steps(self.document):
                for key in ("start", "end"):
                    if isinstance(event.get(key), int):
                        event[key] = event[key] * 100_000
            return "times 100,000 as long"
        if dice == 1:
            for event in steps(self.document):
                event["start"] = event["end"] = 0
            return "all at once"
        place = self.someEvent()
        if place is None:
            return "no events"
        event = self.eventAt(place)
        value = self.random.choice((-1, 0, 3_600_000_000_000, 10 * 365 * 86400 * 10**9,
                                    10 * 365 * 86400 * 10**9 + 1, (1 << 63) - 1, 1 << 64,
                                    self.random.randrange(1_000_000_000)))
        if dice == 2:
            event["start"] = event["end"] = value
        else:
            event[self.random.choice(("start", "end"))] = value
        return f"{event['command']}: from {event.get('start')} to {event.get('end')}"

    # ---- threads, ranks, files, all -----------------------------------------------------------
    def changeThreads(self):
        rank = self.random.choice(self.document["ranks"]) if self.document["ranks"] else None
        if rank is None or not rank["threads"]:
            return "no threads"
        thread = self.random.choice(rank["threads"])
        dice = self.random.randrange(5)
        if dice == 0:
            rank["threads"].remove(thread)
            if self.random.random() < 0.7:
                self.renumber(rank)
            return "a thread less"
        if dice == 1:  # half of its events, on a thread of their own
            events = thread["events"]
            new = dict(thread, thread=len(rank["threads"]), events=events[1::2])
            thread["events"] = events[0::2]
            rank["threads"].append(new)
            return "a thread split in two"
        if dice == 2:
            rank["threads"].append(dict(thread, thread=len(rank["threads"]), events=[]))
            return "a thread without events"
        if dice == 3:
            key = self.random.choice(("thread", "pid", "tid", "recorder", "host"))
            thread[key] = self.random.choice((0, -1, 1, (1 << 31) - 1, 1 << 31, 1 << 63, "x"))
            return f"{key} of a thread: {thread[key]}"
        self.random.shuffle(rank["threads"])
        self.renumber(rank)
        return "threads shuffled"

    def renumber(self, rank):
        for number, thread in enumerate(rank["threads"]):
            thread["thread"] = number

    def changeRanks(self):
        ranks = self.document["ranks"]
        dice = self.random.randrange(5)
        if dice == 0 and ranks:
            ranks.remove(self.random.choice(ranks))
        elif dice == 1 and ranks:
            again = copy.deepcopy(self.random.choice(ranks))
            for event in steps(again):
                event.pop("id", None)
            ranks.append(again)
        elif dice == 2:
            ranks.append({"rank": len(ranks), "threads": []})
        elif dice == 3:
            self.random.shuffle(ranks)
        else:
            self.document["global"]["ranks"] = self.random.choice(
                (0, -1, len(ranks) + 1, 16777216, 16777217, 1 << 32, 1 << 63))
            return f"{self.document['global']['ranks']} ranks in global"
        for number, rank in enumerate(ranks):
            rank["rank"] = number
        self.document["global"]["ranks"] = len(ranks)
        return f"{len(ranks)} ranks"

    def changeFile(self):
        files = self.document["files"]
        if not files:
            return "no files"
        file = self.random.choice(files)
        dice = self.random.randrange(9)
        if dice == 8:
            file["holes"] = [{"begin": self.someNumber(0), "end": self.someNumber(4096)}
                             for _ in range(self.random.randrange(3))]
            return f"{file['location']}: holes {file['holes']}"
        if dice < 2:
            file["size"] = self.someNumber(file.get("size", 0))
            if self.random.random() < 0.5:
                file["exists"] = True
            file["read_before_written"] = min(file["size"], file.get("read_before_written", 0))
            return f"{file['location']}: size {file['size']}"
        if dice == 2:
            file["role"] = self.random.choice(ROLES)
            return f"{file['location']}: {file['role']}"
        if dice == 3:
            file["exists"] = not file.get("exists")
            return f"{file['location']}: exists {file['exists']}"
        if dice == 4:
            file["lines"] = not file.get("lines", False)
            return f"{file['location']}: lines {file['lines']}"
        if dice == 5:
            if self.random.random() < 0.5:
                files.append(dict(file))
                return f"{file['location']} twice"
            files.remove(file)
            return f"{file['location']} is not in the list"
        return self.changeLocation(file)

    def changeLocation(self, file):
        """In the list and, mostly, in all events."""
        old = file["location"]
        dice = self.random.random()
        if dice < 0.4:
            new = self.random.choice(LOCATIONS)
        elif dice < 0.7:
            below = self.random.choice(("x", "y/z", ".."))
            new = f"{self.random.choice(self.locations())}/{below}"
        else:
            new = old.replace("/", ".", 1) if "/" in old else "deep/er/" + old
        if any(other["location"] == new for other in self.document["files"]):
            new += "2"
        file["location"] = new
        if self.random.random() < 0.85:
            for event in steps(self.document):
                for key in ("location", "newlocation", "target"):
                    if event.get(key) == old:
                        event[key] = new
        return f"location {old!r} is {new[:60]!r}"

    def changeGlobal(self):
        parts = self.document["global"]
        key = self.random.choice(("time_replay", "write_overwrite", "write_overwrite", "size_scale",
                                  "time_scale"))
        if key == "time_replay":
            parts[key] = self.random.choice(("asap", "dt", "start", "never", ""))
        elif key == "write_overwrite":
            parts[key] = not parts.get(key, False)
        else:
            parts[key] = self.random.choice((0, -1, 1e300, 0.5, "1"))
        return f"{key} {parts[key]}"

    def changeType(self):
        place = self.someEvent()
        if place is None:
            return "no events"
        event = self.eventAt(place)
        key = self.random.choice(list(event))
        dice = self.random.randrange(3)
        if dice == 0:
            event.pop(key)
            return f"{event.get('command')}: without {key}"
        if dice == 1:
            event[self.random.choice(("shell", "offset", "count", "location", "fd", "step"))] = 1
            return f"{event['command']}: a key more"
        event[key] = self.random.choice((None, True, "1", 1.5, [], {}, [[1]], {"a": 1}))
        return f"{event.get('command')}: {key} is {event[key]!r}"

    def mutate(self):
        # The weights keep half of the mutants good enough to be replayed.
        edits = {self.changeNumber: 18, self.changePieces: 3, self.changeDescriptor: 8,
                 self.changeMadeDescriptor: 2, self.changeEventLocation: 6, self.changeFlags: 10,
                 self.renameCall: 12, self.insertEvents: 14, self.insertStep: 3,
                 self.deleteEvents: 4, self.duplicateEvent: 5, self.reorder: 5, self.moveEvents: 5,
                 self.flipFailed: 5, self.repeatEvent: 4, self.changeEdges: 5, self.changeIds: 1,
                 self.changeTimes: 6, self.changeThreads: 4, self.changeRanks: 3,
                 self.changeFile: 9, self.changeGlobal: 3, self.changeType: 1}
        edit = self.random.choices(list(edits), list(edits.values()))[0]
        self.told.append(edit())


def changeBytes(random, data):
    """(what was done, the bytes) by one edit that knows nothing of schedules."""
    at = random.randrange(len(data))
    length = random.choice((1, 1, 2, 8, 100, 5000))
    dice = random.randrange(8)
    if dice == 0:
        flipped = bytes([data[at] ^ 1 << random.randrange(8)])
        return f"bit of byte {at}", data[:at] + flipped + data[at + 1:]
    if dice == 1:
        return f"{length} bytes from {at} cut out", data[:at] + data[at + length:]
    if dice == 2:
        return f"{length} bytes from {at} twice", data[:at + length] + data[at:]
    if dice == 3:
        return f"cut at {at}", data[:at]
    if dice == 4:
        noise = bytes(random.randrange(256) for _ in range(min(length, 8)))
        return f"{noise!r} at {at}", data[:at] + noise + data[at:]
    lines = data.split(b"\n")
    if dice == 5 and len(lines) > 2:
        one, other = random.randrange(len(lines)), random.randrange(len(lines))
        lines[one], lines[other] = lines[other], lines[one]
        return f"lines {one} and {other} change places", b"\n".join(lines)
    digits = [match.start() for match in re.finditer(rb"[0-9]", data)]
    if not digits:
        return f"a quote at {at}", data[:at] + b'"' + data[at:]
    at = random.choice(digits)
    if dice == 6:
        return f"digits at {at}", data[:at] + b"9" * random.choice((3, 9, 18, 25)) + data[at:]
    return f"digit at {at}", data[:at] + str(random.randrange(10)).encode() + data[at + 1:]


def mutant(random, document):
    """(what was done, the schedule's bytes)"""
    while True:
        told = []
        if random.random() < 0.83:
            mutator = Mutator(random, copy.deepcopy(document))
            for _ in range(random.choice((1, 1, 1, 2, 2, 3, 5))):
                mutator.mutate()
            told, data = mutator.told, textOf(mutator.document).encode("utf-8", "surrogateescape")
        else:
            data = textOf(document).encode()
            for _ in range(random.choice((1, 1, 2, 3))):
                what, data = changeBytes(random, data)
                told.append(what)
                if not data:
                    break
        if not thinksLong(data.decode("utf-8", "replace")):
            return told, data
