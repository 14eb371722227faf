// Events that are taken apart while they are written, beside the same events as text.
#include "core/model/compact/line_splitter.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/calls/table.hpp"
#include "core/model/event_json.hpp"

namespace omnio::model {
namespace {

const std::vector<std::string> kLocations{
    "out.00012.5",          "a\"b\\{7}.x", "",
    "12345678901234567890", "name\n9\x01", "d" + std::string(5000, '1')};

class RandomEvents {
 public:
  explicit RandomEvents(unsigned seed) : random_(seed) {}

  ScheduleEvent of(const calls::Row& row) {
    ScheduleEvent event;
    event.row = &row;
    event.start_ns = number();
    event.end_ns = event.start_ns + 7;
    event.failed = oneIn(4);
    event.result = number();
    for (std::int64_t& argument : event.arguments) argument = number();
    event.fd = static_cast<Descriptor>(number());
    event.new_fd = static_cast<Descriptor>(number());
    event.file = fileNumber();
    event.new_file = fileNumber();
    event.text = oneIn(2) ? "r+" : "";
    event.offset = oneIn(3) ? kUnknownOffset : number();
    for (int i = static_cast<int>(random_() % 4); i > 0; --i) event.pieces.push_back(random_());
    event.phase = oneIn(2) ? 3 : 0;
    event.id = oneIn(2) ? random_() : 0;
    for (int i = static_cast<int>(random_() % 9); i > 0; --i) event.after.push_back(wait());
    if (oneIn(2)) event.own = Work{.compute_ns = number(), .communication_ns = number()};
    return event;
  }

 private:
  bool oneIn(unsigned n) { return random_() % n == 0; }
  // Of any length, as long ones are no numbers of a kind.
  std::int64_t number() { return static_cast<std::int64_t>(random_()) >> (random_() % 64); }
  FileNumber fileNumber() {
    return oneIn(9) ? kNoFileNumber : static_cast<FileNumber>(random_() % kLocations.size());
  }
  Wait wait() {
    const bool is_run = oneIn(2);  // ids at one distance are written together
    Wait wait{.id = is_run ? next_ += 2 : random_() % 1000};
    wait.reason = oneIn(2) ? Reason::kMpi : Reason::kFile;
    if (oneIn(2)) wait.work = {.compute_ns = number(), .communication_ns = number()};
    return wait;
  }

  std::mt19937_64 random_;
  std::uint64_t next_ = 10;
};

TEST(EventsTakenApart, AreAsTheirTextTakenApart) {
  std::string text;
  base::JsonWriter json(text);
  EventJson<base::JsonWriter> written(json, kLocations);
  LineSplitter line;
  EventJson<LineSplitter> split(line, kLocations);
  RandomEvents events(1);
  std::size_t numbers = 0;
  std::size_t measures = 0;
  for (int round = 0; round < 200; ++round) {
    for (const calls::Row& row : calls::kTable) {
      if (row.number == 0) continue;  // no call has the number
      const ScheduleEvent event = events.of(row);
      text.clear();
      written.appendAfter(event, 5);
      LineSplitter expected;
      expected.line(text);
      line.clear();
      split.appendAfter(event, 5);
      ASSERT_EQ(line.shape(), expected.shape()) << text;
      ASSERT_EQ(line.numbers(), expected.numbers()) << text;
      ASSERT_EQ(line.measures(), expected.measures()) << text;
      numbers += line.numbers().size();
      measures += line.measures().size();
    }
  }
  EXPECT_GT(numbers, 0U);
  EXPECT_GT(measures, 0U);
}

}  // namespace
}  // namespace omnio::model
