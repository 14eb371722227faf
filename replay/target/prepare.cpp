#include "replay/target/prepare.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/integers.hpp"
#include "core/base/printable.hpp"
#include "replay/issue/libc.hpp"
#include "replay/target/sources.hpp"

namespace omnio::replay {
namespace {

constexpr std::size_t kBlock = 4096;  // what storage deduplicates by, at the finest

}  // namespace

void fillContent(std::uint64_t file, std::uint64_t offset, std::span<char> out) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  const std::uint64_t seed = base::finalMix((file + 1) * base::kGoldenStep);
  std::size_t done = 0;
  while (done < out.size()) {
    const std::uint64_t place = offset + done;
    const std::uint64_t word = base::finalMix(seed + (place / kWord + 1) * base::kGoldenStep);
    const std::size_t skip = place % kWord;
    const std::size_t bytes = std::min(kWord - skip, out.size() - done);
    std::memcpy(out.data() + done, reinterpret_cast<const char*>(&word) + skip, bytes);
    done += bytes;
  }
}

void stampBlocks(std::uint64_t stamp, std::span<char> buffer, std::uint64_t first) {
  std::uint64_t word = base::finalMix(stamp) + first * base::kGoldenStep;
  constexpr std::uint64_t kNoControl = 0x2020202020202020;  // neither NUL nor newline
  for (std::size_t at = 0; at < buffer.size(); at += kBlock, word += base::kGoldenStep) {
    const std::uint64_t text = word | kNoControl;
    std::memcpy(buffer.data() + at, &text, std::min(sizeof text, buffer.size() - at));
  }
}

namespace {

// A piece of a file that one process makes at a time.
constexpr std::uint64_t kPieceBytes = std::uint64_t{64} << 20;
constexpr std::size_t kBufferBytes = 1 << 20;
// Whether a file could be run is not recorded, and asked for (access) by what looks for programs.
constexpr unsigned kFileMode = 0755;

// Closes a descriptor that it may have.
class OwnFd {
 public:
  explicit OwnFd(int fd) : fd_(fd) {}
  OwnFd(const OwnFd&) = delete;
  OwnFd& operator=(const OwnFd&) = delete;
  ~OwnFd() {
    if (fd_ >= 0) raw::closeFd(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

base::Failure cannotMake(const std::string& location, int error) {
  return {base::Code::kSystem,
          fmt::format("cannot make {} in the tree: {}{}", base::printable(location),
                      std::generic_category().message(error), remedyFor(error))};
}

std::string parentOf(const std::string& location) {
  const std::size_t slash = location.rfind('/');
  return slash == std::string::npos ? std::string() : location.substr(0, slash);
}

// The directory, or the nearest one above it of which no event makes any part: what events make
// must not be there before. "" is the tree.
std::string partNotMadeLater(const std::unordered_set<std::string_view>& made,
                             const std::string& location) {
  const std::string_view whole = location;
  for (std::size_t begin = 0;;) {
    const std::size_t end = whole.find('/', begin);
    if (made.contains(whole.substr(0, end))) return location.substr(0, begin == 0 ? 0 : begin - 1);
    if (end == std::string::npos) return location;
    begin = end + 1;
  }
}

// The first that ends behind there.
auto firstHoleBehind(const PlannedFile& file, std::uint64_t begin) {
  return std::ranges::upper_bound(file.holes, begin, {}, &model::Hole::end);
}

// The parts of [begin, end) that are no holes of the file: use(begin, end), until one returns an
// error.
template <typename Use>
int eachDataPart(const PlannedFile& file, std::uint64_t begin, std::uint64_t end, Use use) {
  for (auto hole = firstHoleBehind(file, begin); hole != file.holes.end(); ++hole) {
    if (hole->begin >= std::min(end, file.size)) break;
    if (hole->begin > begin) {
      if (const int error = use(begin, hole->begin)) return error;
    }
    begin = std::min(end, std::min(file.size, hole->end));
  }
  return begin < end ? use(begin, end) : 0;
}

std::uint64_t dataBytes(const PlannedFile& file, std::uint64_t begin, std::uint64_t end) {
  std::uint64_t sum = 0;
  eachDataPart(file, begin, end, [&](std::uint64_t from, std::uint64_t to) {
    sum += to - from;
    return 0;
  });
  return sum;
}

class Maker {
 public:
  Maker(const Trees& trees, Cache cache, const Content& content)
      : trees_(trees), cache_(cache), content_(content), buffer_(kBufferBytes) {}

  // The piece of a file of so many bytes; `is_kept`: it is there. 0 or errno.
  int makePiece(const PlannedFile& file, std::uint64_t number, std::uint64_t begin,
                std::uint64_t end, std::uint64_t size, bool is_kept) {
    const int flags = is_kept ? O_RDONLY : O_RDWR | O_CREAT;
    const int fd = trees_.of(file).openFile(file.location, flags, kFileMode);
    if (fd < 0) return errno;
    const int error = is_kept ? 0 : fillPiece(file, number, begin, end, size, fd);
    const int settled = error == 0 ? settlePiece(file, begin, end, fd) : error;
    raw::closeFd(fd);
    return settled;
  }

 private:
  int fillPiece(const PlannedFile& file, std::uint64_t number, std::uint64_t begin,
                std::uint64_t end, std::uint64_t size, int fd) {
    const OwnFd source(file.origin == Origin::kCopied ? openSource(file.source) : -1);
    int error = file.origin == Origin::kCopied && source.get() < 0 ? errno : 0;
    if (error == 0) {
      error = eachDataPart(file, begin, end, [&](std::uint64_t from, std::uint64_t to) {
        return fill(file, number, from, to, source.get(), fd);
      });
    }
    // Others may have made what lies further ahead, but nothing behind the end.
    if (error == 0 && end == size && !file.holes.empty() && raw::setLength(fd, size) != 0) {
      error = errno;
    }
    return error;
  }

  // Brings the cache into the state that is wanted.
  int settlePiece(const PlannedFile& file, std::uint64_t begin, std::uint64_t end, int fd) {
    int error = 0;
    if (cache_ == Cache::kCold) {
      if (raw::syncData(fd) != 0) error = errno;
      raw::adviseDontNeed(fd);
    }
    if (cache_ == Cache::kWarm) {
      error = eachDataPart(file, begin, end, [&](std::uint64_t from, std::uint64_t to) {
        return readBack(from, to, fd);
      });
    }
    return error;
  }

  // The part of the piece that goes through the buffer next.
  std::span<char> next(std::uint64_t begin, std::uint64_t end) {
    return std::span(buffer_).first(std::min<std::uint64_t>(buffer_.size(), end - begin));
  }

  // `source`: what the content is copied from, as far as the file had been recorded; -1: nothing.
  int fill(const PlannedFile& file, std::uint64_t number, std::uint64_t begin, std::uint64_t end,
           int source, int fd) {
    for (; begin < end; begin += next(begin, end).size()) {
      const std::span<char> content = next(begin, end);
      const std::uint64_t copied = source >= 0 && begin < file.size
                                       ? std::min<std::uint64_t>(content.size(), file.size - begin)
                                       : 0;
      if (copied > 0) {
        const std::int64_t got = raw::readWholeAt(source, content.data(), copied, begin);
        if (got < 0) return errno;
        if (static_cast<std::uint64_t>(got) < copied) return ENODATA;  // it was cut meanwhile
      }
      content_.fill(number, begin + copied, content.subspan(copied));
      if (copied == 0 && file.lines) setLineEnds(file, begin, content);
      if (!raw::writeWholeAt(fd, content.data(), content.size(), begin)) return errno;
    }
    return 0;
  }

  int readBack(std::uint64_t begin, std::uint64_t end, int fd) {
    for (std::int64_t got = 1; begin < end && got > 0; begin += static_cast<std::uint64_t>(got)) {
      const std::span<char> content = next(begin, end);
      got = raw::readWholeAt(fd, content.data(), content.size(), begin);
      if (got < 0) return errno;
    }
    return 0;
  }

  const Trees& trees_;
  const Cache cache_;
  const Content& content_;
  std::vector<char> buffer_;
};

}  // namespace

base::Result<Places> placesOf(const Plan& plan, const std::vector<int>& node_of_rank) {
  Places places(plan.files.size(), kInTarget);
  for (std::size_t i = 0; i < plan.files.size(); ++i) {
    const PlannedFile& file = plan.files[i];
    if (!isTreeOfNode(file.tree)) continue;
    for (const std::uint32_t rank : file.users) {
      const int node = node_of_rank[rank];
      if (places[i] == kInTarget) places[i] = node;
      if (places[i] == node) continue;
      return base::failure(
          base::Code::kInvalid,
          "{} was {} one node, and is used by the ranks {} and {}, which this "
          "replay has on two; place ranks as they were (--place recorded), or {}",
          base::printable(file.location), file.tree == kMemoryTree ? "in the memory of" : "on",
          file.users.front(), rank,
          file.tree == kMemoryTree ? "--map it to a target" : "replay without --node-local");
    }
    // No rank uses it, so that it is made on no node.
    if (places[i] == kInTarget) places[i] = INT_MAX;
  }
  return places;
}

std::optional<std::uint64_t> wantedSize(const Plan& plan, const PlannedFile& file) {
  if (file.role == model::FileRole::kDirectory || file.role == model::FileRole::kAbsent ||
      file.origin == Origin::kInPlace) {
    return {};
  }
  if (file.exists) {
    const bool grows = plan.global.write_overwrite && file.role != model::FileRole::kInput;
    return grows ? std::max(file.size, file.written_end) : file.size;
  }
  if (plan.global.write_overwrite && !file.made_by_events && file.written_end > 0) {
    return file.written_end;
  }
  return {};
}

RoomNeeded roomNeeded(const Plan& plan, const std::function<bool(std::size_t file)>& is_there) {
  RoomNeeded needed;
  const auto add = [](std::uint64_t& sum, std::uint64_t bytes) {
    if (__builtin_add_overflow(sum, bytes, &sum)) sum = UINT64_MAX;
  };
  for (std::size_t i = 0; i < plan.files.size(); ++i) {
    if (!is_there(i)) continue;
    const PlannedFile& file = plan.files[i];
    const std::uint64_t prepared = dataBytes(file, 0, wantedSize(plan, file).value_or(0));
    add(needed.prepared, prepared);
    if (!file.may_shrink) add(needed.at_end, prepared);
    add(needed.at_end, file.added_bytes);
  }
  return needed;
}

std::uint64_t bytesBelow(const std::filesystem::path& directory) {
  namespace fs = std::filesystem;
  constexpr std::uint64_t kStatBlock = 512;  // stat(2)
  std::uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    struct stat facts {};
    const long status = raw::systemCall(SYS_newfstatat, AT_FDCWD, entry->path().c_str(), &facts,
                                        AT_SYMLINK_NOFOLLOW);
    if (status == 0) bytes += static_cast<std::uint64_t>(facts.st_blocks) * kStatBlock;
  }
  return bytes;
}

std::optional<std::uint64_t> freeBytes(const std::filesystem::path& directory) {
  std::filesystem::path there = directory;
  struct statfs facts {};
  while (raw::systemCall(SYS_statfs, there.c_str(), &facts) != 0) {
    if (errno != ENOENT || !there.has_relative_path()) return {};  // making the tree will tell
    there = there.parent_path();
  }
  // A file system that does not tell its size has 0 blocks.
  if (facts.f_blocks == 0) return {};
  const bool takes_reserve = raw::systemCall(SYS_geteuid) == 0;
  const auto blocks = static_cast<std::uint64_t>(takes_reserve ? facts.f_bfree : facts.f_bavail);
  return blocks * static_cast<std::uint64_t>(facts.f_bsize);
}

base::Result<void> checkRoom(const RoomNeeded& needed, const std::filesystem::path& directory,
                             const std::vector<std::filesystem::path>& removed,
                             const std::string& name) {
  const std::optional<std::uint64_t> found = freeBytes(directory);
  if (!found) return {};
  std::uint64_t free = *found;
  if (needed.bytes() <= free) return {};
  for (const std::filesystem::path& tree : removed) free += bytesBelow(tree);
  if (needed.bytes() <= free) return {};
  return base::failure(base::Code::kSystem,
                       "{}: too little room: {} bytes are needed ({} of them for files that are "
                       "prepared), and {} are free; --ignore-free-space goes on anyway",
                       name.empty() ? base::printable(directory.native()) : name, needed.bytes(),
                       needed.prepared, free);
}

base::Result<void> prepareDirectories(const Plan& plan, const Trees& trees, const Places& places,
                                      int place) {
  std::map<std::uint32_t, std::unordered_set<std::string_view>> made;  // by events; by tree
  for (const PlannedFile& file : plan.files) {
    if (file.made_by_events && !file.exists) made[file.tree].insert(file.location);
  }
  std::set<std::pair<std::uint32_t, std::string>> done;
  const auto make = [&](std::uint32_t tree, const std::string& location) {
    const bool is_new = !location.empty() && done.emplace(tree, location).second;
    return is_new ? trees[tree].makeDirectories(location) : 0;
  };
  // Files that were there come first, whatever events make below or above them.
  for (std::size_t i = 0; i < plan.files.size(); ++i) {
    const PlannedFile& file = plan.files[i];
    if (!file.exists || places[i] != place) continue;
    const bool is_directory = file.role == model::FileRole::kDirectory;
    if (const int error = make(file.tree, is_directory ? file.location : parentOf(file.location))) {
      return cannotMake(file.location, error);
    }
  }
  for (std::size_t i = 0; i < plan.files.size(); ++i) {
    const PlannedFile& file = plan.files[i];
    if (places[i] != place || file.exists || file.role == model::FileRole::kAbsent) continue;
    const std::string parent = partNotMadeLater(made[file.tree], parentOf(file.location));
    if (const int error = make(file.tree, parent)) return cannotMake(parent, error);
  }
  return {};
}

namespace {

// Adds the pages of a piece of a file: all of a small one, windows of a large one.
void addResidency(int fd, std::uint64_t begin, std::uint64_t size, Residency& sum) {
  constexpr std::uint64_t kWindow = 1 << 20;
  constexpr std::uint64_t kWindows = 16;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages(kWindow / page);
  const std::uint64_t windows = std::min(kWindows, (size + kWindow - 1) / kWindow);
  for (std::uint64_t i = 0; i < windows; ++i) {
    const std::uint64_t at = size / windows * i / kWindow * kWindow;
    const auto bytes = static_cast<std::size_t>(std::min(kWindow, size - at));
    // The tracer would keep the descriptor that it sees mapped, and take it for the file when MPI
    // has a socket of that number.
    const long memory =
        raw::systemCall(SYS_mmap, nullptr, bytes, PROT_READ, MAP_SHARED, fd, begin + at);
    if (memory == -1) return;
    if (raw::systemCall(SYS_mincore, memory, bytes, pages.data()) == 0) {
      const std::size_t count = (bytes + page - 1) / page;
      sum.pages += count;
      for (std::size_t k = 0; k < count; ++k) sum.resident += pages[k] & 1U;
    }
    raw::systemCall(SYS_munmap, memory, bytes);
  }
}

struct Piece {
  std::size_t file = 0;  // its number
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t size = 0;  // of the file
};

// The pieces that are this process's share: use(piece), until one says no. Those without data are
// left out, but for the first and the last piece of each file.
template <typename Use>
void eachPiece(const Plan& plan, const Places& places, Share share, Use use) {
  std::uint64_t before_in_targets = 0;  // pieces of the files before
  std::uint64_t before_on_node = 0;
  for (std::size_t number = 0; number < plan.files.size(); ++number) {
    const bool is_apart = places[number] != kInTarget;
    if (is_apart && places[number] != share.node) continue;
    const auto process = static_cast<std::uint64_t>(is_apart ? share.node_process : share.process);
    const auto processes =
        static_cast<std::uint64_t>(is_apart ? share.node_processes : share.processes);
    std::uint64_t& before = is_apart ? before_on_node : before_in_targets;
    const PlannedFile& file = plan.files[number];
    const std::optional<std::uint64_t> size = wantedSize(plan, file);
    if (!size) continue;
    const std::uint64_t last = *size == 0 ? 0 : (*size - 1) / kPieceBytes;
    for (std::uint64_t i = 0; i <= last; ++i) {
      if (i > 0 && i < last) {
        const auto hole = firstHoleBehind(file, i * kPieceBytes);
        if (hole != file.holes.end() && hole->begin <= i * kPieceBytes) {
          i = std::clamp(std::min(hole->end, file.size) / kPieceBytes, i, last);
        }
      }
      if ((before + i) % processes != process) continue;
      const std::uint64_t begin = i * kPieceBytes;
      if (!use(Piece{number, begin, std::min(*size, begin + kPieceBytes), *size})) return;
    }
    before += last + 1;
  }
}

}  // namespace

Residency sampleCache(const Plan& plan, const Trees& trees, const Places& places, Share share) {
  constexpr int kMostPieces = 64;
  Residency sum;
  int pieces = 0;
  eachPiece(plan, places, share, [&](const Piece& piece) {
    const PlannedFile& file = plan.files[piece.file];
    if (dataBytes(file, piece.begin, piece.end) == 0) return true;
    const int fd = trees.of(file).openFile(file.location, O_RDONLY);
    if (fd < 0) return true;
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    eachDataPart(file, piece.begin, piece.end, [&](std::uint64_t from, std::uint64_t to) {
      from = (from + page - 1) / page * page;
      if (from < to) addResidency(fd, from, to - from, sum);
      return 0;
    });
    raw::closeFd(fd);
    return ++pieces < kMostPieces;
  });
  return sum;
}

base::Result<PreparedByTree> prepareFiles(const Plan& plan, const Trees& trees,
                                          const Places& places, Share share, Cache cache,
                                          const Content& content,
                                          const std::vector<bool>& is_kept) {
  PreparedByTree prepared;
  Maker maker(trees, cache, content);
  std::optional<base::Failure> failed;
  eachPiece(plan, places, share, [&](const Piece& piece) {
    const PlannedFile& file = plan.files[piece.file];
    const std::uint64_t bytes = dataBytes(file, piece.begin, piece.end);
    const bool is_there = piece.file < is_kept.size() && is_kept[piece.file];
    const int error =
        maker.makePiece(file, piece.file, piece.begin, piece.end, piece.size, is_there);
    if (error != 0) {
      failed = cannotMake(file.location, error);
      if (file.origin == Origin::kCopied) {
        failed->sentence += fmt::format(" (a copy of {})", base::printable(file.source));
      }
      return false;
    }
    if (is_there) return true;
    prepared[file.tree].files += piece.begin == 0 ? 1 : 0;
    prepared[file.tree].bytes += bytes;
    return true;
  });
  if (failed) return *failed;
  return prepared;
}

}  // namespace omnio::replay
