"""Sets the counts of strace and of a trace side by side, and says where they differ.

What is compared for a file of a rank:
  always         opens, failed opens, closes, syncs, and the bytes that were written
  unbuffered     reads, writes, seeks, and the bytes that were read
  buffered       the calls as the program itself counted them, and the bytes read, unless the
                 stream was repositioned, which makes the library read more than the program takes
"""

import json

from io_counts import KINDS, Counts, plainCall

_ALWAYS = ("open", "failed opens", "close", "sync")


def _expectedCloses(theirs, ours):
    # freopen keeps the stream's descriptor: the library opens the new file under another number,
    # moves it by dup3 and closes that number. strace sees this close, the program made none.
    return theirs - ours.streams.get("freopen", [0, 0])[0]


def _pairs(ours, theirs):
    """(what, trace, strace, compared) for each figure of one file."""
    for kind in KINDS:
        wanted = theirs.calls[kind]
        if kind == "close":
            wanted = _expectedCloses(wanted, ours)
        compared = kind in _ALWAYS or not ours.buffered
        yield kind, ours.calls[kind], wanted, compared
    yield ("bytes read", ours.read_bytes, theirs.read_bytes,
           not ours.buffered or not ours.rereads)
    yield "bytes written", ours.write_bytes, theirs.write_bytes, True


def compareCounts(checks, case, selection, traced, straced):
    """Both are {(rank, path): Counts}. Prints a row a file, trace and strace in each column."""
    files = sorted(key for key in set(traced) | set(straced) if key[1] in selection)
    checks.that(files, f"{case}: there are files to compare")
    print(f"\n{case}: a column is trace/strace; ~ where a stream's buffer lies between, so that "
          "the figures differ by design")
    header = ["rank", "file", *KINDS, "bytes read", "bytes written"]
    rows = []
    for rank, path in files:
        ours = traced.get((rank, path), Counts())
        theirs = straced.get((rank, path), Counts())
        row = [str(rank), selection.name(path)]
        for what, got, wanted, compared in _pairs(ours, theirs):
            mark = "" if got == wanted else ("!" if compared else "~")
            row.append(f"{got}/{wanted}{mark}")
            if compared:
                checks.equal(got, wanted, f"{case}: rank {rank}, {selection.name(path)}, {what}")
        rows.append(row)
    printTable(header, rows)


def printTable(header, rows, most=60):
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    shown = rows[:most]
    for row in [header, *shown]:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    if len(shown) < len(rows):
        print(f"  ... and {len(rows) - len(shown)} more files, compared as well")


def ownCounts(output):
    """{path: {call: [calls, bytes]}} of the JSON lines in which a program counted itself."""
    result = {}
    for line in output.decode().splitlines():
        if line.startswith('{"path"'):
            row = json.loads(line)
            calls = result.setdefault(row["path"], {})
            sums = calls.setdefault(plainCall(row["call"]), [0, 0])
            sums[0] += row["calls"]
            sums[1] += row["bytes"]
    return result


def compareOwnCounts(checks, case, selection, events_by_path, own):
    """`events_by_path` is {path: {call: [calls, bytes]}} from the trace."""
    checks.that(own, f"{case}: the program counted its calls")
    rows = []
    for path in sorted(set(events_by_path) | set(own)):
        if path not in selection:
            continue
        ours, theirs = events_by_path.get(path, {}), own.get(path, {})
        for call in sorted(set(ours) | set(theirs)):
            got, wanted = ours.get(call, [0, 0]), theirs.get(call, [0, 0])
            same = checks.equal(got, wanted, f"{case}: {selection.name(path)}: {call} "
                                             "[calls, bytes] against the program's own count")
            rows.append([selection.name(path), call, f"{got[0]}/{wanted[0]}",
                         f"{got[1]}/{wanted[1]}" + ("" if same else "!")])
    print(f"\n{case}: a column is trace/the program's own count")
    printTable(["file", "call", "calls", "bytes"], rows)


def streamCalls(traced):
    """The stream calls of all ranks, by path."""
    result = {}
    for (_, path), counts in traced.items():
        for call, (calls, moved) in counts.streams.items():
            sums = result.setdefault(path, {}).setdefault(call, [0, 0])
            sums[0] += calls
            sums[1] += moved
    return result
