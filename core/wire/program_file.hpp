// Foresees what the dynamic loader does with a program file: whether it preloads anything into it,
// and whether a sanitizer's runtime would refuse to start after a preloaded library. Looks at the
// file alone, by the caller's way of reading it; allocates nothing.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace omnio::wire {

struct ProgramFacts {
  bool is_static = false;      // no interpreter: nothing to preload into
  bool is_other_word = false;  // of 32 bits where the tracer has 64
  bool wants_asan = false;     // linked with the shared runtime of the address sanitizer
  // The interpreter that a script names in its first line; empty: no script.
  char interpreter[256] = {};
};

// `read(offset, buffer, bytes)` returns how many bytes it has read. False when the file is neither
// a program of this machine nor a script.
template <typename Read>
bool examineProgram(Read read, ProgramFacts& facts) {
  union {
    Elf64_Ehdr elf;
    char text[sizeof ProgramFacts::interpreter];
  } head{};
  const std::size_t got = read(std::uint64_t{0}, head.text, sizeof head.text - 1);
  if (got > 2 && head.text[0] == '#' && head.text[1] == '!') {
    std::size_t begin = 2;
    while (begin < got && (head.text[begin] == ' ' || head.text[begin] == '\t')) ++begin;
    std::size_t end = begin;
    while (end < got && std::strchr(" \t\n\r", head.text[end]) == nullptr) ++end;
    std::memcpy(facts.interpreter, head.text + begin, end - begin);
    facts.interpreter[end - begin] = '\0';
    return true;
  }
  if (got < sizeof head.elf || std::memcmp(head.elf.e_ident, ELFMAG, SELFMAG) != 0) return false;
  if (head.elf.e_ident[EI_CLASS] != ELFCLASS64) {
    facts.is_other_word = true;
    return true;
  }
  if (head.elf.e_phentsize != sizeof(Elf64_Phdr)) return false;
  facts.is_static = true;
  Elf64_Phdr dynamic{};
  const auto segment = [&](unsigned i, Elf64_Phdr& into) {
    return read(head.elf.e_phoff + i * sizeof into, reinterpret_cast<char*>(&into), sizeof into) ==
           sizeof into;
  };
  for (unsigned i = 0; i < head.elf.e_phnum; ++i) {
    Elf64_Phdr one{};
    if (!segment(i, one)) return false;
    if (one.p_type == PT_INTERP) facts.is_static = false;
    if (one.p_type == PT_DYNAMIC) dynamic = one;
  }
  if (facts.is_static || dynamic.p_type != PT_DYNAMIC) return true;
  // Twice over the dynamic section: where its texts are, then the libraries that it names.
  constexpr std::uint64_t kMostEntries = 512;
  std::uint64_t texts = 0;
  const auto each_entry = [&](auto action) {
    for (std::uint64_t i = 0; i < dynamic.p_filesz / sizeof(Elf64_Dyn) && i < kMostEntries; ++i) {
      Elf64_Dyn entry{};
      if (read(dynamic.p_offset + i * sizeof entry, reinterpret_cast<char*>(&entry),
               sizeof entry) != sizeof entry ||
          entry.d_tag == DT_NULL || !action(entry)) {
        return;
      }
    }
  };
  each_entry([&texts](const Elf64_Dyn& entry) {
    if (entry.d_tag == DT_STRTAB) texts = entry.d_un.d_ptr;
    return texts == 0;
  });
  std::uint64_t texts_at = 0;
  for (unsigned i = 0; i < head.elf.e_phnum && texts != 0; ++i) {
    Elf64_Phdr one{};
    if (segment(i, one) && one.p_type == PT_LOAD && texts >= one.p_vaddr &&
        texts < one.p_vaddr + one.p_filesz) {
      texts_at = texts - one.p_vaddr + one.p_offset;
    }
  }
  if (texts_at == 0) return true;
  each_entry([&](const Elf64_Dyn& entry) {
    // The C library's own come last, and libraries before them are few.
    if (entry.d_tag != DT_NEEDED) return true;
    char name[32] = {};
    const std::size_t bytes = read(texts_at + entry.d_un.d_val, name, sizeof name - 1);
    const std::string_view library(name, strnlen(name, bytes));
    facts.wants_asan = library.starts_with("libasan.so") || library.starts_with("libclang_rt.asan");
    return !facts.wants_asan;
  });
  return true;
}

// With this option in its ASAN_OPTIONS such a program starts all the same: the runtime is loaded
// after the preloaded libraries, and works there.
inline constexpr const char* kAsanVariable = "ASAN_OPTIONS";
inline constexpr std::string_view kAsanOption = "verify_asan_link_order=0";

}  // namespace omnio::wire
