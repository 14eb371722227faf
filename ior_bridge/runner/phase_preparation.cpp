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

namespace {

using model::Operation;

// In what the run differs from the phase.
std::vector<std::string> notesOf(const model::Phase& phase) {
  std::vector<std::string> notes;
  const bool random = phase.mode == model::AccessMode::kRandom;
  for (const model::PhaseOperation& o : phase.operations) {
    if (o.varying && !random) {
      notes.push_back(fmt::format("{}s of {} to {} bytes were run with {}",
                                  model::nameOf(o.operation), o.smallest_bytes, o.largest_bytes,
                                  o.request_bytes));
    }
    if (!o.init_offset.known) {
      notes.push_back(fmt::format(
          "where the {}s go is not known: processes were given regions one behind another",
          model::nameOf(o.operation)));
    }
  }
  if (random && (phase.random.empty() ||
                 std::any_of(phase.random.begin(), phase.random.end(),
                             [](const auto& access) { return access.left_out > 0; }))) {
    notes.emplace_back("requests that the model has not stored were run in a shuffled order");
  }
  return notes;
}

}  // namespace

bool has(const model::Phase& phase, Operation operation) {
  return std::any_of(phase.operations.begin(), phase.operations.end(),
                     [&](const model::PhaseOperation& o) { return o.operation == operation; });
}

bool isShared(const model::PhaseModel& model, const model::Phase& phase) {
  return model.files[static_cast<std::size_t>(phase.file)].shared;
}

RunApi apiOf(const model::Phase& phase, const RunnerOptions& options) {
  if (options.api) return *options.api;
  if (phase.interface == model::Interface::kMpiIo) return RunApi::kMpiIo;
  return phase.interface == model::Interface::kPosix ? RunApi::kPosix : RunApi::kStdio;
}

PhaseTest describe(const model::PhaseModel& model, const model::Phase& phase,
                   const RunnerOptions& options) {
  const model::PhaseOperation& first = phase.operations.front();
  PhaseTest test;
  test.phase = phase.id;
  test.api = nameOf(apiOf(phase, options));
  test.tasks = static_cast<int>(phase.ranks.size());
  test.iterations = options.iterations;
  test.shared = isShared(model, phase);
  test.collective = phase.collective && apiOf(phase, options) == RunApi::kMpiIo;
  test.random = phase.mode == model::AccessMode::kRandom;
  test.fsync = options.fsync && has(phase, Operation::kWrite);
  test.cold = options.cold && has(phase, Operation::kRead);
  test.request_bytes = first.request_bytes;
  test.block_bytes = model::weightOf(phase, first) / phase.ranks.size();
  test.notes = notesOf(phase);
  return test;
}

}  // namespace omnio::ior
