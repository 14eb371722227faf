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

std::vector<StorageReport> NodeStorage::endOfSync() {
  std::vector<StorageReport> reports;
  for (std::size_t i = 0; i < request_.targets.size(); ++i) {
    StorageReport report;
    report.target = request_.targets[i].name;
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
      report.is_known = record.kind != storage::SourceKind::kUnknown;
      report.is_memory = record.kind == storage::SourceKind::kMemory;
      report.moved = record.moved;
      report.synced = synced;
      report.busy = record.busy.value_or(0);
      report.dirty_bytes = record.memory_end.dirty_bytes;
    }
    const bool is_asked = !watches_.empty();
    report.is_known = session_.sum(is_asked && !report.is_known ? 1 : 0) == 0;
    report.is_memory = session_.sum(is_asked && !report.is_memory ? 1 : 0) == 0;
    for (std::uint64_t* const bytes :
         {&report.moved.read_bytes, &report.moved.written_bytes, &report.synced.read_bytes,
          &report.synced.written_bytes, &report.dirty_bytes}) {
      *bytes = session_.sum(*bytes);
    }
    constexpr double kParts = 1e6;
    report.busy =
        static_cast<double>(session_.largest(static_cast<std::int64_t>(report.busy * kParts))) /
        kParts;
    report.nodes = session_.gather(own);
    std::erase(report.nodes, "");
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace omnio::replay
