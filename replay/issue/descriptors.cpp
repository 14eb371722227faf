#include "replay/issue/descriptors.hpp"

#include <fcntl.h>
#include <stdio_ext.h>
#include <time.h>

#include <new>
#include <utility>

#include "replay/issue/backend.hpp"
#include "replay/issue/libc.hpp"

namespace omnio::replay {
namespace {

constexpr std::int64_t kPauseUs = 50;

void sleepBriefly() {
  const timespec pause{.tv_sec = 0, .tv_nsec = kPauseUs * 1000};
  nanosleep(&pause, nullptr);
}

const char* modeOf(int fd) {
  const long flags = raw::systemCall(SYS_fcntl, fd, F_GETFL, 0);
  if (flags < 0) return nullptr;
  const bool append = (flags & O_APPEND) != 0;
  switch (flags & O_ACCMODE) {
    case O_RDONLY:
      return "r";
    case O_WRONLY:
      return append ? "a" : "w";
    default:
      return append ? "a+" : "r+";
  }
}

}  // namespace

Descriptors::Descriptors(std::uint32_t slots, std::int64_t patience_us)
    : count_(slots),
      pages_(std::make_unique<std::atomic<Page*>[]>(slots / kPageSlots + 1)),
      patience_us_(patience_us) {
  for (Slot& slot : all_gone_.slots) slot.fd = kGone;
}

Descriptors::~Descriptors() = default;

Descriptors::Page* Descriptors::madePage(std::uint32_t number) const {
  const std::lock_guard lock(pages_mutex_);
  Page* page = pages_[number].load();
  if (page != nullptr) return page;
  if (spare_pages_.empty()) {
    page = all_pages_.emplace_back(std::make_unique<Page>()).get();
  } else {
    page = spare_pages_.back();
    spare_pages_.pop_back();
    for (Slot& slot : page->slots) {
      slot.fd = kNotYet;
      slot.direct = false;
      slot.stream = nullptr;
    }
    page->gone = 0;
  }
  pages_[number].store(page, std::memory_order_release);
  return page;
}

void Descriptors::setGone(std::uint32_t slot) {
  Slot* const found = find(slot);
  if (found != nullptr && found->fd.exchange(kGone) != kGone) countGone(slot);
}

void Descriptors::countGone(std::uint32_t slot) {
  std::atomic<Page*>& place = pages_[slot / kPageSlots];
  Page* const page = place.load();
  if (++page->gone != kPageSlots) return;
  const std::lock_guard lock(pages_mutex_);
  place.store(&all_gone_, std::memory_order_release);
  spare_pages_.push_back(page);
}

int Descriptors::awaited(std::uint32_t slot) const {
  int fd = kNotYet;
  while (fd == kNotYet && patience_us_.load(std::memory_order_relaxed) > 0) {
    const std::int64_t begin_ns = nowNs();
    sleepBriefly();
    patience_us_ -= (nowNs() - begin_ns) / 1000;
    fd = fdNow(slot);
  }
  return fd == kNotYet ? -1 : fd;
}

FILE* Descriptors::stream(std::uint32_t slot) {
  const int number = fd(slot);
  Slot* found = find(slot);
  if (found == nullptr) return nullptr;
  FILE* stream = found->stream.load(std::memory_order_acquire);
  if (stream != nullptr || number < 0) return stream;
  const std::lock_guard lock(mutex_);
  stream = found->stream.load(std::memory_order_acquire);
  if (stream != nullptr) return stream;
  const char* mode = modeOf(number);
  if (mode == nullptr) return nullptr;
  stream = ownLibc().fdopen(number, mode);
  found->stream.store(stream, std::memory_order_release);
  return stream;
}

FILE* Descriptors::takeOut(Slot& slot) {
  FILE* stream = slot.stream.exchange(nullptr);
  while (stream != nullptr && slot.users != 0) sleepBriefly();
  return stream;
}

FILE* Descriptors::takeStream(std::uint32_t slot) {
  if (stream(slot) == nullptr) return nullptr;
  Slot& found = *find(slot);
  // Before the stream is away, or the next call would make another.
  const bool was_open = found.fd.exchange(kGone) != kGone;
  FILE* const stream = takeOut(found);
  if (was_open) countGone(slot);
  return stream;
}

void Descriptors::opened(std::uint32_t slot, int fd, FILE* stream, bool direct) {
  // A schedule that makes a descriptor of that number twice is refused: it was not closed before.
  Slot* found = find(slot);
  if (found == nullptr) return;
  found->direct.store(direct, std::memory_order_relaxed);
  found->stream.store(stream, std::memory_order_release);
  found->fd.store(fd, std::memory_order_release);
}

void Descriptors::gone(std::uint32_t slot) {
  Slot* found = find(slot);
  if (found == nullptr) return;
  found->stream.store(nullptr, std::memory_order_release);
  setGone(slot);
  const std::lock_guard lock(mutex_);
  buffers_.erase(slot);
  // Closed by its number. Another thread may be at work on it, so it stays where it is.
  if (auto directory = directories_.extract(slot)) directory.mapped().release();
}

void Descriptors::setDirect(std::uint32_t slot, bool direct) {
  if (Slot* found = find(slot)) found->direct.store(direct, std::memory_order_relaxed);
}

void Descriptors::moveStream(std::uint32_t from, std::uint32_t to) {
  Slot* old = find(from);
  Slot* next = find(to);
  if (old == nullptr || next == nullptr || old == next) return;
  if (FILE* stream = takeOut(*old)) next->stream.store(stream);
  const std::lock_guard lock(mutex_);
  if (auto buffer = buffers_.extract(from)) {
    buffer.key() = to;
    buffers_.insert(std::move(buffer));
  }
}

void Descriptors::forgetStream(std::uint32_t slot) {
  Slot* found = find(slot);
  if (found == nullptr) return;
  FILE* stream = takeOut(*found);
  if (stream == nullptr) return;
  __fpurge(stream);
  // The stream goes on pointing to its buffer.
  const std::lock_guard lock(mutex_);
  if (auto buffer = buffers_.extract(slot)) buffer.mapped().release();
}

void Descriptors::openedDirectory(std::uint32_t slot, DIR* directory) {
  if (find(slot) == nullptr) return;
  const std::lock_guard lock(mutex_);
  auto& kept = directories_[slot];
  if (kept == nullptr) kept = std::make_unique<OpenDirectory>();
  kept->stream = directory;
}

Descriptors::OpenDirectory* Descriptors::openDirectory(std::uint32_t slot, int number) {
  const auto known = directories_.find(slot);
  if (known != directories_.end()) return known->second.get();
  DIR* const stream = ownLibc().fdopendir(number);
  if (stream == nullptr) return nullptr;
  auto& made = directories_[slot] = std::make_unique<OpenDirectory>();
  made->stream = stream;
  return made.get();
}

Descriptors::DirectoryUse::DirectoryUse(Descriptors& descriptors, std::uint32_t slot) {
  const int number = descriptors.fd(slot);
  if (number < 0) return;
  const std::lock_guard lock(descriptors.mutex_);
  if (descriptors.find(slot)->fd.load() != number) return;  // closed in between
  directory_ = descriptors.openDirectory(slot, number);
  if (directory_ == nullptr) return;
  ++directory_->users;
  stream_ = directory_->stream;
}

DIR* Descriptors::takeDirectory(std::uint32_t slot) {
  const int number = fd(slot);
  if (number < 0) return nullptr;
  std::unique_ptr<OpenDirectory> taken;
  {
    const std::lock_guard lock(mutex_);
    Slot& found = *find(slot);
    if (found.fd.load() != number || openDirectory(slot, number) == nullptr) return nullptr;
    setGone(slot);
    taken = std::move(directories_.extract(slot).mapped());
  }
  while (taken->users != 0) sleepBriefly();
  return taken->stream;
}

char* Descriptors::bufferFor(std::uint32_t slot, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<char[]> buffer(new (std::nothrow) char[bytes]);
  if (buffer == nullptr) return nullptr;  // then the library takes one of its own
  auto& kept = buffers_[slot];
  // One that the stream has already must live as long as the stream: it is kept by it for good.
  if (kept != nullptr) kept.release();
  kept = std::move(buffer);
  return kept.get();
}

void Descriptors::flushStreams() {
  const std::lock_guard lock(pages_mutex_);
  for (const auto& page : all_pages_) {
    for (Slot& slot : page->slots) {
      FILE* const stream = slot.stream.load();
      if (stream == nullptr) continue;
      ownLibc().fflush(stream);
      // Data that could not be written are dropped here. Otherwise exit() would write them to a
      // descriptor number that may belong to another file by then.
      __fpurge(stream);
    }
  }
}

}  // namespace omnio::replay
