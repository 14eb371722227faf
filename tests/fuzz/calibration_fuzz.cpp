// Whatever a calibration says: it is refused by one sentence that names it, or it is read, and what
// is written from it is the same calibration again.
#include <filesystem>

#include "predict/calibration/document.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace omnio::fuzz {

const int kVariations = 1000;

std::vector<std::string> seeds() {
  using namespace predict;
  Calibration calibration;
  calibration.budget_ns = 1'000'000'000;
  calibration.accesses = 10;
  calibration.largest_bytes = 4096;
  calibration.processes = 2;
  calibration.rounds = 1;
  calibration.references = {
      {.round = 0, .begin_ns = 5, .accesses = 1, .mean_ns = 3, .median_ns = 3}};
  Cell cell{.key = {.operation = CellOperation::kWrite,
                    .order = AccessOrder::kRandom,
                    .sharing = FileSharing::kShared,
                    .extends = true,
                    .bytes = 100,
                    .processes = 2}};
  cell.runs = {{.process = 1, .begin_ns = 7, .times_ns = {5, 500}, .offsets = {300, 100}}};
  for (const std::int64_t time : cell.runs[0].times_ns) cell.all.add(time);
  cell.writeback_bytes = 200;
  calibration.cells = {cell};
  calibration.unreached = {
      {.key = {.operation = CellOperation::kStat}, .reason = "", .is_impossible = true}};
  std::vector<std::string> result{jsonOf(calibration)};
  calibration.cache_check = {
      .is_automatic = true, .checks = 1, .least_percent = 0.5, .most_percent = 1};
  calibration.cells[0].runs[0].offsets = {100, 200};
  result.push_back(jsonOf(calibration));
  return result;
}

}  // namespace omnio::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace omnio;
  static const test::TemporaryDirectory directory;
  const std::filesystem::path path = directory / "c.json";
  test::writeAll(path, std::string(reinterpret_cast<const char*>(data), size));
  const auto calibration = predict::readCalibration(path);
  if (!calibration) {
    fuzz::require(calibration.failure().sentence.starts_with(path.native() + ": "));
    return 0;
  }
  const std::string json = predict::jsonOf(*calibration);
  test::writeAll(path, json);
  const auto again = predict::readCalibration(path);
  fuzz::require(again.ok() && predict::jsonOf(*again) == json);
  return 0;
}
