#include "trace/runtime/sys/system_clock.hpp"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include <cstdint>
#include <string_view>

#include "core/wire/clock.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"

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

namespace {

// The kernel takes a time stamp counter that it found unstable off this list. Where the list cannot
// be read (no /sys in a container), the processor's word has to do.
bool kernelTrustsTsc() {
  char text[256];
  const long bytes = readFile("/sys/devices/system/clocksource/clocksource0/available_clocksource",
                              text, sizeof text);
  if (bytes <= 0) return true;
  std::string_view rest(text, static_cast<std::size_t>(bytes));
  while (!rest.empty()) {
    const std::size_t end = rest.find_first_of(" \n");
    if (rest.substr(0, end) == "tsc") return true;
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return false;
}

}  // namespace

wire::ClockKind chooseClock() {
  const wire::ClockKind kind = wire::detectClock();
  if (kind == wire::ClockKind::kTsc && !kernelTrustsTsc()) return wire::ClockKind::kMonotonic;
  return kind;
}

}  // namespace omnio::trace
