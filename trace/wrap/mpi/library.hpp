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

#include "trace/runtime/process.hpp"
#include "trace/wrap/real_symbol.hpp"

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

// The real function, found once and kept in `place`.
template <typename Function>
[[gnu::always_inline]] inline Function* realMpi(std::atomic<void*>& place, const char* pmpi_name) {
  void* symbol = place.load(std::memory_order_relaxed);
  if (symbol == nullptr) [[unlikely]] {
    symbol = mpiSymbol(pmpi_name);
    place.store(symbol, std::memory_order_relaxed);
  }
  return reinterpret_cast<Function*>(symbol);
}

// A function of the library that is looked up when first wanted. One that is not found is looked
// for again, since MPI may be loaded later. Constant initialisation: the libraries are built
// without guards that threads could share (-fno-threadsafe-statics).
template <typename Function>
class LazyMpi {
 public:
  constexpr explicit LazyMpi(const char* pmpi_name) : name_(pmpi_name) {}
  Function* get() { return realMpi<Function>(place_, name_); }

 private:
  const char* name_;
  std::atomic<void*> place_{nullptr};
};
// The function of this PMPI name, or nullptr.
#define OMNIO_LAZY_MPI(NAME)                                              \
  ([] {                                                                   \
    static constinit omnio::trace::LazyMpi<decltype(::NAME)> lazy(#NAME); \
    return lazy.get();                                                    \
  }())

// The same of a row, MPI_X or PMPI_X.
template <typename Function>
[[gnu::always_inline]] inline Function* realMpi(CallId id) {
  const CallId pmpi = calls::pmpiOf(id);
  return realMpi<Function>(real_symbols[calls::toNumber(pmpi)], calls::rowOf(pmpi).name.data());
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

// While it lives, what this thread does through MPI is the library's business.
class InsideMpi {
 public:
  explicit InsideMpi(Thread& self) : self_(self), was_(self.in_mpi), frame_(self.mpi_frame) {
    if (frame_ == 0) self.mpi_frame = stackPointer();
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
    if (frame_ == 0) self.mpi_frame = stackPointer();
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

// What is Open MPI's own, and MPI leaves to the library: the objects that its constants stand for,
// and what statuses and requests look like. Another library's ABI would be told here.
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
