// How far the first pass over a trace has come, and which calls it has dropped, for the second
// pass: that one may run beside it in another thread, and waits where it would overtake.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "preprocess/order/dependencies.hpp"

namespace omnio::preprocess {

class AnalysisProgress {
 public:
  explicit AnalysisProgress(std::size_t threads)
      : taken_(threads), dropped_(threads), seen_taken_(threads), seen_dropped_(threads) {}
  AnalysisProgress(const AnalysisProgress&) = delete;
  AnalysisProgress& operator=(const AnalysisProgress&) = delete;

  // Says that the first pass is over, also when it is left by an exception: else the second would
  // wait for ever.
  class Ending {
   public:
    explicit Ending(AnalysisProgress& progress) : progress_(progress) {}
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;
    ~Ending() { progress_.end(); }

   private:
    AnalysisProgress& progress_;
  };

  // For the first pass. Steps of a thread come in order.
  void begin(std::int64_t first_start_ns);
  void drop() { is_dropped_ = true; }  // the step that take() comes for next
  // All is known of the step, whether it is dropped too.
  void take(const EventRef& step);

  // For the second pass. Each waits until the first pass has come so far.
  std::int64_t firstStart();
  // Steps of a thread are asked for in order.
  bool isDropped(const EventRef& step);

 private:
  // A lock for each step would cost more than the step.
  static constexpr std::size_t kAtOnce = 1024;
  struct Taken {
    EventRef step;
    bool is_dropped = false;
  };
  void publish();
  void end();

  // Known in the first pass alone.
  std::vector<Taken> unpublished_;
  bool is_dropped_ = false;  // the step that is being taken

  std::mutex mutex_;
  std::condition_variable has_more_;
  // By thread: how many of its steps have been taken, and which of them were dropped.
  std::vector<std::uint64_t> taken_;
  std::vector<std::vector<std::uint64_t>> dropped_;
  std::vector<std::uint32_t> droppers_;  // threads with such
  std::optional<std::int64_t> first_start_ns_;
  bool is_over_ = false;

  // The same, of the second pass alone.
  std::vector<std::uint64_t> seen_taken_;
  std::vector<std::deque<std::uint64_t>> seen_dropped_;
};

}  // namespace omnio::preprocess
