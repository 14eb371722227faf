#include "trace/runtime/identity.hpp"

#include <fcntl.h>
#include <link.h>
#include <linux/stat.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>

#include <atomic>
#include <cstring>
#include <limits>

#include "core/wire/checksum.hpp"
#include "core/wire/info.hpp"
#include "core/wire/path_pattern.hpp"
#include "core/wire/run.hpp"
#include "core/wire/settings.hpp"
#include "trace/runtime/handle_table.hpp"
#include "trace/runtime/process.hpp"
#include "trace/runtime/recording_switch.hpp"
#include "trace/runtime/ring/log_helper.hpp"
#include "trace/runtime/ring/ring_memory.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/runtime/sys/text.hpp"

namespace omnio::trace {

namespace info = wire::info;

MpiIdentity mpi_identity;

namespace {

// All of the text has to be one number of an int's range.
bool readNumber(const char* text, int& value) {
  const auto number = wire::parseDigits(text == nullptr ? "" : text);
  if (!number || *number > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
    return false;
  value = static_cast<int>(*number);
  return true;
}

// The pairs of an info chunk.
class Facts {
 public:
  Facts(char* out, std::size_t bytes) : text_(out, bytes) {}

  void put(std::string_view key, std::string_view value) {
    // Whole pairs only: a half one would shift all that follow.
    if (key.size() + value.size() + 2 > text_.room()) return;
    text_.put(key).putByte('\0').put(value).putByte('\0');
  }
  void put(std::string_view key, std::uint64_t value) {
    char digits[24];
    put(key, Text(digits, sizeof digits).putNumber(value).words());
  }
  void putHex(std::string_view key, std::uint64_t value) {
    char digits[24];
    put(key, Text(digits, sizeof digits).putHex(value, 16).words());
  }
  // A small file as it is, or with each NUL in it replaced.
  void putFile(std::string_view key, const char* path, char for_nul, std::size_t most) {
    if (key.size() + 2 + 64 > text_.room()) return;
    char* const begin = text_.end() + key.size() + 1;
    const std::size_t room = text_.room() - key.size() - 2;
    const long bytes = readFile(path, begin, room < most ? room : most);
    if (bytes < 0) return;
    auto used = static_cast<std::size_t>(bytes);
    while (used > 0 && (begin[used - 1] == '\n' || begin[used - 1] == '\0')) --used;
    for (std::size_t i = 0; i < used; ++i) {
      if (begin[i] == '\0') begin[i] = for_nul;
    }
    text_.put(key).skip(1 + used).putByte('\0');
  }
  // The target of a symbolic link; read in place, since the calling thread's stack may be small.
  void putLink(std::string_view key, const char* path, std::size_t most) {
    if (key.size() + 2 + most > text_.room()) return;
    char* const begin = text_.end() + key.size() + 1;
    const long length = rawSyscall(SYS_readlinkat, AT_FDCWD, address(path), address(begin),
                                   static_cast<long>(most));
    if (length <= 0) return;
    text_.put(key).skip(1 + static_cast<std::size_t>(length)).putByte('\0');
  }
  // Pairs that are ready.
  void putAll(std::string_view pairs) {
    if (pairs.size() <= text_.room()) text_.put(pairs);
  }
  std::size_t size() const { return text_.size(); }

 private:
  Text text_;
};

// What a process has told of its node and program is true of its forked children too. To find it
// out again takes each of them longer than the fork itself.
constinit struct Inherited {
  char text[4096] = {};
  std::atomic<std::size_t> bytes{0};  // 0: there is none, or it is too long
  std::atomic<bool> has_mounts{false};
} inherited;

struct LibrarySearch {
  const char* prefix;
  const char* found;
};

int onLibrary(dl_phdr_info* library, std::size_t /*bytes*/, void* data) {
  auto* search = static_cast<LibrarySearch*>(data);
  if (library->dlpi_name == nullptr) return 0;
  const std::string_view name = fileName(library->dlpi_name);
  if (!name.starts_with(search->prefix)) return 0;
  search->found = library->dlpi_name;
  return 1;
}

const char* flavourOf(const char* mpi, const char* openmp) {
  if (mpi != nullptr) return openmp != nullptr ? "hybrid" : "mpi";
  return openmp != nullptr ? "openmp" : "serial";
}

const char* mpiLibraryOfImage() {
  return mpi_identity.library != nullptr ? mpi_identity.library : loadedMpiLibrary();
}

// The same, unless its calls are passed through.
const char* tracedMpiLibrary() {
  return mpi_identity.refused != nullptr ? nullptr : mpiLibraryOfImage();
}

const char* recorded_flavour = nullptr;
LauncherIdentity remembered;

// The flavour that this image turned out to have, and the words that say why.
void putFlavour(Facts& facts) {
  const char* mpi = tracedMpiLibrary();
  const char* openmp = openmpLibrary();
  facts.put(info::kLibrary, kLibraryName);
  if (mpiLibraryOfImage() != nullptr) facts.put(info::kMpiLibrary, mpiLibraryOfImage());
  if (!process.settings.flavour_is_ours) {
    facts.put(info::kFlavour, kLibraryName);
    facts.put(info::kFlavourReason, "asked for");
    return;
  }
  char reason[512];
  Text words(reason, sizeof reason);
  if (mpi_identity.refused != nullptr) {
    words.put(fileName(mpi_identity.refused)).put(" is an MPI of an unknown ABI");
    if (openmp != nullptr) words.put(", ").put(fileName(openmp)).put(" is loaded");
  } else if (mpi == nullptr && openmp == nullptr) {
    words.put("neither an MPI nor an OpenMP library is loaded");
  } else {
    if (mpi != nullptr) words.put(fileName(mpi));
    if (mpi != nullptr && openmp != nullptr) words.put(" and ");
    if (openmp != nullptr) words.put(fileName(openmp));
    words.put(mpi != nullptr && openmp != nullptr ? " are loaded" : " is loaded");
  }
  recorded_flavour = flavourOf(mpi, openmp);
  facts.put(info::kFlavour, recorded_flavour);
  facts.put(info::kFlavourReason, words.words());
}

void putRank(Facts& facts) {
  const LauncherIdentity& launcher = launcherIdentity();
  const bool from_mpi = mpi_identity.known.load(std::memory_order_acquire);
  facts.put(info::kRank, static_cast<std::uint64_t>(from_mpi ? mpi_identity.rank : launcher.rank));
  facts.put(info::kRanks,
            static_cast<std::uint64_t>(from_mpi ? mpi_identity.ranks : launcher.ranks));
  facts.put(info::kRankSource, from_mpi ? "MPI" : launcher.source);
}

}  // namespace

void hostName(char (&into)[kHostBytes]) {
  utsname names{};
  rawSyscall(SYS_uname, address(&names));
  std::memcpy(into, names.nodename, sizeof into);
}

const char* loadedLibrary(const char* prefix) {
  LibrarySearch search{.prefix = prefix, .found = nullptr};
  if (process.parent_token != 0 || LogHelper::isThisThread()) {
    // In a forked child a thread that it does not have may hold the loader's lock for ever; but
    // then nothing can change the loader's list either. The log helper is not known to the C
    // library, which could not lock for it; libraries are added at the end of the list, and rarely
    // removed.
    for (const link_map* map = _r_debug.r_map; map != nullptr; map = map->l_next) {
      if (map->l_name != nullptr && fileName(map->l_name).starts_with(prefix)) return map->l_name;
    }
    return nullptr;
  }
  dl_iterate_phdr(onLibrary, &search);
  return search.found;
}

const char* loadedMpiLibrary() {
  for (const char* prefix : {"libmpi.so", "libmpich.so", "libmpi_"}) {
    if (const char* path = loadedLibrary(prefix)) return path;
  }
  return nullptr;
}

LauncherIdentity readLauncher() {
  LauncherIdentity identity;
  for (const wire::LauncherVariables& launcher : wire::kLaunchers) {
    int rank = 0;
    int ranks = 0;
    if (!readNumber(getenv(launcher.rank), rank) || !readNumber(getenv(launcher.ranks), ranks)) {
      continue;
    }
    identity.rank = rank;
    identity.ranks = ranks;
    identity.source = launcher.rank;
    Text job(identity.job, sizeof identity.job);
    if (const char* name = getenv(launcher.job); name != nullptr) job.put(name);
    for (const char* part : launcher.job_parts) {
      const char* value = part == nullptr ? nullptr : getenv(part);
      if (value != nullptr && *value != '\0') job.putByte('.').put(value);
    }
    const char* ours = launcher.names_jobs ? nullptr : getenv(wire::kJobVariable);
    if (ours != nullptr && *ours != '\0') {
      if (job.size() > 0) job.putByte('.');
      job.put(ours);
    }
    int local_rank = 0;
    identity.first_on_node =
        !readNumber(getenv(launcher.local_rank), local_rank) || local_rank == 0;
    break;
  }
  return identity;
}

void rememberLauncher() { remembered = readLauncher(); }

const LauncherIdentity& launcherIdentity() { return remembered; }

std::uint64_t jobNumber() {
  if (*remembered.job != '\0') return wire::checksum(remembered.job, std::strlen(remembered.job));
  // The ranks of a launcher that does not name the job have the run in common.
  return remembered.ranks > 1 ? runIdentity().run.id.low : process.token;
}

std::size_t describeProcess(char* out, std::size_t bytes, bool with_mounts) {
  Facts facts(out, bytes);
  const LauncherIdentity& launcher = launcherIdentity();
  const std::size_t known = process.is_plain_fork ? inherited.bytes.load() : 0;
  if (known > 0) {
    facts.putAll({inherited.text, known});
  } else {
    inherited.bytes.store(0);
    facts.putFile(info::kHost, "/proc/sys/kernel/hostname", ' ', 256);
    facts.putFile(info::kBoot, "/proc/sys/kernel/random/boot_id", ' ', 64);
    facts.putLink(info::kTimeNamespace, "/proc/self/ns/time", 64);
    facts.putLink(info::kPidNamespace, "/proc/self/ns/pid", 64);
    facts.putLink(info::kProgram, "/proc/self/exe", 4096);
    facts.putFile(info::kCommand, "/proc/self/cmdline", '\x01', 32 * 1024);
    if (facts.size() <= sizeof inherited.text) {
      std::memcpy(inherited.text, out, facts.size());
      inherited.bytes.store(facts.size(), std::memory_order_release);
    }
  }
  facts.put(info::kPid, process.pid);
  facts.put(info::kParent, static_cast<std::uint64_t>(process.parent_pid));
  facts.put(info::kProcessStart, processStart());
  if (process.parent_token != 0) facts.putHex(info::kParentToken, process.parent_token);
  facts.put(info::kDirectory, workingDirectory());
  putFlavour(facts);
  putRank(facts);
  facts.put(info::kJob, launcher.job);
  facts.put(info::kExclude, process.settings.exclude);
  facts.put(info::kInclude, process.settings.include);
  facts.put(info::kDefaultExclude, wire::kDefaultExclude);
  facts.put(info::kRingPlace, ringPlace());
  if (process.settings.max_log_size > 0) {
    facts.put(info::kMaxLogSize, process.settings.max_log_size);
  }
  if (*process.settings.refused != '\0') {
    facts.put(info::kSettingsRefused, process.settings.refused);
  }
  const EventCost cost = eventCost();
  facts.put(info::kEventCost, cost.event_ps);
  facts.put(info::kClockCost, cost.clock_ps);
  if (mpi_identity.refused != nullptr) facts.put(info::kMpiRefused, mpi_identity.refused);
  // Those of a forked child are in the log of its parent, or of that one's.
  if (with_mounts && !(process.is_plain_fork && inherited.has_mounts.load())) {
    facts.putFile(info::kMounts, "/proc/self/mountinfo", ' ', info::kMostMountBytes);
    inherited.has_mounts.store(true);
  }
  return facts.size() + describeStops(out + facts.size(), bytes - facts.size());
}

bool hasFlavourChanged() {
  return recorded_flavour != nullptr && process.settings.flavour_is_ours &&
         recorded_flavour != flavourOf(tracedMpiLibrary(), openmpLibrary());
}

std::size_t describeIdentity(char* out, std::size_t bytes) {
  Facts facts(out, bytes);
  putFlavour(facts);
  putRank(facts);
  if (mpi_identity.refused != nullptr) facts.put(info::kMpiRefused, mpi_identity.refused);
  return facts.size();
}

namespace {

RunIdentity identity;

struct DirectoryFacts {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t birth_ns = 0;
};

DirectoryFacts factsOf(const char* path) {
  DirectoryFacts facts;
  struct statx x;
  if (rawSyscall(SYS_statx, AT_FDCWD, address(path), AT_STATX_DONT_SYNC, STATX_INO | STATX_BTIME,
                 address(&x)) == 0) {
    facts.device = makedev(x.stx_dev_major, x.stx_dev_minor);
    facts.inode = x.stx_ino;
    if ((x.stx_mask & STATX_BTIME) != 0) {
      facts.birth_ns =
          static_cast<std::uint64_t>(x.stx_btime.tv_sec) * 1000000000U + x.stx_btime.tv_nsec;
    }
    return facts;
  }
  // Kernels before 4.11, and sandboxes that know no statx.
  struct stat s;
  if (rawSyscall(SYS_newfstatat, AT_FDCWD, address(path), address(&s), 0) == 0) {
    facts.device = static_cast<std::uint64_t>(s.st_dev);
    facts.inode = s.st_ino;
  }
  return facts;
}

}  // namespace

void identifyRun() {
  identity = {};
  if (const char* given = getenv(wire::kRunVariable); given != nullptr) {
    identity.run = wire::parseRun(given);
  }
  const DirectoryFacts directory = factsOf(process.settings.directory);
  identity.directory_device = directory.device;
  identity.directory_inode = directory.inode;
  if (!identity.run.id.isSet()) {
    identity.run.id = wire::derivedRun(directory.device, directory.inode, directory.birth_ns);
  }
  struct stat s;
  if (rawSyscall(SYS_newfstatat, AT_FDCWD, address("/proc/self/ns/pid"), address(&s), 0) == 0) {
    identity.pid_namespace = s.st_ino;
  }
}

const RunIdentity& runIdentity() { return identity; }

}  // namespace omnio::trace
