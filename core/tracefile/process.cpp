#include "core/tracefile/process.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>

#include "core/base/printable.hpp"
#include "core/tracefile/process_info.hpp"
#include "core/wire/info.hpp"

namespace omnio::tracefile {
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
  for (const RingContent& ring : process.rings) {
    if (ring.alive) return Life::kRunning;
  }
  if (!process.rings.empty()) return Life::kKilled;  // rings are of this node alone
  const auto start = process.info.number(wire::info::kProcessStart);
  const bool is_seen =
      node.sees(process.info.text(wire::info::kBoot), process.info.text(wire::info::kPidNamespace));
  if (!is_seen || !start) return Life::kUnknown;
  return isAlive(process.pid, *start) ? Life::kRunning : Life::kKilled;
}

// Of two chunks alike, the one with more events comes first; then the container's.
auto orderOf(const StoredChunk& chunk) {
  return std::make_tuple(chunk.header.log, chunk.header.sequence, ~chunk.header.event_count,
                         chunk.source);
}

bool alike(const StoredChunk& a, const StoredChunk& b) {
  return a.header.log == b.header.log && a.header.sequence == b.header.sequence;
}

}  // namespace

std::string Process::name() const {
  const std::string& host = info.text(wire::info::kHost);
  return host.empty() ? fmt::format("process {}", pid)
                      : fmt::format("process {} on host {}", pid, base::printable(host));
}

base::Result<ContainerStart> readContainerStart(const std::filesystem::path& path,
                                                const base::File& file) {
  std::array<char, wire::kContainerHeaderBytes> block{};
  const std::size_t read = file.readAt(0, block.data(), block.size());
  ContainerStart start;
  if (read == 0) {
    return base::Failure{base::Code::kUnwritten,
                         fmt::format("{}: empty: the process could not write its log",
                                     base::printable(path.native()))};
  }
  std::memcpy(&start.header, block.data(), sizeof start.header);
  if (read < sizeof start.header.magic || start.header.magic != wire::kContainerMagic) {
    return base::Failure{base::Code::kNotOurs, fmt::format("{}: byte 0: not an omnio trace file",
                                                           base::printable(path.native()))};
  }
  if (read < sizeof start.header) {
    return base::Failure{base::Code::kDamaged,
                         fmt::format("{}: byte {}: the file ends within its header of {} bytes",
                                     base::printable(path.native()), read, sizeof start.header)};
  }
  if (start.header.version != wire::kFormatVersion) {
    return base::Failure{
        base::Code::kOtherVersion,
        fmt::format("{}: byte 8: format version {}, but this omnio reads version {}",
                    base::printable(path.native()), start.header.version, wire::kFormatVersion)};
  }
  if (!wire::isWhole(start.header) || start.header.header_bytes != wire::kContainerHeaderBytes) {
    return base::Failure{
        base::Code::kDamaged,
        fmt::format("{}: byte 0: the file's header is damaged", base::printable(path.native()))};
  }
  wire::Account account;
  std::memcpy(&account, block.data() + wire::kAccountOffset, sizeof account);
  if (read >= wire::kAccountOffset + sizeof account && wire::isWhole(account)) {
    start.account = account;
  }
  return start;
}

base::Result<Process> openContainer(const std::filesystem::path& path) {
  base::Result<base::File> file = base::File::open(path);
  if (!file) return file.failure();
  const base::Result<ContainerStart> start = readContainerStart(path, *file);
  if (!start) return start.failure();
  Process process;
  process.container = path;
  process.container_identity = file->identity();
  process.token = start->header.token;
  process.pid = start->header.pid;
  process.clock_kind = start->header.clock;
  process.begin = start->header.begin;
  process.account = start->account;
  ContainerScan scan = scanContainer(*file, process.token, process.info);
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
  std::sort(chunks.begin(), chunks.end(),
            [](const StoredChunk& a, const StoredChunk& b) { return orderOf(a) < orderOf(b); });
  chunks.erase(std::unique(chunks.begin(), chunks.end(), alike), chunks.end());
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
