#!/usr/bin/env bash
# Set-up, build and tests. The first failure ends it.
#
#   scripts/test.sh                what continuous integration runs: the release build and its tests,
#                                  and a part of the unit tests under the sanitizers; 20 minutes on
#                                  two processors at most
#   scripts/test.sh --all          everything: all unit tests under the sanitizers, the fuzz targets
#                                  for some seconds each, and the tests that are labelled nightly
#   scripts/test.sh --repeat N [--busy] [--label L] [--all]
#                                  the tests that are built already, N times (those with label L),
#                                  with --busy beside four processes that keep processors busy, and
#                                  six at once for each processor; says what failed in which round,
#                                  and goes on
#
# With CI=true the last lines are those of ctest, so that a machine can read them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() { echo "test.sh: $*" >&2; exit 2; }

all=false busy=false repeats="" label=""
while [ $# -gt 0 ]; do
  case "$1" in
    --all) all=true ;;
    --busy) busy=true ;;
    --repeat) repeats=${2-}; shift
              [[ $repeats =~ ^[1-9][0-9]*$ ]] || fail "--repeat takes a number of rounds" ;;
    --label) label=${2-}; shift
             [ -n "$label" ] || fail "--label takes a label, such as moment" ;;
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    *) fail "unknown option '$1'; --help names those there are" ;;
  esac
  shift
done
if [ -z "$repeats" ] && { $busy || [ -n "$label" ]; }; then
  fail "--busy and --label belong to --repeat"
fi

jobs=$(nproc)
# Tests wait for launchers, devices and each other half of their time.
tests_at_once=$((2 * jobs))
ci=${CI:-false}

# What is done, and how long each part of it took.
current="" steps=""
minutes() { printf '%2d:%02d' $(($1 / 60)) $(($1 % 60)); }
table() { printf 'minutes by step\n%s%s  %s\n%s  total\n' "$steps" \
                 "$(minutes $((SECONDS - began)))" "$current" "$(minutes $SECONDS)"; }
step() {
  if [ -n "$current" ]; then
    steps+="$(minutes $((SECONDS - began)))  $current"$'\n'
  fi
  current=$* began=$SECONDS
  printf '\n== %s\n' "$current"
}
hint() { echo "next: build/release/Testing/Temporary/LastTest.log has all output;" \
              "scripts/demo.sh shows omnio at work"; }

# build <preset> <benchmarks: ON or OFF> [target]
build() {
  step "build: $1"
  cmake --preset "$1" -DOMNIO_BUILD_BENCH="$2"
  cmake --build --preset "$1" --parallel "$jobs" ${3:+--target "$3"}
}

# run_tests <preset> [argument of ctest]...
# A label without tests is a mistake in the tree, not a success. A test that hangs is ended by its own
# limit; the whole is ended when it has taken four times what it may.
run_tests() {
  ctest --preset "$@" --no-tests=error --parallel "$tests_at_once" --stop-time "$stop_time"
}

# The summary of ctest comes last: what this script has to say is put before it.
before_summary() {
  local line shown=false
  while IFS= read -r line; do
    if ! $shown && [[ $line =~ ^[0-9]+%\ tests\ passed ]]; then
      shown=true
      table
      echo
    fi
    printf '%s\n' "$line"
  done
}

busy_processes=()
end_busy_processes() {
  if [ ${#busy_processes[@]} -gt 0 ]; then
    kill "${busy_processes[@]}" 2>/dev/null || true
  fi
  busy_processes=()
}
# They end with this script, also when it is killed.
start_busy_processes() {
  local i
  trap end_busy_processes EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  for i in 1 2 3 4; do
    setpriv --pdeathsig KILL yes >/dev/null &
    busy_processes+=($!)
  done
}

# Each round has its log beside that of ctest.
repeat_tests() {
  local folder=build/release/Testing round failed status=0
  local select=()
  [ -d build/release ] || fail "nothing is built yet: scripts/test.sh builds"
  $all || select+=(-LE '^nightly$')
  [ -z "$label" ] || select+=(-L "^$label\$")
  # The busy processes would have most of the time of the processors.
  if $busy; then tests_at_once=$((6 * jobs)); fi
  mkdir -p "$folder/rounds"
  rm -f "$folder"/rounds/*
  if $busy; then start_busy_processes; fi
  local results=()
  for ((round = 1; round <= repeats; round++)); do
    step "round $round of $repeats"
    if ctest --preset release --no-tests=error --parallel "$tests_at_once" "${select[@]}" \
             --output-log "$folder/rounds/$round.log"; then
      results+=("round $round: passed")
    else
      status=1
      failed=$(sed 's/^[0-9]*://' "$folder/Temporary/LastTestsFailed.log" 2>/dev/null | tr '\n' ' ')
      results+=("round $round: FAILED ${failed:-(ctest itself)}")
    fi
  done
  end_busy_processes
  printf '\n'
  printf '%s\n' "${results[@]}"
  exit $status
}

if [ -n "$repeats" ]; then repeat_tests; fi

stop_time=$(date -d "+80 minutes" +%H:%M:%S)
step "set-up"
if $all; then scripts/setup.sh --all; else scripts/setup.sh; fi
if $all; then
  stop_time=$(date -d "+10 hours" +%H:%M:%S)
  build asan OFF omnio_unit_tests
  step "tests: asan"
  run_tests asan
  build tsan OFF omnio_tsan_tests
  step "tests: tsan"
  run_tests tsan
  build fuzz OFF omnio_fuzz_targets
  step "tests: fuzz"
  run_tests fuzz
  build release ON
else
  for sanitizer in asan-quick tsan-quick; do
    build "$sanitizer" OFF omnio_quick_tests
    step "tests: $sanitizer"
    run_tests "$sanitizer"
  done
  build release OFF
fi
if [ "$ci" = true ]; then hint; fi
step "tests: release"
selection=()
$all || selection=(-LE '^nightly$')
run_tests release "${selection[@]}" | before_summary
if [ "$ci" != true ]; then hint; fi
