// What is Open MPI's own, and MPI leaves to the library: the objects that its constants stand for,
// and what statuses and requests look like. Another library's ABI would be told here.
#pragma once

#include "trace/wrap/mpi/library.hpp"

namespace omnio::trace::open_mpi {

// An object by its symbol; nullptr where the library has none of this name. One that is found is
// kept, one that is not is looked for again: MPI may be loaded later.
#define OMNIO_MPI_OBJECT(FUNCTION, TYPE, SYMBOL)          \
  inline TYPE FUNCTION() {                                \
    static constinit std::atomic<void*> place{nullptr};   \
    void* object = place.load(std::memory_order_relaxed); \
    if (object == nullptr) [[unlikely]] {                 \
      object = mpiObject(SYMBOL);                         \
      place.store(object, std::memory_order_relaxed);     \
    }                                                     \
    return static_cast<TYPE>(object);                     \
  }
OMNIO_MPI_OBJECT(selfCommunicator, MPI_Comm, "ompi_mpi_comm_self")
OMNIO_MPI_OBJECT(nullCommunicator, MPI_Comm, "ompi_mpi_comm_null")
OMNIO_MPI_OBJECT(nullType, MPI_Datatype, "ompi_mpi_datatype_null")
OMNIO_MPI_OBJECT(nullInfo, MPI_Info, "ompi_mpi_info_null")
OMNIO_MPI_OBJECT(nullRequest, MPI_Request, "ompi_request_null")
// Of all requests that were complete when they were made.
OMNIO_MPI_OBJECT(emptyRequest, MPI_Request, "ompi_request_empty")
#undef OMNIO_MPI_OBJECT

}  // namespace omnio::trace::open_mpi

namespace omnio::trace {

// Bytes of the message or the data that a status tells of.
inline std::uint64_t bytesIn(const MPI_Status& status) { return status._ucount; }
inline bool isCancelled(const MPI_Status& status) { return status._cancelled != 0; }

inline bool isCompleteAlready(MPI_Request request) {
  return request == nullptr || request == open_mpi::emptyRequest() ||
         request == open_mpi::nullRequest();
}

// Bytes of data in one item of the type; 0 of what is no type.
inline std::int64_t sizeOfType(MPI_Datatype type) {
  auto* const function = OMNIO_LAZY_MPI(PMPI_Type_size_x);
  MPI_Count bytes = 0;
  if (type == nullptr || type == open_mpi::nullType() || function == nullptr) return 0;
  return function(type, &bytes) == MPI_SUCCESS && bytes > 0 ? bytes : 0;
}

}  // namespace omnio::trace
