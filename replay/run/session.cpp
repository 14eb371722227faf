#include "replay/run/session.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <thread>

#include "core/base/log.hpp"
#include "replay/issue/backend.hpp"
#include "replay/run/pieces.hpp"

namespace omnio::replay {
namespace {

cpu_set_t ownSet() {
  cpu_set_t own;
  CPU_ZERO(&own);
  if (sched_getaffinity(0, sizeof own, &own) != 0) CPU_SET(0, &own);
  return own;
}

}  // namespace

Session::Session(int* argc, char*** argv, const Request& request)
    : request_(request), largest_piece_(largestPiece()) {
  MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &thread_level_);
  MPI_Comm_dup(MPI_COMM_WORLD, &world_);
  MPI_Comm_dup(MPI_COMM_WORLD, &messages_);
  MPI_Comm_rank(world_, &rank_);
  MPI_Comm_size(world_, &size_);
  // For tests on one machine: every process counts as a node, so that flags travel as messages.
  if (getenv("OMNIO_REPLAY_NODE_PER_PROCESS") != nullptr) {
    MPI_Comm_split(world_, rank_, 0, &node_comm_);
  } else {
    MPI_Comm_split_type(world_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node_comm_);
  }
  MPI_Comm_rank(node_comm_, &node_rank_);
  MPI_Comm_size(node_comm_, &node_size_);
  int leader = rank_;
  MPI_Bcast(&leader, 1, MPI_INT, 0, node_comm_);
  std::vector<int> leaders(static_cast<std::size_t>(size_));
  MPI_Allgather(&leader, 1, MPI_INT, leaders.data(), 1, MPI_INT, world_);
  std::vector<int> number(static_cast<std::size_t>(size_), -1);
  node_of_.resize(static_cast<std::size_t>(size_));
  for (std::size_t i = 0; i < leaders.size(); ++i) {
    int& node = number[static_cast<std::size_t>(leaders[i])];
    if (node < 0) {
      node = static_cast<int>(leader_of_.size());
      leader_of_.push_back(leaders[i]);
    }
    node_of_[i] = node;
  }
  if (leader_of_.size() > 1 && thread_level_ < MPI_THREAD_SERIALIZED) {
    abort(fmt::format(
        "this MPI library gives {}, and a replay on several nodes needs MPI_THREAD_SERIALIZED; use "
        "an MPI library that was built with threads, or one node",
        threadLevelName()));
  }
  base::logDebug("MPI: process {} of {} on {}, number {} of {} there, {}", rank_, size_, ownHost(),
                 node_rank_, node_size_, threadLevelName());
}

const char* Session::threadLevelName() const {
  if (thread_level_ == MPI_THREAD_SINGLE) return "MPI_THREAD_SINGLE";
  if (thread_level_ == MPI_THREAD_FUNNELED) return "MPI_THREAD_FUNNELED";
  return thread_level_ == MPI_THREAD_SERIALIZED ? "MPI_THREAD_SERIALIZED" : "MPI_THREAD_MULTIPLE";
}

Session::~Session() {
  while (!sending_.empty()) reap();
  if (window_ != MPI_WIN_NULL) MPI_Win_free(&window_);
  MPI_Comm_free(&node_comm_);
  MPI_Comm_free(&messages_);
  MPI_Comm_free(&world_);
  MPI_Finalize();
}

void Session::abort(const std::string& sentence) {
  sayFailure(request_, fmt::format("rank {}: {}", rank_, sentence));
  // MPI takes one thread at a time. If one stays in there, the process ends all the same.
  constexpr int kTries = 1000;
  for (int i = 0; i < kTries && !turn_.tryToTake(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::_Exit(1);
}

void Session::beginRound(Standing own) {
  const OwnTurn turn(turn_);
  told_ = own;
  MPI_Iallreduce(&told_, &least_, 2, MPI_INT64_T, MPI_MIN, world_, &round_);
}

std::optional<Session::Standing> Session::roundOver() {
  const OwnTurn turn(turn_);
  int done = 0;
  MPI_Test(&round_, &done, MPI_STATUS_IGNORE);
  if (done == 0) return std::nullopt;
  return least_;
}

std::int64_t Session::largest(std::int64_t value) {
  std::int64_t result = value;
  MPI_Allreduce(&value, &result, 1, MPI_INT64_T, MPI_MAX, world_);
  return result;
}

std::uint64_t Session::sum(std::uint64_t value) {
  std::uint64_t result = value;
  MPI_Allreduce(&value, &result, 1, MPI_UINT64_T, MPI_SUM, world_);
  return result;
}

std::uint64_t Session::sumOnNode(std::uint64_t value) {
  std::uint64_t result = value;
  MPI_Allreduce(&value, &result, 1, MPI_UINT64_T, MPI_SUM, node_comm_);
  return result;
}

std::uint64_t Session::ownProcessors() {
  const cpu_set_t own = ownSet();
  return static_cast<std::uint64_t>(CPU_COUNT(&own));
}

std::uint64_t Session::nodeProcessors() {
  const cpu_set_t own = ownSet();
  cpu_set_t all;
  CPU_ZERO(&all);
  MPI_Allreduce(&own, &all, sizeof own, MPI_BYTE, MPI_BOR, node_comm_);
  return static_cast<std::uint64_t>(CPU_COUNT(&all));
}

std::int64_t Session::compareClocks(int leader) {
  constexpr int kTimes = 20;
  constexpr int kTag = 2;
  std::int64_t shortest = INT64_MAX;
  std::int64_t ahead = 0;
  for (int i = 0; i < kTimes; ++i) {
    std::int64_t theirs = 0;
    if (rank_ == 0) {
      MPI_Recv(&theirs, 1, MPI_INT64_T, leader, kTag, world_, MPI_STATUS_IGNORE);
      theirs = nowNs();
      MPI_Send(&theirs, 1, MPI_INT64_T, leader, kTag, world_);
      continue;
    }
    const std::int64_t begin = nowNs();
    MPI_Send(&theirs, 1, MPI_INT64_T, 0, kTag, world_);
    MPI_Recv(&theirs, 1, MPI_INT64_T, 0, kTag, world_, MPI_STATUS_IGNORE);
    const std::int64_t end = nowNs();
    if (end - begin >= shortest) continue;
    shortest = end - begin;
    ahead = begin + shortest / 2 - theirs;
  }
  return ahead;
}

std::int64_t Session::momentForAll(std::int64_t lead_ns) {
  std::int64_t ahead = 0;
  for (const int leader : leader_of_) {
    if (leader != 0 && (rank_ == 0 || rank_ == leader)) ahead = compareClocks(leader);
  }
  barrier();
  std::int64_t moment = nowNs() + lead_ns;
  MPI_Bcast(&moment, 1, MPI_INT64_T, 0, world_);
  return fromNodeLeader(moment + ahead);
}

std::int64_t Session::fromNodeLeader(std::int64_t value) {
  MPI_Bcast(&value, 1, MPI_INT64_T, 0, node_comm_);
  return value;
}

std::string Session::fromFirst(std::string text) {
  std::uint64_t bytes = text.size();
  MPI_Bcast(&bytes, 1, MPI_UINT64_T, 0, world_);
  text.resize(bytes);
  forEachPiece(bytes, largest_piece_, [&](std::uint64_t first, int count) {
    MPI_Bcast(text.data() + first, count, MPI_CHAR, 0, world_);
  });
  return text;
}

std::vector<std::string> Session::gather(const std::string& text) {
  std::vector<std::string> texts;
  // One after the other: what a process has to tell may be large, and there may be many.
  std::uint64_t bytes = text.size();
  constexpr int kTag = 1;
  if (rank_ != 0) {
    MPI_Send(&bytes, 1, MPI_UINT64_T, 0, kTag, world_);
    forEachPiece(bytes, largest_piece_, [&](std::uint64_t first, int count) {
      MPI_Send(text.data() + first, count, MPI_CHAR, 0, kTag, world_);
    });
    return texts;
  }
  texts.push_back(text);
  for (int process = 1; process < size_; ++process) {
    MPI_Recv(&bytes, 1, MPI_UINT64_T, process, kTag, world_, MPI_STATUS_IGNORE);
    std::string& other = texts.emplace_back(bytes, '\0');
    forEachPiece(bytes, largest_piece_, [&](std::uint64_t first, int count) {
      MPI_Recv(other.data() + first, count, MPI_CHAR, process, kTag, world_, MPI_STATUS_IGNORE);
    });
  }
  return texts;
}

std::span<std::atomic<std::int64_t>> Session::sharedWords(std::size_t words) {
  using Word = std::atomic<std::int64_t>;
  static_assert(sizeof(Word) == sizeof(std::int64_t));
  void* base = nullptr;
  if (window_ != MPI_WIN_NULL) MPI_Win_free(&window_);  // of a replay before
  const std::size_t mine = node_rank_ == 0 ? words * sizeof(Word) : 0;
  // Without the memory MPI would end the job in many lines of its own.
  MPI_Comm_set_errhandler(node_comm_, MPI_ERRORS_RETURN);
  const int code = MPI_Win_allocate_shared(static_cast<MPI_Aint>(mine), sizeof(Word), MPI_INFO_NULL,
                                           node_comm_, &base, &window_);
  MPI_Comm_set_errhandler(node_comm_, MPI_ERRORS_ARE_FATAL);
  if (code != MPI_SUCCESS) {
    char text[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    MPI_Error_string(code, text, &length);
    abort(
        fmt::format("{}: MPI has no shared memory for the ranks of this node: {}; /dev/shm needs "
                    "room there (df /dev/shm)",
                    ownHost(), text));
  }
  MPI_Aint size = 0;
  int unit = 0;
  MPI_Win_shared_query(window_, 0, &size, &unit, &base);
  auto* first = static_cast<Word*>(base);
  if (node_rank_ == 0) {
    for (std::size_t i = 0; i < words; ++i) new (first + i) Word(0);
  }
  MPI_Barrier(node_comm_);
  return {first, words};
}

void Session::reap() {
  std::erase_if(sending_, [](Sending& message) {
    int done = 0;
    MPI_Test(&message.request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  });
}

void Session::send(const std::vector<int>& processes, Raised raised) {
  const OwnTurn turn(turn_);
  reap();
  for (const int process : processes) {
    Sending& message = sending_.emplace_back();
    message.raised = raised;
    MPI_Isend(&message.raised, kRaisedWords, MPI_INT64_T, process, 0, messages_, &message.request);
    ++sent_;
  }
}

std::uint64_t Session::underWay() { return sum(sent_ - received_); }

bool Session::isSending() {
  const OwnTurn turn(turn_);
  reap();
  return !sending_.empty();
}

std::optional<Session::Raised> Session::receive() {
  if (!turn_.tryToTake()) return std::nullopt;
  int there = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, 0, messages_, &there, &status);
  std::optional<Raised> raised;
  if (there != 0) {
    MPI_Recv(&raised.emplace(), kRaisedWords, MPI_INT64_T, status.MPI_SOURCE, 0, messages_,
             MPI_STATUS_IGNORE);
    ++received_;
  }
  turn_.giveBack();
  return raised;
}

}  // namespace omnio::replay
