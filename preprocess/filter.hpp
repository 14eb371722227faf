// Leaves calls of a trace out of its schedule. All passes see the calls that stay, as if the others
// had not been recorded: what they wrote and made is there when the replay begins, the order of
// what stays is worked out anew, and their time is the thread's own.
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
#include "core/tracefile/trace.hpp"
#include "preprocess/filter_rule.hpp"

namespace omnio::preprocess {

struct SourceThread;
struct SourceThreads;

struct FilterCounts {
  std::uint64_t left_out = 0;        // calls
  std::uint64_t on_descriptors = 0;  // of these, such that go with the open of their descriptor
  std::vector<bool> was_used;        // by rule: those of `include` first

  bool operator==(const FilterCounts&) const = default;
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

  // How a descriptor is when it is first used, whose open goes and whose calls stay since they are
  // in a window. In bytes.
  struct Before {
    std::int64_t position = 0;  // 0 where it is not known
    std::int64_t size = 0;      // of the file
    int flags = 0;              // of its open, as in C
  };
  // `handle`: of the process at that place in the trace. None where its open stays.
  std::optional<Before> before(std::size_t process, std::uint32_t handle) const;

  // The rules that were for no call, as on the command line.
  std::vector<std::string> unused(const FilterCounts& counts) const;

 private:
  friend class FilteredSource;
  enum class Verdict : std::uint8_t { kStays, kGoes, kGoesWithOpen };
  // Which conditions on files hold, by their number over all rules.
  using FileBits = std::vector<bool>;
  enum class Answer : std::uint8_t { kNo, kYes, kNotAsked };
  // Whether an open goes for its time alone.
  enum class Windows : std::uint8_t { kCount, kAreOpen };

  FileBits bitsOf(std::string_view path) const;
  bool isFor(const FilterRule& rule, std::size_t first_condition, bool is_include,
             const event::Event& event, const SourceThread& thread, const FileBits* file,
             Windows windows) const;
  Answer answer(const FilterCondition& condition, std::size_t number, bool is_include,
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
  std::int64_t start_ns_;
  std::unordered_map<std::string, std::uint64_t> sizes_;  // by path; where a rule asks for them
  // Whose opens go and take along all calls on them.
  std::unordered_set<tracefile::DescriptionKey, tracefile::DescriptionKey::Hash> gone_;
  std::map<std::pair<std::size_t, std::uint32_t>, Before> before_;
  tracefile::DescriptionKeys keys_;
};

}  // namespace omnio::preprocess
