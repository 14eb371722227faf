// What was fetched of a file and not read yet: which part of it reads use, and which is wasted.
//
// Used is what a later read covers, wasted what none has covered by the end. A request that was
// passed by so many reads of the file is given up: it no longer counts as under way, but is used
// all the same when a read comes after all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "prefetch/planner.hpp"
#include "prefetch/storage.hpp"

namespace omnio::prefetch {

class FetchedRanges {
 public:
  static constexpr std::uint64_t kPassedBy = 256;
  static constexpr std::size_t kMostRequests = 4096;  // of more, the oldest are wasted

  struct Owner {
    std::uint64_t process = 0;  // its token
    StreamKey stream;
    // When it was made, by each clock of a simulation; nothing beside a job that runs.
    std::shared_ptr<const std::vector<double>> made_ns = {};
  };
  // Of each request that ends: whether most of it was used.
  using Ended = std::function<void(const Owner&, bool was_used)>;

  // The part of [begin, end) that was not fetched already, nor is under way: a plan names a read
  // again until it comes. Empty where there is none.
  ByteRange missing(ByteRange wanted) const;
  void add(ByteRange range, const Owner& owner);
  // Nothing came of a request: it was there already, or could not be read.
  void cancel(std::int64_t begin);

  // What was fetched and not used, request by request.
  template <typename See>
  void eachWaiting(See see) const {
    for (const auto& [begin, request] : requests_)
      see(ByteRange{.begin = begin, .end = request.end});
  }

  // The requests that have bytes of the range, whether these were used or not.
  template <typename See>
  void eachOver(ByteRange range, See see) const {
    auto place = requests_.upper_bound(range.begin);
    if (place != requests_.begin()) --place;
    for (; place != requests_.end() && place->first < range.end; ++place) {
      const Request& request = place->second;
      if (request.end <= range.begin) continue;
      see(ByteRange{.begin = place->first, .end = request.end}, request.owner);
    }
  }

  // A read of the file; returns how many of its bytes were fetched before.
  std::int64_t read(ByteRange range, const Ended& ended);
  // The file was closed for the last time, or the end has come.
  void finish(const Ended& ended);

  std::int64_t fetchedBytes() const { return fetched_; }
  std::int64_t usedBytes() const { return used_; }
  // Of what came to its end.
  std::int64_t wastedBytes() const { return wasted_; }
  // Fetched, and neither used nor given up.
  std::int64_t waitingBytes() const { return waiting_; }

 private:
  struct Request {
    std::int64_t end = 0;
    std::int64_t bytes = 0;  // when it was made
    std::int64_t used = 0;
    std::vector<ByteRange> unused;
    std::uint64_t made = 0;  // after so many reads
    bool is_given_up = false;
    Owner owner;
  };
  using Requests = std::map<std::int64_t, Request>;  // by begin; they do not overlap

  static std::int64_t use(Request& request, ByteRange part);
  void giveUpPassed(const Ended& ended);
  Requests::iterator drop(Requests::iterator place, const Ended& ended);

  Requests requests_;
  std::uint64_t reads_ = 0;
  std::int64_t fetched_ = 0;
  std::int64_t used_ = 0;
  std::int64_t wasted_ = 0;
  std::int64_t waiting_ = 0;
};

}  // namespace omnio::prefetch
