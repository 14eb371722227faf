#include "phase_model/local_patterns.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "phase_model/phase_table.hpp"
#include "tests/phase_model/accesses.hpp"

namespace omnio::phases {
namespace {

using Row = std::vector<std::string>;

model::PhaseModel modelOf(const std::function<void(ModelBuilder&)>& run, int processes) {
  event::PathTable paths;
  paths.idOf("/s/one");
  paths.idOf("/s/two");
  ModelBuilder builder({});
  run(builder);
  model::PhaseModel model;
  model.processes = processes;
  builder.finish(paths, {}, 0, model);
  return model;
}

std::vector<Row> rowsOf(const model::PhaseModel& model) {
  std::vector<Row> rows = localPatternRows(localPatternsOf(model, Together::kEqual));
  rows.erase(rows.begin());
  return rows;
}

TEST(LocalPatterns, AStrideGoesOnOverGaps) {
  const model::PhaseModel model = modelOf(
      [](ModelBuilder& builder) {
        test::Process process(builder, 0, test::kMpiIndividual);
        for (int i = 0; i < 3; ++i) process.write(i * 100, 10).others(50);
        for (int i = 3; i < 6; ++i) process.write(i * 100, 10);
        process.others(50).write(900, 10);
      },
      1);
  ASSERT_EQ(model.phases.size(), 5U);
  EXPECT_EQ(rowsOf(model),
            (std::vector<Row>{{"0", "0", "write", "6", "10", "100", "0", "byte", "1-156", "1-4"},
                              {"0", "0", "write", "1", "10", "10", "900", "byte", "207", "5"}}));
}

TEST(LocalPatterns, AnotherAccessOfTheProcessOnTheFileEndsOne) {
  const model::PhaseModel model = modelOf(
      [](ModelBuilder& builder) {
        test::Process process(builder, 0, test::kMpiIndividual);
        process.write(0, 10).others(50).on(event::FileId{1}).write(0, 10).others(50);
        process.on(event::FileId{0}).write(10, 10).others(50).read(0, 10).others(50).write(20, 10);
      },
      1);
  EXPECT_EQ(rowsOf(model),
            (std::vector<Row>{{"0", "0", "write", "2", "10", "10", "0", "byte", "1-103", "1, 3"},
                              {"0", "1", "write", "1", "10", "10", "0", "byte", "52", "2"},
                              {"0", "0", "read", "1", "10", "10", "0", "byte", "154", "4"},
                              {"0", "0", "write", "1", "10", "10", "20", "byte", "205", "5"}}));
}

// Domains that do not divide evenly are one phase; each process has its own pattern all the same.
TEST(LocalPatterns, SharesOfDifferentSizeAreToldApart) {
  const model::PhaseModel model = modelOf(
      [](ModelBuilder& builder) {
        for (int rank = 0; rank < 3; ++rank) {
          test::Process(builder, rank, test::kMpiIndividual)
              .write(rank * 100, rank == 2 ? 80 : 100);
        }
      },
      3);
  ASSERT_EQ(model.phases.size(), 1U);
  EXPECT_EQ(rowsOf(model),
            (std::vector<Row>{{"0", "0", "write", "1", "100", "100", "0", "byte", "1", "1"},
                              {"1", "0", "write", "1", "100", "100", "100", "byte", "1", "1"},
                              {"2", "0", "write", "1", "80", "80", "200", "byte", "1", "1"}}));
  model::PhaseModel by_hand = model;
  by_hand.phases[0].operations[0].by_process.clear();
  EXPECT_EQ(rowsOf(by_hand)[0],
            (Row{"0", "0", "write", "~1", "80 to 100", "contiguous", "0", "byte", "1", "1"}));
  EXPECT_TRUE(localPatternText(by_hand).ends_with(
      "rep with ~ is the mean of the processes: the model does not have that of each\n"));
}

TEST(LocalPatterns, RequestsWithoutAStrideAreNamedSo) {
  const model::PhaseModel model = modelOf(
      [](ModelBuilder& builder) {
        test::Process process(builder, 0, test::kStreams);
        for (const int at : {70, 10, 900, 30, 500, 200}) process.write(at, 10);
        process.writeSomewhere(5);
      },
      1);
  EXPECT_EQ(
      rowsOf(model),
      (std::vector<Row>{{"0", "0", "write", "6", "10", "random", "70", "byte", "1-6", "1"},
                        {"0", "0", "write", "1", "5", "random", "not known", "byte", "7", "2"}}));
}

// A view that is set anew before each request: one place in the view, several in the file.
TEST(LocalPatterns, AnotherViewIsNotTheSamePlace) {
  const Manner manner{.interface = model::Interface::kMpiIo, .has_view = true, .etype_bytes = 2};
  const model::PhaseModel model = modelOf(
      [&](ModelBuilder& builder) {
        test::Process process(builder, 0, manner);
        for (int i = 0; i < 3; ++i) process.inView(0).write(i * 100, 10);
        for (int i = 0; i < 2; ++i) process.others(50).inView(7).read(i * 100, 10);
        for (int i = 0; i < 2; ++i) process.others(50).inView(7).read(500, 10);
      },
      1);
  EXPECT_EQ(
      rowsOf(model),
      (std::vector<Row>{{"0", "0", "write", "3", "10", "100", "0", "byte", "1-3", "1"},
                        {"0", "0", "read", "1", "10", "5", "7", "etype 2", "54", "2"},
                        {"0", "0", "read", "1", "10", "5", "7", "etype 2", "105", "3"},
                        {"0", "0", "read", "2", "10", "0", "7", "etype 2", "156-207", "4-5"}}));
}

TEST(LocalPatterns, ThousandsOfProcessesAreOneLine) {
  const model::PhaseModel model = modelOf(
      [](ModelBuilder& builder) {
        for (int rank = 0; rank < 2000; ++rank) {
          test::Process(builder, rank, test::kMpiIndividual).write(rank * 64, 32);
        }
      },
      2000);
  EXPECT_EQ(localPatternsOf(model, Together::kEqual).size(), 2000U);
  const std::string text = localPatternText(model);
  EXPECT_NE(text.find("0-1999  0    write      1    32            32    idP * 64    byte  1"),
            std::string::npos)
      << text;
}

TEST(LocalPatterns, NumbersAreListedAsRanges) {
  EXPECT_EQ(numberListText({3}), "3");
  EXPECT_EQ(numberListText({0, 1, 2, 5, 7, 8}), "0-2, 5, 7-8");
  EXPECT_EQ(numberListText({0, 2, 4, 6, 8, 10, 12, 14}), "0, 2, 4, 6, 8, 10, ... (8 in all)");
}

}  // namespace
}  // namespace omnio::phases
