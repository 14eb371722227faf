#include "replay/target/trees.hpp"

namespace omnio::replay {

base::Result<Trees> Trees::open(const std::vector<std::filesystem::path>& targets,
                                const std::filesystem::path& on_node) {
  std::vector<Tree> trees;
  for (const std::filesystem::path& path : targets) {
    base::Result<Tree> tree = Tree::open(path);
    if (!tree) return tree.failure();
    trees.push_back(std::move(*tree));
  }
  std::optional<Tree> own;
  if (!on_node.empty()) {
    base::Result<Tree> tree = Tree::open(on_node);
    if (!tree) return tree.failure();
    own.emplace(std::move(*tree));
  }
  return Trees(std::move(trees), std::move(own));
}

const Tree& Trees::operator[](std::uint32_t number) const {
  if (number == kNodeTree && on_node_) return *on_node_;
  return targets_[number < targets_.size() ? number : 0];
}

}  // namespace omnio::replay
