// Memory that a thread reads into and writes from: touched before the clock starts, on page
// boundaries (O_DIRECT), used again by each call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/result.hpp"
#include "replay/plan.hpp"

namespace omnio::replay {

class Buffers {
 public:
  Buffers() = default;
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  ~Buffers();

  // For the largest requests of the thread. `seed` makes its content its own. Fails when there is
  // no memory for it.
  std::optional<Failure> reserve(const PlannedThread& thread, std::uint64_t seed);

  char* forRead() const { return read_; }
  // `bytes` bytes unlike what was written before, without NUL and newline, and room for one behind
  // them. On a page boundary when `aligned`. At most what reserve() was told; fewer where that is
  // less.
  std::span<char> forWrite(std::size_t bytes, bool aligned);

 private:
  char* read_ = nullptr;
  std::size_t read_bytes_ = 0;
  char* write_ = nullptr;
  std::size_t write_bytes_ = 0;
  std::size_t write_room_ = 0;
  std::uint64_t stamp_ = 0;
};

}  // namespace omnio::replay
