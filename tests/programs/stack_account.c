// Preloaded: the call stack of each read and write, as libc's backtrace() tells it, to compare with
// those that a tracer has recorded of the same calls in the same process. It works before the
// tracer and after it in LD_PRELOAD.
//
// STACK_ACCOUNT is the beginning of a path: each process that reads or writes a regular file, or
// calls MPI-IO, appends to STACK_ACCOUNT.PID a line for each call, its parts divided by tabs:
//
//   call path size offset frame...
//
// path is "-" for MPI-IO, whose size is the count of elements; offset is -1 for calls without one.
// A frame is the path of a module, "+" and the return address as an address of the file (0x...),
// the innermost first; "?" is the path where no module is.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { kNoFile = -1000, kMaxFrames = 256, kMaxLine = 64 * 1024, kMaxPath = 4096 };

// The C library's own functions, which nothing stands before: a tracer sees no call of this
// library.
static struct {
  int (*open)(const char*, int, ...);
  ssize_t (*write)(int, const void*, size_t);
  int (*close)(int);
  ssize_t (*readlink)(const char*, char*, size_t);
  int (*fstat)(int, struct stat*);
} libc;

static const char* prefix;
static char program[kMaxPath];
static __thread int is_inside __attribute__((tls_model("initial-exec")));

__attribute__((constructor)) static void begin(void) {
  void* library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (library == NULL) return;
  *(void**)&libc.open = dlsym(library, "open");
  *(void**)&libc.write = dlsym(library, "write");
  *(void**)&libc.close = dlsym(library, "close");
  *(void**)&libc.readlink = dlsym(library, "readlink");
  *(void**)&libc.fstat = dlsym(library, "fstat");
  if (libc.readlink == NULL || libc.readlink("/proc/self/exe", program, sizeof program - 1) < 0)
    return;
  // The first call loads a library.
  void* address;
  backtrace(&address, 1);
  prefix = getenv("STACK_ACCOUNT");
}

static char line[kMaxLine];
static size_t length;
static volatile char is_taken;  // the line

static void put(const char* format, ...) {
  va_list list;
  va_start(list, format);
  length += (size_t)vsnprintf(line + length, sizeof line - length, format, list);
  va_end(list);
  if (length >= sizeof line) abort();
}

static void putFrame(void* address) {
  Dl_info found;
  struct link_map* module = NULL;
  // A return address may lie after the last instruction of its function.
  if (dladdr1((char*)address - 1, &found, (void**)&module, RTLD_DL_LINKMAP) == 0 ||
      module == NULL) {
    put("\t?+%p", address);
    return;
  }
  put("\t%s+0x%lx", module->l_name[0] == '\0' ? program : module->l_name,
      (unsigned long)((char*)address - (char*)module->l_addr));
}

static int isRegular(int fd, char* path) {
  struct stat state;
  if (libc.fstat(fd, &state) != 0 || !S_ISREG(state.st_mode)) return 0;
  char link[40];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t bytes = libc.readlink(link, path, kMaxPath - 1);
  if (bytes <= 0) return 0;
  path[bytes] = '\0';
  return 1;
}

static void append(void) {
  char path[kMaxPath];
  snprintf(path, sizeof path, "%s.%d", prefix, (int)getpid());
  const int out = libc.open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0666);
  if (out < 0 || libc.write(out, line, length) != (ssize_t)length) abort();
  libc.close(out);
}

__attribute__((noinline)) static void note(const char* call, int fd, size_t size, long offset) {
  if (prefix == NULL || is_inside) return;
  const int error = errno;
  is_inside = 1;
  char path[kMaxPath] = "-";
  if (fd == kNoFile || isRegular(fd, path)) {
    void* addresses[kMaxFrames];
    const int count = backtrace(addresses, kMaxFrames);
    while (__atomic_test_and_set(&is_taken, __ATOMIC_ACQUIRE)) continue;
    length = 0;
    put("%s\t%s\t%zu\t%ld", call, path, size, offset);
    for (int i = 0; i < count; ++i) putFrame(addresses[i]);
    put("\n");
    append();
    __atomic_clear(&is_taken, __ATOMIC_RELEASE);
  }
  is_inside = 0;
  errno = error;
}

static size_t bytesOf(const struct iovec* parts, int count) {
  size_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += parts[i].iov_len;
  return bytes;
}

// A function of that name, whatever a header says of it: all arguments are words in registers. The
// real one is called last, which -O2 makes a jump of, so that a tracer that comes next finds the
// frame of the caller.
#define ARGUMENTS long a, long b, long c, long d, long e, long f
#define WRAP(name, fd, size, offset)                            \
  long wrapped_##name(ARGUMENTS) __asm__(#name);                \
  long wrapped_##name(ARGUMENTS) {                              \
    static long (*real)(ARGUMENTS);                             \
    if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, #name); \
    note(#name, (int)(fd), (size_t)(size), offset);             \
    return real(a, b, c, d, e, f);                              \
  }
#define PARTS bytesOf((const struct iovec*)b, (int)c)

WRAP(read, a, c, -1)
WRAP(write, a, c, -1)
WRAP(pread, a, c, d)
WRAP(pread64, a, c, d)
WRAP(pwrite, a, c, d)
WRAP(pwrite64, a, c, d)
WRAP(readv, a, PARTS, -1)
WRAP(writev, a, PARTS, -1)
WRAP(preadv, a, PARTS, d)
WRAP(preadv64, a, PARTS, d)
WRAP(pwritev, a, PARTS, d)
WRAP(pwritev64, a, PARTS, d)

// Only a tracer that comes next sees these: it calls them by their other names.
WRAP(MPI_File_read_at, kNoFile, (int)d, b)
WRAP(MPI_File_read_at_all, kNoFile, (int)d, b)
WRAP(MPI_File_write_at, kNoFile, (int)d, b)
WRAP(MPI_File_write_at_all, kNoFile, (int)d, b)
WRAP(MPI_File_read, kNoFile, (int)c, -1)
WRAP(MPI_File_read_all, kNoFile, (int)c, -1)
WRAP(MPI_File_write, kNoFile, (int)c, -1)
WRAP(MPI_File_write_all, kNoFile, (int)c, -1)
