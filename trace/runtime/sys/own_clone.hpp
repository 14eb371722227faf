// Threads and children of the tracer's own, made past the C library, which keeps lists of its own
// and is told nothing. A thread has thread-local memory of its own, in which the tracer's variables
// begin as zero; a child uses its creator's, who has to wait meanwhile.
#pragma once

#include <errno.h>

#include <cstddef>
#include <cstdint>

namespace omnio::trace {

// Starts `function` on the given stack (clone(2)); returns its number, or -errno. It ends when the
// function returns; as a process of its own with the function's value as status. With `ended`
// not null, the kernel writes 0 there when it is gone (CLONE_CHILD_CLEARTID).
long startClone(unsigned long flags, char* stack, std::size_t bytes, long (*function)(void*),
                void* argument, std::uint32_t* ended = nullptr);

// Whether the calling thread lends itself to a child of runInOwnTable() right now.
bool isInOwnTable();

// Runs `action(argument)` in a child that shares this process's memory and has a copy of its
// descriptors, of which some are closed: for an application that has used up all its numbers. The
// caller waits, with signals held. Returns what the action returns, or -errno when there could be
// no child. Descriptors that the action opens are gone afterwards; memory that it maps stays.
long runInOwnTable(long (*action)(void*), void* argument);

template <typename Action>
long inOwnTable(Action action) {
  return runInOwnTable([](void* argument) { return (*static_cast<Action*>(argument))(); }, &action);
}

// Runs an action that needs a descriptor: here, or in such a child where the application has used
// up its numbers. `action` returns -EMFILE or -ENFILE for that.
template <typename Action>
long withDescriptor(Action action) {
  const long result = action();
  return result == -EMFILE || result == -ENFILE ? inOwnTable(action) : result;
}

}  // namespace omnio::trace
