#include "core/tracefile/process.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <tuple>

#include "core/base/file.hpp"
#include "core/base/integers.hpp"
#include "core/base/printable.hpp"
#include "core/wire/checksum.hpp"
#include "core/wire/info.hpp"

namespace omnio::tracefile {

void ProcessInfo::take(std::string_view payload) {
  while (true) {
    const std::size_t key_end = payload.find('\0');
    if (key_end == std::string_view::npos) return;
    const std::size_t value_end = payload.find('\0', key_end + 1);
    if (value_end == std::string_view::npos) return;
    facts_[std::string(payload.substr(0, key_end))] =
        payload.substr(key_end + 1, value_end - key_end - 1);
    payload.remove_prefix(value_end + 1);
  }
}

const std::string& ProcessInfo::text(std::string_view key) const {
  static const std::string kNothing;
  const auto found = facts_.find(key);
  return found == facts_.end() ? kNothing : found->second;
}

std::optional<std::uint64_t> ProcessInfo::number(std::string_view key) const {
  return base::wholeNumber<std::uint64_t>(text(key));
}

std::optional<int> ProcessInfo::rank() const {
  const std::string& source = text(wire::info::kRankSource);
  if (source.empty() || source == "none") return {};
  const auto rank = base::wholeNumber<int>(text(wire::info::kRank));
  return rank >= 0 ? rank : std::nullopt;
}

int ProcessInfo::ranks() const {
  const auto ranks = base::wholeNumber<int>(text(wire::info::kRanks));
  return rank() && ranks >= 1 ? *ranks : 1;
}

namespace {

constexpr double kPsPerNs = 1000.0;
// More than any machine takes: a damaged fact must not eat a trace's time between calls.
constexpr std::uint64_t kHighestCostPs = 10'000'000;

double costNs(std::optional<std::uint64_t> ps) {
  return ps && *ps <= kHighestCostPs ? static_cast<double>(*ps) / kPsPerNs : 0.0;
}

}  // namespace

std::vector<std::string> ProcessInfo::command() const {
  std::vector<std::string> words;
  std::istringstream all(text(wire::info::kCommand));
  for (std::string word; std::getline(all, word, '\x01');) words.push_back(word);
  return words;
}

double ProcessInfo::eventCostNs() const { return costNs(number(wire::info::kEventCost)); }

double ProcessInfo::clockCostNs() const { return costNs(number(wire::info::kClockCost)); }

std::string thisBoot() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string id;
  in >> id;
  return id;
}

std::string thisHost() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

std::string thisPidNamespace() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/ns/pid", error).native();
}

std::uint64_t bootNumber(const std::string& boot) {
  return boot.empty() ? 0 : wire::checksum(boot.data(), boot.size());
}

std::uint64_t pidNamespaceNumber() {
  struct stat facts {};
  return ::stat("/proc/self/ns/pid", &facts) == 0 ? facts.st_ino : 0;
}

namespace {

struct Stat {
  std::string state;
  std::uint64_t start = 0;
};

std::optional<Stat> statOf(std::uint32_t pid) {
  // By plain reads: the process may go while it is looked at, which streams take for an accident.
  const base::Result<base::File> file = base::File::open(fmt::format("/proc/{}/stat", pid));
  if (!file) return {};
  std::string line(4096, '\0');
  line.resize(file->readAt(0, line.data(), line.size()));
  // The name in parentheses may hold spaces and parentheses itself.
  const std::size_t behind_name = line.rfind(')');
  if (behind_name == std::string::npos) return {};
  std::istringstream fields(line.substr(behind_name + 1));
  Stat stat;
  fields >> stat.state;
  constexpr int kStartField = 22;  // counted from 1, of which the number and the name are two
  std::string field;
  for (int i = 4; i <= kStartField; ++i) fields >> field;
  stat.start = std::strtoull(field.c_str(), nullptr, 10);
  return stat;
}

}  // namespace

std::optional<std::uint64_t> startOf(std::uint32_t pid) {
  const auto stat = statOf(pid);
  return stat ? std::optional(stat->start) : std::nullopt;
}

bool isAlive(std::uint32_t pid, std::uint64_t start) {
  const auto stat = statOf(pid);
  if (!stat || stat->start != start) return false;
  if (stat->state != "Z" && stat->state != "X") return true;
  // A main thread that ended with pthread_exit is a zombie while the others go on.
  std::error_code error;
  return entriesOf(fmt::format("/proc/{}/task", pid), error).size() > 1 && !error;
}

std::optional<bool> isAlive(std::uint32_t pid, std::uint64_t start, std::uint64_t pid_namespace) {
  static const std::uint64_t own = pidNamespaceNumber();
  if (pid_namespace != 0 && pid_namespace != own) return {};
  return isAlive(pid, start);
}

namespace {

Life lifeOf(const Process& process, const ThisNode& node) {
  const auto state = process.account ? process.account->state : wire::AccountState::kRunning;
  switch (state) {
    case wire::AccountState::kEnded:
      return Life::kEnded;
    case wire::AccountState::kReplaced:
      return Life::kReplaced;
    case wire::AccountState::kAborted:
      return Life::kAborted;
    case wire::AccountState::kCollected:
      return Life::kKilled;
    case wire::AccountState::kRunning:
      break;
  }
  if (std::ranges::any_of(process.rings, &RingContent::alive)) return Life::kRunning;
  if (!process.rings.empty()) return Life::kKilled;  // rings are of this node alone
  const auto start = process.info.number(wire::info::kProcessStart);
  const bool is_seen =
      node.sees(process.info.text(wire::info::kBoot), process.info.text(wire::info::kPidNamespace));
  if (!is_seen || !start) return Life::kUnknown;
  return isAlive(process.pid, *start) ? Life::kRunning : Life::kKilled;
}

// When two chunks are the same, the one with more events comes first; then the container's.
auto orderOf(const StoredChunk& chunk) {
  return std::make_tuple(chunk.header.log, chunk.header.sequence, ~chunk.header.event_count,
                         chunk.source);
}

}  // namespace

std::string Process::name() const {
  const std::string& host = info.text(wire::info::kHost);
  return host.empty() ? fmt::format("process {}", pid)
                      : fmt::format("process {} on host {}", pid, base::printable(host));
}

base::Result<Process> openContainer(const std::filesystem::path& path) {
  const base::Result<ContainerFile> start = openContainerFile(path);
  if (!start) return start.failure();
  Process process;
  process.container = path;
  process.container_identity = start->file.identity();
  process.token = start->header.token;
  process.pid = start->header.pid;
  process.clock_kind = start->header.clock;
  process.begin = start->header.begin;
  process.account = start->account;
  ContainerScan scan = scanContainer(start->file, process.token, process.info);
  process.chunks = std::move(scan.chunks);
  process.damage = std::move(scan.damage);
  return process;
}

void addRing(Process& process, RingContent ring) {
  const auto source = static_cast<std::uint32_t>(process.rings.size() + 1);
  for (const std::string_view facts : ring.facts) process.info.take(facts);
  for (StoredChunk chunk : ring.chunks) {
    chunk.source = source;
    process.chunks.push_back(chunk);
  }
  // Left by a process that could not bring its account into its container: newer than what is
  // there.
  if (ring.note) process.account = ring.note;
  process.rings.push_back(std::move(ring));
}

void settle(Process& process, const ThisNode& node) {
  auto& chunks = process.chunks;
  std::ranges::sort(chunks, {}, [](const StoredChunk& chunk) { return orderOf(chunk); });
  const auto repeats = std::ranges::unique(chunks, &StoredChunk::isSame);
  chunks.erase(repeats.begin(), repeats.end());
  chunks.shrink_to_fit();
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const wire::ChunkHeader& header = chunks[i].header;
    if (process.logs.empty() || process.logs.back().number != header.log) {
      process.logs.push_back({.number = header.log,
                              .thread = header.thread,
                              .tid = header.tid,
                              .lane = header.lane,
                              .first_chunk = i});
    }
    Log& log = process.logs.back();
    ++log.chunk_count;
    if (log.omp_thread_plus_1 == 0) log.omp_thread_plus_1 = header.omp_thread_plus_1;
  }
  process.life = lifeOf(process, node);
}

}  // namespace omnio::tracefile
