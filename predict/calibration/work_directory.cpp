#include "predict/calibration/work_directory.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/file.hpp"
#include "core/base/file_system.hpp"
#include "core/base/integers.hpp"
#include "core/base/node_memory.hpp"
#include "core/base/printable.hpp"
#include "core/base/threads.hpp"
#include "predict/calibration/worker.hpp"

namespace omnio::predict {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "omnio-calibrate.";

// The host, and what tells apart the systems in which numbers of processes mean something: the boot
// of the kernel and the namespace of processes. Containers may have the name of their host.
std::string systemName() {
  utsname machine{};
  uname(&machine);
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat processes {};
  const bool is_known = stat("/proc/self/ns/pid", &processes) == 0;
  return fmt::format(
      "{}.{:016x}", machine.nodename,
      base::mixed(std::hash<std::string>()(boot), is_known ? std::uint64_t{processes.st_ino} : 0));
}

// When a process began, in ticks since the system did; nothing where there is none.
std::optional<std::uint64_t> startOf(std::uint64_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  if (!std::getline(file, text)) return std::nullopt;
  // Behind the name, which may have anything in it, the 20th word (proc(5)).
  std::size_t at = text.rfind(')');
  constexpr int kWord = 20;
  for (int i = 0; i < kWord && at != text.npos; ++i) at = text.find(' ', at + 1);
  if (at == text.npos) return std::nullopt;
  const std::string_view rest = std::string_view(text).substr(at + 1);
  return base::wholeNumber<std::uint64_t>(rest.substr(0, rest.find(' ')));
}

// "omnio-calibrate.HOST.SYSTEM.PROCESS.START"; a host may have dots in it.
struct Owner {
  std::string system;  // with its host
  std::uint64_t pid = 0;
  std::uint64_t start = 0;
};

std::optional<Owner> ownerOf(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  const std::size_t second = name.rfind('.');
  if (second == name.npos || second == 0) return std::nullopt;
  const std::size_t first = name.rfind('.', second - 1);
  if (first == name.npos) return std::nullopt;
  const auto pid = base::wholeNumber<std::uint64_t>(name.substr(first + 1, second - first - 1));
  const auto start = base::wholeNumber<std::uint64_t>(name.substr(second + 1));
  if (!pid || !start) return std::nullopt;
  return Owner{.system = std::string(name.substr(0, first)), .pid = *pid, .start = *start};
}

// Locks the target for this object, and the processes that are made of it. A directory can be
// locked on any file system, by its kernel alone: of a target that is mounted for each container
// apart, or on another node, the lock says nothing. Nothing where it cannot be locked at all.
base::Result<base::Descriptor> lockOf(const fs::path& target, bool& is_held) {
  base::Descriptor lock(::open(target.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock) return base::systemFailure(target, errno);
  int done = 0;
  do {
    done = flock(lock.get(), LOCK_EX | LOCK_NB);
  } while (done != 0 && errno == EINTR);
  is_held = done != 0 && errno == EWOULDBLOCK;
  return lock;
}

}  // namespace

base::Result<std::unique_ptr<WorkDirectory>> WorkDirectory::make(const fs::path& target,
                                                                 std::vector<std::string>& notes) {
  const std::string shown = base::printable(target.native());
  std::error_code error;
  const fs::file_status status = fs::status(target, error);
  if (!fs::exists(status)) return base::systemFailure(target, error ? error.value() : ENOENT);
  if (!fs::is_directory(status)) return base::systemFailure(target, ENOTDIR);
  bool is_held = false;
  auto lock = lockOf(target, is_held);
  if (!lock) return lock.failure();
  const std::string system = systemName();
  for (fs::directory_iterator at(target, error), end; !error && at != end; at.increment(error)) {
    const fs::directory_entry& entry = *at;
    const std::string name = entry.path().filename().native();
    const std::optional<Owner> owner = ownerOf(name);
    std::error_code ignored;
    if (!owner || entry.symlink_status(ignored).type() != fs::file_type::directory) continue;
    if (owner->system != system) {
      notes.push_back(
          fmt::format("{}/{}: of a calibration on another host or in another container; remove it "
                      "if that is over",
                      shown, base::printable(name)));
      continue;
    }
    if (startOf(owner->pid) == owner->start) {
      return base::failure(base::Code::kSystem,
                           "{}: process {} calibrates this target; two at a time would measure "
                           "each other",
                           shown, owner->pid);
    }
    if (is_held) continue;
    const std::string place = fmt::format("{}/{}", shown, base::printable(name));
    // A system may hide the processes of other users.
    if (kill(static_cast<pid_t>(owner->pid), 0) != 0 && errno == EPERM) {
      notes.push_back(
          fmt::format("{}: of a process of another user, which may be at work; it stays", place));
      continue;
    }
    std::error_code kept;
    fs::remove_all(entry.path(), kept);
    notes.push_back(kept
                        ? fmt::format("{}: a calibration that was killed left it, and it cannot be "
                                      "removed: {}",
                                      place, kept.message())
                        : fmt::format("{}: removed; a calibration that was killed left it", place));
  }
  if (error) return base::systemFailure(target, error.value());
  if (is_held) {
    return base::failure(base::Code::kSystem,
                         "{}: another process has locked this target, as a calibration in another "
                         "container does; two at a time would measure each other",
                         shown);
  }
  const auto pid = static_cast<std::uint64_t>(getpid());
  const fs::path path = fs::absolute(target, error) /
                        fmt::format("{}{}.{}.{}", kPrefix, system, pid, startOf(pid).value_or(0));
  if (mkdir(path.c_str(), 0700) != 0) {
    return base::systemFailure(target, errno, "cannot make a directory in");
  }
  return std::unique_ptr<WorkDirectory>(new WorkDirectory(path, std::move(*lock)));
}

WorkDirectory::~WorkDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

base::Result<CacheProbe> probeCache(const WorkDirectory& directory, CacheState state) {
  CacheProbe probe;
  if (state == CacheState::kCached) return probe;
  const std::string path = directory.path() / "probe";
  constexpr std::uint64_t kBytes = std::uint64_t{1} << 20;
  constexpr std::uint64_t kPage = 4096;
  struct Free {
    void operator()(char* bytes) const { std::free(bytes); }
  };
  const std::unique_ptr<char, Free> bytes(static_cast<char*>(std::aligned_alloc(kPage, kBytes)));
  if (!bytes) return base::failure(base::Code::kSystem, "no memory to probe the target");
  memset(bytes.get(), 0x5a, kBytes);
  const base::Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return base::systemFailure(directory.path(), errno, "cannot make a file in");
  if (const int written = base::writeAll(file.get(), bytes.get(), kBytes, 0); written != 0) {
    return base::systemFailure(directory.path(), written, "cannot write a file in");
  }
  struct statfs about {};
  fstatfs(file.get(), &about);
  const std::string kind = base::fileSystemName(static_cast<std::uint64_t>(about.f_type));
  fdatasync(file.get());
  posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  const double percent = residentPercent(file.get(), kBytes);
  constexpr double kMostKept = 10;
  if (percent > kMostKept) {
    // Newer kernels open files of tmpfs with O_DIRECT too.
    probe.reason = fmt::format("{} keeps its files in memory", kind);
  } else if (state == CacheState::kDirect) {
    const base::Descriptor direct(::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
    constexpr std::uint64_t kSector = 512;
    probe.reason = "does not support O_DIRECT";
    for (const std::uint64_t block : {kSector, kPage}) {
      if (!direct || pread(direct.get(), bytes.get() + block, block, static_cast<off_t>(block)) !=
                         static_cast<ssize_t>(block)) {
        continue;
      }
      probe = {.reason = {}, .block_bytes = block};
      break;
    }
  }
  unlink(path.c_str());
  return probe;
}

CalibratedTarget describeTarget(const fs::path& target) {
  CalibratedTarget found;
  std::error_code error;
  const fs::path real = fs::canonical(target, error);
  found.path = base::printable((error ? target : real).native());
  struct statfs about {};
  if (statfs(target.c_str(), &about) == 0) {
    found.file_system = base::fileSystemName(static_cast<std::uint64_t>(about.f_type));
    // Object stores say anything; documents have whole numbers up to this.
    constexpr std::uint64_t kMost = std::uint64_t{1} << 60;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(about.f_bsize),
                               static_cast<std::uint64_t>(about.f_blocks), &found.size_bytes) ||
        found.size_bytes > kMost) {
      found.size_bytes = kMost;
    }
  }
  found.mount = base::printable(base::mountOf(target));
  utsname machine{};
  uname(&machine);
  found.host = base::printable(machine.nodename);
  found.kernel = base::printable(fmt::format("{} {}", machine.sysname, machine.release));
  found.processors = base::usableProcessors();
  found.memory_bytes = base::memoryBytes();
  return found;
}

std::optional<std::uint64_t> freeBytes(const fs::path& target) {
  struct statvfs about {};
  if (statvfs(target.c_str(), &about) != 0 || about.f_blocks == 0) return std::nullopt;
  return static_cast<std::uint64_t>(about.f_frsize) * about.f_bavail;
}

}  // namespace omnio::predict
