// What predicts the operations of a thread, each seeing only the past: the grammar, and the
// baselines beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "predict/operations/operation.hpp"

namespace omnio::predict {

enum class Way : std::uint8_t {
  kGrammar,
  kSameAsLast,
  kContiguous,
  kSameDistance,
  kPatterns,
  kReadAhead
};
inline constexpr std::size_t kWays = 6;

// "grammar", "same_as_last", ...: as in documents.
std::string_view nameOf(Way way);
// For people.
std::string_view titleOf(Way way);

struct Path {
  double weight = 1;
  std::vector<Predicted> operations;
};

class Predictor {
 public:
  Predictor() = default;
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;
  virtual ~Predictor() = default;

  virtual void take(const Operation& operation) = 0;
  // What may come next, with weights of the sum 1. Empty: nothing is expected.
  virtual std::vector<Predicted> next() const = 0;
  // The operations that may follow, in order: a path for each of those that may come next, the most
  // likely one of it, with weights of the sum 1. Empty: nothing is expected.
  virtual std::vector<Path> following(std::size_t count) const = 0;
  // What is said of an operation once its context is known: its size, and its offset. Nothing where
  // it is new.
  virtual std::optional<std::int64_t> sizeOf(const Operation& operation) const = 0;
  virtual std::optional<std::int64_t> offsetOf(const Operation& operation) const = 0;
};

}  // namespace omnio::predict
