// Child processes of a benchmark, with or without the preloaded tracer.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bench/tracer_calls.hpp"

namespace omnio::bench {

struct ChildRun {
  Figures figures;    // that it printed
  double cpu_ns = 0;  // user and system time of the process and its children
  double wall_ns = 0;
};

// Runs `command`; with a `library` it is preloaded and writes its trace to `trace`, without one
// nothing is. Nothing when the command failed.
std::optional<ChildRun> runChild(const std::vector<std::string>& command,
                                 const std::filesystem::path& library,
                                 const std::filesystem::path& trace);

}  // namespace omnio::bench
