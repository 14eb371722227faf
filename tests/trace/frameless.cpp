#include "tests/trace/frameless.hpp"

#include <alloca.h>
#include <stdlib.h>

namespace omnio::trace::frameless {
namespace {

Action in_sort = nullptr;

// A call and no jump.
#define STAY asm volatile("" : : : "memory")

[[gnu::noinline]] void callPlain(Action action, int turns) {
  if (turns > 0) {
    callDeep(action, turns - 1);
  } else {
    action();
  }
  STAY;
}

// Keeps data of its own in the register of the frame pointer.
[[gnu::noinline]] void callWithAllRegisters(Action action, int turns) {
  asm volatile("" : : : "rbx", "rbp", "r12", "r13", "r14", "r15");
  callPlain(action, turns);
  STAY;
}

[[gnu::noinline]] void callWithLargeFrame(Action action, int turns) {
  volatile char data[100000];
  data[0] = 1;
  data[sizeof data - 1] = 2;
  callWithAllRegisters(action, turns);
  STAY;
}

[[gnu::noinline]] void callRealigned(Action action, int turns) {
  alignas(128) volatile char data[256];
  data[0] = 1;
  callWithLargeFrame(action, turns);
  data[1] = data[0];
}

}  // namespace

[[gnu::noinline]] void callDeep(Action action, int turns) {
  callRealigned(action, turns);
  STAY;
}

void callFromSort(Action action) {
  int data[2] = {2, 1};
  in_sort = action;
  qsort(data, 2, sizeof data[0], [](const void* a, const void* b) {
    in_sort();
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
  });
}

void callFromAligned(Action action) { callRealigned(action, 0); }

void callFromGrown(Action action, unsigned bytes) {
  auto* const data = static_cast<volatile char*>(alloca(bytes));
  alignas(64) volatile char more[64];
  data[0] = 1;
  more[0] = 2;
  action();
  more[1] = more[0];
  STAY;
}

}  // namespace omnio::trace::frameless
