// Functions that are compiled without frame pointers, whatever the rest of the tests is: each calls
// what it is given, from a frame of another form.
#pragma once

namespace omnio::trace::frameless {

using Action = void (*)();

// Nested calls through all forms of frames, `turns` times.
void callDeep(Action action, int turns);
// By the C library's qsort.
void callFromSort(Action action);
// A function that aligns its stack anew, and one whose stack grows while it runs.
void callFromAligned(Action action);
void callFromGrown(Action action, unsigned bytes);

}  // namespace omnio::trace::frameless
