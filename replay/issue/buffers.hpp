// Memory that a thread reads into and writes from: touched before the clock starts, on page
// boundaries (O_DIRECT), used again by each call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.hpp"
#include "replay/plan/plan.hpp"
#include "replay/target/content.hpp"

namespace omnio::replay {

class Buffers {
 public:
  Buffers() = default;
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  ~Buffers();

  // For requests of up to this size. `seed` makes its content its own. Fails when there are
  // no addresses for it; memory itself has to be there (bytesTouched).
  base::Result<void> reserve(const LargestRequests& largest, std::uint64_t seed,
                             const Content& content = {});
  // The bytes that reserve() takes of the node's memory.
  static std::uint64_t bytesTouched(const LargestRequests& largest, const Content& content = {});

  // On a page boundary when `aligned`, as direct I/O wants it. Else as malloc gives large blocks,
  // just behind one: a request of whole pages then touches one page more, and where a file system
  // takes so many pages at a time (FUSE), it makes two of it.
  char* forRead(bool aligned) const { return aligned ? read_ : read_ + kBehindPage; }
  // The most that a call may read, or write. Requests that moved data in the recording fit.
  std::size_t readRoom() const { return read_bytes_ - kBehindPage; }
  std::size_t writeRoom() const { return write_bytes_ - slack_; }
  // `bytes` bytes of the content, valid until the next call. Unless that is of zeros or copies,
  // they are unlike what was written before, without NUL and newline. On a page boundary when
  // `aligned`. At most what reserve() was told; fewer where that is less.
  std::span<char> forWrite(std::size_t bytes, bool aligned);
  // The same for what must have no NUL in it, with one behind it. The caller may change it.
  std::span<char> forText(std::size_t bytes, bool aligned);

 private:
  // Behind the largest request: each call begins at another place, so that small writes differ too.
  static constexpr std::size_t kSlack = 64 * 1024;

  std::size_t placeFor(std::size_t bytes, bool aligned);
  void restore();  // what forText() has changed

  static constexpr std::size_t kBehindPage = 16;

  char* read_ = nullptr;
  std::size_t read_bytes_ = kBehindPage;
  char* write_ = nullptr;
  std::size_t write_bytes_ = kSlack;
  std::size_t slack_ = kSlack;
  Content content_;
  std::vector<bool> is_copy_;  // by block of what writes carry
  std::size_t next_ = 0;       // place, where the content is spread
  char* behind_ = nullptr;     // the text that was given out last
  char was_behind_ = '\0';
  std::span<char> text_;  // that stands in place of zeros
  std::size_t write_room_ = 0;
  std::uint64_t stamp_ = 0;
};

}  // namespace omnio::replay
