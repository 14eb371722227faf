#include "preprocess/scale/scaled_files.hpp"

#include <algorithm>
#include <utility>

namespace omnio::preprocess::scale {
namespace {

// The recorded path of a file whose location is `from` in place of `to`: what both have in common
// at the end of the old ones is replaced.
std::string sourceOf(std::string source, const std::string& from, const std::string& to) {
  const auto [in_from, in_source] =
      std::mismatch(from.rbegin(), from.rend(), source.rbegin(), source.rend());
  const auto different = static_cast<std::size_t>(from.rend() - in_from);
  if (to.size() < different || to.compare(0, different, from, 0, different) != 0) return source;
  source.resize(static_cast<std::size_t>(source.rend() - in_source));
  return source + to.substr(different);
}

}  // namespace

ScaledFiles::ScaledFiles(std::vector<model::ScheduleFile> recorded, const std::vector<bool>& named)
    : files_(std::move(recorded)) {
  for (std::size_t i = 0; i < files_.size(); ++i) {
    numbers_.emplace(files_[i].location, i);
    is_used_.push_back(!named[i] && files_[i].exists);
  }
}

bool ScaledFiles::use(const std::string& location) {
  const auto found = numbers_.find(location);
  if (found == numbers_.end()) return false;
  is_used_[found->second] = true;
  return true;
}

void ScaledFiles::addLike(const std::string& other, const std::string& location) {
  const auto found = numbers_.find(other);
  if (found == numbers_.end() || !numbers_.emplace(location, files_.size()).second) return;
  model::ScheduleFile file = files_[found->second];
  file.source = sourceOf(file.source, file.location, location);
  file.location = location;
  files_.push_back(std::move(file));
  is_used_.push_back(true);
}

model::ScheduleFile* ScaledFiles::find(const std::string& location) {
  const auto found = numbers_.find(location);
  return found == numbers_.end() ? nullptr : &files_[found->second];
}

std::vector<model::ScheduleFile> ScaledFiles::used() const {
  std::vector<model::ScheduleFile> files;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (is_used_[i]) files.push_back(files_[i]);
  }
  return files;
}

}  // namespace omnio::preprocess::scale
