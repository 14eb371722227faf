#include <fmt/format.h>
#include <rapidjson/document.h>

#include "core/model/json_document.hpp"
#include "core/printable.hpp"
#include "replay/report.hpp"
#include "replay/verify.hpp"

namespace omnio::replay {

Result<ReplayIdentity> readReplayIdentity(const std::filesystem::path& trace_directory) {
  const std::filesystem::path path = trace_directory / kReportName;
  const auto refuse = [&path](std::string_view why) {
    return Failure{Code::kNotOurs, fmt::format("{}: {}", printable(path.native()), why)};
  };
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    return Failure{Code::kNotOurs, fmt::format("{}: not of a replay (there is no {} in it)",
                                               printable(trace_directory.native()), kReportName)};
  }
  Result<rapidjson::Document> document = model::readJsonDocument(path);
  if (!document) return document.failure();
  const rapidjson::Value& report = *document;
  const auto isText = [&](const char* key) {
    return report.HasMember(key) && report[key].IsString();
  };
  if (!report.IsObject() || !isText("format") ||
      std::string_view(report["format"].GetString()) != kReportFormat) {
    return refuse("not a replay's report");
  }
  if (!report.HasMember("version") || !report["version"].IsInt() ||
      report["version"].GetInt() != kReportVersion) {
    return refuse("a replay's report of another version");
  }
  if (!isText("tree") || !report.HasMember("threads") || !report["threads"].IsArray()) {
    return refuse("\"tree\" or \"threads\" is missing");
  }
  ReplayIdentity identity;
  identity.tree = bytesOf(report["tree"].GetString());
  identity.write_overwrite = report.HasMember("write_overwrite") &&
                             report["write_overwrite"].IsBool() &&
                             report["write_overwrite"].GetBool();
  if (report.HasMember("traced") && report["traced"].IsFalse()) {
    return refuse("the replay was not traced, so there is nothing to compare");
  }
  for (const rapidjson::Value& thread : report["threads"].GetArray()) {
    const auto isNumber = [&thread](const char* key) {
      return thread.IsObject() && thread.HasMember(key) && thread[key].IsUint();
    };
    if (!isNumber("rank") || !isNumber("thread") || !isNumber("pid") || !isNumber("tid")) {
      return refuse("an item of \"threads\" lacks \"rank\", \"thread\", \"pid\" or \"tid\"");
    }
    identity.threads[{static_cast<int>(thread["rank"].GetUint()),
                      static_cast<int>(thread["thread"].GetUint())}] = {
        .pid = thread["pid"].GetUint(), .tid = thread["tid"].GetUint()};
  }
  return identity;
}

}  // namespace omnio::replay
