// One subject, five pictures, in the order of figuresOf().
#include "report/figures.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "report/axes.hpp"
#include "report/global_pattern.hpp"
#include "report/svg.hpp"

namespace omnio::report {
namespace {

constexpr std::string_view kSeveral = "url(#several)";
constexpr std::string_view kUnranked = "#8a9099";

// Viridis from light to dark, without its lightest colour: that cannot be seen on paper.
constexpr std::array<std::array<int, 3>, 9> kRamp = {{{0xb5, 0xde, 0x2b},
                                                      {0x6e, 0xce, 0x58},
                                                      {0x35, 0xb7, 0x79},
                                                      {0x1f, 0x9e, 0x89},
                                                      {0x26, 0x82, 0x8e},
                                                      {0x31, 0x68, 0x8e},
                                                      {0x3e, 0x49, 0x89},
                                                      {0x48, 0x28, 0x78},
                                                      {0x44, 0x01, 0x54}}};

// The colour at this part of the ramp, from 0 to 1.
std::string rampColour(double part) {
  const double position = std::clamp(part, 0.0, 1.0) * (kRamp.size() - 1);
  const auto low = std::min(static_cast<std::size_t>(position), kRamp.size() - 2);
  const double rest = position - static_cast<double>(low);
  std::string colour = "#";
  for (std::size_t i = 0; i < 3; ++i) {
    colour += fmt::format(
        "{:02x}",
        static_cast<int>(std::lround(kRamp[low][i] + (kRamp[low + 1][i] - kRamp[low][i]) * rest)));
  }
  return colour;
}

// The time that pictures show: the run, or the window of it that was chosen.
struct Times {
  double from_ns = 0;
  double to_ns = 1;
  AxisUnit unit{1, "ns"};
  std::string title;

  explicit Times(const PageData& data) {
    const Activity& activity = data.activity;
    to_ns = static_cast<double>(std::max<std::int64_t>(activity.end_ns - activity.start_ns, 1));
    if (const auto& window = data.by_file.selection.window) {
      const double from = static_cast<double>(window->from_ns);
      const double to = window->to_ns ? static_cast<double>(*window->to_ns) : to_ns;
      if (from < std::min(to, to_ns)) {
        from_ns = from;
        to_ns = std::min(to, to_ns);
      }
    }
    unit = unitFor(kTimeUnits, to_ns);
    title = fmt::format("Time ({})", unit.name);
  }

  Scale scale(const Frame& frame) const {
    return {from_ns / unit.size, to_ns / unit.size, frame.left, frame.right()};
  }
  std::vector<Tick> ticks() const { return niceTicks(from_ns / unit.size, to_ns / unit.size, 8); }
  double at(const Scale& x, double ns) const {
    return x.at(std::clamp(ns, from_ns, to_ns) / unit.size);
  }
  bool shows(double begin_ns, double end_ns) const { return end_ns > from_ns && begin_ns < to_ns; }
};

Figure emptyFigure(std::string name, std::string_view title, std::string_view sentence) {
  Svg svg(kWidth, 100, title, sentence);
  svg.text(kWidth / 2, 54, sentence, Anchor::kMiddle, {{"data-empty", "true"}});
  return {.name = std::move(name), .svg = svg.finish()};
}

std::string joined(const std::vector<std::uint64_t>& numbers) {
  return fmt::format("{}", fmt::join(numbers, " "));
}

std::uint64_t sumOf(const std::vector<std::uint64_t>& numbers) {
  std::uint64_t sum = 0;
  for (const std::uint64_t number : numbers) sum += number;
  return sum;
}

// ------------------------------------------------------------------ bandwidth

struct BandwidthLine {
  std::string_view name;
  std::string_view word;
  std::string_view colour;
  bool is_filled;  // tells lines apart in grey
  const std::vector<std::uint64_t>* bytes;
};

void drawBandwidthLine(Svg& svg, const BandwidthLine& line, const Times& times, const Scale& x,
                       const Scale& y, double bytes_per_unit, std::int64_t bin_ns) {
  std::string path;
  double last_y = y.at(0);
  const auto put = [&](char command, double px, double py) {
    path += fmt::format("{}{} {}", command, svgNumber(px), svgNumber(py));
  };
  double last_x = times.at(x, 0);
  put('M', last_x, last_y);
  for (std::size_t bin = 0; bin < line.bytes->size(); ++bin) {
    const double begin = static_cast<double>(bin) * static_cast<double>(bin_ns);
    const double end = begin + static_cast<double>(bin_ns);
    if (!times.shows(begin, end)) continue;
    const double next_y = y.at(static_cast<double>((*line.bytes)[bin]) / bytes_per_unit);
    if (next_y != last_y) put('L', times.at(x, begin), next_y);
    last_x = times.at(x, end);
    put('L', last_x, next_y);
    last_y = next_y;
  }
  put('L', last_x, y.at(0));
  svg.add("path", {{"d", path},
                   {"fill", std::string(line.is_filled ? line.colour : "none")},
                   {"fill-opacity", "0.3"},
                   {"stroke", std::string(line.colour)},
                   {"stroke-width", line.is_filled ? "0.75" : "1.5"},
                   {"stroke-linejoin", "round"},
                   {"data-kind", std::string(line.word)},
                   {"data-bin-ns", fmt::format("{}", bin_ns)},
                   {"data-bytes", joined(*line.bytes)}});
}

Figure bandwidthFigure(const PageData& data) {
  const std::string name = "bandwidth.svg";
  const Activity& activity = data.activity;
  const std::vector<std::uint64_t>& read = activity.read_bytes.row(0);
  const std::vector<std::uint64_t>& written = activity.written_bytes.row(0);
  const std::string title = "Bandwidth over the time of the run";
  std::vector<BandwidthLine> lines;
  if (sumOf(written) > 0) lines.push_back({"Written", "write", kWrite, true, &written});
  if (sumOf(read) > 0) lines.push_back({"Read", "read", kRead, false, &read});
  if (lines.empty()) return emptyFigure(name, title, "The trace has no calls that moved data.");
  std::uint64_t most = 0;
  for (const BandwidthLine& line : lines) most = std::max(most, std::ranges::max(*line.bytes));
  const double seconds = static_cast<double>(activity.binNs()) / 1e9;
  const double peak = static_cast<double>(most) / seconds;
  const AxisUnit unit = unitFor(kByteUnits, peak);
  constexpr double kMostParts = 6;
  const double step = niceStep(peak / unit.size, kMostParts);
  const double high = std::ceil(peak / unit.size / step) * step;
  const std::vector<Tick> ticks = niceTicks(0, high, kMostParts);
  const Times times(data);
  Svg svg(
      kWidth, 250, title,
      fmt::format("Bytes that all ranks moved, in bins of {}. Read: {} bytes. Written: {} bytes.",
                  timeText(static_cast<double>(activity.binNs())), sumOf(read), sumOf(written)));
  const Frame frame{.left = leftOf(ticks),
                    .top = 30,
                    .width = kWidth - kRight - leftOf(ticks),
                    .height = 250 - 30 - kBottom};
  const Scale y{0, high, frame.bottom(), frame.top};
  const Scale x = times.scale(frame);
  drawGrid(svg, frame, y, ticks);
  double legend_x = frame.left;
  for (const BandwidthLine& line : lines) {
    drawBandwidthLine(svg, line, times, x, y, seconds * unit.size, activity.binNs());
    svg.add("rect", {{"x", svgNumber(legend_x)},
                     {"y", line.is_filled ? "11" : "15"},
                     {"width", "24"},
                     {"height", line.is_filled ? "10" : "2"},
                     {"fill", std::string(line.colour)},
                     {"fill-opacity", line.is_filled ? "0.3" : "1"},
                     {"stroke", std::string(line.is_filled ? line.colour : "none")}});
    svg.text(legend_x + 30, 20.5, line.name);
    legend_x += 30 + textWidth(line.name) + 24;
  }
  drawFrame(svg, frame);
  drawYAxis(svg, frame, y, ticks, fmt::format("Bandwidth ({}/s)", unit.name));
  drawXAxis(svg, frame, x, times.ticks(), times.title);
  return {.name = name, .svg = svg.finish()};
}

// ------------------------------------------------------------------ heat map

// A bar of the ramp with its ticks, right of the frame. Parts are from 0 to 1.
void drawRamp(Svg& svg, const Frame& frame,
              const std::vector<std::pair<double, std::string>>& ticks, std::string_view title) {
  constexpr double kBarWidth = 12;
  const double left = frame.right() + 14;
  svg.begin("linearGradient", {{"id", "ramp"}, {"x1", "0"}, {"y1", "1"}, {"x2", "0"}, {"y2", "0"}});
  for (std::size_t i = 0; i < kRamp.size(); ++i) {
    const double part = static_cast<double>(i) / (kRamp.size() - 1);
    svg.add("stop", {{"offset", svgNumber(part)}, {"stop-color", rampColour(part)}});
  }
  svg.end();
  svg.add("rect", {{"x", svgNumber(left)},
                   {"y", svgNumber(frame.top)},
                   {"width", svgNumber(kBarWidth)},
                   {"height", svgNumber(frame.height)},
                   {"fill", "url(#ramp)"}});
  drawFrame(svg, {left, frame.top, kBarWidth, frame.height});
  double widest_tick = 0;
  for (const auto& [part, text] : ticks) {
    const double at = frame.bottom() - part * frame.height;
    svg.line(left + kBarWidth, at, left + kBarWidth + 3, at, kText);
    const double middle = std::clamp(at + 4.5, frame.top + 9, frame.bottom());
    svg.text(left + kBarWidth + 6, middle, text);
    widest_tick = std::max(widest_tick, textWidth(text));
  }
  const double title_x = left + kBarWidth + 6 + widest_tick + 16;
  svg.verticalText(title_x, frame.top + frame.height / 2, title);
}

// The room that it takes.
double rampWidth(double widest_tick) { return 14 + 12 + 6 + widest_tick + 24; }

// Rectangles of one colour as one path.
class Cells {
 public:
  void add(const std::string& colour, double x, double y, double width, double height) {
    paths_[colour] += fmt::format("M{} {}h{}v{}h-{}z", svgNumber(x), svgNumber(y), svgNumber(width),
                                  svgNumber(height), svgNumber(width));
  }
  void draw(Svg& svg) const {
    for (const auto& [colour, path] : paths_) svg.add("path", {{"fill", colour}, {"d", path}});
  }

 private:
  std::map<std::string, std::string> paths_;
};

constexpr ActivityKind kIoKinds[] = {ActivityKind::kRead, ActivityKind::kWrite,
                                     ActivityKind::kMetadata, ActivityKind::kSync};

// By row and bin, the part of the time in I/O calls; rows and bins side by side are averages where
// there are more than fit on the paper.
struct Heat {
  std::vector<std::vector<double>> parts;
  std::size_t rows_each = 1;
  double bin_ns = 1;
};

Heat heatOf(const Activity& activity) {
  constexpr std::size_t kMostHeatRows = 128;
  const std::size_t rows = activity.rows.size();
  Heat heat;
  heat.rows_each = std::max<std::size_t>(1, (rows + kMostHeatRows - 1) / kMostHeatRows);
  heat.bin_ns = static_cast<double>(activity.binNs());
  const double cell_ns = heat.bin_ns * static_cast<double>(activity.most_lanes);
  heat.parts.resize((rows + heat.rows_each - 1) / heat.rows_each);
  for (const ActivityKind kind : kIoKinds) {
    const TimeBins& time = activity.time[static_cast<std::size_t>(kind)];
    for (std::size_t row = 0; row < rows; ++row) {
      std::vector<double>& parts = heat.parts[row / heat.rows_each];
      // The last ones may be fewer.
      const std::size_t begin = row / heat.rows_each * heat.rows_each;
      const auto together = static_cast<double>(std::min(heat.rows_each, rows - begin));
      const std::vector<std::uint64_t>& sums = time.row(row);
      if (parts.size() < sums.size()) parts.resize(sums.size());
      for (std::size_t bin = 0; bin < sums.size(); ++bin) {
        parts[bin] += static_cast<double>(sums[bin]) / cell_ns / together;
      }
    }
  }
  return heat;
}

// Shades of the heat map: 0 where no time is in I/O. The square root lets short times be seen.
int shadeOf(double part) {
  constexpr int kShades = 24;
  if (part <= 0) return 0;
  return std::clamp(static_cast<int>(std::ceil(kShades * std::sqrt(part))), 1, kShades);
}

void drawHeat(Svg& svg, const Frame& frame, const Heat& heat, const Times& times, const Scale& x) {
  const double height = frame.height / static_cast<double>(heat.parts.size());
  Cells cells;
  for (std::size_t row = 0; row < heat.parts.size(); ++row) {
    const std::vector<double>& parts = heat.parts[row];
    for (std::size_t bin = 0; bin < parts.size();) {
      const int shade = shadeOf(parts[bin]);
      std::size_t end = bin + 1;
      while (end < parts.size() && shadeOf(parts[end]) == shade) ++end;
      const double begin_ns = static_cast<double>(bin) * heat.bin_ns;
      const double end_ns = static_cast<double>(end) * heat.bin_ns;
      if (shade > 0 && times.shows(begin_ns, end_ns)) {
        const double left = times.at(x, begin_ns);
        cells.add(rampColour((shade - 0.5) / 24), left,
                  frame.top + static_cast<double>(row) * height, times.at(x, end_ns) - left,
                  height);
      }
      bin = end;
    }
  }
  svg.begin("g", {{"shape-rendering", "crispEdges"}});
  cells.draw(svg);
  svg.end();
}

Figure heatFigure(const PageData& data) {
  const std::string name = "heatmap.svg";
  const std::string title = "I/O time by rank over the time of the run";
  const Activity& activity = data.activity;
  std::vector<std::string> totals;
  std::uint64_t all = 0;
  for (const ActivityKind kind : kIoKinds) {
    std::uint64_t sum = 0;
    const TimeBins& time =
        activity.time.empty() ? TimeBins(0) : activity.time[static_cast<std::size_t>(kind)];
    for (std::size_t row = 0; row < time.rows(); ++row) sum += sumOf(time.row(row));
    all += sum;
    totals.push_back(fmt::format("{} {} ns", base::wordOf(kActivityKinds, kind), sum));
  }
  if (all == 0) return emptyFigure(name, title, "The trace has no time in I/O calls.");
  const Heat heat = heatOf(activity);
  const Times times(data);
  const std::size_t rows = heat.parts.size();
  const double height = std::clamp(static_cast<double>(rows) * 18, 110.0, 256.0);
  Svg svg(kWidth, height + 14 + kBottom, title,
          fmt::format("The part of the time in I/O calls, by row and in bins of {}: {}.",
                      timeText(heat.bin_ns), fmt::join(totals, ", ")));
  // Labels of rows: as many as have room.
  const double row_height = height / static_cast<double>(rows);
  const auto each = static_cast<std::size_t>(std::ceil(kLineHeight / row_height));
  std::vector<Tick> labels;
  for (std::size_t row = 0; row < rows; row += each) {
    labels.push_back(
        {static_cast<double>(row) + 0.5, textWithin(activity.rows[row * heat.rows_each], 150)});
  }
  const double left = 14 + widest(labels);
  const std::vector<std::pair<double, std::string>> shares = {{std::sqrt(0.01), "1"},
                                                              {std::sqrt(0.1), "10"},
                                                              {0.5, "25"},
                                                              {std::sqrt(0.5), "50"},
                                                              {1, "100"}};
  const Frame frame{.left = left,
                    .top = 14,
                    .width = kWidth - left - rampWidth(textWidth("100")),
                    .height = height};
  const Scale x = times.scale(frame);
  const Scale y{0, static_cast<double>(rows), frame.top, frame.bottom()};
  drawHeat(svg, frame, heat, times, x);
  drawFrame(svg, frame);
  drawYAxis(svg, frame, y, labels, "");
  drawXAxis(svg, frame, x, times.ticks(), times.title);
  drawRamp(svg, frame, shares, "I/O time (%)");
  return {.name = name, .svg = svg.finish()};
}

// ------------------------------------------------------------------ offsets

struct Users {
  User first = kFirstUser;
  User last = kFirstUser;
  bool several = false;
  bool unranked = false;

  std::string colour(User user, std::string_view alone) const {
    if (user == kSeveralUsers) return std::string(kSeveral);
    if (user == kUnrankedUser) return std::string(kUnranked);
    if (!isMany()) return std::string(alone);
    return rampColour(static_cast<double>(user - first) / static_cast<double>(last - first));
  }
  bool isMany() const { return last > first; }
};

Users usersOf(const OffsetPlane& plane) {
  Users users;
  bool any = false;
  for (std::size_t bin = 0; bin < plane.bins(); ++bin) {
    for (std::size_t row = 0; row < OffsetPlane::kMostRows; ++row) {
      const User user = plane.at(row, bin).user;
      users.several = users.several || user == kSeveralUsers;
      users.unranked = users.unranked || user == kUnrankedUser;
      if (user < kFirstUser) continue;
      users.first = any ? std::min(users.first, user) : user;
      users.last = any ? std::max(users.last, user) : user;
      any = true;
    }
  }
  return users;
}

struct Panel {
  bool writes = false;
  std::string_view name;
  std::string_view word;
  std::string_view colour;
  std::uint64_t bytes = 0;
  Unplaced unplaced;
};

std::vector<Panel> panelsOf(const FileOffsets& file) {
  std::vector<Panel> panels;
  if (file.bytes_read > 0) {
    panels.push_back({false, "Reads", "read", kRead, file.bytes_read, file.unplaced_read});
  }
  if (file.bytes_written > 0) {
    panels.push_back({true, "Writes", "write", kWrite, file.bytes_written, file.unplaced_write});
  }
  return panels;
}

void drawPhases(Svg& svg, const std::vector<const model::Phase*>& phases, const Times& times,
                const Scale& x, const Frame& frame, bool with_numbers) {
  double covered = 0;
  std::size_t number = 0;
  for (const model::Phase* phase : phases) {
    const auto begin_ns = static_cast<double>(phase->begin_ns);
    const auto end_ns = static_cast<double>(phase->end_ns);
    ++number;
    if (end_ns < times.from_ns || begin_ns > times.to_ns) continue;
    const double left = times.at(x, begin_ns);
    const double width = std::max(0.75, times.at(x, end_ns) - left);
    svg.add("rect", {{"x", svgNumber(left)},
                     {"y", svgNumber(frame.top)},
                     {"width", svgNumber(width)},
                     {"height", svgNumber(frame.height)},
                     {"fill", std::string(kBands[(number + 1) % 2])},
                     {"data-phase", fmt::format("{}", phase->id)}});
    if (!with_numbers) continue;
    const std::string text = fmt::format("{}", phase->id);
    const double half = textWidth(text) / 2;
    const double middle = std::clamp(left + width / 2, frame.left + half, frame.right() - half);
    if (middle - half < covered) continue;
    svg.text(middle, frame.top - 5, text, Anchor::kMiddle, {{"fill", std::string(kQuiet)}});
    covered = middle + half + 5;
  }
}

// The cells of one direction. Small ones are drawn so large that they can be seen on paper.
void drawPlane(Svg& svg, const OffsetPlane& plane, const Panel& panel, const Users& users,
               const Times& times, const Scale& x, const Scale& y) {
  constexpr double kLeast = 1.6;
  Cells cells;
  const std::size_t rows = plane.rows();
  const std::size_t bins = plane.bins();
  for (std::size_t row = 0; row < rows; ++row) {
    const auto offset = static_cast<double>(row * plane.rowBytes());
    const double low = y.at(offset);
    const double high = y.at(offset + static_cast<double>(plane.rowBytes()));
    const double height = std::max(kLeast, low - high);
    const double top = std::min((low + high - height) / 2, y.at_low - height);
    for (std::size_t bin = 0; bin < bins;) {
      const OffsetPlane::Cell cell = plane.at(row, bin);
      std::size_t end = bin + 1;
      if (cell.of(panel.writes) > 0) {
        while (end < bins && plane.at(row, end).of(panel.writes) > 0 &&
               plane.at(row, end).user == cell.user) {
          ++end;
        }
        const double begin_ns = static_cast<double>(bin) * static_cast<double>(plane.binNs());
        const double end_ns = static_cast<double>(end) * static_cast<double>(plane.binNs());
        if (times.shows(begin_ns, end_ns)) {
          const double left = times.at(x, begin_ns);
          const double width = std::max(kLeast, times.at(x, end_ns) - left);
          cells.add(users.colour(cell.user, panel.colour), std::min(left, x.at_high - width), top,
                    width, height);
        }
      }
      bin = end;
    }
  }
  svg.begin("g", {{"data-kind", std::string(panel.word)},
                  {"data-bytes", fmt::format("{}", panel.bytes)},
                  {"data-unplaced-calls", fmt::format("{}", panel.unplaced.calls)},
                  {"data-unplaced-bytes", fmt::format("{}", panel.unplaced.bytes)}});
  cells.draw(svg);
  svg.end();
}

// So many cells that the picture stays small.
OffsetPlane forPaper(const OffsetPlane& plane) {
  constexpr std::size_t kMostCells = 24000;
  OffsetPlane coarse = plane;
  const auto used = [&] {
    std::size_t count = 0;
    for (std::size_t bin = 0; bin < coarse.bins(); ++bin) {
      for (std::size_t row = 0; row < OffsetPlane::kMostRows; ++row) {
        count += coarse.at(row, bin).user == kNoUser ? 0 : 1;
      }
    }
    return count;
  };
  while (used() > kMostCells) {
    if (coarse.rows() * 2 >= coarse.bins()) {
      coarse.halveRows();
    } else {
      coarse.halveBins();
    }
  }
  return coarse;
}

// Left of the names of panels, what the colours mean beside the ramp.
void drawUserLegend(Svg& svg, const Users& users, bool has_ranks, double right, double y) {
  const auto entry = [&](std::string_view text, std::string_view fill) {
    right -= textWidth(text);
    svg.text(right, y, text);
    right -= 18;
    svg.add("rect", {{"x", svgNumber(right)},
                     {"y", svgNumber(y - 10)},
                     {"width", "12"},
                     {"height", "12"},
                     {"fill", std::string(fill)},
                     {"stroke", std::string(kText)},
                     {"stroke-width", "0.5"}});
    right -= 16;
  };
  if (users.several) entry(has_ranks ? "several ranks" : "several processes", kSeveral);
  if (users.unranked) entry("no rank", kUnranked);
}

std::string unplacedText(const Panel& panel) {
  if (panel.unplaced.calls == 0) return "";
  return fmt::format(" ({} without an offset in the trace)",
                     bytesText(static_cast<double>(panel.unplaced.bytes)));
}

Figure offsetFigure(const PageData& data, const FileOffsets& file, std::string name) {
  const bool has_ranks = data.activity.has_ranks;
  const std::vector<Panel> panels = panelsOf(file);
  const OffsetPlane plane = forPaper(file.plane);
  const Users users = usersOf(plane);
  const Times times(data);
  std::string desc =
      fmt::format("Where in the file {} bytes were read and written over time.", file.name);
  for (const Panel& panel : panels) {
    desc += fmt::format(" {}: {} bytes, {} of them without an offset in the trace.", panel.name,
                        panel.bytes, panel.unplaced.bytes);
  }
  const double most = static_cast<double>(std::max<std::size_t>(plane.rows(), 1)) *
                      static_cast<double>(plane.rowBytes());
  const AxisUnit unit = unitFor(kByteUnits, most);
  const std::vector<Tick> ticks = niceTicks(0, most / unit.size, panels.size() > 1 ? 4 : 5);
  const std::string first = fmt::format("{}", users.first - kFirstUser + (has_ranks ? 0 : 1));
  const std::string last = fmt::format("{}", users.last - kFirstUser + (has_ranks ? 0 : 1));
  const double right = users.isMany() ? rampWidth(textWidth(last)) : kRight;
  const double left = leftOf(ticks);
  const double panel_height = panels.size() > 1 ? 150 : 200;
  const std::vector<const model::Phase*> phases = phasesOf(data.phases, file.name);
  const double phase_line = phases.empty() ? 0 : 16;
  const double head = 42 + phase_line;  // the file, the name of a panel, the numbers of phases
  const double gap = 26;
  const auto count = static_cast<double>(panels.size());
  const double height = head + count * panel_height + (count - 1) * gap + kBottom;
  Svg svg(kWidth, height, fmt::format("Offsets in {} over time", file.name), desc);
  svg.begin("defs");
  svg.begin("pattern", {{"id", "several"},
                        {"width", "4"},
                        {"height", "4"},
                        {"patternUnits", "userSpaceOnUse"},
                        {"patternTransform", "rotate(45)"}});
  svg.add("rect", {{"width", "4"}, {"height", "4"}, {"fill", "#ffffff"}});
  svg.add("rect", {{"width", "2"}, {"height", "4"}, {"fill", std::string(kQuiet)}});
  svg.end();
  svg.end();
  const double legend_room = (users.several ? 140 : 0) + (users.unranked ? 80 : 0);
  svg.text(left, 16, textWithin(file.name, kWidth - left - kRight - legend_room));
  drawUserLegend(svg, users, has_ranks, kWidth - kRight, 16);
  Frame frame{.left = left, .top = head, .width = kWidth - left - right, .height = panel_height};
  const Frame first_frame = frame;
  for (const Panel& panel : panels) {
    const bool is_first = frame.top == head;
    const Scale x = times.scale(frame);
    const Scale y{0, most / unit.size, frame.bottom(), frame.top};
    const Scale y_bytes{0, most, frame.bottom(), frame.top};
    drawPhases(svg, phases, times, x, frame, is_first);
    drawGrid(svg, frame, y, ticks);
    drawPlane(svg, plane, panel, users, times, x, y_bytes);
    drawFrame(svg, frame);
    drawYAxis(svg, frame, y, ticks, fmt::format("Offset ({})", unit.name));
    // Names of panels are above them: cells may be anywhere within.
    const std::string panel_name = std::string(panel.name) + unplacedText(panel);
    svg.text(frame.left, frame.top - 6 - (is_first ? phase_line : 0), panel_name);
    if (panel.name == panels.back().name) {
      drawXAxis(svg, frame, x, times.ticks(), times.title);
    } else {
      for (const Tick& tick : times.ticks()) {
        const double at = x.at(tick.value);
        svg.line(at, frame.bottom(), at, frame.bottom() + kTickLength, kText);
      }
    }
    frame.top += panel_height + gap;
  }
  if (users.isMany()) {
    Frame all = first_frame;
    all.height = std::min(count * panel_height + (count - 1) * gap, 200.0);
    drawRamp(svg, all, {{0.0, first}, {1.0, last}}, has_ranks ? "Rank" : "Process");
  }
  return {.name = std::move(name), .svg = svg.finish()};
}

// ------------------------------------------------------------------ histograms

struct Bars {
  std::string_view name;
  std::string_view word;
  std::string_view colour;
  std::vector<stats::Histogram::Bin> bins;

  std::uint64_t calls() const {
    std::uint64_t sum = 0;
    for (const auto& bin : bins) sum += bin.count;
    return sum;
  }
};

// The position of a bin of powers of two on its axis: 0 has a bin of its own.
double positionOf(std::uint64_t from) {
  return from == 0 ? 0 : static_cast<double>(std::bit_width(from));
}

std::string grouped(std::uint64_t number) {
  std::string text = fmt::format("{}", number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

// "300k", "2M": short, so that the axes of panels with different ranges are alike.
std::string countText(double number) {
  constexpr AxisUnit kUnits[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}};
  const AxisUnit& unit = unitFor(kUnits, number);
  return fmt::format("{:.3g}{}", number / unit.size, unit.name);
}

std::vector<Tick> countTicks(double most) {
  std::vector<Tick> ticks;
  const double step = std::max(1.0, niceStep(most, 3));
  for (double i = 0; i < std::ceil(most / step) + 0.5; ++i) {
    ticks.push_back({i * step, countText(i * step)});
  }
  return ticks;
}

// A panel for each kind, one below the other.
Figure histogramFigure(std::string name, const std::string& title, std::string_view axis,
                       std::string_view none, std::vector<Bars> kinds,
                       const std::function<std::vector<Tick>(double, double)>& ticksOf) {
  std::erase_if(kinds, [](const Bars& bars) { return bars.calls() == 0; });
  if (kinds.empty()) return emptyFigure(std::move(name), title, none);
  double low = 65;
  double high = 0;
  std::string desc = title + ", by powers of two.";
  for (const Bars& bars : kinds) {
    low = std::min(low, positionOf(bars.bins.front().from));
    high = std::max(high, positionOf(bars.bins.back().from) + 1);
    desc += fmt::format(" {}: {} calls.", bars.name, bars.calls());
  }
  // A single bar would be as wide as the picture.
  while (high - low < 8) {
    if (low > 0) --low;
    ++high;
  }
  const double panel_height = kinds.size() > 2 ? 76 : 110;
  const double head = 24;
  std::vector<std::vector<Tick>> counts;
  double left = 0;
  for (const Bars& bars : kinds) {
    double most = 0;
    for (const auto& bin : bars.bins) most = std::max(most, static_cast<double>(bin.count));
    counts.push_back(countTicks(most));
    left = std::max(left, leftOf(counts.back()));
  }
  Svg svg(kWidth, static_cast<double>(kinds.size()) * (panel_height + head) + kBottom, title, desc);
  Frame frame{.left = left, .top = head, .width = kWidth - left - kRight, .height = panel_height};
  const std::vector<Tick> ticks = ticksOf(low, high);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const Bars& bars = kinds[i];
    const Scale x{low, high, frame.left, frame.right()};
    const Scale y{0, counts[i].back().value, frame.bottom(), frame.top};
    drawGrid(svg, frame, y, counts[i]);
    svg.begin("g", {{"fill", std::string(bars.colour)}, {"data-kind", std::string(bars.word)}});
    for (const auto& bin : bars.bins) {
      const double bar_left = x.at(positionOf(bin.from)) + 1;
      const double bar_right = x.at(positionOf(bin.from) + 1) - 1;
      const double top = y.at(static_cast<double>(bin.count));
      // One call among millions is seen all the same.
      const double height = std::max(0.75, frame.bottom() - top);
      svg.add("rect", {{"x", svgNumber(bar_left)},
                       {"y", svgNumber(frame.bottom() - height)},
                       {"width", svgNumber(bar_right - bar_left)},
                       {"height", svgNumber(height)},
                       {"data-from", fmt::format("{}", bin.from)},
                       {"data-to", fmt::format("{}", bin.to)},
                       {"data-count", fmt::format("{}", bin.count)}});
    }
    svg.end();
    drawFrame(svg, frame);
    drawYAxis(svg, frame, y, counts[i], "Calls");
    svg.add("rect", {{"x", svgNumber(frame.left)},
                     {"y", svgNumber(frame.top - 16)},
                     {"width", "10"},
                     {"height", "10"},
                     {"fill", std::string(bars.colour)}});
    svg.text(frame.left + 15, frame.top - 6.5,
             fmt::format("{}: {} {}", bars.name, grouped(bars.calls()),
                         bars.calls() == 1 ? "call" : "calls"));
    if (i + 1 == kinds.size()) {
      drawXAxis(svg, frame, x, ticks, axis);
    } else {
      for (const Tick& tick : ticks) {
        const double at = x.at(tick.value);
        svg.line(at, frame.bottom(), at, frame.bottom() + kTickLength, kText);
      }
    }
    frame.top += panel_height + head;
  }
  return {.name = std::move(name), .svg = svg.finish()};
}

// At the lower ends of bins, which are powers of two.
std::vector<Tick> sizeTicks(double low, double high) {
  std::vector<Tick> ticks;
  for (double at = low; at <= high; ++at) {
    ticks.push_back({at, at == 0 ? "0" : bytesText(std::exp2(at - 1))});
  }
  return ticks;
}

// At powers of ten: times are seldom powers of two.
std::vector<Tick> durationTicks(double low, double high) {
  std::vector<Tick> ticks;
  for (double ns = 1; ns < 1e19; ns *= 10) {
    const double at = std::log2(ns) + 1;
    if (at >= low - 1e-9 && at <= high + 1e-9) ticks.push_back({at, timeText(ns)});
  }
  return ticks;
}

Figure sizesFigure(const PageData& data) {
  const stats::Group& total = data.by_call.total;
  return histogramFigure(
      "sizes.svg", "Sizes of reads and writes", "Bytes of a call",
      "The trace has no reads and no writes that moved data.",
      {{"Reads", "read", kRead, total.read.size_bytes.histogram.powersOfTwo()},
       {"Writes", "write", kWrite, total.write.size_bytes.histogram.powersOfTwo()}},
      sizeTicks);
}

Figure timesFigure(const PageData& data) {
  const CallTimes times = timesOfCalls(data.by_call);
  return histogramFigure("times.svg", "Times of I/O calls", "Time of a call",
                         "The trace has no I/O calls.",
                         {{"Reads", "read", kRead, times.read.powersOfTwo()},
                          {"Writes", "write", kWrite, times.write.powersOfTwo()},
                          {"Metadata", "metadata", kMetadata, times.metadata.powersOfTwo()},
                          {"Sync", "sync", kSync, times.sync.powersOfTwo()}},
                         durationTicks);
}

}  // namespace

std::vector<Figure> figuresOf(const PageData& data) {
  std::vector<Figure> figures = {bandwidthFigure(data), heatFigure(data), sizesFigure(data),
                                 timesFigure(data)};
  const base::Result<std::string> pattern = globalPatternOf(data.phases);
  figures.push_back(pattern
                        ? Figure{.name = "pattern.svg", .svg = *pattern}
                        : emptyFigure("pattern.svg", "Global access pattern",
                                      data.no_phases.empty()
                                          ? "The trace has no MPI-IO at known ticks and offsets."
                                          : "The phases were left out."));
  const std::vector<FileOffsets>& files = data.activity.offsets;
  if (files.empty()) {
    figures.push_back(
        emptyFigure("offsets.svg", "Offsets over time",
                    "The trace has no file that bytes were read from or written to."));
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    figures.push_back(offsetFigure(data, files[i],
                                   i == 0 ? "offsets.svg" : fmt::format("offsets-{}.svg", i + 1)));
  }
  return figures;
}

}  // namespace omnio::report
