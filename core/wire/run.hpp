// The identity of a run: what tells the rings of one `omnio trace` from those of any other, also of
// one that used the same directory before. `omnio trace` makes it at random and hands it to every
// process in OMNIO_RUN; its directory keeps it in the second line of the file `job`.
//
// A tracer that was preloaded without `omnio trace` derives one from the trace directory (device,
// inode, time of birth), and so does a reader: a directory that was removed and made again is
// another one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/wire/checksum.hpp"
#include "core/wire/hex_number.hpp"

namespace omnio::wire {

struct RunId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  bool isSet() const { return high != 0 || low != 0; }
  bool operator==(const RunId&) const = default;
};
inline constexpr std::size_t kRunIdDigits = 32;

// The `omnio trace` that collects what the run's processes leave on its node. `pid` 0: none.
struct Supervisor {
  std::uint32_t pid = 0;
  std::uint32_t pad = 0;
  std::uint64_t start = 0;  // as in /proc/<pid>/stat, clock ticks since boot
  std::uint64_t boot = 0;   // checksum of the kernel's boot id: on other nodes its pid says nothing

  bool operator==(const Supervisor&) const = default;
};

// "<run id, 32 hex digits>.<pid>.<start>.<boot>", the numbers in hexadecimal.
inline constexpr const char* kRunVariable = "OMNIO_RUN";

struct Run {
  RunId id;
  Supervisor supervisor;
};

// Exactly 32 digits off the front.
constexpr bool takeRunId(std::string_view& text, RunId& id) {
  constexpr std::size_t kHalf = kRunIdDigits / 2;
  if (text.size() < kRunIdDigits) return false;
  // Not by substr(), whose exception would make the tracer need the C++ library.
  std::string_view high(text.data(), kHalf);
  std::string_view low(text.data() + kHalf, kHalf);
  if (!takeHexNumber(high, kHalf, id.high) || !high.empty() || !takeHexNumber(low, kHalf, id.low) ||
      !low.empty()) {
    return false;
  }
  text.remove_prefix(kRunIdDigits);
  return true;
}

// The value of OMNIO_RUN; a run whose id is not set when it means nothing.
constexpr Run parseRun(std::string_view text) {
  Run run;
  std::uint64_t pid = 0;
  if (!takeRunId(text, run.id)) return {};
  const auto next = [&text](std::uint64_t& value) {
    if (text.empty() || text.front() != '.') return false;
    text.remove_prefix(1);
    return takeHexNumber(text, 16, value);
  };
  if (text.empty()) return run;
  if (!next(pid) || !next(run.supervisor.start) || !next(run.supervisor.boot) || !text.empty()) {
    return {};
  }
  run.supervisor.pid = static_cast<std::uint32_t>(pid);
  return run;
}

// What stands for the identity where no `omnio trace` made one. `birth_ns` is 0 on file systems
// that do not keep it.
inline RunId derivedRun(std::uint64_t device, std::uint64_t inode, std::uint64_t birth_ns) {
  const std::uint64_t facts[] = {device, inode, birth_ns};
  const std::uint64_t sum = checksum(facts, sizeof facts);
  const std::uint64_t again[] = {sum, birth_ns, inode, device};
  return {.high = sum, .low = checksum(again, sizeof again) | 1};
}

}  // namespace omnio::wire
