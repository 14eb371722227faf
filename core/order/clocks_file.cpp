#include "core/order/clocks_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "core/base/document_file.hpp"
#include "core/base/json_reader.hpp"
#include "core/base/json_writer.hpp"
#include "core/order/host_offsets.hpp"
#include "core/wire/checksum.hpp"

namespace omnio::order {
namespace {

using base::JsonNode;
using base::JsonObject;
using base::JsonReader;

constexpr std::string_view kFormat = "omnio-clocks";
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

std::optional<tracefile::KnownClock> clockOf(JsonReader& in, const JsonNode& node) {
  if (node.as<std::nullptr_t>() != nullptr) return {};
  JsonObject object(in, node);
  std::vector<tracefile::ClockCorrection::Point> points;
  for (const JsonNode& item : object.list("points")) {
    const auto* point = item.as<JsonNode::List>();
    if (point == nullptr || point->size() != 3) {
      in.refuse(item.place, "a point has to be a list of three numbers");
      return {};
    }
    const auto number = [&](std::size_t i) {
      return base::integerOf(in, "points", (*point)[i], {});
    };
    points.push_back({.own_ns = number(0), .reference_ns = number(1), .error_ns = number(2)});
  }
  tracefile::KnownClock clock;
  clock.moved_receives = object.natural("moved_receives");
  clock.moved_most_ns = static_cast<std::int64_t>(object.natural("moved_most_ns"));
  clock.early_receives = object.natural("early_receives");
  if (!in.failed()) clock.correction = tracefile::ClockCorrection(std::move(points));
  return clock;
}

}  // namespace

std::optional<tracefile::KnownClocks> readClocks(const tracefile::Trace& trace) {
  JsonReader in(trace.directory() / kClocksFile, base::kMostBytesHeld);
  const JsonNode root = in.value();
  if (in.failed()) return {};
  tracefile::KnownClocks known;
  {
    JsonObject object(in, root);
    object.format(kFormat, kVersion, "the clocks of a trace");
    if (object.text("containers") != stateOf(trace)) object.refuse("of other containers");
    for (const JsonNode& clock : object.list("clocks")) known.push_back(clockOf(in, clock));
  }
  if (!in.finish()) return {};
  return known;
}

void writeClocks(const tracefile::Trace& trace, const tracefile::KnownClocks& known) {
  std::string text;
  base::JsonWriter json(text);
  json.object([&] {
    json.put("format", kFormat);
    json.put("version", kVersion);
    json.put("containers", stateOf(trace));
    json.list("clocks", known, [&](const auto& clock) {
      if (!clock) return json.null();
      json.object([&] {
        json.list("points", clock->correction.points(), [&](const auto& point) {
          json.value(std::array{point.own_ns, point.reference_ns, point.error_ns});
        });
        json.put("moved_receives", clock->moved_receives);
        json.put("moved_most_ns", clock->moved_most_ns);
        json.put("early_receives", clock->early_receives);
      });
    });
  });
  // It is found again next time where it cannot be kept.
  (void)base::writeDocument(trace.directory() / kClocksFile, text);
}

}  // namespace omnio::order
