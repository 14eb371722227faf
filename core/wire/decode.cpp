#include "core/wire/decode.hpp"

#include <algorithm>
#include <utility>

namespace omnio::wire {
namespace {

// The lowest bytes of a number, by how many.
constexpr std::array<std::uint64_t, 9> kMaskOfLength = [] {
  std::array<std::uint64_t, 9> masks{};
  for (unsigned length = 1; length <= 8; ++length)
    masks[length] = ~std::uint64_t{0} >> (64 - 8 * length);
  return masks;
}();

std::uint64_t load64(const char* in) {
  std::uint64_t value = 0;
  std::memcpy(&value, in, sizeof value);
  return value;
}

}  // namespace

// Takes in a record that says something of the next event; false when it is not whole.
bool ChunkDecoder::takeNote(std::uint32_t number) {
  std::uint64_t value = 0;
  std::uint64_t cpu_ns = 0;
  at_ = getVarint(at_ + kControlHeader, end_, value);
  if (at_ != nullptr && number == kThinkSample) at_ = getVarint(at_, end_, cpu_ns);
  if (at_ == nullptr) {
    at_ = end_;
    return false;
  }
  if (number == kRecorderWork) {
    recorder_ += value;
  } else if (number == kThinkSample) {
    think_ += value;
    think_cpu_ns_ += cpu_ns;
  } else {
    stack_used_ = value & UINT32_MAX;
  }
  return true;
}

Decoded ChunkDecoder::next(RawEvent& event, TextDefinition& text, HandleDefinition& handle) {
  std::uint32_t number = 0;
  while (true) {
    if (at_ == end_) return Decoded::kEnd;
    if (end_ - at_ < static_cast<std::ptrdiff_t>(kControlHeader)) return Decoded::kDamaged;
    std::uint16_t head = 0;
    std::memcpy(&head, at_, sizeof head);
    number = head & kNumberMask;
    if (number != kRecorderWork && number != kThinkSample && number != kUseStack) break;
    if (!takeNote(number)) return Decoded::kDamaged;
  }
  const char* const in = at_ + kControlHeader;
  const char* behind = nullptr;
  Decoded what = Decoded::kDamaged;
  switch (number) {
    case kDefineText:
      behind = decodeText(in, end_, text);
      what = Decoded::kText;
      break;
    case kDefineHandle:
      behind = decodeHandle(in, end_, handle, state_);
      what = Decoded::kHandle;
      break;
    case kDefineStack:
      behind = decodeStack(in, end_, stack_);
      what = Decoded::kStack;
      break;
    default:
      event.recorder = std::exchange(recorder_, 0);
      event.think = std::exchange(think_, 0);
      event.think_cpu_ns = std::exchange(think_cpu_ns_, 0);
      return decodeEvent(number, event) ? Decoded::kEvent : Decoded::kDamaged;
  }
  if (behind == nullptr) return Decoded::kDamaged;
  at_ = behind;
  return what;
}

bool ChunkDecoder::decodeEvent(std::uint32_t number, RawEvent& event) {
  const calls::Row* row = calls::find(number);
  if (row == nullptr) return false;
  const RecordLayout& layout = kRecordLayouts[number];
  const auto left = static_cast<std::size_t>(end_ - at_);
  if (left < layout.headerBytes()) return false;
  // Then all of the record is inside, whatever the lengths of its fields, and 8 bytes behind each.
  const bool is_inside = left >= kMaxFixedRecord;
  std::uint64_t header = is_inside ? load64(at_) & kMaskOfLength[layout.headerBytes()]
                                   : loadBytes(at_, layout.headerBytes());
  const char* in = at_ + layout.headerBytes();

  event.row = row;
  event.failed = ((header >> kFailedShift) & 1) != 0;
  event.depth = (header >> kDepthShift) & ((1U << kDepthBits) - 1);
  header >>= kFirstCodeShift;
  std::array<std::uint64_t, calls::kMaxArguments + 3> values;  // as many as there are fields
  if (is_inside) {
    for (unsigned i = 0; i < layout.fields(); ++i) {
      const unsigned length = codedLength(header & 7);
      values[i] = load64(in) & kMaskOfLength[length];
      in += length;
      header >>= kLengthCodeBits;
    }
  } else {
    for (unsigned i = 0; i < layout.fields(); ++i) {
      const unsigned length = codedLength(header & 7);
      if (static_cast<std::size_t>(end_ - in) < length) return false;
      values[i] = loadBytes(in, length);
      in += length;
      header >>= kLengthCodeBits;
    }
  }

  event.start = state_.last_end + static_cast<std::uint64_t>(unzigzag(values[0]));
  event.end = event.start + values[1];

  HandlePrediction none;
  std::uint8_t slot = state_.last_slot;
  HandlePrediction* handle = &none;
  for (unsigned i = 0; i < layout.count; ++i) {
    if (layout.field[i] == Field::kHandle) {
      slot = static_cast<std::uint8_t>(values[2 + i] ^ state_.last_slot);
      handle = &state_.handles[slot];
      if (handle->handle == 0) return false;  // an event on what was never defined
    }
  }
  EventNumbers numbers;
  std::uint64_t piece_count = 0;
  for (unsigned i = 0; i < layout.count; ++i) {
    const std::uint64_t value = values[2 + i];
    std::int64_t& argument = event.arguments[layout.argument[i]];
    switch (layout.field[i]) {
      case Field::kHandle:
        argument = slot;
        break;
      case Field::kSize:
        argument = sum(unzigzag(value), static_cast<std::int64_t>(handle->size));
        numbers.request = static_cast<std::uint64_t>(argument);
        break;
      case Field::kOffset:
        argument = sum(unzigzag(value), static_cast<std::int64_t>(handle->next));
        numbers.offset = argument;
        break;
      case Field::kSigned:
        argument = unzigzag(value);
        break;
      case Field::kPieces:
        piece_count = value;
        argument = static_cast<std::int64_t>(value);
        break;
      case Field::kText:
        if (value > kTextSlots) return false;
        argument = static_cast<std::int64_t>(value);
        break;
      case Field::kUnsigned:
        argument = static_cast<std::int64_t>(value);
        break;
      case Field::kNone:  // in no layout
        break;
    }
  }
  if (layout.item_count >= 0)
    numbers.items = event.arguments[static_cast<std::size_t>(layout.item_count)];
  if (layout.character >= 0) {
    numbers.character = event.arguments[static_cast<std::size_t>(layout.character)];
  }
  const char* const pieces = in;
  for (std::uint64_t i = 0; i < piece_count; ++i) {
    std::uint64_t size = 0;
    in = getVarint(in, end_, size);
    if (in == nullptr) return false;
    numbers.request += size;
  }
  event.pieces = {pieces, static_cast<std::size_t>(in - pieces)};
  event.request = numbers.request;

  const std::uint64_t last = values[layout.fields() - 1];
  if (event.failed) {
    event.result = static_cast<std::int64_t>(last);
  } else {
    event.result = sum(unzigzag(last), expectedResult(*row, layout, numbers, *handle));
    learn(*row, layout, numbers, event.result, *handle);
  }
  if (layout.handle >= 0) state_.last_slot = slot;
  state_.last_end = event.end;
  const std::uint64_t used = std::exchange(stack_used_, kExpectedStack);
  event.stack = used == kExpectedStack ? state_.stack.expected() : static_cast<std::uint32_t>(used);
  state_.stack.learn(event.stack);
  at_ = in;
  return true;
}

}  // namespace omnio::wire
