// omnio pack: makes a finished trace small.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "cli/progress_line.hpp"
#include "core/base/json_writer.hpp"
#include "core/base/printable.hpp"
#include "core/base/progress.hpp"
#include "core/base/text_table.hpp"
#include "core/tracefile/pack_trace.hpp"

namespace omnio::cli {
namespace {

struct PackOptions {
  TraceSelection selection;
  tracefile::PackOptions pack{.jobs = tracefile::usualPackJobs()};
  bool json = false;
};

double perEvent(const tracefile::PackReport& report, std::uint64_t bytes) {
  return report.events == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(report.events);
}

std::string jsonOf(const tracefile::PackReport& report, const PackOptions& options) {
  const auto per_event = [&report](std::uint64_t bytes) {
    return report.events == 0 ? std::nullopt : std::optional(perEvent(report, bytes));
  };
  return base::jsonDocument("omnio-pack", 1, {.indent = 4, .decimals = 3}, [&](auto& json) {
    json.put("trace", base::printable(options.selection.trace));
    json.put("containers", report.containers);
    json.put("changed", report.changed);
    json.put("unreadable", report.kept.size());
    json.put("events", report.events);
    json.put("bytes_before", report.bytes_before);
    json.put("bytes_after", report.bytes_after);
    json.put("bytes_per_event_before", per_event(report.bytes_before));
    json.put("bytes_per_event_after", per_event(report.bytes_after));
  });
}

std::string sizeOf(std::uint64_t bytes) {
  constexpr std::uint64_t kKib = 1024;
  if (bytes < 10 * kKib) return fmt::format("{} bytes", bytes);
  if (bytes < 10 * kKib * kKib) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / kKib);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (kKib * kKib));
}

std::string textOf(const tracefile::PackReport& report, const PackOptions& options) {
  if (report.changed == 0) {
    return fmt::format("{}: already packed\n", base::printable(options.selection.trace));
  }
  std::string text =
      fmt::format("{} packed: {} to {}", base::counted(report.changed, "file", "files"),
                  sizeOf(report.bytes_before), sizeOf(report.bytes_after));
  if (report.events > 0) {
    text += fmt::format(
        ", {}, {:.2f} to {:.2f} bytes each", base::counted(report.events, "event", "events"),
        perEvent(report, report.bytes_before), perEvent(report, report.bytes_after));
  }
  return text + "\n";
}

int runPack(const PackOptions& options) {
  const ProgressLine line;
  base::ProgressStage stage("packing", "MiB", 0);
  tracefile::PackOptions wanted = options.pack;
  wanted.progress = [&stage](std::uint64_t done, std::uint64_t all) {
    stage.reach(done >> 20, all >> 20);
  };
  const base::Result<tracefile::PackReport> report =
      tracefile::packTrace(options.selection.trace, wanted);
  if (!report) return fail(report.failure());
  for (const std::string& kept : report->kept) {
    printFailure(fmt::format("{}; it is left as it is", kept));
  }
  for (const std::string& trouble : report->troubles) printFailure(trouble);
  if (!report->troubles.empty()) return kFailed;
  return options.json ? printJson(jsonOf(*report, options)) : printAll(textOf(*report, options));
}

}  // namespace

void addPackCommand(base::Command program) {
  const auto options = std::make_shared<PackOptions>();
  const base::Command command =
      program.subcommand("pack", "Compress a finished trace; every command reads it as before");
  options->selection.addTrace(command);
  command
      .option("--level", options->pack.level,
              fmt::format("zstd's compression level, {} to {} ({}); more is slower and a "
                          "little smaller",
                          tracefile::kMinPackLevel, tracefile::kMaxPackLevel,
                          tracefile::kDefaultPackLevel))
      .between(tracefile::kMinPackLevel, tracefile::kMaxPackLevel);
  command.option("--jobs", options->pack.jobs, "Files at once (the number of processors)")
      .between(1, tracefile::kMostPackJobs);
  command.flag("--assume-ended", options->pack.assume_ended,
               "Pack although a process of another node did not say that it ended: that node is "
               "gone");
  command.flag("--json", options->json, "As a JSON document");
  command.callback([options] { return runPack(*options); });
}

}  // namespace omnio::cli
