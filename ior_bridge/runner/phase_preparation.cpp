#include "ior_bridge/runner/phase_preparation.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "core/base/integers.hpp"
#include "core/base/printable.hpp"

namespace omnio::ior {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kSpare = std::uint64_t{1} << 20;  // by which requests are shifted
constexpr std::uint64_t kPiece = std::uint64_t{4} << 20;

// Open only while a function works on the file.
class Descriptor {
 public:
  Descriptor(const std::string& path, int flags) : fd_(::open(path.c_str(), flags, 0644)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

base::Failure failureOf(const std::string& path, std::string_view what) {
  return {base::Code::kSystem,
          fmt::format("{}: {}: {}", base::printable(path), what, strerror(errno))};
}

}  // namespace

void Content::Free::operator()(char* bytes) const { std::free(bytes); }

std::optional<Content> Content::ofRequests(std::uint64_t largest_bytes, std::uint64_t seed) {
  const std::uint64_t size = (largest_bytes + kSpare + kPage - 1) / kPage * kPage;
  Content content;
  content.bytes_.reset(static_cast<char*>(std::aligned_alloc(kPage, size)));
  if (!content.bytes_) return std::nullopt;
  std::uint64_t state = seed * base::kGoldenStep + 0x2545f4914f6cdd1dU;
  for (std::uint64_t i = 0; i < size; i += sizeof state) {
    state ^= state << 13;  // xorshift64 (Marsaglia 2003): quick, and nothing compresses it
    state ^= state >> 7;
    state ^= state << 17;
    memcpy(content.bytes_.get() + i, &state, sizeof state);
  }
  return content;
}

char* Content::forWriting(std::uint64_t n) { return bytes_.get() + n % (kSpare / kPage) * kPage; }

base::Result<void> fill(const std::string& path, std::int64_t begin, std::int64_t end,
                        std::uint64_t seed) {
  const Descriptor file(path, O_WRONLY | O_CREAT | O_CLOEXEC);
  if (file.get() < 0) return failureOf(path, "cannot make it");
  std::optional<Content> content = Content::ofRequests(kPiece, seed);
  if (!content) return failureOf(path, "no memory to fill it");
  std::uint64_t n = 0;
  for (std::int64_t at = begin; at < end;) {
    const auto size = static_cast<std::size_t>(std::min<std::int64_t>(end - at, kPiece));
    const ssize_t written = ::pwrite(file.get(), content->forWriting(n++), size, at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return failureOf(path, fmt::format("cannot fill it at offset {}", at));
    at += written;
  }
  if (::fsync(file.get()) != 0) return failureOf(path, "cannot fsync it");
  return {};
}

std::optional<double> giveUpPages(const std::string& path) {
  const Descriptor file(path, O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0 || status.st_size == 0) {
    return std::nullopt;
  }
  ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  const auto size = static_cast<std::size_t>(status.st_size);
  void* mapping = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (mapping == MAP_FAILED) return std::nullopt;
  std::vector<unsigned char> pages((size + kPage - 1) / kPage);
  std::optional<double> percent;
  if (::mincore(mapping, size, pages.data()) == 0) {
    const auto resident = std::count_if(pages.begin(), pages.end(),
                                        [](unsigned char page) { return (page & 1) != 0; });
    percent = 100.0 * static_cast<double>(resident) / static_cast<double>(pages.size());
  }
  ::munmap(mapping, size);
  return percent;
}

}  // namespace omnio::ior
