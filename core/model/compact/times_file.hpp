// The times of a schedule's events, exactly, in a file beside it (docs/formats/schedule_times.md).
// A stream for each thread: what the schedule says of the thread, and its times as whole numbers in
// the order in which the schedule names them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/document_file.hpp"
#include "core/base/result.hpp"
#include "core/model/schedule.hpp"

namespace omnio::model {

struct TimesChunk {
  std::uint64_t offset = 0;  // in the file
  std::uint64_t first = 0;   // number of its first value
  std::uint32_t bytes = 0;
  std::uint32_t values = 0;
  std::uint64_t checksum = 0;
};

struct TimesStream {
  ScheduleThread thread;
  std::uint64_t values = 0;
  std::vector<TimesChunk> chunks;
};

class TimesWriter {
 public:
  explicit TimesWriter(std::filesystem::path path);

  // Streams are numbered from 0. Each ends where the next one begins.
  void beginStream(const ScheduleThread& thread);
  void add(std::span<const std::int64_t> values);
  // Writes all out. The file gets its name by finish(). Returns the digest that a schedule names.
  base::Result<std::string> complete();
  base::Result<void> finish() { return file_.finish(); }
  base::Result<void> state() { return file_.state(); }  // the failure so far
  const std::filesystem::path& draft() const { return file_.draft(); }
  std::uint64_t bytes() const { return file_.bytes(); }  // written so far

 private:
  void flush();

  base::DocumentFile file_;
  std::uint64_t written_ = 0;
  std::vector<TimesStream> streams_;
  std::vector<std::int64_t> values_;
  std::string packed_;
};

// The values of a chunk; false where these bytes are not those of it.
bool unpackTimes(const TimesChunk& chunk, std::string_view packed,
                 std::vector<std::int64_t>& values);

class TimesReader {
 public:
  // Fails with a sentence where the file is missing, damaged, or has another digest.
  base::Result<void> open(const std::filesystem::path& path, std::string_view digest);
  std::size_t streams() const { return streams_.size(); }
  // nullptr where the file has no stream of that number.
  const TimesStream* stream(std::int64_t number) const;

  // Goes to a value of a stream, which exists.
  void seek(std::size_t stream, std::uint64_t value);
  // The next value; 0 after the last one of the stream, and where the file is damaged.
  std::int64_t next();
  const std::optional<base::Failure>& failure() const { return failure_; }

 private:
  bool load(std::size_t chunk);
  void fail(std::string_view why);

  std::filesystem::path path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{nullptr, nullptr};
  std::vector<TimesStream> streams_;
  std::size_t stream_ = 0;
  std::size_t chunk_ = 0;
  std::vector<std::int64_t> values_;  // of that chunk; none: not loaded
  std::size_t at_ = 0;
  std::optional<base::Failure> failure_;
};

// Whether a file has that path which is not one of times: it is not ours, and is not replaced.
bool isForeign(const std::filesystem::path& times);

// The path of a schedule without links in it: its times are beside the file, not beside a link.
std::filesystem::path placeOfSchedule(const std::filesystem::path& schedule);
// The name of the file beside a schedule.
std::filesystem::path timesPath(const std::filesystem::path& schedule);

}  // namespace omnio::model
