// The work of the wrappers of MPI calls that order ranks: they see that the call is the
// application's, time it, and record it. The facts to record are gathered after the call, outside
// of its measured time, and only from objects that the call has accepted.
#pragma once

#include <concepts>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "core/wire/mpi_requests.hpp"
#include "trace/runtime/mpi/objects.hpp"
#include "trace/runtime/sys/scratch.hpp"
#include "trace/wrap/intercept.hpp"
#include "trace/wrap/mpi/abi.hpp"
#include "trace/wrap/polling.hpp"
#include "trace/wrap/signature.hpp"

namespace omnio::trace::OMNIO_MPI_ABI {

// A call that the application, or a library inside another MPI call, makes of MPI.
class MpiCall {
 public:
  MpiCall(const MpiCall&) = delete;
  MpiCall& operator=(const MpiCall&) = delete;

  bool failed() const { return result_ != MPI_SUCCESS; }
  int result() const { return result_; }

 protected:
  MpiCall() : self_(thread), is_ours_(!isInsideMpi(self_)) {}
  // The application's errno is what the call left.
  ~MpiCall() {
    if (is_made_) errno = errno_;
  }

  template <typename Real>
  int makeUntimed(Real real) {
    result_ = real();
    errno_ = errno;
    is_made_ = true;
    return result_;
  }
  template <typename Layer, typename Real>
  int makeTimed(Real real) {
    const Layer layer(self_);
    noteCall(self_, wire::CallState::kUnderWay);
    times_.start = leaveThinking(self_);
    result_ = real();
    times_.end = ticks();
    if (times_.end < times_.start) times_.end = times_.start;
    errno_ = errno;
    is_made_ = true;
    return result_;
  }

  Thread& self_;
  const bool is_ours_;
  wire::EventTimes times_;

 private:
  bool is_made_ = false;
  int result_ = MPI_SUCCESS;
  int errno_ = 0;
};

class SyncCall : public MpiCall {
 public:
  // `id` is the call that the application made. One that is an event only when it
  // finds something says so, and countWhenFound() when it has.
  explicit SyncCall(CallId id, bool may_find_nothing = false)
      : id_(id), is_counted_(!may_find_nothing) {
    if (is_ours_ && is_counted_) countMpiEvent(self_);
  }
  // Makes the call at once.
  template <std::invocable Real>
  SyncCall(CallId id, Real real) : SyncCall(id) {
    make(real);
  }

  bool knowsObjects() const { return isActive(); }
  // Whether it is to be recorded: false, besides, of what is called inside another MPI call, by the
  // library or by a callback of the application's.
  bool isOurs() const { return is_ours_ && knowsObjects(); }

  template <typename Layer = InsideMpi, typename Real>
  int make(Real real) {
    return is_ours_ ? makeTimed<Layer>(real) : makeUntimed(real);
  }

  // A test or probe that found nothing is not an event. Returns what the call returned.
  int foundNothing() {
    if (isOurs()) {
      noteCall(self_, wire::CallState::kBetween);
      notePoll(self_, times_);
    }
    return result();
  }
  // One that found something lasts from the first that found nothing, if the thread only waited in
  // between.
  void countWhenFound() {
    if (is_counted_) return;
    is_counted_ = true;
    if (!is_ours_) return;
    countMpiEvent(self_);
    if (isActive() && self_.polling.start != 0) times_.start = startOfWait(self_, times_);
  }

  // A message that is longer than the buffer is an error, and has been received all the same
  // (MPI-3.1, 3.2.4).
  bool hasReceived() const { return !failed() || hasClass(MPI_ERR_TRUNCATE); }
  bool hasClass(int error_class) const { return errorClass(result()) == error_class; }

  // Records the event if it is ours, and returns what the call returned. kLike is a row with the
  // same roles, whose arguments `numbers` are; a group stands for its number.
  template <CallId kLike, typename... Numbers>
  int record(Numbers... numbers) {
    return recordList<kLike>({}, numbers...);
  }
  // The same with a list of requests or members (core/wire/mpi_requests.hpp).
  template <CallId kLike, typename... Numbers>
  int recordList(std::string_view list, Numbers... numbers) {
    return recordAs<kLike>(id_, times_, list, numbers...);
  }
  // Records the part of the list that finds no room in the call's own record: as an event of row
  // `kMore`, at the moment when the call ended.
  template <CallId kMore>
  void recordMore(std::string_view list, std::int64_t count) {
    recordAs<kMore>(kMore, {.start = times_.end, .end = times_.end}, list, count);
  }
  // Records a call that has a nonblocking form. That form's row ends with the number of its
  // request, which is `began`.
  template <CallId kBlocking, CallId kNonblocking, typename... Numbers>
  int recordEither(bool is_blocking, std::uint64_t began, Numbers... numbers) {
    return is_blocking ? record<kBlocking>(numbers...) : record<kNonblocking>(numbers..., began);
  }

 private:
  static std::int64_t numberIn(std::integral auto number) {
    return static_cast<std::int64_t>(number);
  }
  static std::int64_t numberIn(const Group* group) { return numberIn(numberOf(group)); }

  template <CallId kLike, typename... Numbers>
  int recordAs(CallId id, wire::EventTimes times, std::string_view list, Numbers... numbers) {
    static_assert(sizeof...(Numbers) == calls::rowOf(kLike).argument_count);
    if (!is_ours_ || !mayRecord(self_)) return result();
    wire::Arguments<kLike> arguments{numberIn(numbers)...};
    Subject subject;
    subject.list = list.data();
    subject.list_bytes = list.size();
    trace::record<kLike>(self_, times, failed(), arguments, 0, result(), subject, id);
    return result();
  }

  const CallId id_;
  bool is_counted_;
};

// Calls whose parameters differ in a few places share one body: it finds among the arguments the
// one of type T, of several the one of that index; nullptr or 0 when there is none. Where handles
// are numbers, one of them is told from another, and from an int, by its place alone: argumentAt().
template <typename T, unsigned kIndex = 0, typename... A>
T argumentOf(A... a) {
  T found{};
  unsigned index = 0;
  [[maybe_unused]] const auto look = [&found, &index](auto argument) {
    if constexpr (std::is_same_v<decltype(argument), T>) {
      if (index++ == kIndex) found = argument;
    }
  };
  (look(a), ...);
  return found;
}

template <std::size_t kIndex, typename... A>
auto argumentAt(A... a) {
  return std::get<kIndex>(std::tuple<A...>(a...));
}
template <typename... A>
auto lastArgument(A... a) {
  return argumentAt<sizeof...(A) - 1>(a...);
}

// The call's statuses, or some of our own where the application wants none and we do.
class Statuses {
 public:
  Statuses(MPI_Status* given, bool are_needed, const MPI_Status* ignore = MPI_STATUS_IGNORE,
           std::size_t count = 1)
      : own_(given == ignore && are_needed ? count : 0),
        used_(given == ignore && are_needed && own_ ? own_.data() : given),
        ignore_(ignore) {}

  MPI_Status* used() const { return used_; }
  // nullptr where there is none.
  const MPI_Status* at(std::size_t i) const { return used_ == ignore_ ? nullptr : used_ + i; }
  // An argument of the call: in place of the application's statuses those that are used.
  template <typename T>
  T in(T argument) const {
    if constexpr (std::is_same_v<T, MPI_Status*>) {
      return used_;
    } else {
      return argument;
    }
  }

 private:
  const Scratch<MPI_Status, 16> own_;
  MPI_Status* const used_;
  const MPI_Status* const ignore_;
};

// Bytes of `count` items of the type; 0 of what is not a type.
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
// Counts it in the group of that id; 0: not known. `is_cut`: it was longer than its buffer.
Received receive(std::uint64_t group_id, const MPI_Status& status, bool is_cut);

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
  // Records the rest of the list, and the call if that has not been done. Returns what the call
  // returned.
  int finish() {
    if (count_ > 0 || !is_recorded_) flush();
    return call_.result();
  }

 private:
  void flush() {
    const std::string_view list(bytes_, static_cast<std::size_t>(at_ - bytes_));
    if (is_recorded_) {
      call_.recordMore<kMore>(list, count_);
    } else {
      call_.recordList<kLike>(list, count_);
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

}  // namespace omnio::trace::OMNIO_MPI_ABI

// Both names of a call, whose body is BODY(its CallId, real function, arguments...).
#define OMNIO_MPI_NAME(PREFIX, NAME, COUNT, BODY)                                             \
  OMNIO_MPI_EXPORT(                                                                           \
      PREFIX##_##NAME, COUNT,                                                                 \
      BODY(CallId::PREFIX##_##NAME, realMpi<decltype(::MPI_##NAME)>(CallId::PREFIX##_##NAME), \
           OMNIO_NAMES_##COUNT))
#define OMNIO_MPI_BOTH(NAME, COUNT, ...)        \
  OMNIO_MPI_NAME(MPI, NAME, COUNT, __VA_ARGS__) \
  OMNIO_MPI_NAME(PMPI, NAME, COUNT, __VA_ARGS__)
