// How two nodes' processes find and reach each other to compare their clocks: connections whose
// waits all end, and marks in the trace directory.
#include "trace/runtime/clock_link.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/core/temporary_directory.hpp"
#include "trace/runtime/clock_marks.hpp"
#include "trace/runtime/process.hpp"

namespace omnio::trace {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

struct TestPort : ClockPort {
  ~TestPort() { close(); }
};

std::string placeOf(const ClockPort& port) {
  char buffer[512];
  Text text(buffer, sizeof buffer);
  port.tell(text);
  return text.c_str();
}

TEST(ClockLink, CarriesMessagesBothWays) {
  TestPort port;
  ASSERT_TRUE(port.open());
  const std::string place = placeOf(port);
  ClockLink asking;
  ASSERT_TRUE(asking.connect(place.c_str(), linkNow() + 1000 * kMs)) << place;
  ClockLink answering;
  ASSERT_TRUE(port.accept(answering, linkNow() + 1000 * kMs));
  for (std::uint64_t number : {1U, 2U}) {
    std::uint64_t got = 0;
    ASSERT_TRUE(asking.send(&number, sizeof number));
    ASSERT_TRUE(answering.receive(&got, sizeof got, linkNow() + 1000 * kMs, number * kMs));
    EXPECT_EQ(got, number);
    ASSERT_TRUE(answering.send(&number, sizeof number));
    ASSERT_TRUE(asking.receive(&got, sizeof got, linkNow() + 1000 * kMs, 0));
  }
}

TEST(ClockLink, SendsNoSignalAndEndsWhenThePeerIsGone) {
  TestPort port;
  ASSERT_TRUE(port.open());
  ClockLink asking;
  ASSERT_TRUE(asking.connect(placeOf(port).c_str(), linkNow() + 1000 * kMs));
  {
    ClockLink answering;
    ASSERT_TRUE(port.accept(answering, linkNow() + 1000 * kMs));
  }
  std::uint64_t message = 0;
  const std::uint64_t begin = linkNow();
  EXPECT_FALSE(asking.receive(&message, sizeof message, begin + 10'000 * kMs, 0));
  EXPECT_LT(linkNow() - begin, 5000 * kMs);
  EXPECT_FALSE(asking.send(&message, sizeof message));  // SIGPIPE would end the test
}

TEST(ClockLink, WaitsForASilentPeerNoLongerThanItIsTold) {
  TestPort port;
  ASSERT_TRUE(port.open());
  ClockLink link;
  const std::uint64_t begin = linkNow();
  EXPECT_FALSE(port.accept(link, begin + 20 * kMs));
  EXPECT_GE(linkNow() - begin, 20 * kMs);
  // Connected by the kernel, and never accepted.
  ASSERT_TRUE(link.connect(placeOf(port).c_str(), linkNow() + 1000 * kMs));
  std::uint64_t message = 0;
  const std::uint64_t asked = linkNow();
  EXPECT_FALSE(link.receive(&message, sizeof message, asked + 20 * kMs, 0));
  EXPECT_GE(linkNow() - asked, 20 * kMs);
}

TEST(ClockLink, IsNotMadeToWhatIsNoPort) {
  std::string place;
  {
    TestPort closed;
    ASSERT_TRUE(closed.open());
    place = placeOf(closed);
  }
  ClockLink link;
  for (const std::string& wrong : {place, std::string(), std::string("x"), std::string("1f90"),
                                   std::string("1f90 "), std::string("1f90 zz")}) {
    EXPECT_FALSE(link.connect(wrong.c_str(), linkNow() + 100 * kMs)) << wrong;
    EXPECT_FALSE(link.isOpen());
  }
}

class ClockMarksTest : public testing::Test {
 protected:
  void SetUp() override {
    std::strncpy(process.settings.directory, directory_.path().c_str(),
                 sizeof process.settings.directory - 1);
    ASSERT_TRUE(root_.leave({.rank = 0}, "root"));
    ASSERT_TRUE(three_.leave({.rank = 3, .domain = 0x30}, "three"));
    ASSERT_TRUE(seven_.leave({.rank = 7, .domain = 0x70}, "seven"));
  }
  void TearDown() override { process.settings.directory[0] = '\0'; }

  const test::TemporaryDirectory directory_;
  ClockMarks root_;
  ClockMarks three_;
  ClockMarks seven_;
};

TEST_F(ClockMarksTest, AreReadAndTakenAway) {
  ClockLeader found[8];
  ASSERT_EQ(root_.read(found, 8), 2U);
  EXPECT_EQ(root_.read(found, 1), 1U);
  char line[16];
  ASSERT_TRUE(seven_.readLine({.rank = 3, .domain = 0x30}, line, sizeof line));
  EXPECT_STREQ(line, "three");
  ASSERT_TRUE(seven_.readLine({.rank = 0}, line, sizeof line));
  EXPECT_STREQ(line, "root");
  EXPECT_FALSE(seven_.readLine({.rank = 4, .domain = 0x30}, line, sizeof line));
  EXPECT_FALSE(seven_.readLine({.rank = 3, .domain = 0x30}, line, 3));
  for (ClockMarks* marks : {&seven_, &root_, &three_}) marks->remove();
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(ClockMarksTest, TellTheListAsRankZeroWroteIt) {
  std::vector<ClockLeader> list;  // more than a block of it
  for (std::int32_t rank = 1; rank <= 1000; ++rank) {
    list.push_back({.rank = rank, .domain = static_cast<std::uint64_t>(rank) << 40});
  }
  ASSERT_TRUE(root_.publish(list.data(), list.size()));
  std::vector<ClockLeader> found(list.size());
  ASSERT_EQ(three_.awaitList(found.data(), found.size()), list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    ASSERT_EQ(found[i].rank, list[i].rank);
    ASSERT_EQ(found[i].domain, list[i].domain);
  }
  EXPECT_EQ(three_.awaitList(found.data(), 10), 10U);
}

TEST_F(ClockMarksTest, DoNotWaitForAListForEver) {
  ClockLeader found[8];
  EXPECT_EQ(three_.awaitList(found, 8), 0U);  // none was written
  root_.remove();
  const std::uint64_t begin = linkNow();
  EXPECT_EQ(three_.awaitList(found, 8), 0U);  // nobody will write one
  EXPECT_LT(linkNow() - begin, 500 * kMs);
}

TEST_F(ClockMarksTest, OfAnEarlierJobAreWrittenAnew) {
  const ClockLeader list[] = {{.rank = 3, .domain = 0x30}};
  ASSERT_TRUE(root_.publish(list, 1));
  ClockMarks again;
  ASSERT_TRUE(again.leave({.rank = 0}, "root"));
  ClockLeader found[8];
  EXPECT_EQ(three_.awaitList(found, 8), 0U);
}

}  // namespace
}  // namespace omnio::trace
