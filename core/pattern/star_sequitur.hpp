// A grammar that derives a sequence of 64-bit symbols, made while the sequence is read.
//
// Sequitur (Nevill-Manning and Witten, JAIR 1997) with exponents, after Dorier, Ibrahim, Antoniu
// and Ross, "Using Formal Grammars to Predict I/O Behaviors in HPC: the Omnisc'IO Approach" (TPDS
// 2016), tables 1 and 2. Three constraints hold after every symbol:
//
// - Digram uniqueness: A^i B^j occurs once in all rules. A second one becomes a rule.
// - Rule utility: a rule is used at least twice, where A^2 is two uses. Else it is inlined.
// - Twins removal: A^i A^j becomes A^(i+j).
//
// Trip counts that vary, other than by a period, make no small grammar, whatever the constraints:
// each run between two other symbols is a string of its own, and a grammar of N symbols has no more
// than about 2 N strings that cross from one of its symbols to the next for the first time. Digrams
// that ignore exponents, with runs split at the smaller one, were tried: 200 loops of 100 to 400
// turns took 479 symbols instead of 398, loops that grow by a turn 598 instead of 400, and trip
// counts with a period were predicted wrongly. So the memory is bounded by a limit instead.
//
// A symbol of the sequence causes a constant number of changes, amortised: let E be the sum of all
// exponents and R the number of rules. A new symbol adds 2 to 2 E - R, each change of a rule lowers
// it, and a merge of twins takes a symbol away. A change takes constant time, except that a rule
// that is inlined or dissolved costs its length and its uses. No function is recursive.
//
// Memory: at most `most_symbols` symbols in all rules, of kMostBytesForSymbol bytes each. Beyond
// that the oldest part of the sequence is dropped, whole symbols of the start rule at a time;
// droppedLength() says how much. A period that has more than `most_symbols` symbols is not learned.
//
// A reader of the grammar may mark symbols (GrammarPredictor does). A mark follows its symbol when
// rules change. Not for several threads at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/integers.hpp"

namespace omnio::pattern {

class StarSequitur {
 public:
  // Index of a symbol, and of a name: a terminal or a rule. Both are used again after they are
  // free.
  using SymbolId = std::uint32_t;
  using NameId = std::uint32_t;
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr NameId kStart = 0;  // the rule that derives the sequence

  // A mark says in which turn of the exponent the reader is, counted from 0.
  static constexpr std::uint64_t kNotMarked = UINT64_MAX;
  static constexpr std::uint64_t kAnyTurn = UINT64_MAX - 1;

  static constexpr std::size_t kLeastSymbols = 16;
  static constexpr std::size_t kUsualSymbols = 2048;
  // memoryBytes() is at most this times `most_symbols`.
  static constexpr std::size_t kMostBytesForSymbol = 320;

  // `most_symbols` below kLeastSymbols counts as kLeastSymbols.
  explicit StarSequitur(std::size_t most_symbols = kUsualSymbols);

  void append(std::uint64_t terminal);
  // Drops the first symbol of the start rule, if there is one.
  void dropOldest();
  // Drops the oldest until there are at most so many symbols, and gives memory that is not used
  // back. Ids change: those that the caller has are no longer valid. Marks stay.
  void shrink(std::size_t symbols);

  // A grammar without ids that are free, to be kept beyond the program that made it. Symbols are
  // numbered by their names, and those of a name from the oldest to the newest.
  struct Kept {
    struct Name {
      bool is_rule = false;
      std::uint64_t terminal = 0;
      std::uint32_t uses = 0;  // so many symbols have it

      template <typename Archive>
      void serialize(Archive& archive) {
        archive(is_rule, uses);
        if (!is_rule) archive.fixed(terminal);
      }
    };
    struct Mark {
      std::uint32_t symbol = 0;
      std::uint64_t turn = 0;

      template <typename Archive>
      void serialize(Archive& archive) {
        archive(symbol, turn);
      }
    };
    std::vector<Name> names = {};                        // the first one is the start rule
    std::vector<std::uint64_t> exponents = {};           // by symbol
    std::vector<std::vector<std::uint32_t>> rules = {};  // the symbols of each, in order of names
    std::vector<Mark> marks = {};
    std::uint64_t dropped = 0;

    template <typename Archive>
    void serialize(Archive& archive) {
      archive(names, exponents, rules, marks, dropped);
    }
  };
  Kept kept() const;
  // Becomes that grammar, with its own limit. False, and nothing changes, where it is none: rules
  // that go round in a circle, say.
  bool restore(const Kept& kept);

  std::uint64_t length() const { return length_; }  // of the sequence, with what was dropped
  std::uint64_t droppedLength() const { return dropped_; }
  std::size_t symbolCount() const { return symbol_count_; }  // in all rules
  std::size_t ruleCount() const { return rule_count_; }      // with the start rule
  // Bytes of heap memory, those of the hash tables estimated.
  std::size_t memoryBytes() const;

  // Calls `take` with each terminal of the sequence that was not dropped, in order.
  template <typename Take>
  void expand(Take take) const;

  // A rule is a ring of symbols that begins and ends at its guard.
  SymbolId first(NameId rule) const { return symbols_[names_[rule].guard].next; }
  SymbolId last(NameId rule) const { return symbols_[names_[rule].guard].previous; }
  SymbolId next(SymbolId symbol) const { return symbols_[symbol].next; }
  SymbolId previous(SymbolId symbol) const { return symbols_[symbol].previous; }
  bool isGuard(SymbolId symbol) const { return symbols_[symbol].exponent == 0; }
  NameId name(SymbolId symbol) const { return symbols_[symbol].name; }
  NameId ruleAround(SymbolId symbol) const { return symbols_[symbol].rule; }
  std::uint64_t exponent(SymbolId symbol) const { return symbols_[symbol].exponent; }
  bool isRule(NameId name) const { return names_[name].guard != kNone; }
  std::uint64_t terminal(NameId name) const { return names_[name].terminal; }
  // kNone when no symbol has it.
  NameId nameOf(std::uint64_t terminal) const;
  // All symbols of a name: firstUse(), then nextUse() until kNone.
  SymbolId firstUse(NameId name) const { return names_[name].first_use; }
  SymbolId nextUse(SymbolId symbol) const { return symbols_[symbol].next_use; }
  // All ids are below these.
  std::size_t symbolIds() const { return symbols_.size(); }
  std::size_t nameIds() const { return names_.size(); }

  // A symbol that is marked in two different turns is marked in kAnyTurn.
  void mark(SymbolId symbol, std::uint64_t turn);
  std::uint64_t markOf(SymbolId symbol) const { return symbols_[symbol].mark; }
  // All symbols with a mark are among these; some occur twice, and some have lost their mark.
  std::span<const SymbolId> marked() const { return marked_; }
  void clearMarks();

 private:
  struct Symbol {
    std::uint64_t exponent = 0;  // 0 for a guard
    std::uint64_t mark = kNotMarked;
    NameId name = kNone;  // kNone when free
    NameId rule = kNone;  // the one that it is in
    SymbolId previous = kNone;
    SymbolId next = kNone;
    SymbolId previous_use = kNone;
    SymbolId next_use = kNone;
  };
  struct Name {
    std::uint64_t terminal = 0;
    std::uint64_t length = 1;  // terminals that it derives
    SymbolId guard = kNone;    // of a rule
    SymbolId first_use = kNone;
    std::uint32_t use_count = 0;
  };
  struct Pair {
    NameId left = kNone;
    NameId right = kNone;
    std::uint64_t left_exponent = 0;
    std::uint64_t right_exponent = 0;
    bool operator==(const Pair&) const = default;
  };
  struct Mixed {
    std::size_t operator()(const Pair& pair) const {
      const std::uint64_t names = std::uint64_t{pair.left} << 32 | pair.right;
      return base::mixed(names, pair.left_exponent, pair.right_exponent);
    }
    std::size_t operator()(std::uint64_t terminal) const { return base::mixed(terminal); }
  };

  NameId newName(std::uint64_t terminal, std::uint64_t length);
  NameId newRule(std::uint64_t length);
  void freeName(NameId name);
  SymbolId newSymbol(NameId name, std::uint64_t exponent);
  SymbolId insertAfter(SymbolId before, NameId name, std::uint64_t exponent);
  void addUse(SymbolId symbol);
  void removeUse(SymbolId symbol);
  void remove(SymbolId symbol);
  void freeSymbol(SymbolId symbol);
  void link(SymbolId left, SymbolId right);
  bool isUsedOnce(NameId name) const;

  Pair pairAt(SymbolId left) const;
  void forget(SymbolId left);
  void check(SymbolId left) { pending_.push_back(left); }

  void settle();
  void checkPair(SymbolId left);
  void checkUtility(NameId name);
  void mergeTwins(SymbolId left);
  void join(SymbolId one, SymbolId other);
  std::uint64_t lengthOf(SymbolId symbol) const;
  NameId wholeRule(SymbolId left) const;
  bool extend(SymbolId one, SymbolId other);
  bool areAllUses(SymbolId one, SymbolId other) const;
  void absorbAfter(SymbolId instance, SymbolId inside);
  void absorbBefore(SymbolId instance, SymbolId inside);
  void moveMark(SymbolId symbol, SymbolId instance, SymbolId inside);
  void substitute(SymbolId left, NameId rule);
  void dissolve(NameId rule);
  void inlineRule(NameId rule);
  void removeRule(NameId rule);
  void compact();
  bool restoreNames(const Kept& kept);
  bool restoreRules(const Kept& kept);
  bool restoreLengths();

  std::size_t most_symbols_;
  std::vector<Symbol> symbols_;
  std::vector<Name> names_;
  std::vector<SymbolId> free_symbols_;
  std::vector<NameId> free_names_;
  std::unordered_map<Pair, SymbolId, Mixed> pairs_;  // the left symbol of each digram
  std::unordered_map<std::uint64_t, NameId, Mixed> terminals_;
  std::vector<SymbolId> pending_;  // left symbols of digrams to check
  std::vector<NameId> unsure_;     // rules whose utility is to be checked
  std::vector<SymbolId> marked_;
  std::size_t symbol_count_ = 0;
  std::size_t rule_count_ = 0;
  std::uint64_t length_ = 0;
  std::uint64_t dropped_ = 0;
};

template <typename Take>
void StarSequitur::expand(Take take) const {
  std::vector<std::pair<SymbolId, std::uint64_t>> stack;  // with the turns that are left
  const auto enter = [&](NameId rule) {
    const SymbolId symbol = first(rule);
    if (!isGuard(symbol)) stack.emplace_back(symbol, exponent(symbol));
  };
  enter(kStart);
  while (!stack.empty()) {
    auto& [symbol, turns] = stack.back();
    if (turns == 0) {
      symbol = next(symbol);
      if (isGuard(symbol)) {
        stack.pop_back();
      } else {
        turns = exponent(symbol);
      }
      continue;
    }
    --turns;
    const NameId what = name(symbol);
    if (isRule(what)) {
      enter(what);
    } else {
      take(terminal(what));
    }
  }
}

}  // namespace omnio::pattern
