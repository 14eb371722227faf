// Memory that a run keeps from the page cache, so that the application's files cannot stay there
// (--fill-memory).
#pragma once

#include <cstdint>
#include <string>

#include "core/base/json_writer.hpp"

namespace omnio::storage {

// Says why a word is refused; empty where it is a share (base::shareOf) that memory can be held by.
std::string whyNoMemoryShare(const std::string& word);

// How much was held, over all nodes.
struct HeldBytes {
  double share = 0;                // asked for; 0: nothing was
  std::uint64_t wanted_bytes = 0;  // that share
  std::uint64_t held_bytes = 0;    // less where the last GiB would have been part of it
  bool is_locked = true;           // else the kernel may move it to swap
};

// One process of a node makes it. The pages stay as long as it lives, and children of the process
// do not have them.
class HeldMemory {
 public:
  // That share of the memory of the node, or of the control groups of this process if they have
  // less. The last GiB that is available is left, for the run itself; so it may be nothing. 0:
  // none.
  explicit HeldMemory(double share);
  HeldMemory(const HeldMemory&) = delete;
  HeldMemory& operator=(const HeldMemory&) = delete;
  ~HeldMemory();

  const HeldBytes& held() const { return held_; }

 private:
  void* begin_ = nullptr;
  HeldBytes held_;
};

// A member "fill_memory" of an object that is open, and a line for people. Nothing where no share
// was asked for.
void putHeldBytes(base::JsonWriter& json, const HeldBytes& held);
std::string heldText(const HeldBytes& held);

}  // namespace omnio::storage
