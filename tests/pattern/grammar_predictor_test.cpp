#include "core/pattern/grammar_predictor.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/pattern/grammar_text.hpp"

namespace omnio::pattern {
namespace {

// A grammar of which only these symbols are marked: rule and index, both as textOf() shows them.
class Marked {
 public:
  explicit Marked(std::string_view symbols) : grammar_(grammarOf(symbols)) {
    for (auto symbol = grammar_.first(StarSequitur::kStart); !grammar_.isGuard(symbol);
         symbol = grammar_.next(symbol)) {
      if (grammar_.isRule(grammar_.name(symbol))) rule_ = grammar_.name(symbol);
    }
  }
  Marked& inStart(std::size_t index, std::uint64_t turn = 0) {
    return mark(StarSequitur::kStart, index, turn);
  }
  Marked& inA(std::size_t index) { return mark(rule_, index, 0); }
  GrammarPredictor predictor() const { return GrammarPredictor(grammar_); }

 private:
  Marked& mark(StarSequitur::NameId rule, std::size_t index, std::uint64_t turn) {
    auto symbol = grammar_.first(rule);
    for (; index > 0; --index) symbol = grammar_.next(symbol);
    grammar_.mark(symbol, turn);
    return *this;
  }

  StarSequitur grammar_;
  StarSequitur::NameId rule_ = StarSequitur::kStart;
};

std::string expectedText(const GrammarPredictor& predictor) {
  std::string text;
  for (const auto& expected : predictor.expected()) {
    text += static_cast<char>(expected.symbol) + std::to_string(static_cast<int>(expected.weight));
  }
  return text;
}

std::string nextSymbols(const GrammarPredictor& predictor, std::size_t count) {
  std::string text;
  GrammarPredictor::Iterator iterator = predictor.iterator();
  while (text.size() < count) {
    const std::optional<std::uint64_t> symbol = iterator.next();
    if (!symbol) break;
    text += static_cast<char>(*symbol);
  }
  return text;
}

// Indices of the symbols that were not predicted.
std::vector<std::size_t> misses(GrammarPredictor& predictor, std::string_view symbols) {
  std::vector<std::size_t> wrong;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const auto symbol = static_cast<std::uint64_t>(symbols[i]);
    if (predictor.next() != symbol) wrong.push_back(i);
    predictor.append(symbol);
  }
  return wrong;
}

TEST(GrammarPredictor, Table3UpdateUnmarksAndAdvances) {
  GrammarPredictor predictor = Marked("aecdbcde").inStart(0).inStart(4).inA(0).predictor();
  ASSERT_EQ(textOf(predictor.grammar()), "S -> [a]eAb[A]e, A -> [c]d");
  EXPECT_TRUE(predictor.update('c'));
  EXPECT_EQ(textOf(predictor.grammar()), "S -> aeAb[A]e, A -> c[d]");
}

TEST(GrammarPredictor, Table3UpdateAdvancesInstancesAtTheEndOfARule) {
  GrammarPredictor predictor = Marked("aecdbcde").inStart(0).inStart(4).inA(0).predictor();
  predictor.append('c');
  ASSERT_EQ(textOf(predictor.grammar()), "S -> aeAb[A]ec, A -> c[d]");
  EXPECT_TRUE(predictor.update('d'));
  EXPECT_EQ(textOf(predictor.grammar()), "S -> aeAbA[e]c, A -> cd");
}

// The table marks c and e. After the first A, which ends with the last symbol too, stands b: the
// sequence has bb.
TEST(GrammarPredictor, Table4DiscoveryMarksAllThatMatchesTheLastSymbol) {
  // Read alone, the sequence has b^2, and no such rule. It has one where an older part made it.
  StarSequitur grammar = grammarOf(
      "cdb?cdb!"
      "aecdbbcdbeb");
  for (int symbol = 0; symbol < 4; ++symbol) grammar.dropOldest();
  GrammarPredictor predictor(grammar);
  ASSERT_EQ(textOf(predictor.grammar()), "S -> aeAbAeb, A -> cdb");
  predictor.discover();
  EXPECT_EQ(textOf(predictor.grammar()), "S -> aeA[b][A][e]b, A -> [c]db");
  EXPECT_EQ(expectedText(predictor), "b1c1e1");
}

TEST(GrammarPredictor, WeightExampleCountsPathsWithExponents) {
  const GrammarPredictor predictor = Marked(
                                         "addde"
                                         "cd"
                                         "b"
                                         "cd"
                                         "ec")
                                         .inStart(1, StarSequitur::kAnyTurn)
                                         .inStart(2)
                                         .inStart(3)
                                         .inStart(5)
                                         .inA(1)
                                         .predictor();
  ASSERT_EQ(textOf(predictor.grammar()), "S -> a[d^3][e][A]b[A]ec, A -> c[d]");
  EXPECT_EQ(predictor.expected(),
            (std::vector<GrammarPredictor::Expected>{{'d', 1 * 2 + 3 * 1}, {'e', 1}}));
  EXPECT_EQ(predictor.next(), std::uint64_t{'d'});
}

TEST(GrammarPredictor, IteratorExampleGoesOnAfterTheInstance) {
  const GrammarPredictor predictor = Marked("aecdbcdec").inStart(4).inA(1).predictor();
  ASSERT_EQ(textOf(predictor.grammar()), "S -> aeAb[A]ec, A -> c[d]");
  GrammarPredictor::Iterator iterator = predictor.iterator();
  EXPECT_EQ(iterator.next(), std::uint64_t{'d'});
  EXPECT_EQ(iterator.next(), std::uint64_t{'e'});
}

TEST(GrammarPredictor, PredictsNothingFromNothing) {
  GrammarPredictor predictor;
  EXPECT_EQ(predictor.next(), std::nullopt);
  EXPECT_EQ(nextSymbols(predictor, 3), "");
  predictor.discover();
  predictor.append('a');
  EXPECT_EQ(predictor.next(), std::nullopt);
  EXPECT_TRUE(predictor.expected().empty());
}

TEST(GrammarPredictor, IsRightFromTheSecondSymbolOfTheSecondPeriodOn) {
  for (std::size_t period = 2; period <= 100; ++period) {
    std::string symbols;
    for (std::size_t i = 0; i < period; ++i) symbols += static_cast<char>(i + 1);
    GrammarPredictor predictor;
    const auto wrong = misses(predictor, repeated(symbols, 20));
    ASSERT_EQ(wrong.size(), period + 1) << "period " << period;
    EXPECT_EQ(wrong.back(), period);
  }
}

TEST(GrammarPredictor, KnowsWhenALoopEnds) {
  GrammarPredictor predictor;
  const std::string step = "x" + repeated("ab", 7) + repeated("c", 5);
  misses(predictor, repeated(step, 2));
  EXPECT_EQ(misses(predictor, repeated(step, 50)), std::vector<std::size_t>{});
  EXPECT_EQ(nextSymbols(predictor, 3 * step.size()), repeated(step, 3));
}

TEST(GrammarPredictor, TripCountsWithAPeriodAreRightAfterTwoPeriods) {
  std::string period;
  for (std::size_t loop = 0; loop < 7; ++loop) period += repeated("ab", 20 + 3 * loop) + "c";
  GrammarPredictor predictor;
  misses(predictor, repeated(period, 2));
  EXPECT_EQ(misses(predictor, repeated(period, 10)), std::vector<std::size_t>{});
}

TEST(GrammarPredictor, FindsItsWayAgainAfterAnUnknownSymbol) {
  GrammarPredictor predictor;
  misses(predictor, repeated("abcde", 10));
  EXPECT_EQ(misses(predictor, "?abcdeabcde"), (std::vector<std::size_t>{0, 1}));
}

// Whatever the sequence repeats, it is known in the third turn.
TEST(GrammarPredictor, RandomLoopsAreRightFromTheThirdTurnOn) {
  std::mt19937 random(30);
  for (int program = 0; program < 2000; ++program) {
    const std::string turn = randomLoops(random, 3) + "x";
    GrammarPredictor predictor;
    misses(predictor, repeated(turn, 2));
    ASSERT_EQ(misses(predictor, repeated(turn, 4)), std::vector<std::size_t>{}) << turn;
    ASSERT_EQ(nextSymbols(predictor, 2 * turn.size()), repeated(turn, 2)) << turn;
  }
}

// A marked symbol of a rule is on a path from the start rule.
TEST(GrammarPredictor, MarksStayOnPathsWhileTheGrammarChanges) {
  std::mt19937 random(31);
  for (int program = 0; program < 500; ++program) {
    GrammarPredictor predictor(StarSequitur::kLeastSymbols * (1 + random() % 8));
    const StarSequitur& grammar = predictor.grammar();
    std::string symbols;
    while (symbols.size() < 300) symbols += randomLoops(random, 3);
    for (const char symbol : symbols) {
      predictor.append(static_cast<std::uint64_t>(symbol));
      double weight = 0;
      for (const auto& expected : predictor.expected()) {
        EXPECT_NE(grammar.nameOf(expected.symbol), StarSequitur::kNone);
        weight += expected.weight;
      }
      ASSERT_EQ(weight > 0, predictor.next().has_value()) << symbols;
    }
  }
}

// Giving memory back changes numbers, and nothing else.
TEST(GrammarPredictor, PredictsAsBeforeWhenSymbolsAreNumberedAnew) {
  std::mt19937 random(33);
  for (int program = 0; program < 100; ++program) {
    const std::size_t most_symbols = StarSequitur::kLeastSymbols * (1 + random() % 8);
    GrammarPredictor kept(most_symbols);
    GrammarPredictor shrunk(most_symbols);
    std::string symbols;
    while (symbols.size() < 300) symbols += randomLoops(random, 3);
    for (const char symbol : symbols) {
      kept.append(static_cast<std::uint64_t>(symbol));
      shrunk.append(static_cast<std::uint64_t>(symbol));
      if (random() % 8 == 0) shrunk.shrink(most_symbols);
      ASSERT_EQ(textOf(shrunk.grammar()), textOf(kept.grammar())) << symbols;
      ASSERT_EQ(shrunk.expected(), kept.expected()) << symbols;
      ASSERT_EQ(nextSymbols(shrunk, 1), nextSymbols(kept, 1)) << symbols;
    }
  }
}

TEST(GrammarPredictor, StaysWithinItsMemoryOnInputWithoutOrder) {
  std::mt19937_64 random(32);
  GrammarPredictor predictor;
  for (int i = 0; i < 30'000; ++i) {
    predictor.append(i % 3 == 0 ? random() : random() % 10);
    ASSERT_LE(predictor.memoryBytes(), std::size_t{1} << 20);
  }
  EXPECT_GT(predictor.grammar().droppedLength(), 0U);
}

}  // namespace
}  // namespace omnio::pattern
