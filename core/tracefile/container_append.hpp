// Adds chunks to a container whose process is gone, packed or not, and rewrites its account.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>

#include "core/base/result.hpp"
#include "core/tracefile/container_lock.hpp"
#include "core/wire/container.hpp"

namespace omnio::tracefile {

class ContainerAppender {
 public:
  // Of an existing container; chunks go behind its present end.
  static base::Result<ContainerAppender> open(const std::filesystem::path& path);
  // Of a new one, which must not exist.
  static base::Result<ContainerAppender> create(const std::filesystem::path& path,
                                                const wire::ContainerHeader& header);

  ContainerAppender(ContainerAppender&& other) noexcept;
  ContainerAppender& operator=(ContainerAppender&&) = delete;
  ContainerAppender(const ContainerAppender&) = delete;
  ContainerAppender& operator=(const ContainerAppender&) = delete;
  ~ContainerAppender();

  // Stamps the header for this payload and writes both. Each returns 0 or an errno value; what was
  // written of a chunk that failed is taken back.
  int append(wire::ChunkHeader header, std::string_view payload);
  int writeAccount(wire::Account account);

  std::uint64_t end() const { return end_; }

 private:
  ContainerAppender(int fd, std::uint64_t end, ContainerLock lock)
      : fd_(fd), end_(end), lock_(std::move(lock)) {}
  int fd_;
  std::uint64_t end_;
  ContainerLock lock_;  // packing puts another file in the container's place
};

}  // namespace omnio::tracefile
