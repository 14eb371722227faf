#!/usr/bin/env bash
# Set-up, build and all tests: the host libraries under the sanitizers first, since that is quick,
# then the release build with every test there is. The first failure ends it.
#
#   scripts/test.sh
#
# With CI=true the last lines are those of ctest, so that a machine can read them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

jobs=$(nproc)
ci=${CI:-false}

step() { printf '\n== %s\n' "$*"; }
hint() { echo "next: build/release/Testing/Temporary/LastTest.log has all output;" \
              "scripts/demo.sh shows omnio at work"; }

# build <preset> [target]
build() {
  step "build: $1"
  cmake --preset "$1"
  cmake --build --preset "$1" --parallel "$jobs" ${2:+--target "$2"}
}

# A label without tests is a mistake in the tree, not a success.
run_labelled() {
  step "tests: $1"
  ctest --preset "$1" --no-tests=error --parallel "$jobs"
}

step "set-up"
scripts/setup.sh

build asan omnio_unit_tests
run_labelled asan
build tsan omnio_tsan_tests
run_labelled tsan

build release
step "tests: release"
if [ "$ci" = true ]; then hint; fi
# Tests run side by side, but for acceptance tests that need a quiet machine (ALONE).
ctest --preset release --no-tests=error --parallel "$jobs"
if [ "$ci" != true ]; then hint; fi
