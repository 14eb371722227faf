// The part of a trace's events that statistics are about.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/event/event.hpp"
#include "core/tracefile/run_window.hpp"

namespace omnio::stats {

using tracefile::readWindow;
using tracefile::startOfRun;
using tracefile::Window;

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

}  // namespace omnio::stats
