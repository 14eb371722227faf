// What the kernel counted beside what was recorded.
#include "core/tracefile/moved_bytes.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "core/tracefile/completeness.hpp"
#include "core/tracefile/trace.hpp"
#include "core/wire/info.hpp"
#include "core/wire/moved_bytes.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio {
namespace {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;

TEST(KernelIo, IsReadFromItsLines) {
  wire::MovedBytes moved;
  ASSERT_TRUE(wire::parseKernelIo("rchar: 17\nwchar: 18446744073709551615\nsyscr: 3\n", moved));
  EXPECT_EQ(moved.read, 17U);
  EXPECT_EQ(moved.written, ~std::uint64_t{0});
  // A later kernel may have more lines, in another order.
  ASSERT_TRUE(wire::parseKernelIo("xrchar: 1\nwchar: 2\nrchar: 3", moved));
  EXPECT_EQ(moved, (wire::MovedBytes{.read = 3, .written = 2}));
}

TEST(KernelIo, IsNotReadFromOtherText) {
  wire::MovedBytes moved;
  EXPECT_FALSE(wire::parseKernelIo("", moved));
  EXPECT_FALSE(wire::parseKernelIo("rchar: 1\n", moved));
  EXPECT_FALSE(wire::parseKernelIo("rchar: \nwchar: 2\n", moved));
}

std::string textOf(wire::MovedAccount account) {
  std::string text;
  wire::forEachNumber(account, [&text](std::uint64_t number) {
    text += (text.empty() ? "" : " ") + std::to_string(number);
  });
  return text;
}

class MovedBytes : public ::testing::Test {
 protected:
  // A process with an account.
  void add(std::uint32_t pid, const wire::MovedAccount& account) {
    auto facts = test::usualFacts();
    facts[wire::info::kRankSource] = "none";
    facts[wire::info::kMovedBytes] = textOf(account);
    test::ContainerBuilder container(test::kToken + pid, pid);
    container.facts(facts).ended(0);
    container.save(directory_.path() / ("host." + std::to_string(pid) + ".0.omnio"));
  }

  tracefile::Wholeness assessed() const {
    return tracefile::assess(*tracefile::Trace::open(directory_.path()));
  }

  test::TemporaryDirectory directory_;
};

TEST_F(MovedBytes, AreAllSeenWhereTheKernelCountsNoMore) {
  add(7, {.kernel_before = {.read = 1 * kMib, .written = 2 * kMib},
          .kernel = {.read = 11 * kMib, .written = 32 * kMib},
          .own = {.read = 1 * kMib, .written = 3 * kMib},
          .passed = {.read = 4 * kMib, .written = 7 * kMib},
          .recorded = {.read = 5 * kMib, .written = 20 * kMib}});
  const tracefile::Wholeness whole = assessed();
  EXPECT_TRUE(whole.whole);
  EXPECT_EQ(whole.bytes.seen, (wire::MovedBytes{.read = 5 * kMib, .written = 20 * kMib}));
  EXPECT_EQ(whole.bytes.unseen, wire::MovedBytes{});
}

TEST_F(MovedBytes, ThatTheKernelCountsBesidesAreTold) {
  add(7, {.kernel = {.read = 40 * kMib, .written = 9 * kMib},
          .recorded = {.read = 8 * kMib, .written = 5 * kMib}});
  const tracefile::Wholeness whole = assessed();
  EXPECT_FALSE(whole.whole);
  EXPECT_EQ(whole.bytes.unseen, (wire::MovedBytes{.read = 32 * kMib, .written = 4 * kMib}));
  ASSERT_EQ(whole.reasons.size(), 1U);
  EXPECT_NE(
      whole.reasons[0].find("read 32.0 MiB and wrote 4.00 MiB by calls that are not recorded"),
      std::string::npos)
      << whole.reasons[0];
}

TEST_F(MovedBytes, ByTheCLibraryItselfAreNotTold) {
  // Less than 1 MiB of reads and 64 KiB of writes; and what streams read ahead.
  add(7, {.kernel = {.read = 1000000, .written = 60000}});
  add(9, {.kernel = {.read = 9 * kMib}, .recorded = {.read = 1 * kMib}, .turned = 8 * kMib});
  EXPECT_TRUE(assessed().whole);
}

TEST_F(MovedBytes, OfReadsThatDoNotTellTheirSizeAreNotCompared) {
  add(7, {.kernel = {.read = 9 * kMib, .written = 9 * kMib}, .unsized_reads = 1});
  EXPECT_EQ(assessed().bytes.unseen, (wire::MovedBytes{.read = 0, .written = 9 * kMib}));
}

TEST_F(MovedBytes, AreToldHoweverSmallAPartTheyAre) {
  add(8, {.kernel = {.read = 0, .written = 1009 * kMib}, .recorded = {.written = 1000 * kMib}});
  EXPECT_EQ(assessed().bytes.unseen, (wire::MovedBytes{.read = 0, .written = 9 * kMib}));
}

TEST_F(MovedBytes, OfChildrenThatWereSeenToBeWaitedForAreTakenOff) {
  add(7, {.kernel = {.read = 9 * kMib, .written = 80 * kMib},
          .recorded = {.written = 7 * kMib},
          .reaped = {.read = 9 * kMib, .written = 9 * kMib}});
  EXPECT_EQ(assessed().bytes.unseen, (wire::MovedBytes{.read = 0, .written = 64 * kMib}));
}

// Lines of HOST.processes, of which `omnio trace` and parents write some.
class EndedProcesses : public MovedBytes {
 protected:
  void note(const std::string& lines) {
    std::ofstream(directory_.path() / "node1.processes") << lines;
  }
  static std::vector<std::string> both(const tracefile::Wholeness& whole) {
    std::vector<std::string> all = whole.reasons;
    all.insert(all.end(), whole.notes.begin(), whole.notes.end());
    return all;
  }
};

TEST_F(EndedProcesses, WithoutALogAreNamedWithWhatTheyMoved) {
  add(7, {});
  // The log of 9 tells of it; what 8 waited for is not its own.
  note(
      "fork 7 1 7 8 1 2\nmoved 7 8 20000000 9437184 0\nmoved 8 9 20000000 1048576 0\n"
      "moved 0 7 1 99999999 0 /bin/x y\n");
  add(9, {});
  EXPECT_EQ(
      both(assessed()),
      std::vector<std::string>{
          "process 8 on host node1 left no log, and wrote 8.00 MiB as the kernel counts: it ran "
          "without the tracer, or made its system calls itself (Go) and ended by one"});
}

TEST_F(EndedProcesses, ThatMovedNothingByFilesAreNotMissed) {
  add(7, {});
  note("moved 7 8 5000000 5000000 0\nquiet 8 5000000 5000000 1\n");
  EXPECT_TRUE(assessed().whole);
}

// As `yes` by its pipe.
TEST_F(EndedProcesses, ThatASignalEndedMayHaveMovedNothingByFiles) {
  add(7, {});
  note("moved 7 8 0 5242880 13\n");
  const tracefile::Wholeness whole = assessed();
  EXPECT_TRUE(whole.whole);
  EXPECT_EQ(
      whole.notes,
      std::vector<std::string>{
          "process 8 on host node1 was ended by signal 13 and left no log; it wrote 5.00 MiB in "
          "all, pipes and sockets included, as the kernel counts"});
}

TEST_F(EndedProcesses, OfShellsANoteIsEnough) {
  add(7, {});
  note("moved 7 8 0 2048576 0 /bin/sh\nquiet 8 0 1048576 0\n");
  const tracefile::Wholeness whole = assessed();
  EXPECT_TRUE(whole.whole);
  EXPECT_EQ(whole.notes, std::vector<std::string>{
                             "process 8 on host node1 (/bin/sh) is a shell or a launcher, which "
                             "is not traced; it wrote 1.00 MiB by calls of its own"});
}

TEST_F(EndedProcesses, MakeATraceByThemselves) {
  note("moved 0 8 0 9437184 0 /bin/go\n");
  const auto trace = tracefile::Trace::open(directory_.path());
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->processes().size(), 0U);
  EXPECT_FALSE(tracefile::assess(*trace).whole);
}

TEST_F(EndedProcesses, LinesThatMeanNothingArePassedOver) {
  add(7, {});
  note(
      "moved\nmoved 1 2\nmoved a b c d e\nquiet\nquiet x\nmoved 1 2 99999999999999999999999 1 1\n");
  EXPECT_TRUE(assessed().whole);
}

TEST_F(MovedBytes, OfChildrenMayBeAmongThoseOfTheirParent) {
  add(7, {.kernel = {.read = 9 * kMib, .written = 9 * kMib}, .children = 1});
  EXPECT_TRUE(assessed().whole);
}

TEST_F(MovedBytes, AreSummedOverProcesses) {
  add(7, {.kernel = {.read = 2 * kMib, .written = 3 * kMib}, .recorded = {.written = 1 * kMib}});
  add(8, {.kernel = {.read = 0, .written = 5 * kMib}, .recorded = {.written = 4 * kMib}});
  const tracefile::Wholeness whole = assessed();
  EXPECT_EQ(whole.bytes.seen, (wire::MovedBytes{.read = 0, .written = 5 * kMib}));
  EXPECT_EQ(whole.bytes.unseen, (wire::MovedBytes{.read = 2 * kMib, .written = 3 * kMib}));
  EXPECT_EQ(whole.reasons.size(), 2U);
}

TEST_F(MovedBytes, ThatAreNoNumbersAreNoAccount) {
  auto facts = test::usualFacts();
  facts[wire::info::kMovedBytes] = "1 2 3";
  test::ContainerBuilder container(test::kToken, 7);
  container.facts(facts).ended(0);
  container.save(directory_.path() / "host.7.0.omnio");
  const auto trace = tracefile::Trace::open(directory_.path());
  ASSERT_TRUE(trace);
  EXPECT_FALSE(tracefile::movedAccountOf(trace->processes()[0]->info));
  EXPECT_FALSE(tracefile::seenBytes(*trace)[0]);
}

}  // namespace
}  // namespace omnio
