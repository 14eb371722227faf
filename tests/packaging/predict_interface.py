#!/usr/bin/env python3
"""Installs what is for building on omnio into a temporary prefix, moves it, and builds the example of
omnio_predict.h there: by pkg-config, and by CMake. It has to predict its strided loop exactly."""

import pathlib
import re
import sys

from installed import ask_pkg_config, check_installed, expect, run

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLE = HERE.parents[1] / "predict" / "api" / "example.c"
LOOP = "".join(f"in {800_000 + turn * 1_000_000} ns: call 2 of /data/field.bin at "
               f"{(20 + turn) << 20}, 65536 bytes, weight 1.00\n" for turn in range(8))


def check_pkg_config(given, prefix, scratch):
    expect("pkg-config --modversion", ask_pkg_config(given, prefix, "--modversion", "omnio-predict"),
           given.version)
    flags = ask_pkg_config(given, prefix, "--cflags", "--libs", "omnio-predict").split()
    program = scratch / "by-pkg-config"
    run(given.compiler, "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", EXAMPLE, "-o",
        program, *flags, f"-Wl,-rpath,{prefix / given.libdir}")
    expect("the loop, by pkg-config", run(program), LOOP)


def check_cmake_package(given, prefix, scratch):
    build = scratch / "by-cmake"
    run(given.cmake, "-S", HERE / "c_consumer", "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_C_COMPILER={given.compiler}", f"-DEXAMPLE={EXAMPLE}")
    run(given.cmake, "--build", build)
    expect("the loop, by find_package", run(build / "c_consumer"), LOOP)


def check_library(given, prefix):
    """Only the functions of the header are seen, and nothing is needed that is not installed."""
    library = prefix / given.libdir / "libomnio_predict.so"
    header = (prefix / "include" / "omnio_predict.h").read_text()
    code = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    declared = set(re.findall(r"\b(omnio_predictor_\w+)\(", code))
    seen = {line.split()[-1] for line in run("nm", "-D", "--defined-only", library).splitlines()}
    expect("symbols of the library", seen, declared)
    needed = run("ldd", library).splitlines()
    print(" ".join(line.split()[0] for line in needed))
    expect("libraries that are not found, or of omnio",
           [line for line in needed if "not found" in line or "omnio" in line], [])


def check(given, prefix, scratch):
    check_library(given, prefix)
    check_pkg_config(given, prefix, scratch)
    check_cmake_package(given, prefix, scratch)


if __name__ == "__main__":
    sys.exit(check_installed(check, __doc__, ("build", "version", "cmake", "compiler", "libdir"),
                             ("devel",)))
