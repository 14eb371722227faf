#include "core/storage/storage_watch.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/control_group.hpp"
#include "core/base/mount_points.hpp"
#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"
#include "core/base/threads.hpp"

namespace omnio::storage {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxSamples = 4096;
constexpr const char* kBlockDevices = "/sys/dev/block";

std::string firstWordOf(const fs::path& path) {
  std::string word;
  std::ifstream(path) >> word;
  return word;
}

std::vector<fs::path> entriesOf(const fs::path& directory) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    entries.push_back(at->path());
  }
  std::ranges::sort(entries);
  return entries;
}

// The number of the device that a file of /dev stands for; empty where it is none.
std::string deviceNumberOf(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0 || !S_ISBLK(facts.st_mode)) return {};
  return fmt::format("{}:{}", major(facts.st_rdev), minor(facts.st_rdev));
}

// The devices that the file system sends its requests to, by number.
std::vector<std::string> devicesOf(const base::Mount& mount) {
  std::error_code error;
  if (fs::exists(fs::path(kBlockDevices) / mount.device, error)) return {mount.device};
  // Some file systems have a number of their own, and name a device (btrfs, fuseblk).
  const std::string source = deviceNumberOf(mount.source);
  if (source.empty()) return {};
  for (const fs::path& file_system : entriesOf("/sys/fs/btrfs")) {
    std::vector<std::string> numbers;
    for (const fs::path& device : entriesOf(file_system / "devices")) {
      numbers.push_back(firstWordOf(device / "dev"));
    }
    if (std::ranges::find(numbers, source) != numbers.end()) return numbers;
  }
  return {source};
}

// The devices below those of a volume manager or RAID; the device itself where nothing is.
void addLeaves(const std::string& number, std::set<std::string>& leaves, int depth = 0) {
  constexpr int kDeepest = 16;
  const std::vector<fs::path> below = entriesOf(fs::path(kBlockDevices) / number / "slaves");
  if (below.empty() || depth == kDeepest) {
    leaves.insert(number);
    return;
  }
  for (const fs::path& device : below) addLeaves(firstWordOf(device / "dev"), leaves, depth + 1);
}

// The disk of a partition: a control group counts by disk.
std::string diskOf(const std::string& number) {
  std::error_code error;
  const fs::path device = fs::canonical(fs::path(kBlockDevices) / number, error);
  if (error || !fs::exists(device / "partition", error)) return number;
  return firstWordOf(device.parent_path() / "dev");
}

// The file that counts the bytes of this process's control group; empty where it is in the root.
fs::path groupFile() {
  const std::string group = countedGroup();
  if (group.empty() || group == "/") return {};
  return base::controlGroup("blkio") == group
             ? fs::path("/sys/fs/cgroup/blkio" + group) / "blkio.throttle.io_service_bytes"
             : fs::path("/sys/fs/cgroup" + group) / "io.stat";
}

// The statistics of Lustre's connections to its object servers, of one file system.
std::vector<fs::path> lustreFilesOf(std::string_view file_system) {
  std::vector<fs::path> files;
  for (const char* const folder :
       {"/proc/fs/lustre/osc", "/sys/kernel/debug/lustre/osc", "/sys/fs/lustre/osc"}) {
    for (const fs::path& entry : entriesOf(folder)) {
      const bool is_of_it =
          entry.filename().native().starts_with(fmt::format("{}-OST", file_system));
      std::error_code error;
      if (is_of_it && fs::exists(entry / "stats", error)) files.push_back(entry / "stats");
    }
    if (!files.empty()) return files;
  }
  return files;
}

}  // namespace

struct CounterReading {
  Clock::time_point time;
  Moved moved;
  std::optional<Moved> own;
  std::map<std::string, DeviceCounters> leaves;
  MemoryUse memory;
};

// Where the counters of a mount are.
class MountCounters {
 public:
  MountCounters(const fs::path& directory, ReadText reader) : read_text_(std::move(reader)) {
    const auto mount = base::mountHolding(directory);
    if (!mount) {
      why_unknown = "the directory cannot be looked up";
      return;
    }
    point_ = mount->point.empty() ? "/" : mount->point;
    text = fmt::format("{} {} {}", point_, mount->type, mount->source);
    constexpr std::array<std::string_view, 3> kMemory = {"tmpfs", "ramfs", "hugetlbfs"};
    if (std::ranges::find(kMemory, mount->type) != kMemory.end()) {
      kind = SourceKind::kMemory;
    } else if (mount->type == "nfs" || mount->type == "nfs4") {
      names = {mount->source};
      const bool is_there =
          parseMountStats(read_text_("/proc/self/mountstats"), point_).has_value();
      kind = is_there ? SourceKind::kServer : SourceKind::kUnknown;
      why_unknown = is_there ? "" : "/proc/self/mountstats does not have the mount";
    } else if (mount->type == "lustre") {
      lustre_ = lustreFilesOf(lustreFileSystem(mount->source));
      names = {mount->source};
      kind = lustre_.empty() ? SourceKind::kUnknown : SourceKind::kServer;
      why_unknown = lustre_.empty() ? "this user may not read the statistics of Lustre" : "";
    } else {
      devices_ = devicesOf(*mount);
      for (const std::string& device : devices_) addLeaves(device, leaves_);
      const auto known = parseDiskStats(read_text_("/proc/diskstats"));
      for (const std::string& device : devices_) {
        if (const auto found = known.find(device); found != known.end()) {
          names.push_back(found->second.name);
        }
      }
      kind = names.empty() ? SourceKind::kUnknown : SourceKind::kDevices;
      if (names.empty()) {
        why_unknown = fmt::format("the kernel does not count what {} does", mount->type);
      }
      group_file_ = groupFile();
    }
  }

  CounterReading read() const {
    CounterReading reading{.time = Clock::now(),
                           .moved = {},
                           .own = {},
                           .leaves = {},
                           .memory = parseMemInfo(read_text_("/proc/meminfo"))};
    if (!lustre_.empty()) {
      for (const fs::path& file : lustre_) reading.moved += parseLustreStats(read_text_(file));
    } else if (kind == SourceKind::kServer) {
      reading.moved =
          parseMountStats(read_text_("/proc/self/mountstats"), point_).value_or(Moved{});
    } else if (kind == SourceKind::kDevices) {
      readDevices(reading);
    }
    return reading;
  }

  std::string text;  // "point type source"
  SourceKind kind = SourceKind::kUnknown;
  std::string why_unknown;
  std::vector<std::string> names;

 private:
  void readDevices(CounterReading& reading) const {
    const auto all = parseDiskStats(read_text_("/proc/diskstats"));
    const std::string group = group_file_.empty() ? std::string() : read_text_(group_file_);
    for (const std::string& device : devices_) {
      if (const auto found = all.find(device); found != all.end()) {
        reading.moved += found->second.moved;
      }
      if (const auto own = parseGroupBytes(group, diskOf(device))) {
        if (!reading.own) reading.own.emplace();
        *reading.own += *own;
      }
    }
    for (const std::string& leaf : leaves_) {
      if (const auto found = all.find(leaf); found != all.end()) reading.leaves.insert(*found);
    }
  }

  const ReadText read_text_;
  std::string point_;
  std::vector<std::string> devices_;  // "major:minor"
  std::set<std::string> leaves_;
  std::vector<fs::path> lustre_;
  fs::path group_file_;
};

namespace {

double secondsOf(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

// The busiest device of the time between two readings, and the share of it.
std::pair<std::string, double> busiestOf(const CounterReading& from, const CounterReading& to) {
  std::pair<std::string, double> most;
  const double ms = secondsOf(to.time - from.time) * 1e3;
  for (const auto& [number, device] : to.leaves) {
    const auto before = from.leaves.find(number);
    if (before == from.leaves.end() || device.busy_ms < before->second.busy_ms || ms <= 0) continue;
    const double share =
        std::min(1.0, static_cast<double>(device.busy_ms - before->second.busy_ms) / ms);
    if (most.first.empty() || share > most.second) most = {device.name, share};
  }
  return most;
}

// Two samples after each other as one.
StorageSample joined(const StorageSample& first, const StorageSample& second, double begin_s) {
  const double whole_s = second.end_s - begin_s;
  const double first_s = first.end_s - begin_s;
  StorageSample both = second;
  both.moved += first.moved;
  if (whole_s > 0) both.busy = (first.busy * first_s + second.busy * (whole_s - first_s)) / whole_s;
  return both;
}

}  // namespace

void joinPairs(std::vector<StorageSample>& samples) {
  std::size_t kept = 0;
  double begin_s = 0;
  for (std::size_t i = 0; i + 1 < samples.size(); i += 2) {
    const double end_s = samples[i + 1].end_s;
    samples[kept++] = joined(samples[i], samples[i + 1], begin_s);
    begin_s = end_s;
  }
  if (samples.size() % 2 == 1) samples[kept++] = samples.back();
  samples.resize(kept);
}

void append(StorageRecord& record, StorageRecord later) {
  const double before_s = record.seconds;
  record.seconds += later.seconds;
  record.moved += later.moved;
  if (record.own && later.own) *record.own += *later.own;
  if (!later.own) record.own.reset();
  if (record.busy && later.busy && record.seconds > 0) {
    // The device that worked most in the longer part.
    if (*later.busy * later.seconds > *record.busy * before_s) record.busiest = later.busiest;
    record.busy = (*record.busy * before_s + *later.busy * later.seconds) / record.seconds;
  }
  record.memory_end = later.memory_end;
  record.free_end_bytes = later.free_end_bytes;
  for (StorageSample& sample : later.samples) {
    sample.end_s += before_s;
    record.samples.push_back(sample);
  }
  while (record.samples.size() >= kMaxSamples) joinPairs(record.samples);
}

std::string countedGroup() {
  const auto first = base::controlGroup("blkio");
  if (first && *first != "/") return *first;
  return base::controlGroup("").value_or("");
}

std::string textOf(const fs::path& path) {
  std::ifstream in(path);
  return std::string{std::istreambuf_iterator<char>(in), {}};
}

class StorageWatch::Watching {
 public:
  Watching(fs::path directory, ReadText read)
      : directory_(std::move(directory)), source_(directory_, std::move(read)) {}
  ~Watching() { stop(); }

  void begin(double interval_s) {
    stop();
    record_ = {};
    record_.mount = source_.text;
    record_.kind = source_.kind;
    record_.why_unknown = source_.why_unknown;
    record_.sources = source_.names;
    interval_s_ = interval_s;
    is_over_ = false;
    lookAtRoom(record_.free_begin_bytes);
    first_ = last_ = source_.read();
    record_.memory_begin = first_.memory;
    const base::SignalsBlocked blocked;
    thread_ = std::thread([this] { watch(); });
  }

  StorageRecord end() {
    stop();
    take();
    record_.seconds = secondsOf(last_.time - first_.time);
    record_.moved = last_.moved.since(first_.moved);
    if (last_.own) record_.own = last_.own->since(first_.own.value_or(Moved{}));
    if (!last_.leaves.empty()) {
      const auto [name, share] = busiestOf(first_, last_);
      record_.busiest = name;
      record_.busy = share;
    }
    record_.memory_end = last_.memory;
    lookAtRoom(record_.free_end_bytes);
    return std::move(record_);
  }

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    while (!is_over_) {
      wake_.wait_for(lock, std::chrono::duration<double>(interval_s_), [this] { return is_over_; });
      if (!is_over_) take();
    }
  }

  void take() {
    CounterReading now = source_.read();
    record_.samples.push_back({.end_s = secondsOf(now.time - first_.time),
                               .moved = now.moved.since(last_.moved),
                               .busy = busiestOf(last_, now).second,
                               .memory = now.memory});
    last_ = std::move(now);
    if (record_.samples.size() < kMaxSamples) return;
    joinPairs(record_.samples);
    interval_s_ *= 2;
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  void lookAtRoom(std::uint64_t& free_bytes) {
    struct statvfs about {};
    if (statvfs(directory_.c_str(), &about) != 0) return;
    record_.capacity_bytes = std::uint64_t{about.f_frsize} * about.f_blocks;
    free_bytes = std::uint64_t{about.f_frsize} * about.f_bavail;
  }

  const fs::path directory_;
  const MountCounters source_;
  StorageRecord record_;
  CounterReading first_;
  CounterReading last_;
  double interval_s_ = 1;
  std::mutex mutex_;  // of what follows; the rest belongs to the thread while there is one
  std::condition_variable wake_;
  bool is_over_ = true;
  std::thread thread_;
};

StorageWatch::StorageWatch(const fs::path& directory, ReadText read)
    : watching_(std::make_unique<Watching>(directory, std::move(read))) {}
StorageWatch::~StorageWatch() = default;

void StorageWatch::begin(double interval_s) { watching_->begin(interval_s); }
StorageRecord StorageWatch::end() { return watching_->end(); }

namespace {

constexpr base::Word<SourceKind> kKinds[] = {{SourceKind::kDevices, "devices"},
                                             {SourceKind::kServer, "server"},
                                             {SourceKind::kMemory, "memory"},
                                             {SourceKind::kUnknown, "unknown"}};

void putMemory(base::JsonWriter& json, const MemoryUse& use) {
  json.put("dirty_bytes", use.dirty_bytes);
  json.put("cached_bytes", use.cached_bytes);
}

void putMoved(base::JsonWriter& json, const Moved& moved) {
  json.put("read_bytes", moved.read_bytes);
  json.put("written_bytes", moved.written_bytes);
}

void putRecord(base::JsonWriter& json, const StorageRecord& record) {
  json.put("mount", base::printable(record.mount));
  json.put("kind", base::wordOf(kKinds, record.kind));
  json.put("why_unknown", base::printable(record.why_unknown));
  json.list("sources", record.sources,
            [&](const std::string& name) { json.value(base::printable(name)); });
  json.put("seconds", record.seconds);
  putMoved(json, record.moved);
  if (record.own) json.object("own", [&] { putMoved(json, *record.own); });
  json.put("busiest", record.busiest);
  json.put("busy", record.busy);
  json.object("memory_begin", [&] { putMemory(json, record.memory_begin); });
  json.object("memory_end", [&] { putMemory(json, record.memory_end); });
  json.put("capacity_bytes", record.capacity_bytes);
  json.put("free_begin_bytes", record.free_begin_bytes);
  json.put("free_end_bytes", record.free_end_bytes);
  json.list("samples", record.samples, [&](const StorageSample& sample) {
    json.object([&] {
      json.put("end_s", sample.end_s);
      putMoved(json, sample.moved);
      json.put("busy", sample.busy);
      putMemory(json, sample.memory);
    });
  });
}

}  // namespace

std::string nodeJson(const std::string& host, const StorageRecord& record, const Moved& synced) {
  std::string text;
  base::JsonWriter json(text);
  json.object([&] {
    json.put("host", host);
    putRecord(json, record);
    json.object("sync", [&] { putMoved(json, synced); });
  });
  return text;
}

}  // namespace omnio::storage
