// Jumps out of signal handlers. A handler that has interrupted a record and ends by siglongjmp
// leaves that record for good: it is given up here, or the thread would seem to be inside it for
// ever, and all that comes would be an interruption of it.
#include <setjmp.h>
#include <signal.h>

#include <bit>
#include <initializer_list>

#include "trace/runtime/process.hpp"
#include "trace/runtime/ring/ring.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/wrap/real_symbol.hpp"
#include "trace/wrap/signature.hpp"

namespace omnio::trace {
namespace {

using RealJump = LazySymbol<void(__jmp_buf_tag*, int)>;
constinit RealJump real_longjmp("longjmp");
constinit RealJump real_siglongjmp("siglongjmp");
constinit RealJump real_plain_longjmp("_longjmp");
constinit RealJump real_longjmp_chk("__longjmp_chk");

// When the library is loaded: a handler may not look symbols up.
__attribute__((constructor)) void lookUpJumps() {
  for (RealJump* jump : {&real_longjmp, &real_siglongjmp, &real_plain_longjmp, &real_longjmp_chk}) {
    jump->get();
  }
}

// The C library keeps the stack pointer in disguise. The key is found by comparing a known one with
// its disguise, since where the key is kept differs.
#if defined(__x86_64__)
constexpr int kStackPointerAt = 6;
constexpr int kRotated = 17;
#elif defined(__aarch64__)
constexpr int kStackPointerAt = 13;
constexpr int kRotated = 0;
#endif

std::uintptr_t undisguised(const __jmp_buf_tag* place) {
  return std::rotr(static_cast<std::uintptr_t>(place->__jmpbuf[kStackPointerAt]), kRotated);
}

[[gnu::noinline]] std::uintptr_t targetOf(const __jmp_buf_tag* place) {
  jmp_buf here;
  if (_setjmp(here) != 0) return 0;  // no code jumps here
  const std::uintptr_t key = undisguised(here) ^ stackPointer();
  return undisguised(place) ^ key;
}

// Whether a jump that takes the stack to `target` leaves the frame that was there at `frame`. The
// handler may run on a stack of its own, from which the other is not to be seen above or below.
bool leaves(std::uintptr_t frame, std::uintptr_t target) {
  stack_t other{};
  rawSyscall(SYS_sigaltstack, 0, address(&other));
  const auto is_there = [&other](std::uintptr_t at) {
    return (other.ss_flags & SS_DISABLE) == 0 &&
           at - reinterpret_cast<std::uintptr_t>(other.ss_sp) < other.ss_size;
  };
  if (is_there(frame) != is_there(target)) return is_there(frame);
  return target > frame;
}

void beforeJump(const __jmp_buf_tag* place) {
  Thread& self = thread;
  if (self.level == 0 && self.mpi_frame == 0) [[likely]]
    return;
  if (process.mode.load(std::memory_order_relaxed) != Mode::kActive || isVforkChild()) return;
  const std::uintptr_t target = targetOf(place);
  if (self.mpi_frame != 0 && leaves(self.mpi_frame, target)) {
    self.depth = 0;
    self.in_mpi = false;
    self.mpi_frame = 0;
  }
  while (self.level > 0 && leaves(self.frames[self.level - 1], target)) {
    giveUpRecord(self, self.level - 1);
    --self.level;
  }
}

[[noreturn]] void jump(RealJump& real, __jmp_buf_tag* place, int value) {
  beforeJump(place);
  real.get()(place, value);
  __builtin_unreachable();
}

}  // namespace
}  // namespace omnio::trace

using namespace omnio::trace;

OMNIO_EXPORT void longjmp(jmp_buf place, int value) noexcept { jump(real_longjmp, place, value); }
OMNIO_EXPORT void siglongjmp(sigjmp_buf place, int value) noexcept {
  jump(real_siglongjmp, place, value);
}
OMNIO_EXPORT void _longjmp(jmp_buf place, int value) noexcept {
  jump(real_plain_longjmp, place, value);
}
OMNIO_EXPORT void __longjmp_chk(jmp_buf place, int value) noexcept {
  jump(real_longjmp_chk, place, value);
}
