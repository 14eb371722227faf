// Which handles of several processes are one open file description: duplicates share it within a
// process, and a fork shares it with the child.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/base/integers.hpp"
#include "core/tracefile/process.hpp"
#include "core/wire/definition.hpp"

namespace omnio::tracefile {

// An open file description: the process that opened it, and its first handle there.
struct DescriptionKey {
  std::uint64_t process = 0;
  std::uint32_t description = 0;
  bool operator==(const DescriptionKey&) const = default;

  struct Hash {
    std::size_t operator()(const DescriptionKey& key) const {
      return base::mixed(key.process, key.description);
    }
  };
};

class DescriptionKeys {
 public:
  // Outlived by the processes. A fork from another process is not followed.
  explicit DescriptionKeys(const std::vector<const Process*>& processes);

  DescriptionKey of(const Process& process, const wire::HandleDefinition& handle) const;

 private:
  std::unordered_map<std::uint64_t, const Process*> by_token_;
};

}  // namespace omnio::tracefile
