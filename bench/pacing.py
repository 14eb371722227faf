#!/usr/bin/env python3
"""How exactly replays begin calls when they are due, and whether they drift.

  bench/pacing.py [--rates N,...] [--seconds N] [--rounds N] [--directory DIR] [--build DIR]

A program that writes at fixed times, spinning until each is due (pacing.cpp), is recorded once, and
its schedule put to these times. Then the program, `omnio replay --compute spin` in dt and in start, and `fio --read_iolog` where fio is
installed run by turns. Lateness is the time from when a call is due to its start. DIR should be on
tmpfs and not below /dev/shm, which the tracer leaves out.
"""

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile

# pylint: disable=wrong-import-order
from runs import BUILD, Place
from omnio_testing import FLAT

BLOCK = 4096
PLACES = 256  # of the file, as in pacing.cpp


class Sample:
    """`late_ns` is the 99th percentile; `drift` how much longer than it should it took, in percent."""

    def __init__(self, late_ns, took_ns, wanted_ns):
        self.late_ns = late_ns
        self.drift = 100 * (took_ns / wanted_ns - 1)


class Bench:
    """One rate. Files are below `work`, which is on the file system to measure on."""

    def __init__(self, build, work, rate, seconds):
        self._place = Place(build, work)
        self._schedule = self._place.schedule
        self._pacing = os.path.join(build, "bench", "pacing")
        self._rate, self._seconds = rate, seconds
        self._wanted_ns = (rate * seconds - 1) * 10**9 // rate

    def record(self):
        self._place.record(*self._command(), options=FLAT)
        self._makeRegular()

    def _makeRegular(self):
        """Puts the writes where they should have begun. A recorded run was late here and there, and
        made up for it by calls without a pause, which no replay can repeat on time."""
        with open(self._schedule, encoding="utf-8") as file:
            document = json.load(file)
        events = document["ranks"][0]["threads"][0]["events"]
        writes = [event for event in events if event["command"].startswith("pwrite")]
        begin, step = writes[0]["start"], 10**9 // self._rate
        for i, event in enumerate(writes):
            took = min(event["end"] - event["start"], step // 2)
            event["start"] = begin + i * 10**9 // self._rate
            event["end"] = event["start"] + took
        for event in events[events.index(writes[-1]) + 1:]:
            event["start"] = event["end"] = writes[-1]["end"] + step
        with open(self._schedule, "w", encoding="utf-8") as file:
            json.dump(document, file)

    def _command(self):
        return [self._pacing, self._rate, self._seconds, self._place.fresh("file")]

    def loop(self):
        found = json.loads(self._place.run(self._command(), "pacing").out)
        return Sample(found["p99_ns"], found["took_ns"], found["wanted_ns"])

    def replay(self, timing):
        total = self._place.replay("--timing", timing, "--compute", "spin")
        with open(self._schedule, encoding="utf-8") as file:
            events = json.load(file)["ranks"][0]["threads"][0]["events"]
        recorded = events[-1]["end"] - events[0]["start"]
        return Sample(total["lateness_ns"]["p99"], total["makespan_ns"] - total["begin_ns"],
                      recorded)

    def fio(self):
        """Its calls are timed by `omnio trace`."""
        log = self._place.fresh("iolog")
        target = self._place.fresh("fio.file")
        step_us = 10**6 / self._rate
        with open(log, "w", encoding="ascii") as file:
            file.write("fio version 3 iolog\n"
                       f"0 {target} add\n0 {target} open\n")
            for i in range(self._rate * self._seconds):
                file.write(f"{int(i * step_us)} {target} write {i % PLACES * BLOCK} {BLOCK}\n")
            file.write(f"{int(self._seconds * 10**6)} {target} close\n")
        trace = self._place.trace("fio", "--name=replay", f"--read_iolog={log}", "--ioengine=psync",
                                  f"--filesize={PLACES * BLOCK}", "--thread")
        starts = []
        for line in self._place.log(trace).splitlines():
            event = json.loads(line)
            if event.get("call", "").startswith("pwrite") and event.get("file") == target:
                starts.append(event["start_ns"])
        if len(starts) != self._rate * self._seconds:
            sys.exit(f"pacing.py: fio made {len(starts)} of {self._rate * self._seconds} writes")
        late = sorted(max(at - starts[0] - i * 10**9 // self._rate, 0)
                      for i, at in enumerate(starts))
        return Sample(late[(len(late) * 99 + 99) // 100 - 1], starts[-1] - starts[0],
                      self._wanted_ns)


def arguments():
    parser = argparse.ArgumentParser(description="Measures lateness and drift of replays.")
    parser.add_argument("--rates", default="1000,10000", help="calls a second (1000,10000)")
    parser.add_argument("--seconds", type=int, default=60, help="of each run (60)")
    parser.add_argument("--rounds", type=int, default=3, help="of all by turns (3)")
    parser.add_argument("--directory", default="/tmp", help="on the file system to use (/tmp)")
    parser.add_argument("--build", default=BUILD,
                        help="the build to measure (build/release)")
    return parser.parse_args()


def main():
    chosen = arguments()
    for rate in map(int, chosen.rates.split(",")):
        with tempfile.TemporaryDirectory(prefix="omnio-pacing-", dir=chosen.directory) as work:
            bench = Bench(os.path.abspath(chosen.build), work, rate, chosen.seconds)
            bench.record()
            kinds = {"a bare loop": bench.loop, "replay, dt": lambda: bench.replay("dt"),
                     "replay, start": lambda: bench.replay("start")}
            if shutil.which("fio") is not None:
                kinds["fio --read_iolog"] = bench.fio
            samples = {kind: [] for kind in kinds}
            for _ in range(chosen.rounds):
                for kind, measure in kinds.items():
                    samples[kind].append(measure())
        print(f"{rate} writes a second for {chosen.seconds} s, medians of {chosen.rounds}:")
        base = statistics.median(sample.late_ns for sample in samples["a bare loop"])
        for kind, found in samples.items():
            late = statistics.median(sample.late_ns for sample in found)
            drift = statistics.median(sample.drift for sample in found)
            print(f"  {kind:17}  99 % begin within {late / 1e3:9.2f} us ({late / base:7.2f} times "
                  f"the loop's), drift {drift:+.4f} %", flush=True)


if __name__ == "__main__":
    main()
