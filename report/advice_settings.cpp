#include "report/advice_settings.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>

#include "core/base/command_line.hpp"
#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"

namespace omnio::report {
namespace {

constexpr base::Word<double AdviceSettings::*> kNames[] = {
    {&AdviceSettings::small_bytes, "small-bytes"},
    {&AdviceSettings::small_share, "small-share"},
    {&AdviceSettings::least_calls, "least-calls"},
    {&AdviceSettings::metadata_share, "metadata-share"},
    {&AdviceSettings::sync_share, "sync-share"},
    {&AdviceSettings::sync_bytes, "sync-bytes"},
    {&AdviceSettings::waiting_share, "waiting-share"},
    {&AdviceSettings::imbalance, "imbalance"},
    {&AdviceSettings::one_rank_share, "one-rank-share"},
    {&AdviceSettings::one_rank_bytes, "one-rank-bytes"},
    {&AdviceSettings::opens_each, "opens-each"},
    {&AdviceSettings::small_file_bytes, "small-file-bytes"},
    {&AdviceSettings::small_files, "small-files"},
    {&AdviceSettings::failed_share, "failed-share"},
    {&AdviceSettings::alignment_bytes, "alignment-bytes"},
    {&AdviceSettings::misaligned_share, "misaligned-share"},
    {&AdviceSettings::random_share, "random-share"},
    {&AdviceSettings::random_bytes, "random-bytes"},
    {&AdviceSettings::reread_share, "reread-share"},
    {&AdviceSettings::reread_bytes, "reread-bytes"},
    {&AdviceSettings::read_back_share, "read-back-share"},
    {&AdviceSettings::lock_share, "lock-share"},
    {&AdviceSettings::refused_share, "refused-share"},
    {&AdviceSettings::unseen_share, "unseen-share"},
    {&AdviceSettings::least_io_share, "least-io-share"},
    {&AdviceSettings::warning_share, "warning-share"},
    {&AdviceSettings::serious_share, "serious-share"}};

}  // namespace

base::Result<AdviceSettings> readAdviceSettings(const std::filesystem::path& path) {
  const base::Result<std::vector<base::ConfigLine>> lines = base::readConfigLines(path);
  if (!lines) return lines.failure();
  AdviceSettings settings;
  for (const base::ConfigLine& line : *lines) {
    const auto refused = [&](std::string_view why) {
      return base::failure(base::Code::kInvalid, "{}: line {}: {} {}",
                           base::printable(path.native()), line.number, base::printable(line.name),
                           why);
    };
    const auto member = base::valueOf(kNames, line.name);
    if (!member) return refused("is not a threshold of the advice");
    double value = 0;
    const char* const end = line.value.data() + line.value.size();
    const auto [stop, error] = std::from_chars(line.value.data(), end, value);
    if (error != std::errc{} || stop != end || !(value >= 0)) {
      return refused("needs a number that is not below 0");
    }
    settings.** member = value;
  }
  return settings;
}

}  // namespace omnio::report
