// Sizes and offsets multiplied by a factor, so that what touched, overlapped or followed each other
// before does so after.
#pragma once

#include <cstdint>
#include <optional>

#include "core/model/schedule.hpp"

namespace omnio::preprocess {

class SizeScale {
 public:
  explicit SizeScale(double factor) : factor_(factor) {}

  // Where a position in a file comes to lie. Monotone; a piece of a file is scaled by scaling both
  // of its ends. `aligned`: multiples of 4096 bytes stay such, as O_DIRECT wants it.
  std::uint64_t position(std::uint64_t bytes, bool aligned = false) const;

  // Scales sizes, offsets and results of the event in place.
  void apply(model::ScheduleEvent& event, bool aligned) const;

 private:
  std::uint64_t length(std::optional<std::uint64_t> from, std::uint64_t bytes, bool aligned) const;

  double factor_;
};

}  // namespace omnio::preprocess
