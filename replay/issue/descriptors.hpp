// The descriptors of a recorded rank: which real descriptor or stream stands for each of the
// schedule's. Threads of the rank share it.
#pragma once

#include <dirent.h>
#include <stdio.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "replay/plan/instruction.hpp"

namespace omnio::replay {

class Descriptors {
 public:
  // For descriptors that other threads of the rank make without an edge that says so.
  static constexpr std::int64_t kPatienceUs = 5'000'000;

  explicit Descriptors(std::uint32_t slots, std::int64_t patience_us = kPatienceUs);
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;
  ~Descriptors();

  // A stream that stays open as long as this lives.
  class StreamUse;
  // A stream of a directory that is not closed for as long as this lives.
  class DirectoryUse;

  // The real descriptor, -1 when it is closed or its call failed. Another thread may be about to
  // make it: that is waited for, but not for ever (`patience_us`, for all such waits of the rank
  // together); -1 after that.
  int fd(std::uint32_t slot) const {
    const int fd = fdNow(slot);
    return fd == kNotYet ? awaited(slot) : fd;
  }
  // The stream of a descriptor that is to be closed: no call finds it any more, and those that work
  // on it have returned.
  FILE* takeStream(std::uint32_t slot);
  bool isDirect(std::uint32_t slot) const {
    const Slot* found = find(slot);
    return found != nullptr && found->direct.load(std::memory_order_relaxed);
  }

  void opened(std::uint32_t slot, int fd, FILE* stream, bool direct);
  // The call that should have made it failed, or it is not there any more.
  void gone(std::uint32_t slot);
  void setDirect(std::uint32_t slot, bool direct);
  // A new file took the number of `from` (dup2): its stream goes on with `to`.
  void moveStream(std::uint32_t from, std::uint32_t to);
  // Its stream must not be flushed any more: the descriptor below it is closed.
  void forgetStream(std::uint32_t slot);
  // The stream that a call has made of a directory; before opened(), after which others find it.
  void openedDirectory(std::uint32_t slot, DIR* directory);
  // The stream of a directory that is to be closed: no call finds it any more, and those that work
  // on it have returned. nullptr where the descriptor is not one of a directory.
  DIR* takeDirectory(std::uint32_t slot);
  // Memory for setvbuf, as long as the stream lives; nullptr when there is none.
  char* bufferFor(std::uint32_t slot, std::size_t bytes);

  // Writes out what streams hold that the application left open, as its end would have done.
  void flushStreams();

 private:
  struct Slot {
    std::atomic<int> fd{kNotYet};
    std::atomic<bool> direct{false};
    std::atomic<FILE*> stream{nullptr};
    std::atomic<std::uint32_t> users{0};  // calls at work on the stream
  };
  struct OpenDirectory {
    DIR* stream = nullptr;
    std::atomic<std::uint32_t> users{0};  // calls at work on it
  };
  static constexpr int kNotYet = -2;
  static constexpr int kGone = -1;

  // The descriptor once another thread has made it.
  int awaited(std::uint32_t slot) const;
  int fdNow(std::uint32_t slot) const {
    while (true) {
      const Slot* found = find(slot);
      if (found == nullptr) return -1;
      const int fd = found->fd.load(std::memory_order_acquire);
      // The page may have become that of others in between.
      if (find(slot) == found) return fd;
    }
  }
  static FILE* takeOut(Slot& slot);
  // The stream of a directory, made now where there is none yet; null where the descriptor is not
  // one of a directory. Under the mutex.
  OpenDirectory* openDirectory(std::uint32_t slot, int number);
  // Where the descriptor has no stream yet (a redirected stdout), it gets one. nullptr as -1.
  FILE* stream(std::uint32_t slot);

  // Slots are in pages. A page is made when it is needed first, and used for others when all of its
  // descriptors are closed: a loop may make descriptors without end. Pages live as long as this,
  // for those who still look at one.
  static constexpr std::uint32_t kPageSlots = 1024;
  struct Page {
    std::array<Slot, kPageSlots> slots{};
    std::atomic<std::uint32_t> gone{0};  // slots whose descriptor is closed
  };
  Slot* find(std::uint32_t slot) const {
    if (slot >= count_) return nullptr;
    Page* page = pages_[slot / kPageSlots].load(std::memory_order_acquire);
    if (page == nullptr) page = madePage(slot / kPageSlots);
    return &page->slots[slot % kPageSlots];
  }
  Page* madePage(std::uint32_t number) const;
  void setGone(std::uint32_t slot);
  void countGone(std::uint32_t slot);

  std::uint32_t count_ = 0;
  std::unique_ptr<std::atomic<Page*>[]> pages_;
  Page all_gone_{};                 // in place of those that are used for others
  mutable std::mutex pages_mutex_;  // of what follows
  mutable std::vector<std::unique_ptr<Page>> all_pages_;
  mutable std::vector<Page*> spare_pages_;
  mutable std::atomic<std::int64_t> patience_us_;
  std::mutex mutex_;  // of what follows, and of making streams
  std::unordered_map<std::uint32_t, std::unique_ptr<char[]>> buffers_;
  // Those that the application left open stay so: their numbers are not known to be theirs later.
  std::unordered_map<std::uint32_t, std::unique_ptr<OpenDirectory>> directories_;
};

class Descriptors::StreamUse {
 public:
  StreamUse(Descriptors& descriptors, std::uint32_t slot) : slot_(descriptors.find(slot)) {
    // Whoever takes the stream out looks at the users after that: one of the two sees the other.
    if (slot_ != nullptr) ++slot_->users;
    stream_ = descriptors.stream(slot);
  }
  StreamUse(const StreamUse&) = delete;
  StreamUse& operator=(const StreamUse&) = delete;
  ~StreamUse() {
    if (slot_ != nullptr) --slot_->users;
  }
  FILE* get() const { return stream_; }

 private:
  Slot* slot_ = nullptr;
  FILE* stream_ = nullptr;
};

class Descriptors::DirectoryUse {
 public:
  DirectoryUse(Descriptors& descriptors, std::uint32_t slot);
  DirectoryUse(const DirectoryUse&) = delete;
  DirectoryUse& operator=(const DirectoryUse&) = delete;
  ~DirectoryUse() {
    if (directory_ != nullptr) --directory_->users;
  }
  DIR* get() const { return stream_; }

 private:
  OpenDirectory* directory_ = nullptr;
  DIR* stream_ = nullptr;
};

}  // namespace omnio::replay
