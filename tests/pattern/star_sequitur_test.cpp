#include "core/pattern/star_sequitur.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tests/pattern/grammar_text.hpp"

namespace omnio::pattern {
namespace {

std::vector<std::uint64_t> expanded(const StarSequitur& grammar) {
  std::vector<std::uint64_t> symbols;
  grammar.expand([&](std::uint64_t symbol) { symbols.push_back(symbol); });
  return symbols;
}

std::string expandedText(const StarSequitur& grammar) {
  std::string text;
  grammar.expand([&](std::uint64_t symbol) { text += static_cast<char>(symbol); });
  return text;
}

// The first constraint that does not hold, or nothing.
std::string brokenConstraint(const StarSequitur& grammar) {
  using Digram =
      std::tuple<StarSequitur::NameId, std::uint64_t, StarSequitur::NameId, std::uint64_t>;
  std::set<Digram> digrams;
  std::size_t symbols = 0;
  std::size_t rules = 0;
  for (StarSequitur::NameId rule = 0; rule < grammar.nameIds(); ++rule) {
    if (!grammar.isRule(rule)) continue;
    ++rules;
    std::uint64_t uses = 0;
    for (auto use = grammar.firstUse(rule); use != StarSequitur::kNone;
         use = grammar.nextUse(use)) {
      uses += grammar.exponent(use);
    }
    if (rule != StarSequitur::kStart && uses < 2) return "rule utility";
    const auto first = grammar.first(rule);
    if (rule != StarSequitur::kStart && grammar.isGuard(grammar.next(first)) &&
        grammar.exponent(first) < 2) {
      return "a rule of one symbol";
    }
    for (auto symbol = first; !grammar.isGuard(symbol); symbol = grammar.next(symbol)) {
      ++symbols;
      if (grammar.ruleAround(symbol) != rule) return "a symbol in another rule";
      const auto next = grammar.next(symbol);
      if (grammar.previous(next) != symbol) return "links";
      if (grammar.isGuard(next)) continue;
      if (grammar.name(symbol) == grammar.name(next)) return "twins removal";
      const Digram digram = {grammar.name(symbol), grammar.exponent(symbol), grammar.name(next),
                             grammar.exponent(next)};
      if (!digrams.insert(digram).second) return "digram uniqueness";
    }
  }
  if (symbols != grammar.symbolCount()) return "the count of symbols";
  if (rules != grammar.ruleCount()) return "the count of rules";
  return "";
}

// Appends symbol by symbol; after each one the grammar has to be right.
void checkEachPrefix(const std::string& text, std::size_t most_symbols = 1000) {
  StarSequitur grammar(most_symbols);
  for (std::size_t length = 1; length <= text.size(); ++length) {
    grammar.append(static_cast<std::uint64_t>(text[length - 1]));
    ASSERT_EQ(brokenConstraint(grammar), "") << text.substr(0, length) << ": " << textOf(grammar);
    ASSERT_EQ(grammar.length(), length);
    ASSERT_LE(grammar.symbolCount(), most_symbols);
    const std::size_t dropped = grammar.droppedLength();
    ASSERT_EQ(expandedText(grammar), text.substr(dropped, length - dropped))
        << text.substr(0, length) << ": " << textOf(grammar);
  }
}

TEST(StarSequitur, Table1KeepsARuleThatIsUsedTwice) {
  EXPECT_EQ(textOf(grammarOf("abcdcde")), "S -> abA^2e, A -> cd");
}

TEST(StarSequitur, Table1InlinesARuleThatIsUsedOnce) {
  EXPECT_EQ(textOf(grammarOf("abcde")), "S -> abcde");
}

TEST(StarSequitur, Table1MakesARuleOfASecondDigram) {
  EXPECT_EQ(textOf(grammarOf("ababcdcde")), "S -> A^2B^2e, A -> ab, B -> cd");
}

TEST(StarSequitur, Table2HasOneRuleForEightTurns) {
  EXPECT_EQ(textOf(grammarOf("abababababababab")), "S -> A^8, A -> ab");
}

TEST(StarSequitur, IsEmptyAtFirst) {
  const StarSequitur grammar;
  EXPECT_EQ(textOf(grammar), "S -> ");
  EXPECT_TRUE(expanded(grammar).empty());
  EXPECT_EQ(grammar.ruleCount(), 1U);
}

TEST(StarSequitur, ARunIsOneSymbol) { EXPECT_EQ(textOf(grammarOf("aaaaa")), "S -> a^5"); }

TEST(StarSequitur, FindsLoopsInLoops) {
  const std::string step = repeated("ab", 3) + "c" + repeated("d", 4);
  EXPECT_EQ(textOf(grammarOf("x" + repeated(step, 100) + "y")),
            "S -> xA^100y, A -> B^3cd^4, B -> ab");
}

TEST(StarSequitur, TakesAnySymbolOf64Bits) {
  const std::vector<std::uint64_t> symbols = {0, UINT64_MAX, 0, UINT64_MAX, UINT64_MAX - 1, 1};
  StarSequitur grammar;
  for (const std::uint64_t symbol : symbols) grammar.append(symbol);
  EXPECT_EQ(expanded(grammar), symbols);
}

TEST(StarSequitur, IsRightAfterEachSymbolOfAllShortStrings) {
  const struct {
    char letters;
    std::size_t length;
  } kinds[] = {{2, 13}, {3, 8}, {4, 7}};
  for (const auto& kind : kinds) {
    std::string text(kind.length, 'a');
    const char last = static_cast<char>('a' + kind.letters - 1);
    while (true) {
      checkEachPrefix(text);
      if (HasFatalFailure()) return;
      const auto at = std::ranges::find_if(text, [&](char letter) { return letter != last; });
      if (at == text.end()) break;
      ++*at;
      std::fill(text.begin(), at, 'a');
    }
  }
}

TEST(StarSequitur, IsRightAfterEachSymbolOfRandomLoops) {
  std::mt19937 random(20);
  for (int program = 0; program < 1000; ++program) {
    checkEachPrefix(randomLoops(random, 3));
    if (HasFatalFailure()) return;
  }
}

TEST(StarSequitur, IsRightWhileTheOldestIsDropped) {
  std::mt19937 random(21);
  for (int program = 0; program < 300; ++program) {
    std::string text;
    while (text.size() < 150)
      text += randomLoops(random, 3) + static_cast<char>('f' + random() % 20);
    checkEachPrefix(text, StarSequitur::kLeastSymbols);
    if (HasFatalFailure()) return;
  }
}

// Rules in rules without end: nothing here may need a call stack that grows.
TEST(StarSequitur, DerivesSequencesWhoseRulesNestDeep) {
  std::string fibonacci = "a";
  for (std::string before = "b"; fibonacci.size() < 50'000;) {
    std::swap(fibonacci, before);
    fibonacci = before + fibonacci;
  }
  EXPECT_EQ(expandedText(grammarOf(fibonacci)), fibonacci);
  std::string ruler;
  for (std::uint64_t i = 1; i < 40'000; ++i) ruler += static_cast<char>('a' + __builtin_ctzll(i));
  const StarSequitur grammar = grammarOf(ruler);
  EXPECT_EQ(expandedText(grammar), ruler);
  EXPECT_EQ(brokenConstraint(grammar), "");
}

TEST(StarSequitur, PeriodicTripCountsTakeABoundedGrammar) {
  StarSequitur grammar;
  std::size_t after_two_periods = 0;
  for (std::size_t loop = 0; loop < 700; ++loop) {
    appendAll(grammar, std::string(100 + 10 * (loop % 7), 'a') + "b");
    if (loop == 13) after_two_periods = grammar.symbolCount();
  }
  EXPECT_EQ(grammar.droppedLength(), 0U);
  // The rule of the period, and a part of it again where a period has begun.
  EXPECT_LE(grammar.symbolCount(), 2 * after_two_periods);
}

TEST(StarSequitur, DropsTheOldestAtTheLimitAndKeepsTheEnd) {
  constexpr std::size_t kMost = 256;
  std::mt19937_64 random(22);
  std::vector<std::uint64_t> given;
  StarSequitur grammar(kMost);
  for (int i = 0; i < 100'000; ++i) {
    given.push_back(i % 3 == 0 ? random() : random() % 10);
    grammar.append(given.back());
    ASSERT_LE(grammar.symbolCount(), kMost);
  }
  const std::vector<std::uint64_t> kept = expanded(grammar);
  ASSERT_EQ(grammar.droppedLength() + kept.size(), given.size());
  EXPECT_TRUE(std::equal(kept.rbegin(), kept.rend(), given.rbegin()));
  EXPECT_GE(kept.size(), kMost);
  EXPECT_EQ(brokenConstraint(grammar), "");
}

TEST(StarSequitur, MemoryStaysBelowItsLimit) {
  for (const std::size_t most_symbols : {256U, 2048U}) {
    std::mt19937_64 random(23);
    StarSequitur grammar(most_symbols);
    for (int i = 0; i < 50'000; ++i) {
      grammar.append(i % 2 == 0 ? random() : random() % 10);
      ASSERT_LE(grammar.memoryBytes(), StarSequitur::kMostBytesForSymbol * most_symbols);
    }
  }
}

TEST(StarSequitur, ShrinksToItsNewestSymbolsAndGivesMemoryBack) {
  std::mt19937_64 random(24);
  std::vector<std::uint64_t> given;
  StarSequitur grammar;
  for (int i = 0; i < 20'000; ++i) {
    given.push_back(i % 3 == 0 ? random() : random() % 10);
    grammar.append(given.back());
    if (i % 1000 != 999) continue;
    const std::size_t symbols = grammar.symbolCount() / 2;
    const std::size_t bytes = grammar.memoryBytes();
    grammar.shrink(symbols);
    ASSERT_LE(grammar.symbolCount(), symbols);
    EXPECT_LT(grammar.memoryBytes(), bytes * 2 / 3);
    const std::vector<std::uint64_t> kept = expanded(grammar);
    ASSERT_EQ(grammar.droppedLength() + kept.size(), given.size());
    EXPECT_TRUE(std::equal(kept.rbegin(), kept.rend(), given.rbegin()));
    ASSERT_EQ(brokenConstraint(grammar), "");
  }
  grammar.shrink(0);
  EXPECT_EQ(grammar.symbolCount(), 0U);
  EXPECT_EQ(grammar.ruleCount(), 1U);
  EXPECT_LT(grammar.memoryBytes(), 1024U);
  appendAll(grammar, "abababab");
  EXPECT_EQ(textOf(grammar), "S -> A^4, A -> ab");
}

// What is kept of a grammar is all of it: it goes on as the one that it was kept of would.
TEST(StarSequitur, WhatIsKeptGoesOnTheSameWay) {
  std::mt19937_64 random(31);
  for (int round = 0; round < 8; ++round) {
    StarSequitur grammar(200);
    const std::uint64_t period = 2 + random() % 40;
    for (std::uint64_t i = 0; i < 2000; ++i) {
      grammar.append(random() % 8 == 0 ? random() % 10 : i % period);
    }
    grammar.shrink(SIZE_MAX);  // numbers symbols as what is kept does
    StarSequitur again(200);
    ASSERT_TRUE(again.restore(grammar.kept()));
    EXPECT_EQ(again.memoryBytes(), grammar.memoryBytes());
    for (std::uint64_t i = 0; i < 200; ++i) {
      ASSERT_EQ(textOf(again), textOf(grammar));
      ASSERT_EQ(brokenConstraint(again), "");
      ASSERT_EQ(again.length(), grammar.length());
      ASSERT_EQ(again.droppedLength(), grammar.droppedLength());
      ASSERT_EQ(again.memoryBytes(), grammar.memoryBytes());
      const std::uint64_t symbol = random() % 8 == 0 ? random() % 10 : i % period;
      grammar.append(symbol);
      again.append(symbol);
    }
  }
}

TEST(StarSequitur, RefusesRulesThatAreNoGrammar) {
  const StarSequitur::Kept good = grammarOf("abcabcxabcab").kept();
  StarSequitur grammar = grammarOf("xyxy");
  const auto refuses = [&grammar](const StarSequitur::Kept& kept) {
    return !grammar.restore(kept) && textOf(grammar) == "S -> A^2, A -> xy";
  };
  const auto changed = [&good](auto change) {
    StarSequitur::Kept kept = good;
    change(kept);
    return kept;
  };
  EXPECT_TRUE(refuses({}));
  EXPECT_TRUE(refuses(changed([](auto& kept) { kept.rules.pop_back(); })));
  EXPECT_TRUE(refuses(changed([](auto& kept) { kept.rules.back().pop_back(); })));
  EXPECT_TRUE(refuses(changed([](auto& kept) { kept.rules.back().clear(); })));
  EXPECT_TRUE(refuses(changed([](auto& kept) { kept.rules.back()[0] = kept.rules.back()[1]; })));
  EXPECT_TRUE(refuses(changed([](auto& kept) { kept.rules.back()[0] = 1000; })));
  EXPECT_TRUE(refuses(changed([](auto& kept) { kept.exponents.pop_back(); })));
  EXPECT_TRUE(refuses(changed([](auto& kept) { kept.exponents.push_back(1); })));
  EXPECT_TRUE(refuses(changed([](auto& kept) { kept.exponents[0] = 0; })));
  EXPECT_TRUE(refuses(changed([](auto& kept) { kept.exponents[0] = UINT64_MAX; })));
  EXPECT_TRUE(refuses(changed([](auto& kept) { kept.exponents.resize(5000, 1); })));
  EXPECT_TRUE(refuses(changed([](auto& kept) { kept.dropped = UINT64_MAX; })));
  EXPECT_TRUE(refuses(changed([](auto& kept) { kept.names[0].is_rule = false; })));
  EXPECT_TRUE(refuses(changed([](auto& kept) { kept.names[0].uses = 1; })));
  EXPECT_TRUE(refuses(changed([](auto& kept) { kept.names[1].uses = UINT32_MAX; })));
  EXPECT_TRUE(refuses(changed([](auto& kept) { kept.names.push_back({.terminal = 1}); })));
  EXPECT_TRUE(refuses(changed([](auto& kept) { kept.marks = {{.symbol = 1000, .turn = 0}}; })));
  EXPECT_TRUE(refuses(changed([](auto& kept) { kept.marks = {{.symbol = 0, .turn = 1}}; })));
  // A rule in itself, and two in each other.
  using Names = std::vector<StarSequitur::Kept::Name>;
  const Names two = {{.is_rule = true}, {.is_rule = true, .uses = 2}, {.terminal = 7, .uses = 2}};
  EXPECT_TRUE(refuses({.names = two, .exponents = {2, 1, 1, 1}, .rules = {{0, 2}, {1, 3}}}));
  const Names three = {
      {.is_rule = true}, {.is_rule = true, .uses = 2}, {.is_rule = true, .uses = 1}};
  EXPECT_TRUE(refuses({.names = three, .exponents = {2, 2, 2}, .rules = {{0}, {2}, {1}}}));
  EXPECT_TRUE(grammar.restore(good));
  EXPECT_EQ(expandedText(grammar), "abcabcxabcab");
}

TEST(StarSequitur, ForgetsAPeriodThatIsLongerThanTheLimit) {
  StarSequitur grammar(100);
  for (std::uint64_t i = 0; i < 1000; ++i) grammar.append(i % 101);
  EXPECT_EQ(grammar.symbolCount(), 100U);
  EXPECT_EQ(grammar.ruleCount(), 1U);
  EXPECT_EQ(grammar.droppedLength(), 900U);
}

TEST(StarSequitur, AMarkStaysWithItsSymbolWhenTwinsMerge) {
  StarSequitur grammar = grammarOf("aab");
  grammar.mark(grammar.first(StarSequitur::kStart), 1);
  appendAll(grammar, "aab");
  EXPECT_EQ(textOf(grammar), "S -> [A^2], A -> [a^2]b");
  EXPECT_EQ(grammar.markOf(grammar.first(StarSequitur::kStart)), 0U);
}

TEST(StarSequitur, AMarkInTwoTurnsIsInAnyTurn) {
  StarSequitur grammar = grammarOf("aaab");
  const auto run = grammar.first(StarSequitur::kStart);
  grammar.mark(run, 1);
  EXPECT_EQ(grammar.markOf(run), 1U);
  grammar.mark(run, 2);
  EXPECT_EQ(grammar.markOf(run), StarSequitur::kAnyTurn);
  grammar.clearMarks();
  EXPECT_EQ(grammar.markOf(run), StarSequitur::kNotMarked);
}

}  // namespace
}  // namespace omnio::pattern
