// MPI-IO: opening, views, sizes, pointers, and calls that move data. And what a trace tells of an
// MPI file besides its calls: hints, and how its file system lays it out.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/statfs.h>

#include <concepts>
#include <type_traits>

#include "core/wire/info.hpp"
#include "trace/runtime/mpi/objects.hpp"
#include "trace/runtime/ring/container_writer.hpp"
#include "trace/runtime/sys/scratch.hpp"
#include "trace/runtime/sys/text.hpp"
#include "trace/wrap/mpi/communicators.hpp"
#include "trace/wrap/mpi/sync_call.hpp"

// Headers of MPI-4 alone have them, and say whether these are right. A library without them has
// none that a program could call.
extern "C" {
OMNIO_OF_MPI_4(File_read_c, MPI_File, void*, MPI_Count, MPI_Datatype, MPI_Status*)
OMNIO_OF_MPI_4(File_write_c, MPI_File, const void*, MPI_Count, MPI_Datatype, MPI_Status*)
OMNIO_OF_MPI_4(File_read_all_c, MPI_File, void*, MPI_Count, MPI_Datatype, MPI_Status*)
OMNIO_OF_MPI_4(File_write_all_c, MPI_File, const void*, MPI_Count, MPI_Datatype, MPI_Status*)
OMNIO_OF_MPI_4(File_read_at_c, MPI_File, MPI_Offset, void*, MPI_Count, MPI_Datatype, MPI_Status*)
OMNIO_OF_MPI_4(File_write_at_c, MPI_File, MPI_Offset, const void*, MPI_Count, MPI_Datatype,
               MPI_Status*)
OMNIO_OF_MPI_4(File_read_at_all_c, MPI_File, MPI_Offset, void*, MPI_Count, MPI_Datatype,
               MPI_Status*)
OMNIO_OF_MPI_4(File_write_at_all_c, MPI_File, MPI_Offset, const void*, MPI_Count, MPI_Datatype,
               MPI_Status*)
OMNIO_OF_MPI_4(File_read_shared_c, MPI_File, void*, MPI_Count, MPI_Datatype, MPI_Status*)
OMNIO_OF_MPI_4(File_write_shared_c, MPI_File, const void*, MPI_Count, MPI_Datatype, MPI_Status*)
OMNIO_OF_MPI_4(File_read_ordered_c, MPI_File, void*, MPI_Count, MPI_Datatype, MPI_Status*)
OMNIO_OF_MPI_4(File_write_ordered_c, MPI_File, const void*, MPI_Count, MPI_Datatype, MPI_Status*)
OMNIO_OF_MPI_4(File_iread_c, MPI_File, void*, MPI_Count, MPI_Datatype, MPI_Request*)
OMNIO_OF_MPI_4(File_iwrite_c, MPI_File, const void*, MPI_Count, MPI_Datatype, MPI_Request*)
OMNIO_OF_MPI_4(File_iread_at_c, MPI_File, MPI_Offset, void*, MPI_Count, MPI_Datatype, MPI_Request*)
OMNIO_OF_MPI_4(File_iwrite_at_c, MPI_File, MPI_Offset, const void*, MPI_Count, MPI_Datatype,
               MPI_Request*)
OMNIO_OF_MPI_4(File_iread_all_c, MPI_File, void*, MPI_Count, MPI_Datatype, MPI_Request*)
OMNIO_OF_MPI_4(File_iwrite_all_c, MPI_File, const void*, MPI_Count, MPI_Datatype, MPI_Request*)
OMNIO_OF_MPI_4(File_iread_at_all_c, MPI_File, MPI_Offset, void*, MPI_Count, MPI_Datatype,
               MPI_Request*)
OMNIO_OF_MPI_4(File_iwrite_at_all_c, MPI_File, MPI_Offset, const void*, MPI_Count, MPI_Datatype,
               MPI_Request*)
OMNIO_OF_MPI_4(File_iread_shared_c, MPI_File, void*, MPI_Count, MPI_Datatype, MPI_Request*)
OMNIO_OF_MPI_4(File_iwrite_shared_c, MPI_File, const void*, MPI_Count, MPI_Datatype, MPI_Request*)
OMNIO_OF_MPI_4(File_read_all_begin_c, MPI_File, void*, MPI_Count, MPI_Datatype)
OMNIO_OF_MPI_4(File_read_at_all_begin_c, MPI_File, MPI_Offset, void*, MPI_Count, MPI_Datatype)
OMNIO_OF_MPI_4(File_read_ordered_begin_c, MPI_File, void*, MPI_Count, MPI_Datatype)
OMNIO_OF_MPI_4(File_write_all_begin_c, MPI_File, const void*, MPI_Count, MPI_Datatype)
OMNIO_OF_MPI_4(File_write_at_all_begin_c, MPI_File, MPI_Offset, const void*, MPI_Count,
               MPI_Datatype)
OMNIO_OF_MPI_4(File_write_ordered_begin_c, MPI_File, const void*, MPI_Count, MPI_Datatype)
}

namespace omnio::trace::OMNIO_MPI_ABI {
namespace {

// Begins a fact: prefix, number, suffix.
void putKey(LongText& fact, const char* prefix, std::uint32_t handle, const char* suffix) {
  fact.put(prefix).putNumber(handle).put(suffix).put('\0');
}

void tell(LongText& fact) {
  fact.put('\0');
  if (fact.isWhole() && openContainer()) appendInfo(fact.data(), fact.size());
}

void putHints(LongText& fact, MPI_Info info) {
  int keys = 0;
  if (!ask(OMNIO_LAZY_MPI(PMPI_Info_get_nkeys), info, &keys)) return;
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1];
    char value[MPI_MAX_INFO_VAL + 1];
    int is_there = 0;
    if (!ask(OMNIO_LAZY_MPI(PMPI_Info_get_nthkey), info, i, key) ||
        !ask(OMNIO_LAZY_MPI(PMPI_Info_get), info, key, MPI_MAX_INFO_VAL, value, &is_there) ||
        is_there == 0) {
      continue;
    }
    if (i > 0) fact.put(wire::info::kBetweenHints);
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

// Facts of the file with this handle (docs/formats/trace.md, "Hints"); `given` may be none, and
// was given at open (".given") or later (".set").
void tellHints(MPI_File file, MPI_Info given, const char* when, std::uint32_t handle) {
  const auto tell_one = [handle](MPI_Info hints, const char* suffix) {
    LongText fact;
    putKey(fact, wire::info::kHintsPrefix, handle, suffix);
    putHints(fact, hints);
    tell(fact);
  };
  if (!isNoInfo(given)) tell_one(given, when);
  MPI_Info used{};
  if (!ask(OMNIO_LAZY_MPI(PMPI_File_get_info), file, &used) || isNoInfo(used)) return;
  tell_one(used, ".used");
  ask(OMNIO_LAZY_MPI(PMPI_Info_free), &used);
}

// "File layout": of a file that exists, by the name that it was opened by.
void tellFileLayout(const char* path, std::uint32_t handle) {
  LibraryOpen known = thread.library_open;
  if (known.path_sum != pathSum(path)) {
    struct statfs about {};
    if (rawSyscall(SYS_statfs, address(path), address(&about)) != 0) return;
    known = {.kind = about.f_type, .block_bytes = about.f_bsize};
  }
  LongText fact;
  putKey(fact, wire::info::kLayoutPrefix, handle, "");
  const auto kind = static_cast<long>(static_cast<std::uint32_t>(known.kind));
  fact.putNumber(kind).put(' ').putNumber(known.block_bytes);
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

// The work of all wrappers of MPI-IO around the real call. The facts that a row of these calls
// records (core/calls/mpi.def) are asked of MPI after the real call and outside its measured time,
// and only for objects that the call has accepted: the library would end the application when it is
// asked about others.
//
// One MPI-IO call: made with call(), then recorded with record().
template <CallId kCall>
class FileCall : public MpiCall {
 public:
  static constexpr const calls::Row& kRow = calls::rowOf(kCall);
  // Queries do not count.
  static constexpr bool kTicks = calls::has(kRow, calls::Role::kTick);

  FileCall()
      : tick_(kTicks ? countMpiEvent(self_) : 0), can_record_(isActive() && mayRecord(self_)) {}

  bool canRecord() const { return can_record_; }
  // The application's call, and not one that the library makes inside another.
  bool isOwn() const { return is_ours_; }

  template <typename Real>
  int call(Real real) {
    if (can_record_) return makeTimed<DeeperLayer>(real);
    const DeeperLayer layer(self_);
    return makeUntimed(real);
  }

  template <calls::Role kRole, std::integral Number>
  void put(Number value) {
    constexpr int at = calls::indexOf(calls::rowOf(kCall), kRole);
    static_assert(at >= 0, "the row does not record this");
    numbers_[at] = static_cast<std::int64_t>(value);
  }

  // Counts a collective call on the group, also when it is not recorded: all members count alike.
  // Returns its number; 0 of a call that the library makes inside another.
  std::uint64_t countOn(Group* group) {
    if (!is_ours_) return 0;
    const std::uint64_t seq = nextCall(group);
    put<calls::Role::kSeq>(seq);
    put<calls::Role::kComm>(numberOf(group));
    return seq;
  }

  void record(const Subject& subject, std::uint64_t request_bytes = 0) {
    if constexpr (kTicks) put<calls::Role::kTick>(tick_);
    trace::record<kCall>(self_, times_, failed(), numbers_, request_bytes, result(), subject);
  }
  void noteOwnWork() { trace::noteOwnWork(self_, times_.end); }

 private:
  const std::uint64_t tick_;
  const bool can_record_;
  wire::Arguments<kCall> numbers_{};
};

// Readers that follow shared pointers look at all ranks' calls: only in traces that have such.
void tellOfSharedPointers() {
  static std::atomic<bool> told{false};
  if (told.load(std::memory_order_relaxed) || !openContainer()) return;
  told.store(true, std::memory_order_relaxed);
  appendFact(wire::info::kSharedPointers, "yes");
}

// A call on a file that is open, which `real` makes. `put` adds what the row records besides file,
// group and tick, and returns the bytes asked for.
template <CallId kCall, typename Real, typename Put>
int onFile(MPI_File file, Real real, Put put) {
  FileCall<kCall> call;
  Subject subject;
  if (call.canRecord()) subject.handle = findMpiFile(keyOf(file));
  if constexpr (calls::has(calls::rowOf(kCall), calls::Role::kSeq)) {
    call.countOn(groupOf(file));
  }
  const int result = call.call(real);
  if (subject.handle.isTraced()) {
    if constexpr (calls::does(calls::rowOf(kCall), calls::Effect::kSharedPointer)) {
      tellOfSharedPointers();
    }
    call.record(subject, put(call));
  }
  return result;
}

// The same of one that moves no data: with these arguments behind the file.
template <CallId kCall, typename Put, typename... A>
int onFile(Put put, MPI_File file, A... a) {
  auto* const real = realMpi<int(MPI_File, A...)>(kCall);
  return onFile<kCall>(
      file, [&] { return real(file, a...); },
      [&put](auto& call) {
        put(call);
        return 0;
      });
}

// Where the individual pointer stands, in etypes; -1 when the library does not tell.
std::int64_t positionIn(MPI_File file) {
  MPI_Offset etypes = 0;
  return ask(OMNIO_LAZY_MPI(PMPI_File_get_position), file, &etypes) ? etypes : -1;
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
  const std::uint64_t seq = call.countOn(members);
  thread.library_open = LibraryOpen{};
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
    int ranks = 0;
    ask(OMNIO_LAZY_MPI(PMPI_Comm_size), communicator, &ranks);
    call.template put<Role::kRanks>(ranks);
    rememberMpiFile(keyOf(*file), subject.handle);
    const Group* const sharers =
        deriveGroup(keyOf(*file), call.isOwn() ? members : nullptr, seq, GroupKind::kFile);
    call.template put<Role::kNewComm>(numberOf(sharers));
    if (sharers == nullptr || sharers->rank == 0) {
      tellHints(*file, hints, ".given", subject.handle.handle());
      tellFileLayout(path, subject.handle.handle());
    }
    // Elsewhere it is 0; of a sequential file there is none.
    if ((amode & MPI_MODE_APPEND) != 0) {
      call.template put<Role::kPosition>((amode & MPI_MODE_SEQUENTIAL) != 0 ? -1
                                                                            : positionIn(*file));
    }
  }
  call.record(subject);
  call.noteOwnWork();
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
    if (call.canRecord()) subject.handle = takeMpiFile(keyOf(*file));
    // Before another open gets the same MPI_File.
    call.countOn(groupOf(*file));
    dropGroup(keyOf(*file));
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
  return mpi_whence == MPI_SEEK_SET   ? SEEK_SET
         : mpi_whence == MPI_SEEK_CUR ? SEEK_CUR
         : mpi_whence == MPI_SEEK_END ? SEEK_END
                                      : mpi_whence;
}

// The request that the call began, for the one that finds it complete.
template <typename Call>
void rememberRequest(Call& call, const MPI_Request* request, std::uint64_t bytes) {
  if (call.failed() || isCompleteAlready(*request)) return;
  const Request begun{
      .number = newRequestNumber(),
      .kind = Call::kRow.call_class == calls::Class::kRead ? Request::kRead : Request::kOther,
      .bytes = bytes};
  if (addRequest(keyOf(*request), begun)) call.template put<Role::kRequest>(begun.number);
}

template <CallId kCall>
int seekFile(MPI_File file, MPI_Offset offset, int whence) {
  const auto put = [&](auto& call) {
    call.template put<Role::kOffset>(offset);
    call.template put<Role::kWhence>(whenceOf(whence));
    if constexpr (calls::has(calls::rowOf(kCall), Role::kPosition)) {
      call.template put<Role::kPosition>(call.failed() ? -1 : positionIn(file));
    }
  };
  return onFile<kCall>(put, file, offset, whence);
}

// Whether data lie in the file as in memory (MPI-3.1, 13.5): else the places of a view cannot be
// told from its types.
bool isAsInMemory(const char* representation) {
  return std::strcmp(representation, "native") == 0 || std::strcmp(representation, "NATIVE") == 0;
}

template <CallId kCall>
int setView(MPI_File file, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
            const char* representation, MPI_Info hints) {
  const auto put = [&](auto& call) {
    call.template put<Role::kDisp>(disp);
    if (call.failed()) return;
    const std::uint32_t number = typeNumberOf(etype);
    // In a sequential file the displacement is where the file happens to stand.
    const bool can_tell = isAsInMemory(representation) && disp != MPI_DISPLACEMENT_CURRENT;
    call.template put<Role::kEtype>(number);
    call.template put<Role::kFiletype>(!can_tell           ? 0
                                       : filetype == etype ? number
                                                           : typeNumberOf(filetype));
  };
  return onFile<kCall>(put, file, disp, etype, filetype, representation, hints);
}

template <CallId kCall>
int setInfo(MPI_File file, MPI_Info hints) {
  const auto put = [&](auto& call) {
    const Group* const sharers = groupOf(file);
    if (!call.failed() && (sharers == nullptr || sharers->rank == 0)) {
      tellHints(file, hints, ".set", findMpiFile(keyOf(file)).handle());
    }
  };
  return onFile<kCall>(put, file, hints);
}

// Calls that set a number, or ask for one, which is known when they have not failed; or neither.
template <CallId kCall, typename... A>
int withNumber(MPI_File file, A... a) {
  constexpr Role kNumber =
      calls::has(calls::rowOf(kCall), Role::kLength) ? Role::kLength : Role::kNumber;
  const auto put = [&](auto& call) {
    [[maybe_unused]] const auto put_one = [&call](auto number) {
      if constexpr (!std::is_pointer_v<decltype(number)>) {
        call.template put<kNumber>(number);
      } else if (!call.failed()) {
        call.template put<kNumber>(*number);
      }
    };
    (put_one(a), ...);
  };
  return onFile<kCall>(put, file, a...);
}

// Calls that move data: [offset,] buffer, [count, datatype,] [status or request]. The end of a
// split call does not say again how much it moves. Of a read it is always known what it got, also
// when the application does not ask.
template <CallId kCall, typename... A>
int moveData(MPI_File file, A... a) {
  constexpr const calls::Row& row = calls::rowOf(kCall);
  constexpr bool kTellsGot = calls::has(row, Role::kGot);
  auto* const real = realMpi<int(MPI_File, A...)>(kCall);
  if (real == nullptr) return MPI_ERR_UNSUPPORTED_OPERATION;  // a large count, before MPI-4
  MPI_Status* const given = argumentOf<MPI_Status*>(a...);
  const Statuses status(given, kTellsGot);
  // Not every library sets all of the status of a read that gets nothing.
  if (status.used() != given) *status.used() = MPI_Status{};
  const auto make = [&] { return real(file, status.in(a)...); };
  const auto put = [&](auto& call) -> std::uint64_t {
    if constexpr (kTellsGot) {
      call.template put<Role::kGot>(call.failed() ? 0 : bytesIn(*status.used()));
    }
    std::uint64_t bytes = 0;
    if constexpr (calls::has(row, Role::kSize)) {
      constexpr std::size_t kCount = calls::has(row, Role::kOffset) ? 2 : 1;
      bytes = bytesOf(argumentAt<kCount>(a...), argumentAt<kCount + 1>(a...));
      call.template put<Role::kSize>(bytes);
    }
    if constexpr (calls::has(row, Role::kOffset)) {
      call.template put<Role::kOffset>(argumentOf<MPI_Offset>(a...));
    }
    if constexpr (calls::has(row, Role::kRequest)) {
      rememberRequest(call, lastArgument(a...), bytes);
    }
    return bytes;
  };
  return onFile<kCall>(file, make, put);
}

}  // namespace

OMNIO_MPI_PAIR(MPI_File_open, 5, openMpiFile)
OMNIO_MPI_PAIR(MPI_File_close, 1, closeMpiFile)
OMNIO_MPI_PAIR(MPI_File_delete, 2, deleteMpiFile)
OMNIO_MPI_PAIR(MPI_File_seek, 3, seekFile)
OMNIO_MPI_PAIR(MPI_File_set_view, 6, setView)
OMNIO_MPI_PAIR(MPI_File_set_size, 2, withNumber)
OMNIO_MPI_PAIR(MPI_File_sync, 1, withNumber)
OMNIO_MPI_PAIR(MPI_File_seek_shared, 3, seekFile)
OMNIO_MPI_PAIR(MPI_File_preallocate, 2, withNumber)
OMNIO_MPI_PAIR(MPI_File_set_info, 2, setInfo)
OMNIO_MPI_PAIR(MPI_File_set_atomicity, 2, withNumber)
OMNIO_MPI_PAIR(MPI_File_get_size, 2, withNumber)
OMNIO_MPI_PAIR(MPI_File_get_position_shared, 2, withNumber)
OMNIO_MPI_PAIR(MPI_File_read, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_write, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_read_all, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_write_all, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_read_at, 6, moveData)
OMNIO_MPI_PAIR(MPI_File_write_at, 6, moveData)
OMNIO_MPI_PAIR(MPI_File_read_at_all, 6, moveData)
OMNIO_MPI_PAIR(MPI_File_write_at_all, 6, moveData)
OMNIO_MPI_PAIR(MPI_File_read_shared, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_write_shared, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_read_ordered, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_write_ordered, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_iread, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_iwrite, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_iread_at, 6, moveData)
OMNIO_MPI_PAIR(MPI_File_iwrite_at, 6, moveData)
OMNIO_MPI_PAIR(MPI_File_iread_all, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_iwrite_all, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_iread_at_all, 6, moveData)
OMNIO_MPI_PAIR(MPI_File_iwrite_at_all, 6, moveData)
OMNIO_MPI_PAIR(MPI_File_iread_shared, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_iwrite_shared, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_read_all_begin, 4, moveData)
OMNIO_MPI_PAIR(MPI_File_read_all_end, 3, moveData)
OMNIO_MPI_PAIR(MPI_File_read_at_all_begin, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_read_at_all_end, 3, moveData)
OMNIO_MPI_PAIR(MPI_File_read_ordered_begin, 4, moveData)
OMNIO_MPI_PAIR(MPI_File_read_ordered_end, 3, moveData)
OMNIO_MPI_PAIR(MPI_File_write_all_begin, 4, moveData)
OMNIO_MPI_PAIR(MPI_File_write_all_end, 3, moveData)
OMNIO_MPI_PAIR(MPI_File_write_at_all_begin, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_write_at_all_end, 3, moveData)
OMNIO_MPI_PAIR(MPI_File_write_ordered_begin, 4, moveData)
OMNIO_MPI_PAIR(MPI_File_write_ordered_end, 3, moveData)
OMNIO_MPI_PAIR(MPI_File_read_c, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_write_c, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_read_all_c, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_write_all_c, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_read_at_c, 6, moveData)
OMNIO_MPI_PAIR(MPI_File_write_at_c, 6, moveData)
OMNIO_MPI_PAIR(MPI_File_read_at_all_c, 6, moveData)
OMNIO_MPI_PAIR(MPI_File_write_at_all_c, 6, moveData)
OMNIO_MPI_PAIR(MPI_File_read_shared_c, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_write_shared_c, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_read_ordered_c, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_write_ordered_c, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_iread_c, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_iwrite_c, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_iread_at_c, 6, moveData)
OMNIO_MPI_PAIR(MPI_File_iwrite_at_c, 6, moveData)
OMNIO_MPI_PAIR(MPI_File_iread_all_c, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_iwrite_all_c, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_iread_at_all_c, 6, moveData)
OMNIO_MPI_PAIR(MPI_File_iwrite_at_all_c, 6, moveData)
OMNIO_MPI_PAIR(MPI_File_iread_shared_c, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_iwrite_shared_c, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_read_all_begin_c, 4, moveData)
OMNIO_MPI_PAIR(MPI_File_read_at_all_begin_c, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_read_ordered_begin_c, 4, moveData)
OMNIO_MPI_PAIR(MPI_File_write_all_begin_c, 4, moveData)
OMNIO_MPI_PAIR(MPI_File_write_at_all_begin_c, 5, moveData)
OMNIO_MPI_PAIR(MPI_File_write_ordered_begin_c, 4, moveData)

}  // namespace omnio::trace::OMNIO_MPI_ABI
