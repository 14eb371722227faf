// How many of the events that a line stands for have its work (docs/formats/schedule.md, "Times").
#pragma once

#include <cstdint>

namespace omnio::model {

// So many of so many events, spread evenly.
struct WorkShare {
  std::uint64_t with_work = 1;
  std::uint64_t all = 1;

  // Whether the event of that number, from 0, is one of them.
  bool has(std::uint64_t number) const { return before(Wide{number} + 1) > before(number); }
  // How many of so many from there on are.
  std::uint64_t countOf(std::uint64_t first, std::uint64_t events) const {
    return static_cast<std::uint64_t>(before(Wide{first} + events) - before(first));
  }

 private:
  __extension__ using Wide = unsigned __int128;
  Wide before(Wide events) const { return (2 * events * with_work + all) / (Wide{2} * all); }
};

}  // namespace omnio::model
