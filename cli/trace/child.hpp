// Runs a command as a child and waits for it, as `env` or `time` would.
#pragma once

#include <signal.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "core/wire/moved_bytes.hpp"

namespace omnio::cli {

struct ChildEnd {
  int start_error = 0;       // errno when the command could not be started, else 0
  int status = 0;            // its exit status
  int signal = 0;            // that ended it, or 0
  int pid = 0;               // its number; 0: it was not started
  wire::MovedBytes moved{};  // by it and the children it waited for, by the kernel's account
  int stopped_by = 0;        // the last signal that asked this process to stop meanwhile, or 0
  bool was_over = false;  // it was ended since it had nothing more to do (ChildSettings::is_over)

  // As a shell has it: the status, 128+n for a signal, 126 and 127 when it did not start.
  int exitCode() const;
};

struct ChildSettings {
  int also_pass_on = 0;  // one more signal that is the command's; 0: none
  // The command is in a process group of its own and does not read from the terminal, so that it
  // gets each signal once: from this process, also those of the keyboard. Whatever asks this
  // process to stop, the command gets SIGTERM; so it does when this process is killed.
  bool apart = false;
  // A descriptor that is the standard input of a command apart; -1: there is nothing to read.
  int input = -1;
  // Descriptors that are the command's stdout and stderr; -1: those of this process.
  int output = -1;
  int error_output = -1;
  // The signal mask of the command, and of this process while it runs; nullptr: that of now.
  const sigset_t* mask = nullptr;
  // For a command apart that may never end. Twice a second it is asked whether the command has
  // nothing more to do; that is so, too, while all of its children have ended and it has not waited
  // for them. After `patience` it gets SIGTERM, and its group SIGKILL 10 s later.
  std::function<bool()> is_over{};
  std::chrono::milliseconds patience{60'000};
};

// Signals that ask this process to stop or do something are the command's: they are passed on to
// it. Those that the terminal sends to the whole group reach a command in it by themselves.
ChildEnd runChild(const std::vector<std::string>& command, const ChildSettings& settings = {});

// Ends this process by the signal that ended the command, without a core file of its own. Returns
// where that signal ends nothing.
void endBySignal(int signal);

}  // namespace omnio::cli
