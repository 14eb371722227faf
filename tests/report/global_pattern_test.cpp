#include "report/global_pattern.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "report/svg.hpp"

namespace omnio::report {
namespace {

using model::Operation;
using model::Phase;
using model::PhaseModel;

// Requests of all processes, one process behind another.
Phase phaseOf(int id, Operation operation, int processes, std::uint64_t repetitions) {
  Phase phase;
  phase.id = id;
  for (int rank = 0; rank < processes; ++rank) phase.ranks.push_back(rank);
  model::PhaseOperation requests;
  requests.operation = operation;
  requests.request_bytes = 1 << 20;
  requests.repetitions = repetitions;
  requests.displacement_bytes = std::int64_t{processes} << 20;
  requests.init_offset = {{.base = 0, .per_rank = 1 << 20, .grid = {}}, true, {}};
  phase.operations = {requests};
  phase.mode = model::AccessMode::kStrided;
  phase.first_tick = static_cast<std::uint64_t>(id) * 100;
  phase.last_tick = phase.first_tick + repetitions - 1;
  return phase;
}

PhaseModel modelOf(int processes, int phases) {
  PhaseModel model;
  model.source = "/here/run.trace";
  model.command = {"/here/app"};
  model.processes = processes;
  model.files = {{.path = "/here/data", .size_bytes = std::uint64_t{8} * processes << 20}};
  for (int id = 1; id <= phases; ++id) {
    model.phases.push_back(
        phaseOf(id, id % 3 == 0 ? Operation::kRead : Operation::kWrite, processes, 8));
  }
  return model;
}

struct Box {
  double left = 0;
  double right = 0;
  double top = 0;
  double bottom = 0;
  std::string text;
};

double numberAfter(const std::string& svg, std::string_view name, std::size_t from) {
  return std::strtod(svg.c_str() + svg.find(name, from) + name.size(), nullptr);
}

// Where the texts are in the picture, as wide as the widest of its fonts has them.
std::vector<Box> boxesOf(const std::string& svg) {
  std::vector<Box> boxes;
  for (std::size_t at = svg.find("<text "); at != std::string::npos;
       at = svg.find("<text ", at + 1)) {
    const std::size_t begin = svg.find('>', at) + 1;
    const std::string tag = svg.substr(at, begin - at);
    Box box;
    box.text = svg.substr(begin, svg.find("</text>", begin) - begin);
    const double width = textWidth(box.text);
    const double part = tag.find("\"middle\"") != std::string::npos ? 0.5
                        : tag.find("\"end\"") != std::string::npos  ? 1
                                                                    : 0;
    const double x = numberAfter(tag, " x=\"", 0);
    const double y = numberAfter(tag, " y=\"", 0);
    if (tag.find("rotate(-90") != std::string::npos) {
      box.left = x - Svg::kFontSize;
      box.right = x + 4;
      box.top = y - width * (1 - part);
      box.bottom = y + width * part;
    } else {
      box.left = x - width * part;
      box.right = x + width * (1 - part);
      box.top = y - Svg::kFontSize * 0.8;
      box.bottom = y + 4;
    }
    boxes.push_back(std::move(box));
  }
  return boxes;
}

void expectTextWithin(const std::string& svg) {
  const std::size_t box = svg.find("viewBox=\"0 0 ");
  const double width = numberAfter(svg, "viewBox=\"0 0 ", box);
  const double height = std::strtod(svg.c_str() + svg.find(' ', box + 13), nullptr);
  const std::vector<Box> boxes = boxesOf(svg);
  EXPECT_GT(boxes.size(), 10U);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const Box& a = boxes[i];
    EXPECT_TRUE(a.left >= 0 && a.right <= width && a.top >= 0 && a.bottom <= height)
        << a.text << ": " << a.left << ".." << a.right << ", " << a.top << ".." << a.bottom
        << " in " << width << " x " << height;
    for (std::size_t j = 0; j < i; ++j) {
      const Box& b = boxes[j];
      const bool meet =
          a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
      EXPECT_FALSE(meet) << a.text << " covers " << b.text;
    }
  }
}

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

std::string drawn(const PhaseModel& model) {
  const base::Result<std::string> svg = globalPatternOf(model);
  EXPECT_TRUE(svg) << svg.failure().sentence;
  return svg ? *svg : std::string();
}

std::string refusal(const PhaseModel& model) {
  const base::Result<std::string> svg = globalPatternOf(model);
  return svg ? "(drawn)" : svg.failure().sentence;
}

TEST(GlobalPattern, TextIsWithinThePictureAndApart) {
  for (const int processes : {1, 2, 16, 100, 4096, 1'000'000}) {
    for (const int phases : {1, 3, 60}) {
      SCOPED_TRACE(std::to_string(processes) + " processes, " + std::to_string(phases));
      expectTextWithin(drawn(modelOf(processes, phases)));
    }
  }
  PhaseModel large = modelOf(4, 3);
  large.files[0].size_bytes = std::uint64_t{1023} << 50;
  large.phases[2].first_tick = 1'000'000'000;
  large.phases[2].last_tick = 9'999'999'999;
  large.phases[1].id = 123456;
  expectTextWithin(drawn(large));
}

TEST(GlobalPattern, SeveralFilesAreOneAboveAnother) {
  PhaseModel model = modelOf(4, 20);
  model.files.clear();
  for (int i = 0; i < 20; ++i) {
    model.files.push_back({.path = "/here/" + std::string(40, 'W') + std::to_string(i),
                           .size_bytes = std::uint64_t{4} << (i % 3 == 0 ? 10 : 24)});
    model.phases[static_cast<std::size_t>(i)].file = i;
  }
  const std::string svg = drawn(model);
  expectTextWithin(svg);
  EXPECT_NE(svg.find("The 20 files follow each other on the axis of offsets, by idF: 0:"),
            std::string::npos);
}

TEST(GlobalPattern, LargeRunsAreBoundedAndSaySo) {
  const std::string svg = drawn(modelOf(4096, 50));
  EXPECT_LT(svg.size(), std::size_t{160} << 10);
  EXPECT_LE(count(svg, "z"), 4 * kMaxDrawnRuns + 200);
  EXPECT_NE(svg.find(">Of the processes of a phase, one in 256 is drawn.</text>"),
            std::string::npos);
  const std::string many = drawn(modelOf(2, 5000));
  EXPECT_LT(many.size(), std::size_t{192} << 10);
  EXPECT_NE(many.find("Of the processes of a phase, one in 2 is drawn."), std::string::npos);
  EXPECT_NE(many.find("Of the phases, one in 8 is drawn."), std::string::npos);
}

TEST(GlobalPattern, NothingOfTimeHostOrPathIsInIt) {
  PhaseModel model = modelOf(4, 6);
  const std::string svg = drawn(model);
  model.source = "/there/another.trace";
  model.command = {"/there/app"};
  model.files[0].path = "/there/deep/data";
  for (Phase& phase : model.phases) {
    phase.begin_ns += 12345;
    phase.end_ns += 99999;
    phase.io.data_ns += 5;
    phase.opened.hints = {{"cb_nodes", "7"}};
    phase.ranks_per_node = 2;
  }
  EXPECT_EQ(drawn(model), svg);
  EXPECT_EQ(svg.find("here"), std::string::npos);
}

TEST(GlobalPattern, ReadsAndWritesAndPhasesHaveTheirColours) {
  const std::string svg = drawn(modelOf(4, 4));
  for (const char* colour : {"#d55e00", "#9e4400", "#0072b2", "#e4e7eb", "#f1f3f5"}) {
    EXPECT_NE(svg.find(colour), std::string::npos) << colour;
  }
  for (const char* panel : {"space", "offset-tick", "process-tick", "offset-process"}) {
    EXPECT_NE(svg.find("data-kind=\"" + std::string(panel)), std::string::npos) << panel;
  }
}

TEST(GlobalPattern, WithoutTicksOrOffsetsASentenceSaysSo) {
  EXPECT_EQ(refusal({}), "no picture of the global access pattern: no phase moves data");
  PhaseModel model = modelOf(4, 2);
  model.phases[0].first_tick = model.phases[0].last_tick = 0;
  EXPECT_NE(drawn(model).find("1 phase without ticks (POSIX and stream calls) not drawn."),
            std::string::npos);
  model.phases[1].first_tick = model.phases[1].last_tick = 0;
  EXPECT_EQ(refusal(model),
            "no picture of the global access pattern: no phase has ticks, which count the MPI "
            "events of a process and are known of MPI-IO that omnio traced");
  PhaseModel nowhere = modelOf(4, 1);
  nowhere.phases[0].operations[0].init_offset.known = false;
  EXPECT_EQ(refusal(nowhere),
            "no picture of the global access pattern: the offsets of the phases are not known");
}

TEST(GlobalPattern, NestedAndRandomRequestsAreDrawn) {
  PhaseModel model = modelOf(2, 2);
  Phase& nested = model.phases[0];
  nested.mode = model::AccessMode::kNested;
  nested.operations[0].nested = {
      {.ranks = {0, 1},
       .part = pattern::loopOf(0, 4, 4 << 20,
                               {pattern::loopOf(0, 2, 1 << 20, {pattern::requestAt(0, 4096)})})}};
  Phase& random = model.phases[1];
  random.mode = model::AccessMode::kRandom;
  for (const int rank : {0, 1}) {
    model::RandomAccess access;
    access.rank = rank;
    for (int i = 0; i < 500; ++i) access.requests.emplace_back((i * 7919 % 500) << 12, 4096);
    random.random.push_back(access);
  }
  const std::string svg = drawn(model);
  expectTextWithin(svg);
  EXPECT_NE(svg.find("Of random requests, at most 64 of a process in a phase are drawn."),
            std::string::npos);
  // Each process has 4 runs of the loop and 63 of 500 requests (every eighth), in four panels.
  EXPECT_GE(count(svg, "M"), std::size_t{2 * (4 + 63) * 4});
}

}  // namespace
}  // namespace omnio::report
