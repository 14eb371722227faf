"""Copies of a trace with known damage, for bad_input.py."""

import os
import shutil


def copyOf(trace_directory, to):
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(trace_directory, to)
    return to


def containers(trace_directory):
    return sorted(os.path.join(trace_directory, name) for name in os.listdir(trace_directory)
                  if name.endswith(".omnio"))


def largestContainer(trace_directory):
    return max(containers(trace_directory), key=os.path.getsize)


def cut(path, size):
    os.truncate(path, size)


def change(path, offset, data):
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(data)


def flip(path, offset):
    """Turns one byte into another: all its bits, so that it is never the same."""
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 0xFF]))
