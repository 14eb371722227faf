#include "trace/runtime/sys/own_clone.hpp"

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstddef>
#include <cstring>

#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/runtime/sys/waiting.hpp"

namespace omnio::trace {

struct Start {
  long (*function)(void*);
  void* argument;
  unsigned long is_thread;
};

// Where a clone begins: its stack holds no frame to return to.
extern "C" __attribute__((used, noreturn, visibility("hidden"))) void omnioBeginClone(
    Start* start) {
  const long status = start->function(start->argument);
  while (true) {
    if (start->is_thread == 0) rawSyscall(SYS_exit_group, status & 0xFF);
    rawSyscall(SYS_exit, 0);
  }
}

namespace {

thread_local constinit bool is_in_own_table = false;

// The number of the clone, 0 never: that one goes to omnioBeginClone with `start`.
long cloneRaw(unsigned long flags, void* stack, std::uint32_t* ended, void* thread_pointer,
              Start* start) {
#if defined(__x86_64__)
  long result = SYS_clone;
  register long r10 asm("r10") = reinterpret_cast<long>(ended);
  register void* r8 asm("r8") = thread_pointer;
  register Start* r12 asm("r12") = start;
  asm volatile(
      "syscall\n"
      "testq %%rax, %%rax\n"
      "jnz 1f\n"
      "xorl %%ebp, %%ebp\n"
      "movq %%r12, %%rdi\n"
      "call omnioBeginClone\n"
      "hlt\n"
      "1:\n"
      : "+a"(result)
      : "D"(flags), "S"(stack), "d"(0L), "r"(r10), "r"(r8), "r"(r12)
      : "rcx", "r11", "memory", "cc");
  return result;
#else
  register long x8 asm("x8") = SYS_clone;
  register long x0 asm("x0") = static_cast<long>(flags);
  register void* x1 asm("x1") = stack;
  register long x2 asm("x2") = 0;
  register void* x3 asm("x3") = thread_pointer;
  register std::uint32_t* x4 asm("x4") = ended;
  register Start* x19 asm("x19") = start;
  asm volatile(
      "svc #0\n"
      "cbnz x0, 1f\n"
      "mov x29, #0\n"
      "mov x0, x19\n"
      "bl omnioBeginClone\n"
      "1:\n"
      : "+r"(x0)
      : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x19)
      : "memory", "cc", "x30");
  return x0;
#endif
}

// Thread-local memory at the bottom of the clone's stack: its creator may end before it does, and
// its own memory with it. The tracer's variables are at a fixed distance from the thread pointer
// (initial-exec), and zero is what those begin with that a clone uses. nullptr when it does not
// fit.
void* ownThreadLocals(char* memory, std::size_t bytes) {
  char* const current = static_cast<char*>(__builtin_thread_pointer());
  const std::ptrdiff_t distance = reinterpret_cast<char*>(&is_in_own_table) - current;
  constexpr std::ptrdiff_t kRoom =
      16 * 1024;  // of the tracer's variables, and of the pointer's own
  const std::ptrdiff_t size = (distance < 0 ? -distance : distance) + kRoom;
  if (size * 2 > static_cast<std::ptrdiff_t>(bytes)) return nullptr;
  std::memset(memory, 0, static_cast<std::size_t>(size));
#if defined(__x86_64__)
  char* const pointer = memory + ((size - kRoom / 2) & ~std::ptrdiff_t{63});
  std::memcpy(pointer, &pointer, sizeof pointer);  // its first word is itself (psABI)
  constexpr std::ptrdiff_t kGuard = 0x28;          // of the stack protector
  std::memcpy(pointer + kGuard, current + kGuard, sizeof(long));
  return pointer;
#else
  return memory + 64;
#endif
}

struct TableAction {
  long (*action)(void*);
  void* argument;
  long result;
};

// Two numbers are enough for all that the tracer opens at once. Those that are no files on storage
// go first: closing a copy of such a descriptor makes some file systems write.
void freeNumbers() {
  constexpr int kWanted = 2;
  int freed = 0;
  for (const bool also_files : {false, true}) {
    for (int fd = 0; fd < 64 && freed < kWanted; ++fd) {
      struct stat facts;
      if (rawSyscall(SYS_fstat, fd, address(&facts)) != 0) continue;
      if (!also_files && (S_ISREG(facts.st_mode) || S_ISDIR(facts.st_mode))) continue;
      rawSyscall(SYS_close, fd);
      ++freed;
    }
  }
}

long actInChild(void* argument) {
  auto* task = static_cast<TableAction*>(argument);
  freeNumbers();
  task->result = task->action(task->argument);
  return 0;
}

}  // namespace

long startClone(unsigned long flags, char* stack, std::size_t bytes, long (*function)(void*),
                void* argument, std::uint32_t* ended) {
  if (isForbidden(SYS_clone)) return -EPERM;
  // At the top of the stack, so that it lives as long as the clone does.
  auto* start = reinterpret_cast<Start*>(stack + bytes - sizeof(Start) - 8);
  start = reinterpret_cast<Start*>(reinterpret_cast<std::uintptr_t>(start) & ~std::uintptr_t{63});
  *start = {.function = function, .argument = argument, .is_thread = flags & CLONE_THREAD};
  if (ended != nullptr) flags |= CLONE_CHILD_CLEARTID;
  void* thread_pointer = nullptr;
  if ((flags & CLONE_THREAD) != 0) {
    thread_pointer = ownThreadLocals(stack, bytes);
    if (thread_pointer == nullptr) return -ENOMEM;
    flags |= CLONE_SETTLS;
  }
  return cloneRaw(flags, start, ended, thread_pointer, start);
}

bool isInOwnTable() { return is_in_own_table; }

long runInOwnTable(long (*action)(void*), void* argument) {
  constexpr long kStackBytes = 64 * 1024;
  if (is_in_own_table) return -EMFILE;
  char* const stack = static_cast<char*>(mapAnonymous(kStackBytes));
  if (stack == nullptr) return -ENOMEM;
  TableAction task{.action = action, .argument = argument, .result = -ECHILD};
  {
    const HeldSignals held;
    is_in_own_table = true;
    // No signal tells of its end, so that the application's own waiting never meets it.
    const long child = startClone(CLONE_VM | CLONE_VFORK, stack, kStackBytes, actInChild, &task);
    is_in_own_table = false;
    if (child < 0) {
      task.result = child;
    } else {
      while (rawSyscall(SYS_wait4, child, 0, __WALL, 0) == -EINTR) {
      }
    }
  }
  unmap(stack, kStackBytes);
  return task.result;
}

}  // namespace omnio::trace
