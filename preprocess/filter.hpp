// Leaves calls of a trace out of its schedule. All passes see the calls that stay, as if the others
// had not been recorded. Files that the others wrote or made are there when the replay begins,
// their time counts as the thread's own, and the order is worked out from the calls that stay.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/event/event.hpp"
#include "core/tracefile/description_keys.hpp"
#include "core/tracefile/posix_offsets.hpp"
#include "core/tracefile/trace.hpp"
#include "preprocess/filter_rule.hpp"

namespace omnio::preprocess {

struct SourceThread;
struct SourceThreads;

struct FilterCounts {
  std::uint64_t left_out = 0;        // calls
  std::uint64_t on_descriptors = 0;  // of these, such that go with the open of their descriptor
  std::vector<bool> was_used;        // by rule: those of `include` first
};

class Filter {
 public:
  // Reads the trace where a rule asks for what only all of it tells. `layer`: of the schedule. All
  // outlives this object.
  Filter(const FilterRules& rules, const tracefile::Trace& trace, const SourceThreads& sources,
         event::IoLayer layer);

  // The calls of the thread that stay. `counts`, which may be null, counts the others.
  std::unique_ptr<event::EventSource> filtered(std::unique_ptr<event::EventSource> events,
                                               const SourceThread& thread,
                                               const event::PathTable& paths,
                                               FilterCounts* counts) const;

  // The state of a descriptor at its first call that stays, where calls before that go. `flags`: of
  // its open, as in C. `is_given`: it was open before the recording.
  struct StateBefore {
    tracefile::PosixOffsets::State state;
    int flags = 0;
    bool is_given = false;
  };
  // `handle`: of the process at that place in the trace. None where its open stays.
  std::optional<StateBefore> before(std::size_t process, std::uint32_t handle) const;

  // The rules that were for no call, as on the command line.
  std::vector<std::string> unused(const FilterCounts& counts) const;

 private:
  friend class FilterFiles;
  friend class FilteredSource;
  enum class Verdict : std::uint8_t { kStays, kGoes, kGoesWithOpen };
  // Which conditions on files hold, by their number over all rules.
  using FileBits = std::vector<bool>;
  enum class Answer : std::uint8_t { kNo, kYes, kNotAsked };
  // kUnbounded: as if all calls were in all windows, to see whether an open goes for its time
  // alone.
  enum class Windows : std::uint8_t { kAsGiven, kUnbounded };

  FileBits bitsOf(std::string_view path) const;
  // kYes: all conditions say so. kNotAsked: none says no.
  Answer isFor(const FilterRule& rule, std::size_t first_condition, bool is_include,
               const event::Event& event, const SourceThread& thread, const FileBits* file,
               Windows windows) const;
  Answer answer(const FilterCondition& condition, std::size_t condition_number, bool is_include,
                const event::Event& event, const SourceThread& thread, const FileBits* file,
                Windows windows) const;
  bool stays(const event::Event& event, const SourceThread& thread, const FileBits* file,
             Windows windows, FilterCounts* counts) const;
  Verdict verdict(const event::Event& event, const SourceThread& thread, const FileBits* file,
                  FilterCounts* counts) const;
  void readSizes(const SourceThreads& sources);
  void readOpens(const SourceThreads& sources, event::IoLayer layer);
  bool asksFor(FilterSubject subject) const;

  const FilterRules& rules_;
  std::int64_t start_ns_;  // of the run, where a rule asks for times
  bool asks_for_files_;
  std::unordered_map<std::string, std::uint64_t> sizes_;  // by path; where a rule asks for them
  // Descriptions without their open: no call on them stays.
  std::unordered_set<tracefile::DescriptionKey, tracefile::DescriptionKey::Hash> gone_;
  std::map<std::pair<std::size_t, std::uint32_t>, StateBefore> before_;
  tracefile::DescriptionKeys keys_;
};

}  // namespace omnio::preprocess
