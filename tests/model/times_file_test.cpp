// Files of times: what is written comes back, from any place, and damage is found.
#include "core/model/compact/times_file.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/core/temporary_directory.hpp"

namespace omnio::model {
namespace {

using Values = std::vector<std::int64_t>;

class TimesFile : public testing::Test {
 protected:
  std::string path() const { return directory_ / "s.json.times"; }
  std::string write(const std::vector<Values>& streams) {
    TimesWriter writer(path());
    std::uint32_t number = 0;
    for (const Values& values : streams) {
      writer.beginStream({.rank = 0,
                          .thread = 0,
                          .pid = 100 + number,
                          .tid = 200 + number,
                          .host = std::string(number, 'h'),
                          .recorder_ns = number,
                          .computing = number == 1 ? std::optional(0.126) : std::nullopt});
      ++number;
      writer.add(values);
    }
    const auto digest = writer.complete();
    EXPECT_TRUE(digest) << digest.failure().sentence;
    EXPECT_TRUE(writer.finish());
    return digest ? *digest : "";
  }
  std::string refusal(const std::string& digest) {
    TimesReader reader;
    const auto opened = reader.open(path(), digest);
    return opened ? "" : opened.failure().sentence.substr(path().size());
  }
  static Values read(TimesReader& reader, std::size_t stream, std::uint64_t from, int count) {
    Values values;
    reader.seek(stream, from);
    for (int i = 0; i < count; ++i) values.push_back(reader.next());
    return values;
  }

  test::TemporaryDirectory directory_;
};

TEST_F(TimesFile, HasStreamsWithTheirThreads) {
  const std::string digest = write({{1, -1, 0}, {}, {7}});
  TimesReader reader;
  ASSERT_TRUE(reader.open(path(), digest));
  ASSERT_EQ(reader.streams(), 3U);
  EXPECT_EQ(reader.stream(0)->thread.pid, 100U);
  EXPECT_EQ(reader.stream(1)->thread.tid, 201U);
  EXPECT_EQ(reader.stream(1)->thread.computing, 0.13) << "with two digits, as in the schedule";
  EXPECT_EQ(reader.stream(2)->thread.computing, std::nullopt);
  EXPECT_EQ(reader.stream(2)->thread.host, "hh");
  EXPECT_EQ(reader.stream(2)->thread.recorder_ns, 2);
  EXPECT_EQ(reader.stream(0)->values, 3U);
  EXPECT_EQ(reader.stream(1)->values, 0U);
  EXPECT_EQ(reader.stream(3), nullptr);
  EXPECT_EQ(reader.stream(-1), nullptr);
  EXPECT_EQ(read(reader, 0, 0, 3), (Values{1, -1, 0}));
  EXPECT_EQ(read(reader, 2, 0, 1), (Values{7}));
}

TEST_F(TimesFile, HasNumbersOfAnyLength) {
  Values values{0, std::numeric_limits<std::int64_t>::max(),
                std::numeric_limits<std::int64_t>::min()};
  for (int bit = 0; bit < 63; ++bit) {
    const std::int64_t number = std::int64_t{1} << bit;
    values.insert(values.end(), {number, -number, number - 1, -number - 1});
  }
  const std::string digest = write({values});
  TimesReader reader;
  ASSERT_TRUE(reader.open(path(), digest));
  EXPECT_EQ(read(reader, 0, 0, static_cast<int>(values.size())), values);
}

TEST_F(TimesFile, GivesValuesFromAnyPlaceOfLongStreams) {
  constexpr int kValues = 100'000;
  std::mt19937_64 random(1);
  std::vector<Values> streams(2);
  for (Values& values : streams) {
    for (int i = 0; i < kValues; ++i) {
      values.push_back(static_cast<std::int64_t>(random() >> random() % 64));
    }
  }
  const std::string digest = write(streams);
  TimesReader reader;
  ASSERT_TRUE(reader.open(path(), digest));
  for (int i = 0; i < 200; ++i) {
    const std::size_t stream = random() % 2;
    const auto from = static_cast<std::int64_t>(random() % (kValues - 50));
    const Values wanted(streams[stream].begin() + from, streams[stream].begin() + from + 50);
    ASSERT_EQ(read(reader, stream, static_cast<std::uint64_t>(from), 50), wanted) << from;
  }
  // Chunks have 32,768 values.
  EXPECT_EQ(read(reader, 0, 32767, 2),
            Values(streams[0].begin() + 32767, streams[0].begin() + 32769));
  EXPECT_FALSE(reader.failure());
}

TEST_F(TimesFile, AfterTheLastValueThereIsZero) {
  const std::string digest = write({{5}, {}});
  TimesReader reader;
  ASSERT_TRUE(reader.open(path(), digest));
  EXPECT_EQ(read(reader, 0, 0, 3), (Values{5, 0, 0}));
  EXPECT_EQ(read(reader, 0, 1, 1), (Values{0}));
  EXPECT_EQ(read(reader, 1, 0, 1), (Values{0}));
  EXPECT_FALSE(reader.failure());
}

TEST_F(TimesFile, OfAnotherScheduleIsRefused) {
  const std::string digest = write({{1, 2, 3}});
  EXPECT_EQ(refusal(digest), "");
  constexpr std::string_view kOther =
      ": the times of another schedule (the digests differ): take the file that was made with this "
      "schedule";
  EXPECT_EQ(refusal("0123456789abcdef"), kOther);
  EXPECT_EQ(refusal(""), kOther);
}

TEST_F(TimesFile, CutOffIsRefused) {
  const std::string digest = write({{1, 2, 3}, {4, 5}});
  const std::string whole = test::readAll(path());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    test::writeAll(path(), whole.substr(0, size));
    EXPECT_EQ(refusal(digest), ": not a whole file of times") << size;
  }
}

TEST_F(TimesFile, DamageIsFoundWhereItIsRead) {
  Values values(40'000);
  std::mt19937 random(2);
  for (std::int64_t& value : values) value = static_cast<std::int64_t>(random() % 1000);
  const std::string digest = write({values});
  const std::string whole = test::readAll(path());
  for (std::size_t place = 0; place < whole.size(); place += 997) {
    std::string damaged = whole;
    damaged[place] = static_cast<char>(damaged[place] ^ 0x10);
    test::writeAll(path(), damaged);
    TimesReader reader;
    if (!reader.open(path(), digest)) continue;
    const Values found = read(reader, 0, 0, static_cast<int>(values.size()));
    EXPECT_TRUE(reader.failure() || found == values) << "byte " << place;
    if (reader.failure()) {
      EXPECT_NE(reader.failure()->sentence.find(": damaged at byte "), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace omnio::model
