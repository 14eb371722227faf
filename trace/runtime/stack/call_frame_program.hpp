// The instructions of an unwind table (DWARF's call frame information, as .eh_frame has it): run up
// to a place in a function, they leave a row that says where the registers of the caller are.
//
// Only what a walk needs is kept: the CFA, the return address, and the frame pointer.
#pragma once

#include <cstdint>

#include "trace/runtime/stack/byte_cursor.hpp"
#include "trace/runtime/stack/unwind_rule.hpp"

namespace omnio::trace {

// Where the caller's value of a register is.
struct SavedRegister {
  enum class Where : std::uint8_t {
    kUnchanged,
    kAtCfa,           // in memory, at the CFA + offset
    kAtFramePointer,  // in memory, at the frame pointer + offset
    kUndefined,
    kElsewhere,  // where this program does not look for it
  };
  Where where = Where::kUnchanged;
  std::int64_t offset = 0;

  bool operator==(const SavedRegister&) const = default;
};

struct CallFrameRow {
  enum class Cfa : std::uint8_t {
    kUnknown,
    kRegister,  // a register + offset
    kStored,    // in memory, at a register + offset
  };
  Cfa cfa = Cfa::kUnknown;
  std::uint64_t cfa_register = 0;
  std::int64_t cfa_offset = 0;
  SavedRegister frame_pointer;
  SavedRegister return_address;

  bool operator==(const CallFrameRow&) const = default;

  UnwindRule rule() const;
};

class CallFrameProgram {
 public:
  // Of the table's head (CIE).
  struct Factors {
    std::uint64_t code = 1;
    std::int64_t data = 1;
    PointerEncoding pointers = 0;
  };
  explicit CallFrameProgram(const Factors& factors) : factors_(factors) {}

  // Runs the instructions of the head, with which each function begins. False when they make no
  // sense.
  bool begin(ByteCursor& instructions);
  // Runs those of the function that begins at `begin`, as far as they are for `code`. False when
  // they make no sense.
  bool runTo(std::uintptr_t begin, std::uintptr_t code, ByteCursor& instructions);

  const CallFrameRow& row() const { return row_; }

 private:
  void run(std::uintptr_t code, ByteCursor& in);
  bool runExtended(std::uint8_t instruction, ByteCursor& in);
  void advance(std::uint64_t units) { location_ += units * factors_.code; }
  SavedRegister* saved(CallFrameRow& row, std::uint64_t number) const;
  void set(std::uint64_t number, SavedRegister to);
  void restore(std::uint64_t number);
  void setCfa(CallFrameRow::Cfa how, std::uint64_t number, std::int64_t offset);
  void setCfaByExpression(ByteCursor& in);
  void setByExpression(std::uint64_t number, ByteCursor& in);
  // A distance in units of the data factor.
  std::int64_t scaled(std::int64_t units) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(units) *
                                     static_cast<std::uint64_t>(factors_.data));
  }

  static constexpr unsigned kMostRemembered = 16;

  const Factors factors_;
  CallFrameRow row_;
  CallFrameRow first_;  // what the head says
  CallFrameRow remembered_[kMostRemembered];
  unsigned remembered_count_ = 0;
  std::uintptr_t location_ = 0;
};

}  // namespace omnio::trace
