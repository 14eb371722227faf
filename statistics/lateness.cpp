#include "statistics/lateness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"
#include "core/calls/table.hpp"
#include "statistics/rank_events.hpp"
#include "statistics/selection.hpp"

namespace omnio::stats {
namespace {

using order::WaitStates;

// The I/O of a process in a piece of the run: calls that begin before it or end after it count with
// the part that lies in it.
event::IoTime ioWithin(const tracefile::Trace& trace, std::size_t process,
                       const order::IoWaits& waits, std::int64_t from_ns, std::int64_t to_ns) {
  const std::vector<Source> sources = {
      {.process = trace.processes()[process].get(), .in_trace = process, .number = 0}};
  event::PathTable paths;
  RankEvents events(sources, {}, paths);
  std::vector<event::IoRequests> requests(events.logs().size());
  event::IoUnion io;
  while (const event::Event* const event = events.next()) {
    const bool is_of_mpi_io =
        event->row->api == calls::Api::kMpi && requests[events.logNumber()].take(*event);
    const bool is_io = event->row->call_class != calls::Class::kMpiSync || is_of_mpi_io;
    if (event->start_ns >= to_ns) break;
    if (!is_io || !event::isOfStorage(*event)) continue;
    const std::int64_t start_ns = std::max(event->start_ns, from_ns);
    const std::int64_t end_ns = std::min(event->end_ns, to_ns);
    if (end_ns <= start_ns) continue;
    const std::int64_t waited_ns = waits.waited(process, events.log().log->thread, *event);
    io.add({.kind = event::ioKindOf(*event->row),
            .start_ns = start_ns,
            .end_ns = end_ns,
            .waited_ns = std::max<std::int64_t>(0, event->start_ns + waited_ns - start_ns)});
  }
  return io.total();
}

// One line for each rank, or process without one, that waited.
struct RankWaits {
  std::string name;
  WaitStates::Sum sum;
};
std::vector<RankWaits> byRankOf(const tracefile::Trace& trace, const WaitStates& states) {
  std::vector<RankWaits> ranks;
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < states.byProcess().size(); ++i) {
    const WaitStates::Sum& sum = states.byProcess()[i];
    if (sum.waits == 0) continue;
    const std::string name = nameOfProcess(trace, i);
    const auto [place, is_new] = places.try_emplace(name, ranks.size());
    if (is_new) ranks.push_back({.name = name, .sum = {}});
    ranks[place->second].sum.add(sum);
  }
  std::ranges::stable_sort(ranks, std::greater<>(),
                           [](const RankWaits& rank) { return rank.sum.waited_ns; });
  return ranks;
}
std::vector<std::pair<std::string_view, WaitStates::Sum>> byCallOf(const WaitStates& states) {
  std::vector<std::pair<std::string_view, WaitStates::Sum>> calls;
  for (const auto& [row, sum] : states.byCall()) calls.emplace_back(row->name, sum);
  std::ranges::sort(calls, [](const auto& a, const auto& b) {
    return std::pair(-a.second.waited_ns, a.first) < std::pair(-b.second.waited_ns, b.first);
  });
  return calls;
}

std::string inWords(std::int64_t ns) { return base::humanNs(static_cast<double>(ns)); }

std::vector<std::string> cellsOf(const WaitStates::Sum& sum, std::string_view name) {
  return {fmt::format("{}", sum.waits), inWords(sum.waited_ns), inWords(sum.most_ns),
          std::string(name)};
}

void putSum(base::JsonWriter& json, const WaitStates::Sum& sum) {
  json.put("waits", sum.waits);
  json.put("waited_ns", sum.waited_ns);
  json.put("longest_ns", sum.most_ns);
}

std::string second(std::int64_t ns) {
  constexpr double kNsPerS = 1e9;
  return fmt::format("{:.3f} s", static_cast<double>(ns) / kNsPerS);
}

}  // namespace

std::string nameOfProcess(const tracefile::Trace& trace, std::size_t process) {
  const tracefile::Process& found = *trace.processes()[process];
  const std::optional<int> rank = trace.rankOf(found);
  return rank ? fmt::format("rank {}", *rank) : fmt::format("process {}", found.pid);
}

Lateness latenessOf(const tracefile::Trace& trace, const order::IoWaits& waits) {
  const order::LatenessChain chain = waits.states().longestChain();
  Lateness lateness;
  if (chain.waits.empty()) return lateness;
  const std::int64_t run_ns = startOfRun(trace);
  for (const order::Wait& wait : chain.waits) {
    lateness.links.push_back({.process = nameOfProcess(trace, wait.process),
                              .late = nameOfProcess(trace, wait.late),
                              .call = wait.row->name,
                              .start_ns = wait.start_ns - run_ns,
                              .waited_ns = wait.waited_ns});
  }
  lateness.io = ioWithin(trace, chain.last(), waits, chain.from_ns, chain.to_ns);
  lateness.from_ns = chain.from_ns - run_ns;
  lateness.to_ns = chain.to_ns - run_ns;
  return lateness;
}

std::vector<std::string> sentencesOf(const Lateness& lateness) {
  std::vector<std::string> sentences;
  for (const Lateness::Link& link : lateness.links) {
    const std::string_view opening =
        sentences.empty() ? "The longest wait in MPI calls: {} waited {} for {} in {}, from {}."
                          : "{} came late, since it waited {} for {} in {}, from {}.";
    sentences.push_back(fmt::format(fmt::runtime(opening), link.process, inWords(link.waited_ns),
                                    link.late, link.call, second(link.start_ns)));
  }
  if (sentences.empty()) return sentences;
  const event::IoTime& io = lateness.io;
  std::string last = fmt::format("{} came late by itself. From {} to {} it had {} of I/O",
                                 lateness.links.back().late, second(lateness.from_ns),
                                 second(lateness.to_ns), inWords(io.total()));
  if (io.total() > 0) {
    last += fmt::format(" ({} data, {} metadata, {} sync)", inWords(io.data_ns),
                        inWords(io.metadata_ns), inWords(io.sync_ns));
  }
  if (io.waiting_ns > 0) last += fmt::format(", {} of short waits", inWords(io.waiting_ns));
  last += fmt::format(", and {} of other work.",
                      inWords(std::max<std::int64_t>(0, lateness.otherNs())));
  sentences.push_back(std::move(last));
  return sentences;
}

void putLateness(base::JsonWriter& json, const Lateness& lateness) {
  json.object([&] {
    json.list("waits", lateness.links, [&](const Lateness::Link& link) {
      json.object([&] {
        json.put("process", link.process);
        json.put("late", link.late);
        json.put("call", link.call);
        json.put("start_ns", link.start_ns);
        json.put("waited_ns", link.waited_ns);
      });
    });
    json.put("from_ns", lateness.from_ns);
    json.put("to_ns", lateness.to_ns);
    json.put("data_ns", lateness.io.data_ns);
    json.put("metadata_ns", lateness.io.metadata_ns);
    json.put("sync_ns", lateness.io.sync_ns);
    json.put("waiting_ns", lateness.io.waiting_ns);
    json.put("other_ns", std::max<std::int64_t>(0, lateness.otherNs()));
  });
}

std::string waitsText(const tracefile::Trace& trace, const order::IoWaits& waits) {
  const WaitStates& states = waits.states();
  std::string out = "\nWaiting for other ranks in MPI calls";
  const std::string unknown =
      states.unmatched() == 0
          ? std::string()
          : fmt::format("{} without a known counterpart: whether they waited is not known\n",
                        base::counted(states.unmatched(), "call", "calls"));
  if (states.byCall().empty()) return out + ": none that is known\n" + unknown;
  out += '\n';
  std::vector<std::vector<std::string>> rows = {{"waits", "time", "longest", "rank"}};
  for (const RankWaits& rank : byRankOf(trace, states))
    rows.push_back(cellsOf(rank.sum, rank.name));
  base::appendTable(out, rows, base::Align::kRight);
  out += '\n';
  rows = {{"waits", "time", "longest", "call"}};
  for (const auto& [name, sum] : byCallOf(states)) rows.push_back(cellsOf(sum, name));
  base::appendTable(out, rows, base::Align::kRight);
  out += unknown;
  const std::vector<std::string> sentences = sentencesOf(latenessOf(trace, waits));
  if (!sentences.empty()) out += '\n';
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    out += fmt::format("{}{}\n", i == 0 ? "" : "  ", sentences[i]);
  }
  return out;
}

void putWaits(base::JsonWriter& json, const tracefile::Trace& trace, const order::IoWaits& waits) {
  const WaitStates& states = waits.states();
  json.object([&] {
    json.list("ranks", byRankOf(trace, states), [&](const RankWaits& rank) {
      json.object([&] {
        json.put("name", rank.name);
        putSum(json, rank.sum);
      });
    });
    json.list("calls", byCallOf(states), [&](const auto& call) {
      json.object([&] {
        json.put("name", call.first);
        putSum(json, call.second);
      });
    });
    json.put("unmatched", states.unmatched());
    json.key("longest");
    putLateness(json, latenessOf(trace, waits));
  });
}

}  // namespace omnio::stats
