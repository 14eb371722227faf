#include "replay/plan/program.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "tests/core/temporary_directory.hpp"

namespace omnio::replay {
namespace {

Op opNumber(std::uint32_t i) {
  Op op;
  op.row = 41;
  op.start_ns = i;
  op.fd = i;
  return op;
}

TEST(Program, WhatIsWrittenIsReadOverManyBlocks) {
  const test::TemporaryDirectory directory;
  constexpr std::uint32_t kOperations = 20000;
  {
    ProgramWriter writer(directory / "program");
    for (std::uint32_t i = 0; i < kOperations; ++i) {
      std::array<std::int64_t, calls::kMaxArguments> arguments{};
      arguments[i % 5] = -static_cast<std::int64_t>(i);
      arguments[11] = 7;
      writer.add(opNumber(i), arguments, std::vector<std::uint64_t>(i % 9, i), i % 2 ? "r+" : "");
    }
    EXPECT_TRUE(writer.finish());
  }
  ProgramReader reader;
  ASSERT_TRUE(reader.open(directory / "program"));
  for (std::uint32_t i = 0; i < kOperations; ++i) {
    const Instruction* instruction = reader.next();
    ASSERT_NE(instruction, nullptr) << i;
    EXPECT_EQ(instruction->op.fd, i);
    EXPECT_EQ(instruction->arguments[i % 5], -static_cast<std::int64_t>(i));
    EXPECT_EQ(instruction->arguments[11], 7);
    EXPECT_EQ(instruction->arguments[6], 0);
    ASSERT_EQ(instruction->op.piece_count, i % 9);
    for (std::uint32_t piece = 0; piece < i % 9; ++piece) EXPECT_EQ(instruction->pieces[piece], i);
    EXPECT_EQ(instruction->text, i % 2 ? "r+" : "");
    if (i % 1000 == 0) reader.fetchAhead();
  }
  EXPECT_EQ(reader.next(), nullptr);
  EXPECT_FALSE(reader.failure());
}

TEST(Program, AnEmptyOneHasNoOperations) {
  const test::TemporaryDirectory directory;
  EXPECT_TRUE(ProgramWriter(directory / "program").finish());
  ProgramReader reader;
  ASSERT_TRUE(reader.open(directory / "program"));
  EXPECT_EQ(reader.next(), nullptr);
}

TEST(Program, AnotherFileIsRefused) {
  const test::TemporaryDirectory directory;
  test::writeAll(directory / "other", "{\"format\":\"omnio-schedule\"}");
  ProgramReader reader;
  const auto opened = reader.open(directory / "other");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.failure().sentence,
            (directory / "other").native() + ": no program of this replayer");
}

// Its size; bits of words that an operation does not have; more words than there is room for.
TEST(Program, ADamagedRecordEndsIt) {
  // The first operation differs from an empty one in three words, the second from it in two.
  constexpr std::size_t kSecond = 8 + sizeof(RecordHead) + 3 * 8;
  constexpr std::size_t kChanged = kSecond + offsetof(RecordHead, changed);
  for (const auto& [place, value] :
       {std::pair{kSecond, 3}, std::pair{kChanged + 3, 1}, std::pair{kChanged + 1, 0xff}}) {
    const test::TemporaryDirectory directory;
    {
      ProgramWriter writer(directory / "program");
      writer.add(opNumber(1), {}, {}, "");
      writer.add(opNumber(2), {}, {}, "");
      EXPECT_TRUE(writer.finish());
    }
    std::string bytes = test::readAll(directory / "program");
    ASSERT_EQ(bytes.size(), kSecond + sizeof(RecordHead) + 2 * 8);
    bytes[place] = static_cast<char>(value);
    test::writeAll(directory / "program", bytes);
    ProgramReader reader;
    ASSERT_TRUE(reader.open(directory / "program"));
    EXPECT_NE(reader.next(), nullptr);
    EXPECT_EQ(reader.next(), nullptr) << place;
    ASSERT_TRUE(reader.failure());
    EXPECT_EQ(reader.failure()->sentence,
              (directory / "program").native() + ": damaged at byte 40");
  }
}

// Fields that only every second operation sets, within a block and across blocks.
TEST(Program, NothingIsLeftOfTheOperationBefore) {
  const test::TemporaryDirectory directory;
  constexpr std::uint32_t kOperations = 20000;
  {
    ProgramWriter writer(directory / "program");
    for (std::uint32_t i = 0; i < kOperations; ++i) {
      std::array<std::int64_t, calls::kMaxArguments> arguments{};
      if (i % 2 == 0) arguments = {i, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
      Op op = i % 2 == 0 ? opNumber(i) : Op{};
      if (i % 2 == 0) op.wait = op.named = i + 1;
      writer.add(op, arguments, {}, "");
    }
    EXPECT_TRUE(writer.finish());
  }
  ProgramReader reader;
  ASSERT_TRUE(reader.open(directory / "program"));
  for (std::uint32_t i = 0; i < kOperations; ++i) {
    const Instruction* instruction = reader.next();
    ASSERT_NE(instruction, nullptr) << i;
    const bool is_empty = i % 2 != 0;
    EXPECT_EQ(instruction->op.wait, is_empty ? 0 : i + 1);
    EXPECT_EQ(instruction->op.fd, is_empty ? kNoSlot : i);
    EXPECT_EQ(instruction->arguments[0], is_empty ? 0 : i);
    EXPECT_EQ(instruction->arguments[11], is_empty ? 0 : 12);
  }
}

}  // namespace
}  // namespace omnio::replay
