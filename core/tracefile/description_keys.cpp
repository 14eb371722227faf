#include "core/tracefile/description_keys.hpp"

#include <charconv>
#include <string>

#include "core/wire/info.hpp"

namespace omnio::tracefile {
namespace {

std::uint64_t parentOf(const Process& process) {
  const std::string& text = process.info.text(wire::info::kParentToken);
  std::uint64_t token = 0;
  std::from_chars(text.data(), text.data() + text.size(), token, 16);
  return token;
}

}  // namespace

DescriptionKeys::DescriptionKeys(const std::vector<const Process*>& processes) {
  for (const Process* process : processes) by_token_[process->token] = process;
}

DescriptionKey DescriptionKeys::of(const Process& process,
                                   const wire::HandleDefinition& handle) const {
  const Process* owner = &process;
  // Inherited over one fork or more: the opener is the ancestor of that number. (A damaged
  // trace may name a process as its own ancestor.)
  for (std::size_t forks = 0; handle.birth_pid != 0 && owner->pid != handle.birth_pid; ++forks) {
    const auto parent = by_token_.find(parentOf(*owner));
    if (parent == by_token_.end() || forks == by_token_.size())
      return {process.token, handle.description};
    owner = parent->second;
  }
  return {owner->token, handle.description};
}

}  // namespace omnio::tracefile
