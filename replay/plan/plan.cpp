#include "replay/plan/plan.hpp"

#include <fmt/format.h>

#include <concepts>
#include <cstring>
#include <string_view>
#include <type_traits>

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
  if constexpr (std::same_as<Part, PlannedFile>) {
    io.item(value.location), io.item(value.role), io.item(value.exists);
    io.item(value.made_by_events), io.item(value.lines), io.item(value.size);
    io.item(value.written_end), io.item(value.line_ends), io.item(value.delimiters);
  } else if constexpr (std::same_as<Part, Preopened>) {
    io.item(value.slot), io.item(value.file), io.item(value.flags), io.item(value.offset);
  } else if constexpr (std::same_as<Part, Wait>) {
    io.item(value.recorded_end_ns), io.item(value.flags);
  } else if constexpr (std::same_as<Part, model::ScheduleThread>) {
    io.item(value.rank), io.item(value.thread), io.item(value.pid), io.item(value.tid);
    io.item(value.host), io.item(value.recorder_ns);
  } else if constexpr (std::same_as<Part, PlannedThread>) {
    parts(io, value.recorded);
    io.item(value.operations), io.item(value.read_request), io.item(value.read_moved);
    io.item(value.write_request), io.item(value.write_failed), io.item(value.waits),
        io.item(value.raises);
  } else if constexpr (std::same_as<Part, PlannedRank>) {
    io.item(value.slots), io.item(value.made), io.item(value.preopened);
  } else if constexpr (std::same_as<Part, model::ScheduleGlobal>) {
    io.item(value.timing), io.item(value.write_overwrite), io.item(value.size_scale);
    io.item(value.time_scale), io.item(value.ranks), io.item(value.source);
    io.item(value.source_whole), io.item(value.source_events_missing), io.item(value.command);
    io.item(value.left_out);
  } else {
    static_assert(std::same_as<Part, Plan>);
    parts(io, value.global);
    io.item(value.schedule), io.item(value.schedule_digest), io.item(value.files);
    io.item(value.ranks), io.item(value.threads), io.item(value.flag_waiters);
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

}  // namespace omnio::replay
