// The file of a phase, through the interface that the phase is run with.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "ior_bridge/runner/phase_requests.hpp"

namespace omnio::ior {

enum class RunApi { kPosix, kStdio, kMpiIo };
std::string_view nameOf(RunApi api);  // as in the results: POSIX, STDIO, MPIIO

struct PhaseFileOptions {
  std::string path;
  bool writes = true;  // makes the file where it is missing
  bool reads = false;
  bool collective = false;                // MPI-IO only
  MPI_Comm communicator = MPI_COMM_SELF;  // MPI-IO only: those who open the file together
};

// Failures name the file and the system's reason. After one, collective calls have to go on until
// the end of the phase, so that no other process waits for ever.
class PhaseFile {
 public:
  PhaseFile() = default;
  PhaseFile(const PhaseFile&) = delete;
  PhaseFile& operator=(const PhaseFile&) = delete;
  virtual ~PhaseFile() = default;

  virtual std::optional<base::Failure> open() = 0;
  // Moves all of the request; `buffer` holds what is written, or takes what is read.
  virtual std::optional<base::Failure> transfer(const Request& request, char* buffer) = 0;
  virtual std::optional<base::Failure> sync() = 0;
  virtual std::optional<base::Failure> close() = 0;
};

std::unique_ptr<PhaseFile> makePhaseFile(RunApi api, const PhaseFileOptions& options);

}  // namespace omnio::ior
