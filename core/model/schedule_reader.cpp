#include "core/model/schedule_reader.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/model/json_units.hpp"
#include "core/model/schedule_event_json.hpp"
#include "core/model/schedule_words.hpp"
#include "core/printable.hpp"

namespace omnio::model {
namespace {

constexpr std::string_view kFiles = "/files";
constexpr std::string_view kRank = "/ranks/[]";
constexpr std::string_view kThread = "/ranks/[]/threads/[]";
constexpr std::string_view kEvents = "/ranks/[]/threads/[]/events";

// Why a location cannot be one below the target; empty when it can. One that was only asked for in
// vain may be longer than any file's: that is why it was in vain, and is so again.
std::string whyNotBelow(std::string_view location, FileRole role) {
  constexpr std::size_t kLongestText = 16384;
  constexpr std::size_t kLongestPath = 3500;  // which leaves room for that of the target
  constexpr std::size_t kLongestName = 255;
  const bool is_file = role != FileRole::kAbsent;
  if (location.empty()) return "is empty";
  if (location.find('\0') != std::string_view::npos) return "has a NUL in it";
  if (location.front() == '/') return "leads out of the target: it begins with /";
  if (location.size() >= (is_file ? kLongestPath : kLongestText))
    return "is longer than a path may be";
  for (std::size_t at = 0; at <= location.size();) {
    const std::size_t end = std::min(location.find('/', at), location.size());
    const std::string_view part = location.substr(at, end - at);
    if (part == "..") return "leads out of the target: it has .. in it";
    if (is_file && part.size() > kLongestName) return "has a name of more than 255 bytes";
    at = end + 1;
  }
  return {};
}

class Reader final : public JsonUnits {
 public:
  explicit Reader(ScheduleSink& sink) : sink_(sink) {}

  bool isWalked(std::string_view path) const override {
    return path.empty() || path == kFiles || path == "/ranks" || path == kRank ||
           path == "/ranks/[]/threads" || path == kThread || path == kEvents;
  }

  Verdict unit(std::string_view path, const JsonNode& node) override {
    if (path.empty()) return Complaint{"not an object", node.place};
    if (path == "/format") return takeFormat(node);
    if (!format_known_) return Complaint{"not a schedule: \"format\" has to come first"};
    if (path == "/version") return takeVersion(node);
    if (!version_known_) return Complaint{"\"version\" has to come after \"format\""};
    if (path == "/global") return takeGlobal(node);
    if (path == "/files/[]") return takeFile(node);
    if (path == "/ranks/[]/rank") return takeRank(node);
    if (path.starts_with(kEvents) && path != kEvents) return takeEvent(node);
    if (path.starts_with(kThread) && path != kThread && path != kEvents) {
      return takeOfThread(path, node);
    }
    return Complaint{fmt::format("unknown: {}", inBrief(path)), node.place};
  }

  Verdict enter(std::string_view path) override {
    if (path.empty()) return std::nullopt;
    if (!version_known_) return Complaint{"not a schedule: \"format\" has to come first"};
    if (path == kFiles) {
      if (!has_global_) return Complaint{"\"global\" has to come before \"files\""};
      if (std::exchange(has_files_, true)) return Complaint{"\"files\" appears twice"};
    }
    if (path == "/ranks") {
      if (!has_files_) return Complaint{"\"files\" has to come before \"ranks\""};
      if (std::exchange(has_ranks_, true)) return Complaint{"\"ranks\" appears twice"};
    }
    if (path == kRank) {
      rank_known_ = false;
      thread_ = -1;
      made_.clear();
      wanted_.clear();
    }
    if (path == "/ranks/[]/threads" && !rank_known_) {
      return Complaint{"\"rank\" has to come before \"threads\""};
    }
    if (path == kThread) {
      thread_header_ = {
          .rank = rank_, .thread = -1, .pid = 0, .tid = 0, .host = {}, .recorder_ns = 0};
      has_events_ = false;
      wanted_here_.clear();
    }
    if (path == kEvents) return beginThread();
    return std::nullopt;
  }

  Verdict leave(std::string_view path) override {
    if (path == kEvents) return pass(sink_.endThread());
    if (path == kThread && !has_events_) return Complaint{"a thread without \"events\""};
    if (path == kRank) {
      if (!rank_known_) return Complaint{"a rank without \"rank\""};
      if (!wanted_.empty()) {
        const auto& [descriptor, place] = *wanted_.begin();
        return Complaint{
            fmt::format("fd {} is used, but no event of rank {} opens it", descriptor, rank_),
            place};
      }
    }
    if (path.empty()) return finish();
    return std::nullopt;
  }

 private:
  static Verdict pass(ScheduleSink::Complaint complaint, std::optional<TextPlace> place = {}) {
    if (!complaint) return std::nullopt;
    return Complaint{std::move(*complaint), place};
  }

  Verdict takeFormat(const JsonNode& node) {
    if (node.kind != JsonNode::Kind::kString || node.text != kScheduleFormat) {
      return Complaint{fmt::format("not a schedule: \"format\" is not \"{}\"", kScheduleFormat),
                       node.place};
    }
    format_known_ = true;
    return std::nullopt;
  }

  Verdict takeVersion(const JsonNode& node) {
    if (node.kind != JsonNode::Kind::kInteger || node.integer != kScheduleVersion) {
      return Complaint{node.kind == JsonNode::Kind::kInteger
                           ? fmt::format("schedule version {}, but this omnio reads version {}",
                                         node.integer, kScheduleVersion)
                           : std::string("\"version\" has to be a whole number"),
                       node.place};
    }
    version_known_ = true;
    return std::nullopt;
  }

  Verdict takeGlobal(const JsonNode& node) {
    if (std::exchange(has_global_, true)) return Complaint{"\"global\" appears twice", node.place};
    ScheduleGlobal global;
    if (auto complaint = readGlobal(node, global)) return complaint;
    ranks_ = global.ranks;
    return pass(sink_.global(global), node.place);
  }

  Verdict takeFile(const JsonNode& node) {
    ScheduleFile file;
    if (auto complaint = readFile(node, file)) return complaint;
    const std::string why = whyNotBelow(file.location, file.role);
    if (!why.empty()) {
      return Complaint{fmt::format("location \"{}\" {}", inBrief(file.location), why), node.place};
    }
    const FileNumber number{static_cast<std::uint32_t>(locations_.size())};
    if (!locations_.emplace(file.location, number).second) {
      return Complaint{fmt::format("location \"{}\" appears twice", inBrief(file.location)),
                       node.place};
    }
    return pass(sink_.file(number, file), node.place);
  }

  Verdict takeRank(const JsonNode& node) {
    if (node.kind != JsonNode::Kind::kInteger || node.integer != rank_ + 1) {
      return Complaint{fmt::format("\"rank\" has to be {}: ranks are in order, from 0", rank_ + 1),
                       node.place};
    }
    if (++rank_ >= ranks_) {
      return Complaint{fmt::format("rank {}, but \"global\" names {} ranks", rank_, ranks_),
                       node.place};
    }
    rank_known_ = true;
    return std::nullopt;
  }

  Verdict takeOfThread(std::string_view path, const JsonNode& node) {
    const std::string_view name = path.substr(kThread.size() + 1);
    if (name == "host") {
      if (node.kind != JsonNode::Kind::kString)
        return Complaint{"\"host\" has to be a text", node.place};
      thread_header_.host = bytesOf(node.text);
      return std::nullopt;
    }
    if (name != "thread" && name != "pid" && name != "tid" && name != "recorder") {
      return Complaint{fmt::format("unknown: \"{}\" of a thread", inBrief(name)), node.place};
    }
    if (node.kind != JsonNode::Kind::kInteger || node.integer < 0 || node.integer > INT32_MAX) {
      return Complaint{fmt::format("\"{}\" has to be a number from 0 on", name), node.place};
    }
    if (name == "thread") thread_header_.thread = static_cast<int>(node.integer);
    if (name == "pid") thread_header_.pid = static_cast<std::uint32_t>(node.integer);
    if (name == "recorder") thread_header_.recorder_ns = node.integer;
    if (name == "tid") thread_header_.tid = static_cast<std::uint32_t>(node.integer);
    return std::nullopt;
  }

  Verdict beginThread() {
    if (std::exchange(has_events_, true)) return Complaint{"\"events\" appears twice"};
    if (thread_header_.thread != thread_ + 1) {
      return Complaint{fmt::format(
          "\"thread\" has to be {}, before \"events\": threads are in order, from 0", thread_ + 1)};
    }
    ++thread_;
    return pass(sink_.beginThread(thread_header_));
  }

  Verdict takeEvent(const JsonNode& node) {
    if (node.find("repeat") == nullptr) return takeOne(node, 0);
    std::int64_t times = 0;
    const JsonNode* body = nullptr;
    if (auto complaint = readRepeat(node, times, body)) return complaint;
    for (std::int64_t i = 0; i < times; ++i) {
      for (const JsonNode& item : body->items) {
        if (item.find("id") != nullptr || item.find("repeat") != nullptr) {
          return Complaint{"an event that is repeated has neither \"id\" nor \"repeat\"",
                           item.place};
        }
        if (auto complaint = takeOne(item, i)) return complaint;
      }
    }
    return std::nullopt;
  }

  Verdict takeOne(const JsonNode& node, std::int64_t turn) {
    ScheduleEvent event;
    if (auto complaint = readEvent(node, locations_, turn, event)) return complaint;
    for (const Descriptor used : {event.fd, event.source, event.replaced}) {
      const auto number = static_cast<std::int64_t>(used);
      if (used == kNoDescriptor || made_.contains(number)) continue;
      // Another thread of the rank, further down in the document, may be the one that makes it.
      wanted_.emplace(number, node.place);
      wanted_here_.emplace(number, node.place);
    }
    if (makesDescriptor(event)) {
      const auto number = static_cast<std::int64_t>(event.new_fd);
      if (!made_.insert(number).second) {
        return Complaint{fmt::format("fd {} of rank {} is made twice", number, rank_), node.place};
      }
      wanted_.erase(number);
      // A preopened one is there before all events, wherever it stands.
      const auto early = wanted_here_.find(number);
      if (early != wanted_here_.end() && event.step != Step::kPreopened) {
        return Complaint{fmt::format("fd {} is used before its own thread opens it", number),
                         early->second};
      }
    }
    if (event.id != 0) {
      if (!ids_.insert(event.id).second) {
        return Complaint{fmt::format("id {} appears twice", event.id), node.place};
      }
      waited_.erase(event.id);
    }
    for (const std::uint64_t id : event.after) {
      if (!ids_.contains(id)) waited_.emplace(id, node.place);
    }
    return pass(sink_.event(event), node.place);
  }

  Verdict finish() {
    if (!version_known_) return Complaint{"not a schedule: it has no \"format\" and \"version\""};
    if (!has_ranks_) return Complaint{"it has no \"ranks\""};
    if (rank_ + 1 != ranks_) {
      return Complaint{fmt::format("it has {} ranks, but \"global\" names {}", rank_ + 1, ranks_)};
    }
    if (!waited_.empty()) {
      const auto& [id, place] = *waited_.begin();
      return Complaint{fmt::format("\"after\" names id {}, which no event has", id), place};
    }
    return std::nullopt;
  }

  ScheduleSink& sink_;
  bool format_known_ = false;
  bool version_known_ = false;
  bool has_global_ = false;
  bool has_files_ = false;
  bool has_ranks_ = false;
  bool rank_known_ = false;
  bool has_events_ = false;
  int ranks_ = 0;
  int rank_ = -1;
  int thread_ = -1;
  ScheduleThread thread_header_;
  Locations locations_;
  std::unordered_set<std::int64_t> made_;                    // descriptors of the rank
  std::map<std::int64_t, TextPlace> wanted_;                 // used, and not yet made
  std::unordered_map<std::int64_t, TextPlace> wanted_here_;  // those that the thread used
  std::unordered_set<std::uint64_t> ids_;                    // of the schedule
  std::map<std::uint64_t, TextPlace> waited_;                // named by `after`, and not yet met
};

}  // namespace

std::optional<Failure> readSchedule(const std::filesystem::path& path, ScheduleSink& sink) {
  Reader reader(sink);
  return readJsonUnits(path, reader);
}

}  // namespace omnio::model
