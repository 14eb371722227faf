#include "tests/trace/elf_file.hpp"

#include <elf.h>

#include <cstring>
#include <stdexcept>
#include <vector>

#include "tests/core/temporary_directory.hpp"

namespace omnio::test {
namespace {

class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : path_(path), bytes_(readAll(path)) {}

  template <typename T>
  T at(std::uint64_t offset) const {
    T value;
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof value) fail("is cut");
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  std::string text(std::uint64_t offset) const {
    if (offset >= bytes_.size()) fail("is cut");
    return bytes_.c_str() + offset;
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(path_.native() + " " + what);
  }

 private:
  std::filesystem::path path_;
  std::string bytes_;
};

}  // namespace

ElfFile readElf(const std::filesystem::path& path) {
  const Reader file(path);
  const auto header = file.at<Elf64_Ehdr>(0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) {
    file.fail("is not a 64-bit ELF file");
  }
  std::vector<Elf64_Shdr> sections;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    sections.push_back(file.at<Elf64_Shdr>(header.e_shoff + i * std::uint64_t{header.e_shentsize}));
  }
  ElfFile result;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_DYNSYM && section.sh_type != SHT_DYNAMIC) continue;
    const std::uint64_t texts = sections.at(section.sh_link).sh_offset;
    for (std::uint64_t at = 0; at < section.sh_size; at += section.sh_entsize) {
      if (section.sh_type == SHT_DYNAMIC) {
        const auto entry = file.at<Elf64_Dyn>(section.sh_offset + at);
        if (entry.d_tag == DT_NEEDED) result.needed.insert(file.text(texts + entry.d_un.d_val));
        continue;
      }
      const auto symbol = file.at<Elf64_Sym>(section.sh_offset + at);
      const std::string name = file.text(texts + symbol.st_name);
      if (name.empty()) continue;
      if (symbol.st_shndx != SHN_UNDEF) {
        result.defined.insert(name);
      } else if (ELF64_ST_BIND(symbol.st_info) != STB_WEAK) {
        result.undefined.insert(name);
      }
    }
  }
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_GNU_verneed) continue;
    const std::uint64_t texts = sections.at(section.sh_link).sh_offset;
    std::uint64_t at = section.sh_offset;
    for (unsigned i = 0; i < section.sh_info; ++i) {
      const auto library = file.at<Elf64_Verneed>(at);
      std::uint64_t version_at = at + library.vn_aux;
      for (unsigned j = 0; j < library.vn_cnt; ++j) {
        const auto version = file.at<Elf64_Vernaux>(version_at);
        result.versions.insert(file.text(texts + version.vna_name));
        version_at += version.vna_next;
      }
      at += library.vn_next;
    }
  }
  if (result.defined.empty()) file.fail("has no dynamic symbols");
  return result;
}

}  // namespace omnio::test
