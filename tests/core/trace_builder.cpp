#include "tests/core/trace_builder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <stdexcept>

#include "core/wire/info.hpp"
#include "core/wire/notes.hpp"
#include "core/wire/ring.hpp"
#include "tests/core/encode_any.hpp"
#include "tests/core/temporary_directory.hpp"

namespace omnio::test {
namespace {

constexpr std::uint32_t kFileHandle = 1;

template <typename T>
std::string bytesOf(const T& block) {
  return {reinterpret_cast<const char*>(&block), sizeof block};
}

struct stat statOf(const std::filesystem::path& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) facts = {};
  return facts;
}

// `ring` with all that was not given filled in.
RingSpec complete(RingSpec ring) {
  const struct stat directory = statOf(ring.trace_directory);
  if (!ring.run) ring.run = runOf(ring.trace_directory);
  if (!ring.directory_device) ring.directory_device = directory.st_dev;
  if (!ring.directory_inode) ring.directory_inode = directory.st_ino;
  if (!ring.uid) ring.uid = geteuid();
  return ring;
}

}  // namespace

wire::RunId runOf(const std::filesystem::path& trace_directory) {
  const struct stat facts = statOf(trace_directory);
  struct statx more {};
  std::uint64_t birth_ns = 0;
  if (statx(AT_FDCWD, trace_directory.c_str(), 0, STATX_BTIME, &more) == 0 &&
      (more.stx_mask & STATX_BTIME) != 0) {
    birth_ns =
        static_cast<std::uint64_t>(more.stx_btime.tv_sec) * 1'000'000'000 + more.stx_btime.tv_nsec;
  }
  return wire::derivedRun(facts.st_dev, facts.st_ino, birth_ns);
}

std::string ringName(const wire::RunId& run, std::uint64_t token, unsigned number) {
  return fmt::format("omnio-{:016x}{:016x}-{:016x}-{}", run.high, run.low, token, number);
}

std::string ringName(const std::filesystem::path& trace_directory, std::uint64_t token,
                     unsigned number) {
  return ringName(runOf(trace_directory), token, number);
}

std::uint16_t numberOf(std::string_view symbol) {
  for (const calls::Row& row : calls::kTable) {
    if (row.number != 0 && row.name == symbol) return row.number;
  }
  throw std::invalid_argument("no call is named " + std::string(symbol));
}

EventSpec mpiEvent(std::string_view symbol, std::uint64_t start, std::uint64_t end,
                   Arguments arguments, std::vector<std::uint64_t> list) {
  EventSpec spec{.start = start, .end = end};
  const std::uint16_t number = numberOf(symbol);
  const calls::Row& row = *calls::find(number);
  for (const auto& [role, value] : arguments) {
    const int index = calls::indexOf(row, role);
    if (index < 0) throw std::invalid_argument(std::string(symbol) + " has no such argument");
    spec.arguments[static_cast<std::size_t>(index)] = value;
    if (role == calls::Role::kSize) spec.request = static_cast<std::uint64_t>(value);
  }
  const int pieces = wire::kRecordLayouts[number].pieces;
  if (pieces >= 0) {
    spec.arguments[static_cast<std::size_t>(pieces)] = static_cast<std::int64_t>(list.size());
    spec.pieces = std::move(list);
  }
  return spec;
}

ChunkBuilder::ChunkBuilder(std::uint64_t token, std::uint32_t log, std::uint32_t sequence,
                           std::uint64_t first_event, std::uint64_t base_ticks) {
  header.token = token;
  header.log = log;
  header.thread = log;
  header.tid = 5000 + log;
  header.sequence = sequence;
  header.first_event = first_event;
  header.base_ticks = base_ticks;
  header.base_monotonic_ns = base_ticks;
  state_.reset(base_ticks);
}

ChunkBuilder& ChunkBuilder::text(std::uint8_t slot, std::string_view absolute,
                                 std::uint32_t raw_offset) {
  std::array<char, wire::kMaxDefinition> head{};
  char* end = wire::encodeTextHeader(head.data(), slot, raw_offset, absolute.size());
  payload_.append(head.data(), end);
  payload_ += absolute;
  return *this;
}

ChunkBuilder& ChunkBuilder::handle(const wire::HandleDefinition& definition) {
  std::array<char, wire::kMaxDefinition> out{};
  payload_.append(out.data(), wire::encodeHandle(out.data(), definition, state_));
  return *this;
}

ChunkBuilder& ChunkBuilder::recorderWork(std::uint64_t ticks) {
  std::array<char, wire::kMaxRecorderWork> out{};
  payload_.append(out.data(), wire::encodeRecorderWork(out.data(), ticks));
  return *this;
}

ChunkBuilder& ChunkBuilder::thinkSample(std::uint64_t ticks, std::uint64_t cpu_ns) {
  std::array<char, wire::kMaxThinkSample> out{};
  payload_.append(out.data(), wire::encodeThinkSample(out.data(), ticks, cpu_ns));
  return *this;
}

ChunkBuilder& ChunkBuilder::stack(std::uint32_t number,
                                  const std::vector<wire::StackFrame>& frames) {
  std::array<char, wire::kMaxStackDefinition> out{};
  payload_.append(out.data(), wire::encodeStack(out.data(), number, frames.data(),
                                                static_cast<std::uint32_t>(frames.size())));
  return *this;
}

ChunkBuilder& ChunkBuilder::useStack(std::uint32_t number) {
  std::array<char, wire::kMaxStackUse> out{};
  payload_.append(out.data(), wire::encodeStackUse(out.data(), number, state_.stack));
  return *this;
}

ChunkBuilder& ChunkBuilder::event(std::uint16_t number, const EventSpec& event) {
  std::vector<char> out(wire::kMaxFixedRecord + wire::kMaxVarint * event.pieces.size());
  payload_.append(out.data(), encodeAny(number, out.data(), state_, event));
  ++header.event_count;
  return *this;
}

ChunkBuilder& ChunkBuilder::write(std::uint64_t start, std::uint64_t end, std::int64_t bytes) {
  if (!has_file_) {
    text(0, "/data/out.bin", 6);
    handle({.handle = kFileHandle, .description = kFileHandle, .fd = 3});
    has_file_ = true;
  }
  EventSpec spec{.start = start, .end = end};
  spec.arguments[0] = wire::handleSlot(kFileHandle);
  spec.arguments[2] = bytes;
  spec.request = static_cast<std::uint64_t>(bytes);
  spec.result = bytes;
  return event(numberOf("write"), spec);
}

std::string ChunkBuilder::bytes() const {
  wire::ChunkHeader stamped = header;
  stamped.payload_bytes = static_cast<std::uint32_t>(payload_.size());
  stamped.payload_check = wire::checksum(payload_.data(), payload_.size());
  wire::stamp(stamped);
  std::string bytes = bytesOf(stamped) + payload_;
  bytes.resize(wire::aligned(bytes.size()));
  return bytes;
}

std::string factsPayload(const std::map<std::string, std::string>& facts) {
  std::string payload;
  for (const auto& [key, value] : facts) {
    payload.append(key).push_back('\0');
    payload.append(value).push_back('\0');
  }
  return payload;
}

std::string infoChunk(std::uint64_t token, const std::map<std::string, std::string>& facts) {
  const std::string payload = factsPayload(facts);
  wire::ChunkHeader header{.kind = wire::ChunkKind::kInfo, .token = token};
  header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  header.payload_check = wire::checksum(payload.data(), payload.size());
  wire::stamp(header);
  std::string bytes = bytesOf(header) + payload;
  bytes.resize(wire::aligned(bytes.size()));
  return bytes;
}

std::map<std::string, std::string> usualFacts(int rank, int ranks) {
  return {{wire::info::kHost, "node1"},
          {wire::info::kBoot, "boot-of-a-test"},
          {wire::info::kRank, std::to_string(rank)},
          {wire::info::kRanks, std::to_string(ranks)},
          {wire::info::kRankSource, ranks > 1 ? "PMIX_RANK" : "none"}};
}

ContainerBuilder::ContainerBuilder(std::uint64_t token, std::uint32_t pid) {
  header.token = token;
  header.pid = pid;
  header.begin = {.ticks = 500, .monotonic_ns = 500, .realtime_ns = 1'000'000'500};
}

ContainerBuilder& ContainerBuilder::facts(const std::map<std::string, std::string>& facts) {
  body += infoChunk(header.token, facts);
  return *this;
}

ContainerBuilder& ContainerBuilder::chunk(const ChunkBuilder& chunk) {
  body += chunk.bytes();
  return *this;
}

ContainerBuilder& ContainerBuilder::ended(std::uint64_t written, std::uint64_t lost, int error) {
  account = wire::Account{.state = wire::AccountState::kEnded,
                          .error = static_cast<std::uint32_t>(error),
                          .events_written = written,
                          .events_lost = lost};
  return *this;
}

ContainerBuilder& ContainerBuilder::running(std::uint64_t written, std::uint64_t lost) {
  account = wire::Account{.events_written = written, .events_lost = lost};
  return *this;
}

std::string ContainerBuilder::bytes() const {
  std::string block(wire::kContainerHeaderBytes, '\0');
  wire::ContainerHeader stamped = header;
  wire::stamp(stamped);
  std::memcpy(block.data(), &stamped, sizeof stamped);
  if (account) {
    wire::Account stamped_account = *account;
    wire::stamp(stamped_account);
    std::memcpy(block.data() + wire::kAccountOffset, &stamped_account, sizeof stamped_account);
  }
  return block + body;
}

void ContainerBuilder::save(const std::filesystem::path& path) const { writeAll(path, bytes()); }

void saveRing(const std::filesystem::path& path, const RingSpec& ring) {
  const RingSpec spec = complete(ring);
  std::string data;
  // Headers in rings carry no checksums yet: what stands there instead has to be harmless.
  const auto add = [&data](const ChunkBuilder& chunk, bool open) {
    wire::ChunkHeader header = chunk.header;
    header.payload_bytes = open ? 0 : static_cast<std::uint32_t>(chunk.payload().size());
    header.event_count = open ? 0 : header.event_count;
    header.check = 0xDEAD;
    data.resize(wire::aligned(data.size()));
    data += bytesOf(header) + chunk.payload();
  };
  for (const auto& facts : spec.facts) {
    const std::string payload = factsPayload(facts);
    wire::ChunkHeader header{.kind = wire::ChunkKind::kInfo, .token = spec.token};
    header.payload_bytes = static_cast<std::uint32_t>(payload.size());
    data.resize(wire::aligned(data.size()));
    data += bytesOf(header) + payload;
  }
  for (const ChunkBuilder* chunk : spec.closed) add(*chunk, false);
  wire::Progress progress;
  progress.chunk = static_cast<std::uint32_t>(wire::aligned(data.size()));
  if (spec.open != nullptr) {
    progress.bytes = static_cast<std::uint32_t>(spec.open->payload().size());
    progress.events = spec.open->header.event_count;
    add(*spec.open, true);
  }
  data.resize(wire::kRingDataBytes, '\0');

  const auto header = std::make_unique<wire::RingHeader>();
  header->token = spec.token;
  header->pid = spec.pid;
  header->process_start = spec.process_start;
  header->pid_namespace = spec.pid_namespace;
  header->data_offset = wire::kRingHeaderBytes;
  header->data_bytes = wire::kRingDataBytes;
  header->has_note = spec.note.has_value();
  if (spec.note) header->note = *spec.note;
  header->progress = progress.pack();
  header->run = *spec.run;
  header->supervisor = spec.supervisor;
  header->directory_device = *spec.directory_device;
  header->directory_inode = *spec.directory_inode;
  header->uid = *spec.uid;
  spec.trace_directory.copy(header->trace_directory, wire::kMaxTraceDirectory - 1);
  std::string bytes = bytesOf(*header);
  bytes.resize(wire::kRingHeaderBytes);
  writeAll(path, bytes + data);
}

void saveLostNote(const std::filesystem::path& path, const RingSpec& ring,
                  const std::string& program) {
  const RingSpec spec = complete(ring);
  const wire::Account account = spec.note.value_or(wire::Account{});
  std::filesystem::create_symlink(
      fmt::format("{:x}.{:x}.{:x}.0.{:x}.{:x}.{:x}.{:x}.{:x}.{:x}.{:x}.{:x}.{:x}{}//{}",
                  wire::kLostNoteMagic, spec.pid, spec.process_start, *spec.uid,
                  *spec.directory_device, *spec.directory_inode, account.error, account.events_lost,
                  static_cast<std::uint32_t>(account.state), spec.supervisor.pid,
                  spec.supervisor.start, spec.supervisor.boot, spec.trace_directory, program),
      path);
}

}  // namespace omnio::test
