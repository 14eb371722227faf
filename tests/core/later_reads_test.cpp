// A nonblocking or split read is told its bytes, also when events of it are missing or come late.
#include <gtest/gtest.h>

#include <map>

#include "core/event/deferred_reads.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio {
namespace {

// Reads of one file, whose place is the time at which they began.
class Reads {
 public:
  explicit Reads(event::LaterReads::Order order) : later_(order) {}

  void begin(std::int64_t start_ns) {
    const event::Event event = eventOf("MPI_File_read_all_begin", start_ns);
    ASSERT_TRUE(event::LaterReads::begins(event));
    later_.begin(event, static_cast<std::size_t>(start_ns), take_);
  }
  void end(std::int64_t start_ns, std::int64_t got) {
    event::Event event = eventOf("MPI_File_read_all_end", start_ns);
    const int index = calls::indexOf(*event.row, calls::Role::kGot);
    event.arguments[static_cast<std::size_t>(index)] = got;
    later_.end(event, take_);
  }
  void finish() { later_.finish(take_); }

  std::map<std::size_t, std::uint64_t> told;

 private:
  event::Event eventOf(std::string_view symbol, std::int64_t start_ns) const {
    event::Event event;
    event.row = &calls::kTable[test::numberOf(symbol)];
    event.start_ns = start_ns;
    event.handle = &file_;
    return event;
  }

  const event::Handle file_{.definition = {.handle = 5}, .path = {}};
  event::LaterReads later_;
  const event::LaterReads::Take take_ = [this](std::size_t place, std::uint64_t bytes) {
    EXPECT_TRUE(told.emplace(place, bytes).second) << "told twice: " << place;
  };
};

using Told = std::map<std::size_t, std::uint64_t>;
using Order = event::LaterReads::Order;

TEST(LaterReads, ASplitReadIsToldAtItsEnd) {
  Reads reads(Order::kByTime);
  reads.begin(10);
  reads.end(20, 100);
  EXPECT_EQ(reads.told, (Told{{10, 100}}));
  reads.begin(30);
  reads.end(40, 0);
  EXPECT_EQ(reads.told, (Told{{10, 100}, {30, 0}}));
}

TEST(LaterReads, OneWithoutItsEndLeavesTheLaterOnesTheirs) {
  Reads reads(Order::kByTime);
  reads.begin(10);
  reads.begin(30);
  reads.end(40, 200);
  reads.begin(50);
  reads.end(60, 300);
  reads.finish();
  EXPECT_EQ(reads.told, (Told{{30, 200}, {50, 300}}));
}

TEST(LaterReads, AnEndWithoutItsBeginIsOfNobody) {
  Reads reads(Order::kByTime);
  reads.end(20, 100);
  reads.begin(30);
  reads.end(40, 200);
  reads.end(60, 300);
  reads.begin(70);
  reads.end(80, 400);
  reads.finish();
  EXPECT_EQ(reads.told, (Told{{30, 200}, {70, 400}}));
}

TEST(LaterReads, LogByLogTimesTellWhatBelongsTogether) {
  Reads reads(Order::kByLog);
  // One thread, then another that began what this one ended, and the other way round.
  reads.begin(10);
  reads.end(40, 200);
  reads.end(60, 300);
  reads.begin(90);
  reads.end(20, 100);
  reads.begin(30);
  reads.begin(70);
  reads.begin(80);
  EXPECT_TRUE(reads.told.empty());
  reads.finish();
  EXPECT_EQ(reads.told, (Told{{10, 100}, {30, 200}}));
}

}  // namespace
}  // namespace omnio
