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

// True when one of the colon-separated patterns matches.
bool matchesAny(std::string_view patterns, const PathParts& path);

// Paths that are left out unless an include pattern asks for them, colon-separated: the system's
// own trees, shared libraries, and the files MPI keeps for itself.
inline constexpr std::string_view kDefaultExclude =
    "/proc:/proc/*:/sys:/sys/*:/dev:/dev/*:*.so:*.so.[0-9]*:/etc/ld.so.*:"
    "/tmp/ompi.*:/tmp/openmpi-sessions-*:/tmp/prte.*:*/pmix-*:*/pmix_dstor_*:"
    "*/openmpi-mca-params.conf:*/openmpi-default-hostfile:*/openmpi-totalview.tcl:"
    "*/pmix-mca-params.conf:*/.openmpi/*:*/share/openmpi/*:*/share/pmix*:*/lib*/openmpi*/*:"
    "*/lib*/pmix*/*:/etc/openmpi/*:/etc/pmix/*:*/.pmix/*:*/lib*/hwloc/*:*/ucx.conf";

}  // namespace omnio::wire
