// Stream rows marked custom: variadic calls, which go on to their va_list form, calls that mean
// stdout or stdin without naming it, and freopen.
#include <stdarg.h>
#include <stdio.h>

#include <optional>

#include "core/calls/unlisted.hpp"
#include "trace/runtime/moved_bytes.hpp"
#include "trace/wrap/children.hpp"
#include "trace/wrap/intercept.hpp"
#include "trace/wrap/signature.hpp"

namespace omnio::trace {
namespace {

// The real function of a row. The va_list forms, to which the variadic calls go on, are rows of
// their own.
template <CallId kCall, typename... A>
int callReal(A... a) {
  return realFunction<kCall, int(A...)>()(a...);
}

template <CallId kCall>
FILE* reopen(const char* path, const char* mode, FILE* stream) {
  auto* const real = realFunction<kCall, FILE*(const char*, const char*, FILE*)>();
  if (!mayRecord(thread)) return real(path, mode, stream);
  // The old file is closed whatever comes of the new one.
  if (stream != nullptr) {
    const int fd = descriptorOf(stream);
    if (hasInlinedStreams()) {
      if (const Entry entry = find(fd); entry.isTraced()) noteInlined(thread, stream, entry);
      forgetBuffer(stream);
    }
    releaseHandle(takeOut(fd));
  }
  if (path == nullptr) return real(path, mode, stream);  // the same file in another mode
  return interceptWith<kCall, FILE*>(
      [real, stream](const char* p, const char* m) { return real(p, m, stream); }, path, mode);
}

}  // namespace
}  // namespace omnio::trace

using namespace omnio::trace;

// Records CallId::NAME on STREAM while CALL runs, in which `list` are the variable arguments.
#define OMNIO_VARIADIC(NAME, STREAM, LAST, CALL)                                             \
  va_list list;                                                                              \
  va_start(list, LAST);                                                                      \
  const int result = interceptWith<CallId::NAME, int>([&](auto) { return CALL; }, (STREAM)); \
  va_end(list);                                                                              \
  return result

OMNIO_EXPORT int fprintf(FILE* stream, const char* format, ...) {
  OMNIO_VARIADIC(fprintf, stream, format, callReal<CallId::vfprintf>(stream, format, list));
}
OMNIO_EXPORT int __fprintf_chk(FILE* stream, int flag, const char* format, ...) {
  OMNIO_VARIADIC(__fprintf_chk, stream, format,
                 callReal<CallId::__vfprintf_chk>(stream, flag, format, list));
}
OMNIO_EXPORT int printf(const char* format, ...) {
  OMNIO_VARIADIC(printf, stdout, format, callReal<CallId::vfprintf>(stdout, format, list));
}
OMNIO_EXPORT int __printf_chk(int flag, const char* format, ...) {
  OMNIO_VARIADIC(__printf_chk, stdout, format,
                 callReal<CallId::__vfprintf_chk>(stdout, flag, format, list));
}
OMNIO_EXPORT int vprintf(const char* format, va_list list) {
  return interceptWith<CallId::vprintf, int>(
      [&](FILE* s) { return callReal<CallId::vfprintf>(s, format, list); }, stdout);
}
OMNIO_EXPORT int __vprintf_chk(int flag, const char* format, va_list list) {
  return interceptWith<CallId::__vprintf_chk, int>(
      [&](FILE* s) { return callReal<CallId::__vfprintf_chk>(s, flag, format, list); }, stdout);
}
OMNIO_EXPORT int dprintf(int fd, const char* format, ...) {
  OMNIO_VARIADIC(dprintf, fd, format, callReal<CallId::vdprintf>(fd, format, list));
}
OMNIO_EXPORT int __dprintf_chk(int fd, int flag, const char* format, ...) {
  OMNIO_VARIADIC(__dprintf_chk, fd, format,
                 callReal<CallId::__vdprintf_chk>(fd, flag, format, list));
}
// The headers turn fscanf and vfscanf into their C99 forms, which are rows of their own: the plain
// symbols need other names here.
OMNIO_EXPORT int omnioFscanf(FILE* stream, const char* format, ...) asm("fscanf");
OMNIO_EXPORT int omnioVfscanf(FILE* stream, const char* format, va_list list) asm("vfscanf");

OMNIO_EXPORT int omnioFscanf(FILE* stream, const char* format, ...) {
  OMNIO_VARIADIC(fscanf, stream, format, callReal<CallId::vfscanf>(stream, format, list));
}
OMNIO_EXPORT int __isoc99_fscanf(FILE* stream, const char* format, ...) {
  OMNIO_VARIADIC(__isoc99_fscanf, stream, format,
                 callReal<CallId::__isoc99_vfscanf>(stream, format, list));
}
OMNIO_EXPORT int omnioVfscanf(FILE* stream, const char* format, va_list list) {
  return interceptWith<CallId::vfscanf, int>(
      [&](FILE* s) { return callReal<CallId::vfscanf>(s, format, list); }, stream);
}
OMNIO_EXPORT int __isoc99_vfscanf(FILE* stream, const char* format, va_list list) {
  return interceptWith<CallId::__isoc99_vfscanf, int>(
      [&](FILE* s) { return callReal<CallId::__isoc99_vfscanf>(s, format, list); }, stream);
}

OMNIO_EXPORT int puts(const char* text) {
  return interceptWith<CallId::puts, int>([=](FILE*) { return callReal<CallId::puts>(text); },
                                          stdout);
}
OMNIO_EXPORT int putchar(int c) {
  return interceptWith<CallId::putchar, int>(
      [](int ch, FILE*) { return callReal<CallId::putchar>(ch); }, c, stdout);
}
OMNIO_EXPORT int getchar() {
  return interceptWith<CallId::getchar, int>([](FILE*) { return callReal<CallId::getchar>(); },
                                             stdin);
}

// The C library waits for the child of the pipe.
OMNIO_EXPORT int pclose(FILE* stream) {
  auto* const real = realFunction<CallId::pclose, int(FILE*)>();
  std::optional<ReapedBytes> reaped;
  if (mayNote() && !isVforkChild()) reaped.emplace();
  const int result = interceptWith<CallId::pclose, int>(real, stream);
  if (result != -1 && reaped) reaped->take();
  return result;
}

OMNIO_EXPORT FILE* freopen(const char* path, const char* mode, FILE* stream) {
  return reopen<CallId::freopen>(path, mode, stream);
}
OMNIO_EXPORT FILE* freopen64(const char* path, const char* mode, FILE* stream) {
  return reopen<CallId::freopen64>(path, mode, stream);
}
