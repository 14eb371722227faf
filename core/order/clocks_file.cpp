#include "core/order/clocks_file.hpp"

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <sys/stat.h>

#include <string>
#include <utility>
#include <vector>

#include "core/base/document_file.hpp"
#include "core/base/json_document.hpp"
#include "core/wire/checksum.hpp"

namespace omnio::order {
namespace {

constexpr const char* kFormat = "omnio-clocks";
constexpr int kVersion = 1;

// Another one when a container is written on, replaced or missing, or a ring is read as well.
std::string stateOf(const tracefile::Trace& trace) {
  std::string text;
  std::vector<std::size_t> clocks(trace.processes().size());
  for (const tracefile::HostClock& host : trace.clocks()) {
    for (const std::size_t process : host.processes) clocks[process] = host.clock;
  }
  for (std::size_t i = 0; i < trace.processes().size(); ++i) {
    const tracefile::Process& process = *trace.processes()[i];
    struct stat s {};
    if (process.container.empty() || stat(process.container.c_str(), &s) != 0) s = {};
    text += fmt::format("{} {} {} {} {} {} {} {}\n", process.container.filename().native(),
                        s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec, process.token,
                        process.chunks.size(), process.rings.size(), clocks[i]);
  }
  return fmt::format("{:016x}", wire::checksum(text.data(), text.size()));
}

std::optional<std::int64_t> integer(const rapidjson::Value& value) {
  if (!value.IsInt64()) return {};
  return value.GetInt64();
}

std::optional<tracefile::KnownClock> clockOf(const rapidjson::Value& value) {
  if (!value.IsObject() || !value.HasMember("points") || !value["points"].IsArray()) return {};
  std::vector<tracefile::ClockCorrection::Point> points;
  for (const rapidjson::Value& point : value["points"].GetArray()) {
    if (!point.IsArray() || point.Size() != 3) return {};
    const auto own = integer(point[0]);
    const auto reference = integer(point[1]);
    const auto error = integer(point[2]);
    if (!own || !reference || !error) return {};
    points.push_back({.own_ns = *own, .reference_ns = *reference, .error_ns = *error});
  }
  const auto count = [&value](const char* key) {
    return value.HasMember(key) && value[key].IsUint64() ? value[key].GetUint64() : 0;
  };
  tracefile::KnownClock clock;
  clock.correction = tracefile::ClockCorrection(std::move(points));
  clock.moved_receives = count("moved_receives");
  clock.moved_most_ns = static_cast<std::int64_t>(count("moved_most_ns"));
  clock.early_receives = count("early_receives");
  return clock;
}

}  // namespace

std::optional<tracefile::KnownClocks> readClocks(const tracefile::Trace& trace) {
  const auto document = base::readJsonDocument(trace.directory() / kClocksFile);
  if (!document || !document->IsObject()) return {};
  const auto isText = [&document](const char* key, const std::string& text) {
    return document->HasMember(key) && (*document)[key].IsString() &&
           (*document)[key].GetString() == text;
  };
  if (!isText("format", kFormat) || !document->HasMember("version") ||
      !(*document)["version"].IsInt() || (*document)["version"].GetInt() != kVersion ||
      !isText("containers", stateOf(trace)) || !document->HasMember("clocks") ||
      !(*document)["clocks"].IsArray()) {
    return {};
  }
  tracefile::KnownClocks known;
  for (const rapidjson::Value& value : (*document)["clocks"].GetArray()) {
    known.emplace_back();
    if (value.IsNull()) continue;
    known.back() = clockOf(value);
    if (!known.back()) return {};
  }
  return known;
}

void writeClocks(const tracefile::Trace& trace, const tracefile::KnownClocks& known) {
  rapidjson::StringBuffer text;
  rapidjson::Writer<rapidjson::StringBuffer> json(text);
  json.StartObject();
  json.Key("format");
  json.String(kFormat);
  json.Key("version");
  json.Int(kVersion);
  json.Key("containers");
  json.String(stateOf(trace).c_str());
  json.Key("clocks");
  json.StartArray();
  for (const auto& clock : known) {
    if (!clock) {
      json.Null();
      continue;
    }
    json.StartObject();
    json.Key("points");
    json.StartArray();
    for (const auto& point : clock->correction.points()) {
      json.StartArray();
      json.Int64(point.own_ns);
      json.Int64(point.reference_ns);
      json.Int64(point.error_ns);
      json.EndArray();
    }
    json.EndArray();
    json.Key("moved_receives");
    json.Uint64(clock->moved_receives);
    json.Key("moved_most_ns");
    json.Int64(clock->moved_most_ns);
    json.Key("early_receives");
    json.Uint64(clock->early_receives);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  // It is found again next time where it cannot be kept.
  (void)base::writeDocument(trace.directory() / kClocksFile,
                            std::string_view(text.GetString(), text.GetSize()));
}

}  // namespace omnio::order
