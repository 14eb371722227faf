// System calls that the tracer must not make, since a filter of the process (seccomp(2)) would
// punish them: end the process or a thread, raise a signal, or wait for another process.
// rawSyscall() refuses them with EPERM before the kernel sees them, so that recording goes on as
// far as the filter allows, and the application is what it would be untraced. So it does with calls
// that a filter always answers with an error, so that the tracer knows beforehand and takes another
// way.
//
// Filters are never taken back, and a forked child or the next image has them too; what is learnt
// here is of this process as a whole, though a filter may be of one thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

struct sock_fprog;

namespace omnio::trace {

inline constexpr long kMostCalls = 512;  // numbers of system calls that are looked at
extern std::atomic<std::uint64_t> forbidden_calls[kMostCalls / 64];

inline bool isForbidden(long number) {
  if (static_cast<unsigned long>(number) >= static_cast<unsigned long>(kMostCalls)) return false;
  const std::uint64_t word = forbidden_calls[number / 64].load(std::memory_order_relaxed);
  return (word >> (number % 64) & 1) != 0;
}
void forbid(long number);

// A judgement of a filter: which of the tracer's calls it punishes or refuses.
struct FilterVerdict {
  std::uint64_t punished[kMostCalls / 64] = {};
  bool punishes(long number) const { return (punished[number / 64] >> (number % 64) & 1) != 0; }

  bool refuses_logs = false;     // no new log could be made: such calls are punished or refused
  bool refuses_opening = false;  // the log could not be opened again once it is closed
};
// Runs the program (a classic BPF program as seccomp(2) takes it) over all that the tracer calls.
// A program with a step that the kernel does not take punishes nothing: the kernel refuses it.
FilterVerdict judgeFilter(const sock_fprog& program);
void apply(const FilterVerdict& verdict);

// Whether so much is forbidden that no recording can begin: which process this is cannot be known,
// or no log be written.
bool leavesTooLittle();

// Whether a filter that was seen refuses what a new image needs to make its log.
bool refusesLogs();

// The next image has the filters too, but has not seen them: what is known of them is handed on in
// this variable of its environment, the words of forbidden_calls in hexadecimal.
inline constexpr const char* kForbiddenVariable = "OMNIO_FORBIDDEN_CALLS";
inline constexpr std::size_t kForbiddenText = kMostCalls / 4 + 1;
// Writes the value, NUL-terminated, into `text`; false when nothing is forbidden.
bool putForbidden(char (&text)[kForbiddenText]);

// When a filter came over exec or from a parent: takes over what the image before has handed on;
// for the rest, which calls it punishes is tried in a child of our own, which may die of it. Does
// nothing without a filter, and once; before the tracer's first call.
void tryInheritedFilter();

}  // namespace omnio::trace
