// The groups of ranks that this process is in: communicators, windows and MPI files, each with a
// number in the process and an id that is the same in all members (core/wire/info.hpp). Known by
// the address of MPI's object; nothing here knows MPI.
#pragma once

#include <atomic>
#include <cstdint>

#include "trace/runtime/sys/hash_mix.hpp"

namespace omnio::trace {

enum class GroupKind : std::uint8_t { kComm, kInter, kWindow, kFile };

struct Group {
  std::uint64_t id = 0;
  std::uint32_t number = 0;  // 0: it could not be told of
  std::int32_t rank = 0;     // this process's, in its own side
  std::int32_t size = 0;
  std::int32_t remote = 0;  // ranks of the other side; 0: there is none
  std::uint8_t side = 0;
  GroupKind kind = GroupKind::kComm;
  std::uint32_t calls = 0;  // collective ones so far; nextCall() counts
};

// Counts a collective call on the group: its number, from 1; 0 of no group.
inline std::uint64_t nextCall(Group* group) {
  if (group == nullptr) return 0;
  // Calls of several threads on one group are in an order that the application has to make.
  return std::atomic_ref<std::uint32_t>(group->calls).fetch_add(1, std::memory_order_relaxed) + 1;
}

inline std::uint64_t numberOf(const Group* group) { return group == nullptr ? 0 : group->number; }
inline std::uint64_t idOf(const Group* group) { return group == nullptr ? 0 : group->id; }

// Gives the group a number, tells of it in the trace, and remembers it by the object, in place of
// what the same address stood for before. nullptr when there is no memory.
Group* addGroup(const void* object, Group facts);
// nullptr when the object is not known.
Group* findGroup(const void* object);
void dropGroup(const void* object);
// The same if it is the group of this id still: another may have got its address.
void dropGroup(const void* object, std::uint64_t id);

}  // namespace omnio::trace
