#include "trace/runtime/stack/frame_walk.hpp"

#include <cstring>

namespace omnio::trace {

#if defined(__x86_64__)

namespace {

// The bytes of `call` through a register or memory (opcode FF, extension 2) with this ModRM byte
// and the one that follows it.
std::size_t indirectCallBytes(unsigned modrm, unsigned sib) {
  const unsigned mode = modrm >> 6;
  const unsigned base = modrm & 7;
  if (mode == 3) return 2;
  const bool has_sib = base == 4;
  std::size_t bytes = has_sib ? 3 : 2;
  if (mode == 1) bytes += 1;
  if (mode == 2 || (mode == 0 && (base == 5 || (has_sib && (sib & 7) == 5)))) bytes += 4;
  return bytes;
}

}  // namespace

bool endsWithCall(const unsigned char (&code)[kCallBytes]) {
  if (code[kCallBytes - 5] == 0xE8) return true;  // to a fixed place
  for (std::size_t bytes = 2; bytes < kCallBytes; ++bytes) {
    const unsigned char* const at = code + kCallBytes - bytes;
    const unsigned sib = bytes > 2 ? at[2] : 0;
    if (at[0] == 0xFF && (at[1] >> 3 & 7) == 2 && indirectCallBytes(at[1], sib) == bytes) {
      return true;
    }
  }
  return false;
}

#elif defined(__aarch64__)

bool endsWithCall(const unsigned char (&code)[kCallBytes]) {
  std::uint32_t word = 0;
  std::memcpy(&word, code + kCallBytes - sizeof word, sizeof word);
  const bool is_bl = word >> 26 == 0x25;
  const bool is_blr = (word & 0xFFFFFC1F) == 0xD63F0000;
  const bool is_authenticated_blr = (word & 0xFEFFF800) == 0xD63F0800;
  return is_bl || is_blr || is_authenticated_blr;
}

#endif

}  // namespace omnio::trace
