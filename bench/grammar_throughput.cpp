// Measures what a symbol costs in the grammar of a sequence, with and without prediction, and how
// large the grammar becomes. CPU time; the median of the rounds.
//
//   grammar_throughput [SYMBOLS [ROUNDS]]
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/measure.hpp"
#include "core/base/integers.hpp"
#include "core/pattern/grammar_predictor.hpp"
#include "core/pattern/nest_finder.hpp"

namespace {

using omnio::bench::cpuNs;
using omnio::pattern::GrammarPredictor;
using omnio::pattern::NestFinder;
using omnio::pattern::StarSequitur;

using Symbols = std::vector<std::uint64_t>;
using Loop = std::function<void(Symbols& symbols, std::uint64_t turn)>;

struct Input {
  std::string name;
  Loop turn;
};

Symbols made(const Input& input, std::size_t count) {
  Symbols symbols;
  for (std::uint64_t turn = 0; symbols.size() < count; ++turn) input.turn(symbols, turn);
  symbols.resize(count);
  return symbols;
}

Input period(std::uint64_t length) {
  return {fmt::format("period of {}", length), [length](Symbols& symbols, std::uint64_t) {
            for (std::uint64_t i = 0; i < length; ++i) symbols.push_back(i);
          }};
}

// A loop of two calls between others, with this number of turns.
Input loops(const std::string& name, std::function<std::uint64_t(std::uint64_t turn)> count) {
  return {name, [count = std::move(count)](Symbols& symbols, std::uint64_t turn) {
            symbols.push_back(1);
            for (std::uint64_t i = count(turn); i > 0; --i) symbols.insert(symbols.end(), {2, 3});
            symbols.push_back(4);
          }};
}

std::vector<Input> inputs() {
  std::vector<Input> all;
  for (const std::uint64_t length : {1, 3, 10, 100, 1000}) all.push_back(period(length));
  all.push_back(loops("100 turns", [](std::uint64_t) { return 100; }));
  all.push_back(loops("100 to 160 turns, periodic",
                      [](std::uint64_t turn) { return 100 + 10 * (turn % 7); }));
  all.push_back(loops("100 to 400 turns, random",
                      [](std::uint64_t turn) { return 100 + omnio::base::mixed(turn) % 301; }));
  all.push_back(
      loops("100 turns, one more each time", [](std::uint64_t turn) { return 100 + turn; }));
  all.push_back({"random, of 10 symbols", [](Symbols& symbols, std::uint64_t turn) {
                   symbols.push_back(omnio::base::mixed(turn) % 10);
                 }});
  all.push_back(
      {"all different", [](Symbols& symbols, std::uint64_t turn) { symbols.push_back(turn); }});
  return all;
}

template <typename Work>
double nsForSymbol(std::size_t symbols, int rounds, const Work& work) {
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    const double begin = cpuNs();
    work();
    times.push_back((cpuNs() - begin) / static_cast<double>(symbols));
  }
  return omnio::bench::median(std::move(times));
}

void measure(const Input& input, std::size_t count, int rounds) {
  const Symbols symbols = made(input, count);
  std::size_t most_symbols = 0;
  const double grammar_ns = nsForSymbol(count, rounds, [&] {
    StarSequitur grammar;
    for (const std::uint64_t symbol : symbols) {
      grammar.append(symbol);
      most_symbols = std::max(most_symbols, grammar.symbolCount());
    }
  });
  std::size_t hits = 0;
  std::size_t bytes = 0;
  std::uint64_t dropped = 0;
  const double both_ns = nsForSymbol(count, rounds, [&] {
    GrammarPredictor predictor;
    hits = 0;
    for (const std::uint64_t symbol : symbols) {
      hits += predictor.next() == symbol ? 1 : 0;
      predictor.append(symbol);
    }
    bytes = predictor.memoryBytes();
    dropped = predictor.grammar().droppedLength();
  });
  // The other way to fold a sequence here; its symbols are kinds without numbers.
  std::size_t nests = 0;
  const double nest_ns = nsForSymbol(count, rounds, [&] {
    nests = 0;
    const std::function<std::size_t(const omnio::pattern::Nest&)> size_of =
        [&](const omnio::pattern::Nest& nest) {
          std::size_t size = 1;
          for (const auto& part : nest.body) size += size_of(part);
          return size;
        };
    NestFinder finder([&](const omnio::pattern::Nest& nest) { nests += size_of(nest); });
    for (const std::uint64_t symbol : symbols) finder.add(static_cast<std::uint32_t>(symbol), {});
    finder.finish();
  });
  fmt::print("{:<30} {:>8.0f} {:>9.0f} {:>8.3f} {:>8} {:>8} {:>9} {:>8.0f} {:>8}\n", input.name,
             grammar_ns, both_ns, 100.0 * static_cast<double>(hits) / static_cast<double>(count),
             most_symbols, bytes / 1024, dropped, nest_ns, nests);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t symbols = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 3;
  if (argc > 3 || symbols == 0 || rounds < 1) {
    fmt::print(stderr, "usage: grammar_throughput [SYMBOLS [ROUNDS]]\n");
    return 2;
  }
  fmt::print("{:<30} {:>8} {:>9} {:>8} {:>8} {:>8} {:>9} {:>8} {:>8}\n", "input", "grammar",
             "predict", "right", "most", "memory", "dropped", "nests", "nests");
  fmt::print("{:<30} {:>8} {:>9} {:>8} {:>8} {:>8} {:>9} {:>8} {:>8}\n", "", "ns", "ns in all", "%",
             "symbols", "KiB", "symbols", "ns", "parts");
  for (const Input& input : inputs()) measure(input, symbols, rounds);
  return 0;
}
