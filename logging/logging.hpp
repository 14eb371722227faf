// The log of a host program, by spdlog: lines on standard error, or in a file that another program
// shows. A line has the time, the level, the program, the node and the rank, and is written by one
// call: lines of several processes do not mix.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "core/base/log.hpp"

namespace omnio::logging {

struct Settings {
  base::LogLevel level = base::LogLevel::kOff;
  std::string program;
  std::optional<int> rank;
  int fd = 2;
  // As write(2): a program that runs under the tracer has one that passes it.
  long (*write)(int fd, const void* bytes, std::size_t count) = nullptr;
};

// Sends what is logged (core/base/log.hpp) there from now on. At kOff nothing is logged.
void start(const Settings& settings);

}  // namespace omnio::logging
