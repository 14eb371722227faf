#include "trace/runtime/stack/call_frame_program.hpp"

namespace omnio::trace {
namespace {

using Where = SavedRegister::Where;
using Cfa = CallFrameRow::Cfa;

// The instructions, by their names in the DWARF standard. The first three have an operand in their
// lower bits.
enum : std::uint8_t {
  kAdvanceLoc = 0x40,
  kOffset = 0x80,
  kRestore = 0xC0,
  kNop = 0x00,
  kSetLoc = 0x01,
  kAdvanceLoc1 = 0x02,
  kAdvanceLoc2 = 0x03,
  kAdvanceLoc4 = 0x04,
  kOffsetExtended = 0x05,
  kRestoreExtended = 0x06,
  kUndefined = 0x07,
  kSameValue = 0x08,
  kRegister = 0x09,
  kRememberState = 0x0A,
  kRestoreState = 0x0B,
  kDefCfa = 0x0C,
  kDefCfaRegister = 0x0D,
  kDefCfaOffset = 0x0E,
  kDefCfaExpression = 0x0F,
  kExpression = 0x10,
  kOffsetExtendedSf = 0x11,
  kDefCfaSf = 0x12,
  kDefCfaOffsetSf = 0x13,
  kValOffset = 0x14,
  kValOffsetSf = 0x15,
  kValExpression = 0x16,
  kWindowSave = 0x2D,  // of aarch64: the return address is signed, or not, from here on
  kArgsSize = 0x2E,
  kNegativeOffsetExtended = 0x2F,
};

// Of expressions: a register + offset (the register's number is added), and the value in memory.
constexpr std::uint8_t kBreg0 = 0x70;
constexpr std::uint8_t kBreg31 = 0x8F;
constexpr std::uint8_t kDeref = 0x06;

}  // namespace

SavedRegister* CallFrameProgram::saved(CallFrameRow& row, std::uint64_t number) const {
  if (number == kFramePointerNumber) return &row.frame_pointer;
  if (number == kReturnAddressNumber) return &row.return_address;
  return nullptr;
}

void CallFrameProgram::set(std::uint64_t number, SavedRegister to) {
  if (SavedRegister* const place = saved(row_, number)) *place = to;
}

void CallFrameProgram::restore(std::uint64_t number) {
  if (SavedRegister* const place = saved(row_, number)) *place = *saved(first_, number);
}

void CallFrameProgram::setCfa(Cfa how, std::uint64_t number, std::int64_t offset) {
  row_.cfa = how;
  row_.cfa_register = number;
  row_.cfa_offset = offset;
}

// Of all expressions there could be, the one that GCC writes for a stack that it aligns anew, where
// the CFA is kept in the frame: a register + offset, and what is stored there.
void CallFrameProgram::setCfaByExpression(ByteCursor& in) {
  const std::uint64_t bytes = in.unsignedNumber();
  const std::uintptr_t end = in.at() + bytes;
  setCfa(Cfa::kUnknown, 0, 0);
  const std::uint8_t first = bytes > 0 ? in.byte() : 0;
  if (first >= kBreg0 && first <= kBreg31) {
    const std::int64_t offset = in.signedNumber();
    if (in.at() + 1 == end && in.byte() == kDeref) {
      setCfa(Cfa::kStored, first - kBreg0, offset);
    }
  }
  in.skip(end - in.at());
}

void CallFrameProgram::setByExpression(std::uint64_t number, ByteCursor& in) {
  const std::uint64_t bytes = in.unsignedNumber();
  const std::uintptr_t end = in.at() + bytes;
  SavedRegister to{.where = Where::kElsewhere, .offset = 0};
  const std::uint8_t first = bytes > 0 ? in.byte() : 0;
  if (first == kBreg0 + kFramePointerNumber) {
    const std::int64_t offset = in.signedNumber();
    if (in.at() == end) to = {.where = Where::kAtFramePointer, .offset = offset};
  }
  in.skip(end - in.at());
  set(number, to);
}

bool CallFrameProgram::begin(ByteCursor& instructions) {
  run(~std::uintptr_t{0}, instructions);
  first_ = row_;
  return !instructions.hasFailed();
}

bool CallFrameProgram::runTo(std::uintptr_t begin, std::uintptr_t code, ByteCursor& instructions) {
  location_ = begin;
  run(code, instructions);
  return !instructions.hasFailed();
}

// Each instruction takes a byte at least, so it comes to an end.
void CallFrameProgram::run(std::uintptr_t code, ByteCursor& in) {
  while (!in.isDone()) {
    const std::uint8_t instruction = in.byte();
    const std::uint8_t operand = instruction & 0x3F;
    switch (instruction & 0xC0) {
      case kAdvanceLoc:
        advance(operand);
        break;
      case kOffset:
        set(operand, {.where = Where::kAtCfa,
                      .offset = scaled(static_cast<std::int64_t>(in.unsignedNumber()))});
        break;
      case kRestore:
        restore(operand);
        break;
      default:
        if (!runExtended(instruction, in)) in.fail();
    }
    if (location_ > code) return;
  }
}

bool CallFrameProgram::runExtended(std::uint8_t instruction, ByteCursor& in) {
  const auto atCfa = [](std::int64_t offset) {
    return SavedRegister{.where = Where::kAtCfa, .offset = offset};
  };
  const auto unsignedDistance = [&in] { return static_cast<std::int64_t>(in.unsignedNumber()); };
  std::uint64_t number = 0;
  switch (instruction) {
    case kNop:
    case kWindowSave:
      return true;
    case kArgsSize:
      in.unsignedNumber();
      return true;
    case kSetLoc:
      location_ = in.pointer(factors_.pointers, 0);
      return true;
    case kAdvanceLoc1:
      advance(in.byte());
      return true;
    case kAdvanceLoc2:
      advance(in.take<std::uint16_t>());
      return true;
    case kAdvanceLoc4:
      advance(in.take<std::uint32_t>());
      return true;
    case kRememberState:
      if (remembered_count_ == kMostRemembered) return false;
      remembered_[remembered_count_++] = row_;
      return true;
    case kRestoreState:
      if (remembered_count_ == 0) return false;
      row_ = remembered_[--remembered_count_];
      return true;
    case kDefCfa:
      number = in.unsignedNumber();
      setCfa(Cfa::kRegister, number, unsignedDistance());
      return true;
    case kDefCfaSf:
      number = in.unsignedNumber();
      setCfa(Cfa::kRegister, number, scaled(in.signedNumber()));
      return true;
    case kDefCfaRegister:
      row_.cfa_register = in.unsignedNumber();
      return row_.cfa == Cfa::kRegister;
    case kDefCfaOffset:
      row_.cfa_offset = unsignedDistance();
      return row_.cfa == Cfa::kRegister;
    case kDefCfaOffsetSf:
      row_.cfa_offset = scaled(in.signedNumber());
      return row_.cfa == Cfa::kRegister;
    case kDefCfaExpression:
      setCfaByExpression(in);
      return true;
    default:
      break;
  }
  // The rest is of one register.
  number = in.unsignedNumber();
  switch (instruction) {
    case kOffsetExtended:
      set(number, atCfa(scaled(unsignedDistance())));
      return true;
    case kOffsetExtendedSf:
      set(number, atCfa(scaled(in.signedNumber())));
      return true;
    case kNegativeOffsetExtended:
      set(number, atCfa(scaled(static_cast<std::int64_t>(0 - in.unsignedNumber()))));
      return true;
    case kRestoreExtended:
      restore(number);
      return true;
    case kUndefined:
      set(number, {.where = Where::kUndefined, .offset = 0});
      return true;
    case kSameValue:
      set(number, {});
      return true;
    case kRegister:
    case kValOffset:
      in.unsignedNumber();
      set(number, {.where = Where::kElsewhere, .offset = 0});
      return true;
    case kValOffsetSf:
      in.signedNumber();
      set(number, {.where = Where::kElsewhere, .offset = 0});
      return true;
    case kExpression:
      setByExpression(number, in);
      return true;
    case kValExpression:
      in.skip(in.unsignedNumber());
      set(number, {.where = Where::kElsewhere, .offset = 0});
      return true;
    default:
      return false;
  }
}

UnwindRule CallFrameRow::rule() const {
  if (return_address.where == Where::kUndefined)
    return UnwindRule::of(UnwindRule::Kind::kOutermost);
  const bool is_from_frame_pointer = cfa_register == kFramePointerNumber;
  const bool has_cfa =
      cfa != Cfa::kUnknown && (is_from_frame_pointer || cfa_register == kStackPointerNumber);
#if defined(__x86_64__)
  constexpr std::int64_t kPushedByCall = -8;  // where else it is, no compiler puts it
  const bool has_return =
      return_address == SavedRegister{.where = Where::kAtCfa, .offset = kPushedByCall};
#else
  const bool has_return = return_address.where == Where::kAtCfa;
#endif
  if (!has_cfa || !has_return) {
    return UnwindRule::of(UnwindRule::Kind::kUnusable);
  }
  UnwindRule::Places places{.is_stored = cfa == Cfa::kStored,
                            .is_from_frame_pointer = is_from_frame_pointer,
                            .cfa = cfa_offset,
                            .return_address = return_address.offset};
  switch (frame_pointer.where) {
    case Where::kUnchanged:
      break;
    case Where::kAtCfa:
      places.frame_pointer = frame_pointer.offset;
      // Nothing is kept at the CFA or above it.
      places.frame_pointer_is_lost = frame_pointer.offset >= 0;
      break;
    case Where::kAtFramePointer:
      places.frame_pointer = frame_pointer.offset;
      places.frame_pointer_is_from_itself = true;
      break;
    case Where::kUndefined:
    case Where::kElsewhere:
      places.frame_pointer_is_lost = true;
  }
  return UnwindRule::of(places);
}

}  // namespace omnio::trace
