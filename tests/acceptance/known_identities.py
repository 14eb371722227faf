"""Where commands do not say of files what the kernel has (one_identity.py), and what they say in its place.
One model of files for all commands is to make each entry wrong, and the test then asks for its removal."""

# A name stands for all files that it led to: temporary names that are renamed, files that are replaced, names
# that are exchanged, logs that are rotated. Of each name the bytes read and written, and the furthest one.
NAMES_OF_SEVERAL_FILES = {
    "renamed_output": [(0, 24576, 16384), (8192, 0, 8192), (20480, 4096, 20480)],
    "renamed_over_open": [(0, 8192, 8192), (28672, 24576, 20480)],
    "rotated_log": [(0, 16384, 12288), (12288, 0, 12288)],
    "exchanged": [(12288, 24576, 20480), (20480, 8192, 20480)],
    "unlinked_open": [(28672, 32768, 20480)],
    # copy_file_range counts where it writes, and not where it reads.
    "copied": [(0, 16384, 16384), (20480, 20480, 20480)],
}

# A schedule has a file for each name: what was read and written by each.
LOCATIONS = {
    "hard_link": [(0, 8192), (24576, 16384)],
    "hard_link_across": [(0, 16384), (24576, 12288)],
    "linked_temporary": [(0, 20480), (24576, 4096)],
    "symlink_to_file": [(0, 16384), (16384, 8192)],
    "symlink_to_directory": [(0, 24576), (24576, 16384)],
    "renamed_directory": [(0, 12288), (0, 20480), (24576, 4096)],
    "ranks": [(16384, 4096), (20480, 16384)],
    "ranks_rename": [(0, 16384), (0, 16384), (16384, 0), (16384, 0)],
}

# omnio predict goes by names, since an application does. The operations on each.
OPERATIONS = {
    "hard_link": [3, 6], "hard_link_across": [3, 9], "linked_temporary": [4, 6], "symlink_to_file": [3, 6],
    "symlink_to_directory": [3, 6], "renamed_directory": [3, 4, 6], "renamed_output": [3, 6, 6],
    "renamed_over_open": [3, 11], "exchanged": [6, 10], "unlinked_open": [14], "copied": [5, 7],
    "ranks": [6, 6], "ranks_rename": [3, 3, 3, 3],
}

KNOWN = {
    # Another name of a file is another file, whose writes count from what was read and written by that name.
    ("hard_link_across", "estimate"): {"creates": 2, "cuts": 0, "extending": 3, "overwriting": 0},
    # The schedule does not have the name /proc/self/fd/N.
    ("linked_temporary", "estimate"): {"creates": 1, "cuts": 0, "extending": 3, "overwriting": 0},
    # A file that is made through a link to its directory, which the run made, is another file than the
    # one by its plain name, and a step makes that.
    ("symlink_to_directory", "estimate"): {"creates": 3.0, "cuts": 0, "extending": 3, "overwriting": 0},
    ("symlink_to_directory", "schedule check"): ["left out: what made 1 files and directories, folder/file "
        "the first: it is not recorded, and steps that make them stand before the calls that found them"],
}
for _case, _files in NAMES_OF_SEVERAL_FILES.items():
    _moved = [file[:2] for file in _files]
    KNOWN[_case, "stats"] = KNOWN[_case, "schedule show"] = _moved
    KNOWN[_case, "phases"] = _files
    KNOWN[_case, "report"] = ([_moved, _moved], 0)
KNOWN |= {(_case, "schedule show"): _moved for _case, _moved in LOCATIONS.items()}
KNOWN |= {(_case, "predict"): _counts for _case, _counts in OPERATIONS.items()}
