// How many bytes the process has moved, by the kernel's account and by its own calls: where the two
// differ, bytes went by ways that no wrapper sees (core/wire/moved_bytes.hpp). /proc/self/io is
// read when the process begins and ends, and at most once a second while it records. Ways that the
// kernel does not count either (io_uring, mappings and asynchronous operations that are not
// followed to their end) are counted and told as facts of their own (core/wire/info.hpp,
// io_uring_rings and not_followed).
#pragma once

#include <cstdint>

#include "core/wire/moved_bytes.hpp"

namespace omnio::trace {

enum class Filter : std::uint8_t;  // handle_table.hpp

// At the beginning of an image. The kernel counts a forked child from 0.
void beginMovedBytes(bool is_forked);

// By a call that is seen and not recorded.
void countPassed(std::uint64_t read, std::uint64_t written);

// A call on a file that a default filter leaves out, and what it moved. Others are not counted.
void countLeftOutBy(Filter filter, std::uint64_t read, std::uint64_t written);

// A ring of io_uring was set up.
void countRing();
// A mapping or an asynchronous operation is not followed to its end.
void countNotFollowed();

// Writes the account of now into the container, which there has to be.
void tellMovedBytes();
// The same, unless that was done within the last second: what a process that is killed has left.
// Returns whether it was due.
bool tellMovedBytesNowAndThen();

// A child was started.
void countChild();
// This process is a forked child, which has no children yet.
void forgetChildren();

// While the process waits for a child, the kernel adds the child's bytes to its own. Lives while it
// does so, and tells how many. What other threads move meanwhile does not count, as far as it is
// known. In programs that are not traced too.
class ReapedBytes {
 public:
  ReapedBytes();
  ReapedBytes(const ReapedBytes&) = delete;
  ReapedBytes& operator=(const ReapedBytes&) = delete;
  // A child was waited for: takes it into the account of the process. Returns its bytes.
  wire::MovedBytes take();
  // The same of one that was not counted as started.
  wire::MovedBytes takeUncounted();

 private:
  bool is_known_ = false;
  wire::MovedBytes before_{};
};

// What this process moved itself, by the kernel's account, and in all images and with the children
// that it waited for; nothing where that is not known.
wire::MovedBytes ownKernelBytes(wire::MovedBytes& in_all);

// Whether a process that has recorded nothing has moved bytes all the same, and so many that it has
// to be told of (not where they may be those of children), or used ways that are not counted.
bool hasMovedUnseen();

}  // namespace omnio::trace
