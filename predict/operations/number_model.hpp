// Predicts the next of a series of numbers: sizes, gaps between offsets, or offsets. After Dorier
// et al. (TPDS 2016): one number is that number, several have a grammar of their own, and of more
// than 24 only their sums are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/pattern/grammar_predictor.hpp"

namespace omnio::predict {

class NumberModel {
 public:
  static constexpr std::size_t kMostDifferent = 24;
  // A grammar of numbers has at most so many symbols.
  static constexpr std::size_t kMostSymbols = 96;

  void take(std::int64_t number);
  // The first numbers: the same so many times.
  void takeFirst(std::int64_t number, std::uint64_t times);

  bool hasSeveral() const { return different_.size() > 1 || has_too_many_; }
  // More than kMostDifferent: next() has nothing.
  bool hasTooMany() const { return has_too_many_; }
  // The one number, or what the grammar expects. Nothing before the first number.
  std::optional<std::int64_t> next() const { return next_; }
  // The numbers that it has to know, and the symbols of the grammar.
  std::size_t symbolCount() const {
    return different_.size() + (grammar_ == nullptr ? 0 : grammar_->grammar().symbolCount());
  }
  std::size_t memoryBytes() const;
  // Forgets the older half of a grammar, unless that is small.
  void halve();
  // Gives memory that is not used back.
  void compact();

  template <typename Archive>
  void serialize(Archive& archive) {
    archive(different_, run_, has_too_many_, next_);
    bool has_grammar = grammar_ != nullptr;
    archive(has_grammar);
    if constexpr (Archive::kReads) {
      if (has_grammar) grammar_ = std::make_unique<pattern::GrammarPredictor>(kMostSymbols);
    }
    if (has_grammar) archive(*grammar_);
    archive.require(fitsTogether(), "a grammar of numbers has others than those that it is of");
  }

  // The numbers that follow, one after the other. Ends when the model takes a number.
  class Ahead {
   public:
    std::optional<std::int64_t> next();

   private:
    friend class NumberModel;
    std::optional<std::int64_t> only_;
    std::optional<pattern::GrammarPredictor::Iterator> numbers_;
  };
  Ahead ahead() const;

 private:
  void beginGrammar(std::int64_t number);
  void giveUp();
  bool fitsTogether() const;

  std::vector<std::int64_t> different_;
  std::uint64_t run_ = 0;  // of the first number, as long as it is the only one
  bool has_too_many_ = false;
  std::optional<std::int64_t> next_;
  std::unique_ptr<pattern::GrammarPredictor> grammar_;
};

}  // namespace omnio::predict
