"""Records a workload on one target, and measures the application and its replays on another."""

import json
import os
import shutil

import figures
from omnio_testing import FLAT, emptied, environment, omnio, run
from workloads import Failed, ok

# Rows whose application varies more are run with more work.
VARIES_PERCENT = 4
# A recording that was disturbed keeps the disturbance as if it were computing, so the one with the
# median time is kept.
RECORDINGS = 3
MEANS = ("--timing-detail", "statistics")


class Recording:
    """What replays need of one recorded run, kept between runs of the campaign."""

    def __init__(self, folder):
        self.folder = folder

    def schedule(self, order):
        return os.path.join(self.folder, f"schedule.{order}.json")

    def means(self, order):
        """The same with loops, and the means of their times."""
        return os.path.join(self.folder, f"schedule.{order}.means.json")

    def facts(self):
        """`outside_s`: the time of the traced run from the end of MPI_Init to the beginning of
        MPI_Finalize that is before its first call of I/O or after its last. `alone_s`: see
        timeWithoutStorage()."""
        with open(os.path.join(self.folder, "facts.json"), encoding="utf-8") as file:
            return json.load(file)

    def isThere(self):
        return os.path.exists(os.path.join(self.folder, "facts.json"))


def timeWithoutStorage(schedule):
    """The seconds from the first to the last call if storage took no time: what the ranks compute and
    what their communication costs, along the order that the schedule keeps."""
    threads = [thread["events"] for rank in schedule["ranks"] for thread in rank["threads"]]
    ends, recorded_ends = {0: 0}, {0: 0}  # of events with an id, in ns
    places = [[0, 0, 0] for _ in threads]  # index of the next event, end of the last, as recorded
    begins, latest = [], 0
    moved = True
    while moved:
        moved = False
        for events, place in zip(threads, places):
            while place[0] < len(events):
                event = events[place[0]]
                after = [item if isinstance(item, dict) else {"id": item}
                         for item in event.get("after", ())]
                if any(item["id"] not in ends for item in after):
                    break
                end = _endOf(event, after, place, ends, recorded_ends)
                begins += [end] if place[0] == 0 else []
                if "id" in event:
                    ends[event["id"]], recorded_ends[event["id"]] = end, event["end"]
                place[:] = [place[0] + 1, end, max(place[2], event["end"])]
                latest = max(latest, end)
                moved = True
    if any(place[0] < len(events) for events, place in zip(threads, places)):
        raise Failed("the events of the schedule wait for each other in a circle")
    return (latest - min(begins, default=0)) / 1e9


def _endOf(event, after, place, ends, recorded_ends):
    """When an event ends whose own I/O takes no time."""
    _, end, recorded_end = place
    pause = event["end"] - event["start"] if event["command"] == "delay" else 0
    if "compute" in event:
        due = end + event["compute"] + event.get("communication", 0)
        for item in after:
            due = max(due, ends[item["id"]] + item.get("compute", 0) + item.get("communication", 0))
        return due + pause
    before = max([end, *[ends[item["id"]] for item in after]])
    recorded = max([recorded_end, *[recorded_ends[item["id"]] for item in after]])
    return before + max(event["start"] - recorded, 0) + pause


class Campaign:
    """Measures rows. `work` is for what lasts as long as one run, `results` for what stays. With
    `by_means`, replays have the means of times, and not the times."""

    def __init__(self, pool, work, results, by_means):
        self._pool, self._work, self._results = pool, work, results
        self._by_means = by_means

    def recording(self, workload, target_name, factor):
        """Records the workload there, unless an earlier run of the campaign did."""
        recording = Recording(os.path.join(self._results, "recordings",
                                           f"{workload.name}.{target_name}.{factor}"))
        if recording.isThere():
            return recording
        emptied(recording.folder)
        traces = [os.path.join(self._work, f"trace.{number}") for number in range(RECORDINGS)]
        lengths = [self._record(workload, target_name, factor, trace) for trace in traces]
        trace = traces[lengths.index(sorted(lengths)[RECORDINGS // 2])]
        for order in ("all", "none"):
            preprocess(trace, recording.schedule(order), order)
            if self._by_means:
                preprocess(trace, recording.means(order), order, *MEANS)
        schedule = flatSchedule(trace, "all")
        facts = {"outside_s": max(spanOfMpi(trace) - spanOf(schedule), 0),
                 "alone_s": timeWithoutStorage(schedule), "recorded_s": lengths}
        with open(os.path.join(recording.folder, "facts.json"), "w", encoding="utf-8") as file:
            json.dump(facts, file)
        for trace in traces:
            shutil.rmtree(trace, ignore_errors=True)
        return recording

    def _record(self, workload, target_name, factor, trace):
        """The seconds from the first to the last call of one traced run."""
        shutil.rmtree(trace, ignore_errors=True)
        directory = self._prepared(self._pool.get(target_name), workload, factor)
        command = getattr(workload, "recorded", workload.command)(factor)
        # What the libraries of a program read while it is loaded is before what is timed.
        words = [omnio(), "trace", "-o", trace, "--exclude", "/*", "--include", f"{directory}/*", "--"]
        ok(workload.launch.run([*words, *command], cwd=directory, env=workload.environment(),
                               timeout=600), f"{workload.name} recorded on {target_name}")
        return spanOf(flatSchedule(trace, "none"))

    def row(self, workload, pair, rounds, factor):
        """The row of one workload and pair: application and replay in dt by turns."""
        recording = self.recording(workload, pair[0], factor)
        facts = recording.facts()
        row = {"workload": workload.name, "from": pair[0], "to": pair[1], "timing": "dt",
               "order": "all", "rounds": rounds, "factor": factor, "ranks": workload.ranks,
               "application": [], "replay": [], "differences": 0}
        for _ in range(rounds):
            row["application"].append(self._application(pair[1], workload, factor, facts))
            seconds, differences = self._replay(workload, pair[1], recording, "dt", "all")
            row["replay"].append(seconds)
            row["differences"] = max(row["differences"], differences)
        whole = figures.median(row["application"])
        row["share"] = max(1 - facts["alone_s"] / whole, 0)
        return row

    def mode(self, workload, pair, timing, order, of):
        """One replay in another mode, beside the application of the row `of`."""
        recording = self.recording(workload, pair[0], of["factor"])
        seconds, differences = self._replay(workload, pair[1], recording, timing, order)
        return {**of, "timing": timing, "order": order, "rounds": 1, "replay": [seconds],
                "differences": differences}

    def _prepared(self, target, workload, factor):
        target.fresh()
        directory = os.path.join(target.path, "run")
        os.mkdir(directory)
        workload.prepare(directory, factor)
        return directory

    def _application(self, target_name, workload, factor, facts):
        directory = self._prepared(self._pool.get(target_name), workload, factor)
        done = ok(workload.launch.run(workload.command(factor), cwd=directory,
                                      env=workload.environment(), timeout=600),
                  f"{workload.name} on {target_name}")
        seconds = workload.seconds(done.out.decode(), facts["outside_s"])
        if seconds <= 0:
            raise Failed(f"{workload.name} on {target_name}: took {seconds} s")
        return seconds

    def _replay(self, workload, target_name, recording, timing, order):
        """The seconds from the first call to the end of the last, and the results that differ."""
        target = self._pool.get(target_name)
        target.fresh()
        output = os.path.join(self._work, "replayed")
        shutil.rmtree(output, ignore_errors=True)
        as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        schedule = recording.means(order) if self._by_means else recording.schedule(order)
        words = [omnio(), "replay", schedule, "--target",
                 os.path.join(target.path, "replay"), "-o", output, "--timing", timing, "--no-trace",
                 *workload.launch.replayWords(workload.ranks)]
        ok(workload.launch.run(words, cwd=self._work, env=environment(**as_root), timeout=600),
           f"{os.path.basename(recording.folder)} replayed on {target_name}", (0, 3))
        with open(os.path.join(output, "replay.json"), encoding="utf-8") as file:
            total = json.load(file)["total"]
        return (total["makespan_ns"] - total["begin_ns"]) / 1e9, total["differences"]


def preprocess(trace, path, order, *options):
    ok(run([omnio(), "preprocess", trace, "-o", path, "--timing", "dt", "--order", order, *options]),
       "preprocess")


def flatSchedule(trace, order):
    """The document of a schedule with a line for each operation."""
    path = f"{trace}.json"
    preprocess(trace, path, order, *FLAT)
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def spanOf(schedule):
    """The seconds from the first to the last recorded call of a schedule."""
    events = [event for rank in schedule["ranks"] for thread in rank["threads"]
              for event in thread["events"]]
    return (max(event["end"] for event in events) - min(event["start"] for event in events)) / 1e9


def spanOfMpi(trace):
    """The seconds from the first end of MPI_Init to the last beginning of MPI_Finalize."""
    begins, ends = [], []
    listed = ok(run([omnio(), "log", trace, "--mpi", "--json"]), "omnio log --mpi")
    for line in listed.out.splitlines():
        event = json.loads(line)
        call = event.get("call", "")  # other lines say what is missing
        if call.startswith("MPI_Init"):
            begins.append(event["end_ns"])
        elif call == "MPI_Finalize":
            ends.append(event["start_ns"])
    return (max(ends) - min(begins)) / 1e9 if begins and ends else 0
