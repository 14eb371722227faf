// Loops of a schedule that stay loops: the part of Compiler that takes them. Whatever a loop does
// that cannot be told from a few of its turns is left to its single events.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "core/base/integers.hpp"
#include "core/model/schedule_keys.hpp"
#include "replay/plan/compile.hpp"

namespace omnio::replay {

using calls::Role;
using model::EventLoop;
using model::forTurnsWhile;
using model::LoopLine;
using model::LoopPath;
using model::PassedLoop;
using model::ScheduleEvent;
using model::Step;
using model::TurnNumber;
using model::TurnValues;

namespace {

using Wide = model::WideNumber;

// Descriptors and files are looked at one by one where they are no more than this.
constexpr std::int64_t kMostSlots = 1 << 20;
constexpr std::int64_t kMostFiles = 1 << 22;
constexpr std::int64_t kMostPiecesOfLoop = 1 << 18;  // as room.cpp counts

TurnNumber constant(std::int64_t value) { return {.first = value, .steps = {}}; }

// The number in all turns together.
std::uint64_t bytesOverTurns(const TurnNumber& number, const LoopPath& path,
                             const TurnValues& at_first) {
  const Wide sum = model::sumOverTurns(number, path, at_first);
  return static_cast<std::uint64_t>(std::clamp<Wide>(sum, 0, INT64_MAX));
}

// By how much the number is larger than in the first turn, at the most.
std::int64_t rise(const TurnNumber& number, const LoopPath& path, const TurnValues& at_first) {
  Wide most = 0;
  for (const auto& [place, factor] : number.steps) {
    for (const EventLoop* loop : path) {
      if (!loop->owns(place)) continue;
      if (place == loop->place) {
        most += std::max<Wide>(0, static_cast<Wide>(loop->turns - 1) * factor);
        continue;
      }
      const auto [low, high] = std::ranges::minmax(*loop->lists[place - loop->place - 1]);
      most += std::max((static_cast<Wide>(low) - at_first[place]) * factor,
                       (static_cast<Wide>(high) - at_first[place]) * factor);
    }
  }
  return static_cast<std::int64_t>(std::min<Wide>(most, INT64_MAX));
}

// The place of a wait among those that have exact times; negative: it has none.
std::int32_t timeOfWait(const LoopLine& line, std::size_t wait) {
  std::int32_t place = 0;
  for (const auto& [first, count] : line.timed_waits) {
    if (wait >= first && wait < first + count) {
      return place + static_cast<std::int32_t>(wait - first);
    }
    place += static_cast<std::int32_t>(count);
  }
  return -1;
}

bool dependsOn(const TurnNumber& number, const EventLoop& loop) {
  return std::ranges::any_of(number.steps,
                             [&loop](const auto& step) { return loop.owns(step.first); });
}

}  // namespace

struct Compiler::LineOfLoop {
  LoopLine line;
  LoopPath path;
  std::int64_t passes = 0;
  TurnNumber file = constant(kNoFile);  // as fileOf()
  TurnNumber new_fd{};
  bool makes_descriptor = false;
  TurnNumber fd{};  // of a line that names no file
  bool appends = false;
  std::optional<bool> sets_appending{};  // of the description of `fd`
  TurnNumber bytes{};                    // moved
  PassNumbers order{};
  PassNumbers id{};
  bool is_named = false;
  std::vector<ThreadOrder::Awaited> awaited{};
  LoopNode node{};

  const ScheduleEvent& first() const { return line.first(); }
  const TurnValues& firstValues() const { return line.firstValues(); }

  // Calls `take(event, file, values)` for each file that the line names or works on: with the
  // numbers of the first turn otherwise.
  template <typename Take>
  bool forEachFile(Take take) const {
    const auto new_file = line.number([](const ScheduleEvent& event) { return event.new_file; });
    LoopPath naming = model::loopsOf(file, path);
    for (const EventLoop* loop : path) {
      if (dependsOn(*new_file, *loop) && std::ranges::find(naming, loop) == naming.end()) {
        naming.push_back(loop);
      }
    }
    ScheduleEvent event = first();
    TurnValues values = firstValues();
    return forTurnsWhile(naming, values, [&](const TurnValues& now) {
      const auto number = static_cast<std::uint32_t>(file.at(now, firstValues()));
      if (event.file != model::kNoFileNumber) event.file = model::FileNumber{number};
      event.new_file = static_cast<model::FileNumber>(new_file->at(now, firstValues()));
      return take(event, number, now);
    });
  }

  // When the event of these turns begins, about.
  std::int64_t timeAt(const TurnValues& values, const PassedLoop& passed) const {
    if (!line.is_relative) {
      const auto start = line.number([](const ScheduleEvent& event) { return event.start_ns; });
      return start->at(values, firstValues());
    }
    double part = 0;
    for (const EventLoop* loop : path) {
      part = part * static_cast<double>(loop->turns) + static_cast<double>(values[loop->place]);
    }
    const auto length = static_cast<double>(passed.end_ns - passed.begin_ns);
    return passed.begin_ns + static_cast<std::int64_t>(part / static_cast<double>(passes) * length);
  }
};

// The file that the line works on, where that is known.
bool Compiler::findFiles(LineOfLoop& line, const std::vector<LineOfLoop>& before) const {
  const ScheduleEvent& first = line.first();
  line.appends = appends(first);
  line.sets_appending = setsAppending(first);
  line.makes_descriptor = first.new_fd != model::kNoDescriptor;
  const auto new_fd = line.line.number([](const ScheduleEvent& event) { return event.new_fd; });
  if (!new_fd) return false;
  line.new_fd = *new_fd;
  if (first.file != model::kNoFileNumber) {
    const auto file = line.line.number([](const ScheduleEvent& event) { return event.file; });
    if (file) line.file = *file;
    return file.has_value();
  }
  const auto fd = line.line.number([](const ScheduleEvent& event) { return event.fd; });
  if (!fd) return false;
  line.fd = *fd;
  std::optional<bool> appending;  // as a line of the loop has set it
  for (auto other = before.rbegin(); other != before.rend(); ++other) {
    if (!appending && other->sets_appending && other->fd == *fd) appending = other->sets_appending;
    if (!other->makes_descriptor || !(other->new_fd == *fd)) continue;
    line.file = other->file;
    line.appends = appending.value_or(other->appends);
    return true;
  }
  const auto file =
      line.line.number([this](const ScheduleEvent& event) { return std::int64_t{fileOf(event)}; });
  const LoopPath loops = model::loopsOf(*fd, line.path);
  const auto passes = model::passesOf(loops);
  if (!file || !passes || *passes > kMostFiles) return false;
  line.file = *file;
  TurnValues values = line.firstValues();
  ScheduleEvent event = first;
  const bool is_one = forTurnsWhile(loops, values, [&](const TurnValues& now) {
    event.fd = model::Descriptor{fd->at(now, line.firstValues())};
    return fileOf(event) == static_cast<std::uint32_t>(file->at(now, line.firstValues())) &&
           appends(event) == line.appends;
  });
  line.appends = appending.value_or(line.appends);
  return is_one;
}

// The ids, and the events that are waited for.
bool Compiler::findOrder(LineOfLoop& line) const {
  const auto id = line.line.number([](const ScheduleEvent& event) { return event.id; });
  if (!id) return false;
  line.is_named = id->first != 0 && changes_.order != model::Order::kNone;
  if (line.is_named) {
    auto ids = PassNumbers::of(*id, line.path, line.firstValues(), PassNumbers::Search::kYes);
    if (!ids || !ids->isSearchable()) return false;
    line.id = std::move(*ids);
  }
  const std::vector<model::Wait>& after = line.first().after;
  bool waits_for_beginning = false;
  for (const auto& waits : line.line.timed_waits) line.node.timed_waits.push_back(waits.count);
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (!model::keeps(changes_.order, after[i].reason)) continue;
    const auto number =
        line.line.number([i](const ScheduleEvent& event) { return event.after[i].id; });
    auto ids = number ? PassNumbers::of(*number, line.path, line.firstValues()) : std::nullopt;
    // The larger of two of them is not known before the pass.
    const bool is_of_beginning = after[i].id == 0;
    if (!ids || (is_of_beginning && std::exchange(waits_for_beginning, true))) return false;
    const model::Work& work = after[i].work;
    line.awaited.push_back({.id = ThreadOrder::Number(std::move(*ids)),
                            .reason = after[i].reason,
                            .work = {work.compute_ns, communicationOf(work)},
                            .time = timeOfWait(line.line, i)});
  }
  return true;
}

// How the words of the operation change.
bool Compiler::findWords(LineOfLoop& line) const {
  struct Compiled {
    Words words;
    const ScheduleEvent* event;
  };
  std::unordered_map<const LoopLine::Sample*, Compiled> compiled;
  for (const auto* samples : {&line.line.samples, &line.line.corners}) {
    for (const LoopLine::Sample& sample : *samples) {
      const ScheduleEvent& event = sample.event;
      if (event.text != line.first().text || event.pieces.size() != line.first().pieces.size()) {
        return false;
      }
      Op op =
          opOf(event, static_cast<std::uint32_t>(line.file.at(sample.values, line.firstValues())));
      op.piece_count = static_cast<std::uint16_t>(event.pieces.size());
      op.text_length = static_cast<std::uint16_t>(event.text.size());
      compiled.emplace(
          &sample, Compiled{.words = wordsOf(op, LineEnds::argumentsOf(event)), .event = &event});
    }
  }
  LoopNode& node = line.node;
  node.is_relative = line.line.is_relative;
  node.share = line.line.share;
  node.share_first = line.line.share_first;
  node.text = line.first().text;
  node.pieces.resize(line.first().pieces.size());
  for (std::size_t i = 0; i < kWords + node.pieces.size(); ++i) {
    const auto word = line.line.numberOfSample([&](const LoopLine::Sample& sample) {
      const Compiled& one = compiled.at(&sample);
      return static_cast<std::int64_t>(i < kWords ? one.words[i] : one.event->pieces[i - kWords]);
    });
    if (!word) return false;
    auto constant = static_cast<std::uint64_t>(word->first);
    for (const auto& [place, factor] : word->steps) {
      constant -= static_cast<std::uint64_t>(line.firstValues()[place]) *
                  static_cast<std::uint64_t>(factor);
      node.terms.push_back({.word = static_cast<std::uint32_t>(i),
                            .value = static_cast<std::uint32_t>(place),
                            .factor = factor});
    }
    (i < kWords ? node.words[i] : node.pieces[i - kWords]) = constant;
  }
  return true;
}

// Finds out all about a line, and that it can stay one. Changes nothing but caches.
bool Compiler::prepare(const LoopLine& from, const LoopPath& path, std::vector<LineOfLoop>& lines) {
  LineOfLoop line{.line = from, .path = path};
  const auto passes = model::passesOf(path);
  if (!passes) return false;
  line.passes = *passes;
  for (auto* samples : {&line.line.samples, &line.line.corners}) {
    for (LoopLine::Sample& sample : *samples) {
      auto nothing = withoutSync(sample.event);
      if (!nothing) continue;
      // The recorded time goes on as it did.
      nothing->end_ns = sample.event.end_ns;
      sample.event = std::move(*nothing);
      line.node.takes_no_time = true;
    }
  }
  const ScheduleEvent& first = line.first();
  const bool is_call = first.step == Step::kCall;
  if (is_call) {
    const calls::Row& row = *first.row;
    if (calls::has(row, Role::kFiletype) || first.text.size() > model::kLongestText) return false;
    if (calls::has(row, Role::kDone) && first.pieces.size() > model::kMostPieces) return false;
  }
  if (tree_choice_ && tree_choice_->isSplit() &&
      (first.directory != model::kNoDescriptor || first.new_directory != model::kNoDescriptor)) {
    return false;
  }
  for (const auto* samples : {&line.line.samples, &line.line.corners}) {
    for (const auto& [values, event] : *samples) {
      if (event.step != first.step || event.phase != first.phase) return false;
      if (!is_call) continue;
      if (checkCall(event)) return false;
      const auto view = etype_bytes_.find(event.fd);
      const bool is_in_view = view != etype_bytes_.end() && view->second > 1;
      if (is_in_view && event.request % view->second != 0) return false;
    }
  }
  if (is_call) {
    const auto bytes =
        line.line.number([](const ScheduleEvent& event) { return model::bytesMoved(event); });
    if (!bytes) return false;
    line.bytes = *bytes;
  }
  if (!findOrder(line) || !findFiles(line, lines)) return false;
  const auto files = model::passesOf(model::loopsOf(line.file, path));
  if (!files || *files > kMostFiles) return false;
  const bool has_no_lines =
      line.forEachFile([&](const ScheduleEvent& event, std::uint32_t file, const TurnValues&) {
        if (tree_choice_ && is_call && tree_choice_->checkNames(event, plan_.files)) return false;
        return file == kNoFile || !has_lines_[file];
      });
  if (!has_no_lines || !findWords(line)) return false;
  lines.push_back(std::move(line));
  return true;
}

// The bytes that the writes of a line leave in the files: pieces that touch count as one.
void Compiler::noteWrites(const LineOfLoop& line, const PassedLoop& passed) {
  const TurnValues& at_first = line.firstValues();
  const auto offset = line.line.number([](const ScheduleEvent& event) { return event.offset; });
  LoopPath rest;
  for (const EventLoop* loop : line.path) {
    if (loop->turns > 1 && !dependsOn(line.file, *loop)) rest.push_back(loop);
  }
  const bool has_place = line.first().offset >= 0 && offset;
  // From the innermost loop on, as far as turns lie behind each other.
  std::uint64_t run = static_cast<std::uint64_t>(std::max<std::int64_t>(line.bytes.first, 0));
  while (has_place && line.bytes.steps.empty() && !rest.empty()) {
    const EventLoop& loop = *rest.back();
    const std::int64_t step = offset->stepAt(loop.place);
    const bool has_lists = std::ranges::any_of(offset->steps, [&loop](const auto& one) {
      return loop.owns(one.first) && one.first != loop.place;
    });
    if (has_lists || (step != 0 && static_cast<std::uint64_t>(step) != run)) break;
    if (step != 0 && __builtin_mul_overflow(run, static_cast<std::uint64_t>(loop.turns), &run)) {
      break;
    }
    rest.pop_back();
  }
  std::int64_t pieces = 0;
  line.forEachFile([&](const ScheduleEvent&, std::uint32_t file, const TurnValues& of_file) {
    if (file == kNoFile) return true;
    if (!has_place) {
      TurnNumber of_turns = line.bytes;
      of_turns.first = line.bytes.at(of_file, at_first);
      const std::uint64_t bytes = bytesOverTurns(of_turns, rest, at_first);
      added_bytes_.write(file, line.timeAt(of_file, passed), -1, bytes, line.appends);
      return true;
    }
    if (pieces >= kMostPiecesOfLoop) return false;
    TurnValues values = of_file;
    forTurnsWhile(rest, values, [&](const TurnValues& now) {
      const std::uint64_t bytes =
          line.bytes.steps.empty() ? run : static_cast<std::uint64_t>(line.bytes.at(now, at_first));
      added_bytes_.write(file, line.timeAt(now, passed), offset->at(now, at_first), bytes,
                         line.appends);
      return ++pieces < kMostPiecesOfLoop;
    });
    return true;
  });
}

// How far the writes of a line reach in each file.
void Compiler::noteEnds(const LineOfLoop& line) {
  const ScheduleEvent& first = line.first();
  if (first.row->call_class != calls::Class::kWrite || first.offset < 0) return;
  const TurnValues& at_first = line.firstValues();
  const auto end = line.line.number([](const ScheduleEvent& event) {
    return base::saturatingSum(event.offset, LineEnds::writtenBytes(event));
  });
  if (!end) return;
  LoopPath rest;
  bool has_lists = false;
  for (const EventLoop* loop : line.path) {
    if (!dependsOn(*end, *loop) || dependsOn(line.file, *loop)) continue;
    rest.push_back(loop);
    has_lists = has_lists || !loop->lists.empty();
  }
  const bool are_looked_at = has_lists && model::passesOf(rest).value_or(INT64_MAX) < kMostFiles;
  line.forEachFile([&](const ScheduleEvent&, std::uint32_t file, const TurnValues& of_file) {
    if (file == kNoFile) return true;
    std::int64_t last = base::saturatingSum(end->at(of_file, at_first), rise(*end, rest, at_first));
    if (are_looked_at) {
      last = 0;
      TurnValues values = of_file;
      model::forEachTurn(rest, values, [&](const TurnValues& now) {
        last = std::max(last, end->at(now, at_first));
      });
    }
    std::uint64_t& written_end = plan_.files[file].written_end;
    written_end =
        std::max(written_end, static_cast<std::uint64_t>(std::max<std::int64_t>(last, 0)));
    return true;
  });
}

void Compiler::takeOrder(LineOfLoop& line) {
  PlannedThread& planned = thread();
  const auto number = static_cast<std::uint32_t>(plan_.threads.size() - 1);
  std::uint32_t order[2] = {0, 0};  // Op::wait and Op::named
  if (!line.awaited.empty()) {
    thread_order_.add(ThreadOrder::Waiting{.order = ThreadOrder::Number(line.order),
                                           .thread = number,
                                           .wait = planned.waits.size(),
                                           .awaited = std::move(line.awaited)});
    planned.waits.emplace_back();
    order[0] = static_cast<std::uint32_t>(planned.waits.size());
  }
  if (line.is_named) {
    thread_order_.add(
        ThreadOrder::Named{.id = ThreadOrder::Number(std::move(line.id)),
                           .order = ThreadOrder::Number(line.order),
                           .thread = number,
                           .ordinal = static_cast<std::uint32_t>(planned.raises.size())});
    planned.raises.push_back(kNoFlag);
    order[1] = static_cast<std::uint32_t>(planned.raises.size());
  }
  static_assert(offsetof(Op, wait) % sizeof(std::uint64_t) == 0 &&
                offsetof(Op, named) == offsetof(Op, wait) + sizeof order[0]);
  std::memcpy(&line.node.words[offsetof(Op, wait) / sizeof(std::uint64_t)], order, sizeof order);
}

Compiler::Complaint Compiler::takeLine(LineOfLoop& line, const PassedLoop& passed) {
  const ScheduleEvent& first = line.first();
  const bool is_call = first.step == Step::kCall;
  PlannedThread& planned = thread();
  for (const auto& [values, event] : line.line.corners) {
    if (auto complaint = takeSlots(event)) return complaint;
  }
  if (is_call) {
    if (planned.operations == 0) {
      planned.first_start_ns = line.line.is_relative ? passed.begin_ns : first.start_ns;
    }
    planned.operations += static_cast<std::uint64_t>(line.passes);
    planned.last_end_ns = std::max(planned.last_end_ns, passed.end_ns);
    for (const auto* samples : {&line.line.samples, &line.line.corners}) {
      for (const auto& [values, event] : *samples) includeRequests(event);
    }
    PhaseWork& work = phase_work_[first.phase];
    work.operations += static_cast<std::uint64_t>(line.passes);
    work.bytes = static_cast<std::uint64_t>(base::saturatingSum(
        static_cast<std::int64_t>(work.bytes),
        static_cast<std::int64_t>(bytesOverTurns(line.bytes, line.path, line.firstValues()))));
  }
  const bool writes = is_call && !first.failed && AddedBytes::writesData(first);
  // The same names in other turns.
  std::int64_t names = 0;
  line.forEachFile([&names](const ScheduleEvent&, std::uint32_t, const TurnValues&) {
    ++names;
    return true;
  });
  const bool is_named_again = names < line.passes;
  line.forEachFile([&](const ScheduleEvent& event, std::uint32_t file, const TurnValues& values) {
    noteMade(event);
    noteNames(event, file);
    if (writes) return true;
    ScheduleEvent timed = event;
    timed.start_ns = line.timeAt(values, passed);
    added_bytes_.note(timed, file, line.appends);
    if (is_named_again) added_bytes_.note(timed, file, line.appends);
    if (file == kNoFile || !is_call || first.failed) return true;
    for (const auto& [of_corner, corner] : line.line.corners) {
      // Lengths that files are given.
      timed.arguments = corner.arguments;
      if (line.file.steps.empty()) timed.start_ns = line.timeAt(of_corner, passed);
      added_bytes_.noteLength(timed, file);
    }
    return true;
  });
  if (writes) noteWrites(line, passed);
  if (is_call && !first.failed) noteEnds(line);
  takeOrder(line);
  if (line.sets_appending && line.passes <= kMostSlots) {
    TurnValues of_turn = line.firstValues();
    ScheduleEvent event = first;
    model::forEachTurn(model::loopsOf(line.fd, line.path), of_turn, [&](const TurnValues& now) {
      event.fd = model::Descriptor{line.fd.at(now, line.firstValues())};
      noteFlags(event);
    });
  }
  descriptor_use_.note(first, static_cast<std::uint32_t>(first.file), line.passes, rank(),
                       plan_.unaligned);
  if (!line.makes_descriptor) return std::nullopt;
  rank().made = made_ += static_cast<std::uint64_t>(line.passes);
  if (line.passes > kMostSlots) {
    // Where these are several files, no thread is told what their descriptors stand for.
    auto range = model::NumberRange::of(line.new_fd, line.path);
    if (range && line.file.steps.empty()) {
      made_ranges_.push_back({.slots = *std::move(range),
                              .file = static_cast<std::uint32_t>(line.file.first),
                              .appends = line.appends});
    }
    return std::nullopt;
  }
  TurnValues values = line.firstValues();
  ScheduleEvent event = first;
  model::forEachTurn(line.path, values, [&](const TurnValues& now) {
    if (first.fd != model::kNoDescriptor) {
      event.fd = model::Descriptor{line.fd.at(now, line.firstValues())};
    }
    noteSlot(static_cast<std::size_t>(line.new_fd.at(now, line.firstValues())),
             static_cast<std::uint32_t>(line.file.at(now, line.firstValues())),
             descriptionFor(event, line.appends));
  });
  return std::nullopt;
}

// The times stand beside the programs, since other nodes may not see the schedule.
Compiler::Complaint Compiler::keepTimes(const model::LoopTimes& times, LoopProgram& program) {
  program.has_times = true;
  program.first_time = times.first;
  const auto& chunks = times.of_thread->chunks;
  for (const model::TimesChunk& chunk : chunks) {
    if (chunk.first < times.first + times.count && chunk.first + chunk.values > times.first) {
      program.chunks.push_back(chunk);
    }
  }
  if (has_times_) return std::nullopt;
  has_times_ = true;
  const std::filesystem::path beside = timesName(directory_ / "thread");
  std::error_code error;
  std::filesystem::remove(beside, error);
  std::filesystem::create_hard_link(std::filesystem::canonical(times.path, error), beside, error);
  if (error) {
    error.clear();
    std::filesystem::copy_file(times.path, beside, error);
  }
  if (error) return base::systemFailure(beside, error.value(), "cannot copy times to").sentence;
  return std::nullopt;
}

namespace {

std::int64_t eventsIn(const EventLoop& loop) {
  std::int64_t in_turn = 0;
  for (const EventLoop::Part& part : loop.body) in_turn += part.line ? 1 : eventsIn(*part.loop);
  return in_turn * loop.turns;
}

// Where the events of each line stand among those of the thread, of which `first` is the loop's
// first one.
void placeEvents(const EventLoop& loop, std::int64_t first,
                 std::vector<std::pair<std::int64_t, std::int64_t>> around,
                 std::vector<PassNumbers>& orders) {
  around.emplace_back(eventsIn(loop) / loop.turns, loop.turns);
  for (const EventLoop::Part& part : loop.body) {
    if (part.line) {
      orders.emplace_back(first++, around);
    } else {
      placeEvents(*part.loop, first, around, orders);
      first += eventsIn(*part.loop);
    }
  }
}

LoopNode nodeOf(const EventLoop& loop, const std::vector<LoopNode>& lines, std::size_t& next) {
  LoopNode node{.turns = loop.turns, .place = static_cast<std::uint32_t>(loop.place)};
  for (const auto* list : loop.lists) node.lists.push_back(*list);
  node.gap_ns = loop.gap_ns;
  for (const EventLoop::Part& part : loop.body) {
    node.body.push_back(part.line ? lines[next++] : nodeOf(*part.loop, lines, next));
  }
  return node;
}

}  // namespace

model::ScheduleSink* Compiler::loop(const PassedLoop& passed, Complaint& complaint) {
  // There, each call is looked at.
  if (changes_.inputs == Origin::kInPlace) return this;
  std::vector<LineOfLoop> lines;
  bool can_stay = true;
  model::forEachLine(passed.loop, [&](const LoopLine& line, const LoopPath& path) {
    can_stay = can_stay && prepare(line, path, lines);
  });
  if (!can_stay) return this;
  bool needs_times = plan_.global.timing != model::Timing::kAsap;
  std::vector<LoopNode> nodes;
  std::vector<PassNumbers> orders;
  placeEvents(passed.loop, order_, {}, orders);
  order_ = base::saturatingSum(order_, eventsIn(passed.loop));
  loop_files_.clear();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    LineOfLoop& line = lines[i];
    loop_files_.push_back(line.file);
    line.order = std::move(orders[i]);
    line.node.number = static_cast<std::uint32_t>(i);
    if ((complaint = takeLine(line, passed))) return nullptr;
    needs_times = needs_times || (line.first().step == Step::kDelay && !line.node.takes_no_time);
    nodes.push_back(line.node);
  }
  if (!writer_ || lines.empty()) return nullptr;
  std::size_t next = 0;
  LoopProgram program{.loop = nodeOf(passed.loop, nodes, next)};
  program.values = static_cast<std::uint32_t>(lines.front().firstValues().size());
  if (plan_.global.timing != model::Timing::kAsap) program.begin_ns = passed.begin_ns;
  program.lines = static_cast<std::uint32_t>(lines.size());
  program.keeps_work = model::keepsMpi(changes_.order);
  program.network_scale = changes_.network_scale;
  if (passed.times && needs_times && (complaint = keepTimes(*passed.times, program))) {
    return nullptr;
  }
  writer_->add(program);
  return nullptr;
}

}  // namespace omnio::replay
