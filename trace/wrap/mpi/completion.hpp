// Requests between the call that begins them and the one that finds them complete.
#pragma once
#include "trace/runtime/mpi/requests.hpp"
#include "trace/wrap/mpi/sync_call.hpp"

namespace omnio::trace {

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
