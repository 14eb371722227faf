// The clocks of hosts from the messages of a trace: two hosts, four in a chain, collective calls, a
// step, no messages; and what is kept of it beside the trace.
#include "core/order/host_offsets.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/wire/info.hpp"
#include "tests/core/mpi_trace.hpp"
#include "tests/core/temporary_directory.hpp"

namespace omnio {
namespace {

using test::kSecond;
constexpr std::int64_t kBegin = kSecond / 100;

// By clock: receives that end before their send begins.
std::vector<std::uint64_t> earlyReceives(const tracefile::Trace& trace) {
  class Sink : public order::MpiPictureSink {
   public:
    explicit Sink(const tracefile::Trace& trace) : trace_(trace), early(trace.clocks().size()) {}
    void seen(std::uint64_t, const order::MpiEventRef&, const event::Event&) override {}
    void settled(const order::MatchedEvent& event) override {
      for (const order::EventPart& part : event.parts) {
        const order::MpiOperation& operation = *part.operation;
        if (operation.kind != order::OperationKind::kReceive ||
            operation.counterpart.start_ns <= event.event.end_ns) {
          continue;
        }
        for (const tracefile::HostClock& host : trace_.clocks()) {
          for (const std::size_t process : host.processes) {
            early[host.clock] += process == event.event.process ? 1 : 0;
          }
        }
      }
    }

   private:
    const tracefile::Trace& trace_;

   public:
    std::vector<std::uint64_t> early;
  };
  Sink sink(trace);
  event::PathTable paths;
  const mpi::MpiGroups groups = order::mpiGroupsOf(trace);
  order::readMpiPicture(trace, groups, paths, sink);
  return sink.early;
}

// A rank on each host. Rank r's clock is ahead by r times 0.1 s and fast by r times 50 ppm.
class HostOffsetsTest : public testing::Test {
 protected:
  void hosts(int ranks) {
    trace_ = std::make_unique<test::MpiTrace>(ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      trace_->onNode(rank, fmt::format("boot {}", rank));
      trace_->fact(rank, wire::info::kHost, fmt::format("host{}", rank));
    }
    seq_.assign(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks), 0);
    ranks_ = ranks;
  }
  std::int64_t offset(int rank, std::int64_t ns) const {
    const std::int64_t since = ns - step_at_ns_;
    std::int64_t step = rank == stepping_rank_ && since >= 0 ? step_ns_ : 0;
    if (since >= 0 && since < spread_ns_) step = step * since / spread_ns_;
    return rank * (kSecond / 10 + std::llround(static_cast<double>(ns) * 50e-6)) + step;
  }
  std::uint64_t clock(int rank, std::int64_t ns) const {
    return static_cast<std::uint64_t>(ns + offset(rank, ns));
  }
  // Sent at `ns`, by a clock that is right. Returns when it comes.
  std::int64_t message(int from, int to, std::int64_t ns) {
    const std::int64_t way = 5'000 + static_cast<std::int64_t>(delay_(random_));
    const int seq = ++seq_[static_cast<std::size_t>(from * ranks_ + to)];
    trace_->send(from, to, seq, clock(from, ns), clock(from, ns + 2'000));
    trace_->receive(to, from, seq, clock(to, ns), clock(to, ns + way));
    return ns + way;
  }
  void toAndFro(int a, int b, std::int64_t from_ns, std::int64_t to_ns) {
    for (std::int64_t ns = from_ns; ns < to_ns; ns += 20'000'000) {
      message(a, b, ns);
      message(b, a, ns + 10'000'000);
    }
  }
  tracefile::Trace open() {
    for (int rank = 0; rank < ranks_; ++rank) {
      trace_->endsAt(rank, clock(rank, kBegin + end_ns_ + kSecond / 100));
    }
    trace_->save(directory_.path());
    auto trace = order::openWithClocks(directory_.path());
    if (!trace) throw std::runtime_error(trace.failure().sentence);
    return std::move(*trace);
  }
  // The corrections are as far from the truth as they say, at most.
  void expectTruth(const tracefile::Trace& trace, std::int64_t most_error_ns) const {
    for (const tracefile::HostClock& host : trace.clocks()) {
      const int rank = *host.ranks.begin();
      if (rank == 0) continue;
      EXPECT_EQ(host.method, tracefile::ClockMethod::kMessages) << rank;
      ASSERT_TRUE(host.error_ns);
      EXPECT_LE(*host.error_ns, most_error_ns) << rank;
      const tracefile::Process& process = *trace.processes()[host.processes.front()];
      for (std::int64_t ns = kBegin; ns <= kBegin + end_ns_; ns += kSecond / 10) {
        const std::uint64_t ticks = clock(rank, ns);
        const std::int64_t found = process.clock->segmentOf(ticks).ns(ticks);
        EXPECT_LE(std::abs(found - ns), *host.error_ns) << rank << " at " << ns;
      }
    }
  }

  test::TemporaryDirectory directory_;
  std::unique_ptr<test::MpiTrace> trace_;
  int stepping_rank_ = -1;
  std::int64_t step_at_ns_ = 0;
  std::int64_t step_ns_ = 0;
  std::int64_t spread_ns_ = 0;
  std::int64_t end_ns_ = 10 * kSecond;

 private:
  int ranks_ = 0;
  std::vector<int> seq_;
  std::mt19937 random_{4711};
  std::exponential_distribution<double> delay_{1.0 / 20'000};
};

TEST_F(HostOffsetsTest, MessagesTellOffsetAndDrift) {
  hosts(2);
  toAndFro(0, 1, kBegin, kBegin + 10 * kSecond);
  const tracefile::Trace trace = open();
  expectTruth(trace, 50'000);
  EXPECT_NEAR(trace.clocks()[1].drift->ppm, 50, 10);
  EXPECT_NEAR(static_cast<double>(trace.clocks()[1].offset_ns - offset(1, kBegin)), 0, 200'000'000);
  EXPECT_EQ(trace.clocks()[1].moved_receives, 0U);
}

TEST_F(HostOffsetsTest, AChainAddsItsErrors) {
  hosts(4);
  for (int rank = 0; rank < 3; ++rank) {
    toAndFro(rank, rank + 1, kBegin + rank * 3'000'000, kBegin + 10 * kSecond);
  }
  const tracefile::Trace trace = open();
  expectTruth(trace, 150'000);
  EXPECT_LT(*trace.clocks()[1].error_ns, *trace.clocks()[3].error_ns);
}

TEST_F(HostOffsetsTest, BarriersBindAllHosts) {
  hosts(3);
  std::uint64_t seq = 0;
  for (std::int64_t ns = kBegin; ns < kBegin + 10 * kSecond; ns += 50'000'000) {
    ++seq;
    const int last = static_cast<int>(seq % 3);
    for (int rank = 0; rank < 3; ++rank) {
      const std::int64_t start = ns + (rank == last ? 30'000 : 0);
      trace_->barrier(rank, static_cast<int>(seq), clock(rank, start), clock(rank, ns + 45'000));
    }
  }
  expectTruth(open(), 50'000);
}

TEST_F(HostOffsetsTest, AStepIsFollowed) {
  for (const std::int64_t step_ns : {5'000'000, -5'000'000}) {
    SCOPED_TRACE(step_ns);
    hosts(2);
    stepping_rank_ = 1;
    step_at_ns_ = kBegin + 5 * kSecond + 1'000'000;
    step_ns_ = step_ns;
    toAndFro(0, 1, kBegin, kBegin + 10 * kSecond);
    const tracefile::Trace trace = open();
    const tracefile::Process& process = *trace.processes()[1];
    for (const std::int64_t ns : {kBegin + 2 * kSecond, kBegin + 8 * kSecond}) {
      const std::uint64_t ticks = clock(1, ns);
      EXPECT_NEAR(static_cast<double>(process.clock->segmentOf(ticks).ns(ticks) - ns), 0, 60'000);
    }
    EXPECT_EQ(trace.clocks()[1].early_receives, 0U);
  }
}

// Ranks that answer each other without a pause, while a clock loses or gains 5 ms in the 0.1 s
// between two of its anchors: no line fits.
TEST_F(HostOffsetsTest, NoReceiveIsEarlyBetweenDenseMessages) {
  for (const int ranks : {2, 3}) {
    for (const std::int64_t step_ns : {5'000'000, -5'000'000}) {
      SCOPED_TRACE(step_ns);
      hosts(ranks);
      stepping_rank_ = 1;
      step_at_ns_ = kBegin + kSecond / 2;
      step_ns_ = step_ns;
      spread_ns_ = kSecond / 10;
      std::int64_t ns = kBegin;
      while (ns < kBegin + kSecond) {
        for (int rank = 0; rank + 1 < ranks; ++rank) ns = message(rank, rank + 1, ns) + 1'000;
        for (int rank = ranks - 1; rank > 0; --rank) ns = message(rank, rank - 1, ns) + 1'000;
      }
      const tracefile::Trace trace = open();
      const std::vector<std::uint64_t> early = earlyReceives(trace);
      for (const tracefile::HostClock& host : trace.clocks()) {
        EXPECT_EQ(early[host.clock], 0U) << host.host;
        EXPECT_EQ(host.early_receives, 0U) << host.host;
        EXPECT_GE(host.moved_most_ns > 0, host.moved_receives > 0) << host.host;
        ASSERT_TRUE(host.error_ns);
        const tracefile::Process& process = *trace.processes()[host.processes.front()];
        for (std::int64_t at = kBegin; at < kBegin + kSecond; at += 1'000'000) {
          const std::uint64_t ticks = clock(*host.ranks.begin(), at);
          EXPECT_LE(std::abs(process.clock->segmentOf(ticks).ns(ticks) - at), *host.error_ns);
        }
      }
      const auto kept = order::readClocks(trace);
      ASSERT_TRUE(kept);
      for (const auto& known : *kept) {
        if (known) {
          EXPECT_LE(known->correction.points().size(), 4'096U);
        }
      }
    }
  }
}

// The run begins long before the first message, as programs do that read their input first.
TEST_F(HostOffsetsTest, AShortTraceHasASmallError) {
  hosts(2);
  trace_->barrier(0, 1, clock(0, kBegin), clock(0, kBegin + 1000), 2);
  end_ns_ = kSecond;
  toAndFro(0, 1, kBegin + kSecond / 3, kBegin + kSecond);
  expectTruth(open(), 200'000);
}

TEST_F(HostOffsetsTest, WithoutMessagesTheErrorIsNotKnown) {
  hosts(2);
  trace_->barrier(0, 1, clock(0, kBegin), clock(0, kBegin + 1000), 2);
  const tracefile::Trace trace = open();
  EXPECT_EQ(trace.clocks()[1].method, tracefile::ClockMethod::kRealtime);
  EXPECT_FALSE(trace.clocks()[1].error_ns);
}

// Whether there are bounds or not: bounds from one side alone are not an estimate.
TEST_F(HostOffsetsTest, MessagesOneWaySayNothing) {
  hosts(2);
  for (std::int64_t ns = kBegin; ns < kBegin + kSecond; ns += 20'000'000) message(0, 1, ns);
  EXPECT_EQ(open().clocks()[1].method, tracefile::ClockMethod::kRealtime);
}

TEST_F(HostOffsetsTest, OneHostIsNotLookedAt) {
  hosts(2);
  trace_->onNode(1, "boot 0");
  message(0, 1, kBegin);
  EXPECT_FALSE(order::hasSeveralClocks(open()));
  EXPECT_FALSE(std::filesystem::exists(directory_.path() / order::kClocksFile));
}

TEST_F(HostOffsetsTest, IsKeptUntilTheTraceChanges) {
  hosts(2);
  toAndFro(0, 1, kBegin, kBegin + kSecond);
  const tracefile::Trace trace = open();
  const auto kept = order::readClocks(trace);
  ASSERT_TRUE(kept);
  ASSERT_EQ(kept->size(), 2U);
  EXPECT_FALSE((*kept)[0]);
  ASSERT_TRUE((*kept)[1]);
  EXPECT_EQ((*kept)[1]->correction.errorNs(), *trace.clocks()[1].error_ns);
  // Read again, the file gives the same.
  const auto again = order::openWithClocks(directory_.path());
  ASSERT_TRUE(again);
  EXPECT_EQ(tracefile::clockSentences(again->clocks()), tracefile::clockSentences(trace.clocks()));
  const std::filesystem::path container = trace.processes()[1]->container;
  std::filesystem::last_write_time(
      container, std::filesystem::last_write_time(container) + std::chrono::seconds(1));
  EXPECT_FALSE(order::readClocks(trace));
}

TEST_F(HostOffsetsTest, ADamagedFileIsMadeAnew) {
  hosts(2);
  toAndFro(0, 1, kBegin, kBegin + kSecond);
  const std::vector<std::string> sentences = tracefile::clockSentences(open().clocks());
  for (const char* text : {"", "{", "[]", "{\"format\":\"omnio-clocks\"}"}) {
    test::writeAll(directory_.path() / order::kClocksFile, text);
    const auto again = order::openWithClocks(directory_.path());
    ASSERT_TRUE(again);
    EXPECT_EQ(tracefile::clockSentences(again->clocks()), sentences);
    EXPECT_TRUE(order::readClocks(*again)) << text;
  }
}

}  // namespace
}  // namespace omnio
