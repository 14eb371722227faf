#include "prefetch/job_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/base/file_system.hpp"
#include "core/base/printable.hpp"
#include "prefetch/live_clock.hpp"

namespace omnio::prefetch {
namespace {

constexpr std::int64_t kKeptOpenNs = 1'000'000'000;
constexpr std::size_t kMostFiles = std::size_t{1} << 16;

bool mayWrite(unsigned open_flags) { return (open_flags & O_ACCMODE) != O_RDONLY; }

}  // namespace

std::int64_t JobFiles::take(const LiveProcess& process, const LiveProcess::Seen& seen) {
  if (seen.file.inode == 0) return 0;
  const predict::Operation& operation = seen.operation;
  const auto [place, is_new] = files_.try_emplace(seen.file);
  File& file = place->second;
  if (is_new) {
    file.number = next_number_++;
    by_number_.emplace(file.number, seen.file);
    // Closes are missed where events come faster than they are read.
    if (files_.size() > kMostFiles) closed(files_.find(by_number_.begin()->second));
  }
  const std::pair opener(process.token(), seen.fd);
  if (operation.kind == predict::Kind::kClose) {
    file.openers.erase(opener);
    if (file.openers.empty()) closed(place);
    return 0;
  }
  file.openers[opener] = {.pid = process.pid(), .open_flags = seen.open_flags};
  if (operation.kind == predict::Kind::kWrite && !file.is_written) {
    file.is_written = true;
    ++written_;
    file.descriptor.reset();
  }
  if (operation.kind != predict::Kind::kRead || !operation.has_offset) return 0;
  const std::int64_t before = file.ranges.waitingBytes();
  const std::int64_t covered = file.ranges.read(
      {.begin = operation.offset, .end = operation.offset + operation.bytes}, ended_);
  waiting_ += file.ranges.waitingBytes() - before;
  return covered;
}

void JobFiles::closed(std::map<FileKey, File>::iterator place) {
  File& file = place->second;
  waiting_ -= file.ranges.waitingBytes();
  file.ranges.finish(ended_);
  ended_fetched_ += file.ranges.fetchedBytes();
  ended_used_ += file.ranges.usedBytes();
  ended_wasted_ += file.ranges.wastedBytes();
  by_number_.erase(file.number);
  files_.erase(place);
}

void JobFiles::gone(const LiveProcess& process) {
  for (auto place = files_.begin(); place != files_.end();) {
    const auto next = std::next(place);
    auto& openers = place->second.openers;
    std::erase_if(openers,
                  [&process](const auto& entry) { return entry.first.first == process.token(); });
    if (openers.empty()) closed(place);
    place = next;
  }
}

bool JobFiles::mayFetch(File& file) {
  if (file.is_written || file.has_changed) return false;
  for (const auto& [opener, how] : file.openers) {
    if ((how.open_flags & O_DIRECT) != 0) return false;
  }
  if (!file.storage) return true;
  if (file.storage->method() == Storage::Method::kNothing) return false;
  return file.storage->isCoherent() || std::ranges::none_of(file.openers, [](const auto& entry) {
           return mayWrite(entry.second.open_flags);
         });
}

// An open of the file would break a lease for writing that one of the job's processes has
// (fcntl(2)), and the signal that tells of it ends a program without a handler.
bool JobFiles::hasLease(const File& file) {
  return std::ranges::any_of(file.openers, [](const auto& entry) {
    std::ifstream in(fmt::format("/proc/{}/fdinfo/{}", entry.second.pid, entry.first.second));
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("lock:") && line.find("LEASE") != std::string::npos) return true;
    }
    return false;
  });
}

bool JobFiles::open(const LiveProcess& process, const FileKey& key, File& file) {
  if (file.descriptor) return true;
  const auto opener = std::ranges::find_if(
      file.openers, [&process](const auto& entry) { return entry.first.first == process.token(); });
  if (opener == file.openers.end()) return false;
  const std::string path = fmt::format("/proc/{}/fd/{}", process.pid(), opener->first.second);
  if (hasLease(file)) return false;
  // What the number stands for by now may be anything: it is looked at before it is opened.
  struct stat facts {};
  const auto is_it = [&facts, &key] {
    return S_ISREG(facts.st_mode) && facts.st_dev == key.device && facts.st_ino == key.inode;
  };
  if (stat(path.c_str(), &facts) != 0 || !is_it()) return false;
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  int fd = ::open(path.c_str(), kFlags | O_NOATIME);  // for the file's owner alone
  if (fd < 0) fd = ::open(path.c_str(), kFlags);
  auto descriptor = std::make_shared<const base::Descriptor>(fd);
  if (fd < 0 || fstat(fd, &facts) != 0 || !is_it()) return false;
  file.descriptor = std::move(descriptor);
  file.bytes = facts.st_size;
  auto& [storage, name] = storage_[key.device];
  if (!storage) {
    storage = std::make_shared<Storage>(fd, key.device);
    std::error_code error;
    name = base::mountOf(
        std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", fd), error).parent_path());
  }
  file.storage = storage;
  if (!storage->isCoherent() && !file.changed_ns) {
    file.changed_ns = changeTimeOf(fd);
    file.has_changed = !file.changed_ns || *file.changed_ns >= begin_ns_;
    if (file.has_changed) ++changed_;
  }
  return true;
}

bool JobFiles::fetch(const LiveProcess& process, const Request& request) {
  const auto found = files_.find(request.file);
  if (found == files_.end() || !mayFetch(found->second)) return true;
  File& file = found->second;
  FetchedRanges::Range range = file.ranges.missing(request.range);
  if (range.isEmpty()) return true;
  if (waiting_ + range.bytes() > budget_) return false;
  // What is sent together has one cause.
  if (!file.asked.empty() && file.asked_cause_ns != request.cause_ns) send(file);
  // The storage is known when the file is open.
  if (!open(process, request.file, file) || !mayFetch(file)) {
    file.descriptor.reset();
    return true;
  }
  // What is expected behind the end of the file is nothing that could be wasted.
  range.end = std::min(range.end, file.bytes);
  if (range.isEmpty()) {
    if (file.storage->isCoherent() && file.asked.empty()) file.descriptor.reset();
    return true;
  }
  if (file.asked.empty()) asked_.push_back(request.file);
  file.asked.push_back({.offset = range.begin, .bytes = range.bytes()});
  file.asked_cause_ns = request.cause_ns;
  file.ranges.add(range, request.owner);
  waiting_ += range.bytes();
  return true;
}

void JobFiles::send(File& file) {
  file.used_ns = nowNs();
  std::vector<PageFetcher::Range> ranges = std::exchange(file.asked, {});
  if (!file.descriptor) {  // it was found since that nothing may be fetched
    for (const PageFetcher::Range& range : ranges) cancel(file, range.offset);
    return;
  }
  PageFetcher::Request request{.file = file.number,
                               .descriptor = file.descriptor,
                               .storage = file.storage,
                               .ranges = ranges,
                               .cause_ns = file.asked_cause_ns,
                               .changed_ns = {}};
  if (!file.storage->isCoherent()) request.changed_ns = file.changed_ns;
  if (!fetcher_.add(std::move(request))) {
    for (const PageFetcher::Range& range : ranges) cancel(file, range.offset);
  }
  if (file.storage->isCoherent()) file.descriptor.reset();  // the request has it
}

void JobFiles::sendAll() {
  for (const FileKey& key : asked_) {
    const auto found = files_.find(key);
    if (found != files_.end() && !found->second.asked.empty()) send(found->second);
  }
  asked_.clear();
}

void JobFiles::cancel(File& file, std::int64_t offset) {
  const std::int64_t before = file.ranges.waitingBytes();
  file.ranges.cancel(offset);
  waiting_ += file.ranges.waitingBytes() - before;
}

void JobFiles::take(const PageFetcher::Done& done) {
  const auto number = by_number_.find(done.file);
  if (number == by_number_.end()) return;
  const auto found = files_.find(number->second);
  if (found == files_.end()) return;
  File& file = found->second;
  if (done.came == PageFetcher::Came::kFetched) return;
  cancel(file, done.range.offset);
  if (done.came != PageFetcher::Came::kHasChanged || file.has_changed) return;
  file.has_changed = true;
  ++changed_;
  // What was fetched may be older than what is there now.
  if (file.descriptor) {
    file.ranges.eachWaiting([fd = file.descriptor->get()](FetchedRanges::Range range) {
      posix_fadvise(fd, range.begin, range.bytes(), POSIX_FADV_DONTNEED);
    });
  }
  file.descriptor.reset();
}

void JobFiles::closeUnused(std::int64_t now_ns) {
  for (auto& [key, file] : files_) {
    if (file.descriptor && now_ns - file.used_ns > kKeptOpenNs) file.descriptor.reset();
  }
}

void JobFiles::finish() {
  while (!files_.empty()) closed(files_.begin());
}

std::int64_t JobFiles::sum(std::int64_t (FetchedRanges::*of)() const, std::int64_t ended) const {
  for (const auto& [key, file] : files_) ended += (file.ranges.*of)();
  return ended;
}

std::vector<std::string> JobFiles::leftAlone() const {
  std::vector<std::string> all;
  for (const auto& [device, of] : storage_) {
    const std::string why = of.first->reason();
    if (why.empty()) continue;
    all.push_back(
        fmt::format("nothing was fetched from {}, since {}", base::printable(of.second), why));
  }
  return all;
}

}  // namespace omnio::prefetch
