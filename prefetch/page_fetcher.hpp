// Threads that ask for pages, so that the one that reads the rings never waits for storage.
//
// Requests are made in the order in which they were handed in, several at a time. What came of them
// is picked up by takeDone(). Memory: the requests that wait, at most kMostWaiting.
//
// No request that waits has a file open: it is opened for the time of the request, or is the one
// that the caller keeps. When the caller lets go of it, requests that wait come to nothing, and one
// that is under way ends with the call that it is in.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "core/base/file.hpp"
#include "prefetch/job_descriptor.hpp"
#include "prefetch/storage.hpp"

namespace omnio::prefetch {

class PageFetcher {
 public:
  static constexpr std::size_t kMostWaiting = 256;
  static constexpr std::size_t kThreads = 8;

  // Descriptors that stay open on storage whose nodes' caches do not agree.
  struct KeptOpen {
    std::weak_ptr<const base::Descriptor> descriptor;
    std::int64_t changed_ns = 0;  // the file's change time has to be this still
  };
  // Ranges of one file.
  struct Request {
    std::uint64_t file = 0;  // the caller's number
    JobDescriptor opener;
    std::optional<KeptOpen> kept;  // in place of an open of its own
    std::stop_token let_go;
    std::shared_ptr<Storage> storage;
    std::vector<ByteRange> ranges;
    std::int64_t cause_ns = 0;  // CLOCK_MONOTONIC: the end of the call that it follows from
  };
  enum class Came : std::uint8_t {
    kFetched,
    kWasThere,   // all of it
    kNothing,    // the storage is left alone, or the file has no bytes there, or was let go
    kHasChanged  // the file, by another node
  };
  struct Done {  // of one range
    std::uint64_t file = 0;
    ByteRange range;
    Came came = Came::kNothing;
    std::int64_t delay_ns = 0;  // from the cause to the request
  };

  PageFetcher() = default;
  PageFetcher(const PageFetcher&) = delete;
  PageFetcher& operator=(const PageFetcher&) = delete;
  // Requests that wait are not made any more.
  ~PageFetcher();

  // False where too many wait.
  bool add(Request request);
  std::vector<Done> takeDone();

 private:
  void work();
  bool makeThread();
  static std::vector<Done> perform(const Request& request);
  static Came fetch(const Request& request, int fd, ByteRange range, std::int64_t& delay_ns);

  std::mutex mutex_;
  std::condition_variable has_work_;
  std::deque<Request> waiting_;
  std::vector<Done> done_;
  std::size_t idle_ = 0;  // threads; they are made when there is more to do than they can
  bool is_ending_ = false;
  std::vector<std::thread> threads_;
};

// The change time of an open file in ns since 1970, asked of its server; nothing where that fails.
std::optional<std::int64_t> changeTimeOf(int fd);

}  // namespace omnio::prefetch
