// The MPI library of the process, and what is said of a call of MPI without knowing an MPI type.
// Nothing of the library is linked: functions and objects are looked up in the one that is loaded,
// so that a program without MPI is unharmed.
//
// The real function of MPI_X and PMPI_X is the library's PMPI_X. Fortran arrives at either name:
// the bindings of Open MPI call PMPI_X through the symbol table, those of MPICH call both.
#pragma once

#include <atomic>
#include <cstdint>

#include "trace/runtime/process.hpp"
#include "trace/wrap/real_symbol.hpp"

namespace omnio::trace {

// The binary interface of a library: what its handles, statuses and constants are. The wrappers are
// compiled once for each that they are built for (abi.hpp).
enum class MpiAbi : std::uint8_t {
  kNotFound,  // no library of a known name is loaded, yet
  kOpenMpi,
  kMpich,  // also that of Cray MPICH, Intel MPI and MVAPICH (the MPICH ABI compatibility
           // initiative)
  kOther,  // none that these wrappers are built for: the library's calls are passed through
};

struct MpiLibrary {
  const char* path = nullptr;
  void* handle = nullptr;
  std::atomic<MpiAbi> abi{MpiAbi::kNotFound};  // the others are valid when it is another
};
extern MpiLibrary mpi_library;

// Looks for it among the loaded libraries, until one is there.
MpiAbi findMpiLibrary();
[[gnu::always_inline]] inline MpiAbi mpiAbi() {
  const MpiAbi abi = mpi_library.abi.load(std::memory_order_acquire);
  return abi == MpiAbi::kNotFound ? findMpiLibrary() : abi;
}

// The library's own function by its PMPI name. Where no library of a known name is loaded, the next
// object's, which may be a stand-in for programs of one process that knows MPI names alone.
void* mpiSymbol(const char* pmpi_name);
// An object of the library by its symbol.
void* mpiObject(const char* name);

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
  self.mpi_base = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  ++self.mpi_calls;
}

// While it lives, what this thread does through MPI is the library's business.
class InsideMpi {
 public:
  [[gnu::always_inline]] explicit InsideMpi(Thread& self)
      : self_(self), was_(self.in_mpi), frame_(self.mpi_frame) {
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
  [[gnu::always_inline]] explicit DeeperLayer(Thread& self)
      : self_(self), depth_(self.depth), frame_(self.mpi_frame) {
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
