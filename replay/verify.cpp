#include "replay/verify.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "core/base/json_reader.hpp"
#include "core/base/printable.hpp"
#include "core/base/progress.hpp"
#include "core/base/text_table.hpp"
#include "core/calls/lock_commands.hpp"
#include "core/calls/words/names.hpp"
#include "core/event/event_text.hpp"
#include "core/model/schedule_keys.hpp"
#include "core/model/schedule_reader.hpp"
#include "core/tracefile/log_reader.hpp"
#include "core/tracefile/merged_reader.hpp"
#include "replay/issue/backend.hpp"
#include "replay/plan/plan.hpp"
#include "replay/plan/schedule_digest.hpp"
#include "replay/report.hpp"
#include "replay/result_comparison.hpp"

namespace omnio::replay {
namespace {

using calls::CallId;
using calls::Effect;
using calls::Role;
using model::Descriptor;
using model::FileNumber;
using model::ScheduleEvent;
using model::Step;

using Complaint = model::ScheduleSink::Complaint;

// The file behind each descriptor of the schedule: which threads stand further down may be the ones
// that make what is used above.
class FilesOfDescriptors final : public model::ScheduleSink {
 public:
  Complaint file(FileNumber, const model::ScheduleFile& file) override {
    locations_.push_back(file.location);
    return std::nullopt;
  }
  Complaint beginThread(const model::ScheduleThread& thread) override {
    rank_ = thread.rank;
    return std::nullopt;
  }
  Complaint event(const ScheduleEvent& event) override {
    if (!model::makesDescriptor(event)) return std::nullopt;
    Origin& origin = made_[{rank_, event.new_fd}];
    origin.file = event.file;
    origin.copied = event.fd;
    // Such names are made up anew at each call.
    if (event.row != nullptr && calls::does(*event.row, Effect::kChoosesName)) {
      origin.any_name = true;
    }
    return std::nullopt;
  }

  // Nothing when it may have any name.
  std::optional<std::string_view> locationOf(int rank, Descriptor descriptor) const {
    // A chain of copies has no circles: each was made of one that was there before.
    for (int copies = 0; copies < 1000; ++copies) {
      const auto found = made_.find({rank, descriptor});
      if (found == made_.end() || found->second.any_name) return std::nullopt;
      if (found->second.file != model::kNoFileNumber) return location(found->second.file);
      descriptor = found->second.copied;
    }
    return std::nullopt;
  }
  std::string_view location(FileNumber file) const {
    return locations_[static_cast<std::size_t>(file)];
  }

 private:
  struct Origin {
    FileNumber file = model::kNoFileNumber;
    Descriptor copied = model::kNoDescriptor;
    bool any_name = false;
  };
  std::vector<std::string> locations_;
  std::map<std::pair<int, Descriptor>, Origin> made_;
  int rank_ = 0;
};

// The thread of the replay's trace that replayed a thread of the schedule.
std::unique_ptr<event::EventSource> sourceOf(const tracefile::Trace& trace,
                                             const ReplayIdentity::Thread& thread,
                                             event::PathTable& paths) {
  auto merged = std::make_unique<tracefile::MergedReader>();
  for (const auto& process : trace.processes()) {
    if (process->pid != thread.pid) continue;
    for (const tracefile::Log& log : process->logs) {
      if (log.tid == thread.tid) merged->addLog<tracefile::IoReader>(*process, log, paths);
    }
  }
  return merged;
}

constexpr std::string_view kGone = " (deleted)";  // as the kernel has it behind such a name

std::string openFlagsText(std::int64_t flags) {
  std::string text;
  calls::appendOpenFlags(text, static_cast<std::uint64_t>(flags));
  return text;
}

std::string resultText(const calls::Row& row, CallResult result) {
  if (!result.failed) {
    return isComparable(row) ? fmt::format("{}", result.result) : std::string("success");
  }
  if (result.result == 0) return "the end of the file";
  std::string text;
  calls::appendErrno(text, result.result);
  return text;
}

// Whether it takes a lock, or tries to. The replayer never waits for it in the system.
bool takesLock(const ScheduleEvent& event) {
  if (event.row->plain == CallId::flock) {
    return (model::argumentOf(event, Role::kNumber) & LOCK_UN) == 0;
  }
  if (event.row->plain == CallId::lockf) {
    const std::int64_t command = model::argumentOf(event, Role::kNumber);
    return command == F_LOCK || command == F_TLOCK;
  }
  if (!calls::has(*event.row, Role::kLockType)) return false;
  return calls::setsLock(model::argumentOf(event, Role::kCommand)) &&
         model::argumentOf(event, Role::kLockType) != F_UNLCK;
}

// Whether the replayer may have left the call out, or made another one in its place.
bool isReplaced(const ScheduleEvent& event) {
  const CallId call = event.row->plain;
  if (call == CallId::tmpfile || call == CallId::closefrom || takesLock(event) ||
      calls::does(*event.row, Effect::kChangesDirectory) ||
      calls::does(*event.row, Effect::kMakesNode)) {
    return true;
  }
  if (!calls::has(*event.row, Role::kCommand) || calls::has(*event.row, Role::kLockType)) {
    return false;
  }
  constexpr std::array kAsRecorded = {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL};
  return std::ranges::find(kAsRecorded, model::argumentOf(event, Role::kCommand)) ==
         kAsRecorded.end();
}

// The end of an operation that io_getevents tells of.
bool isReaped(const calls::Row& row) {
  return calls::does(row, Effect::kEndsTransfer) && calls::has(row, Role::kContext);
}

bool isOfAttributes(const calls::Row& row) {
  return calls::has(row, Role::kAttribute) || row.plain == CallId::listxattr ||
         row.plain == CallId::llistxattr || row.plain == CallId::flistxattr;
}

// The name of the attribute that a replay works on.
std::string attributeOf(const ScheduleEvent& event) {
  const bool is_set = calls::has(*event.row, Role::kAttribute) &&
                      event.row->result == calls::Result::kZero;  // or removed
  return is_set ? attributeToSet(event.text) : event.text;
}

// Whether the target holds other attributes than the recorded file system, or under another name.
bool isOtherAttribute(const ScheduleEvent& wanted, const event::Event& got) {
  if (!isOfAttributes(*wanted.row)) return false;
  const bool is_other = attributeOf(wanted) != wanted.text || wanted.failed != got.failed ||
                        (wanted.failed && wanted.result != got.result);
  return is_other && isAnswerOnAttribute(wanted.failed, wanted.result) &&
         isAnswerOnAttribute(got.failed, got.result);
}

class Comparison final : public model::ScheduleSink {
 public:
  Comparison(const tracefile::Trace& trace, const ReplayIdentity& identity,
             const FilesOfDescriptors& files, Verification& result)
      : trace_(trace), identity_(identity), files_(files), result_(result) {}

  Complaint global(const model::ScheduleGlobal& global) override {
    result_.source = global;
    if (global.mpi) {
      return "it has calls of MPI-IO, which the trace of a replay does not have: the report of the "
             "replay compares their results";
    }
    return std::nullopt;
  }

  Complaint beginThread(const model::ScheduleThread& thread) override {
    thread_ = thread;
    number_ = 0;
    lost_ = false;
    const auto found = identity_.threads.find({thread.rank, thread.thread});
    if (found == identity_.threads.end()) {
      return fmt::format("{} does not say what replayed thread {} of rank {}",
                         base::printable(identity_.report), thread.thread, thread.rank);
    }
    done_ = sourceOf(trace_, found->second, paths_);
    pull();
    return std::nullopt;
  }

  Complaint event(const ScheduleEvent& event) override {
    // A replay has those before its first event.
    if (event.step == Step::kPreopened) return std::nullopt;
    ++number_;
    if (event.step != Step::kCall || lost_) return std::nullopt;
    while (next_ != nullptr && isNoCall(*next_->row)) pull();
    if (isNoCall(*event.row)) {
      ++result_.substituted[event.row->name];
      return std::nullopt;
    }
    const bool got_lock = takesLock(event) && !event.failed && next_ != nullptr &&
                          next_->row == event.row && !next_->failed;
    if (isReplaced(event) && !got_lock) {
      // A call in its place, if there is one, is of the same kind.
      ++result_.substituted[event.row->name];
      const bool stands =
          next_ != nullptr &&
          (next_->row == event.row ||
           (event.row->plain == CallId::closefrom && next_->row->plain == CallId::close_range) ||
           (calls::does(*event.row, Effect::kMakesNode) &&
            calls::does(*next_->row, Effect::kMakesNode)));
      if (stands) pull();
      return std::nullopt;
    }
    if (next_ == nullptr) {
      differ(event, "not done: the replay's thread ends before it");
      lost_ = true;
      return std::nullopt;
    }
    // Which of several operations is over first is the system's choice.
    if (isReaped(*event.row) && isReaped(*next_->row)) {
      ++result_.substituted[event.row->name];
      pull();
      return std::nullopt;
    }
    if (!skipSurplus(event)) return std::nullopt;
    // A link that the application found is prepared as what it leads to.
    const bool is_found_link = calls::does(*event.row, Effect::kReadsLink) && !event.failed &&
                               next_->failed && next_->result == EINVAL;
    // Which file systems share blocks is another matter on the target, and so is which files are on
    // one file system.
    const bool is_across = next_->failed && next_->result == EXDEV;
    const bool is_other_clone =
        (event.row->plain == CallId::clone_range && (event.failed != next_->failed || is_across)) ||
        (event.row->plain == CallId::copy_file_range && !event.failed && is_across);
    const bool is_kept_directory = !event.failed && next_->failed && next_->result == EEXIST &&
                                   calls::does(*event.row, Effect::kMakesDirectory) &&
                                   isInAdoptedTree(*next_);
    // And so is which attributes there are.
    const bool is_other_attribute = isOtherAttribute(event, *next_);
    // Where the lines end is not known of a file that had another name when it was written, or
    // where a position is not known. The replay says so too.
    const bool is_foreign_line =
        calls::does(*event.row, Effect::kReadsLine) && event.offset == model::kUnknownOffset &&
        !isSameResult(*event.row,
                      {.failed = event.failed, .result = event.result, .at_least = event.at_least},
                      {.failed = next_->failed, .result = next_->result});
    if (is_other_attribute || is_kept_directory || is_foreign_line) compareNames(event, *next_);
    if (is_found_link || is_other_clone || is_other_attribute || is_kept_directory ||
        is_foreign_line) {
      ++result_.substituted[event.row->name];
    } else {
      compare(event, *next_);
      ++result_.compared;
    }
    pull();
    return std::nullopt;
  }

  Complaint endThread() override {
    for (; !lost_ && next_ != nullptr; pull()) {
      if (isNoCall(*next_->row)) continue;
      tell(fmt::format("rank {} thread {}: the replay did {} after the schedule's end",
                       thread_.rank, thread_.thread, callText(*next_)));
    }
    return std::nullopt;
  }

  // Calls of threads that replayed no thread of the schedule.
  void countForeign() {
    for (const auto& process : trace_.processes()) {
      for (const tracefile::Log& log : process->logs) {
        const auto is_this = [&](const auto& thread) {
          return thread.second.pid == process->pid && thread.second.tid == log.tid;
        };
        if (std::ranges::any_of(identity_.threads, is_this)) continue;
        tracefile::IoReader events(*process, log, paths_);
        while (const event::Event* event = events.next()) {
          // The thread in which the end of a transfer is seen is the system's choice.
          if (calls::does(*event->row, Effect::kEndsTransfer) || isNoCall(*event->row)) continue;
          tell(
              fmt::format("pid {} thread {}: the replay did {}, which the schedule does "
                          "not have: none of it was replayed by this thread",
                          process->pid, log.tid, callText(*event)));
        }
      }
    }
  }

 private:
  void pull() { next_ = done_->next(); }

  // Which pages around those that are touched come along is the system's choice; and whether the
  // tracer of a replay tells of inlined code, and in which thread, is not that of the application.
  static bool isNoCall(const calls::Row& row) { return isTouch(row) || isInlined(row); }

  // Goes on to the replay's call of this event. What is between is surplus, as far as the event is
  // found behind a few calls; else the two have parted. False: this thread is compared no further.
  bool skipSurplus(const ScheduleEvent& event) {
    constexpr std::size_t kMostSurplus = 64;
    std::vector<std::string> surplus;
    std::string_view instead = next_->row->name;
    while (next_ != nullptr && next_->row != event.row && surplus.size() < kMostSurplus) {
      if (!isNoCall(*next_->row)) surplus.push_back(callText(*next_));
      pull();
    }
    if (next_ == nullptr || next_->row != event.row) {
      differ(event,
             fmt::format("the replay did {} instead; this thread is compared no further", instead));
      lost_ = true;
      return false;
    }
    for (const std::string& call : surplus) {
      differ(event,
             fmt::format("before it the replay did {}, which the schedule does not have", call));
    }
    return true;
  }

  // "access of out/a", "close"
  std::string callText(const event::Event& event) const {
    std::string text(event.row->name);
    if (event.file != event::kNoFile) {
      text += fmt::format(" of {}", base::printable(below(paths_.path(event.file))));
    }
    return text;
  }

  void tell(std::string sentence) {
    if (++result_.differences <= kDifferencesTold) result_.first.push_back(std::move(sentence));
  }
  void differ(const ScheduleEvent& event, std::string_view what) {
    tell(fmt::format("rank {} thread {} event {}, {}: {}", thread_.rank, thread_.thread, number_,
                     event.row->name, what));
  }
  template <typename Value>
  void equal(const ScheduleEvent& event, std::string_view what, const Value& wanted,
             const Value& got) {
    if (wanted == got) return;
    differ(event, fmt::format("{} {} in the schedule, {} in the replay", what, wanted, got));
  }

  void equalNames(const ScheduleEvent& event, std::string_view what, std::string_view wanted,
                  std::string_view got) {
    equal(event, what, base::printable(wanted), base::printable(got));
  }

  bool isInAdoptedTree(const event::Event& got) const {
    if (got.file == event::kNoFile) return false;
    const std::string_view path = paths_.path(got.file);
    return std::ranges::any_of(identity_.adopted_trees, [path](std::string_view tree) {
      return path.starts_with(tree) && path.substr(tree.size()).starts_with('/');
    });
  }

  // The location of a path in the tree, the whole path of one outside.
  std::string below(std::string_view path) const {
    // A name below a directory that was opened as "." has that in it.
    std::string plain(path);
    for (std::size_t at = plain.find("/./"); at != plain.npos; at = plain.find("/./", at)) {
      plain.erase(at, 2);
    }
    std::string_view absolute = plain;
    // The root of the file systems is asked about as ".", from the directory that stands for it.
    if (absolute.ends_with("/.")) absolute.remove_suffix(2);
    // An empty path names the directory that it is looked up from.
    if (absolute.ends_with('/')) absolute.remove_suffix(1);
    if (std::ranges::find(identity_.trees, absolute) != identity_.trees.end()) return ".";
    const auto in = [absolute](std::string_view tree) {
      return absolute.starts_with(tree) && absolute.size() > tree.size() &&
             absolute[tree.size()] == '/';
    };
    const auto tree = std::ranges::find_if(identity_.trees, in);
    if (tree != identity_.trees.end()) return std::string(absolute.substr(tree->size() + 1));
    return std::string(absolute);
  }

  // The same for what may be the file of that location. A descriptor that was open before the run
  // is known by the path that links lead to.
  std::string below(std::string_view path, std::string_view wanted) const {
    const auto input = identity_.in_place.find(wanted);
    const bool is_input = input != identity_.in_place.end() &&
                          (path == input->second.source || path == input->second.real);
    return is_input ? std::string(wanted) : below(path);
  }

  void compareNames(const ScheduleEvent& wanted, const event::Event& got) {
    const calls::Row& row = *wanted.row;
    for (int i = 0; i < row.argument_count; ++i) {
      const event::Text& text = got.texts[static_cast<std::size_t>(i)];
      // A link to the file of a descriptor names that.
      const bool is_descriptor = row.plain == CallId::linkat && wanted.lookups == 0;
      if (row.arguments[static_cast<std::size_t>(i)] == Role::kPath && !is_descriptor &&
          wanted.file != model::kNoFileNumber) {
        const std::string_view location = files_.location(wanted.file);
        equalNames(wanted, "file", location, below(text.absolute, location));
      }
      if (row.arguments[static_cast<std::size_t>(i)] == Role::kPathNew &&
          wanted.new_file != model::kNoFileNumber) {
        equalNames(wanted, "new name", files_.location(wanted.new_file), below(text.absolute));
      }
    }
    const int attribute = calls::indexOf(row, Role::kAttribute);
    if (attribute >= 0 && !wanted.text.empty()) {
      equalNames(wanted, "attribute", attributeOf(wanted),
                 got.texts[static_cast<std::size_t>(attribute)].raw);
    }
    if (wanted.fd == model::kNoDescriptor) return;
    const auto location = files_.locationOf(thread_.rank, wanted.fd);
    if (!location) return;
    if (got.handle == nullptr) {
      differ(wanted, "on a descriptor that the replay did not have");
    } else {
      // A descriptor that the replay keeps beside the application's, of a mapping, is first seen at
      // its end, when the name may be gone.
      std::string name = below(got.handle->path.absolute, *location);
      if (name == fmt::format("{}{}", *location, kGone)) name = *location;
      equalNames(wanted, "file", *location, name);
    }
  }

  void compare(const ScheduleEvent& wanted, const event::Event& got) {
    const calls::Row& row = *wanted.row;
    compareNames(wanted, got);
    const auto arguments = LineEnds::argumentsOf(wanted);
    for (const model::ScheduleKey& key : model::keysOf(row)) {
      const std::int64_t want = arguments[key.argument];
      const std::int64_t have = got.arguments[key.argument];
      switch (key.kind) {
        case model::KeyKind::kOpenFlags:
          if (identity_.write_overwrite && ((want ^ have) & ~std::int64_t{O_EXCL | O_TRUNC}) == 0) {
            break;
          }
          equal(wanted, "flags", openFlagsText(want), openFlagsText(have));
          break;
        case model::KeyKind::kOctal:
          if (want != 0) {
            equal(wanted, "mode", fmt::format("{:#o}", want), fmt::format("{:#o}", have & 07777));
          }
          break;
        case model::KeyKind::kAmode:
          equal(wanted, key.key, want, have);
          break;
        case model::KeyKind::kCommand:
          if (!takesLock(wanted)) equal(wanted, key.key, want, have);
          break;
        case model::KeyKind::kWhence:
        case model::KeyKind::kLockType:
        case model::KeyKind::kTransferOffset:
        case model::KeyKind::kNumber:
          // A replaying process may stand for several recorded ones, which count their operations
          // and mappings each from 1.
          if (row.arguments[key.argument] == Role::kRequest ||
              row.arguments[key.argument] == Role::kContext ||
              row.arguments[key.argument] == Role::kMapping) {
            break;
          }
          // No more is asked for than went into the application's pipe.
          if (row.plain == CallId::splice_read && row.arguments[key.argument] == Role::kSize &&
              !wanted.failed && have == wanted.result) {
            break;
          }
          equal(wanted, key.key, want, have);
          break;
        case model::KeyKind::kSigned: {
          const Role role = row.arguments[key.argument];
          if (role == Role::kOffset || role == Role::kSourceOffset || role == Role::kLength ||
              role == Role::kUser || role == Role::kGroup ||
              (role == Role::kRoom && isOfAttributes(row))) {
            equal(wanted, key.key, want, have);
          }
          // The replay leaves out flags of mmap that say where in memory.
          if (role == Role::kFlags && row.plain == CallId::mmap) break;
          if (role == Role::kFlags) {
            equal(wanted, key.key, fmt::format("{:#x}", want), fmt::format("{:#x}", have));
          }
          break;  // characters and wished numbers are the replay's own
        }
        case model::KeyKind::kPieces:
          if (!got.failed && !wanted.failed && event::pieceSizes(got) != wanted.pieces) {
            differ(wanted, "the pieces have other sizes");
          }
          break;
        case model::KeyKind::kText:  // compareNames; modes of streams may differ (StreamMode)
        case model::KeyKind::kLocation:
        case model::KeyKind::kNewLocation:
        case model::KeyKind::kFd:
          break;  // compareNames
        case model::KeyKind::kGroup:
        case model::KeyKind::kType:
        case model::KeyKind::kRequests:
        case model::KeyKind::kSourceFd:
        case model::KeyKind::kReplaced:
        case model::KeyKind::kDirectory:
        case model::KeyKind::kNewDirectory:
        case model::KeyKind::kLookups:
        case model::KeyKind::kNewLookups:
        case model::KeyKind::kNone:
          break;  // numbers of descriptors differ
      }
    }
    const CallResult recorded{
        .failed = wanted.failed, .result = wanted.result, .at_least = wanted.at_least};
    const CallResult replayed{.failed = got.failed, .result = got.result};
    if (!isSameResult(row, recorded, replayed)) {
      const bool is_number = !wanted.failed && !got.failed;
      const char* const what = !is_number                               ? "result"
                               : row.result == calls::Result::kPosition ? "position"
                               : event::countsBytes(row)                ? "bytes"
                                                                        : "result";
      equal(wanted, what, resultText(row, recorded), resultText(row, replayed));
    } else if (!wanted.failed && event::countsBytes(row)) {
      const std::uint64_t bytes = model::bytesMoved(wanted);
      if (!wanted.at_least || got.bytes < bytes) equal(wanted, "bytes", bytes, got.bytes);
    }
  }

  const tracefile::Trace& trace_;
  const ReplayIdentity& identity_;
  const FilesOfDescriptors& files_;
  Verification& result_;
  event::PathTable paths_;
  std::unique_ptr<event::EventSource> done_;
  const event::Event* next_ = nullptr;
  model::ScheduleThread thread_;
  std::uint64_t number_ = 0;  // of the event in the schedule's thread, from 1
  bool lost_ = false;
};

}  // namespace

base::Result<Verification> verify(const std::filesystem::path& schedule,
                                  const tracefile::Trace& trace, const ReplayIdentity& identity) {
  FilesOfDescriptors files;
  DigestingSink digest(files);
  if (auto read = model::readSchedule(schedule, digest); !read) return read.failure();
  if (digest.text() != identity.schedule_digest) {
    return base::failure(
        base::Code::kInvalid,
        "{}: not the schedule that was replayed, or changed since; {} is the report of "
        "a replay of {}",
        base::printable(schedule.native()), base::printable(identity.report),
        base::printable(identity.schedule));
  }
  Verification result;
  Comparison comparison(trace, identity, files, result);
  const base::ProgressStage stage("comparing the replay", "events", trace.storedEvents());
  if (auto read = model::readSchedule(schedule, comparison); !read) return read.failure();
  comparison.countForeign();
  // What the trace does not show, as the memory that a replay found gone.
  if (result.differences == 0 && identity.differences > 0) {
    result.differences = identity.differences;
    result.first.push_back(
        fmt::format("the replay itself found {} that its trace does not show: {} has the first",
                    base::counted(identity.differences, "difference", "differences"),
                    base::printable(identity.report)));
  }
  return result;
}

base::Result<ReplayIdentity> readReplayIdentity(const std::filesystem::path& trace_directory) {
  const std::filesystem::path path = trace_directory / kReportName;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    return base::failure(base::Code::kNotOurs, "{}: not of a replay (no {} in it)",
                         base::printable(trace_directory.native()), kReportName);
  }
  base::JsonReader in(path, base::kMostBytesHeld);
  const base::JsonNode root = in.value();
  base::JsonObject report(in, root, base::JsonObject::Others::kAllowed);
  report.format(kReportFormat, kReportVersion, "a replay's report");
  ReplayIdentity identity;
  identity.report = path.native();
  identity.schedule = base::bytesOf(report.text("schedule"));
  identity.schedule_digest = report.text("schedule_digest");
  identity.trees = {base::bytesOf(report.text("tree"))};
  if (report.find("targets") != nullptr) {  // older reports have none
    for (const base::JsonNode& node : report.list("targets")) {
      base::JsonObject target(in, node, base::JsonObject::Others::kAllowed);
      identity.trees.push_back(base::bytesOf(target.text("tree")));
      if (target.flag("adopted", false)) identity.adopted_trees.push_back(identity.trees.back());
    }
  }
  if (report.find("in_place") != nullptr) {
    for (const base::JsonNode& node : report.list("in_place")) {
      base::JsonObject file(in, node, base::JsonObject::Others::kAllowed);
      identity.in_place[base::bytesOf(file.text("location"))] = {
          .source = base::bytesOf(file.text("source")), .real = base::bytesOf(file.text("real"))};
    }
  }
  if (report.find("node_trees") != nullptr) {
    for (const std::string& tree : report.texts("node_trees")) {
      identity.trees.push_back(base::bytesOf(tree));
    }
  }
  if (report.find("memory_trees") != nullptr) {
    for (const std::string& tree : report.texts("memory_trees")) {
      identity.trees.push_back(base::bytesOf(tree));
    }
  }
  if (report.find("adopted_node_trees") != nullptr) {
    for (const std::string& tree : report.texts("adopted_node_trees")) {
      identity.adopted_trees.push_back(base::bytesOf(tree));
    }
  }
  identity.write_overwrite = report.flag("write_overwrite", false);
  if (const base::JsonNode* sums = report.find("total")) {
    base::JsonObject total(in, *sums, base::JsonObject::Others::kAllowed);
    identity.differences =
        static_cast<std::uint64_t>(total.integer("differences", {.least = 0, .most = INT64_MAX}));
  }
  if (!report.flag("traced", true)) {
    report.refuse("the replay was not traced, so there is nothing to compare");
  }
  for (const base::JsonNode& node : report.list("threads")) {
    base::JsonObject thread(in, node);
    const auto number = [&](std::string_view key) {
      return thread.integer(key, {.least = 0, .most = INT32_MAX});
    };
    identity.threads[{static_cast<int>(number("rank")), static_cast<int>(number("thread"))}] = {
        .pid = static_cast<std::uint32_t>(number("pid")),
        .tid = static_cast<std::uint32_t>(number("tid"))};
  }
  if (const auto read = in.finish(); !read) return read.failure();
  return identity;
}

}  // namespace omnio::replay
