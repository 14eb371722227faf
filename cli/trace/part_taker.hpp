// Writes into the trace what processes cannot write there themselves and leave in parts
// (core/wire/log_part.hpp): a server that has dropped its rights, say, whose workers may not write
// into the trace directory. Says once on standard error that it does, and why.
#pragma once

#include <filesystem>
#include <thread>

#include "core/base/file.hpp"
#include "core/wire/run.hpp"

namespace omnio::cli {

class PartTaker {
 public:
  // Looks for parts from now on. `directory`: of the trace. Without `keeps` that is not wanted:
  // parts are thrown away, so that no process waits for them to be taken.
  PartTaker(std::filesystem::path directory, const wire::Run& run, bool keeps = true);
  PartTaker(const PartTaker&) = delete;
  PartTaker& operator=(const PartTaker&) = delete;
  // Takes what is there by now, and ends.
  ~PartTaker();

 private:
  base::Descriptor watch_;
  base::Descriptor stop_;
  std::thread thread_;
};

}  // namespace omnio::cli
