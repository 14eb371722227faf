#include "replay/plan/line_ends.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace omnio::replay {
namespace {

using calls::Role;

constexpr std::uint64_t kOffsetLimit = std::uint64_t{1} << 55;  // what fits beside the byte

std::int64_t numberOf(const model::ScheduleEvent& event, Role role, std::int64_t otherwise) {
  const int index = calls::indexOf(*event.row, role);
  return index < 0 ? otherwise : event.arguments[static_cast<std::size_t>(index)];
}

bool isStreamRead(const calls::Row& row) {
  return row.call_class == calls::Class::kRead && row.api == calls::Api::kStdio;
}

// A byte in place of one that must not stand there: any that is allowed. Where lines end with each
// of them, it stays.
char substitute(char byte, const std::string& delimiters) {
  char other = static_cast<char>(byte ^ 0x55);
  for (int tries = 0; tries < 256; ++tries) {
    if (other != '\0' && delimiters.find(other) == std::string::npos) return other;
    other = static_cast<char>(other + 1);
  }
  return byte;
}

}  // namespace

void LineEnds::note(const model::ScheduleEvent& event, std::uint32_t number, PlannedFile& file) {
  if (event.failed || event.offset < 0) return;
  const auto offset = static_cast<std::uint64_t>(event.offset);
  if (event.row->call_class == calls::Class::kWrite) {
    const std::uint64_t bytes =
        event.row->result == calls::Result::kBytes || event.row->result == calls::Result::kCount
            ? static_cast<std::uint64_t>(event.result)
            : event.request;
    std::uint64_t end = 0;
    if (!__builtin_add_overflow(offset, bytes, &end)) {
      file.written_end = std::max(file.written_end, end);
    }
    return;
  }
  if (!file.lines || !isStreamRead(*event.row) || event.result <= 0) return;
  if (!calls::does(*event.row, calls::Effect::kReadsLine)) return;
  const bool is_line = event.row->result == calls::Result::kLine;
  // fgets also ends when its room is full; whether a newline came last is not known then.
  if (is_line && event.result >= numberOf(event, Role::kSize, 0) - 1) return;
  const auto delimiter = static_cast<char>(numberOf(event, Role::kChar, '\n'));
  const std::uint64_t end = offset + static_cast<std::uint64_t>(event.result) - 1;
  if (end >= kOffsetLimit) return;
  if (ends_.size() <= number) ends_.resize(number + std::size_t{1});
  ends_[number].push_back(end << 8 | static_cast<unsigned char>(delimiter));
  if (file.delimiters.find(delimiter) == std::string::npos) file.delimiters += delimiter;
}

void LineEnds::moveInto(std::vector<PlannedFile>& files) {
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    std::sort(ends_[i].begin(), ends_[i].end());
    ends_[i].erase(std::unique(ends_[i].begin(), ends_[i].end()), ends_[i].end());
    ends_[i].shrink_to_fit();
    files[i].line_ends = std::move(ends_[i]);
  }
  ends_.clear();
  for (PlannedFile& file : files) {
    if (file.lines && file.delimiters.empty()) file.delimiters = "\n";
  }
}

void setLineEnds(const PlannedFile& file, std::uint64_t offset, std::span<char> content) {
  // By table: there may be gigabytes of it.
  std::array<char, 256> instead{};
  for (int i = 0; i < 256; ++i) {
    const auto byte = static_cast<char>(i);
    const bool stays = byte != '\0' && file.delimiters.find(byte) == std::string::npos;
    instead[static_cast<std::size_t>(i)] = stays ? byte : substitute(byte, file.delimiters);
  }
  for (char& byte : content) byte = instead[static_cast<unsigned char>(byte)];
  if (offset >= kOffsetLimit) return;
  auto end = std::lower_bound(file.line_ends.begin(), file.line_ends.end(), offset << 8);
  for (; end != file.line_ends.end() && (*end >> 8) < offset + content.size(); ++end) {
    content[(*end >> 8) - offset] = static_cast<char>(*end & 0xFF);
  }
}

}  // namespace omnio::replay
