#include "phase_model/file_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "core/base/printable.hpp"
#include "core/calls/words/names.hpp"
#include "core/wire/info.hpp"

namespace omnio::phases {
namespace {

// A later value of a hint replaces an earlier one.
void addHints(std::string_view fact, std::vector<std::pair<std::string, std::string>>& hints) {
  while (!fact.empty()) {
    const std::string_view one = fact.substr(0, fact.find(wire::info::kBetweenHints));
    fact.remove_prefix(std::min(fact.size(), one.size() + 1));
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    const std::string key = base::printable(one.substr(0, equals));
    const auto same = std::ranges::find(hints, key, &std::pair<std::string, std::string>::first);
    const std::string value = base::printable(one.substr(equals + 1));
    if (same == hints.end()) {
      hints.emplace_back(key, value);
    } else {
      same->second = value;
    }
  }
}

}  // namespace

void FileSettings::take(const tracefile::Process& process, const event::Event& event, int phase) {
  if (event.handle == nullptr) return;
  const wire::HandleDefinition& definition = event.handle->definition;
  const Handle handle{&process, definition.handle};
  const bool is_mpi = event.row->api == calls::Api::kMpi;
  if (event.row->id() == calls::CallId::MPI_File_set_atomicity && !event.failed) {
    atomic_[handle] = event::argumentOf(event, calls::Role::kNumber) != 0;
  }
  if (event.row->call_class == calls::Class::kClose) {
    atomic_.erase(handle);
    seen_.erase(handle);
    last_ = {};
  }
  if (phase == 0 || !event::transfersData(event)) return;
  if (last_ == std::pair{handle, phase}) return;
  last_ = {handle, phase};
  if (!seen_[handle].insert(phase).second) return;
  const auto [place, is_new] = phases_.try_emplace(phase);
  model::OpenedFile& opened = place->second;
  if (is_new) {
    if (is_mpi) {
      calls::appendAmode(opened.flags, definition.open_flags);
    } else {
      calls::appendOpenFlags(opened.flags, definition.open_flags);
    }
    const auto atomic = atomic_.find(handle);
    opened.atomic = atomic != atomic_.end() && atomic->second;
  }
  if (!is_mpi || !opened.hints.empty()) return;
  for (const std::string_view when : {".given", ".set"}) {
    addHints(
        process.info.text(fmt::format("{}{}{}", wire::info::kHintsPrefix, definition.handle, when)),
        opened.hints);
  }
}

model::OpenedFile FileSettings::of(int phase) const {
  const auto found = phases_.find(phase);
  return found == phases_.end() ? model::OpenedFile() : found->second;
}

}  // namespace omnio::phases
