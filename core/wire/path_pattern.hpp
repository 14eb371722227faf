// Wildcard patterns for paths, and which paths are recorded.
//
// `*` stands for any characters, `/` too, `?` for one, `[a-z]` and `[!a-z]` for one of a set; a
// backslash takes the next character as it is. A pattern without `/` is held against the last
// component, any other against the whole absolute path. A path is recorded when an include pattern
// matches, or when no exclude pattern (the caller's or a default one) does.
#pragma once

#include <cstddef>
#include <string_view>

namespace omnio::wire {

// An absolute path in two parts, as a directory and what was given relative to it: compared as
// "directory/name" without being put together, since no buffer is large enough to stand on the
// stack of a thread that may have 16 KiB. An absolute path has no directory part (null, which is
// not the same as an empty one: that is the root).
struct PathParts {
  std::string_view directory;
  std::string_view name;

  constexpr bool isJoined() const { return directory.data() != nullptr; }
  // Where `name` begins in the whole path.
  constexpr std::size_t nameOffset() const { return isJoined() ? directory.size() + 1 : 0; }
  constexpr std::size_t size() const { return nameOffset() + name.size(); }
  constexpr char operator[](std::size_t i) const {
    if (!isJoined()) return name[i];
    if (i < directory.size()) return directory[i];
    return i == directory.size() ? '/' : name[i - directory.size() - 1];
  }
};

bool matchesPattern(std::string_view pattern, const PathParts& path);

// The place of the first of the colon-separated patterns that matches, from 0; kNoPattern where
// none does.
inline constexpr std::size_t kNoPattern = ~std::size_t{0};
std::size_t firstMatch(std::string_view patterns, const PathParts& path);
// True when one of them matches.
inline bool matchesAny(std::string_view patterns, const PathParts& path) {
  return firstMatch(patterns, path) != kNoPattern;
}

// Paths that are left out unless an include pattern asks for them, colon-separated: the system's
// own trees, shared libraries, and the files that libraries of MPI keep for themselves.
//
// Open MPI has its sessions in /tmp, or where the site or a batch system says: in a directory
// `ompi.<host>.<user>`. That name alone could be an application's, so what lies in it counts too.
//
// Files in /dev/shm are recorded as any others; the directory itself is not, of which libraries of
// MPI ask whether it is there and has room. Left out in it are the tracer's own rings
// (core/wire/ring.hpp has their names), semaphores, and what libraries of communication keep there:
// Open MPI (vader_segment, sm_segment, osc_rdma, osc_sm, open_mpi), MPICH and what is made of it
// (mpich_, Intel_MPI_, shm-col-space-, impi-shm, ib_shmem, ib_pool, cray-shared-mem-coll), PMIx,
// UCX, PSM 1 to 3, libfabric, NCCL and RCCL. `psm_` alone is the beginning of Python's names
// (multiprocessing.shared_memory), which are an application's.
inline constexpr std::string_view kDefaultExclude =
    "/proc:/proc/*:/sys:/sys/*:"
    "/dev:/dev/[!s]*:/dev/s:/dev/s[!h]*:/dev/sh:/dev/sh[!m]*:/dev/shm:/dev/shm[!/]*:"
    "/dev/shm/omnio-????????????????????????????????"
    "-????????????????"
    "-*:/dev/shm/sem.*:"
    "/dev/shm/vader_segment.*:/dev/shm/sm_segment.*:/dev/shm/osc_rdma.*:/dev/shm/osc_sm.*:"
    "/dev/shm/open_mpi.*:/dev/shm/mpich_*:/dev/shm/Intel_MPI_*:/dev/shm/shm-col-space-*:"
    "/dev/shm/impi-shm*:/dev/shm/ib_shmem*:/dev/shm/ib_pool*:/dev/shm/cray-shared-mem-coll*:"
    "/dev/shm/ucx_shm_posix_*:/dev/shm/psm_shm.*:/dev/shm/psm2_*:/dev/shm/psm3_*:"
    "/dev/shm/fi_shm*:/dev/shm/nccl-*:/dev/shm/rccl-*:"
    "*.so:*.so.[0-9]*:/etc/ld.so.*:"
    "/tmp/ompi.*:*/ompi.*/pid.*:*/ompi.*/jf.*:*/openmpi-sessions-*:/tmp/prte.*:*/prte.*.*.*/*:"
    "*/pmix-*:*/pmix_dstor_*:"
    "*/openmpi-mca-params.conf:*/openmpi-default-hostfile:*/openmpi-totalview.tcl:"
    "*/pmix-mca-params.conf:*/.openmpi/*:*/share/openmpi/*:*/share/pmix*:*/lib*/openmpi*/*:"
    "*/lib*/pmix*/*:/etc/openmpi/*:/etc/pmix/*:*/.pmix/*:*/lib*/hwloc/*:*/ucx.conf";

// How many patterns a list has.
constexpr std::size_t countPatterns(std::string_view patterns) {
  std::size_t count = patterns.empty() ? 0 : 1;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (patterns[i] == '\\') {
      ++i;
    } else if (patterns[i] == ':') {
      ++count;
    }
  }
  return count;
}
inline constexpr std::size_t kDefaultPatterns = countPatterns(kDefaultExclude);

// The same as firstMatch(kDefaultExclude, path), and faster: the tracer asks it for each call that
// has a path.
std::size_t firstDefaultMatch(const PathParts& path);

// The pattern at a place of the list; the list has so many.
constexpr std::string_view patternAt(std::string_view patterns, std::size_t place) {
  std::size_t begin = 0;
  for (std::size_t i = 0;; ++i) {
    if (i < patterns.size() && patterns[i] == '\\') {
      ++i;
    } else if (i >= patterns.size() || patterns[i] == ':') {
      const std::size_t end = i < patterns.size() ? i : patterns.size();
      // No substr(), which may throw.
      if (place == 0 || end == patterns.size()) return {patterns.data() + begin, end - begin};
      --place;
      begin = i + 1;
    }
  }
}

}  // namespace omnio::wire
