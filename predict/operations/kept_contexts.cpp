#include "predict/operations/kept_contexts.hpp"

#include <algorithm>
#include <set>
#include <string_view>

namespace omnio::predict {
namespace {

std::string_view nameOf(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::uint32_t KeptContexts::numberOf(const Module& module) {
  const auto [found, is_new] =
      numbers_.try_emplace(module, static_cast<std::uint32_t>(modules_.size() + 1));
  if (is_new) modules_.push_back(module);
  return found->second;
}

void KeptContexts::take(std::uint64_t context, const event::CallStack* stack) {
  if (contexts_.size() >= kMost) return;
  const auto [place, is_new] = contexts_.try_emplace(context);
  if (!is_new || stack == nullptr) return;
  for (const event::StackFrame& frame : stack->frames) {
    place->second.push_back(
        {.module = frame.module == nullptr
                       ? 0
                       : numberOf({.path = frame.module->path, .build_id = frame.module->build_id}),
         .offset = frame.module == nullptr ? 0 : frame.offset});
  }
}

void KeptContexts::take(const KeptContexts& others, std::uint64_t context,
                        const std::vector<Frame>& frames) {
  if (contexts_.size() >= kMost) return;
  const auto [place, is_new] = contexts_.try_emplace(context);
  if (!is_new) return;
  for (const Frame& frame : frames) {
    place->second.push_back(
        {.module = frame.module == 0 ? 0 : numberOf(others.modules_[frame.module - 1]),
         .offset = frame.offset});
  }
}

void KeptContexts::take(const KeptContexts& others) {
  for (const auto& [context, frames] : others.contexts_) take(others, context, frames);
}

void KeptContexts::goOnWith(const KeptContexts& earlier) {
  const auto updated = earlier.updatedModules(*this);
  for (const auto& [context, frames] : earlier.contexts_) {
    const bool is_gone = std::ranges::any_of(
        frames, [&updated](const Frame& frame) { return updated.contains(frame.module); });
    if (!is_gone) take(earlier, context, frames);
  }
}

bool KeptContexts::fitsTogether() const {
  return std::ranges::all_of(contexts_, [this](const auto& context) {
    return std::ranges::all_of(
        context.second, [this](const Frame& frame) { return frame.module <= modules_.size(); });
  });
}

std::size_t KeptContexts::countIn(const KeptContexts& others) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      contexts_, [&others](const auto& context) { return others.has(context.first); }));
}

std::map<std::uint32_t, std::string> KeptContexts::updatedModules(const KeptContexts& later) const {
  std::set<std::string_view> build_ids;             // of the later run
  std::map<std::string_view, std::string> by_name;  // its modules
  for (const Module& module : later.modules_) {
    build_ids.insert(module.build_id);
    by_name.emplace(nameOf(module.path), module.path);
  }
  std::map<std::uint32_t, std::string> updated;  // by the number here
  for (std::uint32_t i = 0; i < modules_.size(); ++i) {
    const Module& module = modules_[i];
    const auto now = by_name.find(nameOf(module.path));
    if (module.build_id.empty() || now == by_name.end()) continue;
    if (!build_ids.contains(module.build_id)) updated.emplace(i + 1, now->second);
  }
  return updated;
}

std::vector<KeptContexts::Updated> KeptContexts::updatedIn(const KeptContexts& later) const {
  const std::map<std::uint32_t, std::string> updated = updatedModules(later);
  std::map<std::string, std::size_t> counts;
  for (const auto& [context, frames] : contexts_) {
    std::set<std::string_view> through;
    for (const Frame& frame : frames) {
      if (const auto found = updated.find(frame.module); found != updated.end()) {
        through.insert(found->second);
      }
    }
    for (const std::string_view path : through) ++counts[std::string(path)];
  }
  std::vector<Updated> all;
  for (const auto& [path, contexts] : counts) all.push_back({.path = path, .contexts = contexts});
  return all;
}

}  // namespace omnio::predict
