#include "phase_model/phase_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/base/json_reader.hpp"
#include "core/base/text_table.hpp"
#include "phase_model/grouping.hpp"

namespace omnio::phases {
namespace {

using model::Phase;
using model::PhaseOperation;

std::string distanceText(std::int64_t bytes, std::uint64_t request_bytes, int processes) {
  const bool is_turn =
      processes > 1 && bytes == static_cast<std::int64_t>(request_bytes) * processes;
  return is_turn ? fmt::format("np * {}", exactSize(request_bytes))
                 : inRequests(bytes, request_bytes);
}

// The term that the repetitions of a stride with gaps add to f(initOffset).
std::string turnsText(const PhaseOperation& operation, int processes) {
  const std::int64_t distance = operation.displacement_bytes;
  if (operation.varying || !operation.nested.empty() || operation.repetitions == 1 ||
      distance == 0 || distance == static_cast<std::int64_t>(operation.request_bytes)) {
    return "";
  }
  return fmt::format(" + (rep - 1) * {}",
                     distanceText(distance, operation.request_bytes, processes));
}

}  // namespace

std::string offsetText(const Series& series, std::size_t operation, int processes) {
  const PhaseOperation& first = series.front()->operations[operation];
  const std::uint64_t rs = first.request_bytes;
  const std::string behind = turnsText(first, processes) + (first.nominal ? " (nominal)" : "");
  if (series.size() == 1) return textOf(first.init_offset, rs) + behind;
  const std::optional<std::int64_t> step = model::stepOf(series, operation);
  if (!step) return "differs from phase to phase";
  std::string text = textOf(first.init_offset, rs);
  if (*step == 0) return text + behind;
  if (!model::isConsecutive(series)) return "differs from phase to phase";
  if (text == "0") text.clear();
  return fmt::format("{}{}(ph - {}) * {}{}", text, text.empty() ? "" : " + ", series.front()->id,
                     distanceText(*step, rs, processes), behind);
}

namespace {

using model::PhaseModel;
using Row = std::vector<std::string>;

std::string repetitionText(const Series& series, std::size_t index) {
  const PhaseOperation& first = series.front()->operations[index];
  if (!first.varying) return fmt::format("{}", first.repetitions);
  std::uint64_t requests = 0;
  std::uint64_t processes = 0;
  for (const Phase* phase : series) {
    requests += phase->operations[index].requests;
    processes += phase->ranks.size();
  }
  const std::uint64_t mean = (requests + processes / 2) / processes;
  return mean * processes == requests ? fmt::format("{}", mean) : fmt::format("~{}", mean);
}

std::string requestText(const Series& series, std::size_t index) {
  const PhaseOperation& first = series.front()->operations[index];
  if (!first.varying) return exactSize(first.request_bytes);
  std::uint64_t smallest = first.smallest_bytes;
  std::uint64_t largest = first.largest_bytes;
  for (const Phase* phase : series) {
    smallest = std::min(smallest, phase->operations[index].smallest_bytes);
    largest = std::max(largest, phase->operations[index].largest_bytes);
  }
  return smallest == largest ? exactSize(smallest) : fmt::format("{} to {} B", smallest, largest);
}

std::string secondsText(std::int64_t ns) {
  constexpr double kNsPerSecond = 1e9;
  return fmt::format("{:.4f} s", static_cast<double>(ns) / kNsPerSecond);
}

std::int64_t ioOf(const Series& series) {
  std::int64_t io_ns = 0;
  for (const Phase* phase : series) io_ns += phase->io.total();
  return io_ns;
}

void appendSeries(std::vector<Row>& rows, const PhaseModel& model, const Series& series) {
  const Phase& first = *series.front();
  const std::int64_t io_ns = ioOf(series);
  // In a file of one process, a stride of np requests is a coincidence.
  const bool is_shared =
      first.ranks.size() > 1 && model.files[static_cast<std::size_t>(first.file)].shared;
  const int sharers = is_shared ? model.processes : 1;
  for (std::size_t i = 0; i < first.operations.size(); ++i) {
    std::uint64_t weight = 0;
    for (const Phase* phase : series) weight += weightOf(*phase, phase->operations[i]);
    const bool head = i == 0;
    rows.push_back({head ? idsOf(series) : "", head ? fmt::format("{}", first.file) : "",
                    fmt::format("{} {}", first.ranks.size(), nameOf(first.operations[i].operation)),
                    repetitionText(series, i), requestText(series, i), exactSize(weight),
                    head ? secondsText(io_ns) : "", offsetText(series, i, sharers)});
  }
}

constexpr base::Word<model::PointerKind> kPointers[] = {
    {model::PointerKind::kExplicit, "explicit offset"},
    {model::PointerKind::kIndividual, "individual pointers"},
    {model::PointerKind::kShared, "shared pointer"}};

constexpr base::Word<model::AccessMode> kModes[] = {{model::AccessMode::kSequential, "sequential"},
                                                    {model::AccessMode::kStrided, "strided"},
                                                    {model::AccessMode::kNested, "nested strided"},
                                                    {model::AccessMode::kRandom, "random"}};

std::string mannerText(const Phase& phase) {
  std::string text = fmt::format(
      "{}, {}, {}, {}, {}", nameOf(phase.interface), base::wordOf(kPointers, phase.pointer),
      phase.collective ? "collective" : "non-collective",
      phase.blocking ? "blocking" : "non-blocking", base::wordOf(kModes, phase.mode));
  if (phase.has_view) text += fmt::format(", set_view with etype {}", phase.etype_bytes);
  if (phase.opened.atomic) text += ", atomic";
  for (const auto& [key, value] : phase.opened.hints) text += fmt::format(", {}={}", key, value);
  return text;
}

void appendManners(std::string& out, const std::vector<Series>& all) {
  std::vector<std::pair<std::string, std::string>> lines;  // in the order of the phases
  for (const Series& series : all) {
    if (series.front()->isMetadata()) continue;
    const std::string text = mannerText(*series.front());
    const auto same = std::find_if(lines.begin(), lines.end(),
                                   [&text](const auto& line) { return line.first == text; });
    if (same == lines.end()) {
      lines.emplace_back(text, idsOf(series));
    } else {
      same->second += "; " + idsOf(series);
    }
  }
  if (lines.empty()) return;
  out += "\nHow\n";
  std::vector<Row> rows = {{"access", "phases"}};
  for (const auto& [text, ids] : lines) rows.push_back({text, ids});
  base::appendTable(out, rows, base::Align::kLeft);
}

// Requests that are no one stride, outermost loop first.
void appendNested(std::string& out, const std::vector<Series>& all) {
  std::vector<Row> rows = {{"phase", "requests of a process"}};
  for (const Series& series : all) {
    for (const PhaseOperation& operation : series.front()->operations) {
      if (operation.nested.empty()) continue;
      const model::NestedRequests& first = operation.nested.front();
      std::string text = textOf(first.part);
      if (operation.nested.size() > 1) {
        text += fmt::format(" (process {}; {} ways in all)", first.ranks.front(),
                            operation.nested.size());
      }
      rows.push_back({idsOf(series), std::move(text)});
    }
  }
  if (rows.size() == 1) return;
  out += "\nNested requests: turns x distance, outermost first\n";
  base::appendTable(out, rows, base::Align::kLeft);
}

std::string headOf(std::string_view what, const PhaseModel& model) {
  std::string out = fmt::format("{} of {}\n", what, model.source);
  if (!model.command.empty()) {
    out += fmt::format("Application: {}\n", fmt::join(model.command, " "));
  }
  return out;
}

void appendLeftOut(std::string& out, const PhaseModel& model) {
  if (model.left_out.empty()) return;
  out += "\nNot in the model, or not exactly\n";
  for (const std::string& sentence : model.left_out) out += "  - " + sentence + '\n';
}

void appendFiles(std::string& out, const PhaseModel& model, const std::vector<Series>& all) {
  // A series is over files alike: the first of them stands for all.
  std::vector<Row> rows = {{"idF", "access", "size", "path"}};
  std::vector<int> shown;
  for (const Series& series : all) {
    if (std::find(shown.begin(), shown.end(), series.front()->file) == shown.end()) {
      shown.push_back(series.front()->file);
    }
  }
  std::sort(shown.begin(), shown.end());
  for (const int index : shown) {
    const model::ModelFile& file = model.files[static_cast<std::size_t>(index)];
    rows.push_back({fmt::format("{}", index), file.shared ? "shared" : "unique",
                    file.directory ? "directory" : exactSize(file.size_bytes), file.path});
  }
  out += "\nFiles\n";
  base::appendTable(out, rows, base::Align::kLeft);
  if (shown.size() < model.files.size()) {
    out += fmt::format("and {} whose names differ from these in numbers\n",
                       model.files.size() - shown.size());
  }
}

// Operations a second of all processes, over the time of the slowest.
std::string rateText(std::uint64_t operations, std::int64_t io_ns) {
  constexpr double kNsPerSecond = 1e9;
  if (io_ns <= 0) return "-";
  return fmt::format("{:.1f}",
                     static_cast<double>(operations) * kNsPerSecond / static_cast<double>(io_ns));
}

void appendData(std::string& out, const PhaseModel& model, const std::vector<Series>& all) {
  std::uint64_t weight = 0;
  std::int64_t io_ns = 0;
  std::vector<Row> rows = {
      {"phase", "idF", "operations", "rep", "request size", "weight", "I/O time", "f(initOffset)"}};
  for (const Series& series : all) {
    if (series.front()->isMetadata()) continue;
    appendSeries(rows, model, series);
    for (const Phase* phase : series) weight += phase->weight_bytes;
    io_ns += ioOf(series);
  }
  if (rows.size() == 1) return;
  out += "\nPhases (I/O time: of the process that spent most in the calls)\n";
  rows.push_back({"all", "", "", "", "", exactSize(weight), secondsText(io_ns), ""});
  base::appendTable(out, rows, base::Align::kLeft);
}

void appendMetadata(std::string& out, const std::vector<Series>& all) {
  std::uint64_t weight = 0;
  std::int64_t io_ns = 0;
  std::vector<Row> rows = {
      {"phase", "idF", "processes", "directories", "weight", "I/O time", "operations/s", "calls"}};
  for (const Series& series : all) {
    const Phase& first = *series.front();
    if (!first.isMetadata()) continue;
    std::uint64_t operations = 0;
    for (const Phase* phase : series) operations += phase->metadata.operations;
    std::vector<std::string> calls;
    for (const auto& [name, count] : first.calls) {
      calls.push_back(fmt::format("{} {}", count * series.size(), name));
    }
    if (first.metadata.creates > 0) {
      calls.push_back(fmt::format("{} with O_CREAT", first.metadata.creates * series.size()));
    }
    rows.push_back({idsOf(series), fmt::format("{}", first.file),
                    fmt::format("{}", first.ranks.size()),
                    fmt::format("{}", first.metadata.directories), fmt::format("{}", operations),
                    secondsText(ioOf(series)), rateText(operations, ioOf(series)),
                    fmt::format("{}", fmt::join(calls, ", "))});
    weight += operations;
    io_ns += ioOf(series);
  }
  if (rows.size() == 1) return;
  out +=
      "\nPhases of metadata (weight: calls of all processes; operations/s: weight by I/O time)\n";
  rows.push_back({"all", "", "", "", fmt::format("{}", weight), secondsText(io_ns), "", ""});
  base::appendTable(out, rows, base::Align::kLeft);
}

}  // namespace

// The strings of a model are text (core/base/printable.hpp).
std::string textOf(const PhaseModel& model) {
  std::uint64_t weight = 0;
  std::uint64_t operations = 0;
  for (const Phase& phase : model.phases) {
    weight += phase.weight_bytes;
    operations += phase.metadata.operations;
  }
  const auto directories = static_cast<std::uint64_t>(
      std::ranges::count(model.files, true, &model::ModelFile::directory));
  std::string out = headOf("Phase model", model);
  out += fmt::format(
      "{}, {}, {}; weight {} bytes{}; trace whole: {}\n",
      base::counted(static_cast<std::uint64_t>(model.processes), "process", "processes"),
      base::counted(model.files.size() - directories, "file", "files") +
          (directories == 0 ? "" : ", " + base::counted(directories, "directory", "directories")),
      base::counted(model.phases.size(), "phase", "phases"), weight,
      operations == 0 ? "" : " and " + base::counted(operations, "metadata call", "metadata calls"),
      model.source_whole ? "yes" : "no");
  if (model.io.total() > 0) {
    out += fmt::format(
        "I/O time {}, of the slowest rank ({}): {} data, {} metadata, {} sync; beside it {} of "
        "waiting for other ranks\n",
        secondsText(model.io.total()), model.slowest_rank, secondsText(model.io.data_ns),
        secondsText(model.io.metadata_ns), secondsText(model.io.sync_ns),
        secondsText(model.io.waiting_ns));
  }
  if (model.chain_ns) {
    out += fmt::format("chain {}: the longest path through the I/O of all ranks\n",
                       secondsText(*model.chain_ns));
  }
  if (!model.phases.empty()) {
    const std::vector<Series> all = seriesOf(model);
    appendFiles(out, model, all);
    appendData(out, model, all);
    appendMetadata(out, all);
    appendManners(out, all);
    appendNested(out, all);
  }
  appendLeftOut(out, model);
  return out;
}

namespace {

// Equal patterns, where they are few enough to be read.
std::vector<LocalPattern> patternsToPrint(const PhaseModel& model) {
  constexpr std::size_t kMaxLooked = 1'000'000;  // of which the equal ones are found
  std::size_t patterns = 0;
  for (const Phase& phase : model.phases) patterns += phase.operations.size() * phase.ranks.size();
  if (patterns <= kMaxLooked) {
    std::vector<LocalPattern> equal = localPatternsOf(model, Together::kEqual);
    if (equal.size() <= kMaxPatternLines) return equal;
  }
  return localPatternsOf(model, Together::kSimilar);
}

std::string displacementText(const LocalPattern& pattern) {
  if (pattern.displacement) return fmt::format("{}", *pattern.displacement);
  if (pattern.nested) return textOf(*pattern.nested);
  return pattern.mode == model::AccessMode::kRandom ? "random" : "contiguous";
}

std::string ticksText(const LocalPattern& pattern) {
  if (pattern.last_tick == 0) return "-";
  if (pattern.first_tick == pattern.last_tick) return fmt::format("{}", pattern.last_tick);
  return fmt::format("{}-{}", pattern.first_tick, pattern.last_tick);
}

Row rowOf(const LocalPattern& p) {
  return {numberListText(p.ranks),
          fmt::format("{}", p.file),
          p.call,
          fmt::format("{}{}", p.is_mean ? "~" : "", p.repetitions),
          p.smallest_bytes == p.largest_bytes
              ? fmt::format("{}", p.smallest_bytes)
              : fmt::format("{} to {}", p.smallest_bytes, p.largest_bytes),
          displacementText(p),
          textOf(p.init_offset, std::nullopt),
          p.etype_bytes ? fmt::format("etype {}", *p.etype_bytes) : "byte",
          ticksText(p),
          numberListText(p.phases)};
}

}  // namespace

std::vector<Row> localPatternRows(const std::vector<LocalPattern>& patterns) {
  std::vector<Row> rows = {{"idP", "idF", "operation", "rep", "request size", "disp", "offsetInit",
                            "unit", "ticks", "phases"}};
  for (const LocalPattern& pattern : patterns) rows.push_back(rowOf(pattern));
  return rows;
}

std::string localPatternText(const PhaseModel& model) {
  std::string out = headOf("Local access patterns", model);
  const std::vector<LocalPattern> patterns = patternsToPrint(model);
  if (patterns.empty()) return out + "\nno reads or writes\n";
  appendFiles(out, model, seriesOf(model));
  out +=
      "\nPatterns (request size: bytes; disp and offsetInit: etypes of the view, or bytes of the "
      "file)\n";
  base::appendTable(out, localPatternRows(patterns), base::Align::kLeft);
  appendLeftOut(out, model);
  if (std::ranges::any_of(patterns, &LocalPattern::is_mean)) {
    out += "rep with ~ is the mean of the processes: the model does not have that of each\n";
  }
  return out;
}

}  // namespace omnio::phases
