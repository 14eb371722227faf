// Measures what an access costs in AccessPatterns, with and without predictions, how many are
// right, and what the patterns take. CPU time; the median of the rounds.
//
//   access_throughput [ACCESSES [ROUNDS]]
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "bench/measure.hpp"
#include "core/base/integers.hpp"
#include "core/pattern/access/access_patterns.hpp"

namespace {

using omnio::base::mixed;
using omnio::pattern::Request;
using omnio::pattern::access::AccessPatterns;

struct Input {
  std::string name;
  std::function<Request(std::uint64_t i)> access;
};

std::int64_t number(std::uint64_t value) { return static_cast<std::int64_t>(value); }

// Digits of the index in these bases are the turns of the loops, innermost first.
Input nest(const std::string& name, std::vector<std::uint64_t> counts, std::uint64_t bytes) {
  return {name, [counts = std::move(counts), bytes](std::uint64_t i) {
            std::uint64_t offset = 0;
            std::uint64_t stride = 2 * bytes;
            for (const std::uint64_t count : counts) {
              offset += i % count * stride;
              i /= count;
              stride *= count + 1;
            }
            return Request{number(offset + i * stride), bytes};
          }};
}

// A time step of so many accesses that are not alike.
Input composition(std::uint64_t length) {
  return {fmt::format("composition of {}", length), [length](std::uint64_t i) {
            const std::uint64_t place = i % length;
            return Request{
                number(i / length * (length << 20) + (place << 20) + mixed(place) % 65536),
                512 + mixed(place) % 3};
          }};
}

std::vector<Input> inputs() {
  return {
      {"contiguous",
       [](std::uint64_t i) {
         return Request{number(i * 4096), 4096};
       }},
      nest("strided", {}, 240),
      nest("2-D of 1024", {32}, 240),
      nest("4-D, 6 x 6 x 2", {6, 6, 2}, 240),
      composition(4),
      composition(60),
      composition(300),
      {"contiguous, header before 8 parts",
       [](std::uint64_t i) {
         const std::uint64_t part = i % 9;
         return Request{number(i / 9 * 33000 + (part == 0 ? 0 : 232 + (part - 1) * 4096)),
                        part == 0 ? std::uint64_t{232} : std::uint64_t{4096}};
       }},
      // Each size is between 100 and 200, and follows from the index.
      {"contiguous, random sizes",
       [](std::uint64_t i) {
         const auto begin = [](std::uint64_t n) { return n * 200 + mixed(n) % 100; };
         return Request{number(begin(i)), begin(i + 1) - begin(i)};
       }},
      {"2-D of 1024, 1 % elsewhere",
       [two = nest("", {32}, 240)](std::uint64_t i) {
         return mixed(i) % 100 == 0 ? Request{number(mixed(i) >> 20), 240} : two.access(i);
       }},
      // Each run begins anywhere; sixteen places of the index hold a run and what is left of them.
      {"strided runs of 2 to 16",
       [](std::uint64_t i) {
         const std::uint64_t run = i / 16;
         const std::uint64_t turns = 2 + mixed(run) % 15;
         const bool is_in_run = i % 16 < turns;
         return Request{
             number((mixed(is_in_run ? run : i) >> 20) + (is_in_run ? i % 16 * 8192 : 0)), 4096};
       }},
      // Three that belong together, of 20 such, with another access among them in one of four.
      {"random triples of 20, with others",
       [](std::uint64_t i) {
         const std::uint64_t place = i % 4;
         const std::uint64_t triple = mixed(mixed(i / 4) % 20);
         const bool is_other = place == 2 ? mixed(i) % 4 == 0 : place == 3;
         return Request{number(mixed(is_other ? i : triple + place) >> 20), 4096};
       }},
      {"random offsets, of 60",
       [](std::uint64_t i) {
         return Request{number(mixed(i) % 60 << 20), 4096};
       }},
      {"random pairs, of 30",
       [](std::uint64_t i) {
         return Request{number(mixed(mixed(i / 2) % 30) % (1U << 30) + mixed(i % 2) % 65536), 4096};
       }},
      {"random offsets",
       [](std::uint64_t i) {
         return Request{number(mixed(i) >> 20), 4096};
       }},
  };
}

template <typename Work>
double nsForAccess(std::size_t accesses, int rounds, const Work& work) {
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    const double begin = omnio::bench::cpuNs();
    work();
    times.push_back((omnio::bench::cpuNs() - begin) / static_cast<double>(accesses));
  }
  return omnio::bench::median(std::move(times));
}

void measure(const Input& input, std::size_t count, int rounds) {
  std::vector<Request> accesses;
  for (std::size_t i = 0; i < count; ++i) accesses.push_back(input.access(i));
  const double add_ns = nsForAccess(count, rounds, [&] {
    AccessPatterns patterns;
    for (const Request& access : accesses) patterns.add(access.offset, access.bytes);
  });
  std::size_t predicted = 0;
  std::size_t offsets = 0;
  std::size_t right = 0;
  std::size_t most_bytes = 0;
  std::size_t parts = 0;
  const double both_ns = nsForAccess(count, rounds, [&] {
    AccessPatterns patterns;
    predicted = offsets = right = most_bytes = 0;
    for (const Request& access : accesses) {
      if (const auto next = patterns.next()) {
        ++predicted;
        offsets += next->offset == access.offset ? 1 : 0;
        right += next->offset == access.offset && next->bytes == access.bytes ? 1 : 0;
      }
      patterns.add(access.offset, access.bytes);
      most_bytes = std::max(most_bytes, patterns.memoryBytes());
    }
    parts = patterns.patterns().size();
  });
  const auto percent = [&](std::size_t part) {
    return 100.0 * static_cast<double>(part) / static_cast<double>(count);
  };
  fmt::print("{:<34} {:>7.0f} {:>7.0f} {:>9.3f} {:>8.3f} {:>8.3f} {:>8} {:>7.1f}\n", input.name,
             add_ns, both_ns, percent(predicted), percent(offsets), percent(right), parts,
             static_cast<double>(most_bytes) / 1024);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t accesses = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 3;
  if (argc > 3 || accesses == 0 || rounds < 1) {
    fmt::print(stderr, "usage: access_throughput [ACCESSES [ROUNDS]]\n");
    return 2;
  }
  fmt::print("{:<34} {:>7} {:>7} {:>9} {:>8} {:>8} {:>8} {:>7}\n", "input", "add", "predict",
             "predicted", "offsets", "right", "patterns", "memory");
  fmt::print("{:<34} {:>7} {:>7} {:>9} {:>8} {:>8} {:>8} {:>7}\n", "", "ns", "ns", "%", "%", "%",
             "", "KiB");
  for (const Input& input : inputs()) measure(input, accesses, rounds);
  return 0;
}
