// Stream rows marked custom: variadic calls, which go on to their va_list form, calls that mean
// stdout or stdin without naming it, and freopen.
#include <stdarg.h>
#include <stdio.h>

#include "core/calls/unlisted.hpp"
#include "trace/wrap/intercept.hpp"
#include "trace/wrap/signature.hpp"

namespace omnio::trace {
namespace {

// The va_list forms by their own rows' numbers.
int realVfprintf(FILE* stream, const char* format, va_list list) {
  return realFunction<292, int(FILE*, const char*, va_list)>()(stream, format, list);
}
int realVfprintfChk(FILE* stream, int flag, const char* format, va_list list) {
  return realFunction<293, int(FILE*, int, const char*, va_list)>()(stream, flag, format, list);
}

template <std::uint16_t kNumber>
int realVfscanf(FILE* stream, const char* format, va_list list) {
  return realFunction<kNumber, int(FILE*, const char*, va_list)>()(stream, format, list);
}

template <std::uint16_t kNumber>
FILE* reopen(const char* path, const char* mode, FILE* stream) {
  auto* const real = realFunction<kNumber, FILE*(const char*, const char*, FILE*)>();
  if (!mayRecord(thread)) return real(path, mode, stream);
  // The old file is closed whatever comes of the new one.
  if (stream != nullptr) releaseHandle(takeOut(descriptorOf(stream)));
  if (path == nullptr) return real(path, mode, stream);  // the same file in another mode
  return interceptWith<kNumber, FILE*>(
      [real, stream](const char* p, const char* m) { return real(p, m, stream); }, path, mode);
}

}  // namespace
}  // namespace omnio::trace

using namespace omnio::trace;

// Records row NUMBER on STREAM while CALL runs, in which `list` are the variable arguments.
#define OMNIO_VARIADIC(NUMBER, STREAM, LAST, CALL)                                     \
  va_list list;                                                                        \
  va_start(list, LAST);                                                                \
  const int result = interceptWith<NUMBER, int>([&](auto) { return CALL; }, (STREAM)); \
  va_end(list);                                                                        \
  return result

OMNIO_EXPORT int fprintf(FILE* stream, const char* format, ...) {
  OMNIO_VARIADIC(290, stream, format, realVfprintf(stream, format, list));
}
OMNIO_EXPORT int __fprintf_chk(FILE* stream, int flag, const char* format, ...) {
  OMNIO_VARIADIC(291, stream, format, realVfprintfChk(stream, flag, format, list));
}
OMNIO_EXPORT int printf(const char* format, ...) {
  OMNIO_VARIADIC(294, stdout, format, realVfprintf(stdout, format, list));
}
OMNIO_EXPORT int __printf_chk(int flag, const char* format, ...) {
  OMNIO_VARIADIC(295, stdout, format, realVfprintfChk(stdout, flag, format, list));
}
OMNIO_EXPORT int vprintf(const char* format, va_list list) {
  return interceptWith<296, int>([&](FILE* s) { return realVfprintf(s, format, list); }, stdout);
}
OMNIO_EXPORT int __vprintf_chk(int flag, const char* format, va_list list) {
  return interceptWith<297, int>([&](FILE* s) { return realVfprintfChk(s, flag, format, list); },
                                 stdout);
}
OMNIO_EXPORT int dprintf(int fd, const char* format, ...) {
  OMNIO_VARIADIC(298, fd, format,
                 (realFunction<300, int(int, const char*, va_list)>()(fd, format, list)));
}
OMNIO_EXPORT int __dprintf_chk(int fd, int flag, const char* format, ...) {
  OMNIO_VARIADIC(
      299, fd, format,
      (realFunction<301, int(int, int, const char*, va_list)>()(fd, flag, format, list)));
}
// The headers turn fscanf and vfscanf into their C99 forms, which are rows of their own: the plain
// symbols need other names here.
OMNIO_EXPORT int omnioFscanf(FILE* stream, const char* format, ...) asm("fscanf");
OMNIO_EXPORT int omnioVfscanf(FILE* stream, const char* format, va_list list) asm("vfscanf");

OMNIO_EXPORT int omnioFscanf(FILE* stream, const char* format, ...) {
  OMNIO_VARIADIC(324, stream, format, realVfscanf<326>(stream, format, list));
}
OMNIO_EXPORT int __isoc99_fscanf(FILE* stream, const char* format, ...) {
  OMNIO_VARIADIC(325, stream, format, realVfscanf<327>(stream, format, list));
}
OMNIO_EXPORT int omnioVfscanf(FILE* stream, const char* format, va_list list) {
  return interceptWith<326, int>([&](FILE* s) { return realVfscanf<326>(s, format, list); },
                                 stream);
}
OMNIO_EXPORT int __isoc99_vfscanf(FILE* stream, const char* format, va_list list) {
  return interceptWith<327, int>([&](FILE* s) { return realVfscanf<327>(s, format, list); },
                                 stream);
}

OMNIO_EXPORT int puts(const char* text) {
  return interceptWith<287, int>([=](FILE*) { return realFunction<287, int(const char*)>()(text); },
                                 stdout);
}
OMNIO_EXPORT int putchar(int c) {
  return interceptWith<288, int>([](int ch, FILE*) { return realFunction<288, int(int)>()(ch); }, c,
                                 stdout);
}
OMNIO_EXPORT int getchar() {
  return interceptWith<322, int>([](FILE*) { return realFunction<322, int()>()(); }, stdin);
}

OMNIO_EXPORT FILE* freopen(const char* path, const char* mode, FILE* stream) {
  return reopen<259>(path, mode, stream);
}
OMNIO_EXPORT FILE* freopen64(const char* path, const char* mode, FILE* stream) {
  return reopen<260>(path, mode, stream);
}
