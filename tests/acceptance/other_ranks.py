"""Schedules at other numbers of ranks (`omnio preprocess --ranks`): made of traces at 4 and 16 ranks, or of one
trace, they are those of the program with 64 ranks, operation for operation. What is not affine in the rank and
the number of ranks is refused by name."""

import os
import shutil

from omnio_testing import Checks, WorkDirectory, emptied, environment, mpirun, omnio, program, run, trace
from replay_testing import MPI_ENVIRONMENT, replay
from scaled_testing import checkLate, checkSame, load

FEW, SOME, MANY = 4, 16, 64


class Traces:
    """Traces of programs at some numbers of ranks, always made in the same directory."""

    def __init__(self, checks, work):
        self.checks, self.work = checks, work
        self.directory = os.path.join(work, "run")

    def at(self, ranks, command, sizes=()):
        """`sizes`: (name, bytes) of files that are there before."""
        emptied(self.directory)
        for name, size in sizes:
            with open(os.path.join(self.directory, name), "wb") as file:
                file.truncate(size)
        result = os.path.join(self.work, f"{ranks}.trace")
        shutil.rmtree(result, ignore_errors=True)
        done = trace(result, [*mpirun(ranks), *command], cwd=self.directory, env=environment(**MPI_ENVIRONMENT))
        self.checks.equal(done.status, 0, f"{ranks} ranks: trace: {done}")
        return result

    def scheduled(self, name, traces, *options):
        path = os.path.join(self.work, f"{name}.json")
        made = run([omnio(), "preprocess", *traces, "-o", path, *options])
        print(made.out.decode(), made.err.decode(), end="")
        self.checks.equal(made.status, 0, f"{name}: preprocess {options}: {made}")
        return path


def cases(directory):
    """(name, command, layer, options, whether the order is the same in each run)"""
    for mode in ("files", "blocks", "turns", "constant", "two"):
        yield f"c_ranks {mode}", [program("c_ranks"), directory, mode, "4"], "posix", (), True
    yield ("c_ranks total", [program("c_ranks"), directory, "total", "4"], "posix", ("--scaling", "strong"), True)
    yield "c_mpi_turns", [program("c_mpi_turns"), directory, "5"], "posix", (), True
    yield "fortran_ranks", [program("fortran_ranks"), "4"], "posix", (), False
    for mode in ("nn", "n1"):
        yield f"c_mpi_io {mode} posix", [program("c_mpi_io"), directory, mode, "4096", "3", "read"], "posix", (), False
    for mode in ("nn", "n1", "strided", "view", "vector", "subarray", "individual"):
        yield f"c_mpi_io {mode} mpi", [program("c_mpi_io"), directory, mode, "4096", "3", "read"], "mpi", (), False


def checkCase(checks, work, case):
    name, command, layer, options, has_order = case
    if None in command:
        checks.skip(name, "not built here")
        return
    traces = Traces(checks, work)
    order = () if has_order or layer == "mpi" else ("--order", "none")
    few, some, many = (traces.at(ranks, command) for ranks in (FEW, SOME, MANY))
    wanted = load(traces.scheduled("wanted", [many], "--layer", layer, *order))
    for form in ("flat", "compact"):
        got = load(traces.scheduled("got", [few, some], "--layer", layer, *order, "--ranks", str(MANY), "--form", form,
                                    *options))
        compared = checkSame(checks, got, wanted, f"{name}, {form}", has_order)
        checks.equal(got["global"]["ranks"], MANY, f"{name}: ranks")
        checks.equal(got["global"].get("mpi"), wanted["global"].get("mpi"), f"{name}: groups and types")
    # What was recorded comes out again.
    for ranks, directory in ((FEW, few), (SOME, some)):
        again = load(traces.scheduled("again", [few, some], "--layer", layer, *order, "--ranks", str(ranks), *options))
        compared += checkSame(checks, again, load(traces.scheduled("own", [directory], "--layer", layer, *order)),
                              f"{name}: {ranks} ranks again", has_order)
    checks.that(compared > 10 * MANY, f"{name}: there is something to compare")
    print(f"{name}: {compared} operations compared", flush=True)


def checkOneTrace(checks, work):
    """From one number of ranks; where that cannot tell how ranks take turns, --assume does."""
    traces = Traces(checks, work)
    for name, command, ranks, layer, assumption in (
            ("files", [program("c_ranks"), traces.directory, "files", "4"], 8, "posix", None),
            ("blocks", [program("c_ranks"), traces.directory, "blocks", "4"], 8, "posix", None),
            ("turns", [program("c_ranks"), traces.directory, "turns", "4"], 8, "posix", "strided-by-ranks"),
            ("constant", [program("c_ranks"), traces.directory, "constant", "4"], 8, "posix", "constant"),
            ("two", [program("c_ranks"), traces.directory, "two", "4"], 8, "posix", "strided-by-ranks"),
            ("c_mpi_turns", [program("c_mpi_turns"), traces.directory, "5"], FEW, "posix", "strided-by-ranks"),
            ("n1 mpi", [program("c_mpi_io"), traces.directory, "n1", "4096", "3"], FEW, "mpi", None),
            ("strided mpi", [program("c_mpi_io"), traces.directory, "strided", "4096", "3"], FEW, "mpi",
             "strided-by-ranks")):
        recorded = traces.at(ranks, command)
        wanted = load(traces.scheduled("wanted", [traces.at(MANY, command)], "--layer", layer))
        options = ("--layer", layer, "--ranks", str(MANY))
        if assumption:
            refused = run([omnio(), "preprocess", recorded, "-o", os.path.join(work, "never.json"), *options])
            says = refused.err.decode()
            checks.that(refused.status == 1 and "a trace at one number of ranks cannot tell whether" in says and
                        "offset of" in says, f"{name}: without --assume: {refused}")
            options += ("--assume", assumption)
        checkSame(checks, load(traces.scheduled("got", [recorded], *options)), wanted, f"{name}, of one trace",
                  layer == "posix")


def lengthOf(schedule):
    """ns until the last event begins, where calls take no time: the work on the longest way through the waits."""
    threads = {(rank["rank"], thread["thread"]): thread["events"]
               for rank in schedule["ranks"] for thread in rank["threads"]}
    ends, own = {0: 0}, dict.fromkeys(threads, 0)
    left = [(place, event) for place, events in threads.items() for event in events]
    while left:
        later, blocked = [], set()
        for place, event in left:
            waits = [wait if isinstance(wait, dict) else {"id": wait} for wait in event.get("after", [])]
            waited = [(number, wait) for wait in waits for number in
                      range(wait["id"], wait["id"] + wait.get("repeat", 1) * wait.get("step", 1), wait.get("step", 1))]
            if place in blocked or any(number not in ends for number, _ in waited):
                blocked.add(place)
                later.append((place, event))
                continue
            works = [ends[number] + workOf(wait) for number, wait in waited]
            own[place] = max([own[place] + workOf(event), *works])
            if "id" in event:
                ends[event["id"]] = own[place]
        if len(later) == len(left):
            raise ValueError("events wait for each other in a circle")
        left = later
    return max(own.values())


def workOf(item):
    works = [item.get("compute", 0), item.get("communication", 0)]
    return sum(max(work) if isinstance(work, list) else work for work in works)


def checkWork(checks, work):
    """The work of ranks between meetings is as long in a scaled schedule."""
    traces, steps, each = Traces(checks, work), 4, 100_000_000
    command = [program("c_ranks"), traces.directory, "work", str(steps)]
    few, some = traces.at(FEW, command), traces.at(SOME, command)
    for name, directories, ranks in (("recorded", [some], ()), ("same", [few, some], ("--ranks", str(SOME))),
                                     ("more", [few, some], ("--ranks", str(MANY)))):
        length = lengthOf(load(traces.scheduled(name, directories, *ranks)))
        print(f"work, {name}: {length} ns")
        checks.that(length >= steps * each, f"work, {name}: {length} ns, less than the program slept")


def checkLateRanks(checks, work):
    """Ranks wait for the work of others before their first calls, at each number of ranks."""
    traces = Traces(checks, work)
    command = [program("c_ranks"), traces.directory, "late", "4"]
    few, some, many = (traces.at(ranks, command) for ranks in (FEW, SOME, MANY))
    wanted = load(traces.scheduled("wanted", [many]))
    checkLate(checks, wanted, "late, recorded")
    for form in ("flat", "compact"):
        got = load(traces.scheduled("got", [few, some], "--ranks", str(MANY), "--form", form))
        checkLate(checks, got, f"late, {form}")
        checkSame(checks, got, wanted, f"late, {form}")


def checkRefused(checks, work):
    traces = Traces(checks, work)
    never = os.path.join(work, "never.json")

    def refused(directories, status, sentence, *options):
        done = run([omnio(), "preprocess", *directories, "-o", never, *options])
        says = done.err.decode().splitlines()
        checks.equal(done.status, status, f"{options}: exit status: {says}")
        checks.that(says and says[0].startswith(f"omnio: {sentence}"), f"{options}: {says}, not {sentence}")
        checks.equal([name for name in os.listdir(work) if name.startswith("never")], [],
                     f"{options}: what it leaves")

    grid = [traces.at(ranks, [program("c_ranks"), traces.directory, "grid", "4"]) for ranks in (FEW, SOME)]
    refused(grid, 1, f"--ranks {MANY}: offset of pwrite on ", "--ranks", str(MANY))
    two = traces.at(2, [program("c_ranks"), traces.directory, "files", "4"])
    sentence = (f"--ranks {MANY}: call 3 of rank 0 (pwrite) waits for the other one of 2 ranks, which may be all others "
                "or the next one: give traces at 3 ranks or more, or --order none")
    refused([two], 1, sentence, "--ranks", str(MANY))
    refused([two, traces.at(SOME, [program("c_ranks"), traces.directory, "files", "4"])], 1, sentence, "--ranks",
            str(MANY))
    lists = [traces.at(ranks, [program("c_ranks"), traces.directory, "lists", "4"]) for ranks in (FEW, SOME)]
    refused(lists, 1, f"--ranks {MANY}: call 14 of rank 0 of 4 and rank 0 of 16 is close and write: they make 15 and 27 "
            "calls, 1 more for each rank; loops with a turn for each rank cannot be scaled", "--ranks", str(MANY))
    refused([lists[0], lists[0]], 1, f"--ranks {MANY}: both traces are of 4 ranks: they tell no more than one",
            "--ranks", str(MANY))
    refused(lists, 2, "a second trace is for --ranks alone")
    refused(lists, 2, "--assume: two traces tell it", "--ranks", "8", "--assume", "constant")
    refused(lists[:1], 2, "--scaling strong: a trace at one number of ranks cannot tell what they share", "--ranks",
            "8", "--scaling", "strong")
    total = [traces.at(ranks, [program("c_ranks"), traces.directory, "total", "4"]) for ranks in (FEW, SOME)]
    refused(total, 1, f"--ranks {MANY}: count of pwrite on ", "--ranks", str(MANY))
    refused(total, 1, "--ranks 7: ", "--ranks", "7", "--scaling", "strong")
    # A file of 32,000 bytes before 4 ranks and of 8,000 before 16 ones.
    fallen = [traces.at(ranks, ["dd", "if=/dev/zero", "of=shared.dat", "conv=notrunc", "bs=16", "count=1"],
                        [("shared.dat", 128000 // ranks)]) for ranks in (FEW, SOME)]
    refused(fallen, 1, f"--ranks {MANY}: the size before the run of ", "--ranks", str(MANY))
    bt = [traces.at(ranks, [program("c_kernels"), "btio-full", "24", "3", "0"]) for ranks in (FEW, SOME)]
    refused(bt, 1, f"--ranks {MANY}: call 1 of ranks 0 to 3 of 4 and ranks 0 to 15 of 16 (MPI_File_set_view on "
            "btio.full.out) differs in the form of its filetype", "--ranks", str(MANY), "--layer", "mpi")


def checkKeptSizes(checks, work):
    """One trace cannot tell how long a shared input is: the schedule and a sentence say that it stays."""
    traces = Traces(checks, work)
    recorded = traces.at(FEW, ["dd", "if=input.dat", "of=/dev/null", "bs=1000", "count=3"], [("input.dat", 3000)])
    path = os.path.join(work, "kept.json")
    done = run([omnio(), "preprocess", recorded, "-o", path, "--ranks", str(SOME)])
    checks.equal(done.status, 0, f"a shared input: {done}")
    sentence = ("how the sizes of 1 files from before the run depend on the number of ranks, which a trace at one "
                "number cannot tell: each is as long as recorded")
    checks.that(sentence in done.err.decode(), f"a shared input: {done.err.decode()}")
    made = load(path)
    checks.that(sentence in made["global"]["source"]["left_out"], "a shared input: what the schedule says")
    checks.equal([file["size"] for file in made["files"] if file["exists"]], [3000], "a shared input: its size")


def checkReplay(checks, work):
    """The scaled schedule is replayed, and leaves the files of the program with so many ranks."""
    traces = Traces(checks, work)
    command = [program("c_ranks"), traces.directory, "turns", "4"]
    few, some = traces.at(FEW, command), traces.at(8, command)
    schedule = traces.scheduled("ranks", [few, some], "--ranks", "12", "--timing", "asap", "--map",
                                f"{traces.directory}=files")
    output = os.path.join(work, "replayed")
    done = replay(schedule, os.path.join(work, "target"), output, "--fresh")
    checks.equal(done.status, 0, f"replay: {done}")
    verified = run([omnio(), "verify", schedule, output])
    checks.equal(verified.status, 0, f"verify: {verified.out.decode()[-600:]}")
    traces.at(12, command)
    checks.equal(os.path.getsize(os.path.join(work, "target", "tree", "files", "shared.dat")),
                 os.path.getsize(os.path.join(traces.directory, "shared.dat")), "the file that the replay leaves")


def main():
    checks = Checks()
    with WorkDirectory() as work:
        if mpirun(MANY) is None:
            checks.skip("other ranks", "needs MPI")
        else:
            for case in cases(os.path.join(work, "run")):
                with checks.case(case[0]):
                    checkCase(checks, work, case)
            for name, check in (("one trace", checkOneTrace), ("work", checkWork), ("late", checkLateRanks),
                                ("kept sizes", checkKeptSizes), ("refusals", checkRefused), ("replay", checkReplay)):
                with checks.case(name):
                    check(checks, work)
    checks.finish()


if __name__ == "__main__":
    main()
