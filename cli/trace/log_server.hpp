// Opens files of the trace for processes that cannot do so themselves (core/wire/log_request.hpp):
// a server that has dropped its rights, say, whose workers may not write into the trace directory.
// Says once on standard error that it does, and why.
#pragma once

#include <filesystem>
#include <memory>
#include <thread>

#include "core/base/file.hpp"
#include "core/wire/run.hpp"

namespace omnio::cli {

class LogServer {
 public:
  // Listens from now on; it may fail to (no such sockets), and then does nothing. `directory`: of
  // the trace.
  LogServer(std::filesystem::path directory, const wire::Run& run);
  LogServer(const LogServer&) = delete;
  LogServer& operator=(const LogServer&) = delete;
  // Answers what has been asked by now, and ends.
  ~LogServer();

 private:
  base::Descriptor socket_;
  base::Descriptor stop_;
  std::thread thread_;
};

}  // namespace omnio::cli
