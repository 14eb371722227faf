#include "core/order/host_offsets.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/document_file.hpp"
#include "core/base/json_reader.hpp"
#include "core/base/json_writer.hpp"
#include "core/order/matched_events.hpp"
#include "core/order/offset_bounds.hpp"
#include "core/wire/checksum.hpp"

namespace omnio::order {

namespace {

using tracefile::ClockCorrection;
using tracefile::KnownClock;
using tracefile::KnownClocks;

using Clock = std::size_t;  // HostClock::clock

std::vector<Clock> clockOfProcesses(const tracefile::Trace& trace) {
  std::vector<Clock> clocks(trace.processes().size());
  for (const tracefile::HostClock& host : trace.clocks()) {
    for (const std::size_t process : host.processes) clocks[process] = host.clock;
  }
  return clocks;
}

// A call of all of a group whose end says that others have come. Where no byte goes, or each rank
// says for itself how many (MPI_Alltoallv), a library need not wait.
bool bindsGroup(const MpiOperation& operation) {
  using calls::CallId;
  if (operation.started.row == nullptr) return false;
  const CallId plain = operation.started.row->plain;
  if (plain == CallId::MPI_Barrier || plain == CallId::MPI_Ibarrier) return true;
  constexpr std::array kWithBytes = {CallId::MPI_Allreduce, CallId::MPI_Iallreduce,
                                     CallId::MPI_Bcast,     CallId::MPI_Ibcast,
                                     CallId::MPI_Reduce,    CallId::MPI_Ireduce};
  return operation.bytes > 0 &&
         std::find(kWithBytes.begin(), kWithBytes.end(), plain) != kWithBytes.end();
}

// A message or a call of a group says that the receiver ended after the sender began. The hosts
// have different clocks. Times are those that the trace has.
struct Bound {
  std::uint32_t sender = 0;  // the number of its clock
  std::uint32_t receiver = 0;
  std::int64_t sent_ns = 0;
  std::int64_t received_ns = 0;
};

// Hands on the bounds that messages and calls of a group say.
class OrderSink final : public MpiPictureSink {
 public:
  using Take = std::function<void(const Bound&)>;
  // `clocks` by process; it outlives the sink, as `groups` does.
  OrderSink(const mpi::MpiGroups& groups, const std::vector<Clock>& clocks, Take take)
      : groups_(groups), clocks_(clocks), take_(std::move(take)) {}

  void seen(std::uint64_t, const MpiEventRef&, const event::Event&) override {}
  void settled(const MatchedEvent& event) override {
    for (const EventPart& part : event.parts) {
      if (part.part != Part::kWhole && part.part != Part::kEnded) continue;
      const MpiOperation& operation = *part.operation;
      if (operation.match != Match::kMatched) continue;
      if (operation.kind == OperationKind::kReceive || operation.kind == OperationKind::kProbe ||
          operation.kind == OperationKind::kSyncSend) {
        if (operation.counterpart.row != nullptr) pass(operation.counterpart, event.event);
      } else if (operation.kind == OperationKind::kCollective && bindsGroup(operation)) {
        passGroup(operation, event.event);
      }
    }
  }

 private:
  void pass(const MpiEventRef& begun, const MpiEventRef& ended) {
    // Times that only damaged records have.
    constexpr std::int64_t kFarthestNs = std::int64_t{1} << 60;
    if (std::max(std::abs(begun.start_ns), std::abs(ended.end_ns)) > kFarthestNs) return;
    const Clock sender = clocks_[begun.process];
    const Clock receiver = clocks_[ended.process];
    if (sender == receiver) return;
    take_({.sender = static_cast<std::uint32_t>(sender),
           .receiver = static_cast<std::uint32_t>(receiver),
           .sent_ns = begun.start_ns,
           .received_ns = ended.end_ns});
  }

  // Between the first member's host and the others, which is enough: all of n hosts with all others
  // would be n times n bounds a call.
  void passGroup(const MpiOperation& operation, const MpiEventRef& ended) {
    const MpiCollective& call = *operation.collective;
    const mpi::RankGroup& group = groups_.group(operation.own->group);
    if (group.hasSides() || call.by_member.empty()) return;
    const bool from_root = operation.started.row->sync == calls::Sync::kFromRoot;
    const bool to_root = operation.started.row->sync == calls::Sync::kToRoot;
    if (from_root || to_root) {
      if (operation.root < 0 || (operation.root == operation.own->rank) != to_root) return;
    }
    const MpiCollective::Arrival* hub =
        call.of(from_root || to_root ? static_cast<std::size_t>(operation.root) : 0);
    if (hub == nullptr) return;
    const Clock hub_clock = clocks_[hub->event.process];
    if (from_root) {
      pass(hub->event, ended);
      return;
    }
    // The last to come of each host counts. Arrivals are by start.
    const Clock own = clocks_[ended.process];
    std::set<Clock> done = {own};
    for (auto at = call.arrivals.rbegin(); at != call.arrivals.rend(); ++at) {
      const Clock clock = clocks_[at->event.process];
      if (own != hub_clock && clock != hub_clock) continue;
      if (!done.insert(clock).second) continue;
      pass(at->event, ended);
      if (own != hub_clock) return;
    }
  }

  const mpi::MpiGroups& groups_;
  const std::vector<Clock>& clocks_;
  const Take take_;
};

using Pair = std::pair<Clock, Clock>;  // the lower one first

struct Run {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

// Adds a bound to those of its pair of hosts.
void add(const Bound& bound, Run run, std::size_t clock_count,
         std::map<Pair, OffsetBounds>& pairs) {
  // Memory is bounded: about a kilobyte for each of the windows of each of the pairs.
  constexpr std::size_t kMostPairs = 20'000;
  constexpr std::size_t kWindowsOfAll = 32'768;
  const Pair pair = std::minmax<Clock>(bound.sender, bound.receiver);
  auto found = pairs.find(pair);
  if (found == pairs.end()) {
    if (pairs.size() == kMostPairs) return;
    const std::size_t all_pairs = std::max<std::size_t>(clock_count * (clock_count - 1) / 2, 1);
    const auto windows = std::clamp<std::size_t>(kWindowsOfAll / all_pairs, 4, 1024);
    found = pairs.emplace(pair, OffsetBounds(run.begin_ns, run.end_ns, windows)).first;
  }
  const std::int64_t way_ns = bound.received_ns - bound.sent_ns;
  if (bound.sender < bound.receiver) {
    found->second.addMost(bound.sent_ns, way_ns);
  } else {
    found->second.addLeast(bound.received_ns, -way_ns);
  }
}

// Messages between hosts, by the times that the trace has after the lines have corrected it, for
// MoveForward.
struct EarlyMessages {
  // Clocks that are not `is_movable` stay where CLOCK_REALTIME puts them.
  explicit EarlyMessages(std::vector<bool> is_movable)
      : movable(std::move(is_movable)), early(movable.size()) {}

  void take(const Bound& bound) {
    if (!movable[bound.sender] || !movable[bound.receiver]) return;
    const auto way = [](const Bound& m) { return m.received_ns - m.sent_ns; };
    if (way(bound) < 0) ++early[bound.receiver];
    if (way(bound) > most_way_ns) return;
    messages.push_back(bound);
    constexpr std::size_t kMostMessages = 4'000'000;
    if (messages.size() < kMostMessages) return;
    // Memory is bounded. Only a send that moves by more than this would move these receives.
    const auto middle = messages.begin() + kMostMessages / 2;
    std::ranges::nth_element(messages, middle, {}, way);
    most_way_ns = way(*middle);
    messages.erase(middle, messages.end());
  }

  const std::vector<bool> movable;   // by clock
  std::vector<std::uint64_t> early;  // by clock: how many receives end before their send begins
  std::vector<Bound> messages;
  std::int64_t most_way_ns = std::numeric_limits<std::int64_t>::max();
};

// How far a host's times move forward: by a jump before each receive that would otherwise be early.
// After a jump the host runs a hundredth slower until the time is made up for.
class MoveForward {
 public:
  static constexpr std::int64_t kCatchUp = 100;
  // A jump is over so long before the receive: places of ticks are known to some nanoseconds.
  static constexpr std::int64_t kJumpNs = 1000;

  std::int64_t ofSend(std::int64_t at_ns) const { return at(at_ns, at_ns); }
  // The jump has to be over when the receive ends.
  std::int64_t ofReceive(std::int64_t at_ns) const { return at(at_ns, at_ns - kJumpNs); }

  // A receive moves by at least this, which is more than it moved.
  void raise(std::int64_t receive_ns, std::int64_t by_ns) {
    const std::int64_t at_ns = receive_ns - kJumpNs;
    by_ns += kJumpNs / kCatchUp;
    most_ns_ = std::max(most_ns_, by_ns);
    auto next = std::next(jumps_.insert_or_assign(at_ns, by_ns).first);
    while (next != jumps_.end() && next->second <= by_ns - (next->first - at_ns) / kCatchUp) {
      next = jumps_.erase(next);
    }
  }
  std::size_t jumps() const { return jumps_.size(); }
  std::int64_t mostNs() const { return most_ns_; }

  ClockCorrection correction() const {
    constexpr std::int64_t kFarNs = 1'000'000'000;
    std::vector<ClockCorrection::Point> points;
    const auto put = [&points](std::int64_t at_ns, std::int64_t by_ns) {
      points.push_back({.own_ns = at_ns, .reference_ns = at_ns + by_ns, .error_ns = by_ns});
    };
    put(jumps_.begin()->first - kFarNs, 0);
    for (auto jump = jumps_.begin(); jump != jumps_.end(); ++jump) {
      const auto [at_ns, by_ns] = *jump;
      const auto next = std::next(jump);
      put(at_ns, at(at_ns, at_ns - 1));
      put(at_ns + kJumpNs / 2, by_ns - kJumpNs / 2 / kCatchUp);
      const std::int64_t over_ns = at_ns + by_ns * kCatchUp;
      if (next == jumps_.end() || over_ns < next->first) put(over_ns, 0);
    }
    put(points.back().own_ns + kFarNs, 0);
    return ClockCorrection(std::move(points));
  }

 private:
  // By the last jump until `until_ns`: a jump goes beyond what is left of those before it.
  std::int64_t at(std::int64_t at_ns, std::int64_t until_ns) const {
    const auto after = jumps_.upper_bound(until_ns);
    if (after == jumps_.begin()) return 0;
    const auto& [jump_ns, by_ns] = *std::prev(after);
    return std::max<std::int64_t>(by_ns - (at_ns - jump_ns) / kCatchUp, 0);
  }

  std::map<std::int64_t, std::int64_t> jumps_;  // when, and how far in all
  std::int64_t most_ns_ = 0;
};

// The least that puts all receives behind their sends. A receive that moves may move later sends of
// its host past their receives. By the time at which both ends have come by the clocks that are
// wrong, the messages that this concerns come later as a rule, so that few rounds are needed; false
// where there seems to be no end to it: the trace is damaged. `more_ns` is what each jump goes
// beyond the need.
bool moveForward(const std::vector<Bound>& messages, std::int64_t more_ns,
                 std::vector<MoveForward>& hosts) {
  constexpr int kMostRounds = 64;
  constexpr std::int64_t kLeastWayNs = 8;  // so that rounding does not turn the order
  for (int round = 0; round < kMostRounds; ++round) {
    bool moved = false;
    for (const Bound& message : messages) {
      const std::int64_t need_ns = message.sent_ns + hosts[message.sender].ofSend(message.sent_ns) +
                                   kLeastWayNs - message.received_ns;
      MoveForward& receiver = hosts[message.receiver];
      if (need_ns <= receiver.ofReceive(message.received_ns)) continue;
      receiver.raise(message.received_ns, need_ns + more_ns);
      moved = true;
    }
    if (!moved) return true;
  }
  return false;
}

class Finder {
 public:
  explicit Finder(tracefile::Trace& trace)
      : trace_(trace), groups_(mpiGroupsOf(trace)), clock_of_process_(clockOfProcesses(trace)) {
    for (const tracefile::HostClock& host : trace.clocks()) {
      if (shift_.size() <= host.clock) shift_.resize(host.clock + 1, 0);
      shift_[host.clock] = host.offset_ns;
      if (host.method == tracefile::ClockMethod::kReference) reference_ = host.clock;
    }
    known_.resize(shift_.size());
    run_ = runOf();
  }

  KnownClocks find() {
    std::map<Pair, OffsetBounds> pairs;
    read([&](const Bound& bound) { add(bound, run_, shift_.size(), pairs); });
    settle(pairs);
    // Where CLOCK_REALTIME is far off, the run seemed longer than it was, and lines that go on
    // beyond its ends are less certain.
    run_ = runOf();
    settle(pairs);
    if (!isInOrder(pairs)) moveReceives();
    return std::move(known_);
  }

 private:
  // By the reference's clock, as far as the others are known.
  Run runOf() const {
    std::optional<Run> run;
    const auto take = [&run, this](std::size_t process, std::uint64_t monotonic_ns) {
      if (monotonic_ns == 0) return;
      const Clock clock = clock_of_process_[process];
      const std::int64_t ns =
          referenceNs(clock, static_cast<std::int64_t>(monotonic_ns) - shift_[clock]);
      if (!run) run = Run{ns, ns};
      run = Run{std::min(run->begin_ns, ns), std::max(run->end_ns, ns)};
    };
    for (std::size_t i = 0; i < trace_.processes().size(); ++i) {
      const tracefile::Process& process = *trace_.processes()[i];
      take(i, process.begin.monotonic_ns);
      if (process.account) take(i, process.account->end.monotonic_ns);
      for (const tracefile::StoredChunk& chunk : process.chunks) {
        take(i, chunk.header.base_monotonic_ns);
      }
    }
    return run.value_or(Run{});
  }

  void read(OrderSink::Take take) {
    OrderSink sink(groups_, clock_of_process_, std::move(take));
    event::PathTable paths;
    readMpiPicture(trace_, groups_, paths, sink);
  }

  // From one host's CLOCK_MONOTONIC to the other's.
  ClockCorrection between(const OffsetBounds::Fit& fit, Clock first, Clock second,
                          bool to_first) const {
    std::vector<ClockCorrection::Point> points;
    for (const OffsetBounds::Point& point : fit.points) {
      const std::int64_t first_ns = point.at_ns + shift_[first];
      const std::int64_t second_ns = point.at_ns + point.offset_ns + shift_[second];
      points.push_back({.own_ns = to_first ? second_ns : first_ns,
                        .reference_ns = to_first ? first_ns : second_ns,
                        .error_ns = point.error_ns});
    }
    return ClockCorrection(std::move(points));
  }

  ClockCorrection correctionOf(Clock clock) const {
    return known_[clock] ? known_[clock]->correction : ClockCorrection();
  }

  // The way with the least sum of errors, from the reference outwards (Dijkstra).
  void settle(const std::map<Pair, OffsetBounds>& pairs) {
    struct Edge {
      Pair pair;
      OffsetBounds::Fit fit;
    };
    std::vector<Edge> edges;
    for (const auto& [pair, bounds] : pairs) {
      if (auto fit = fitOf(pair, bounds)) edges.push_back({pair, std::move(*fit)});
    }
    known_.assign(known_.size(), std::nullopt);
    std::set<Clock> settled = {reference_};
    while (true) {
      const Edge* best = nullptr;
      std::int64_t least = 0;
      for (const Edge& edge : edges) {
        const bool has_first = settled.contains(edge.pair.first);
        if (has_first == settled.contains(edge.pair.second)) continue;
        const Clock parent = has_first ? edge.pair.first : edge.pair.second;
        const std::int64_t error = correctionOf(parent).errorNs() + edge.fit.errorNs();
        if (best == nullptr || error < least) {
          best = &edge;
          least = error;
        }
      }
      if (best == nullptr) return;
      const auto [first, second] = best->pair;
      const bool to_first = settled.contains(first);
      const Clock parent = to_first ? first : second;
      const Clock child = to_first ? second : first;
      known_[child] = KnownClock{
          .correction = between(best->fit, first, second, to_first).then(correctionOf(parent))};
      settled.insert(child);
    }
  }

  std::optional<OffsetBounds::Fit> fitOf(const Pair& pair, const OffsetBounds& bounds) const {
    const auto ofFirst = [&](std::int64_t reference_ns) {
      const std::optional<KnownClock>& first = known_[pair.first];
      if (!first) return reference_ns;
      return first->correction.inverse().referenceNs(reference_ns) - shift_[pair.first];
    };
    return bounds.fit(ofFirst(run_.begin_ns), ofFirst(run_.end_ns));
  }

  std::int64_t referenceNs(Clock clock, std::int64_t ns) const {
    return known_[clock] ? known_[clock]->correction.referenceNs(ns + shift_[clock]) : ns;
  }

  // Whether the bounds that were kept hold, and those that were not kept as well.
  bool isInOrder(const std::map<Pair, OffsetBounds>& pairs) const {
    const auto isKnown = [this](Clock clock) { return clock == reference_ || known_[clock]; };
    for (const auto& [pair, bounds] : pairs) {
      if (!isKnown(pair.first) || !isKnown(pair.second)) continue;
      const auto fit = fitOf(pair, bounds);
      if (fit && fit->pieces > 1) return false;
      for (const OffsetBounds::Bound& bound : bounds.bounds()) {
        const std::int64_t first = referenceNs(pair.first, bound.at_ns);
        const std::int64_t second = referenceNs(pair.second, bound.at_ns + bound.offset_ns);
        if (bound.is_most ? second < first : first < second) return false;
      }
    }
    return true;
  }

  std::vector<bool> movable() const {
    std::vector<bool> movable;
    for (const auto& known : known_) movable.push_back(known.has_value());
    // The reference moves as well where it receives what others send too late.
    movable[reference_] = true;
    return movable;
  }

  void moveReceives() {
    EarlyMessages before(movable());
    trace_.correctClocks(known_);
    read([&](const Bound& bound) { before.take(bound); });
    std::vector<Bound>& messages = before.messages;
    std::ranges::sort(messages, {},
                      [](const Bound& m) { return std::max(m.sent_ns, m.received_ns); });
    // Where many receives in a row move further, jumps that are a little longer have to do.
    constexpr std::size_t kMostJumps = 1024;
    std::vector<MoveForward> hosts;
    for (std::int64_t more_ns = 0;; more_ns = 4 * more_ns + 1000) {
      hosts.assign(known_.size(), {});
      if (!moveForward(messages, more_ns, hosts)) break;
      const auto is_few = [](const MoveForward& host) { return host.jumps() <= kMostJumps; };
      if (std::ranges::all_of(hosts, is_few)) break;
    }
    for (Clock clock = 0; clock < hosts.size(); ++clock) {
      if (hosts[clock].jumps() == 0) continue;
      if (!known_[clock]) known_[clock].emplace();
      known_[clock]->correction = known_[clock]->correction.then(hosts[clock].correction());
      known_[clock]->moved_most_ns = hosts[clock].mostNs();
    }
    for (const Bound& m : messages) {
      if (m.sent_ns + hosts[m.sender].ofSend(m.sent_ns) <= m.received_ns) continue;
      if (known_[m.receiver]) ++known_[m.receiver]->moved_receives;
    }
    EarlyMessages now(movable());
    trace_.correctClocks(known_);
    read([&](const Bound& bound) { now.take(bound); });
    for (Clock clock = 0; clock < known_.size(); ++clock) {
      if (known_[clock]) known_[clock]->early_receives = now.early[clock];
    }
  }

  tracefile::Trace& trace_;
  const mpi::MpiGroups groups_;
  const std::vector<Clock> clock_of_process_;
  std::vector<std::int64_t> shift_;  // by clock: ahead of the trace's time, by CLOCK_REALTIME
  Clock reference_ = 0;
  Run run_;
  KnownClocks known_;
};

bool isRunning(const tracefile::Trace& trace) {
  return std::any_of(trace.processes().begin(), trace.processes().end(), [](const auto& process) {
    return process->life == tracefile::Life::kRunning;
  });
}

}  // namespace

bool hasSeveralClocks(const tracefile::Trace& trace) {
  std::set<Clock> clocks;
  for (const tracefile::HostClock& host : trace.clocks()) {
    if (!host.ranks.empty()) clocks.insert(host.clock);
  }
  return clocks.size() > 1;
}

KnownClocks findClocks(tracefile::Trace& trace) {
  trace.correctClocks({});
  return Finder(trace).find();
}

void useClocks(tracefile::Trace& trace) {
  if (!hasSeveralClocks(trace)) return;
  std::optional<KnownClocks> known = readClocks(trace);
  if (!known) {
    known = findClocks(trace);
    if (!isRunning(trace)) writeClocks(trace, *known);
  }
  trace.correctClocks(*known);
}

base::Result<tracefile::Trace> openWithClocks(const std::filesystem::path& directory) {
  base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory);
  if (trace) useClocks(*trace);
  return trace;
}

namespace {

using base::JsonNode;
using base::JsonObject;
using base::JsonReader;

constexpr std::string_view kFormat = "omnio-clocks";
constexpr int kVersion = 1;

// Another one when a container is written on, replaced or missing, or a ring is read as well.
std::string stateOf(const tracefile::Trace& trace) {
  std::string text;
  const std::vector<Clock> clocks = clockOfProcesses(trace);
  for (std::size_t i = 0; i < trace.processes().size(); ++i) {
    const tracefile::Process& process = *trace.processes()[i];
    struct stat s {};
    if (process.container.empty() || stat(process.container.c_str(), &s) != 0) s = {};
    text += fmt::format("{} {} {} {} {} {} {} {}\n", process.container.filename().native(),
                        s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec, process.token,
                        process.chunks.size(), process.rings.size(), clocks[i]);
  }
  return fmt::format("{:016x}", wire::checksum(text.data(), text.size()));
}

std::optional<tracefile::KnownClock> clockOf(JsonReader& in, const JsonNode& node) {
  if (node.as<std::nullptr_t>() != nullptr) return {};
  JsonObject object(in, node);
  std::vector<tracefile::ClockCorrection::Point> points;
  for (const JsonNode& item : object.list("points")) {
    const auto* point = item.as<JsonNode::List>();
    if (point == nullptr || point->size() != 3) {
      in.refuse(item.place, "a point has to be a list of three numbers");
      return {};
    }
    const auto number = [&](std::size_t i) {
      return base::integerOf(in, "points", (*point)[i], {});
    };
    points.push_back({.own_ns = number(0), .reference_ns = number(1), .error_ns = number(2)});
  }
  tracefile::KnownClock clock;
  clock.moved_receives = object.natural("moved_receives");
  clock.moved_most_ns = static_cast<std::int64_t>(object.natural("moved_most_ns"));
  clock.early_receives = object.natural("early_receives");
  if (!in.failed()) clock.correction = tracefile::ClockCorrection(std::move(points));
  return clock;
}

}  // namespace

std::optional<tracefile::KnownClocks> readClocks(const tracefile::Trace& trace) {
  JsonReader in(trace.directory() / kClocksFile, base::kMostBytesHeld);
  const JsonNode root = in.value();
  if (in.failed()) return {};
  tracefile::KnownClocks known;
  {
    JsonObject object(in, root);
    object.format(kFormat, kVersion, "the clocks of a trace");
    if (object.text("containers") != stateOf(trace)) object.refuse("of other containers");
    for (const JsonNode& clock : object.list("clocks")) known.push_back(clockOf(in, clock));
  }
  if (!in.finish()) return {};
  return known;
}

void writeClocks(const tracefile::Trace& trace, const tracefile::KnownClocks& known) {
  const std::string text = base::jsonDocument(kFormat, kVersion, {}, [&](auto& json) {
    json.put("containers", stateOf(trace));
    json.list("clocks", known, [&](const auto& clock) {
      if (!clock) return json.null();
      json.object([&] {
        json.list("points", clock->correction.points(), [&](const auto& point) {
          json.value(std::array{point.own_ns, point.reference_ns, point.error_ns});
        });
        json.put("moved_receives", clock->moved_receives);
        json.put("moved_most_ns", clock->moved_most_ns);
        json.put("early_receives", clock->early_receives);
      });
    });
  });
  // It is found again next time where it cannot be kept.
  (void)base::writeDocument(trace.directory() / kClocksFile, text);
}

}  // namespace omnio::order
