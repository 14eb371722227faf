// Synthetic accesses of a process, for tests of the phase model: one after the other, with ticks.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "phase_model/access_reader.hpp"
#include "phase_model/model_builder.hpp"

namespace omnio::test {

inline constexpr std::int64_t kMib = std::int64_t{1} << 20;
inline constexpr std::int64_t kGib = std::int64_t{1} << 30;

// The accesses of one process, in the order in which they are made.
class Process {
 public:
  Process(phases::ModelBuilder& builder, int rank, phases::Manner manner)
      : builder_(builder), rank_(rank), manner_(manner) {
    builder_.beginRank(rank);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() { builder_.endRank(); }

  // Other MPI events that the process makes now.
  Process& others(std::uint64_t events) {
    tick_ += events;
    others_ += events;
    return *this;
  }
  Process& on(event::FileId file) {
    file_ = file;
    return *this;
  }
  Process& thread(std::uint32_t thread) {
    thread_ = thread;
    return *this;
  }
  Process& write(std::int64_t offset, std::int64_t bytes) {
    return access(model::Operation::kWrite, offset, bytes);
  }
  Process& read(std::int64_t offset, std::int64_t bytes) {
    return access(model::Operation::kRead, offset, bytes);
  }
  // The next access begins there in the view, in etypes.
  Process& inView(std::int64_t etypes) {
    in_view_ = etypes;
    return *this;
  }
  // At an offset that is not known.
  Process& writeSomewhere(std::int64_t bytes) {
    known_ = false;
    write(0, bytes);
    known_ = true;
    return *this;
  }

 private:
  static constexpr std::int64_t kDuration = 100;
  static constexpr std::int64_t kBetween = 10;

  Process& access(model::Operation operation, std::int64_t offset, std::int64_t bytes) {
    ++tick_;
    builder_.add({.rank = rank_,
                  .thread = thread_,
                  .file = file_,
                  .operation = operation,
                  .manner = manner_,
                  .offset_known = known_,
                  .offset = offset,
                  .bytes = static_cast<std::uint64_t>(bytes),
                  .in_view = std::exchange(in_view_, std::nullopt),
                  .tick = tick_,
                  .others = others_,
                  .start_ns = now_,
                  .end_ns = now_ + kDuration});
    now_ += kDuration + kBetween;
    return *this;
  }

  phases::ModelBuilder& builder_;
  int rank_;
  phases::Manner manner_;
  event::FileId file_{0};
  std::uint32_t thread_ = 0;
  bool known_ = true;
  std::optional<std::int64_t> in_view_;
  std::uint64_t tick_ = 0;
  std::uint64_t others_ = 0;
  std::int64_t now_ = 1000;
};

inline constexpr phases::Manner kMpiIndividual{.interface = model::Interface::kMpiIo,
                                               .pointer = model::PointerKind::kIndividual};
inline constexpr phases::Manner kStreams{.interface = model::Interface::kStdio,
                                         .pointer = model::PointerKind::kIndividual};

}  // namespace omnio::test
