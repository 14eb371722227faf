// What all wrappers of MPI-IO do around the real call. What a row of these calls records
// (core/calls/mpi.def) is asked of MPI after the real call and outside its measured time, and only
// of objects that the call has accepted: the library would end the application when it is asked
// about others.
#pragma once

#include <concepts>

#include "trace/runtime/mpi/objects.hpp"
#include "trace/wrap/intercept.hpp"
#include "trace/wrap/mpi/library.hpp"
#include "trace/wrap/signature.hpp"

namespace omnio::trace {

// One MPI-IO call: made with call(), then recorded with record().
template <CallId kCall>
class FileCall {
 public:
  static constexpr const calls::Row& kRow = calls::rowOf(kCall);
  // Queries do not count.
  static constexpr bool kTicks = calls::has(kRow, calls::Role::kTick);

  FileCall()
      : self_(thread), is_own_(!isInsideMpi(self_)), tick_(kTicks ? countMpiEvent(self_) : 0) {
    can_record_ = isActive() && mayRecord(self_) && mpiLibrary().world != nullptr;
  }
  FileCall(const FileCall&) = delete;
  FileCall& operator=(const FileCall&) = delete;
  // The application's errno is what the call left.
  ~FileCall() {
    if (can_record_) errno = errno_;
  }

  bool canRecord() const { return can_record_; }
  // The application's call, and not one that the library makes inside another.
  bool isOwn() const { return is_own_; }

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

  template <calls::Role kRole, std::integral Number>
  void put(Number value) {
    constexpr int at = calls::indexOf(calls::rowOf(kCall), kRole);
    static_assert(at >= 0, "the row does not record this");
    numbers_[at] = static_cast<std::int64_t>(value);
  }

  // Counts a collective call on the group, also when it is not recorded: all members count alike.
  void countOn(Group* group) {
    if (!is_own_) return;
    put<calls::Role::kSeq>(nextCall(group));
    put<calls::Role::kComm>(numberOf(group));
  }

  void record(const Subject& subject, std::uint64_t request_bytes = 0) {
    if constexpr (kTicks) put<calls::Role::kTick>(tick_);
    trace::record<kCall>(self_, times_, failed(), numbers_, request_bytes, result_, subject);
  }

 private:
  Thread& self_;
  bool is_own_;
  std::uint64_t tick_;
  bool can_record_ = false;
  int result_ = MPI_SUCCESS;
  int errno_ = 0;
  wire::EventTimes times_;
  wire::Arguments<kCall> numbers_{};
};

// Readers that follow shared pointers look at all ranks' calls: only in traces that have such.
void tellOfSharedPointers();

// A call on a file that is open: `put` adds what the row records besides file, group and tick, and
// returns the bytes asked for.
template <CallId kCall, typename Real, typename Put>
int onFile(MPI_File file, Real real, Put put) {
  FileCall<kCall> call;
  Subject subject;
  if (call.canRecord()) subject.handle = findMpiFile(file);
  const bool is_recorded = subject.handle.isTraced();
  if constexpr (calls::has(calls::rowOf(kCall), calls::Role::kSeq)) {
    call.countOn(findGroup(file));
  }
  const int result = call.call([&] { return real(is_recorded); });
  if (is_recorded) {
    if constexpr (calls::does(calls::rowOf(kCall), calls::Effect::kSharedPointer)) {
      tellOfSharedPointers();
    }
    call.record(subject, put(call));
  }
  return result;
}

// Datatypes of views as the trace tells them (datatype.cpp): how a type was made, asked of MPI
// (MPI-3.1, 4.1.13) and recorded as a fact once for each content. docs/formats/trace.md, "Types".
//
// The number of the type in this process; 0 when it cannot be told: made in a way that MPI-3.1 does
// not know, nested more deeply or larger than anybody's, or there is no trace to tell it to. Only
// of a type that MPI has accepted.
std::uint32_t typeNumberOf(MPI_Datatype type);

// Where the individual pointer stands, in etypes; -1 when the library does not tell.
std::int64_t positionIn(MPI_File file);

}  // namespace omnio::trace

// Both names of a call. BODY is a template over the CallId.
#define OMNIO_MPI_PAIR(NAME, COUNT, BODY)                                          \
  OMNIO_EXPORT int NAME(OMNIO_PARAMETERS_##COUNT(NAME)) {                          \
    return omnio::trace::BODY<omnio::calls::CallId::NAME>(OMNIO_NAMES_##COUNT);    \
  }                                                                                \
  OMNIO_EXPORT int P##NAME(OMNIO_PARAMETERS_##COUNT(P##NAME)) {                    \
    return omnio::trace::BODY<omnio::calls::CallId::P##NAME>(OMNIO_NAMES_##COUNT); \
  }
