// Synthetic traces for tests: chunks, containers and rings put together with the tracer's own
// encoder, so that what is read back was known before.
//
// Times are in ticks of the monotonic clock: a tick is a nanosecond, and what an event says is what
// a reader shows.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/wire/call_stack.hpp"
#include "core/wire/container.hpp"
#include "core/wire/definition.hpp"
#include "core/wire/record.hpp"
#include "core/wire/run.hpp"

namespace omnio::test {

// The token of processes in tests; its value does not matter.
inline constexpr std::uint64_t kToken = 0x1234;
inline constexpr std::int64_t kSecond = 1000000000;  // as times are kept: in ns

// The arguments stand by their index in the row: texts as slot plus 1, handles as slots.
struct EventSpec {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::array<std::int64_t, calls::kMaxArguments> arguments{};
  std::uint64_t request = 0;
  std::int64_t result = 0;
  bool failed = false;
  unsigned depth = 0;
  std::vector<std::uint64_t> pieces{};
};

// Number of a call by its symbol; the test fails to build its trace when there is none.
std::uint16_t numberOf(std::string_view symbol);

using Arguments = std::initializer_list<std::pair<calls::Role, std::int64_t>>;

// An MPI call with these arguments; `list` is what kBegun, kDone or kMembers hold.
EventSpec mpiEvent(std::string_view symbol, std::uint64_t start, std::uint64_t end,
                   Arguments arguments, std::vector<std::uint64_t> list = {});

class ChunkBuilder {
 public:
  // Chunks of one log number their events on: `first_event` is how many came before.
  ChunkBuilder(std::uint64_t token, std::uint32_t log, std::uint32_t sequence,
               std::uint64_t first_event, std::uint64_t base_ticks = 1000);

  ChunkBuilder& text(std::uint8_t slot, std::string_view absolute, std::uint32_t raw_offset = 0);
  ChunkBuilder& handle(const wire::HandleDefinition& handle);
  // Behind the event before.
  ChunkBuilder& recorderWork(std::uint64_t ticks);
  ChunkBuilder& thinkSample(std::uint64_t ticks, std::uint64_t cpu_ns);
  ChunkBuilder& stack(std::uint32_t number, const std::vector<wire::StackFrame>& frames);
  // Of the event that follows.
  ChunkBuilder& useStack(std::uint32_t number);
  ChunkBuilder& event(std::uint16_t number, const EventSpec& event);
  // A write of `bytes` on handle 1, which with its path is defined on first use.
  ChunkBuilder& write(std::uint64_t start, std::uint64_t end, std::int64_t bytes);

  wire::ChunkHeader header;  // to be changed by tests that need it different
  const std::string& payload() const { return payload_; }
  // Header and payload, stamped, padded to where the next chunk may begin.
  std::string bytes() const;

 private:
  std::string payload_;
  wire::Prediction state_;
  bool has_file_ = false;
};

// Facts as the payload of an info chunk, and as a chunk.
std::string factsPayload(const std::map<std::string, std::string>& facts);
std::string infoChunk(std::uint64_t token, const std::map<std::string, std::string>& facts);

// The facts that a process tells of itself; by default of a job with one rank.
std::map<std::string, std::string> usualFacts(int rank = 0, int ranks = 1);

class ContainerBuilder {
 public:
  explicit ContainerBuilder(std::uint64_t token, std::uint32_t pid = 4711);

  wire::ContainerHeader header;
  std::optional<wire::Account> account;
  std::string body;  // what follows the header block

  ContainerBuilder& facts(const std::map<std::string, std::string>& facts);
  ContainerBuilder& chunk(const ChunkBuilder& chunk);
  // The account of a process that ended, with this many events written and lost.
  ContainerBuilder& ended(std::uint64_t written, std::uint64_t lost = 0, int error = 0);
  ContainerBuilder& running(std::uint64_t written = 0, std::uint64_t lost = 0);

  std::string bytes() const;
  void save(const std::filesystem::path& path) const;
};

// The run of a trace directory without a claim, as the tracer derives it.
wire::RunId runOf(const std::filesystem::path& trace_directory);

// File name of a ring: of that run, or of that trace directory's run.
std::string ringName(const wire::RunId& run, std::uint64_t token, unsigned number = 0);
std::string ringName(const std::filesystem::path& trace_directory, std::uint64_t token,
                     unsigned number = 0);

struct RingSpec {
  std::uint64_t token = 0;
  std::uint32_t pid = 0;
  std::uint64_t process_start = 1;  // no process started that early
  std::uint64_t pid_namespace = 0;  // not known
  std::string trace_directory{};
  std::optional<wire::Account> note{};
  std::vector<std::map<std::string, std::string>> facts{};  // an info chunk each
  std::vector<const ChunkBuilder*> closed{};
  const ChunkBuilder* open = nullptr;
  wire::Supervisor supervisor{};
  // Where not given: as the tracer finds them for the trace directory and this process.
  std::optional<wire::RunId> run{};
  std::optional<std::uint64_t> directory_device{};
  std::optional<std::uint64_t> directory_inode{};
  std::optional<std::uint32_t> uid{};
};

void saveRing(const std::filesystem::path& path, const RingSpec& ring);

// A symbolic link in place of a ring (core/wire/notes.hpp), with the identity that `ring` has.
void saveLostNote(const std::filesystem::path& path, const RingSpec& ring,
                  const std::string& program);

// A process that is gone: a pid that cannot exist.
inline constexpr std::uint32_t kDeadPid = 0x7FFFFFFF;

}  // namespace omnio::test
