#include "prefetch/page_fetcher.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "prefetch/live_clock.hpp"

namespace omnio::prefetch {

std::optional<std::int64_t> changeTimeOf(int fd) {
  struct statx facts {};
  if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_CTIME, &facts) != 0) return {};
  return facts.stx_ctime.tv_sec * std::int64_t{1'000'000'000} + facts.stx_ctime.tv_nsec;
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
    if (waiting_.size() > idle_ && threads_.size() < kThreads && !makeThread()) {
      if (threads_.empty()) {
        waiting_.clear();
        return false;
      }
    }
  }
  has_work_.notify_one();
  return true;
}

// False where the user may have no more threads.
bool PageFetcher::makeThread() {
  try {
    threads_.emplace_back([this] { work(); });
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

std::vector<PageFetcher::Done> PageFetcher::takeDone() {
  const std::lock_guard lock(mutex_);
  return std::exchange(done_, {});
}

PageFetcher::Came PageFetcher::fetch(const Request& request, int fd, ByteRange range,
                                     std::int64_t& delay_ns) {
  if (range.isEmpty()) return Came::kNothing;
  if (const auto found = cachedPages(fd, range); found && *found >= pagesOf(range)) {
    return Came::kWasThere;
  }
  delay_ns = nowNs() - request.cause_ns;
  return request.storage->fetch(fd, range, request.let_go) ? Came::kFetched : Came::kNothing;
}

std::vector<PageFetcher::Done> PageFetcher::perform(const Request& request) {
  std::shared_ptr<const base::Descriptor> file;
  if (request.kept) {
    file = request.kept->descriptor.lock();
  } else if (!request.let_go.stop_requested()) {
    file = std::make_shared<const base::Descriptor>(request.opener.open());
  }
  struct stat facts {};
  if (!file || fstat(file->get(), &facts) != 0) facts.st_size = 0;
  const bool has_changed =
      file && request.kept && changeTimeOf(file->get()) != request.kept->changed_ns;
  std::vector<Done> all;
  for (const ByteRange& range : request.ranges) {
    Done done{.file = request.file, .range = range, .came = Came::kNothing, .delay_ns = 0};
    if (has_changed) {
      done.came = Came::kHasChanged;
    } else if (!request.let_go.stop_requested()) {
      const ByteRange there{.begin = range.begin, .end = std::min(range.end, facts.st_size)};
      done.came = fetch(request, file ? file->get() : -1, there, done.delay_ns);
    }
    all.push_back(done);
  }
  return all;
}

void PageFetcher::work() {
  while (true) {
    Request request;
    {
      std::unique_lock lock(mutex_);
      ++idle_;
      has_work_.wait(lock, [this] { return is_ending_ || !waiting_.empty(); });
      --idle_;
      if (is_ending_) return;
      request = std::move(waiting_.front());
      waiting_.pop_front();
    }
    const std::vector<Done> done = perform(request);
    const std::lock_guard lock(mutex_);
    done_.insert(done_.end(), done.begin(), done.end());
  }
}

}  // namespace omnio::prefetch
