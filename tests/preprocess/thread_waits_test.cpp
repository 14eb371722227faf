// Order that threads of a process bring into their I/O by waiting for each other, in cases whose
// edges and delays were drawn by hand. The files are different ones.
#include "tests/preprocess/traced_run.hpp"

namespace omnio::preprocess {
namespace {

using model::Reason;
using model::Work;

constexpr std::int64_t kMutex = 0x1000;
constexpr std::int64_t kCondition = 0x2000;
constexpr std::int64_t kSemaphore = 0x3000;
constexpr std::int64_t kBarrier = 0x4000;

class ThreadWaits : public TracedRun {
 protected:
  // A thread that opened a file of its own from 1000 to 1010.
  static Thread thread(std::uint32_t number) {
    Thread thread(token(0), number);
    thread.open(1000, 1010, "/run/own" + std::to_string(number), O_RDWR | O_CREAT, number + 1);
    return thread;
  }
  static void write(Thread& thread, std::uint32_t number, std::uint64_t start, std::uint64_t end) {
    thread.data("pwrite", start, end, number + 1, 100, 0);
  }
  Kept scheduleOf(const std::vector<Thread>& threads) {
    std::vector<const Thread*> all;
    for (const Thread& one : threads) all.push_back(&one);
    save(0, 1, all);
    return schedule();
  }
  static model::Wait after(const ScheduleEvent& event, std::int64_t compute) {
    return {event.id, Reason::kThread, {.compute_ns = compute}};
  }
};

TEST_F(ThreadWaits, ASignalEndsAWaitThatIsNoWork) {
  std::vector<Thread> threads{thread(0), thread(1)};
  write(threads[0], 0, 1020, 2000);
  threads[0].waits("pthread_cond_signal", 2050, 2050, kCondition, kMutex);
  threads[1].waits("pthread_cond_wait", 1100, 2080, kCondition, kMutex);
  write(threads[1], 1, 2100, 3000);
  const Kept kept = scheduleOf(threads);
  const ScheduleEvent& signalled = kept.threads.at(0).at(1);
  const ScheduleEvent& woken = kept.threads.at(1).at(1);
  // 90 before the wait, and 20 behind it; waking up took 30.
  EXPECT_EQ(woken.own, (Work{110, 0}));
  EXPECT_EQ(woken.after, std::vector{after(signalled, 100)});
}

TEST_F(ThreadWaits, AChangeUnderAMutexIsSeenWithoutWaiting) {
  std::vector<Thread> threads{thread(0), thread(1)};
  write(threads[0], 0, 1020, 1100);
  threads[0].waits("pthread_cond_broadcast", 1110, 1110, kCondition, kMutex);
  threads[1].waits("pthread_mutex_lock", 2000, 2000, kMutex);
  write(threads[1], 1, 2030, 3000);
  const Kept kept = scheduleOf(threads);
  EXPECT_EQ(kept.threads.at(1).at(1).own, (Work{1020, 0}));
  EXPECT_EQ(kept.threads.at(1).at(1).after, std::vector{after(kept.threads.at(0).at(1), 40)});
}

// Two threads hand work to each other under one mutex. The second one has seen the first one's
// change when it signals, so the signal also stands for that change. But the first one waits for
// the second, and not for its own change: waking up must not be added to the work behind that.
TEST_F(ThreadWaits, WakingUpDoesNotAddUpWhereChangesComeBack) {
  std::vector<Thread> threads{thread(0), thread(1)};
  write(threads[0], 0, 1020, 1100);
  write(threads[1], 1, 1020, 2000);
  threads[0].waits("pthread_cond_signal", 1110, 1110, kCondition, kMutex);
  threads[0].waits("pthread_cond_wait", 1120, 2090, kCondition, kMutex);
  threads[1].waits("pthread_mutex_lock", 2010, 2010, kMutex);
  threads[1].waits("pthread_cond_signal", 2020, 2020, kCondition, kMutex);
  write(threads[0], 0, 2100, 3000);
  const Kept kept = scheduleOf(threads);
  EXPECT_EQ(kept.threads.at(0).at(2).own, (Work{30, 0}));
  EXPECT_EQ(kept.threads.at(0).at(2).after, std::vector{after(kept.threads.at(1).at(1), 100)});
}

TEST_F(ThreadWaits, ASignalBeforeAWaitDoesNotEndIt) {
  std::vector<Thread> threads{thread(0), thread(1)};
  write(threads[0], 0, 1020, 1100);
  threads[0].waits("pthread_cond_signal", 1110, 1110, kCondition);
  threads[1].waits("pthread_cond_timedwait", 1200, 2000, kCondition, kMutex, ETIMEDOUT);
  threads[1].waits("pthread_cond_wait", 2010, 2020, kCondition, kMutex);
  write(threads[1], 1, 2030, 3000);
  const Kept kept = scheduleOf(threads);
  EXPECT_TRUE(kept.threads.at(1).at(1).after.empty());
}

TEST_F(ThreadWaits, AMutexIsWaitedForUntilItIsUnlocked) {
  std::vector<Thread> threads{thread(0), thread(1)};
  write(threads[0], 0, 1020, 2000);
  threads[0].waits("pthread_mutex_unlock", 2010, 2010, kMutex);
  threads[1].waits("pthread_mutex_lock", 1100, 2020, kMutex);
  write(threads[1], 1, 2030, 3000);
  const Kept kept = scheduleOf(threads);
  EXPECT_EQ(kept.threads.at(1).at(1).own, (Work{100, 0}));
  EXPECT_EQ(kept.threads.at(1).at(1).after, std::vector{after(kept.threads.at(0).at(1), 30)});
}

TEST_F(ThreadWaits, ASemaphoreIsTakenLaterThanItWasGiven) {
  std::vector<Thread> threads{thread(0), thread(1)};
  write(threads[0], 0, 1020, 1100);
  threads[0].waits("sem_post", 1110, 1110, kSemaphore);
  threads[1].waits("sem_wait", 2000, 2005, kSemaphore);
  write(threads[1], 1, 2030, 3000);
  const Kept kept = scheduleOf(threads);
  EXPECT_EQ(kept.threads.at(1).at(1).own, (Work{1020, 0}));
  EXPECT_EQ(kept.threads.at(1).at(1).after, std::vector{after(kept.threads.at(0).at(1), 40)});
}

TEST_F(ThreadWaits, AllWhoMeetAtABarrierAreWaitedForInTheirTurn) {
  std::vector<Thread> threads{thread(0), thread(1), thread(2)};
  for (std::uint32_t i = 0; i < 3; ++i) {
    write(threads[i], i, 1020, 2000 + 100 * i);
    threads[i].waits("pthread_barrier_wait", 2010 + 100 * i, 2220 + i, kBarrier);
    write(threads[i], i, 2250, 2300 + 100 * i);
    threads[i].waits("pthread_barrier_wait", 2310 + 100 * i, 2520 + i, kBarrier);
    write(threads[i], i, 2550, 3000);
  }
  const Kept kept = scheduleOf(threads);
  for (std::size_t turn = 0; turn < 2; ++turn) {
    for (std::size_t i = 0; i < 3; ++i) {
      std::vector<model::Wait> others;
      for (std::size_t other = 0; other < 3; ++other) {
        if (other != i) others.push_back(after(kept.threads.at(other).at(turn + 1), 50));
      }
      EXPECT_EQ(kept.threads.at(i).at(turn + 2).after, others) << turn << " " << i;
      EXPECT_EQ(kept.threads.at(i).at(turn + 2).own, (Work{50, 0})) << turn << " " << i;
    }
  }
}

TEST_F(ThreadWaits, ATeamBeginsWithItsFirstAndEndsWithItsLast) {
  std::vector<Thread> threads{thread(0), thread(1)};
  write(threads[0], 0, 1020, 1100);
  threads[0].waits("(omp_team)", 1110, 1110, kBarrier);
  threads[1].waits("(omp_begin)", 1015, 1130, kBarrier);
  write(threads[1], 1, 1140, 2100);
  threads[1].waits("(omp_done)", 2110, 2110, kBarrier);
  threads[0].waits("(omp_end)", 1200, 2130, kBarrier);
  write(threads[0], 0, 2140, 3000);
  const Kept kept = scheduleOf(threads);
  const ScheduleEvent& part = kept.threads.at(1).at(1);
  EXPECT_EQ(part.own, (Work{15, 0}));
  EXPECT_EQ(part.after, std::vector{after(kept.threads.at(0).at(1), 40)});
  EXPECT_EQ(kept.threads.at(0).at(2).own, (Work{130, 0}));
  EXPECT_EQ(kept.threads.at(0).at(2).after, std::vector{after(part, 40)});
}

TEST_F(ThreadWaits, AThreadInBetweenPassesTheOrderOn) {
  std::vector<Thread> threads{thread(0), thread(1), thread(2)};
  write(threads[0], 0, 1020, 2000);
  threads[0].waits("sem_post", 2010, 2010, kSemaphore);
  threads[1].waits("sem_wait", 1100, 2020, kSemaphore);
  threads[1].waits("sem_post", 2030, 2030, kSemaphore + 32);
  threads[2].waits("sem_wait", 1100, 2040, kSemaphore + 32);
  write(threads[2], 2, 2050, 3000);
  const Kept kept = scheduleOf(threads);
  const auto& waits = kept.threads.at(2).at(1).after;
  ASSERT_FALSE(waits.empty());
  EXPECT_EQ(waits.front(), after(kept.threads.at(0).at(1), 50));
}

TEST_F(ThreadWaits, AllPostsBeforeASemaphoreIsTakenAreWaitedFor) {
  std::vector<Thread> threads{thread(0), thread(1), thread(2)};
  write(threads[0], 0, 1020, 2000);
  threads[0].waits("sem_post", 2010, 2010, kSemaphore);
  write(threads[1], 1, 1020, 2100);
  threads[1].waits("sem_post", 2110, 2110, kSemaphore);
  threads[2].waits("sem_wait", 2500, 2505, kSemaphore);
  write(threads[2], 2, 2530, 3000);
  const Kept kept = scheduleOf(threads);
  const std::vector posts{after(kept.threads.at(0).at(1), 40), after(kept.threads.at(1).at(1), 40)};
  EXPECT_EQ(kept.threads.at(2).at(1).after, posts);
}

TEST_F(ThreadWaits, WhatIsDoneUnderAMutexBehindASignalIsWaitedFor) {
  std::vector<Thread> threads{thread(0), thread(1)};
  threads[0].waits("pthread_cond_signal", 1110, 1110, kCondition, kMutex);
  write(threads[0], 0, 1120, 2000);
  threads[0].waits("pthread_mutex_unlock", 2010, 2010, kMutex);
  threads[1].waits("pthread_cond_wait", 1020, 2030, kCondition, kMutex);
  write(threads[1], 1, 2040, 3000);
  const Kept kept = scheduleOf(threads);
  const auto& waits = kept.threads.at(1).at(1).after;
  ASSERT_FALSE(waits.empty());
  EXPECT_EQ(waits.back(), after(kept.threads.at(0).at(1), 40));
}

// The library does tasks while threads meet: these are recorded before the meeting, which began
// before them.
TEST_F(ThreadWaits, TasksInsideOfABarrierComeBeforeItsEnd) {
  std::vector<Thread> threads{thread(0), thread(1)};
  write(threads[0], 0, 1120, 2000);
  threads[0].waits("(omp_barrier)", 1100, 2020, kBarrier);
  write(threads[0], 0, 2030, 3000);
  threads[1].waits("(omp_barrier)", 1050, 2025, kBarrier);
  write(threads[1], 1, 2040, 3000);
  const Kept kept = scheduleOf(threads);
  EXPECT_EQ(kept.threads.at(0).at(2).own, (Work{30, 0}));
  EXPECT_EQ(kept.threads.at(1).at(1).after, std::vector{after(kept.threads.at(0).at(1), 40)});
}

TEST_F(ThreadWaits, TasksBehindAThreadsPartComeBeforeTheTeamsEnd) {
  std::vector<Thread> threads{thread(0), thread(1)};
  threads[0].waits("(omp_team)", 1110, 1110, kBarrier);
  threads[1].waits("(omp_begin)", 1015, 1130, kBarrier);
  threads[1].waits("(omp_done)", 1210, 1210, kBarrier);
  write(threads[1], 1, 1300, 2000);
  threads[0].waits("(omp_end)", 1200, 2030, kBarrier);
  write(threads[0], 0, 2040, 3000);
  const Kept kept = scheduleOf(threads);
  EXPECT_EQ(kept.threads.at(0).at(1).after, std::vector{after(kept.threads.at(1).at(1), 40)});
}

TEST_F(ThreadWaits, ObjectsOfTwoProcessesAtOneAddressAreTwo) {
  Thread first = thread(0);
  write(first, 0, 1020, 2000);
  first.waits("sem_post", 2010, 2010, kSemaphore);
  Thread second(token(1));
  second.open(1000, 1010, "/run/other", O_RDWR | O_CREAT, 1);
  second.waits("sem_wait", 1100, 2020, kSemaphore).data("pwrite", 2050, 3000, 1, 100, 0);
  save(0, 2, {&first});
  save(1, 2, {&second});
  const Kept kept = schedule();
  EXPECT_TRUE(kept.threads.at(1).at(1).after.empty());
}

TEST_F(ThreadWaits, CallsThatOnlyWaitAreNoStepsOfASchedule) {
  std::vector<Thread> threads{thread(0)};
  threads[0].waits("pthread_mutex_lock", 1020, 1030, kMutex);
  write(threads[0], 0, 1040, 2000);
  threads[0].waits("sem_post", 2010, 2010, kSemaphore).close(2020, 2030, 1);
  const Kept kept = scheduleOf(threads);
  ASSERT_EQ(kept.threads.at(0).size(), 3U);
  EXPECT_EQ(kept.threads.at(0).at(2).start_ns, 1020);
}

TEST_F(ThreadWaits, WhatTheRecorderDoesBetweenTwoEventsIsNotWorkOfTheThread) {
  std::vector<Thread> threads{thread(0)};
  threads[0].recorderWork(300).recorderWork(90);
  write(threads[0], 0, 1430, 2000);
  threads[0].recorderWork(1000);  // more than there is between the two
  write(threads[0], 0, 2100, 3000);
  write(threads[0], 0, 3040, 4000);
  const Kept kept = scheduleOf(threads);
  EXPECT_EQ(kept.threads.at(0).at(1).own, (Work{30, 0}));
  EXPECT_EQ(kept.threads.at(0).at(2).own, (Work{0, 0}));
  EXPECT_FALSE(kept.threads.at(0).at(3).own.has_value());
}

TEST_F(ThreadWaits, HowMuchAThreadComputesFollowsFromTheSamples) {
  constexpr std::int64_t kUs = 1000;
  std::vector<Thread> threads{thread(0), thread(1), thread(2)};
  // A part of the 399 us, in which it computes.
  threads[0].thinkSample(300 * kUs, 300 * kUs);
  write(threads[0], 0, 400 * kUs, 401 * kUs);
  // And one of five times in which it sleeps.
  threads[0].recorderWork(10).thinkSample(20 * kUs, 0);
  write(threads[0], 0, 421 * kUs, 422 * kUs);
  for (int i = 0; i < 4; ++i) write(threads[0], 0, (442 + 21 * i) * kUs, (443 + 21 * i) * kUs);
  threads[1].thinkSample(200 * kUs, 5000 * kUs);  // clocks differ a little, but not so much
  write(threads[1], 1, 400 * kUs, 401 * kUs);
  const Kept kept = scheduleOf(threads);
  EXPECT_EQ(kept.headers.at(0).computing, 0.8);
  EXPECT_EQ(kept.headers.at(1).computing, 1);
  EXPECT_FALSE(kept.headers.at(2).computing.has_value());
}

}  // namespace
}  // namespace omnio::preprocess
