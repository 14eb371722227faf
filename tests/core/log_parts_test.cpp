// Parts of logs that processes leave where the rings are come to their place in the trace.
#include "core/tracefile/log_parts.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>

#include "core/tracefile/container_file.hpp"
#include "core/wire/container.hpp"
#include "tests/core/temporary_directory.hpp"

namespace omnio::tracefile {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kPartToken = 0xABCD;
constexpr std::uint32_t kSupervisor = 17;

std::string headerOf(std::uint64_t token) {
  wire::ContainerHeader header;
  header.token = token;
  wire::stamp(header);
  std::string bytes(wire::kContainerHeaderBytes, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

class LogPartsTest : public ::testing::Test {
 protected:
  LogPartsTest() {
    fs::create_directory(trace_);
    fs::create_directory(rings_);
    test::writeAll(trace_ / kClaimFile, "job\n" + runIdText(kRun) + "\n");
  }

  wire::LogPartHeader part(std::uint32_t number, std::uint64_t offset) const {
    wire::LogPartHeader header;
    header.run = kRun;
    header.supervisor.pid = kSupervisor;
    header.token = kPartToken;
    header.number = number;
    header.offset = offset;
    std::strcpy(header.name, "host.9.0.omnio");
    return header;
  }
  fs::path leave(wire::LogPartHeader header, const std::string& bytes) {
    header.bytes = bytes.size();
    return leaveAsItIs(header, bytes);
  }
  fs::path leaveAsItIs(const wire::LogPartHeader& header, const std::string& bytes) {
    fs::path path = rings_ / fmt::format("omnio-{}-{:016x}-{}.part-{}", runIdText(kRun), kPartToken,
                                         header.number, kSupervisor);
    std::string all(reinterpret_cast<const char*>(&header), sizeof header);
    test::writeAll(path, all + bytes);
    return path;
  }
  std::size_t take(bool is_last = false) {
    return parts_.take(partFiles({rings_}, TraceIdentity::of(trace_)), is_last);
  }

  static constexpr wire::RunId kRun{.high = 1, .low = 2};
  const test::TemporaryDirectory directory_;
  const fs::path trace_ = directory_ / "trace";
  const fs::path rings_ = directory_ / "rings";
  bool is_wanted_ = true;
  int told_ = 0;
  LogParts parts_{(fs::create_directory(trace_), trace_),
                  [this](const wire::LogPartHeader& /*part*/) { return is_wanted_; },
                  [this](const wire::LogPartHeader& /*part*/, uid_t /*user*/) { ++told_; }};
};

TEST_F(LogPartsTest, GoIntoANewContainerOfTheNextImage) {
  test::writeAll(trace_ / "host.9.0.omnio", "another image");
  leave(part(2, wire::kContainerHeaderBytes), "chunk");
  EXPECT_EQ(take(), 0U) << "before its container is there";
  leave(part(0, 0), headerOf(kPartToken));
  EXPECT_EQ(take(), 2U);
  EXPECT_EQ(told_, 2);
  EXPECT_EQ(test::readAll(trace_ / "host.9.1.omnio"), headerOf(kPartToken) + "chunk");
  EXPECT_EQ(test::readAll(trace_ / "host.9.0.omnio"), "another image");
  EXPECT_TRUE(fs::is_empty(rings_));
  EXPECT_TRUE(parts_.takeTroubles().empty());
}

TEST_F(LogPartsTest, OfAccountsTheOneWithTheHigherNumberStays) {
  leave(part(0, 0), headerOf(kPartToken));
  leave(part(7, wire::kAccountOffset), "later");
  EXPECT_EQ(take(), 2U);
  leave(part(6, wire::kAccountOffset), "early");
  EXPECT_EQ(take(), 1U);
  EXPECT_EQ(test::readAll(trace_ / "host.9.0.omnio").substr(wire::kAccountOffset, 5), "later");
}

TEST_F(LogPartsTest, OfNotesAreAppended) {
  wire::LogPartHeader header = part(0, 0);
  header.kind = wire::LogPartKind::kNotes;
  std::strcpy(header.name, "host.processes");
  test::writeAll(trace_ / header.name, "one\n");
  leave(header, "two\n");
  EXPECT_EQ(take(), 1U);
  EXPECT_EQ(test::readAll(trace_ / header.name), "one\ntwo\n");
}

TEST_F(LogPartsTest, ForAnotherOmnioTraceAreLeft) {
  is_wanted_ = false;
  const fs::path path = leave(part(0, 0), headerOf(kPartToken));
  EXPECT_EQ(take(true), 0U);
  EXPECT_TRUE(fs::exists(path));
}

TEST_F(LogPartsTest, ThatMakeNoSenseAreRemovedWithOneSentence) {
  wire::LogPartHeader outside = part(0, 0);
  std::strcpy(outside.name, "../h.9.0.omnio");
  leave(outside, headerOf(kPartToken));
  wire::LogPartHeader longer = part(1, 0);
  longer.bytes = 1U << 20;
  leaveAsItIs(longer, headerOf(kPartToken));
  leave(part(2, wire::kMaxPartOffset + 1), "x");
  leave(part(3, 0), headerOf(kPartToken + 1));
  wire::LogPartHeader other = part(4, 0);
  other.token = kPartToken + 1;
  leave(other, headerOf(kPartToken + 1));
  test::writeAll(leave(part(5, 0), ""), "short");
  leave(part(6, wire::kContainerHeaderBytes), "of no container");
  EXPECT_EQ(take(true), 0U);
  EXPECT_TRUE(fs::is_empty(rings_));
  EXPECT_EQ(parts_.takeTroubles().size(), 1U);
  EXPECT_EQ(std::distance(fs::directory_iterator(trace_), {}), 1) << "the claim alone";
}

TEST_F(LogPartsTest, AreNoLinksAndHaveOneName) {
  const fs::path path = leave(part(0, 0), headerOf(kPartToken));
  fs::create_hard_link(path, directory_ / "second");
  EXPECT_EQ(take(), 0U);
  fs::remove(path);
  fs::create_symlink(directory_ / "second", path);
  EXPECT_EQ(take(), 0U);
  EXPECT_TRUE(fs::exists(directory_ / "second"));
}

TEST_F(LogPartsTest, ThatAreNotFinishedAreRemovedWhenNoProcessHasThemOpen) {
  const fs::path path = leave(part(0, 0), headerOf(kPartToken));
  fs::path unfinished = path;
  unfinished.replace_extension(".new-17");
  fs::rename(path, unfinished);
  EXPECT_EQ(take(true), 0U);
  const auto files = partFiles({rings_}, TraceIdentity::of(trace_));
  {
    const base::Descriptor writer(::open(unfinished.c_str(), O_WRONLY | O_CLOEXEC));
    LogParts::removeUnfinished(files);
    EXPECT_TRUE(fs::exists(unfinished));
  }
  LogParts::removeUnfinished(files);
  EXPECT_FALSE(fs::exists(unfinished));
}

TEST(PartFile, IsKnownByItsName) {
  const std::string stem = "omnio-00000000000000010000000000000002-000000000000abcd-";
  const auto part = partFileOf(stem + "12.part-34");
  ASSERT_TRUE(part);
  EXPECT_EQ(part->owner.token, kPartToken);
  EXPECT_EQ(part->number, 12U);
  EXPECT_EQ(part->supervisor, 34U);
  EXPECT_TRUE(part->is_finished);
  for (const char* end :
       {"12", "lost", "12.part-", "12.part-34x", ".part-34", "12.part34", "x.new-3"}) {
    EXPECT_FALSE(partFileOf(stem + end)) << end;
  }
}

}  // namespace
}  // namespace omnio::tracefile
