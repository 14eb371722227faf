#include "preprocess/filter.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "core/base/printable.hpp"
#include "core/base/progress.hpp"
#include "core/calls/words/names.hpp"
#include "core/event/io_requests.hpp"
#include "core/tracefile/merged_reader.hpp"
#include "core/tracefile/posix_offsets.hpp"
#include "core/wire/path_pattern.hpp"
#include "preprocess/analysis.hpp"

namespace omnio::preprocess {

namespace {

bool matches(const std::string& pattern, std::string_view path) {
  return wire::matchesPattern(pattern, {.directory = {}, .name = path});
}

// The second name of a rename or link.
std::string_view newPathOf(const event::Event& event) {
  const int index = calls::indexOf(*event.row, calls::Role::kPathNew);
  return index < 0 ? std::string_view() : event.texts[static_cast<std::size_t>(index)].absolute;
}

// A mapping or an asynchronous operation is several calls, which go and stay together.
bool isPart(const calls::Row& row) {
  static const std::array kIsPart = calls::ofEachRow([](const calls::Row& each) {
    return each.call_class == calls::Class::kMapping || each.call_class == calls::Class::kAsync ||
           calls::has(each, calls::Role::kMapping) || calls::has(each, calls::Role::kContext) ||
           (calls::has(each, calls::Role::kRequest) && each.api != calls::Api::kMpi);
  });
  return kIsPart[row.number];
}

// All calls of a rank, in the order of time.
class RankReader {
 public:
  RankReader(const SourceThreads& sources, std::size_t first, std::size_t last,
             event::IoLayer layer)
      : sources_(sources), first_(first) {
    std::vector<const tracefile::Process*> processes;
    for (std::size_t place = first; place < last; ++place) {
      const SourceThread& thread = sources.threads[place];
      processes.push_back(thread.process);
      merged_.add([this, &thread,
                   layer] { return thread.openAll(paths_, {.layer = layer, .below = true}); },
                  tracefile::MergedReader::beginNs(*thread.process));
    }
    offsets_.emplace(processes, paths_, sessions_);
  }

  const event::Event* next() { return merged_.next(); }
  const SourceThread& thread() const { return sources_.threads[first_ + merged_.source()]; }
  const event::PathTable& paths() const { return paths_; }
  tracefile::PosixOffsets& offsets() { return *offsets_; }

 private:
  const SourceThreads& sources_;
  std::size_t first_;
  event::PathTable paths_;
  std::uint64_t sessions_ = 0;
  std::optional<tracefile::PosixOffsets> offsets_;
  tracefile::MergedReader merged_;
};

// Calls `read` with a reader of each rank.
template <typename Read>
void forEachRank(const SourceThreads& sources, event::IoLayer layer, Read read) {
  for (std::size_t first = 0; first < sources.threads.size();) {
    std::size_t last = first;
    const int rank = sources.threads[first].header.rank;
    while (last < sources.threads.size() && sources.threads[last].header.rank == rank) ++last;
    RankReader reader(sources, first, last, layer);
    read(reader);
    first = last;
  }
}

}  // namespace

// Which conditions hold of the files of one table, looked up once for each file.
class FilterFiles {
 public:
  FilterFiles(const Filter& filter, const event::PathTable& paths)
      : filter_(filter), paths_(paths) {}

  // nullptr where the call is about no file, or no rule asks for files.
  const Filter::FileBits* of(event::FileId file) {
    if (file == event::kNoFile || !filter_.asks_for_files_) return nullptr;
    const auto [at, is_new] = files_.try_emplace(file);
    if (is_new) at->second = filter_.bitsOf(paths_.path(file));
    return &at->second;
  }

 private:
  const Filter& filter_;
  const event::PathTable& paths_;
  std::unordered_map<event::FileId, Filter::FileBits> files_;
};

// The calls that stay of one thread.
class FilteredSource final : public event::EventSource {
 public:
  FilteredSource(const Filter& filter, std::unique_ptr<event::EventSource> events,
                 const SourceThread& thread, const event::PathTable& paths, FilterCounts* counts)
      : filter_(filter),
        events_(std::move(events)),
        thread_(thread),
        files_(filter, paths),
        counts_(counts) {}

  const event::Event* next() override {
    missing_before_ = 0;
    while (const event::Event* const event = events_->next()) {
      missing_before_ += events_->missingBefore();
      if (event->row->api == calls::Api::kThreads) return event;
      // Calls made for one of MPI-IO go with it, and those of an operation that a wait completes
      // with their file. The wait itself stays with the operations that it completes.
      const bool is_below = event->outer != nullptr;
      const bool is_of_wait = is_below && !calls::isMpiIo(*event->outer->row);
      const event::Event& step = is_below && !is_of_wait ? *event->outer : *event;
      const bool is_mpi = step.row->api == calls::Api::kMpi;
      if (is_mpi && !calls::isMpiIo(*step.row)) {
        if (kept_.take(step)) return event;
        continue;
      }
      FilterCounts* const counts = is_below ? nullptr : counts_;
      const Filter::Verdict verdict = filter_.verdict(step, thread_, files_.of(step.file), counts);
      if (verdict == Filter::Verdict::kStays) {
        if (is_mpi && !is_below) kept_.take(step);
        return event;
      }
      if (counts == nullptr) continue;
      ++counts->left_out;
      if (verdict == Filter::Verdict::kGoesWithOpen) ++counts->on_descriptors;
    }
    missing_before_ += events_->missingBefore();
    return nullptr;
  }
  std::uint64_t missingBefore() const override { return missing_before_; }
  std::uint64_t undecodable() const override { return events_->undecodable(); }
  event::ThinkTime thinkTime() const override { return events_->thinkTime(); }

 private:
  const Filter& filter_;
  std::unique_ptr<event::EventSource> events_;
  const SourceThread& thread_;
  FilterFiles files_;
  FilterCounts* counts_;
  event::IoRequests kept_;  // of operations that stay
  std::uint64_t missing_before_ = 0;
};

Filter::Filter(const FilterRules& rules, const tracefile::Trace& trace,
               const SourceThreads& sources, event::IoLayer layer)
    : rules_(rules), start_ns_(0), asks_for_files_(false), keys_([&trace] {
        std::vector<const tracefile::Process*> processes;
        for (const auto& process : trace.processes()) processes.push_back(process.get());
        return processes;
      }()) {
  // Other conditions hold of the open of a descriptor if they hold of a call on it.
  const bool tells_calls_apart = asksFor(FilterSubject::kCall) || asksFor(FilterSubject::kClass) ||
                                 asksFor(FilterSubject::kThread) || asksFor(FilterSubject::kWindow);
  const bool asks_for_sizes = asksFor(FilterSubject::kFileSize);
  asks_for_files_ = asks_for_sizes || asksFor(FilterSubject::kPath);
  if (asksFor(FilterSubject::kWindow)) start_ns_ = tracefile::startOfRun(trace);
  const unsigned passes = (tells_calls_apart ? 1U : 0U) + (asks_for_sizes ? 1U : 0U);
  if (passes == 0) return;
  const base::ProgressStage stage("finding what to leave out", "events",
                                  passes * trace.storedEvents());
  if (asks_for_sizes) readSizes(sources);
  if (tells_calls_apart) readOpens(sources, layer);
}

bool Filter::asksFor(FilterSubject subject) const {
  const auto does = [subject](const FilterRule& rule) { return rule.asksFor(subject); };
  return std::ranges::any_of(rules_.include, does) || std::ranges::any_of(rules_.exclude, does);
}

// The POSIX calls tell, those below MPI-IO too.
void Filter::readSizes(const SourceThreads& sources) {
  forEachRank(sources, event::IoLayer::kPosix, [this](RankReader& reader) {
    std::vector<std::uint64_t> sizes;  // by FileId
    const auto reaches = [&](event::FileId file, std::int64_t size) {
      if (file == event::kNoFile || size <= 0) return;
      const auto number = static_cast<std::size_t>(file);
      if (number >= sizes.size()) sizes.resize(number + 1);
      sizes[number] = std::max(sizes[number], static_cast<std::uint64_t>(size));
    };
    while (const event::Event* const event = reader.next()) {
      if (event->row->api == calls::Api::kThreads) continue;
      const auto at = reader.offsets().take(*reader.thread().process, *event);
      if (event->new_handle != nullptr) reaches(event->file, event->new_handle->definition.size);
      if (at && at->transfer.is_known) {
        reaches(event->file, at->transfer.offset + static_cast<std::int64_t>(at->transfer.bytes));
      }
      if (!event->failed && calls::does(*event->row, calls::Effect::kSetsLength)) {
        reaches(event->file, event::argumentOf(*event, calls::Role::kLength));
      }
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      std::uint64_t& size =
          sizes_[std::string(reader.paths().path(event::FileId(static_cast<std::uint32_t>(i))))];
      size = std::max(size, sizes[i]);
    }
  });
}

// Finds the opens that go and take along all calls on their descriptors; and the state of those
// descriptors whose calls stay although their open was before a window.
void Filter::readOpens(const SourceThreads& sources, event::IoLayer layer) {
  forEachRank(sources, layer, [&](RankReader& reader) {
    FilterFiles files(*this, reader.paths());
    // Flags, in the windows of other calls.
    std::unordered_map<tracefile::DescriptionKey, int, tracefile::DescriptionKey::Hash>
        opened_earlier;
    std::set<std::pair<std::size_t, std::uint32_t>> used;  // process and handle, by calls that stay
    while (const event::Event* const event = reader.next()) {
      const SourceThread& thread = reader.thread();
      const tracefile::Process& process = *thread.process;
      const event::Event& step = event->outer != nullptr ? *event->outer : *event;
      const FileBits* const bits = files.of(step.file);
      const bool goes = !stays(step, thread, bits, Windows::kAsGiven, nullptr);
      const bool is_mpi_open =
          step.row->api == calls::Api::kMpi && step.row->call_class == calls::Class::kOpen;
      const event::Handle* const made = is_mpi_open ? step.handle : step.new_handle;
      // A duplicate goes and stays with its original.
      if (goes && made != nullptr && (is_mpi_open || step.handle == nullptr)) {
        const tracefile::DescriptionKey key = keys_.of(process, made->definition);
        if (stays(step, thread, bits, Windows::kUnbounded, nullptr)) {
          opened_earlier[key] =
              event::openFlags(step) | static_cast<int>(made->definition.open_flags);
        } else {
          gone_.insert(key);
        }
      }
      if (!goes && step.handle != nullptr && !is_mpi_open) {
        const wire::HandleDefinition& handle = step.handle->definition;
        const bool is_first = used.emplace(thread.process_index, handle.handle).second;
        const auto state =
            is_first ? reader.offsets().stateOf(process, *step.handle) : std::nullopt;
        const auto opened = state ? opened_earlier.find(state->key) : opened_earlier.end();
        const bool is_given = handle.origin == wire::Origin::kInherited;
        if (state && (opened != opened_earlier.end() || is_given)) {
          before_.try_emplace({thread.process_index, handle.handle},
                              StateBefore{.state = *state,
                                          .flags = opened != opened_earlier.end()
                                                       ? opened->second
                                                       : static_cast<int>(handle.open_flags),
                                          .is_given = opened == opened_earlier.end()});
        }
      }
      if (event->row->api == calls::Api::kPosix || event->row->api == calls::Api::kStdio) {
        reader.offsets().take(process, *event);
      }
    }
  });
}

std::unique_ptr<event::EventSource> Filter::filtered(std::unique_ptr<event::EventSource> events,
                                                     const SourceThread& thread,
                                                     const event::PathTable& paths,
                                                     FilterCounts* counts) const {
  if (counts != nullptr) counts->was_used.resize(rules_.include.size() + rules_.exclude.size());
  return std::make_unique<FilteredSource>(*this, std::move(events), thread, paths, counts);
}

std::optional<Filter::StateBefore> Filter::before(std::size_t process, std::uint32_t handle) const {
  const auto found = before_.find({process, handle});
  return found == before_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> Filter::unused(const FilterCounts& counts) const {
  std::vector<std::string> rules;
  for (std::size_t i = 0; i < counts.was_used.size(); ++i) {
    if (counts.was_used[i]) continue;
    const bool is_include = i < rules_.include.size();
    const FilterRule& rule =
        is_include ? rules_.include[i] : rules_.exclude[i - rules_.include.size()];
    rules.push_back(
        fmt::format("{} '{}'", is_include ? "--include" : "--exclude", base::printable(rule.text)));
  }
  return rules;
}

Filter::FileBits Filter::bitsOf(std::string_view path) const {
  FileBits bits;
  for (const std::vector<FilterRule>* rules : {&rules_.include, &rules_.exclude}) {
    for (const FilterRule& rule : *rules) {
      for (const FilterCondition& condition : rule.conditions) {
        bool holds = false;
        if (condition.subject == FilterSubject::kPath) holds = matches(condition.pattern, path);
        if (condition.subject == FilterSubject::kFileSize) {
          const auto size = sizes_.find(std::string(path));
          holds = condition.holds(size == sizes_.end() ? 0 : size->second);
        }
        bits.push_back(holds);
      }
    }
  }
  return bits;
}

Filter::Answer Filter::answer(const FilterCondition& condition, std::size_t condition_number,
                              bool is_include, const event::Event& event,
                              const SourceThread& thread, const FileBits* file,
                              Windows windows) const {
  const auto answered = [](bool holds) { return holds ? Answer::kYes : Answer::kNo; };
  const calls::Row& row = *event.row;
  const bool is_part = isPart(row);
  switch (condition.subject) {
    case FilterSubject::kPath:
      if (event.file == event::kNoFile && is_part) return Answer::kNotAsked;
      if (file != nullptr && (*file)[condition_number]) return Answer::kYes;
      return answered(calls::has(row, calls::Role::kPathNew) &&
                      matches(condition.pattern, newPathOf(event)));
    case FilterSubject::kFileSize:
      if (event.file == event::kNoFile && is_part) return Answer::kNotAsked;
      return answered(file != nullptr && (*file)[condition_number]);
    case FilterSubject::kCall:
    case FilterSubject::kClass: {
      if (is_part) return Answer::kNotAsked;
      if (condition.calls[row.number]) return Answer::kYes;
      // Reads need the descriptors that they read, at the right place.
      const bool is_needed = row.call_class == calls::Class::kOpen ||
                             row.call_class == calls::Class::kClose ||
                             row.call_class == calls::Class::kSeek;
      return is_include && is_needed ? Answer::kNotAsked : Answer::kNo;
    }
    case FilterSubject::kRank:
      return answered(condition.holds(static_cast<std::uint64_t>(thread.header.rank)));
    case FilterSubject::kThread:
      return answered(condition.holds(static_cast<std::uint64_t>(thread.header.thread)));
    case FilterSubject::kRequest:
      if (is_part || !event::asksForBytes(row)) return Answer::kNotAsked;
      return answered(condition.holds(event.request));
    case FilterSubject::kWindow: {
      if (windows == Windows::kUnbounded) return Answer::kNotAsked;
      const std::int64_t since = event.start_ns - start_ns_;
      return answered(since >= condition.window.from_ns &&
                      (!condition.window.to_ns || since < *condition.window.to_ns));
    }
  }
  return Answer::kNo;
}

Filter::Answer Filter::isFor(const FilterRule& rule, std::size_t first_condition, bool is_include,
                             const event::Event& event, const SourceThread& thread,
                             const FileBits* file, Windows windows) const {
  Answer all = Answer::kYes;
  for (std::size_t i = 0; i < rule.conditions.size(); ++i) {
    const Answer given =
        answer(rule.conditions[i], first_condition + i, is_include, event, thread, file, windows);
    if (given == Answer::kNo) return given;
    if (given == Answer::kNotAsked) all = given;
  }
  return all;
}

// A rule of `include` is for a call unless a condition says no; one of `exclude` if all say yes.
bool Filter::stays(const event::Event& event, const SourceThread& thread, const FileBits* file,
                   Windows windows, FilterCounts* counts) const {
  std::size_t condition = 0;
  std::size_t rule_number = 0;
  const auto isAny = [&](const std::vector<FilterRule>& rules, bool is_include) {
    bool is_any = false;
    for (const FilterRule& rule : rules) {
      const Answer given = isFor(rule, condition, is_include, event, thread, file, windows);
      if (given == Answer::kYes && counts != nullptr) counts->was_used[rule_number] = true;
      is_any = is_any || (is_include ? given != Answer::kNo : given == Answer::kYes);
      condition += rule.conditions.size();
      ++rule_number;
    }
    return is_any;
  };
  const bool is_included = isAny(rules_.include, true) || rules_.include.empty();
  return !isAny(rules_.exclude, false) && is_included;
}

Filter::Verdict Filter::verdict(const event::Event& event, const SourceThread& thread,
                                const FileBits* file, FilterCounts* counts) const {
  if (!stays(event, thread, file, Windows::kAsGiven, counts)) return Verdict::kGoes;
  const bool is_gone = event.handle != nullptr && !gone_.empty() &&
                       gone_.contains(keys_.of(*thread.process, event.handle->definition));
  return is_gone ? Verdict::kGoesWithOpen : Verdict::kStays;
}

}  // namespace omnio::preprocess
