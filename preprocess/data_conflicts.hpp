// Reads that have to wait for writes of other threads to the same bytes.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "preprocess/dependencies.hpp"
#include "preprocess/interval_set.hpp"

namespace omnio::preprocess {

// Per file the ranges that each thread wrote, and by which event last. Bounded: of a thread that
// writes in many places, close ranges are taken together, which may make a read wait for a write
// beside the bytes it reads, but never lets it run ahead of one to them.
class DataConflicts {
 public:
  explicit DataConflicts(Dependencies& dependencies) : dependencies_(dependencies) {}

  void wrote(std::size_t content, Range range, const PastEvent& when);
  void reads(std::size_t content, Range range, EventRef reader, std::int64_t start_ns);

 private:
  struct Written {
    Range range;
    PastEvent last;
    // The one before it: when a read begins while the last is under way, this one is surely over.
    PastEvent before_last;
  };
  using Writer = std::vector<Written>;

  static void mergeClosest(Writer& writer);

  Dependencies& dependencies_;
  std::map<std::size_t, std::map<std::uint32_t, Writer>> writers_;  // content, thread
};

}  // namespace omnio::preprocess
