// Prepares the run of a phase: content that storage cannot shrink, files that reads find, and a
// cold cache.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/base/result.hpp"

namespace omnio::ior {

// A buffer of random bytes, larger than a request, so that successive requests can take different
// bytes of it: storage that compresses or finds what it has already gains nothing. Its pages have
// been touched, and what forWriting() gives begins on a page.
class Content {
 public:
  static std::optional<Content> ofRequests(std::uint64_t largest_bytes, std::uint64_t seed);

  char* forReading() { return bytes_.get(); }
  char* forWriting(std::uint64_t n);

 private:
  struct Free {
    void operator()(char* bytes) const;
  };
  Content() = default;
  std::unique_ptr<char, Free> bytes_;
};

// Writes [begin, end) of the file with real blocks, making it where it is missing, and fsyncs it.
base::Result<void> fill(const std::string& path, std::int64_t begin, std::int64_t end,
                        std::uint64_t seed);

// Asks the kernel to give up the file's pages in this node's cache. Returns how many percent of the
// file are in memory after it (some file systems keep them), and nothing where that is not known.
std::optional<double> giveUpPages(const std::string& path);

}  // namespace omnio::ior
