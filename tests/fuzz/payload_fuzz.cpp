// Whatever bytes the payload of a whole chunk is made of. The first two say how many events there
// are to be, the third whether they are facts instead; all stages that read traces come after the
// readers.
#include <filesystem>

#include "core/model/phase_model.hpp"
#include "core/model/schedule_reader.hpp"
#include "core/tracefile/completeness.hpp"
#include "core/tracefile/trace.hpp"
#include "phase_model/model_builder.hpp"
#include "preprocess/preprocess.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/fuzz/read_trace.hpp"
#include "tests/fuzz/repaired.hpp"
#include "tests/fuzz/schedule_counter.hpp"
#include "tests/fuzz/trace_seeds.hpp"

namespace omnio::fuzz {
namespace {

constexpr std::size_t kPrefix = 3;

std::string seedOf(const std::string& payload, std::uint32_t events, bool are_facts = false) {
  return std::string{static_cast<char>(events), static_cast<char>(events >> 8),
                     static_cast<char>(are_facts)} +
         payload;
}

std::string seedOf(const test::ChunkBuilder& chunk) {
  return seedOf(chunk.payload(), chunk.header.event_count);
}

void makeSchedule(const tracefile::Trace& trace, const std::filesystem::path& schedule) {
  const auto made = preprocess::preprocess(trace, tracefile::assess(trace), {}, schedule);
  if (!made) {
    require(!std::filesystem::exists(schedule));
    return;
  }
  ScheduleCounter counter;
  // Calls that no program could have made (a stream opened with no known mode) are refused there.
  const auto read = model::readSchedule(schedule, counter);
  // Steps that make what no call of the trace made are calls too.
  require(read ? counter.calls() >= made->events : !read.failure().sentence.empty());
  std::filesystem::remove(schedule);
}

void makeModel(const tracefile::Trace& trace, const std::filesystem::path& path) {
  const auto made = phases::makePhaseModel(trace, {});
  if (!made) return;
  require(model::writePhaseModel(path, made->model).ok());
  // Sizes beyond those of any file are refused there.
  const auto read = model::readPhaseModel(path);
  require(read ? model::jsonOf(*read) == model::jsonOf(made->model)
               : !read.failure().sentence.empty());
  std::filesystem::remove(path);
}

}  // namespace

const int kVariations = 150;

std::vector<std::string> seeds() {
  return {seedOf(writes()), seedOf(allCalls()), seedOf(lifeOfAFile()),
          seedOf(test::factsPayload(test::usualFacts(2, 4)), 0, true)};
}

}  // namespace omnio::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace omnio;
  static const fuzz::Place place;
  if (size < fuzz::kPrefix) return 0;
  const std::string payload(reinterpret_cast<const char*>(data) + fuzz::kPrefix,
                            size - fuzz::kPrefix);
  test::ContainerBuilder container(fuzz::kToken);
  container.facts(test::usualFacts());
  wire::ChunkHeader header = test::ChunkBuilder(fuzz::kToken, 0, 0, 0).header;
  header.event_count = data[0] | static_cast<std::uint32_t>(data[1]) << 8;
  if (data[2] == 1) header.kind = wire::ChunkKind::kInfo;
  container.body += fuzz::chunkOf(header, payload);
  container.save(place.container());
  if (fuzz::readTrace(place.trace.path()) == 0) return 0;
  const base::Result<tracefile::Trace> trace = tracefile::Trace::open(place.trace.path());
  fuzz::require(trace.ok());
  fuzz::makeSchedule(*trace, place.rings / "schedule.json");
  fuzz::makeModel(*trace, place.rings / "phases.json");
  return 0;
}
