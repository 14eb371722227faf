#include "procurement/replay_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/json_reader.hpp"
#include "core/base/text_table.hpp"
#include "procurement/comparison.hpp"
#include "replay/report.hpp"

namespace omnio::procurement {
namespace {

using base::JsonNode;
using base::JsonObject;
using base::JsonReader;

double secondsAt(JsonObject& object, std::string_view key) {
  return static_cast<double>(object.natural(key)) / kNsInSecond;
}

}  // namespace

std::filesystem::path reportOf(const std::filesystem::path& directory) {
  return directory / replay::kReportName;
}

bool isAboutAsMuch(std::uint64_t one_bytes, std::uint64_t other_bytes) {
  const auto [less, more] = std::minmax(one_bytes, other_bytes);
  constexpr std::uint64_t kLeast = 4096;
  constexpr std::uint64_t kPart = 1000;
  return more - less <= std::max(kLeast, more / kPart);
}

bool isSameWork(const ReplayedWork& one, const ReplayedWork& other) {
  return one.operations == other.operations && isAboutAsMuch(one.read_bytes, other.read_bytes) &&
         isAboutAsMuch(one.written_bytes, other.written_bytes);
}

std::string textOf(const ReplayedWork& work) {
  return fmt::format("{} that read {} bytes and write {}",
                     base::counted(work.operations, "call", "calls"), work.read_bytes,
                     work.written_bytes);
}

base::Result<ReplayReport> readReplayReport(const std::filesystem::path& path) {
  JsonReader in(path, base::kMostBytesHeld);
  const JsonNode root = in.value();
  if (const auto read = in.finish(); !read) return read.failure();
  ReplayReport report;
  {
    JsonObject document(in, root, JsonObject::Others::kAllowed);
    document.format(replay::kReportFormat, replay::kReportVersion, "the report of a replay");
    report.schedule_digest = document.text("schedule_digest");
    report.timing = document.text("time_replay");
    report.target = document.text("target", "");
    report.is_traced = document.flag("traced");
    report.run_s = secondsAt(document, "makespan_with_sync_ns");
    if (const JsonNode* const io = document.find("io")) {
      JsonObject parts(in, *io, JsonObject::Others::kAllowed);
      ior::SummaryRun& run = report.io.emplace();
      run.data_s = secondsAt(parts, "data_ns");
      run.metadata_s = secondsAt(parts, "metadata_ns");
      run.sync_s = secondsAt(parts, "sync_ns");
      run.waiting_s = secondsAt(parts, "waiting_ns");
      run.io_s = run.data_s + run.metadata_s + run.sync_s;
      if (const JsonNode* const chain = parts.find("chain_ns")) {
        if (const auto ns = chain->number()) run.chain_s = *ns / kNsInSecond;
      }
    }
    JsonObject total(in, document.require("total"), JsonObject::Others::kAllowed);
    report.differences = total.natural("differences");
    report.work = {.operations = total.natural("operations"),
                   .read_bytes = total.natural("bytes_read"),
                   .written_bytes = total.natural("bytes_written")};
  }
  if (const auto read = in.finish(); !read) return read.failure();
  return report;
}

}  // namespace omnio::procurement
