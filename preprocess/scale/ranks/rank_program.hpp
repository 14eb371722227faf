// The programs of the ranks of a job at any number of ranks, from schedules at one number or two.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/pattern/count_function.hpp"
#include "preprocess/scale/ranks/rank_order.hpp"
#include "preprocess/scale/recorded_schedule.hpp"

namespace omnio::preprocess::scale {

// One number of ranks alone cannot tell this: whether ranks take turns in a file, so that the
// distance between the turns of a rank is that of all ranks, or a constant.
enum class Stride : std::uint8_t { kNotKnown, kByRanks, kConstant };

struct RankSettings {
  int ranks = 0;
  pattern::Scaling scaling = pattern::Scaling::kWeak;
  Stride stride = Stride::kNotKnown;
};

// A schedule at one number of ranks.
struct RecordedJob {
  RecordedSchedule* schedule = nullptr;
  const RankOrder* order = nullptr;
};

// An event of all ranks of a class. Its numbers are those of its line; then size and bytes that are
// read before they are written of each file that it names; then what the texts of types and groups
// have; then the runs of ranks that it waits for.
struct RankEvent {
  std::uint32_t kind = 0;
  std::vector<pattern::RankCountFunction> numbers;
  std::vector<std::int64_t> measures;  // sums over so many ranks
  std::uint64_t ranks = 1;
  std::vector<std::string> names;  // of files, as the first rank of the class has them
  std::vector<std::string> types;  // shapes of their texts, by the order of the line's numbers
  std::size_t runs = 0;
  model::Reason reason = model::Reason::kMpi;
  model::Work work;                       // between what it waits for and itself
  std::optional<model::Work> from_start;  // between the beginning of the run and itself
  model::Reason start_reason = model::Reason::kMpi;
};

struct RankThread {
  model::ScheduleThread head;
  std::vector<RankEvent> events;
};

// Ranks that do the same, with other numbers: from `first` to `last`, which depend on the number of
// ranks.
struct RankClass {
  pattern::CountFunction first;
  pattern::CountFunction last;
  std::vector<RankThread> threads;
};

// Fails with the call, the number, the file and the rank where a number is not affine in the rank
// and the number of ranks, or where one number of ranks cannot tell how it goes on.
base::Result<std::vector<RankClass>> rankClassesOf(const std::vector<RecordedJob>& jobs,
                                                   const RankSettings& settings);

}  // namespace omnio::preprocess::scale
