// Whatever a schedule says: it is read and compiled, or refused by one sentence that names it.
#include <filesystem>

#include "replay/plan/compile.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/fuzz/schedule_counter.hpp"

namespace omnio::fuzz {

const int kVariations = 1000;

std::vector<std::string> seeds() {
  return {R"({"format":"omnio-schedule","version":1,
"global":{"time_replay":"dt","ranks":1},
"files":[{"location":"a","role":"output","exists":false},
{"location":"d/b","role":"input","exists":true,"size":4096,"read_before_written":4096}],
"ranks":[{"rank":0,"threads":[{"thread":0,"events":[
{"start":1,"end":2,"command":"open","location":"a","flags":"O_WRONLY|O_CREAT","mode":"0644","result":0},
{"start":3,"end":4,"command":"write","fd":0,"size":100,"result":100,"id":1},
{"repeat":{"times":3,"body":[{"start":{"first":10,"step":10},"end":{"first":12,"step":10},
"command":"pwrite","fd":0,"size":10,"offset":{"first":0,"step":10},"result":10}]}},
{"start":90,"end":91,"command":"rename","location":"a","location_new":"c","after":[1]},
{"start":95,"end":96,"command":"close","fd":0}]}]}]})",
          R"({"format":"omnio-schedule","version":1,"global":{"time_replay":"asap","ranks":2},
"files":[],"ranks":[{"rank":0,"threads":[]},{"rank":1,"threads":[{"thread":0,"events":[]}]}]})"};
}

}  // namespace omnio::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace omnio;
  static const test::TemporaryDirectory directory;
  const std::filesystem::path path = directory / "s.json";
  test::writeAll(path, std::string(reinterpret_cast<const char*>(data), size));
  fuzz::ScheduleCounter counter;
  const auto read = model::readSchedule(path, counter);
  if (!read) {
    fuzz::require(read.failure().sentence.starts_with(path.native() + ": "));
    if (counter.events() > fuzz::ScheduleCounter::kEnough) return 0;
  }
  const auto plan = replay::compileSchedule(path, directory / "programs");
  fuzz::require(plan.ok() ? read.ok() : !plan.failure().sentence.empty());
  std::filesystem::remove_all(directory / "programs");
  return 0;
}
