"""omnio predict --save-model and --model: what a run has taught is in one small file, from which the
next run is predicted from its first operation on, in another directory and at other addresses."""

import json
import os

from omnio_testing import Checks, WorkDirectory, mpirun, program, trace
from prediction_cases import patterns, percent, predict, predicted

FIRST = 100
# Beside the name of what the models learnt from, documents have times that were measured.
MEASURED = ("path", "update_ns")


def record(work, name, command):
    """The trace of a run in a directory of its own."""
    run = os.path.join(work, *name.split("/"), "out")
    os.makedirs(run)
    directory = os.path.join(work, name.replace("/", "-") + ".trace")
    done = trace(directory, command, options=["--callstack=auto"], cwd=run)
    if done.status != 0:
        raise RuntimeError(str(done))
    return directory


def save(directory, model, *options):
    done = predict(directory, "--save-model", model, *options)
    if done.status != 0:
        raise RuntimeError(str(done))
    return model


def endOfFirst(directory, count):
    """The window in which the first operations of the trace are."""
    low, high = 0, 1 << 40
    while high - low > 1:
        middle = (low + high) // 2
        window = ("--window", f"0..{middle / 1e9:.9f}")
        done = predict(directory, "--json", *window)
        there = (json.loads(done.out)["total"]["whole_run"]["grammar"]["operations"]
                 if done.status == 0 else 0)
        if there == count:
            return window
        low, high = (middle, high) if there < count else (low, middle)
    raise RuntimeError(f"{directory}: no window has {count} operations")


def comparable(node):
    if isinstance(node, dict):
        return {key: comparable(value) for key, value in node.items() if key not in MEASURED}
    return [comparable(one) for one in node] if isinstance(node, list) else node


def checkFirst(checks, work):
    """The first hundred operations of the next run."""
    for name, command in (("hdf5", [program("c_hdf5_gzip"), "same", "6"]),
                          ("restart", patterns("restart")(30))):
        if None in command:
            checks.skip(f"first {FIRST} of {name}", "it is not built here")
            continue
        earlier = record(work, f"a/{name}-1", command)
        later = record(work, f"b/{name}-2", command)
        model = save(earlier, os.path.join(work, f"{name}.model"))
        window = endOfFirst(later, FIRST)
        own = predicted(later, "--model", model, *window)["total"]["whole_run"]["grammar"]
        anew = predicted(later, *window)["total"]["whole_run"]["grammar"]
        size = os.path.getsize(model)
        print(f"{name}: of the first {FIRST} operations, {own['contexts_right']} contexts and "
              f"{own['whole_right']} as a whole, without the model {anew['contexts_right']} and "
              f"{anew['whole_right']}; the model has {size} bytes", flush=True)
        checks.equal(own["operations"], FIRST, f"{name}: operations in the window")
        for key, of in (("contexts_right", "operations"), ("whole_right", "operations"),
                        ("offsets_right", "placed"), ("sizes_right", "sized")):
            checks.that(percent(own[key], own[of]) >= 95, f"{name}: {key}: {own[key]} of {own[of]}")
        checks.that(anew["whole_right"] < own["whole_right"], f"{name}: without it fewer are right")
        checks.that(size < 1 << 20, f"{name}: the model has {size} bytes")


def checkSame(checks, work):
    """A model says what the trace that it was made from would say; and it goes on."""
    commands = [("patterns", patterns("irregular", "7")(300)),
                ("threads", [program("c_patterns"), "threads", "60", "16"])]
    start = mpirun(4)
    if start and program("c_kernels"):
        commands.append(("ranks", [*start, program("c_kernels"), "btio-simple", "8", "3"]))
    for name, command in commands:
        earlier, later = (record(work, f"{name}/{run}", command) for run in (1, 2))
        model = save(earlier, os.path.join(work, f"{name}.model"))
        by_trace = predicted(later, "--learn-from", earlier)
        by_model = predicted(later, "--model", model)
        checks.equal(comparable(by_model), comparable(by_trace), f"{name}: by model and by trace")
        checks.equal(by_model["learnt_from"]["path"], model, f"{name}: what it learnt from")
        both = save(later, os.path.join(work, f"{name}-2.model"), "--model", model)
        operations = predicted(later, "--model", both)["learnt_from"]["operations"]
        checks.equal(operations, sum(one["total"]["whole_run"]["grammar"]["operations"]
                                     for one in (predicted(earlier), predicted(later))),
                     f"{name}: both runs are in the model of the second")


def checkBad(checks, work):
    good = os.path.join(work, "patterns.model")
    later = os.path.join(work, "patterns-2.trace")
    with open(good, "rb") as file:
        content = file.read()

    def refused(status, sentence, *words):
        done = predict(later, *words)
        checks.equal(done.status, status, f"{words}: exit status")
        checks.equal(done.err.decode().splitlines()[:1], [f"omnio: {sentence}"],
                     f"{words}: what it says")

    def refusedBytes(name, changed, sentence):
        model = os.path.join(work, name)
        with open(model, "wb") as file:
            file.write(changed)
        refused(1, f"{model}: {sentence}", "--model", model)

    damaged = "the prediction model is damaged at byte"
    refusedBytes("flipped", content[:12] + bytes([content[12] ^ 1]) + content[13:],
                 f"{damaged} 12: the checksum of the contexts of rank 0 is another one")
    refusedBytes("cut", content[:-1], f"{damaged} {len(content) - 1 - 24}: its end is missing")
    refusedBytes("empty", b"", "not a prediction model: omnio predict --save-model writes one")
    refusedBytes("newer", content[:8] + b"\x02" + content[9:],
                 "a prediction model of version 2, and this omnio reads version 1")
    none = os.path.join(work, "none", "app.model")
    refused(1, f"{none}: No such file or directory", "--model", none)
    refused(1, f"cannot write {none}: No such file or directory", "--save-model", none)
    refused(2, "--learn-from excludes --model", "--model", good, "--learn-from", later)
    other = save(record(work, "other", ["cat", good]), os.path.join(work, "other.model"))
    refused(1, f"{other}: it is a run of cat, and {later} one of c_patterns: what one application "
            "has taught says nothing of another", "--model", other)
    # A model that is there stays as it is where a new one cannot be made.
    done = predict(later, "--save-model", good, "--path", "*/none")
    checks.equal(done.status, 1, f"nothing is selected: exit status ({done})")
    with open(good, "rb") as file:
        checks.equal(file.read(), content, "nothing is selected: the model of before")
    checks.equal([name for name in os.listdir(work) if name.endswith(".tmp")], [], "drafts")


def main():
    checks = Checks()
    with WorkDirectory() as work:
        with checks.case("the first operations"):
            checkFirst(checks, work)
        with checks.case("the same as by the trace"):
            checkSame(checks, work)
        with checks.case("bad input"):
            checkBad(checks, work)
    checks.finish()


if __name__ == "__main__":
    main()
