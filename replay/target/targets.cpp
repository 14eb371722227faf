#include "replay/target/targets.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "core/base/printable.hpp"
#include "core/model/schedule_reader.hpp"
#include "replay/issue/libc.hpp"
#include "replay/target/adopt.hpp"
#include "replay/target/prepare.hpp"
#include "replay/target/tree.hpp"

namespace omnio::replay {
namespace {

namespace fs = std::filesystem;

std::string optionText(const Target& target) {
  return "--target " + base::printable(wordOf(target));
}

// Where the path leads, with a slash at its end; what is not there yet stays as it is.
std::string placeOf(const fs::path& path) {
  std::error_code ignored;
  return fs::weakly_canonical(path, ignored).native() + "/";
}

// The device of a directory, or of the nearest one above it that is there.
std::pair<unsigned, unsigned> deviceOf(fs::path directory) {
  struct statx facts {};
  while (raw::systemCall(SYS_statx, AT_FDCWD, directory.c_str(), 0, STATX_BASIC_STATS, &facts) !=
             0 &&
         directory.has_relative_path()) {
    directory = directory.parent_path();
  }
  return {facts.stx_dev_major, facts.stx_dev_minor};
}

base::Failure wrong(std::string sentence) { return {base::Code::kInvalid, std::move(sentence)}; }

// Why the name cannot be one of a target; empty when it can.
std::string whyNoName(const std::string& name) {
  if (name.empty()) return "the name is empty";
  if (model::isTargetName(name)) return {};
  return fmt::format("the name {} has a /, = or : in it", base::printable(name));
}

}  // namespace

fs::path wholePath(const fs::path& path) {
  std::error_code ignored;
  const fs::path whole = fs::absolute(path, ignored).lexically_normal();
  return whole.has_filename() ? whole : whole.parent_path();
}

std::string wordOf(const Target& target) {
  return target.name.empty() ? target.directory.native()
                             : target.name + "=" + target.directory.native();
}

base::Result<Targets> readTargets(const std::vector<std::string>& words) {
  Targets targets;
  for (const std::string& word : words) {
    const std::string option = "--target " + base::printable(word);
    const bool is_path = word.starts_with('/') || word.starts_with('.');
    const std::size_t equals = is_path ? std::string::npos : word.find('=');
    Target target;
    if (equals != std::string::npos) {
      target.name = word.substr(0, equals);
      if (const std::string why = whyNoName(target.name); !why.empty()) {
        return wrong(fmt::format("{}: {}; NAME=DIR is wanted, or ./{} for a directory", option, why,
                                 base::printable(word)));
      }
    }
    const std::string directory = equals == std::string::npos ? word : word.substr(equals + 1);
    if (directory.empty()) return wrong(option + ": the directory is empty");
    target.directory = wholePath(directory);
    const auto before = std::ranges::find(targets, target.name, &Target::name);
    if (before != targets.end()) {
      return wrong(fmt::format("{}: {} was given before, with the directory {}", option,
                               targetText(target.name),
                               base::printable(before->directory.native())));
    }
    targets.insert(target.name.empty() ? targets.begin() : targets.end(), std::move(target));
  }
  return targets;
}

namespace {

// Takes what a schedule says first, and reads no further.
class TargetsOfSchedule final : public model::ScheduleSink {
 public:
  Complaint global(const model::ScheduleGlobal& global) override {
    targets = global.targets;
    return "enough";
  }
  std::vector<model::ScheduleTarget> targets;
};

}  // namespace

void addTargetsOf(const fs::path& schedule, Targets& targets) {
  std::error_code error;
  if (!fs::is_regular_file(schedule, error)) return;  // a pipe is read once
  TargetsOfSchedule sink;
  (void)model::readSchedule(schedule, sink);
  for (const model::ScheduleTarget& target : sink.targets) {
    const bool is_given = std::ranges::find(targets, target.name, &Target::name) != targets.end();
    if (is_given || target.directory.empty()) continue;
    targets.push_back({.name = target.name, .directory = wholePath(target.directory)});
  }
}

base::Result<std::vector<TargetMap>> readTargetMaps(const std::vector<std::string>& words,
                                                    const Targets& targets) {
  std::vector<TargetMap> maps;
  for (const std::string& word : words) {
    const std::string option = "--map " + base::printable(word);
    const std::size_t equals = word.rfind('=');
    if (equals == std::string::npos || !word.ends_with(':')) {
      return wrong(option + ": PATTERN=NAME: is wanted");
    }
    TargetMap map{.pattern = word.substr(0, equals),
                  .target = word.substr(equals + 1, word.size() - equals - 2)};
    if (map.pattern.empty()) return wrong(option + ": the pattern before = is empty");
    const bool is_plain = map.target.empty();
    if (const std::string why = whyNoName(map.target); !is_plain && !why.empty()) {
      return wrong(option + ": " + why);
    }
    if (std::ranges::find(targets, map.target, &Target::name) == targets.end()) {
      return wrong(fmt::format("{}: no --target {}DIR is given", option,
                               is_plain ? "" : base::printable(map.target) + "="));
    }
    maps.push_back(std::move(map));
  }
  return maps;
}

base::Result<void> checkTargets(const Targets& targets, bool fresh) {
  for (std::size_t i = 0; i < targets.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const std::string place = placeOf(targets[i].directory);
      const std::string other = placeOf(targets[j].directory);
      std::error_code ignored;  // for one that is not there yet
      if (place == other || fs::equivalent(targets[i].directory, targets[j].directory, ignored)) {
        return wrong(fmt::format("{} and {} are the same directory; each target needs its own",
                                 optionText(targets[j]), optionText(targets[i])));
      }
      if (!place.starts_with(other) && !other.starts_with(place)) continue;
      const bool is_below = place.starts_with(other);
      return wrong(fmt::format("{} lies in {}; each target needs a directory of its own",
                               optionText(targets[is_below ? i : j]),
                               optionText(targets[is_below ? j : i])));
    }
  }
  for (const Target& target : targets) {
    if (const auto free = checkTarget(target.directory, fresh); !free) return free.failure();
  }
  return {};
}

base::Result<void> checkOutside(const Targets& targets, const fs::path& path,
                                std::string_view what) {
  for (const Target& target : targets) {
    if (!placeOf(path).starts_with(placeOf(target.directory))) continue;
    return wrong(fmt::format("{} {} lies in the target {}", what, base::printable(path.native()),
                             base::printable(target.directory.native())));
  }
  return {};
}

std::vector<fs::path> removedIn(const fs::path& target) {
  return {target / kTreeName, target / kKeptName};
}

base::Result<void> checkTargetsRoom(const Targets& targets, const Plan& plan) {
  std::map<std::pair<unsigned, unsigned>, std::vector<std::uint32_t>> by_device;
  for (std::uint32_t i = 0; i < targets.size(); ++i) {
    by_device[deviceOf(targets[i].directory)].push_back(i);
  }
  for (const auto& [device, numbers] : by_device) {
    const RoomNeeded needed = roomNeeded(plan, [&](std::size_t file) {
      return std::ranges::find(numbers, plan.files[file].tree) != numbers.end();
    });
    std::vector<fs::path> removed;
    std::vector<std::string> names;
    for (const std::uint32_t number : numbers) {
      const Target& target = targets[number];
      std::ranges::copy(removedIn(target.directory), std::back_inserter(removed));
      names.push_back(base::printable(target.directory.native()));
      if (targets.size() > 1) names.back() += fmt::format(" ({})", targetText(target.name));
    }
    const auto fits = checkRoom(needed, targets[numbers.front()].directory, removed,
                                fmt::format("{}", fmt::join(names, " and ")));
    if (!fits) return fits.failure();
  }
  return {};
}

bool usesNodeTree(const fs::path& node_local, const Plan& plan) {
  return !node_local.empty() &&
         std::ranges::find(plan.files, kNodeTree, &PlannedFile::tree) != plan.files.end();
}

RoomNeeded roomNeededOnNode(const Targets& targets, const fs::path& node_local, const Plan& plan,
                            const std::function<bool(std::size_t)>& is_on_node) {
  const auto device = deviceOf(node_local);
  std::set<std::uint32_t> beside;
  for (std::uint32_t i = 0; i < targets.size(); ++i) {
    if (deviceOf(targets[i].directory) == device) beside.insert(i);
  }
  return roomNeeded(plan, [&](std::size_t file) {
    return is_on_node(file) || beside.contains(plan.files[file].tree);
  });
}

std::vector<fs::path> targetTreesBeside(const Targets& targets, const fs::path& directory) {
  std::vector<fs::path> trees;
  for (const Target& target : targets) {
    if (deviceOf(target.directory) != deviceOf(directory)) continue;
    std::ranges::copy(removedIn(target.directory), std::back_inserter(trees));
  }
  return trees;
}

base::Result<fs::path> makeTrees(const Targets& targets, bool fresh, bool keeps) {
  if (const auto free = checkTargets(targets, fresh); !free) return free.failure();
  fs::path first;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const base::Result<fs::path> tree = makeTree(targets[i].directory, fresh, keeps);
    if (!tree) {
      removeTrees({targets.begin(), targets.begin() + static_cast<std::ptrdiff_t>(i)});
      return tree.failure();
    }
    if (i == 0) first = *tree;
  }
  return first;
}

void removeTrees(const Targets& targets) {
  for (const Target& target : targets) removeTree(target.directory);
}

base::Result<std::vector<fs::path>> treesOf(const Targets& targets, const fs::path& first) {
  std::vector<fs::path> trees = {first};
  for (std::size_t i = 1; i < targets.size(); ++i) {
    std::error_code error;
    const fs::path real = fs::canonical(targets[i].directory, error);
    if (error) return base::systemFailure(targets[i].directory, error.value());
    trees.push_back(real / kTreeName);
  }
  return trees;
}

namespace {

// The directories that files of the plan are or lie in.
std::set<std::string, std::less<>> directoriesOf(const Plan& plan,
                                                 const std::function<bool(std::size_t)>& is_there) {
  std::set<std::string, std::less<>> directories;
  for (std::size_t i = 0; i < plan.files.size(); ++i) {
    const PlannedFile& file = plan.files[i];
    if (!is_there(i) || file.role == model::FileRole::kAbsent) continue;
    if (file.role == model::FileRole::kDirectory) directories.insert(file.location);
    for (std::size_t end = file.location.find('/'); end != std::string::npos;
         end = file.location.find('/', end + 1)) {
      directories.insert(file.location.substr(0, end));
    }
  }
  return directories;
}

}  // namespace

base::Result<void> noteDirectories(const Targets& targets, const Plan& plan, const Trees& trees) {
  for (std::uint32_t i = 0; i < targets.size(); ++i) {
    if (!trees[i].isAdopted()) continue;
    const auto is_there = [&](std::size_t file) { return plan.files[file].tree == i; };
    const auto noted =
        noteNewDirectories(targets[i].directory, trees[i], directoriesOf(plan, is_there));
    if (!noted) return noted.failure();
  }
  return {};
}

base::Result<void> noteDirectoriesOnNode(const fs::path& node_local, const Plan& plan,
                                         const Tree& tree,
                                         const std::function<bool(std::size_t)>& is_on_node) {
  if (!tree.isAdopted()) return {};
  return noteNewDirectories(node_local, tree, directoriesOf(plan, is_on_node));
}

std::vector<std::string> unusedTargets(const Targets& targets, const fs::path& node_local,
                                       const Plan& plan) {
  std::vector<std::string> sentences;
  const auto add = [&sentences](const std::string& option) {
    sentences.push_back(option + ": no file of the schedule goes there");
  };
  for (std::uint32_t i = 0; i < targets.size(); ++i) {
    const bool is_used = std::ranges::any_of(plan.files, [i](const PlannedFile& file) {
      return file.tree == i && file.origin != Origin::kInPlace;
    });
    if (!is_used && !targets[i].name.empty()) add(optionText(targets[i]));
  }
  if (!node_local.empty() && !usesNodeTree(node_local, plan)) {
    add("--node-local " + base::printable(node_local.native()));
  }
  return sentences;
}

}  // namespace omnio::replay
