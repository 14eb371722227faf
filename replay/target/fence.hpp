// Fences a thread off from everything but the tree, where the kernel has Landlock: a second line
// behind the paths, which are all below the tree already.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace omnio::replay {

class Fence {
 public:
  // Reading is left free; writing, making, removing and truncating are left to what lies below
  // `writable`. Paths that are not there are passed over.
  explicit Fence(const std::vector<std::filesystem::path>& writable);
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;
  ~Fence();

  // Holds for the calling thread alone, and for good. False when there is a fence and the thread is
  // not behind it.
  bool enter() const;
  // "landlock ABI 7", or "paths only" where there is no fence to be had.
  std::string name() const;

 private:
  int ruleset_ = -1;
  int abi_ = 0;
};

}  // namespace omnio::replay
