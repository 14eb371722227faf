// The facts a process records about itself (core/wire/info.hpp), as typed values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace omnio::tracefile {

class ProcessInfo {
 public:
  // Takes in the payload of an info chunk: key, NUL, value, NUL, ... A later value replaces an
  // earlier one; what is not whole at the end is left out.
  void take(std::string_view payload);

  // Empty when the process did not record it.
  const std::string& text(std::string_view key) const;
  std::optional<std::uint64_t> number(std::string_view key) const;

  // The rank, when a launcher or MPI told it; a process outside of any job has none.
  std::optional<int> rank() const;
  // Size of the job: 1 without a launcher.
  int ranks() const;
  // What recording an event added to it, at the least, and the part of that inside the recorded
  // duration (core/wire/info.hpp); 0 when the process did not measure it.
  double eventCostNs() const;
  double clockCostNs() const;

  const std::map<std::string, std::string, std::less<>>& all() const { return facts_; }

 private:
  std::map<std::string, std::string, std::less<>> facts_;
};

}  // namespace omnio::tracefile
