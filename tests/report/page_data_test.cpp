// The page stays below its limit, whatever the trace is.
#include "report/page_data.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "report/page.hpp"

namespace omnio::report {
namespace {

// As much of all as a page may have, with names that are long and full of what HTML escapes.
PageData largest() {
  PageData data;
  data.made = "2026-11-26T10:00:00Z";
  data.version = "0.1.0";
  const std::string odd = std::string(500, '<') + std::string(500, '"') + "\xC3\xA4";
  for (int i = 0; i < 5000; ++i) {
    stats::Group& file = data.by_file.groups.emplace_back();
    file.name = fmt::format("/{}{}", odd, i);
    file.time_ns.add(1'000'000'000'000'000 + static_cast<std::uint64_t>(i));
    file.write.size_bytes.add(1'000'000'000'000'000);
  }
  for (int i = 0; i < 4096; ++i) {
    stats::Group& rank = data.by_rank.groups.emplace_back();
    rank.name = fmt::format("{}", i);
    data.by_rank.ranks.push_back({.rank = i,
                                  .io = {.data_ns = 1'000'000'000'000,
                                         .metadata_ns = 1'000'000'000'000,
                                         .sync_ns = 0,
                                         .waiting_ns = 0},
                                  .run_ns = 2'000'000'000'000});
  }
  data.phases.files = {{.path = odd + odd, .shared = true, .size_bytes = 1}};
  for (int i = 0; i < 1000; ++i) {
    model::Phase& phase = data.phases.phases.emplace_back();
    phase.id = i + 1;
    phase.ranks = {0, 1};
    phase.end_ns = 1'000'000'000'000;
    phase.operations.emplace_back().init_offset.table = {{0, 1'000'000'000}, {1, 3'000'000'000}};
  }
  Activity& activity = data.activity;
  activity.end_ns = 511 * 1024;
  activity.time.assign(std::size(kActivityKinds), TimeBins(kMostRows));
  for (std::size_t row = 0; row < kMostRows; ++row) {
    activity.rows.push_back(fmt::format("ranks {} to {}", row * 16, row * 16 + 15));
    for (TimeBins& kind : activity.time) kind.addTime(row, 0, 511 * 1024);
  }
  // Every cell of every file is used, each by another rank than its neighbours.
  for (std::size_t i = 0; i < kMostOffsetFiles; ++i) {
    FileOffsets& file = activity.offsets.emplace_back();
    file.name = fmt::format("/{}{}", odd, i);
    file.bytes_read = file.bytes_written = 1'000'000'000'000'000;
    for (std::size_t cell = 0; cell < OffsetPlane::kMostBins * OffsetPlane::kMostRows; ++cell) {
      const auto now_ns = static_cast<std::int64_t>(cell % OffsetPlane::kMostBins * 1024);
      for (const bool writes : {false, true}) {
        file.plane.add({.start_ns = now_ns,
                        .end_ns = now_ns,
                        .offset = cell / OffsetPlane::kMostBins * 512,
                        .span_bytes = 512,
                        .bytes = 1'000'000'000 + cell,
                        .user = static_cast<User>(kFirstUser + cell * 977 % 4096),
                        .writes = writes});
      }
    }
  }
  activity.read_bytes.spread(0, 0, 511 * 1024, 1'000'000'000'000'000);
  activity.written_bytes.spread(0, 0, 511 * 1024, 1'000'000'000'000'000);
  return data;
}

TEST(PageData, TheLargestPageIsBelowTwoMebibytes) {
  const std::string page =
      pageOf(PageKind::kReport, jsonOf(tracefile::Trace::empty("/scratch/run.trace"), largest()));
  EXPECT_LE(page.size(), std::size_t{2} << 20);
  EXPECT_GE(page.size(), std::size_t{3} << 19) << "nearly as large as it may be";
}

TEST(PageData, SaysHowMuchIsLeftOut) {
  const std::string json = jsonOf(tracefile::Trace::empty("/scratch/run.trace"), largest());
  EXPECT_NE(json.find("\"phases_left_out\":800,"), std::string::npos);
  EXPECT_EQ(json.find("\"files_left_out\":0,"), std::string::npos);
  EXPECT_NE(json.find("\"name\":\"ranks 0 to 15\""), std::string::npos);
}

TEST(PageData, FullPlanesOfOffsetsAreMadeCoarser) {
  const std::string json = jsonOf(tracefile::Trace::empty("/scratch/run.trace"), largest());
  EXPECT_NE(json.find("\"bins\":64,\"bin_ns\":8192,\"rows\":"), std::string::npos);
}

TEST(PageData, PhasesOfAFileHaveItsPath) {
  model::PhaseModel model;
  model.files = {{.path = "/run/out"}, {.path = "/run/out.{rank:04}.dat"}};
  model.phases.resize(2);
  model.phases[0].file = 0;
  model.phases[1].file = 1;
  EXPECT_EQ(phasesOf(model, "/run/out").size(), 1U);
  EXPECT_EQ(phasesOf(model, "/run/out.0007.dat").size(), 1U);
  EXPECT_EQ(phasesOf(model, "/run/out.x.dat").size(), 0U);
  EXPECT_EQ(phasesOf(model, "/run/out.0007.dat.bak").size(), 0U);
}

}  // namespace
}  // namespace omnio::report
