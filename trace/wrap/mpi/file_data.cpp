// MPI-IO calls that move data: blocking, nonblocking, split.
#include "trace/runtime/mpi/objects.hpp"
#include "trace/wrap/mpi/file_call.hpp"

namespace omnio::trace {
namespace {

using calls::Role;

// What a call moves, as far as its arguments tell.
struct Transfer {
  MPI_File file;
  MPI_Offset offset;
  int count;
  MPI_Datatype type;

  template <typename Call>
  std::uint64_t putInto(Call& call) const {
    constexpr const calls::Row& row = Call::kRow;
    const std::int64_t bytes = count > 0 ? count * sizeOfType(type) : 0;
    call.template put<Role::kSize>(bytes);
    if constexpr (calls::has(row, Role::kOffset)) {
      call.template put<Role::kOffset>(offset);
    }
    return static_cast<std::uint64_t>(bytes);
  }
};

// `real` makes the call with the status it is given. Of a read it is always known what it got, also
// when the application does not ask.
template <CallId kCall, typename Real>
int blocking(const Transfer& what, MPI_Status* status, Real real) {
  constexpr bool kTellsGot = calls::has(calls::rowOf(kCall), Role::kGot);
  MPI_Status own_status{};
  MPI_Status* used = status;
  return onFile<kCall>(
      what.file,
      [&](bool is_recorded) {
        if (kTellsGot && is_recorded && status == MPI_STATUS_IGNORE) used = &own_status;
        return real(used);
      },
      [&](auto& call) {
        if constexpr (kTellsGot) {
          call.template put<Role::kGot>(call.failed() ? 0 : bytesIn(*used));
        }
        return what.putInto(call);
      });
}

// By individual or shared pointer.
template <CallId kCall, typename Buffer>
int transferAtPointer(MPI_File file, Buffer data, int count, MPI_Datatype type,
                      MPI_Status* status) {
  auto* const real = realMpi<int(MPI_File, Buffer, int, MPI_Datatype, MPI_Status*)>(kCall);
  return blocking<kCall>({file, 0, count, type}, status,
                         [&](MPI_Status* used) { return real(file, data, count, type, used); });
}

template <CallId kCall, typename Buffer>
int transferAtOffset(MPI_File file, MPI_Offset offset, Buffer data, int count, MPI_Datatype type,
                     MPI_Status* status) {
  auto* const real =
      realMpi<int(MPI_File, MPI_Offset, Buffer, int, MPI_Datatype, MPI_Status*)>(kCall);
  return blocking<kCall>({file, offset, count, type}, status, [&](MPI_Status* used) {
    return real(file, offset, data, count, type, used);
  });
}

// The request that the call began, for the one that finds it complete.
template <typename Call>
void rememberRequest(Call& call, MPI_Request* request, std::uint64_t bytes) {
  if (call.failed() || isCompleteAlready(*request)) return;
  const Request begun{
      .number = newRequestNumber(),
      .kind = Call::kRow.call_class == calls::Class::kRead ? Request::kRead : Request::kOther,
      .bytes = bytes};
  if (addRequest(*request, begun)) call.template put<Role::kRequest>(begun.number);
}

template <CallId kCall, typename Real>
int beginning(const Transfer& what, MPI_Request* request, Real real) {
  return onFile<kCall>(
      what.file, [&](bool) { return real(); },
      [&](auto& call) {
        const std::uint64_t bytes = what.putInto(call);
        rememberRequest(call, request, bytes);
        return bytes;
      });
}

template <CallId kCall, typename Buffer>
int beginAtPointer(MPI_File file, Buffer data, int count, MPI_Datatype type, MPI_Request* request) {
  auto* const real = realMpi<int(MPI_File, Buffer, int, MPI_Datatype, MPI_Request*)>(kCall);
  return beginning<kCall>({file, 0, count, type}, request,
                          [&] { return real(file, data, count, type, request); });
}

template <CallId kCall, typename Buffer>
int beginAtOffset(MPI_File file, MPI_Offset offset, Buffer data, int count, MPI_Datatype type,
                  MPI_Request* request) {
  auto* const real =
      realMpi<int(MPI_File, MPI_Offset, Buffer, int, MPI_Datatype, MPI_Request*)>(kCall);
  return beginning<kCall>({file, offset, count, type}, request,
                          [&] { return real(file, offset, data, count, type, request); });
}

template <CallId kCall, typename Buffer>
int splitAtPointer(MPI_File file, Buffer data, int count, MPI_Datatype type) {
  auto* const real = realMpi<int(MPI_File, Buffer, int, MPI_Datatype)>(kCall);
  const Transfer what{file, 0, count, type};
  return onFile<kCall>(
      file, [&](bool) { return real(file, data, count, type); },
      [&](auto& call) { return what.putInto(call); });
}

template <CallId kCall, typename Buffer>
int splitAtOffset(MPI_File file, MPI_Offset offset, Buffer data, int count, MPI_Datatype type) {
  auto* const real = realMpi<int(MPI_File, MPI_Offset, Buffer, int, MPI_Datatype)>(kCall);
  const Transfer what{file, offset, count, type};
  return onFile<kCall>(
      file, [&](bool) { return real(file, offset, data, count, type); },
      [&](auto& call) { return what.putInto(call); });
}

template <CallId kCall, typename Buffer>
int endSplit(MPI_File file, Buffer data, MPI_Status* status) {
  auto* const real = realMpi<int(MPI_File, Buffer, MPI_Status*)>(kCall);
  constexpr bool kTellsGot = calls::has(calls::rowOf(kCall), Role::kGot);
  MPI_Status own_status{};
  MPI_Status* used = status;
  return onFile<kCall>(
      file,
      [&](bool is_recorded) {
        if (kTellsGot && is_recorded && status == MPI_STATUS_IGNORE) used = &own_status;
        return real(file, data, used);
      },
      [&](auto& call) {
        if constexpr (kTellsGot) {
          call.template put<Role::kGot>(call.failed() ? 0 : bytesIn(*used));
        }
        return 0;
      });
}

}  // namespace
}  // namespace omnio::trace

OMNIO_MPI_PAIR(MPI_File_read, 5, transferAtPointer)
OMNIO_MPI_PAIR(MPI_File_write, 5, transferAtPointer)
OMNIO_MPI_PAIR(MPI_File_read_all, 5, transferAtPointer)
OMNIO_MPI_PAIR(MPI_File_write_all, 5, transferAtPointer)
OMNIO_MPI_PAIR(MPI_File_read_at, 6, transferAtOffset)
OMNIO_MPI_PAIR(MPI_File_write_at, 6, transferAtOffset)
OMNIO_MPI_PAIR(MPI_File_read_at_all, 6, transferAtOffset)
OMNIO_MPI_PAIR(MPI_File_write_at_all, 6, transferAtOffset)
OMNIO_MPI_PAIR(MPI_File_read_shared, 5, transferAtPointer)
OMNIO_MPI_PAIR(MPI_File_write_shared, 5, transferAtPointer)
OMNIO_MPI_PAIR(MPI_File_read_ordered, 5, transferAtPointer)
OMNIO_MPI_PAIR(MPI_File_write_ordered, 5, transferAtPointer)
OMNIO_MPI_PAIR(MPI_File_iread, 5, beginAtPointer)
OMNIO_MPI_PAIR(MPI_File_iwrite, 5, beginAtPointer)
OMNIO_MPI_PAIR(MPI_File_iread_at, 6, beginAtOffset)
OMNIO_MPI_PAIR(MPI_File_iwrite_at, 6, beginAtOffset)
OMNIO_MPI_PAIR(MPI_File_iread_all, 5, beginAtPointer)
OMNIO_MPI_PAIR(MPI_File_iwrite_all, 5, beginAtPointer)
OMNIO_MPI_PAIR(MPI_File_iread_at_all, 6, beginAtOffset)
OMNIO_MPI_PAIR(MPI_File_iwrite_at_all, 6, beginAtOffset)
OMNIO_MPI_PAIR(MPI_File_iread_shared, 5, beginAtPointer)
OMNIO_MPI_PAIR(MPI_File_iwrite_shared, 5, beginAtPointer)
OMNIO_MPI_PAIR(MPI_File_read_all_begin, 4, splitAtPointer)
OMNIO_MPI_PAIR(MPI_File_read_all_end, 3, endSplit)
OMNIO_MPI_PAIR(MPI_File_read_at_all_begin, 5, splitAtOffset)
OMNIO_MPI_PAIR(MPI_File_read_at_all_end, 3, endSplit)
OMNIO_MPI_PAIR(MPI_File_read_ordered_begin, 4, splitAtPointer)
OMNIO_MPI_PAIR(MPI_File_read_ordered_end, 3, endSplit)
OMNIO_MPI_PAIR(MPI_File_write_all_begin, 4, splitAtPointer)
OMNIO_MPI_PAIR(MPI_File_write_all_end, 3, endSplit)
OMNIO_MPI_PAIR(MPI_File_write_at_all_begin, 5, splitAtOffset)
OMNIO_MPI_PAIR(MPI_File_write_at_all_end, 3, endSplit)
OMNIO_MPI_PAIR(MPI_File_write_ordered_begin, 4, splitAtPointer)
OMNIO_MPI_PAIR(MPI_File_write_ordered_end, 3, endSplit)
