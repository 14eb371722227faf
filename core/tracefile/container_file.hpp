// Keeps others from changing a container that is collected into or packed: one adds to the file,
// the other puts another file in its place.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/result.hpp"
#include "core/wire/container.hpp"

namespace omnio::tracefile {

// A program that was stopped while it held a lock must not stop everybody else for ever.
inline constexpr std::chrono::milliseconds kLockPatience{60'000};

enum class Locked {
  kYes,
  kNotKnown,  // the file system has no locks, or this file cannot be locked
  kBusy,      // another still had it when the time was up
};

// Takes the exclusive flock() of an open file, waiting for at most `patience`.
Locked lockWithin(int fd, std::chrono::milliseconds patience = kLockPatience);

// "PATH: another `omnio collect` or `omnio pack` has been at work on it for 60 s; end it, or wait".
base::Failure busyFailure(const std::filesystem::path& path);

class ContainerLock {
 public:
  // Waits until the container is free; nothing when it is not within `patience`. Where the file
  // system knows no locks, goes on without.
  static std::optional<ContainerLock> take(const std::filesystem::path& path,
                                           std::chrono::milliseconds patience = kLockPatience);

  ContainerLock(ContainerLock&& other) noexcept;
  ContainerLock& operator=(ContainerLock&&) = delete;
  ContainerLock(const ContainerLock&) = delete;
  ContainerLock& operator=(const ContainerLock&) = delete;
  ~ContainerLock();

  bool held() const { return fd_ >= 0; }

 private:
  explicit ContainerLock(int fd) : fd_(fd) {}
  int fd_;
};

// Adds chunks to a container whose process is gone, packed or not, and rewrites its account.
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
