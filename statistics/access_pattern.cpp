#include "statistics/access_pattern.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>

#include "core/event/file_lock.hpp"

namespace omnio::stats {
namespace {

bool isRefusal(std::int64_t error) { return error == EAGAIN || error == EACCES; }

}  // namespace

void AccessPattern::Way::add(const Way& other) {
  placed += other.placed;
  unplaced += other.unplaced;
  first += other.first;
  consecutive += other.consecutive;
  forward += other.forward;
  checked += other.checked;
  misaligned += other.misaligned;
}

void AccessPattern::add(const AccessPattern& other) {
  read.add(other.read);
  write.add(other.write);
  switches += other.switches;
  read_back += other.read_back;
  read_back_bytes += other.read_back_bytes;
  reread_bytes += other.reread_bytes;
  read_begin = std::min(read_begin, other.read_begin);
  read_end = std::max(read_end, other.read_end);
  read_bytes += other.read_bytes;
  reread_before_bytes += other.reread_before_bytes;
  locks += other.locks;
  locks_refused += other.locks_refused;
  locks_ns += other.locks_ns;
  tiny_buffered += other.tiny_buffered;
}

void AccessPattern::beginAnew() {
  reread_before_bytes = rereadByAny();
  read_begin = UINT64_MAX;
  read_end = 0;
  read_bytes = 0;
}

void PatternCounter::beginRank(const std::vector<const tracefile::Process*>& processes) {
  offsets_.emplace(processes, paths_, sessions_);
  tiny_.clear();
}

PatternCounter::OfFile& PatternCounter::of(event::FileId file) {
  const auto place = static_cast<std::size_t>(file);
  if (place >= files_.size()) files_.resize(std::max(place + 1, paths_.size()));
  OfFile& found = files_[place];
  if (!found.is_touched) {
    found.is_touched = true;
    touched_.push_back(file);
  }
  return found;
}

void PatternCounter::take(const tracefile::Process& process, const event::Event& event,
                          bool counts) {
  const auto located = offsets_->take(process, event);
  if (event.file == event::kNoFile) return;
  if (!located && endsContents(event)) {
    OfFile& file = of(event.file);
    file.pattern.beginAnew();
    file = {.pattern = file.pattern, .is_touched = true};
    return;
  }
  if (located) {
    if (event.failed || event.bytes == 0 || !event::isOfStorage(event)) return;
    if (!tiny_.empty() && counts && event.handle != nullptr &&
        tiny_.contains({process.token, event.handle->definition.handle})) {
      ++of(event.file).pattern.tiny_buffered;
    }
    const event::Transfer& transfer = located->transfer;
    const bool is_known = transfer.is_known && transfer.bytes_known && transfer.offset >= 0;
    if (is_known) {
      place(event, static_cast<std::uint64_t>(transfer.offset), counts);
    } else if (counts) {
      AccessPattern& pattern = of(event.file).pattern;
      ++(event.row->call_class == calls::Class::kRead ? pattern.read : pattern.write).unplaced;
    }
    return;
  }
  if (calls::has(*event.row, calls::Role::kOwnBuffer)) setBuffer(process, event);
  if (event.row->call_class == calls::Class::kClose && event.handle != nullptr && !tiny_.empty()) {
    tiny_.erase({process.token, event.handle->definition.handle});
  }
  if (!counts || event.row->call_class != calls::Class::kMetadata) return;
  const auto lock = event::lockAskedFor(event);
  if (!lock || *lock == event::FileLock::Type::kNone) return;
  AccessPattern& pattern = of(event.file).pattern;
  ++pattern.locks;
  if (event.failed && isRefusal(event.result)) ++pattern.locks_refused;
  if (event.end_ns > event.start_ns) {
    pattern.locks_ns += static_cast<std::uint64_t>(event.end_ns - event.start_ns);
  }
}

// Whether the file of that name is empty afterwards, or another one, or none.
bool PatternCounter::endsContents(const event::Event& event) {
  if (event.failed) return false;
  if (event.row->call_class == calls::Class::kOpen && event.new_handle != nullptr) {
    return (event::openFlags(event) & (O_TRUNC | O_EXCL)) != 0;
  }
  if (calls::does(*event.row, calls::Effect::kSetsLength)) {
    return event::argumentOf(event, calls::Role::kLength) == 0;
  }
  return calls::does(*event.row, calls::Effect::kRemovesName);
}

// setvbuf, and what stands for it (setbuf, setbuffer). Without a buffer given, glibc keeps its own
// whatever the size, unless there is to be none.
void PatternCounter::setBuffer(const tracefile::Process& process, const event::Event& event) {
  if (event.failed || event.handle == nullptr) return;
  const bool has_buffer = event::argumentOf(event, calls::Role::kOwnBuffer) != 0;
  const bool has_mode = calls::has(*event.row, calls::Role::kNumber);
  const bool has_size = calls::has(*event.row, calls::Role::kSize);
  const bool is_unbuffered =
      has_mode ? event::argumentOf(event, calls::Role::kNumber) == _IONBF : !has_buffer;
  const std::int64_t size = has_size ? event::argumentOf(event, calls::Role::kSize) : BUFSIZ;
  constexpr std::int64_t kPage = 4096;
  const std::pair key(process.token, event.handle->definition.handle);
  if (is_unbuffered || (has_buffer && size < kPage)) {
    tiny_.insert(key);
  } else {
    tiny_.erase(key);
  }
}

void PatternCounter::place(const event::Event& event, std::uint64_t offset, bool counts) {
  using Last = OfFile::Last;
  OfFile& file = of(event.file);
  const bool reads = event.row->call_class == calls::Class::kRead;
  const std::uint64_t end = offset + event.bytes;
  AccessPattern& pattern = file.pattern;
  if (counts) {
    AccessPattern::Way& way = reads ? pattern.read : pattern.write;
    const std::uint64_t before = reads ? file.read_end : file.write_end;
    ++way.placed;
    if (!(reads ? file.has_read : file.has_written)) {
      ++way.first;
    } else if (offset == before) {
      ++way.consecutive;
    } else if (offset > before) {
      ++way.forward;
    }
    if (!calls::usesStream(*event.row)) {
      ++way.checked;
      if (offset % alignment_ != 0) ++way.misaligned;
    }
    if (file.last == (reads ? Last::kWrite : Last::kRead)) {
      ++pattern.switches;
      if (reads && offset < file.written_end && end > file.written_begin) {
        ++pattern.read_back;
        pattern.read_back_bytes += event.bytes;
      }
    }
    if (reads) {
      pattern.read_begin = std::min(pattern.read_begin, offset);
      pattern.read_end = std::max(pattern.read_end, end);
      pattern.read_bytes += event.bytes;
    }
  }
  file.last = reads ? Last::kRead : Last::kWrite;
  if (reads) {
    file.has_read = true;
    file.read_end = end;
  } else {
    file.has_written = true;
    file.write_end = end;
    file.written_begin = std::min(file.written_begin, offset);
    file.written_end = std::max(file.written_end, end);
  }
}

void PatternCounter::finish(OfFile& file) {
  file.pattern.reread_bytes = file.pattern.rereadByAny();
}

}  // namespace omnio::stats
