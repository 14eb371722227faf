"""A program that makes every POSIX and stream call of the table once, generated from the table.

  every_call.py CALLS_DIRECTORY OUTPUT      writes the C++ source; CALLS_DIRECTORY has posix.def and
                                            stdio.def

The acceptance test of the same name imports this module: what a call is made with, and what the
trace has to say of it, comes from one place. Numbers that a call gets follow from its row's number,
so that no two calls are made with the same ones.

A new row needs nothing here when its arguments can be made from their roles (Made.add). Otherwise
it gets a line in BY_HAND or in one of the tables of values by call.
"""

import os
import re
import sys

ROW = re.compile(r"OMNIO_CALL\(([^)]*)\)")


class Row:
    def __init__(self, words, api):
        self.body, number, self.name, self.plain, self.kind, self.result, *self.roles = words
        self.number, self.api = int(number), api

    def has(self, role):
        return role in self.roles


def rowsOf(directory):
    rows = []
    for api in ("posix", "stdio"):
        with open(os.path.join(directory, f"{api}.def"), encoding="utf-8") as text:
            lines = [line for line in text if not line.lstrip().startswith("//")]
        for match in ROW.finditer("".join(lines)):
            rows.append(Row([word.strip() for word in match.group(1).split(",")], api))
    return rows


# Flags by call, and their text in C. What is not here gets none.
FLAGS = {"open": "O_RDWR", "openat": "O_RDWR", "mkostemp": "O_APPEND", "mkostemps": "O_APPEND",
         "dup3": "O_CLOEXEC", "renameat2": "RENAME_NOREPLACE", "fallocate": "FALLOC_FL_KEEP_SIZE",
         "linkat": "AT_SYMLINK_FOLLOW", "fstatat": "AT_SYMLINK_NOFOLLOW",
         "statx": "AT_SYMLINK_NOFOLLOW", "fchownat": "AT_SYMLINK_NOFOLLOW",
         "utimensat": "AT_SYMLINK_NOFOLLOW", "faccessat": "AT_EACCESS", "pwritev2": "RWF_DSYNC",
         "sync_file_range": "SYNC_FILE_RANGE_WRITE", "mmap": "MAP_SHARED", "msync": "MS_SYNC"}
FLAG_VALUES = {"O_RDWR": 0o2, "O_RDWR|O_CREAT": 0o102, "O_APPEND": 0o2000, "O_CLOEXEC": 0o2000000, "RENAME_NOREPLACE": 1,
               "FALLOC_FL_KEEP_SIZE": 1, "AT_SYMLINK_FOLLOW": 0x400, "AT_SYMLINK_NOFOLLOW": 0x100,
               "AT_EACCESS": 0x200, "RWF_DSYNC": 2, "SYNC_FILE_RANGE_WRITE": 2, "MAP_SHARED": 1, "MS_SYNC": 4, "0": 0}
# kNumber by call: the suffix of a template, LOCK_SH, POSIX_FADV_WILLNEED, _IOLBF, STATX_BASIC_STATS,
# F_TLOCK.
NUMBERS = {"mkstemps": 4, "mkostemps": 4, "flock": 1, "posix_fadvise": 3, "setvbuf": 1, "statx": 0x7ff,
           "lockf": 2, "aio_fsync": os.O_DSYNC}
# The path is there before the call; MAKES: the call makes it, DIRECTORY: it is a directory, LINK: it
# is a symbolic link.
MAKES = ("creat", "mkdir", "mkdirat", "symlink", "symlinkat", "mkfifo", "mkfifoat", "mknod", "mknodat",
         "bind")
DIRECTORY = ("rmdir",)
LINK = ("readlink", "readlinkat")
NEW_NUMBER = 990  # that dup2 wishes; not in use
WHENCE = 0        # SEEK_SET
IGNORED = {
    "stat": ("any_facts",), "lstat": ("any_facts",), "fstat": ("any_facts",), "fstatat": ("any_facts",),
    "statx": ("&extended_facts",), "mknod": ("0",), "mknodat": ("0",),
    "statfs": ("any_facts",), "fstatfs": ("any_facts",), "statvfs": ("any_facts",),
    "fstatvfs": ("any_facts",),
    "getline": ("&line", "&line_bytes"), "getdelim": ("&line", "&line_bytes"),
    "fgetpos": ("any_position",), "fsetpos": ("any_position",)}

SHARED = "/dev/shm/every_call.shared"
# Calls that the roles do not say all of: the call in C, with CALL for the function, `fd` and
# `stream` where the row has them; and what the trace says beyond what follows from the roles.
TEXT = "twelve bytes"
LINE = "a line;\n"  # of the files that the calls work on
BY_HAND = {
    "fcntl": ("CALL(fd, F_DUPFD, 985)", {"cmd": 0, "value": 985}),
    "fcntl64": ("CALL(fd, F_DUPFD, 986)", {"cmd": 0, "value": 986}),
    "close_range": ("CALL(fd, fd, 0)", {}),
    "closefrom": ("CALL(fd)", {}),
    "closedir": ("CALL(directory)", {}),
    "opendir": ('::dirfd(CALL("."))', {"path": "."}),
    "fdopendir": ("CALL(fd)", {}),
    "readdir": ("CALL(directory) == nullptr ? 0 : 1", {}),
    "readdir64": ("CALL(directory) == nullptr ? 0 : 1", {}),
    "rewinddir": ("CALL(directory)", {}),
    "scandir": ('CALL(".", any_names, nullptr, nullptr)', {"path": "."}),
    "scandir64": ('CALL(".", any_names, nullptr, nullptr)', {"path": "."}),
    "chdir": ('CALL(".")', {"path": "."}),
    "shm_open": ('CALL("/every_call.shared", O_RDWR | O_CREAT, 0700)',
                 {"path": SHARED, "flags": os.O_RDWR | os.O_CREAT}),
    "shm_unlink": ('CALL("/every_call.shared")', {"path": SHARED}),
    "bind": ('bindTo(CALL, "p179")', {}),
    "freopen": ('CALL("p259", "r+", stream)', {}),
    "freopen64": ('CALL("p260", "r+", stream)', {}),
    "puts": (f'CALL("{TEXT}")', {}),
    "putchar": ("CALL('p')", {"char": ord("p")}),
    "getchar": ("CALL()", {}),
    "fprintf": ('CALL(stream, "%s", text)', {}),
    "__fprintf_chk": ('CALL(stream, 0, "%s", text)', {}),
    "vfprintf": ('withList(CALL, stream, "%s", text)', {}),
    "__vfprintf_chk": ('withListChecked(CALL, stream, "%s", text)', {}),
    "printf": ('CALL("%s", text)', {}),
    "__printf_chk": ('CALL(0, "%s", text)', {}),
    "vprintf": ('withListAlone(CALL, "%s", text)', {}),
    "__vprintf_chk": ('withListAloneChecked(CALL, "%s", text)', {}),
    "dprintf": ('CALL(fd, "%s", text)', {}),
    "__dprintf_chk": ('CALL(fd, 0, "%s", text)', {}),
    "vdprintf": ('withList(CALL, fd, "%s", text)', {}),
    "__vdprintf_chk": ('withListChecked(CALL, fd, "%s", text)', {}),
    "fscanf": ('CALL(stream, "%31s", word)', {}),
    "__isoc99_fscanf": ('CALL(stream, "%31s", word)', {}),
    "vfscanf": ('withList(CALL, stream, "%31s", word)', {}),
    "__isoc99_vfscanf": ('withList(CALL, stream, "%31s", word)', {})}
for _name, _number in (("aio_read", 195), ("aio_read64", 196), ("aio_write", 197), ("aio_write64", 198)):
    BY_HAND[_name] = (f"CALL(blockOf(fd, {_number % 100 + 20}, {16 * _number}))", {})
for _name in ("mmap", "mmap64"):
    BY_HAND[_name] = ("keepMapped(CALL(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0))",
                      {"length": 4096, "offset": 0, "value": 1})
BY_HAND["msync"] = ("CALL(mapped, 4096, MS_SYNC)", {"length": 4096})
BY_HAND["mremap"] = ("keepMapped(CALL(mapped, 4096, 4096, MREMAP_MAYMOVE))", {"length": 4096})
BY_HAND["munmap"] = ("CALL(mapped, 4096)", {"length": 4096})
BY_HAND["splice"] = (f"CALL(ends, nullptr, fd, pointerTo<0>({16 * 32}), 52, 0)", {})
for _name in ("aio_fsync", "aio_fsync64"):
    BY_HAND[_name] = ("CALL(O_DSYNC, blockOf(fd, 0, 0))", {})
# What is made before such a call, without being recorded.
_DIRECTORY, _PIPE = "DIR* const directory = directoryOf(fd);", "const int ends = pipeOf(52);"
BEFORE = {"closedir": _DIRECTORY, "readdir": _DIRECTORY, "readdir64": _DIRECTORY, "rewinddir": _DIRECTORY,
          "splice": _PIPE, **{name: f'madePath("p{number}"); FILE* const stream = streamOf(madeFile("f{number}"));'
             for name, number in (("freopen", 259), ("freopen64", 260))}}
ON_STDOUT = ("puts", "putchar", "printf", "__printf_chk", "vprintf", "__vprintf_chk")
ON_STDIN = ("getchar",)
# On a directory, which one by open() makes before: replays know the descriptor by it.
AFTER_OPEN = ("close_range", "closefrom", "closedir", "fdopendir", "readdir", "readdir64", "rewinddir")


def followsOpen(row):
    """Whether a recorded open comes before the call: replays know the source of a copy by it."""
    return row.name in AFTER_OPEN or row.has("kFdSource")


def nameOf(row, letter=""):
    suffix = ".end" if row.plain in ("mkstemps", "mkostemps") else ""
    return f"{letter}{row.number}" + ("XXXXXX" + suffix if row.has("kPathTemplate") else "")


def request(row):
    """Bytes that a call with kSize asks for."""
    return row.number % 100 + 20


def textOf(row):
    """What fputs writes."""
    return "t" * (row.number % 50 + 1)


class Made:
    """How a row is called, and what the trace has to say of its arguments."""

    def __init__(self, row):
        self.row, self.arguments, self.expected = row, [], {}
        self.path = None  # of the file that the call works on, in the working directory
        ignored = iter(IGNORED.get(row.plain, ()))
        if row.name.startswith(("__xstat", "__lxstat", "__fxstat")):
            ignored = iter(("kStatVersion", "any_facts"))
        if row.name.startswith("__xmknod"):
            ignored = iter(("0", "&device"))
        for role in row.roles:
            self.add(role, ignored)
        if row.name in BY_HAND:
            self.call, more = BY_HAND[row.name]
            self.expected.update(more)
        else:
            self.call = f"CALL({', '.join(self.arguments)})"
        if row.has("kFd") or row.has("kStream"):
            self.path = nameOf(row, "f")
        if row.name in AFTER_OPEN + ("fchdir",):
            self.path = "."
        if row.name in ON_STDOUT:
            self.path = "stdout"
        if row.name in ON_STDIN:
            self.path = "stdin"

    def add(self, role, ignored):
        row = self.row
        flags = FLAGS.get(row.plain, "0")
        if row.has("kFlags") and row.result == "kNewFd" and row.has("kMode"):
            flags += "|O_CREAT"  # else the call gets no mode
        number = NUMBERS.get(row.plain, row.number)
        # Role: (argument in C, {key in the trace: value})
        made = {
            "kFd": ("fd", {}), "kStream": ("stream", {}),
            "kFdSource": ("source", {"source": "source"}),
            "kSourceOffset": (f"pointerTo<1>({16 * row.number + 1})",
                              {"source_offset": 16 * row.number + 1}),
            "kUser": ("getuid()", {"uid": os.getuid()}), "kGroup": ("getgid()", {"gid": os.getgid()}),
            "kRoom": (str(request(row)), {"size": request(row)}),
            "kOwnBuffer": ("buffer", {"buffer": 1}),
            "kFdNew": (str(NEW_NUMBER), {"newfd": NEW_NUMBER}),
            "kDirFd": ("AT_FDCWD", {"dirfd": -100}), "kDirFdNew": ("AT_FDCWD", {"newdirfd": -100}),
            "kPath": (f'"{nameOf(row, "p")}"', {"path": nameOf(row, "p")}),
            "kPathNew": (f'"{nameOf(row, "n")}"', {"newpath": nameOf(row, "n")}),
            "kPathTemplate": ("name", {"path": nameOf(row, "p")}),
            "kLinkText": (f'"t{row.number}"', {"target": f"t{row.number}"}),
            "kFlags": (flags, {"flags": FLAG_VALUES[flags]}),
            "kMode": ("R_OK", {"mode": 4}) if row.kind == "kMetadata" and "access" in row.plain
                     else ("0700", {"mode": 0o700}),
            "kBuf": ("buffer", {}), "kBufLimit": ("sizeof buffer", {}), "kLineIn": ("buffer", {"count": len(LINE)}),
            "kSize": (str(request(row)),
                      {"size" if row.has("kLineIn") else "count": request(row)}),
            "kItemSize": ("3", {"size": 3}), "kItemCount": (str(number), {"nmemb": number}),
            "kOffset": (str(16 * number), {"offset": 16 * row.number}),
            "kLength": (str(64 * number), {"length": 64 * row.number}),
            "kWhence": ("SEEK_SET", {"whence": WHENCE}),
            "kIov": ("pieces", {"iov": [row.number, 7]}), "kIovCount": ("2", {"iovcnt": 2}),
            "kOpenMode": ('"r+"', {"type": "r+"}),
            "kTextOut": (f'"{textOf(row)}"', {"count": len(textOf(row))}),
            "kChar": ("';'", {"char": ord(";")}),
            "kNumber": (str(number), {"value": number}),
            "kCommand": ("F_DUPFD", {"cmd": 0}),
            "kRequest": ("", {"request": None}),  # counts from 1, whatever the row
            "kMapping": ("", {"mapping": None}),
            "kAttribute": ('"user.omnio"', {"attribute": "user.omnio"}),
            "kFileSize": ("", {"file_size": 4096 * len(LINE)}), "kRangeOffset": ("", {"range_offset": 0}),
        }
        if role == "kOffset":
            offset = 16 * row.number
            made["kOffset"] = (f"pointerTo<0>({offset})" if row.has("kSourceOffset") else str(offset),
                               {"offset": offset})
        if role == "kLength":
            made["kLength"] = (str(64 * row.number), {"length": 64 * row.number})
        if role == "kIgnored":
            self.arguments.append(next(ignored, "nullptr"))
            return
        argument, expected = made[role]
        self.arguments.append(argument)
        self.expected.update(expected)


HEAD = """// Generated by every_call.py from posix.def and stdio.def.
#include <aio.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include <cerrno>
#include <string>
#include <type_traits>

#include "core/calls/unlisted.hpp"

// Preparations go past the tracer: by system calls, and by the C library's own functions.
// Numbers of descriptors are not used again, since the tracer sees none of these closed.
namespace {

constexpr int kFirstNumber = 100;

template <typename Function>
Function* own(const char* name) {
  static void* library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  return reinterpret_cast<Function*>(dlsym(library, name));
}
#define syscall own<decltype(::syscall)>("syscall")

#ifdef __x86_64__
[[maybe_unused]] constexpr int kStatVersion = 1;
#else
[[maybe_unused]] constexpr int kStatVersion = 0;
#endif

char buffer[65536];
const char text[] = "TEXT";
constexpr char kLine[] = "LINE_TEXT";
char word[32];
char* line = nullptr;
size_t line_bytes = 0;
int next_number = kFirstNumber;
union {
  struct stat plain;
  struct stat64 large;
  struct statfs system;
  struct statfs64 large_system;
  struct statvfs posix_system;
  struct statvfs64 large_posix_system;
} facts_memory;
struct statx extended_facts;
fpos64_t position_memory;
dev_t device = 0;
FILE* told = nullptr;

template <int>
off64_t* pointerTo(off64_t offset) {
  static off64_t memory;
  memory = offset;
  return &memory;
}

// Converts to a pointer to whichever form the function takes.
struct AnyStat {
  operator struct stat*() { return &facts_memory.plain; }
  operator struct stat64*() { return &facts_memory.large; }
  operator struct statfs*() { return &facts_memory.system; }
  operator struct statfs64*() { return &facts_memory.large_system; }
  operator struct statvfs*() { return &facts_memory.posix_system; }
  operator struct statvfs64*() { return &facts_memory.large_posix_system; }
};
// The control block of an asynchronous operation, with memory of its own.
struct AnyBlock {
  struct aiocb64* block;
  operator struct aiocb64*() { return block; }
  operator struct aiocb*() { return reinterpret_cast<struct aiocb*>(block); }
};
AnyBlock blockOf(int fd, size_t bytes, off64_t offset) {
  static struct aiocb64 blocks[8];
  static char memory[8][256];
  static int next = 0;
  struct aiocb64& block = blocks[next];
  block.aio_fildes = fd;
  block.aio_buf = memory[next++];
  block.aio_nbytes = bytes;
  block.aio_offset = offset;
  block.aio_sigevent.sigev_notify = SIGEV_NONE;
  return {&block};
}
void* mapped = nullptr;  // by the last call that maps
void* keepMapped(void* memory) { return mapped = memory; }
// The end of a pipe with so many bytes in it.
int pipeOf(size_t bytes) {
  int ends[2];
  if (syscall(SYS_pipe2, ends, 0) != 0) return -1;
  syscall(SYS_write, ends[1], buffer, bytes);
  return ends[0];
}
// Gives a socket a name.
template <typename Bind>
int bindTo(Bind bind_socket, const char* name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  strcpy(address.sun_path, name);
  const int made = static_cast<int>(syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0));
  return bind_socket(made, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}
struct AnyNames {
  operator struct dirent***() { return &names; }
  operator struct dirent64***() { return &large_names; }
  struct dirent** names = nullptr;
  struct dirent64** large_names = nullptr;
};
struct AnyPosition {
  operator fpos_t*() { return reinterpret_cast<fpos_t*>(&position_memory); }
  operator fpos64_t*() { return &position_memory; }
};

int raised(int fd, int number) {
  const int other = static_cast<int>(syscall(SYS_fcntl, fd, F_DUPFD, number));
  syscall(SYS_close, fd);
  return other;
}

// A file of lines with words, open for reading and writing.
int madeFile(const char* name, int flags = O_RDWR) {
  const int fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CREAT, 0600));
  static const std::string lines = [] {
    std::string all;
    for (int i = 0; i < 4096; ++i) all += kLine;
    return all;
  }();
  syscall(SYS_write, fd, lines.data(), lines.size());
  syscall(SYS_close, fd);
  const int again = static_cast<int>(syscall(SYS_openat, AT_FDCWD, name, flags));
  const int number = next_number++;
  return raised(again, number);
}

const char* madePath(const char* name) {
  syscall(SYS_close, madeFile(name));
  return name;
}

void giveAttribute(const char* name) { syscall(SYS_setxattr, name, "user.omnio", text, sizeof text, 0); }

// Tells strace which row's call follows, and by 0 that it is over.
void mark(int row) { syscall(SYS_lseek, -1, row, SEEK_SET); }

FILE* streamOf(int fd) { return own<decltype(::fdopen)>("fdopen")(fd, "r+"); }
DIR* directoryOf(int fd) { return own<decltype(::fdopendir)>("fdopendir")(fd); }

template <typename Result>
void tell(const char* name, int fd, Result result) {
  static auto* const print = own<decltype(::fprintf)>("fprintf");
  long long number = 0;
  if constexpr (std::is_pointer_v<Result>) {
    number = result == nullptr ? -1 : 0;
  } else {
    number = static_cast<long long>(result);
  }
  print(told, "%s %d %lld %d\\n", name, fd, number, number < 0 ? errno : 0);
}

template <typename Real, typename Where>
int withList(Real real, Where where, const char* format, ...) {
  va_list list;
  va_start(list, format);
  const int result = real(where, format, list);
  va_end(list);
  return result;
}
template <typename Real, typename Where>
int withListChecked(Real real, Where where, const char* format, ...) {
  va_list list;
  va_start(list, format);
  const int result = real(where, 0, format, list);
  va_end(list);
  return result;
}
template <typename Real>
int withListAlone(Real real, const char* format, ...) {
  va_list list;
  va_start(list, format);
  const int result = real(format, list);
  va_end(list);
  return result;
}
template <typename Real>
int withListAloneChecked(Real real, const char* format, ...) {
  va_list list;
  va_start(list, format);
  const int result = real(0, format, list);
  va_end(list);
  return result;
}

AnyStat any_facts;
AnyPosition any_position;
AnyNames any_names;

}  // namespace

"""


def blockOf(made):
    row, lines = made.row, []
    if row.name in AFTER_OPEN:
        lines.append('const int fd = open(".", O_RDONLY | O_DIRECTORY);')
    elif row.name == "fchdir":
        lines.append('const int fd = madeFile(".", O_RDONLY | O_DIRECTORY);')
    elif row.name in ON_STDOUT:
        lines.append("const int fd = 1;")
    elif row.name in ON_STDIN:
        lines.append("const int fd = 0;")
    elif made.path is not None:
        lines.append(f'const int fd = madeFile("{made.path}");')
    else:
        lines.append("const int fd = -1;")
    if row.has("kStream") and row.name not in ON_STDOUT + ON_STDIN:
        lines.append("FILE* const stream = streamOf(fd);")
    if row.has("kFdSource"):
        lines.append(f'const int source = open(madePath("{nameOf(row, "s")}"), O_RDONLY);')
    if row.has("kPathTemplate"):
        lines.append(f'char name[] = "{nameOf(row, "p")}";')
    if row.has("kPath") and row.name not in BY_HAND:
        if row.plain in DIRECTORY:
            lines.append(f'syscall(SYS_mkdirat, AT_FDCWD, "{nameOf(row, "p")}", 0700);')
        elif row.plain in LINK:
            lines.append(f'syscall(SYS_symlinkat, "there", AT_FDCWD, "{nameOf(row, "p")}");')
        elif row.plain not in MAKES:
            lines.append(f'madePath("{nameOf(row, "p")}");')
    if row.has("kIov"):
        lines.append(f"const iovec pieces[2] = {{{{buffer, {row.number}}}, {{buffer, 7}}}};")
    if row.has("kAttribute") and not row.plain.startswith(("set", "fset")):
        lines.append(f'giveAttribute("{made.path or nameOf(row, "p")}");')
    if row.name in BEFORE:
        lines.append(BEFORE[row.name])
    lines.append(f"mark({row.number});")
    call = made.call.replace("CALL", f"call_{row.number}")
    if row.result == "kNone":
        lines.append(f"{call};")
        lines.append(f'tell("{row.name}", fd, 0);')
    else:
        lines.append(f"const auto result = {call};")
        lines.append(f'tell("{row.name}", fd, result);')
    lines.append("mark(0);")
    return "\n".join(f"    {line}" for line in lines)


def order(rows):
    """closefrom comes first: it is recorded for each descriptor that it closes."""
    return sorted(rows, key=lambda row: row.name != "closefrom")


def source(rows):
    out = [HEAD.replace("LINE_TEXT", LINE.replace("\n", "\\n")).replace("TEXT", TEXT)]
    for row in rows:
        out.append(f'extern "C" decltype(::{row.name}) call_{row.number} __asm__("{row.name}");\n')
    out.append("\n// every_call TOLD: a line for each call, of its name, descriptor, result and errno.\n"
               "int main(int, char** argv) {\n"
               '  told = own<decltype(::fopen)>("fopen")(argv[1], "w");\n')
    for row in order(rows):
        out.append("  {\n" + blockOf(Made(row)) + "\n  }\n")
    out.append('  own<decltype(::fclose)>("fclose")(told);\n  _exit(0);\n}\n')
    return "".join(out)


if __name__ == "__main__":
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(source(rowsOf(sys.argv[1])))
