"""Files in the memory of a node (/dev/shm): they are recorded as any others, by the calls for shared
memory too; what libraries of MPI and the tracer keep there is not. A replay has them in memory again,
and leaves nothing there; a phase model leaves them out, and says how much that is.
"""

import json
import os

from omnio_testing import (FLAT, Checks, WorkDirectory, manifest, mpirun, omnio, program, readLog, run,
                           stats, trace, usesMpich)

MIB = 4
# Three files are written and read.
MOVED = 6 * MIB << 20


def checkRecording(checks, directory, name):
    report = stats(directory)["trace"]
    checks.equal((report["whole"], report["reasons"]), (True, []), "recording: whole")
    half = MOVED // 2
    checks.equal((report["bytes_seen"]["read"], report["bytes_seen"]["written"]), (half, half + 4096),
                 "recording: bytes")
    calls = {}
    for event in readLog(directory):
        if (event.get("file") or "").startswith("/dev/shm/"):
            key = (event["call"], event["file"][len("/dev/shm/"):])
            calls[key] = calls.get(key, 0) + 1
    wanted = {("unlink", name): 1, ("shm_open", name + ".posix"): 2,
              ("shm_unlink", name + ".posix"): 2, ("mkdir", name + ".d"): 1,
              ("unlink", name + ".d/file"): 1, ("rmdir", name + ".d"): 1}
    for file in (name, name + ".posix", name + ".d/file"):
        wanted.update({("write", file): MIB, ("pread", file): MIB, ("close", file): 1})
    for file in (name, name + ".d/file"):
        wanted["open", file] = 1
    checks.equal(calls, wanted, "recording: calls")


def checkReplay(checks, work, directory, name):
    schedule = os.path.join(work, "schedule.json")
    made = run([omnio(), "preprocess", directory, "-o", schedule, *FLAT])
    checks.equal(made.status, 0, f"preprocess: {made}")
    checks.that(b"in memory: 4 of the files, below @memory, were on the tmpfs of their nodes; calls "
                b"moved %d bytes to and from them" % MOVED in made.out, f"preprocess: {made.out!r}")
    with open(schedule, encoding="utf-8") as file:
        document = json.load(file)
    locations = {file["location"] for file in document["files"]}
    checks.equal(locations, {"@memory/dev/shm/" + name + end for end in ("", ".posix", ".d", ".d/file")}
                 | {"kept"}, "schedule: locations")
    checks.equal(document["global"]["source"]["in_memory"], {"files": 4, "bytes": MOVED},
                 "schedule: in_memory")
    checks.that("shm_" not in json.dumps(document["threads"] if "threads" in document else ""),
                "schedule: calls on files alone")

    target, output = os.path.join(work, "target"), os.path.join(work, "replay")
    before = set(os.listdir("/dev/shm"))
    done = run([omnio(), "replay", schedule, "--target", target, "-o", output])
    checks.equal(done.status, 0, f"replay: {done}")
    checks.that(b"In memory: 4 files below /dev/shm of the nodes, removed at the end; recorded calls "
                b"moved 24.0 MiB to and from them" in done.out, f"replay: {done.out!r}")
    left = [entry for entry in set(os.listdir("/dev/shm")) - before
            if entry.startswith(("replay-omnio-", name))]
    checks.equal(left, [], "replay: left in memory")
    names = sorted(os.path.relpath(os.path.join(parent, entry), target)
                   for parent, folders, files in os.walk(target) for entry in folders + files)
    checks.equal(names, [".omnio-replay", "tree", "tree/kept"], "replay: in the target")
    verified = run([omnio(), "verify", schedule, output])
    checks.equal(verified.status, 0, f"verify: {verified}")
    with open(os.path.join(output, "replay.json"), encoding="utf-8") as file:
        report = json.load(file)
    checks.equal(report["in_memory"], {"files": 4, "bytes": MOVED, "bytes_prepared": 0},
                 "report: in_memory")
    # Reports on the replay have the application's names.
    report = stats(output)["trace"]
    checks.equal(report["bytes_seen"]["written"], MOVED // 2 + 4096, "trace of the replay: bytes")
    # A user who wants them on storage says so.
    mapped = run([omnio(), "preprocess", directory, "-o", schedule, "--map", "/dev/shm=stage", *FLAT])
    checks.equal(mapped.status, 0, f"--map: {mapped}")
    checks.that(b"in memory" not in mapped.out, f"--map: {mapped.out!r}")


def checkPhases(checks, work, directory):
    model = os.path.join(work, "phases.json")
    made = run([omnio(), "phases", directory, "-o", model])
    checks.equal(made.status, 0, f"phases: {made}")
    with open(model, encoding="utf-8") as file:
        text = file.read()
    checks.that("/dev/shm" not in json.dumps(json.loads(text)["files"]), "phases: files")
    checks.that(f"{MOVED} bytes of files in the memory of nodes" in text, f"phases: {text[-600:]}")


def checkRunThere(checks, work):
    """What a run that began there has for storage does not count as memory."""
    place = f"/dev/shm/run-{os.path.basename(work)}"
    os.makedirs(place)
    try:
        directory = os.path.join(work, "there")
        done = trace(directory, ["cp", "/proc/self/status", "copy"], cwd=place)
        checks.equal(done.status, 0, f"there: {done}")
        schedule = os.path.join(work, "there.json")
        made = run([omnio(), "preprocess", directory, "-o", schedule, *FLAT])
        with open(schedule, encoding="utf-8") as file:
            locations = {file["location"] for file in json.load(file)["files"]}
        checks.that("copy" in locations, f"there: {locations}; {made}")
    finally:
        run(["rm", "-rf", place])


def checkMpi(checks, work):
    """Libraries of MPI keep what ranks share in files of their own."""
    words = mpirun(2)
    if words is None or program("c_mpi") is None:
        checks.skip("mpi", "there is no MPI")
        return
    library = "mpich" if usesMpich() else "openmpi"
    directory = os.path.join(work, "mpi-" + library)
    run_directory = os.path.join(work, "run-" + library)
    os.makedirs(run_directory)
    done = trace(directory, [*words, program("c_mpi"), run_directory], cwd=run_directory)
    checks.equal(done.status, 0, f"{library}: {done}")
    seen = sorted({event["file"] for event in readLog(directory)
                   if (event.get("file") or "").startswith("/dev/shm")})
    checks.equal(seen, [], f"{library}: recorded of the library's own")
    left_out = {entry["pattern"]: entry for entry in manifest(directory)["filters"]["left_out"]}
    own = "/dev/shm/mpich_*" if usesMpich() else "/dev/shm/vader_segment.*"
    checks.that(own in left_out and left_out[own]["calls"] > 0, f"{library}: {sorted(left_out)}")


def main():
    checks = Checks()
    with WorkDirectory() as work:
        if not usesMpich():
            name = "omnio-files-" + os.path.basename(work)
            directory = os.path.join(work, "trace")
            os.makedirs(os.path.join(work, "run"))
            done = trace(directory, [program("c_memory_files"), name, MIB],
                         cwd=os.path.join(work, "run"))
            checks.equal(done.status, 0, f"{done}")
            with checks.case("recording"):
                checkRecording(checks, directory, name)
            with checks.case("replay"):
                checkReplay(checks, work, directory, name)
            with checks.case("phases"):
                checkPhases(checks, work, directory)
            with checks.case("run there"):
                checkRunThere(checks, work)
        with checks.case("mpi"):
            checkMpi(checks, work)
    checks.finish()


if __name__ == "__main__":
    main()
