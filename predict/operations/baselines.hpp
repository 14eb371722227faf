// Simple predictors that the grammar is compared with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/pattern/access/access_patterns.hpp"
#include "predict/operations/file_place.hpp"
#include "predict/operations/operation.hpp"
#include "predict/operations/predictor.hpp"

namespace omnio::predict {

// The last operation comes again: the same bytes of the same file (kSameAsLast), as many bytes
// behind them (kContiguous), or as many bytes that are as far from these as they were in the last
// operation of the same context (kSameDistance). Once the file and the context of an operation are
// known, this holds of the last transfer in that file; after an open the last two count from 0.
class Repeat final : public Predictor {
 public:
  // kSameAsLast, kContiguous or kSameDistance.
  explicit Repeat(Way way) : way_(way) {}

  void take(const Operation& operation) override;
  std::vector<Predicted> next() const override { return path(1); }
  std::vector<Path> following(std::size_t count) const override {
    return {{.operations = path(count)}};
  }
  std::optional<std::int64_t> sizeOf(const Operation& operation) const override;
  std::optional<std::int64_t> offsetOf(const Operation& operation) const override;

 private:
  std::vector<Predicted> path(std::size_t count) const;

  // Files, and contexts, that are remembered: those that were used last.
  static constexpr std::size_t kMostPlaces = 4096;
  const FilePlace* placeOf(const Operation& operation) const;
  // 0 where it is not known, and for a contiguous operation.
  std::int64_t distanceOf(std::uint64_t context) const;

  struct Distance {
    std::int64_t distance = 0;  // from where the one before in the file ended
    std::uint64_t used = 0;
  };
  Way way_;
  std::optional<Operation> last_;
  std::unordered_map<Slot, FilePlace> places_;
  std::unordered_map<std::uint64_t, Distance> distances_;  // by context: of kSameDistance
  std::uint64_t count_ = 0;
};

// The patterns of Tang et al. (core/pattern/access) in the reads, and in the writes, of each file.
// What comes next is taken to be of the same call and file as the last operation.
class Patterns final : public Predictor {
 public:
  // Takes all patterns of a file once it is known that they have no more: another file has its
  // slot, it was not used for long, or the run has ended. The operation is the last one.
  using TakeFound =
      std::function<void(const Operation& last, const pattern::access::AccessPatterns& patterns)>;
  void setTakeFound(TakeFound take) { take_found_ = std::move(take); }
  // At the end of the run.
  void finish();

  void take(const Operation& operation) override;
  std::vector<Predicted> next() const override { return path(1); }
  std::vector<Path> following(std::size_t count) const override {
    return {{.operations = path(count)}};
  }
  std::optional<std::int64_t> sizeOf(const Operation& operation) const override;
  std::optional<std::int64_t> offsetOf(const Operation& operation) const override;

 private:
  std::vector<Predicted> path(std::size_t count) const;

  using AccessPatterns = pattern::access::AccessPatterns;
  // Of more, those are dropped that were not used for longest: one may take
  // AccessPatterns::kMostBytes.
  static constexpr std::size_t kMostFiles = 64;
  struct OfFile {
    Operation last;
    AccessPatterns patterns;
    std::uint64_t used = 0;
  };
  static std::uint64_t keyOf(const Operation& operation) {
    return std::uint64_t{operation.slot} * 2 + (operation.kind == Kind::kRead ? 1 : 0);
  }
  std::optional<AccessPatterns::Prediction> saidOf(const Operation& operation) const;

  std::optional<Operation> last_;
  std::unordered_map<std::uint64_t, OfFile> files_;  // by keyOf()
  TakeFound take_found_;
  std::uint64_t count_ = 0;
};

}  // namespace omnio::predict
