#include "preprocess/scale/event_spool.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/integers.hpp"

namespace omnio::preprocess::scale {
namespace {

// As EventJson::appendAfter() writes them.
enum Measure : std::size_t { kGap, kDuration, kHasWork, kCompute, kCommunication, kMeasures };

struct Head {
  std::uint64_t id = 0;
  std::uint32_t kind = 0;
  std::uint32_t numbers = 0;
  std::uint32_t measures = 0;
  std::uint32_t waits = 0;
  std::uint64_t delays = 0;
};

struct StoredWait {
  std::uint64_t id = 0;
  std::int64_t reason = 0;
  std::int64_t compute_ns = 0;
  std::int64_t communication_ns = 0;
};

int openedWithoutName(const std::filesystem::path& directory) {
  const std::filesystem::path place = directory.empty() ? "." : directory;
  const int fd = open(place.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
  // Some file systems have no files without a name.
  std::string name = (place / ".omnio-XXXXXX").native();
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) unlink(name.c_str());
  return named;
}

}  // namespace

EventTimes EventTimes::of(const EventRecord& event) {
  if (event.measures.size() < kMeasures) return {};
  return {.gap_ns = event.measures[kGap],
          .duration_ns = event.measures[kDuration],
          .has_work = event.measures[kHasWork] != 0,
          .work = {.compute_ns = event.measures[kCompute],
                   .communication_ns = event.measures[kCommunication]}};
}

void EventTimes::store(EventRecord& event) const {
  if (event.measures.size() < kMeasures) return;
  event.measures[kGap] = gap_ns;
  event.measures[kDuration] = duration_ns;
  event.measures[kHasWork] = has_work ? 1 : 0;
  event.measures[kCompute] = work.compute_ns;
  event.measures[kCommunication] = work.communication_ns;
}

EventSpool::EventSpool(const std::filesystem::path& directory)
    : directory_(directory), file_(nullptr, &std::fclose) {
  const int fd = openedWithoutName(directory);
  if (fd >= 0) file_.reset(fdopen(fd, "w+b"));
  if (file_ == nullptr) error_ = errno;
}

void EventSpool::put(const void* bytes, std::size_t size) {
  if (error_ != 0 || size == 0) return;
  is_written_ = false;
  errno = 0;
  if (std::fwrite(bytes, size, 1, file_.get()) != 1) error_ = errno != 0 ? errno : EIO;
  end_ += size;
}

void EventSpool::take(void* bytes, std::size_t size) {
  auto* to = static_cast<char*>(bytes);
  while (size > 0 && error_ == 0) {
    const std::string_view there = blockAt(read_place_);
    const std::size_t piece = std::min(size, there.size());
    std::copy_n(there.data(), piece, to);
    to += piece;
    size -= piece;
    read_place_ += piece;
  }
}

std::string_view EventSpool::blockAt(std::uint64_t place) {
  constexpr std::size_t kBytes = 1 << 14;
  constexpr std::size_t kBlocks = 512;
  blocks_.resize(kBlocks);
  const std::uint64_t number = place / kBytes;
  Block& block = blocks_[base::mixed(number) % kBlocks];
  const std::size_t skipped = place % kBytes;
  if (block.number != number || block.bytes.size() <= skipped) {
    block.number = number;
    block.bytes.resize(kBytes);
    ssize_t got = 0;
    do {
      got = pread(fileno(file_.get()), block.bytes.data(), kBytes,
                  static_cast<off_t>(number * kBytes));
    } while (got < 0 && errno == EINTR);
    block.bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (block.bytes.size() <= skipped) {
      error_ = got < 0 ? errno : EIO;
      return {};
    }
  }
  return std::string_view(block.bytes).substr(skipped);
}

void EventSpool::append(const EventRecord& event) {
  putOne(event);
  for (const EventRecord& delay : event.delays) putOne(delay);
}

void EventSpool::putOne(const EventRecord& event) {
  const Head head{.id = event.id,
                  .kind = event.kind,
                  .numbers = static_cast<std::uint32_t>(event.numbers.size()),
                  .measures = static_cast<std::uint32_t>(event.measures.size()),
                  .waits = static_cast<std::uint32_t>(event.waits.size()),
                  .delays = event.delays.size()};
  put(&head, sizeof head);
  put(event.numbers.data(), event.numbers.size() * sizeof(std::int64_t));
  put(event.measures.data(), event.measures.size() * sizeof(std::int64_t));
  for (const model::Wait& wait : event.waits) {
    const StoredWait stored{.id = wait.id,
                            .reason = static_cast<std::int64_t>(wait.reason),
                            .compute_ns = wait.work.compute_ns,
                            .communication_ns = wait.work.communication_ns};
    put(&stored, sizeof stored);
  }
}

void EventSpool::read(std::uint64_t& place, EventRecord& event) {
  if (!std::exchange(is_written_, true)) static_cast<void>(state());
  read_place_ = place;
  takeOne(event);
  for (EventRecord& delay : event.delays) takeOne(delay);
  place = read_place_;
}

void EventSpool::takeOne(EventRecord& event) {
  Head head;
  take(&head, sizeof head);
  if (error_ != 0) head = {};
  event.id = head.id;
  event.kind = head.kind;
  event.numbers.resize(head.numbers);
  event.measures.resize(head.measures);
  event.waits.resize(head.waits);
  event.delays.resize(head.delays);
  take(event.numbers.data(), event.numbers.size() * sizeof(std::int64_t));
  take(event.measures.data(), event.measures.size() * sizeof(std::int64_t));
  for (model::Wait& wait : event.waits) {
    StoredWait stored;
    take(&stored, sizeof stored);
    wait = {.id = stored.id,
            .reason = static_cast<model::Reason>(stored.reason),
            .work = {.compute_ns = stored.compute_ns, .communication_ns = stored.communication_ns}};
  }
  if (error_ != 0) event = {};
}

base::Result<void> EventSpool::state() {
  if (error_ == 0 && std::fflush(file_.get()) != 0) error_ = errno;
  if (error_ == 0) return {};
  return base::systemFailure(directory_.empty() ? "." : directory_, error_,
                             "cannot keep the events of the schedule in");
}

}  // namespace omnio::preprocess::scale
