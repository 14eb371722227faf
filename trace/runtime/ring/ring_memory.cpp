#include "trace/runtime/ring/ring_memory.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#include <cstring>

#include "core/wire/notes.hpp"
#include "core/wire/settings.hpp"
#include "trace/runtime/identity.hpp"
#include "trace/runtime/process.hpp"
#include "trace/runtime/sys/own_clone.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/runtime/sys/resource_limits.hpp"
#include "trace/runtime/sys/text.hpp"
#include "trace/runtime/sys/waiting.hpp"

namespace omnio::trace {
namespace {

char place[256] = {};  // directory of ring files; empty: plain memory
std::atomic<bool> in_memory{false};
std::atomic<std::uint32_t> next_file{0};
std::atomic<std::uint32_t> rings_being_made{0};

void ringPath(char (&out)[kRingPath], std::uint32_t number) {
  ringStem(out).putByte('-').putNumber(number);
}

// Copied by the kernel, since other threads may look at what is in atomics meanwhile.
bool copyInto(long fd, const Ring& ring) {
  std::size_t done = 0;
  while (done < kRingBytes) {
    const long written =
        rawSyscall(SYS_pwrite64, fd, address(reinterpret_cast<const char*>(&ring) + done),
                   static_cast<long>(kRingBytes - done), static_cast<long>(done));
    if (written == -EINTR) continue;
    if (written <= 0) return false;
    done += static_cast<std::size_t>(written);
  }
  return true;
}

void fillHeader(wire::RingHeader& header) {
  const RunIdentity& identity = runIdentity();
  header.magic = wire::kRingMagic;
  header.version = wire::kFormatVersion;
  header.pid = process.pid;
  header.token = process.token;
  header.data_offset = wire::kRingHeaderBytes;
  header.data_bytes = wire::kRingDataBytes;
  header.process_start = processStart();
  header.pid_namespace = identity.pid_namespace;
  header.run = identity.run.id;
  header.supervisor = identity.run.supervisor;
  header.directory_device = identity.directory_device;
  header.directory_inode = identity.directory_inode;
  header.uid = static_cast<std::uint32_t>(rawSyscall(SYS_geteuid));
  std::memcpy(header.trace_directory, process.settings.directory, wire::kMaxTraceDirectory);
}

// The memory of a file of the size of a ring, without a name or with `path`; -errno when there is
// none. What is in `content` is copied into it, else it is zero.
long mapOpened(long fd, const Ring* content) {
  // Reserved in full now: a tmpfs that fills up later cannot turn a store into SIGBUS.
  long result = rawSyscall(SYS_fallocate, fd, 0, 0, kRingBytes);
  if (result < 0) return result;
  if (content != nullptr && !copyInto(fd, *content)) return -EIO;
  // A forked child may live for a few calls: the kernel maps what it needs at once, which is its
  // header and the first events, and the rest when it gets there.
  const bool is_short = process.is_plain_fork;
  result = rawSyscall(SYS_mmap, 0, kRingBytes, PROT_READ | PROT_WRITE,
                      is_short ? MAP_SHARED : MAP_SHARED | MAP_POPULATE, fd, 0);
  if (isError(result)) return result;
  constexpr long kPopulateWrite = 23;  // MADV_POPULATE_WRITE, since Linux 5.14
  constexpr long kFirstEvents = 4096;
  if (is_short) {
    rawSyscall(SYS_madvise, result, wire::kRingHeaderBytes + kFirstEvents, kPopulateWrite);
  }
  fillHeader(reinterpret_cast<Ring*>(result)->header);
  return result;
}

// A file that has no name before its header is complete: a process that ends in the middle leaves
// nothing. -errno where the file system or the lack of /proc does not allow it.
long mapThenName(const char* path, const Ring* content) {
  const long fd =
      rawSyscall(SYS_openat, AT_FDCWD, address(place), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
  if (fd < 0) return fd;
  long memory = mapOpened(fd, content);
  if (!isError(memory)) {
    char link[32];
    Text(link, sizeof link).put("/proc/self/fd/").putNumber(static_cast<std::uint64_t>(fd));
    const long named =
        rawSyscall(SYS_linkat, AT_FDCWD, address(link), AT_FDCWD, address(path), AT_SYMLINK_FOLLOW);
    if (named < 0) {
      rawSyscall(SYS_munmap, memory, kRingBytes);
      memory = named;
    }
  }
  rawSyscall(SYS_close, fd);
  return memory;
}

// The name comes first. Who ends in the middle leaves a file without a header, which whoever
// collects removes when no process has it open.
long nameThenMap(const char* path, const Ring* content) {
  const long fd =
      rawSyscall(SYS_openat, AT_FDCWD, address(path), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return fd;
  const long memory = mapOpened(fd, content);
  rawSyscall(SYS_close, fd);
  if (isError(memory)) rawSyscall(SYS_unlinkat, AT_FDCWD, address(path), 0);
  return memory;
}

// A new file of that number, mapped, its header filled; with what is in `content`, else with zeros.
Ring* mapFile(std::uint32_t number, const Ring* content) {
  if (place[0] == '\0' || !withinFileSizeLimit(kRingBytes)) return nullptr;
  char path[kRingPath];
  ringPath(path, number);
  const HeldSignals held;
  const SpareDescriptors spare;
  long memory = withDescriptor([&path, content]() -> long { return mapThenName(path, content); });
  const bool is_refused = memory == -EOPNOTSUPP || memory == -EISDIR || memory == -ENOENT ||
                          memory == -EPERM || memory == -EXDEV;
  if (is_refused) memory = nameThenMap(path, content);
  return isError(memory) ? nullptr : reinterpret_cast<Ring*>(memory);
}

}  // namespace

Text ringStem(char (&out)[kRingPath]) {
  const wire::RunId& run = runIdentity().run.id;
  Text text(out, sizeof out);
  if (place[0] == '\0') return text;
  text.put(place)
      .putByte('/')
      .put(wire::kRingPrefix)
      .putHex(run.high, 16)
      .putHex(run.low, 16)
      .putByte('-')
      .putHex(process.token, 16);
  return text;
}

Ring* mapRing() {
  const std::uint32_t number = next_file.fetch_add(1, std::memory_order_relaxed);
  // At the end of the process nothing would take a new file's name away again, and events are
  // drained one by one anyway.
  const bool is_ending = process.draining_each.load();
  Ring* ring = is_ending ? nullptr : mapFile(number, nullptr);
  const bool has_file = ring != nullptr;
  if (!has_file) {
    if (!is_ending) in_memory.store(true);
    ring = static_cast<Ring*>(mapAnonymous(kRingBytes, MAP_PRIVATE | MAP_POPULATE));
    if (ring == nullptr) return nullptr;
    fillHeader(ring->header);
  }
  // Fresh memory is zero, which is what every member not named here begins with.
  ring->has_file.store(has_file);
  ring->number = number;
  ring->limit = ring->data() + wire::kRingDataBytes - kRingReserve;
  return ring;
}

RingBeingMade::RingBeingMade() { rings_being_made.fetch_add(1); }
RingBeingMade::~RingBeingMade() { rings_being_made.fetch_sub(1); }

void RingBeingMade::awaitAll() {
  waitWhile([] { return rings_being_made.load() > 0; });
}

void RingBeingMade::forgetAll() { rings_being_made.store(0); }

void unmapRing(Ring& ring) { unmap(&ring, kRingBytes); }

void replaceRing(Ring& ring) {
  if (isError(rawSyscall(SYS_mmap, address(&ring), kRingBytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0))) {
    return;
  }
  ring.chunk = reinterpret_cast<wire::ChunkHeader*>(ring.data());
  ring.cursor = reinterpret_cast<char*>(ring.chunk + 1);
  ring.limit = ring.data() + wire::kRingDataBytes - kRingReserve;
}

void removeRingFile(Ring& ring) {
  if (!ring.has_file.load()) return;
  char path[kRingPath];
  ringPath(path, ring.number);
  rawSyscall(SYS_unlinkat, AT_FDCWD, address(path), 0);
  ring.has_file.store(false);
}

void giveRingFile(Ring& ring) {
  const RingBeingMade being_made;
  if (ring.has_file.load() || process.draining_each.load()) return;
  Ring* fresh = mapFile(ring.number, &ring);
  if (fresh == nullptr) return;
  fresh->has_file.store(true);
  // The new memory takes the old one's place at once: pointers into the ring stay good.
  if (isError(rawSyscall(SYS_mremap, address(fresh), kRingBytes, kRingBytes,
                         MREMAP_MAYMOVE | MREMAP_FIXED, address(&ring)))) {
    removeRingFile(*fresh);
    unmapRing(*fresh);
  }
}

void leaveLostNote(const wire::Account& account) {
  if (place[0] == '\0') return;
  const RunIdentity& identity = runIdentity();
  const std::uint64_t numbers[wire::kLostNoteNumbers] = {
      wire::kLostNoteMagic,
      process.pid,
      processStart(),
      identity.pid_namespace,
      static_cast<std::uint64_t>(rawSyscall(SYS_geteuid)),
      identity.directory_device,
      identity.directory_inode,
      account.error,
      account.events_lost,
      static_cast<std::uint64_t>(account.state),
      identity.run.supervisor.pid,
      identity.run.supervisor.start,
      identity.run.supervisor.boot};
  char path[kRingPath];
  ringStem(path).put(wire::kLostSuffix);
  char* const memory = static_cast<char*>(mapAnonymous(wire::kMaxLostNote));
  if (memory == nullptr) return;
  Text note(memory, wire::kMaxLostNote);
  for (int i = 0; i < wire::kLostNoteNumbers; ++i) {
    if (i > 0) note.putByte('.');
    note.putHex(numbers[i], 1);
  }
  note.put(process.settings.directory).put(wire::kLostNoteDivider);
  const long program = rawSyscall(SYS_readlinkat, AT_FDCWD, address("/proc/self/exe"),
                                  address(note.end()), static_cast<long>(note.room()));
  if (program > 0) note.skip(static_cast<std::size_t>(program));
  rawSyscall(SYS_unlinkat, AT_FDCWD, address(path), 0);
  rawSyscall(SYS_symlinkat, address(note.c_str()), AT_FDCWD, address(path));
  unmap(memory, wire::kMaxLostNote);
}

void removeLostNote() {
  char path[kRingPath];
  ringStem(path).put(wire::kLostSuffix);
  rawSyscall(SYS_unlinkat, AT_FDCWD, address(path), 0);
}

const char* ringPlace() { return place[0] == '\0' || in_memory.load() ? "memory" : place; }

void chooseRingPlace() {
  const auto is_tmpfs = [](const char* directory) {
    struct statfs facts;
    return rawSyscall(SYS_statfs, address(directory), address(&facts)) == 0 &&
           facts.f_type == TMPFS_MAGIC;
  };
  const auto choose = [](const char* directory) {
    const std::size_t length = strlen(directory);
    if (length == 0 || length >= sizeof place) return false;
    std::memcpy(place, directory, length + 1);
    return true;
  };
  const char* wanted = getenv(wire::settingOf(wire::SettingId::kRingDirectory).variable);
  if (wanted != nullptr && is_tmpfs(wanted) && choose(wanted)) return;
  for (const char* directory : wire::kRingDirectories) {
    if (is_tmpfs(directory) && choose(directory)) return;
  }
}

}  // namespace omnio::trace
