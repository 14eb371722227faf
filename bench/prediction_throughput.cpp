// Measures what an operation costs in the model of omnio predict, what it costs to ask for the next
// eight, and how much memory the model takes; then what the models of several threads of a process
// cost and take. CPU time; the median of the rounds. No time is measured for what the predictions
// are compared with.
//
//   prediction_throughput [OPERATIONS [ROUNDS]]
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "bench/measure.hpp"
#include "core/base/integers.hpp"
#include "predict/operations/operation_model.hpp"
#include "predict/operations/process_models.hpp"
#include "predict/operations/process_predictor.hpp"

namespace {

using omnio::predict::Kind;
using omnio::predict::Operation;
using omnio::predict::OperationModel;
using omnio::predict::ProcessModels;

using Operations = std::vector<Operation>;
struct Input {
  std::string name;
  std::function<void(Operations& operations, std::int64_t turn)> turn;
};

Operation called(std::uint64_t context, Kind kind, omnio::predict::Slot slot = 0) {
  return {.context = context, .slot = slot, .file = omnio::event::FileId{slot}, .kind = kind};
}

Operation written(std::uint64_t context, std::int64_t offset, std::int64_t bytes,
                  omnio::predict::Slot slot = 0) {
  Operation one = called(context, Kind::kWrite, slot);
  one.has_size = one.has_offset = true;
  one.offset = offset;
  one.bytes = bytes;
  return one;
}

std::vector<Input> inputs() {
  std::vector<Input> all;
  all.push_back({"one loop, contiguous", [](Operations& operations, std::int64_t turn) {
                   operations.push_back(written(1, turn * 4096, 4096));
                 }});
  all.push_back({"a file each turn, 12 writes", [](Operations& operations, std::int64_t) {
                   operations.push_back(called(1, Kind::kOpen));
                   for (int i = 0; i < 12; ++i) {
                     operations.push_back(written(i == 0 ? 2 : 3, i * 4096, 4096));
                   }
                   operations.push_back(called(4, Kind::kClose));
                 }});
  all.push_back({"six variables, of other sizes", [](Operations& operations, std::int64_t) {
                   operations.push_back(called(1, Kind::kOpen));
                   std::int64_t begin = 0;
                   for (const std::int64_t size : {3, 1, 3, 8, 2, 5}) {
                     operations.push_back(written(2, begin + size * 4096, size * 4096));
                     begin += 4 * size * 4096;
                   }
                   operations.push_back(called(4, Kind::kClose));
                 }});
  all.push_back({"nest of 6 x 6 x 2, strided", [](Operations& operations, std::int64_t turn) {
                   for (std::int64_t i = 0; i < 72; ++i) {
                     operations.push_back(written(
                         1, turn * 69120 + i / 36 * 31200 + i / 6 * 5760 + i % 6 * 480, 240));
                   }
                 }});
  all.push_back({"two variables, planes in turn", [](Operations& operations, std::int64_t turn) {
                   operations.push_back(written(1, turn * 12288, 12288));
                   operations.push_back(written(1, (std::int64_t{1} << 40) + turn * 4096, 4096));
                 }});
  all.push_back({"period of 500 contexts", [](Operations& operations, std::int64_t turn) {
                   for (std::uint64_t i = 0; i < 500; ++i) {
                     operations.push_back(written(i, turn * 512, 512, static_cast<unsigned>(i)));
                   }
                 }});
  all.push_back({"random sizes and offsets", [](Operations& operations, std::int64_t turn) {
                   const std::uint64_t draw = omnio::base::mixed(static_cast<std::uint64_t>(turn));
                   operations.push_back(written(draw % 2, static_cast<std::int64_t>(draw >> 24),
                                                static_cast<std::int64_t>(1 + draw % 9999)));
                 }});
  all.push_back({"random among 10 contexts", [](Operations& operations, std::int64_t turn) {
                   const std::uint64_t draw = omnio::base::mixed(static_cast<std::uint64_t>(turn));
                   operations.push_back(written(draw % 10, static_cast<std::int64_t>(draw >> 8 & 7),
                                                static_cast<std::int64_t>(1 + (draw >> 16) % 20)));
                 }});
  return all;
}

Operations operationsOf(const Input& input, std::size_t count) {
  Operations operations;
  for (std::int64_t turn = 0; operations.size() < count; ++turn) input.turn(operations, turn);
  operations.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    operations[i].start_ns = static_cast<std::int64_t>(i) * 1000;
    operations[i].end_ns = operations[i].start_ns + 500;
  }
  return operations;
}

volatile std::size_t sink = 0;  // so that no prediction is left out

// Measures the second half of a part of the input, when the model has learnt; with `ahead`, so
// many operations are asked for after each.
double halfNs(const Operations& operations, std::size_t half, std::size_t ahead) {
  omnio::predict::ProcessPredictor predictor;
  double begin = 0;
  for (std::size_t i = 0; i < 2 * half; ++i) {
    if (i == half) begin = omnio::bench::cpuNs();
    predictor.take(0, operations[i]);
    if (i >= half && ahead > 0) sink = predictor.next(0, ahead).size();
  }
  return omnio::bench::cpuNs() - begin;
}

double askingNs(const Operations& operations) {
  const std::size_t half = std::min<std::size_t>(operations.size() / 2, 50'000);
  return (halfNs(operations, half, 8) - halfNs(operations, half, 0)) / static_cast<double>(half);
}

void measure(const Input& input, std::size_t count, int rounds) {
  const Operations operations = operationsOf(input, count);
  std::vector<double> times;
  std::vector<double> asking_times;
  std::size_t most_symbols = 0;
  std::size_t most_bytes = 0;
  for (int round = 0; round < rounds; ++round) {
    OperationModel model;
    const double begin = omnio::bench::cpuNs();
    for (const Operation& operation : operations) {
      model.take(operation);
      most_symbols = std::max(most_symbols, model.grammar().symbolCount());
      most_bytes = std::max(most_bytes, model.memoryBytes());
    }
    times.push_back((omnio::bench::cpuNs() - begin) / static_cast<double>(count));
    asking_times.push_back(askingNs(operations));
  }
  fmt::print("{:<30} {:>8.0f} {:>8.0f} {:>8} {:>8}\n", input.name,
             omnio::bench::median(std::move(times)), omnio::bench::median(std::move(asking_times)),
             most_symbols, most_bytes / 1024);
}

// The threads of a process by turns, each with the whole input: what they take together.
void measureThreads(const Input& input, std::size_t threads, std::size_t count, int rounds) {
  const Operations operations = operationsOf(input, count / threads);
  std::vector<double> times;
  std::size_t most_bytes = 0;
  for (int round = 0; round < rounds; ++round) {
    ProcessModels models;
    for (std::size_t thread = 0; thread < threads; ++thread) models.add();
    const double begin = omnio::bench::cpuNs();
    for (const Operation& operation : operations) {
      for (std::size_t thread = 0; thread < threads; ++thread) models.take(thread, operation);
    }
    times.push_back((omnio::bench::cpuNs() - begin) /
                    static_cast<double>(operations.size() * threads));
    most_bytes = std::max(most_bytes, models.mostBytes());
  }
  fmt::print("{:<30} {:>8} {:>8.0f} {:>8}\n", input.name, threads,
             omnio::bench::median(std::move(times)), most_bytes / 1024);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t operations = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 3;
  if (argc > 3 || operations == 0 || rounds < 1) {
    fmt::print(stderr, "usage: prediction_throughput [OPERATIONS [ROUNDS]]\n");
    return 2;
  }
  fmt::print("{:<30} {:>8} {:>8} {:>8} {:>8}\n", "input", "update", "next 8", "most", "memory");
  fmt::print("{:<30} {:>8} {:>8} {:>8} {:>8}\n", "", "ns", "ns", "symbols", "KiB");
  for (const Input& input : inputs()) measure(input, operations, rounds);
  fmt::print("\n{:<30} {:>8} {:>8} {:>8}\n", "input of each thread", "threads", "update", "memory");
  fmt::print("{:<30} {:>8} {:>8} {:>8}\n", "", "", "ns", "KiB");
  for (const Input& input : inputs()) {
    for (const std::size_t threads : {2U, 16U, 64U, 1000U}) {
      measureThreads(input, threads, operations, rounds);
    }
  }
  return 0;
}
