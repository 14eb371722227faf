// Unwind tables: their instructions one by one, those of real libraries against what readelf makes
// of them, tables that hold anything, and walks over real stacks against libc's backtrace().
#include <dlfcn.h>
#include <execinfo.h>
#include <gtest/gtest.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/trace/frameless.hpp"
#include "tests/trace/mapped_library.hpp"
#include "trace/runtime/stack/call_frame_program.hpp"
#include "trace/runtime/stack/frame_table.hpp"
#include "trace/runtime/stack/frame_walk.hpp"

namespace omnio::trace {
namespace {

#if defined(__x86_64__)

using Kind = UnwindRule::Kind;
using Cfa = CallFrameRow::Cfa;
using Where = SavedRegister::Where;
using Bytes = std::vector<unsigned char>;

constexpr std::uintptr_t kFunction = 0x1000;

// "DW_CFA_def_cfa rsp+8; offset ra at cfa-8", as each x86-64 table's head has it.
const Bytes kUsualHead = {0x0C, 7, 8, 0x90, 1};

struct Run {
  bool is_sound = false;
  CallFrameRow row;
};

Run run(const Bytes& function, std::uintptr_t code, const Bytes& head = kUsualHead) {
  const OwnMemory memory;
  const auto cursorOver = [&memory](const Bytes& bytes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
    return ByteCursor(memory, begin, begin + bytes.size());
  };
  CallFrameProgram program({.code = 1, .data = -8, .pointers = 0x1B});
  ByteCursor head_in = cursorOver(head);
  ByteCursor in = cursorOver(function);
  Run result;
  result.is_sound = program.begin(head_in) && program.runTo(kFunction, kFunction + code, in);
  result.row = program.row();
  return result;
}

CallFrameRow rowAt(const Bytes& function, std::uintptr_t code, const Bytes& head = kUsualHead) {
  const Run result = run(function, code, head);
  EXPECT_TRUE(result.is_sound);
  return result.row;
}

TEST(CallFrameProgram, FollowsAFunctionByItsAdvances) {
  // push %rbp; mov %rsp,%rbp; ...; leave; ret
  const Bytes function = {0x41, 0x0E, 16, 0x86, 2, 0x43, 0x0D, 6, 0x02, 0x50, 0x0C, 7, 8};
  CallFrameRow wanted = rowAt({}, 0);
  EXPECT_EQ(wanted.cfa, Cfa::kRegister);
  EXPECT_EQ(wanted.cfa_register, 7U);
  EXPECT_EQ(wanted.cfa_offset, 8);
  wanted.return_address = {.where = Where::kAtCfa, .offset = -8};
  EXPECT_EQ(rowAt(function, 0), wanted);
  wanted.cfa_offset = 16;
  wanted.frame_pointer = {.where = Where::kAtCfa, .offset = -16};
  EXPECT_EQ(rowAt(function, 1), wanted);
  EXPECT_EQ(rowAt(function, 3), wanted);
  wanted.cfa_register = 6;
  EXPECT_EQ(rowAt(function, 4), wanted);
  EXPECT_EQ(rowAt(function, 4 + 0x4F), wanted);
  wanted.cfa_register = 7;
  wanted.cfa_offset = 8;
  EXPECT_EQ(rowAt(function, 4 + 0x50), wanted);
}

TEST(CallFrameProgram, KnowsEachFormOfAdvance) {
  const auto reached = [](const Bytes& advance, std::uintptr_t where) {
    Bytes function = advance;
    function.insert(function.end(), {0x0E, 99});
    return rowAt(function, where - 1).cfa_offset == 8 && rowAt(function, where).cfa_offset == 99;
  };
  EXPECT_TRUE(reached({0x7F}, 0x3F));
  EXPECT_TRUE(reached({0x02, 0xFF}, 0xFF));
  EXPECT_TRUE(reached({0x03, 0x34, 0x12}, 0x1234));
  EXPECT_TRUE(reached({0x04, 0x78, 0x56, 0x34, 0x12}, 0x12345678));
  EXPECT_TRUE(reached({0x41, 0x00, 0x2E, 0x90, 0x01, 0x42}, 3));  // with nop and args_size
}

TEST(CallFrameProgram, RemembersAndRestores) {
  const Bytes function = {0x0A, 0x86, 2, 0x0E, 24, 0x0A, 0x0E, 32, 0x41, 0x0B, 0x41, 0x0B, 0x41};
  EXPECT_EQ(rowAt(function, 0).cfa_offset, 32);
  EXPECT_EQ(rowAt(function, 1).cfa_offset, 24);
  EXPECT_EQ(rowAt(function, 1).frame_pointer.offset, -16);
  EXPECT_EQ(rowAt(function, 2).cfa_offset, 8);
  EXPECT_EQ(rowAt(function, 2).frame_pointer.where, Where::kUnchanged);
  // One register, to what the head says.
  const Bytes head = {0x0C, 7, 8, 0x90, 1, 0x86, 5};
  EXPECT_EQ(rowAt({0x08, 6, 0x41, 0xC6}, 0, head).frame_pointer.where, Where::kUnchanged);
  EXPECT_EQ(rowAt({0x08, 6, 0x41, 0xC6}, 1, head).frame_pointer.offset, -40);
  EXPECT_EQ(rowAt({0x08, 6, 0x41, 0x06, 6}, 1, head).frame_pointer.offset, -40);
  EXPECT_FALSE(run({0x0B}, 0).is_sound);
  EXPECT_FALSE(run(Bytes(100, 0x0A), 0).is_sound);
}

TEST(CallFrameProgram, KnowsWhereARegisterMayBe) {
  const auto framePointer = [](const Bytes& function) { return rowAt(function, 0).frame_pointer; };
  const auto at = [](Where where, std::int64_t offset = 0) {
    return SavedRegister{.where = where, .offset = offset};
  };
  EXPECT_EQ(framePointer({0x05, 6, 3}), at(Where::kAtCfa, -24));
  EXPECT_EQ(framePointer({0x11, 6, 0x7E}), at(Where::kAtCfa, 16));
  EXPECT_EQ(framePointer({0x2F, 6, 3}), at(Where::kAtCfa, 24));
  EXPECT_EQ(framePointer({0x07, 6}), at(Where::kUndefined));
  EXPECT_EQ(framePointer({0x09, 6, 3}), at(Where::kElsewhere));
  EXPECT_EQ(framePointer({0x14, 6, 3}), at(Where::kElsewhere));
  EXPECT_EQ(framePointer({0x15, 6, 3}), at(Where::kElsewhere));
  EXPECT_EQ(framePointer({0x16, 6, 2, 0x76, 0}), at(Where::kElsewhere));
  EXPECT_EQ(framePointer({0x10, 6, 2, 0x76, 0x78}), at(Where::kAtFramePointer, -8));
  EXPECT_EQ(framePointer({0x10, 6, 3, 0x76, 0x78, 0x06}), at(Where::kElsewhere));
  EXPECT_EQ(framePointer({0x10, 6, 0}), at(Where::kElsewhere));
  // Another register.
  EXPECT_EQ(framePointer({0x83, 2, 0x05, 12, 3, 0x07, 13, 0x10, 14, 1, 0x30}), SavedRegister{});
}

TEST(CallFrameProgram, KnowsTheCfaOfARealignedStackAndNoOtherExpression) {
  const CallFrameRow stored = rowAt({0x0F, 3, 0x76, 0x78, 0x06}, 0);
  EXPECT_EQ(stored.cfa, Cfa::kStored);
  EXPECT_EQ(stored.cfa_register, 6U);
  EXPECT_EQ(stored.cfa_offset, -8);
  EXPECT_EQ(stored.rule().kind(), Kind::kStoredCfa);
  for (const Bytes& other : {Bytes{0x0F, 0}, Bytes{0x0F, 1, 0x30}, Bytes{0x0F, 2, 0x76, 0x78},
                             Bytes{0x0F, 4, 0x76, 0x78, 0x06, 0x06}}) {
    EXPECT_EQ(rowAt(other, 0).cfa, Cfa::kUnknown);
    EXPECT_EQ(rowAt(other, 0).rule().kind(), Kind::kUnusable);
  }
  EXPECT_EQ(rowAt({0x12, 6, 0x7E}, 0).cfa_offset, 16);
  EXPECT_EQ(rowAt({0x13, 0x7D}, 0).cfa_offset, 24);
}

TEST(CallFrameProgram, RefusesWhatMakesNoSense) {
  EXPECT_FALSE(run({0x3F}, 0).is_sound);                    // no such instruction
  EXPECT_FALSE(run({0x0C, 7}, 0).is_sound);                 // its operand is missing
  EXPECT_FALSE(run({0x0E, 0x80}, 0).is_sound);              // its operand does not end
  EXPECT_FALSE(run({0x0F, 9, 0x76}, 0).is_sound);           // an expression longer than the table
  EXPECT_FALSE(run({0x0F, 1, 0x30, 0x0E, 8}, 0).is_sound);  // an offset from no register
}

TEST(CallFrameRow, MakesARule) {
  const auto kindOf = [](const Bytes& function) { return rowAt(function, 0).rule().kind(); };
  EXPECT_EQ(kindOf({}), Kind::kCfa);
  EXPECT_EQ(kindOf({0x07, 16}), Kind::kOutermost);
  EXPECT_EQ(kindOf({0x08, 16}), Kind::kUnusable);
  EXPECT_EQ(kindOf({0x90, 2}), Kind::kUnusable);
  EXPECT_EQ(kindOf({0x0C, 3, 16}), Kind::kUnusable);
  EXPECT_TRUE(rowAt({0x07, 6}, 0).rule().framePointerIsLost());
  EXPECT_EQ(
      rowAt({0x0E, 48, 0x86, 3}, 0).rule(),
      UnwindRule::of(UnwindRule::Places{.cfa = 48, .return_address = -8, .frame_pointer = -24}));
}

// A row as readelf prints it: "0000000000001234 rsp+16 u c-16 c-8".
struct ReadelfRow {
  std::uintptr_t code = 0;
  std::string cfa;
  std::string frame_pointer;
  std::string return_address;
};

std::vector<ReadelfRow> rowsOf(const std::string& path) {
  std::vector<ReadelfRow> rows;
  FILE* const pipe =
      popen(("readelf --debug-dump=frames-interp " + path + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return rows;
  char line[4096];
  std::vector<std::string> columns;
  bool is_function = false;
  while (fgets(line, sizeof line, pipe) != nullptr) {
    std::istringstream split(line);
    std::vector<std::string> words;
    for (std::string word; split >> word;) words.push_back(word);
    if (words.size() > 3 && words[3] == "CIE") is_function = false;
    if (words.size() > 3 && words[3] == "FDE") is_function = true;
    if (words.size() > 1 && words[0] == "LOC") columns = words;
    const bool is_row = is_function && words.size() == columns.size() && words[0].size() == 16 &&
                        words[0].find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!is_row) continue;
    ReadelfRow row;
    row.code = std::stoull(words[0], nullptr, 16);
    row.cfa = words[1];
    for (std::size_t i = 2; i < columns.size(); ++i) {
      if (columns[i] == "rbp") row.frame_pointer = words[i];
      if (columns[i] == "ra") row.return_address = words[i];
    }
    rows.push_back(row);
  }
  pclose(pipe);
  return rows;
}

// The rule, as readelf would print it, where a rule can say it.
std::string worded(const UnwindRule& rule) {
  const auto distance = [](std::int64_t value) {
    return (value < 0 ? "" : "+") + std::to_string(value);
  };
  switch (rule.kind()) {
    case Kind::kCfa: {
      std::string text = (rule.isFromFramePointer() ? "rbp" : "rsp") + distance(rule.cfa());
      if (rule.framePointerIsFromItself()) return text + " exp";
      if (rule.framePointerIsLost()) return text + " lost";
      return text + " " + (rule.framePointer() == 0 ? "u" : "c" + distance(rule.framePointer()));
    }
    case Kind::kStoredCfa:
      return std::string("exp ") + (rule.framePointerIsFromItself() ? "exp" : "?");
    case Kind::kOutermost:
      return "outermost";
    case Kind::kSignal:
      return "signal";
    case Kind::kUnusable:
      return "unusable";
    default:
      return "none";
  }
}

TEST(FrameTable, SaysOfRealLibrariesWhatReadelfSays) {
  const OwnMemory memory;
  ASSERT_EQ(memory.error(), 0);
  int libraries = 0;
  for (const char* path : kLibraries) {
    const MappedLibrary library(path);
    if (!library.isThere()) continue;
    const std::vector<ReadelfRow> rows = rowsOf(path);
    if (rows.empty()) GTEST_SKIP() << "no readelf";
    ++libraries;
    std::map<std::string, int> counts;
    const std::size_t step = 1 + rows.size() / 20000;
    int differences = 0;
    for (std::size_t i = 0; i < rows.size(); i += step) {
      const ReadelfRow& row = rows[i];
      // Of rows with one location the last is in force.
      if (i + 1 < rows.size() && rows[i + 1].code == row.code) continue;
      const std::string found =
          worded(findInFrameTable(memory, library.index(), library.base() + row.code).rule());
      const bool is_usual = row.cfa.starts_with("rsp") || row.cfa.starts_with("rbp");
      std::string wanted = row.cfa + " " + (row.frame_pointer.empty() ? "u" : row.frame_pointer);
      if (row.return_address == "u") {
        wanted = "outermost";
      } else if (row.return_address != "c-8") {
        wanted = "signal";
      } else if (row.cfa == "exp" && found == "unusable") {
        // An expression of another kind than the one that is known.
        wanted = found;
      } else if (!is_usual && row.cfa != "exp") {
        wanted = "unusable";
      } else if (wanted.ends_with(" s")) {
        wanted.back() = 'u';
      }
      ++counts[wanted.substr(0, 3)];
      if (found != wanted && ++differences < 10) {
        ADD_FAILURE() << path << " at " << std::hex << row.code << ": " << found << ", readelf "
                      << wanted;
      }
    }
    EXPECT_EQ(differences, 0) << path;
    EXPECT_GT(counts["rsp"], 1000) << path;
    std::string text;
    for (const auto& [kind, count] : counts) text += kind + " " + std::to_string(count) + ", ";
    RecordProperty(path, text);
  }
  EXPECT_GT(libraries, 0);
}

// Mutated and random tables: what they say is anything, and it is said in time.
TEST(FrameTable, SurvivesAnyContent) {
  const OwnMemory memory;
  const MappedLibrary library(kLibraries[0]);
  if (!library.isThere()) GTEST_SKIP() << "no " << kLibraries[0];
  // .eh_frame follows its index.
  const std::uintptr_t begin = library.index().begin;
  const std::size_t bytes =
      std::min<std::size_t>(library.index().bytes * 4, library.base() + library.bytes() - begin);
  const Bytes original(library.at(begin), library.at(begin) + bytes);
  std::mt19937_64 random(1);
  std::map<Kind, int> kinds;
  for (int turn = 0; turn < 300; ++turn) {
    if (turn % 3 == 0) {
      for (std::size_t i = 0; i < bytes; i += 8) {
        const std::uint64_t word = random();
        std::copy_n(reinterpret_cast<const unsigned char*>(&word),
                    std::min<std::size_t>(8, bytes - i), library.at(begin + i));
      }
      if (turn % 2 == 0) std::copy_n(original.data(), 12, library.at(begin));  // a sound beginning
    } else {
      std::copy(original.begin(), original.end(), library.at(begin));
      const std::size_t changes = turn % 3 == 1 ? bytes / 20 : bytes / 2;
      for (std::size_t i = 0; i < changes; ++i) {
        library.at(begin + 12)[random() % (bytes - 12)] = static_cast<unsigned char>(random());
      }
    }
    for (int i = 0; i < 100; ++i) {
      const std::uintptr_t code = library.base() + random() % library.bytes();
      ++kinds[findInFrameTable(memory, library.index(), code).rule().kind()];
    }
  }
  std::copy(original.begin(), original.end(), library.at(begin));
  EXPECT_GT(kinds[Kind::kCfa], 0);
  EXPECT_GT(kinds[Kind::kUnusable], 0);
}

// Tables that are not where they should be, or not whole.
TEST(FrameTable, ReadsNothingThatIsNotThere) {
  const OwnMemory memory;
  const MappedLibrary library(kLibraries[0]);
  if (!library.isThere()) GTEST_SKIP() << "no " << kLibraries[0];
  const std::uintptr_t code = library.base() + library.bytes() / 2;
  const FrameIndex index = library.index();
  for (const FrameIndex other :
       {FrameIndex{}, FrameIndex{.begin = 0, .bytes = 4096}, FrameIndex{.begin = 16, .bytes = 4096},
        FrameIndex{.begin = ~std::uintptr_t{0} - 8, .bytes = 4096},
        FrameIndex{.begin = std::uintptr_t{1} << 63, .bytes = 4096},
        FrameIndex{.begin = index.begin, .bytes = 3}, FrameIndex{.begin = index.begin, .bytes = 12},
        FrameIndex{.begin = index.begin, .bytes = ~std::size_t{0}},
        FrameIndex{.begin = library.base() + library.bytes() - 4, .bytes = 4096}}) {
    const FrameTableEntry entry = findInFrameTable(memory, other, code);
    EXPECT_TRUE(entry.found == FrameTableEntry::Found::kNone || other.bytes == ~std::size_t{0})
        << other.begin << ' ' << other.bytes;
  }
}

// The rules of this process's own code.
class RealRules {
 public:
  static std::uint32_t version() { return 0; }
  UnwindRule find(RuleKey key) const {
    struct Sought {
      std::uintptr_t code;
      FrameIndex index{};
    } sought{.code = isInterrupted(key) ? addressOf(key) : key - 1};
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* argument) {
          auto& to = *static_cast<Sought*>(argument);
          bool is_it = false;
          FrameIndex index;
          for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
            const auto& segment = info->dlpi_phdr[i];
            const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
            if (segment.p_type == PT_LOAD) is_it |= to.code - begin < segment.p_memsz;
            if (segment.p_type == PT_GNU_EH_FRAME) index = {begin, segment.p_filesz};
          }
          if (is_it) to.index = index;
          return is_it ? 1 : 0;
        },
        &sought);
    return findInFrameTable(memory_, sought.index, sought.code).rule();
  }

 private:
  OwnMemory memory_;
};

StackBounds stackOfThread() {
  pthread_attr_t attributes;
  pthread_getattr_np(pthread_self(), &attributes);
  void* low = nullptr;
  std::size_t bytes = 0;
  pthread_attr_getstack(&attributes, &low, &bytes);
  pthread_attr_destroy(&attributes);
  const auto begin = reinterpret_cast<std::uintptr_t>(low);
  return {.low = begin, .high = begin + bytes};
}

int comparisons = 0;
std::size_t least_frames = 0;

// Walks from here, as backtrace() does.
[[gnu::noinline]] void compareWithBacktrace() {
  const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const RealRules rules;
  Walked walked;
  walkFrames(frame, 0, {.depth = 64}, stackOfThread(), {}, rules, walked);
  void* addresses[80];
  const int count = backtrace(addresses, 80);
  // Before the caller comes this function, and with the address sanitizer its own backtrace().
  void** const end = addresses + count;
  std::vector<std::uintptr_t> wanted;
  for (void** at = std::find(addresses, end, __builtin_return_address(0)); at != end; ++at) {
    wanted.push_back(reinterpret_cast<std::uintptr_t>(*at));
  }
  // The place that a signal interrupted is left out here.
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (rules.find(wanted[i]).kind() != Kind::kSignal) continue;
    wanted.erase(wanted.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  if (wanted.size() > 64) wanted.resize(64);
  EXPECT_EQ(std::vector<std::uintptr_t>(walked.addresses, walked.addresses + walked.count), wanted);
  EXPECT_EQ(walked.end, walked.count == 64 ? WalkEnd::kWhole : WalkEnd::kOutermost);
  least_frames =
      comparisons == 0 ? walked.count : std::min<std::size_t>(least_frames, walked.count);
  ++comparisons;
}

class RealStacks : public testing::Test {
 protected:
  void SetUp() override { comparisons = 0; }
};

TEST_F(RealStacks, OfCodeWithoutFramePointers) {
  frameless::callDeep(compareWithBacktrace, 0);
  frameless::callDeep(compareWithBacktrace, 3);
  frameless::callDeep(compareWithBacktrace, 30);
  EXPECT_EQ(comparisons, 3);
  EXPECT_GT(least_frames, 10U);
}

TEST_F(RealStacks, ThroughLibc) {
  frameless::callFromSort(compareWithBacktrace);
  EXPECT_GE(comparisons, 1);  // the address sanitizer compares once more
}

TEST_F(RealStacks, ThatAreRealignedOrGrow) {
  frameless::callFromAligned(compareWithBacktrace);
  for (const unsigned bytes : {8U, 100U, 5000U}) {
    frameless::callFromGrown(compareWithBacktrace, bytes);
  }
  EXPECT_EQ(comparisons, 4);
}

TEST_F(RealStacks, OfThreads) {
  pthread_t made;
  ASSERT_EQ(pthread_create(
                &made, nullptr,
                [](void* argument) {
                  frameless::callDeep(compareWithBacktrace, 2);
                  return argument;
                },
                nullptr),
            0);
  pthread_join(made, nullptr);
  EXPECT_EQ(comparisons, 1);
}

TEST_F(RealStacks, OfSignalHandlers) {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) { frameless::callDeep(compareWithBacktrace, 0); };
  ASSERT_EQ(sigaction(SIGUSR2, &action, &before), 0);
  frameless::callDeep([] { raise(SIGUSR2); }, 2);
  sigaction(SIGUSR2, &before, nullptr);
  EXPECT_EQ(comparisons, 1);
  EXPECT_GT(least_frames, 20U);
}

#endif

}  // namespace
}  // namespace omnio::trace
