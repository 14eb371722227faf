#include "cli/log/mpi_text.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <iterator>

#include "cli/log/mpi_listing.hpp"
#include "core/event/event_text.hpp"

namespace omnio::cli {
namespace {

// Of a Waitall of thousands the first few; all stand in the JSON form.
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
  out += nameOf(operation.kind);
  if (operation.kind == order::OperationKind::kLocal || operation.match == order::Match::kNobody)
    return;
  if (operation.kind == order::OperationKind::kCollective) {
    fmt::format_to(into(out), FMT_COMPILE(" seq={},members={}"), operation.seq, listing.came);
  } else {
    out += operation.kind == order::OperationKind::kSend ||
                   operation.kind == order::OperationKind::kSyncSend
               ? " to="
               : " peer=";
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

}  // namespace

void appendMpiTextSeen(std::string& out, const event::Event& event, const order::MpiEventRef& ref,
                       const MpiNames& names) {
  out += "rank=";
  appendRank(out, names.rankOf(ref.process));
  fmt::format_to(into(out), FMT_COMPILE(" thread={} event={} "), ref.thread, ref.number);
  event::appendText(out, event);
  out.pop_back();
}

void appendMpiTextSettled(std::string& out, const order::MatchedEvent& event,
                          const MpiNames& names) {
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

void appendMpiTextSummary(std::string& out, const order::MpiPictureEnd& end, std::uint64_t behind) {
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

}  // namespace omnio::cli
