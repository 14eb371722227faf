#include "core/model/compact/times_file.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "core/base/printable.hpp"
#include "core/wire/checksum.hpp"

namespace omnio::model {
namespace {

using base::Code;

constexpr std::string_view kMagic = "omnitim1";
constexpr std::size_t kChunkValues = 32 * 1024;
constexpr std::size_t kBytes = sizeof(std::uint64_t);

template <typename T>
void append(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// What the index says of a stream, before its host and its chunks.
struct StreamHead {
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;
  std::int64_t recorder_ns = 0;
  double computing = -1;  // negative: not known
  std::uint32_t host_bytes = 0;
  std::uint32_t chunks = 0;
};

StreamHead headOf(const TimesStream& stream) {
  const ScheduleThread& thread = stream.thread;
  return {.pid = thread.pid,
          .tid = thread.tid,
          .recorder_ns = thread.recorder_ns,
          .computing = thread.computing ? computingWritten(*thread.computing) : -1,
          .host_bytes = static_cast<std::uint32_t>(thread.host.size()),
          .chunks = static_cast<std::uint32_t>(stream.chunks.size())};
}

// Takes plain values from bytes; all are 0 when it has failed.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : rest_(bytes) {}
  template <typename T>
  T take() {
    T value{};
    if (rest_.size() < sizeof value) {
      has_failed_ = true;
      return value;
    }
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  std::string_view take(std::size_t bytes) {
    if (rest_.size() < bytes) {
      has_failed_ = true;
      return {};
    }
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }
  bool isEmpty() const { return rest_.empty(); }
  bool hasFailed() const { return has_failed_; }

 private:
  std::string_view rest_;
  bool has_failed_ = false;
};

std::uint64_t folded(std::int64_t value) {
  return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
}

std::int64_t unfolded(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1 ^ (~(value & 1) + 1));
}

// The lengths of all values, then their lowest bytes, their second bytes, and so on: bytes of equal
// weight compress together.
std::string planesOf(std::span<const std::int64_t> values) {
  std::string planes;
  std::array<std::string, kBytes> bytes;
  for (const std::int64_t value : values) {
    const std::uint64_t number = folded(value);
    const auto length = (static_cast<std::size_t>(std::bit_width(number)) + 7) / 8;
    planes += static_cast<char>(length);
    for (std::size_t i = 0; i < length; ++i)
      bytes[i] += static_cast<char>(number >> (8 * i) & 0xFF);
  }
  for (const std::string& plane : bytes) planes += plane;
  return planes;
}

bool unpackPlanes(std::string_view planes, std::span<std::int64_t> values) {
  Bytes rest(planes);
  const std::string_view lengths = rest.take(values.size());
  if (rest.hasFailed()) return false;
  std::vector<std::uint64_t> numbers(values.size());
  for (std::size_t i = 0; i < kBytes; ++i) {
    const auto in_plane = std::ranges::count_if(
        lengths, [i](char length) { return static_cast<std::size_t>(length) > i; });
    const std::string_view plane = rest.take(static_cast<std::size_t>(in_plane));
    if (rest.hasFailed()) return false;
    std::size_t at = 0;
    for (std::size_t v = 0; v < numbers.size(); ++v) {
      if (static_cast<std::size_t>(lengths[v]) <= i) continue;
      numbers[v] |= std::uint64_t{static_cast<unsigned char>(plane[at++])} << (8 * i);
    }
  }
  std::ranges::transform(numbers, values.begin(), unfolded);
  return rest.isEmpty();
}

}  // namespace

bool isForeign(const std::filesystem::path& times) {
  std::error_code error;
  if (!std::filesystem::exists(times, error)) return false;
  std::ifstream in(times, std::ios::binary);
  std::string begin(kMagic.size(), '\0');
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return begin != kMagic;
}

std::filesystem::path placeOfSchedule(const std::filesystem::path& schedule) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(schedule, error);
  return error ? schedule : real;
}

std::filesystem::path timesPath(const std::filesystem::path& schedule) {
  std::filesystem::path path = schedule;
  path += ".times";
  return path;
}

TimesWriter::TimesWriter(std::filesystem::path path) : file_(std::move(path)) {
  file_.write(kMagic);
  written_ = kMagic.size();
}

void TimesWriter::beginStream(const ScheduleThread& thread) {
  flush();
  streams_.push_back({.thread = thread, .values = 0, .chunks = {}});
}

void TimesWriter::add(std::span<const std::int64_t> values) {
  for (const std::int64_t value : values) {
    values_.push_back(value);
    if (values_.size() == kChunkValues) flush();
  }
}

void TimesWriter::flush() {
  if (values_.empty()) return;
  constexpr int kLevel = 3;
  const std::string planes = planesOf(values_);
  packed_.resize(ZSTD_compressBound(planes.size()));
  const std::size_t size =
      ZSTD_compress(packed_.data(), packed_.size(), planes.data(), planes.size(), kLevel);
  TimesStream& stream = streams_.back();
  stream.chunks.push_back({.offset = written_,
                           .first = stream.values,
                           .bytes = static_cast<std::uint32_t>(size),
                           .values = static_cast<std::uint32_t>(values_.size()),
                           .checksum = wire::checksum(packed_.data(), size)});
  stream.values += values_.size();
  file_.write({packed_.data(), size});
  written_ += size;
  values_.clear();
}

base::Result<std::string> TimesWriter::complete() {
  flush();
  std::string index;
  for (const TimesStream& stream : streams_) {
    append(index, headOf(stream));
    index += stream.thread.host;
    for (const TimesChunk& chunk : stream.chunks) {
      append(index, chunk.offset);
      append(index, chunk.bytes);
      append(index, chunk.values);
      append(index, chunk.checksum);
    }
  }
  const std::uint64_t checksum = wire::checksum(index.data(), index.size());
  append(index, written_);
  append(index, checksum);
  index += kMagic;
  file_.write(index);
  if (const auto written = file_.complete(); !written) return written.failure();
  return fmt::format("{:016x}", checksum);
}

void TimesReader::fail(std::string_view why) {
  if (!failure_) failure_ = base::fileFailure(path_, Code::kDamaged, why);
}

base::Result<void> TimesReader::open(const std::filesystem::path& path, std::string_view digest) {
  path_ = path;
  file_ = {std::fopen(path.c_str(), "rbe"), &std::fclose};
  if (file_ == nullptr && errno == ENOENT) {
    return base::fileFailure(path, Code::kNotFound,
                             "the file with the times of this schedule is not there: copy or move "
                             "it together with the schedule");
  }
  if (file_ == nullptr) {
    return base::systemFailure(path, errno, "cannot read the times of the schedule from");
  }
  const auto damaged = [&] {
    return base::fileFailure(path, Code::kDamaged, "not a whole file of times");
  };
  struct Trailer {
    std::uint64_t index = 0;
    std::uint64_t checksum = 0;
    std::array<char, kMagic.size()> magic{};
  } trailer;
  if (fseeko(file_.get(), -static_cast<off_t>(sizeof trailer), SEEK_END) != 0) return damaged();
  const off_t end = ftello(file_.get());
  if (std::fread(&trailer, sizeof trailer, 1, file_.get()) != 1 ||
      std::string_view(trailer.magic.data(), trailer.magic.size()) != kMagic ||
      trailer.index > static_cast<std::uint64_t>(end)) {
    return damaged();
  }
  std::string index(static_cast<std::size_t>(end) - trailer.index, '\0');
  if (fseeko(file_.get(), static_cast<off_t>(trailer.index), SEEK_SET) != 0 ||
      std::fread(index.data(), 1, index.size(), file_.get()) != index.size() ||
      wire::checksum(index.data(), index.size()) != trailer.checksum) {
    return damaged();
  }
  if (fmt::format("{:016x}", trailer.checksum) != digest) {
    return base::fileFailure(
        path, Code::kInvalid,
        "the times of another schedule (the digests differ): take the file that was "
        "made with this schedule");
  }
  Bytes rest(index);
  while (!rest.isEmpty()) {
    TimesStream& stream = streams_.emplace_back();
    const auto head = rest.take<StreamHead>();
    stream.thread.pid = head.pid;
    stream.thread.tid = head.tid;
    stream.thread.recorder_ns = head.recorder_ns;
    if (head.computing >= 0) stream.thread.computing = head.computing;
    stream.thread.host = rest.take(head.host_bytes);
    for (std::uint32_t i = 0; i < head.chunks && !rest.hasFailed(); ++i) {
      TimesChunk chunk{.offset = rest.take<std::uint64_t>(), .first = stream.values};
      chunk.bytes = rest.take<std::uint32_t>();
      chunk.values = rest.take<std::uint32_t>();
      chunk.checksum = rest.take<std::uint64_t>();
      if (chunk.values > kChunkValues || chunk.offset > trailer.index ||
          chunk.bytes > trailer.index - chunk.offset) {
        return damaged();
      }
      stream.values += chunk.values;
      stream.chunks.push_back(chunk);
    }
    if (rest.hasFailed()) return damaged();
  }
  return {};
}

const TimesStream* TimesReader::stream(std::int64_t number) const {
  const bool exists = number >= 0 && static_cast<std::uint64_t>(number) < streams_.size();
  return exists ? &streams_[static_cast<std::size_t>(number)] : nullptr;
}

bool unpackTimes(const TimesChunk& chunk, std::string_view packed,
                 std::vector<std::int64_t>& values) {
  values.resize(chunk.values);
  if (wire::checksum(packed.data(), packed.size()) != chunk.checksum) return false;
  std::string planes(kChunkValues * (kBytes + 1), '\0');
  const std::size_t size =
      ZSTD_decompress(planes.data(), planes.size(), packed.data(), packed.size());
  return size > 0 && ZSTD_isError(size) == 0 && unpackPlanes({planes.data(), size}, values);
}

bool TimesReader::load(std::size_t chunk) {
  values_.clear();
  at_ = 0;
  const TimesStream& stream = streams_[stream_];
  if (failure_ || chunk >= stream.chunks.size()) return false;
  chunk_ = chunk;
  const TimesChunk& facts = stream.chunks[chunk];
  std::string packed(facts.bytes, '\0');
  if (fseeko(file_.get(), static_cast<off_t>(facts.offset), SEEK_SET) == 0 &&
      std::fread(packed.data(), 1, packed.size(), file_.get()) == packed.size() &&
      unpackTimes(facts, packed, values_)) {
    return true;
  }
  fail(fmt::format("damaged at byte {}", facts.offset));
  values_.clear();
  return false;
}

void TimesReader::seek(std::size_t stream, std::uint64_t value) {
  const TimesStream& to = streams_[stream];
  const auto next = std::ranges::upper_bound(to.chunks, value, {}, &TimesChunk::first);
  const auto chunk = static_cast<std::size_t>(next - to.chunks.begin());
  if (chunk == 0) {
    stream_ = stream;
    values_.clear();
    at_ = 0;
    chunk_ = to.chunks.size();
    return;
  }
  const bool is_loaded = stream == stream_ && chunk_ == chunk - 1 && !values_.empty();
  stream_ = stream;
  if (!is_loaded && !load(chunk - 1)) return;
  at_ = value - to.chunks[chunk - 1].first;
}

std::int64_t TimesReader::next() {
  if (at_ >= values_.size() && (values_.empty() || !load(chunk_ + 1))) return 0;
  return values_[at_++];
}

}  // namespace omnio::model
