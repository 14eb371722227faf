#include "replay/target/trees.hpp"

namespace omnio::replay {

base::Result<Trees> Trees::open(const std::vector<std::filesystem::path>& targets,
                                const std::filesystem::path& on_node,
                                const std::filesystem::path& in_memory) {
  std::vector<Tree> trees;
  for (const std::filesystem::path& path : targets) {
    base::Result<Tree> tree = Tree::open(path);
    if (!tree) return tree.failure();
    trees.push_back(std::move(*tree));
  }
  std::optional<Tree> of_node[2];
  const std::filesystem::path* const paths[] = {&on_node, &in_memory};
  for (int i = 0; i < 2; ++i) {
    if (paths[i]->empty()) continue;
    base::Result<Tree> tree = Tree::open(*paths[i]);
    if (!tree) return tree.failure();
    of_node[i].emplace(std::move(*tree));
  }
  return Trees(std::move(trees), std::move(of_node[0]), std::move(of_node[1]));
}

const Tree& Trees::operator[](std::uint32_t number) const {
  if (number == kNodeTree && on_node_) return *on_node_;
  if (number == kMemoryTree && in_memory_) return *in_memory_;
  return targets_[number < targets_.size() ? number : 0];
}

}  // namespace omnio::replay
