// Grammars of characters as text, in the notation of the papers, and sequences to make them of.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/pattern/star_sequitur.hpp"

namespace omnio::pattern {

// "S -> a[A^2]b, A -> cd": the start rule, then rules as they first occur; marks in brackets.
inline std::string textOf(const StarSequitur& grammar) {
  std::map<StarSequitur::NameId, char> letters = {{StarSequitur::kStart, 'S'}};
  std::vector<StarSequitur::NameId> rules = {StarSequitur::kStart};
  std::string text;
  for (std::size_t at = 0; at < rules.size(); ++at) {
    text += (at > 0 ? ", " : "") + std::string(1, letters.at(rules[at])) + " -> ";
    for (auto symbol = grammar.first(rules[at]); !grammar.isGuard(symbol);
         symbol = grammar.next(symbol)) {
      const auto name = grammar.name(symbol);
      const bool is_rule = grammar.isRule(name);
      const char letter = static_cast<char>('A' + rules.size() - 1);
      if (is_rule && letters.try_emplace(name, letter).second) rules.push_back(name);
      std::string one(1, is_rule ? letters.at(name) : static_cast<char>(grammar.terminal(name)));
      if (grammar.exponent(symbol) > 1) one += "^" + std::to_string(grammar.exponent(symbol));
      text += grammar.markOf(symbol) == StarSequitur::kNotMarked ? one : "[" + one + "]";
    }
  }
  return text;
}

template <typename Reader>
void appendAll(Reader& reader, std::string_view symbols) {
  for (const char symbol : symbols) reader.append(static_cast<std::uint64_t>(symbol));
}

inline StarSequitur grammarOf(std::string_view symbols) {
  StarSequitur grammar;
  appendAll(grammar, symbols);
  return grammar;
}

inline std::string repeated(const std::string& symbols, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += symbols;
  return all;
}

// The sequence of random loops in loops, at most `depth` deep.
inline std::string randomLoops(std::mt19937& random, int depth) {
  std::string symbols;
  for (std::uint32_t part = random() % 3 + 1; part > 0; --part) {
    if (depth == 0 || random() % 3 == 0) {
      symbols += static_cast<char>('a' + random() % 5);
    } else {
      const std::uint32_t turns = random() % 4 + 1;
      symbols += repeated(randomLoops(random, depth - 1), turns);
    }
  }
  return symbols;
}

}  // namespace omnio::pattern
