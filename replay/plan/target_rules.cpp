#include "replay/plan/target_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/base/printable.hpp"
#include "core/calls/effects.hpp"
#include "core/calls/table.hpp"
#include "core/wire/path_pattern.hpp"

namespace omnio::replay {
namespace {

bool matches(const TargetMap& map, std::string_view path) {
  return wire::matchesPattern(map.pattern, {.directory = {}, .name = path});
}

}  // namespace

std::string targetText(std::string_view name) {
  return name.empty() ? "the plain target" : fmt::format("the target {}", base::printable(name));
}

std::string TreeChoice::treeText(std::uint32_t tree) const {
  if (tree == kMemoryTree) return "the memory of a node";
  return tree == kNodeTree ? "the directory of --node-local" : targetText(rules_.names[tree]);
}

TreeChoice::Complaint TreeChoice::choose(PlannedFile& file) {
  const std::string* name = file.target.empty() ? nullptr : &file.target;
  for (std::size_t i = 0; i < rules_.maps.size(); ++i) {
    if (!matches(rules_.maps[i], file.source)) continue;
    is_used_[i] = true;
    name = &rules_.maps[i].target;
  }
  if (name == nullptr && model::isInMemory(file.location)) {
    file.tree = kMemoryTree;
    has_memory_ = true;
    return std::nullopt;
  }
  if (name == nullptr && rules_.has_node_trees && model::isOnNode(file.location)) {
    file.tree = kNodeTree;
    return std::nullopt;
  }
  // It is not made in a target; the directories above it are, in the first one.
  if (name == nullptr && file.origin == Origin::kInPlace) return std::nullopt;
  const auto found = std::ranges::find(rules_.names, name == nullptr ? std::string() : *name);
  if (found != rules_.names.end()) {
    file.tree = static_cast<std::uint32_t>(found - rules_.names.begin());
    return std::nullopt;
  }
  if (name == nullptr) {
    return fmt::format(
        "location \"{}\" has no target: no --map matches its source \"{}\", and no "
        "--target DIR without a name is given",
        base::inBrief(file.location), base::inBrief(file.source));
  }
  return fmt::format(
      "location \"{}\" goes to the target {}, which this replay does not have; add --target "
      "{}=DIR, or --map the file to another",
      base::inBrief(file.location), base::printable(*name), base::printable(*name));
}

TreeChoice::Complaint TreeChoice::checkNames(const model::ScheduleEvent& event,
                                             const std::vector<PlannedFile>& files) {
  if (!isSplit() || event.step != model::Step::kCall) return std::nullopt;
  if (calls::isMpiIo(*event.row) && event.file != model::kNoFileNumber) {
    const PlannedFile& file = files[static_cast<std::uint32_t>(event.file)];
    if (file.tree != 0 && file.location.find(':') != std::string::npos) {
      return fmt::format("{} names \"{}\" in {}, and {}; --map it to the first target",
                         event.row->name, base::inBrief(file.location), treeText(file.tree),
                         kColonInMpi);
    }
  }
  if (event.failed || event.file == model::kNoFileNumber ||
      event.new_file == model::kNoFileNumber) {
    return std::nullopt;
  }
  const bool renames = calls::does(*event.row, calls::Effect::kRenames);
  if (!renames && !calls::does(*event.row, calls::Effect::kMakesLink)) return std::nullopt;
  const auto from = static_cast<std::uint32_t>(event.file);
  const auto to = static_cast<std::uint32_t>(event.new_file);
  if (files[from].tree != files[to].tree) {
    return fmt::format(
        "{} gives \"{}\", which is in {}, the name \"{}\", which is in {}: no call moves or links "
        "a file from one target to another; --map both to one",
        event.row->name, base::inBrief(files[from].location), treeText(files[from].tree),
        base::inBrief(files[to].location), treeText(files[to].tree));
  }
  if (!renames) return std::nullopt;
  for (const std::uint32_t directory : {from, to}) {
    if (auto complaint = checkBelow(directory, files)) {
      return fmt::format("{} of {}", event.row->name, *complaint);
    }
  }
  return std::nullopt;
}

// What lies below a directory that is renamed goes with it.
TreeChoice::Complaint TreeChoice::checkBelow(std::uint32_t directory,
                                             const std::vector<PlannedFile>& files) {
  if (!checked_.insert(directory).second) return std::nullopt;
  const auto location_of = [&files](std::uint32_t number) -> std::string_view {
    return files[number].location;
  };
  if (by_location_.size() != files.size()) {
    by_location_.resize(files.size());
    std::iota(by_location_.begin(), by_location_.end(), 0U);
    std::ranges::sort(by_location_, {}, location_of);
  }
  const std::string above = files[directory].location + "/";
  for (auto below = std::ranges::lower_bound(by_location_, above, {}, location_of);
       below != by_location_.end() && location_of(*below).starts_with(above); ++below) {
    const PlannedFile& file = files[*below];
    if (file.role == model::FileRole::kAbsent || file.tree == files[directory].tree) continue;
    return fmt::format(
        "the directory \"{}\", which is in {}: \"{}\" below it is in {}, and would stay where it "
        "is; --map both to one",
        base::inBrief(files[directory].location), treeText(files[directory].tree),
        base::inBrief(file.location), treeText(file.tree));
  }
  return std::nullopt;
}

TreeChoice::Complaint TreeChoice::checkMaps() const {
  for (std::size_t i = 0; i < rules_.maps.size(); ++i) {
    if (is_used_[i]) continue;
    return fmt::format("no file of the schedule matches the pattern {} of --map",
                       base::printable(rules_.maps[i].pattern));
  }
  return std::nullopt;
}

}  // namespace omnio::replay
