// The files that the kernel knows, each with a descriptor of the file in the backing directory.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace slowfs {

// A descriptor that is closed with the object.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// A name for the file of a descriptor, also of one that was opened with O_PATH: calls on it reach
// the file itself, whatever happened to its names.
class PathOfDescriptor {
 public:
  explicit PathOfDescriptor(int fd);
  const char* text() const { return text_; }

 private:
  char text_[32];
};

// One file. The descriptor (O_PATH) keeps the numbers of the file from being used again.
struct Node {
  Descriptor file;
  dev_t device = 0;
  ino_t inode = 0;
  std::uint64_t lookups = 0;  // how often the kernel got the id and has not forgotten it
};

// The kernel's id of a node is its address, except for the root. Threads share one table; a node
// lives until the kernel forgets it.
class NodeTable {
 public:
  explicit NodeTable(Descriptor root);

  Node& of(std::uint64_t id);

  struct Found {
    int error = 0;
    std::uint64_t id = 0;
    struct stat status = {};
  };
  // The file of that name, which the kernel gets to know once more.
  Found lookUp(const Node& parent, const char* name);
  // The same with the file of an open descriptor.
  Found lookUp(int fd);
  void forget(std::uint64_t id, std::uint64_t lookups);

 private:
  Found add(Descriptor file);

  Node root_;
  std::mutex mutex_;
  std::map<std::pair<dev_t, ino_t>, Node> nodes_;
};

}  // namespace slowfs
