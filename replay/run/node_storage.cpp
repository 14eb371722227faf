#include "replay/run/node_storage.hpp"

#include <fcntl.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "core/base/printable.hpp"
#include "core/tracefile/process.hpp"
#include "replay/issue/libc.hpp"

namespace omnio::replay {
namespace {

// The thread of a watch works while the tracer records.
std::string textPastTracer(const std::filesystem::path& path) {
  std::string text;
  const int fd = raw::openAt(AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char bytes[1 << 14];
  std::int64_t got = 0;
  while ((got = raw::readWholeAt(fd, bytes, sizeof bytes, text.size())) > 0) {
    text.append(bytes, static_cast<std::size_t>(got));
  }
  raw::closeFd(fd);
  return text;
}

}  // namespace

NodeStorage::NodeStorage(Session& session, const Targets& targets, bool watches)
    : session_(session), targets_(targets) {
  if (!watches) return;
  for (const Target& target : targets_) {
    watches_.push_back(std::make_unique<storage::StorageWatch>(target.directory, textPastTracer));
  }
}

void NodeStorage::begin() {
  for (const auto& watch : watches_) watch->begin();
}

void NodeStorage::end() {
  const bool is_first = records_.empty();
  for (std::size_t i = 0; i < watches_.size(); ++i) {
    storage::StorageRecord record = watches_[i]->end();
    if (is_first) {
      records_.push_back(std::move(record));
    } else {
      storage::append(records_[i], std::move(record));
    }
  }
}

void NodeStorage::beginSync() {
  is_syncing_ = true;
  begin();
}

std::vector<storage::TargetStorage> NodeStorage::report() {
  const bool has_watched = !records_.empty();
  const auto on_all_nodes = [&](bool holds) {
    return session_.sum(has_watched && !holds ? 1 : 0) == 0;
  };
  // The counts of a control group are those of the calls where all processes of a node are in it.
  const std::uint64_t group = std::hash<std::string>()(storage::countedGroup());
  const auto processes = static_cast<std::uint64_t>(session_.nodeProcesses());
  const bool is_one_group = session_.sumOnNode(group) == group * processes;
  std::vector<storage::TargetStorage> targets;
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    storage::TargetStorage target;
    target.target = targets_[i].name;
    std::string node;
    if (has_watched) {
      storage::StorageRecord& record = records_[i];
      if (!is_one_group) record.own.reset();
      if (is_syncing_) target.synced = watches_[i]->end().moved;
      node = storage::nodeJson(base::printable(tracefile::thisHost()), record, target.synced);
      target.is_known = record.kind != storage::SourceKind::kUnknown;
      target.is_memory = record.kind == storage::SourceKind::kMemory;
      target.why_unknown = record.why_unknown;
      target.moved = record.moved;
      target.own = record.own;
      target.busy = record.busy.value_or(0);
      target.dirty_bytes = record.memory_end.dirty_bytes;
    }
    target.is_known = on_all_nodes(target.is_known);
    target.is_memory = on_all_nodes(target.is_memory);
    const bool has_own = on_all_nodes(target.own.has_value());
    storage::Moved own = target.own.value_or(storage::Moved());
    for (std::uint64_t* const bytes :
         {&target.moved.read_bytes, &target.moved.written_bytes, &target.synced.read_bytes,
          &target.synced.written_bytes, &own.read_bytes, &own.written_bytes, &target.dirty_bytes}) {
      *bytes = session_.sum(*bytes);
    }
    target.own.reset();
    if (has_own) target.own = own;
    constexpr double kParts = 1e6;
    target.busy =
        static_cast<double>(session_.largest(static_cast<std::int64_t>(target.busy * kParts))) /
        kParts;
    target.nodes = session_.gather(node);
    std::erase(target.nodes, "");
    targets.push_back(std::move(target));
  }
  records_.clear();
  is_syncing_ = false;
  return targets;
}

storage::HeldBytes heldOnNodes(Session& session, const storage::HeldMemory& memory) {
  storage::HeldBytes held = memory.held();
  held.wanted_bytes = session.sum(held.wanted_bytes);
  held.held_bytes = session.sum(held.held_bytes);
  held.is_locked = session.sum(held.is_locked ? 0 : 1) == 0;
  return held;
}

}  // namespace omnio::replay
