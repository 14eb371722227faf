// Findings in the operations on a file: its access patterns (Tang et al., Euro-Par 2014), and the
// sizes of the transfers of each context (Dorier et al., TPDS 2016, table 6). Findings of
// several files, threads or ranks can be added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/moments.hpp"
#include "core/pattern/access/access_patterns.hpp"

namespace omnio::predict {

// Holds those of the reads, or of the writes, of a file.
class Findings {
 public:
  using PatternKind = pattern::access::PatternKind;
  // A pattern of one kind with the same parameters, wherever it begins.
  struct Pattern {
    std::uint64_t times = 0;
    std::int64_t first = 0;  // the lowest and the highest offset at which it begins
    std::int64_t last = 0;
    std::uint64_t accesses = 0;  // 0 of correlations
    std::uint64_t bytes = 0;

    void add(const Pattern& other);
  };
  struct Sizes {
    static constexpr std::size_t kMostDifferent = 24;
    base::Moments bytes;
    std::vector<std::int64_t> different;  // the first of them, sorted: one more than kMostDifferent

    void take(std::int64_t size);
    void add(const Sizes& other);
  };
  // By their parameters, for people. Of more, the others of a kind are one without parameters.
  static constexpr std::size_t kMostPatterns = 128;
  static constexpr std::size_t kMostCorrelations = 8;  // of one file
  static constexpr std::size_t kMostContexts = 128;    // those beyond are context 0

  void take(const pattern::access::AccessPatterns& patterns);
  void take(std::uint64_t context, std::int64_t bytes);
  void add(const Findings& other);

  using Patterns = std::map<std::pair<PatternKind, std::string>, Pattern>;
  const Patterns& patterns() const { return patterns_; }
  const std::map<std::uint64_t, Sizes>& sizes() const { return sizes_; }
  // Accesses that were in patterns which had to be forgotten, since their memory is bounded.
  std::uint64_t forgotten() const { return forgotten_; }

 private:
  void add(const Patterns::key_type& key, const Pattern& pattern);
  Sizes& sizesOf(std::uint64_t context);

  Patterns patterns_;
  std::map<std::uint64_t, Sizes> sizes_;  // by context
  std::uint64_t forgotten_ = 0;
};

// The parameters of a pattern: "100 x 512 B, every 4096 B". Nothing of a single access.
std::string parametersOf(const pattern::access::AccessPattern& pattern);

}  // namespace omnio::predict
