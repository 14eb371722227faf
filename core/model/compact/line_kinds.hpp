// Lines of JSON (events, files of a schedule) that were taken apart (line_splitter.hpp). Lines of
// one shape are of one kind, and are put together again with expressions for numbers that change
// from turn to turn of a loop (docs/formats/schedule.md, "Loops").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/model/compact/line_splitter.hpp"
#include "core/pattern/nest.hpp"

namespace omnio::model {

// The surroundings of a line that is written.
struct LineContext {
  std::size_t loops = 0;     // around it
  bool is_shared = false;    // by ranks: the outermost of these "loops" is that over the ranks
  bool has_measures = true;  // written down
};

class LineKinds {
 public:
  std::uint32_t kindOf(const LineSplitter& line);

  // Whether a line without its measures says where it has some: each has a gap and a duration, and
  // its waits for messages and threads have times, and no other waits.
  bool canLackMeasures(std::uint32_t kind) const;
  // The key of each number of a line of the kind, in their order. Those of a list have its key.
  std::vector<std::string> keysOf(std::uint32_t kind) const;
  // A text that kinds have in common which differ in nothing but how many digits the numbers in
  // their names have, and how many of these numbers have leading zeros.
  std::string withoutWidths(std::uint32_t kind) const;
  std::size_t paddedNumbers(std::uint32_t kind) const;
  // Appends a line of the kind. Measures are written as their means.
  void append(std::string& out, std::uint32_t kind, const std::vector<pattern::Field>& fields,
              const pattern::Measures& measures, const LineContext& context) const;

 private:
  std::vector<std::string> shapes_;  // by kind
  std::unordered_map<std::string, std::uint32_t> kinds_;
};

// The mean that so many measures from `index` on are written as.
std::int64_t meanOf(const pattern::Measures& measures, std::size_t index, std::size_t length = 1);

// The name of the n-th list of values: a, b, ..., z, aa, ...
std::string listName(std::size_t index);

// "{4096*turn+7}"; `width`: of a number with leading zeros, or 0.
std::string expressionOf(const pattern::Field& field, std::size_t width,
                         const LineContext& context);

}  // namespace omnio::model
