// The file of a phase, through the interface that the phase is run with.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

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
  // MPI-IO only: hints and atomicity; of another interface, and of none, nullptr.
  const model::OpenedFile* opened = nullptr;
};

// Failures name the file and the system's reason. After one, collective calls have to go on until
// the end of the phase, so that no other process waits for ever.
class PhaseFile {
 public:
  explicit PhaseFile(PhaseFileOptions options) : options_(std::move(options)) {}
  PhaseFile(const PhaseFile&) = delete;
  PhaseFile& operator=(const PhaseFile&) = delete;
  virtual ~PhaseFile() = default;

  base::Result<void> open() { return done("cannot open it", doOpen()); }
  // Moves all of the request; `buffer` holds what is written, or takes what is read.
  base::Result<void> transfer(const Request& request, char* buffer);
  base::Result<void> sync() { return done("cannot sync it", doSync()); }
  base::Result<void> close() { return done("cannot close it", doClose()); }

 protected:
  const PhaseFileOptions& options() const { return options_; }

 private:
  // Why it failed; empty when it did not.
  virtual std::string doOpen() = 0;
  virtual std::string doTransfer(const Request& request, char* buffer) = 0;
  virtual std::string doSync() = 0;
  virtual std::string doClose() = 0;
  base::Result<void> done(std::string_view what, const std::string& reason) const;

  const PhaseFileOptions options_;
};

std::unique_ptr<PhaseFile> makePhaseFile(RunApi api, const PhaseFileOptions& options);

}  // namespace omnio::ior
