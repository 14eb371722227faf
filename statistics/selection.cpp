#include "statistics/selection.hpp"

#include <algorithm>
#include <limits>

#include "core/wire/path_pattern.hpp"

namespace omnio::stats {

SelectedEvents::SelectedEvents(const Selection& selection, const event::PathTable& paths,
                               std::int64_t start_ns)
    : selection_(selection),
      paths_(paths),
      from_ns_(std::numeric_limits<std::int64_t>::min()),
      to_ns_(std::numeric_limits<std::int64_t>::max()) {
  if (!selection.window) return;
  if (selection.window->from_ns > 0) from_ns_ = start_ns + selection.window->from_ns;
  if (selection.window->to_ns) to_ns_ = start_ns + *selection.window->to_ns;
}

bool SelectedEvents::has(const event::Event& event) {
  if (event.start_ns < from_ns_ || event.start_ns >= to_ns_) return false;
  return selection_.patterns.empty() || hasFile(event.file);
}

bool SelectedEvents::hasFile(event::FileId file) {
  if (file == event::kNoFile) return false;
  const auto number = static_cast<std::size_t>(file);
  if (number >= files_.size()) files_.resize(number + 1);
  if (!files_[number]) {
    const wire::PathParts path{.directory = {}, .name = paths_.path(file)};
    files_[number] = std::ranges::any_of(selection_.patterns, [&](const std::string& pattern) {
      return wire::matchesPattern(pattern, path);
    });
  }
  return *files_[number];
}

}  // namespace omnio::stats
