// Whatever a rank's part of a prediction model says, with its checksum made right: it is refused,
// or models are read that predict and learn like any others, and what is written of them is read
// the same again.
#include "predict/kept/kept_models_file.hpp"
#include "predict/kept/model_archive.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace omnio::fuzz {
namespace {

using namespace predict;

// Turns that give each of the models something to learn: sizes of many kinds, strides, holes, and
// sequences that come again.
std::vector<Operation> turnsOf(int turns, std::int64_t blocks) {
  std::vector<Operation> all;
  std::int64_t now = 0;
  const auto add = [&](std::uint64_t context, Kind kind, Slot slot, std::int64_t offset,
                       std::int64_t bytes) {
    const bool moves = transfers(kind);
    all.push_back({.context = context,
                   .slot = slot,
                   .file = static_cast<event::FileId>(slot),
                   .kind = kind,
                   .has_size = moves,
                   .has_offset = moves,
                   .offset = offset,
                   .bytes = bytes,
                   .start_ns = now += 700,
                   .end_ns = now += 50});
  };
  for (int turn = 0; turn < turns; ++turn) {
    add(1, Kind::kOpen, 0, 0, 0);
    std::int64_t end = 4096;
    for (std::int64_t i = 0; i < blocks; ++i) {
      const std::int64_t bytes = 100 + i * i * 977 % 10'007;
      add(3 + static_cast<std::uint64_t>(i) % 3, Kind::kWrite, 0, end, bytes);
      end += bytes + i % 5 * 64;
      if (i % 7 == 0) add(8, Kind::kRead, 1, (turn * 60 + i) * 300, 300);
      if (i % 11 == 0) add(9, Kind::kWrite, 1, i * turn * 7919 % 100'003, i * turn * 977 % 5003);
    }
    add(2, Kind::kWrite, 0, 1024, 96 + turn % 3);
    add(6, Kind::kClose, 0, 0, 0);
  }
  return all;
}

template <typename Archive>
void all(Archive& archive, RankModels& models) {
  kept::Models rest{models};
  archive(models.contexts, rest);
}

std::string written(RankModels& models) {
  ModelWriter writer;
  all(writer, models);
  return writer.text();
}

bool isRead(std::string_view text, RankModels& models) {
  ModelReader reader(text);
  all(reader, models);
  return reader.isGood() && reader.isAtEnd();
}

}  // namespace

const int kVariations = 1500;

std::vector<std::string> seeds() {
  std::vector<std::string> result;
  for (const auto& [turns, blocks] : {std::pair{0, 0}, {3, 12}, {12, 60}, {60, 30}}) {
    RankModels rank;
    rank.processes.resize(1);
    RankModels::Process& process = rank.processes.front();
    process.slots = {.families = {"/run/out.#", "/run/in"}, .slots = {0, 1}};
    for (std::uint32_t thread = 0; thread < 2; ++thread) {
      process.threads[thread] = process.models.add();
      for (const Operation& one : turnsOf(turns, blocks)) process.models.take(thread, one);
    }
    process.models.beginRun();
    const event::Module library{.path = "/usr/lib/libsolver.so.3", .build_id = "=aa"};
    const event::CallStack stack{.number = 1, .hash = 5, .frames = {{&library, 64}, {nullptr, 7}}};
    rank.contexts.take(3, &stack);
    rank.contexts.take(4, nullptr);
    result.push_back(written(rank));
  }
  return result;
}

}  // namespace omnio::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace omnio::fuzz;
  RankModels models;
  if (!isRead({reinterpret_cast<const char*>(data), size}, models)) return 0;
  const std::string text = written(models);
  RankModels again;
  require(isRead(text, again) && written(again) == text);
  static const std::vector<Operation> operations = turnsOf(1, 40);
  for (RankModels::Process& process : models.processes) {
    require(process.models.memoryBytes() <= ProcessModels::kMostBytes);
    if (process.models.threads() == 0) continue;
    for (const Operation& one : operations) {
      process.models.of(0).next();
      process.models.of(0).following(4);
      process.models.of(0).sizeOf(one);
      process.models.of(0).offsetOf(one);
      process.models.take(0, one);
    }
  }
  return 0;
}
