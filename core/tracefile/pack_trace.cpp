#include "core/tracefile/pack_trace.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/printable.hpp"
#include "core/base/threads.hpp"
#include "core/tracefile/container_file.hpp"
#include "core/tracefile/process.hpp"
#include "core/tracefile/trace.hpp"
#include "core/wire/info.hpp"

namespace omnio::tracefile {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDraftSuffix = ".draft";

// An open container and where its chunks are.
struct Container {
  base::File file;
  ProcessInfo info;
  ContainerScan scan;

  static base::Result<Container> open(const fs::path& path) {
    base::Result<ContainerFile> start = openContainerFile(path);
    if (!start) return start.failure();
    Container container{.file = std::move(start->file), .info = {}, .scan = {}};
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
    file_ =
        base::Descriptor(mkostemps(path_.data(), static_cast<int>(kDraftSuffix.size()), O_CLOEXEC));
    if (!file_) error_ = errno;
    // The lock tells removeDeadDrafts() that the file is being written.
    if (file_) flock(file_.get(), LOCK_EX | LOCK_NB);
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft() {
    if (file_ && !has_name_) ::unlink(path_.c_str());
  }

  // The first error is kept for finish().
  void write(std::uint64_t offset, std::string_view bytes) {
    if (error_ == 0) error_ = base::writeAll(file_.get(), bytes.data(), bytes.size(), offset);
  }

  // Makes it `bytes` long, and waits until the device has it.
  base::Result<void> finish(std::uint64_t bytes) {
    if (error_ == 0 && ftruncate(file_.get(), static_cast<off_t>(bytes)) != 0) error_ = errno;
    if (error_ == 0 && fsync(file_.get()) != 0) error_ = errno;
    if (error_ != 0) return base::systemFailure(path_, error_, "cannot write");
    // It is to be read back from the device, and not from memory.
    posix_fadvise(file_.get(), 0, 0, POSIX_FADV_DONTNEED);
    return {};
  }

  // Puts it in the container's place, with the owner, mode and times that `original` says.
  base::Result<void> takeName(const struct stat& original) {
    // Without the right to give the file away, set-user-id bits would be another user's.
    const bool given = fchown(file_.get(), original.st_uid, original.st_gid) == 0;
    const timespec times[2] = {original.st_atim, original.st_mtim};
    if (fchmod(file_.get(), original.st_mode & (given ? 07777U : 0777U)) != 0 ||
        futimens(file_.get(), times) != 0 || ::rename(path_.c_str(), target_.c_str()) != 0) {
      return base::systemFailure(path_, errno, "cannot write");
    }
    has_name_ = true;
    const base::Descriptor directory(
        ::open(target_.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory) fsync(directory.get());  // some file systems cannot, and need not
    return {};
  }

  const std::string& path() const { return path_; }

 private:
  const fs::path target_;
  std::string path_;
  base::Descriptor file_;
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
      const bool is_set = std::ranges::any_of(bytes_, [](char c) { return c != 0; });
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
  return a.info.all() == b.info.all() &&
         std::ranges::equal(a.scan.damage, b.scan.damage, {}, &Damage::bytes, &Damage::bytes) &&
         std::ranges::equal(a.scan.chunks, b.scan.chunks, same_chunk);
}

bool isUnchanged(const fs::path& path, const struct stat& before) {
  struct stat now {};
  return stat(path.c_str(), &now) == 0 && now.st_size == before.st_size &&
         now.st_mtim.tv_sec == before.st_mtim.tv_sec &&
         now.st_mtim.tv_nsec == before.st_mtim.tv_nsec;
}

// Removes from a trace directory what a killed packContainer() left there. Files that are being
// written stay, where the file system knows locks; where it does not, all stay.
void removeDeadDrafts(const fs::path& directory) {
  for (const fs::directory_entry& entry : entriesOf(directory)) {
    const std::string name = entry.path().filename().native();
    if (!name.ends_with(kDraftSuffix) ||
        name.find(std::string(wire::kContainerSuffix) + ".") == std::string::npos) {
      continue;
    }
    const base::Descriptor draft(
        ::open(entry.path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (draft && flock(draft.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(entry.path().c_str());
  }
}

bool hasSomethingToPack(const ContainerScan& scan) {
  return std::ranges::any_of(scan.chunks, [](const StoredChunk& chunk) {
    return chunk.header.kind == wire::ChunkKind::kEvents;
  });
}

}  // namespace

PayloadPacker::PayloadPacker(int level)
    : context_(ZSTD_createCCtx(), ZSTD_freeCCtx), level_(level) {
  if (!context_) throw std::bad_alloc();
}

std::string_view PayloadPacker::pack(std::string_view payload) {
  if (payload.empty()) return {};
  out_.resize(payload.size() - 1);
  const std::size_t bytes = ZSTD_compressCCtx(context_.get(), out_.data(), out_.size(),
                                              payload.data(), payload.size(), level_);
  return ZSTD_isError(bytes) != 0 ? std::string_view() : std::string_view(out_.data(), bytes);
}

base::Result<ContainerPacked> packContainer(const fs::path& path, PayloadPacker& packer,
                                            const Progress& progress) {
  const std::optional<base::Descriptor> lock = lockContainer(path);
  if (!lock) return busyFailure(path);
  struct stat before {};
  if (stat(path.c_str(), &before) != 0) return base::systemFailure(path, errno);
  const base::Result<Container> original = Container::open(path);
  if (!original) return original.failure();
  if (!hasSomethingToPack(original->scan)) return ContainerPacked{};
  Draft draft(path);
  Writer writer(*original, draft, packer);
  if (!writer.write(progress)) return base::systemFailure(path, EIO, "cannot read");
  if (writer.packedChunks() == 0) return ContainerPacked{};
  if (const auto done = draft.finish(writer.bytes()); !done) return done.failure();
  const base::Result<Container> written = Container::open(draft.path());
  if (!written) return written.failure();
  if (!holdTheSame(*original, *written)) {
    return base::fileFailure(draft.path(), base::Code::kSystem,
                             "what was read back differs from the original, which stays as it is; "
                             "check the device");
  }
  if (!isUnchanged(path, before)) {
    return base::fileFailure(path, base::Code::kInvalid,
                             "was written to meanwhile, and stays as it is");
  }
  if (const auto done = draft.takeName(before); !done) return done.failure();
  ContainerPacked result{.changed = true,
                         .events = 0,
                         .bytes_before = original->file.size(),
                         .bytes_after = written->file.size()};
  for (const StoredChunk& chunk : original->scan.chunks) result.events += chunk.header.event_count;
  return result;
}

namespace {

struct PackJob {
  fs::path container;
  std::uint64_t bytes = 0;
};

// Why the log of this process may still change; empty when it cannot.
std::string whyNotYet(const Process& process, const ThisNode& node, bool assume_ended) {
  const auto state = process.account ? process.account->state : wire::AccountState::kRunning;
  const auto began = process.info.number(wire::info::kProcessStart);
  const bool is_seen = began && node.sees(process.info.text(wire::info::kBoot),
                                          process.info.text(wire::info::kPidNamespace));
  // A process that said that it ends may still write; after exec another image of it runs, which
  // has a container of its own.
  const bool is_here =
      is_seen && state != wire::AccountState::kReplaced && isAlive(process.pid, *began);
  if (is_here || process.life == Life::kRunning) {
    return fmt::format("process {} is still running", process.pid);
  }
  if (!process.rings.empty()) {
    return fmt::format("events of process {} are still in memory: run `omnio collect` first",
                       process.pid);
  }
  if (process.life != Life::kUnknown || assume_ended) return {};
  const std::string& host = process.info.text(wire::info::kHost);
  return fmt::format(
      "process {} did not say that it ended: it may still run, or have left events, on host {}; "
      "run `omnio collect` there, or give --assume-ended",
      process.pid, host.empty() ? "unknown" : base::printable(host));
}

base::Result<std::vector<PackJob>> jobsOf(const fs::path& directory, bool assume_ended,
                                          PackReport& report) {
  const base::Result<Trace> trace = Trace::open(directory);
  if (!trace) return trace.failure();
  const ThisNode node;
  std::vector<PackJob> jobs;
  for (const auto& process : trace->processes()) {
    if (const std::string why = whyNotYet(*process, node, assume_ended); !why.empty()) {
      return base::fileFailure(directory, base::Code::kInvalid, why);
    }
    std::error_code error;
    const std::uintmax_t bytes = fs::file_size(process->container, error);
    jobs.push_back({process->container, error ? 0 : bytes});
  }
  for (const base::Failure& failure : trace->unreadable()) report.kept.push_back(failure.sentence);
  // The longest first, so that none is left over at the end.
  std::ranges::stable_sort(jobs, std::greater<>(), &PackJob::bytes);
  return jobs;
}

}  // namespace

base::Result<PackReport> packTrace(const fs::path& trace, const PackOptions& options) {
  PackReport report;
  const base::Result<std::vector<PackJob>> jobs = jobsOf(trace, options.assume_ended, report);
  if (!jobs) return jobs.failure();
  report.containers = jobs->size();
  removeDeadDrafts(trace);

  std::uint64_t all_bytes = 0;
  for (const PackJob& job : *jobs) all_bytes += job.bytes;
  std::mutex mutex;  // of `report` and `done_bytes`
  std::uint64_t done_bytes = 0;
  std::atomic<std::size_t> next{0};
  const auto stop = [&](const std::string& why) {
    next = jobs->size();
    const std::lock_guard guard(mutex);
    report.troubles.push_back(why);
  };
  const auto advance = [&](std::uint64_t bytes) {
    if (!options.progress) return;
    const std::lock_guard guard(mutex);
    done_bytes += bytes;
    options.progress(std::min(done_bytes, all_bytes), all_bytes);
  };
  const auto work = [&] {
    try {
      PayloadPacker packer(options.level);
      for (std::size_t i = next++; i < jobs->size(); i = next++) {
        const auto packed = packContainer((*jobs)[i].container, packer, advance);
        if (!packed) return stop(packed.failure().sentence);
        if (!packed->changed) continue;
        const std::lock_guard guard(mutex);
        ++report.changed;
        report.events += packed->events;
        report.bytes_before += packed->bytes_before;
        report.bytes_after += packed->bytes_after;
      }
    } catch (const std::exception& error) {
      stop(error.what());
    }
  };
  {
    std::vector<std::jthread> threads;
    const auto wanted = std::min<std::size_t>({options.jobs, kMostPackJobs, jobs->size()});
    try {
      while (threads.size() + 1 < wanted) threads.emplace_back(work);
    } catch (const std::system_error&) {
      // The system allows no more threads: these do.
    }
    work();
  }
  return report;
}

unsigned usualPackJobs() {
  constexpr unsigned kUsualMost = 16;  // a device has had enough by then
  return std::min(base::usableProcessors(), kUsualMost);
}

}  // namespace omnio::tracefile
