// Predicts the next symbols of a sequence by its grammar, after Dorier, Ibrahim, Antoniu and Ross,
// "Using Formal Grammars to Predict I/O Behaviors in HPC: the Omnisc'IO Approach" (TPDS 2016),
// tables 3 and 4.
//
// Predictors are marked symbols of the grammar: terminals that may come next, and the rules in
// which these are. So thousands of possible positions take no more than one mark for each symbol.
//
// - Update: a predictor that is the input advances, the others lose their marks. At the end of a
//   rule its marked instances advance.
// - Discovery, when none is left: all symbols that match the last input, and all instances of the
//   rules in which they are, become predictors, and are updated.
// - The weight of a predictor is the number of paths from the start rule down to it through marked
//   symbols, exponents counted.
//
// Published predictors do not know in which turn of A^n they are. These know it from when they
// enter A^n, so that the end of a loop is predicted too; only discovery leaves it open, and only
// there an exponent counts as a weight. Discovery inside of a run A^k looks for runs that are at
// least as long, as if they had begun as this one did.
//
// A symbol costs as much time as there are marks, at most the number of symbols in the grammar. Not
// for several threads at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/pattern/star_sequitur.hpp"

namespace omnio::pattern {

class GrammarPredictor {
 public:
  // Discovery takes so many symbols that match, and so many instances of each rule around them, the
  // latest that were added to the grammar. Where trip counts vary there are hundreds, and each
  // symbol of a run would advance them all.
  static constexpr std::size_t kMostDiscovered = 8;

  struct Expected {
    std::uint64_t symbol = 0;
    double weight = 0;

    bool operator==(const Expected&) const = default;
  };

  // Reads the sequence on from a predictor: a stack of symbols with their turns, the terminal on
  // top. At the end of the grammar the sequence is what has been read here so far, so it begins
  // again. Ends when the predictor it was made by takes another symbol.
  class Iterator {
   public:
    // Nothing where nothing is predicted.
    std::optional<std::uint64_t> next();

   private:
    friend class GrammarPredictor;
    struct Level {
      StarSequitur::SymbolId symbol = StarSequitur::kNone;
      std::uint64_t turn = 0;
    };
    explicit Iterator(const StarSequitur& grammar) : grammar_(&grammar) {}
    void advance();

    const StarSequitur* grammar_;
    std::vector<Level> begin_;
    std::vector<Level> stack_;
  };

  explicit GrammarPredictor(std::size_t most_symbols = StarSequitur::kUsualSymbols)
      : GrammarPredictor(StarSequitur(most_symbols)) {}
  // Goes on with a grammar that was made already, and with its marks.
  explicit GrammarPredictor(StarSequitur grammar) : grammar_(std::move(grammar)) {}

  // Takes the next symbol of the sequence: update, the grammar's own, and discovery if needed.
  void append(std::uint64_t symbol);

  // StarSequitur::shrink(), and all else that takes memory.
  void shrink(std::size_t symbols);

  // The grammar, and where the sequence is in it: docs/formats/prediction_model.md.
  template <typename Archive>
  void serialize(Archive& archive) {
    StarSequitur::Kept kept = grammar_.kept();
    archive(kept);
    if constexpr (Archive::kReads) {
      archive.require(restore(kept), "rules make no grammar");
    }
  }

  // The two steps of append() that are about predictors. update() is to come before the grammar
  // takes the symbol, and returns whether a predictor is left; discover() comes after it.
  bool update(std::uint64_t symbol);
  void discover();

  // All symbols that may come next, those with the largest weight first, then the smallest symbol.
  std::vector<Expected> expected() const;
  // The first of these.
  std::optional<std::uint64_t> next() const;
  // From the predictor with the largest weight for the symbol that comes first; nothing follows
  // where that is not expected.
  Iterator iterator(std::uint64_t first) const;
  Iterator iterator() const;  // of next()

  const StarSequitur& grammar() const { return grammar_; }
  std::size_t memoryBytes() const;

 private:
  using SymbolId = StarSequitur::SymbolId;
  using NameId = StarSequitur::NameId;
  // Marked symbols by name: from the name to one of them, and from each to the next. Each list has
  // the number of its step. Lists of other steps count as empty, so none needs to be cleared.
  class MarkedUses {
   public:
    void begin(std::size_t symbol_ids, std::size_t name_ids);
    bool has(SymbolId symbol) const { return symbols_[symbol].step == step_; }
    void add(NameId name, SymbolId symbol);
    SymbolId first(NameId name) const;
    SymbolId next(SymbolId symbol) const { return symbols_[symbol].id; }
    std::size_t bytes() const { return (symbols_.capacity() + names_.capacity()) * sizeof(Entry); }

   private:
    struct Entry {
      std::uint32_t step = 0;
      std::uint32_t id = StarSequitur::kNone;
    };
    std::uint32_t step_ = 0;
    std::vector<Entry> symbols_;
    std::vector<Entry> names_;
  };
  struct RuleState {
    std::uint64_t ended_step = 0;
    std::uint64_t kept_step = 0;
    std::uint64_t entered_step = 0;
  };
  struct PathCount {
    std::uint64_t round = 0;
    double paths = 0;
  };

  bool restore(const StarSequitur::Kept& kept);
  void forgetSteps();
  void beginStep();
  void setOld(SymbolId symbol, std::uint64_t turn);
  void beginRound() const;
  void advanceAll();
  void advance(SymbolId symbol);
  void enter(SymbolId symbol, std::uint64_t turn);
  void keepAround(NameId rule);
  void endRule(NameId rule);
  void discoverAround(NameId rule);
  double turnsOf(SymbolId symbol) const;
  double pathsTo(NameId rule) const;
  std::vector<SymbolId> markedTerminals() const;

  StarSequitur grammar_;
  std::uint64_t step_ = 0;
  MarkedUses old_;                        // those that were marked before the step
  std::vector<std::uint64_t> old_turns_;  // by symbol
  std::vector<RuleState> rules_;          // by name
  std::vector<SymbolId> advancing_;
  std::vector<NameId> keeping_;
  // By name; only a cache inside of one call.
  mutable std::uint64_t round_ = 0;
  mutable MarkedUses uses_;
  mutable std::vector<PathCount> path_counts_;
  mutable std::vector<NameId> counting_;
};

}  // namespace omnio::pattern
