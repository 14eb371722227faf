#include "cli/untraceable.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "core/printable.hpp"

namespace omnio::cli {
namespace {

std::string inPath(const std::string& command) {
  if (command.find('/') != std::string::npos) return command;
  const char* variable = getenv("PATH");
  std::string rest = variable == nullptr ? "" : variable;
  while (!rest.empty()) {
    const std::size_t end = rest.find(':');
    const std::string candidate = rest.substr(0, end) + "/" + command;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    rest = end == std::string::npos ? "" : rest.substr(end + 1);
  }
  return command;
}

// An ELF program without an interpreter has no dynamic loader, so nothing to preload into. Scripts
// and programs of the other word size are not judged.
bool isStatic(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  Elf64_Ehdr header{};
  if (!in.read(reinterpret_cast<char*>(&header), sizeof header) ||
      std::string_view(reinterpret_cast<char*>(header.e_ident), SELFMAG) != ELFMAG ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr)) {
    return false;
  }
  in.seekg(static_cast<std::streamoff>(header.e_phoff));
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!in.read(reinterpret_cast<char*>(&segment), sizeof segment)) return false;
    if (segment.p_type == PT_INTERP) return false;
  }
  return true;
}

}  // namespace

std::string whyUntraceable(const std::string& command) {
  const std::string path = inPath(command);
  if (isStatic(path)) return fmt::format("{} is statically linked", printable(path));
  struct stat facts {};
  if (stat(path.c_str(), &facts) == 0 &&
      (((facts.st_mode & S_ISUID) != 0 && facts.st_uid != geteuid()) ||
       ((facts.st_mode & S_ISGID) != 0 && facts.st_gid != getegid()))) {
    return fmt::format("{} runs with its owner's rights, and the loader preloads nothing then",
                       printable(path));
  }
  return {};
}

}  // namespace omnio::cli
