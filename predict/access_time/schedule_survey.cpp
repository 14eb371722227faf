#include "predict/access_time/schedule_survey.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/base/progress.hpp"

namespace omnio::access_time {

model::ScheduleSink::Complaint ScheduleSurvey::global(const model::ScheduleGlobal& global) {
  facts_.rank_count = global.ranks;
  facts_.source = global.source;
  facts_.left_out = global.left_out;
  facts_.in_memory = global.in_memory;
  return {};
}

model::ScheduleSink::Complaint ScheduleSurvey::file(model::FileNumber /*number*/,
                                                    const model::ScheduleFile& file) {
  facts_.files.push_back({.exists = file.exists,
                          .size = file.size,
                          .names = 1 + static_cast<double>(std::ranges::count(file.location, '/')),
                          .is_in_memory = model::isInMemory(file.location)});
  const std::size_t slash = file.location.rfind('/');
  const std::string_view folder = slash == std::string::npos
                                      ? std::string_view()
                                      : std::string_view(file.location).substr(0, slash);
  folder_of_.push_back(
      folders_.try_emplace(std::string(folder), static_cast<std::uint32_t>(folders_.size()))
          .first->second);
  return {};
}

model::ScheduleSink::Complaint ScheduleSurvey::beginThread(const model::ScheduleThread& thread) {
  rank_ = thread.rank;
  users_.resize(facts_.files.size(), kNoRank);
  folder_users_.resize(folders_.size(), kNoRank);
  return {};
}

model::ScheduleSink::Complaint ScheduleSurvey::event(const model::ScheduleEvent& event) {
  constexpr std::uint64_t kProgressEvery = 4096;
  if (++single_events_ % kProgressEvery == 0) base::progressBy(kProgressEvery);
  use(static_cast<std::size_t>(event.file));
  return {};
}

model::ScheduleSink* ScheduleSurvey::loop(const model::PassedLoop& passed,
                                          Complaint& /*complaint*/) {
  model::forEachLine(passed.loop, [this](const model::LoopLine& line, const model::LoopPath& path) {
    facts_.events += static_cast<double>(model::passesOf(path).value_or(INT64_MAX));
    const auto file = line.number([](const model::ScheduleEvent& event) { return event.file; });
    if (!file || line.first().file == model::kNoFileNumber) return;
    const model::LoopPath naming = model::loopsOf(*file, path);
    // No more turns than there are files name different ones, but for lists that repeat them.
    constexpr std::int64_t kMost = 1 << 22;
    if (model::passesOf(naming).value_or(INT64_MAX) > kMost) return;
    model::TurnValues values = line.firstValues();
    model::forEachTurn(naming, values, [&](const model::TurnValues& now) {
      use(static_cast<std::size_t>(file->at(now, line.firstValues())));
    });
  });
  return nullptr;
}

ScheduleFacts ScheduleSurvey::take() {
  facts_.events += static_cast<double>(std::exchange(single_events_, 0));
  for (std::size_t i = 0; i < facts_.files.size() && i < users_.size(); ++i) {
    facts_.files[i].is_shared = users_[i] == kSeveral;
    facts_.files[i].is_in_shared_folder = folder_users_[folder_of_[i]] == kSeveral;
  }
  return std::move(facts_);
}

void ScheduleSurvey::use(std::size_t number) {
  if (number >= users_.size()) return;
  for (int* user : {&users_[number], &folder_users_[folder_of_[number]]}) {
    if (*user != rank_) *user = *user == kNoRank ? rank_ : kSeveral;
  }
}

}  // namespace omnio::access_time
