#include "predict/calibration/worker.hpp"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <utility>

#include "core/base/integers.hpp"
#include "predict/calibration/access_plan.hpp"

namespace omnio::predict {
namespace {

constexpr std::uint64_t kBlock = 4096;
constexpr std::uint64_t kPiece = std::uint64_t{4} << 20;       // of preparing
constexpr std::uint64_t kSyncEvery = std::uint64_t{64} << 20;  // the same
constexpr std::uint64_t kSyncPiece = std::uint64_t{1} << 20;
constexpr mode_t kMode = 0600;

constexpr const char* kSharedFile = "shared";
constexpr const char* kSharedNew = "shared.new";
constexpr const char* kSharedFolder = "shared.names";
constexpr const char* kSharedEntries = "shared.entries";

// A file whose closing has a result.
class ClosedByHand {
 public:
  explicit ClosedByHand(int fd) : fd_(fd) {}
  ClosedByHand(ClosedByHand&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ClosedByHand& operator=(ClosedByHand&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ClosedByHand(const ClosedByHand&) = delete;
  ClosedByHand& operator=(const ClosedByHand&) = delete;
  ~ClosedByHand() { close(); }

  int get() const { return fd_; }
  int close() { return fd_ < 0 ? 0 : ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

}  // namespace

double residentPercent(int fd, std::uint64_t bytes) {
  constexpr std::uint64_t kWindow = std::uint64_t{1} << 20;
  constexpr std::uint64_t kWindows = 16;
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  std::uint64_t resident = 0;
  std::uint64_t all = 0;
  const std::uint64_t windows = std::min(kWindows, (bytes + kWindow - 1) / kWindow);
  for (std::uint64_t i = 0; i < windows; ++i) {
    const std::uint64_t begin = bytes / windows * i / page * page;
    const std::size_t size = std::min(kWindow, bytes - begin);
    void* const window = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(begin));
    if (window == MAP_FAILED) return -1;
    unsigned char pages[kWindow / kBlock] = {};
    const std::uint64_t count = (size + page - 1) / page;
    const bool is_known = mincore(window, size, pages) == 0;
    munmap(window, size);
    if (!is_known) return -1;
    for (std::uint64_t k = 0; k < count; ++k) resident += pages[k] & 1U;
    all += count;
  }
  constexpr double kPercent = 100;
  return all == 0 ? -1 : kPercent * static_cast<double>(resident) / static_cast<double>(all);
}

Worker::Worker(std::string directory, std::uint32_t number, SharedArea& area, WorkerSlot& slot,
               std::span<AccessRecord> records)
    : directory_(std::move(directory)),
      number_(number),
      area_(area),
      slot_(slot),
      records_(records),
      stamp_(base::mixed(static_cast<std::uint64_t>(getpid()),
                         static_cast<std::uint64_t>(monotonicNs()))),
      memory_(stamp_) {}

void Worker::fail(const std::string& what, int error) {
  slot_.error = error;
  std::snprintf(slot_.what, sizeof slot_.what, "%s", what.c_str());
  area_.failed = 1;
  throw Stopped{};
}

void Worker::meet() {
  if (!area_.meet()) throw Stopped{};
}

void Worker::work() {
  slot_.error = 0;
  slot_.records = 0;
  slot_.writeback_bytes = 0;
  slot_.writeback_ns = 0;
  slot_.resident_percent = -1;
  try {
    carryOut();
    settle();
  } catch (const Stopped&) {
    // Said in the slot, or asked for.
  }
}

void Worker::carryOut() {
  if (order().kind == OrderKind::kPrepare) return prepare();
  switch (order().unit) {
    case UnitKind::kData:
      return measureData();
    case UnitKind::kSync:
      return measureSync();
    case UnitKind::kMetadata:
      return measureMetadata();
  }
}

// No sync of a file writes changed blocks of directories and inodes to their places. The kernel
// does it some 30 s later, when something else is measured.
void Worker::settle() {
  meet();
  if (!isFirst()) return;
  const base::Descriptor opened(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened) syncfs(opened.get());
}

std::string Worker::ownName(const char* kind) const { return fmt::format("{}.{}", kind, number_); }

int Worker::openedFile(const std::string& name, int flags) {
  const int direct = order().cache == CacheState::kDirect ? O_DIRECT : 0;
  const int fd = ::open(pathOf(name).c_str(), flags | direct | O_CLOEXEC, kMode);
  if (fd < 0) fail(fmt::format("cannot open {}", name), errno);
  return fd;
}

base::Descriptor Worker::open(const std::string& name, int flags) {
  return base::Descriptor(openedFile(name, flags));
}

// Storage that finds what it has already gains nothing: each 4 KiB differs from all before.
void Worker::makeNew(char* data, std::uint64_t bytes) {
  for (std::uint64_t at = 0; at < bytes; at += kBlock) {
    const std::uint64_t word = base::mixed(++stamp_);
    std::memcpy(data + at, &word, std::min<std::uint64_t>(sizeof word, bytes - at));
  }
}

// An application mostly has other memory for each access. The same each time would stay in the
// processor's nearest cache.
char* Worker::nextMemory(std::uint64_t bytes) {
  return order().cache == CacheState::kDirect ? memory_.nextPages(bytes) : memory_.nextBlock(bytes);
}

void Worker::writePiece(int fd, std::uint64_t bytes, std::uint64_t offset,
                        const std::string& name) {
  char* const data = memory_.begin();
  makeNew(data, bytes);
  for (std::uint64_t done = 0; done < bytes;) {
    const ssize_t moved = pwrite(fd, data + done, bytes - done, static_cast<off_t>(offset + done));
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) fail(fmt::format("cannot write to {}", name), moved < 0 ? errno : EIO);
    done += static_cast<std::uint64_t>(moved);
  }
}

void Worker::pause() {
  const timespec time = {.tv_sec = 0, .tv_nsec = kCalibratedPauseNs};
  nanosleep(&time, nullptr);
}

// Whether there is room for another one.
bool Worker::record(CellOperation operation, std::int64_t begin, std::int64_t end,
                    std::int64_t offset) {
  records_[slot_.records++] = {
      .operation = operation, .begin_ns = begin, .time_ns = end - begin, .offset = offset};
  return slot_.records < records_.size();
}

// --- Preparing

// One that was not there before. Of those that were, the kernel remembers that they are gone, and
// need not search the directory.
std::string Worker::nextName(const std::string& folder, char kind) {
  return fmt::format("{}/{}{}.{}", folder, kind, number_, names_++);
}

bool Worker::makeEmpty(const std::string& name) const {
  const base::Descriptor file(::open(pathOf(name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, kMode));
  return static_cast<bool>(file);
}

// Names that stay there: in the directory of an application few names would be cheaper to find, to
// add and to remove than many. Slow storage has fewer of them: a half, a quarter and so on, so that
// ext4's blocks of names are as full. All processes of the order come here: where names have no
// room, each takes half of its own away at least, for what is measured. Returns how many this
// process left.
std::uint64_t Worker::fillWithNames(const std::string& folder, std::uint64_t names,
                                    std::int64_t time_ns) {
  const auto name_of = [&](std::uint64_t i) {
    return fmt::format("{}/n{}.{:04}", folder, number_, i);
  };
  meet();
  const std::int64_t deadline_ns = monotonicNs() + time_ns;
  std::uint64_t made = 0;
  while (made < names && area_.has_no_room.load() == 0 && monotonicNs() < deadline_ns) {
    if (area_.isOver()) throw Stopped{};
    if (makeEmpty(name_of(made))) {
      ++made;
    } else {
      area_.has_no_room = 1;
    }
  }
  meet();
  const std::uint64_t most = area_.has_no_room.load() == 0 ? made : made / 2;
  std::uint64_t kept = names;
  while (kept > most) kept /= 2;
  for (; made > kept; --made) unlink(pathOf(name_of(made - 1)).c_str());
  return kept;
}

void Worker::makeEntries(const std::string& folder) {
  if (mkdir(pathOf(folder).c_str(), 0700) != 0) {
    if (errno == EEXIST) return;
    fail(fmt::format("cannot make {}", folder), errno);
  }
  for (int i = 0; i < kEntries; ++i) {
    const std::string name = fmt::format("{}/entry{:03}", folder, i);
    if (!makeEmpty(name)) fail(fmt::format("cannot make {}", name), errno);
  }
}

void Worker::prepare() {
  const auto make_folder = [this](const std::string& name) {
    if (mkdir(pathOf(name).c_str(), 0700) != 0 && errno != EEXIST) {
      fail(fmt::format("cannot make {}", name), errno);
    }
  };
  const auto sync = [this](const base::Descriptor& file, const std::string& name) {
    if (fdatasync(file.get()) != 0) fail(fmt::format("cannot sync {}", name), errno);
  };
  // Writes pieces until the time is over. Returns the first byte that this process did not write.
  const auto fill = [&](const std::string& name, std::uint64_t bytes, std::uint64_t first,
                        std::uint64_t step, std::int64_t deadline_ns) {
    const base::Descriptor file = open(name, O_RDWR | O_CREAT);
    std::uint64_t dirty = 0;
    std::uint64_t at = first * kPiece;
    for (; at < bytes; at += step * kPiece) {
      if (area_.isOver()) throw Stopped{};
      if (monotonicNs() > deadline_ns) break;
      const std::uint64_t piece = std::min(kPiece, bytes - at);
      writePiece(file.get(), piece, at, name);
      dirty += piece;
      if (dirty < std::max(kPiece, kSyncEvery / order().key.processes)) continue;
      sync(file, name);
      dirty = 0;
    }
    sync(file, name);
    return std::min(at, bytes);
  };
  const std::uint32_t processes = order().key.processes;
  open(ownName("new"), O_RDWR | O_CREAT);
  make_folder(ownName("names"));
  makeEntries(ownName("entries"));
  slot_.own_bytes = order().own_file_bytes;
  if (processes > 1) {
    const std::int64_t now = monotonicNs();
    slot_.own_bytes =
        fill(ownName("own"), order().own_file_bytes, 0, 1, now + (order().deadline_ns - now) / 2);
    if (isFirst()) {
      open(kSharedNew, O_RDWR | O_CREAT);
      make_folder(kSharedFolder);
      makeEntries(kSharedEntries);
    }
  }
  slot_.shared_end =
      fill(kSharedFile, order().shared_file_bytes, number_, processes, order().deadline_ns);
  slot_.names = fillWithNames(ownName("names"), order().names, order().names_ns);
  if (processes > 1) {
    // More processes add more names at once.
    const std::uint64_t names = order().names * std::bit_ceil((processes + 1) / 2);
    fillWithNames(kSharedFolder, (names + processes - 1) / processes, order().names_ns);
  }
  meet();
}

// --- Reads and writes

void Worker::prepareCache(int fd, const CellKey& key, std::uint64_t bytes) {
  // In a shared file, one process does it.
  if (order().cache == CacheState::kDirect || (isOf(FileSharing::kShared) && !isFirst())) return;
  if (order().cache == CacheState::kCold) {
    fdatasync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  }
  if (key.operation != CellOperation::kRead) return;
  slot_.resident_percent = residentPercent(fd, bytes);
  constexpr double kEnough = 99;
  if (order().cache == CacheState::kCold || slot_.resident_percent < 0 ||
      slot_.resident_percent >= kEnough || is_kept_out_) {
    return;
  }
  for (std::uint64_t at = 0; at < bytes && !area_.isOver(); at += kPiece) {
    if (pread(fd, memory_.begin(), kPiece, static_cast<off_t>(at)) <= 0) break;
  }
  slot_.resident_percent = residentPercent(fd, bytes);
  // Without the memory to keep the file, reading it again before each batch would not help.
  is_kept_out_ = slot_.resident_percent < kEnough;
}

void Worker::measureData() {
  const CellKey key = order().key;
  const bool is_shared = key.sharing == FileSharing::kShared;
  const bool is_write = key.operation == CellOperation::kWrite;
  const bool is_large = is_shared || (key.processes == 1 && !key.extends);
  const std::string name = key.extends ? (is_shared ? kSharedNew : ownName("new"))
                           : is_large  ? std::string(kSharedFile)
                                       : ownName("own");
  const std::uint64_t file_bytes = is_large ? order().shared_file_bytes : order().own_file_bytes;
  // Writes that extend a file have as many reads behind them.
  std::uint64_t accesses = std::min<std::uint64_t>(order().accesses, records_.size() / 2);
  if (is_write && order().most_bytes > 0) {
    accesses = std::min(accesses, std::max<std::uint64_t>(1, order().most_bytes / key.bytes));
  }
  std::vector<std::int64_t> offsets = accessOffsets({.key = key,
                                                     .process = number_,
                                                     .file_bytes = file_bytes,
                                                     .accesses = accesses,
                                                     .seed = order().seed});
  base::Descriptor file = open(name, O_RDWR);
  prepareCache(file.get(), key, file_bytes);
  // Dropping the pages moves no position, but the file that is measured is a newly opened one:
  // reading ahead begins anew.
  file = open(name, O_RDWR);
  const bool is_read_back = key.extends && !key.is_paused;
  const std::int64_t limit_ns = is_read_back ? order().limit_ns / 2 : order().limit_ns;
  const std::size_t made = accessAll(file.get(), key.operation, offsets, limit_ns, name);
  if (!is_write) return;
  // Each file once, by one process.
  const bool is_mine = !is_shared || isFirst();
  if (key.extends) {
    if (is_read_back) {
      offsets.resize(made);
      accessAll(file.get(), CellOperation::kRead, offsets, limit_ns, name);
    }
    // Bytes that the file has lost need no writing back.
    if (is_mine && ftruncate(file.get(), 0) != 0)
      fail(fmt::format("cannot truncate {}", name), errno);
  } else if (is_mine && order().cache != CacheState::kDirect) {
    writeBack(file.get(), made * key.bytes * (is_shared ? key.processes : 1), name);
  }
}

std::size_t Worker::accessAll(int fd, CellOperation operation,
                              const std::vector<std::int64_t>& offsets, std::int64_t limit_ns,
                              const std::string& name) {
  const CellKey& key = order().key;
  const bool is_write = operation == CellOperation::kWrite;
  meet();
  if (isFirst()) area_.finished = 0;
  meet();
  std::size_t made = 0;
  const std::int64_t first = monotonicNs();
  for (const std::int64_t offset : offsets) {
    if (area_.isOver()) throw Stopped{};
    if (key.is_paused) pause();
    char* const buffer = nextMemory(key.bytes);
    if (is_write) makeNew(buffer, key.bytes);
    const std::int64_t begin = monotonicNs();
    if (made > 0 && begin - first > limit_ns) break;
    ssize_t moved =
        is_write ? pwrite(fd, buffer, key.bytes, offset) : pread(fd, buffer, key.bytes, offset);
    const std::int64_t end = monotonicNs();
    if (is_write && moved >= 0 && moved < static_cast<ssize_t>(key.bytes)) {
      // The kernel says only of the rest why it was not written.
      const auto done = static_cast<std::size_t>(moved);
      const ssize_t rest = pwrite(fd, buffer + done, key.bytes - done, offset + moved);
      if (rest < 0) moved = -1;
    }
    if (moved != static_cast<ssize_t>(key.bytes)) {
      fail(fmt::format("cannot {} {} bytes at offset {} of {}", nameOf(operation), key.bytes,
                       offset, name),
           moved < 0 ? errno : EIO);
    }
    ++made;
    if (!record(operation, begin, end, offset)) break;
  }
  // The others shall not find the target less busy because this process is done.
  area_.finished.fetch_add(1);
  accessMore(fd, operation, offsets);
  meet();
  return made;
}

void Worker::accessMore(int fd, CellOperation operation, const std::vector<std::int64_t>& offsets) {
  const CellKey& key = order().key;
  const bool is_write = operation == CellOperation::kWrite;
  for (std::size_t i = 0; area_.finished.load() < key.processes && !area_.isOver(); ++i) {
    const std::int64_t offset = offsets[i % offsets.size()];
    char* const buffer = nextMemory(key.bytes);
    const ssize_t moved =
        is_write ? pwrite(fd, buffer, key.bytes, offset) : pread(fd, buffer, key.bytes, offset);
    if (moved < 0) return;  // said by the processes that are measured
  }
}

void Worker::writeBack(int fd, std::uint64_t bytes, const std::string& name) {
  const std::int64_t begin = monotonicNs();
  if (fdatasync(fd) != 0) fail(fmt::format("cannot sync {}", name), errno);
  slot_.writeback_ns += monotonicNs() - begin;
  slot_.writeback_bytes += bytes;
}

// --- Sync

void Worker::measureSync() {
  const std::uint64_t bytes = order().key.bytes;
  const bool is_shared = isOf(FileSharing::kShared);
  const std::string name = is_shared ? kSharedNew : ownName("new");
  const std::uint64_t file_bytes = is_shared ? order().shared_file_bytes : order().own_file_bytes;
  const std::uint64_t parts = is_shared ? order().key.processes : 1;
  const std::uint64_t process = is_shared ? number_ : 0;
  const bool is_new = order().key.is_new;
  std::uint64_t turn = 0;  // of writing behind what was written, or of making a file
  std::vector<std::string> made;
  // Ranks that have a file each mostly have them in one directory.
  const std::string folder = order().key.processes > 1 ? kSharedFolder : ownName("names");
  ClosedByHand file(openedFile(name, O_RDWR));
  const auto write = [&] {
    if (is_new) {
      made.push_back(nextName(folder, 's'));
      file = ClosedByHand(openedFile(made.back(), O_RDWR | O_CREAT | O_EXCL));
    }
    const std::uint64_t begin = is_new ? 0 : (turn * parts + process) * bytes;
    ++turn;
    for (std::uint64_t at = 0; at < bytes; at += kSyncPiece) {
      writePiece(file.get(), std::min(kSyncPiece, bytes - at), begin + at,
                 is_new ? made.back() : name);
    }
  };
  // ext4 takes what is written after a cut to length 0 for a file that is made anew under its old
  // name, and begins to write it to storage at the next close. Few files of applications are cut.
  const auto forget_cut = [&] { ClosedByHand(openedFile(name, O_RDWR)).close(); };
  // The next sync shall not find that it has to write this too.
  const auto empty = [&] {
    for (const std::string& one : made) {
      if (unlink(pathOf(one).c_str()) != 0) fail(fmt::format("cannot unlink {}", one), errno);
    }
    if (!is_new && ftruncate(file.get(), 0) != 0) {
      fail(fmt::format("cannot truncate {}", name), errno);
    }
    made.clear();
    turn = 0;
    if (!is_new && fsync(file.get()) != 0) fail(fmt::format("cannot sync {}", name), errno);
    if (!is_new) forget_cut();
    // Some file systems cannot sync a directory, and need not.
    if (is_new) {
      const base::Descriptor opened(
          ::open(pathOf(folder).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (opened) fsync(opened.get());
    }
  };
  const auto make_room = [&] {
    const bool fits = bytes == 0 || (turn + 1) * parts * bytes <= file_bytes;
    // Those that share a file cannot make it empty while others write.
    if (fits || is_shared) return fits;
    empty();
    return true;
  };
  // Again and again the same, for a part of the time: storage that lets some syncs pass at once,
  // and holds up the next ones, has a mean only over many in a row. Processes begin each of them
  // together, as the ranks of an application do behind a barrier: some come first then, and others
  // wait for these.
  const auto measure = [&](CellOperation operation, std::int64_t limit_ns) {
    meet();
    if (isFirst()) {
      const bool is_empty = !is_shared || (ftruncate(file.get(), 0) == 0 && fsync(file.get()) == 0);
      if (!is_empty) fail(fmt::format("cannot truncate {}", name), errno);
      forget_cut();
      area_.turns = order().accesses;
    }
    if (is_shared) turn = 0;
    const std::int64_t first = monotonicNs();
    for (std::uint64_t i = 0;; ++i) {
      meet();
      if (i >= area_.turns.load() || !make_room()) break;
      write();
      meet();
      const std::int64_t begin = monotonicNs();
      int result = 0;
      if (operation == CellOperation::kFsync) {
        result = fsync(file.get());
      } else if (operation == CellOperation::kFdatasync) {
        result = fdatasync(file.get());
      } else {
        result = file.close();
      }
      const std::int64_t end = monotonicNs();
      if (result != 0) fail(fmt::format("cannot sync {}", name), errno);
      const bool has_space = record(operation, begin, end);
      if (operation == CellOperation::kClose) {
        file = ClosedByHand(openedFile(name, O_RDWR));
        // Else the next one would have more to do than was written for it.
        if (fdatasync(file.get()) != 0) fail(fmt::format("cannot sync {}", name), errno);
      }
      // All end with the turn that is the last of one.
      if (!has_space || monotonicNs() - first > limit_ns) area_.turns = i + 1;
    }
  };
  // The batch before left something to sync: the file that it made empty.
  if (fsync(file.get()) != 0) fail(fmt::format("cannot sync {}", name), errno);
  forget_cut();
  meet();
  if (is_new) {
    measure(CellOperation::kFsync, order().limit_ns);
    meet();
    return empty();
  }
  constexpr std::int64_t kParts = 8;  // of the time, one for closes
  std::int64_t syncs_ns = order().limit_ns;
  if (bytes > 0) {
    measure(CellOperation::kClose, order().limit_ns / kParts);
    syncs_ns -= order().limit_ns / kParts;
  }
  // The other one begins each time.
  const bool is_data_first = order().seed % 2 == 1;
  measure(is_data_first ? CellOperation::kFdatasync : CellOperation::kFsync, syncs_ns / 2);
  measure(is_data_first ? CellOperation::kFsync : CellOperation::kFdatasync, syncs_ns / 2);
  meet();
  if (!is_shared || isFirst()) empty();
}

// --- Metadata

// Each operation once after each pause, as in an application's step.
void Worker::measurePaused() {
  const std::size_t operations = cellsOf({.kind = UnitKind::kMetadata, .key = order().key}).size();
  const std::uint64_t most =
      std::clamp<std::uint64_t>(order().accesses, 1, records_.size() / operations);
  const std::string folder = ownName("names");
  const std::int64_t first = monotonicNs();
  for (std::uint64_t i = 0; i < most; ++i) {
    if (area_.isOver()) throw Stopped{};
    if (i > 0 && monotonicNs() - first > order().limit_ns) break;
    const std::string file = pathOf(nextName(folder, 'f'));
    const std::string renamed = pathOf(nextName(folder, 'r'));
    pause();
    timeClose(file, timeOpen(CellOperation::kCreate, file));
    timeStat(file);
    timeRename(file, renamed);
    pause();
    timeCut(renamed, base::Descriptor(timeOpen(CellOperation::kOpen, renamed)));
    timeUnlink(renamed);
  }
}

template <typename Call>
void Worker::timed(CellOperation operation, const std::string& path, Call call) {
  const std::int64_t begin = monotonicNs();
  const int result = call();
  const std::int64_t end = monotonicNs();
  if (result < 0) {
    fail(fmt::format("cannot {} {}", nameOf(operation), path.substr(directory_.size() + 1)), errno);
  }
  record(operation, begin, end);
}

int Worker::timeOpen(CellOperation operation, const std::string& path) {
  const int flags = operation == CellOperation::kCreate ? O_CREAT | O_EXCL : 0;
  int fd = -1;
  timed(operation, path,
        [&] { return fd = ::open(path.c_str(), flags | O_RDWR | O_CLOEXEC, kMode); });
  return fd;
}

void Worker::timeClose(const std::string& path, int fd) {
  timed(CellOperation::kClose, path, [fd] { return ::close(fd); });
}

void Worker::timeStat(const std::string& path) {
  timed(CellOperation::kStat, path, [&path] {
    struct stat status {};
    return stat(path.c_str(), &status);
  });
}

void Worker::timeRename(const std::string& from, const std::string& to) {
  timed(CellOperation::kRename, from, [&] { return rename(from.c_str(), to.c_str()); });
}

// From two blocks to one.
void Worker::timeCut(const std::string& path, const base::Descriptor& file) {
  writePiece(file.get(), 2 * kBlock, 0, path.substr(directory_.size() + 1));
  timed(CellOperation::kFtruncate, path,
        [&file] { return ftruncate(file.get(), static_cast<off_t>(kBlock)); });
}

void Worker::timeUnlink(const std::string& path) {
  timed(CellOperation::kUnlink, path, [&path] { return unlink(path.c_str()); });
}

void Worker::measureMetadata() {
  if (order().key.is_paused) return measurePaused();
  const bool is_shared = isOf(FileSharing::kShared);
  const std::string folder = is_shared ? kSharedFolder : ownName("names");
  const std::string entries = pathOf(is_shared ? kSharedEntries : ownName("entries"));
  constexpr std::uint64_t kStages = 11;
  const std::uint64_t most =
      std::clamp<std::uint64_t>(order().accesses, 1, records_.size() / kStages);
  std::vector<std::string> folders;
  std::vector<std::string> files;
  std::vector<std::string> renamed;
  for (std::uint64_t i = 0; i < most; ++i) {
    folders.push_back(pathOf(nextName(folder, 'd')));
    files.push_back(pathOf(nextName(folder, 'f')));
    renamed.push_back(pathOf(nextName(folder, 'r')));
  }
  std::uint64_t count = 0;
  const auto each = [&](auto body) {
    meet();
    for (std::uint64_t i = 0; i < count; ++i) {
      if (area_.isOver()) throw Stopped{};
      body(i);
    }
  };
  meet();
  // The first stage finds how many there is time for.
  const std::int64_t first = monotonicNs();
  while (count < most) {
    if (area_.isOver()) throw Stopped{};
    timed(CellOperation::kMkdir, folders[count],
          [&] { return mkdir(folders[count].c_str(), 0700); });
    ++count;
    if (monotonicNs() - first > order().limit_ns / static_cast<std::int64_t>(kStages)) break;
  }
  for (const CellOperation operation : {CellOperation::kCreate, CellOperation::kOpen}) {
    each([&](std::uint64_t i) { timeClose(files[i], timeOpen(operation, files[i])); });
  }
  each([&](std::uint64_t i) { timeStat(files[i]); });
  each([&](std::uint64_t i) {
    const base::Descriptor file(::open(files[i].c_str(), O_RDWR | O_CLOEXEC));
    if (!file) fail(fmt::format("cannot open {}", files[i]), errno);
    timeCut(files[i], file);
  });
  each([&](std::uint64_t) {
    timed(CellOperation::kReaddir, entries, [&] {
      DIR* const listing = opendir(entries.c_str());
      if (listing == nullptr) return -1;
      while (readdir(listing) != nullptr) {
      }
      return closedir(listing);
    });
  });
  each([&](std::uint64_t i) { timeRename(files[i], renamed[i]); });
  each([&](std::uint64_t i) { timeUnlink(renamed[i]); });
  each([&](std::uint64_t i) {
    timed(CellOperation::kRmdir, folders[i], [&] { return rmdir(folders[i].c_str()); });
  });
  meet();
}

}  // namespace omnio::predict
