// One binary interface of MPI: its header, and what MPI leaves to the library. The sources that
// include this are compiled once for each interface that the tracer is built for, each time with
// that library's mpi.h and with its name for OMNIO_MPI_ABI, which is their namespace: open_mpi or
// mpich.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cstdint>
#include <type_traits>

#include "core/calls/role.hpp"
#include "trace/wrap/mpi/entry.hpp"
#include "trace/wrap/mpi/library.hpp"
#include "trace/wrap/real_symbol.hpp"
#include "trace/wrap/signature.hpp"

// The function of this PMPI name, or nullptr.
#define OMNIO_LAZY_MPI(NAME)                                                                   \
  ([] {                                                                                        \
    static constinit omnio::trace::LazySymbol<decltype(::NAME), omnio::trace::mpiSymbol> lazy( \
        #NAME);                                                                                \
    return lazy.get();                                                                         \
  }())

// Declares both names of a function that the header may not have.
#define OMNIO_OF_MPI_4(NAME, ...) \
  int MPI_##NAME(__VA_ARGS__);    \
  int PMPI_##NAME(__VA_ARGS__);

namespace omnio::trace::OMNIO_MPI_ABI {

// Asks MPI; false when it cannot tell, or has no such function. OMNIO_LAZY_MPI has functions.
template <typename Function, typename... A>
bool ask(Function* function, A... a) {
  return function != nullptr && function(a...) == MPI_SUCCESS;
}

#ifdef OPEN_MPI
// Handles are pointers; the predefined ones point at objects of the library, nullptr where it has
// none of this name.
#define OMNIO_MPI_OBJECT(FUNCTION, TYPE, SYMBOL)                                        \
  inline TYPE FUNCTION() {                                                              \
    static constinit LazySymbol<std::remove_pointer_t<TYPE>, mpiObject> object(SYMBOL); \
    return object.get();                                                                \
  }
OMNIO_MPI_OBJECT(worldCommunicator, MPI_Comm, "ompi_mpi_comm_world")
OMNIO_MPI_OBJECT(selfCommunicator, MPI_Comm, "ompi_mpi_comm_self")
OMNIO_MPI_OBJECT(nullCommunicator, MPI_Comm, "ompi_mpi_comm_null")
OMNIO_MPI_OBJECT(nullType, MPI_Datatype, "ompi_mpi_datatype_null")
OMNIO_MPI_OBJECT(nullInfo, MPI_Info, "ompi_mpi_info_null")
OMNIO_MPI_OBJECT(nullRequest, MPI_Request, "ompi_request_null")
// The one object of all requests that were complete when they were made.
OMNIO_MPI_OBJECT(emptyRequest, MPI_Request, "ompi_request_empty")
#undef OMNIO_MPI_OBJECT

inline bool isCompleteAlready(MPI_Request request) {
  return request == nullptr || request == emptyRequest() || request == nullRequest();
}

// Bytes of the message or the data that a status tells of.
inline std::uint64_t bytesIn(const MPI_Status& status) { return status._ucount; }
inline bool isCancelled(const MPI_Status& status) { return status._cancelled != 0; }

// Whether the status of a message that was longer than its buffer says how long it was.
inline constexpr bool kTellsWholeLength = true;

// A call returns the class of its error.
inline int errorClass(int code) { return code; }
#else
// Handles are numbers that say what they are of; files alone are pointers.
static_assert(sizeof(MPI_Comm) == 4 && MPI_COMM_WORLD == 0x44000000 && sizeof(MPI_Status) == 20,
              "this mpi.h has neither Open MPI's nor MPICH's binary interface");

inline MPI_Comm worldCommunicator() { return MPI_COMM_WORLD; }
inline MPI_Comm selfCommunicator() { return MPI_COMM_SELF; }
inline MPI_Comm nullCommunicator() { return MPI_COMM_NULL; }
inline MPI_Datatype nullType() { return MPI_DATATYPE_NULL; }
inline MPI_Info nullInfo() { return MPI_INFO_NULL; }

// The two highest bits of a handle: 1 in those of objects that the library has from the start,
// which of requests are those that were complete when they were made.
inline bool isCompleteAlready(MPI_Request request) {
  constexpr unsigned kKindShift = 30;
  constexpr unsigned kBuiltin = 1;
  return request == 0 || request == MPI_REQUEST_NULL ||
         static_cast<unsigned>(request) >> kKindShift == kBuiltin;
}

// The lowest bit of the second word says whether it was cancelled; the others are the upper part of
// the count (the macros MPIR_STATUS_* of MPICH).
inline std::uint64_t bytesIn(const MPI_Status& status) {
  const auto high = static_cast<unsigned>(status.count_hi_and_cancelled) >> 1;
  return std::uint64_t{high} << 32 | static_cast<unsigned>(status.count_lo);
}
inline bool isCancelled(const MPI_Status& status) {
  return (status.count_hi_and_cancelled & 1) != 0;
}

inline constexpr bool kTellsWholeLength = false;

// The lowest seven bits of what a call returns are the class of its error.
inline int errorClass(int code) { return code & 0x7f; }
#endif

inline bool isNone(MPI_Comm communicator) {
  return communicator == MPI_Comm{} || communicator == nullCommunicator();
}
inline bool isNoType(MPI_Datatype type) { return type == MPI_Datatype{} || type == nullType(); }
inline bool isNoInfo(MPI_Info info) { return info == MPI_Info{} || info == nullInfo(); }

// The key of an object in the tables of trace/runtime/mpi.
template <typename Handle>
const void* keyOf(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return handle;
  } else {
    return reinterpret_cast<const void*>(std::uintptr_t{static_cast<unsigned>(handle)});
  }
}

// A rank as the trace tells it: those that are none have one number for all libraries.
constexpr std::int64_t peerOf(int rank) {
  return rank == MPI_PROC_NULL    ? calls::kProcNull
         : rank == MPI_ANY_SOURCE ? calls::kAnySource
         : rank == MPI_ROOT       ? calls::kIntercommRoot
                                  : rank;
}
static_assert(MPI_ANY_TAG == -1);

// Bytes of data in one item of the type; 0 of what is not a type.
inline std::int64_t sizeOfType(MPI_Datatype type) {
  MPI_Count bytes = 0;
  if (isNoType(type)) return 0;
  return ask(OMNIO_LAZY_MPI(PMPI_Type_size_x), type, &bytes) && bytes > 0 ? bytes : 0;
}

// Datatypes of views as the trace tells them (datatype.cpp): how a type was made, asked of MPI
// (MPI-3.1, 4.1.13) and recorded as a fact once for each content. docs/formats/trace.md, "Types".
//
// The number of the type in this process; 0 when it cannot be told: made in a way that MPI-3.1 does
// not know, nested more deeply or larger than anybody's, or without a trace to tell it to. It
// has to be a type that MPI has accepted.
std::uint32_t typeNumberOf(MPI_Datatype type);

}  // namespace omnio::trace::OMNIO_MPI_ABI

// Both names of a call. BODY is a template over the CallId.
#define OMNIO_MPI_PAIR(NAME, COUNT, BODY)                                       \
  OMNIO_MPI_EXPORT(NAME, COUNT, BODY<calls::CallId::NAME>(OMNIO_NAMES_##COUNT)) \
  OMNIO_MPI_EXPORT(P##NAME, COUNT, BODY<calls::CallId::P##NAME>(OMNIO_NAMES_##COUNT))
