#include "preprocess/writing_thread.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

namespace omnio::preprocess {
namespace {

// Notes the ids of the events, and fails at one of them.
class NotingSink : public model::ScheduleSink {
 public:
  explicit NotingSink(std::uint64_t fails_at = 0) : fails_at_(fails_at) {}

  Complaint beginThread(const model::ScheduleThread& thread) override {
    threads.push_back(thread.thread);
    return {};
  }
  Complaint event(const model::ScheduleEvent& event) override {
    if (event.id == fails_at_) throw std::runtime_error("the sink is full");
    ids.push_back(event.id);
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    is_own_thread = pthread_equal(pthread_self(), maker) == 0;
    takes_signals = sigismember(&blocked, SIGTERM) == 0;
    return {};
  }
  Complaint endThread() override {
    threads.push_back(-1);
    return {};
  }

  std::vector<std::uint64_t> ids;
  std::vector<int> threads;  // -1: an end
  bool is_own_thread = false;
  bool takes_signals = false;

 private:
  const std::uint64_t fails_at_;
  const pthread_t maker = pthread_self();
};

void put(WritingThread& writing, std::uint64_t id) {
  model::ScheduleEvent event;
  event.id = id;
  writing.event(std::move(event));
}

TEST(WritingThread, HandsOnAllInOrder) {
  constexpr std::uint64_t kEvents = 20000;
  NotingSink sink;
  WritingThread writing(sink);
  std::vector<std::uint64_t> ids;
  for (std::uint64_t id = 1; id <= kEvents; ++id) {
    if (id % 1000 == 1) {
      model::ScheduleThread thread;
      thread.thread = static_cast<int>(id / 1000);
      writing.beginThread(thread);
    }
    put(writing, ids.emplace_back(id));
    if (id % 1000 == 0) writing.endThread();
  }
  writing.finish();
  EXPECT_EQ(sink.ids, ids);
  std::vector<int> threads;
  for (int thread = 0; thread < 20; ++thread) threads.insert(threads.end(), {thread, -1});
  EXPECT_EQ(sink.threads, threads);
  // Signals go to the thread that works.
  EXPECT_EQ(sink.takes_signals, !sink.is_own_thread);
}

TEST(WritingThread, AFailureOfTheSinkComesBeforeTheEnd) {
  constexpr std::uint64_t kEvents = 100000;
  NotingSink sink(10);
  WritingThread writing(sink);
  writing.beginThread({});
  std::uint64_t id = 0;
  EXPECT_THROW(while (id < kEvents) put(writing, ++id), std::runtime_error);
  EXPECT_LT(id, kEvents);
  EXPECT_EQ(sink.ids.size(), 9U);
}

TEST(WritingThread, AFailureOfTheSinkIsToldAtTheEnd) {
  NotingSink sink(3);
  WritingThread writing(sink);
  const auto write = [&writing] {
    writing.beginThread({});
    for (std::uint64_t id = 1; id <= 5; ++id) put(writing, id);
    writing.endThread();
    writing.finish();
  };
  EXPECT_THROW(write(), std::runtime_error);
}

}  // namespace
}  // namespace omnio::preprocess
