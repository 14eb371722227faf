"""Each function for files that the C library declares has a wrapper, or docs/not_recorded.md says why not. So
do the functions that well-known programs and libraries call, in their fortified forms too.
"""

import glob
import os
import re
import shutil

from omnio_testing import Checks, WorkDirectory, preloadLibrary, run, skipTest

DOCUMENT = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "not_recorded.md")
# All functions of these headers, by the ends of their names, are about files ...
HEADERS = ("aio.h", "dirent.h", "fcntl.h", "bits/fcntl-linux.h", "fts.h", "ftw.h", "glob.h", "mntent.h",
           "bits/mman-shared.h", "sys/file.h", "sys/inotify.h", "sys/mman.h", "sys/sendfile.h", "sys/stat.h",
           "sys/statfs.h", "sys/statvfs.h", "sys/uio.h", "bits/uio-ext.h", "sys/vfs.h", "sys/xattr.h", "stdio_ext.h",
           "utime.h")
# ... those of others where they work on streams, or their names say so.
STREAMS = ("stdio.h", "wchar.h")
BY_NAME = ("unistd.h", "stdlib.h")
NAMES = re.compile(r"cwd|getwd|current_dir|path|temp|mktemp|link|sync|trunc|access|chown|read|write|seek|dir$|lockf|dup|"
                   r"^close|copy_file")
# They have these names and are about something else.
OTHERS = {"umask", "getumask", "readpassphrase", "thread"}
PROGRAMS = ("lmp", "fio", "git", "tar", "python3", "sqlite3", "h5dump", "ior", "nccopy")
LIBRARIES = ("liblammps*.so*", "libhdf5*.so*", "libnetcdf*.so*", "libpnetcdf*.so*", "libsqlite3.so*", "libgfortran.so*",
             "libmpi*.so*", "libopen-*.so*", "openmpi/lib/openmpi3/*.so", "libmpich*.so*")


def declared(work):
    """The functions for files: name, and the header."""
    source, listed = os.path.join(work, "all.c"), os.path.join(work, "all.txt")
    top = sorted({name for name in (*HEADERS, *STREAMS, *BY_NAME) if not name.startswith("bits/")})
    with open(source, "w", encoding="ascii") as file:
        file.write("#define _GNU_SOURCE\n" + "".join(f"#include <{name}>\n" for name in top))
    if shutil.which("gcc") is None or run(["gcc", "-aux-info", listed, "-fsyntax-only", source]).status != 0:
        skipTest("gcc cannot list the functions of the headers")
    functions = {}
    with open(listed, encoding="utf-8") as lines:
        for line in lines:
            match = re.match(r"/\* (\S+):\d+:\w+ \*/ (.*)", line)
            name = match and re.search(r"([A-Za-z_]\w*) \(", match.group(2))
            if not name:
                continue
            header, name = match.group(1), name.group(1)
            ends = [end for end in (*HEADERS, *STREAMS, *BY_NAME) if header.endswith("/" + end)]
            is_wanted = (set(ends) & set(HEADERS) or
                         (set(ends) & set(STREAMS) and re.search(r"FILE \*|tmpnam|tempnam", match.group(2))) or
                         (set(ends) & set(BY_NAME) and NAMES.search(name)))
            if is_wanted and name not in OTHERS:
                functions[name] = ends[0]
    return functions


def symbols(path, which):
    lines = run(["nm", "--dynamic", which, path]).out.decode(errors="replace").splitlines()
    return {line.split()[-1].split("@")[0] for line in lines if line.split()}


def documented():
    reasons = {}
    with open(DOCUMENT, encoding="utf-8") as lines:
        for line in lines:
            cells = [cell.strip() for cell in line.split("|")[1:-1]]
            if len(cells) == 2 and cells[0].startswith("`"):
                reasons.update((name, cells[1]) for name in re.findall(r"`(\w+)`", cells[0]))
    return reasons


def programsHere():
    found = [os.path.realpath(path) for path in map(shutil.which, PROGRAMS) if path]
    listed = run(["dpkg", "-L", "coreutils"]) if shutil.which("dpkg") else None
    found += [path for path in (listed.out.decode().split() if listed else ()) if "bin/" in path]
    for pattern in LIBRARIES:
        found += map(os.path.realpath, glob.glob(f"/usr/lib/*-linux-gnu*/{pattern}"))
    return sorted({path for path in found if os.path.isfile(path)})


def plainName(symbol):
    """What a fortified form, or one for a standard of C, is a form of."""
    return re.sub(r"^__isoc\d\d_", "", re.sub(r"^__(\w+)_chk$", r"\1", symbol))


def main():
    if shutil.which("nm") is None:
        skipTest("nm is not installed")
    checks = Checks()
    with WorkDirectory() as work:
        functions = declared(work)
    wrapped = symbols(preloadLibrary("serial"), "--defined-only")
    reasons = documented()
    checks.that(len(functions) > 250 and len(reasons) > 100, f"{len(functions)} functions, {len(reasons)} reasons")
    for name, header in sorted(functions.items()):
        checks.that(name in wrapped or name in reasons, f"{name} ({header}) has a wrapper or a reason")
    checks.equal(sorted(wrapped & set(reasons)), [], "functions with both")
    programs = programsHere()
    callers = {}
    for path in programs:
        for symbol in symbols(path, "--undefined-only"):
            if symbol not in wrapped and plainName(symbol) in {*functions, *reasons}:
                callers.setdefault(symbol, []).append(os.path.basename(path))
    for symbol, names in sorted(callers.items()):
        print(f"{symbol}: called by {', '.join(names[:4])}{', ...' if len(names) > 4 else ''}")
        checks.that(plainName(symbol) in reasons, f"{symbol}, which {names[0]} calls, has a wrapper or a reason")
    print(f"{len(functions)} functions, {len(programs)} programs and libraries")
    checks.that(len(programs) > 50, f"{len(programs)} programs and libraries were looked at")
    checks.finish()


if __name__ == "__main__":
    main()
