#include "core/tracefile/container_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "core/base/file.hpp"
#include "core/base/printable.hpp"
#include "core/tracefile/process.hpp"
#include "core/wire/decode.hpp"

namespace omnio::tracefile {
namespace {

constexpr std::size_t kWindowBytes = 256 * 1024;

// Shows parts of a file through one buffer, which grows for a long payload alone.
class Window {
 public:
  Window(const base::File& file, std::uint64_t size) : file_(file), size_(size) {}

  // The `bytes` bytes at `offset`, fewer at the end of the file. Valid until the next call.
  std::string_view view(std::uint64_t offset, std::size_t bytes) {
    if (offset >= size_) return {};
    bytes = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, size_ - offset));
    if (offset < begin_ || offset + bytes > begin_ + filled_) {
      const auto left = static_cast<std::size_t>(
          std::min<std::uint64_t>(size_ - offset, std::max(bytes, kWindowBytes)));
      if (buffer_.size() < left) buffer_.resize(left);
      begin_ = offset;
      filled_ = file_.readAt(offset, buffer_.data(), left);
    }
    const auto skip = static_cast<std::size_t>(offset - begin_);
    return std::string_view(buffer_.data(), filled_).substr(skip, bytes);
  }

 private:
  const base::File& file_;
  std::uint64_t size_;
  std::uint64_t begin_ = 0;
  std::size_t filled_ = 0;
  std::vector<char> buffer_;
};

class Scanner {
 public:
  Scanner(const base::File& file, std::uint64_t token, ProcessInfo& info)
      : file_(file), size_(file.size()), token_(token), info_(info), window_(file, size_) {}

  void takeFirst() { takeChunk(wire::kContainerHeaderBytes); }

  ContainerScan scan() {
    std::uint64_t at = wire::kContainerHeaderBytes;
    result_.end = std::min<std::uint64_t>(at, size_);
    while (at < size_) {
      const std::uint64_t behind = takeChunk(at);
      at = behind != 0 ? behind : skip(at);
    }
    keepCut();
    return std::move(result_);
  }

 private:
  // Returns the place behind the chunk at `at`, 0 when none is whole there.
  std::uint64_t takeChunk(std::uint64_t at) {
    const auto header = headerAt(at);
    if (!header) return 0;
    const std::uint64_t payload_at = at + sizeof *header;
    const std::string_view payload = window_.view(payload_at, header->payload_bytes);
    if (payload.size() < header->payload_bytes) {
      cut_ = {.header = *header, .payload_offset = payload_at};
      return 0;
    }
    if (wire::checksum(payload.data(), payload.size()) != header->payload_check) return 0;
    if (header->kind == wire::ChunkKind::kInfo) {
      info_.take(payload);
    } else if (header->kind == wire::ChunkKind::kEvents ||
               header->kind == wire::ChunkKind::kPackedEvents) {
      result_.chunks.push_back({.header = *header, .payload_offset = payload_at});
    }
    result_.end = payload_at + payload.size();
    cut_.reset();  // what looked cut was a remnant: the file goes on behind it
    return wire::aligned(result_.end);
  }

  std::optional<wire::ChunkHeader> headerAt(std::uint64_t at) {
    wire::ChunkHeader header;
    const std::string_view bytes = window_.view(at, sizeof header);
    if (bytes.size() < sizeof header) return {};
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.magic != wire::kChunkMagic || header.token != token_ || !wire::isWhole(header) ||
        header.payload_bytes > kMaxPayloadBytes) {
      return {};
    }
    return header;
  }

  // Returns the next place after `from` where a chunk may begin, and notes what lies between.
  std::uint64_t skip(std::uint64_t from) {
    std::uint64_t first_byte = size_;  // that is not zero
    std::uint64_t last_byte = from;
    std::uint64_t at = from;
    while (true) {
      const std::uint64_t data = file_.nextData(at);
      at = std::max(at, data & ~std::uint64_t{wire::kChunkAlignment - 1});
      const std::string_view bytes = window_.view(at, kWindowBytes);
      if (bytes.empty()) break;
      const std::size_t found = findMagic(bytes, at == from ? wire::kChunkAlignment : 0);
      for (std::size_t i = 0; i < std::min(found, bytes.size()); ++i) {
        if (bytes[i] == 0) continue;
        first_byte = std::min(first_byte, at + i);
        last_byte = at + i;
      }
      if (found < bytes.size()) {
        at += found;
        break;
      }
      at += bytes.size();
    }
    if (first_byte < size_) noteDamage(first_byte, last_byte + 1 - first_byte);
    return std::min(at, size_);
  }

  // Neighbouring finds that turned out to be nothing are one damage.
  void noteDamage(std::uint64_t offset, std::uint64_t bytes) {
    if (!result_.damage.empty() && result_.damage.back().offset >= result_.end) {
      Damage& last = result_.damage.back();
      last.bytes = offset + bytes - last.offset;
    } else {
      result_.damage.push_back({offset, bytes});
    }
  }

  // First place at or after `first` where the magic number stands, or the size.
  static std::size_t findMagic(std::string_view bytes, std::size_t first) {
    for (std::size_t i = first; i + sizeof wire::kChunkMagic <= bytes.size();
         i += wire::kChunkAlignment) {
      if (std::memcmp(bytes.data() + i, &wire::kChunkMagic, sizeof wire::kChunkMagic) == 0) {
        return i;
      }
    }
    return bytes.size();
  }

  // The chunk that the end of the file cuts: its first records are as they were written. A packed
  // chunk is all or nothing.
  void keepCut() {
    if (!cut_ || cut_->header.kind != wire::ChunkKind::kEvents) return;
    const std::string_view payload = window_.view(cut_->payload_offset, kMaxPayloadBytes);
    wire::ChunkDecoder decoder(payload, cut_->header.base_ticks);
    wire::RawEvent event;
    wire::TextDefinition text;
    wire::HandleDefinition handle;
    std::uint32_t events = 0;
    while (events < cut_->header.event_count) {
      const wire::Decoded what = decoder.next(event, text, handle);
      if (what == wire::Decoded::kEnd || what == wire::Decoded::kDamaged) break;
      if (what != wire::Decoded::kEvent) continue;
      ++events;
      cut_->header.payload_bytes = static_cast<std::uint32_t>(decoder.position() - payload.data());
    }
    if (events == 0) return;
    cut_->header.event_count = events;
    result_.chunks.push_back(*cut_);
  }

  const base::File& file_;
  const std::uint64_t size_;
  const std::uint64_t token_;
  ProcessInfo& info_;
  Window window_;
  std::optional<StoredChunk> cut_;
  ContainerScan result_;
};

}  // namespace

base::Result<ContainerFile> openContainerFile(const std::filesystem::path& path) {
  base::Result<base::File> file = base::File::open(path);
  if (!file) return file.failure();
  const auto failed = [&path](base::Code code, std::string_view problem) {
    return base::fileFailure(path, code, problem);
  };
  std::array<char, wire::kContainerHeaderBytes> block{};
  const std::size_t read = file->readAt(0, block.data(), block.size());
  if (read == 0) {
    return failed(base::Code::kUnwritten, "empty: the process could not write its log");
  }
  ContainerFile start{.file = std::move(*file)};
  std::memcpy(&start.header, block.data(), sizeof start.header);
  if (read < sizeof start.header.magic || start.header.magic != wire::kContainerMagic) {
    return failed(base::Code::kNotOurs, "byte 0: not an omnio trace file");
  }
  if (read < sizeof start.header) {
    return failed(base::Code::kDamaged,
                  fmt::format("byte {}: the file ends within its header of {} bytes", read,
                              sizeof start.header));
  }
  if (start.header.version != wire::kFormatVersion) {
    return failed(base::Code::kOtherVersion,
                  fmt::format("byte 8: format version {}, but this omnio reads version {}",
                              start.header.version, wire::kFormatVersion));
  }
  if (!wire::isWhole(start.header) || start.header.header_bytes != wire::kContainerHeaderBytes) {
    return failed(base::Code::kDamaged, "byte 0: the file's header is damaged");
  }
  wire::Account account;
  std::memcpy(&account, block.data() + wire::kAccountOffset, sizeof account);
  if (read >= wire::kAccountOffset + sizeof account && wire::isWhole(account)) {
    start.account = account;
  }
  return start;
}

ContainerScan scanContainer(const base::File& file, std::uint64_t token, ProcessInfo& info) {
  return Scanner(file, token, info).scan();
}

void readFirstFacts(const base::File& file, std::uint64_t token, ProcessInfo& info) {
  Scanner(file, token, info).takeFirst();
}

namespace {

base::Descriptor openForLock(const std::filesystem::path& path) {
  // NFS makes an exclusive lock only for who may write.
  base::Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  return file ? std::move(file)
              : base::Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

bool hasName(int fd, const std::filesystem::path& path) {
  struct stat open {};
  struct stat named {};
  return fstat(fd, &open) == 0 && stat(path.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
         open.st_dev == named.st_dev;
}

}  // namespace

Locked lockWithin(int fd, std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds kPause{5};
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return Locked::kNotKnown;
    if (std::chrono::steady_clock::now() >= deadline) return Locked::kBusy;
    std::this_thread::sleep_for(kPause);
  }
  return Locked::kYes;
}

base::Failure busyFailure(const std::filesystem::path& path) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(kLockPatience);
  return base::fileFailure(
      path, base::Code::kSystem,
      fmt::format(
          "another `omnio collect` or `omnio pack` has been at work on it for {} s; end it, "
          "or wait",
          seconds.count()));
}

std::optional<base::Descriptor> lockContainer(const std::filesystem::path& path,
                                              std::chrono::milliseconds patience) {
  // Some network file systems number a file anew each time that they are asked: no name is ever
  // that of the open file there.
  constexpr int kMostRenames = 100;
  for (int i = 0; i < kMostRenames; ++i) {
    base::Descriptor file = openForLock(path);
    if (!file) return file;
    switch (lockWithin(file.get(), patience)) {
      case Locked::kYes:
        if (hasName(file.get(), path)) return file;
        break;  // packed while we waited: it is another file now
      case Locked::kNotKnown:
        return base::Descriptor();
      case Locked::kBusy:
        return std::nullopt;
    }
  }
  return base::Descriptor();
}

std::vector<std::filesystem::directory_entry> entriesOf(const std::filesystem::path& directory,
                                                        std::error_code& error) {
  std::vector<std::filesystem::directory_entry> entries;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    entries.push_back(*entry);
  }
  return entries;
}

std::vector<std::filesystem::directory_entry> entriesOf(const std::filesystem::path& directory) {
  std::error_code ignored;
  return entriesOf(directory, ignored);
}

base::Result<ContainerAppender> ContainerAppender::open(const std::filesystem::path& path) {
  std::optional<base::Descriptor> lock = lockContainer(path);
  if (!lock) return busyFailure(path);
  const base::Result<ContainerFile> start = openContainerFile(path);
  if (!start) return start.failure();
  base::Descriptor out(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  struct stat status {};
  if (!out || fstat(out.get(), &status) != 0) return base::systemFailure(path, errno);
  // A full device may have cut the header block; readers look for chunks behind it.
  const auto end = std::max<std::uint64_t>(static_cast<std::uint64_t>(status.st_size),
                                           start->header.header_bytes);
  return ContainerAppender(std::move(out), end, std::move(*lock));
}

base::Result<ContainerAppender> ContainerAppender::create(const std::filesystem::path& path,
                                                          const wire::ContainerHeader& header) {
  base::Descriptor out(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!out) return base::systemFailure(path, errno);
  std::optional<base::Descriptor> lock = lockContainer(path);
  if (!lock) return busyFailure(path);  // another made it its own at once
  std::string block(wire::kContainerHeaderBytes, '\0');
  std::memcpy(block.data(), &header, sizeof header);
  if (const int error = base::writeAll(out.get(), block.data(), block.size(), 0); error != 0) {
    ::unlink(path.c_str());
    return base::systemFailure(path, error);
  }
  return ContainerAppender(std::move(out), block.size(), std::move(*lock));
}

int ContainerAppender::append(wire::ChunkHeader header, std::string_view payload) {
  header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  header.payload_check = wire::checksum(payload.data(), payload.size());
  wire::stamp(header);
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes += payload;
  const std::uint64_t at = wire::aligned(end_);
  const int error = base::writeAll(file_.get(), bytes.data(), bytes.size(), at);
  if (error != 0) {
    if (ftruncate(file_.get(), static_cast<off_t>(end_)) != 0) return errno;
    return error;
  }
  end_ = at + bytes.size();
  return 0;
}

int ContainerAppender::writeAccount(wire::Account account) {
  wire::stamp(account);
  return base::writeAll(file_.get(), reinterpret_cast<const char*>(&account), sizeof account,
                        wire::kAccountOffset);
}

namespace {

bool unpackPayload(std::string_view packed, std::vector<char>& out) {
  // One per thread and not per reader: a trace may have more readers than there is memory for that
  // many of these.
  using Context = std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)>;
  thread_local const Context context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (!context) throw std::bad_alloc();
  // Errors are the largest numbers.
  const unsigned long long bytes = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (bytes > kMaxPayloadBytes) return false;
  out.resize(static_cast<std::size_t>(bytes));
  return ZSTD_decompressDCtx(context.get(), out.data(), out.size(), packed.data(), packed.size()) ==
         bytes;
}

}  // namespace

bool readPayload(const base::File& file, const StoredChunk& chunk, std::vector<char>& out) {
  thread_local std::vector<char> packed;
  const bool is_packed = chunk.header.kind == wire::ChunkKind::kPackedEvents;
  std::vector<char>& stored = is_packed ? packed : out;
  stored.resize(chunk.header.payload_bytes);
  if (file.readAt(chunk.payload_offset, stored.data(), stored.size()) != stored.size()) {
    return false;
  }
  return !is_packed || unpackPayload({stored.data(), stored.size()}, out);
}

}  // namespace omnio::tracefile
