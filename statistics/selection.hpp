// The part of a trace's events that statistics are about.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/event/event.hpp"
#include "core/tracefile/trace.hpp"

namespace omnio::stats {

// Times from the start of the run: that of the first recorded call of all ranks. An event belongs
// to the window in which it begins.
struct Window {
  std::int64_t from_ns = 0;
  std::optional<std::int64_t> to_ns;  // not included; none: up to the end
};

// Reads `1.5..3`, `..3` or `1.5..`, in seconds. Fails with a sentence.
base::Result<Window> readWindow(std::string_view text);

enum class Layer {
  kApplication,  // the application's own calls
  kPosix,        // POSIX and stream calls, those that MPI-IO made for the application too
};

struct Selection {
  std::optional<int> rank = {};
  std::optional<unsigned> thread = {};     // of each process, by its place in the trace
  std::vector<std::string> patterns = {};  // of paths (core/wire/path_pattern.hpp); none: all
  std::optional<Window> window = {};
  Layer layer = Layer::kApplication;
  // Groups of files are those of the first folders of their paths, so many; 0: each file has one.
  unsigned depth = 0;
};

// Says of events whether they are selected, by path and window.
class SelectedEvents {
 public:
  // `start_ns`: of the run. What is given outlives it.
  SelectedEvents(const Selection& selection, const event::PathTable& paths, std::int64_t start_ns);

  bool has(const event::Event& event);

 private:
  bool hasFile(event::FileId file);

  const Selection& selection_;
  const event::PathTable& paths_;
  std::int64_t from_ns_;
  std::int64_t to_ns_;
  std::vector<std::optional<bool>> files_;  // by FileId: looked up once
};

// When the first call of the trace began; 0 where there are none.
std::int64_t startOfRun(const tracefile::Trace& trace);

}  // namespace omnio::stats
