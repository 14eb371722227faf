// Effects of calls that the class, result and roles of a row do not express. An entry holds for the
// call and all its forms (open64 is a form of open); an entry of a form adds to it.
//
// A new effect: an enumerator here, the entries of the calls that have it, and the code that asks
// calls::does(row, Effect::...). Calls that could have one but have none are listed as well:
// table.cpp does not compile while such a call is missing.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "core/calls/call_id.hpp"

namespace omnio::calls {

enum class Effect : std::uint8_t {
  // Names of files. Opens say by their flags whether they make one.
  kMakesName,
  kRemovesName,
  kRenames,           // moves a name, or exchanges two if its flags say so
  kMakesLink,         // a second name of the same file
  kMakesSymlink,      // a name that stands for another one
  kMakesDirectory,    // the name is that of a directory
  kRemovesDirectory,  // the same; unlinkat does so by its flags
  kChangesDirectory,  // relative paths start from another one
  kChoosesName,       // the call makes up the name of its file (mkstemp)
  kStaysAtLink,       // looks at a symbolic link itself, and not at what that leads to
  // Data of files, by descriptor or path.
  kSetsLength,
  kReservesSpace,          // makes the file at least as long as offset and length say
  kMinusOneIsThePosition,  // an offset of -1 stands for the position of the descriptor
  kReplacesDescriptor,     // closes what was open at the number of the new descriptor
  // Streams.
  kReadsLine,
  kEndKeepsErrno,  // fails at the end of the file, and leaves errno as it was
  kUnlocked,       // leaves it to the application to let one thread at a time use the stream
  // MPI-IO. Explicit offset, nonblocking and collective follow from kOffset, kRequest and Sync.
  kSharedPointer,
  kSplitBegin,
  kSplitEnd,
  // Order of MPI ranks.
  kTests,            // finds complete without waiting: returns at once in any case
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

struct CallEffects {
  CallId call;
  Effects effects;
};

namespace detail {

using enum Effect;

// clang-format off
inline constexpr CallEffects kEffects[] = {
    // ---- names ----
    {CallId::mkstemp, {kChoosesName}},
    {CallId::mkostemp, {kChoosesName}},
    {CallId::mkstemps, {kChoosesName}},
    {CallId::mkostemps, {kChoosesName}},
    {CallId::tmpfile, {kChoosesName}},
    {CallId::mkdir, {kMakesName, kMakesDirectory}},
    {CallId::mkdirat, {kMakesName, kMakesDirectory}},
    {CallId::rename, {kMakesName, kRemovesName, kRenames}},
    {CallId::renameat, {kMakesName, kRemovesName, kRenames}},
    {CallId::renameat2, {kMakesName, kRemovesName, kRenames}},
    {CallId::link, {kMakesName, kMakesLink, kStaysAtLink}},
    {CallId::linkat, {kMakesName, kMakesLink, kStaysAtLink}},
    {CallId::symlink, {kMakesName, kMakesSymlink}},
    {CallId::symlinkat, {kMakesName, kMakesSymlink}},
    {CallId::unlink, {kRemovesName}},
    {CallId::unlinkat, {kRemovesName}},
    {CallId::remove, {kRemovesName}},
    {CallId::rmdir, {kRemovesName, kRemovesDirectory}},
    {CallId::chdir, {kChangesDirectory}},
    {CallId::fchdir, {kChangesDirectory}},
    {CallId::stat, {}},
    {CallId::lstat, {kStaysAtLink}},
    {CallId::fstatat, {}},
    {CallId::statx, {}},
    {CallId::access, {}},
    {CallId::faccessat, {}},
    // ---- lengths and positions ----
    {CallId::truncate, {kSetsLength}},
    {CallId::ftruncate, {kSetsLength}},
    {CallId::fallocate, {kReservesSpace}},
    {CallId::posix_fallocate, {kReservesSpace}},
    {CallId::posix_fadvise, {}},
    {CallId::preadv2, {kMinusOneIsThePosition}},
    {CallId::pwritev2, {kMinusOneIsThePosition}},
    // ---- descriptors and streams ----
    {CallId::dup2, {kReplacesDescriptor}},
    {CallId::dup3, {kReplacesDescriptor}},
    {CallId::freopen, {kReplacesDescriptor}},
    {CallId::fgets, {kReadsLine}},
    {CallId::getline, {kReadsLine, kEndKeepsErrno}},
    {CallId::getdelim, {kReadsLine, kEndKeepsErrno}},
    {CallId::fread_unlocked, {kUnlocked}},
    {CallId::__fread_unlocked_chk, {kUnlocked}},
    {CallId::fwrite_unlocked, {kUnlocked}},
    {CallId::fputs_unlocked, {kUnlocked}},
    {CallId::fputc_unlocked, {kUnlocked}},
    {CallId::putc_unlocked, {kUnlocked}},
    {CallId::fgets_unlocked, {kUnlocked}},
    {CallId::__fgets_unlocked_chk, {kUnlocked}},
    {CallId::fgetc_unlocked, {kUnlocked}},
    {CallId::getc_unlocked, {kUnlocked}},
    {CallId::fflush_unlocked, {kUnlocked}},
    // ---- MPI-IO ----
    {CallId::MPI_File_read, {}},
    {CallId::MPI_File_write, {}},
    {CallId::MPI_File_read_all, {}},
    {CallId::MPI_File_write_all, {}},
    {CallId::MPI_File_read_at, {}},
    {CallId::MPI_File_write_at, {}},
    {CallId::MPI_File_read_at_all, {}},
    {CallId::MPI_File_write_at_all, {}},
    {CallId::MPI_File_read_shared, {kSharedPointer}},
    {CallId::MPI_File_write_shared, {kSharedPointer}},
    {CallId::MPI_File_read_ordered, {kSharedPointer}},
    {CallId::MPI_File_write_ordered, {kSharedPointer}},
    {CallId::MPI_File_iread, {}},
    {CallId::MPI_File_iwrite, {}},
    {CallId::MPI_File_iread_at, {}},
    {CallId::MPI_File_iwrite_at, {}},
    {CallId::MPI_File_iread_all, {}},
    {CallId::MPI_File_iwrite_all, {}},
    {CallId::MPI_File_iread_at_all, {}},
    {CallId::MPI_File_iwrite_at_all, {}},
    {CallId::MPI_File_iread_shared, {kSharedPointer}},
    {CallId::MPI_File_iwrite_shared, {kSharedPointer}},
    {CallId::MPI_File_read_all_begin, {kSplitBegin}},
    {CallId::MPI_File_read_all_end, {kSplitEnd}},
    {CallId::MPI_File_write_all_begin, {kSplitBegin}},
    {CallId::MPI_File_write_all_end, {kSplitEnd}},
    {CallId::MPI_File_read_at_all_begin, {kSplitBegin}},
    {CallId::MPI_File_read_at_all_end, {kSplitEnd}},
    {CallId::MPI_File_write_at_all_begin, {kSplitBegin}},
    {CallId::MPI_File_write_at_all_end, {kSplitEnd}},
    {CallId::MPI_File_read_ordered_begin, {kSplitBegin, kSharedPointer}},
    {CallId::MPI_File_read_ordered_end, {kSplitEnd, kSharedPointer}},
    {CallId::MPI_File_write_ordered_begin, {kSplitBegin, kSharedPointer}},
    {CallId::MPI_File_write_ordered_end, {kSplitEnd, kSharedPointer}},
    {CallId::MPI_File_seek, {}},
    {CallId::MPI_File_seek_shared, {kSharedPointer}},
    {CallId::MPI_File_get_position_shared, {kSharedPointer}},
    {CallId::MPI_File_get_size, {}},
    {CallId::MPI_File_set_view, {}},
    {CallId::MPI_File_set_size, {}},
    {CallId::MPI_File_preallocate, {}},
    {CallId::MPI_File_set_info, {}},
    {CallId::MPI_File_set_atomicity, {}},
    // ---- order of MPI ranks ----
    {CallId::MPI_Send, {}},
    {CallId::MPI_Isend, {}},
    {CallId::MPI_Bsend, {kBuffered}},
    {CallId::MPI_Ibsend, {kBuffered}},
    {CallId::MPI_Rsend, {}},
    {CallId::MPI_Irsend, {}},
    {CallId::MPI_Probe, {}},
    {CallId::MPI_Iprobe, {kTests}},
    {CallId::MPI_Mprobe, {}},
    {CallId::MPI_Improbe, {kTests}},
    {CallId::MPI_Mrecv, {}},
    {CallId::MPI_Wait, {}},
    {CallId::MPI_Waitall, {}},
    {CallId::MPI_Waitany, {}},
    {CallId::MPI_Waitsome, {}},
    {CallId::MPI_Test, {kTests}},
    {CallId::MPI_Testall, {kTests}},
    {CallId::MPI_Testany, {kTests}},
    {CallId::MPI_Testsome, {kTests}},
    {CallId::MPI_Win_wait, {}},
    {CallId::MPI_Win_test, {kTests}},
    {CallId::MPI_Comm_create_group, {kKnownByNewGroup}},
    {CallId::MPI_Intercomm_create, {kKnownByNewGroup}},
    {CallId::MPI_Bcast, {kRootNamesData}},
    {CallId::MPI_Ibcast, {kRootNamesData}},
    {CallId::MPI_Reduce, {kRootNamesData}},
    {CallId::MPI_Ireduce, {kRootNamesData}},
    {CallId::MPI_Gather, {}},
    {CallId::MPI_Igather, {}},
    {CallId::MPI_Gatherv, {}},
    {CallId::MPI_Igatherv, {}},
    {CallId::MPI_Scatter, {}},
    {CallId::MPI_Iscatter, {}},
    {CallId::MPI_Scatterv, {}},
    {CallId::MPI_Iscatterv, {}},
};
// clang-format on

}  // namespace detail

}  // namespace omnio::calls
