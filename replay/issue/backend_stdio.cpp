// Stream calls that no role describes in full: variadic ones, those that mean stdout or stdin
// without naming it, freopen and tmpfile.
#include <stdarg.h>
#include <stdio.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <span>

#include "replay/issue/backend_call.hpp"
#include "replay/issue/libc.hpp"

namespace omnio::replay {
namespace {

using calls::Result;

constexpr int kMaxConversions = 9;
constexpr const char* kAllText = "%.*s";

struct Text {
  int bytes = 0;
  char* begin = nullptr;
};

std::int64_t recordedBytes(const Call& call) {
  return (call.op().flags & kOpFailed) != 0 ? 0 : call.op().result;
}

Text textFor(Call& call, std::int64_t bytes) {
  const auto wanted = static_cast<std::size_t>(std::clamp<std::int64_t>(bytes, 0, INT32_MAX));
  const std::span<char> content = contentFor(call, wanted, true);
  return {static_cast<int>(content.size()), content.data()};
}

// The va_list of a call that is given one.
template <typename Use>
int withList(Use use, ...) {
  va_list list;
  va_start(list, use);
  const int result = use(list);
  va_end(list);
  return result;
}

// Writes as many bytes as the recorded call did, by one of the forms of printf: to a stream, a
// descriptor, or (without a target) to stdout.
template <bool kChecked, bool kTakesList, typename... Target>
Outcome format(Call& call, Target... target) {
  const Text text = textFor(call, recordedBytes(call));
  return timed<Result::kCount>(call, [&] {
    const auto with = [&](auto... more) {
      if constexpr (kTakesList) {
        const auto real =
            reinterpret_cast<int (*)(Target..., decltype(more)..., const char*, va_list)>(
                call.symbol);
        return withList([&](va_list list) { return real(target..., more..., kAllText, list); },
                        text.bytes, text.begin);
      } else {
        const auto real =
            reinterpret_cast<int (*)(Target..., decltype(more)..., const char*, ...)>(call.symbol);
        return real(target..., more..., kAllText, text.bytes, text.begin);
      }
    };
    if constexpr (kChecked) {
      return with(1);  // the flag of the fortified forms
    } else {
      return with();
    }
  });
}

template <bool kChecked, bool kTakesList>
Outcome formatToStream(Call& call) {
  FILE* stream = call.stream();
  return stream == nullptr ? notIssued() : format<kChecked, kTakesList>(call, stream);
}

// Lets a standard stream of the process be another one for the length of a call: recorded ranks
// that share a process each have a stdout of their own.
template <typename Use>
Outcome withStandardStream(Call& call, FILE*& standard, Use use) {
  static std::mutex mutex;
  FILE* stream = call.stream();
  if (stream == nullptr) return notIssued();
  const std::lock_guard lock(mutex);
  FILE* before = standard;
  standard = stream;
  const Outcome outcome = use();
  standard = before;
  return outcome;
}

template <bool kChecked, bool kTakesList>
Outcome formatToStandard(Call& call) {
  return withStandardStream(call, stdout, [&] { return format<kChecked, kTakesList>(call); });
}

// The trace tells how many conversions there were, not of what: this reads as many characters.
template <bool kTakesList>
Outcome scan(Call& call) {
  FILE* stream = call.stream();
  if (stream == nullptr) return notIssued();
  const std::int64_t recorded = (call.op().flags & kOpFailed) != 0 ? 1 : call.op().result;
  const int conversions = static_cast<int>(std::clamp<std::int64_t>(recorded, 0, kMaxConversions));
  const std::string pattern = [conversions] {
    std::string all;
    for (int i = 0; i < conversions; ++i) all += "%c";
    return all;
  }();
  std::array<char, kMaxConversions> c{};
  Outcome outcome = timed<Result::kNumber>(call, [&] {
    if constexpr (kTakesList) {
      const auto real = reinterpret_cast<int (*)(FILE*, const char*, va_list)>(call.symbol);
      return withList([&](va_list list) { return real(stream, pattern.c_str(), list); }, &c[0],
                      &c[1], &c[2], &c[3], &c[4], &c[5], &c[6], &c[7], &c[8]);
    } else {
      const auto real = reinterpret_cast<int (*)(FILE*, const char*, ...)>(call.symbol);
      return real(stream, pattern.c_str(), &c[0], &c[1], &c[2], &c[3], &c[4], &c[5], &c[6], &c[7],
                  &c[8]);
    }
  });
  outcome.substitute = Substitute::kScan;
  return outcome;
}

Outcome reopen(Call& call) {
  // The stream is known where the schedule names it as what the number stood for.
  const std::uint32_t slot = call.op().other != kNoSlot ? call.op().other : call.op().fd;
  FILE* stream = slot == kNoSlot ? nullptr : call.context.descriptors.takeStream(slot);
  const bool is_known = stream != nullptr;
  if (!is_known) stream = ownLibc().fopen("/dev/null", "r");
  if (stream == nullptr) return notIssued();
  const StreamMode mode(call.instruction.text);
  const auto real = reinterpret_cast<FILE* (*)(const char*, const char*, FILE*)>(call.symbol);
  FILE* got = nullptr;
  Outcome outcome = timed<Result::kNewStream>(
      call, [&] { return got = real(call.path(), mode.text.data(), stream); });
  if (mode.is_changed) outcome.substitute = Substitute::kMapped;
  if (is_known) {
    call.context.descriptors.gone(slot);
  } else {
    outcome.substitute = Substitute::kReopened;
  }
  noteOpened(call, outcome, got == nullptr ? -1 : fileno(got), got, false);
  return outcome;
}

// The library's own tmpfile makes its file in /tmp, wherever that is: outside the target.
Outcome temporary(Call& call) {
  int fd = -1;
  FILE* stream = nullptr;
  Outcome outcome = timed<Result::kNewStream>(call, [&] {
    fd = raw::openAt(AT_FDCWD, call.context.paths.trees().first().path().c_str(),
                     O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) return stream;
    return stream = ownLibc().fdopen(fd, "w+");
  });
  outcome.substitute = Substitute::kTmpfile;
  noteOpened(call, outcome, fd, stream, false);
  return outcome;
}

}  // namespace

OMNIO_BY_HAND(freopen) { return reopen(call); }
OMNIO_BY_HAND(freopen64) { return reopen(call); }
OMNIO_BY_HAND(tmpfile) { return temporary(call); }
OMNIO_BY_HAND(tmpfile64) { return temporary(call); }

OMNIO_BY_HAND(puts) {
  // It adds a newline to what it is given.
  const Text text = textFor(call, std::max<std::int64_t>(recordedBytes(call) - 1, 0));
  text.begin[text.bytes] = '\0';
  const auto real = reinterpret_cast<int (*)(const char*)>(call.symbol);
  return withStandardStream(
      call, stdout, [&] { return timed<Result::kCount>(call, [&] { return real(text.begin); }); });
}
OMNIO_BY_HAND(putchar) {
  const auto real = reinterpret_cast<int (*)(int)>(call.symbol);
  const auto character = static_cast<int>(call.argument(0));
  return withStandardStream(
      call, stdout, [&] { return timed<Result::kChar>(call, [&] { return real(character); }); });
}
OMNIO_BY_HAND(getchar) {
  const auto real = reinterpret_cast<int (*)()>(call.symbol);
  return withStandardStream(call, stdin,
                            [&] { return timed<Result::kChar>(call, [&] { return real(); }); });
}

OMNIO_BY_HAND(fprintf) { return formatToStream<false, false>(call); }
OMNIO_BY_HAND(__fprintf_chk) { return formatToStream<true, false>(call); }
OMNIO_BY_HAND(vfprintf) { return formatToStream<false, true>(call); }
OMNIO_BY_HAND(__vfprintf_chk) { return formatToStream<true, true>(call); }
OMNIO_BY_HAND(printf) { return formatToStandard<false, false>(call); }
OMNIO_BY_HAND(__printf_chk) { return formatToStandard<true, false>(call); }
OMNIO_BY_HAND(vprintf) { return formatToStandard<false, true>(call); }
OMNIO_BY_HAND(__vprintf_chk) { return formatToStandard<true, true>(call); }
OMNIO_BY_HAND(dprintf) { return format<false, false>(call, call.fd()); }
OMNIO_BY_HAND(__dprintf_chk) { return format<true, false>(call, call.fd()); }
OMNIO_BY_HAND(vdprintf) { return format<false, true>(call, call.fd()); }
OMNIO_BY_HAND(__vdprintf_chk) { return format<true, true>(call, call.fd()); }

OMNIO_BY_HAND(fscanf) { return scan<false>(call); }
OMNIO_BY_HAND(__isoc99_fscanf) { return scan<false>(call); }
OMNIO_BY_HAND(vfscanf) { return scan<true>(call); }
OMNIO_BY_HAND(__isoc99_vfscanf) { return scan<true>(call); }

// As the application's own code did: by the pointers of the stream's buffer, as far as they have to
// go. What is left, if the buffer holds less than it held there, the C library does past the
// tracer: the application made no call for it.
OMNIO_BY_HAND(inlined_getc) {
  FILE* const stream = call.stream();
  if (stream == nullptr) return notIssued();
  const std::int64_t wanted = recordedBytes(call);
  return timed<Result::kCount>(call, [&] {
    std::int64_t got = std::min<std::int64_t>(wanted, stream->_IO_read_end - stream->_IO_read_ptr);
    stream->_IO_read_ptr += got;
    for (char left = 0; got < wanted && ownLibc().fread(&left, 1, 1, stream) == 1;) ++got;
    return got;
  });
}
OMNIO_BY_HAND(inlined_putc) {
  FILE* const stream = call.stream();
  if (stream == nullptr) return notIssued();
  const Text text = textFor(call, recordedBytes(call));
  return timed<Result::kCount>(call, [&] {
    const std::ptrdiff_t room = stream->_IO_write_end - stream->_IO_write_ptr;
    const auto put = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(text.bytes, 0, room));
    std::memcpy(stream->_IO_write_ptr, text.begin, put);
    stream->_IO_write_ptr += put;
    const auto left = static_cast<std::size_t>(text.bytes) - put;
    const std::size_t more = left == 0 ? 0 : ownLibc().fwrite(text.begin + put, 1, left, stream);
    return static_cast<std::int64_t>(put + more);
  });
}

// A pipe is not storage.
template <>
Outcome byHand<calls::CallId::pclose>(Call&) {
  return notIssued();
}

}  // namespace omnio::replay
