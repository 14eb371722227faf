// Reads the encoded numbers of a table in the process's own memory, which may hold anything: what
// lies behind the table's end, or cannot be read, reads as 0 and is remembered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "trace/runtime/sys/own_memory.hpp"

namespace omnio::trace {

// How a pointer of .eh_frame is written (DW_EH_PE_*).
using PointerEncoding = std::uint8_t;
inline constexpr PointerEncoding kOmitted = 0xFF;

class ByteCursor {
 public:
  ByteCursor(const OwnMemory& memory, std::uintptr_t begin, std::uintptr_t end)
      : memory_(memory), at_(begin), end_(end < begin ? begin : end) {}
  ByteCursor(const ByteCursor&) = delete;
  ByteCursor& operator=(const ByteCursor&) = delete;

  std::uintptr_t at() const { return at_; }
  bool isDone() const { return at_ == end_; }
  bool hasFailed() const { return has_failed_; }
  void fail() {
    has_failed_ = true;
    at_ = end_;
  }
  // The end comes no later than after so many bytes.
  void limit(std::uint64_t bytes) {
    if (bytes > end_ - at_) return fail();
    end_ = at_ + bytes;
  }
  void skip(std::uint64_t bytes) {
    if (bytes > end_ - at_) return fail();
    at_ += bytes;
  }

  std::uint8_t byte() { return take<std::uint8_t>(); }

  template <typename T>
  T take() {
    T value{};
    copy(&value, sizeof value);
    return value;
  }

  std::uint64_t unsignedNumber() {
    unsigned shift = 0;
    return number(shift);
  }
  std::int64_t signedNumber() {
    unsigned shift = 0;
    std::uint64_t value = number(shift);
    const bool is_negative = shift > 0 && shift < 64 && (value >> (shift - 1) & 1) != 0;
    if (is_negative) value |= ~std::uint64_t{0} << shift;
    return static_cast<std::int64_t>(value);
  }

  // A pointer of that encoding; `data_base` is what it may be relative to. Fails for encodings that
  // unwind tables of programs have no use for.
  std::uintptr_t pointer(PointerEncoding encoding, std::uintptr_t data_base) {
    constexpr PointerEncoding kBaseBits = 0x70;
    constexpr PointerEncoding kToItself = 0x10;
    constexpr PointerEncoding kToData = 0x30;
    const std::uintptr_t here = at_;
    const std::uintptr_t value = plainPointer(encoding);
    switch (encoding & kBaseBits) {
      case 0:
        return value;
      case kToItself:
        return value + here;
      case kToData:
        return value + data_base;
      default:
        fail();
        return 0;
    }
  }
  // The number of that encoding, whatever it is relative to.
  std::uintptr_t plainPointer(PointerEncoding encoding) {
    constexpr PointerEncoding kFormBits = 0x0F;
    switch (encoding & kFormBits) {
      case 0x0:  // as wide as a pointer
      case 0x4:
      case 0xC:
        return take<std::uint64_t>();
      case 0x1:
        return unsignedNumber();
      case 0x2:
        return take<std::uint16_t>();
      case 0x3:
        return take<std::uint32_t>();
      case 0x9:
        return static_cast<std::uintptr_t>(signedNumber());
      case 0xA:
        return static_cast<std::uintptr_t>(std::int64_t{take<std::int16_t>()});
      case 0xB:
        return static_cast<std::uintptr_t>(std::int64_t{take<std::int32_t>()});
      default:
        fail();
        return 0;
    }
  }

 private:
  // LEB128; `shift` becomes how many bits it has.
  std::uint64_t number(unsigned& shift) {
    std::uint64_t value = 0;
    while (true) {
      const std::uint8_t next = byte();
      if (shift < 64) value |= std::uint64_t{next & 0x7FU} << shift;
      if (shift < 64) shift += 7;
      if ((next & 0x80) == 0) return value;
    }
  }

  void copy(void* to, std::size_t bytes) {
    if (bytes > end_ - at_) return fail();
    const std::uintptr_t passed = at_ - held_from_;  // of what is held
    if (passed > held_ || bytes > held_ - passed) {
      held_from_ = at_;
      const std::size_t wanted = end_ - at_ < sizeof data_ ? end_ - at_ : sizeof data_;
      held_ = memory_.readSome(at_, data_, wanted);
      if (held_ < bytes) {
        held_ = 0;
        return fail();
      }
    }
    std::memcpy(to, data_ + (at_ - held_from_), bytes);
    at_ += bytes;
  }

  const OwnMemory& memory_;
  std::uintptr_t at_;
  std::uintptr_t end_;
  std::uintptr_t held_from_ = 0;
  std::size_t held_ = 0;
  bool has_failed_ = false;
  unsigned char data_[128];
};

}  // namespace omnio::trace
