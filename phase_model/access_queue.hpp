// Accesses in the order in which they began, held back behind a read whose bytes a later event
// tells (core/event/deferred_reads.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>

#include "phase_model/access.hpp"

namespace omnio::phases {

class AccessQueue {
 public:
  using Take = std::function<void(const Access&)>;

  // Accesses that are held back; of more, the oldest counts with what it asked for.
  static constexpr std::size_t kMost = std::size_t{1} << 16;

  // `take` outlives this object, and gets what moved bytes.
  explicit AccessQueue(const Take& take) : take_(take) {}

  void add(const Access& access);
  // One whose bytes are those asked for; returns the number by which gotBytes() speaks of it.
  std::size_t addBegun(const Access& access);
  void gotBytes(std::size_t number, std::uint64_t bytes);
  // There are no more: what nobody ended got nothing.
  void finish();

  std::uint64_t neverEnded() const { return never_ended_; }
  std::uint64_t endedTooLate() const { return ended_too_late_; }

 private:
  struct Held {
    Access access;
    bool is_known;
  };
  void keepBounds();
  void passKnown();
  void passFront();

  const Take& take_;
  std::deque<Held> held_;
  std::size_t passed_ = 0;  // number of the front
  std::uint64_t never_ended_ = 0;
  std::uint64_t ended_too_late_ = 0;
};

}  // namespace omnio::phases
