// The processes of a replay work together by the parts of MPI that are here. Only the thread that
// made the session uses it, except where "by any thread" is said: then one at a time
// (MPI_THREAD_SERIALIZED).
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "replay/launch.hpp"
#include "replay/report.hpp"
#include "replay/run/turn.hpp"

namespace omnio::replay {

class Session {
 public:
  // `request` has to outlive the session.
  Session(int* argc, char*** argv, const Request& request);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  int rank() const { return rank_; }
  int size() const { return size_; }
  int nodeProcesses() const { return node_size_; }
  int nodeRank() const { return node_rank_; }
  bool isNodeLeader() const { return node_rank_ == 0; }
  // The processors that this process may use.
  static std::uint64_t ownProcessors();
  // Those of all processes of this node, together, and the sum of a value of each. All of these
  // have to ask.
  std::uint64_t nodeProcessors();
  std::uint64_t sumOnNode(std::uint64_t value);
  // Says why (sayFailure), and ends all processes.
  [[noreturn]] void abort(const std::string& sentence);

  MPI_Comm world() const { return world_; }
  // Whether any number of threads may be in MPI at a time.
  const char* threadLevelName() const;
  bool letsThreadsUseMpi() const { return thread_level_ == MPI_THREAD_MULTIPLE; }

  // Taken by whoever is in MPI, where one thread at a time may be.
  Turn& turn() { return turn_; }

  void barrier() { MPI_Barrier(world_); }
  // Fit for a loop that has something else to do: each process tells, round by round, whether it is
  // done and for how long it has stood still. A round is over when all have told.
  struct Standing {
    std::int64_t done = 0;      // 1: yes
    std::int64_t still_ns = 0;  // of a process that is done: as long as may be
  };
  void beginRound(Standing own);
  // The least of all; nothing while the round is under way.
  std::optional<Standing> roundOver();
  std::int64_t largest(std::int64_t value);
  std::uint64_t sum(std::uint64_t value);
  // One moment for all, so much later than now at process 0, on CLOCK_MONOTONIC of each node. Where
  // nodes have clocks of their own, these are compared by messages to and fro: what is wrong is at
  // most half of the time that the fastest of these took.
  std::int64_t momentForAll(std::int64_t lead_ns);
  // The text of process 0, for all.
  std::string fromFirst(std::string text);
  // One text of each process, by rank; only process 0 gets them.
  std::vector<std::string> gather(const std::string& text);

  // `words` words, 0 to begin with, that all processes of the node share.
  std::span<std::atomic<std::int64_t>> sharedWords(std::size_t words);
  // The node of each process, numbered from 0; the leader of each node.
  const std::vector<int>& nodeOf() const { return node_of_; }
  const std::vector<int>& leaderOf() const { return leader_of_; }
  int node() const { return node_of_[static_cast<std::size_t>(rank_)]; }

  // Messages between nodes: a flag and when it was raised, in which pass (flags.hpp).
  struct Raised {
    std::int64_t flag = 0;
    std::int64_t pass = 0;
    std::int64_t end_ns = 0;
    std::int64_t recorded_end_ns = 0;
    std::int64_t on_time_ns = 0;
  };
  static constexpr int kRaisedWords = sizeof(Raised) / sizeof(std::int64_t);
  // The same to each of these. By any thread.
  void send(const std::vector<int>& processes, Raised raised);
  // By any thread. Nothing where there is none, or where another thread is at MPI just now.
  std::optional<Raised> receive();
  // Whether messages are still on their way out. By any thread.
  bool isSending();
  // The number of messages that were sent and not yet received, over all processes. All processes
  // have to call it, after their threads have ended.
  std::uint64_t underWay();

 private:
  // A message is sent without waiting for its receiver; buffers are kept until it has gone.
  struct Sending {
    MPI_Request request = MPI_REQUEST_NULL;
    Raised raised;
  };
  void reap();  // forgets the messages that have gone
  // The time in ns by which this node's clock is ahead of process 0's. The leader of each node
  // calls it, and process 0 calls it once for each of them.
  std::int64_t compareClocks(int leader);
  std::int64_t fromNodeLeader(std::int64_t value);

  const Request& request_;
  const std::uint64_t largest_piece_;
  MPI_Comm world_ = MPI_COMM_NULL;      // of our own: messages of a preloaded library do not mix in
  MPI_Comm messages_ = MPI_COMM_NULL;   // between nodes
  MPI_Comm node_comm_ = MPI_COMM_NULL;  // the processes of this node
  MPI_Win window_ = MPI_WIN_NULL;
  // Guards MPI and the members below while threads replay. Only abort(), the rounds, and functions
  // for "any thread" run at that time.
  Turn turn_;
  MPI_Request round_ = MPI_REQUEST_NULL;
  Standing told_;
  Standing least_;
  std::list<Sending> sending_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  int thread_level_ = MPI_THREAD_SINGLE;
  int rank_ = 0;
  int size_ = 1;
  int node_rank_ = 0;
  int node_size_ = 1;
  std::vector<int> node_of_;
  std::vector<int> leader_of_;
};

// The replay itself, in each of its processes: prepares files and replays. Process 0 gets what the
// report says. Ends all processes with a sentence when it cannot go on. It may be called again.
// The caller has begun own work (raw::beginOwnWork), which ends for the calls of the schedule
// alone.
struct Replayed {
  Report report{};
  model::ScheduleGlobal global{};
};
Replayed replayOnce(Session& session, const Request& request, const std::filesystem::path& tree);

// The same, and then reports. Returns the exit
// status; ends all processes with a sentence when it cannot go on.
int run(Session& session, const Request& request, const std::filesystem::path& tree);

}  // namespace omnio::replay
