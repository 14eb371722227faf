// What taking records apart into columns and putting them together again have in common: which
// columns a call has, and where they are (record_columns.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/wire/definition.hpp"
#include "core/wire/record.hpp"

namespace omnio::tracefile::columns {

using wire::codedLength;

inline constexpr unsigned kMaxFields = calls::kMaxArguments + 3;
inline constexpr unsigned kMaxFieldBytes = 8;
inline constexpr std::uint8_t kNoPieces = 255;
inline constexpr unsigned kTimeCodes = 2;  // gap and duration
inline constexpr unsigned kRestShift = wire::kFirstCodeShift + kTimeCodes * wire::kLengthCodeBits;
inline constexpr std::uint32_t kHeadMask = (1U << wire::kFirstCodeShift) - 1;
inline constexpr std::uint32_t kTimeCodesMask = (1U << (kTimeCodes * wire::kLengthCodeBits)) - 1;
inline constexpr std::size_t kFixedBytes = 10;
inline constexpr std::size_t kCallBytes = 4;

constexpr unsigned headerBytesOf(unsigned fields) {
  return (wire::kFirstCodeShift + wire::kLengthCodeBits * fields + 7U) / 8U;
}
static_assert(headerBytesOf(3) * 8 > kRestShift);
static_assert(headerBytesOf(kMaxFields) <= 8);

// One call's layout and where its columns are.
struct CallColumns {
  std::uint16_t number = 0;
  std::uint8_t fields = 0;
  std::uint8_t pieces = kNoPieces;
  std::uint8_t header_bytes = 0;
  std::uint8_t rest_bytes = 0;
  std::uint32_t count = 0;
  std::uint8_t* times = nullptr;
  std::array<std::uint8_t*, 8> rest{};
  std::array<std::array<std::uint32_t, 8>, kMaxFields> codes{};  // records by length code
  std::array<std::array<std::uint8_t*, kMaxFieldBytes>, kMaxFields> field{};

  void shape() {
    header_bytes = static_cast<std::uint8_t>(headerBytesOf(fields));
    rest_bytes = static_cast<std::uint8_t>((header_bytes * 8U - kRestShift + 7U) / 8U);
  }

  void count1(std::uint64_t header) {
    header >>= wire::kFirstCodeShift;
    for (unsigned f = 0; f < fields; ++f, header >>= wire::kLengthCodeBits) ++codes[f][header & 7];
  }

  std::size_t headerColumnBytes() const {
    return static_cast<std::size_t>(count) * (1U + rest_bytes);
  }

  // Records whose field `f` has a byte `b`.
  std::uint32_t bytesOf(unsigned f, unsigned b) const {
    std::uint32_t sum = 0;
    for (unsigned code = 0; code < 8; ++code) sum += codedLength(code) > b ? codes[f][code] : 0;
    return sum;
  }
};

// Columns by number of the call, those that occur.
class CallSet {
 public:
  CallSet() { index_.fill(kNone); }

  CallColumns* find(std::uint32_t number) {
    return index_[number] == kNone ? nullptr : &calls_[index_[number]];
  }
  CallColumns& add(std::uint32_t number, unsigned fields, std::uint8_t pieces) {
    index_[number] = static_cast<std::uint16_t>(calls_.size());
    CallColumns& call = calls_.emplace_back();
    call.number = static_cast<std::uint16_t>(number);
    call.fields = static_cast<std::uint8_t>(fields);
    call.pieces = pieces;
    call.shape();
    return call;
  }
  void sort() {
    std::sort(calls_.begin(), calls_.end(),
              [](const auto& a, const auto& b) { return a.number < b.number; });
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      index_[calls_[i].number] = static_cast<std::uint16_t>(i);
    }
  }
  std::vector<CallColumns>& all() { return calls_; }

 private:
  static constexpr std::uint16_t kNone = 0xFFFF;
  std::array<std::uint16_t, calls::kNumberLimit> index_;
  std::vector<CallColumns> calls_;
};

inline std::uint8_t* bytesAt(char* place) { return reinterpret_cast<std::uint8_t*>(place); }

template <typename T>
void put(char*& out, T value) {
  std::memcpy(out, &value, sizeof value);
  out += sizeof value;
}

template <typename T>
T get(const char* in) {
  T value;
  std::memcpy(&value, in, sizeof value);
  return value;
}

// What follows the header of a definition, or nullptr when it is not whole.
inline const char* behindDefinition(std::uint32_t number, const char* in, const char* end,
                                    wire::Prediction& scratch) {
  if (number == wire::kDefineText) {
    wire::TextDefinition text;
    return wire::decodeText(in, end, text);
  }
  if (number == wire::kDefineHandle) {
    wire::HandleDefinition handle;
    return wire::decodeHandle(in, end, handle, scratch);
  }
  return nullptr;
}

inline const char* behindVarints(const char* in, const char* end, std::uint64_t count) {
  std::uint64_t value = 0;
  for (std::uint64_t i = 0; i < count && in != nullptr; ++i) in = wire::getVarint(in, end, value);
  return in;
}

}  // namespace omnio::tracefile::columns
