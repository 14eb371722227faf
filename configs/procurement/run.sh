#!/usr/bin/env bash
# Which of these storage systems is the fastest for our application? README.md explains it.
#
#   configs/procurement/run.sh --on NAME=DIR --on NAME=DIR [more options of omnio evaluate]
#
# Variables: OUTPUT, where all that is made goes (procurement.out); RANKS, processes (4); STEPS and
# CELLS, how long LAMMPS computes and how much it writes (200, 20); LAUNCHER, mpirun with its options.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PATH=$PATH:$here/../../build/release/cli
output=$(realpath -m "${OUTPUT:-procurement.out}")
read -ra launch <<<"${LAUNCHER:-mpirun} -n ${RANKS:-4}"
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT

# One run of the application, recorded. Put your own here: it is started as always, after
# `omnio trace -o DIR --`. It may run on any storage; what counts are the calls that it makes.
(cd "$data" && omnio trace -o "$output.trace" -- "${launch[@]}" lmp -in "$here/../demo/in.melt" \
  -var steps "${STEPS:-200}" -var cells "${CELLS:-20}" -log none -screen none)

omnio evaluate "$output.trace" "$@" -o "$output" --launcher "${launch[*]}"
