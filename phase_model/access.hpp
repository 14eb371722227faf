// One read or write of the application, as the phase model sees it: what was moved where, by which
// process, and between which other events.
#pragma once

#include <cstdint>

#include "core/event/path_table.hpp"
#include "core/model/phase_model.hpp"

namespace omnio::phases {

// How an access was made: patterns are of accesses that were made alike.
struct Manner {
  model::Interface interface = model::Interface::kPosix;
  model::PointerKind pointer = model::PointerKind::kExplicit;
  bool collective = false;
  bool blocking = true;
  bool has_view = false;
  std::uint64_t etype_bytes = 1;

  auto operator<=>(const Manner&) const = default;
};

struct Access {
  int rank = 0;
  std::uint32_t thread = 0;  // told apart within the rank; numbers mean nothing else
  event::FileId file{0};
  model::Operation operation = model::Operation::kWrite;
  Manner manner;
  bool offset_known = true;
  std::int64_t offset = 0;   // bytes from the file's start
  std::uint64_t bytes = 0;   // moved; never 0
  std::uint64_t tick = 0;    // MPI events of the process before it; 0 where they are not told
  std::uint64_t others = 0;  // of these, the ones that are no file operation
  // The open instance it went through, numbered in the order in which the rank came to them.
  std::uint64_t session = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

}  // namespace omnio::phases
