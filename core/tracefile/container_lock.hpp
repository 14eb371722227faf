// Keeps others from changing a container that is collected into or packed: one adds to the file,
// the other puts another file in its place.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>

#include "core/base/result.hpp"

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

}  // namespace omnio::tracefile
