#include "trace/runtime/ring_memory.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#include <cstring>

#include "core/wire/settings.hpp"
#include "trace/runtime/file_size_limit.hpp"
#include "trace/runtime/held_signals.hpp"
#include "trace/runtime/process.hpp"
#include "trace/runtime/raw_syscall.hpp"
#include "trace/runtime/spare_descriptors.hpp"
#include "trace/runtime/text.hpp"

namespace omnio::trace {
namespace {

char place[256] = {};  // directory of ring files; empty: plain memory
std::atomic<bool> in_memory{false};
std::atomic<std::uint32_t> next_file{0};

bool isError(long result) { return result < 0 && result > -4096; }

// <place>/omnio-<token>-<number>
void ringPath(char (&out)[320], std::uint32_t number) {
  Text(out, sizeof out)
      .put(place)
      .putByte('/')
      .put(wire::kRingPrefix)
      .putHex(process.token, 16)
      .putByte('-')
      .putNumber(number);
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

// A new file of that number, mapped; with what is in `content`, else with zeros.
Ring* mapFile(std::uint32_t number, const Ring* content) {
  if (place[0] == '\0' || !withinFileSizeLimit(kRingBytes)) return nullptr;
  char path[320];
  ringPath(path, number);
  const HeldSignals held;
  const SpareDescriptors spare;
  const long fd =
      rawSyscall(SYS_openat, AT_FDCWD, address(path), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return nullptr;
  long memory = -1;
  // Reserved in full now: a tmpfs that fills up later cannot turn a store into SIGBUS.
  if (rawSyscall(SYS_fallocate, fd, 0, 0, kRingBytes) == 0 &&
      (content == nullptr || copyInto(fd, *content))) {
    memory = rawSyscall(SYS_mmap, 0, kRingBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                        fd, 0);
  }
  rawSyscall(SYS_close, fd);
  if (isError(memory)) {
    rawSyscall(SYS_unlinkat, AT_FDCWD, address(path), 0);
    return nullptr;
  }
  return reinterpret_cast<Ring*>(memory);
}

}  // namespace

Ring* mapRing() {
  const std::uint32_t number = next_file.fetch_add(1, std::memory_order_relaxed);
  // At the end of the process nobody would take a new file's name away again, and events are
  // drained one by one anyway.
  const bool is_ending = process.draining_each.load();
  Ring* ring = is_ending ? nullptr : mapFile(number, nullptr);
  const bool has_file = ring != nullptr;
  if (!has_file) {
    if (!is_ending) in_memory.store(true);
    const long memory = rawSyscall(SYS_mmap, 0, kRingBytes, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (isError(memory)) return nullptr;
    ring = reinterpret_cast<Ring*>(memory);
  }
  // Fresh memory is zero, which is what every member not named here begins with.
  wire::RingHeader& header = ring->header;
  header.version = wire::kFormatVersion;
  header.pid = process.pid;
  header.token = process.token;
  header.data_offset = wire::kRingHeaderBytes;
  header.data_bytes = wire::kRingDataBytes;
  header.process_start = processStart();
  std::memcpy(header.trace_directory, process.settings.directory, wire::kMaxTraceDirectory);
  ring->has_file.store(has_file);
  ring->number = number;
  ring->limit = ring->data() + wire::kRingDataBytes - 8;
  return ring;
}

void unmapRing(Ring& ring) { rawSyscall(SYS_munmap, address(&ring), kRingBytes); }

void replaceRing(Ring& ring) {
  if (isError(rawSyscall(SYS_mmap, address(&ring), kRingBytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0))) {
    return;
  }
  ring.chunk = reinterpret_cast<wire::ChunkHeader*>(ring.data());
  ring.cursor = reinterpret_cast<char*>(ring.chunk + 1);
  ring.limit = ring.data() + wire::kRingDataBytes - 8;
}

void removeRingFile(Ring& ring) {
  if (!ring.has_file.load()) return;
  char path[320];
  ringPath(path, ring.number);
  rawSyscall(SYS_unlinkat, AT_FDCWD, address(path), 0);
  ring.has_file.store(false);
}

void giveRingFile(Ring& ring) {
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
