// Programs that ran without the tracer although the trace was asked for (core/wire/
// untraced_note.hpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/wire/notes.hpp"

namespace omnio::tracefile {

struct UntracedProgram {
  std::string program;  // its path
  wire::UntracedReason reason = wire::UntracedReason::kNone;
  std::uint64_t starts = 0;

  // "/bin/x was started 3 times and not traced: it is statically linked".
  std::string sentence() const;
};

// Reads the notes in a trace directory: one entry a program and reason, by program.
std::vector<UntracedProgram> readUntraced(const std::filesystem::path& directory);

// Notes a start. False when that could not be written.
bool noteUntraced(const std::filesystem::path& directory, const std::string& host,
                  wire::UntracedReason reason, const std::filesystem::path& program);

// Why the tracer would not be in a program with this file: nothing when it would be, or when the
// file cannot be read. Of a script, why not in its interpreter.
struct ProgramCheck {
  std::optional<wire::UntracedReason> reason;
  bool wants_asan = false;  // it starts with ASAN_OPTIONS of core/wire/program_file.hpp alone
};
ProgramCheck checkProgram(const std::filesystem::path& program);

}  // namespace omnio::tracefile
