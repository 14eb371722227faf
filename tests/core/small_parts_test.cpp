// The parts of core that stand alone: paths, printable text, facts, clock, life of a process.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <string>
#include <string_view>

#include "core/base/printable.hpp"
#include "core/calls/words/names.hpp"
#include "core/event/event.hpp"
#include "core/tracefile/completeness.hpp"
#include "core/tracefile/node_clock.hpp"
#include "core/tracefile/process.hpp"
#include "core/wire/info.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio {
namespace {

TEST(NormalisedPath, DropsWhatSaysNothingAndKeepsDotDot) {
  EXPECT_EQ(event::normalisedPath("/a//b/./c/"), "/a/b/c");
  EXPECT_EQ(event::normalisedPath("/a/../b"), "/a/../b");
  EXPECT_EQ(event::normalisedPath("/"), "/");
  EXPECT_EQ(event::normalisedPath("//."), "/");
  EXPECT_EQ(event::normalisedPath("./x"), "x");
  EXPECT_EQ(event::normalisedPath(""), "");
}

TEST(WithoutNumbers, PutsOneSignForEachNumber) {
  EXPECT_EQ(event::withoutNumbers("/run/dump.0100.txt"), "/run/dump.#.txt");
  EXPECT_EQ(event::withoutNumbers("12/a3b"), "#/a#b");
  EXPECT_EQ(event::withoutNumbers("/none"), "/none");
}

TEST(PathTable, OneFileHasOneNumberHoweverItIsWritten) {
  event::PathTable paths;
  const event::FileId id = paths.idOf("/a/b");
  EXPECT_EQ(paths.idOf("/a//b"), id);
  EXPECT_EQ(paths.idOf("/a/./b"), id);
  EXPECT_NE(paths.idOf("/a/b2"), id);
  EXPECT_EQ(paths.path(id), "/a/b");
  EXPECT_EQ(paths.size(), 2U);
  EXPECT_EQ(paths.path(event::kNoFile), "");
}

TEST(Printable, EscapesWhatWouldBreakALineOrIsNoUtf8) {
  EXPECT_EQ(base::printable("plain/gr\xC3\xBC\xC3\x9F"), "plain/gr\xC3\xBC\xC3\x9F");
  EXPECT_EQ(base::printable("a,b=c", ",="), "a\\x2Cb\\x3Dc");
  EXPECT_EQ(base::printable("a\\b\n\x7F"), "a\\x5Cb\\x0A\\x7F");
  EXPECT_EQ(base::printable("\xFF\xC3"), "\\xFF\\xC3");
  EXPECT_EQ(base::printable("\xC0\x80"), "\\xC0\\x80");           // overlong
  EXPECT_EQ(base::printable("\xED\xA0\x80"), "\\xED\\xA0\\x80");  // a surrogate
}

// U+009B, U+061C, U+200E, U+200F, U+202A, U+202E, U+2066, U+2069, U+2028, U+2029, U+200B, U+FEFF,
// U+E0041; and their neighbours, which are shown.
constexpr std::string_view kUnsafe[] = {
    "\xC2\x80",     "\xC2\x9B",     "\xC2\x9F",     "\xD8\x9C",     "\xE2\x80\x8E",
    "\xE2\x80\x8F", "\xE2\x80\xAA", "\xE2\x80\xAE", "\xE2\x81\xA6", "\xE2\x81\xA9",
    "\xE2\x80\xA8", "\xE2\x80\xA9", "\xE2\x80\x8B", "\xEF\xBB\xBF", "\xF3\xA0\x81\x81"};
constexpr std::string_view kSafe[] = {"\xC2\xA0",         "\xD8\x9B",     "\xD8\x9D",
                                      "\xE2\x80\x90",     "\xE2\x80\xA7", "\xE2\x80\xAF",
                                      "\xE2\x81\x9F",     "\xE2\x81\xB0", "\xEF\xBB\xBE",
                                      "\xF0\x9F\x98\x80", "\xE2\x82\xAC"};

TEST(Printable, EscapesWhatATerminalObeysAndWhatCannotBeSeen) {
  for (const std::string_view character : kUnsafe) {
    std::string escaped;
    for (const char c : character)
      escaped += fmt::format("\\x{:02X}", static_cast<unsigned char>(c));
    EXPECT_EQ(base::printable(character), escaped);
    EXPECT_EQ(base::safeText(character), escaped);
  }
  for (const std::string_view character : kSafe) {
    EXPECT_EQ(base::printable(character), character);
    EXPECT_EQ(base::safeText(character), character);
  }
}

TEST(Printable, GivesItsBytesBack) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  for (const std::string_view character : kUnsafe) all += character;
  all += "\\x41";
  EXPECT_EQ(base::bytesOf(base::printable(all)), all);
  EXPECT_EQ(base::bytesOf("a\\b \\x4 \\xZZ \\x"), "a\\b \\x4 \\xZZ \\x");  // written by hand
  EXPECT_EQ(base::bytesOf("\\x41\\xe9"), "A\xE9");
}

TEST(SafeText, LeavesTextAsItIs) {
  const std::string text = base::printable("a\\b\x1B\xC2\x9B\xFF");
  EXPECT_EQ(text, "a\\x5Cb\\x1B\\xC2\\x9B\\xFF");
  EXPECT_EQ(base::safeText(text), text);
  EXPECT_EQ(base::safeText("a\\b\nc\x1B"), "a\\b\\x0Ac\\x1B");
  EXPECT_EQ(base::safeText("a\n\tc", "\n"), "a\n\\x09c");
}

TEST(SafeText, LeavesJsonItsValues) {
  EXPECT_EQ(base::safeJson("{\"a\\nb\":\"\xC2\x9B\xE2\x80\xAE\xF3\xA0\x81\x81\xC3\xBC\xFF\"}\n"),
            "{\"a\\nb\":\"\\u009B\\u202E\\uDB40\\uDC41\xC3\xBC\\uFFFD\"}\n");
}

TEST(SafeText, PlainTextIsRecognised) {
  EXPECT_TRUE(base::isPlainText(""));
  EXPECT_TRUE(base::isPlainText("plain \\ text ~\n"));
  for (const char* text : {"tab\t", "\x1B", "\x7F", "\xC2\x9B", "\xC3\xBC"}) {
    EXPECT_FALSE(base::isPlainText(text)) << text;
  }
}

TEST(ProcessInfo, LaterFactsReplaceEarlierOnesAndTornOnesAreLeftOut) {
  tracefile::ProcessInfo info;
  info.take(test::factsPayload({{"host", "a"}, {"rank", "3"}, {"rank_source", "MPI"}}));
  info.take(test::factsPayload({{"host", "b"}}));
  info.take(std::string_view("key without a value\0torn", 24));
  EXPECT_EQ(info.text("host"), "b");
  EXPECT_EQ(info.rank(), 3);
  EXPECT_EQ(info.text("key without a value"), "");
}

TEST(ProcessInfo, ARankNeedsASourceAndANumber) {
  tracefile::ProcessInfo info;
  info.take(test::factsPayload({{"rank", "0"}, {"ranks", "8"}, {"rank_source", "none"}}));
  EXPECT_FALSE(info.rank());
  EXPECT_EQ(info.ranks(), 1);
  info.take(test::factsPayload({{"rank", "4x"}, {"rank_source", "MPI"}}));
  EXPECT_FALSE(info.rank());
  info.take(test::factsPayload({{"rank", "4"}}));
  EXPECT_EQ(info.rank(), 4);
  EXPECT_EQ(info.ranks(), 8);
}

TEST(NodeClock, InterpolatesBetweenAnchorsAndGoesOnBeyondThem) {
  tracefile::NodeClock clock;
  clock.add(2'000'000'000, 1'000'000'000);
  clock.add(4'000'000'000, 2'000'000'000);  // 2 ticks a ns
  clock.add(7'000'000'000, 3'000'000'000);  // then 3
  clock.finish({});
  const auto ns = [&clock](std::uint64_t ticks) { return clock.segmentOf(ticks).ns(ticks); };
  EXPECT_EQ(ns(2'000'000'000), 1'000'000'000);
  EXPECT_EQ(ns(3'000'000'000), 1'500'000'000);
  EXPECT_EQ(ns(5'500'000'000), 2'500'000'000);
  EXPECT_EQ(ns(7'000'000'000 + 2'500'000), 3'001'000'000);  // at the average pace, 2.5
  EXPECT_EQ(ns(2'000'000'000 - 2'500'000), 999'000'000);
}

TEST(NodeClock, NeverRunsBackwardsAcrossItsSegments) {
  tracefile::NodeClock clock;
  for (std::uint64_t i = 0; i < 50; ++i) {
    clock.add(1000 + i * 300'000'000, 1000 + i * 100'000'000 + (i * 7919) % 90);
  }
  clock.finish(tracefile::ClockCorrection({{.own_ns = 0, .reference_ns = 12345}}));
  std::int64_t last = clock.segmentOf(0).ns(0);
  for (std::uint64_t ticks = 0; ticks < 16'000'000'000; ticks += 33'333'333) {
    const tracefile::NodeClock::Segment segment = clock.segmentOf(ticks);
    ASSERT_TRUE(segment.holds(ticks));
    ASSERT_GE(segment.ns(ticks), last);
    last = segment.ns(ticks);
  }
}

TEST(NodeClock, AnchorsCloseTogetherDoNotSetThePace) {
  tracefile::NodeClock clock;
  clock.add(1000, 1'000'000'000);
  clock.add(1001, 1'000'000'090);  // 90 ns of jitter in one tick
  clock.add(1'000'001'000, 2'000'000'000);
  clock.finish({});
  EXPECT_EQ(clock.segmentOf(500'001'000).ns(500'001'000), 1'500'000'000);
}

TEST(ProcessLife, KnowsItselfAndNotAnotherStart) {
  std::ifstream in("/proc/self/stat");
  const std::string line{std::istreambuf_iterator<char>(in), {}};
  std::string rest = line.substr(line.rfind(')') + 2);
  for (int field = 3; field < 22; ++field) rest = rest.substr(rest.find(' ') + 1);
  const std::uint64_t start = std::stoull(rest);
  const auto pid = static_cast<std::uint32_t>(getpid());
  EXPECT_TRUE(tracefile::isAlive(pid, start));
  EXPECT_FALSE(tracefile::isAlive(pid, start + 1));
  EXPECT_FALSE(tracefile::isAlive(test::kDeadPid, start));
}

TEST(CallLayout, KeysOfACallAreSortedAndDifferent) {
  for (const calls::Row& row : calls::kTable) {
    if (row.number == 0) continue;
    std::set<std::string_view> keys;
    std::string_view last;
    for (const calls::Item& item : calls::layoutOf(row)) {
      EXPECT_FALSE(item.key.empty()) << row.name;
      EXPECT_TRUE(keys.insert(item.key).second) << row.name << ": " << item.key << " twice";
      EXPECT_LE(last, item.key) << row.name;
      last = item.key;
    }
  }
}

TEST(CallLayout, EveryRecordedArgumentIsShown) {
  for (const calls::Row& row : calls::kTable) {
    if (row.number == 0) continue;
    std::size_t recorded = 0;
    std::size_t shown = 0;
    for (std::size_t i = 0; i < row.argument_count; ++i) {
      if (calls::isRecorded(row.arguments[i])) ++recorded;
    }
    for (const calls::Item& item : calls::layoutOf(row)) {
      switch (item.kind) {
        case calls::ItemKind::kHandlePath:
        case calls::ItemKind::kPieceCount:
        case calls::ItemKind::kDepth:
        case calls::ItemKind::kErrno:
        case calls::ItemKind::kResult:
        case calls::ItemKind::kAtLeast:
          break;
        default:
          ++shown;
      }
    }
    EXPECT_EQ(recorded, shown) << row.name;
  }
}

TEST(CallNames, FlagsAreSpelledOut) {
  const auto spelled = [](std::uint64_t flags) {
    std::string out;
    calls::appendOpenFlags(out, flags);
    return out;
  };
  EXPECT_EQ(spelled(O_RDONLY), "O_RDONLY");
  EXPECT_EQ(spelled(O_WRONLY | O_CREAT | O_TRUNC), "O_WRONLY|O_CREAT|O_TRUNC");
  EXPECT_EQ(spelled(O_RDWR | O_SYNC), "O_RDWR|O_SYNC");
  EXPECT_EQ(spelled(O_RDWR | O_DSYNC), "O_RDWR|O_DSYNC");
  EXPECT_EQ(spelled(O_RDWR | O_TMPFILE), "O_RDWR|O_TMPFILE");
  EXPECT_EQ(spelled(O_RDONLY | O_DIRECTORY), "O_RDONLY|O_DIRECTORY");
  EXPECT_EQ(spelled(O_RDONLY | 0x40000000), "O_RDONLY|0x40000000");
}

TEST(Wholeness, NamesTheFirstOfManyReasonsAndCountsTheRest) {
  tracefile::Wholeness wholeness;
  for (int i = 0; i < 9; ++i) wholeness.reasons.push_back(fmt::format("reason {}", i));
  EXPECT_EQ(reasonsInBrief(wholeness), wholeness.reasons);
  for (int i = 9; i < 4096; ++i) wholeness.reasons.push_back(fmt::format("reason {}", i));
  const std::vector<std::string> brief = tracefile::reasonsInBrief(wholeness);
  ASSERT_EQ(brief.size(), 9U);
  EXPECT_EQ(brief[7], "reason 7");
  EXPECT_EQ(brief[8], "and 4088 reasons more, which `omnio stats --json` has in full");
}

}  // namespace
}  // namespace omnio
