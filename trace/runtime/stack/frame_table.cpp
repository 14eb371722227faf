#include "trace/runtime/stack/frame_table.hpp"

#include <cstring>

namespace omnio::trace {
namespace {

using Found = FrameTableEntry::Found;

// A function's part of the table, or the table's head, has no more bytes.
constexpr std::uint32_t kMostBytes = std::uint32_t{1} << 18;

// The head of a table (CIE), which many functions share.
struct Head {
  CallFrameProgram::Factors factors;
  bool has_data = false;  // functions have data of their own ('z')
  bool is_signal = false;
};

// Reads the length that a part of the table begins with, and makes it the cursor's end.
void takeLength(ByteCursor& in) {
  const auto bytes = in.take<std::uint32_t>();
  // 0 is the end of the table. A length of 64 bits is left aside: no linker writes one.
  if (bytes == 0 || bytes > kMostBytes) return in.fail();
  in.limit(bytes);
}

// What comes behind the words of the augmentation, which say what that is.
void takeAugmentation(const char* words, ByteCursor& in, Head& head) {
  if (words[0] == '\0') return;
  if (words[0] != 'z') return in.fail();
  head.has_data = true;
  const std::uint64_t bytes = in.unsignedNumber();
  const std::uintptr_t end = in.at() + bytes;
  for (const char* word = words + 1; *word != '\0'; ++word) {
    if (*word == 'R') {
      head.factors.pointers = in.byte();
    } else if (*word == 'S') {
      head.is_signal = true;
    } else if (*word == 'P') {
      in.plainPointer(in.byte());
    } else if (*word == 'L') {
      in.byte();
    } else if (*word != 'B') {  // of aarch64: which key signs return addresses
      in.fail();
    }
  }
  if (in.at() > end) return in.fail();
  in.skip(end - in.at());
}

// Leaves the cursor at the head's instructions.
void takeHead(ByteCursor& in, Head& head) {
  takeLength(in);
  if (in.take<std::uint32_t>() != 0) return in.fail();
  const std::uint8_t version = in.byte();
  if (version != 1 && version != 3) return in.fail();
  char words[16];
  for (std::size_t i = 0;; ++i) {
    if (i == sizeof words) return in.fail();
    words[i] = static_cast<char>(in.byte());
    if (words[i] == '\0') break;
  }
  head.factors.code = in.unsignedNumber();
  head.factors.data = in.signedNumber();
  const std::uint64_t return_address = version == 1 ? in.byte() : in.unsignedNumber();
  if (return_address != kReturnAddressNumber) return in.fail();
  takeAugmentation(words, in, head);
}

// Looks at a function's part of the table (FDE).
FrameTableEntry readEntry(const OwnMemory& memory, std::uintptr_t at, std::uintptr_t code) {
  FrameTableEntry entry{.found = Found::kInvalid, .row = {}};
  ByteCursor in(memory, at, at + sizeof(std::uint32_t) + kMostBytes);
  takeLength(in);
  const std::uintptr_t here = in.at();
  const auto back = in.take<std::uint32_t>();  // to the head
  if (in.hasFailed() || back == 0 || back > here) return entry;
  const std::uintptr_t head_at = here - back;
  ByteCursor head_in(memory, head_at, head_at + sizeof(std::uint32_t) + kMostBytes);
  Head head;
  takeHead(head_in, head);
  if (head_in.hasFailed()) return entry;
  const std::uintptr_t begin = in.pointer(head.factors.pointers, 0);
  const std::uintptr_t bytes = in.plainPointer(head.factors.pointers);
  if (head.has_data) in.skip(in.unsignedNumber());
  if (in.hasFailed()) return entry;
  if (code - begin >= bytes) return {};
  if (head.is_signal) {
    entry.found = Found::kSignal;
    return entry;
  }
  CallFrameProgram program(head.factors);
  if (!program.begin(head_in) || !program.runTo(begin, code, in)) return entry;
  return {.found = Found::kRow, .row = program.row()};
}

// A pair of the index, as programs have it: distances from the index's beginning.
struct IndexPair {
  std::int32_t code;
  std::int32_t entry;
};

}  // namespace

FrameTableEntry findInFrameTable(const OwnMemory& memory, FrameIndex index, std::uintptr_t code) {
  constexpr std::uint8_t kVersion = 1;
  constexpr PointerEncoding kPairs = 0x3B;  // four bytes each, signed, from the index's beginning
  if (index.bytes == 0) return {};
  ByteCursor in(memory, index.begin, index.begin + index.bytes);
  const std::uint8_t version = in.byte();
  const PointerEncoding of_table = in.byte();
  const PointerEncoding of_count = in.byte();
  const PointerEncoding of_pairs = in.byte();
  if (of_table != kOmitted) in.plainPointer(of_table);
  if (version != kVersion || of_count == kOmitted || of_pairs != kPairs) return {};
  std::uint64_t count = in.pointer(of_count, index.begin);
  if (in.hasFailed()) return {};
  const std::uintptr_t pairs = in.at();
  const std::uint64_t room = (index.begin + index.bytes - pairs) / sizeof(IndexPair);
  if (count > room) count = room;
  // The last pair that begins no later than the code.
  IndexPair best{};
  bool has_any = false;
  for (std::uint64_t low = 0, high = count; low < high;) {
    const std::uint64_t middle = low + (high - low) / 2;
    IndexPair pair;
    if (!memory.read(pairs + middle * sizeof pair, &pair, sizeof pair)) return {};
    const std::uintptr_t begin = index.begin + static_cast<std::uintptr_t>(std::int64_t{pair.code});
    if (begin > code) {
      high = middle;
    } else {
      best = pair;
      has_any = true;
      low = middle + 1;
    }
  }
  if (!has_any) return {};
  return readEntry(memory, index.begin + static_cast<std::uintptr_t>(std::int64_t{best.entry}),
                   code);
}

UnwindRule FrameTableEntry::rule() const {
  switch (found) {
    case Found::kNone:
      return UnwindRule::of(UnwindRule::Kind::kFramePointer);
    case Found::kRow:
      return row.rule();
    case Found::kSignal:
      return UnwindRule::of(UnwindRule::Kind::kSignal);
    case Found::kInvalid:
      break;
  }
  return UnwindRule::of(UnwindRule::Kind::kUnusable);
}

bool isSignalReturn(const OwnMemory& memory, std::uintptr_t address) {
#if defined(__x86_64__)
  constexpr unsigned char kCode[] = {0x48, 0xC7, 0xC0, 0x0F, 0, 0, 0, 0x0F, 0x05};
#elif defined(__aarch64__)
  constexpr unsigned char kCode[] = {0x68, 0x11, 0x80, 0xD2, 0x01, 0, 0, 0xD4};
#endif
  unsigned char there[sizeof kCode];
  return memory.read(address, there, sizeof there) && std::memcmp(there, kCode, sizeof kCode) == 0;
}

}  // namespace omnio::trace
