"""What is recorded is under control: stopped and started from inside and by a signal, in all forms
of programs, a log of limited size, settings from the command line, the environment and files.
"""

import os
import re
import signal
import subprocess
import time

from omnio_testing import (FLAVOURS, PATIENCE_S, Checks, WorkDirectory, emptied, environment,
                           manifest, mpirun, omnio, preloadLibrary, program, readLog, run, stats,
                           trace)

WRITES = ("write", "pwrite64")


def written(directory):
    """{file name: [sizes]} of the writes in a trace, in the order they were made."""
    result = {}
    for event in readLog(directory):
        if event["call"] in WRITES:
            name = os.path.basename(event.get("file") or "?")
            result.setdefault(name, []).append(event["result"])
    return result


def flavoursHere():
    return [flavour for flavour in FLAVOURS
            if os.path.exists(os.path.join(os.environ["OMNIO_TEST_LIBRARIES"],
                                           f"libomnio_{flavour}.so"))]


class Control:
    def __init__(self, checks, work):
        self.checks, self.work, self.count = checks, work, 0

    def traced(self, case, name="c_control", flavour=None, options=(), **more):
        self.count += 1
        to = os.path.join(self.work, f"trace{self.count}")
        files = emptied(os.path.join(self.work, "files"))
        result = trace(to, [program(name), files, case], flavour=flavour, options=options, **more)
        return to, result

    def expect(self, what, trace_directory, wanted):
        self.checks.equal(written(trace_directory), wanted, what)
        report = stats(trace_directory)["trace"]
        self.checks.that(report["whole"], f"{what}: whole, {report['reasons']}")
        return report

    def names(self):
        """Each form of program in each library; and the same programs without any."""
        wanted = {"first": [3] * 3, "meanwhile": [5], "relative": [7]}
        files = os.path.join(self.work, "files")
        programs = ("c_control", "cxx_control", "c_control_no_pie")
        for name in programs:
            for flavour in flavoursHere():
                to, result = self.traced("names", name, flavour)
                what = f"{name} under {flavour}"
                self.checks.equal((result.status, result.out), (0, b"101"), what)
                report = self.expect(what, to, wanted)
                self.checks.that(any("stopped on request in 1 of 1 process" in note
                                     for note in report["notes"]), f"{what}: {report['notes']}")
        relative = [event["file"] for event in readLog(to)
                    if (event.get("file") or "").endswith("relative")]
        self.checks.equal(set(relative), {os.path.join(files, "sub", "relative")},
                          "a relative path from the directory that was changed to meanwhile")
        for name in programs + ("c_control_static", "c_control_strict"):
            emptied(files)
            result = run([program(name), files, "names"])
            self.checks.equal((result.status, result.out, result.err), (0, b"000", b""),
                              f"{name} without a tracer")
        _, result = self.traced("names", "c_control_static")
        self.checks.equal((result.status, result.out), (0, b"000"), "a static program")

    def fortran(self):
        if program("fortran_control") is None:
            self.checks.skip("Fortran", "no Fortran compiler")
            return
        files = os.path.join(self.work, "files")
        for flavour in flavoursHere():
            to, result = self.traced("", "fortran_control", flavour)
            self.checks.equal((result.status, result.out.strip()), (0, b"TFT"), f"Fortran, {flavour}")
            seen = {os.path.basename(event["file"]) for event in readLog(to)
                    if (event.get("file") or "").startswith(files + "/")}
            self.checks.equal(seen, {"before", "after"}, f"Fortran under {flavour}: files")
        result = run([program("fortran_control"), emptied(files)])
        self.checks.equal((result.status, result.out.strip()), (0, b"FFF"), "Fortran, no tracer")

    def processes(self):
        to, result = self.traced("children")
        self.checks.equal(result.status, 0, "children: status")
        self.expect("a child begins as its parent was", to, {"shared": [1, 1, 3, 3, 5]}
                    if self.isSorted(to) else {"shared": [1, 1, 5, 3, 3]})
        to, result = self.traced("aborting-child")
        self.checks.equal(result.status, 0, "a stopped child that aborts: status")
        self.expect("a stopped child that aborts", to, {"shared": [1, 1, 5]})
        to, result = self.traced("exec")
        self.checks.equal(result.status, 0, "exec: status")
        self.expect("exec begins anew", to, {"before": [1, 1], "after": [3] * 4})
        to, _ = self.traced("exec", options=["--start-stopped"])
        self.checks.equal(written(to), {}, "exec under --start-stopped")
        to, _ = self.traced("threads")
        self.expect("all threads", to,
                    {f"thread{i}": [1] * 1000 + [3] * 1000 for i in range(4)})

    @staticmethod
    def isSorted(to):
        """Whether the log shows the child, the later process, last."""
        return written(to).get("shared", [])[:3] == [1, 1, 3]

    def signals(self):
        to, _ = self.traced("toggled", options=["--toggle-signal", "USR2"])
        self.expect("by a signal", to, {"toggled": [1] * 3 + [3] * 2})
        to, result = self.traced("own-handler", options=["--toggle-signal", "USR2"])
        self.checks.equal(result.out, b"own handler\n" * 2, "the application's handler is called")
        self.expect("the application's handler", to, {"toggled": [1] * 3 + [2] * 5 + [3] * 2})
        to, result = self.traced("toggled")
        self.checks.equal(result.status, 128 + signal.SIGUSR2,
                          "without the option the signal is the program's")
        # From outside, through `omnio trace`, to a process that does not know of it.
        to = os.path.join(self.work, "outside")
        files = emptied(os.path.join(self.work, "files"))
        ready, state = os.path.join(files, "ready"), os.path.join(files, "state")

        def isState(content):
            if not os.path.exists(state):
                return False
            with open(state, "rb") as now:
                return now.read() == content

        def waitForMore():
            size = os.path.getsize(ready)
            self.waitFor(lambda: os.path.getsize(ready) > size + 20)

        began = time.monotonic()
        with subprocess.Popen([omnio(), "trace", "-o", to, "--toggle-signal", "SIGUSR1", "--",
                               program("c_control"), files, "until-end"], env=environment()) as process:
            self.waitFor(lambda: isState(b"1"))
            waitForMore()
            process.send_signal(signal.SIGUSR1)
            # A signal that comes before the first one was taken would be one with it.
            self.waitFor(lambda: isState(b"0"))
            waitForMore()
            process.send_signal(signal.SIGUSR1)
            self.waitFor(lambda: isState(b"1"))
            waitForMore()
            with open(os.path.join(files, "end"), "w", encoding="ascii"):
                pass
            self.checks.equal(process.wait(PATIENCE_S), 0, "toggled from outside: status")
        lasted = time.monotonic() - began
        total = os.path.getsize(ready)
        seen = written(to).get("ready", [])
        self.checks.that(0 < len(seen) < total, f"outside: {len(seen)} of {total} writes recorded")
        facts = [entry for entry in manifest(to)["processes"] if "stops" in entry]
        self.checks.equal([entry["stops"] for entry in facts], [1], "outside: stops")
        self.checks.that(facts and 0 < facts[0]["stopped_ns"] < lasted * 1e9, f"outside: {facts}")

    def waitFor(self, ready):
        deadline = time.monotonic() + PATIENCE_S
        while not ready() and time.monotonic() < deadline:
            time.sleep(0.005)
        self.checks.that(ready(), "waited for something that did not come")

    def reporting(self):
        to, _ = self.traced("stays-stopped")
        self.expect("stopped to the end", to, {"stopped": [1, 1]})
        entry = manifest(to)["processes"][0]
        self.checks.that(entry["stopped_ns"] > 0.19e9, f"stopped to the end: {entry}")
        self.checks.equal((entry["end"], entry["stops"]), ("ended", 1), "stopped to the end")
        text = run([omnio(), "stats", to]).out.decode()
        self.checks.that(re.search(r"\nNote: recording was stopped on request in 1 of 1 process, for "
                                   r"\d+\.\d+ s", text) and "\nWhole: yes" in text,
                         f"stats: {text[:400]}")
        text = run([omnio(), "log", to]).out.decode()
        self.checks.that(text.startswith("# recording was stopped on request"),
                         f"log: {text[:200]}")
        result = run([omnio(), "preprocess", to, "-o", os.path.join(self.work, "schedule.json")])
        self.checks.that(result.status == 0 and b"recording was stopped on request" in result.err,
                         f"preprocess: {result}")

        to, _ = self.traced("often")
        self.expect("2500 times", to, {"often": [1] * 2500})
        entry = manifest(to)["processes"][0]
        self.checks.equal((entry["stops"], len(entry["stopped"])), (2500, 1000), "2500 times")
        to, result = self.traced("killed")
        self.checks.equal(written(to), {"killed": [1] * 3}, "killed while stopped")
        self.checks.equal(manifest(to)["processes"][0]["stops"], 1, "killed while stopped: stops")
        to, _ = self.traced("started", options=["--start-stopped"])
        self.expect("--start-stopped", to, {"late": [3] * 3})
        for word in ("1", "yes"):
            to, _ = self.traced("started", env=environment(OMNIO_START_STOPPED=word))
            self.expect(f"OMNIO_START_STOPPED={word}", to, {"late": [3] * 3})
        to, _ = self.traced("bulk", options=["--start-stopped"])
        self.expect("stopped throughout", to, {})

    def ranks(self):
        launcher = mpirun(2)
        if launcher is None:
            self.checks.skip("mpirun", "no MPI launcher")
            return
        emptied(os.path.join(self.work, "files"))
        command = [program("c_control"), os.path.join(self.work, "files"), "names"]
        for number, more in enumerate(((), ("-x", "PATH"))):
            to = os.path.join(self.work, f"ranks{number}")
            result = trace(to, launcher + list(more) + command,
                           options=["--start-stopped", "--max-log-size", "1G"])
            self.checks.equal(result.status, 0, f"mpirun {more}: {result}")
            for entry in manifest(to)["processes"]:
                self.checks.equal((entry["max_log_size"], entry["stops"]), (1 << 30, 1),
                                  f"mpirun {more}: settings reach the ranks")
            self.checks.equal(len(manifest(to)["processes"]), 2, "mpirun: ranks")
        # Ranks on other nodes get what the launcher's list names.
        result = trace(os.path.join(self.work, "list"), mpirun(1) + ["env"])
        variables = dict(line.split("=", 1) for line in result.out.decode().splitlines()
                         if "=" in line)
        named = set(variables.get("OMPI_MCA_mca_base_env_list", "").split(";"))
        wanted = {name for name in variables if name.startswith("OMNIO_")} | {"LD_PRELOAD"}
        self.checks.that({"OMNIO_MAX_LOG_SIZE", "OMNIO_START_STOPPED", "OMNIO_TOGGLE_SIGNAL",
                          "OMNIO_DIR"} <= named and wanted <= named,
                         f"mpirun: {wanted} and in the list {named}")

    def limit(self):
        size = 300000
        to, result = self.traced("bulk", options=["--max-log-size", str(size)])
        self.checks.equal(result.status, 0, "limit: status")
        self.checks.that(f"of {size} bytes (OMNIO_MAX_LOG_SIZE)".encode() in result.err,
                         f"limit: said at the end: {result.err}")
        container = [os.path.join(to, name) for name in os.listdir(to) if name.endswith(".omnio")]
        self.checks.equal(len(container), 1, "limit: one log")
        self.checks.that(size - 150000 < os.path.getsize(container[0]) <= size,
                         f"limit: the log has {os.path.getsize(container[0])} bytes")
        report = stats(to)["trace"]
        self.checks.equal(report["events"] + report["events_missing"], 400000 + 1,
                          "limit: every event is there or counted")
        self.checks.that(not report["whole"] and
                         any("the log reached its limit" in reason for reason in report["reasons"]),
                         f"limit: {report}")
        for command in ("stats", "log"):
            out = run([omnio(), command, to]).out[:4000].decode()
            self.checks.that("the log reached its limit of 300000 bytes (OMNIO_MAX_LOG_SIZE)" in out,
                             f"limit: {command} says so: {out[:500]}")
        # The tracer alone understands the same words.
        to = emptied(os.path.join(self.work, "alone"))
        run([program("c_control"), emptied(os.path.join(self.work, "files")), "bulk"],
            env=environment(LD_PRELOAD=preloadLibrary("serial"), OMNIO_DIR=to,
                            OMNIO_MAX_LOG_SIZE="1M", OMNIO_TOGGLE_SIGNAL="KILL"))
        report = stats(to)["trace"]
        self.checks.that(any("limit of 1048576 bytes" in reason for reason in report["reasons"]),
                         f"limit: the tracer alone: {report}")
        self.checks.that("OMNIO_TOGGLE_SIGNAL=KILL means nothing, and the default was taken instead"
                         in report["notes"], f"a refused value is told: {report['notes']}")

    def growth(self):
        to, _ = self.traced("bulk")
        facts = manifest(to)
        container = sum(os.path.getsize(os.path.join(to, name)) for name in os.listdir(to)
                        if name.endswith(".omnio"))
        self.checks.equal(facts["log_bytes"], container, "growth: bytes")
        self.checks.that(facts["recorded_s"] > 0, f"growth: {facts['recorded_s']} s")
        ratio = facts["log_bytes_per_hour"] * facts["recorded_s"] / 3600 / container
        self.checks.that(0.999 < ratio < 1.001, f"growth: {ratio}")

    def dump(self, *options, **more):
        """The settings in force: values (of patterns lists) and sources by the option's name."""
        result = run([omnio(), "trace", *options, "--dump-config"], **more)
        if result.status != 0:
            return result, None, None
        values, sources = {"exclude": [], "include": []}, {}
        for line in result.out.decode().splitlines():
            if line.startswith("# "):
                name, source = line[2:].split(": ")
                sources[name] = source
                continue
            name, value = line.split(" = ", 1)
            check = value[0] == value[-1] == "'" and name in sources
            self.checks.that(check, f"dump: {line}")
            if isinstance(values.get(name), list):
                values[name].append(value[1:-1])
            else:
                values[name] = value[1:-1]
        return result, values, sources

    def settings(self):
        check = self.checks
        home = os.path.join(self.work, "home")
        os.makedirs(os.path.join(home, "omnio"))
        env = environment(XDG_CONFIG_HOME=home)
        own = os.path.join(home, "omnio", "config.ini")

        def write(path, *lines):
            with open(path, "w", encoding="utf-8") as file:
                file.write("".join(line + "\n" for line in lines))

        _, default, sources = self.dump("--no-config", env=env)
        check.equal(set(sources.values()), {"default"}, "dump: all defaults")
        keys = set(default)
        check.equal(set(sources), keys, "dump: a source for each")
        write(own, "flavour = openmp", "exclude = *.file", "max-log-size = 3G",
              "toggle-signal = USR1", "start-stopped")
        _, got, sources = self.dump(env=env)
        check.equal((got["flavour"], sources["flavour"]), ("openmp", own), "file")
        check.equal(got["start-stopped"], "yes", "file: a switch")
        both = dict(env, OMNIO_FLAVOUR="serial", OMNIO_EXCLUDE="*.variable:a\\:b")
        result, got, sources = self.dump("--exclude", "*.option", "--no-start-stopped", env=both)
        check.equal((got["flavour"], sources["flavour"]),
                    ("serial", "OMNIO_FLAVOUR"), "the environment before the file")
        check.equal((got["exclude"], sources["exclude"]),
                    (["*.option", "*.variable", "a\\:b", "*.file"],
                     f"--exclude, OMNIO_EXCLUDE, {own}"), "patterns add up")
        check.equal((got["start-stopped"], sources["start-stopped"]),
                    ("no", "--start-stopped"), "the command line before all")
        check.equal(set(got), keys, "the same keys always")

        # The printed settings can be read back, and then everything comes from them.
        again = os.path.join(self.work, "again.ini")
        with open(again, "wb") as file:
            file.write(result.out)
        _, back, _ = self.dump("--config", again, env=environment())
        check.equal(back, got, "dump, read back")
        _, _, sources = self.dump(env=environment(OMNIO_CONFIG=again))
        check.equal(sources["max-log-size"], again, "OMNIO_CONFIG")
        result, _, _ = self.dump("--config", os.path.join(self.work, "missing.ini"), env=env)
        check.equal((result.status, result.err.decode().strip()),
                    (2, f"omnio: {self.work}/missing.ini: No such file or directory"),
                    "a file that was named and is not there")

        # Every setting by each way, through to the process.
        write(own, "exclude = */first")
        to, _ = self.traced("names", env=env)
        check.that("first" not in written(to), "a file's pattern is in force")
        write(own, "output = " + os.path.join(self.work, "by-file"))
        run([omnio(), "trace", "--", "true"], env=env)
        check.that(os.path.isdir(os.path.join(self.work, "by-file")), "output from a file")
        run([omnio(), "trace", "--", "true"],
            env=environment(OMNIO_OUTPUT=os.path.join(self.work, "by-variable")))
        check.that(os.path.isdir(os.path.join(self.work, "by-variable")), "OMNIO_OUTPUT")

        def refused(sentence, *lines):
            write(own, *lines)
            bad = os.path.join(self.work, "refused")
            result = run([omnio(), "trace", "-o", bad, "--", "true"], env=env)
            check.equal((result.status, result.err.decode().strip(), os.path.exists(bad)),
                        (2, f"omnio: {own}: line {len(lines)}: {sentence}", False),
                        f"refused: {lines!r}")

        options = "; the options are " + ", ".join(sources)
        refused('unknown option "exlude"' + options, "# patterns", "exlude = *.o")
        refused('unknown option "[trace]"' + options, "[trace]")
        refused('start-stopped: "perhaps" is neither yes nor no', "", "start-stopped = perhaps")
        refused('max-log-size: "10Q" is not a size: use a whole number of bytes, or of K, M, G or T '
                '(10G)', "max-log-size = 10Q")
        refused('"flavour" appears twice', "flavour = mpi", "explain", "flavour = auto")
        result = run([omnio(), "trace", "--", "true"], env=environment(OMNIO_MAX_LOG_SIZE="much"))
        check.equal(result.status, 125, "a variable that means nothing")
        check.that(result.err.startswith(b'omnio: OMNIO_MAX_LOG_SIZE: "much" is not a size'),
                   f"a variable that means nothing: {result.err}")
        result = run([omnio(), "trace", "--max-log-size", "much", "--", "true"])
        check.equal(result.status, 2, "an option that means nothing")

        # The documents know of all.
        documents = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
        with open(os.path.join(documents, "docs/formats/config.md"), encoding="utf-8") as file:
            page = file.read()
        usage = run([omnio(), "trace", "--help"]).out.decode()
        rows = re.findall(r"^\| `--([a-z-]+)` \| `(OMNIO_[A-Z_]+)` \|", page, re.M)
        check.equal({row[0] for row in rows}, keys, "docs/formats/config.md has every option")
        for option, _ in rows:
            check.that(f"--{option}" in usage, f"--help has --{option}")
        example = os.path.join(documents, "configs", "omnio.ini")
        result, _, sources = self.dump("--config", example, env=environment())
        check.equal(result.status, 0, f"configs/omnio.ini: {result}")
        with open(example, encoding="utf-8") as file:
            wanted = {line.split(" = ")[0] for line in file if not line.startswith("#")}
        check.equal({name for name in sources if sources[name] == example}, wanted,
                    "configs/omnio.ini")


def main():
    checks = Checks()
    with WorkDirectory() as work:
        control = Control(checks, work)
        for name in ("names", "fortran", "processes", "signals", "reporting", "ranks", "limit",
                     "growth", "settings"):
            with checks.case(name):
                started = time.monotonic()
                getattr(control, name)()
                print(f"{name}: {time.monotonic() - started:.1f} s", flush=True)
    checks.finish()


if __name__ == "__main__":
    main()
