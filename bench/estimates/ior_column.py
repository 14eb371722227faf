"""The estimate by IOR in place of the phase runner: the scripts of `omnio ior`, run on the target."""

import json
import os
import re
import shutil

from omnio_testing import emptied, environment, mpirun, omnio, run
from workloads import YIELD, ok

# Each run starts mpirun, which takes half a second and more.
MOST_RUNS, SECONDS_A_RUN = 400, 2
# IOR that writes in random order where the application does not can take hours.
TIMES_APPLICATION, LEAST_PATIENCE_S = 10, 60
TIMED_OUT = 124  # of timeout(1)


class IorColumn:
    """The scripts for a model. `why_missing` gives the reason where the column is left out. `approximations` has what IOR does
    otherwise, as `omnio ior` says it, with N for all numbers: {sentence: times}."""

    def __init__(self, work, model):
        self.approximations, self.why_missing = {}, None
        self._model, self._scripts = model, os.path.join(work, "ior")
        if shutil.which("ior") is None:
            self.why_missing = "ior is not installed"
            return
        emptied(self._scripts)
        ok(run([omnio(), "ior", model, "--emit", self._scripts, "--iterations", "1"], timeout=600),
           "omnio ior")
        with open(os.path.join(self._scripts, "ior-plan.json"), encoding="utf-8") as text:
            plan = json.load(text)
        for family in plan["families"]:
            for sentence in family["approximations"]:
                sentence = re.sub(r"\d+", "N", sentence)
                self.approximations[sentence] = self.approximations.get(sentence, 0) + 1
        runs = len(plan["runs"])
        self._patience_s = LEAST_PATIENCE_S + SECONDS_A_RUN * runs
        if runs > MOST_RUNS:
            self.why_missing = f"{runs} runs of ior would be needed"

    def estimated(self, target, application_s, before=()):
        """Time_io after one run of all phases, or None where IOR refuses one, or takes much longer than
        the application. `before` are words before the command."""
        results = emptied(os.path.join(self._scripts, "results"))
        target.fresh()
        launcher = mpirun(1)[:-2]  # the scripts add -n
        limit_s = round(self._patience_s + TIMES_APPLICATION * application_s)
        # timeout(1) ends the ranks, too.
        done = run([*before, "timeout", "-k", 20, limit_s, "sh",
                    os.path.join(self._scripts, "run-all.sh")], timeout=limit_s + 300,
                   env=environment(TARGET=target.path, RESULTS=results,
                                   LAUNCHER=" ".join(launcher), **YIELD))
        if done.status == TIMED_OUT:
            self.why_missing = f"ior took more than {limit_s} s, the application {application_s:.0f} s"
            return None
        if done.status != 0:
            errors = re.findall(r"^ERROR: (.*?),? \(", (done.out + done.err).decode(), re.MULTILINE)
            self.why_missing = f"ior ends with an error: {errors[0] if errors else done.status}"
            return None
        done = ok(run([omnio(), "estimate", self._model, f"{results}/ior-plan.json", "--json"],
                      timeout=600), "omnio estimate, results of ior")
        return json.loads(done.out)["total"]["time_io_s"]["median"]
