// The local access patterns (LAP) of the processes, as in figure 3 of Mendez, Rexachs and Luque:
// idP, idF, operation, rep, request size, disp and offsetInit. They are those of the phases of a
// model. As in the paper, a pattern goes on where its next requests are in a later phase: the 40
// writes of BT-IO are one pattern of 40 phases. Where the file has a view, disp and offsetInit are
// those in the view, in etypes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/phase_model.hpp"

namespace omnio::phases {

struct LocalPattern {
  std::vector<int> ranks;  // ascending: processes with this pattern
  int file = 0;            // idF
  model::Operation operation = model::Operation::kWrite;
  std::string call;  // its function; the word of the operation where that is not known
  std::uint64_t repetitions = 0;
  // Sizes of the requests in bytes; the mean, rounded, where they differ.
  std::uint64_t request_bytes = 0;
  std::uint64_t smallest_bytes = 0;
  std::uint64_t largest_bytes = 0;
  // rep and sizes are those of all processes together: the model does not have them for each.
  bool is_mean = false;
  // The unit of displacement and init_offset; none: bytes, from the start of the file.
  std::optional<std::uint64_t> etype_bytes;
  // None where requests are not at one stride: contiguous ones of several sizes, nested, random.
  std::optional<std::int64_t> displacement;
  model::AccessMode mode = model::AccessMode::kSequential;
  std::optional<pattern::Part> nested;  // of mode nested, with offsets in the file
  model::OffsetFunction init_offset;
  std::uint64_t first_tick = 0;  // of the process that came first; 0: not known
  std::uint64_t last_tick = 0;   // of the one that came last
  std::vector<int> phases;       // their ids
};

// Which processes share an entry.
enum class Together {
  kEqual,    // those with the same pattern
  kSimilar,  // those whose patterns are equal but for the initial offset (the paper's simLAP)
};

// In the order of the phases. Metadata phases have none.
std::vector<LocalPattern> localPatternsOf(const model::PhaseModel& model, Together together);

// A JSON document (docs/commands/phases.md) with similar patterns together.
std::string localPatternJson(const model::PhaseModel& model);

// "0-3, 8": ascending numbers; of many, the first.
std::string numberListText(const std::vector<int>& numbers);

}  // namespace omnio::phases
