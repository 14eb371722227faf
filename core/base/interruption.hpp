// Signals that ask a command to stop (SIGINT, SIGTERM, SIGHUP) while it writes files that are no
// use until they are complete: they are removed, one sentence says so, and the process ends by the
// signal, as a shell expects it of what ^C ends.
#pragma once

#include <signal.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace omnio::base {

enum class Removal {
  kAlone,      // a file, or an empty directory; one with something in it stays
  kWithFiles,  // a directory and the files in it, unless there are directories in it
};

// An interruption removes this path as long as this lives, if it is there. Any thread may make one.
// Beyond 64 at a time, more of them do nothing.
class RemovedIfInterrupted {
 public:
  explicit RemovedIfInterrupted(const std::filesystem::path& path,
                                Removal removal = Removal::kAlone);
  RemovedIfInterrupted(const RemovedIfInterrupted&) = delete;
  RemovedIfInterrupted& operator=(const RemovedIfInterrupted&) = delete;
  ~RemovedIfInterrupted();

  void remove() const;  // by the handler of the signal

 private:
  std::string path_;
  Removal removal_;
  std::size_t place_ = 0;
};

// While this lives, such a signal ends the process as above. One at a time. Signals that the
// process ignores (nohup) stay ignored.
class Interruption {
 public:
  // On stderr: "PROGRAM: interrupted by SIGINT", and `rest`.
  Interruption(std::string_view program, std::string_view rest);
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  ~Interruption();
};

// While one of these lives, such a signal waits: what belongs together is done together. One at a
// time.
class StopsHeld {
 public:
  StopsHeld();
  StopsHeld(const StopsHeld&) = delete;
  StopsHeld& operator=(const StopsHeld&) = delete;
  ~StopsHeld();

  // From now on a signal finds that all is written, and its sentence says so.
  void allIsWritten();
  const sigset_t& before() const { return before_; }  // the mask that comes back

 private:
  sigset_t before_;
};

// For `rest`: what an interruption leaves of a document that is being written (DocumentFile).
std::string leftOf(const std::filesystem::path& document);

// "SIGINT", or "signal 64".
std::string signalName(int signal);
// Ends the process as the signal does that it has caught.
[[noreturn]] void endBySignal(int signal);

}  // namespace omnio::base
