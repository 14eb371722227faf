// What the wrappers of MPI calls that order ranks do around the real call: see that it is the
// application's, time it, and record it. What is recorded is gathered after the call, outside of
// its measured time, and only of objects that the call has accepted.
#pragma once

#include "core/wire/mpi_requests.hpp"
#include "trace/runtime/mpi/objects.hpp"
#include "trace/wrap/intercept.hpp"
#include "trace/wrap/mpi/library.hpp"
#include "trace/wrap/signature.hpp"

namespace omnio::trace {

class SyncCall {
 public:
  // `id` is the call that the application made. One that is an event only when it
  // finds something says so, and countWhenFound() when it has.
  explicit SyncCall(CallId id, bool may_find_nothing = false)
      : self_(thread), id_(id), is_ours_(!isInsideMpi(self_)), is_counted_(!may_find_nothing) {
    if (is_ours_ && is_counted_) countMpiEvent(self_);
  }
  SyncCall(const SyncCall&) = delete;
  SyncCall& operator=(const SyncCall&) = delete;
  // The application's errno is what the call left.
  ~SyncCall() {
    if (is_made_) errno = errno_;
  }

  // Whether MPI's objects are what we take them for: false of libraries with another ABI.
  bool knowsObjects() const { return isActive() && mpiLibrary().world != nullptr; }
  // Whether it is to be recorded: false, besides, of what is called inside another MPI call, by the
  // library or by a callback of the application's.
  bool isOurs() const { return is_ours_ && knowsObjects(); }

  template <typename Real>
  int make(Real real) {
    if (!is_ours_) {
      result_ = real();
    } else {
      const InsideMpi inside(self_);
      times_.start = ticks();
      result_ = real();
      times_.end = ticks();
    }
    if (times_.end < times_.start) times_.end = times_.start;
    errno_ = errno;
    is_made_ = true;
    return result_;
  }

  void countWhenFound() {
    if (is_ours_ && !is_counted_) countMpiEvent(self_);
    is_counted_ = true;
  }

  bool failed() const { return result_ != MPI_SUCCESS; }
  int result() const { return result_; }

  // Records the event if it is ours; kLike is a row with the same roles, whose arguments `numbers`
  // are.
  template <CallId kLike>
  void record(wire::Arguments<kLike> numbers, const Subject& subject = {}) {
    recordAs<kLike>(id_, times_, numbers, subject);
  }
  // What did not find room in it: in row `kMore`, at the moment when the call ended.
  template <CallId kMore>
  void recordMore(wire::Arguments<kMore> numbers, const Subject& subject) {
    recordAs<kMore>(kMore, {.start = times_.end, .end = times_.end}, numbers, subject);
  }

 private:
  template <CallId kLike>
  void recordAs(CallId id, wire::EventTimes times, wire::Arguments<kLike>& numbers,
                const Subject& subject) {
    if (!is_ours_ || !mayRecord(self_)) return;
    trace::record<kLike>(self_, times, failed(), numbers, 0, result_, subject, id);
  }

  Thread& self_;
  const CallId id_;
  const bool is_ours_;
  bool is_counted_;
  bool is_made_ = false;
  int result_ = MPI_SUCCESS;
  int errno_ = 0;
  wire::EventTimes times_;
};

// Bytes of `count` items of the type; 0 of what is no type.
inline std::uint64_t bytesOf(long count, MPI_Datatype type) {
  return count <= 0 ? 0 : static_cast<std::uint64_t>(count * sizeOfType(type));
}

// Requests between the call that begins them and the one that finds them complete.
//
// Remembers what a call has begun; its number, or 0 when it is complete already.
std::uint64_t beginRequest(MPI_Request object, Request facts);

// A message that has come.
struct Received {
  std::int64_t source = 0;
  std::int64_t tag = 0;
  std::uint64_t bytes = 0;
  std::uint64_t seq = 0;
};
// Counts it in the group of that id; 0: not known.
Received receive(std::uint64_t group_id, const MPI_Status& status);

// A list of requests that goes into records, as many as it takes: one like `kLike`, then `kMore`.
template <CallId kLike, CallId kMore>
class RequestList {
 public:
  explicit RequestList(SyncCall& call) : call_(call) {}

  template <typename Item>
  void add(const Item& item) {
    if (at_ + wire::kMostOfItem * wire::kMaxVarint > bytes_ + sizeof bytes_) flush();
    at_ = wire::put(at_, item, count_);
  }
  // The call's own record, with what there is left.
  void finish() {
    if (count_ > 0 || !is_recorded_) flush();
  }

 private:
  void flush() {
    const Subject subject{.handle = {},
                          .born = {},
                          .path = {},
                          .path_new = {},
                          .list = bytes_,
                          .list_bytes = static_cast<std::size_t>(at_ - bytes_)};
    if (is_recorded_) {
      call_.recordMore<kMore>({count_}, subject);
    } else {
      call_.record<kLike>({count_}, subject);
    }
    is_recorded_ = true;
    at_ = bytes_;
    count_ = 0;
  }

  SyncCall& call_;
  char bytes_[8192];
  char* at_ = bytes_;
  std::int64_t count_ = 0;
  bool is_recorded_ = false;
};

}  // namespace omnio::trace

// Both names of a call, whose body is BODY(its CallId, real function, arguments...).
#define OMNIO_MPI_BOTH(NAME, COUNT, BODY)                                                          \
  OMNIO_EXPORT int MPI_##NAME(OMNIO_PARAMETERS_##COUNT(MPI_##NAME)) {                              \
    constexpr auto kCall = omnio::calls::CallId::MPI_##NAME;                                       \
    return BODY(kCall, omnio::trace::realMpi<decltype(::MPI_##NAME)>(kCall), OMNIO_NAMES_##COUNT); \
  }                                                                                                \
  OMNIO_EXPORT int PMPI_##NAME(OMNIO_PARAMETERS_##COUNT(PMPI_##NAME)) {                            \
    constexpr auto kCall = omnio::calls::CallId::PMPI_##NAME;                                      \
    return BODY(kCall, omnio::trace::realMpi<decltype(::MPI_##NAME)>(kCall), OMNIO_NAMES_##COUNT); \
  }
