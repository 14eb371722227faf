#include "phase_model/metadata_runs.hpp"

#include <fcntl.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/printable.hpp"
#include "core/event/file_positions.hpp"
#include "core/wire/checksum.hpp"
#include "phase_model/file_family.hpp"
#include "phase_model/step_phases.hpp"

namespace omnio::phases {
namespace {

constexpr std::string_view kUnknownDirectory = "?";

std::string_view parentOf(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {};
  return path.substr(0, std::max<std::size_t>(slash, 1));
}

bool isDirectory(const event::Handle* handle) {
  return handle != nullptr && handle->definition.kind == wire::FileKind::kDirectory;
}

// The deepest directory above both.
std::string_view commonOf(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return a.empty() ? b : a;
  std::size_t same = 0;
  while (same < a.size() && same < b.size() && a[same] == b[same]) ++same;
  const auto ends = [same](std::string_view path) {
    return same == path.size() || path[same] == '/';
  };
  if (ends(a) && ends(b)) return a.substr(0, same);
  return same == 0 ? a.substr(0, 0) : parentOf(a.substr(0, same));
}

}  // namespace

MetadataCall metadataCallOf(const event::Event& event) {
  const calls::Row& row = *event.row;
  MetadataCall call{.kind = {.call = calls::toNumber(row.plain)},
                    .directory = {},
                    .start_ns = event.start_ns,
                    .end_ns = event.end_ns,
                    .io = {}};
  call.kind.creates = calls::isIo(row) && row.call_class == calls::Class::kOpen &&
                      (event::openFlags(event) & O_CREAT) != 0;
  if (row.api == calls::Api::kMpi) call.interface = model::Interface::kMpiIo;
  if (row.api == calls::Api::kStdio) call.interface = model::Interface::kStdio;
  const std::string path = event::normalisedPath(pathOf(event));
  // What is done with an open directory is done in it.
  const bool is_directory = isDirectory(event.handle) || isDirectory(event.new_handle);
  call.directory = is_directory ? path : std::string(parentOf(path));
  return call;
}

void MetadataRun::add(const MetadataCall& call) {
  if (operations == 0) {
    interface = call.interface;
    begin_ns = call.start_ns;
    end_ns = call.end_ns;
  }
  ++operations;
  ++calls[call.kind];
  if (directory != call.directory) directory = commonOf(directory, call.directory);
  if (!call.directory.empty() && directories.size() < model::kMaxCountedDirectories) {
    directories.insert(wire::checksum(call.directory.data(), call.directory.size()));
  }
  add({.process = call.process,
       .thread = call.thread,
       .first_step = call.step,
       .last_step = call.step},
      true);
  end_ns = std::max(end_ns, call.end_ns);
  io += call.io;
}

void MetadataRun::add(const MetadataStretch& stretch, bool is_next) {
  const auto [last, is_new] =
      last_of_thread_.try_emplace({stretch.process, stretch.thread}, stretches.size());
  if (!is_new && is_next) {
    MetadataStretch& before = stretches[last->second];
    before.first_step = std::min(before.first_step, stretch.first_step);
    before.last_step = std::max(before.last_step, stretch.last_step);
    return;
  }
  last->second = stretches.size();
  stretches.push_back(stretch);
}

void MetadataRun::add(const MetadataRun& other, bool is_next) {
  if (operations == 0) {
    *this = other;
    return;
  }
  for (const auto& [kind, count] : other.calls) calls[kind] += count;
  operations += other.operations;
  directory = commonOf(directory, other.directory);
  for (const std::uint64_t digest : other.directories) {
    if (directories.size() < model::kMaxCountedDirectories) directories.insert(digest);
  }
  for (const MetadataStretch& stretch : other.stretches) add(stretch, is_next);
  begin_ns = std::min(begin_ns, other.begin_ns);
  end_ns = std::max(end_ns, other.end_ns);
  io += other.io;
  mixed = mixed || other.mixed;
}

bool MetadataRun::hasSameKinds(const MetadataRun& other) const {
  return std::ranges::equal(
      calls, other.calls, {}, [](const auto& each) { return each.first; },
      [](const auto& each) { return each.first; });
}

bool MetadataRun::isLike(const MetadataRun& other) const {
  return !mixed && !other.mixed && directory == other.directory && hasSameKinds(other);
}

void MetadataRuns::add(MetadataCall call) {
  if (call.mpi_calls_ago > 0) {
    closeRun();
    at_once_ = 0;
    if (call.mpi_calls_ago > longest_gap_) closeSection();
  }
  if (settled_) {
    if (run_.calls.contains(call.kind)) {
      run_.add(call);
      return;
    }
    closeRun();
  }
  if (young_kinds_.insert_or_assign(call.kind, young_.size()).second) newest_kind_ = young_.size();
  young_.push_back(std::move(call));
  if (young_.size() - newest_kind_ > kSettled) settle();
}

// The last calls brought no new kind: their kinds are the cycle, which begins behind the last call
// of another kind.
void MetadataRuns::settle() {
  std::size_t begin = 0;
  for (const auto& [kind, last] : young_kinds_) {
    if (last < young_.size() - kSettled) begin = std::max(begin, last + 1);
  }
  MetadataRun before;
  for (std::size_t i = 0; i < begin; ++i) before.add(young_[i]);
  if (begin > 0) push(std::move(before));
  MetadataRun cycle;
  for (std::size_t i = begin; i < young_.size(); ++i) cycle.add(young_[i]);
  young_.clear();
  young_kinds_.clear();
  if (at_once_ >= 2 && section_.back().operations <= kLongestCycle &&
      section_[section_.size() - 2].operations <= kLongestCycle &&
      section_[section_.size() - 2].hasSameKinds(cycle)) {
    MetadataRun between = std::move(section_.back());
    section_.pop_back();
    MetadataRun first = std::move(section_.back());
    section_.pop_back();
    at_once_ -= 2;
    first.add(between, true);
    first.add(cycle, true);
    cycle = std::move(first);
  }
  run_ = std::move(cycle);
  settled_ = true;
}

void MetadataRuns::closeRun() {
  for (const MetadataCall& call : young_) run_.add(call);
  young_.clear();
  young_kinds_.clear();
  settled_ = false;
  if (run_.operations > 0) push(std::move(run_));
  run_ = {};
}

void MetadataRuns::push(MetadataRun run) {
  if (!section_.empty() && section_.back().isLike(run)) {
    section_.back().add(run, true);
    return;
  }
  section_.push_back(std::move(run));
  ++at_once_;
  if (section_.size() > kMaxRuns) foldSection();
}

namespace {

// Whether these are more than may be kept.
bool areTooMany(const std::vector<MetadataRun>& runs) {
  std::size_t stretches = 0;
  for (const MetadataRun& run : runs) stretches += run.stretches.size();
  return runs.size() > kMaxRuns / 2 || stretches > kMaxStretches;
}

void makeOne(std::vector<MetadataRun>& runs) {
  MetadataRun all;
  for (const MetadataRun& run : runs) all.add(run, true);
  all.mixed = true;
  runs.clear();
  runs.push_back(std::move(all));
}

}  // namespace

// The short runs of the section as one, and runs that are alike but for short ones between them.
void MetadataRuns::foldSection() {
  MetadataRun mixed;
  std::vector<MetadataRun> others;
  bool was_short = false;
  for (MetadataRun& run : section_) {
    const bool is_short = run.mixed || run.operations < kSettled;
    if (is_short) {
      mixed.add(run, was_short);
    } else if (!others.empty() && others.back().isLike(run)) {
      others.back().add(run, false);
    } else {
      others.push_back(std::move(run));
    }
    was_short = is_short;
  }
  section_ = std::move(others);
  at_once_ = 0;
  if (mixed.operations > 0) {
    mixed.mixed = true;
    section_.insert(section_.begin(), std::move(mixed));
  }
  if (areTooMany(section_)) makeOne(section_);
}

void MetadataRuns::closeSection() {
  if (section_.size() > kMaxRunsInSection) foldSection();
  std::ranges::move(section_, std::back_inserter(runs_));
  section_.clear();
  at_once_ = 0;
  if (runs_.size() > kMaxRuns) makeOne(runs_);
}

std::vector<MetadataRun> MetadataRuns::finish() {
  closeRun();
  closeSection();
  std::ranges::stable_sort(runs_, {}, &MetadataRun::begin_ns);
  return std::move(runs_);
}

namespace {

// Runs that are equal in this are similar. Those that short ones were put together in are alike in
// that.
struct RunLikeness {
  std::size_t directory;  // by family
  bool mixed;
  std::vector<MetadataKind> kinds;

  auto operator<=>(const RunLikeness&) const = default;
};

RunLikeness likenessOf(const RankRun& each, std::size_t directory) {
  RunLikeness likeness{.directory = directory, .mixed = each.run.mixed, .kinds = {}};
  if (each.run.mixed) return likeness;
  for (const auto& [kind, count] : each.run.calls) likeness.kinds.push_back(kind);
  return likeness;
}

model::Phase phaseOf(const std::vector<const RankRun*>& group, std::int64_t origin_ns) {
  model::Phase phase;
  const MetadataRun& first = group.front()->run;
  phase.interface = first.interface;
  phase.begin_ns = first.begin_ns;
  phase.end_ns = first.end_ns;
  std::map<std::uint16_t, std::uint64_t> calls;
  std::unordered_set<std::uint64_t> directories;
  for (const RankRun* each : group) {
    const MetadataRun& run = each->run;
    phase.ranks.push_back(each->rank);
    phase.metadata.operations += run.operations;
    for (const auto& [kind, count] : run.calls) {
      calls[kind.call] += count;
      if (kind.creates) phase.metadata.creates += count;
    }
    directories.insert(run.directories.begin(), run.directories.end());
    phase.begin_ns = std::min(phase.begin_ns, run.begin_ns);
    phase.end_ns = std::max(phase.end_ns, run.end_ns);
    if (run.io.total() > phase.io.total()) phase.io = run.io;
  }
  phase.metadata.directories = std::max<std::uint64_t>(directories.size(), 1);
  phase.begin_ns -= origin_ns;
  phase.end_ns -= origin_ns;
  for (const auto& [number, count] : calls) {
    phase.calls.emplace_back(calls::rowOf(calls::CallId{number}).name, count);
  }
  std::ranges::sort(phase.calls);
  return phase;
}

}  // namespace

void addMetadataPhases(const std::vector<RankRun>& runs, std::int64_t origin_ns,
                       model::PhaseModel& model, std::vector<int>& phase_of) {
  std::map<std::string, std::size_t> index;
  std::vector<TouchedFile> touched;
  std::vector<std::size_t> touched_by_run;
  for (const RankRun& each : runs) {
    std::string path = each.run.directory.empty() ? std::string(kUnknownDirectory)
                                                  : base::printable(each.run.directory);
    const auto [place, is_new] = index.try_emplace(path, touched.size());
    if (is_new) touched.push_back({.path = std::move(path), .ranks = {}});
    touched[place->second].ranks.insert(each.rank);
    touched_by_run.push_back(place->second);
  }
  const Families families = findFamilies(touched);
  std::map<std::pair<RunLikeness, std::uint64_t>, std::vector<const RankRun*>> groups;
  std::map<std::pair<int, RunLikeness>, std::uint64_t> turns;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunLikeness likeness = likenessOf(runs[i], families.family[touched_by_run[i]]);
    groups[{likeness, turns[{runs[i].rank, likeness}]++}].push_back(&runs[i]);
  }
  struct Found {
    model::Phase phase;
    const std::vector<const RankRun*>* group;
  };
  std::vector<Found> found;
  for (const auto& [like, group] : groups) {
    found.push_back({phaseOf(group, origin_ns), &group});
    found.back().phase.file = static_cast<int>(model.files.size() + like.first.directory);
  }
  std::ranges::stable_sort(found, {}, [](const Found& each) {
    return std::tuple(each.phase.begin_ns, each.phase.file, each.phase.ranks);
  });
  for (const model::ModelFile& file : families.files) {
    model.files.push_back(file);
    model.files.back().directory = true;
  }
  phase_of.assign(runs.size(), 0);
  for (Found& one : found) {
    one.phase.id = model.phases.empty() ? 1 : model.phases.back().id + 1;
    for (const RankRun* each : *one.group) {
      phase_of[static_cast<std::size_t>(each - runs.data())] = one.phase.id;
    }
    model.phases.push_back(std::move(one.phase));
  }
}

}  // namespace omnio::phases
