#include "phase_model/step_phases.hpp"

#include <algorithm>
#include <string>

namespace omnio::phases {

void StepPhases::add(std::size_t process, std::uint32_t thread, std::string_view path,
                     const std::vector<model::Operation>& operations, std::uint64_t first,
                     std::uint64_t last, int phase) {
  const std::size_t file = files_.try_emplace(std::string(path), files_.size()).first->second;
  stretches_[{process, thread, file, std::nullopt}].narrow.push_back({first, last, phase});
  for (const model::Operation operation : operations) {
    stretches_[{process, thread, file, operation}].narrow.push_back({first, last, phase});
  }
  is_sorted_ = false;
}

void StepPhases::addMetadata(std::size_t process, std::uint32_t thread, std::uint64_t first,
                             std::uint64_t last, int phase) {
  stretches_[{process, thread, kNoFile, std::nullopt}].narrow.push_back({first, last, phase});
  is_sorted_ = false;
}

std::string_view pathOf(const event::Event& event) {
  if (event.handle != nullptr) return event.handle->path.absolute;
  if (event.new_handle != nullptr) return event.new_handle->path.absolute;
  const int path = calls::indexOf(*event.row, calls::Role::kPath);
  return path < 0 ? std::string_view() : event.texts[static_cast<std::size_t>(path)].absolute;
}

namespace {

std::optional<model::Operation> operationOf(const calls::Row& row) {
  if (row.call_class == calls::Class::kRead) return model::Operation::kRead;
  if (row.call_class == calls::Class::kWrite) return model::Operation::kWrite;
  return std::nullopt;
}

bool comesAfterData(const calls::Row& row) {
  return row.call_class == calls::Class::kClose || row.call_class == calls::Class::kSync;
}

}  // namespace

// The last stretch that begins at or before the step.
const StepPhases::Stretch* StepPhases::at(const std::vector<Stretch>& stretches,
                                          std::uint64_t step) {
  const auto behind = std::ranges::upper_bound(stretches, step, {}, &Stretch::first);
  return behind == stretches.begin() ? nullptr : &*(behind - 1);
}

void StepPhases::sort() const {
  if (is_sorted_) return;
  for (auto& [key, all] : stretches_) {
    std::vector<Stretch> sorted = std::move(all.narrow);
    sorted.insert(sorted.end(), all.wide.begin(), all.wide.end());
    std::ranges::sort(sorted, {}, [](const Stretch& s) { return std::pair(s.first, s.last); });
    all = {};
    // One that goes on where the next one has begun is wide.
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      const bool is_wide = i + 1 < sorted.size() && sorted[i].last >= sorted[i + 1].first;
      (is_wide ? all.wide : all.narrow).push_back(sorted[i]);
    }
  }
  is_sorted_ = true;
}

const StepPhases::Stretch* StepPhases::around(const Stretches& stretches, std::uint64_t step) {
  const Stretch* const before = at(stretches.narrow, step);
  if (before != nullptr && step <= before->last) return before;
  const Stretch* shortest = nullptr;
  for (const Stretch& stretch : stretches.wide) {
    if (stretch.first > step) break;
    const bool is_shorter =
        shortest == nullptr || stretch.last - stretch.first < shortest->last - shortest->first;
    if (step <= stretch.last && is_shorter) shortest = &stretch;
  }
  return shortest;
}

int StepPhases::metadataPhaseOf(std::size_t process, std::uint32_t thread,
                                std::uint64_t step) const {
  sort();
  const auto found = stretches_.find({process, thread, kNoFile, std::nullopt});
  const Stretch* const stretch = found == stretches_.end() ? nullptr : around(found->second, step);
  return stretch == nullptr ? 0 : stretch->phase;
}

int StepPhases::phaseOf(std::size_t process, std::uint32_t thread, std::uint64_t step,
                        const event::Event& event) const {
  sort();
  const auto file = files_.find(std::string(event::normalisedPath(pathOf(event))));
  if (file == files_.end()) return 0;
  auto found = stretches_.find({process, thread, file->second, operationOf(*event.row)});
  // One of no bytes is of no phase itself.
  if (found == stretches_.end()) {
    found = stretches_.find({process, thread, file->second, std::nullopt});
  }
  if (found == stretches_.end()) return 0;
  if (const Stretch* stretch = around(found->second, step)) return stretch->phase;
  const std::vector<Stretch>& narrow = found->second.narrow;
  const Stretch* const before = at(narrow, step);
  const Stretch* next = before == nullptr ? (narrow.empty() ? nullptr : narrow.data()) : before + 1;
  if (next == narrow.data() + narrow.size()) next = nullptr;
  const Stretch* const first = comesAfterData(*event.row) ? before : next;
  const Stretch* const second = comesAfterData(*event.row) ? next : before;
  const Stretch* const chosen = first != nullptr ? first : second;
  return chosen == nullptr ? 0 : chosen->phase;
}

int PhasesOfThread::at(std::uint64_t step, const event::Event& event) {
  step_ = step + 1;
  requests_.take(event);
  int phase = 0;
  if (calls::isIo(*event.row) || calls::isMpiIo(*event.row)) {
    phase = phases_.phaseOf(process_, thread_, step, event);
    if (calls::isMpiIo(*event.row)) {
      const std::int64_t request = event::argumentOf(event, calls::Role::kRequest);
      if (request > 0) phase_of_request_[static_cast<std::uint64_t>(request)] = phase;
    }
  } else {
    for (const std::uint64_t request : requests_.done()) {
      const auto found = phase_of_request_.extract(request);
      if (!found.empty() && phase == 0) phase = found.mapped();
    }
  }
  if (phase != 0 || !event::isOfStorage(event)) return phase;
  return phases_.metadataPhaseOf(process_, thread_, step);
}

}  // namespace omnio::phases
