"""Reads a file of Perfetto's track events, by the wire format of Protocol Buffers alone. Field numbers
are those of protos/perfetto/trace in Perfetto's repository."""

import struct

# Field numbers
PACKET = 1
TIMESTAMP, SEQUENCE, TRACK_EVENT, INTERNED, FLAGS, DESCRIPTOR = 8, 10, 11, 12, 13, 60
UUID, TRACK_NAME, PROCESS, THREAD, PARENT = 1, 2, 3, 4, 5
CATEGORIES, ANNOTATIONS, TYPE, NAME, TRACK, FLOWS, ENDING_FLOWS = 3, 4, 9, 10, 11, 47, 48
SLICE_BEGIN, SLICE_END, INSTANT = 1, 2, 3


def varint(data, at):
    value, shift = 0, 0
    while True:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """{number: [values]}: numbers, and bytes where there is a length."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        elif key & 7 == 2:
            size, at = varint(data, at)
            if at + size > len(data):
                raise ValueError("a field reaches beyond its message")
            value, at = data[at:at + size], at + size
        else:
            raise ValueError(f"wire type {key & 7}")
        found.setdefault(key >> 3, []).append(value)
    return found


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


class Slice:
    def __init__(self, track, start, event, names):
        self.track, self.start, self.end = track, start, None
        self.call = names[2][event[NAME][0]]
        self.category = names[1][event[CATEGORIES][0]]
        self.arguments = {}
        for each in event.get(ANNOTATIONS, ()):
            annotation = fields(each)
            key = names[3][annotation[1][0]]
            self.arguments[key] = (signed(annotation[4][0]) if 4 in annotation
                                   else annotation[6][0].decode())
        self.flows, self.ending = event.get(FLOWS, []), []


class PerfettoFile:
    """`processes` and `tracks` by uuid: {name, pid} and {name, tid, parent}. `slices` in the order
    of their ends. `arrows` by their numbers: [begin, end] in ns. Raises ValueError where slices of a
    track do not nest."""

    def __init__(self, path):
        with open(path, "rb") as file:
            packets = fields(file.read()).get(PACKET, [])
        self.processes, self.tracks, self.slices, self.arrows = {}, {}, [], {}
        names = {1: {}, 2: {}, 3: {}}
        open_slices, last = {}, {}
        for data in packets:
            packet = fields(data)
            for kind, entries in fields(packet.get(INTERNED, [b""])[0]).items():
                for entry in map(fields, entries):
                    names[kind][entry[1][0]] = entry[2][0].decode()
            for descriptor in map(fields, packet.get(DESCRIPTOR, ())):
                self._describe(descriptor)
            for event in map(fields, packet.get(TRACK_EVENT, ())):
                track, time = event[TRACK][0], packet[TIMESTAMP][0]
                if track not in self.tracks:
                    raise ValueError(f"track {track} is not described before its first slice")
                if time < last.get(track, 0):
                    raise ValueError(f"track {track} goes back in time")
                last[track] = time
                for at, kind in enumerate((FLOWS, ENDING_FLOWS)):
                    for flow in event.get(kind, ()):
                        self.arrows.setdefault(flow, [None, None])[at] = time
                if event[TYPE][0] == INSTANT:  # a message that came, within a call
                    open_slices[track][-1].ending += event[ENDING_FLOWS]
                elif event[TYPE][0] == SLICE_BEGIN:
                    open_slices.setdefault(track, []).append(Slice(track, time, event, names))
                else:
                    ended = open_slices[track].pop()
                    ended.end, ended.depth = time, len(open_slices[track])
                    self.slices.append(ended)
        left = sum(map(len, open_slices.values()))
        if left > 0:
            raise ValueError(f"{left} slices do not end")

    def _describe(self, descriptor):
        uuid = descriptor[UUID][0]
        if PROCESS in descriptor:
            process = fields(descriptor[PROCESS][0])
            self.processes[uuid] = {"name": process[6][0].decode(), "pid": process[1][0]}
        else:
            thread = fields(descriptor[THREAD][0]) if THREAD in descriptor else {}
            self.tracks[uuid] = {"parent": descriptor[PARENT][0],
                                 "name": (thread.get(5) or descriptor[TRACK_NAME])[0].decode(),
                                 "tid": thread.get(2, [None])[0]}
