#include "replay/run/node_storage.hpp"

#include <fcntl.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/json_writer.hpp"
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

NodeStorage::NodeStorage(Session& session, const Request& request)
    : session_(session), request_(request) {
  if (!session_.isNodeLeader()) return;
  for (const Target& target : request_.targets) {
    watches_.push_back(std::make_unique<storage::StorageWatch>(target.directory, textPastTracer));
  }
}

void NodeStorage::begin() {
  for (const auto& watch : watches_) watch->begin();
}

void NodeStorage::endOfOperations() {
  records_.clear();
  for (const auto& watch : watches_) {
    records_.push_back(watch->end());
    watch->begin();
  }
}

std::vector<storage::TargetStorage> NodeStorage::endOfSync() {
  std::vector<storage::TargetStorage> targets;
  for (std::size_t i = 0; i < request_.targets.size(); ++i) {
    storage::TargetStorage target;
    target.target = request_.targets[i].name;
    std::string own;
    if (!watches_.empty()) {
      const storage::StorageRecord& record = records_[i];
      const storage::Moved synced = watches_[i]->end().moved;
      base::JsonWriter json(own);
      json.object([&] {
        json.put("host", base::printable(tracefile::thisHost()));
        storage::putStorage(json, record);
        json.object("sync", [&] {
          json.put("read_bytes", synced.read_bytes);
          json.put("written_bytes", synced.written_bytes);
        });
      });
      target.is_known = record.kind != storage::SourceKind::kUnknown;
      target.is_memory = record.kind == storage::SourceKind::kMemory;
      target.moved = record.moved;
      target.synced = synced;
      target.own = record.own;
      target.busy = record.busy.value_or(0);
      target.dirty_bytes = record.memory_end.dirty_bytes;
    }
    const auto on_all_nodes = [&](bool holds) {
      return session_.sum(!watches_.empty() && !holds ? 1 : 0) == 0;
    };
    target.is_known = on_all_nodes(target.is_known);
    target.is_memory = on_all_nodes(target.is_memory);
    const bool has_own = on_all_nodes(target.own.has_value());
    storage::Moved of_group = target.own.value_or(storage::Moved());
    for (std::uint64_t* const bytes :
         {&target.moved.read_bytes, &target.moved.written_bytes, &target.synced.read_bytes,
          &target.synced.written_bytes, &of_group.read_bytes, &of_group.written_bytes,
          &target.dirty_bytes}) {
      *bytes = session_.sum(*bytes);
    }
    target.own.reset();
    if (has_own) target.own = of_group;
    constexpr double kParts = 1e6;
    target.busy =
        static_cast<double>(session_.largest(static_cast<std::int64_t>(target.busy * kParts))) /
        kParts;
    target.nodes = session_.gather(own);
    std::erase(target.nodes, "");
    targets.push_back(std::move(target));
  }
  return targets;
}

}  // namespace omnio::replay
