"""A thread that gets no processor before its first call would have called at once elsewhere: the
schedule says so. One that sleeps before it has slept. How long each waited for a processor is what the
kernel told the program."""

import os

from omnio_testing import Checks, WorkDirectory, omnio, program, run, skipTest, trace
from schedule_expander import expanded

LATE_NS = 40_000_000  # in c_late_threads.c


def main():
    if program("c_late_threads") is None:
        skipTest("c_late_threads was not built")
    if not os.path.exists("/proc/thread-self/schedstat"):
        skipTest("this kernel does not tell how long threads wait for a processor")
    checks = Checks()
    with WorkDirectory() as work:
        directory = os.path.join(work, "trace")
        done = trace(directory, [program("c_late_threads")], cwd=work)
        if done.status == 77:
            skipTest("this process may not have a processor for itself")
        checks.equal(done.status, 0, f"c_late_threads: {done.err!r}")
        path = os.path.join(work, "schedule.json")
        made = run([omnio(), "preprocess", directory, "-o", path, "--timing", "dt"])
        checks.equal(made.status, 0, f"preprocess: {made.err!r}")
        threads = expanded(path)["ranks"][0]["threads"]
        checks.equal(len(threads), 3, "threads")
        # From what each waits for to its first call: what the maker did after that is not in it.
        first = [thread["events"][0] for thread in threads[1:]]
        work_ns = [min(before["compute"] for before in event["after"]) for event in first]
        begun = [event["start"] for event in first]
        (starved_ns, waited_ns), (asleep_ns, _) = [
            [int(word) for word in line.split()] for line in done.out.decode().splitlines()]
        print(f"no processor: {starved_ns} ns, of which {waited_ns} waiting for one, and {work_ns[0]} of "
              f"work; asleep: {asleep_ns} ns, and {work_ns[1]} of work")
        checks.that(waited_ns > LATE_NS / 2, f"it got none for {waited_ns} ns")
        checks.that(begun[0] > LATE_NS, f"the first thread wrote at {begun[0]} ns")
        checks.that(work_ns[0] <= starved_ns - waited_ns,
                    f"no processor: {work_ns[0]} ns of work before its call, in {starved_ns} ns of which it "
                    f"waited {waited_ns}")
        checks.that(LATE_NS <= work_ns[1] <= asleep_ns,
                    f"asleep: {work_ns[1]} ns of work before its call, in {asleep_ns} ns")
    checks.finish()


if __name__ == "__main__":
    main()
