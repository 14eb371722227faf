#include "ior_bridge/ior/run.hpp"

#include <fmt/format.h>

namespace omnio::ior {

std::uint64_t transfersOf(const IorRun& run) {
  return run.segments * (run.block_bytes / run.transfer_bytes);
}

std::uint64_t bytesOf(const IorRun& run) { return run.segments * run.block_bytes; }

std::uint64_t offsetOf(const IorRun& run, int task, std::uint64_t n) {
  const std::uint64_t per_block = run.block_bytes / run.transfer_bytes;
  const std::uint64_t segment = n / per_block;
  const std::uint64_t block =
      run.file_per_process
          ? segment
          : segment * static_cast<std::uint64_t>(run.tasks) + static_cast<std::uint64_t>(task);
  return block * run.block_bytes + n % per_block * run.transfer_bytes;
}

std::string summaryOf(const IorRun& run) { return run.name + (run.cold ? ".$i.json" : ".json"); }

std::vector<std::string> argumentsOf(const IorRun& run) {
  std::vector<std::string> words = {"-a", run.api == Api::kMpiIo ? "MPIIO" : "POSIX",
                                    run.operation == model::Operation::kWrite ? "-w" : "-r"};
  const auto flag = [&](bool wanted, const char* word) {
    if (wanted) words.emplace_back(word);
  };
  const auto number = [&](const char* option, std::uint64_t value) {
    words.insert(words.end(), {option, fmt::format("{}", value)});
  };
  number("-N", static_cast<std::uint64_t>(run.tasks));
  number("-t", run.transfer_bytes);
  number("-b", run.block_bytes);
  number("-s", run.segments);
  number("-i", run.cold ? 1 : static_cast<std::uint64_t>(run.iterations));
  flag(run.file_per_process, "-F");
  flag(run.collective, "-c");
  flag(run.random, "-z");
  flag(run.fsync, "-e");
  flag(run.keep, "-k");
  words.insert(words.end(), {"-o", fmt::format("\"$DIR\"/{}.dat", run.name)});
  if (run.measured) {
    words.insert(words.end(),
                 {"-O", "summaryFile=\"$RESULTS\"/" + summaryOf(run), "-O", "summaryFormat=JSON"});
  }
  return words;
}

std::string commandLineOf(const IorRun& run) {
  return fmt::format("ior {}", fmt::join(argumentsOf(run), " "));
}

}  // namespace omnio::ior
