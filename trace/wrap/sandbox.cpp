// Calls by which a program takes from itself what the tracer needs: filters of system calls,
// seccomp's strict mode, the time stamp counter. Before they take effect a log and a ring are made,
// since neither could be made afterwards; then the tracer keeps to what is left, and where too
// little is left recording ends, which the trace says.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <atomic>

#include "core/wire/info.hpp"
#include "trace/runtime/process.hpp"
#include "trace/runtime/ring/container_writer.hpp"
#include "trace/runtime/ring/log_helper.hpp"
#include "trace/runtime/ring/ring.hpp"
#include "trace/runtime/sys/forbidden_calls.hpp"
#include "trace/wrap/intercept.hpp"
#include "trace/wrap/real_symbol.hpp"
#include "trace/wrap/signature.hpp"
#include "trace/wrap/system_calls.hpp"

// Read by the assembler below.
extern "C" {
__attribute__((visibility("hidden"), used)) constinit std::atomic<void*> omnio_real_syscall{
    nullptr};
}

namespace omnio::trace {
namespace {

constinit LazySymbol<int(int, unsigned long, unsigned long, unsigned long, unsigned long)>
    real_prctl("prctl");

bool isWatched() { return isActive() && mayRecord(thread) && !isVforkChild(); }

// Whether the kernel could read the program; the tracer may then too.
bool isReadableProgram(const sock_fprog* program) {
  if (program == nullptr || !isReadableMemory(program, sizeof *program)) return false;
  return program->len > 0 && program->len <= BPF_MAXINSNS && program->filter != nullptr &&
         isReadableMemory(program->filter, program->len * sizeof(sock_filter));
}

// `install` is the real call, and tells whether a filter is in force afterwards.
template <typename Install>
long withFilter(const sock_fprog* program, Install install) {
  if (!isWatched() || !isReadableProgram(program)) return install();
  LogHelper::stop();
  makeLogAndRing();
  // Before it is in force: what other threads do in the tracer meanwhile could be punished. Where
  // the kernel refuses it, a little was given up for nothing.
  const FilterVerdict verdict = judgeFilter(*program);
  if (verdict.refuses_logs) appendFact(wire::info::kRefusingFilter, "1");
  if (verdict.refuses_opening) keepDescriptor();
  if (verdict.punishes(SYS_readlinkat) || verdict.punishes(SYS_statx)) adoptAll();
  apply(verdict);
  return install();
}

// `enter` is the real call; it returns only a failure's or success's result, 0 when it succeeded.
template <typename Enter>
long withoutRecording(const char* why, Enter enter) {
  if (!isWatched()) return enter();
  endRecording(why);
  const long result = enter();
  if (result == 0) return result;
  const int error = errno;
  continueRecording();
  errno = error;
  return result;
}

constexpr char kStrict[] = "it entered the strict mode of seccomp";
constexpr char kNoCounter[] = "it took the processor's time stamp counter from itself";

template <typename Call>
long prctlWith(long option, unsigned long a, unsigned long b, Call call) {
  if (option == PR_SET_SECCOMP && a == SECCOMP_MODE_FILTER) {
    return withFilter(reinterpret_cast<const sock_fprog*>(b), call);
  }
  if (option == PR_SET_SECCOMP && a == SECCOMP_MODE_STRICT) return withoutRecording(kStrict, call);
#ifdef PR_SET_TSC
  if (option == PR_SET_TSC && a == PR_TSC_SIGSEGV) return withoutRecording(kNoCounter, call);
#endif
  return call();
}

}  // namespace

extern "C" __attribute__((visibility("hidden"), used)) void* omnioRealSyscall() {
  void* function = omnio_real_syscall.load(std::memory_order_relaxed);
  if (function == nullptr) {
    function = dlsym(RTLD_NEXT, "syscall");
    omnio_real_syscall.store(function, std::memory_order_relaxed);
  }
  return function;
}

namespace {

// When the library is loaded: a filter may forbid what a look-up needs.
__attribute__((constructor)) void lookUpSandbox() {
  real_prctl.get();
  omnioRealSyscall();
}

}  // namespace

// The system calls of libc's syscall() that concern the tracer.
extern "C" __attribute__((visibility("hidden"), used)) long omnioSeccomp(long number,
                                                                         unsigned long operation,
                                                                         unsigned long flags,
                                                                         void* argument) {
  using Function = long (*)(long, unsigned long, unsigned long, void*);
  auto* const real = reinterpret_cast<Function>(omnioRealSyscall());
  const auto call = [=] { return real(number, operation, flags, argument); };
  if (operation == SECCOMP_SET_MODE_STRICT) return withoutRecording(kStrict, call);
  if (operation == SECCOMP_SET_MODE_FILTER) {
    return withFilter(static_cast<const sock_fprog*>(argument), call);
  }
  return call();
}

extern "C" __attribute__((visibility("hidden"), used)) long omnioPrctl(
    long number, unsigned long option, unsigned long a, unsigned long b, unsigned long c,
    unsigned long d) {
  using Function =
      long (*)(long, unsigned long, unsigned long, unsigned long, unsigned long, unsigned long);
  auto* const real = reinterpret_cast<Function>(omnioRealSyscall());
  return prctlWith(static_cast<long>(option), a, b,
                   [=] { return real(number, option, a, b, c, d); });
}

}  // namespace omnio::trace

using namespace omnio::trace;

OMNIO_EXPORT int prctl(int option, ...) noexcept {
  // As the C library does: it always takes four.
  va_list list;
  va_start(list, option);
  const auto a = va_arg(list, unsigned long);
  const auto b = va_arg(list, unsigned long);
  const auto c = va_arg(list, unsigned long);
  const auto d = va_arg(list, unsigned long);
  va_end(list);
  return static_cast<int>(prctlWith(
      option, a, b, [=] { return static_cast<long>(real_prctl.get()(option, a, b, c, d)); }));
}

// syscall(2), of which seccomp(2) and prctl(2) matter here, and calls on files to system_calls.cpp.
// No frame of ours may be under the rest: a raw clone or vfork returns twice.
#if defined(__x86_64__)
static_assert(SYS_seccomp == 317 && SYS_prctl == 157 && kSystemCallLimit == 512);
static_assert(SYS_vfork == 58 && SYS_clone == 56 && (CLONE_VM | CLONE_VFORK) == 0x4100);
#define OMNIO_JUMP_WHERE_SAYS(FUNCTION) \
  "  pushq %rdi\n"                      \
  "  pushq %rsi\n"                      \
  "  pushq %rdx\n"                      \
  "  pushq %rcx\n"                      \
  "  pushq %r8\n"                       \
  "  pushq %r9\n"                       \
  "  subq $8, %rsp\n"                   \
  "  call " FUNCTION                    \
  "\n"                                  \
  "  addq $8, %rsp\n"                   \
  "  popq %r9\n"                        \
  "  popq %r8\n"                        \
  "  popq %rcx\n"                       \
  "  popq %rdx\n"                       \
  "  popq %rsi\n"                       \
  "  popq %rdi\n"                       \
  "  jmp *%rax\n"
asm(".text\n"
    ".globl syscall\n"
    ".type syscall,@function\n"
    "syscall:\n"
    "  .cfi_startproc\n"
    "  endbr64\n"
    "  cmpq $317, %rdi\n"
    "  je omnioSeccomp\n"
    "  cmpq $157, %rdi\n"
    "  je omnioPrctl\n"
    "  cmpq $512, %rdi\n"
    "  jae 2f\n"
    "  leaq omnio_recorded_calls(%rip), %rax\n"
    "  cmpb $0, (%rax,%rdi)\n"
    "  jne 3f\n"
    "  cmpq $58, %rdi\n"
    "  je 4f\n"
    "  cmpq $56, %rdi\n"
    "  jne 2f\n"
    "  movl %esi, %eax\n"
    "  andl $0x4100, %eax\n"
    "  cmpl $0x4100, %eax\n"
    "  je 4f\n"
    "2:\n"
    "  movq omnio_real_syscall(%rip), %rax\n"
    "  testq %rax, %rax\n"
    "  je 1f\n"
    "  jmp *%rax\n"
    // With a seventh argument of its own: where the caller gave fewer, what lies there is the caller's.
    // With a frame, since call stacks are walked from here on.
    "3:\n"
    "  pushq %rbp\n"
    "  .cfi_def_cfa_offset 16\n"
    "  .cfi_offset %rbp, -16\n"
    "  movq %rsp, %rbp\n"
    "  .cfi_def_cfa_register %rbp\n"
    "  subq $8, %rsp\n"
    "  pushq 24(%rsp)\n"
    "  call omnioSystemCall\n"
    "  leave\n"
    "  .cfi_def_cfa %rsp, 8\n"
    "  .cfi_restore %rbp\n"
    "  ret\n"
    // The first call came before this library was initialized: found once, with all arguments kept.
    "1:\n" OMNIO_JUMP_WHERE_SAYS("omnioRealSyscall")
    // The child has its parent's memory.
    "4:\n" OMNIO_JUMP_WHERE_SAYS("omnioBeforeRawVfork")
    "  .cfi_endproc\n"
    ".size syscall,.-syscall\n");
#elif defined(__aarch64__)
static_assert(SYS_seccomp == 277 && SYS_prctl == 167);
asm(".text\n"
    ".globl syscall\n"
    ".type syscall,%function\n"
    "syscall:\n"
    "  cmp x0, #277\n"
    "  b.eq omnioSeccomp\n"
    "  cmp x0, #167\n"
    "  b.eq omnioPrctl\n"
    "  stp x29, x30, [sp, #-80]!\n"
    "  stp x0, x1, [sp, #16]\n"
    "  stp x2, x3, [sp, #32]\n"
    "  stp x4, x5, [sp, #48]\n"
    "  str x6, [sp, #64]\n"
    "  bl omnioRealSyscall\n"
    "  mov x16, x0\n"
    "  ldp x0, x1, [sp, #16]\n"
    "  ldp x2, x3, [sp, #32]\n"
    "  ldp x4, x5, [sp, #48]\n"
    "  ldr x6, [sp, #64]\n"
    "  ldp x29, x30, [sp], #80\n"
    "  br x16\n"
    ".size syscall,.-syscall\n");
#endif
