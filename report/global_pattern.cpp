// First what is drawn (request runs, chosen so that they are few), then the four panels.
#include "report/global_pattern.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/text_table.hpp"
#include "core/pattern/part.hpp"
#include "report/axes.hpp"
#include "report/svg.hpp"

namespace omnio::report {
namespace {

using model::Phase;
using model::PhaseOperation;

// ------------------------------------------------------------------ request runs

// Requests of one process at one stride; a single request, too. Offsets are in the file.
struct RequestRun {
  double offset = 0;  // of the first request
  double bytes = 0;   // of each
  double stride = 0;
  std::uint64_t count = 1;
  // The parts of the way from the first tick of the process to its last one.
  double begin = 0;
  double end = 1;
};

// Loops with more runs are drawn as the extents of their turns.
constexpr double kMaxRunsOfLoop = 64;

double runsOf(const pattern::Part& part) {
  if (!part.isLoop() || pattern::isStride(part)) return 1;
  double runs = 0;
  for (const pattern::Part& each : part.body) runs += runsOf(each);
  return runs * static_cast<double>(part.count);
}

// `first`: the index of the part's first request among all `requests` of the process.
void appendRuns(const pattern::Part& part, double from, double first, double requests,
                std::vector<RequestRun>& runs) {
  const auto count = static_cast<double>(part.requests);
  const auto way = [requests](double index) { return requests > 1 ? index / (requests - 1) : 0; };
  RequestRun run{.offset = from + static_cast<double>(part.offset),
                 .bytes = static_cast<double>(part.bytes),
                 .stride = static_cast<double>(part.stride),
                 .count = part.count,
                 .begin = way(first),
                 .end = way(first + count - 1)};
  if (!part.isLoop()) {
    runs.push_back(run);
    return;
  }
  if (pattern::isStride(part)) {
    run.bytes = static_cast<double>(part.body.front().bytes);
    runs.push_back(run);
    return;
  }
  pattern::Part turn = part;
  turn.count = 1;
  turn.offset = 0;
  if (runsOf(part) > kMaxRunsOfLoop) {
    const pattern::PartSummary all = pattern::summaryOf(turn);
    run.offset += static_cast<double>(all.begin);
    run.bytes = static_cast<double>(all.end - all.begin);
    runs.push_back(run);
    return;
  }
  for (std::uint64_t i = 0; i < part.count; ++i) {
    double index = first + count / static_cast<double>(part.count) * static_cast<double>(i);
    for (const pattern::Part& each : part.body) {
      appendRuns(each, run.offset + run.stride * static_cast<double>(i), index, requests, runs);
      index += static_cast<double>(each.requests);
    }
  }
}

constexpr std::size_t kMaxRandomRuns = 64;  // of a process in a phase

void appendRandom(const model::RandomAccess& random, std::vector<RequestRun>& runs) {
  const std::size_t each = (random.requests.size() + kMaxRandomRuns - 1) / kMaxRandomRuns;
  const double last = static_cast<double>(random.requests.size() + random.left_out) - 1;
  for (std::size_t i = 0; i < random.requests.size(); i += each) {
    const double way = last > 0 ? static_cast<double>(i) / last : 0;
    runs.push_back({.offset = static_cast<double>(random.requests[i].first),
                    .bytes = static_cast<double>(random.requests[i].second),
                    .begin = way,
                    .end = way});
  }
}

std::vector<RequestRun> runsOf(const Phase& phase, std::size_t index, int rank) {
  const PhaseOperation& operation = phase.operations[index];
  std::vector<RequestRun> runs;
  if (phase.mode == model::AccessMode::kRandom) {
    for (const model::RandomAccess& random : phase.random) {
      if (random.rank == rank && random.operation == static_cast<int>(index)) {
        appendRandom(random, runs);
      }
    }
    return runs;
  }
  const auto from = static_cast<double>(operation.init_offset.at(rank));
  if (!operation.nested.empty()) {
    for (const model::NestedRequests& nested : operation.nested) {
      if (!std::ranges::binary_search(nested.ranks, rank)) continue;
      appendRuns(nested.part, from, 0, static_cast<double>(nested.part.requests), runs);
    }
    return runs;
  }
  RequestRun run{.offset = from,
                 .bytes = static_cast<double>(operation.request_bytes),
                 .stride = static_cast<double>(operation.displacement_bytes),
                 .count = operation.repetitions};
  if (const auto* own = model::entryOf(operation.by_process, rank)) {
    run.count = own->requests;
    run.bytes = static_cast<double>(own->bytes) / static_cast<double>(own->requests);
    run.stride = run.bytes;
  }
  return {run};
}

// One run on the axes of the picture.
struct Mark {
  RequestRun run;
  int file = 0;
  int rank = 0;
  bool writes = false;
  bool is_odd = false;  // phases by turns
  double first_tick = 0;
  double last_tick = 0;

  // Nothing is below the begin of the first file, whatever a model says.
  double lowest() const { return std::max(0.0, run.offset + std::min(0.0, run.stride * turns())); }
  double highest() const { return run.offset + run.bytes + std::max(0.0, run.stride * turns()); }
  double turns() const { return static_cast<double>(run.count - 1); }
  bool hasGaps() const { return run.count > 1 && std::abs(run.stride) > run.bytes; }
};

struct Drawn {
  std::vector<const Phase*> phases;
  std::vector<Mark> marks;
  std::size_t all_runs = 0;
  std::vector<std::string> notes;  // what is left out, and what is not exact
  std::map<int, double> begins;    // by idF: where the file begins on the axis of offsets
  double end = 0;                  // where the last file ends
};

// Operations whose runs have a place: with ticks, and at known offsets.
std::vector<std::size_t> placedOperations(const Phase& phase) {
  std::vector<std::size_t> placed;
  if (phase.last_tick == 0) return placed;
  for (std::size_t i = 0; i < phase.operations.size(); ++i) {
    if (phase.operations[i].init_offset.known) placed.push_back(i);
  }
  return placed;
}

std::string joinedNotes(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += ' ' + note;
  return text;
}

// Marks of every `rank_each`-th process of each phase; not all of them where they are more than the
// limit.
std::vector<Mark> marksOf(const Drawn& drawn, std::size_t rank_each, std::size_t limit) {
  std::vector<Mark> marks;
  for (std::size_t p = 0; p < drawn.phases.size(); ++p) {
    const Phase& phase = *drawn.phases[p];
    for (std::size_t r = 0; r < phase.ranks.size(); r += rank_each) {
      const int rank = phase.ranks[r];
      const model::ProcessTicks ticks = model::ticksOf(phase, rank);
      const auto way = static_cast<double>(ticks.last) - static_cast<double>(ticks.first);
      for (const std::size_t index : placedOperations(phase)) {
        for (const RequestRun& run : runsOf(phase, index, rank)) {
          marks.push_back({.run = run,
                           .file = phase.file,
                           .rank = rank,
                           .writes = phase.operations[index].operation == model::Operation::kWrite,
                           .is_odd = p % 2 == 1,
                           .first_tick = static_cast<double>(ticks.first) + way * run.begin,
                           .last_tick = static_cast<double>(ticks.first) + way * run.end});
        }
        if (marks.size() > limit) return marks;
      }
    }
  }
  return marks;
}

// How many runs marksOf() makes of all, about: nested and random ones by the first process.
std::size_t countRuns(const Drawn& drawn) {
  std::size_t runs = 0;
  for (const Phase* phase : drawn.phases) {
    for (const std::size_t index : placedOperations(*phase)) {
      runs += phase->ranks.size() * runsOf(*phase, index, phase->ranks.front()).size();
    }
  }
  return runs;
}

void chooseMarks(Drawn& drawn) {
  drawn.all_runs = countRuns(drawn);
  std::size_t processes = 1;
  for (const Phase* phase : drawn.phases) processes = std::max(processes, phase->ranks.size());
  std::size_t rank_each = std::bit_floor(drawn.all_runs / kMaxDrawnRuns | 1);
  std::size_t phase_each = 1;
  while (true) {
    drawn.marks = marksOf(drawn, rank_each, kMaxDrawnRuns);
    if (drawn.marks.size() <= kMaxDrawnRuns) break;
    // At first fewer processes, down to one of each phase.
    if (rank_each < processes) {
      rank_each *= 2;
      continue;
    }
    phase_each *= 2;
    for (std::size_t i = 0; 2 * i < drawn.phases.size(); ++i) drawn.phases[i] = drawn.phases[2 * i];
    drawn.phases.resize((drawn.phases.size() + 1) / 2);
  }
  rank_each = std::min(rank_each, processes);
  if (rank_each > 1) {
    drawn.notes.push_back(
        fmt::format("Of the processes of a phase, one in {} is drawn.", rank_each));
  }
  if (phase_each > 1) {
    drawn.notes.push_back(fmt::format("Of the phases, one in {} is drawn.", phase_each));
  }
}

// One file after another on the axis of offsets.
void placeFiles(const model::PhaseModel& model, Drawn& drawn) {
  std::map<int, double> sizes;
  for (const Mark& mark : drawn.marks) {
    const auto size = model.files[static_cast<std::size_t>(mark.file)].size_bytes;
    const auto [place, is_new] = sizes.try_emplace(mark.file, static_cast<double>(size));
    place->second = std::max(place->second, mark.highest());
  }
  for (const auto& [file, size] : sizes) {
    drawn.begins[file] = drawn.end;
    drawn.end += size;
  }
  for (Mark& mark : drawn.marks) mark.run.offset += drawn.begins[mark.file];
  if (drawn.begins.size() < 2) return;
  constexpr std::size_t kMaxNamed = 6;
  std::string names;
  std::size_t named = 0;
  for (const auto& [file, begin] : drawn.begins) {
    if (++named > kMaxNamed) break;
    const std::filesystem::path path = model.files[static_cast<std::size_t>(file)].path;
    names += fmt::format("{}{}:{}", names.empty() ? "" : ", ", file,
                         textWithin(path.filename().native(), 120));
  }
  if (drawn.begins.size() > kMaxNamed) names += ", ...";
  drawn.notes.push_back(
      fmt::format("The {} files follow each other on the axis of offsets, by idF: {}.",
                  drawn.begins.size(), names));
}

base::Result<Drawn> drawnOf(const model::PhaseModel& model) {
  Drawn drawn;
  std::size_t data_phases = 0;
  std::size_t without_ticks = 0;
  std::size_t without_offsets = 0;
  for (const Phase& phase : model.phases) {
    if (phase.isMetadata()) continue;
    ++data_phases;
    const bool has_offset =
        std::ranges::any_of(phase.operations, [](const auto& o) { return o.init_offset.known; });
    without_ticks += phase.last_tick == 0 ? 1 : 0;
    without_offsets += phase.last_tick != 0 && !has_offset ? 1 : 0;
    if (!placedOperations(phase).empty()) drawn.phases.push_back(&phase);
  }
  const auto fail = [](std::string_view why) {
    return base::failure(base::Code::kInvalid, "no picture of the global access pattern: {}", why);
  };
  if (data_phases == 0) return fail("no phase moves data");
  chooseMarks(drawn);
  if (drawn.marks.empty()) {
    return fail(without_ticks > 0 ? "no phase has ticks, which count the MPI events of a process "
                                    "and are known of MPI-IO that omnio traced"
                                  : "the offsets of the phases are not known");
  }
  placeFiles(model, drawn);
  if (without_ticks > 0) {
    drawn.notes.push_back(fmt::format("{} without ticks (POSIX and stream calls) not drawn.",
                                      base::counted(without_ticks, "phase", "phases")));
  }
  if (without_offsets > 0) {
    drawn.notes.push_back(fmt::format("{} without known offsets not drawn.",
                                      base::counted(without_offsets, "phase", "phases")));
  }
  bool is_random = false;
  bool is_nominal = false;
  bool has_long_loops = false;
  for (const Phase* phase : drawn.phases) {
    is_random = is_random || phase->mode == model::AccessMode::kRandom;
    for (const PhaseOperation& operation : phase->operations) {
      for (const model::NestedRequests& nested : operation.nested) {
        has_long_loops = has_long_loops || runsOf(nested.part) > kMaxRunsOfLoop;
      }
    }
    is_nominal = is_nominal ||
                 std::ranges::any_of(phase->operations, [](const auto& o) { return o.nominal; });
  }
  if (is_random) {
    drawn.notes.push_back(fmt::format(
        "Of random requests, at most {} of a process in a phase are drawn.", kMaxRandomRuns));
  }
  if (has_long_loops) {
    drawn.notes.push_back(
        fmt::format("Loops of more than {} runs are drawn as the extents of their iterations.",
                    kMaxRunsOfLoop));
  }
  if (is_nominal) {
    drawn.notes.push_back(
        "Requests of several blocks of a view are drawn whole, one process after another.");
  }
  return drawn;
}

// ------------------------------------------------------------------ panels

constexpr double kPatternLeft = 86;
constexpr double kFrontWidth = 344;   // of the axis of ticks, in all panels
constexpr double kFrontHeight = 150;  // of the axis of offsets in three dimensions
constexpr double kDepthX = 128;       // of the axis of processes there
constexpr double kDepthY = 82;
constexpr double kFrontTop = 40 + kDepthY;
constexpr double kFlatTop = kFrontTop + kFrontHeight + 84;  // of the projections
constexpr double kFlatHeight = 176;
constexpr double kRowsTop = kFlatTop + kFlatHeight + 14;
constexpr double kRowsHeight = 104;
constexpr double kSideLeft = kPatternLeft + kFrontWidth + 28;
constexpr double kSideWidth = 136;
constexpr double kNoteLine = 16;
constexpr double kSmallest = 1.2;  // so that it can be seen

// Writes and reads, each in the colours of phases by turns.
constexpr std::string_view kMarkColours[2][2] = {{kWrite, "#9e4400"}, {kRead, "#004a78"}};

std::string_view colourOf(const Mark& mark) {
  return kMarkColours[mark.writes ? 0 : 1][mark.is_odd ? 1 : 0];
}

struct Point {
  double x = 0;
  double y = 0;
};

std::string number(double value) { return svgNumber(std::round(value * 10) / 10); }

// A closed path, of four corners in order.
std::string closedPath(const std::array<Point, 4>& corners) {
  std::string path;
  for (const Point& corner : corners) {
    path += fmt::format("{}{} {}", path.empty() ? 'M' : 'L', number(corner.x), number(corner.y));
  }
  return path + 'z';
}

std::string rectPath(double left, double right, double top, double bottom) {
  return fmt::format("M{} {}H{}V{}H{}z", number(left), number(top), number(right), number(bottom),
                     number(left));
}

void widen(double& low, double& high) {
  const double missing = kSmallest - (high - low);
  if (missing <= 0) return;
  low -= missing / 2;
  high += missing / 2;
}

class PatternDrawing {
 public:
  PatternDrawing(const model::PhaseModel& model, const Drawn& drawn)
      : drawn_(drawn),
        notes_(linesOf(drawn.notes)),
        svg_(kWidth,
             kRowsTop + kRowsHeight + (notes_.empty() ? 44 : 52) +
                 kNoteLine * static_cast<double>(notes_.size()),
             fmt::format("Global access pattern of {}",
                         base::counted(static_cast<std::uint64_t>(model.processes), "process",
                                       "processes")),
             fmt::format(
                 "Offset, tick and process of reads and writes: {} of about {} request runs "
                 "in {}.{}",
                 drawn.marks.size(), drawn.all_runs,
                 base::counted(drawn.phases.size(), "phase", "phases"), joinedNotes(drawn.notes))),
        processes_(std::max(1, model.processes)) {
    double first = static_cast<double>(drawn.phases.front()->first_tick);
    double last = first;
    for (const Phase* phase : drawn.phases) {
      first = std::min(first, static_cast<double>(phase->first_tick));
      last = std::max(last, static_cast<double>(phase->last_tick));
    }
    const double margin = std::max((last - first) * 0.02, 0.5);
    ticks_ = {first - margin, last + margin, kPatternLeft, kPatternLeft + kFrontWidth};
    tick_labels_ = wholeTicks(std::max(0.0, first - margin), last + margin, 7);
    unit_ = unitFor(kByteUnits, std::max(drawn.end, 1.0));
    offset_labels_ = niceTicks(0, std::max(drawn.end, 1.0) / unit_.size, 5);
    process_labels_ = wholeTicks(0, processes_ - 1, 5);
  }

  std::string draw() {
    drawHead();
    drawSpace();
    drawOffsetsOverTicks();
    drawProcessesOverTicks();
    drawOffsetsOverProcesses();
    double y = kRowsTop + kRowsHeight + 60;
    for (const std::string& line : notes_) {
      svg_.text(14, y, line, Anchor::kStart, {{"fill", std::string(kQuiet)}});
      y += kNoteLine;
    }
    return svg_.finish();
  }

 private:
  // Ticks at whole numbers, at least one.
  static std::vector<Tick> wholeTicks(double low, double high, double most_parts) {
    if (high - low < 1) return {{std::ceil(low), fmt::format("{:.0f}", std::ceil(low))}};
    return niceTicks(low, high, std::min(most_parts, std::floor(high - low)));
  }

  // Notes as lines that are as wide as the picture.
  static std::vector<std::string> linesOf(const std::vector<std::string>& notes) {
    std::vector<std::string> lines;
    for (const std::string& note : notes) {
      std::string_view rest = note;
      while (!rest.empty()) {
        std::size_t end = rest.size();
        while (textWidth(rest.substr(0, end)) > kWidth - 28) {
          const std::size_t blank = rest.rfind(' ', end - 1);
          if (blank == std::string_view::npos || blank == 0) break;
          end = blank;
        }
        lines.push_back(textWithin(rest.substr(0, end), kWidth - 28));
        rest.remove_prefix(std::min(rest.size(), end + 1));
      }
    }
    return lines;
  }

  void drawHead() {
    constexpr std::string_view kTitle = "Offset, tick and process";
    svg_.text(14, 20, kTitle);
    double x = 14 + textWidth(kTitle) + 24;
    for (const auto& [name, colours] :
         {std::pair{"Write", kMarkColours[0]}, std::pair{"Read", kMarkColours[1]}}) {
      for (int i = 0; i < 2; ++i) {
        svg_.add("rect", {{"x", number(x + 14 * i)},
                          {"y", "10"},
                          {"width", "14"},
                          {"height", "11"},
                          {"fill", std::string(colours[i])}});
      }
      svg_.text(x + 34, 20, name);
      x += 34 + textWidth(name) + 14;
    }
  }

  // -------- what panels share

  Scale offsetScale(double bottom, double height) const {
    return {0, std::max(drawn_.end, 1.0), bottom, bottom - height};
  }

  // The part of a process's row that its writes or reads have.
  std::pair<double, double> laneOf(const Mark& mark) const {
    return {mark.rank + (mark.writes ? 0.06 : 0.5), mark.rank + (mark.writes ? 0.5 : 0.94)};
  }

  // In the plane of ticks and offsets.
  std::array<Point, 4> cornersOf(const Mark& mark, const Scale& offsets) const {
    const double far = std::max(0.0, mark.run.offset + mark.run.stride * mark.turns());
    double left = ticks_.at(mark.first_tick);
    double right = ticks_.at(mark.last_tick);
    double near_low = offsets.at(mark.run.offset + mark.run.bytes);
    double near_high = offsets.at(mark.run.offset);
    double far_low = offsets.at(far + mark.run.bytes);
    double far_high = offsets.at(far);
    if (right - left < kSmallest) {
      // All at one tick: from the lowest byte to the highest.
      near_low = far_low = offsets.at(mark.highest());
      near_high = far_high = offsets.at(mark.lowest());
    }
    const double rise = std::max(std::abs(far_low - near_low), std::abs(far_high - near_high));
    if (rise > right - left && right - left >= kSmallest) {
      // Steep: as wide as it has to be, from the first byte of the run to the last one.
      const bool falls = far_low < near_low;  // on the paper, where offsets rise
      const double near = falls ? near_high : near_low;
      const double far_end = falls ? far_low : far_high;
      const double half = std::max(kSmallest, (near_high - near_low) * (right - left) / rise) / 2;
      return {{{left - half, near},
               {left + half, near},
               {right + half, far_end},
               {right - half, far_end}}};
    }
    widen(left, right);
    widen(near_low, near_high);
    widen(far_low, far_high);
    return {{{left, near_low}, {right, far_low}, {right, far_high}, {left, near_high}}};
  }

  // Bands of phases, between two lines that stand for their first and last tick at `top_shift` to
  // the right of where they are at the bottom.
  void drawBands(double top, double bottom, double top_shift) {
    std::array<std::string, 2> paths;
    std::size_t number = 0;
    for (const Phase* phase : drawn_.phases) {
      double left = ticks_.at(static_cast<double>(phase->first_tick));
      double right = ticks_.at(static_cast<double>(phase->last_tick));
      widen(left, right);
      paths[number++ % 2] += closedPath(
          {{{left + top_shift, top}, {right + top_shift, top}, {right, bottom}, {left, bottom}}});
    }
    for (std::size_t i = 0; i < 2; ++i) {
      if (paths[i].empty()) continue;
      svg_.add("path", {{"fill", std::string(kBands[i])}, {"d", paths[i]}});
    }
  }

  void drawPaths(const std::map<std::string_view, std::string>& paths) {
    for (const auto& [colour, path] : paths) {
      svg_.add("path", {{"fill", std::string(colour)}, {"d", path}});
    }
  }

  // -------- three dimensions

  Point inSpace(double tick_x, double process, double y) const {
    const double part = process / processes_;
    return {tick_x + part * kDepthX, y - part * kDepthY};
  }

  void spaceLine(Point from, Point to, std::string_view colour) {
    svg_.line(from.x, from.y, to.x, to.y, colour);
  }

  void drawSpace() {
    const double bottom = kFrontTop + kFrontHeight;
    const double right = kPatternLeft + kFrontWidth;
    const Scale offsets = offsetScale(bottom, kFrontHeight);
    drawBands(bottom - kDepthY, bottom, kDepthX);
    // The walls behind, and the floor.
    const Point back_left{kPatternLeft + kDepthX, bottom - kDepthY};
    const Point back_right{right + kDepthX, bottom - kDepthY};
    for (const Tick& tick : offset_labels_) {
      const double y = offsets.at(tick.value * unit_.size);
      spaceLine({kPatternLeft, y}, inSpace(kPatternLeft, processes_, y), kGrid);
      spaceLine(inSpace(kPatternLeft, processes_, y), inSpace(right, processes_, y), kGrid);
    }
    spaceLine({kPatternLeft, bottom}, back_left, kQuiet);
    spaceLine(back_left, back_right, kQuiet);
    spaceLine(back_left, {back_left.x, back_left.y - kFrontHeight}, kQuiet);

    drawMarksInSpace(offsets);

    spaceLine({kPatternLeft, bottom}, {right, bottom}, kText);
    spaceLine({right, bottom}, back_right, kText);
    spaceLine({kPatternLeft, bottom}, {kPatternLeft, kFrontTop}, kText);
    for (const Tick& tick : offset_labels_) {
      const double y = offsets.at(tick.value * unit_.size);
      svg_.line(kPatternLeft - kTickLength, y, kPatternLeft, y, kText);
      svg_.text(kPatternLeft - kTickLength - 3, y + 4.5, tick.text, Anchor::kEnd);
    }
    svg_.verticalText(14, kFrontTop + kFrontHeight / 2, offsetTitle());
    drawXAxis(svg_, {kPatternLeft, kFrontTop, kFrontWidth, kFrontHeight}, ticks_, tick_labels_,
              "Tick (MPI events of a process)");
    for (const Tick& tick : process_labels_) {
      const Point at = inSpace(right, tick.value + 0.5, bottom);
      spaceLine(at, {at.x + kTickLength, at.y}, kText);
      svg_.text(at.x + kTickLength + 10, at.y + 2, tick.text);
    }
    const Point middle = inSpace(right, processes_ / 2, bottom);
    svg_.text(middle.x + 30 + widest(process_labels_), middle.y + 16, "Process");
  }

  // From the last process to the first, so that the near ones cover the far ones.
  void drawMarksInSpace(const Scale& offsets) {
    std::vector<const Mark*> marks;
    for (const Mark& mark : drawn_.marks) marks.push_back(&mark);
    std::ranges::stable_sort(marks, std::ranges::greater(), &Mark::rank);
    svg_.begin("g", {{"data-kind", "space"}, {"fill-opacity", "0.85"}});
    for (std::size_t i = 0; i < marks.size();) {
      std::map<std::string_view, std::string> paths;
      const int rank = marks[i]->rank;
      for (; i < marks.size() && marks[i]->rank == rank; ++i) {
        const auto [low, high] = laneOf(*marks[i]);
        std::array<Point, 4> corners = cornersOf(*marks[i], offsets);
        for (Point& corner : corners) corner = inSpace(corner.x, (low + high) / 2, corner.y);
        paths[colourOf(*marks[i])] += closedPath(corners);
      }
      drawPaths(paths);
    }
    svg_.end();
  }

  std::string offsetTitle() const { return fmt::format("Offset ({})", unit_.name); }

  // -------- projections

  void drawOffsetsOverTicks() {
    const Frame frame{kPatternLeft, kFlatTop, kFrontWidth, kFlatHeight};
    const Scale offsets = offsetScale(frame.bottom(), frame.height);
    const Scale labels{0, offsets.high / unit_.size, offsets.at_low, offsets.at_high};
    drawBands(frame.top, frame.bottom(), 0);
    drawPhaseNumbers(frame);
    drawGrid(svg_, frame, labels, offset_labels_);
    drawFileLines(frame, offsets, false);
    std::map<std::string_view, std::string> paths;
    for (const Mark& mark : drawn_.marks) {
      paths[colourOf(mark)] += closedPath(cornersOf(mark, offsets));
    }
    svg_.begin("g", {{"data-kind", "offset-tick"}});
    drawPaths(paths);
    svg_.end();
    drawFrame(svg_, frame);
    drawYAxis(svg_, frame, labels, offset_labels_, offsetTitle());
    for (const Tick& tick : tick_labels_) {
      const double x = ticks_.at(tick.value);
      svg_.line(x, frame.bottom(), x, frame.bottom() + kTickLength, kText);
    }
  }

  void drawPhaseNumbers(const Frame& frame) {
    constexpr std::string_view kName = "phase";
    svg_.text(frame.left - 7, frame.top - 10, kName, Anchor::kEnd, {{"fill", std::string(kQuiet)}});
    double covered = frame.left;
    for (const Phase* phase : drawn_.phases) {
      const std::string text = fmt::format("{}", phase->id);
      const double half = textWidth(text) / 2;
      const double at = ticks_.at(
          (static_cast<double>(phase->first_tick) + static_cast<double>(phase->last_tick)) / 2);
      if (at - half < covered || at + half > frame.right() + 8) continue;
      svg_.text(at, frame.top - 10, text, Anchor::kMiddle, {{"fill", std::string(kQuiet)}});
      covered = at + half + 5;
    }
  }

  // Where one file ends and the next begins, and which these are.
  void drawFileLines(const Frame& frame, const Scale& offsets, bool has_names) {
    if (drawn_.begins.size() < 2) return;
    double covered = frame.bottom() + 20;
    for (const auto& [file, begin] : drawn_.begins) {
      const double y = offsets.at(begin);
      if (y < frame.bottom() - 1 && y > frame.top + 1) {
        svg_.line(frame.left, y, frame.right(), y, kQuiet, 0.5);
      }
      if (!has_names || covered - y < 14) continue;
      svg_.text(frame.right() + 4, y - 1, fmt::format("{}", file), Anchor::kStart,
                {{"fill", std::string(kQuiet)}});
      covered = y;
    }
    if (has_names) {
      svg_.text(frame.right() + 4, frame.top - 10, "idF", Anchor::kStart,
                {{"fill", std::string(kQuiet)}});
    }
  }

  void drawProcessesOverTicks() {
    const Frame frame{kPatternLeft, kRowsTop, kFrontWidth, kRowsHeight};
    const Scale rows{0, processes_, frame.bottom(), frame.top};
    drawBands(frame.top, frame.bottom(), 0);
    std::map<std::string_view, std::string> paths;
    for (const Mark& mark : drawn_.marks) {
      double left = ticks_.at(mark.first_tick);
      double right = ticks_.at(mark.last_tick);
      const auto [low, high] = laneOf(mark);
      double top = rows.at(high);
      double bottom = rows.at(low);
      widen(left, right);
      widen(top, bottom);
      paths[colourOf(mark)] += rectPath(left, right, top, bottom);
    }
    svg_.begin("g", {{"data-kind", "process-tick"}});
    drawPaths(paths);
    svg_.end();
    drawFrame(svg_, frame);
    drawYAxis(svg_, frame, rows, inMiddle(process_labels_), "Process");
    drawXAxis(svg_, frame, ticks_, tick_labels_, "Tick (MPI events of a process)");
  }

  static std::vector<Tick> inMiddle(std::vector<Tick> ticks) {
    for (Tick& tick : ticks) tick.value += 0.5;
    return ticks;
  }

  void drawOffsetsOverProcesses() {
    const Frame frame{kSideLeft, kFlatTop, kSideWidth, kFlatHeight};
    const Scale columns{0, processes_, frame.left, frame.right()};
    const Scale offsets = offsetScale(frame.bottom(), frame.height);
    const Scale labels{0, offsets.high / unit_.size, offsets.at_low, offsets.at_high};
    drawGrid(svg_, frame, labels, offset_labels_);
    drawFileLines(frame, offsets, true);
    svg_.begin("g", {{"data-kind", "offset-process"}});
    drawColumns(columns, offsets);
    svg_.end();
    drawFrame(svg_, frame);
    for (const Tick& tick : offset_labels_) {
      const double y = labels.at(tick.value);
      svg_.line(frame.left - kTickLength, y, frame.left, y, kText);
    }
    drawXAxis(svg_, frame, columns, inMiddle(process_labels_), "Process");
  }

  // Requests with gaps between them as dashes, where these can be seen.
  void drawColumns(const Scale& columns, const Scale& offsets) {
    constexpr double kSeen = 0.8;
    std::map<std::string_view, std::string> solid;
    // By colour, dashes and width.
    std::map<std::array<std::string, 3>, std::string> dashed;
    const double per_byte = (offsets.at_low - offsets.at_high) / (offsets.high - offsets.low);
    for (const Mark& mark : drawn_.marks) {
      const auto [low, high] = laneOf(mark);
      double left = columns.at(low);
      double right = columns.at(high);
      const double gap = (std::abs(mark.run.stride) - mark.run.bytes) * per_byte;
      const double width = right - left;
      if (mark.hasGaps() && gap >= kSeen && width >= kSmallest) {
        const double filled = std::max(mark.run.bytes * per_byte, 0.4);
        const std::string dashes =
            fmt::format("{:.4f} {:.4f}", filled, std::abs(mark.run.stride) * per_byte - filled);
        dashed[{std::string(colourOf(mark)), dashes, number(width)}] +=
            fmt::format("M{} {}V{}", number((left + right) / 2), number(offsets.at(mark.lowest())),
                        number(offsets.at(mark.highest())));
        continue;
      }
      double top = offsets.at(mark.highest());
      double bottom = offsets.at(mark.lowest());
      widen(left, right);
      widen(top, bottom);
      solid[colourOf(mark)] += rectPath(left, right, top, bottom);
    }
    drawPaths(solid);
    for (const auto& [style, path] : dashed) {
      svg_.add("path", {{"fill", "none"},
                        {"stroke", style[0]},
                        {"stroke-dasharray", style[1]},
                        {"stroke-width", style[2]},
                        {"d", path}});
    }
  }

  const Drawn& drawn_;
  std::vector<std::string> notes_;
  Svg svg_;
  double processes_;
  Scale ticks_;
  std::vector<Tick> tick_labels_;
  AxisUnit unit_{1, "B"};
  std::vector<Tick> offset_labels_;
  std::vector<Tick> process_labels_;
};

}  // namespace

base::Result<std::string> globalPatternOf(const model::PhaseModel& model) {
  const base::Result<Drawn> drawn = drawnOf(model);
  if (!drawn) return drawn.failure();
  return PatternDrawing(model, *drawn).draw();
}

}  // namespace omnio::report
