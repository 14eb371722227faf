#!/usr/bin/env python3
"""Installs the build into a temporary prefix, moves it, and uses it as a stranger would.

The prefix is moved after the installation, so that a path of the build or of the first place that
was left in a file shows.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


class Failure(Exception):
    """A step that went wrong; the text says which and how."""


def run(*command, **options):
    """Runs a command that has to succeed; its output."""
    words = " ".join(map(str, command))
    try:
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                              check=False, **options)
    except OSError as error:
        raise Failure(f"{words}\n{error}") from error
    if done.returncode != 0:
        raise Failure(f"{words}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(what, found, wanted):
    if found != wanted:
        raise Failure(f"{what}: found {found!r}, expected {wanted!r}")
    text = repr(found)
    print(f"{what}: {text if len(text) < 100 else 'as expected'}")


def ask_pkg_config(given, prefix, *words):
    """What pkg-config answers for the installed tree."""
    tool = shutil.which("pkg-config")
    if tool is None:
        raise Failure("pkg-config is not installed (Debian: pkg-config)")
    paths = os.environ | {"PKG_CONFIG_PATH": str(prefix / given.libdir / "pkgconfig")}
    return run(tool, *words, env=paths).strip()


def check_installed(check, about, options, components=()):
    """A whole test: installs these components (all, without any) into a temporary prefix, moves it, and
    calls check(given, prefix, scratch). Returns the exit status."""
    parser = argparse.ArgumentParser(description=about)
    for option in options:
        parser.add_argument(f"--{option}", required=True)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="omnio-packaging-") as folder:
        scratch = pathlib.Path(folder).resolve()
        first, prefix = scratch / "first-place", scratch / "prefix"
        try:
            for chosen in [("--component", name) for name in components] or [()]:
                run(given.cmake, "--install", given.build, "--prefix", first, *chosen)
            first.rename(prefix)
            check(given, prefix, scratch)
        except Failure as failure:
            print(f"{pathlib.Path(sys.argv[0]).name}: {failure}", file=sys.stderr)
            return 1
    return 0


def check_cmake_package(given, prefix, scratch, trace, wanted):
    """find_package(omnio) in a project that knows nothing but the prefix."""
    build = scratch / "consumer-build"
    run(given.cmake, "-S", pathlib.Path(__file__).parent / "consumer", "-B", build,
        f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={given.compiler}",
        "-DCMAKE_BUILD_TYPE=Release")
    run(given.cmake, "--build", build)
    expect("statistics by find_package", json.loads(run(build / "consumer", trace)), wanted)


def check_pkg_config(given, prefix, scratch, trace, wanted):
    """The same program, compiled by what pkg-config answers."""
    expect("pkg-config --modversion", ask_pkg_config(given, prefix, "--modversion", "omnio"),
           given.version)
    flags = ask_pkg_config(given, prefix, "--cflags", "--libs", "omnio").split()
    source = pathlib.Path(__file__).parent / "consumer" / "consumer.cpp"
    program = scratch / "consumer-by-pkg-config"
    run(given.compiler, source, "-o", program, *flags)
    expect("statistics by pkg-config", json.loads(run(program, trace)), wanted)


def check_programs(given, prefix, scratch):
    """The installed command line: it traces with the preloaded libraries beside it.

    Gives the trace it made and the statistics of it, which the libraries have to give as well.
    """
    omnio = prefix / "bin" / "omnio"
    expect("omnio --version", run(omnio, "--version").split()[-1], given.version)

    (scratch / "read-me").write_text("eleven byte")
    trace = scratch / "trace"
    expect("what the traced cat prints",
           run(omnio, "trace", "-o", trace, "--", "cat", "read-me", cwd=scratch), "eleven byte")
    # It depends on the version of cat which call moves the bytes (read, copy_file_range).
    moved = [line for line in run(omnio, "log", trace).splitlines()
             if "path=read-me" in line and "result=11" in line]
    expect("calls in the log that moved the 11 bytes", len(moved), 1)
    statistics = json.loads(run(omnio, "stats", trace, "--by", "call", "--json"))
    expect("the statistics are of something", statistics["trace"]["events"] > 0, True)
    return trace, statistics


def check_control(given, prefix, scratch):
    """A program that stops its own recording, by the installed header and nothing else."""
    source, program = scratch / "control.cpp", scratch / "control"
    source.write_text("#include <omnio.h>\n#include <cstdio>\n"
                      "int main() { std::printf(\"%d\", omnio_is_recording()); omnio_stop();\n"
                      "  std::printf(\"%d\", omnio_is_recording()); omnio_start(); }\n")
    run(given.compiler, source, "-o", program, "-I", prefix / "include")
    expect("omnio_is_recording() without a tracer", run(program), "00")
    expect("omnio_is_recording() under the tracer",
           run(prefix / "bin" / "omnio", "trace", "-o", scratch / "control.trace", "--", program),
           "10")
    expect("the Fortran module is installed", (prefix / "include" / "omnio.f90").exists(), True)


def check_manual_and_completion(given, prefix):
    """A manual page of each command, and the scripts where the shells look for them."""
    omnio = prefix / "bin" / "omnio"
    commands = re.findall(r"^  ([a-z]+) ", run(omnio, "--help").partition("Subcommands:")[2],
                          re.MULTILINE)
    pages = {"omnio.1"} | {f"omnio-{name}.1" for name in commands}
    # omnio-replay.1 is that of `omnio replay`, which starts the program of this name.
    if (prefix / "bin" / "omnio-phase-run").exists():
        pages.add("omnio-phase-run.1")
    manual = prefix / "share" / "man" / "man1"
    expect("manual pages", {path.name for path in manual.iterdir()}, pages)
    for shell, place in {"bash": "bash-completion/completions/omnio",
                         "zsh": "zsh/site-functions/_omnio",
                         "fish": "fish/vendor_completions.d/omnio.fish"}.items():
        expect(f"completion for {shell}", (prefix / "share" / place).read_text(),
               run(omnio, "completion", shell))


def check_no_path_of_the_build(given, prefix):
    """No text file of the installation may name the build tree or the first prefix."""
    texts = [path for path in prefix.rglob("*") if path.suffix in (".cmake", ".pc")]
    named = [str(path.relative_to(prefix)) for path in texts
             if given.build in path.read_text() or "first-place" in path.read_text()]
    expect("package files that name the build tree", named, [])
    # The log is the programs' own business: who builds on the libraries does not need it.
    expect("package files that name spdlog",
           [str(path.relative_to(prefix)) for path in texts if "spdlog" in path.read_text()], [])


def check(given, prefix, scratch):
    check_no_path_of_the_build(given, prefix)
    trace, statistics = check_programs(given, prefix, scratch)
    check_cmake_package(given, prefix, scratch, trace, statistics)
    check_pkg_config(given, prefix, scratch, trace, statistics)
    check_control(given, prefix, scratch)
    check_manual_and_completion(given, prefix)


if __name__ == "__main__":
    sys.exit(check_installed(check, __doc__, ("build", "version", "cmake", "compiler", "libdir")))
