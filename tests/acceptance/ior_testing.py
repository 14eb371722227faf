"""IOR for the tests that need it, which no Debian package has: the program that OMNIO_TEST_IOR names, or
`ior` on the path; and a stand-in where neither is there."""

import os
import shlex
import shutil
import stat

STAND_IN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ior_stand_in.py")
NO_IOR = "OMNIO_TEST_IOR does not name IOR, and ior is not on the path"


def ior():
    """The path of IOR, or None."""
    return shutil.which(os.environ.get("OMNIO_TEST_IOR") or "ior")


def executable(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    return path


def standIn(work, before=""):
    """TARGET and RESULTS apart, the variables of a script of omnio ior: IOR, and a launcher that
    starts it once."""
    return {"IOR": executable(os.path.join(work, "ior"),
                              f'#!/bin/sh\n{before}\nexec python3 {shlex.quote(STAND_IN)} "$@"\n'),
            "LAUNCHER": executable(os.path.join(work, "launch"),
                                   '#!/bin/sh\nshift 2\nexec "$@"\n')}
