// The MPI library of the process, and what the wrappers of its calls share. Nothing of it is
// linked: functions and objects are looked up in the library that is loaded, so that a program
// without MPI is unharmed. A library of another ABI (MPICH's) is passed through and named in the
// trace.
//
// The real function of MPI_X and PMPI_X is the library's PMPI_X. Fortran arrives at PMPI_X: the
// bindings of Open MPI call it through the symbol table.
#pragma once

#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "trace/runtime/process.hpp"
#include "trace/wrap/real_symbol.hpp"
#include "trace/wrap/signature.hpp"

namespace omnio::trace {

struct MpiLibrary {
  const char* path = nullptr;
  void* handle = nullptr;
  void* world = nullptr;  // Open MPI's MPI_COMM_WORLD; without it the library is passed through
};

const MpiLibrary& mpiLibrary();

// The library's own function by its PMPI name. Where no library of a known name is loaded, the next
// object's, which may be a stand-in for programs of one process that knows MPI names alone.
void* mpiSymbol(const char* pmpi_name);
// An object of the library by its symbol.
void* mpiObject(const char* name);

template <typename Function>
Function* mpiFunction(const char* pmpi_name) {
  return reinterpret_cast<Function*>(mpiSymbol(pmpi_name));
}

// The function of this PMPI name, or nullptr.
#define OMNIO_LAZY_MPI(NAME)                                                                   \
  ([] {                                                                                        \
    static constinit omnio::trace::LazySymbol<decltype(::NAME), omnio::trace::mpiSymbol> lazy( \
        #NAME);                                                                                \
    return lazy.get();                                                                         \
  }())

// Asks MPI; false when it cannot tell, or has no such function. OMNIO_LAZY_MPI has functions.
template <typename Function, typename... A>
bool ask(Function* function, A... a) {
  return function != nullptr && function(a...) == MPI_SUCCESS;
}

// The real function of a row, MPI_X or PMPI_X.
template <typename Function>
[[gnu::always_inline]] inline Function* realMpi(CallId id) {
  const CallId pmpi = calls::pmpiOf(id);
  std::atomic<void*>& place = real_symbols[calls::toNumber(pmpi)];
  void* symbol = place.load(std::memory_order_relaxed);
  if (symbol == nullptr) [[unlikely]] {
    symbol = mpiSymbol(calls::rowOf(pmpi).name.data());
    place.store(symbol, std::memory_order_relaxed);
  }
  return reinterpret_cast<Function*>(symbol);
}

// MPI events of this process so far: the ticks of the phase model.
extern std::atomic<std::uint64_t> mpi_events;

// Whether the thread is inside an MPI call of the application's. A stack pointer above that of the
// call says that it was left by a jump or an exception, and with it all of the layers.
[[gnu::always_inline]] inline bool isInsideMpi(Thread& self) {
  if (self.depth == 0 && !self.in_mpi) [[likely]]
    return false;
  if (self.mpi_frame == 0 || stackPointer() <= self.mpi_frame) return true;
  self.depth = 0;
  self.in_mpi = false;
  self.mpi_frame = 0;
  return false;
}

// Counts an MPI event when the application makes it, and not a library inside another MPI call;
// returns its tick, or that of the call it belongs to.
[[gnu::always_inline]] inline std::uint64_t countMpiEvent(Thread& self) {
  if (isInsideMpi(self)) return mpi_events.load(std::memory_order_relaxed);
  return mpi_events.fetch_add(1, std::memory_order_relaxed) + 1;
}

// The thread enters an outermost MPI call, which has a frame of its own on the stack.
[[gnu::always_inline]] inline void enterMpi(Thread& self) {
  self.mpi_frame = stackPointer();
  ++self.mpi_calls;
}

// While it lives, what this thread does through MPI is the library's business.
class InsideMpi {
 public:
  explicit InsideMpi(Thread& self) : self_(self), was_(self.in_mpi), frame_(self.mpi_frame) {
    if (frame_ == 0) enterMpi(self);
    self.in_mpi = true;
  }
  InsideMpi(const InsideMpi&) = delete;
  InsideMpi& operator=(const InsideMpi&) = delete;
  ~InsideMpi() {
    self_.in_mpi = was_;
    self_.mpi_frame = frame_;
  }

 private:
  Thread& self_;
  const bool was_;
  const std::uintptr_t frame_;
};

// The same, and its I/O is one layer deeper.
class DeeperLayer {
 public:
  explicit DeeperLayer(Thread& self) : self_(self), depth_(self.depth), frame_(self.mpi_frame) {
    constexpr std::uint8_t kDeepest = (1U << wire::kDepthBits) - 1;  // that a record can tell
    if (frame_ == 0) enterMpi(self);
    if (depth_ < kDeepest) ++self_.depth;
  }
  DeeperLayer(const DeeperLayer&) = delete;
  DeeperLayer& operator=(const DeeperLayer&) = delete;
  ~DeeperLayer() {
    self_.depth = depth_;
    self_.mpi_frame = frame_;
  }

 private:
  Thread& self_;
  const std::uint8_t depth_;
  const std::uintptr_t frame_;
};

}  // namespace omnio::trace

// Parts of Open MPI that MPI leaves to the library: the objects that its constants stand for, and
// the form of statuses and requests. Another library's ABI would be described here.
namespace omnio::trace::open_mpi {

// An object by its symbol; nullptr where the library has none of this name.
#define OMNIO_MPI_OBJECT(FUNCTION, TYPE, SYMBOL)                                        \
  inline TYPE FUNCTION() {                                                              \
    static constinit LazySymbol<std::remove_pointer_t<TYPE>, mpiObject> object(SYMBOL); \
    return object.get();                                                                \
  }
OMNIO_MPI_OBJECT(selfCommunicator, MPI_Comm, "ompi_mpi_comm_self")
OMNIO_MPI_OBJECT(nullCommunicator, MPI_Comm, "ompi_mpi_comm_null")
OMNIO_MPI_OBJECT(nullType, MPI_Datatype, "ompi_mpi_datatype_null")
OMNIO_MPI_OBJECT(nullInfo, MPI_Info, "ompi_mpi_info_null")
OMNIO_MPI_OBJECT(nullRequest, MPI_Request, "ompi_request_null")
// The one object of all requests that were complete when they were made.
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

// Bytes of data in one item of the type; 0 of what is not a type.
inline std::int64_t sizeOfType(MPI_Datatype type) {
  MPI_Count bytes = 0;
  if (type == nullptr || type == open_mpi::nullType()) return 0;
  return ask(OMNIO_LAZY_MPI(PMPI_Type_size_x), type, &bytes) && bytes > 0 ? bytes : 0;
}

// Datatypes of views as the trace tells them (datatype.cpp): how a type was made, asked of MPI
// (MPI-3.1, 4.1.13) and recorded as a fact once for each content. docs/formats/trace.md, "Types".
//
// The number of the type in this process; 0 when it cannot be told: made in a way that MPI-3.1 does
// not know, nested more deeply or larger than anybody's, or without a trace to tell it to. Only
// of a type that MPI has accepted.
std::uint32_t typeNumberOf(MPI_Datatype type);

}  // namespace omnio::trace

// Both names of a call. BODY is a template over the CallId.
#define OMNIO_MPI_PAIR(NAME, COUNT, BODY)                                          \
  OMNIO_EXPORT int NAME(OMNIO_PARAMETERS_##COUNT(NAME)) {                          \
    return omnio::trace::BODY<omnio::calls::CallId::NAME>(OMNIO_NAMES_##COUNT);    \
  }                                                                                \
  OMNIO_EXPORT int P##NAME(OMNIO_PARAMETERS_##COUNT(P##NAME)) {                    \
    return omnio::trace::BODY<omnio::calls::CallId::P##NAME>(OMNIO_NAMES_##COUNT); \
  }
