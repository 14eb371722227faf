// Asynchronous I/O. Each operation has memory of its own, as its content is read or written after
// the call that begins it.
#include <aio.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/aio_abi.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "replay/issue/backend_call.hpp"
#include "replay/issue/requests.hpp"

namespace omnio::replay {
namespace {

using calls::CallId;
using calls::Result;
using calls::Role;

template <CallId kCall>
Requests::Key keyOf(const Call& call) {
  return {call.context.process,
          static_cast<std::uint64_t>(argumentOf<kCall>(call, Role::kRequest))};
}

// Fills the memory with content for the file, which is longer than the thread's own buffer at
// times.
void fill(Call& call, std::span<char> memory) {
  while (!memory.empty()) {
    const std::span<char> content = contentFor(call, memory.size());
    if (content.empty()) return;
    const std::size_t bytes = std::min(content.size(), memory.size());
    std::memcpy(memory.data(), content.data(), bytes);
    memory = memory.subspan(bytes);
  }
}

// The request with its control block filled in; nullptr where memory is missing.
template <CallId kCall>
Requests::Request* prepare(Call& call, int opcode) {
  // One that failed may have asked for any number of bytes.
  const auto bytes = static_cast<std::size_t>(
      std::min(call.op().request,
               (call.op().flags & kOpFailed) != 0 ? std::uint64_t{4096} : call.op().request));
  Requests::Request* const request = call.context.requests->begin(keyOf<kCall>(call), bytes);
  if (request == nullptr) return nullptr;
  request->block.aio_fildes = call.fd();
  request->block.aio_lio_opcode = opcode;
  request->block.aio_buf = request->memory.data();
  request->block.aio_nbytes = bytes;
  request->block.aio_offset = argumentOf<kCall>(call, Role::kOffset);
  request->block.aio_sigevent.sigev_notify = SIGEV_NONE;
  if (opcode == LIO_WRITE) fill(call, request->memory.first(bytes));
  return request;
}

void dropFailed(Call& call, const Outcome& outcome, Requests::Key key) {
  if (!outcome.failed) return;
  if (auto request = call.context.requests->take(key)) {
    call.context.requests->giveBack(std::move(request));
  }
}

template <CallId kCall>
Outcome transfer(Call& call, int opcode) {
  const auto real = reinterpret_cast<int (*)(aiocb64*)>(call.symbol);
  Requests::Request* const request = prepare<kCall>(call, opcode);
  if (request == nullptr) return notIssued();
  const Outcome outcome = timed<Result::kZero>(call, [&] { return real(&request->block); });
  dropFailed(call, outcome, keyOf<kCall>(call));
  return outcome;
}

template <CallId kCall>
Outcome synchronise(Call& call) {
  const auto real = reinterpret_cast<int (*)(int, aiocb64*)>(call.symbol);
  Requests::Request* const request = call.context.requests->begin(keyOf<kCall>(call), 0);
  if (request == nullptr) return notIssued();
  request->block.aio_fildes = call.fd();
  request->block.aio_sigevent.sigev_notify = SIGEV_NONE;
  const auto how = static_cast<int>(argumentOf<kCall>(call, Role::kNumber));
  const Outcome outcome = timed<Result::kZero>(call, [&] { return real(how, &request->block); });
  dropFailed(call, outcome, keyOf<kCall>(call));
  return outcome;
}

// The operations of a list are gathered until the last of them, which makes the call.
template <CallId kCall>
Outcome ofList(Call& call, int opcode) {
  Requests::Request* const request = prepare<kCall>(call, opcode);
  if (request == nullptr) return notIssued();
  std::vector<aiocb64*>& list = call.context.submission;
  list.push_back(&request->block);
  if (argumentOf<kCall>(call, Role::kLeft) > 0) {
    return timed<Result::kZero>(call, [] { return 0; });
  }
  const auto real = reinterpret_cast<int (*)(int, aiocb64* const*, int, sigevent*)>(call.symbol);
  const auto mode = static_cast<int>(argumentOf<kCall>(call, Role::kNumber));
  Outcome outcome = timed<Result::kZero>(call, [&] {
    const int result = real(mode, list.data(), static_cast<int>(list.size()), nullptr);
    // Some failed, or it was interrupted: they were begun, and their ends tell.
    return result != 0 && (errno == EIO || errno == EINTR) ? 0 : result;
  });
  list.clear();
  return outcome;
}

// Waits as long as the operation is under way.
template <CallId kCall, Result kResult>
Outcome end(Call& call) {
  const auto real = reinterpret_cast<ssize_t (*)(aiocb64*)>(call.symbol);
  std::unique_ptr<Requests::Request> request = call.context.requests->take(keyOf<kCall>(call));
  if (request == nullptr) return notIssued();
  // The last of its list is missing in the schedule.
  std::vector<aiocb64*>& list = call.context.submission;
  if (!list.empty()) {
    lio_listio64(LIO_NOWAIT, list.data(), static_cast<int>(list.size()), nullptr);
    list.clear();
  }
  const Outcome outcome = timed<kResult>(call, [&]() -> ssize_t {
    const int error = waitFor(request->block);
    const ssize_t result = real(&request->block);
    errno = error;
    return error != 0 ? -1 : result;
  });
  call.context.requests->giveBack(std::move(request));
  return outcome;
}

// libaio's functions, which a tracer sees, or the system calls where it is not installed. They
// return an error as a negative number.
struct Libaio {
  int (*setup)(int, aio_context_t*) = [](int most, aio_context_t* context) {
    return static_cast<int>(resultOf(syscall(SYS_io_setup, most, context)));
  };
  int (*destroy)(aio_context_t) = [](aio_context_t context) {
    return static_cast<int>(resultOf(syscall(SYS_io_destroy, context)));
  };
  int (*submit)(aio_context_t, long, iocb**) = [](aio_context_t context, long count, iocb** list) {
    return static_cast<int>(resultOf(syscall(SYS_io_submit, context, count, list)));
  };
  int (*getevents)(aio_context_t, long, long, io_event*, timespec*) =
      [](aio_context_t context, long least, long most, io_event* events, timespec* patience) {
        return static_cast<int>(
            resultOf(syscall(SYS_io_getevents, context, least, most, events, patience)));
      };

  Libaio() {
    void* const library = dlopen("libaio.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) return;
    const auto find = [library](auto& function, const char* name) {
      void* symbol = dlsym(RTLD_DEFAULT, name);  // a tracer's, if there is one
      if (symbol == nullptr) symbol = dlsym(library, name);
      if (symbol != nullptr) function = reinterpret_cast<std::decay_t<decltype(function)>>(symbol);
    };
    find(setup, "io_setup");
    find(destroy, "io_destroy");
    find(submit, "io_submit");
    find(getevents, "io_getevents");
  }
  static long resultOf(long result) { return result < 0 ? -errno : result; }
};

const Libaio& libaio() {
  static const Libaio kLibaio;
  return kLibaio;
}

// As a call that sets errno.
int withErrno(int result) {
  if (result >= 0) return result;
  errno = -result;
  return -1;
}

template <CallId kCall>
Requests::Key contextKeyOf(const Call& call) {
  return {call.context.process,
          static_cast<std::uint64_t>(argumentOf<kCall>(call, Role::kContext))};
}

// The operations of a call are gathered until the last of them, which makes the call.
template <CallId kCall>
Outcome submit(Call& call, int opcode) {
  Requests::Request* const request =
      prepare<kCall>(call, opcode == IOCB_CMD_PWRITE ? LIO_WRITE : LIO_READ);
  const std::shared_ptr<Requests::Context> context =
      call.context.requests->context(contextKeyOf<kCall>(call));
  if (request == nullptr || context == nullptr) return notIssued();
  iocb& block = request->kernel_block;
  block.aio_data = static_cast<std::uint64_t>(argumentOf<kCall>(call, Role::kRequest));
  block.aio_lio_opcode = static_cast<std::uint16_t>(opcode);
  block.aio_fildes = static_cast<std::uint32_t>(request->block.aio_fildes);
  block.aio_buf = reinterpret_cast<std::uintptr_t>(request->memory.data());
  block.aio_nbytes = request->block.aio_nbytes;
  block.aio_offset = request->block.aio_offset;
  std::vector<iocb*>& list = call.context.kernel_submission;
  list.push_back(&block);
  if (argumentOf<kCall>(call, Role::kLeft) > 0) {
    return timed<Result::kZero>(call, [] { return 0; });
  }
  const Outcome outcome = timed<Result::kZero>(call, [&] {
    // The kernel may take fewer than there are.
    for (std::size_t taken = 0; taken < list.size();) {
      const int more = withErrno(
          libaio().submit(context->id, static_cast<long>(list.size() - taken), &list[taken]));
      if (more <= 0) return -1;
      context->under_way += more;
      taken += static_cast<std::size_t>(more);
    }
    return 0;
  });
  list.clear();
  return outcome;
}

// An edited schedule may wait for more than it began.
std::int64_t nothingUnderWay() {
  errno = EINVAL;
  return -1;
}

// Which of several operations is over first is the system's choice. So this waits for as many as
// the application did, and for this very one where its result was not the usual one.
template <CallId kCall>
Outcome reap(Call& call) {
  const Requests::Key key = keyOf<kCall>(call);
  const std::shared_ptr<Requests::Context> context =
      call.context.requests->context(contextKeyOf<kCall>(call));
  if (context == nullptr) return notIssued();
  const Op& op = call.op();
  const bool any =
      ((op.flags & kOpFailed) == 0 && op.result == static_cast<std::int64_t>(op.request)) ||
      !call.context.requests->isUnderWay(key);
  std::uint64_t number = key.second;
  const Outcome outcome = timed<Result::kBytes>(call, [&]() -> std::int64_t {
    const std::lock_guard lock(context->mutex);
    auto& over = context->over;
    while (over.find(key.second) == over.end() && !(any && !over.empty())) {
      if (context->under_way == 0) return nothingUnderWay();
      io_event events[64];
      const long most = std::clamp<long>(argumentOf<kCall>(call, Role::kLeft), 0, 63) + 1;
      const int count = withErrno(libaio().getevents(context->id, 1, most, events, nullptr));
      if (count < 0 && errno != EINTR) return -1;
      for (int i = 0; i < count; ++i) over[events[i].data] = events[i].res;
      if (count > 0) context->under_way -= count;
    }
    const auto own = over.find(key.second);
    const auto found = own != over.end() ? own : over.begin();
    number = found->first;
    const std::int64_t result = found->second;
    over.erase(found);
    if (result >= 0) return result;
    errno = static_cast<int>(-result);
    return -1;
  });
  std::unique_ptr<Requests::Request> request = call.context.requests->take({key.first, number});
  if (request == nullptr) return outcome;
  Outcome told = outcome;
  // Another one that came first, and moved all it was asked for.
  const bool moved_all =
      !told.failed && told.result == static_cast<std::int64_t>(request->block.aio_nbytes);
  if (number != key.second && moved_all) told.result = op.result;
  call.context.requests->giveBack(std::move(request));
  return told;
}

}  // namespace

OMNIO_BY_HAND(io_setup) {
  const std::shared_ptr<Requests::Context> context =
      call.context.requests->addContext(contextKeyOf<CallId::io_setup>(call));
  const auto most = static_cast<int>(call.argument(0));
  return timed<Result::kZero>(call, [&] { return withErrno(libaio().setup(most, &context->id)); });
}
OMNIO_BY_HAND(io_destroy) {
  const Requests::Key key = contextKeyOf<CallId::io_destroy>(call);
  const std::shared_ptr<Requests::Context> context = call.context.requests->context(key);
  if (context == nullptr) return notIssued();
  const Outcome outcome =
      timed<Result::kZero>(call, [&] { return withErrno(libaio().destroy(context->id)); });
  call.context.requests->dropContext(key);
  return outcome;
}
OMNIO_BY_HAND(io_read) { return submit<CallId::io_read>(call, IOCB_CMD_PREAD); }
OMNIO_BY_HAND(io_write) { return submit<CallId::io_write>(call, IOCB_CMD_PWRITE); }
OMNIO_BY_HAND(io_read_end) { return reap<CallId::io_read_end>(call); }
OMNIO_BY_HAND(io_write_end) { return reap<CallId::io_write_end>(call); }

OMNIO_BY_HAND(aio_read) { return transfer<CallId::aio_read>(call, LIO_READ); }
OMNIO_BY_HAND(aio_read64) { return transfer<CallId::aio_read64>(call, LIO_READ); }
OMNIO_BY_HAND(aio_write) { return transfer<CallId::aio_write>(call, LIO_WRITE); }
OMNIO_BY_HAND(aio_write64) { return transfer<CallId::aio_write64>(call, LIO_WRITE); }
OMNIO_BY_HAND(aio_fsync) { return synchronise<CallId::aio_fsync>(call); }
OMNIO_BY_HAND(aio_fsync64) { return synchronise<CallId::aio_fsync64>(call); }
OMNIO_BY_HAND(lio_read) { return ofList<CallId::lio_read>(call, LIO_READ); }
OMNIO_BY_HAND(lio_write) { return ofList<CallId::lio_write>(call, LIO_WRITE); }
OMNIO_BY_HAND(aio_read_end) { return end<CallId::aio_read_end, Result::kBytes>(call); }
OMNIO_BY_HAND(aio_write_end) { return end<CallId::aio_write_end, Result::kBytes>(call); }
OMNIO_BY_HAND(aio_fsync_end) { return end<CallId::aio_fsync_end, Result::kZero>(call); }

}  // namespace omnio::replay
