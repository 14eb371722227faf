// Reads schedules piece by piece.
#include "core/model/schedule_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/integers.hpp"
#include "core/base/json_reader.hpp"
#include "core/base/printable.hpp"
#include "core/model/compact/loop_builder.hpp"
#include "core/model/compact/loop_end.hpp"
#include "core/model/compact/loop_numbers.hpp"
#include "core/model/compact/repeat.hpp"
#include "core/model/compact/times_file.hpp"
#include "core/model/event_reader.hpp"
#include "core/model/schedule_head.hpp"
#include "core/model/schedule_keys.hpp"

namespace omnio::model {
namespace {

using base::JsonNode;
using base::JsonObject;
using base::JsonReader;

class Reader {
 public:
  Reader(JsonReader& in, ScheduleSink& sink, const std::filesystem::path& path,
         std::filesystem::path times)
      : in_(in), sink_(sink), path_(placeOfSchedule(path)), times_path_(std::move(times)) {}

  void read() {
    in_.members([this](std::string_view key) { readPart(key); });
    if (in_.failed()) return;
    if (!version_known_) {
      in_.refuse("not a schedule: it has no \"format\" and \"version\"");
    } else if (!has_ranks_) {
      in_.refuse("it has no \"ranks\"");
    } else if (rank_ + 1 != ranks_) {
      in_.refuse(fmt::format("it has {} ranks, but \"global\" names {}", rank_ + 1, ranks_));
    } else if (!waited_.empty()) {
      const auto& [id, place] = *waited_.begin();
      in_.refuse(place, fmt::format("\"after\" names id {}, which no event has", id));
    } else {
      checkWaitedRanges();
      checkOpensOfGroups();
    }
  }

 private:
  void readPart(std::string_view key) {
    if (key == "format") return readFormat();
    if (!format_known_) return in_.refuse("not a schedule: \"format\" has to come first");
    if (key == "version") return readVersion();
    if (!version_known_) return in_.refuse("\"version\" has to come after \"format\"");
    if (key == "global") {
      const JsonNode node = in_.value();
      const ScheduleGlobal global = globalOf(in_, node);
      ranks_ = global.ranks;
      mpi_ = global.mpi;
      targets_ = global.targets;
      if (mpi_) members_ = mpi_->groups;
      for (std::vector<int>& members : members_) std::ranges::sort(members);
      has_global_ = true;
      if (const JsonNode* times = node.find(kTimesKey)) openTimes(*times);
      pass([&] { return sink_.global(global); }, node.place);
    } else if (key == "files") {
      if (!has_global_) return in_.refuse("\"global\" has to come before \"files\"");
      has_files_ = true;
      in_.items([this] { readFiles(); });
    } else if (key == "ranks") {
      if (!has_files_) return in_.refuse("\"files\" has to come before \"ranks\"");
      has_ranks_ = true;
      in_.items([this] { readRank(); });
    } else {
      refuseUnknown(key);
    }
  }

  void refuseUnknown(std::string_view key) {
    in_.refuse(fmt::format("\"{}\" has no place here", base::inBrief(key)));
  }

  // Gives the sink its part, unless something was refused before.
  template <typename Give>
  void pass(Give give, std::optional<base::TextPlace> place = {}) {
    if (in_.failed()) return;
    const ScheduleSink::Complaint complaint = give();
    if (complaint) in_.refuse(place.value_or(in_.lastPlace()), *complaint);
  }

  void readFormat() {
    const JsonNode node = in_.value();
    const auto* format = node.as<std::string>();
    format_known_ = format != nullptr && *format == kScheduleFormat;
    if (format_known_) return;
    in_.refuse(node.place, fmt::format("not a schedule: \"format\" is not \"{}\"", kScheduleFormat),
               base::Code::kNotOurs);
  }

  void readVersion() {
    const JsonNode node = in_.value();
    const std::int64_t version = base::integerOf(in_, "version", node, {});
    version_known_ = version == kScheduleVersion;
    if (version_known_) return;
    in_.refuse(node.place, fmt::format("schedule version {}, but this omnio reads version {}",
                                       version, kScheduleVersion));
  }

  void openTimes(const JsonNode& node) {
    JsonObject object(in_, node);
    const std::string name = base::bytesOf(object.text("file"));
    const std::string digest = object.text("digest");
    if (in_.failed()) return;
    if (name.empty() || name == ".." || name.find('/') != std::string::npos) {
      return in_.refuse(node.place,
                        "\"file\" of \"times\" has to be a name in the directory of the schedule");
    }
    times_.emplace();
    if (times_path_.empty()) times_path_ = path_.parent_path() / name;
    times_digest_ = digest;
    const auto opened = times_->open(times_path_, digest);
    if (!opened) in_.refuse(node.place, opened.failure().sentence);
  }

  void readFiles() {
    const JsonNode node = in_.value();
    if (node.find("repeat") == nullptr) return readFile(node);
    Repeat loop(in_, node, scope_);
    loop.run(
        {.begin = [](const Repeat&) {}, .item = [this](const JsonNode& item) { readFile(item); }});
  }

  void readFile(const JsonNode& node) {
    if (in_.failed()) return;
    const ScheduleFile file = fileOf(in_, node);
    if (!targets_.empty() && !file.target.empty() &&
        std::ranges::find(targets_, file.target, &ScheduleTarget::name) == targets_.end()) {
      in_.refuse(node.place,
                 fmt::format("location \"{}\" names the target {}, which \"targets\" does not have",
                             base::inBrief(file.location), base::inBrief(file.target)));
    }
    const FileNumber number{static_cast<std::uint32_t>(locations_.size())};
    if (!locations_.emplace(file.location, number).second) {
      in_.refuse(node.place,
                 fmt::format("location \"{}\" appears twice", base::inBrief(file.location)));
    }
    pass([&] { return sink_.file(number, file); }, node.place);
  }

  void readRank() {
    bool is_known = false;
    std::optional<std::pair<int, int>> shared;  // first and last rank
    shares_.clear();
    in_.members([&](std::string_view key) {
      if (is_known && (key == "rank" || key == "ranks")) {
        return in_.refuse("\"rank\" and \"ranks\" together");
      }
      if (key == "rank") {
        takeRank(in_.value());
        is_known = true;
      } else if (key == "ranks") {
        shared = takeRanks(in_.value());
        is_known = true;
      } else if (key == "comment") {
        in_.value();
      } else if (key != "threads") {
        refuseUnknown(key);
      } else if (!is_known) {
        in_.refuse("\"rank\" has to come before \"threads\"");
      } else if (shared) {
        readShared(in_.value(), *shared);
      } else {
        in_.items([this] { readThread(); });
        endRank();
      }
    });
    if (!is_known) in_.refuse("a rank without \"rank\"");
  }

  void beginRank() {
    thread_ = -1;
    made_.clear();
    wanted_.clear();
  }

  void endRank() {
    if (wanted_.empty()) return;
    const auto& [descriptor, place] = *wanted_.begin();
    in_.refuse(place,
               fmt::format("fd {} is used, but no event of rank {} opens it", descriptor, rank_));
  }

  void takeRank(const JsonNode& node) {
    const auto* rank = node.as<std::int64_t>();
    if (rank == nullptr || *rank != rank_ + 1) {
      in_.refuse(node.place,
                 fmt::format("\"rank\" has to be {}: ranks are in order, from 0", rank_ + 1));
    } else if (++rank_ >= ranks_) {
      in_.refuse(node.place, fmt::format("rank {}, but \"global\" names {} ranks", rank_, ranks_));
    }
    beginRank();
  }

  // "0-63"
  std::pair<int, int> takeRanks(const JsonNode& node) {
    const std::string text = base::textOf(in_, "ranks", node);
    const std::size_t dash = std::min(text.find('-'), text.size());
    const auto first = base::wholeNumber<int>(std::string_view(text).substr(0, dash));
    const auto last = dash == text.size()
                          ? first
                          : base::wholeNumber<int>(std::string_view(text).substr(dash + 1));
    if (!first || !last || *first > *last) {
      in_.refuse(node.place, "\"ranks\" has to be like \"0-63\"");
    } else if (*first != rank_ + 1) {
      in_.refuse(
          node.place,
          fmt::format("\"ranks\" has to begin with {}: ranks are in order, from 0", rank_ + 1));
    } else if (*last >= ranks_) {
      in_.refuse(node.place, fmt::format("rank {}, but \"global\" names {} ranks", *last, ranks_));
    } else {
      return {*first, *last};
    }
    return {0, -1};
  }

  // One program, with the numbers of each of the ranks.
  void readShared(const JsonNode& threads, std::pair<int, int> ranks) {
    const auto* list = threads.as<JsonNode::List>();
    if (list == nullptr) {
      return in_.refuse(threads.place,
                        fmt::format("\"threads\" has to be a list, not {}", threads.kind()));
    }
    scope_.beginRanks();
    for (int rank = ranks.first; rank <= ranks.second && !in_.failed(); ++rank) {
      rank_ = rank;
      beginRank();
      scope_.setRank(rank);
      for (const JsonNode& node : *list) readSharedThread(node);
      endRank();
    }
    scope_.endRanks();
  }

  void readSharedThread(const JsonNode& node) {
    const auto* members = node.as<JsonNode::Members>();
    if (members == nullptr) {
      return in_.refuse(node.place,
                        fmt::format("a thread has to be an object, not {}", node.kind()));
    }
    ThreadHead head(rank_);
    bool has_events = false;
    for (const auto& [key, member] : *members) {
      if (in_.failed()) return;
      if (key != "events") {
        takeMember(head, key, member);
        continue;
      }
      const auto* events = member.as<JsonNode::List>();
      if (events == nullptr) {
        return in_.refuse(member.place,
                          fmt::format("\"events\" has to be a list, not {}", member.kind()));
      }
      has_events = true;
      beginEvents(head);
      for (const JsonNode& event : *events) takeItem(event);
      pass([&] { return sink_.endThread(); });
    }
    if (!has_events) in_.refuse(node.place, "a thread without \"events\"");
  }

  struct ThreadHead {
    explicit ThreadHead(int rank)
        : thread{.rank = rank, .thread = -1, .pid = 0, .tid = 0, .host = {}, .recorder_ns = 0} {}
    ScheduleThread thread;
    const TimesStream* stream = nullptr;
    std::size_t stream_number = 0;
  };

  void takeMember(ThreadHead& head, std::string_view key, const JsonNode& node) {
    ScheduleThread& thread = head.thread;
    const auto number = [&] {
      return base::integerOf(in_, key, node, {.least = 0, .most = INT32_MAX});
    };
    if (key == "thread") {
      thread.thread = static_cast<int>(number());
    } else if (key == "pid") {
      thread.pid = static_cast<std::uint32_t>(number());
    } else if (key == "tid") {
      thread.tid = static_cast<std::uint32_t>(number());
    } else if (key == "recorder") {
      thread.recorder_ns = number();
    } else if (key == "computing") {
      thread.computing = node.number();
      if (!thread.computing || !(*thread.computing >= 0 && *thread.computing <= 1)) {
        in_.refuse(node.place, "\"computing\" has to be a number from 0 to 1");
      }
    } else if (key == "host") {
      thread.host = base::bytesOf(base::textOf(in_, key, node));
    } else if (key == "times") {
      takeStream(head, node);
    } else if (key != "comment") {
      in_.refuse(node.place, fmt::format("\"{}\" has no place here", base::inBrief(key)));
    }
  }

  void takeStream(ThreadHead& head, const JsonNode& node) {
    TurnNode of_rank(
        in_, {.value = JsonNode::Members{{std::string(kTimesKey), node}}, .place = node.place},
        scope_);
    const JsonNode* value = of_rank.now().find(kTimesKey);
    const std::int64_t number = base::integerOf(in_, "times", *value, {});
    // Ranks that were added have no times of their own.
    head.stream = times_ ? times_->stream(number) : nullptr;
    head.stream_number = static_cast<std::size_t>(number);
  }

  void readThread() {
    ThreadHead head(rank_);
    bool has_events = false;
    in_.members([&](std::string_view key) {
      if (key != "events") return takeMember(head, key, in_.value());
      has_events = true;
      beginEvents(head);
      in_.items([this] { takeItem(in_.value()); });
      pass([&] { return sink_.endThread(); });
    });
    if (!has_events) in_.refuse("a thread without \"events\"");
  }

  void beginEvents(const ThreadHead& head) {
    wanted_here_.clear();
    stream_ = head.stream;
    stream_number_ = head.stream_number;
    thread_times_ = {};
    ScheduleThread thread = head.thread;
    if (thread.thread != thread_ + 1) {
      return in_.refuse(fmt::format(
          "\"thread\" has to be {}, before \"events\": threads are in order, from 0", thread_ + 1));
    }
    ++thread_;
    // A shared program has means for its threads, or what holds for the first rank.
    if (stream_ != nullptr && !scope_.isEmpty()) {
      thread.pid = stream_->thread.pid;
      thread.tid = stream_->thread.tid;
      thread.recorder_ns = stream_->thread.recorder_ns;
      thread.computing = stream_->thread.computing;
      thread.host = stream_->thread.host;
    }
    pass([&] { return sink_.beginThread(thread); });
  }

  // An event, or a loop.
  void takeItem(const JsonNode& node) {
    if (in_.failed()) return;
    if (node.find("repeat") != nullptr) {
      Repeat loop(in_, node, scope_);
      if (in_.failed()) return;
      std::int64_t times = 0;
      loop.forEachItem([&](const JsonNode& item, std::int64_t turns) {
        std::int64_t of_item = 0;
        if (__builtin_mul_overflow(timesOf(item, false), turns, &of_item)) of_item = INT64_MAX;
        times = base::saturatingSum(times, of_item);
      });
      beginTimes(loop.node(), times, node.find("repeat")->place.line);
      if (!passLoop(loop, node.place)) writeOut(loop, node.place);
    } else if (!scope_.isEmpty()) {
      TurnNode of_rank(in_, node, scope_);
      beginTimes(node, timesOf(node, false), node.place.line);
      takeEvent(of_rank.now());
    } else {
      beginTimes(node, timesOf(node, false));
      takeEvent(node);
    }
    thread_times_.exact = nullptr;
    thread_times_.are_left_out = false;
    thread_times_.gap_ns.reset();  // of a loop with an empty body
  }

  void writeOut(Repeat& loop, base::TextPlace place) {
    if (in_.failed()) return;
    if (loop.allTurns() > Repeat::kMostWrittenOut) {
      in_.refuse(place, fmt::format("loops with more than {} turns in all, that have to be "
                                    "written out",
                                    Repeat::kMostWrittenOut));
    }
    loop.run({.begin = [this](const Repeat& inner) { beginLoop(inner); },
              .item = [this](const JsonNode& item) { takeEvent(item); }});
    event_sink_ = &sink_;
  }

  // True when the sink has taken the loop, or it was refused.
  bool passLoop(const Repeat& repeat, base::TextPlace place) {
    constexpr std::int64_t kWorthwhile = 4;  // turns
    if (!sink_.takesLoops() || repeat.allTurns() < kWorthwhile) return false;
    const auto [loop, refusal] = builtLoop(in_, repeat, scope_.values(), locations_,
                                           mpi_ ? &*mpi_ : nullptr, thread_times_.exact != nullptr);
    const bool is_too_long = repeat.allTurns() > Repeat::kMostWrittenOut;
    if (!loop && is_too_long && refusal) in_.refuse(*refusal);
    if (!loop) return in_.failed();
    forEachLine(*loop, [this](LoopLine& line, const LoopPath&) {
      if (line.share) line.share_first = shareCount(line);
    });
    std::int64_t passes = 0;
    forEachLine(*loop, [&passes](const LoopLine&, const LoopPath& path) {
      passes = base::saturatingSum(passes, passesOf(path).value_or(INT64_MAX));
    });
    constexpr std::int64_t kMostPasses = std::int64_t{1} << 60;
    if (passes > kMostPasses) return false;
    LoopDescriptors descriptors(made_);
    LoopIds ids(ids_);
    if (!descriptors.take(*loop) || !ids.take(*loop)) return false;
    std::optional<LoopTimes> times;
    if (thread_times_.exact != nullptr) {
      const JsonNode::List& range = *repeat.node().find(kTimesKey)->as<JsonNode::List>();
      times = LoopTimes{.path = times_path_,
                        .digest = times_digest_,
                        .stream = stream_number_,
                        .first = static_cast<std::uint64_t>(*range[0].as<std::int64_t>()),
                        .count = static_cast<std::uint64_t>(*range[1].as<std::int64_t>()),
                        .of_thread = stream_};
    }
    const auto end_ns = endOf(*loop, thread_times_);
    if (!end_ns) {
      if (times) times_->seek(stream_number_, times->first);
      return false;
    }
    if (times_ && times_->failure()) {
      in_.refuse(place, times_->failure()->sentence);
      return true;
    }
    const PassedLoop passed{.loop = *loop,
                            .times = times,
                            .begin_ns = thread_times_.previous_end_ns,
                            .end_ns = *end_ns};
    ScheduleSink::Complaint complaint;
    ScheduleSink* const rest = sink_.loop(passed, complaint);
    if (complaint) in_.refuse(place, *complaint);
    if (in_.failed()) return true;
    if (rest != nullptr) {
      event_sink_ = rest;
      if (times) times_->seek(stream_number_, times->first);
      return false;
    }
    thread_times_.previous_end_ns = *end_ns;
    if (*end_ns > kTenYears) in_.refuse(place, "it ends more than ten years after the beginning");
    takeDescriptors(descriptors);
    takeIds(ids);
    forEachLine(*loop, [this](const LoopLine& line, const LoopPath& path) {
      if (line.share) shareCount(line) += static_cast<std::uint64_t>(passesOf(path).value_or(0));
    });
    return true;
  }

  std::uint64_t& shareCount(const LoopLine& line) {
    return shares_[{line.place.line, line.place.column}];
  }

  void takeIds(const LoopIds& ids) {
    for (const auto& [id, place] : ids.ids()) makeId(static_cast<std::uint64_t>(id), place);
    for (const auto& [made, place] : ids.ranges()) {
      const NumberRange& range = made;
      std::erase_if(waited_, [&range](const auto& one) {
        return range.contains(static_cast<std::int64_t>(one.first));
      });
      ids_.add(range);
    }
    for (const auto& [id, place] : ids.awaited()) awaitId(static_cast<std::uint64_t>(id), place);
    waited_ranges_.insert(waited_ranges_.end(), ids.awaitedRanges().begin(),
                          ids.awaitedRanges().end());
  }

  void makeId(std::uint64_t id, base::TextPlace place) {
    if (!ids_.add(static_cast<std::int64_t>(id))) {
      in_.refuse(place, fmt::format("id {} appears twice", id));
    }
    waited_.erase(id);
  }

  void awaitId(std::uint64_t id, base::TextPlace place) {
    if (id != 0 && !ids_.contains(static_cast<std::int64_t>(id))) waited_.emplace(id, place);
  }

  void takeDescriptors(const LoopDescriptors& descriptors) {
    for (const auto& [number, place] : descriptors.used()) useDescriptor(number, place);
    for (const auto& [number, place] : descriptors.made()) makeDescriptor(number, place);
    for (const auto& [made, place] : descriptors.ranges()) {
      const NumberRange& range = made;
      for (const auto& [number, early] : wanted_here_) {
        if (range.contains(number)) return refuseEarly(number, early);
      }
      std::erase_if(wanted_, [&range](const auto& one) { return range.contains(one.first); });
      made_.add(range);
    }
  }

  // The time before a loop is that before its first event, and none of the times in it.
  void beginLoop(const Repeat& loop) {
    const JsonNode* gap = loop.node().find("gap");
    if (gap == nullptr || thread_times_.gap_ns) return;
    thread_times_.gap_ns =
        base::integerOf(in_, "gap", *gap, {.least = -kTenYears, .most = kTenYears});
  }

  // Finds the exact times of an item that needs so many: "times" is the first one and how many were
  // recorded. Where these are not as many, the item was edited, and has its means.
  // `line`: where an item begins that stands for several events.
  void beginTimes(const JsonNode& node, std::int64_t times, std::optional<std::size_t> line = {}) {
    findTimes(node, times);
    const bool has_means = line && times > 0 && thread_times_.exact == nullptr;
    if (has_means && !in_.failed()) sink_.meanTimes(*line);
  }

  void findTimes(const JsonNode& node, std::int64_t times) {
    thread_times_.exact = nullptr;
    thread_times_.are_left_out = false;
    const JsonNode* place = node.find(kTimesKey);
    if (place == nullptr) return;
    const bool are_left_out = node.find("repeat") == nullptr && node.find("gap") == nullptr &&
                              node.find(kStartKey) == nullptr;
    const auto* range = place->as<JsonNode::List>();
    if (range == nullptr || range->size() != 2) {
      return in_.refuse(place->place, "\"times\" has to be a list of two numbers");
    }
    const std::int64_t first = base::integerOf(in_, "times", (*range)[0], {.least = 0});
    const std::int64_t count = base::integerOf(in_, "times", (*range)[1], {.least = 0});
    if (are_left_out) times = timesOf(node, true);
    if (in_.failed() || stream_ == nullptr || count != times ||
        static_cast<std::uint64_t>(base::saturatingSum(first, count)) > stream_->values) {
      if (are_left_out) {
        in_.refuse(place->place,
                   "its times cannot be found: a line that was changed needs \"gap\" and "
                   "\"duration\"");
      }
      return;
    }
    thread_times_.are_left_out = are_left_out;
    times_->seek(stream_number_, static_cast<std::uint64_t>(first));
    thread_times_.exact = &*times_;
  }

  void takeEvent(const JsonNode& node) {
    if (in_.failed()) return;
    const ScheduleEvent event =
        readEvent(in_, node, locations_, mpi_ ? &*mpi_ : nullptr, thread_times_, &shares_);
    if (times_ && times_->failure()) in_.refuse(node.place, times_->failure()->sentence);
    if (in_.failed()) return;
    for (const Descriptor used : descriptorsOf(event)) {
      if (used != kNoDescriptor) useDescriptor(static_cast<std::int64_t>(used), node.place);
    }
    if (event.step == Step::kCall && calls::isMpiIo(*event.row) &&
        event.row->call_class == calls::Class::kOpen) {
      takeOpenOfGroup(event, node.place);
    }
    if (makesDescriptor(event)) makeDescriptor(event, node.place);
    if (event.id != 0) makeId(event.id, node.place);
    for (const Wait& wait : event.after) awaitId(wait.id, node.place);
    pass([&] { return event_sink_->event(event); }, node.place);
  }

  // All ranks of a group open a file together: a rank that did not come would be waited for.
  void takeOpenOfGroup(const ScheduleEvent& event, base::TextPlace place) {
    const auto group = static_cast<std::size_t>(argumentOf(event, calls::Role::kNewComm));
    if (!std::ranges::binary_search(members_[group], rank_)) {
      return in_.refuse(
          place, fmt::format("rank {} is not in group {}, which opens the file", rank_, group));
    }
    OpensOfGroup& opens = opens_[group];
    ++opens.by_rank[rank_];
    opens.last = place;
  }

  void checkWaitedRanges() {
    for (const auto& [range, place] : waited_ranges_) {
      if (!ids_.covers(range) &&
          !range.all([this](std::int64_t id) { return ids_.contains(id); })) {
        in_.refuse(place,
                   fmt::format("\"after\" names ids from {} on, and not all of them are there",
                               range.first()));
      }
    }
  }

  void checkOpensOfGroups() {
    for (const auto& [group, opens] : opens_) {
      const auto [most_rank, most] = *std::ranges::max_element(
          opens.by_rank, {}, [](const auto& count) { return count.second; });
      for (const int member : mpi_->groups[group]) {
        const auto found = opens.by_rank.find(member);
        const std::uint64_t count = found == opens.by_rank.end() ? 0 : found->second;
        if (count == most) continue;
        return in_.refuse(opens.last, fmt::format("all ranks of group {} open its files together, "
                                                  "but rank {} opens {}, and rank {} opens {}",
                                                  group, most_rank, most, member, count));
      }
    }
  }

  void useDescriptor(std::int64_t number, base::TextPlace place) {
    if (made_.contains(number)) return;
    // Another thread of the rank, further down in the document, may be the one that makes it.
    wanted_.emplace(number, place);
    wanted_here_.emplace(number, place);
  }

  void makeDescriptor(const ScheduleEvent& event, base::TextPlace place) {
    makeDescriptor(static_cast<std::int64_t>(event.new_fd), place, event.step == Step::kPreopened);
  }
  // A preopened one is there before all events, wherever it stands.
  void makeDescriptor(std::int64_t number, base::TextPlace place, bool is_preopened = false) {
    if (!made_.add(number)) {
      in_.refuse(place, fmt::format("fd {} of rank {} is made twice", number, rank_));
    }
    wanted_.erase(number);
    const auto early = wanted_here_.find(number);
    if (early != wanted_here_.end() && !is_preopened) refuseEarly(number, early->second);
  }

  void refuseEarly(std::int64_t number, base::TextPlace place) {
    in_.refuse(place, fmt::format("fd {} is used before its own thread opens it", number));
  }

  JsonReader& in_;
  ScheduleSink& sink_;
  ScheduleSink* event_sink_ = &sink_;  // gets the events of a loop that is written out
  const std::filesystem::path path_;
  TurnScope scope_;
  std::optional<TimesReader> times_;
  std::filesystem::path times_path_;
  std::string times_digest_;
  const TimesStream* stream_ = nullptr;  // of the thread
  std::size_t stream_number_ = 0;
  ThreadTimes thread_times_;
  ShareCounts shares_;  // of a program, over all its ranks
  bool format_known_ = false;
  bool version_known_ = false;
  bool has_global_ = false;
  bool has_files_ = false;
  bool has_ranks_ = false;
  std::optional<MpiTables> mpi_;
  std::vector<ScheduleTarget> targets_;
  int ranks_ = 0;
  int rank_ = -1;
  int thread_ = -1;
  Locations locations_;
  Numbers made_;                                                   // of the rank
  std::map<std::int64_t, base::TextPlace> wanted_;                 // used, and not yet made
  std::unordered_map<std::int64_t, base::TextPlace> wanted_here_;  // those that the thread used
  Numbers ids_;                                                    // of the schedule
  std::map<std::uint64_t, base::TextPlace> waited_;  // named by `after`, and not yet met
  std::vector<PlacedRange> waited_ranges_;           // of loops
  struct OpensOfGroup {
    std::map<int, std::uint64_t> by_rank;
    base::TextPlace last{};
  };
  std::map<std::size_t, OpensOfGroup> opens_;  // by group
  std::vector<std::vector<int>> members_;      // the same, ascending
};

}  // namespace

base::Result<void> readSchedule(const std::filesystem::path& path, ScheduleSink& sink,
                                const std::filesystem::path& times) {
  JsonReader in(path);
  Reader(in, sink, path, times).read();
  return in.finish();
}

}  // namespace omnio::model
