// Which process or thread started which, and which wait found which one ended: from the notes of a
// trace (core/wire/notes.hpp), together with the processes that have a log. Shells and launchers,
// which have none, are in it too.
//
// Starts and waits are few beside events, so that all of them are kept. All times are in ns of the
// trace. Lines that mean nothing are left out: nothing here fails.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/tracefile/trace.hpp"
#include "core/wire/notes.hpp"

namespace omnio::order {

// A line of notes.
struct ChildNote {
  wire::ChildNote kind = wire::ChildNote::kFork;
  std::uint32_t pid = 0;
  std::uint32_t parent = 0;
  std::uint32_t tid = 0;
  std::uint64_t child = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};
// Returns nothing for a line that is not a note.
std::optional<ChildNote> parseChildNote(std::string_view line);

// A child, process or thread, that a thread started, or that it waited for until it had ended.
struct ProcessStep {
  enum class Kind : std::uint8_t { kStart, kWait };
  Kind kind = Kind::kStart;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::size_t child = 0;  // in ProcessTree::processes

  // A child is started when the call begins, and has ended when the wait ends.
  std::int64_t at_ns() const { return kind == Kind::kStart ? begin_ns : end_ns; }
};

// The steps of a thread, by at_ns().
struct ProcessLane {
  std::uint32_t tid = 0;
  std::vector<ProcessStep> steps;
};

// A program that a process ran, from one exec to the next.
struct ProgramRun {
  static constexpr std::size_t kNoLog = std::numeric_limits<std::size_t>::max();
  std::size_t log = kNoLog;   // in Trace::processes()
  std::int64_t begin_ns = 0;  // of one with a log
  std::vector<ProcessLane> lanes;
};

// A process from its start to its end, over all programs that it ran; or a thread that was created
// by another one of the same process.
struct TreeProcess {
  std::uint32_t pid = 0;
  // Whether a step starts it; then nothing in it comes before that.
  bool is_started = false;
  // In order. One without a log can only be the first: it stands for all before the first log.
  std::vector<ProgramRun> programs;
  // A thread has this, and no programs of its own.
  struct ThreadOf {
    std::size_t process = 0;  // in ProcessTree::processes, before this one
    std::size_t program = 0;
    std::uint32_t tid = 0;  // 0: not known, since it has no events
  };
  std::optional<ThreadOf> thread;
};

struct ProcessTree {
  std::vector<TreeProcess> processes;
};

ProcessTree readProcessTree(const tracefile::Trace& trace);

}  // namespace omnio::order
