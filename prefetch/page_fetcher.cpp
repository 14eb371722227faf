#include "prefetch/page_fetcher.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/wire/clock.hpp"

namespace omnio::prefetch {

std::optional<std::int64_t> changeTimeOf(int fd) {
  struct statx facts {};
  if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_CTIME, &facts) != 0) return {};
  return facts.stx_ctime.tv_sec * std::int64_t{1'000'000'000} + facts.stx_ctime.tv_nsec;
}

PageFetcher::PageFetcher() {
  for (std::size_t i = 0; i < kThreads; ++i) threads_.emplace_back([this] { work(); });
}

PageFetcher::~PageFetcher() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    waiting_.clear();
  }
  has_work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool PageFetcher::add(Request request) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= kMostWaiting) return false;
    waiting_.push_back(std::move(request));
  }
  has_work_.notify_one();
  return true;
}

std::vector<PageFetcher::Done> PageFetcher::takeDone() {
  const std::lock_guard lock(mutex_);
  return std::exchange(done_, {});
}

PageFetcher::Done PageFetcher::perform(const Request& request) {
  Done done{.file = request.file,
            .offset = request.offset,
            .bytes = request.bytes,
            .came = Came::kNothing,
            .delay_ns = 0};
  const int fd = request.descriptor->get();
  struct stat facts {};
  if (fstat(fd, &facts) != 0 || request.offset >= facts.st_size) return done;
  const std::int64_t bytes = std::min<std::int64_t>(request.bytes, facts.st_size - request.offset);
  if (const auto found = cachedPages(fd, request.offset, bytes)) {
    const long page = sysconf(_SC_PAGESIZE);
    const std::int64_t pages = (request.offset + bytes + page - 1) / page - request.offset / page;
    if (static_cast<std::int64_t>(found->cached) >= pages) {
      done.came = Came::kWasThere;
      return done;
    }
  }
  if (request.changed_ns && changeTimeOf(fd) != request.changed_ns) {
    done.came = Came::kHasChanged;
    return done;
  }
  done.delay_ns = static_cast<std::int64_t>(wire::systemNs(CLOCK_MONOTONIC)) - request.cause_ns;
  if (request.storage->fetch(fd, request.offset, bytes)) done.came = Came::kFetched;
  return done;
}

void PageFetcher::work() {
  while (true) {
    Request request;
    {
      std::unique_lock lock(mutex_);
      has_work_.wait(lock, [this] { return is_ending_ || !waiting_.empty(); });
      if (is_ending_) return;
      request = std::move(waiting_.front());
      waiting_.pop_front();
    }
    Done done = perform(request);
    request = {};  // a descriptor may be closed by that
    const std::lock_guard lock(mutex_);
    done_.push_back(done);
  }
}

}  // namespace omnio::prefetch
