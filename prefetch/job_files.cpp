#include "prefetch/job_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/inotify.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string>

#include "core/base/file_system.hpp"
#include "core/base/printable.hpp"
#include "prefetch/live_clock.hpp"

namespace omnio::prefetch {
namespace {

constexpr std::int64_t kKeptOpenNs = 1'000'000'000;
constexpr std::size_t kMostFiles = std::size_t{1} << 16;

}  // namespace

std::int64_t JobFiles::take(std::uint64_t process, const LiveProcess::Seen& seen) {
  if (seen.opener.file.inode == 0) return 0;
  const predict::Operation& operation = seen.operation;
  if (operation.kind == predict::Kind::kClose) {
    if (const auto held = held_.find({process, seen.opener.fd}); held != held_.end()) leave(held);
    return 0;
  }
  File& file = hold(process, seen);
  if (operation.kind == predict::Kind::kWrite && !file.is_written) {
    file.is_written = true;
    ++figures_.written_files;
    letGo(file);
  }
  if (operation.kind != predict::Kind::kRead || !operation.has_offset) return 0;
  const std::int64_t before = file.ranges.waitingBytes();
  const std::int64_t covered = file.ranges.read(
      {.begin = operation.offset, .end = operation.offset + operation.bytes}, ended_);
  waiting_ += file.ranges.waitingBytes() - before;
  return covered;
}

JobFiles::Files::iterator JobFiles::find(std::uint64_t number) {
  const auto found = by_number_.find(number);
  return found == by_number_.end() ? files_.end() : files_.find(found->second);
}

// The file of an operation. Its descriptor may have been another file's, whose close was missed.
JobFiles::File& JobFiles::hold(std::uint64_t process, const LiveProcess::Seen& seen) {
  const auto [place, is_new] = files_.try_emplace(seen.opener.file);
  File& file = place->second;
  if (is_new) {
    file.number = next_number_++;
    by_number_.emplace(file.number, seen.opener.file);
    // Closes are missed where events come faster than they are read.
    if (files_.size() > kMostFiles) closed(find(by_number_.begin()->first));
  }
  const auto held = held_.find({process, seen.opener.fd});
  const bool is_held = held != held_.end();
  if (is_held && held->second.file == file.number && held->second.open_flags == seen.open_flags) {
    return file;
  }
  count(file, seen.open_flags, 1);
  if (is_held) leave(held);
  held_[{process, seen.opener.fd}] = {
      .file = file.number, .opener = seen.opener, .open_flags = seen.open_flags};
  return file;
}

void JobFiles::leave(HeldBy::iterator held) {
  const auto place = find(held->second.file);
  if (place != files_.end()) {
    count(place->second, held->second.open_flags, -1);
    if (place->second.openers == 0) closed(place);
  }
  held_.erase(held);
}

void JobFiles::count(File& file, unsigned open_flags, int by) {
  file.openers += by;
  if ((open_flags & O_ACCMODE) != O_RDONLY) file.writers += by;
  if ((open_flags & O_DIRECT) != 0) file.direct += by;
}

void JobFiles::closed(Files::iterator place) {
  File& file = place->second;
  letGo(file);
  waiting_ -= file.ranges.waitingBytes();
  file.ranges.finish(ended_);
  figures_.fetched_bytes += file.ranges.fetchedBytes();
  figures_.used_bytes += file.ranges.usedBytes();
  figures_.wasted_bytes += file.ranges.wastedBytes();
  by_number_.erase(file.number);
  files_.erase(place);
}

void JobFiles::gone(std::uint64_t process) {
  auto held = held_.lower_bound({process, std::numeric_limits<int>::min()});
  while (held != held_.end() && held->first.first == process) leave(held++);
}

void JobFiles::wasClosed(int watch) {
  const auto watched = watched_.find(watch);
  if (watched == watched_.end()) return;
  File& file = files_.at(watched->second);
  const bool is_open = std::ranges::any_of(held_, [&file](const auto& entry) {
    return entry.second.file == file.number && entry.second.opener.facts();
  });
  if (!is_open) letGo(file);
}

void JobFiles::letGo(File& file) {
  file.let_go.request_stop();
  file.let_go = {};
  if (file.watch >= 0) {
    inotify_rm_watch(notices_, file.watch);
    watched_.erase(file.watch);
    file.watch = -1;
  }
  file.descriptor.reset();
}

bool JobFiles::mayFetch(const File& file) {
  if (file.is_written || file.has_changed || file.direct > 0) return false;
  if (!file.storage) return true;
  if (file.storage->method() == Storage::Method::kNothing) return false;
  return file.storage->isCoherent() || file.writers == 0;
}

// Whether the file can be fetched from: what is to be known of it is known then, and it is open
// where it has to be.
bool JobFiles::reach(const JobDescriptor& opener, File& file) {
  if (file.descriptor || !file.asked.empty()) return true;
  const auto facts = opener.facts();
  if (!facts) return false;
  file.bytes = facts->st_size;
  auto& [storage, name] = storage_[opener.file.device];
  if (!storage) {
    storage = std::make_shared<Storage>(opener.path(), opener.file.device);
    std::error_code error;
    name = base::mountOf(std::filesystem::read_symlink(opener.path(), error).parent_path());
  }
  file.storage = storage;
  return mayFetch(file) && (storage->isCoherent() || keepOpen(opener, file));
}

bool JobFiles::keepOpen(const JobDescriptor& opener, File& file) {
  auto descriptor = std::make_shared<const base::Descriptor>(opener.open());
  if (!*descriptor) return false;
  if (!file.changed_ns) {
    file.changed_ns = changeTimeOf(descriptor->get());
    file.has_changed = !file.changed_ns || *file.changed_ns >= begin_ns_;
    if (file.has_changed) {
      ++figures_.changed_files;
      return false;
    }
  }
  const std::string own = fmt::format("/proc/self/fd/{}", descriptor->get());
  file.watch = inotify_add_watch(notices_, own.c_str(), IN_CLOSE);
  if (file.watch >= 0) watched_[file.watch] = opener.file;
  file.descriptor = std::move(descriptor);
  // There is no notice of a close before that.
  if (!opener.facts()) letGo(file);
  return file.descriptor != nullptr;
}

bool JobFiles::fetch(const Request& request) {
  const auto found = files_.find(request.opener.file);
  if (found == files_.end()) return true;
  File& file = found->second;
  if (!mayFetch(file)) {
    if (file.descriptor) letGo(file);
    return true;
  }
  ByteRange range = file.ranges.missing(request.range);
  if (range.isEmpty()) return true;
  if (waiting_ + range.bytes() > figures_.budget_bytes) return false;
  // What is sent together has one cause.
  if (!file.asked.empty() && file.asked_cause_ns != request.cause_ns) send(file);
  if (!reach(request.opener, file)) return true;
  // What is expected behind the end of the file is nothing that could be wasted.
  range.end = std::min(range.end, file.bytes);
  if (range.isEmpty()) return true;
  if (file.asked.empty()) asked_.push_back(request.opener.file);
  file.asked.push_back(range);
  file.asked_opener = request.opener;
  file.asked_cause_ns = request.cause_ns;
  file.ranges.add(range, request.owner);
  waiting_ += range.bytes();
  return true;
}

void JobFiles::send(File& file) {
  file.used_ns = nowNs();
  PageFetcher::Request request{.file = file.number,
                               .opener = file.asked_opener,
                               .kept = {},
                               .let_go = file.let_go.get_token(),
                               .storage = file.storage,
                               .ranges = std::exchange(file.asked, {}),
                               .cause_ns = file.asked_cause_ns};
  if (file.descriptor) {
    request.kept =
        PageFetcher::KeptOpen{.descriptor = file.descriptor, .changed_ns = *file.changed_ns};
  }
  const std::vector<ByteRange> ranges = request.ranges;
  // It may have been found since that nothing is to be fetched.
  const bool is_kept = file.descriptor || file.storage->isCoherent();
  if (is_kept && mayFetch(file) && fetcher_.add(std::move(request))) return;
  for (const ByteRange& range : ranges) cancel(file, range);
}

void JobFiles::sendAll() {
  for (const FileKey& key : asked_) {
    const auto found = files_.find(key);
    if (found != files_.end() && !found->second.asked.empty()) send(found->second);
  }
  asked_.clear();
}

void JobFiles::cancel(File& file, ByteRange range) {
  const std::int64_t before = file.ranges.waitingBytes();
  file.ranges.cancel(range.begin);
  waiting_ += file.ranges.waitingBytes() - before;
}

void JobFiles::take(const PageFetcher::Done& done) {
  const auto place = find(done.file);
  if (place == files_.end() || done.came == PageFetcher::Came::kFetched) return;
  File& file = place->second;
  cancel(file, done.range);
  if (done.came != PageFetcher::Came::kHasChanged || file.has_changed) return;
  file.has_changed = true;
  ++figures_.changed_files;
  // What was fetched may be older than what is there now.
  if (file.descriptor) {
    file.ranges.eachWaiting([fd = file.descriptor->get()](ByteRange range) {
      posix_fadvise(fd, range.begin, range.bytes(), POSIX_FADV_DONTNEED);
    });
  }
  letGo(file);
}

void JobFiles::closeUnused(std::int64_t now_ns) {
  for (auto& [key, file] : files_) {
    if (file.descriptor && now_ns - file.used_ns > kKeptOpenNs) letGo(file);
  }
}

void JobFiles::finish() {
  while (!files_.empty()) closed(files_.begin());
  for (const auto& [device, of] : storage_) {
    const std::string why = of.first->reason();
    if (why.empty()) continue;
    figures_.left_alone.push_back(
        fmt::format("nothing was fetched from {}, since {}", base::printable(of.second), why));
  }
}

}  // namespace omnio::prefetch
