// POSIX asynchronous I/O (POSIX.1-2017, aio.h). glibc does it by threads, whose calls no wrapper
// sees.
#include <aio.h>
#include <errno.h>

#include "trace/runtime/sys/scratch.hpp"
#include "trace/wrap/operations.hpp"
#include "trace/wrap/real_symbol.hpp"
#include "trace/wrap/signature.hpp"

namespace omnio::trace {
namespace {

// glibc has both names of each call for one function, and of the structure.
static_assert(sizeof(aiocb) == sizeof(aiocb64) &&
              offsetof(aiocb, aio_offset) == offsetof(aiocb64, aio_offset));

constinit LazySymbol<int(const aiocb64*)> real_error("aio_error");
constinit LazySymbol<ssize_t(aiocb64*)> real_return("aio_return");
constinit LazySymbol<int(const aiocb64* const*, int, const timespec*)> real_suspend("aio_suspend");
constinit LazySymbol<int(int, aiocb64* const*, int, sigevent*)> real_listio("lio_listio");

// From signal handlers, too, where nothing may be looked up.
__attribute__((constructor)) void lookUpAsync() {
  real_error.get();
  real_return.get();
  real_suspend.get();
  real_listio.get();
}

int missing() {
  errno = ENOSYS;
  return -1;
}

bool add(const aiocb64* block, OperationKind kind, AsyncOperation& operation) {
  if (block == nullptr) return false;
  const bool moves = kind != OperationKind::kSync;
  operation = {.bytes = moves ? block->aio_nbytes : 0,
               .offset = moves ? block->aio_offset : 0,
               .fd = block->aio_fildes,
               .kind = kind};
  return addOperation(block, operation);
}

// The call that was to begin the operation returned this.
int begun(const aiocb64* block, int result) {
  if (result == 0) return result;
  const int error = errno;
  AsyncOperation refused;
  takeOutOperation(block, refused);
  errno = error;
  return result;
}

template <CallId kCall>
int transfer(aiocb64* block, OperationKind kind) {
  auto* const real = realFunction<kCall, int(aiocb64*)>();
  AsyncOperation operation;
  if (!add(block, kind, operation)) return real(block);
  return begun(block,
               interceptWith<kCall, int>(
                   [real, block](int, std::size_t, off64_t, std::uint64_t) { return real(block); },
                   block->aio_fildes, block->aio_nbytes, block->aio_offset, operation.number));
}

template <CallId kCall>
int synchronise(int how, aiocb64* block) {
  auto* const real = realFunction<kCall, int(int, aiocb64*)>();
  AsyncOperation operation;
  if (!add(block, OperationKind::kSync, operation)) return real(how, block);
  return begun(block, interceptWith<kCall, int>(
                          [real, block](int, int as, std::uint64_t) { return real(as, block); },
                          block->aio_fildes, how, operation.number));
}

// The application has learnt that the operation is over.
void end(Thread& self, const void* block, wire::EventTimes times, int error, std::int64_t moved) {
  AsyncOperation operation;
  if (!takeOutOperation(block, operation)) return;
  times.start = startOfEnd(self, times);
  const bool failed = error != 0;
  const std::int64_t result = failed ? error : moved;
  switch (operation.kind) {
    case OperationKind::kRead:
      return recordOperation<CallId::aio_read_end>(self, times, operation, failed, result);
    case OperationKind::kWrite:
      return recordOperation<CallId::aio_write_end>(self, times, operation, failed, result);
    case OperationKind::kSync:
      return recordOperation<CallId::aio_fsync_end>(self, times, operation, failed, result);
  }
}

int errorOf(const aiocb64* block) {
  auto* const real = real_error.get();
  if (real == nullptr) return missing();
  Thread& self = thread;
  if (!isKnownOperation(block) || !mayRecord(self) || !isActive()) return real(block);
  wire::EventTimes times;
  times.start = leaveThinking(self);
  const int status = real(block);
  const int error = errno;
  times.end = ticks();
  if (status == EINPROGRESS) {
    noteUnderWay(self, times);
  } else if (status >= 0) {
    // Asking for the result here changes nothing for the application, which may never ask: glibc
    // keeps it in the control block.
    auto* const moved = real_return.get();
    end(self, block, times, status, moved == nullptr ? 0 : moved(const_cast<aiocb64*>(block)));
  }
  errno = error;
  return status;
}

ssize_t returnOf(aiocb64* block) {
  auto* const real = real_return.get();
  if (real == nullptr) return missing();
  Thread& self = thread;
  if (!isKnownOperation(block) || !mayRecord(self) || !isActive()) return real(block);
  wire::EventTimes times;
  times.start = leaveThinking(self);
  auto* const state = real_error.get();
  const int status = state == nullptr ? 0 : state(block);
  const ssize_t result = real(block);
  const int error = errno;
  times.end = ticks();
  if (status != EINPROGRESS) end(self, block, times, status, result);
  errno = error;
  return result;
}

int suspend(const aiocb64* const* blocks, int count, const timespec* timeout) {
  auto* const real = real_suspend.get();
  if (real == nullptr) return missing();
  Thread& self = thread;
  bool is_known = false;
  for (int i = 0; i < count && !is_known; ++i) is_known = isKnownOperation(blocks[i]);
  if (!is_known || !mayRecord(self) || !isActive()) return real(blocks, count, timeout);
  wire::EventTimes times;
  times.start = leaveThinking(self);
  const int result = real(blocks, count, timeout);
  const int error = errno;
  times.end = ticks();
  noteUnderWay(self, times);
  errno = error;
  return result;
}

// The operation that an element of a list begins; none where it is to be passed over.
bool kindOf(const aiocb64* block, OperationKind& kind) {
  if (block == nullptr) return false;
  kind = block->aio_lio_opcode == LIO_READ ? OperationKind::kRead : OperationKind::kWrite;
  return block->aio_lio_opcode == LIO_READ || block->aio_lio_opcode == LIO_WRITE;
}

int submitList(int mode, aiocb64* const* blocks, int count, sigevent* event) {
  auto* const real = real_listio.get();
  if (real == nullptr) return missing();
  Thread& self = thread;
  constexpr std::size_t kOnStack = 16;
  const Scratch<AsyncOperation, kOnStack> begun(count > 0 ? static_cast<std::size_t>(count) : 0);
  if (!begun || count <= 0 || !mayRecord(self) || !isActive()) {
    return real(mode, blocks, count, event);
  }
  // Kept aside: another thread may see the end of one before the call returns.
  int left = 0;
  for (int i = 0; i < count; ++i) {
    OperationKind kind{};
    AsyncOperation& operation = begun[static_cast<std::size_t>(i)];
    operation = {};
    if (!kindOf(blocks[i], kind)) continue;
    if (add(blocks[i], kind, operation)) {
      ++left;
    } else {
      operation = {};
    }
  }
  if (left == 0) return real(mode, blocks, count, event);
  wire::EventTimes times;
  times.start = leaveThinking(self);
  const int result = real(mode, blocks, count, event);
  const int error = errno;
  times.end = ticks();
  for (int i = 0; i < count && left > 0; ++i) {
    AsyncOperation operation = begun[static_cast<std::size_t>(i)];
    if (operation.number == 0) continue;
    --left;
    // Each operation says for itself whether it was begun.
    auto* const state = real_error.get();
    const int status = result == 0 || state == nullptr ? 0 : state(blocks[i]);
    const bool failed = status == EAGAIN || status == EINVAL;
    if (operation.kind == OperationKind::kRead) {
      recordOperation<CallId::lio_read>(self, times, operation, failed, failed ? status : 0, mode,
                                        left);
    } else {
      recordOperation<CallId::lio_write>(self, times, operation, failed, failed ? status : 0, mode,
                                         left);
    }
    times.start = times.end;
    if (failed) takeOutOperation(blocks[i], operation);
  }
  errno = error;
  return result;
}

aiocb64* large(aiocb* block) { return reinterpret_cast<aiocb64*>(block); }
const aiocb64* large(const aiocb* block) { return reinterpret_cast<const aiocb64*>(block); }

}  // namespace
}  // namespace omnio::trace

using namespace omnio::trace;

OMNIO_EXPORT int aio_read(aiocb* block) noexcept {
  return transfer<CallId::aio_read>(large(block), OperationKind::kRead);
}
OMNIO_EXPORT int aio_read64(aiocb64* block) noexcept {
  return transfer<CallId::aio_read64>(block, OperationKind::kRead);
}
OMNIO_EXPORT int aio_write(aiocb* block) noexcept {
  return transfer<CallId::aio_write>(large(block), OperationKind::kWrite);
}
OMNIO_EXPORT int aio_write64(aiocb64* block) noexcept {
  return transfer<CallId::aio_write64>(block, OperationKind::kWrite);
}
OMNIO_EXPORT int aio_fsync(int how, aiocb* block) noexcept {
  return synchronise<CallId::aio_fsync>(how, large(block));
}
OMNIO_EXPORT int aio_fsync64(int how, aiocb64* block) noexcept {
  return synchronise<CallId::aio_fsync64>(how, block);
}
OMNIO_EXPORT int aio_error(const aiocb* block) noexcept { return errorOf(large(block)); }
OMNIO_EXPORT int aio_error64(const aiocb64* block) noexcept { return errorOf(block); }
OMNIO_EXPORT ssize_t aio_return(aiocb* block) noexcept { return returnOf(large(block)); }
OMNIO_EXPORT ssize_t aio_return64(aiocb64* block) noexcept { return returnOf(block); }
OMNIO_EXPORT int aio_suspend(const aiocb* const blocks[], int count, const timespec* timeout) {
  return suspend(reinterpret_cast<const aiocb64* const*>(blocks), count, timeout);
}
OMNIO_EXPORT int aio_suspend64(const aiocb64* const blocks[], int count, const timespec* timeout) {
  return suspend(blocks, count, timeout);
}
OMNIO_EXPORT int lio_listio(int mode, aiocb* const blocks[], int count, sigevent* event) noexcept {
  return submitList(mode, reinterpret_cast<aiocb64* const*>(blocks), count, event);
}
OMNIO_EXPORT int lio_listio64(int mode, aiocb64* const blocks[], int count,
                              sigevent* event) noexcept {
  return submitList(mode, blocks, count, event);
}
