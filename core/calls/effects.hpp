// Effects of calls that the class, result and roles of a row do not express. An entry holds for the
// call and all its forms (open64 is a form of open); an entry of a form adds to it.
//
// A new effect: an enumerator here, the entries of the calls that have it, and the code that asks
// calls::does(row, Effect::...). Calls that could have one but have none are listed as well:
// table.cpp does not compile while such a call is missing.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

namespace omnio::calls {

// The name of each row of the table in C++: CallId::pwrite64, CallId::PMPI_File_open. Code outside
// core/calls names a row in this way alone, never by its number and never by a text
// (scripts/check_calls.py).
//
// The value is the row's permanent number, which traces hold.
enum class CallId : std::uint16_t {
  none = 0,  // a place in the table without a call
#define OMNIO_CALL(BODY, NUMBER, NAME, ...) NAME = NUMBER,
#define OMNIO_PART(NUMBER, NAME, ...) NAME = NUMBER,
#include "core/calls/posix.def"
#include "core/calls/stdio.def"
#undef OMNIO_PART
#undef OMNIO_CALL
#define OMNIO_MPI_CALL(NUMBER, NAME, ...) MPI_##NAME = NUMBER, PMPI_##NAME = (NUMBER) + 1,
#define OMNIO_MPI_LARGE(NUMBER, NAME) MPI_##NAME##_c = NUMBER, PMPI_##NAME##_c = (NUMBER) + 1,
#define OMNIO_MPI_MORE(NUMBER, NAME, ...) NAME = NUMBER,
#include "core/calls/mpi.def"
#undef OMNIO_MPI_MORE
#undef OMNIO_MPI_LARGE
#undef OMNIO_MPI_CALL
#define OMNIO_THREAD_CALL(NUMBER, NAME, ...) NAME = NUMBER,
#define OMNIO_THREAD_MORE(NUMBER, NAME, ...) NAME = NUMBER,
#include "core/calls/threads.def"
#undef OMNIO_THREAD_MORE
#undef OMNIO_THREAD_CALL
};

constexpr std::uint16_t toNumber(CallId id) { return static_cast<std::uint16_t>(id); }

// PMPI_X of MPI_X and of itself: MPI_X has the even number, PMPI_X the next.
constexpr CallId pmpiOf(CallId id) { return static_cast<CallId>(toNumber(id) | 1U); }

enum class Effect : std::uint8_t {
  // Names of files. Opens say by their flags whether they make one.
  kMakesName,
  kRemovesName,
  kRenames,           // moves a name, or exchanges two if its flags say so
  kMakesLink,         // a second name of the same file
  kMakesSymlink,      // a name that stands for another one
  kMakesDirectory,    // the name is that of a directory
  kMakesNode,         // the name is that of an empty file, a FIFO, a socket or a device
  kRemovesDirectory,  // the same; unlinkat does so by its flags
  kChangesDirectory,  // relative paths start from another one
  kChoosesName,       // the call makes up the name of its file (mkstemp)
  kStaysAtLink,       // looks at a symbolic link itself, and not at what that leads to
  kReadsLink,         // finds the text of a symbolic link, or that the name is none (EINVAL)
  kInSharedMemory,    // the name is that of a file in /dev/shm (shm_open)
  kSeesSize,          // tells the size of a file to the application, and not to the trace
  // Data of files, by descriptor or path.
  kSetsLength,
  kReservesSpace,          // makes the file at least as long as offset and length say
  kMinusOneIsThePosition,  // an offset of -1 stands for the position of the descriptor
  kReplacesDescriptor,     // closes what was open at the number of the new descriptor
  kBeginsRead,             // of the bytes that offset and size say, at some time after it began
  kEndsTransfer,           // which took effect before: bytes were moved since it was begun
  kIsNotCounted,           // its bytes are not in the kernel's account (core/wire/moved_bytes.hpp)
  // Streams.
  kReadsLine,
  kEndKeepsErrno,  // fails at the end of the file, and leaves errno as it was
  kUnlocked,       // leaves it to the application to let one thread at a time use the stream
  // MPI-IO. Explicit offset, nonblocking and collective follow from kOffset, kRequest and Sync.
  kSharedPointer,
  kSplitBegin,
  kSplitEnd,
  // Order of MPI ranks.
  kTests,            // finds complete, or returns at once: its event may be a row of such calls
  kBuffered,         // a send that is complete when its message has been copied
  kKnownByNewGroup,  // some of a communicator make a new one, which says who they are
  kRootNamesData,    // at the root of an intercommunicator the arguments name data
};

class Effects {
 public:
  constexpr Effects() = default;
  constexpr Effects(std::initializer_list<Effect> list) {
    for (const Effect effect : list) bits_ |= bitOf(effect);
  }
  constexpr bool has(Effect effect) const { return (bits_ & bitOf(effect)) != 0; }
  constexpr Effects operator|(Effects other) const {
    other.bits_ |= bits_;
    return other;
  }

 private:
  static constexpr std::uint32_t bitOf(Effect effect) {
    return std::uint32_t{1} << static_cast<unsigned>(effect);
  }
  std::uint32_t bits_ = 0;
};

// Calls that have the same effects.
struct CallsWithEffects {
  Effects effects;
  std::array<CallId, 32> calls{};  // behind them CallId::none
};

inline constexpr auto kEffects = [] {
  using enum CallId;
  using enum Effect;
  return std::array<CallsWithEffects, 40>{{
      // ---- names ----
      {{kChoosesName}, {mkstemp, mkostemp, mkstemps, mkostemps, tmpfile}},
      {{kMakesName, kMakesDirectory}, {mkdir, mkdirat}},
      {{kMakesName, kMakesDirectory, kChoosesName}, {mkdtemp}},
      {{kMakesName, kMakesNode}, {mkfifo, mkfifoat, mknod, mknodat, bind}},
      {{kMakesName, kRemovesName, kRenames}, {rename, renameat, renameat2}},
      {{kMakesName, kMakesLink, kStaysAtLink}, {link, linkat}},
      {{kMakesName, kMakesSymlink}, {symlink, symlinkat}},
      {{kRemovesName}, {unlink, unlinkat, remove}},
      {{kRemovesName, kRemovesDirectory}, {rmdir}},
      {{kInSharedMemory}, {shm_open, shm_unlink}},
      {{kChangesDirectory}, {chdir, fchdir}},
      {{kSeesSize}, {stat, fstat, fstatat, statx}},
      {{}, {access,    faccessat, euidaccess, statfs,   fstatfs,   statvfs,    fstatvfs,
            chmod,     fchmodat,  chown,      fchownat, utime,     utimes,     futimesat,
            utimensat, scandir,   setxattr,   getxattr, listxattr, removexattr}},
      {{kStaysAtLink}, {lchmod, lchown, lutimes, lsetxattr, lgetxattr, llistxattr, lremovexattr}},
      {{kStaysAtLink, kReadsLink}, {readlink, readlinkat}},
      {{kStaysAtLink, kSeesSize}, {lstat}},
      // ---- lengths and positions ----
      {{kSetsLength}, {truncate, ftruncate}},
      {{kReservesSpace}, {fallocate, posix_fallocate}},
      {{}, {posix_fadvise, readahead, lockf, fcntl_lock}},
      {{kMinusOneIsThePosition}, {preadv2, pwritev2, copy_file_range, sendfile_read}},
      {{kMinusOneIsThePosition, kIsNotCounted}, {splice, splice_read}},
      {{kIsNotCounted}, {clone_range}},
      {{kBeginsRead}, {aio_read, lio_read, io_read}},
      {{kEndsTransfer}, {aio_read_end, aio_write_end, aio_fsync_end}},
      {{kEndsTransfer, kIsNotCounted}, {io_read_end, io_write_end, map_read, map_write}},
      // ---- descriptors and streams ----
      {{kReplacesDescriptor}, {dup2, dup3, freopen}},
      {{kReadsLine}, {fgets}},
      {{kReadsLine, kEndKeepsErrno}, {getline, getdelim}},
      {{kUnlocked},
       {fread_unlocked, __fread_unlocked_chk, fwrite_unlocked, fputs_unlocked, fputc_unlocked,
        putc_unlocked, fgets_unlocked, __fgets_unlocked_chk, fgetc_unlocked, getc_unlocked,
        fflush_unlocked}},
      // ---- MPI-IO ----
      {{},
       {MPI_File_read,        MPI_File_write,      MPI_File_read_all,     MPI_File_write_all,
        MPI_File_read_at,     MPI_File_write_at,   MPI_File_read_at_all,  MPI_File_write_at_all,
        MPI_File_iread,       MPI_File_iwrite,     MPI_File_iread_at,     MPI_File_iwrite_at,
        MPI_File_iread_all,   MPI_File_iwrite_all, MPI_File_iread_at_all, MPI_File_iwrite_at_all,
        MPI_File_seek,        MPI_File_get_size,   MPI_File_set_view,     MPI_File_set_size,
        MPI_File_preallocate, MPI_File_set_info,   MPI_File_set_atomicity}},
      {{kSharedPointer},
       {MPI_File_read_shared, MPI_File_write_shared, MPI_File_read_ordered, MPI_File_write_ordered,
        MPI_File_iread_shared, MPI_File_iwrite_shared, MPI_File_seek_shared,
        MPI_File_get_position_shared}},
      {{kSplitBegin},
       {MPI_File_read_all_begin, MPI_File_write_all_begin, MPI_File_read_at_all_begin,
        MPI_File_write_at_all_begin}},
      {{kSplitEnd},
       {MPI_File_read_all_end, MPI_File_write_all_end, MPI_File_read_at_all_end,
        MPI_File_write_at_all_end}},
      {{kSplitBegin, kSharedPointer}, {MPI_File_read_ordered_begin, MPI_File_write_ordered_begin}},
      {{kSplitEnd, kSharedPointer}, {MPI_File_read_ordered_end, MPI_File_write_ordered_end}},
      // ---- order of MPI ranks ----
      {{}, {MPI_Send,     MPI_Isend,    MPI_Rsend,    MPI_Irsend,   MPI_Probe,
            MPI_Mprobe,   MPI_Mrecv,    MPI_Wait,     MPI_Waitall,  MPI_Waitany,
            MPI_Waitsome, MPI_Win_wait, MPI_Gather,   MPI_Igather,  MPI_Gatherv,
            MPI_Igatherv, MPI_Scatter,  MPI_Iscatter, MPI_Scatterv, MPI_Iscatterv}},
      {{kBuffered}, {MPI_Bsend, MPI_Ibsend}},
      {{kTests},
       {MPI_Iprobe, MPI_Improbe, MPI_Test, MPI_Testall, MPI_Testany, MPI_Testsome, MPI_Win_test}},
      {{kKnownByNewGroup}, {MPI_Comm_create_group, MPI_Intercomm_create}},
      {{kRootNamesData}, {MPI_Bcast, MPI_Ibcast, MPI_Reduce, MPI_Ireduce}},
  }};
}();

// Calls `action` with each call that is listed, and its effects.
template <typename Action>
constexpr void forEachEffect(Action action) {
  for (const CallsWithEffects& entry : kEffects) {
    for (const CallId call : entry.calls) {
      if (call != CallId::none) action(call, entry.effects);
    }
  }
}

}  // namespace omnio::calls
