// Calls of MPI-IO of a recorded rank, which has a process of its own: the application's files,
// views and requests, and the groups of ranks that share files.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/result.hpp"
#include "replay/issue/backend.hpp"
#include "replay/issue/mpi_calls.hpp"
#include "replay/plan/plan.hpp"
#include "replay/run/io_account.hpp"
#include "replay/run/mpi_types.hpp"
#include "replay/run/turn.hpp"

namespace omnio::replay {

// Memory that a request or a split call has for itself until it is over: MPI lets no two share one
// that are under way.
class TransferMemory {
 public:
  // From the pool of the rank, filled with content where the call writes. Where that would have
  // more than its limit (Requests::begin), the buffer of the thread, as calls have it that are over
  // when they return.
  TransferMemory(IssueContext& context, std::uint64_t number, std::uint64_t bytes, bool reads);
  TransferMemory(const TransferMemory&) = delete;
  TransferMemory& operator=(const TransferMemory&) = delete;
  ~TransferMemory();
  char* data() const { return data_; }

 private:
  Requests& pool_;
  std::unique_ptr<Requests::Request> own_;
  char* data_ = nullptr;
};

class MpiFiles final : public MpiCalls {
 public:
  // All outlive it. `turn`: of those who use MPI in this process; `is_alone`: no other process is
  // told of what this one does, and one thread of it replays.
  MpiFiles(const Plan& plan, const Paths& paths, Turn& turn, bool is_alone)
      : plan_(plan), paths_(paths), turn_(turn), is_alone_(is_alone) {}
  ~MpiFiles() override;

  // Makes the communicators and types. Process `rank` of `world` replays recorded rank `rank`; all
  // of them call it.
  base::Result<void> prepare(MPI_Comm world);

  Outcome issue(const Instruction& instruction, IssueContext& context) override;

  // When the last rank of a group came to each of its meetings, of those that came before this rank
  // left; the ranks of the group tell each other. `meetings`: by group, those of this rank. All of
  // the groups call it.
  std::vector<std::vector<std::int64_t>> lastArrivals(
      std::vector<std::vector<Meeting>> meetings) const;

  // Closes what the application left open, as its end would have done; ranks that left a file open
  // call it together. By one thread, when all others are done.
  void finish();

 private:
  struct File {
    MPI_File handle = MPI_FILE_NULL;
    std::int32_t group = -1;
    void* split = nullptr;  // the buffer of a split call that is under way
    std::unique_ptr<TransferMemory> split_memory{};
  };
  struct Pending {
    MPI_Request request = MPI_REQUEST_NULL;
    OwnType type;            // of a transfer of more bytes than an int counts
    std::uint32_t slot = 0;  // of its file
    std::unique_ptr<TransferMemory> memory{};
  };

  File* find(std::uint32_t slot);
  Outcome open(const Instruction& instruction, IssueContext& context);
  Outcome close(const Instruction& instruction, const IssueContext& context);
  Outcome transfer(const Instruction& instruction, IssueContext& context, File& file);
  bool hasPending();
  int waitForAll(std::span<MPI_Request> requests);
  void completeAll(std::uint32_t slot);
  Outcome wait(const Instruction& instruction, const IssueContext& context);
  Outcome other(const Instruction& instruction, IssueContext& context, File& file);

  const Plan& plan_;
  const Paths& paths_;
  // OMPIO looks through the requests that are under way whenever a thread is in MPI, without a
  // lock. While there are some, one thread at a time is in there.
  Turn& turn_;
  const bool is_alone_;
  std::vector<MPI_Comm> groups_;  // null where the rank is not a member
  std::vector<OwnType> types_;
  std::mutex mutex_;                     // of what follows; not held during calls
  std::map<std::uint32_t, File> files_;  // by slot
  std::map<std::uint64_t, Pending> pending_;
  std::atomic<std::uint64_t> transfers_{0};  // that have had memory of their own
};

}  // namespace omnio::replay
