// A rule of `omnio preprocess --include` or `--exclude`: conditions on a call, all of which have to
// hold. Its text is the conditions, with a comma between two of them:
//
//   PATTERN, path=PATTERN   the file (core/wire/path_pattern.hpp), of renames either of both
//   call=NAME               the exact symbol; the plain one (open) stands for all of its forms
//   class=NAME              a class of the table of calls: read, write, metadata, ...
//   rank=N, rank=N-M        and so thread=N, of the rank, as in the schedule
//   window=FROM..TO         seconds from the start of the run, when the call began
//   request<BYTES           also <=, >, >= and =: what a read or write asks for
//   file-size<BYTES         the same of the largest size that the file was seen to have
//
// BYTES may end in K, M, G or T, powers of 1024. A backslash takes a comma into a pattern.
#pragma once

#include <bitset>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/calls/table.hpp"
#include "core/tracefile/run_window.hpp"

namespace omnio::preprocess {

enum class FilterSubject : std::uint8_t {
  kPath,
  kCall,
  kClass,
  kRank,
  kThread,
  kWindow,
  kRequest,
  kFileSize
};

struct FilterCondition {
  FilterSubject subject = FilterSubject::kPath;
  std::string pattern{};                     // of kPath
  std::bitset<calls::kNumberLimit> calls{};  // of kCall and kClass, by number
  std::uint64_t least = 0;                   // of ranks, threads and sizes
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  tracefile::Window window{};

  bool holds(std::uint64_t number) const { return number >= least && number <= most; }
};

struct FilterRule {
  std::string text;  // as it was given
  std::vector<FilterCondition> conditions;

  bool asksFor(FilterSubject subject) const;
};

// Fails with a sentence that names the condition.
base::Result<FilterRule> parseFilterRule(std::string_view text);

// A call stays where a rule of `include` is for it, or there is none, and no rule of `exclude` is.
struct FilterRules {
  std::vector<FilterRule> include;
  std::vector<FilterRule> exclude;

  bool isEmpty() const { return include.empty() && exclude.empty(); }
  // The first one that may keep the calls of some ranks of a group, and not those of the others;
  // nullptr for none.
  const FilterRule* firstThatSplitsGroups() const;
  std::string text() const;  // as on the command line
};

}  // namespace omnio::preprocess
