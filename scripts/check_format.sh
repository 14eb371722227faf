#!/usr/bin/env bash
# Checks that the C and C++ sources are formatted as .clang-format says; changes nothing.
#
#   scripts/check_format.sh          exit 0: all are; 1: some are not (each is named); 77: no
#                                    clang-format of that major version here, so nothing is known
#   scripts/check_format.sh --fix    formats them
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Formatting differs from version to version, so the tree is held to one.
readonly version=14

mode=(--dry-run -Werror)
case "${1-}" in
  '') ;;
  --fix) mode=(-i) ;;
  *) echo "check_format.sh: unknown option '$1'; --fix is the only one" >&2; exit 2 ;;
esac

tool=
for candidate in "clang-format-$version" clang-format; do
  if "$candidate" --version 2>/dev/null | grep -q "version $version\."; then
    tool=$candidate
    break
  fi
done
if [ -z "$tool" ]; then
  echo "check_format.sh: clang-format $version is not installed (Debian: clang-format); not checked"
  exit 77
fi

# A folder that is not a clone of the repository (an unpacked archive) has its files all the same.
# All folders count but that of builds: a list would miss the next one.
mapfile -t files < <(find . -type d \( -name build -o -name node_modules -o -name '.?*' \) -prune -o -type f \
  \( -name '*.cpp' -o -name '*.hpp' -o -name '*.c' -o -name '*.h' \) -print | sort)
if [ "${#files[@]}" -eq 0 ]; then
  echo "check_format.sh: no source file found below $PWD" >&2
  exit 1
fi

"$tool" "${mode[@]}" "${files[@]}"
echo "${#files[@]} files formatted as .clang-format says"
