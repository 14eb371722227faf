// MPI-IO: opening, views, sizes, pointers, and calls that move data. And what a trace tells of an
// MPI file besides its calls: hints, and how its file system lays it out.

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/statfs.h>

#include "core/calls/role.hpp"
#include "core/wire/info.hpp"
#include "trace/runtime/mpi/objects.hpp"
#include "trace/runtime/ring/container_writer.hpp"
#include "trace/runtime/sys/scratch.hpp"
#include "trace/runtime/sys/text.hpp"
#include "trace/wrap/mpi/communicators.hpp"
#include "trace/wrap/mpi/file_call.hpp"

namespace omnio::trace {
namespace {

constexpr char kBetweenHints = '\x01';

// Begins a fact: prefix, number, suffix.
void putKey(LongText& fact, const char* prefix, std::uint32_t handle, const char* suffix) {
  fact.put(prefix).putNumber(handle).put(suffix).put('\0');
}

void tell(LongText& fact) {
  fact.put('\0');
  if (fact.isWhole() && openContainer()) appendInfo(fact.data(), fact.size());
}

bool isNone(MPI_Info info) { return info == nullptr || info == open_mpi::nullInfo(); }

void putHints(LongText& fact, MPI_Info info) {
  auto* const count = OMNIO_LAZY_MPI(PMPI_Info_get_nkeys);
  auto* const key_of = OMNIO_LAZY_MPI(PMPI_Info_get_nthkey);
  auto* const value_of = OMNIO_LAZY_MPI(PMPI_Info_get);
  int keys = 0;
  if (count == nullptr || key_of == nullptr || value_of == nullptr ||
      count(info, &keys) != MPI_SUCCESS) {
    return;
  }
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1];
    char value[MPI_MAX_INFO_VAL + 1];
    int is_there = 0;
    if (key_of(info, i, key) != MPI_SUCCESS ||
        value_of(info, key, MPI_MAX_INFO_VAL, value, &is_there) != MPI_SUCCESS || is_there == 0) {
      continue;
    }
    if (i > 0) fact.put(kBetweenHints);
    fact.put(std::string_view(key)).put('=').put(std::string_view(value));
  }
}

// Numbers of file systems as statfs(2) gives them, and what their own interfaces are.
constexpr long kLustre = 0x0BD00BD0;
constexpr long kBeegfs = 0x19830326;

void putHex(LongText& fact, const unsigned char* bytes, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    fact.put("0123456789abcdef"[bytes[i] >> 4]).put("0123456789abcdef"[bytes[i] & 15]);
  }
}

// The layout as Lustre keeps it; readers take it apart.
void putLustre(LongText& fact, const char* path) {
  constexpr std::size_t kMost = 64 * 1024;  // XATTR_SIZE_MAX
  const Scratch<unsigned char, 1> bytes(kMost);
  if (!bytes) return;
  const long got =
      rawSyscall(SYS_getxattr, address(path), address("lustre.lov"), address(bytes.data()), kMost);
  if (got > 0) {
    fact.put(' ');
    putHex(fact, bytes.data(), static_cast<std::size_t>(got));
  }
}

void putBeegfs(LongText& fact, const char* path) {
  struct StripeInfo {  // of beegfs/beegfs_ioctl.h
    unsigned pattern = 0;
    unsigned chunk_bytes = 0;
    std::uint16_t targets = 0;
  } stripes;
  const long fd = rawSyscall(SYS_openat, AT_FDCWD, address(path), O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return;
  const long failed = rawSyscall(SYS_ioctl, fd, _IOR('f', 25, StripeInfo), address(&stripes));
  rawSyscall(SYS_close, fd);
  if (failed != 0) return;
  fact.put(' ').putNumber(stripes.pattern).put(' ').putNumber(stripes.chunk_bytes);
  fact.put(' ').putNumber(stripes.targets);
}

// Facts of the file with this handle (docs/formats/trace.md, "Hints"); `given` may be none.
void tellHints(MPI_File file, MPI_Info given, std::uint32_t handle) {
  if (!isNone(given)) {
    LongText fact;
    putKey(fact, wire::info::kHintsPrefix, handle, ".given");
    putHints(fact, given);
    tell(fact);
  }
  auto* const get = OMNIO_LAZY_MPI(PMPI_File_get_info);
  auto* const free = OMNIO_LAZY_MPI(PMPI_Info_free);
  MPI_Info used = nullptr;
  if (get == nullptr || free == nullptr || get(file, &used) != MPI_SUCCESS || isNone(used)) return;
  LongText fact;
  putKey(fact, wire::info::kHintsPrefix, handle, ".used");
  putHints(fact, used);
  tell(fact);
  free(&used);
}

// "File layout": of a file that exists, by the name that it was opened by.
void tellFileLayout(const char* path, std::uint32_t handle) {
  struct statfs about {};
  if (rawSyscall(SYS_statfs, address(path), address(&about)) != 0) return;
  LongText fact;
  putKey(fact, wire::info::kLayoutPrefix, handle, "");
  const auto kind = static_cast<long>(static_cast<std::uint32_t>(about.f_type));
  fact.putNumber(kind).put(' ').putNumber(about.f_bsize);
  if (kind == kLustre) putLustre(fact, path);
  if (kind == kBeegfs) putBeegfs(fact, path);
  tell(fact);
}

static_assert(MPI_MODE_CREATE == calls::kModeCreate && MPI_MODE_RDONLY == calls::kModeReadOnly &&
              MPI_MODE_WRONLY == calls::kModeWriteOnly && MPI_MODE_RDWR == calls::kModeReadWrite &&
              MPI_MODE_DELETE_ON_CLOSE == calls::kModeDeleteOnClose &&
              MPI_MODE_UNIQUE_OPEN == calls::kModeUniqueOpen &&
              MPI_MODE_EXCL == calls::kModeExclusive && MPI_MODE_APPEND == calls::kModeAppend &&
              MPI_MODE_SEQUENTIAL == calls::kModeSequential);

using calls::Role;

// Asks MPI for a number; 0 when it cannot tell.
template <typename Number, typename Function, typename... A>
std::int64_t ask(const char* pmpi_name, A... a) {
  auto* const function = mpiFunction<Function>(pmpi_name);
  Number number = 0;
  if (function == nullptr || function(a..., &number) != MPI_SUCCESS || number < 0) return 0;
  return number;
}

// A path whose text can be read: a call that failed may have done so before it looked.
bool canRead(const char* name, bool failed) {
  return name != nullptr && (!failed || isReadable(name));
}

template <CallId kCall>
int openMpiFile(MPI_Comm communicator, const char* name, int amode, MPI_Info hints,
                MPI_File* file) {
  auto* const real = realMpi<decltype(MPI_File_open)>(kCall);
  FileCall<kCall> call;
  Group* const members = groupOf(communicator);
  std::uint64_t seq = 0;
  if (call.isOwn()) {
    seq = nextCall(members);
    call.template put<Role::kSeq>(seq);
    call.template put<Role::kComm>(numberOf(members));
  }
  const int result = call.call([&] { return real(communicator, name, amode, hints, file); });
  if (!call.canRecord() || !canRead(name, call.failed())) return result;
  const char* const path = withoutFileSystem(name);
  const wire::PathParts parts = resolvePath(AT_FDCWD, path);
  if (!isRecorded(parts)) return result;
  Subject subject;
  subject.handle = openFile(path, parts, static_cast<std::uint32_t>(amode), !call.failed());
  if (!subject.handle.isTraced()) return result;  // no memory
  call.template put<Role::kAmode>(amode);
  if (!call.failed()) {
    call.template put<Role::kRanks>(
        ask<int, decltype(MPI_Comm_size)>("PMPI_Comm_size", communicator));
    rememberMpiFile(*file, subject.handle);
    const Group* const sharers =
        deriveGroup(*file, call.isOwn() ? members : nullptr, seq, GroupKind::kFile);
    call.template put<Role::kNewComm>(numberOf(sharers));
    if (sharers == nullptr || sharers->rank == 0) {
      tellHints(*file, hints, subject.handle.handle());
      tellFileLayout(path, subject.handle.handle());
    }
    // Elsewhere it is 0; of a sequential file there is none.
    if ((amode & MPI_MODE_APPEND) != 0) {
      call.template put<Role::kPosition>((amode & MPI_MODE_SEQUENTIAL) != 0 ? -1
                                                                            : positionIn(*file));
    }
  }
  call.record(subject);
  // A failed open has a handle for its event alone.
  if (call.failed()) releaseHandle(subject.handle);
  return result;
}

template <CallId kCall>
int closeMpiFile(MPI_File* file) {
  auto* const real = realMpi<decltype(MPI_File_close)>(kCall);
  FileCall<kCall> call;
  Subject subject;
  if (file != nullptr) {
    if (call.canRecord()) subject.handle = takeMpiFile(*file);
    // Before another open gets the same MPI_File.
    call.countOn(findGroup(*file));
    dropGroup(*file);
  }
  const int result = call.call([&] { return real(file); });
  if (!subject.handle.isTraced()) return result;
  call.record(subject);
  releaseHandle(subject.handle);
  return result;
}

template <CallId kCall>
int deleteMpiFile(const char* name, MPI_Info hints) {
  auto* const real = realMpi<decltype(MPI_File_delete)>(kCall);
  FileCall<kCall> call;
  Subject subject;
  // Before the call: afterwards there may be no file of either name.
  if (call.canRecord() && canRead(name, true)) {
    subject.path = resolvePath(AT_FDCWD, withoutFileSystem(name));
  }
  const int result = call.call([&] { return real(name, hints); });
  if (subject.path.name.data() != nullptr && isRecorded(subject.path)) call.record(subject);
  return result;
}

// MPI's numbers for where a seek starts, as the numbers that readers know.
int whenceOf(int mpi_whence) {
  switch (mpi_whence) {
    case MPI_SEEK_SET:
      return SEEK_SET;
    case MPI_SEEK_CUR:
      return SEEK_CUR;
    case MPI_SEEK_END:
      return SEEK_END;
    default:
      return mpi_whence;
  }
}

template <CallId kCall>
int seekFile(MPI_File file, MPI_Offset offset, int whence) {
  auto* const real = realMpi<int(MPI_File, MPI_Offset, int)>(kCall);
  return onFile<kCall>(
      file, [&](bool) { return real(file, offset, whence); },
      [&](auto& call) {
        call.template put<Role::kOffset>(offset);
        call.template put<Role::kWhence>(whenceOf(whence));
        if constexpr (calls::has(calls::rowOf(kCall), Role::kPosition)) {
          call.template put<Role::kPosition>(call.failed() ? -1 : positionIn(file));
        }
        return 0;
      });
}

// Whether data lie in the file as in memory (MPI-3.1, 13.5): else the places of a view cannot be
// told from its types.
bool isAsInMemory(const char* representation) {
  return std::strcmp(representation, "native") == 0 || std::strcmp(representation, "NATIVE") == 0;
}

template <CallId kCall>
int setView(MPI_File file, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
            const char* representation, MPI_Info hints) {
  auto* const real = realMpi<decltype(MPI_File_set_view)>(kCall);
  return onFile<kCall>(
      file, [&](bool) { return real(file, disp, etype, filetype, representation, hints); },
      [&](auto& call) {
        call.template put<Role::kDisp>(disp);
        if (call.failed()) return 0;
        const std::uint32_t number = typeNumberOf(etype);
        // Of a sequential file the displacement is where it happens to stand.
        const bool can_tell = isAsInMemory(representation) && disp != MPI_DISPLACEMENT_CURRENT;
        call.template put<Role::kEtype>(number);
        call.template put<Role::kFiletype>(std::int64_t{!can_tell ? 0
                                                        : filetype == etype
                                                            ? number
                                                            : typeNumberOf(filetype)});
        return 0;
      });
}

template <CallId kCall>
int setSize(MPI_File file, MPI_Offset bytes) {
  auto* const real = realMpi<int(MPI_File, MPI_Offset)>(kCall);
  return onFile<kCall>(
      file, [&](bool) { return real(file, bytes); },
      [&](auto& call) {
        call.template put<Role::kLength>(bytes);
        return 0;
      });
}

template <CallId kCall>
int query(MPI_File file, MPI_Offset* answer) {
  auto* const real = realMpi<int(MPI_File, MPI_Offset*)>(kCall);
  constexpr Role kAnswer =
      calls::has(calls::rowOf(kCall), Role::kLength) ? Role::kLength : Role::kNumber;
  return onFile<kCall>(
      file, [&](bool) { return real(file, answer); },
      [&](auto& call) {
        if (!call.failed()) call.template put<kAnswer>(*answer);
        return 0;
      });
}

template <CallId kCall>
int syncFile(MPI_File file) {
  auto* const real = realMpi<decltype(MPI_File_sync)>(kCall);
  return onFile<kCall>(
      file, [&](bool) { return real(file); }, [](auto&) { return 0; });
}

template <CallId kCall>
int setInfo(MPI_File file, MPI_Info hints) {
  auto* const real = realMpi<decltype(MPI_File_set_info)>(kCall);
  return onFile<kCall>(
      file, [&](bool) { return real(file, hints); },
      [&](auto& call) {
        const Group* const sharers = findGroup(file);
        if (!call.failed() && (sharers == nullptr || sharers->rank == 0)) {
          tellHints(file, hints, findMpiFile(file).handle());
        }
        return 0;
      });
}

template <CallId kCall>
int setAtomicity(MPI_File file, int flag) {
  auto* const real = realMpi<decltype(MPI_File_set_atomicity)>(kCall);
  return onFile<kCall>(
      file, [&](bool) { return real(file, flag); },
      [&](auto& call) {
        call.template put<Role::kNumber>(flag);
        return 0;
      });
}

}  // namespace

void tellOfSharedPointers() {
  static std::atomic<bool> told{false};
  if (told.load(std::memory_order_relaxed) || !openContainer()) return;
  told.store(true, std::memory_order_relaxed);
  char fact[32];
  Text text(fact, sizeof fact);
  text.put(wire::info::kSharedPointers).putByte('\0').put("yes").putByte('\0');
  appendInfo(fact, text.size());
}

std::int64_t positionIn(MPI_File file) {
  auto* const function = OMNIO_LAZY_MPI(PMPI_File_get_position);
  MPI_Offset etypes = 0;
  return function != nullptr && function(file, &etypes) == MPI_SUCCESS ? etypes : -1;
}

}  // namespace omnio::trace

OMNIO_MPI_PAIR(MPI_File_open, 5, openMpiFile)
OMNIO_MPI_PAIR(MPI_File_close, 1, closeMpiFile)
OMNIO_MPI_PAIR(MPI_File_delete, 2, deleteMpiFile)
OMNIO_MPI_PAIR(MPI_File_seek, 3, seekFile)
OMNIO_MPI_PAIR(MPI_File_set_view, 6, setView)
OMNIO_MPI_PAIR(MPI_File_set_size, 2, setSize)
OMNIO_MPI_PAIR(MPI_File_sync, 1, syncFile)
OMNIO_MPI_PAIR(MPI_File_seek_shared, 3, seekFile)
OMNIO_MPI_PAIR(MPI_File_preallocate, 2, setSize)
OMNIO_MPI_PAIR(MPI_File_set_info, 2, setInfo)
OMNIO_MPI_PAIR(MPI_File_set_atomicity, 2, setAtomicity)
OMNIO_MPI_PAIR(MPI_File_get_size, 2, query)
OMNIO_MPI_PAIR(MPI_File_get_position_shared, 2, query)
