// The MPI events of one log that are the application's own. The records "(completed)" and
// "(begun)", which hold what had no room in the record before them, are put back into it.
#pragma once

#include <cstdint>
#include <string>

#include "core/tracefile/log_reader.hpp"

namespace omnio::order {

class MpiLogSource {
 public:
  // As LogReader.
  MpiLogSource(const tracefile::Process& process, const tracefile::Log& log,
               event::PathTable& paths)
      : reader_(process, log, paths) {}

  // The next event, or nullptr at the end. It is valid until the next call.
  const event::Event* next();
  std::uint64_t missing() const { return missing_; }  // so far
  std::uint64_t undecodable() const { return reader_.undecodable(); }

 private:
  const event::Event* pull();

  tracefile::LogReader reader_;
  event::Event joined_;
  std::string pieces_;
  const event::Event* ahead_ = nullptr;  // read, not handed out
  std::uint64_t missing_ = 0;
  bool is_behind_gap_ = false;  // events are missing before the one that was pulled last
};

}  // namespace omnio::order
