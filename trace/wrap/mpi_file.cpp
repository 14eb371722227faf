// MPI-IO. What a row of these calls records (core/calls/mpi.def) is asked of MPI here, after the
// real call and outside its measured time, and only of objects that the call has accepted: the
// library would end the application when it is asked about others.
#include "core/calls/mpi_values.hpp"
#include "trace/runtime/mpi_files.hpp"
#include "trace/runtime/mpi_path.hpp"
#include "trace/wrap/intercept.hpp"
#include "trace/wrap/mpi_layout.hpp"
#include "trace/wrap/mpi_library.hpp"
#include "trace/wrap/signature.hpp"

namespace omnio::trace {
namespace {

static_assert(MPI_MODE_CREATE == calls::kModeCreate && MPI_MODE_RDONLY == calls::kModeReadOnly &&
              MPI_MODE_WRONLY == calls::kModeWriteOnly && MPI_MODE_RDWR == calls::kModeReadWrite &&
              MPI_MODE_DELETE_ON_CLOSE == calls::kModeDeleteOnClose &&
              MPI_MODE_UNIQUE_OPEN == calls::kModeUniqueOpen &&
              MPI_MODE_EXCL == calls::kModeExclusive && MPI_MODE_APPEND == calls::kModeAppend &&
              MPI_MODE_SEQUENTIAL == calls::kModeSequential);

using calls::Role;

// The real function of the row, which is MPI_X's or PMPI_X's: the two have neighbouring numbers.
template <std::uint16_t kNumber, typename Function>
Function* realOf() {
  constexpr const calls::Row& pmpi = calls::kTable[kNumber | 1];
  static_assert(pmpi.variant_of == calls::kTable[kNumber].variant_of);
  return realMpi<Function>(real_symbols[kNumber | 1], pmpi.name.data());
}

// One MPI-IO call: made with call(), then recorded with record().
template <std::uint16_t kNumber>
class FileCall {
 public:
  FileCall() : self_(thread), tick_(countMpiEvent(self_)) {
    can_record_ = isActive() && mayRecord(self_) && mpiLibrary().world != nullptr;
  }
  FileCall(const FileCall&) = delete;
  FileCall& operator=(const FileCall&) = delete;
  // The application's errno is what the call left.
  ~FileCall() {
    if (can_record_) errno = errno_;
  }

  bool canRecord() const { return can_record_; }

  template <typename Real>
  int call(Real real) {
    const DeeperLayer layer(self_);
    if (!can_record_) return result_ = real();
    times_.start = ticks();
    result_ = real();
    times_.end = ticks();
    if (times_.end < times_.start) times_.end = times_.start;
    errno_ = errno;
    return result_;
  }

  bool failed() const { return result_ != MPI_SUCCESS; }

  template <Role kRole>
  void put(std::int64_t value) {
    constexpr int at = calls::indexOf(calls::kTable[kNumber], kRole);
    static_assert(at >= 0, "the row does not record this");
    numbers_[at] = value;
  }

  void record(const Subject& subject, std::uint64_t request_bytes = 0) {
    put<Role::kTick>(static_cast<std::int64_t>(tick_));
    trace::record<kNumber>(self_, times_, failed(), numbers_, request_bytes, result_, subject);
  }

 private:
  Thread& self_;
  std::uint64_t tick_;
  bool can_record_ = false;
  int result_ = MPI_SUCCESS;
  int errno_ = 0;
  wire::EventTimes times_;
  wire::Arguments<kNumber> numbers_{};
};

// Asks MPI for a number; 0 when it cannot tell.
template <typename Number, typename Function, typename... A>
std::int64_t ask(const char* pmpi_name, A... a) {
  auto* const function = mpiFunction<Function>(pmpi_name);
  Number number = 0;
  if (function == nullptr || function(a..., &number) != MPI_SUCCESS || number < 0) return 0;
  return number;
}

std::int64_t sizeOf(MPI_Datatype type) {
  static const void* const kNull = mpiObject("ompi_mpi_datatype_null");
  if (type == nullptr || type == kNull) return 0;
  static auto* const function = mpiFunction<decltype(MPI_Type_size_x)>("PMPI_Type_size_x");
  MPI_Count bytes = 0;
  return function != nullptr && function(type, &bytes) == MPI_SUCCESS && bytes > 0 ? bytes : 0;
}

std::int64_t bytesIn(const MPI_Status& status) {
  static auto* const byte = static_cast<MPI_Datatype>(mpiObject("ompi_mpi_byte"));
  static auto* const function = mpiFunction<decltype(MPI_Get_elements_x)>("PMPI_Get_elements_x");
  MPI_Count bytes = 0;
  if (byte == nullptr || function == nullptr) return 0;
  return function(&status, byte, &bytes) == MPI_SUCCESS && bytes > 0 ? bytes : 0;
}

// A path whose text can be read: a call that failed may have done so before it looked.
bool canRead(const char* name, bool failed) {
  return name != nullptr && (!failed || isReadable(name));
}

template <std::uint16_t kNumber>
int openMpiFile(MPI_Comm communicator, const char* name, int amode, MPI_Info hints,
                MPI_File* file) {
  auto* const real = realOf<kNumber, decltype(MPI_File_open)>();
  FileCall<kNumber> call;
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
  }
  call.record(subject);
  // A failed open has a handle for its event alone.
  if (call.failed()) releaseHandle(subject.handle);
  return result;
}

template <std::uint16_t kNumber>
int closeMpiFile(MPI_File* file) {
  auto* const real = realOf<kNumber, decltype(MPI_File_close)>();
  FileCall<kNumber> call;
  Subject subject;
  if (call.canRecord() && file != nullptr) subject.handle = takeMpiFile(*file);
  const int result = call.call([&] { return real(file); });
  if (!subject.handle.isTraced()) return result;
  call.record(subject);
  releaseHandle(subject.handle);
  return result;
}

template <std::uint16_t kNumber>
int deleteMpiFile(const char* name, MPI_Info hints) {
  auto* const real = realOf<kNumber, decltype(MPI_File_delete)>();
  FileCall<kNumber> call;
  Subject subject;
  // Before the call: afterwards there may be no file of either name.
  if (call.canRecord() && canRead(name, true)) {
    subject.path = resolvePath(AT_FDCWD, withoutFileSystem(name));
  }
  const int result = call.call([&] { return real(name, hints); });
  if (subject.path.name.data() != nullptr && isRecorded(subject.path)) call.record(subject);
  return result;
}

// A call on a file that is open: `put` adds what the row records besides file and tick, and returns
// the bytes asked for.
template <std::uint16_t kNumber, typename Real, typename Put>
int onFile(MPI_File file, Real real, Put put) {
  FileCall<kNumber> call;
  Subject subject;
  if (call.canRecord()) subject.handle = findMpiFile(file);
  const bool is_recorded = subject.handle.isTraced();
  const int result = call.call([&] { return real(is_recorded); });
  if (is_recorded) call.record(subject, put(call));
  return result;
}

// A read or write. `real` makes the call with the status it is given.
template <std::uint16_t kNumber, typename Real>
int transfer(MPI_File file, MPI_Offset offset, int count, MPI_Datatype type, MPI_Status* status,
             Real real) {
  constexpr const calls::Row& row = calls::kTable[kNumber];
  // Of a read it is always known what it got, also when the application does not ask.
  MPI_Status own_status{};
  MPI_Status* used = status;
  return onFile<kNumber>(
      file,
      [&](bool is_recorded) {
        if (calls::has(row, Role::kGot) && is_recorded && status == MPI_STATUS_IGNORE) {
          used = &own_status;
        }
        return real(used);
      },
      [&](auto& call) {
        const std::int64_t bytes = count > 0 ? count * sizeOf(type) : 0;
        call.template put<Role::kSize>(bytes);
        if constexpr (calls::has(row, Role::kOffset)) call.template put<Role::kOffset>(offset);
        if constexpr (calls::has(row, Role::kGot)) {
          call.template put<Role::kGot>(call.failed() ? 0 : bytesIn(*used));
        }
        return static_cast<std::uint64_t>(bytes);
      });
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

template <std::uint16_t kNumber>
int seekFile(MPI_File file, MPI_Offset offset, int whence) {
  auto* const real = realOf<kNumber, int(MPI_File, MPI_Offset, int)>();
  return onFile<kNumber>(
      file, [&](bool) { return real(file, offset, whence); },
      [&](auto& call) {
        call.template put<Role::kOffset>(offset);
        call.template put<Role::kWhence>(whenceOf(whence));
        return 0;
      });
}

template <std::uint16_t kNumber>
int setView(MPI_File file, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
            const char* representation, MPI_Info hints) {
  auto* const real = realOf<kNumber, decltype(MPI_File_set_view)>();
  return onFile<kNumber>(
      file, [&](bool) { return real(file, disp, etype, filetype, representation, hints); },
      [&](auto& call) {
        call.template put<Role::kDisp>(disp);
        call.template put<Role::kEtypeSize>(sizeOf(etype));
        call.template put<Role::kTypeSize>(sizeOf(filetype));
        if (call.failed()) return 0;
        MPI_Count begin = 0;
        MPI_Count bytes = 0;
        auto* const extent = mpiFunction<decltype(MPI_Type_get_extent_x)>("PMPI_Type_get_extent_x");
        if (extent != nullptr && extent(filetype, &begin, &bytes) == MPI_SUCCESS) {
          call.template put<Role::kTypeExtent>(bytes);
        }
        auto* const true_extent =
            mpiFunction<decltype(MPI_Type_get_true_extent_x)>("PMPI_Type_get_true_extent_x");
        if (true_extent != nullptr && true_extent(filetype, &begin, &bytes) == MPI_SUCCESS) {
          call.template put<Role::kTrueLb>(begin);
          call.template put<Role::kTrueExtent>(bytes);
        }
        const RegularBlocks blocks = regularBlocksOf(filetype);
        call.template put<Role::kBlockSize>(blocks.bytes);
        call.template put<Role::kBlockStride>(blocks.stride);
        return 0;
      });
}

template <std::uint16_t kNumber>
int setSize(MPI_File file, MPI_Offset bytes) {
  auto* const real = realOf<kNumber, int(MPI_File, MPI_Offset)>();
  return onFile<kNumber>(
      file, [&](bool) { return real(file, bytes); },
      [&](auto& call) {
        call.template put<Role::kLength>(bytes);
        return 0;
      });
}

template <std::uint16_t kNumber>
int syncFile(MPI_File file) {
  auto* const real = realOf<kNumber, decltype(MPI_File_sync)>();
  return onFile<kNumber>(
      file, [&](bool) { return real(file); }, [](auto&) { return 0; });
}

// By individual or shared pointer.
template <std::uint16_t kNumber, typename Buffer>
int transferAtPointer(MPI_File file, Buffer data, int count, MPI_Datatype type,
                      MPI_Status* status) {
  auto* const real = realOf<kNumber, int(MPI_File, Buffer, int, MPI_Datatype, MPI_Status*)>();
  return transfer<kNumber>(file, 0, count, type, status,
                           [&](MPI_Status* used) { return real(file, data, count, type, used); });
}

template <std::uint16_t kNumber, typename Buffer>
int transferAtOffset(MPI_File file, MPI_Offset offset, Buffer data, int count, MPI_Datatype type,
                     MPI_Status* status) {
  auto* const real =
      realOf<kNumber, int(MPI_File, MPI_Offset, Buffer, int, MPI_Datatype, MPI_Status*)>();
  return transfer<kNumber>(file, offset, count, type, status, [&](MPI_Status* used) {
    return real(file, offset, data, count, type, used);
  });
}

}  // namespace
}  // namespace omnio::trace

using namespace omnio::trace;

// Both names of a call. BODY is a template over the row's number.
#define OMNIO_MPI_PAIR(NUMBER, NAME, COUNT, BODY)               \
  OMNIO_EXPORT int NAME(OMNIO_PARAMETERS_##COUNT(NAME)) {       \
    static_assert(omnio::calls::kTable[NUMBER].name == #NAME);  \
    return BODY<NUMBER>(OMNIO_NAMES_##COUNT);                   \
  }                                                             \
  OMNIO_EXPORT int P##NAME(OMNIO_PARAMETERS_##COUNT(P##NAME)) { \
    return BODY<(NUMBER) + 1>(OMNIO_NAMES_##COUNT);             \
  }

OMNIO_MPI_PAIR(454, MPI_File_open, 5, openMpiFile)
OMNIO_MPI_PAIR(456, MPI_File_close, 1, closeMpiFile)
OMNIO_MPI_PAIR(458, MPI_File_delete, 2, deleteMpiFile)
OMNIO_MPI_PAIR(460, MPI_File_read, 5, transferAtPointer)
OMNIO_MPI_PAIR(462, MPI_File_write, 5, transferAtPointer)
OMNIO_MPI_PAIR(464, MPI_File_read_all, 5, transferAtPointer)
OMNIO_MPI_PAIR(466, MPI_File_write_all, 5, transferAtPointer)
OMNIO_MPI_PAIR(468, MPI_File_read_at, 6, transferAtOffset)
OMNIO_MPI_PAIR(470, MPI_File_write_at, 6, transferAtOffset)
OMNIO_MPI_PAIR(472, MPI_File_read_at_all, 6, transferAtOffset)
OMNIO_MPI_PAIR(474, MPI_File_write_at_all, 6, transferAtOffset)
OMNIO_MPI_PAIR(476, MPI_File_read_shared, 5, transferAtPointer)
OMNIO_MPI_PAIR(478, MPI_File_write_shared, 5, transferAtPointer)
OMNIO_MPI_PAIR(480, MPI_File_seek, 3, seekFile)
OMNIO_MPI_PAIR(482, MPI_File_set_view, 6, setView)
OMNIO_MPI_PAIR(484, MPI_File_set_size, 2, setSize)
OMNIO_MPI_PAIR(486, MPI_File_sync, 1, syncFile)
OMNIO_MPI_PAIR(488, MPI_File_read_ordered, 5, transferAtPointer)
OMNIO_MPI_PAIR(490, MPI_File_write_ordered, 5, transferAtPointer)
OMNIO_MPI_PAIR(492, MPI_File_seek_shared, 3, seekFile)
OMNIO_MPI_PAIR(494, MPI_File_preallocate, 2, setSize)
