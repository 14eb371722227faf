// Watches the storage of the targets while calls are made: on one process of each node, past the
// tracer (core/storage/storage_watch.hpp).
#pragma once

#include <memory>
#include <vector>

#include "core/storage/held_memory.hpp"
#include "core/storage/storage_watch.hpp"
#include "core/storage/target_storage.hpp"
#include "replay/run/session.hpp"

namespace omnio::replay {

// All processes make it and call report(); the other functions do nothing on one that does not
// watch.
class NodeStorage {
 public:
  // Both outlive it. `watches`: this process may be the one of its node. It leads the node, or at a
  // time when no other process of the node watches, those that make the calls.
  NodeStorage(Session& session, const Targets& targets, bool watches);

  // Before the first call; while the tracer leaves this process's own work out. After end() it
  // begins another part of the time.
  void begin();
  // After the last one, before anything else is written.
  void end();
  // The final sync comes next, up to report().
  void beginSync();
  // Process 0 gets one for each target. Parts of the time are one.
  std::vector<storage::TargetStorage> report();

 private:
  Session& session_;
  const Targets& targets_;
  std::vector<std::unique_ptr<storage::StorageWatch>> watches_;  // one a target, if it watches
  std::vector<storage::StorageRecord> records_;                  // once it has watched
  bool is_syncing_ = false;
};

// The sum over what the leaders of the nodes hold, for process 0. All processes call it; when it
// returns, all is held.
storage::HeldBytes heldOnNodes(Session& session, const storage::HeldMemory& memory);

}  // namespace omnio::replay
