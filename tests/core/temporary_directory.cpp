#include "tests/core/temporary_directory.hpp"

#include <cstdlib>
#include <fstream>
#include <ios>
#include <stdexcept>
#include <system_error>

namespace omnio::test {

TemporaryDirectory::TemporaryDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "omnio-test-XXXXXX").native();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp: " + name);
  path_ = std::filesystem::canonical(name);
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

std::string readAll(const std::filesystem::path& path) {
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  std::ifstream in(path, std::ios::binary);
  std::string bytes;
  // One at a time takes seconds for what some tests read.
  for (std::streamsize got = 1; got > 0; got = in.gcount()) {
    const std::size_t before = bytes.size();
    bytes.resize(before + kPiece);
    in.read(bytes.data() + before, kPiece);
    bytes.resize(before + static_cast<std::size_t>(in.gcount()));
  }
  return bytes;
}

void writeAll(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << bytes;
  if (!out.flush()) throw std::runtime_error("cannot write " + path.native());
}

}  // namespace omnio::test
