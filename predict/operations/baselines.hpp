// Simple predictors that the grammar is compared with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/pattern/access/access_patterns.hpp"
#include "predict/operations/offset_model.hpp"
#include "predict/operations/operation.hpp"
#include "predict/operations/predictor.hpp"

namespace omnio::predict {

// The last operation comes again: the same bytes of the same file (kSameAsLast), or as many bytes
// behind them (kContiguous). Once the file of an operation is known, this holds of the last
// transfer in that file; after an open a contiguous one begins at 0.
class Repeat final : public Predictor {
 public:
  // kSameAsLast or kContiguous.
  explicit Repeat(Way way) : goes_on_(way == Way::kContiguous) {}

  void take(const Operation& operation) override;
  std::vector<Predicted> next() const override { return path(1); }
  std::vector<Path> following(std::size_t count) const override {
    return {{.operations = path(count)}};
  }
  std::optional<std::int64_t> sizeOf(const Operation& operation) const override;
  std::optional<std::int64_t> offsetOf(const Operation& operation) const override;

 private:
  std::vector<Predicted> path(std::size_t count) const;

  // Files that are remembered: those that were used last.
  static constexpr std::size_t kMostPlaces = 4096;
  const FilePlace* placeOf(const Operation& operation) const;

  bool goes_on_;
  std::optional<Operation> last_;
  std::unordered_map<Slot, FilePlace> places_;
  std::uint64_t count_ = 0;
};

// The patterns of Tang et al. (core/pattern/access) in the reads, and in the writes, of each file.
// What comes next is taken to be of the same call and file as the last operation.
class Patterns final : public Predictor {
 public:
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
    event::FileId file = event::kNoFile;
    AccessPatterns patterns;
    std::uint64_t used = 0;
  };
  static std::uint64_t keyOf(const Operation& operation) {
    return std::uint64_t{operation.slot} * 2 + (operation.kind == Kind::kRead ? 1 : 0);
  }
  std::optional<AccessPatterns::Prediction> saidOf(const Operation& operation) const;

  std::optional<Operation> last_;
  std::unordered_map<std::uint64_t, OfFile> files_;  // by keyOf()
  std::uint64_t count_ = 0;
};

}  // namespace omnio::predict
