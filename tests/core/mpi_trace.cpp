#include "tests/core/mpi_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>

#include "core/tracefile/trace.hpp"
#include "core/wire/info.hpp"
#include "core/wire/record.hpp"
#include "tests/core/temporary_directory.hpp"

namespace omnio::test {
namespace {

using calls::Role;

constexpr std::uint64_t kFirstToken = 1000;
constexpr std::uint32_t kLogsOfAProcess = 64;

std::string nameOf(const order::MpiEventRef& event) {
  return fmt::format("{}.{}#{}", event.process, event.thread, event.number);
}

// The trace's processes stand by rank, so without untraced ones a process's place is its rank.
class Lines final : public order::MpiPictureSink {
 public:
  explicit Lines(const tracefile::Trace& trace) : trace_(trace) {}

  void seen(std::uint64_t id, const order::MpiEventRef& ref, const event::Event&) override {
    if (id != seen_) throw std::logic_error("ids do not count up");
    if (ref.start_ns < last_start_) throw std::logic_error("not by start");
    last_start_ = ref.start_ns;
    ++seen_;
  }

  void settled(const order::MatchedEvent& event) override {
    std::string_view call = event.event.row->name;
    if (call.starts_with("MPI_")) call.remove_prefix(4);
    std::string line = fmt::format("{} {}", name(event.event), call);
    if (!event.matched()) {
      for (const order::EventPart& part : event.parts) {
        if (order::isUnmatched(part.operation->match)) {
          line += fmt::format(" [{}]", order::wordsOf(part.operation->match));
        }
      }
    }
    if (event.waited_ns) {
      line += fmt::format(" waited={} own={}", *event.waited_ns, *event.own_ns());
    } else {
      line += " waited=?";
    }
    if (event.late != mpi::kNoProcess) line += fmt::format(" late={}", rank(event.late));
    std::string with;
    for (const order::EventPart& part : event.parts) {
      const order::MpiOperation& operation = *part.operation;
      if (operation.collective != nullptr) {
        for (const auto& arrival : operation.collective->arrivals) {
          if (arrival.event.process != event.event.process) with += " " + name(arrival.event);
        }
      } else if (operation.counterpart.row != nullptr) {
        with += " " + name(operation.counterpart);
      }
    }
    if (!with.empty()) line += " with" + with;
    const auto key = std::tuple(rank(event.event.process), event.event.thread, event.event.number);
    if (!lines_.emplace(key, line).second) throw std::logic_error("settled twice: " + line);
  }

  std::vector<std::string> all() const {
    std::vector<std::string> lines;
    for (const auto& [key, line] : lines_) lines.push_back(line);
    return lines;
  }
  std::uint64_t seenCount() const { return seen_; }

 private:
  int rank(mpi::ProcessIndex process) const {
    return trace_.rankOf(*trace_.processes()[process]).value_or(-1);
  }
  std::string name(const order::MpiEventRef& event) const {
    order::MpiEventRef by_rank = event;
    by_rank.process = static_cast<mpi::ProcessIndex>(rank(event.process));
    return nameOf(by_rank);
  }

  const tracefile::Trace& trace_;
  std::map<std::tuple<int, std::uint32_t, std::uint64_t>, std::string> lines_;
  std::uint64_t seen_ = 0;
  std::int64_t last_start_ = 0;
};

}  // namespace

MpiTrace::MpiTrace(int ranks, std::vector<int> untraced)
    : ranks_(ranks), untraced_(std::move(untraced)) {
  std::vector<int> all;
  for (int rank = 0; rank < ranks; ++rank) {
    all.push_back(rank);
    facts_[rank] = usualFacts(rank, std::max(ranks, 2));
    facts_[rank][wire::info::kRankSource] = "MPI";
  }
  group(1, "a0", all);
}

void MpiTrace::fact(int rank, const std::string& key, const std::string& value) {
  facts_[rank][key] = value;
}

void MpiTrace::onNode(int rank, const std::string& boot) { fact(rank, wire::info::kBoot, boot); }

void MpiTrace::group(int number, std::string_view id, std::vector<int> ranks,
                     std::string_view kind) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    fact(ranks[i], wire::info::kGroupPrefix + std::to_string(number),
         fmt::format("{} {} {} 0 0 {}", id, i, ranks.size(), kind));
  }
}

void MpiTrace::intercommunicator(int number, std::string_view id, std::vector<int> side_0,
                                 std::vector<int> side_1) {
  for (const int side : {0, 1}) {
    const std::vector<int>& own = side == 0 ? side_0 : side_1;
    const std::vector<int>& remote = side == 0 ? side_1 : side_0;
    for (std::size_t i = 0; i < own.size(); ++i) {
      fact(own[i], wire::info::kGroupPrefix + std::to_string(number),
           fmt::format("{} {} {} {} {} inter", id, i, own.size(), side, remote.size()));
    }
  }
}

void MpiTrace::add(Place place, std::string_view call, EventSpec spec, Arguments arguments,
                   std::vector<std::uint64_t> list) {
  const bool as_it_is = call.starts_with("(") || call.starts_with("PMPI_");
  const std::string symbol = (as_it_is ? "" : "MPI_") + std::string(call);
  const std::uint16_t number = numberOf(symbol);
  EventSpec event = mpiEvent(symbol, spec.start, spec.end, arguments, std::move(list));
  event.result = spec.result;
  event.failed = spec.failed;
  event.depth = depth_;
  const auto token = kFirstToken + static_cast<std::uint64_t>(place.rank);
  const auto log = static_cast<std::uint32_t>(place.thread);
  auto chunk = chunks_.find({place.rank, place.thread});
  if (chunk == chunks_.end()) {
    chunk = chunks_.emplace(std::pair(place.rank, place.thread), ChunkBuilder(token, log, 0, 0, 1))
                .first;
  }
  chunk->second.event(number, event);
}

void MpiTrace::call(Place place, std::string_view call, std::uint64_t start, std::uint64_t end,
                    Arguments arguments, std::vector<std::uint64_t> list) {
  add(place, call, {.start = start, .end = end}, arguments, std::move(list));
}

void MpiTrace::failed(Place place, std::string_view call, std::uint64_t start, std::uint64_t end,
                      Arguments arguments) {
  add(place, call, {.start = start, .end = end, .result = 13, .failed = true}, arguments, {});
}

void MpiTrace::send(Place from, int to, int seq, std::uint64_t start, std::uint64_t end, int tag,
                    int comm) {
  call(from, "Send", start, end,
       {{Role::kComm, comm},
        {Role::kPeer, to},
        {Role::kTag, tag},
        {Role::kSize, 8},
        {Role::kSeq, seq}});
}

void MpiTrace::receive(Place at, int from, int seq, std::uint64_t start, std::uint64_t end, int tag,
                       int comm) {
  call(at, "Recv", start, end,
       {{Role::kComm, comm},
        {Role::kPeer, from},
        {Role::kTag, tag},
        {Role::kGot, 8},
        {Role::kSeq, seq}});
}

void MpiTrace::barrier(Place place, int seq, std::uint64_t start, std::uint64_t end, int comm) {
  call(place, "Barrier", start, end, {{Role::kComm, comm}, {Role::kSeq, seq}});
}

void MpiTrace::save(const std::string& directory) const {
  for (int rank = 0; rank < ranks_; ++rank) {
    if (std::find(untraced_.begin(), untraced_.end(), rank) != untraced_.end()) continue;
    ContainerBuilder container(kFirstToken + static_cast<std::uint64_t>(rank),
                               static_cast<std::uint32_t>(100 + rank));
    container.facts(facts_.at(rank));
    std::uint64_t events = 0;
    for (int thread = 0; thread < static_cast<int>(kLogsOfAProcess); ++thread) {
      const auto chunk = chunks_.find({rank, thread});
      if (chunk == chunks_.end()) continue;
      container.chunk(chunk->second);
      events += chunk->second.header.event_count;
    }
    container.ended(events);
    if (const auto end = ends_.find(rank); end != ends_.end()) {
      container.account->end = {.ticks = end->second, .monotonic_ns = end->second};
    }
    container.save(fmt::format("{}/node1.{}.0.omnio", directory, 100 + rank));
  }
}

std::vector<std::string> MpiTrace::picture(order::MpiMatcher::Limits limits) {
  const TemporaryDirectory directory;
  save(directory.path());
  base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory.path());
  if (!trace) throw std::runtime_error(trace.failure().sentence);
  Lines lines(*trace);
  event::PathTable paths;
  const mpi::MpiGroups groups = order::mpiGroupsOf(*trace);
  counts = order::readMpiPicture(*trace, groups, paths, lines, limits).counts;
  seen = lines.seenCount();
  return lines.all();
}

}  // namespace omnio::test
