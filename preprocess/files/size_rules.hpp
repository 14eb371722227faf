// The factors that the sizes of files are multiplied by, by the names of the files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/model/schedule.hpp"

namespace omnio::preprocess {

class SizeRules {
 public:
  // `plain`: the factor of files that no pattern matches. `keep_below`: requests of fewer bytes
  // keep their sizes.
  explicit SizeRules(double plain = 1, std::vector<model::SizeScale> patterns = {},
                     std::uint64_t keep_below = 0)
      : plain_(plain), patterns_(std::move(patterns)), keep_below_(keep_below) {}

  // Reads the words of --size-scale in their order: "X" or "PATTERN=X". Fails with a sentence that
  // names the word.
  static base::Result<SizeRules> read(const std::vector<std::string>& words);

  double plain() const { return plain_; }
  const std::vector<model::SizeScale>& patterns() const { return patterns_; }
  // The factor of a file, by its absolute path. The last pattern that matches decides.
  double factorOf(std::string_view path) const;
  // Each factor that a file may have once, the plain one first.
  std::vector<double> factors() const;
  bool changesSizes() const;
  bool isPlain() const { return patterns_.empty(); }
  std::uint64_t keepBelow() const { return keep_below_; }

 private:
  double plain_;
  std::vector<model::SizeScale> patterns_;
  std::uint64_t keep_below_ = 0;
};

// Collects which patterns match a file.
class UsedPatterns {
 public:
  // `rules` outlive it.
  explicit UsedPatterns(const SizeRules& rules)
      : rules_(rules), is_used_(rules.patterns().size(), false) {}

  void add(std::string_view path);
  // The first pattern that matched no path; nothing where each matched one.
  std::optional<std::string> unused() const;

 private:
  const SizeRules& rules_;
  std::vector<bool> is_used_;
};

}  // namespace omnio::preprocess
