#!/usr/bin/env bash
# Set-up, a release build, and the main job: LAMMPS on 4 ranks, untraced and traced by turns; what
# the trace says; its schedule in three timings, replayed in another directory and verified; its
# phases, run again as the application did them, by turns with it, and the I/O time that follows. All
# it makes is below build/.
#
#   scripts/demo.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly source=$PWD
readonly output=$PWD/build/demo
readonly omnio=$PWD/build/release/cli/omnio
readonly ranks=4 runs=3
# Runs of the application and of the phase runner, one after the other, for the last table: a machine
# changes from one minute to the next, and so both see the same of it.
readonly turns=5

step() { printf '\n== %s\n' "$*"; }

# Removes what an earlier demo left; a folder that no demo made is not ours to remove.
fresh_output() {
  if [ -e "$output" ]; then
    if [ ! -e "$output/.made-by-demo" ]; then
      echo "demo.sh: $output was not made by this script; move it away first" >&2
      exit 1
    fi
    rm -rf "$output"
  fi
  mkdir -p "$output"
  touch "$output/.made-by-demo"
}

mpirun_options=(-n "$ranks" --oversubscribe --bind-to none
                # Containers often forbid the single-copy transport, with a page of warnings.
                --mca btl_vader_single_copy_mechanism none)
if [ "$(id -u)" -eq 0 ]; then mpirun_options+=(--allow-run-as-root); fi

# run_melt <name> [command to put before mpirun...]: one run in a folder of its own. The wall time
# in ms goes to <name>.ms, the checksum of all that LAMMPS wrote to <name>.sum, and the files go,
# as a run writes 150 MB.
run_melt() {
  local name=$1
  shift
  mkdir "$output/$name"
  local start end
  start=$(date +%s%N)
  (cd "$output/$name" &&
    "$@" mpirun "${mpirun_options[@]}" lmp -in "$source/configs/demo/in.melt" -log none \
      -screen none) || {
    local status=$?
    echo "demo.sh: LAMMPS ($name) ended with status $status" >&2
    exit 1
  }
  end=$(date +%s%N)
  echo $(((end - start) / 1000000)) >"$output/$name.ms"
  (cd "$output/$name" && find . -type f | LC_ALL=C sort | xargs sha256sum | sha256sum) \
    >"$output/$name.sum"
  rm -rf "${output:?}/$name"
  echo "$name: $(seconds "$(cat "$output/$name.ms")") s"
}

seconds() { printf '%d.%02d' $(($1 / 1000)) $(($1 % 1000 / 10)); }

# The middle one of an odd number of runs.
median() { sort -n "$output/$1"-*.ms | sed -n "$(((runs + 1) / 2))p"; }

step "set-up"
scripts/setup.sh

step "build: release (the tracer, the command line, the replayer and the phase runner)"
cmake --preset release
cmake --build --preset release --parallel "$(nproc)" --target trace/all cli/all replay/all ior_bridge/all

step "job: LAMMPS, a Lennard-Jones melt of 32000 atoms on $ranks ranks, $runs times each way"
fresh_output
for run in $(seq "$runs"); do
  run_melt "untraced-$run"
  run_melt "traced-$run" "$omnio" trace -o "$output/trace-$run" --
done
if [ "$(sort -u "$output"/*.sum | wc -l)" -ne 1 ]; then
  echo "demo.sh: the runs did not write the same files; compare $output/*.sum" >&2
  exit 1
fi
readonly trace=$output/trace-$runs

step "log: the first and last calls of rank 0 (omnio log --rank 0), without its libraries' own"
"$omnio" log "$trace" --rank 0 >"$output/rank0.log"
grep -v ' depth=' "$output/rank0.log" >"$output/rank0-own.log"
head -n 8 "$output/rank0-own.log"
echo "..."
tail -n 12 "$output/rank0-own.log"

step "statistics by call (omnio stats --by call)"
"$omnio" stats "$trace" --by call

step "statistics by file, the first lines (omnio stats --by file)"
"$omnio" stats "$trace" --by file >"$output/by-file.txt"
head -n 30 "$output/by-file.txt"

step "run time, medians of $runs runs taken by turns"
untraced=$(median untraced)
traced=$(median traced)
difference=$(((traced - untraced) * 1000 / untraced))
sign=+
if [ "$difference" -lt 0 ]; then sign=- difference=$((-difference)); fi
printf 'untraced   %8s s\n' "$(seconds "$untraced")"
printf 'traced     %8s s   (%s%d.%d %%)\n' "$(seconds "$traced")" \
  "$sign" $((difference / 10)) $((difference % 10))
echo "the output files of all $((2 * runs)) runs are the same"

step "schedule: the trace as a schedule, in the three timings (omnio preprocess)"
for timing in asap dt start; do
  "$omnio" preprocess "$trace" -o "$output/schedule-$timing.json" --timing "$timing" |
    sed "s|$source/||"
done

# replay_and_verify <timing>: in a directory of its own; the trace stays, the files go.
replay_and_verify() {
  local timing=$1
  local target=$output/target-$timing replayed=$output/replay-$timing
  "$omnio" replay "$output/schedule-$timing.json" --target "$target" -o "$replayed" |
    sed "s|$source/||"
  echo
  echo "\$ omnio verify schedule-$timing.json replay-$timing"
  "$omnio" verify "$output/schedule-$timing.json" "$replayed"
  rm -rf "${target:?}"
}

step "replay: as fast as possible (omnio replay, omnio verify)"
replay_and_verify asap

step "replay: with the recorded time between operations"
replay_and_verify dt

step "phases: the I/O of the application, as phases (omnio phases)"
"$omnio" phases "$trace" -o "$output/model.json" | sed "s|$source/||g"

step "phase runner: all phases as the application did them, $turns times, by turns with it (omnio-phase-run)"
results=()
applications=()
mkdir "$output/phase-target"
for run in $(seq "$turns"); do
  run_melt "turn-$run" "$omnio" trace -o "$output/turn-trace-$run" --
  applications+=("--application" "$output/turn-trace-$run")
  results+=("$output/phase-results-$run.json")
  mpirun "${mpirun_options[@]}" "$source/build/release/ior_bridge/omnio-phase-run" \
    "$output/model.json" --target "$output/phase-target" -o "${results[-1]}" \
    >"$output/phase-run-$run.txt"
done
tail -n 2 "$output/phase-run-$turns.txt"
"$omnio" ior "$output/model.json" --emit "$output/ior" >"$output/ior.txt"
echo "IOR scripts, one a phase, and what IOR cannot express: ${output#"$source"/}/ior"

step "estimate: Time_io, the I/O time of the slowest rank (omnio estimate)"
"$omnio" estimate "$output/model.json" "${results[@]}"

step "side by side"
"$source/scripts/demo_table.py" "$omnio" "${applications[@]}" \
  --replay "asap=$output/replay-asap" --replay "dt=$output/replay-dt" \
  --model "$output/model.json" "${results[@]}"

step "report: a page for the browser (omnio report)"
"$omnio" report "$trace" -o "$output/report.html" | sed "s|$source/||"
echo
echo "next: open that page; build/release/cli/omnio stats ${trace#"$source"/} --by rank; docs/tutorial.md has the rest"
