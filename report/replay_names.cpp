#include "report/replay_names.hpp"

#include <iterator>
#include <utility>

#include "core/base/json_reader.hpp"
#include "core/base/printable.hpp"
#include "core/model/schedule_reader.hpp"

namespace omnio::report {
namespace {

constexpr std::string_view kReport = "replay.json";
constexpr std::string_view kRoot = "@root";

// Takes the list of files, and stops where the events begin: a schedule may be very long.
class Sources : public model::ScheduleSink {
 public:
  Complaint file(model::FileNumber, const model::ScheduleFile& file) override {
    if (!file.source.empty()) {
      found[base::printable(file.location)] = base::printable(file.source);
    }
    return {};
  }
  Complaint beginThread(const model::ScheduleThread&) override { return "the files are known"; }

  std::map<std::string, std::string> found;
};

std::optional<std::string_view> below(std::string_view path, std::string_view directory) {
  if (directory.empty() || !path.starts_with(directory)) return std::nullopt;
  path.remove_prefix(directory.size());
  if (path.empty()) return ".";
  if (path.front() != '/') return std::nullopt;
  return path.substr(1);
}

}  // namespace

ReplayNames::ReplayNames(std::vector<std::string> trees, std::map<std::string, std::string> sources)
    : trees_(std::move(trees)),
      sources_(std::make_move_iterator(sources.begin()), std::make_move_iterator(sources.end())) {}

std::optional<ReplayNames> ReplayNames::read(const std::filesystem::path& trace) {
  const std::filesystem::path path = trace / kReport;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  base::JsonReader in(path, base::kMostBytesHeld);
  const base::JsonNode root = in.value();
  if (!in.finish()) return std::nullopt;
  const auto textOf = [&root](std::string_view key) {
    const base::JsonNode* node = root.find(key);
    const auto* text = node == nullptr ? nullptr : node->as<std::string>();
    return text == nullptr ? std::string() : *text;
  };
  std::vector<std::string> trees = {textOf("tree")};
  if (trees.front().empty()) return std::nullopt;
  if (const base::JsonNode* targets = root.find("targets")) {
    if (const auto* list = targets->as<base::JsonNode::List>()) {
      for (const base::JsonNode& node : *list) {
        const base::JsonNode* tree = node.find("tree");
        const auto* text = tree == nullptr ? nullptr : tree->as<std::string>();
        if (text != nullptr && *text != trees.front()) trees.push_back(*text);
      }
    }
  }
  for (const char* const key : {"node_trees", "memory_trees"}) {
    const base::JsonNode* nodes = root.find(key);
    if (nodes == nullptr) continue;
    if (const auto* list = nodes->as<base::JsonNode::List>()) {
      for (const base::JsonNode& node : *list) {
        if (const auto* tree = node.as<std::string>()) trees.push_back(*tree);
      }
    }
  }
  Sources sources;
  // It fails where the events begin, or because the schedule is gone: then the names of its
  // locations alone say what they were.
  (void)model::readSchedule(base::bytesOf(textOf("schedule")), sources);
  return ReplayNames(std::move(trees), std::move(sources.found));
}

std::optional<std::string> ReplayNames::of(std::string_view path) const {
  for (const std::string& tree : trees_) {
    const auto found = below(path, tree);
    if (!found) continue;
    std::string_view location = *found;
    if (const auto source = sources_.find(location); source != sources_.end()) {
      return source->second;
    }
    // "@node/HOST/..." is a file that a node had for itself.
    if (model::isOnNode(location)) {
      location.remove_prefix(model::kNodePrefix.size());
      const std::size_t slash = location.find('/');
      location = slash == std::string_view::npos ? "." : location.substr(slash + 1);
    }
    if (model::isInMemory(location)) return std::string(location.substr(model::kMemoryName.size()));
    if (const auto absolute = below(location, kRoot)) {
      return *absolute == "." ? "/" : "/" + std::string(*absolute);
    }
    return std::string(location);
  }
  return std::nullopt;
}

}  // namespace omnio::report
