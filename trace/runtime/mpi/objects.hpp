// Facts about MPI's objects, by their addresses: groups of ranks, requests, files. Nothing here
// knows MPI.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "trace/runtime/handle_table.hpp"

namespace omnio::trace {

// The groups of ranks that this process is in: communicators, windows and MPI files, each with a
// number in the process and an id that is the same in all members (core/wire/info.hpp).
//
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
// what the same address stood for before. nullptr when memory runs out.
Group* addGroup(const void* object, Group facts);
// nullptr when the object is not known.
Group* findGroup(const void* object);
void dropGroup(const void* object);
// The same if it is the group of this id still: another may have got its address.
void dropGroup(const void* object, std::uint64_t id);

// MPI requests that are under way, by the address of MPI's object: what they are, for the call that
// finds them complete.
//
struct Request {
  enum Kind : std::uint8_t {
    kOther,  // nothing is to be said of it but that it is complete
    kSend,
    kSyncSend,
    kReceive,  // of a message
    kMatched,  // of a message that a matched probe has taken
    kRead,     // of a file
  };
  std::uint64_t number = 0;  // in the process, from 1; of a persistent one that of its last start
  Kind kind = kOther;
  bool persistent = false;
  bool shared = false;     // others have the object too: all of them sends that are complete
  std::uint32_t comm = 0;  // number of the group
  std::int32_t peer = 0;   // as asked for
  std::int32_t tag = 0;
  std::uint64_t bytes = 0;
  std::uint64_t id = 0;  // of the group
};

// A number for a request that begins now.
std::uint64_t newRequestNumber();
// Remembers a request; false when memory runs out.
bool addRequest(const void* object, const Request& request);
// nullptr when it is not known: begun before recording, or of a kind that is not recorded.
Request* findRequest(const void* object);
// Forgets it; nothing when it was not known.
std::optional<Request> takeRequest(const void* object);
// Forgets it if it has the number still, else it is false: another thread may have begun one at the
// same address.
bool forgetRequest(const void* object, std::uint64_t number);

// The handles that the MPI_Files of this process stand for.
//
// To be called after an open. Releases the handle that the same MPI_File stood for before, which
// was closed out of our sight.
void rememberMpiFile(const void* file, Entry entry);
// An entry that is not traced when the file is not known: opened before recording, or left out.
Entry findMpiFile(const void* file);
// Takes it out before it is closed, since another open may get the same MPI_File at once.
Entry takeMpiFile(const void* file);

// The path that an MPI file name means. MPI leaves that to the implementation (MPI-3.1, 13.2.1).
// ROMIO takes "ufs:/data/out" for /data/out on a file system of the kind ufs; OMPIO for a file of
// just that name. So a known prefix is passed over unless there is a file with it. Returns a part
// of `name`.
const char* withoutFileSystem(const char* name);

// Counts what goes one way: the messages of a communicator and tag from one rank to another, the
// posts of a window to one rank. Both ends count alike, so the numbers say which belong together.

enum class Way : std::uint8_t { kOut, kIn, kPosted, kAccessed, kCompleted, kExposed, kNamed };

// The subject of a counter. Counters are never removed. Their number has a bound; kNamed has one of
// its own.
struct Stream {
  std::uint64_t group = 0;  // its id, or what else tells it from others
  std::int32_t peer = 0;
  std::int32_t tag = 0;
  Way way = Way::kOut;
};

// Counts one: its number, from 1. 0 when no more counters fit; readers then count.
std::uint64_t countIn(const Stream& stream);
// How many there were.
std::uint64_t countOf(const Stream& stream);

}  // namespace omnio::trace
