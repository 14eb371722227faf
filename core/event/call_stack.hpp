// The call stack of an event, as readers see it: who made the call, and for whom.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace omnio::event {

// An executable file that return addresses lie in: the program, or a library.
struct Module {
  std::string path;
  // The linker's, hexadecimal; "=" and a digest of its code where it has none, and empty where that
  // is not known.
  std::string build_id;

  // Without its folders.
  std::string_view name() const {
    const std::string_view whole = path;
    return whole.substr(whole.rfind('/') + 1);
  }
};

struct StackFrame {
  // nullptr: the address is in no file (of code that the program made while it ran), or the trace
  // has lost which one it is in.
  const Module* module = nullptr;
  // The place of the return address in the module as it is linked, as addr2line takes it; without a
  // module as the trace has it.
  std::uint64_t offset = 0;
};

struct CallStack {
  std::uint32_t number = 0;  // in its process, from 1
  // Made of modules (by build id, else by name) and offsets: the same in all processes and runs of
  // one binary, wherever it was loaded.
  std::uint64_t hash = 0;
  std::vector<StackFrame> frames;  // the innermost, which made the call, first
};

}  // namespace omnio::event
