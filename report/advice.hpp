// Advice: what in the I/O of a run costs time that another way of doing the same would not.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/text_table.hpp"
#include "report/advice_settings.hpp"
#include "statistics/report.hpp"

namespace omnio::report {

// By the part of the run that it concerns.
enum class Grade { kNote, kWarning, kSerious };
inline constexpr base::Word<Grade> kGrades[] = {
    {Grade::kNote, "note"}, {Grade::kWarning, "warning"}, {Grade::kSerious, "serious"}};

struct Finding {
  std::string_view code;  // stays the same from version to version
  Grade grade = Grade::kNote;
  double run_share = 0;               // the part of the run that it concerns, at the most
  std::string title;                  // a sentence with the finding
  std::vector<std::string> evidence;  // sentences with numbers, files, ranks
  std::string_view why;               // it matters
  std::string_view remedy;            // what to try
};

// Reports of one trace, made without a selection, and with patterns (those of the files count).
struct AdviceInput {
  const stats::Report& by_file;
  const stats::Report& by_call;
  const stats::Report& by_rank;
  // Who came late behind the longest wait (statistics/lateness.hpp); empty where none is known.
  std::vector<std::string> lateness = {};
};

// The patterns that the reports have to be made with.
stats::PatternOptions patternsFor(const AdviceSettings& settings);

// The gravest first.
std::vector<Finding> adviceOn(const AdviceInput& input, const AdviceSettings& settings);

// For people.
std::string textOf(const std::vector<Finding>& findings);
// A list of objects, as a value.
void putFindings(base::JsonWriter& json, const std::vector<Finding>& findings);

}  // namespace omnio::report
