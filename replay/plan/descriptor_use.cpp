#include "replay/plan/descriptor_use.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>

#include "core/base/printable.hpp"
#include "core/calls/table.hpp"

namespace omnio::replay {
namespace {

using calls::Role;

// The smallest block of devices: what O_DIRECT moves has to be a multiple of it, or of a larger
// one.
constexpr std::uint64_t kSmallestBlock = 512;
// That a process of a replay has beside those of the schedule, at the least: standard streams, MPI,
// the trees, the tracer's log; and the program of each thread.
constexpr std::uint64_t kOwnDescriptors = 16;

bool opensDirect(const model::ScheduleEvent& event) {
  if (event.step == model::Step::kPreopened) return (event.arguments[0] & O_DIRECT) != 0;
  if (event.step != model::Step::kCall || event.row->result != calls::Result::kNewFd ||
      calls::has(*event.row, Role::kFdNew)) {
    return false;
  }
  const int flags = calls::indexOf(*event.row, Role::kFlags);
  return flags >= 0 && (event.arguments[static_cast<std::size_t>(flags)] & O_DIRECT) != 0;
}

bool isUnaligned(const model::ScheduleEvent& event) {
  const bool moves =
      event.row->call_class == calls::Class::kRead || event.row->call_class == calls::Class::kWrite;
  if (!moves || event.failed || event.row->api != calls::Api::kPosix) return false;
  if (event.request % kSmallestBlock != 0) return true;
  return event.offset > 0 && static_cast<std::uint64_t>(event.offset) % kSmallestBlock != 0;
}

}  // namespace

void DescriptorUse::beginRank() {
  open_ = 0;
  direct_.clear();
}

void DescriptorUse::note(const model::ScheduleEvent& event, std::uint32_t file, std::int64_t times,
                         PlannedRank& rank, UnalignedRequests& unaligned) {
  if (event.new_fd != model::kNoDescriptor) {
    ++open_;
    // What a descriptor is copied from decides for its copy.
    if (opensDirect(event) || direct_.contains(event.fd)) direct_.insert(event.new_fd);
  }
  if (event.replaced != model::kNoDescriptor) --open_;
  if (event.step == model::Step::kCall && event.row->call_class == calls::Class::kClose &&
      event.fd != model::kNoDescriptor && event.new_fd == model::kNoDescriptor) {
    --open_;
  }
  open_ = std::max<std::int64_t>(open_, 0);
  rank.open_at_once = std::max(rank.open_at_once, static_cast<std::uint64_t>(open_));
  if (event.step != model::Step::kCall || direct_.empty() || !direct_.contains(event.fd) ||
      !isUnaligned(event)) {
    return;
  }
  if (unaligned.requests == 0) unaligned.first_file = file;
  unaligned.requests += static_cast<std::uint64_t>(times);
}

base::Result<void> checkDescriptorLimit(const Plan& plan, const Placement& placement,
                                        std::uint64_t limit) {
  const auto by_process = placement.ranksByProcess();
  for (std::size_t process = 0; process < by_process.size(); ++process) {
    std::uint64_t needed = 0;
    for (const std::uint32_t rank : by_process[process]) needed += plan.ranks[rank].open_at_once;
    if (needed == 0) continue;
    const std::uint64_t threads = static_cast<std::uint64_t>(
        std::ranges::count_if(plan.threads, [&](const PlannedThread& thread) {
          return std::ranges::count(by_process[process],
                                    static_cast<std::uint32_t>(thread.recorded.rank)) != 0;
        }));
    if (needed + threads + kOwnDescriptors <= limit) continue;
    return base::failure(
        base::Code::kInvalid,
        "process {} of the replay needs {} descriptors at once for the files of the schedule and "
        "{} of its own, and its limit is {}; raise the limit (ulimit -Hn), or use more processes",
        process, needed, threads + kOwnDescriptors, limit);
  }
  return {};
}

std::string unalignedSentence(const Plan& plan) {
  const UnalignedRequests& unaligned = plan.unaligned;
  if (unaligned.requests == 0) return {};
  return fmt::format(
      "{} of files opened with O_DIRECT {} not of whole blocks of {} bytes{}: a file system that "
      "wants whole blocks answers EINVAL, where the recorded one did not",
      base::counted(unaligned.requests, "request", "requests"),
      unaligned.requests == 1 ? "is" : "are", kSmallestBlock,
      unaligned.first_file == kNoFile
          ? ""
          : fmt::format(", the first in {}",
                        base::printable(plan.files[unaligned.first_file].location)));
}

}  // namespace omnio::replay
