// Lines of JSON that are taken apart, and put together again with numbers that change.
#include "core/model/compact/line_kinds.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace omnio::model {
namespace {

using Numbers = std::vector<std::int64_t>;

class LinesOfAKind : public testing::Test {
 protected:
  // The line again, from its kind and its numbers.
  std::string again(std::string_view line) {
    const std::uint32_t kind = split(line);
    std::vector<pattern::Field> fields;
    for (const std::int64_t number : line_.numbers())
      fields.push_back({.base = number, .steps = {}});
    return put(kind, fields, {.sums = line_.measures()}, {});
  }
  std::string put(std::uint32_t kind, const std::vector<pattern::Field>& fields,
                  const pattern::Measures& measures, const LineContext& context) {
    std::string out;
    kinds_.append(out, kind, fields, measures, context);
    return out;
  }

  std::uint32_t split(std::string_view line) {
    line_.clear();
    line_.line(line);
    return kinds_.kindOf(line_);
  }

  LineSplitter line_;
  LineKinds kinds_;
};

TEST_F(LinesOfAKind, ComeBackAsTheyWere) {
  for (const char* line :
       {R"({"gap":-5,"duration":12,"command":"read","fd":3,"count":4096,"result":-1})",
        R"({"location":"out.00012.5","size":123456789012345678})",
        R"({"location":"1234567890123456789","size":1234567890123456789})",
        R"({"location":"a\"1\\5{2}","target":"{{"})", R"({"iov":[1,2,3],"flags":"O_RDWR|7"})",
        R"({"computing":0.25,"x":1e5,"y":-1.5e-7})",
        R"({"after":[{"id":1,"why":"mpi","compute":5,"communication":6},7]})", "{}",
        R"({"location":"","source":"00"})"}) {
    EXPECT_EQ(again(line), line);
  }
}

TEST_F(LinesOfAKind, DifferInNumbersAlone) {
  const auto first = split(R"({"location":"a1.b","count":5,"mode":"0644"})");
  EXPECT_EQ(line_.numbers(), (Numbers{1, 5}));
  EXPECT_EQ(split(R"({"location":"a77.b","count":-9,"mode":"0644"})"), first);
  EXPECT_NE(split(R"({"location":"a1.c","count":5,"mode":"0644"})"), first);
  EXPECT_NE(split(R"({"location":"a1.b","count":5,"mode":"0755"})"), first);
}

TEST_F(LinesOfAKind, KeepTheWidthOfNumbersWithLeadingZeros) {
  const auto two = split(R"({"location":"a01"})");
  EXPECT_EQ(split(R"({"location":"a09"})"), two);
  EXPECT_NE(split(R"({"location":"a10"})"), two) << "it has no zero in front";
  EXPECT_NE(split(R"({"location":"a001"})"), two);
  EXPECT_NE(split(R"({"location":"a0"})"), split(R"({"location":"a00"})"));
}

TEST_F(LinesOfAKind, HaveTimesAsMeasures) {
  split(R"({"gap":1,"duration":2,"fd":3,"compute":4,"communication":5})");
  EXPECT_EQ(line_.measures(), (Numbers{1, 2, 4, 5}));
  EXPECT_EQ(line_.numbers(), (Numbers{3}));
}

TEST_F(LinesOfAKind, HaveIdsAfterTimesAsNumbers) {
  split(R"({"gap":1,"after":[{"id":7,"why":"mpi","compute":2,"communication":3},9,10],"id":4})");
  EXPECT_EQ(line_.measures(), (Numbers{1, 2, 3}));
  EXPECT_EQ(line_.numbers(), (Numbers{7, 9, 10, 4}));
}

TEST_F(LinesOfAKind, HaveExpressionsForNumbersThatChange) {
  const auto kind = split(R"({"location":"a{001}.7","offset":5,"result":6})");
  ASSERT_EQ(line_.numbers(), (Numbers{1, 7, 5, 6}));
  const std::vector<pattern::Field> fields{
      {.base = 1, .steps = {0, 1}},
      {.base = 7, .steps = {0, 0}},
      {.base = -5, .steps = {-1, 4096}},
      {.base = 0, .steps = {0, 0}, .list_loop = 1, .list = 27}};
  EXPECT_EQ(put(kind, fields, {}, {.loops = 2}),
            R"({"location":"a{{{turn+1:03}}}.7","offset":"{-turn2+4096*turn-5}","result":"{ab}"})");
  EXPECT_EQ(put(kind, fields, {}, {.loops = 1, .is_shared = true}),
            R"({"location":"a{{{turn+1:03}}}.7","offset":"{-rank+4096*turn-5}","result":"{ab}"})");
}

TEST_F(LinesOfAKind, HaveTheMeansOfTheirMeasures) {
  const auto kind = split(R"({"gap":1,"duration":2,"compute":3,"communication":4})");
  const pattern::Measures measures{.sums = {10, 31, 8, 1}, .count = 4, .first_count = 3};
  EXPECT_EQ(put(kind, {}, measures, {.loops = 1}), R"({"gap":3,"duration":8,"compute":2})")
      << "a communication of 0 is left out";
}

TEST(ListNames, AreLetters) {
  EXPECT_EQ(listName(0), "a");
  EXPECT_EQ(listName(25), "z");
  EXPECT_EQ(listName(26), "aa");
  EXPECT_EQ(listName(27), "ab");
  EXPECT_EQ(listName(26 + 26 * 26), "aaa");
}

}  // namespace
}  // namespace omnio::model
