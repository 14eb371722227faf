// A calibration at a glance.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/base/json_writer.hpp"
#include "predict/calibration/document.hpp"

namespace omnio::predict {

// Reads and writes by one process in its own files, as the paper has them, and writes that extend a
// file: without pauses, and no first reads of new data.
bool isBasic(const CellKey& key);
// "read random", "write new"
std::string caseName(const CellKey& key);

// Table 1 of the paper: the times of a case, over all sizes.
struct AccessCase {
  CellKey key;  // without bytes
  TimeSummary times;
};
std::vector<AccessCase> casesOf(const Calibration& calibration);

// Table 2 of the paper: Pearson's correlations with the time, over the sample of all cases.
struct Correlations {
  std::size_t accesses = 0;
  double size = 0;
  double distance = 0;  // the absolute value of the delta-offset
  double type = 0;      // 1 of a write, 0 of a read
};
Correlations correlationsOf(const Calibration& calibration);

// The state of the calibration, medians by size and operation, and the tables.
std::string overviewText(const Calibration& calibration);
// The tables alone.
std::string tablesText(const Calibration& calibration);
// The same as members of an object: "cases", "correlations".
void putTables(base::JsonWriter& json, const Calibration& calibration);
// Least, quartiles, mean and most, in seconds, as members.
void putTimes(base::JsonWriter& json, const TimeSummary& times);

}  // namespace omnio::predict
