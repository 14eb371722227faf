#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/tracefile/record_columns.hpp"
#include "core/tracefile/record_columns_layout.hpp"

namespace omnio::tracefile {
namespace {

using namespace columns;

// A column below this is not worth the some 60 bytes that a code table of its own takes.
constexpr std::size_t kOwnTable = 512;

// Walks over the records of a payload twice: to count, and to take apart.
class Splitter {
 public:
  Splitter(std::string_view payload, Columns& columns) : payload_(payload), columns_(columns) {}

  void split() {
    walk([this](const char*, std::uint64_t header, CallColumns& call) {
      ++call.count;
      call.count1(header);
    });
    calls_.sort();
    layOut();
    low_ = heads_;
    high_ = heads_ + records_;
    records_ = 0;
    loose_bytes_ = 0;
    walk([this](const char* in, std::uint64_t header, CallColumns& call) {
      takeApart(in, header, call);
    });
    columns_.bytes.resize(static_cast<std::size_t>(loose_ - columns_.bytes.data()));
    columns_.bytes.insert(columns_.bytes.end(), payload_.end() - static_cast<long>(tail_),
                          payload_.end());
    columns_.ends.push_back(columns_.bytes.size());
  }

 private:
  // Both walks end at the same place, since they decide by the same bytes.
  template <typename Take>
  void walk(const Take& take) {
    const char* in = payload_.data();
    const char* const end = in + payload_.size();
    while (end - in >= static_cast<std::ptrdiff_t>(wire::kControlHeader)) {
      const auto head = get<std::uint16_t>(in);
      const std::uint32_t number = head & wire::kNumberMask;
      const char* behind = number >= wire::kFirstControlRecord ? takeDefinition(head, in, end)
                                                               : takeEvent(number, in, end, take);
      if (behind == nullptr) break;
      ++records_;
      in = behind;
    }
    tail_ = static_cast<std::size_t>(end - in);
  }

  const char* takeDefinition(std::uint16_t head, const char* in, const char* end) {
    const char* const from = in + wire::kControlHeader;
    const char* behind = behindDefinition(head & wire::kNumberMask, from, end, scratch_);
    if (behind == nullptr) return nullptr;
    putLoose(from, behind);
    putHead(head);
    return behind;
  }

  template <typename Take>
  const char* takeEvent(std::uint32_t number, const char* in, const char* end, const Take& take) {
    CallColumns* call = calls_.find(number);
    if (call == nullptr) {
      const calls::Row* row = calls::find(number);
      if (row == nullptr) return nullptr;
      const wire::Plan& plan = wire::kPlans[number];
      std::uint8_t pieces = kNoPieces;
      for (unsigned i = 0; i < plan.count; ++i) {
        if (plan.field[i] == wire::Field::kPieces) pieces = static_cast<std::uint8_t>(2 + i);
      }
      call = &calls_.add(number, plan.fields(), pieces);
    }
    if (end - in < call->header_bytes) return nullptr;
    const std::uint64_t header = wire::loadBytes(in, call->header_bytes);
    const char* const fields = in + call->header_bytes;
    const char* at = fields;
    std::uint64_t piece_count = 0;
    std::uint64_t codes = header >> wire::kFirstCodeShift;
    for (unsigned f = 0; f < call->fields; ++f, codes >>= wire::kLengthCodeBits) {
      const unsigned length = codedLength(codes & 7);
      if (end - at < static_cast<std::ptrdiff_t>(length)) return nullptr;
      if (f == call->pieces) piece_count = wire::loadBytes(at, length);
      at += length;
    }
    if (piece_count > 0) {
      const char* behind = behindVarints(at, end, piece_count);
      if (behind == nullptr) return nullptr;
      putLoose(at, behind);
      at = behind;
    }
    putHead(static_cast<std::uint16_t>(header & kHeadMask));
    take(fields, header, *call);
    return at;
  }

  void putLoose(const char* from, const char* to) {
    const auto bytes = static_cast<std::size_t>(to - from);
    if (loose_ != nullptr) {
      std::memcpy(loose_, from, bytes);
      loose_ += bytes;
    }
    loose_bytes_ += bytes;
  }

  void putHead(std::uint16_t head) {
    if (low_ == nullptr) return;
    *low_++ = static_cast<std::uint8_t>(head);
    *high_++ = static_cast<std::uint8_t>(head >> 8);
  }

  static void takeApart(const char* in, std::uint64_t header, CallColumns& call) {
    *call.times++ = static_cast<std::uint8_t>((header >> wire::kFirstCodeShift) & kTimeCodesMask);
    std::uint64_t rest = header >> kRestShift;
    for (unsigned i = 0; i < call.rest_bytes; ++i, rest >>= 8) {
      *call.rest[i]++ = static_cast<std::uint8_t>(rest);
    }
    std::uint64_t codes = header >> wire::kFirstCodeShift;
    for (unsigned f = 0; f < call.fields; ++f, codes >>= wire::kLengthCodeBits) {
      const unsigned length = codedLength(codes & 7);
      for (unsigned b = 0; b < length; ++b) *call.field[f][b]++ = static_cast<std::uint8_t>(*in++);
    }
  }

  // Gives each column its place, now that their sizes are known.
  void layOut() {
    std::size_t bytes = kFixedBytes + kCallBytes * calls_.all().size() + 2 * records_;
    for (const CallColumns& call : calls_.all()) {
      bytes += call.headerColumnBytes();
      for (unsigned f = 0; f < call.fields; ++f) {
        for (unsigned b = 0; b < kMaxFieldBytes; ++b) bytes += call.bytesOf(f, b);
      }
    }
    columns_.ends.clear();
    columns_.bytes.resize(bytes + loose_bytes_);
    char* out = columns_.bytes.data();
    put(out, static_cast<std::uint32_t>(records_));
    put(out, static_cast<std::uint32_t>(tail_));
    put(out, static_cast<std::uint16_t>(calls_.all().size()));
    for (const CallColumns& call : calls_.all()) {
      put(out, call.number);
      put(out, call.fields);
      put(out, call.pieces);
    }
    heads_ = bytesAt(out);
    endColumn(out += 2 * records_);
    for (CallColumns& call : calls_.all()) {
      const auto column = [&](std::uint8_t*& place, std::uint32_t size) {
        place = bytesAt(out);
        out += size;
        if (size >= kOwnTable) endColumn(out);
      };
      column(call.times, call.count);
      for (unsigned i = 0; i < call.rest_bytes; ++i) column(call.rest[i], call.count);
      for (unsigned f = 0; f < call.fields; ++f) {
        for (unsigned b = 0; b < kMaxFieldBytes; ++b) {
          const std::uint32_t size = call.bytesOf(f, b);
          if (size > 0) column(call.field[f][b], size);
        }
      }
    }
    loose_ = out;
  }

  void endColumn(const char* out) {
    const auto end = static_cast<std::size_t>(out - columns_.bytes.data());
    if (columns_.ends.empty() || end - columns_.ends.back() >= kOwnTable) {
      columns_.ends.push_back(end);
    }
  }

  std::string_view payload_;
  Columns& columns_;
  CallSet calls_;
  wire::Prediction scratch_;
  std::size_t records_ = 0;
  std::size_t loose_bytes_ = 0;
  std::size_t tail_ = 0;
  std::uint8_t* heads_ = nullptr;
  std::uint8_t* low_ = nullptr;  // where heads go; nullptr while counting
  std::uint8_t* high_ = nullptr;
  char* loose_ = nullptr;
};

}  // namespace

void splitRecords(std::string_view payload, Columns& columns) {
  Splitter(payload, columns).split();
}

}  // namespace omnio::tracefile
