#include "trace/runtime/sys/system_clock.hpp"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include <cstdint>
#include <string_view>

#include "core/wire/clock.hpp"

namespace omnio::trace {
namespace {

#if defined(__x86_64__)
constexpr std::string_view kName = "__vdso_clock_gettime";
#else
constexpr std::string_view kName = "__kernel_clock_gettime";
#endif

// The function of the image that the kernel maps into every process, which needs no system call
// (vdso(7)); nullptr when there is none.
wire::ClockReader kernelsFunction() {
  const unsigned long base = getauxval(AT_SYSINFO_EHDR);
  if (base == 0) return nullptr;
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(base);
  const auto* segments = reinterpret_cast<const ElfW(Phdr)*>(base + header->e_phoff);
  const ElfW(Dyn)* dynamic = nullptr;
  std::uintptr_t load = 0;
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    const ElfW(Phdr)& segment = segments[i];
    if (segment.p_type == PT_LOAD && load == 0) {
      load = base + segment.p_offset - segment.p_vaddr;
    } else if (segment.p_type == PT_DYNAMIC) {
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(base + segment.p_offset);
    }
  }
  const char* texts = nullptr;
  const ElfW(Sym)* symbols = nullptr;
  const ElfW(Word)* hash = nullptr;
  for (; dynamic != nullptr && dynamic->d_tag != DT_NULL; ++dynamic) {
    const std::uintptr_t at = load + dynamic->d_un.d_ptr;
    if (dynamic->d_tag == DT_STRTAB) texts = reinterpret_cast<const char*>(at);
    if (dynamic->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(at);
    if (dynamic->d_tag == DT_HASH) hash = reinterpret_cast<const ElfW(Word)*>(at);
  }
  // The table of hashes is only asked how many symbols there are.
  if (texts == nullptr || symbols == nullptr || hash == nullptr) return nullptr;
  for (ElfW(Word) i = 0; i < hash[1]; ++i) {
    if (symbols[i].st_shndx != SHN_UNDEF && kName == texts + symbols[i].st_name) {
      return reinterpret_cast<wire::ClockReader>(load + symbols[i].st_value);
    }
  }
  return nullptr;
}

}  // namespace

void useKernelClocks() {
  const wire::ClockReader function = kernelsFunction();
  if (function != nullptr) wire::clock_reader = function;
}

}  // namespace omnio::trace
