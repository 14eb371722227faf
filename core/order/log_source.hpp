// The MPI events of one log that are the application's own. The records "(completed)" and
// "(begun)", which hold what had no room in the record before them, are put back into it.
#pragma once

#include <cstdint>
#include <string>

#include "core/tracefile/log_reader.hpp"

namespace omnio {

class MpiLogSource {
 public:
  // As LogReader.
  MpiLogSource(const Process& process, const Log& log, PathTable& paths)
      : reader_(process, log, paths) {}

  // The next event, or nullptr at the end. It is valid until the next call.
  const Event* next();
  std::uint64_t missing() const { return missing_; }  // so far
  std::uint64_t undecodable() const { return reader_.undecodable(); }

 private:
  const Event* pull();

  LogReader reader_;
  Event joined_;
  std::string pieces_;
  const Event* ahead_ = nullptr;  // read, not handed out
  std::uint64_t missing_ = 0;
  bool is_behind_gap_ = false;  // events are missing before the one that was pulled last
};

}  // namespace omnio
