"""omnio predict --at: the operations that come next at a moment of a run, beside those that came."""

import json
import os

from omnio_testing import Checks, WorkDirectory, program, trace
from prediction_cases import predict

TURNS = 40


def nextAt(directory, seconds, count, *more):
    return predict(directory, "--at", f"{seconds:.9f}", "--next", str(count), *more)


def main():
    checks = Checks()
    with WorkDirectory() as work:
        directory = os.path.join(work, "t.trace")
        run = os.path.join(work, "run")
        os.mkdir(run)
        done = trace(directory, [program("c_patterns"), "restart", str(TURNS)], cwd=run)
        checks.equal(done.status, 0, "the program's exit status")
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
    checks.finish()


if __name__ == "__main__":
    main()
