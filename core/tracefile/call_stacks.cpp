#include "core/tracefile/call_stacks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/base/integers.hpp"
#include "core/wire/checksum.hpp"
#include "core/wire/info.hpp"

namespace omnio::tracefile {
namespace {

constexpr std::uint64_t kNoModule = 1;       // an address in no file: another in each run
constexpr std::uint64_t kUnknownModule = 2;  // the fact is lost

std::uint64_t identityOf(const event::Module& module) {
  const std::string_view words = module.build_id.empty() ? module.name() : module.build_id;
  return wire::checksum(words.data(), words.size());
}

std::uint64_t placesOf(const wire::StackDefinition& definition) {
  std::uint64_t places = definition.count;
  for (std::uint32_t i = 0; i < definition.count; ++i) {
    places = base::mixed(places, definition.frames[i].module, definition.frames[i].offset);
  }
  return places;
}

}  // namespace

const CallStacks::Known& CallStacks::moduleOf(std::uint32_t number) {
  const auto [place, is_new] = modules_.try_emplace(number);
  Known& known = place->second;
  if (!is_new) return known;
  known.identity = kUnknownModule;
  // "LOAD BUILD_ID PATH"
  const std::string& fact = info_.text(fmt::format("{}{}", wire::info::kModulePrefix, number));
  const std::size_t id = fact.find(' ');
  const std::size_t path = id == std::string::npos ? id : fact.find(' ', id + 1);
  if (path == std::string::npos) return known;
  known.module.build_id = fact.substr(id + 1, path - id - 1);
  if (known.module.build_id == "-") known.module.build_id.clear();
  known.module.path = fact.substr(path + 1);
  known.identity = identityOf(known.module);
  known.is_known = true;
  return known;
}

void CallStacks::define(const wire::StackDefinition& definition) {
  const auto [place, is_new] = stacks_.try_emplace(definition.number);
  Stack& known = place->second;
  const std::uint64_t places = placesOf(definition);
  known.chunk = chunk_;
  if (!is_new && known.places == places) return;
  known.places = places;
  event::CallStack& stack = known.stack;
  stack.number = definition.number;
  stack.hash = definition.count;
  stack.frames.clear();
  for (std::uint32_t i = 0; i < definition.count; ++i) {
    const wire::StackFrame& frame = definition.frames[i];
    if (frame.module == 0) {
      stack.frames.push_back({.module = nullptr, .offset = frame.offset});
      stack.hash = base::mixed(stack.hash, kNoModule);
      continue;
    }
    const Known& module = moduleOf(frame.module);
    stack.frames.push_back(
        {.module = module.is_known ? &module.module : nullptr, .offset = frame.offset});
    stack.hash = base::mixed(stack.hash, module.identity, frame.offset);
  }
}

void CallStacks::beginChunk() {
  ++chunk_;
  if (stacks_.size() < most_) return;
  std::erase_if(stacks_, [this](const auto& entry) { return entry.second.chunk + 2 < chunk_; });
  most_ = std::max(kMostKept, 2 * stacks_.size());
}

const event::CallStack* CallStacks::find(std::uint32_t number) const {
  if (number == 0) return nullptr;
  const auto found = stacks_.find(number);
  return found == stacks_.end() ? nullptr : &found->second.stack;
}

}  // namespace omnio::tracefile
