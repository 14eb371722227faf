// The processes that make the accesses: forked on this node, and waiting between orders.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "predict/calibration/shared_area.hpp"

namespace omnio::predict {

class WorkerPool {
 public:
  // `directory` is where they work. `records`: room for so many accesses of each in an order.
  // `is_stopped` is asked while they work.
  static base::Result<std::unique_ptr<WorkerPool>> start(std::string directory,
                                                         std::uint32_t processes,
                                                         std::uint64_t records,
                                                         std::function<bool()> is_stopped);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool();  // ends them, if need be by SIGKILL after a second

  enum class Outcome : std::uint8_t { kDone, kStopped };
  // The first order.key.processes of them carry it out. Fails with the sentence of the first that
  // failed. After a stop there are no more orders.
  base::Result<Outcome> carryOut(const WorkOrder& order);
  const WorkerSlot& slot(std::uint32_t process) const { return slots_[process]; }
  std::span<const AccessRecord> records(std::uint32_t process) const;

 private:
  WorkerPool() = default;
  base::Result<void> startOne(std::uint32_t number);
  [[noreturn]] void serve(std::uint32_t number);
  void end();

  std::string directory_;
  std::function<bool()> is_stopped_;
  std::uint64_t records_each_ = 0;
  void* memory_ = nullptr;
  std::uint64_t memory_bytes_ = 0;
  SharedArea* area_ = nullptr;
  std::span<WorkerSlot> slots_;
  AccessRecord* records_ = nullptr;
  std::vector<pid_t> pids_;
};

}  // namespace omnio::predict
