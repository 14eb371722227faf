#include "procurement/projection.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/base/json_reader.hpp"
#include "core/base/json_writer.hpp"
#include "core/base/printable.hpp"
#include "core/base/repeats.hpp"
#include "core/base/text_table.hpp"

namespace omnio::procurement {

using base::JsonNode;
using base::JsonObject;

base::Result<BriefAnswer> readAnswer(const std::filesystem::path& comparison) {
  base::JsonReader in(comparison, base::kMostBytesHeld);
  const JsonNode root = in.value();
  if (const auto read = in.finish(); !read) return read.failure();
  BriefAnswer answer;
  {
    JsonObject document(in, root, JsonObject::Others::kAllowed);
    answer.verdict = document.text("verdict");
    for (const JsonNode& item : document.list("ranking")) {
      JsonObject candidate(in, item, JsonObject::Others::kAllowed);
      BriefAnswer::Time& time = answer.times.emplace_back();
      time.candidate = candidate.text("name");
      JsonObject io(in, candidate.require("io_s"), JsonObject::Others::kAllowed);
      time.middle_s = io.require("middle").number().value_or(0);
    }
  }
  if (const auto read = in.finish(); !read) return read.failure();
  return answer;
}

double errorBandOf(const BriefAnswer& recorded, const BriefAnswer& scaled_to_itself) {
  double widest = 0;
  for (const BriefAnswer::Time& time : recorded.times) {
    const auto other =
        std::ranges::find(scaled_to_itself.times, time.candidate, &BriefAnswer::Time::candidate);
    if (other == scaled_to_itself.times.end()) continue;
    const double ratio =
        std::max(other->middle_s, base::kShortest) / std::max(time.middle_s, base::kShortest);
    widest = std::max(widest, std::abs(std::log(ratio)));
  }
  return std::exp(widest) - 1;
}

std::string textOf(const Projections& projections) {
  std::vector<std::vector<std::string>> table = {{"ranks", "times s", "projection"}};
  for (const Projection& each : projections.all) {
    std::vector<std::string> times;
    for (const BriefAnswer::Time& time : each.answer.times) {
      times.push_back(fmt::format("{} {:.6g}", time.candidate, time.middle_s));
    }
    table.push_back({std::to_string(each.ranks), fmt::format("{}", fmt::join(times, ", ")),
                     each.answer.verdict});
  }
  std::string text = "\n";
  base::appendTable(text, table, base::Align::kRight);
  return text + fmt::format(
                    "projections of {} recorded ranks; error band {:.1f} %: by so much the "
                    "recording differs from itself, scaled to its own number of ranks\n",
                    projections.recorded_ranks, 100 * projections.error_band);
}

std::string jsonOf(const Projections& projections) {
  return base::jsonDocument("omnio-projections", 1, {.indent = 1}, [&](base::JsonWriter& json) {
    json.put("recorded_ranks", projections.recorded_ranks);
    json.put("error_band", projections.error_band);
    json.list("projections", projections.all, [&](const Projection& each) {
      json.object([&] {
        json.put("ranks", each.ranks);
        json.put("verdict", each.answer.verdict);
        json.list("times", each.answer.times, [&](const BriefAnswer::Time& time) {
          json.object([&] {
            json.put("name", time.candidate);
            json.put("middle_s", time.middle_s);
          });
        });
      });
    });
  });
}

}  // namespace omnio::procurement
