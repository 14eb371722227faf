// How far long work has come. Those who start a pass over a trace say how much there is to do, and
// readers add what they have done, once a chunk. The command line shows it on a terminal
// (cli/progress_line.hpp); where it does not, this costs an atomic addition a chunk.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace omnio::base {

// By any thread, and not for each event.
void progressBy(std::uint64_t amount);

// A stretch of the work, for as long as it lives. Stages nest: the inner one is shown, and what is
// done in it does not count in the outer one. Threads that work side by side share one, which is
// made before them. Costs a lock.
class ProgressStage {
 public:
  // "reading the trace", "events". The texts outlive the stage. 0: it is not known how much there
  // is.
  ProgressStage(std::string_view what, std::string_view unit, std::uint64_t all);
  ProgressStage(const ProgressStage&) = delete;
  ProgressStage& operator=(const ProgressStage&) = delete;
  ~ProgressStage();

  // For work that is not done by readers: so much is done, of so much.
  void reach(std::uint64_t done, std::uint64_t all);

 private:
  friend std::optional<struct Progress> progressNow();
  std::string_view what_;
  std::string_view unit_;
  std::uint64_t all_;
  const std::uint64_t counted_before_;  // by progressBy()
  std::uint64_t begin_;                 // the same, and what was counted in inner stages
  std::chrono::steady_clock::time_point started_;
  ProgressStage* outer_;
};

// How far the innermost stage has come.
struct Progress {
  std::string_view what;
  std::string_view unit;
  std::uint64_t done = 0;
  std::uint64_t all = 0;  // 0: not known
  std::int64_t elapsed_ms = 0;
};
std::optional<Progress> progressNow();

// "reading the trace: 12.3 of 40.0 million events, 31 %, 25 s left". Without a share where it is
// not known how much there is, or where more was done than that; without the time left in the first
// second.
std::string progressText(const Progress& progress);

}  // namespace omnio::base
