#include "trace/runtime/mpi/objects.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <string_view>

#include "core/wire/checksum.hpp"
#include "core/wire/info.hpp"
#include "trace/runtime/mpi/pointer_table.hpp"
#include "trace/runtime/process.hpp"
#include "trace/runtime/ring/container_writer.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/runtime/sys/text.hpp"

namespace omnio::trace {

namespace {

constinit PointerTable<Group> groups;
std::atomic<std::uint32_t> last_group{0};

const char* nameOf(GroupKind kind) {
  switch (kind) {
    case GroupKind::kComm:
      return "comm";
    case GroupKind::kInter:
      return "inter";
    case GroupKind::kWindow:
      return "window";
    case GroupKind::kFile:
      return "file";
  }
  return "";
}

bool tell(const Group& group) {
  if (!isActive() || !openContainer()) return false;
  char fact[160];
  Text text(fact, sizeof fact);
  text.put(wire::info::kGroupPrefix).putNumber(group.number).putByte('\0');
  text.putHex(group.id, 16).putByte(' ');
  text.putNumber(static_cast<std::uint64_t>(group.rank)).putByte(' ');
  text.putNumber(static_cast<std::uint64_t>(group.size)).putByte(' ');
  text.putNumber(group.side).putByte(' ');
  text.putNumber(static_cast<std::uint64_t>(group.remote)).putByte(' ');
  text.put(nameOf(group.kind)).putByte('\0');
  return appendInfo(fact, text.size());
}

}  // namespace

Group* addGroup(const void* object, Group facts) {
  dropGroup(object);
  facts.number = last_group.fetch_add(1, std::memory_order_relaxed) + 1;
  // A group that the trace cannot tell of is known all the same: groups made of it need its id.
  if (!tell(facts)) facts.number = 0;
  if (!groups.put(object, [&](Group& place) { place = facts; })) return nullptr;
  return groups.find(object);
}

Group* findGroup(const void* object) { return groups.find(object); }

void dropGroup(const void* object) { groups.take(object); }

void dropGroup(const void* object, std::uint64_t id) {
  groups.takeIf(object, [id](const Group& there) { return there.id == id; });
}

namespace {

constinit PointerTable<Request, 61> requests;
std::atomic<std::uint64_t> last_request{0};

}  // namespace

std::uint64_t newRequestNumber() {
  return last_request.fetch_add(1, std::memory_order_relaxed) + 1;
}

bool addRequest(const void* object, const Request& request) {
  // One that is there was freed or completed out of our sight, and its address is used again.
  requests.take(object);
  return requests.put(object, [&](Request& place) { place = request; });
}

Request* findRequest(const void* object) { return requests.find(object); }

std::optional<Request> takeRequest(const void* object) { return requests.take(object); }

bool forgetRequest(const void* object, std::uint64_t number) {
  const auto is_it = [number](const Request& there) { return there.number == number; };
  return requests.takeIf(object, is_it).has_value();
}

namespace {

constinit PointerTable<std::uint64_t> files;  // words of entries

}  // namespace

void rememberMpiFile(const void* file, Entry entry) {
  releaseHandle(takeMpiFile(file));
  files.put(file, [entry](std::uint64_t& place) { place = entry.word(); });
}

Entry findMpiFile(const void* file) {
  const std::uint64_t* word = files.find(file);
  return word == nullptr ? Entry::notTraced() : Entry(*word);
}

Entry takeMpiFile(const void* file) {
  const auto word = files.take(file);
  return word ? Entry(*word) : Entry::notTraced();
}

namespace {

// The file systems that ROMIO knows by name.
constexpr std::string_view kPrefixes[] = {
    "ufs:", "nfs:", "panfs:", "pvfs2:", "gpfs:", "xfs:",  "lustre:", "ime:", "daos:",  "testfs:",
    "hfs:", "sfs:", "pfs:",   "piofs:", "pvfs:", "plfs:", "zoidfs:", "ftp:", "gsiftp:"};

}  // namespace

const char* withoutFileSystem(const char* name) {
  for (const std::string_view prefix : kPrefixes) {
    std::size_t same = 0;
    while (same < prefix.size() && name[same] == prefix[same]) ++same;
    if (same < prefix.size()) continue;
    return rawSyscall(SYS_faccessat, AT_FDCWD, address(name), F_OK) == 0 ? name : name + same;
  }
  return name;
}

namespace {

struct Counter {
  std::atomic<std::uint64_t> key{0};
  std::atomic<std::uint64_t> count{0};
};

// Tables of growing size: one is begun when all places of a key in those before it are taken. An
// application that gives each message a tag of its own fills them all, and no more: 4.5 MiB.
class Counters {
 public:
  // Returns the counter of the key, which is made when there is none; nullptr when the tables are
  // full.
  Counter* find(std::uint64_t key) {
    for (unsigned t = 0; t < kTables; ++t) {
      Counter* table = madeTable(t);
      if (table == nullptr) return nullptr;
      for (std::uint64_t i = 0; i < kTries; ++i) {
        Counter& counter = table[(key + i) % placesOf(t)];
        std::uint64_t there = counter.key.load(std::memory_order_relaxed);
        if (there == 0 && counter.key.compare_exchange_strong(there, key)) return &counter;
        if (there == key) return &counter;
      }
    }
    return nullptr;
  }

 private:
  static constexpr unsigned kTables = 4;
  static constexpr std::uint64_t kFirstPlaces = 512;
  static constexpr unsigned kGrowth = 3;  // bits
  static constexpr std::uint64_t kTries = 8;

  static constexpr std::uint64_t placesOf(unsigned table) {
    return kFirstPlaces << (kGrowth * table);
  }

  Counter* madeTable(unsigned number) {
    return number == 0 ? first_ : mappedOnce(more_[number - 1], placesOf(number) * sizeof(Counter));
  }

  Counter first_[kFirstPlaces]{};
  std::atomic<Counter*> more_[kTables - 1]{};
};

constinit Counters streams;
// Ids are made of these: they have to be the same in processes whose messages are many and in
// those whose are few.
constinit Counters names;

// Two streams of one key would be one in 2^64.
std::uint64_t keyOf(const Stream& stream) {
  const std::uint64_t ends = static_cast<std::uint64_t>(static_cast<std::uint32_t>(stream.peer))
                                 << 32 |
                             static_cast<std::uint32_t>(stream.tag);
  const std::uint64_t key =
      wire::mixed(wire::mixed(stream.group, ends), static_cast<std::uint64_t>(stream.way) + 1);
  return key == 0 ? 1 : key;
}

Counter* counterOf(const Stream& stream) {
  return (stream.way == Way::kNamed ? names : streams).find(keyOf(stream));
}

}  // namespace

std::uint64_t countIn(const Stream& stream) {
  Counter* counter = counterOf(stream);
  return counter == nullptr ? 0 : counter->count.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::uint64_t countOf(const Stream& stream) {
  const Counter* counter = counterOf(stream);
  return counter == nullptr ? 0 : counter->count.load(std::memory_order_relaxed);
}

}  // namespace omnio::trace
