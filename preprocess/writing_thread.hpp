// Writes the threads of a schedule beside the pass that makes them, in a thread of its own: one
// decodes and converts while the other writes. What is written, and in which order, does not depend
// on whether there is such a thread.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/model/schedule.hpp"
#include "core/model/schedule_reader.hpp"

namespace omnio::preprocess {

class WritingThread {
 public:
  // `sink` outlives this, and until finish() is used by nothing else. It does not complain. Where
  // the process may use one processor alone, or the system has no thread to give, it is called at
  // once.
  explicit WritingThread(model::ScheduleSink& sink);
  // Without finish(), what was not written yet is not.
  ~WritingThread();

  // Each throws what the sink has thrown, now or some batches ago.
  void beginThread(const model::ScheduleThread& thread);
  void event(model::ScheduleEvent&& event);
  void endThread();
  // Returns when all is written. Throws what the sink has thrown.
  void finish();

 private:
  // Memory is some thousand events.
  static constexpr std::size_t kEvents = 256;
  static constexpr std::size_t kBatches = 16;
  struct Batch {
    std::optional<model::ScheduleThread> begin;  // of a thread, before the events
    std::vector<model::ScheduleEvent> events;    // used again, with their memory
    std::size_t count = 0;                       // of these
    bool is_end = false;                         // of the thread, after them
  };
  void run();
  void write(const Batch& batch);
  void pass();

  model::ScheduleSink& sink_;
  Batch current_;

  std::mutex mutex_;
  std::condition_variable has_work_;
  std::condition_variable has_room_;
  std::deque<Batch> filled_;
  std::vector<Batch> free_;
  bool is_over_ = false;    // nothing more comes
  bool has_ended_ = false;  // the sink has failed, or is not asked any more
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace omnio::preprocess
