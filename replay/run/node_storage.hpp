// Watches the storage of the targets while the schedule's threads run: on the leader of each node,
// past the tracer (core/storage/storage_watch.hpp).
#pragma once

#include <memory>
#include <vector>

#include "core/storage/storage_watch.hpp"
#include "core/storage/target_storage.hpp"
#include "replay/run/session.hpp"

namespace omnio::replay {

// All processes make it and call each function.
class NodeStorage {
 public:
  // Both outlive it.
  NodeStorage(Session& session, const Request& request);

  // Before the first operation; while the tracer leaves this process's own work out.
  void begin();
  // After the last one, before anything else is written.
  void endOfOperations();
  // After the final sync. Process 0 gets one for each target.
  std::vector<storage::TargetStorage> endOfSync();

 private:
  Session& session_;
  const Request& request_;
  std::vector<std::unique_ptr<storage::StorageWatch>> watches_;  // of a leader: one a target
  std::vector<storage::StorageRecord> records_;
};

}  // namespace omnio::replay
