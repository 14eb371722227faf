#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/tracefile/record_columns.hpp"
#include "core/tracefile/record_columns_layout.hpp"

namespace omnio::tracefile {
namespace {

using namespace columns;

class Joiner {
 public:
  Joiner(std::string_view columns, std::size_t bytes, std::vector<char>& out)
      : at_(columns.data()), end_(at_ + columns.size()), bytes_(bytes), out_(out) {}

  bool join() {
    if (!takeLayout() || !findColumns()) return false;
    // A record is put down before it is known to fit: the room behind takes it.
    out_.resize(bytes_ + kMaxFields * kMaxFieldBytes + 8);
    char* out = out_.data();
    const char* const out_end = out + bytes_;
    for (std::uint32_t i = 0; i < records_ && out != nullptr; ++i) {
      const auto head = static_cast<std::uint16_t>(low_[i] | high_[i] << 8);
      const std::uint32_t number = head & wire::kNumberMask;
      out = number >= wire::kFirstControlRecord
                ? putDefinition(head, out, out_end)
                : putEvent(head, *calls_.find(number), out, out_end);
    }
    if (out == nullptr || loose_ != end_ - tail_ ||
        static_cast<std::size_t>(out_end - out) != tail_) {
      return false;
    }
    std::memcpy(out, loose_, tail_);
    out_.resize(bytes_);
    return true;
  }

 private:
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

  bool takeLayout() {
    if (left() < kFixedBytes) return false;
    records_ = get<std::uint32_t>(at_);
    tail_ = get<std::uint32_t>(at_ + 4);
    const auto count = get<std::uint16_t>(at_ + 8);
    at_ += kFixedBytes;
    if (left() < kCallBytes * count) return false;
    for (unsigned i = 0; i < count; ++i, at_ += kCallBytes) {
      const auto number = get<std::uint16_t>(at_);
      const auto fields = static_cast<std::uint8_t>(at_[2]);
      const auto pieces = static_cast<std::uint8_t>(at_[3]);
      if (number >= calls::kNumberLimit || fields < 3 || fields > kMaxFields ||
          calls_.find(number) != nullptr) {
        return false;
      }
      calls_.add(number, fields, pieces);
    }
    return true;
  }

  // Sizes follow from what stands before: the heads, then the length codes.
  bool findColumns() {
    if (left() / 2 < records_) return false;
    low_ = reinterpret_cast<const std::uint8_t*>(at_);
    high_ = low_ + records_;
    at_ += 2 * static_cast<std::size_t>(records_);
    for (std::uint32_t i = 0; i < records_; ++i) {
      const std::uint32_t number =
          (low_[i] | static_cast<unsigned>(high_[i]) << 8) & wire::kNumberMask;
      if (number >= wire::kFirstControlRecord) continue;
      CallColumns* call = calls_.find(number);
      if (call == nullptr) return false;
      ++call->count;
    }
    for (CallColumns& call : calls_.all()) {
      if (left() < call.headerColumnBytes()) return false;
      call.times = next(call.count);
      for (unsigned i = 0; i < call.rest_bytes; ++i) call.rest[i] = next(call.count);
      for (std::uint32_t i = 0; i < call.count; ++i) call.count1(headerOf(call, i));
      for (unsigned f = 0; f < call.fields; ++f) {
        for (unsigned b = 0; b < kMaxFieldBytes; ++b) {
          const std::uint32_t size = call.bytesOf(f, b);
          if (left() < size) return false;
          call.field[f][b] = next(size);
        }
      }
    }
    loose_ = at_;
    return left() >= tail_;
  }

  // Columns are read through the pointers that splitting writes through; nothing is changed.
  std::uint8_t* next(std::size_t bytes) {
    auto* const place = reinterpret_cast<std::uint8_t*>(const_cast<char*>(at_));
    at_ += bytes;
    return place;
  }

  // All of the header but its head.
  static std::uint64_t headerOf(const CallColumns& call, std::uint32_t i) {
    std::uint64_t rest = 0;
    for (unsigned b = 0; b < call.rest_bytes; ++b) {
      rest |= static_cast<std::uint64_t>(call.rest[b][i]) << (8 * b);
    }
    return rest << kRestShift | static_cast<std::uint64_t>(call.times[i] & kTimeCodesMask)
                                    << wire::kFirstCodeShift;
  }

  char* putDefinition(std::uint16_t head, char* out, const char* out_end) {
    const char* behind = behindDefinition(head & wire::kNumberMask, loose_, end_ - tail_, scratch_);
    if (behind == nullptr) return nullptr;
    return putLoose(behind, wire::putControlHeader(out, head), out_end);
  }

  char* putLoose(const char* behind, char* out, const char* out_end) {
    const auto bytes = behind - loose_;
    if (out > out_end || out_end - out < bytes) return nullptr;
    std::memcpy(out, loose_, static_cast<std::size_t>(bytes));
    loose_ = behind;
    return out + bytes;
  }

  char* putEvent(std::uint16_t head, CallColumns& call, char* out, const char* out_end) {
    std::uint64_t header = headerOf(call, 0) | (head & kHeadMask);
    ++call.times;
    for (unsigned i = 0; i < call.rest_bytes; ++i) ++call.rest[i];
    wire::store64(out, header);
    out += call.header_bytes;
    std::uint64_t piece_count = 0;
    header >>= wire::kFirstCodeShift;
    for (unsigned f = 0; f < call.fields; ++f, header >>= wire::kLengthCodeBits) {
      const unsigned length = codedLength(header & 7);
      for (unsigned b = 0; b < length; ++b) out[b] = static_cast<char>(*call.field[f][b]++);
      if (f == call.pieces) piece_count = wire::loadBytes(out, length);
      out += length;
    }
    if (out > out_end) return nullptr;
    if (piece_count == 0) return out;
    const char* behind = behindVarints(loose_, end_ - tail_, piece_count);
    return behind == nullptr ? nullptr : putLoose(behind, out, out_end);
  }

  const char* at_;
  const char* const end_;
  const std::size_t bytes_;
  std::vector<char>& out_;
  CallSet calls_;
  wire::Prediction scratch_;
  std::uint32_t records_ = 0;
  std::size_t tail_ = 0;
  const std::uint8_t* low_ = nullptr;
  const std::uint8_t* high_ = nullptr;
  const char* loose_ = nullptr;
};

}  // namespace

bool joinRecords(std::string_view columns, std::size_t bytes, std::vector<char>& out) {
  return Joiner(columns, bytes, out).join();
}

}  // namespace omnio::tracefile
