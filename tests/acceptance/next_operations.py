"""omnio predict --at: the operations that come next at a moment of a run, beside those that came."""

import json
import os
import re

from omnio_testing import Checks, WorkDirectory, program, trace
from prediction_cases import predict

TURNS = 40


def nextAt(directory, seconds, count, *more):
    return predict(directory, "--at", f"{seconds:.9f}", "--next", str(count), *more)


def recorded(checks, work, name):
    directory, run = os.path.join(work, f"{name}.trace"), os.path.join(work, name)
    os.mkdir(run)
    done = trace(directory, [program("c_patterns"), "restart", str(TURNS)], cwd=run)
    checks.equal(done.status, 0, f"{name}: the program's exit status")
    return directory


def checkModel(checks, work, earlier):
    """What an earlier run has taught is known at the begin of another one."""
    model = os.path.join(work, "restart.model")
    checks.equal(predict(earlier, "--save-model", model).status, 0, "--save-model")
    later = recorded(checks, work, "later")
    first = re.search(rb"the first operation on a file ends at ([0-9.]+) s", nextAt(later, 0, 1).err)
    moment = float(first.group(1)) + 1e-6  # it is rounded

    def right(*more):
        lines = json.loads(nextAt(later, moment, 8, "--json", *more).out)["threads"][0]["next"]
        return [line["right"] for line in lines].count(True)

    # The writes of the first file, and its close.
    checks.equal([right("--model", model), right("--learn-from", earlier)], [8, 8], "right, with an earlier run")
    checks.equal(right(), 0, "right without one")
    text = os.path.join(work, "text")
    with open(text, "w", encoding="ascii") as file:
        file.write("text")
    done = nextAt(later, moment, 1, "--model", text)
    checks.that(done.status == 1 and b"not a prediction model" in done.err, f"no model: {done}")


def main():
    checks = Checks()
    with WorkDirectory() as work:
        directory = recorded(checks, work, "first")
        # In the middle, where an operation has just ended.
        first = json.loads(nextAt(directory, 0.001, 400, "--json").out)
        came = [line["came"] for line in first["threads"][0]["next"] if line["came"]]
        moment = came[len(came) // 2]["end_ns"] / 1e9
        done = nextAt(directory, moment, 12, "--json")
        checks.equal(done.status, 0, "exit status")
        document = json.loads(done.out)
        checks.equal((document["format"], document["version"]), ("omnio-next-operations", 1),
                     "format and version")
        lines = document["threads"][0]["next"]
        checks.equal(len(lines), 12, "operations")
        checks.that(all(line["right"] for line in lines), f"all are right: {lines}")
        checks.that(all(line["predicted"]["until_ns"] is not None for line in lines),
                    "each has a time")
        times = [line["predicted"]["until_ns"] for line in lines]
        checks.equal(times, sorted(times), "the times grow")
        checks.that({line["predicted"]["call"] for line in lines} == {"open", "write", "close"},
                    "calls")
        text = nextAt(directory, moment, 12).out.decode()
        checks.equal(text.count(" yes "), 12, "operations of the text that are right")
        after = nextAt(directory, 1e6, 1)
        checks.equal(after.status, 1, "exit status after the end")
        checks.that(b"none is left to predict" in after.err, f"what it says: {after.err}")
        checks.equal(predict(directory, "--next", "3").status, 2, "--next without --at")
        checkModel(checks, work, directory)
    checks.finish()


if __name__ == "__main__":
    main()
