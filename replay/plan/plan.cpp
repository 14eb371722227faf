#include "replay/plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/base/document_file.hpp"
#include "core/base/file.hpp"
#include "core/base/printable.hpp"

namespace omnio::replay {
namespace {

constexpr std::string_view kMagic = "omnio replay plan 2\n";
constexpr std::string_view kEnd = "end\n";

// One description of the parts serves both directions: what is written is what is read.
class Writer {
 public:
  std::string text;

  template <typename T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void item(const T& value) { text.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void item(const std::string& value) {
    item(value.size());
    text += value;
  }
  template <typename T>
  void item(const std::vector<T>& list) {
    item(list.size());
    if constexpr (std::is_arithmetic_v<T>) {
      text.append(reinterpret_cast<const char*>(list.data()), list.size() * sizeof(T));
    } else {
      for (const T& value : list) item(value);
    }
  }
  template <typename T>
  requires std::is_class_v<T>
  void item(const T& value);
};

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}
  bool ok() const { return ok_; }
  std::string_view rest() const { return rest_; }

  template <typename T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void item(T& value) { take(&value, sizeof value); }
  void item(std::string& value) {
    value.resize(count(1));
    take(value.data(), value.size());
  }
  template <typename T>
  void item(std::vector<T>& list) {
    list.resize(count(std::is_arithmetic_v<T> ? sizeof(T) : 1));
    if constexpr (std::is_arithmetic_v<T>) {
      take(list.data(), list.size() * sizeof(T));
    } else {
      for (T& value : list) item(value);
    }
  }
  template <typename T>
  requires std::is_class_v<T>
  void item(T& value);

 private:
  void take(void* out, std::size_t bytes) {
    if (bytes > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return;
    }
    if (bytes > 0) std::memcpy(out, rest_.data(), bytes);
    rest_.remove_prefix(bytes);
  }
  // A length that was checked against what is there.
  std::size_t count(std::size_t item_bytes) {
    std::size_t n = 0;
    item(n);
    if (n <= rest_.size() / item_bytes) return n;
    ok_ = false;
    rest_ = {};
    return 0;
  }

  std::string_view rest_;
  bool ok_ = true;
};

template <typename Io, typename T>
void parts(Io& io, T& value) {
  using Part = std::remove_const_t<T>;
  const auto all = [&io](auto&... items) { (io.item(items), ...); };
  if constexpr (std::same_as<Part, PlannedFile>) {
    all(value.location, value.role, value.exists, value.made_by_events, value.lines, value.size,
        value.written_end, value.line_ends, value.delimiters);
  } else if constexpr (std::same_as<Part, Preopened>) {
    all(value.slot, value.file, value.flags, value.offset);
  } else if constexpr (std::same_as<Part, Wait>) {
    all(value.recorded_end_ns, value.flags);
  } else if constexpr (std::same_as<Part, model::ScheduleThread>) {
    all(value.rank, value.thread, value.pid, value.tid, value.host, value.recorder_ns);
  } else if constexpr (std::same_as<Part, PlannedThread>) {
    all(value.recorded, value.operations, value.read_request, value.read_moved, value.write_request,
        value.write_failed, value.waits, value.raises);
  } else if constexpr (std::same_as<Part, PlannedRank>) {
    all(value.slots, value.made, value.preopened);
  } else if constexpr (std::same_as<Part, model::ScheduleGlobal>) {
    all(value.timing, value.write_overwrite, value.size_scale, value.time_scale, value.ranks,
        value.source, value.source_whole, value.source_events_missing, value.command,
        value.left_out);
  } else {
    static_assert(std::same_as<Part, Plan>);
    all(value.global, value.schedule, value.schedule_digest, value.files, value.ranks,
        value.threads, value.flag_waiters);
  }
}

template <typename T>
requires std::is_class_v<T>
void Writer::item(const T& value) { parts(*this, value); }

template <typename T>
requires std::is_class_v<T>
void Reader::item(T& value) { parts(*this, value); }

}  // namespace

std::filesystem::path programName(const std::filesystem::path& directory, std::size_t thread) {
  return directory / fmt::format("thread.{}", thread);
}

std::optional<base::Failure> writePlan(const std::filesystem::path& path, const Plan& plan) {
  Writer writer;
  writer.text = kMagic;
  parts(writer, plan);
  writer.text += kEnd;
  return base::writeDocument(path, writer.text);
}

base::Result<Plan> readPlan(const std::filesystem::path& path) {
  const base::Result<base::File> file = base::File::open(path);
  if (!file) return file.failure();
  std::string text(file->size(), '\0');
  text.resize(file->readAt(0, text.data(), text.size()));
  if (!text.starts_with(kMagic)) {
    return base::Failure{base::Code::kNotOurs,
                         base::printable(path.native()) + ": no plan of this replayer"};
  }
  Reader reader(std::string_view(text).substr(kMagic.size()));
  Plan plan;
  parts(reader, plan);
  if (!reader.ok() || reader.rest() != kEnd) {
    return base::Failure{base::Code::kDamaged,
                         base::printable(path.native()) + ": cut off or damaged"};
  }
  return plan;
}

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
