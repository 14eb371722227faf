// What the kernel says that a process has moved, and what the process says of its own calls beside
// it: from both, readers tell how much was moved by calls that are not recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace omnio::wire {

// In both directions.
struct MovedBytes {
  std::uint64_t read = 0;
  std::uint64_t written = 0;

  bool operator==(const MovedBytes&) const = default;
};

// The lines rchar and wchar of /proc/<pid>/io (proc(5)): what system calls of the read and write
// families moved, whatever they read from (files, pipes, sockets by read and write), in all threads
// of the process, in all images that it was, and in the children that it has waited for. Transfers
// by io_uring, libaio, splice, recv and send, through mappings and by clones are not in them. False
// where the text has no such lines.
constexpr bool parseKernelIo(std::string_view text, MovedBytes& moved) {
  const auto number = [](std::string_view lines, std::string_view name, std::uint64_t& value) {
    while (!lines.starts_with(name)) {
      const std::size_t end = lines.find('\n');
      if (end == lines.npos) return false;
      lines.remove_prefix(end + 1);
    }
    lines.remove_prefix(name.size());
    while (lines.starts_with(' ')) lines.remove_prefix(1);
    const std::size_t digits = lines.size();
    for (value = 0; !lines.empty() && lines.front() >= '0' && lines.front() <= '9';) {
      value = value * 10 + static_cast<std::uint64_t>(lines.front() - '0');
      lines.remove_prefix(1);
    }
    return lines.size() < digits;
  };
  return number(text, "rchar:", moved.read) && number(text, "wchar:", moved.written);
}

// A process's account of its bytes, up to one moment.
struct MovedAccount {
  MovedBytes kernel_before{};  // when the process image began
  MovedBytes kernel{};         // at that moment
  MovedBytes own{};            // moved by the recorder
  // By calls that were seen but are not in the log: on sockets, pipes, terminals and files that are
  // left out, and while recording was stopped.
  MovedBytes passed{};
  MovedBytes recorded{};  // by calls that are in the log, of streams too
  // Read ahead by the C library and given up, at the most: a buffer with each seek, flush and close
  // of a stream.
  std::uint64_t turned = 0;
  std::uint64_t unsized_reads = 0;  // recorded reads that do not tell how much they read (fscanf)
  // Children whose bytes may be among the kernel's, and are not known: it adds a child's to those
  // of the process that waits for it, and these were waited for unseen.
  std::uint64_t children = 0;
  // A part of `recorded` that the kernel does not count: through mappings, libaio and splice.
  MovedBytes uncounted{};
  // What the kernel added for the children that were seen to be waited for.
  MovedBytes reaped{};

  bool operator==(const MovedAccount&) const = default;
};

// Numbers that an account has at the least: older traces have no more.
inline constexpr std::size_t kLeastNumbers = 13;

// All numbers of an account in the order in which its fact (info.hpp, moved_bytes) has them.
template <typename Account, typename Action>
constexpr void forEachNumber(Account& account, Action action) {
  for (auto* moved : {&account.kernel_before, &account.kernel, &account.own, &account.passed,
                      &account.recorded}) {
    action(moved->read);
    action(moved->written);
  }
  action(account.turned);
  action(account.unsized_reads);
  action(account.children);
  action(account.uncounted.read);
  action(account.uncounted.written);
  action(account.reaped.read);
  action(account.reaped.written);
}

// How the replayer tells its tracer what it moved past the wrappers on its own account: by a call
// posix_madvise(bytes, kControlKey, command), as trace/api/omnio.h does. Without the tracer that
// has no effect.
inline constexpr std::size_t kControlKey = 0x6f6d6e6d;
inline constexpr int kOwnReadCommand = 0x6f0003;
inline constexpr int kOwnWrittenCommand = 0x6f0004;
// The same, for the calling thread: its ring and the process's log are made now, and not with its
// first event, which would last longer for it.
inline constexpr int kPrepareThreadCommand = 0x6f0005;
// The same, with a null pointer: what the process does between these two is the replayer's own
// work, which is not recorded (trace/runtime/recording_switch.hpp).
inline constexpr int kOwnWorkBegins = 0x6f0006;
inline constexpr int kOwnWorkEnds = 0x6f0007;

}  // namespace omnio::wire
