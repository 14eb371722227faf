#!/usr/bin/env bash
# Which of these storage systems is the fastest for our application? From the recording of one run to
# the answer. README.md explains the steps.
#
#   configs/procurement/run.sh NAME=DIR NAME=DIR NAME=DIR
#
# DIR is a directory on a candidate; NAME is what the answer calls it. Variables:
#
#   OUTPUT     where all that is made goes, but for the data: procurement.out; must not exist yet
#   RUNS       runs on each candidate: 5
#   RANKS      processes of the application: 4
#   STEPS      steps that LAMMPS computes: 200
#   CELLS      lattice cells along each edge, whose cube is the size of the data: 20
#   LAUNCHER   how a program is started on several processes: mpirun; called as LAUNCHER -n RANKS ...
#   IOR        IOR, for the peak of each candidate; without it there are no peaks
#   PEAK_MIB   MiB that each process of IOR moves in a run: 1024
#   OMNIO, PHASE_RUN   the programs; else those of the build, else those of the search path
set -euo pipefail

stop() {
  echo "run.sh: $*" >&2
  exit "${status:-1}"
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
readonly build=$here/../../build/release
readonly output=${OUTPUT:-procurement.out} runs=${RUNS:-5} ranks=${RANKS:-4}

# program <of the build> <of the search path>
program() { if [ -x "$1" ]; then echo "$1"; else command -v "$2" || echo "$2"; fi; }
omnio=${OMNIO:-$(program "$build/cli/omnio" omnio)}
phase_run=${PHASE_RUN:-$(program "$build/ior_bridge/omnio-phase-run" omnio-phase-run)}
readonly omnio phase_run

# LAUNCHER is a command with its options.
read -ra launch <<<"${LAUNCHER:-mpirun}"
launch+=(-n "$ranks")

names=()
declare -A target
for word in "$@"; do
  name=${word%%=*}
  if [[ ! $word =~ ^[A-Za-z0-9_-]+=.+$ ]]; then
    status=2 stop "\"$word\": a candidate is given as NAME=DIR, with a NAME of letters, digits, - and _"
  fi
  if [ -n "${target[$name]:-}" ]; then status=2 stop "\"$name\" names two candidates"; fi
  [ -d "${word#*=}" ] || stop "${word#*=}: no such directory"
  names+=("$name")
  target[$name]=$(cd "${word#*=}" && pwd)
done
if [ "${#names[@]}" -lt 2 ]; then status=2 stop "give two candidates or more, each as NAME=DIR"; fi
for needed in "$omnio" "$phase_run" "${launch[0]}" lmp; do
  command -v "$needed" >/dev/null || stop "$needed: no such program"
done
[ ! -e "$output" ] || stop "$output is there already: move it away, or name another with OUTPUT"
mkdir -p "$output/application" "$output/results"

step() { printf '\n== %s\n' "$*"; }

# 1. One run of the application, recorded. Put your own here: it is started as always, after
# `omnio trace -o DIR --`. It may run on any storage; what counts are the calls that it makes.
step "record: LAMMPS on $ranks processes (omnio trace)"
trace=$(cd "$output" && pwd)/app.trace
(cd "$output/application" &&
  "$omnio" trace -o "$trace" -- "${launch[@]}" lmp -in "$here/../demo/in.melt" \
    -var steps "${STEPS:-200}" -var cells "${CELLS:-20}" -log none -screen none)
rm -rf "${output:?}/application" # the data of the run

# 2. The I/O of the application as phases, which hold on any storage. The second line has to say that
# the trace is whole.
step "model: the phases of its I/O (omnio phases)"
"$omnio" phases "$trace" -o "$output/app.phases.json"

# 3. The phases on each candidate, several times. One run says nothing about how much runs differ.
# By turns: a round is one run on each candidate, so that what changes on the site in the meantime is
# the same for all. Each round begins with another candidate, so that none is always the first.
step "runs: $runs on each candidate, by turns (omnio-phase-run)"
declare -A results
order=("${names[@]}")
for round in $(seq "$runs"); do
  for name in "${order[@]}"; do
    result=$output/results/$name-$round.json
    echo "round $round: $name"
    "${launch[@]}" "$phase_run" "$output/app.phases.json" --target "${target[$name]}" -o "$result" \
      >"$output/results/$name-$round.txt"
    results[$name]=${results[$name]:-}${results[$name]:+,}$result
  done
  order=("${order[@]:1}" "${order[0]}")
done

# 4. What each candidate can do at most, by IOR. It shows whether the storage is the limit, or the way
# in which the application uses it.
peaks=()
if [ -n "${IOR:-}" ]; then
  step "peaks: the most that each candidate does (omnio ior --peak)"
  "$omnio" ior --peak --tasks "$ranks" --task-mib "${PEAK_MIB:-1024}" --emit "$output/peak" \
    >"$output/peak.txt"
  for name in "${names[@]}"; do
    echo "peak: $name"
    TARGET=${target[$name]} RESULTS=$output/peak-$name IOR=$IOR LAUNCHER=${LAUNCHER:-mpirun} \
      sh "$output/peak/peak.sh" >"$output/peak-$name.txt"
    peaks+=(--peak "$name=$output/peak-$name/peak.json")
  done
fi

# 5. The answer: I/O times with 95 % intervals, and a winner only where there is one.
step "answer (omnio compare)"
candidates=()
for name in "${names[@]}"; do candidates+=("$name=${results[$name]}"); done
"$omnio" compare "$output/app.phases.json" "${candidates[@]}" "${peaks[@]}" \
  --page "$output/comparison.html" |
  tee "$output/comparison.txt"
"$omnio" compare "$output/app.phases.json" "${candidates[@]}" "${peaks[@]}" --json \
  >"$output/comparison.json"
