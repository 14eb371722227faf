#include "core/tracefile/host_clocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"
#include "core/wire/info.hpp"

namespace omnio::tracefile {
namespace {

namespace info = wire::info;

// Processes that read the same CLOCK_MONOTONIC.
struct Domain {
  KnownClock known;
  ClockMethod method = ClockMethod::kRealtime;
  // By the clock itself and CLOCK_REALTIME, when the first process that knew both began.
  std::optional<wire::Anchor> begin;
};

// Boot id and time namespace.
using DomainKey = std::pair<std::string, std::string>;

// Where a process ran.
struct Place {
  DomainKey domain;
  std::string host;
};

Place toldPlace(const Process& process) {
  return {.domain = {process.info.text(info::kBoot), process.info.text(info::kTimeNamespace)},
          .host = process.info.text(info::kHost)};
}

// "node.1" of "/trace/node.1.4711.0.omnio"; empty for a name of another form.
std::string hostInName(const std::filesystem::path& container) {
  std::string name = container.filename().native();
  for (int part = 0; part < 3; ++part) {
    const std::size_t dot = name.rfind('.');
    if (dot == std::string::npos) return {};
    name.resize(dot);
  }
  return name;
}

// By boot id or by host: the places that processes told, each with its domain and host.
using KnownPlaces = std::map<std::string, std::map<DomainKey, std::string>>;

// The only place that is known by this name; nothing when there is none, or several.
std::optional<Place> onlyPlace(const KnownPlaces& known, const std::string& name) {
  const auto found = known.find(name);
  if (found == known.end() || found->second.size() != 1) return std::nullopt;
  const auto& [domain, host] = *found->second.begin();
  return Place{.domain = domain, .host = host};
}

// The place of each process; for one without facts, the place that they would tell.
std::vector<Place> placesOf(const std::vector<std::unique_ptr<Process>>& processes,
                            const std::string& this_boot) {
  KnownPlaces by_boot;
  KnownPlaces by_host;
  std::vector<Place> places;
  for (const auto& process : processes) {
    const Place& place = places.emplace_back(toldPlace(*process));
    const std::string& boot = place.domain.first;
    if (boot.empty()) continue;
    by_boot[boot].insert({place.domain, place.host});
    if (!place.host.empty()) by_host[place.host].insert({place.domain, place.host});
  }
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const Process& process = *processes[i];
    Place& place = places[i];
    if (!place.domain.first.empty()) continue;
    if (place.host.empty()) place.host = hostInName(process.container);
    // Rings are read on the node that they were written on.
    if (!process.rings.empty() && !this_boot.empty()) {
      if (place.host.empty()) place.host = thisHost();
      place.domain = {this_boot, {}};
      place = onlyPlace(by_boot, this_boot).value_or(place);
      continue;
    }
    // Else it counts as on a node of its own.
    place.domain = {fmt::format("{:016x}", process.token), {}};
    place = onlyPlace(by_host, place.host).value_or(place);
  }
  return places;
}

class Domains {
 public:
  Domains(const std::vector<std::unique_ptr<Process>>& processes,
          const std::vector<Place>& places) {
    std::map<DomainKey, std::size_t> by_key;
    for (std::size_t i = 0; i < processes.size(); ++i) {
      const auto [place, is_new] = by_key.try_emplace(places[i].domain, domains_.size());
      if (is_new) domains_.emplace_back();
      of_process_.push_back(place->second);
      Domain& domain = domains_[place->second];
      const wire::Anchor& begin = processes[i]->begin;
      if (begin.monotonic_ns != 0 && (!domain.begin || isEarlier(begin, *domain.begin))) {
        domain.begin = begin;
      }
    }
    // Processes are in order of rank, those of a rank by the time they began.
    reference_ = processes.front()->info.rank() ? of_process_.front() : firstToBegin();
  }

  void settle(const KnownClocks& known) {
    for (std::size_t i = 0; i < domains_.size(); ++i) {
      Domain& domain = domains_[i];
      const bool is_known = i < known.size() && known[i] && !known[i]->correction.points().empty();
      if (is_known) domain.known = *known[i];
      if (i == reference_) {
        domain.method = ClockMethod::kReference;
      } else if (is_known) {
        domain.method = ClockMethod::kMessages;
      } else {
        settleByRealtime(domain);
      }
    }
  }

  std::size_t of(std::size_t process) const { return of_process_[process]; }
  const Domain& operator[](std::size_t number) const { return domains_[number]; }

 private:
  static bool isEarlier(const wire::Anchor& a, const wire::Anchor& b) {
    return a.realtime_ns < b.realtime_ns;
  }

  std::size_t firstToBegin() const {
    std::size_t best = 0;
    for (std::size_t i = 1; i < domains_.size(); ++i) {
      const auto& begin = domains_[i].begin;
      if (begin && (!domains_[best].begin || isEarlier(*begin, *domains_[best].begin))) best = i;
    }
    return best;
  }

  void settleByRealtime(Domain& domain) {
    const auto& reference = domains_[reference_].begin;
    if (!domain.begin || !reference) return;
    // Unsigned, since a damaged file may say anything.
    const std::uint64_t own_ns = domain.begin->monotonic_ns;
    const std::uint64_t elapsed = domain.begin->realtime_ns - reference->realtime_ns;
    domain.known.correction = ClockCorrection(
        {{.own_ns = static_cast<std::int64_t>(own_ns),
          .reference_ns = static_cast<std::int64_t>(reference->monotonic_ns + elapsed)}});
  }

  std::vector<Domain> domains_;
  std::vector<std::size_t> of_process_;
  std::size_t reference_ = 0;
};

void addAnchors(const Process& process, NodeClock& clock) {
  clock.add(process.begin.ticks, process.begin.monotonic_ns);
  for (const StoredChunk& chunk : process.chunks) {
    clock.add(chunk.header.base_ticks, chunk.header.base_monotonic_ns);
  }
  if (process.account) {
    clock.add(process.account->end.ticks, process.account->end.monotonic_ns);
  }
}

HostClock told(const std::string& host, std::size_t number, const Domain& domain) {
  HostClock clock;
  clock.host = host;
  clock.clock = number;
  clock.method = domain.method;
  clock.offset_ns = domain.known.correction.offsetNs();
  if (domain.method == ClockMethod::kRealtime) return clock;
  clock.error_ns = domain.known.correction.errorNs();
  clock.moved_receives = domain.known.moved_receives;
  clock.moved_most_ns = domain.known.moved_most_ns;
  clock.early_receives = domain.known.early_receives;
  const bool is_reference = domain.method == ClockMethod::kReference;
  clock.drift = is_reference ? ClockCorrection::Drift() : domain.known.correction.drift();
  return clock;
}

}  // namespace

std::string_view nameOf(ClockMethod method) {
  constexpr base::Word<ClockMethod> kNames[] = {{ClockMethod::kReference, "reference"},
                                                {ClockMethod::kMessages, "messages"},
                                                {ClockMethod::kRealtime, "realtime"}};
  return base::wordOf(kNames, method);
}

std::vector<HostClock> assignClocks(const std::vector<std::unique_ptr<Process>>& processes,
                                    const std::string& this_boot, const KnownClocks& known) {
  std::vector<HostClock> hosts;
  if (processes.empty()) return hosts;
  const std::vector<Place> places = placesOf(processes, this_boot);
  Domains domains(processes, places);
  domains.settle(known);
  // Processes of a domain that count in different ticks (one may have been denied the counter) need
  // a clock each.
  std::map<std::pair<std::size_t, wire::ClockKind>, std::shared_ptr<NodeClock>> clocks;
  std::map<std::pair<std::size_t, std::string>, std::size_t> entries;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    auto& clock = clocks[{domains.of(i), processes[i]->clock_kind}];
    if (!clock) clock = std::make_shared<NodeClock>();
    addAnchors(*processes[i], *clock);
    const std::string& host = places[i].host;
    const auto [entry, is_new] = entries.try_emplace({domains.of(i), host}, hosts.size());
    if (is_new) hosts.push_back(told(host, domains.of(i), domains[domains.of(i)]));
    hosts[entry->second].processes.push_back(i);
    if (const auto rank = processes[i]->info.rank()) hosts[entry->second].ranks.insert(*rank);
  }
  for (auto& [key, clock] : clocks) clock->finish(domains[key.first].known.correction);
  for (std::size_t i = 0; i < processes.size(); ++i) {
    processes[i]->clock = clocks[{domains.of(i), processes[i]->clock_kind}];
  }
  return hosts;
}

std::vector<std::string> clockSentences(const std::vector<HostClock>& clocks) {
  constexpr double kNsPerS = 1e9;
  constexpr double kNsPerUs = 1e3;
  std::vector<std::string> sentences;
  const auto reference = std::ranges::find(clocks, ClockMethod::kReference, &HostClock::method);
  for (const HostClock& clock : clocks) {
    if (clock.method == ClockMethod::kReference) continue;
    std::string words = fmt::format("host {}: {:.6f} s {} that of host {}",
                                    clock.host.empty() ? "unknown" : base::printable(clock.host),
                                    std::abs(static_cast<double>(clock.offset_ns)) / kNsPerS,
                                    clock.offset_ns < 0 ? "behind" : "ahead of",
                                    reference == clocks.end() || reference->host.empty()
                                        ? "unknown"
                                        : base::printable(reference->host));
    if (clock.drift) {
      words +=
          fmt::format(", {:.3f} ppm {} (by up to {:.3f} more or less)", std::abs(clock.drift->ppm),
                      clock.drift->ppm < 0 ? "slow" : "fast", clock.drift->error_ppm);
    } else {
      words += ", drift not known";
    }
    if (clock.error_ns) {
      words += fmt::format(", wrong by at most {:.1f} us",
                           static_cast<double>(*clock.error_ns) / kNsPerUs);
    } else {
      words += ", error not bounded: as well as the site's time service keeps the time of day";
    }
    if (clock.moved_receives > 0) {
      words +=
          fmt::format(", {} moved forward to the begin of {}, by at most {:.1f} us",
                      clock.moved_receives == 1 ? "1 receive"
                                                : fmt::format("{} receives", clock.moved_receives),
                      clock.moved_receives == 1 ? "its send" : "their sends",
                      static_cast<double>(clock.moved_most_ns) / kNsPerUs);
    }
    if (clock.early_receives > 0) {
      words += fmt::format(", {} still before the send", clock.early_receives);
    }
    sentences.push_back(fmt::format("{} ({})", words, nameOf(clock.method)));
  }
  return sentences;
}

}  // namespace omnio::tracefile
