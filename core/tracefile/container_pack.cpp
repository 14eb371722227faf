#include "core/tracefile/container_pack.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/printable.hpp"
#include "core/tracefile/container_file.hpp"
#include "core/tracefile/process.hpp"

namespace omnio::tracefile {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDraftSuffix = ".draft";

base::Failure systemFailure(std::string_view what, const fs::path& path, int error) {
  return {base::Code::kSystem,
          fmt::format("{}{}: {}", what, base::printable(path.native()), std::strerror(error))};
}

// An open container and where its chunks are.
struct Container {
  base::File file;
  ProcessInfo info;
  ContainerScan scan;

  static base::Result<Container> open(const fs::path& path) {
    base::Result<base::File> file = base::File::open(path);
    if (!file) return file.failure();
    const base::Result<ContainerStart> start = readContainerStart(path, *file);
    if (!start) return start.failure();
    Container container{.file = std::move(*file), .info = {}, .scan = {}};
    container.scan = scanContainer(container.file, start->header.token, container.info);
    return container;
  }

  // Not the one that the end of the file cuts.
  bool isWhole(const StoredChunk& chunk) const {
    return chunk.payload_offset + chunk.header.payload_bytes <= scan.end;
  }
};

// The packed file, which is removed unless it takes the container's name.
class Draft {
 public:
  explicit Draft(const fs::path& target)
      : target_(target), path_(target.native() + ".XXXXXX" + std::string(kDraftSuffix)) {
    // Readable for its owner alone until it is complete.
    fd_ = mkostemps(path_.data(), static_cast<int>(kDraftSuffix.size()), O_CLOEXEC);
    if (fd_ < 0) error_ = errno;
    // For removeDeadDrafts(): it is being written.
    if (fd_ >= 0) flock(fd_, LOCK_EX | LOCK_NB);
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft() {
    if (fd_ < 0) return;
    if (!has_name_) ::unlink(path_.c_str());
    ::close(fd_);
  }

  // The first error is kept for finish().
  void write(std::uint64_t offset, std::string_view bytes) {
    if (error_ == 0) error_ = base::writeAll(fd_, bytes.data(), bytes.size(), offset);
  }

  // Makes it `bytes` long, and waits until the device has it.
  std::optional<base::Failure> finish(std::uint64_t bytes) {
    if (error_ == 0 && ftruncate(fd_, static_cast<off_t>(bytes)) != 0) error_ = errno;
    if (error_ == 0 && fsync(fd_) != 0) error_ = errno;
    if (error_ != 0) return systemFailure("cannot write ", path_, error_);
    // It is to be read back from the device, and not from memory.
    posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
    return std::nullopt;
  }

  // Puts it in the container's place, with the owner, mode and times that `original` says.
  std::optional<base::Failure> takeName(const struct stat& original) {
    // Without the right to give the file away, set-user-id bits would be another user's.
    const bool given = fchown(fd_, original.st_uid, original.st_gid) == 0;
    const timespec times[2] = {original.st_atim, original.st_mtim};
    if (fchmod(fd_, original.st_mode & (given ? 07777U : 0777U)) != 0 ||
        futimens(fd_, times) != 0 || ::rename(path_.c_str(), target_.c_str()) != 0) {
      return systemFailure("cannot write ", path_, errno);
    }
    has_name_ = true;
    const int directory = ::open(target_.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory >= 0) {
      fsync(directory);  // some file systems cannot, and need not
      ::close(directory);
    }
    return std::nullopt;
  }

  const std::string& path() const { return path_; }

 private:
  const fs::path target_;
  std::string path_;
  int fd_ = -1;
  int error_ = 0;
  bool has_name_ = false;
};

class Writer {
 public:
  Writer(const Container& source, Draft& draft, PayloadPacker& packer)
      : source_(source), draft_(draft), packer_(packer) {}

  // False when the source cannot be read. Errors of the draft are told by the draft.
  bool write(const Progress& progress) {
    std::uint64_t done = 0;  // of the source
    for (const StoredChunk& chunk : source_.scan.chunks) {
      if (!source_.isWhole(chunk)) continue;
      const std::uint64_t begin = chunk.payload_offset - sizeof chunk.header;
      const std::uint64_t end = chunk.payload_offset + chunk.header.payload_bytes;
      if (!copy(done, begin) || !writeChunk(chunk)) return false;
      progress(end - done);
      done = wire::aligned(end);
    }
    return copy(done, source_.file.size());
  }

  std::uint64_t bytes() const { return at_; }
  std::uint64_t packedChunks() const { return packed_chunks_; }

 private:
  bool writeChunk(const StoredChunk& chunk) {
    wire::ChunkHeader header = chunk.header;
    bytes_.resize(header.payload_bytes);
    if (source_.file.readAt(chunk.payload_offset, bytes_.data(), bytes_.size()) != bytes_.size()) {
      return false;
    }
    std::string_view payload(bytes_.data(), bytes_.size());
    if (header.kind == wire::ChunkKind::kEvents) {
      if (const std::string_view packed = packer_.pack(payload); !packed.empty()) {
        header.kind = wire::ChunkKind::kPackedEvents;
        header.payload_bytes = static_cast<std::uint32_t>(packed.size());
        header.payload_check = wire::checksum(packed.data(), packed.size());
        wire::stamp(header);
        payload = packed;
        ++packed_chunks_;
      }
    }
    at_ = wire::aligned(at_);
    draft_.write(at_, {reinterpret_cast<const char*>(&header), sizeof header});
    draft_.write(at_ + sizeof header, payload);
    at_ += sizeof header + payload.size();
    return true;
  }

  // Copies what is not a chunk of events: the header block, facts, damage, a chunk that is cut. It
  // keeps its length, so that what was cut is cut at the same byte; zeros alone are left out.
  bool copy(std::uint64_t begin, std::uint64_t end) {
    constexpr std::size_t kStep = 1 << 20;
    const std::uint64_t to = wire::aligned(at_);
    std::uint64_t from = source_.file.nextData(begin);
    while (from < end) {
      bytes_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kStep, end - from)));
      if (source_.file.readAt(from, bytes_.data(), bytes_.size()) != bytes_.size()) return false;
      const bool is_set = std::any_of(bytes_.begin(), bytes_.end(), [](char c) { return c != 0; });
      if (is_set) {
        draft_.write(to + (from - begin), {bytes_.data(), bytes_.size()});
        at_ = to + (end - begin);
      }
      from = source_.file.nextData(from + bytes_.size());
    }
    return true;
  }

  const Container& source_;
  Draft& draft_;
  PayloadPacker& packer_;
  std::vector<char> bytes_;
  std::uint64_t at_ = 0;  // end of the draft
  std::uint64_t packed_chunks_ = 0;
};

bool sameHeader(wire::ChunkHeader a, wire::ChunkHeader b) {
  for (wire::ChunkHeader* header : {&a, &b}) {
    header->kind = wire::ChunkKind::kEvents;
    header->payload_bytes = 0;
    header->payload_check = header->check = 0;
  }
  return std::memcmp(&a, &b, sizeof a) == 0;
}

// Whether readers find the same facts, chunks, events and damage in both.
bool holdTheSame(const Container& a, const Container& b) {
  std::vector<char> of_a;
  std::vector<char> of_b;
  const auto same_chunk = [&](const StoredChunk& x, const StoredChunk& y) {
    const bool is_readable = readPayload(a.file, x, of_a);
    return sameHeader(x.header, y.header) && readPayload(b.file, y, of_b) == is_readable &&
           (!is_readable || of_a == of_b);
  };
  const auto same_damage = [](const Damage& x, const Damage& y) { return x.bytes == y.bytes; };
  return a.info.all() == b.info.all() &&
         std::equal(a.scan.damage.begin(), a.scan.damage.end(), b.scan.damage.begin(),
                    b.scan.damage.end(), same_damage) &&
         std::equal(a.scan.chunks.begin(), a.scan.chunks.end(), b.scan.chunks.begin(),
                    b.scan.chunks.end(), same_chunk);
}

bool isUnchanged(const fs::path& path, const struct stat& before) {
  struct stat now {};
  return stat(path.c_str(), &now) == 0 && now.st_size == before.st_size &&
         now.st_mtim.tv_sec == before.st_mtim.tv_sec &&
         now.st_mtim.tv_nsec == before.st_mtim.tv_nsec;
}

bool hasSomethingToPack(const ContainerScan& scan) {
  return std::any_of(scan.chunks.begin(), scan.chunks.end(), [](const StoredChunk& chunk) {
    return chunk.header.kind == wire::ChunkKind::kEvents;
  });
}

}  // namespace

base::Result<ContainerPacked> packContainer(const fs::path& path, PayloadPacker& packer,
                                            const Progress& progress) {
  const std::optional<ContainerLock> lock = ContainerLock::take(path);
  if (!lock) return busyFailure(path);
  struct stat before {};
  if (stat(path.c_str(), &before) != 0) return systemFailure("", path, errno);
  const base::Result<Container> original = Container::open(path);
  if (!original) return original.failure();
  if (!hasSomethingToPack(original->scan)) return ContainerPacked{};
  Draft draft(path);
  Writer writer(*original, draft, packer);
  if (!writer.write(progress)) return systemFailure("cannot read ", path, EIO);
  if (writer.packedChunks() == 0) return ContainerPacked{};
  if (auto failure = draft.finish(writer.bytes())) return *failure;
  const base::Result<Container> written = Container::open(draft.path());
  if (!written) return written.failure();
  if (!holdTheSame(*original, *written)) {
    return base::Failure{base::Code::kSystem,
                         fmt::format("{}: what was read back differs from the original, which "
                                     "stays as it is; check the device",
                                     base::printable(draft.path()))};
  }
  if (!isUnchanged(path, before)) {
    return base::Failure{base::Code::kInvalid,
                         fmt::format("{}: was written to meanwhile, and stays as it is",
                                     base::printable(path.native()))};
  }
  if (auto failure = draft.takeName(before)) return *failure;
  ContainerPacked result{.changed = true,
                         .events = 0,
                         .bytes_before = original->file.size(),
                         .bytes_after = written->file.size()};
  for (const StoredChunk& chunk : original->scan.chunks) result.events += chunk.header.event_count;
  return result;
}

void removeDeadDrafts(const fs::path& directory) {
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().native();
    if (!name.ends_with(kDraftSuffix) ||
        name.find(std::string(wire::kContainerSuffix) + ".") == std::string::npos) {
      continue;
    }
    const int fd = ::open(entry->path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) continue;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) ::unlink(entry->path().c_str());
    ::close(fd);
  }
}

}  // namespace omnio::tracefile
