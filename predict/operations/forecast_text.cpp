#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"
#include "predict/operations/forecast.hpp"

namespace omnio::predict {
namespace {

constexpr base::Word<Kind> kKinds[] = {
    {Kind::kOpen, "open"}, {Kind::kClose, "close"}, {Kind::kRead, "read"}, {Kind::kWrite, "write"}};

std::string signedTime(std::optional<double> ns) {
  if (!ns) return "?";
  return (*ns < 0 ? "-" : "") + base::humanNs(std::abs(*ns));
}

// The cells of a call, an offset, a size and a file.
void appendCells(std::vector<std::string>& row, Kind kind, std::int64_t offset, std::int64_t bytes,
                 bool has_offset, bool has_size, const std::string& path) {
  row.emplace_back(base::wordOf(kKinds, kind));
  const bool transfer = transfers(kind);
  const std::string_view unknown = transfer ? "?" : "-";
  row.push_back(transfer && has_offset ? fmt::format("{}", offset) : std::string(unknown));
  row.push_back(transfer && has_size ? fmt::format("{}", bytes) : std::string(unknown));
  row.push_back(base::printable(path));
}

std::vector<std::string> rowOf(const Forecast& forecast, const Forecast::Thread& thread,
                               const Forecast::Line& line) {
  std::vector<std::string> row;
  if (line.said) {
    const ProcessPredictor::Coming& one = line.said->operation;
    row.push_back(signedTime(forecast.until(thread, *line.said)));
    row.push_back(fmt::format("{:.2f}", one.weight));
    appendCells(row, one.kind, one.offset, one.bytes, true, true, line.said->path);
  } else {
    row.assign(6, "-");
  }
  row.emplace_back(!line.said || !line.came ? "" : line.isRight() ? "yes" : "no");
  if (line.came) {
    const Operation& other = line.came->operation;
    row.push_back(signedTime(forecast.until(*line.came)));
    appendCells(row, other.kind, other.offset, other.bytes, other.has_offset, other.has_size,
                line.came->path);
  } else {
    row.insert(row.end(), 5, "-");
  }
  return row;
}

void appendCounts(std::string& out, const Forecast& forecast, const Forecast::Thread& thread) {
  if (!forecast.window_ns) return;
  const auto number = [](std::uint64_t count, bool at_least) {
    return fmt::format("{}{}", at_least ? "at least " : "", count);
  };
  const Forecast::Counts said = forecast.said(thread, *forecast.window_ns);
  const Forecast::Counts came = forecast.came(thread, *forecast.window_ns);
  const std::string window = base::humanNs(static_cast<double>(*forecast.window_ns));
  fmt::format_to(
      std::back_inserter(out),
      "  within {}: {} predicted, {} came; before a pause of {}: {} predicted, {} came\n", window,
      number(said.within, said.within_at_least), number(came.within, came.within_at_least), window,
      number(said.before_pause, said.before_pause_at_least),
      number(came.before_pause, came.before_pause_at_least));
}

void appendThread(std::string& out, const Forecast& forecast, const Forecast::Thread& thread) {
  const auto into = std::back_inserter(out);
  const Operation& last = thread.last.operation;
  fmt::format_to(into, "\n{}{}, thread {}: {} before it ended a {}",
                 thread.rank ? fmt::format("Rank {}, ", *thread.rank) : "",
                 base::printable(thread.process), thread.thread,
                 base::humanNs(static_cast<double>(forecast.at_ns - last.end_ns)),
                 base::wordOf(kKinds, last.kind));
  if (transfers(last.kind) && last.has_size) fmt::format_to(into, " of {} bytes", last.bytes);
  if (transfers(last.kind) && last.has_offset) fmt::format_to(into, " at {}", last.offset);
  fmt::format_to(into, " of {}\n", base::printable(thread.last.path));
  appendCounts(out, forecast, thread);
  std::vector<std::vector<std::string>> rows = {{"in", "weight", "call", "offset", "size", "file",
                                                 "right", "came in", "call", "offset", "size",
                                                 "file"}};
  for (const Forecast::Line& line : thread.lines) {
    if (rows.size() > forecast.shown) break;
    if (line.said || line.came) rows.push_back(rowOf(forecast, thread, line));
  }
  base::appendTable(out, rows, base::Align::kRight);
}

void putOperation(base::JsonWriter& json, Kind kind, const std::string& path, bool has_offset,
                  std::int64_t offset, bool has_size, std::int64_t bytes) {
  const bool transfer = transfers(kind);
  json.put("call", base::wordOf(kKinds, kind));
  json.put("file", base::printable(path));
  json.put("offset", transfer && has_offset ? std::optional(offset) : std::nullopt);
  json.put("bytes", transfer && has_size ? std::optional(bytes) : std::nullopt);
}

void putCame(base::JsonWriter& json, const Forecast& forecast, const Forecast::Came& came) {
  const Operation& one = came.operation;
  putOperation(json, one.kind, came.path, one.has_offset, one.offset, one.has_size, one.bytes);
  json.put("start_ns", one.start_ns - forecast.run_start_ns);
  json.put("end_ns", one.end_ns - forecast.run_start_ns);
}

void putCounts(base::JsonWriter& json, std::string_view name, const Forecast::Counts& counts) {
  json.object(name, [&] {
    json.put("within", counts.within);
    json.put("within_at_least", counts.within_at_least);
    json.put("before_pause", counts.before_pause);
    json.put("before_pause_at_least", counts.before_pause_at_least);
  });
}

void putLine(base::JsonWriter& json, const Forecast& forecast, const Forecast::Thread& thread,
             const Forecast::Line& line) {
  if (line.said) {
    json.object("predicted", [&] {
      const ProcessPredictor::Coming& one = line.said->operation;
      putOperation(json, one.kind, line.said->path, true, one.offset, true, one.bytes);
      json.put("may_be_another_file", one.may_be_another);
      json.put("weight", one.weight);
      const std::optional<double> until_ns = forecast.until(thread, *line.said);
      json.put("until_ns", until_ns ? std::optional(std::llround(*until_ns)) : std::nullopt);
    });
  } else {
    json.key("predicted");
    json.null();
  }
  if (line.came) {
    json.object("came", [&] { putCame(json, forecast, *line.came); });
  } else {
    json.key("came");
    json.null();
  }
  json.put("right", line.isRight());
}

}  // namespace

std::string textOf(const Forecast& forecast) {
  constexpr double kSecond = 1e9;  // ns
  std::string out = fmt::format(
      "Trace {}: the next operations of {}, told at {:.9g} s of the run; and what came\n",
      base::printable(forecast.trace), base::counted(forecast.threads.size(), "thread", "threads"),
      static_cast<double>(forecast.at_ns - forecast.run_start_ns) / kSecond);
  for (const Forecast::Thread& thread : forecast.threads) appendThread(out, forecast, thread);
  return out;
}

std::string jsonOf(const Forecast& forecast) {
  return base::jsonDocument(
      "omnio-next-operations", 1, {.indent = 1, .lists_on_one_line = false, .decimals = 6},
      [&](auto& json) {
        json.object("trace", [&] {
          json.put("path", base::printable(forecast.trace));
          json.put("whole", forecast.wholeness.whole);
          json.put("reasons", forecast.wholeness.reasons);
        });
        json.put("at_ns", forecast.at_ns - forecast.run_start_ns);
        if (forecast.window_ns) json.put("within_ns", *forecast.window_ns);
        json.list("threads", forecast.threads, [&](const Forecast::Thread& thread) {
          json.object([&] {
            json.put("process", base::printable(thread.process));
            json.put("rank", thread.rank);
            json.put("thread", thread.thread);
            json.object("last", [&] { putCame(json, forecast, thread.last); });
            if (forecast.window_ns) {
              putCounts(json, "predicted", forecast.said(thread, *forecast.window_ns));
              putCounts(json, "came", forecast.came(thread, *forecast.window_ns));
            }
            json.key("next");
            json.beginList();
            std::size_t shown = 0;
            for (const Forecast::Line& line : thread.lines) {
              if (shown++ == forecast.shown) break;
              if (!line.said && !line.came) continue;
              json.object([&] { putLine(json, forecast, thread, line); });
            }
            json.endList();
          });
        });
      });
}

}  // namespace omnio::predict
