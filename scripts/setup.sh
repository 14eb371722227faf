#!/usr/bin/env bash
# Installs what omnio is built and tested with, as far as it is missing. Debian 12 and its kin.
#
#   scripts/setup.sh [--without-mpi] [--all]
#
#   --all           what scripts/test.sh --all needs as well: a clang for the fuzz targets
#   --without-mpi   neither MPI nor what needs it: everything but the MPI flavours can be built
set -euo pipefail

fail() { echo "setup.sh: $*" >&2; exit 1; }

build=(g++ cmake ninja-build pkg-config git python3
       rapidjson-dev libspdlog-dev libfmt-dev libcli11-dev libzstd-dev libxxhash-dev
       libboost-dev libprotozero-dev libeigen3-dev
       libgtest-dev libbenchmark-dev)
# Programs under test, and what the tests measure them by: the system calls as strace sees them,
# hosts as network namespaces, small file systems that fill up, a file system of our own.
# Shells and readers of manual pages, for completion and man pages.
# A browser for the report page; what drives it follows below.
# Real programs that a small Debian lacks; Java and h5py are tested where they are installed.
tests=(gfortran strace iproute2 e2fsprogs xfsprogs clang-format python3-jsonschema
       hdf5-tools libhdf5-dev libnetcdf-dev
       fio protobuf-compiler rsync sqlite3 zstd fuse3 libfuse3-dev
       glusterfs-server glusterfs-client
       chromium
       zsh fish bash-completion man-db mandoc
       libfaketime libeatmydata1 libjemalloc2 libtcmalloc-minimal4)
# Other packages of Node.js than Debian's have npm in them, and conflict with Debian's npm.
command -v npm >/dev/null || tests+=(nodejs npm)
# MPICH is the other MPI, which the tracer has to recognise; Open MPI stays the default.
mpi=(libopenmpi-dev openmpi-bin lammps libhdf5-openmpi-dev libpnetcdf-dev mpich libmpich-dev
     python3-mpi4py)
# Clang 14 does not compile the ranges of this Debian's C++ library.
fuzz=(clang-16 libclang-rt-16-dev libomp-16-dev)

wanted=("${build[@]}" "${tests[@]}")
with_mpi=true
for argument in "$@"; do
  case "$argument" in
    --without-mpi) with_mpi=false ;;
    --all) wanted+=("${fuzz[@]}") ;;
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    *) echo "setup.sh: unknown option '$argument'; --help names those there are" >&2; exit 2 ;;
  esac
done
if $with_mpi; then wanted+=("${mpi[@]}"); fi

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  fail "this machine has no apt-get; install the counterparts of these Debian packages:" \
       "${wanted[*]}"
fi

missing=()
for package in "${wanted[@]}"; do
  # A package that was removed is still known to dpkg-query, so its status is what counts.
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  if [ "$status" != installed ]; then missing+=("$package"); fi
done
if [ "${#missing[@]}" -eq 0 ]; then
  echo "setup.sh: nothing to install, all ${#wanted[@]} packages are here; next: scripts/test.sh"
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null ||
    fail "these packages are missing and need root or sudo to be installed: ${missing[*]}"
  as_root=(sudo)
fi

# A mirror that does not answer at once is common, and worth two more attempts.
apt() {
  local attempt
  for attempt in 1 2 3; do
    if "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get -q -y -o DPkg::Lock::Timeout=300 "$@"; then
      return 0
    fi
    if [ "$attempt" -lt 3 ]; then
      echo "setup.sh: apt-get $1 failed, attempt $((attempt + 1)) of 3 follows" >&2
      sleep $((attempt * 10))
    fi
  done
  fail "apt-get $* failed three times; its own message above says why"
}

echo "setup.sh: installs ${missing[*]}"
apt update
apt install --no-install-recommends "${missing[@]}"
echo "setup.sh: installed ${missing[*]}; next: scripts/test.sh, or scripts/demo.sh"
