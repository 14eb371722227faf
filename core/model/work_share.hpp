// How many of the events that a line stands for have its work (docs/formats/schedule.md, "Times").
#pragma once

#include <cstdint>

namespace omnio::model {

// So many of so many events, spread evenly.
struct WorkShare {
  std::uint64_t with_work = 1;
  std::uint64_t all = 1;

  // Whether the event of that number, from 0, is one of them.
  bool has(std::uint64_t number) const {
    __extension__ using Wide = unsigned __int128;
    const auto before = [this](Wide events) {
      return (2 * events * with_work + all) / (Wide{2} * all);
    };
    return before(Wide{number} + 1) > before(number);
  }
};

}  // namespace omnio::model
