// Whatever a phase model says: it is refused by one sentence that names it, or it is read, and what
// is written from it is the same model again; its local patterns are printed, and the global one is
// drawn or refused by a sentence.
#include <filesystem>

#include "core/model/phase_model.hpp"
#include "phase_model/phase_table.hpp"
#include "report/global_pattern.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace omnio::fuzz {

const int kVariations = 1000;

std::vector<std::string> seeds() {
  model::PhaseModel model;
  model.source = "run.trace";
  model.command = {"app", "a\"b"};
  model.processes = 2;
  model.files = {{.path = "/s/shared", .shared = true, .size_bytes = 4096}};
  model::Phase phase;
  phase.ranks = {0, 1};
  phase.operations.resize(1);
  phase.operations[0].request_bytes = 256;
  phase.operations[0].repetitions = 4;
  phase.operations[0].displacement_bytes = 512;
  phase.operations[0].init_offset = {{.base = 64, .per_rank = 256, .grid = {}}, true, {}};
  phase.weight_bytes = 2 * 4 * 256;
  phase.mode = model::AccessMode::kStrided;
  phase.end_ns = 100;
  phase.io.data_ns = 50;
  model.phases = {phase};
  std::vector<std::string> result{model::jsonOf(model)};
  model.phases[0].operations[0].init_offset.table = {{0, 5}, {1, 500}};
  result.push_back(model::jsonOf(model));
  model::Phase& ticked = model.phases[0];
  ticked.first_tick = 3;
  ticked.last_tick = 9;
  ticked.ticks = {{.rank = 0, .first = 3, .last = 6}, {.rank = 1, .first = 5, .last = 9}};
  ticked.operations[0].in_view = {.init_offset = {{.base = 7, .per_rank = 0, .grid = {}}, true, {}},
                                  .displacement = 40};
  model.phases.push_back(ticked);
  model.phases[1].id = 2;
  result.push_back(model::jsonOf(model));
  model::PhaseOperation& varying = model.phases[1].operations[0];
  varying.varying = true;
  varying.smallest_bytes = 200;
  varying.largest_bytes = 300;
  varying.requests = 8;
  varying.weight_bytes = 2048;
  varying.by_process = {
      {.rank = 0, .requests = 4, .bytes = 1000, .smallest_bytes = 200, .largest_bytes = 300},
      {.rank = 1, .requests = 4, .bytes = 1048, .smallest_bytes = 262, .largest_bytes = 262}};
  result.push_back(model::jsonOf(model));
  model.phases[0].mode = model::AccessMode::kNested;
  model.phases[0].operations[0].nested = {
      {.ranks = {0, 1},
       .part = pattern::loopOf(0, 2, 1000,
                               {pattern::loopOf(0, 2, 512, {pattern::requestAt(0, 256)})})}};
  result.push_back(model::jsonOf(model));
  return result;
}

}  // namespace omnio::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace omnio;
  static const test::TemporaryDirectory directory;
  const std::filesystem::path path = directory / "p.json";
  test::writeAll(path, std::string(reinterpret_cast<const char*>(data), size));
  const auto model = model::readPhaseModel(path);
  if (!model) {
    fuzz::require(model.failure().sentence.starts_with(path.native() + ": "));
    return 0;
  }
  const std::string json = model::jsonOf(*model);
  test::writeAll(path, json);
  const auto again = model::readPhaseModel(path);
  fuzz::require(again.ok() && model::jsonOf(*again) == json);
  fuzz::require(!phases::localPatternText(*model).empty());
  const auto svg = report::globalPatternOf(*model);
  fuzz::require(svg ? svg->ends_with("</svg>\n") && svg->find("nan") == std::string::npos
                    : svg.failure().sentence.starts_with("no picture of the global access"));
  return 0;
}
