// omnio pack: makes a finished trace small.
#include <fmt/format.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <memory>
#include <string>

#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "core/base/command_line.hpp"
#include "core/base/printable.hpp"
#include "core/tracefile/pack_trace.hpp"

namespace omnio::cli {
namespace {

struct Options {
  std::string trace;
  int level = tracefile::kDefaultPackLevel;
  unsigned jobs = 0;  // 0: as many as are useful
  bool assume_ended = false;
  bool json = false;
};

// One line that is written over and over, on a terminal alone.
class ProgressLine {
 public:
  void show(std::uint64_t done, std::uint64_t all) {
    const auto now = std::chrono::steady_clock::now();
    if (now - shown_ < std::chrono::milliseconds(200)) return;
    shown_ = now;
    written_ = true;
    fmt::print(stderr, "\r{} of {} MiB", done >> 20, all >> 20);
  }
  ~ProgressLine() {
    if (written_) fmt::print(stderr, "\r\x1b[K");
  }

 private:
  std::chrono::steady_clock::time_point shown_ = std::chrono::steady_clock::now();
  bool written_ = false;
};

double perEvent(const tracefile::PackReport& report, std::uint64_t bytes) {
  return report.events == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(report.events);
}

std::string jsonOf(const tracefile::PackReport& report, const Options& options) {
  rapidjson::StringBuffer buffer;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> json(buffer);
  const auto put = [&json](const char* key, std::uint64_t number) {
    json.Key(key);
    json.Uint64(number);
  };
  const auto putPerEvent = [&](const char* key, std::uint64_t bytes) {
    json.Key(key);
    if (report.events == 0) {
      json.Null();
    } else {
      json.Double(perEvent(report, bytes));
    }
  };
  json.SetMaxDecimalPlaces(3);
  json.StartObject();
  json.Key("format");
  json.String("omnio-pack");
  put("version", 1);
  json.Key("trace");
  json.String(base::printable(options.trace).c_str());
  put("containers", report.containers);
  put("changed", report.changed);
  put("unreadable", report.kept.size());
  put("events", report.events);
  put("bytes_before", report.bytes_before);
  put("bytes_after", report.bytes_after);
  putPerEvent("bytes_per_event_before", report.bytes_before);
  putPerEvent("bytes_per_event_after", report.bytes_after);
  json.EndObject();
  return buffer.GetString() + std::string("\n");
}

std::string sizeOf(std::uint64_t bytes) {
  constexpr std::uint64_t kKib = 1024;
  if (bytes < 10 * kKib) return fmt::format("{} bytes", bytes);
  if (bytes < 10 * kKib * kKib) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / kKib);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (kKib * kKib));
}

std::string textOf(const tracefile::PackReport& report, const Options& options) {
  if (report.changed == 0) {
    return fmt::format("{}: already packed\n", base::printable(options.trace));
  }
  std::string text =
      fmt::format("{} file{} packed: {} to {}", report.changed, report.changed == 1 ? "" : "s",
                  sizeOf(report.bytes_before), sizeOf(report.bytes_after));
  if (report.events > 0) {
    text += fmt::format(", {} event{}, {:.2f} to {:.2f} bytes each", report.events,
                        report.events == 1 ? "" : "s", perEvent(report, report.bytes_before),
                        perEvent(report, report.bytes_after));
  }
  return text + "\n";
}

int work(const Options& options) {
  tracefile::PackOptions wanted{
      .level = options.level,
      .jobs = options.jobs == 0 ? tracefile::usualPackJobs() : options.jobs,
      .assume_ended = options.assume_ended,
      .progress = {}};
  const base::Result<tracefile::PackReport> report = [&] {
    ProgressLine line;
    if (isatty(STDERR_FILENO) != 0) {
      wanted.progress = [&line](std::uint64_t done, std::uint64_t all) { line.show(done, all); };
    }
    return tracefile::packTrace(options.trace, wanted);
  }();
  if (!report) {
    printFailure(report.failure().sentence);
    return kFailed;
  }
  for (const std::string& kept : report->kept) {
    printFailure(fmt::format("{}; it is left as it is", kept));
  }
  for (const std::string& trouble : report->troubles) printFailure(trouble);
  if (!report->troubles.empty()) return kFailed;
  return options.json ? printJson(jsonOf(*report, options)) : printAll(textOf(*report, options));
}

// CLI11's own check would print the range of a double.
base::WordCheck between(int least, int most) {
  return [least, most](const std::string& word) {
    int number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    const bool holds = error == std::errc() && end == word.data() + word.size() &&
                       number >= least && number <= most;
    return holds ? std::string()
                 : fmt::format("{} is not a whole number from {} to {}", base::printable(word),
                               least, most);
  };
}

}  // namespace

void addPackCommand(base::Command program, int& exit_code) {
  const auto options = std::make_shared<Options>();
  const base::Command command =
      program.subcommand("pack", "Compress a finished trace; every command reads it as before");
  command.option("TRACE", options->trace, "The directory that `omnio trace -o` made").required();
  command
      .option("--level", options->level,
              fmt::format("zstd's compression level, {} to {} ({}); more is slower and a "
                          "little smaller",
                          tracefile::kMinPackLevel, tracefile::kMaxPackLevel,
                          tracefile::kDefaultPackLevel))
      .check(between(tracefile::kMinPackLevel, tracefile::kMaxPackLevel));
  command.option("--jobs", options->jobs, "Files at once (the number of processors)")
      .check(between(1, static_cast<int>(tracefile::kMostPackJobs)));
  command.flag("--assume-ended", options->assume_ended,
               "Pack although a process of another node did not say that it ended: that node is "
               "gone");
  command.flag("--json", options->json, "As a JSON document");
  command.callback([options, &exit_code] { exit_code = work(*options); });
}

}  // namespace omnio::cli
