// Memory for the length of a function: on the stack as long as it is little, else a block that is
// kept for the next who needs one.
#pragma once
#include <cstddef>

namespace omnio::trace {

// Blocks of memory for the length of a call, kept between calls: a call that is made in a loop
// (a test of many requests) maps memory once. Any thread, any moment; no locks.
struct ScratchBlock {
  void* memory = nullptr;  // nullptr: none to be had
  std::size_t bytes = 0;   // as many as asked for, or more
};

// Its content is anything.
ScratchBlock takeScratch(std::size_t bytes);
void giveScratchBack(ScratchBlock block);

template <typename T, std::size_t kOnStack>
class Scratch {
 public:
  explicit Scratch(std::size_t count) : data_(little_) {
    if (count <= kOnStack) return;
    if (count <= ~std::size_t{0} / sizeof(T)) block_ = takeScratch(count * sizeof(T));
    data_ = static_cast<T*>(block_.memory);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (block_.memory != nullptr) giveScratchBack(block_);
  }

  // False when there was no memory.
  explicit operator bool() const { return data_ != nullptr; }
  T* data() const { return data_; }
  T& operator[](std::size_t i) const { return data_[i]; }

 private:
  T little_[kOnStack];
  T* data_;
  ScratchBlock block_;
};

}  // namespace omnio::trace
