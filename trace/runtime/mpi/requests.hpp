// MPI requests that are under way, by the address of MPI's object: what they are, for the call that
// finds them complete. Nothing here knows MPI.
#pragma once

#include <cstdint>

namespace omnio::trace {

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
// Remembers a request; false when there is no memory.
bool addRequest(const void* object, const Request& request);
// nullptr when it is not known: begun before recording, or of a kind that is not recorded.
Request* findRequest(const void* object);
// Forgets it; false when it was not known.
bool takeRequest(const void* object, Request& request);
// Forgets it if it has the number still, else it is false: another thread may have begun one at the
// same address.
bool forgetRequest(const void* object, std::uint64_t number);

}  // namespace omnio::trace
