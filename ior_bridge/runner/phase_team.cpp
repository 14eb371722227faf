#include "ior_bridge/runner/phase_team.hpp"

#include <time.h>

#include <utility>

namespace omnio::ior {
namespace {

template <typename T>
T reduced(T value, MPI_Datatype type, MPI_Op operation, MPI_Comm communicator) {
  T result{};
  MPI_Allreduce(&value, &result, 1, type, operation, communicator);
  return result;
}

}  // namespace

PhaseTeam::PhaseTeam(MPI_Comm communicator) : communicator_(communicator) {
  MPI_Comm_rank(communicator, &rank_);
  MPI_Comm_size(communicator, &size_);
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int on_node = 1;
  MPI_Comm_size(node, &on_node);
  MPI_Comm_free(&node);
  on_one_node_ = most(static_cast<std::int64_t>(size_ - on_node)) == 0;
}

void PhaseTeam::barrier() const { MPI_Barrier(communicator_); }

void PhaseTeam::patientBarrier() const {
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 1'000'000};
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(communicator_, &request);
  int done = 0;
  while (MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done == 0) {
    nanosleep(&kPause, nullptr);
  }
}

double PhaseTeam::least(double value) const {
  return reduced(value, MPI_DOUBLE, MPI_MIN, communicator_);
}
double PhaseTeam::most(double value) const {
  return reduced(value, MPI_DOUBLE, MPI_MAX, communicator_);
}
double PhaseTeam::sum(double value) const {
  return reduced(value, MPI_DOUBLE, MPI_SUM, communicator_);
}
std::uint64_t PhaseTeam::sum(std::uint64_t value) const {
  return reduced(value, MPI_UINT64_T, MPI_SUM, communicator_);
}
std::int64_t PhaseTeam::least(std::int64_t value) const {
  return reduced(value, MPI_INT64_T, MPI_MIN, communicator_);
}
std::int64_t PhaseTeam::most(std::int64_t value) const {
  return reduced(value, MPI_INT64_T, MPI_MAX, communicator_);
}

std::vector<std::uint64_t> PhaseTeam::most(std::vector<std::uint64_t> values) const {
  MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_UINT64_T, MPI_MAX,
                communicator_);
  return values;
}

std::string PhaseTeam::broadcast(std::string text, int from) const {
  auto size = static_cast<std::uint64_t>(text.size());
  MPI_Bcast(&size, 1, MPI_UINT64_T, from, communicator_);
  text.resize(size);
  MPI_Bcast(text.data(), static_cast<int>(size), MPI_CHAR, from, communicator_);
  return text;
}

std::string PhaseTeam::ofFirst(std::string text) const { return broadcast(std::move(text), 0); }

std::optional<base::Failure> PhaseTeam::agreed(const std::optional<base::Failure>& failure) const {
  const int who = reduced(failure ? rank_ : size_, MPI_INT, MPI_MIN, communicator_);
  if (who == size_) return std::nullopt;
  base::Failure result = rank_ == who ? *failure : base::Failure{};
  result.sentence = broadcast(std::move(result.sentence), who);
  int code = static_cast<int>(result.code);
  MPI_Bcast(&code, 1, MPI_INT, who, communicator_);
  result.code = static_cast<base::Code>(code);
  return result;
}

}  // namespace omnio::ior
