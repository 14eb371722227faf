// One line on a terminal that says how far long work has come (core/base/progress.hpp).
#pragma once

#include <mutex>

namespace omnio::cli {

// A command that may take long has one while it works. After 2 s it shows the line on standard
// error and writes it anew up to five times a second, in a thread of its own. It shows nothing
// where standard error is not a terminal, or is a dumb one (TERM). For tests, the variable
// OMNIO_TEST_PROGRESS_DELAY_MS replaces the 2 s, and the time between two lines where it is less.
//
// One at a time. All that omnio prints takes the line away before (ProgressPause), and the end does
// too.
class ProgressLine {
 public:
  ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine();
};

// Takes the line away, and keeps it away while it lives: something is printed meanwhile. The line
// comes back if the work goes on, unless it is taken away for good. For the thread that works.
class ProgressPause {
 public:
  explicit ProgressPause(bool for_good = false);
  ProgressPause(const ProgressPause&) = delete;
  ProgressPause& operator=(const ProgressPause&) = delete;

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace omnio::cli
