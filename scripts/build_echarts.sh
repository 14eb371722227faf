#!/usr/bin/env bash
# Makes report/page/vendor/echarts.js, the charts of the report page, from its lock file. npm gets
# the pinned packages; esbuild joins and shrinks the parts that vendor/entry.js names. The result is
# the same on each machine.
#
#   scripts/build_echarts.sh [--check]
#
#   --check   changes nothing; exits with 1 when the committed echarts.js is another one
#
# To take a newer version of ECharts or esbuild: write it into vendor/package.json, run
#   npm install --package-lock-only --ignore-scripts --omit-lockfile-registry-resolved
# in report/page/vendor, then this script, and look at the page. The licence files are copied anew.
# Needs Node.js 18 or later, npm and access to its registry. The build of omnio needs none of them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly script=$PWD/scripts/build_echarts.sh
readonly vendor=$PWD/report/page/vendor

fail() { echo "build_echarts.sh: $*" >&2; exit 1; }

check=false
case "${1:-}" in
  "") ;;
  --check) check=true ;;
  -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$script"; exit 0 ;;
  *) fail "unknown option '$1'; --check is the only one" ;;
esac
command -v npm >/dev/null || fail "this machine has no npm; install the packages nodejs and npm"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cp "$vendor"/package.json "$vendor"/package-lock.json "$vendor"/entry.js "$work"
cd "$work"
# Without scripts: esbuild then runs the program that its package holds.
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error ||
  fail "npm ci failed; its own message above says why"

# The licences ask that a copy in this form has their notices: the page is handed on as one file.
notice() {
  echo "/*!"
  echo "Apache ECharts $(node -p 'require("echarts/package.json").version') (parts of it)," \
       "Apache License 2.0, https://www.apache.org/licenses/LICENSE-2.0"
  echo
  cat node_modules/echarts/NOTICE
  printf '\n\nIt contains d3.js:\n\n'
  cat node_modules/echarts/licenses/LICENSE-d3
  printf '\nIt contains ZRender:\n\n'
  cat node_modules/zrender/LICENSE
  echo "*/"
}

node_modules/.bin/esbuild entry.js --bundle --minify --format=iife --global-name=echarts \
  --target=es2020 --charset=ascii --legal-comments=none \
  --define:process.env.NODE_ENV='"production"' --log-level=warning --outfile=bundle.js
{ notice | sed 's/[[:space:]]*$//'; cat bundle.js; } >echarts.js

# The page's policy forbids to run text as code, and a script ends at its first end tag.
if grep -qE '\beval\(|new Function\(|</script' echarts.js; then
  fail "the bundle has eval, new Function or </script, which the page must not have"
fi

if [ "$check" = true ]; then
  cmp -s echarts.js "$vendor/echarts.js" ||
    fail "$vendor/echarts.js is not what entry.js and the lock file make; run $script"
  echo "build_echarts.sh: echarts.js is what the lock file makes"
  exit 0
fi
cp echarts.js "$vendor/echarts.js"
cp node_modules/echarts/LICENSE "$vendor/LICENSE"
cp node_modules/echarts/NOTICE "$vendor/NOTICE"
cp node_modules/echarts/licenses/LICENSE-d3 "$vendor/LICENSE-d3"
cp node_modules/zrender/LICENSE "$vendor/LICENSE-zrender"
echo "build_echarts.sh: echarts.js has $(wc -c <"$vendor/echarts.js") bytes"
