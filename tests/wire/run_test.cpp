#include "core/wire/run.hpp"

#include <gtest/gtest.h>

#include <string>

#include "core/wire/notes.hpp"

namespace omnio::wire {
namespace {

constexpr char kId[] = "00112233445566778899aabbccddeeff";
constexpr RunId kRun{.high = 0x0011223344556677, .low = 0x8899AABBCCDDEEFF};

TEST(RunText, IsARunAndItsSupervisor) {
  const wire::Run run = parseRun(std::string(kId) + ".1f.ab12.ffffffffffffffff");
  EXPECT_EQ(run.id, kRun);
  EXPECT_EQ(run.supervisor, (Supervisor{.pid = 0x1F, .start = 0xAB12, .boot = ~std::uint64_t{0}}));
  EXPECT_EQ(parseRun(kId).id, kRun);
  EXPECT_EQ(parseRun(kId).supervisor, Supervisor{});
}

TEST(RunText, ThatMeansNothingIsNoRun) {
  const std::string id = kId;
  for (const std::string& text :
       {std::string(), id.substr(1), id + ".", id + ".1", id + ".1.2", id + ".1.2.", id + ".1..3",
        id + ".1.2.3.", id + ".1.2.3.4", id + ".1.2.3 ", id + " ", id + "0", id + ".x.2.3",
        id + ".1.2.11112222333344445", id + ".1.-2.3", "0x" + id.substr(2), "G" + id.substr(1),
        id.substr(0, 16) + "-" + id.substr(17), std::string("00112233445566778899AABBCCDDEEFF")}) {
    const wire::Run run = parseRun(text);
    EXPECT_FALSE(run.id.isSet()) << text;
    EXPECT_EQ(run.supervisor, Supervisor{}) << text;
  }
}

TEST(RunId, IsTakenOffTheFrontWhole) {
  const std::string text = std::string(kId) + "-rest";
  std::string_view rest = text;
  RunId id;
  EXPECT_TRUE(takeRunId(rest, id));
  EXPECT_EQ(id, kRun);
  EXPECT_EQ(rest, "-rest");
  EXPECT_FALSE(takeRunId(rest, id));
  EXPECT_EQ(rest, "-rest");
}

TEST(RunId, OfADirectoryDependsOnAllThatIsKnownOfIt) {
  const RunId run = derivedRun(1, 2, 3);
  EXPECT_EQ(run, derivedRun(1, 2, 3));
  EXPECT_NE(run, derivedRun(9, 2, 3));
  EXPECT_NE(run, derivedRun(1, 9, 3));
  EXPECT_NE(run, derivedRun(1, 2, 9));
  EXPECT_NE(run, derivedRun(2, 1, 3));
  EXPECT_TRUE(derivedRun(0, 0, 0).isSet());
}

TEST(HexNumber, EndsAtTheFirstOtherCharacterOrWhenItIsLongEnough) {
  std::uint64_t value = 0;
  std::string_view text = "12fg";
  EXPECT_TRUE(takeHexNumber(text, 16, value));
  EXPECT_EQ(value, 0x12FU);
  EXPECT_EQ(text, "g");
  EXPECT_FALSE(takeHexNumber(text, 16, value));
  text = "12345";
  EXPECT_TRUE(takeHexNumber(text, 3, value));
  EXPECT_EQ(value, 0x123U);
  EXPECT_EQ(text, "45");
}

TEST(LostNote, IsReadBack) {
  LostNote note;
  const std::string text = "10571.1.2.3.4.5.6.7.8.9.a.b.c/a/trace//usr/bin/program";
  ASSERT_TRUE(parseLostNote(text, note));
  EXPECT_EQ(note.pid, 1U);
  EXPECT_EQ(note.process_start, 2U);
  EXPECT_EQ(note.pid_namespace, 3U);
  EXPECT_EQ(note.uid, 4U);
  EXPECT_EQ(note.directory_device, 5U);
  EXPECT_EQ(note.directory_inode, 6U);
  EXPECT_EQ(note.error, 7U);
  EXPECT_EQ(note.events_lost, 8U);
  EXPECT_EQ(note.state, 9U);
  EXPECT_EQ(note.supervisor, (Supervisor{.pid = 10, .start = 11, .boot = 12}));
  EXPECT_EQ(note.directory, "/a/trace");
  EXPECT_EQ(note.program, "usr/bin/program");
  ASSERT_TRUE(parseLostNote("10571.1.2.3.4.5.6.7.8.9.a.b.c/cut", note));
  EXPECT_EQ(note.directory, "/cut");
  EXPECT_EQ(note.program, "");
}

TEST(LostNote, IsNothingElse) {
  LostNote note;
  for (const char* text :
       {"", "/", "10571", "10572.1.2.3.4.5.6.7.8.9.a.b.c/a//b", "10571.1.2.3.4.5.6.7.8.9.a.b/a//b",
        "10571.1.2.3.4.5.6.7.8.9.a.b.c.d/a//b", "10571.1.2.3.4.5.6.7.8.9.a.b.c",
        "10571.1.2.3.4.5.6.7.8.9.a.b.ca", "10571.1..3",
        "10571.1.2.3.4.5.6.7.8.9.a.b.11112222333344445/a//b"}) {
    EXPECT_FALSE(parseLostNote(text, note)) << text;
  }
}

}  // namespace
}  // namespace omnio::wire
