// Control records: those that define texts and handles for the rest of their chunk, and the work of
// the recorder between two events. A text or handle is defined anew in each chunk that uses it, so
// the loss of one chunk costs nothing but its own events.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/wire/record.hpp"

namespace omnio::wire {

enum class FileKind : std::uint8_t { kRegular = 0, kDirectory = 1, kOther = 2 };

enum class Origin : std::uint8_t {
  kOpened = 0,      // by a recorded call
  kDuplicated = 1,  // by dup and its like: shares the offset of `description`
  kInherited = 2,   // open before recording began, or inherited over exec
};

inline constexpr std::int64_t kUnknownSize = -1;
inline constexpr std::int64_t kUnknownPosition = -1;

struct HandleDefinition {
  std::uint32_t handle = 0;       // unique in the process; an open instance, not a file
  std::uint32_t description = 0;  // handle that first had this open file description
  std::uint32_t birth_pid = 0;    // process that opened it when inherited over fork, else 0
  std::int32_t fd = -1;
  FileKind kind = FileKind::kRegular;
  Origin origin = Origin::kOpened;
  std::uint32_t open_flags = 0;
  std::uint64_t device = 0;  // st_dev of stat(2)
  std::uint64_t inode = 0;
  std::int64_t size = kUnknownSize;  // bytes of the file when it was opened
  // Of a file that no recorded call opened: where its position was when the descriptor was found.
  std::int64_t position = kUnknownPosition;
  std::uint8_t text_slot = 0;  // its path
};

// A path as the application gave it, made absolute: `raw_offset` is where the application's own
// words begin in `bytes`, 0 when it gave an absolute path (or the text is not a path).
struct TextDefinition {
  std::uint8_t slot = 0;
  std::uint32_t raw_offset = 0;
  std::string_view bytes;
};

inline constexpr std::size_t kControlHeader = 2;
// Room of a definition besides its bytes.
inline constexpr std::size_t kMaxDefinition = kControlHeader + 3 + 9 * kMaxVarint;
// Longer texts than the system accepts as a path, with the directory in front of it, are cut.
inline constexpr std::size_t kMaxText = 2 * 4096;

inline char* putControlHeader(char* out, std::uint32_t number) {
  const auto header = static_cast<std::uint16_t>(number);
  std::memcpy(out, &header, sizeof header);
  return out + kControlHeader;
}

// In the byte that has kind and origin: a size follows, a position. Traces from before have none.
inline constexpr unsigned kHasSize = 0x80;
inline constexpr unsigned kHasPosition = 0x40;

inline char* encodeHandle(char* out, const HandleDefinition& d, Prediction& state) {
  const std::uint8_t slot = handleSlot(d.handle);
  state.handles[slot] = {.handle = d.handle};
  out = putControlHeader(out, kDefineHandle);
  *out++ = static_cast<char>(slot);
  *out++ = static_cast<char>(static_cast<unsigned>(d.kind) | static_cast<unsigned>(d.origin) << 4 |
                             (d.size == kUnknownSize ? 0 : kHasSize) |
                             (d.position == kUnknownPosition ? 0 : kHasPosition));
  for (const std::uint64_t value :
       {std::uint64_t{d.handle}, std::uint64_t{d.description}, std::uint64_t{d.birth_pid},
        zigzag(d.fd), std::uint64_t{d.open_flags}, d.device, d.inode}) {
    out = putVarint(out, value);
  }
  if (d.size != kUnknownSize) out = putVarint(out, static_cast<std::uint64_t>(d.size));
  if (d.position != kUnknownPosition) out = putVarint(out, static_cast<std::uint64_t>(d.position));
  *out++ = static_cast<char>(d.text_slot);
  return out;
}

// Returns the place behind the definition, or nullptr when it is not whole or nonsense.
inline const char* decodeHandle(const char* in, const char* end, HandleDefinition& d,
                                Prediction& state) {
  if (end - in < 2) return nullptr;
  const auto slot = static_cast<std::uint8_t>(*in++);
  const auto bits = static_cast<std::uint8_t>(*in++);
  const unsigned origin = (bits & ~(kHasSize | kHasPosition)) >> 4;
  if ((bits & 0xF) > 2 || origin > 2) return nullptr;
  d.kind = static_cast<FileKind>(bits & 0xF);
  d.origin = static_cast<Origin>(origin);
  std::uint64_t values[7];
  for (std::uint64_t& value : values) {
    in = getVarint(in, end, value);
    if (in == nullptr) return nullptr;
  }
  std::uint64_t size = 0;
  const bool has_size = (bits & kHasSize) != 0;
  if (has_size) in = getVarint(in, end, size);
  std::uint64_t position = 0;
  const bool has_position = (bits & kHasPosition) != 0;
  if (has_position && in != nullptr) in = getVarint(in, end, position);
  if (in == nullptr || in == end || size > INT64_MAX || position > INT64_MAX) return nullptr;
  d.size = has_size ? static_cast<std::int64_t>(size) : kUnknownSize;
  d.position = has_position ? static_cast<std::int64_t>(position) : kUnknownPosition;
  d.handle = static_cast<std::uint32_t>(values[0]);
  d.description = static_cast<std::uint32_t>(values[1]);
  d.birth_pid = static_cast<std::uint32_t>(values[2]);
  d.fd = static_cast<std::int32_t>(unzigzag(values[3]));
  d.open_flags = static_cast<std::uint32_t>(values[4]);
  d.device = values[5];
  d.inode = values[6];
  d.text_slot = static_cast<std::uint8_t>(*in++);
  if (slot != handleSlot(d.handle) || d.text_slot >= kTextSlots) return nullptr;
  state.handles[slot] = {.handle = d.handle};
  return in;
}

inline char* encodeTextHeader(char* out, std::uint8_t slot, std::uint32_t raw_offset,
                              std::size_t length) {
  out = putControlHeader(out, kDefineText);
  *out++ = static_cast<char>(slot);
  out = putVarint(out, raw_offset);
  return putVarint(out, length);
}

inline const char* decodeText(const char* in, const char* end, TextDefinition& d) {
  if (in == end) return nullptr;
  d.slot = static_cast<std::uint8_t>(*in++);
  std::uint64_t raw_offset = 0;
  std::uint64_t length = 0;
  in = getVarint(in, end, raw_offset);
  if (in != nullptr) in = getVarint(in, end, length);
  if (in == nullptr || d.slot >= kTextSlots || length > static_cast<std::uint64_t>(end - in) ||
      raw_offset > length) {
    return nullptr;
  }
  d.raw_offset = static_cast<std::uint32_t>(raw_offset);
  d.bytes = {in, length};
  return in + length;
}

// After the event before it, the recorder worked for that many ticks; or the thread had no
// processor before its first event. They are not think time.
inline constexpr std::size_t kMaxRecorderWork = kControlHeader + kMaxVarint;

inline char* encodeRecorderWork(char* out, std::uint64_t ticks) {
  return putVarint(putControlHeader(out, kRecorderWork), ticks);
}

// Between two events, for so many ticks, the thread was looked at: it had a processor for `cpu_ns`.
inline constexpr std::size_t kMaxThinkSample = kControlHeader + 2 * kMaxVarint;

inline char* encodeThinkSample(char* out, std::uint64_t ticks, std::uint64_t cpu_ns) {
  return putVarint(putVarint(putControlHeader(out, kThinkSample), ticks), cpu_ns);
}

}  // namespace omnio::wire
