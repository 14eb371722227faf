#include "replay/plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/document_file.hpp"
#include "core/base/file.hpp"
#include "core/base/printable.hpp"
#include "replay/plan/bytes.hpp"
#include "replay/plan/packed.hpp"

namespace omnio::replay {
namespace {

constexpr std::string_view kMagic = "omnio replay plan 18\n";

}  // namespace

template <typename Io>
void parts(Io& io, PartsOf<PlannedFile> auto& file) {
  io.items(file.location, file.source, file.origin, file.tree, file.role, file.exists,
           file.made_by_events, file.lines, file.size, file.holes, file.written_end,
           file.added_bytes, file.may_shrink, file.line_ends, file.delimiters, file.users);
}

template <typename Io>
void parts(Io& io, PartsOf<LoopWait> auto& wait) {
  io.items(wait.step, wait.each, wait.time);
}

template <typename Io>
void parts(Io& io, PartsOf<Wait> auto& wait) {
  io.items(wait.recorded_end_ns, wait.least_ns, wait.flags, wait.work, wait.in_mpi, wait.passes,
           wait.loop, wait.least_time);
}

template <typename Io>
void parts(Io& io, PartsOf<PlannedThread> auto& thread) {
  auto& recorded = thread.recorded;
  io.items(recorded.rank, recorded.thread, recorded.pid, recorded.tid, recorded.host,
           recorded.recorder_ns, recorded.computing, thread.operations, thread.first_start_ns,
           thread.last_end_ns, thread.read_request, thread.read_moved, thread.write_request,
           thread.write_failed, thread.raises);
}

template <typename Io>
void parts(Io& io, PartsOf<PlannedBase> auto& base) {
  io.items(base.tree, base.location);
}

template <typename Io>
void parts(Io& io, PartsOf<PlannedRank> auto& rank) {
  io.items(rank.slots, rank.made, rank.preopened, rank.bases);
}

template <typename Io>
void parts(Io& io, PartsOf<model::MpiTables> auto& mpi) {
  io.items(mpi.groups, mpi.types);
}

template <typename Io>
void parts(Io& io, PartsOf<model::SizeScale> auto& scale) {
  io.items(scale.pattern, scale.factor);
}

template <typename Io>
void parts(Io& io, PartsOf<FlagWaiters> auto& waiters) {
  io.items(waiters.ranks_, waiters.ends_, waiters.loop_flags_);
}

template <typename Io>
void parts(Io& io, PartsOf<Plan> auto& plan) {
  auto& global = plan.global;
  io.items(global.timing, global.write_overwrite, global.size_scale, global.size_scales,
           global.keep_below, global.time_scale, global.ranks, global.source, global.source_whole,
           global.source_events_missing, global.command, global.left_out, global.in_memory.files,
           global.in_memory.bytes, global.mpi, plan.schedule, plan.schedule_digest, plan.files,
           plan.ranks, plan.threads, plan.phase_work, plan.flag_waiters);
}

FlagWaiters::FlagWaiters(const std::vector<std::vector<std::uint32_t>>& by_flag,
                         const std::vector<std::vector<std::uint32_t>>& by_loop_flag)
    : loop_flags_(by_loop_flag.size()) {
  ends_.reserve(by_flag.size() + by_loop_flag.size());
  for (const auto* list : {&by_flag, &by_loop_flag}) {
    for (const std::vector<std::uint32_t>& ranks : *list) {
      ranks_.insert(ranks_.end(), ranks.begin(), ranks.end());
      ends_.push_back(ranks_.size());
    }
  }
}

std::span<const std::uint32_t> FlagWaiters::of(std::uint32_t flag) const {
  const std::size_t place = placeOf(flag);
  const std::uint64_t begin = place == 0 ? 0 : ends_[place - 1];
  return std::span(ranks_).subspan(begin, ends_[place] - begin);
}

void LargestRequests::include(const LargestRequests& other) {
  read_request = std::max(read_request, other.read_request);
  read_moved = std::max(read_moved, other.read_moved);
  write_request = std::max(write_request, other.write_request);
  write_failed = std::max(write_failed, other.write_failed);
}

bool LargestRequests::covers(const LargestRequests& other) const {
  return read_request >= other.read_request && read_moved >= other.read_moved &&
         write_request >= other.write_request && write_failed >= other.write_failed;
}

std::filesystem::path programName(const std::filesystem::path& directory, std::size_t thread) {
  return directory / fmt::format("thread.{}", thread);
}

// The magic, how many bytes all but the waits take, these bytes, and the waits of one thread after
// the other. All are packed.
base::Result<void> writePlan(const std::filesystem::path& path, const Plan& plan) {
  std::string waits;
  std::vector<std::uint64_t> wait_ends;  // by thread
  for (const PlannedThread& thread : plan.threads) {
    ByteWriter of_thread;
    of_thread.items(thread.waits);
    if (!thread.waits.empty()) waits += packed(of_thread.bytes);
    wait_ends.push_back(waits.size());
  }
  ByteWriter shared;
  shared.items(plan, wait_ends);
  const std::string shared_bytes = packed(shared.bytes);
  ByteWriter file;
  file.bytes = kMagic;
  file.items(std::uint64_t{shared_bytes.size()});
  file.bytes += shared_bytes;
  file.bytes += waits;
  return base::writeDocument(path, file.bytes);
}

base::Result<Plan> readPlan(const std::filesystem::path& path,
                            const std::function<bool(const Plan&, std::uint32_t)>& is_own) {
  const base::Result<base::File> file = base::File::open(path);
  if (!file) return file.failure();
  const auto damaged = [&path] {
    return base::failure(base::Code::kDamaged, "{}: cut off or damaged",
                         base::printable(path.native()));
  };
  std::uint64_t at = 0;
  const auto take = [&](std::uint64_t bytes) {
    std::string text(std::min(bytes, file->size() - std::min(at, file->size())), '\0');
    text.resize(file->readAt(at, text.data(), text.size()));
    at += text.size();
    return text;
  };
  if (take(kMagic.size()) != kMagic) {
    return base::failure(base::Code::kNotOurs, "{}: no plan of this replayer",
                         base::printable(path.native()));
  }
  Plan plan;
  std::uint64_t shared_bytes = 0;
  std::vector<std::uint64_t> wait_ends;
  {
    const std::string count = take(sizeof shared_bytes);
    ByteReader(count).items(shared_bytes);
    const auto shared = unpacked(take(shared_bytes));
    if (!shared) return damaged();
    ByteReader reader(*shared);
    reader.items(plan, wait_ends);
    if (!reader.isDone() || wait_ends.size() != plan.threads.size()) return damaged();
  }
  const std::uint64_t waits_begin = at;
  if (file->size() - waits_begin != (wait_ends.empty() ? 0 : wait_ends.back())) return damaged();
  std::uint64_t begin = 0;
  for (std::size_t i = 0; i < wait_ends.size(); begin = wait_ends[i++]) {
    PlannedThread& thread = plan.threads[i];
    if (!is_own(plan, static_cast<std::uint32_t>(thread.recorded.rank))) continue;
    if (wait_ends[i] == begin) continue;
    at = waits_begin + begin;
    const auto waits = unpacked(take(wait_ends[i] - begin));
    if (!waits) return damaged();
    ByteReader reader(*waits);
    reader.items(thread.waits);
    if (!reader.isDone()) return damaged();
  }
  return plan;
}

namespace {

using calls::Role;

constexpr std::uint64_t kOffsetLimit = std::uint64_t{1} << 55;  // what fits beside the byte

bool isStreamRead(const calls::Row& row) {
  return row.call_class == calls::Class::kRead && row.api == calls::Api::kStdio;
}

// A byte in place of one that must not stand there: any that is allowed. Where lines end with each
// of them, it stays.
char substitute(char byte, const std::string& delimiters) {
  char other = static_cast<char>(byte ^ 0x55);
  for (int tries = 0; tries < 256; ++tries) {
    if (other != '\0' && delimiters.find(other) == std::string::npos) return other;
    other = static_cast<char>(other + 1);
  }
  return byte;
}

}  // namespace

std::int64_t LineEnds::writtenBytes(const model::ScheduleEvent& event) {
  const bool tells =
      event.row->result == calls::Result::kBytes || event.row->result == calls::Result::kCount;
  return tells ? event.result : static_cast<std::int64_t>(event.request);
}

std::array<std::int64_t, calls::kMaxArguments> LineEnds::argumentsOf(
    const model::ScheduleEvent& event) {
  auto arguments = event.arguments;
  if (event.step != model::Step::kCall || event.failed || event.offset != model::kUnknownOffset ||
      !calls::does(*event.row, calls::Effect::kReadsLine)) {
    return arguments;
  }
  const int room = calls::indexOf(*event.row, Role::kSize);
  if (room >= 0 && event.result > 0) arguments[static_cast<std::size_t>(room)] = event.result + 1;
  return arguments;
}

void LineEnds::note(const model::ScheduleEvent& event, std::uint32_t number, PlannedFile& file) {
  if (event.failed || event.offset < 0) return;
  const auto offset = static_cast<std::uint64_t>(event.offset);
  if (event.row->call_class == calls::Class::kWrite) {
    const auto bytes = static_cast<std::uint64_t>(writtenBytes(event));
    std::uint64_t end = 0;
    if (!__builtin_add_overflow(offset, bytes, &end)) {
      file.written_end = std::max(file.written_end, end);
    }
    return;
  }
  if (!file.lines || !isStreamRead(*event.row) || event.result <= 0) return;
  if (!calls::does(*event.row, calls::Effect::kReadsLine)) return;
  const bool is_line = event.row->result == calls::Result::kLine;
  if (event.at_least) return;  // it came to the end of the file
  // fgets also ends when its room is full; whether a newline came last is not known then.
  if (is_line && event.result >= model::argumentOf(event, Role::kSize) - 1) return;
  const auto delimiter = static_cast<char>(model::argumentOf(event, Role::kChar, '\n'));
  const std::uint64_t end = offset + static_cast<std::uint64_t>(event.result) - 1;
  if (end >= kOffsetLimit) return;
  if (ends_.size() <= number) ends_.resize(number + std::size_t{1});
  ends_[number].push_back(end << 8 | static_cast<unsigned char>(delimiter));
  if (file.delimiters.find(delimiter) == std::string::npos) file.delimiters += delimiter;
}

void LineEnds::moveInto(std::vector<PlannedFile>& files) {
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    std::sort(ends_[i].begin(), ends_[i].end());
    ends_[i].erase(std::unique(ends_[i].begin(), ends_[i].end()), ends_[i].end());
    ends_[i].shrink_to_fit();
    files[i].line_ends = std::move(ends_[i]);
  }
  ends_.clear();
  for (PlannedFile& file : files) {
    if (file.lines && file.delimiters.empty()) file.delimiters = "\n";
  }
}

void setLineEnds(const PlannedFile& file, std::uint64_t offset, std::span<char> content) {
  // By table: there may be gigabytes of it.
  std::array<char, 256> instead{};
  for (int i = 0; i < 256; ++i) {
    const auto byte = static_cast<char>(i);
    const bool stays = byte != '\0' && file.delimiters.find(byte) == std::string::npos;
    instead[static_cast<std::size_t>(i)] = stays ? byte : substitute(byte, file.delimiters);
  }
  for (char& byte : content) byte = instead[static_cast<unsigned char>(byte)];
  if (offset >= kOffsetLimit) return;
  auto end = std::lower_bound(file.line_ends.begin(), file.line_ends.end(), offset << 8);
  for (; end != file.line_ends.end() && (*end >> 8) < offset + content.size(); ++end) {
    content[(*end >> 8) - offset] = static_cast<char>(*end & 0xFF);
  }
}

}  // namespace omnio::replay
