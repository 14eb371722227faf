// The trees of a replay, open: one a target, and the tree that this node has for itself.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "replay/plan/plan.hpp"
#include "replay/target/tree.hpp"

namespace omnio::replay {

class Trees {
 public:
  // `targets`: paths of the trees, by number, at least one; `on_node`: that of kNodeTree,
  // `in_memory`: that of kMemoryTree, empty where there is none.
  static base::Result<Trees> open(const std::vector<std::filesystem::path>& targets,
                                  const std::filesystem::path& on_node = {},
                                  const std::filesystem::path& in_memory = {});

  // By number; the first one for a number that none has.
  const Tree& operator[](std::uint32_t number) const;
  const Tree& of(const PlannedFile& file) const { return (*this)[file.tree]; }
  // Threads begin in it, and it has the files that no location names.
  const Tree& first() const { return targets_.front(); }
  const std::vector<Tree>& targets() const { return targets_; }
  const std::optional<Tree>& onNode() const { return on_node_; }
  const std::optional<Tree>& inMemory() const { return in_memory_; }

 private:
  Trees(std::vector<Tree> targets, std::optional<Tree> on_node, std::optional<Tree> in_memory)
      : targets_(std::move(targets)),
        on_node_(std::move(on_node)),
        in_memory_(std::move(in_memory)) {}

  std::vector<Tree> targets_;
  std::optional<Tree> on_node_;
  std::optional<Tree> in_memory_;
};

}  // namespace omnio::replay
