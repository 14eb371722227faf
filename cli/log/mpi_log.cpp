#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/log/log.hpp"
#include "cli/output.hpp"
#include "core/base/file.hpp"
#include "core/base/json_reader.hpp"
#include "core/base/json_writer.hpp"
#include "core/calls/role.hpp"
#include "core/event/event_text.hpp"
#include "core/mpi/groups.hpp"
#include "core/order/matched_event.hpp"
#include "core/order/matched_events.hpp"

namespace omnio::cli {
namespace {

using base::JsonWriter;

// Names in the text and JSON forms of matched events: ranks of MPI_COMM_WORLD in place of ranks in
// groups, and words in place of enumerators.
class MpiNames {
 public:
  // Both outlive it.
  MpiNames(const tracefile::Trace& trace, const mpi::MpiGroups& groups)
      : trace_(trace), groups_(groups) {
    for (const auto& process : trace.processes()) ranks_.push_back(trace.rankOf(*process));
  }

  const mpi::MpiGroups& groups() const { return groups_; }
  const tracefile::Process& process(mpi::ProcessIndex index) const {
    return *trace_.processes()[index];
  }
  // The rank in MPI_COMM_WORLD; nothing when the process has none.
  std::optional<int> rankOf(mpi::ProcessIndex process) const { return ranks_[process]; }
  // The rank of an operation's other end, or of its root. Nothing when it has none, or when the
  // trace does not say.
  std::optional<int> peerOf(const order::MpiOperation& operation, mpi::ProcessIndex process) const {
    return worldRank(operation, process, operation.peer);
  }
  std::optional<int> rootOf(const order::MpiOperation& operation, mpi::ProcessIndex process) const {
    const bool is_self = operation.own != nullptr && operation.root < 0 &&
                         operation.root != calls::kProcNull &&
                         groups_.group(operation.own->group).hasSides();
    return is_self ? ranks_[process] : worldRank(operation, process, operation.root);
  }

 private:
  std::optional<int> worldRank(const order::MpiOperation& operation, mpi::ProcessIndex process,
                               std::int32_t rank) const {
    if (operation.own == nullptr || rank < 0) return {};
    const mpi::OwnGroup& own = *operation.own;
    const mpi::ProcessIndex peer = groups_.processOf(own.group, groups_.sideOfPeers(own), rank);
    if (peer != mpi::kNoProcess) return ranks_[peer];
    // MPI_COMM_WORLD's ranks are known without their processes.
    return &own == groups_.own(process, 1) ? std::optional(rank) : std::nullopt;
  }

  const tracefile::Trace& trace_;
  const mpi::MpiGroups& groups_;
  std::vector<std::optional<int>> ranks_;
};

using order::OperationKind;

constexpr base::Word<OperationKind> kKinds[] = {{OperationKind::kSend, "send"},
                                                {OperationKind::kSyncSend, "send"},
                                                {OperationKind::kReceive, "receive"},
                                                {OperationKind::kProbe, "probe"},
                                                {OperationKind::kCollective, "collective"},
                                                {OperationKind::kPost, "post"},
                                                {OperationKind::kStart, "start"},
                                                {OperationKind::kComplete, "complete"},
                                                {OperationKind::kWait, "wait"},
                                                {OperationKind::kLocal, "local"}};

bool isSend(const order::MpiOperation& operation) {
  return operation.kind == OperationKind::kSend || operation.kind == OperationKind::kSyncSend;
}

bool isReceive(const order::MpiOperation& operation) {
  return operation.kind == OperationKind::kReceive || operation.kind == OperationKind::kProbe;
}

bool isMessage(const order::MpiOperation& operation) {
  return isReceive(operation) || isSend(operation);
}

// A call of more members than this names none of them: each of its lines would name all. The lines
// with the same call, comm and seq show the members.
constexpr std::size_t kMostMembersNamed = 16;

struct Listing {
  std::vector<order::MpiEventRef> events;
  std::uint64_t came = 0;  // members of a collective call, this process among them
};

Listing listingOf(const order::MpiOperation& operation, mpi::ProcessIndex process) {
  Listing listing;
  if (operation.collective == nullptr) {
    if (operation.counterpart.row != nullptr) listing.events.push_back(operation.counterpart);
    return listing;
  }
  const auto& arrivals = operation.collective->arrivals;
  listing.came = arrivals.size();
  if (arrivals.size() > kMostMembersNamed) return listing;
  for (const auto& arrival : arrivals) {
    const bool self = arrival.event.process == process &&
                      arrival.event.thread == operation.started.thread &&
                      arrival.event.number == operation.started.number;
    if (!self) listing.events.push_back(arrival.event);
  }
  return listing;
}

// Whether the event is about a list: requests that it starts or finds complete, a window's members.
bool isList(const order::MatchedEvent& event) {
  using calls::Role;
  const calls::Row& row = *event.event.row;
  return calls::has(row, Role::kDone) || calls::has(row, Role::kBegun) ||
         calls::has(row, Role::kMembers) ||
         std::any_of(event.parts.begin(), event.parts.end(), [](const order::EventPart& part) {
           return part.part == order::Part::kEnded || part.part == order::Part::kNamed;
         });
}

// Whether it has to do with any other rank.
bool ordersRanks(const order::MatchedEvent& event) {
  return std::any_of(event.parts.begin(), event.parts.end(), [](const order::EventPart& part) {
    return part.operation->kind != OperationKind::kLocal;
  });
}

// Why the first counterpart that is missing is; empty when none is.
std::string_view reasonOf(const order::MatchedEvent& event) {
  for (const order::EventPart& part : event.parts) {
    if (order::isUnmatched(part.operation->match)) return order::wordsOf(part.operation->match);
  }
  return "";
}

// The text form.

// A Waitall of thousands shows its first few here, and all of them in the JSON form.
constexpr std::size_t kMostParts = 8;

auto into(std::string& out) { return std::back_inserter(out); }

void appendRank(std::string& out, std::optional<int> rank) {
  if (rank) {
    fmt::format_to(into(out), FMT_COMPILE("{}"), *rank);
  } else {
    out += "none";
  }
}

// RANK.THREAD#EVENT
void appendEvent(std::string& out, const order::MpiEventRef& event, const MpiNames& names) {
  appendRank(out, names.rankOf(event.process));
  fmt::format_to(into(out), FMT_COMPILE(".{}#{}"), event.thread, event.number);
}

void appendPart(std::string& out, const order::EventPart& part, const order::MatchedEvent& event,
                const MpiNames& names) {
  const order::MpiOperation& operation = *part.operation;
  const Listing listing = listingOf(operation, event.event.process);
  out += ' ';
  out += base::wordOf(kKinds, operation.kind);
  if (operation.kind == OperationKind::kLocal || operation.match == order::Match::kNobody) return;
  if (operation.kind == OperationKind::kCollective) {
    fmt::format_to(into(out), FMT_COMPILE(" seq={},members={}"), operation.seq, listing.came);
  } else {
    out += isSend(operation) ? " to=" : " peer=";
    appendRank(out, names.peerOf(operation, event.event.process));
    fmt::format_to(into(out), FMT_COMPILE(",seq={}"), operation.seq);
  }
  char separator = '=';
  if (!listing.events.empty()) out += ",with";
  for (const order::MpiEventRef& counterpart : listing.events) {
    out += separator;
    separator = ':';
    appendEvent(out, counterpart, names);
  }
}

void appendCount(std::string& out, std::string_view name, const order::MpiCounts::Of& counts) {
  if (counts.all == 0) return;
  fmt::format_to(into(out), "# {} {}: {} matched", counts.all, name, counts.matched());
  for (std::size_t i = 0; i < counts.by_match.size(); ++i) {
    const auto match = static_cast<order::Match>(i);
    if (match == order::Match::kMatched || counts.by_match[i] == 0) continue;
    fmt::format_to(into(out), ", {} {}{}", counts.by_match[i],
                   order::isUnmatched(match) ? "unmatched: " : "", order::wordsOf(match));
  }
  out += '\n';
}

// The line's first part: whose event it is, and the event as `omnio log` prints it.
void appendSeen(std::string& out, const event::Event& event, const order::MpiEventRef& ref,
                const MpiNames& names) {
  out += "rank=";
  appendRank(out, names.rankOf(ref.process));
  fmt::format_to(into(out), FMT_COMPILE(" thread={} event={} "), ref.thread, ref.number);
  event::appendText(out, event);
  out.pop_back();
}

// The rest of the line.
void appendSettled(std::string& out, const order::MatchedEvent& event, const MpiNames& names) {
  if (event.waited_ns) {
    fmt::format_to(into(out), FMT_COMPILE(" | waited={},own={}"), *event.waited_ns,
                   *event.own_ns());
  } else {
    out += " | waited=unknown";
  }
  if (event.late != mpi::kNoProcess) {
    out += ",late=";
    appendRank(out, names.rankOf(event.late));
  }
  std::size_t printed = 0;
  for (const order::EventPart& part : event.parts) {
    if (printed++ == kMostParts) {
      fmt::format_to(into(out), " and {} more", event.parts.size() - kMostParts);
      break;
    }
    out += printed == 1 ? " |" : ",";
    appendPart(out, part, event, names);
  }
  if (!event.matched()) {
    out += " | unmatched: ";
    out += reasonOf(event);
  }
  out += '\n';
}

// The comments at the end. `behind` is how many events are listed after such as began later.
void appendSummary(std::string& out, const order::MpiPictureEnd& end, std::uint64_t behind) {
  fmt::format_to(into(out), "# {} MPI events, {} of them without a counterpart that they need\n",
                 end.counts.events, end.counts.unmatched);
  appendCount(out, "sends", end.counts.sends);
  appendCount(out, "receives", end.counts.receives);
  appendCount(out, "probes", end.counts.probes);
  for (const auto& [name, counts] : end.counts.collectives) appendCount(out, name, counts);
  appendCount(out, "window epochs", end.counts.epochs);
  if (end.missing > 0) fmt::format_to(into(out), "# {} events are missing\n", end.missing);
  if (behind > 0) {
    fmt::format_to(into(out), "# {} events are listed after events that began later\n", behind);
  }
}

// The JSON form.

void putGroup(JsonWriter& json, const mpi::OwnGroup& own, const mpi::MpiGroups& groups) {
  const mpi::RankGroup& group = groups.group(own.group);
  json.object("comm", [&] {
    json.put("id", group.id);
    json.put("kind", group.kind);
    json.put("size", group.size[own.side]);
    if (group.hasSides()) json.put("remote", group.size[1 - own.side]);
  });
}

void putRef(JsonWriter& json, const order::MpiEventRef& event, const MpiNames& names) {
  json.object([&] {
    json.put("rank", names.rankOf(event.process));
    json.put("thread", event.thread);
    json.put("event", event.number);
    json.put("start_ns", event.start_ns);
    json.put("call", event.row->name);
  });
}

void putCounterparts(JsonWriter& json, const std::vector<order::MpiEventRef>& events,
                     const MpiNames& names) {
  json.list("counterparts", events,
            [&](const order::MpiEventRef& event) { putRef(json, event, names); });
}

void putRequest(JsonWriter& json, const order::EventPart& part, mpi::ProcessIndex process,
                const MpiNames& names) {
  const order::MpiOperation& operation = *part.operation;
  if (operation.request != 0) json.put("request", operation.request);
  json.put("kind", base::wordOf(kKinds, operation.kind));
  if (operation.started.row != nullptr && part.part != order::Part::kBegun) {
    json.key("started");
    putRef(json, operation.started, names);
  }
  if (operation.own != nullptr) putGroup(json, *operation.own, names.groups());
  if (operation.kind != OperationKind::kLocal) {
    if (operation.kind != OperationKind::kCollective) {
      json.put("peer", names.peerOf(operation, process));
    }
    json.put("seq", operation.seq);
  }
  if (isMessage(operation)) {
    json.put("tag", operation.tag);
    json.put("bytes", operation.bytes);
  }
  json.put("match", order::wordsOf(operation.match));
  const Listing listing = listingOf(operation, process);
  if (listing.came > 0) json.put("members", listing.came);
  putCounterparts(json, listing.events, names);
}

// The parts of an event that is about no list.
void putParts(JsonWriter& json, const order::MatchedEvent& event, const MpiNames& names) {
  const mpi::ProcessIndex process = event.event.process;
  bool sends = false;
  std::vector<order::MpiEventRef> all;
  for (const order::EventPart& part : event.parts) {
    const order::MpiOperation& operation = *part.operation;
    if (isMessage(operation)) {
      const bool of_exchange = sends && isReceive(operation);
      json.put(of_exchange ? "source" : "peer", names.peerOf(operation, process));
      json.put(of_exchange ? "source_seq" : "seq", operation.seq);
      sends = sends || !isReceive(operation);
    } else if (operation.kind == OperationKind::kCollective) {
      json.put("seq", operation.seq);
      if (calls::has(*event.event.row, calls::Role::kRoot)) {
        json.put("root", names.rootOf(operation, process));
      }
    }
    const Listing listing = listingOf(operation, process);
    if (listing.came > 0) json.put("members", listing.came);
    all.insert(all.end(), listing.events.begin(), listing.events.end());
  }
  if (ordersRanks(event)) putCounterparts(json, all, names);
}

// The members that are known when an event is seen.
void putSeen(JsonWriter& json, const event::Event& event, const order::MpiEventRef& ref,
             const MpiNames& names) {
  json.put("event", ref.number);
  const auto group = static_cast<std::uint64_t>(event::argumentOf(event, calls::Role::kComm));
  const mpi::OwnGroup* own = names.groups().own(ref.process, group);
  if (own != nullptr) putGroup(json, *own, names.groups());
}

// The members that are known when it is settled.
void putSettled(JsonWriter& json, const order::MatchedEvent& event, const MpiNames& names) {
  if (isList(event)) {
    json.list("requests", event.parts, [&](const order::EventPart& part) {
      json.object([&] { putRequest(json, part, event.event.process, names); });
    });
  } else {
    putParts(json, event, names);
  }
  json.put("matched", event.matched());
  if (!event.matched()) json.put("unmatched", reasonOf(event));
  json.put("waited_ns", event.waited_ns);
  json.put("own_ns", event.own_ns());
  if (event.late != mpi::kNoProcess) json.put("late", names.rankOf(event.late));
}

void putCount(JsonWriter& json, std::string_view name, const order::MpiCounts::Of& counts) {
  const auto of = [&counts](order::Match match) {
    return counts.by_match[static_cast<std::size_t>(match)];
  };
  json.object(name, [&] {
    json.put("count", counts.all);
    json.put("matched", counts.matched());
    json.put("needs_none", of(order::Match::kNobody));
    json.put("cancelled", of(order::Match::kCancelled));
    json.put("unmatched", counts.unmatched());
    if (counts.unmatched() == 0) return;
    json.object("reasons", [&] {
      for (std::size_t i = 0; i < counts.by_match.size(); ++i) {
        const auto match = static_cast<order::Match>(i);
        if (!order::isUnmatched(match) || of(match) == 0) continue;
        json.put(order::wordsOf(match), of(match));
      }
    });
  });
}

// The line at the end.
void putSummary(JsonWriter& json, const order::MpiPictureEnd& end, std::uint64_t behind) {
  json.object("summary", [&] {
    json.put("events", end.counts.events);
    json.put("unmatched", end.counts.unmatched);
    putCount(json, "sends", end.counts.sends);
    putCount(json, "receives", end.counts.receives);
    putCount(json, "probes", end.counts.probes);
    json.object("collectives", [&] {
      for (const auto& [name, counts] : end.counts.collectives) putCount(json, name, counts);
    });
    putCount(json, "epochs", end.counts.epochs);
    json.put("missing_events", end.missing);
    json.put("behind_later", behind);
  });
}

// Lines that wait for one that began before them. When an event takes longer than this to show its
// counterpart (a receive that is posted at the start of a run for its end), the others go on, and
// its own line stands behind them.
constexpr std::size_t kMostWaiting = 200'000;

class MpiPrinter final : public order::MpiPictureSink {
 public:
  MpiPrinter(const MpiNames& names, const event::PathTable& paths, const TraceSelection& selection,
             bool json)
      : names_(names),
        paths_(paths),
        selection_(selection),
        json_(json),
        output_(json ? OutputForm::kJson : OutputForm::kText) {}

  void seen(std::uint64_t id, const order::MpiEventRef& ref, const event::Event& event) override {
    if (lines_.empty()) first_ = id;
    lines_.emplace_back();
    Line& line = lines_.back();
    line.wanted = isWanted(ref);
    if (line.wanted) begin(line.text, ref, event);
    if (lines_.size() > kMostWaiting) overtake();
  }

  void settled(const order::MatchedEvent& event) override {
    if (event.id < first_) {
      const auto late = overtaken_.find(event.id);
      if (late == overtaken_.end()) return;  // not wanted
      end(late->second, event);
      print(late->second);
      overtaken_.erase(late);
      ++behind_;
      return;
    }
    Line& line = lines_[event.id - first_];
    line.settled = true;
    if (line.wanted) end(line.text, event);
    advance();
  }

  std::uint64_t behind() const { return behind_; }
  Output& output() { return output_; }

 private:
  struct Line {
    std::string text;
    bool wanted = false;
    bool settled = false;
  };

  bool isWanted(const order::MpiEventRef& ref) const {
    if (selection_.rank && names_.rankOf(ref.process) != *selection_.rank) return false;
    return !selection_.thread || ref.thread == *selection_.thread;
  }

  void begin(std::string& text, const order::MpiEventRef& ref, const event::Event& event) const {
    if (!json_) {
      appendSeen(text, event, ref, names_);
      return;
    }
    const tracefile::Process& process = names_.process(ref.process);
    EventOrigin origin{
        .rank = names_.rankOf(ref.process), .thread = ref.thread, .pid = process.pid};
    for (const tracefile::Log& log : process.logs) {
      if (log.thread == ref.thread) origin.tid = log.tid;
    }
    JsonWriter json(text);
    json.beginObject();  // end() closes it
    putEvent(json, event, origin, paths_);
    putSeen(json, event, ref, names_);
  }

  void end(std::string& text, const order::MatchedEvent& event) const {
    if (!json_) {
      appendSettled(text, event, names_);
      return;
    }
    JsonWriter json = JsonWriter::inObject(text);
    putSettled(json, event, names_);
    json.endObject();
    text += '\n';
  }

  void print(const std::string& text) {
    output_.text() += text;
    output_.drain();
  }

  void advance() {
    while (!lines_.empty() && lines_.front().settled) {
      if (lines_.front().wanted) print(lines_.front().text);
      lines_.pop_front();
      ++first_;
    }
  }

  void overtake() {
    if (lines_.front().wanted) overtaken_.emplace(first_, std::move(lines_.front().text));
    lines_.pop_front();
    ++first_;
    advance();
  }

  const MpiNames& names_;
  const event::PathTable& paths_;
  const TraceSelection& selection_;
  const bool json_;
  Output output_;
  std::deque<Line> lines_;   // of events from `first_` on
  std::uint64_t first_ = 0;  // id
  std::unordered_map<std::uint64_t, std::string> overtaken_;
  std::uint64_t behind_ = 0;
};

}  // namespace

int printMpiLog(const tracefile::Trace& trace, const TraceSelection& selection, bool json) {
  base::raiseOpenFileLimit();
  const mpi::MpiGroups groups = order::mpiGroupsOf(trace);
  const MpiNames names(trace, groups);
  event::PathTable paths;
  MpiPrinter printer(names, paths, selection, json);
  const order::MpiPictureEnd end = order::readMpiPicture(trace, groups, paths, printer);
  std::string& out = printer.output().text();
  if (json) {
    JsonWriter line(out);
    line.object([&] { putSummary(line, end, printer.behind()); });
    out += '\n';
  } else {
    appendSummary(out, end, printer.behind());
  }
  return printer.output().finish();
}

}  // namespace omnio::cli
