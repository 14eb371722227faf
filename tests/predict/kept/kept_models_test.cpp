// Models that are kept in a file: what is read is what was written, and damage anywhere is found.
#include "predict/kept/kept_models.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "predict/kept/kept_models_writer.hpp"
#include "predict/kept/model_archive.hpp"
#include "tests/core/temporary_directory.hpp"

namespace omnio::predict {
namespace {

using Operations = std::vector<Operation>;

Operation operation(std::uint64_t context, Kind kind, Slot slot, std::int64_t offset = 0,
                    std::int64_t bytes = 0) {
  const bool moves = transfers(kind);
  return {.context = context,
          .slot = slot,
          .file = static_cast<event::FileId>(slot),
          .kind = kind,
          .has_size = moves,
          .has_offset = moves,
          .offset = offset,
          .bytes = bytes};
}

// A file a turn, with a header, blocks of a few sizes or of many, strides, and holes that are
// filled from either end: something for each of the models.
Operations turnsOf(int turns, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Operations all;
  std::int64_t now = 0;
  std::vector<std::int64_t> sizes;
  for (int i = 0; i < 60; ++i) sizes.push_back(100 + static_cast<std::int64_t>(random() % 10'000));
  for (int turn = 0; turn < turns; ++turn) {
    all.push_back(operation(1, Kind::kOpen, 0));
    all.push_back(operation(2, Kind::kWrite, 0, 0, 512));
    std::int64_t end = 4096;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      all.push_back(operation(3 + i % 3, Kind::kWrite, 0, end, sizes[i]));
      end += sizes[i] + static_cast<std::int64_t>(i % 5) * 64;
      if (i % 7 == 0) all.push_back(operation(8, Kind::kRead, 1, (turn * 60 + i) * 300, 300));
      if (i % 11 == 0) {
        all.push_back(operation(9, Kind::kWrite, 1, static_cast<std::int64_t>(random() % 100'000),
                                static_cast<std::int64_t>(random() % 50'000)));
      }
    }
    all.push_back(operation(2, Kind::kWrite, 0, 1024, 96 + turn % 3));
    all.push_back(operation(6, Kind::kClose, 0));
  }
  for (Operation& one : all) {
    one.start_ns = now += 700 + static_cast<std::int64_t>(random() % 100);
    one.end_ns = now += 50;
  }
  return all;
}

void takeAll(ProcessModels& models, std::size_t thread, const Operations& operations) {
  for (const Operation& one : operations) models.take(thread, one);
}

// Two processes of a rank; the first has threads that share the bound.
RankModels learnt(int turns, std::uint64_t seed) {
  RankModels rank;
  rank.processes.resize(2);
  for (RankModels::Process& process : rank.processes) {
    process.slots = {.families = {"/run/out.#", "/run/in"}, .slots = {0, 1, 0}};
    for (std::uint32_t thread = 0; thread < 2; ++thread) {
      process.threads[thread * 3] = process.models.add();
      takeAll(process.models, thread, turnsOf(turns, seed + thread));
    }
    process.models.beginRun();
  }
  rank.operations = 1234;
  const event::Module program{.path = "/usr/bin/solver", .build_id = "01ff"};
  const event::Module library{.path = "/usr/lib/libsolver.so.3", .build_id = "=aa"};
  for (std::uint64_t i = 0; i < 40; ++i) {
    const event::CallStack stack{
        .number = 1,
        .hash = i,
        .frames = {{.module = &library, .offset = 64 * i}, {&program, 16 * i}, {nullptr, 0x7f00}}};
    rank.contexts.take(i, i % 10 == 0 ? nullptr : &stack);
  }
  return rank;
}

std::string textOf(RankModels& rank) {
  ModelWriter writer;
  kept::Models models{rank};
  writer(models, rank.contexts);
  return writer.text();
}

class KeptModelsTest : public testing::Test {
 protected:
  std::filesystem::path file() const { return directory_ / "app.model"; }

  void write(const std::function<void(KeptModelsWriter&)>& add) const {
    KeptModelsWriter writer(file(), {"mesher", "solver"}, true);
    add(writer);
    const auto written = writer.finish();
    ASSERT_TRUE(written.ok()) << written.failure().sentence;
  }
  std::string bytes() const {
    std::ifstream in(file(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void setBytes(std::string_view bytes) const {
    std::ofstream(file(), std::ios::binary | std::ios::trunc) << bytes;
  }
  // Why not all of it can be read, or "".
  std::string refusal() const {
    const auto models = KeptModels::open(file());
    if (!models) return models.failure().sentence;
    for (const RankKey rank : (*models)->ranks()) {
      if (const auto read = (*models)->of(rank); !read) return read.failure().sentence;
    }
    return "";
  }
  std::string refusalOf(const std::string& sentence) const {
    return file().native() + ": " + sentence;
  }

  test::TemporaryDirectory directory_;
};

TEST_F(KeptModelsTest, WhatIsReadIsWhatWasWritten) {
  for (const int turns : {0, 1, 2, 5, 40}) {
    RankModels rank = learnt(turns, 7);
    std::string text = textOf(rank);
    write([&](KeptModelsWriter& writer) { writer.add(3, std::move(rank)); });
    const auto models = KeptModels::open(file());
    ASSERT_TRUE(models.ok()) << models.failure().sentence;
    EXPECT_EQ((*models)->programs(), (std::set<std::string>{"mesher", "solver"}));
    EXPECT_TRUE((*models)->isWhole());
    EXPECT_EQ((*models)->path(), file().native());
    EXPECT_EQ((*models)->ranks(), std::vector<RankKey>{3});
    EXPECT_EQ(*(*models)->of(0), nullptr);
    const auto again = (*models)->of(3);
    ASSERT_TRUE(again.ok()) << again.failure().sentence;
    EXPECT_EQ((*again)->operations, 1234U);
    EXPECT_EQ((*again)->contexts.size(), 40U);
    EXPECT_EQ(textOf(**again), text);
  }
}

TEST_F(KeptModelsTest, WhatIsReadGoesOnAsWhatWasWrittenWould) {
  RankModels before = learnt(40, 7);
  RankModels same = learnt(40, 7);
  write([&](KeptModelsWriter& writer) { writer.add(0, std::move(same)); });
  const auto models = KeptModels::open(file());
  ASSERT_TRUE(models.ok());
  const std::unique_ptr<RankModels> after = std::move(*(*models)->of(0));
  ASSERT_NE(after, nullptr);
  ProcessModels& one = before.processes[0].models;
  ProcessModels& other = after->processes[0].models;
  EXPECT_LE(other.memoryBytes(), ProcessModels::kMostBytes);
  std::size_t number = 0;
  for (const Operation& operation : turnsOf(20, 9)) {
    const std::vector<Path> said = one.of(0).following(8);
    const std::vector<Path> said_again = other.of(0).following(8);
    ASSERT_EQ(said.size(), said_again.size()) << number;
    for (std::size_t i = 0; i < said.size(); ++i) {
      ASSERT_EQ(said[i].weight, said_again[i].weight) << number;
      for (std::size_t k = 0; k < said[i].operations.size(); ++k) {
        const Predicted& expected = said[i].operations[k];
        const Predicted& found = said_again[i].operations[k];
        ASSERT_EQ(found.context, expected.context) << number;
        ASSERT_EQ(found.bytes, expected.bytes) << number;
        ASSERT_EQ(found.segment.begin, expected.segment.begin) << number;
      }
    }
    ASSERT_EQ(one.of(0).gapBefore(operation), other.of(0).gapBefore(operation));
    one.take(0, operation);
    other.take(0, operation);
    ASSERT_EQ(one.memoryBytes(), other.memoryBytes()) << number;
    ++number;
  }
}

TEST_F(KeptModelsTest, RanksThatAreEqualShareTheirParts) {
  write([&](KeptModelsWriter& writer) { writer.add(0, learnt(5, 7)); });
  const std::size_t of_one = bytes().size();
  write([&](KeptModelsWriter& writer) {
    for (const RankKey rank : {5, 4, -1, 0, 1}) writer.add(rank, learnt(5, 7));
  });
  EXPECT_LT(bytes().size(), of_one + 100);
  EXPECT_EQ((*KeptModels::open(file()))->ranks(), (std::vector<RankKey>{-1, 0, 1, 4, 5}));
  EXPECT_EQ(refusal(), "");
  write([&](KeptModelsWriter& writer) {
    for (int rank = 0; rank < 4096; ++rank) {
      RankModels models;
      models.operations = static_cast<std::uint64_t>(rank);
      writer.add(rank, std::move(models));
    }
  });
  EXPECT_LT(bytes().size(), 4096U * 40);
  const auto models = KeptModels::open(file());
  EXPECT_EQ((*(*models)->of(4095))->operations, 4095U);
}

TEST_F(KeptModelsTest, EachByteThatIsChangedIsFound) {
  write([&](KeptModelsWriter& writer) { writer.add(0, learnt(1, 7)); });
  const std::string good = bytes();
  EXPECT_EQ(refusal(), "");
  std::fstream out(file(), std::ios::in | std::ios::out | std::ios::binary);
  const auto put = [&out](std::size_t at, int byte) {
    out.seekp(static_cast<std::streamoff>(at));
    out.put(static_cast<char>(byte)).flush();
  };
  for (std::size_t i = 0; i < good.size(); ++i) {
    put(i, good[i] ^ (i % 2 == 0 ? 1 : 0x80));
    ASSERT_TRUE(refusal().starts_with(file().native() + ": ")) << i;
    put(i, good[i]);
  }
  EXPECT_EQ(refusal(), "");
}

TEST_F(KeptModelsTest, EachByteThatIsMissingIsFound) {
  write([&](KeptModelsWriter& writer) { writer.add(0, learnt(1, 7)); });
  for (std::size_t size = bytes().size(); size-- > 0;) {
    std::filesystem::resize_file(file(), size);
    ASSERT_TRUE(refusal().starts_with(file().native() + ": ")) << size;
  }
}

TEST_F(KeptModelsTest, RefusalsSayWhereAndWhy) {
  write([&](KeptModelsWriter& writer) { writer.add(3, learnt(3, 7)); });
  const std::string good = bytes();
  const auto changed = [&](std::size_t at, char bits) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ bits);
    setBytes(bad);
    return refusal();
  };
  EXPECT_EQ(changed(0, 1),
            refusalOf("not a prediction model: omnio predict --save-model writes one"));
  EXPECT_EQ(changed(8, 3),
            refusalOf("a prediction model of version 2, and this omnio reads version 1"));
  EXPECT_EQ(changed(20, 1), refusalOf("the prediction model is damaged at byte 12: the checksum of "
                                      "the contexts of rank 3 is another one"));
  const std::size_t index = good.size() - kept::kTrailerBytes - 1;
  EXPECT_NE(changed(index, 1).find(": the checksum of the index is another one"),
            std::string::npos);
  EXPECT_EQ(changed(good.size() - 1, 1),
            refusalOf(fmt::format("the prediction model is damaged at byte {}: its end is missing",
                                  good.size() - kept::kTrailerBytes)));
  setBytes(std::string_view(good).substr(0, 20));
  EXPECT_EQ(refusal(), refusalOf("the prediction model is damaged at byte 20: it ends too early"));
  std::filesystem::remove(file());
  EXPECT_EQ(refusal(), refusalOf("No such file or directory"));
}

// The example of docs/formats/prediction_model.md.
TEST_F(KeptModelsTest, TheFormatIsAsItIsDocumented) {
  {
    KeptModelsWriter writer(file(), {"app"}, true);
    writer.add(-1, {});
    ASSERT_TRUE(writer.finish().ok());
  }
  std::string found = bytes();
  ASSERT_EQ(found.size(), 62U);
  for (const std::size_t checksum : {23U, 46U}) found.replace(checksum, 8, 8, '.');
  const auto text = [](const auto& bytes) { return std::string(bytes, sizeof bytes - 1); };
  EXPECT_EQ(found, text("omnimodl\x01\0\0\0") + text("\0\0") +
                       text("\x01\x03"
                            "app\x01") +
                       text("\x01\x02\x02........") + text("\x01\xff\xff\xff\xff\0\0") +
                       text("\x0e\0\0\0\0\0\0\0........") + "omnimodl");
}

TEST_F(KeptModelsTest, AFileThatCannotBeWrittenIsNamed) {
  const std::filesystem::path nowhere = directory_ / "none" / "app.model";
  KeptModelsWriter writer(nowhere, {}, true);
  EXPECT_EQ(writer.state().failure().sentence,
            "cannot write " + nowhere.native() + ": No such file or directory");
  writer.add(0, {});
  EXPECT_FALSE(writer.finish().ok());
  {
    KeptModelsWriter unfinished(file(), {}, true);
    unfinished.add(0, learnt(1, 7));
  }
  EXPECT_FALSE(std::filesystem::exists(file()));
}

// A length says nothing of how much is there.
TEST(ModelReader, TakesNoMemoryForALengthAlone) {
  ModelWriter writer;
  std::uint64_t length = UINT64_MAX / 2;
  writer(length);
  for (int kind = 0; kind < 3; ++kind) {
    ModelReader reader(writer.text());
    std::string text;
    std::vector<std::uint64_t> numbers;
    std::map<std::uint64_t, std::uint64_t> map;
    if (kind == 0) reader(text);
    if (kind == 1) reader(numbers);
    if (kind == 2) reader(map);
    EXPECT_FALSE(reader.isGood());
    EXPECT_TRUE(text.empty());
    EXPECT_LE(numbers.size() + map.size(), 1U);
  }
}

TEST(ModelArchive, NumbersAreAsTheFormatSays) {
  ModelWriter writer;
  std::vector<std::int64_t> numbers = {0, -1, 1, -2, 64};
  std::optional<std::uint32_t> none;
  std::string text = "ab";
  float half = 0.5F;
  writer(numbers, none, text, half);
  EXPECT_EQ(writer.text(), std::string("\x05\x00\x01\x02\x03\x80\x01\x00\x02"
                                       "ab\x00\x00\x00\x3f",
                                       15));
  ModelReader reader(writer.text());
  std::vector<std::int8_t> small;
  reader(small);
  EXPECT_TRUE(reader.isGood());
  EXPECT_EQ(small, (std::vector<std::int8_t>{0, -1, 1, -2, 64}));
}

}  // namespace
}  // namespace omnio::predict
