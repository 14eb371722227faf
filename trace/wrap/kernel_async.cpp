// The kernel's asynchronous I/O, by the libraries for it: libaio is recorded. io_uring is counted
// alone: liburing maps its rings by system calls of its own, and moves bytes by memory. (Rings that
// a program maps by itself: mappings.cpp.)
#include <linux/aio_abi.h>
#include <sys/uio.h>

#include "trace/runtime/moved_bytes.hpp"
#include "trace/runtime/sys/scratch.hpp"
#include "trace/wrap/library_call.hpp"
#include "trace/wrap/operations.hpp"
#include "trace/wrap/signature.hpp"

namespace omnio::trace {
namespace {

// False where it moves no bytes, or its words cannot be read: the call then says so.
bool operationOf(const iocb* block, AsyncOperation& operation) {
  if (!isReadableMemory(block, sizeof *block)) return false;
  operation = {.bytes = block->aio_nbytes,
               .offset = block->aio_offset,
               .fd = static_cast<int>(block->aio_fildes)};
  const auto code = block->aio_lio_opcode;
  if (code == IOCB_CMD_PREADV || code == IOCB_CMD_PWRITEV) {
    constexpr std::uint64_t kMostPieces = 1024;  // UIO_MAXIOV
    const auto* const pieces = reinterpret_cast<const iovec*>(block->aio_buf);
    if (block->aio_nbytes > kMostPieces ||
        !isReadableMemory(pieces, block->aio_nbytes * sizeof *pieces)) {
      return false;
    }
    operation.bytes = 0;
    for (std::uint64_t i = 0; i < block->aio_nbytes; ++i) operation.bytes += pieces[i].iov_len;
  }
  const bool reads = code == IOCB_CMD_PREAD || code == IOCB_CMD_PREADV;
  operation.kind = reads ? OperationKind::kRead : OperationKind::kWrite;
  return reads || code == IOCB_CMD_PWRITE || code == IOCB_CMD_PWRITEV;
}

template <typename Real>
long submit(Real real, long context, long count, iocb** blocks) {
  Thread& self = thread;
  constexpr std::size_t kOnStack = 16;
  constexpr long kMost = 65536;
  const auto asked = static_cast<std::size_t>(count > 0 && count <= kMost ? count : 0);
  const Scratch<AsyncOperation, kOnStack> begun(asked);
  if (!begun || asked == 0 || !mayRecord(self) || !isActive() ||
      !isReadableMemory(blocks, asked * sizeof *blocks)) {
    return real();
  }
  // Kept aside: another thread may see the end of one before the call returns.
  for (std::size_t i = 0; i < asked; ++i) {
    AsyncOperation& operation = begun[i];
    if (operationOf(blocks[i], operation)) {
      operation.context = context;
      if (addOperation(blocks[i], operation)) continue;
    }
    operation = {};
  }
  wire::EventTimes times;
  times.start = leaveThinking(self);
  const long taken = real();
  const int error = errno;
  times.end = ticks();
  const auto known = [&begun](std::size_t i) { return begun[i].number != 0; };
  std::int64_t left = 0;
  for (std::size_t i = 0; i < asked; ++i) {
    if (static_cast<long>(i) < taken) {
      left += known(i) ? 1 : 0;
    } else if (known(i)) {
      takeOutOperation(blocks[i], begun[i]);
    }
  }
  for (std::size_t i = 0; i < asked && left > 0; ++i) {
    if (!known(i)) continue;
    --left;
    if (begun[i].kind == OperationKind::kRead) {
      recordOperation<CallId::io_read>(self, times, begun[i], false, 0, 0, left);
    } else {
      recordOperation<CallId::io_write>(self, times, begun[i], false, 0, 0, left);
    }
    times.start = times.end;
  }
  errno = error;
  return taken;
}

template <typename Real>
long reap(Real real, const io_event* events) {
  Thread& self = thread;
  if (!mayRecord(self) || !isActive()) return real();
  wire::EventTimes times;
  times.start = leaveThinking(self);
  const long count = real();
  const int error = errno;
  times.end = ticks();
  if (count == 0) noteUnderWay(self, times);
  std::int64_t left = 0;
  const auto blockOf = [](const io_event& event) {
    return reinterpret_cast<const void*>(event.obj);
  };
  for (long i = 0; i < count; ++i) left += isKnownOperation(blockOf(events[i])) ? 1 : 0;
  if (left > 0) times.start = startOfEnd(self, times);
  for (long i = 0; i < count; ++i) {
    AsyncOperation operation;
    if (left == 0 || !takeOutOperation(blockOf(events[i]), operation)) continue;
    --left;
    const auto result = static_cast<std::int64_t>(events[i].res);
    const bool failed = result < 0;
    if (operation.kind == OperationKind::kRead) {
      recordOperation<CallId::io_read_end>(self, times, operation, failed,
                                           failed ? -result : result, 0, left);
    } else {
      recordOperation<CallId::io_write_end>(self, times, operation, failed,
                                            failed ? -result : result, 0, left);
    }
    times.start = times.end;
  }
  errno = error;
  return count;
}

// io_setup and io_destroy, which are about no file.
template <CallId kCall, typename Real, typename Context>
long change(Real real, std::int64_t most, Context context) {
  constexpr const calls::Row& row = calls::rowOf(kCall);
  Thread& self = thread;
  if (!mayRecord(self) || !isActive()) return real();
  wire::EventTimes times;
  times.start = leaveThinking(self);
  const long result = real();
  const int error = errno;
  times.end = ticks();
  wire::Arguments<kCall> numbers{};
  if constexpr (calls::has(row, calls::Role::kNumber)) {
    numbers[calls::indexOf(row, calls::Role::kNumber)] = most;
  }
  numbers[calls::indexOf(row, calls::Role::kContext)] = result == 0 ? context() : 0;
  record<kCall>(self, times, result != 0, numbers, 0, result < 0 ? -result : result, Subject{});
  errno = error;
  return result;
}

long countedRing(long result) {
  if (result >= 0 && mayRecord(thread) && isActive()) countRing();
  return result;
}

}  // namespace
}  // namespace omnio::trace

using namespace omnio::trace;

// libaio's functions return int; what is above it in the register means nothing to their callers.
OMNIO_OF_LIBRARY(io_setup, "libaio.so.1",
                 change<CallId::io_setup>([call] { return static_cast<int>(call()); },
                                          static_cast<int>(a),
                                          [b] { return *reinterpret_cast<const long*>(b); }))
OMNIO_OF_LIBRARY(io_destroy, "libaio.so.1",
                 change<CallId::io_destroy>([call] { return static_cast<int>(call()); }, 0,
                                            [a] { return a; }))
OMNIO_OF_LIBRARY(io_submit, "libaio.so.1",
                 submit([call] { return static_cast<int>(call()); }, a, b,
                        reinterpret_cast<iocb**>(c)))
OMNIO_OF_LIBRARY(io_getevents, "libaio.so.1",
                 reap([call] { return static_cast<int>(call()); },
                      reinterpret_cast<const io_event*>(d)))
OMNIO_OF_LIBRARY(io_pgetevents, "libaio.so.1",
                 reap([call] { return static_cast<int>(call()); },
                      reinterpret_cast<const io_event*>(d)))

OMNIO_OF_LIBRARY(io_uring_queue_init, "liburing.so.2", countedRing(static_cast<int>(call())))
OMNIO_OF_LIBRARY(io_uring_queue_init_params, "liburing.so.2", countedRing(static_cast<int>(call())))
OMNIO_OF_LIBRARY(io_uring_queue_init_mem, "liburing.so.2", countedRing(static_cast<int>(call())))
