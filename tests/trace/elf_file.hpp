// Reads from a shared library's file what it offers and needs: no tool has to be installed.
#pragma once

#include <filesystem>
#include <set>
#include <string>

namespace omnio::test {

struct ElfFile {
  std::set<std::string> defined;    // names of dynamic symbols that it exports
  std::set<std::string> undefined;  // that it takes from elsewhere, and cannot do without
  std::set<std::string> needed;     // libraries it names
  std::set<std::string> versions;   // of symbols that it takes from them: "GLIBC_2.17"
};

// Throws when the file is not a 64-bit ELF file with dynamic symbols.
ElfFile readElf(const std::filesystem::path& path);

}  // namespace omnio::test
