#include "predict/operations/earlier_run.hpp"

#include <algorithm>
#include <utility>

#include "core/base/printable.hpp"
#include "core/tracefile/completeness.hpp"
#include "core/wire/info.hpp"
#include "predict/operations/rank_run.hpp"

namespace omnio::predict {

std::vector<std::pair<RankKey, Processes>> byRank(const tracefile::Trace& trace,
                                                  const Processes& processes) {
  std::vector<std::pair<RankKey, Processes>> ranks;
  std::map<RankKey, std::size_t> index;
  RankKey without = 0;
  for (const tracefile::Process* const process : processes) {
    const std::optional<int> rank = trace.rankOf(*process);
    const RankKey key = rank ? *rank : --without;
    const auto [place, is_new] = index.try_emplace(key, ranks.size());
    if (is_new) ranks.push_back({key, {}});
    ranks[place->second].second.push_back(process);
  }
  return ranks;
}

std::set<std::string> programsOf(const tracefile::Trace& trace) {
  std::set<std::string> names;
  for (const auto& process : trace.processes()) {
    const std::string& path = process->info.text(wire::info::kProgram);
    if (!path.empty()) names.insert(path.substr(path.rfind('/') + 1));
  }
  return names;
}

base::Result<std::unique_ptr<RankModels>> modelsFor(const EarlierRun* earlier, RankKey rank) {
  return earlier == nullptr ? std::unique_ptr<RankModels>() : earlier->of(rank);
}

base::Result<void> checkApplication(const tracefile::Trace& trace, const EarlierRun* earlier) {
  if (earlier == nullptr) return {};
  const std::set<std::string> now = programsOf(trace);
  const std::set<std::string> before = earlier->programs();
  const auto is_known = [&before](const std::string& name) { return before.contains(name); };
  if (now.empty() || before.empty() || std::ranges::any_of(now, is_known)) return {};
  return base::failure(base::Code::kInvalid,
                       "{}: it is a run of {}, and {} one of {}: what one application has taught "
                       "says nothing of another",
                       base::printable(earlier->path()), base::printable(*before.begin()),
                       base::printable(trace.directory().native()), base::printable(*now.begin()));
}

EarlierTrace::EarlierTrace(const tracefile::Trace& trace, std::optional<unsigned> thread)
    : trace_(trace), thread_(thread), is_whole_(tracefile::assess(trace).whole) {
  Processes all;
  for (const auto& process : trace.processes()) all.push_back(process.get());
  for (auto& [rank, processes] : byRank(trace, all)) ranks_.emplace(rank, std::move(processes));
}

base::Result<std::unique_ptr<RankModels>> EarlierTrace::of(RankKey rank) const {
  const auto found = ranks_.find(rank);
  if (found == ranks_.end()) return std::unique_ptr<RankModels>();
  RankRun run(found->second, thread_);
  KeptContexts contexts;
  run.keepContexts(contexts);
  while (const Operation* const operation = run.next()) {
    run.modelsOf(run.process()).take(run.model(), *operation);
  }
  auto models = std::make_unique<RankModels>(run.finish());
  models->contexts = std::move(contexts);
  return models;
}

}  // namespace omnio::predict
