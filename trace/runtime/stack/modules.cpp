#include "trace/runtime/stack/modules.hpp"

#include <elf.h>

#include <cstring>
#include <string_view>

#include "core/wire/checksum.hpp"
#include "core/wire/info.hpp"
#include "core/wire/settings.hpp"
#include "trace/runtime/process.hpp"
#include "trace/runtime/sys/own_clone.hpp"
#include "trace/runtime/sys/own_memory.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/runtime/sys/scratch.hpp"
#include "trace/runtime/sys/text.hpp"

namespace omnio::trace {

constexpr std::size_t kIdBytes = 32;  // of a build id: 20 as a rule

// What the file of a module says.
struct ElfFacts {
  std::uint64_t load = 0;
  unsigned char id[kIdBytes] = {};
  std::size_t id_bytes = 0;
  std::uint64_t digest = 0;  // of its code, where it has no build id; 0: not known
  FrameIndex index;
};

namespace {

// A line of /proc/self/maps.
struct Mapping {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool is_executable = false;
  std::uint64_t offset = 0;  // in the file
  std::uint64_t device = 0;
  std::uint64_t inode = 0;  // 0: of no file
  std::string_view path;    // or a name in brackets

  bool holds(std::uintptr_t address) const { return address - begin < end - begin; }
  bool isOf(const Mapping& other) const { return device == other.device && inode == other.inode; }
};

// The number at `at` in that base, up to the first byte that is not a digit.
std::uint64_t takeNumber(const char*& at, const char* end, unsigned base) {
  std::uint64_t value = 0;
  for (; at < end; ++at) {
    const char c = *at;
    const unsigned digit = c >= '0' && c <= '9'   ? static_cast<unsigned>(c - '0')
                           : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a') + 10
                                                  : base;
    if (digit >= base) break;
    value = value * base + digit;
  }
  return value;
}

// "7f00-7f01 r-xp 00001000 fd:01 1234     /path"
Mapping parse(const char* at, const char* end) {
  Mapping mapping;
  const auto skip = [&](std::size_t bytes) {
    at = static_cast<std::size_t>(end - at) < bytes ? end : at + bytes;
  };
  mapping.begin = takeNumber(at, end, 16);
  skip(1);
  mapping.end = takeNumber(at, end, 16);
  skip(1);
  mapping.is_executable = end - at > 2 && at[2] == 'x';
  skip(5);
  mapping.offset = takeNumber(at, end, 16);
  skip(1);
  mapping.device = takeNumber(at, end, 16) << 32;
  skip(1);
  mapping.device |= takeNumber(at, end, 16);
  skip(1);
  mapping.inode = takeNumber(at, end, 10);
  while (at < end && *at == ' ') ++at;
  mapping.path = {at, static_cast<std::size_t>(end - at)};
  return mapping;
}

// Calls `take(mapping)` for each mapping, by address, until it returns false. Returns whether they
// could be read.
template <typename Take>
bool forEachMapping(Take take) {
  constexpr std::size_t kBytes = 16 * 1024;  // a line has a path of at most 4 KiB
  const Scratch<char, 1> buffer(kBytes);
  if (!buffer) return false;
  char* const data = buffer.data();
  const long result = withDescriptor([&]() -> long {
    const long fd = openOwn("maps");
    if (fd < 0) return fd;
    std::size_t used = 0;
    bool goes_on = true;
    bool has_any = false;
    while (goes_on) {
      const long got =
          rawSyscall(SYS_read, fd, address(data + used), static_cast<long>(kBytes - used));
      if (got <= 0) break;
      used += static_cast<std::size_t>(got);
      const char* line = data;
      const char* const end = data + used;
      while (goes_on) {
        const auto* const newline =
            static_cast<const char*>(memchr(line, '\n', static_cast<std::size_t>(end - line)));
        if (newline == nullptr) break;
        has_any = true;
        goes_on = take(parse(line, newline));
        line = newline + 1;
      }
      used = static_cast<std::size_t>(end - line);
      std::memmove(data, line, used);
      if (used == kBytes) break;
    }
    rawSyscall(SYS_close, fd);
    return has_any ? 0 : -EIO;
  });
  return result == 0;
}

void takeBuildId(const OwnMemory& memory, std::uint64_t from, std::uint64_t bytes,
                 ElfFacts& facts) {
  unsigned char notes[512];
  const std::size_t known = bytes < sizeof notes ? bytes : sizeof notes;
  if (!memory.read(from, notes, known)) return;
  constexpr std::size_t kName = sizeof ELF_NOTE_GNU;
  for (std::size_t at = 0; at + sizeof(Elf64_Nhdr) + kName <= known;) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes + at, sizeof note);
    const std::size_t name = at + sizeof note;
    const std::size_t content = name + ((std::size_t{note.n_namesz} + 3) & ~std::size_t{3});
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == kName && content <= known &&
        note.n_descsz <= kIdBytes && note.n_descsz <= known - content &&
        std::memcmp(notes + name, ELF_NOTE_GNU, kName) == 0) {
      facts.id_bytes = note.n_descsz;
      std::memcpy(facts.id, notes + content, facts.id_bytes);
      return;
    }
    at = content + ((std::size_t{note.n_descsz} + 3) & ~std::size_t{3});
  }
}

// Of the code of a file without a build id, as it is in memory: 0 where it cannot be read. It may
// have many megabytes, of which the first are enough.
std::uint64_t digestOf(const OwnMemory& memory, std::uint64_t digest, std::uintptr_t from,
                       std::uint64_t bytes) {
  constexpr std::size_t kBlock = std::size_t{16} * 1024;
  constexpr std::uint64_t kMost = std::uint64_t{32} << 20;
  const Scratch<char, 1> block(kBlock);
  if (!block) return 0;
  const std::uint64_t end = from + (bytes < kMost ? bytes : kMost);
  while (from < end) {
    const std::size_t part = end - from < kBlock ? end - from : kBlock;
    if (!memory.read(from, block.data(), part)) return 0;
    digest = (digest ^ wire::checksum(block.data(), part)) * wire::kGoldenStep;
    digest ^= digest >> 32;
    from += part;
  }
  return digest;
}

// What the file says that is mapped from its beginning at `first`.
void readElf(std::uintptr_t first, ElfFacts& facts) {
  withDescriptor([&]() -> long {
    const OwnMemory memory;
    if (memory.error() != 0) return memory.error();
    Elf64_Ehdr head;
    if (!memory.read(first, &head, sizeof head) ||
        std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_phentsize != sizeof(Elf64_Phdr)) {
      return 0;
    }
    facts.load = first;
    bool has_segment = false;
    Elf64_Phdr segment;
    for (unsigned i = 0; i < head.e_phnum && !has_segment; ++i) {
      if (!memory.read(first + head.e_phoff + i * sizeof segment, &segment, sizeof segment)) break;
      if (segment.p_type != PT_LOAD) continue;
      has_segment = true;
      constexpr std::uint64_t kPage = 4096;
      facts.load = first - (segment.p_vaddr & ~(kPage - 1));
    }
    for (unsigned i = 0; i < head.e_phnum; ++i) {
      if (!memory.read(first + head.e_phoff + i * sizeof segment, &segment, sizeof segment)) break;
      const std::uintptr_t begin = facts.load + segment.p_vaddr;
      if (segment.p_type == PT_NOTE && facts.id_bytes == 0) {
        takeBuildId(memory, begin, segment.p_filesz, facts);
      } else if (segment.p_type == PT_GNU_EH_FRAME) {
        facts.index = {.begin = begin, .bytes = segment.p_filesz};
      }
    }
    for (unsigned i = 0; i < head.e_phnum && facts.id_bytes == 0; ++i) {
      if (!memory.read(first + head.e_phoff + i * sizeof segment, &segment, sizeof segment)) break;
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
      facts.digest = digestOf(memory, facts.digest, facts.load + segment.p_vaddr, segment.p_filesz);
    }
    return 0;
  });
}

// The file, with another content another number; 0 where the content is not known.
std::uint64_t identityOf(const ElfFacts& facts, std::string_view path) {
  if (facts.id_bytes == 0 && facts.digest == 0) return 0;
  const std::uint64_t id =
      facts.id_bytes == 0 ? facts.digest : wire::checksum(facts.id, facts.id_bytes);
  const std::uint64_t sum = id * wire::kGoldenStep ^ wire::checksum(path.data(), path.size());
  return sum == 0 ? 1 : sum;
}

// False when it finds no room.
bool noteFact(Modules::Untold& untold, std::uint32_t number, const ElfFacts& facts,
              std::string_view path) {
  constexpr std::size_t kBytes = 4096 + 256;
  const Scratch<char, 1> memory(kBytes);
  if (!memory) return false;
  Text value(memory.data(), kBytes);
  value.putHex(facts.load, 1).putByte(' ');
  if (facts.id_bytes == 0 && facts.digest == 0) value.putByte('-');
  if (facts.id_bytes == 0 && facts.digest != 0) value.putByte('=').putHex(facts.digest, 16);
  for (std::size_t i = 0; i < facts.id_bytes; ++i) value.putHex(facts.id[i], 2);
  value.putByte(' ').put(path);
  char key[32];
  return untold.add(Text(key, sizeof key).put(wire::info::kModulePrefix).putNumber(number).words(),
                    value.words());
}

}  // namespace

const Modules::Module* Modules::known(std::uintptr_t address) const {
  for (std::uint32_t i = 0; i < count_; ++i) {
    if (!modules_[i].is_gone && modules_[i].holds(address)) return &modules_[i];
  }
  return nullptr;
}

const Modules::Module* Modules::add(const Module& module, const ElfFacts& facts,
                                    std::string_view path) {
  const bool is_of_file = module.inode != 0 || !path.empty();
  const std::uint64_t identity = is_of_file ? identityOf(facts, path) : 0;
  // Those that are gone and may come back are kept as long as there is room.
  Module* place = count_ < kMost ? &modules_[count_] : nullptr;
  std::uint32_t number = 0;
  for (std::uint32_t i = 0; i < count_; ++i) {
    Module& other = modules_[i];
    if (!other.is_gone) continue;
    if (other.identity == 0 || place == nullptr) place = &other;
    if (identity == 0 || other.identity != identity) continue;
    place = &other;
    number = other.number;
    break;
  }
  if (place == nullptr) return nullptr;
  if (number == 0 && is_of_file) {
    if (!noteFact(untold_, last_number_ + 1, facts, path)) return nullptr;
    number = ++last_number_;
  }
  if (place == &modules_[count_]) ++count_;
  const bool is_break_told = number != 0 && place->number == number && place->is_break_told;
  *place = module;
  place->is_break_told = is_break_told;
  place->identity = identity;
  place->number = number;
  return place;
}

Modules::Found Modules::find(std::uintptr_t address, wire::StackFrame& frame) {
  const auto at = [&](const Module& module) {
    frame = {.module = module.number,
             .offset = module.number == 0 ? address : address - module.load};
    return Found::kExecutable;
  };
  frame = {.module = 0, .offset = address};
  if (const Module* const module = known(address)) return at(*module);
  Mapping first;  // the last one that begins with the beginning of a file
  Mapping found;
  constexpr std::size_t kPathBytes = 4096 + 16;
  const Scratch<char, 1> path_memory(kPathBytes);
  if (!path_memory) return Found::kNotKnown;
  Text path(path_memory.data(), kPathBytes);
  const bool is_told = forEachMapping([&](const Mapping& mapping) {
    if (mapping.offset == 0 && mapping.inode != 0) first = mapping;
    if (!mapping.holds(address)) return mapping.begin <= address;
    found = mapping;
    path.put(mapping.path);
    return false;
  });
  if (!is_told) return Found::kNotKnown;
  if (found.end == 0 || !found.is_executable) return Found::kNot;
  Module module;
  module.begin = found.begin;
  module.end = found.end;
  module.device = found.device;
  module.inode = found.inode;
  // The kernel's own page has a name; code that the program made while it ran has none.
  constexpr std::string_view kVdso = "[vdso]";
  ElfFacts facts;
  facts.load = found.begin - found.offset;
  std::string_view name;
  if (found.inode != 0 || path.words() == kVdso) {
    readElf(found.inode == 0 ? found.begin : first.isOf(found) ? first.begin : 0, facts);
    module.load = facts.load;
    name = path.words();
    constexpr std::string_view kDeleted = " (deleted)";
    if (name.ends_with(kDeleted)) name.remove_suffix(kDeleted.size());
  }
  module.index = facts.index;
  module.is_through =
      !name.empty() && wire::isWalkedThrough(process.settings.callstack_through, fileName(name));
  const Module* const added = add(module, facts, name);
  return added == nullptr ? Found::kNotKnown : at(*added);
}

UnwindRule Modules::ruleOf(RuleKey key) const {
  const std::uintptr_t address = addressOf(key);
  const Module* const module = known(address);
  UnwindRule rule = UnwindRule::of(UnwindRule::Kind::kFramePointer);
  if (module == nullptr) return rule;
  withDescriptor([&]() -> long {
    const OwnMemory memory;
    if (memory.error() != 0) return memory.error();
    const std::uintptr_t code = isInterrupted(key) ? address : address - 1;
    rule = findInFrameTable(memory, module->index, code).rule();
    if (rule.kind() == UnwindRule::Kind::kFramePointer && isSignalReturn(memory, address)) {
      rule = UnwindRule::of(UnwindRule::Kind::kSignal);
    }
    return 0;
  });
  return rule.through(module->is_through);
}

void Modules::noteBreak(RuleKey key, std::string_view why) {
  Module* const module = const_cast<Module*>(known(addressOf(key)));
  // What the program makes while it runs has no path, and is told of once.
  bool& is_told = module == nullptr || module->number == 0 ? is_break_told_ : module->is_break_told;
  if (is_told) return;
  char name[32];
  Text fact(name, sizeof name);
  fact.put(wire::info::kStackBreakPrefix).putNumber(module == nullptr ? 0 : module->number);
  is_told = untold_.add(fact.words(), why);
}

bool Modules::markThose(bool* is_there) const {
  return forEachMapping([&](const Mapping& mapping) {
    if (!mapping.is_executable) return true;
    for (std::uint32_t i = 0; i < count_; ++i) {
      const Module& module = modules_[i];
      if (module.is_gone) continue;
      // A mapping that the program has made of its own may have grown.
      if (module.begin == mapping.begin && module.inode == mapping.inode &&
          module.device == mapping.device && module.end <= mapping.end) {
        is_there[i] = true;
      }
    }
    return true;
  });
}

StackBounds firstStack() {
  StackBounds bounds;
  forEachMapping([&](const Mapping& mapping) {
    if (mapping.path != std::string_view("[stack]")) return true;
    bounds = {.low = mapping.begin, .high = mapping.end};
    return false;
  });
  return bounds;
}

bool isBehindCall(std::uintptr_t address) {
  unsigned char code[kCallBytes];
  bool is_read = false;
  withDescriptor([&]() -> long {
    const OwnMemory memory;
    if (memory.error() != 0) return memory.error();
    is_read = memory.read(address - kCallBytes, code, kCallBytes);
    return 0;
  });
  return !is_read || endsWithCall(code);
}

}  // namespace omnio::trace
