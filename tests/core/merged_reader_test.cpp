// Several logs as one stream: the order of events, and which logs are open at one time.
#include "core/tracefile/merged_reader.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

namespace omnio {
namespace {

// Gives events that begin at these times, and counts how many of its kind are open.
class Times final : public event::EventSource {
 public:
  Times(std::vector<std::int64_t> starts, int& open) : starts_(std::move(starts)), open_(open) {
    ++open_;
  }
  ~Times() override { --open_; }

  const event::Event* next() override {
    if (next_ == starts_.size()) return nullptr;
    event_.start_ns = starts_[next_++];
    return &event_;
  }
  std::uint64_t missingBefore() const override { return next_ == starts_.size() ? 3 : 0; }
  std::uint64_t undecodable() const override { return 5; }
  event::ThinkTime thinkTime() const override { return {}; }

 private:
  std::vector<std::int64_t> starts_;
  std::size_t next_ = 0;
  event::Event event_;
  int& open_;
};

class MergedReader : public ::testing::Test {
 protected:
  void add(std::int64_t begin_ns, std::vector<std::int64_t> starts) {
    merged_.add([this, starts] { return std::make_unique<Times>(starts, open_); }, begin_ns);
  }
  using Pairs = std::vector<std::pair<std::int64_t, std::size_t>>;
  // When each event begins, and the reader that it came from.
  Pairs all() {
    Pairs found;
    while (const event::Event* const event = merged_.next()) {
      found.emplace_back(event->start_ns, merged_.source());
      most_open_ = std::max(most_open_, open_);
    }
    return found;
  }

  int open_ = 0;
  int most_open_ = 0;
  tracefile::MergedReader merged_;
};

TEST_F(MergedReader, OrderIsThatOfReadersWhichAreAllOpen) {
  add(10, {12, 20, 40});
  add(15, {20, 21, 39});
  add(tracefile::MergedReader::kAtOnce, {11, 20});
  add(20, {20});
  EXPECT_EQ(
      all(),
      (Pairs{{11, 2}, {12, 0}, {20, 0}, {20, 1}, {20, 2}, {20, 3}, {21, 1}, {39, 1}, {40, 0}}));
}

TEST_F(MergedReader, LogsOfProcessesThatRanOneAfterTheOtherAreOpenOneByOne) {
  Pairs wanted;
  for (std::int64_t process = 0; process < 100; ++process) {
    add(process * 10, {process * 10 + 1, process * 10 + 5});
    wanted.emplace_back(process * 10 + 1, process);
    wanted.emplace_back(process * 10 + 5, process);
  }
  EXPECT_EQ(all(), wanted);
  EXPECT_EQ(most_open_, 1);
  EXPECT_EQ(open_, 0);
}

TEST_F(MergedReader, SumsCountReadersThatAreClosed) {
  add(0, {1});
  add(10, {});
  add(20, {21});
  all();
  EXPECT_EQ(merged_.undecodable(), 15U);
  EXPECT_EQ(merged_.missingBefore(), 9U);
}

TEST_F(MergedReader, TellsWhichReadersAreAtTheirEnd) {
  add(0, {1, 30});
  add(tracefile::MergedReader::kAtOnce, {});
  add(20, {21});
  ASSERT_NE(merged_.next(), nullptr);
  EXPECT_FALSE(merged_.isAtEnd(0));
  EXPECT_TRUE(merged_.isAtEnd(1));
  EXPECT_FALSE(merged_.isAtEnd(2));
  ASSERT_NE(merged_.next(), nullptr);
  ASSERT_NE(merged_.next(), nullptr);
  EXPECT_TRUE(merged_.isAtEnd(2));
}

}  // namespace
}  // namespace omnio
