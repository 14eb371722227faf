// Processes whose log has no end, or that left none although they moved much, by what the kernel
// told those who waited for them (core/wire/notes.hpp, "moved" and "quiet"). A program whose
// runtime makes its system calls itself (Go) ends in a way that no wrapper sees.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/tracefile/process.hpp"
#include "core/wire/moved_bytes.hpp"

namespace omnio::tracefile {

struct EndedProcess {
  std::string host;
  std::uint32_t pid = 0;
  std::string program;       // empty: not known
  wire::MovedBytes moved{};  // itself; children that it waited for left out
  int signal = 0;            // that ended it; 0: none
  bool has_log = false;
  // A shell or launcher, which is not traced, and ended as it should.
  bool is_launcher = false;

  // Whether a trace lacks what it did: not where that may have been on pipes and sockets alone.
  bool isMissed() const { return !has_log && !is_launcher && signal == 0; }

  // Of one without a log: "process 7 on host a (/bin/x) left no log, and wrote 4.00 MiB ..."
  std::string sentence() const;
  // Of one whose log has no end, and which no signal ended, without its name: "ended by a system
  // call of its own, ...; it wrote 4.00 MiB in all ..."
  std::string endSentence() const;
};

// Those of which the notes in a trace directory tell, in the order in which they were waited for.
// `processes`: that have a log. Left out are those that said themselves why they have none.
std::vector<EndedProcess> readEnded(const std::filesystem::path& directory,
                                    const std::vector<std::unique_ptr<Process>>& processes);

// Notes in the trace what the command of `omnio trace` moved with its children. Nothing where that
// is too little to be worth it. False when it could not be written.
bool noteMoved(const std::filesystem::path& directory, const std::string& host, std::uint32_t pid,
               const std::string& program, const wire::MovedBytes& moved, int signal);

// By the kernel's account of a process of this node that has ended and was not waited for; nothing
// moved where that cannot be read.
wire::MovedBytes kernelBytesOf(std::uint32_t pid);

}  // namespace omnio::tracefile
