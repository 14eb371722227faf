// A container being written under another name beside the one it is to have, which it gets when it
// is complete and on the device.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace omnio::tracefile {

// Ends the names of drafts: <container>.<number>.draft.
inline constexpr const char* kDraftSuffix = ".draft";

// Whether a file of this name in a trace directory is one.
bool isDraft(const std::filesystem::path& name);

class ContainerDraft {
 public:
  // For the container `target`, with the mode, owner and times of `like`.
  static base::Result<ContainerDraft> create(const std::filesystem::path& target,
                                             const std::filesystem::path& like);

  ContainerDraft(ContainerDraft&& other) noexcept;
  ContainerDraft& operator=(ContainerDraft&&) = delete;
  ContainerDraft(const ContainerDraft&) = delete;
  ContainerDraft& operator=(const ContainerDraft&) = delete;
  ~ContainerDraft();  // without takeName(), the draft is removed

  // Puts bytes at `offset`, which goes upwards; what is left out is a hole. The first error is
  // kept.
  void write(std::uint64_t offset, std::string_view bytes);

  // Makes it `bytes` long and waits until the device has it. Fails with a sentence.
  std::optional<base::Failure> finish(std::uint64_t bytes);

  // Gives it the name of `target`, in place of what had it, for good. Fails when that is `like`,
  // and was written to since create(): somebody records or collects into it after all.
  std::optional<base::Failure> takeName();

  const std::filesystem::path& path() const { return path_; }

 private:
  ContainerDraft(int fd, std::filesystem::path target, std::filesystem::path path)
      : fd_(fd), target_(std::move(target)), path_(std::move(path)) {}
  void flush();
  base::Failure failed(int error) const;

  int fd_;
  std::filesystem::path target_;
  std::filesystem::path path_;
  std::filesystem::path like_;
  bool began_ = false;
  struct stat at_begin_ {};  // of `like`
  std::string buffer_;
  std::uint64_t buffer_at_ = 0;
  int error_ = 0;
};

// Removes drafts in a directory that nobody writes any more; what is being written stays.
void removeDeadDrafts(const std::filesystem::path& directory);

}  // namespace omnio::tracefile
