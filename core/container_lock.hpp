// Keeps others from changing a container that is collected into or packed: one adds to the file,
// the other puts another file in its place.
#pragma once

#include <filesystem>

namespace omnio {

class ContainerLock {
 public:
  // Waits until the container is free. Where the file system knows no locks, goes on without.
  static ContainerLock take(const std::filesystem::path& path);

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

}  // namespace omnio
