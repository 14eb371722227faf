// The directory that a calibration makes in its target, and all that it has to do with the target
// before it measures.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/file.hpp"
#include "core/base/result.hpp"
#include "predict/calibration/document.hpp"

namespace omnio::predict {

class WorkDirectory {
 public:
  // Fails where another one is at work on this node, in whichever container: it has the target
  // locked (flock). Removes what calibrations left that were killed here: their names have the
  // host, the boot of its kernel with the container, the process and when that began. `notes` gets
  // a sentence for each, and for those of other hosts and containers, whose processes cannot be
  // seen: they stay. Fails where no directory can be made.
  static base::Result<std::unique_ptr<WorkDirectory>> make(const std::filesystem::path& target,
                                                           std::vector<std::string>& notes);
  WorkDirectory(const WorkDirectory&) = delete;
  WorkDirectory& operator=(const WorkDirectory&) = delete;
  ~WorkDirectory();  // with all that is in it

  const std::filesystem::path& path() const { return path_; }

 private:
  WorkDirectory(std::filesystem::path path, base::Descriptor lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}
  std::filesystem::path path_;
  base::Descriptor lock_;  // of the target; none where it cannot be locked
};

// What a cache state asks of the target, found by a small file. `reason` says why it cannot be had:
// "does not support O_DIRECT"; empty when it can.
struct CacheProbe {
  std::string reason;
  std::uint64_t block_bytes = 1;  // of kDirect
};
base::Result<CacheProbe> probeCache(const WorkDirectory& directory, CacheState state);

CalibratedTarget describeTarget(const std::filesystem::path& target);
// Bytes that are free for this user; nothing where the file system does not say.
std::optional<std::uint64_t> freeBytes(const std::filesystem::path& target);

}  // namespace omnio::predict
