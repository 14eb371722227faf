#include "replay/run/session.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <cstdlib>
#include <new>

namespace omnio::replay {

struct Session::State {
  MPI_Comm world = MPI_COMM_NULL;     // of our own: messages of a preloaded library do not mix in
  MPI_Comm messages = MPI_COMM_NULL;  // between nodes
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Request barrier = MPI_REQUEST_NULL;
  // A message is sent without waiting for its receiver; buffers are kept until it has gone.
  struct Sending {
    MPI_Request request;
    Raised raised;
  };
  std::vector<Sending*> sending;

  void reap() {
    std::erase_if(sending, [](Sending* message) {
      int done = 0;
      MPI_Test(&message->request, &done, MPI_STATUS_IGNORE);
      if (done != 0) delete message;
      return done != 0;
    });
  }
};

Session::Session(int* argc, char*** argv, const Request& request)
    : state_(new State), request_(request) {
  int provided = 0;
  MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_dup(MPI_COMM_WORLD, &state_->world);
  MPI_Comm_dup(MPI_COMM_WORLD, &state_->messages);
  MPI_Comm_rank(state_->world, &rank_);
  MPI_Comm_size(state_->world, &size_);
  // For tests on one machine: every process counts as a node, so that flags travel as messages.
  if (getenv("OMNIO_REPLAY_NODE_PER_PROCESS") != nullptr) {
    MPI_Comm_split(state_->world, rank_, 0, &state_->node);
  } else {
    MPI_Comm_split_type(state_->world, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &state_->node);
  }
  MPI_Comm_rank(state_->node, &node_rank_);
  MPI_Comm_size(state_->node, &node_size_);
  int leader = rank_;
  MPI_Bcast(&leader, 1, MPI_INT, 0, state_->node);
  std::vector<int> leaders(static_cast<std::size_t>(size_));
  MPI_Allgather(&leader, 1, MPI_INT, leaders.data(), 1, MPI_INT, state_->world);
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
}

Session::~Session() {
  while (!state_->sending.empty()) state_->reap();
  if (state_->window != MPI_WIN_NULL) MPI_Win_free(&state_->window);
  MPI_Comm_free(&state_->node);
  MPI_Comm_free(&state_->messages);
  MPI_Comm_free(&state_->world);
  MPI_Finalize();
  delete state_;
}

void Session::abort(const std::string& sentence) {
  sayFailure(request_, fmt::format("rank {}: {}", rank_, sentence));
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::_Exit(1);
}

void Session::barrier() { MPI_Barrier(state_->world); }

void Session::beginBarrier() { MPI_Ibarrier(state_->world, &state_->barrier); }

bool Session::barrierDone() {
  int done = 0;
  MPI_Test(&state_->barrier, &done, MPI_STATUS_IGNORE);
  return done != 0;
}

std::int64_t Session::largest(std::int64_t value) {
  std::int64_t result = value;
  MPI_Allreduce(&value, &result, 1, MPI_INT64_T, MPI_MAX, state_->world);
  return result;
}

std::uint64_t Session::sum(std::uint64_t value) {
  std::uint64_t result = value;
  MPI_Allreduce(&value, &result, 1, MPI_UINT64_T, MPI_SUM, state_->world);
  return result;
}

std::int64_t Session::fromNodeLeader(std::int64_t value) {
  MPI_Bcast(&value, 1, MPI_INT64_T, 0, state_->node);
  return value;
}

std::vector<std::string> Session::gather(const std::string& text) {
  std::vector<std::string> texts;
  // One after the other: what a process has to tell may be large, and there may be many.
  std::uint64_t bytes = text.size();
  constexpr int kTag = 1;
  if (rank_ != 0) {
    MPI_Send(&bytes, 1, MPI_UINT64_T, 0, kTag, state_->world);
    MPI_Send(text.data(), static_cast<int>(bytes), MPI_CHAR, 0, kTag, state_->world);
    return texts;
  }
  texts.push_back(text);
  for (int process = 1; process < size_; ++process) {
    MPI_Recv(&bytes, 1, MPI_UINT64_T, process, kTag, state_->world, MPI_STATUS_IGNORE);
    std::string& other = texts.emplace_back(bytes, '\0');
    MPI_Recv(other.data(), static_cast<int>(bytes), MPI_CHAR, process, kTag, state_->world,
             MPI_STATUS_IGNORE);
  }
  return texts;
}

std::span<std::atomic<std::int64_t>> Session::sharedWords(std::size_t words) {
  using Word = std::atomic<std::int64_t>;
  static_assert(sizeof(Word) == sizeof(std::int64_t));
  void* base = nullptr;
  const std::size_t mine = node_rank_ == 0 ? words * sizeof(Word) : 0;
  MPI_Win_allocate_shared(static_cast<MPI_Aint>(mine), sizeof(Word), MPI_INFO_NULL, state_->node,
                          &base, &state_->window);
  MPI_Aint size = 0;
  int unit = 0;
  MPI_Win_shared_query(state_->window, 0, &size, &unit, &base);
  auto* first = static_cast<Word*>(base);
  if (node_rank_ == 0) {
    for (std::size_t i = 0; i < words; ++i) new (first + i) Word(0);
  }
  MPI_Barrier(state_->node);
  return {first, words};
}

void Session::send(int process, Raised raised) {
  state_->reap();
  auto* message = new State::Sending{MPI_REQUEST_NULL, raised};
  MPI_Isend(&message->raised, 2, MPI_INT64_T, process, 0, state_->messages, &message->request);
  state_->sending.push_back(message);
}

std::optional<Session::Raised> Session::receive() {
  int there = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, 0, state_->messages, &there, &status);
  if (there == 0) return std::nullopt;
  Raised raised;
  MPI_Recv(&raised, 2, MPI_INT64_T, status.MPI_SOURCE, 0, state_->messages, MPI_STATUS_IGNORE);
  return raised;
}

}  // namespace omnio::replay
