// Gives a fuzz target its seeds, variations of them and the corpus of past campaigns: what runs
// where the compiler has no fuzzer.
//
//   X_fuzz_replay [CORPUS.hex]            all of these; one input a line of the corpus
//   X_fuzz_replay --write-seeds DIRECTORY [CORPUS.hex]   the same as files, to begin a campaign
//   with X_fuzz_replay --hex FILE...           files as lines of a corpus, on standard output
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/core/temporary_directory.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace {

using namespace omnio;

// A corpus is text, so that a change of it can be seen in a difference of versions.
std::vector<std::string> readCorpus(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  std::vector<std::string> inputs;
  std::string line;
  while (std::getline(in, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::string bytes;
    for (std::size_t i = 0; i + 1 < line.size(); i += 2) {
      bytes += static_cast<char>(std::stoi(line.substr(i, 2), nullptr, 16));
    }
    inputs.push_back(bytes);
  }
  if (inputs.empty()) throw std::runtime_error(path + " holds no input");
  return inputs;
}

void writeHex(const std::string& bytes) {
  for (const char c : bytes) std::printf("%02x", static_cast<unsigned char>(c));
  std::printf("\n");
}

void run(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

std::string varied(std::string bytes, std::mt19937_64& random) {
  const auto below = [&random](std::size_t limit) { return limit == 0 ? 0 : random() % limit; };
  for (std::size_t changes = 1 + below(8); changes > 0 && !bytes.empty(); --changes) {
    const std::size_t at = below(bytes.size());
    switch (below(5)) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 2:
        bytes.erase(at, 1 + below(64));
        break;
      case 3:
        bytes.insert(at, std::string(1 + below(64), static_cast<char>(random())));
        break;
      default:
        bytes.resize(at);
    }
  }
  return bytes;
}

void replayAll(const std::vector<std::string>& corpus) {
  std::mt19937_64 random(20240229);
  for (const std::string& input : corpus) run(input);
  int variations = 0;
  for (const std::string& seed : fuzz::seeds()) {
    run(seed);
    for (int i = 0; i < fuzz::kVariations; ++i, ++variations) run(varied(seed, random));
  }
  std::printf("%zu inputs of the corpus, %zu seeds and %d variations read\n", corpus.size(),
              fuzz::seeds().size(), variations);
}

int act(std::vector<std::string> words) {
  const std::string first = words.empty() ? "" : words[0];
  if (first == "--hex") {
    for (std::size_t i = 1; i < words.size(); ++i) writeHex(test::readAll(words[i]));
    return 0;
  }
  const bool write = first == "--write-seeds";
  if (write && words.size() < 2) throw std::runtime_error("--write-seeds needs a directory");
  const std::size_t corpus_at = write ? 2 : 0;
  std::vector<std::string> inputs;
  if (words.size() > corpus_at) inputs = readCorpus(words[corpus_at]);
  if (!write) {
    replayAll(inputs);
    return 0;
  }
  for (const std::string& seed : fuzz::seeds()) inputs.push_back(seed);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    test::writeAll(std::filesystem::path(words[1]) / ("seed-" + std::to_string(i)), inputs[i]);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return act({argv + 1, argv + argc});
  } catch (const std::exception& problem) {
    std::cerr << problem.what() << '\n';
    return 1;
  }
}
