#!/usr/bin/env python3
"""How much shorter `omnio prefetch` makes runs of readers, on storage whose delay is set.

  bench/prefetch.py [--rows NAME,...] [--ratios R,...] [--rounds N] [--pairs N] [--requests N] [--model]
                    [--quick] [--markdown] [--json FILE] [--directory DIR] [--build DIR]

The storage is slowfs (tests/support/slowfs) above a tmpfs: 2 ms a request, latencies overlap, and the
kernel keeps pages over an open. It has the last core; programs have all, or the first one alone in the row
of real computing. Requests are of 64 KiB. A program computes after each for a ratio of the measured time of
a read, by a timed sleep, and by real work in that row. Before each run the kernel forgets the pages of the
files, which is checked. Runs are whole commands, by turns:

  none       the program alone
  prefetch   omnio prefetch -- PROGRAM, which knows nothing of it yet
  model      the same with the model that an earlier run saved (--model)
  ideal      the program tells the kernel of its next eight requests, whose order it knows: what is to be
             gained here at all. At a ratio of 1 the limit is 50 %.

The rows `random` and `contiguous` have nothing to gain: turns of two untraced runs, which are the noise, and
one with `omnio prefetch`: 20, or up to 60 where the noise is wider than half of the 2 % that they may cost
(`--rows random,contiguous` for these alone). Needs root, libfuse3, and for `loader` a memory control group of version 1.
Without the command `omnio prefetch` the other kinds are measured.
"""

import argparse
import contextlib
import ctypes
import json
import mmap
import os
import signal
import statistics
import sys
import tempfile

# pylint: disable=wrong-import-position,wrong-import-order
from runs import BUILD, HERE, ok
sys.path[:0] = [os.path.join(HERE, "fidelity"), os.path.join(HERE, "estimates")]
from devices import NotHere, must
from memory_group import MemoryGroup
from omnio_testing import emptied, program, run
from slow_storage import SlowStorage, whyNotSlow

READ_US, BANDWIDTH_MIB_S = 2000, 1024
REQUEST = 64 << 10
AHEAD = 8
FILE_BYTES = 1 << 30
LIMIT = 2  # percent that runs without anything to gain may become longer
MOST_TURNS = 60  # where the noise is wider than the limit


class Files:
    """The files of all rows in a directory of memory, and slowfs above it."""

    def __init__(self, work, requests):
        self.backing = os.path.join(work, "files")
        self._work, self._requests = work, requests
        self._storage = None
        self._exits = contextlib.ExitStack()

    def __enter__(self):
        with contextlib.ExitStack() as exits:
            emptied(self.backing)
            must("mount", "-t", "tmpfs", "none", self.backing)
            exits.callback(run, ["umount", "-l", self.backing])
            reader = program("c_prefetch_reader")
            made = [reader, "make", os.path.join(self.backing, "data"), "--bytes", FILE_BYTES]
            ok(run(made), "making the file")
            if program("c_hdf5_restart"):
                made = [program("c_hdf5_restart"), "write", os.path.join(self.backing, "restart.h5"),
                        "--steps", self.steps()]
                ok(run(made), "making the restart file")
            self._storage = SlowStorage(self._work, "--cache", "--read-us", READ_US, "--bandwidth",
                                        BANDWIDTH_MIB_S, "--real-time", backing=self.backing)
            with onLastCore():
                exits.enter_context(self._storage)
            self._exits = exits.pop_all()
        return self

    def __exit__(self, *_):
        self._exits.close()

    def steps(self):
        """Of 16 variables each."""
        return max(2, self._requests // 16)

    def path(self, name):
        return os.path.join(self._storage.path, name)

    def bytesRead(self):
        return self._storage.counts()["bytes_read"]

    def forget(self, name):
        """Takes a file's pages out of the page cache, and counts those that are left."""
        fd = os.open(self.path(name), os.O_RDONLY)
        try:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            if pagesKept(fd) > 0:
                with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as drop:
                    drop.write("1\n")
            if left := pagesKept(fd):
                sys.exit(f"prefetch.py: {name}: {left} pages stay in the page cache")
        finally:
            os.close(fd)


def pagesKept(fd):
    """The pages of a file in the page cache, by mincore()."""
    size = os.fstat(fd).st_size
    mapped = mmap.mmap(fd, size, mmap.MAP_PRIVATE)  # a private mapping is writable, as ctypes asks for
    try:
        begin = ctypes.c_char.from_buffer(mapped)
        pages = (ctypes.c_ubyte * ((size + mmap.PAGESIZE - 1) // mmap.PAGESIZE))()
        failed = ctypes.CDLL(None).mincore(ctypes.byref(begin), ctypes.c_size_t(size), pages)
        del begin
        if failed:
            sys.exit("prefetch.py: mincore failed")
        return sum(page & 1 for page in bytes(pages))
    finally:
        mapped.close()


@contextlib.contextmanager
def onLastCore():
    """What is started inside has the last core alone."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Row:
    """A reader: `words` are those of its program, with FILE for the file of that name on slowfs."""

    def __init__(self, name, title, file, words, one_core=False, memory=0, steady=False):
        self.name, self.title, self.file = name, title, file
        self.words = words
        self.one_core = one_core  # and computes for real
        self.memory = memory      # the limit of its memory control group, or 0
        self.steady = steady      # nothing to gain

    def missing(self):
        """Why it cannot run here, or None."""
        if program(self.words[0]) is None:
            return f"{self.words[0]} was not built"
        if self.memory:
            try:
                MemoryGroup()
            except NotHere as why:
                return str(why)
        return None


def allRows(requests, steps):
    def reader(name, title, pattern, times=1, **more):
        return Row(name, title, "data", ["c_prefetch_reader", pattern, "FILE", "--requests", times * requests], **more)
    records = max(768, 3 * requests // 2)  # so that two thirds of the file are room for the processes, too
    return [reader("strided1", "strided, one dimension", "strided1"),
            reader("strided2", "strided, two dimensions", "strided2"),
            reader("composition", "composition {1,8,1,14}", "composition"),
            Row("restart", "HDF5 restart in another order", "restart.h5",
                ["c_hdf5_restart", "read", "FILE", "--steps", steps]),
            Row("loader", "loader, 4 processes, 6 epochs", "data",
                ["c_loader", "FILE", "--records", records, "--request", REQUEST],
                memory=records * REQUEST * 2 // 3),
            reader("computing", "strided, real computing on one core", "strided1", one_core=True),
            reader("random", "random", "random", steady=True),
            # The kernel reads ahead: each takes a quarter of the time.
            reader("contiguous", "contiguous", "contiguous", times=4, steady=True)]


class Prefetch:
    """The command `omnio prefetch`: all that this benchmark takes for granted of it."""

    def __init__(self, omnio, work):
        self._omnio = omnio
        self._summary = os.path.join(work, "summary.json")
        self._model = os.path.join(work, "model")
        usage = run([omnio, "prefetch", "--help"]).out if os.access(omnio, os.X_OK) else b""
        self.is_there = b"--budget" in usage  # an unknown command has the help of omnio itself
        self.has_models = b"--save-model" in usage

    def words(self, options):
        if os.path.exists(self._summary):
            os.remove(self._summary)
        return [self._omnio, "prefetch", "--json", self._summary, *options, "--"]

    def options(self, kind):
        """Of that kind of run, or None where it has no prefetching."""
        return {"prefetch": [], "save": ["--save-model", self._model], "model": ["--model", self._model]}.get(kind)

    def summary(self):
        """The figures of the run before, by the names used here."""
        with open(self._summary, encoding="utf-8") as file:
            document = json.load(file)
        fetched, used = document["prefetched_bytes"], document["used_bytes"]
        return {"fetched": fetched, "used": used,
                "wasted_percent": 100 * document["wasted_bytes"] / fetched if fetched else 0.0,
                "delay_ms": (document["median_delay_ns"] or 0) / 1e6,  # null where nothing was fetched
                "helper_percent": 100 * document["helper_cpu_s"] / document["wall_s"],
                "requests": document["requests"], "saved_s": document["saved_s"]["mean"]}


class Bench:
    """Runs the rows. A sample is a dictionary: `seconds` of the whole command, what the program printed,
    MiB/s from the storage, and the summary of `omnio prefetch`."""

    def __init__(self, files, prefetch, group):
        self._files, self._prefetch, self._group = files, prefetch, group
        self._loops_per_us = None
        self._checksums = {}

    def sample(self, row, kind, compute_us):
        words = [self._files.path(row.file) if word == "FILE" else word for word in row.words]
        command = [program(words[0]), *words[1:], *self._computing(row, compute_us)]
        options = self._prefetch.options(kind)
        if kind == "ideal":
            command += ["--ahead", AHEAD]
        elif options is not None:
            command = [*self._prefetch.words(options), *command]
        if row.one_core:
            command = ["taskset", "-c", min(os.sched_getaffinity(0)), *command]
        if row.memory:
            command = [*self._group.words(row.memory), *command]
        return self._timed(row, kind, command)

    def _timed(self, row, kind, command):
        self._files.forget(row.file)
        before = self._files.bytesRead()
        result = ok(run(command, timeout=1800), f"{row.name}, {kind}")
        mebibytes = (self._files.bytesRead() - before) / (1 << 20)
        found = json.loads([line for line in result.out.splitlines() if line.startswith(b'{"requests"')][-1])
        found.update(seconds=result.seconds, mib=mebibytes, mib_s=mebibytes / result.seconds)
        if self._checksums.setdefault(row.name, found["checksum"]) != found["checksum"]:
            sys.exit(f"prefetch.py: {row.name}, {kind}: read other data than the runs before")
        if kind in ("prefetch", "model"):
            found["helper"] = self._prefetch.summary()
        return found

    def _computing(self, row, compute_us):
        if not row.one_core:
            return ["--compute-us", round(compute_us)]
        if self._loops_per_us is None:
            found = ok(run([program("c_prefetch_reader"), "calibrate"]), "calibrate")
            self._loops_per_us = json.loads(found.out)["loops_per_us"]
        return ["--busy", round(compute_us * self._loops_per_us)]

    def readTime(self, row, times):
        """The time of a request in microseconds where the program computes nothing. The shortest: what else
        runs on this machine can only make it longer."""
        processes = 4 if row.name == "loader" else 1
        runs = [self.sample(row, "none", 0) for _ in range(times)]
        return 1e6 * processes * min(found["read_s"] / found["requests"] for found in runs)

    def kinds(self, with_model):
        acting = ["prefetch"] * self._prefetch.is_there
        acting += ["model"] * (with_model and self._prefetch.has_models)
        return ["none", *acting, "ideal"]

    def byTurns(self, row, kinds, compute_us, rounds):
        """{kind: samples}; each round begins with another kind."""
        samples = {kind: [] for kind in kinds}
        if "model" in kinds:
            self.sample(row, "save", compute_us)
        for number in range(rounds):
            first = number % len(kinds)
            for kind in kinds[first:] + kinds[:first]:
                samples[kind].append(self.sample(row, kind, compute_us))
        return samples

    def steadyTurns(self, row, compute_us, turns):
        """Turns of two untraced runs and one with prefetching, each beginning with another. More of them where
        the noise alone is as wide as the limit."""
        kinds = ["none", "again"] + ["prefetch"] * self._prefetch.is_there
        samples = {kind: [] for kind in kinds}
        while len(samples["none"]) < turns or (
                len(samples["none"]) < MOST_TURNS and turns > 2 and
                interval(longer(samples, "again"))[1] > LIMIT / 2):
            first = len(samples["none"]) % len(kinds)
            for kind in kinds[first:] + kinds[:first]:
                samples[kind].append(self.sample(row, kind, compute_us))
        return samples


def longer(samples, kind):
    """How much longer the runs of a kind are than the untraced one of their turn, in percent."""
    return [100 * (one["seconds"] / base["seconds"] - 1) for one, base in zip(samples[kind], samples["none"])]


def interval(values):
    """(median, half the width of a 95 % interval of the mean)."""
    spread = statistics.stdev(values) if len(values) > 1 else float("nan")
    return statistics.median(values), 1.96 * spread / len(values) ** 0.5


def median(samples, name):
    return statistics.median(sample[name] for sample in samples)


def ofHelper(samples, name):
    return statistics.median(sample["helper"][name] for sample in samples)


def shorter(samples, kind):
    """"median (least to most)" of how much shorter than the median of the untraced runs, in percent."""
    if kind not in samples:
        return "-"
    base = median(samples["none"], "seconds")
    gains = sorted(100 * (1 - sample["seconds"] / base) for sample in samples[kind])
    return f"{statistics.median(gains):.1f} ({gains[0]:.1f} to {gains[-1]:.1f})"


def helperCells(samples):
    """What the program used of what was fetched beside all that it read (%), wasted (%), delay (ms) and
    processor (%) of the helper."""
    if "prefetch" not in samples:
        return ["-"] * 4
    found = samples["prefetch"]
    covered = ofHelper(found, "used") / (found[0]["requests"] * REQUEST)
    return [f"{100 * covered:.1f}", f"{ofHelper(found, 'wasted_percent'):.1f}",
            f"{ofHelper(found, 'delay_ms'):.3f}", f"{ofHelper(found, 'helper_percent'):.2f}"]


GAIN_COLUMNS = ("row", "computing / reading", "us a read", "s alone", "shorter (%)", "with a model",
                "ideal", "read more (%)", "covered (%)", "wasted (%)", "delay (ms)", "helper (% of a core)",
                "bandwidth (%)")
STEADY_COLUMNS = ("row", "us a read", "s alone", "s prefetched", "turns", "noise (%)", "longer (%)", "read more (%)",
                  "covered (%)", "wasted (%)", "delay (ms)", "helper (% of a core)")


def readMore(samples, kind):
    """How many more bytes came from the storage than without prefetching, in percent."""
    if kind not in samples:
        return "-"
    return f"{100 * (median(samples[kind], 'mib') / median(samples['none'], 'mib') - 1):+.1f}"


def gainCells(row, ratio, read_us, samples):
    used = max(median(found, "mib_s") for found in samples.values()) / BANDWIDTH_MIB_S
    return [row.title, f"{ratio:g}", f"{read_us:.0f}", f"{median(samples['none'], 'seconds'):.2f}",
            shorter(samples, "prefetch"), shorter(samples, "model"), shorter(samples, "ideal"),
            readMore(samples, "prefetch"), *helperCells(samples), f"{100 * used:.0f}"]


def steadyCells(row, read_us, samples):
    def cell(kind):
        return "{:+.2f} ± {:.2f}".format(*interval(longer(samples, kind))) if kind in samples else "-"
    seconds = [f"{median(samples[kind], 'seconds'):.2f}" if kind in samples else "-" for kind in ("none", "prefetch")]
    return [row.title, f"{read_us:.0f}", *seconds, str(len(samples["none"])), cell("again"), cell("prefetch"),
            readMore(samples, "prefetch"), *helperCells(samples)]


def table(columns, lines, markdown):
    if not lines:
        return
    if markdown:
        print("| " + " | ".join(columns) + " |\n|---|" + "---:|" * (len(columns) - 1))
        print("\n".join("| " + " | ".join(line) + " |" for line in lines))
    else:
        widths = [max(map(len, column)) for column in zip(columns, *lines)]
        for line in (columns, *lines):
            print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
    print()


def arguments():
    parser = argparse.ArgumentParser(description="How much shorter omnio prefetch makes runs of readers.")
    parser.add_argument("--rows", default="", help="names, with commas between them (all)")
    parser.add_argument("--ratios", default="0.25,1,4", help="of computing to reading (0.25,1,4)")
    parser.add_argument("--rounds", type=int, default=5, help="of all kinds by turns (5)")
    parser.add_argument("--pairs", type=int, default=20, help="turns of random and contiguous (20)")
    parser.add_argument("--requests", type=int, default=1000, help="of a run (1000)")
    parser.add_argument("--model", action="store_true", help="also with a saved model")
    parser.add_argument("--quick", action="store_true", help="a ratio of 1, 2 rounds, 4 turns, 200 requests")
    parser.add_argument("--markdown", action="store_true", help="prints tables for docs/prefetch.md")
    parser.add_argument("--json", default="", metavar="FILE", help="keeps all samples there")
    parser.add_argument("--directory", default="/tmp", help="where the files are mounted (/tmp)")
    parser.add_argument("--build", type=os.path.abspath, default=BUILD, help="the build (build/release)")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.ratios, chosen.rounds, chosen.pairs, chosen.requests = "1", 2, 4, 200
    if chosen.requests < 32 or 24 * 2 * chosen.requests * REQUEST // 4 > FILE_BYTES:
        parser.error(f"--requests {chosen.requests}: it has to be 32 to {FILE_BYTES // REQUEST // 12}")
    return chosen


def selected(rows, names):
    wanted = [name for name in names.split(",") if name] or [row.name for row in rows]
    unknown = set(wanted) - {row.name for row in rows}
    if unknown:
        sys.exit(f"prefetch.py: --rows: no row is named {', '.join(sorted(unknown))}: "
                 f"{', '.join(row.name for row in rows)}")
    return [row for row in rows if row.name in wanted]


def note(text):
    print(text, file=sys.stderr, flush=True)


def measure(bench, rows, chosen):
    """All samples: a list of (row, ratio, microseconds a read, {kind: samples})."""
    kept = []
    for row in rows:
        if why := row.missing():
            note(f"{row.name}: left out: {why}")
            continue
        read_us = bench.readTime(row, 1 if chosen.quick else 3)
        for ratio in [1.0] if row.steady else map(float, chosen.ratios.split(",")):
            if row.steady:
                samples = bench.steadyTurns(row, read_us, chosen.pairs)
            else:
                samples = bench.byTurns(row, bench.kinds(chosen.model), ratio * read_us, chosen.rounds)
            kept.append((row, ratio, read_us, samples))
            note(f"{row.name}, ratio {ratio:g}: " + ", ".join(
                f"{kind} {median(found, 'seconds'):.3f} s" for kind, found in samples.items()))
    return kept


def main():
    chosen = arguments()
    os.environ["OMNIO_TEST_PROGRAMS"] = os.path.join(chosen.build, "tests", "programs")
    if why := whyNotSlow():
        sys.exit(f"prefetch.py: {why}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what is mounted is unmounted
    if os.getloadavg()[0] > 1:
        note("other programs run on this machine: `nice -n -15 bench/prefetch.py` keeps most of them away")
    with contextlib.ExitStack() as exits:
        made = tempfile.TemporaryDirectory(prefix="omnio-prefetch-", dir=chosen.directory)
        work = exits.enter_context(made)
        files = exits.enter_context(Files(work, chosen.requests))
        rows = selected(allRows(chosen.requests, files.steps()), chosen.rows)
        grouped = any(row.memory and row.missing() is None for row in rows)
        group = exits.enter_context(MemoryGroup()) if grouped else None
        prefetch = Prefetch(os.path.join(chosen.build, "cli", "omnio"), work)
        if not prefetch.is_there:
            note("this build has no `omnio prefetch`: the other kinds alone")
        elif chosen.model and not prefetch.has_models:
            note("this build has no `omnio prefetch --save-model`: the other kinds alone")
        kept = measure(Bench(files, prefetch, group), rows, chosen)
    table(GAIN_COLUMNS, [gainCells(*found) for found in kept if not found[0].steady], chosen.markdown)
    table(STEADY_COLUMNS, [steadyCells(row, read_us, samples) for row, _, read_us, samples in kept
                           if row.steady], chosen.markdown)
    if chosen.json:
        with open(chosen.json, "w", encoding="utf-8") as file:
            json.dump([{"row": row.name, "ratio": ratio, "read_us": read_us, "samples": samples}
                       for row, ratio, read_us, samples in kept], file, indent=1)


if __name__ == "__main__":
    main()
