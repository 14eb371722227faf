#include "ior_bridge/runner/phase_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "core/base/printable.hpp"

namespace omnio::ior {
namespace {

using model::Operation;

base::Failure failureOf(const std::string& path, std::string_view what, std::string_view reason) {
  return {base::Code::kSystem, fmt::format("{}: {}: {}", base::printable(path), what, reason)};
}

std::string whatOf(const Request& request) {
  return fmt::format("cannot {} {} bytes at offset {}", model::nameOf(request.operation),
                     request.bytes, request.offset);
}

constexpr const char* kTooShort = "the file ends there";

int openFlags(const PhaseFileOptions& options) {
  const int access = options.reads ? (options.writes ? O_RDWR : O_RDONLY) : O_WRONLY;
  return access | O_CLOEXEC | (options.writes ? O_CREAT : 0);
}

constexpr mode_t kMode = 0644;

class PosixFile : public PhaseFile {
 public:
  explicit PosixFile(PhaseFileOptions options) : options_(std::move(options)) {}
  ~PosixFile() override {
    if (fd_ >= 0) ::close(fd_);
  }

  std::optional<base::Failure> open() override {
    fd_ = ::open(options_.path.c_str(), openFlags(options_), kMode);
    if (fd_ < 0) return failureOf(options_.path, "cannot open it", strerror(errno));
    return std::nullopt;
  }

  std::optional<base::Failure> transfer(const Request& request, char* buffer) override {
    std::uint64_t done = 0;
    while (done < request.bytes) {
      const off_t offset = request.offset + static_cast<off_t>(done);
      const std::size_t rest = request.bytes - done;
      const ssize_t moved = request.operation == Operation::kWrite
                                ? ::pwrite(fd_, buffer + done, rest, offset)
                                : ::pread(fd_, buffer + done, rest, offset);
      if (moved < 0 && errno == EINTR) continue;
      if (moved < 0) return failureOf(options_.path, whatOf(request), strerror(errno));
      if (moved == 0) return failureOf(options_.path, whatOf(request), kTooShort);
      done += static_cast<std::uint64_t>(moved);
    }
    return std::nullopt;
  }

  std::optional<base::Failure> sync() override {
    if (::fsync(fd_) == 0) return std::nullopt;
    return failureOf(options_.path, "cannot fsync it", strerror(errno));
  }

  std::optional<base::Failure> close() override {
    if (::close(std::exchange(fd_, -1)) == 0) return std::nullopt;
    return failureOf(options_.path, "cannot close it", strerror(errno));
  }

 private:
  PhaseFileOptions options_;
  int fd_ = -1;
};

class StdioFile : public PhaseFile {
 public:
  explicit StdioFile(PhaseFileOptions options) : options_(std::move(options)) {}
  ~StdioFile() override {
    if (stream_ != nullptr) std::fclose(stream_);
  }

  // fopen("w") would cut off what other processes have written to a shared file.
  std::optional<base::Failure> open() override {
    const int fd = ::open(options_.path.c_str(), openFlags(options_), kMode);
    if (fd < 0) return failureOf(options_.path, "cannot open it", strerror(errno));
    stream_ = ::fdopen(fd, options_.reads ? (options_.writes ? "r+" : "r") : "w");
    if (stream_ != nullptr) return std::nullopt;
    const int reason = errno;
    ::close(fd);
    return failureOf(options_.path, "cannot open it", strerror(reason));
  }

  std::optional<base::Failure> transfer(const Request& request, char* buffer) override {
    // Between a read and a write the C standard wants a positioning.
    if (request.offset != position_ || (request.operation != last_ && position_ != 0)) {
      if (fseeko(stream_, request.offset, SEEK_SET) != 0) {
        return failureOf(options_.path, whatOf(request), strerror(errno));
      }
      position_ = request.offset;
    }
    last_ = request.operation;
    const std::size_t moved = request.operation == Operation::kWrite
                                  ? std::fwrite(buffer, 1, request.bytes, stream_)
                                  : std::fread(buffer, 1, request.bytes, stream_);
    position_ += static_cast<std::int64_t>(moved);
    if (moved == request.bytes) return std::nullopt;
    return failureOf(options_.path, whatOf(request),
                     std::feof(stream_) != 0 ? kTooShort : strerror(errno));
  }

  std::optional<base::Failure> sync() override {
    if (std::fflush(stream_) == 0 && ::fsync(fileno(stream_)) == 0) return std::nullopt;
    return failureOf(options_.path, "cannot fsync it", strerror(errno));
  }

  std::optional<base::Failure> close() override {
    if (std::fclose(std::exchange(stream_, nullptr)) == 0) return std::nullopt;
    return failureOf(options_.path, "cannot close it", strerror(errno));
  }

 private:
  PhaseFileOptions options_;
  std::FILE* stream_ = nullptr;
  std::int64_t position_ = 0;
  Operation last_ = Operation::kWrite;
};

std::string textOfError(int code) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  return base::printable({text, static_cast<std::size_t>(length)});
}

class MpiFile : public PhaseFile {
 public:
  explicit MpiFile(PhaseFileOptions options) : options_(std::move(options)) {}
  ~MpiFile() override {
    if (file_ != MPI_FILE_NULL) MPI_File_close(&file_);
  }

  std::optional<base::Failure> open() override {
    const int access =
        options_.reads ? (options_.writes ? MPI_MODE_RDWR : MPI_MODE_RDONLY) : MPI_MODE_WRONLY;
    const int mode = access | (options_.writes ? MPI_MODE_CREATE : 0);
    return failureOn("cannot open it", MPI_File_open(options_.communicator, options_.path.c_str(),
                                                     mode, MPI_INFO_NULL, &file_));
  }

  std::optional<base::Failure> transfer(const Request& request, char* buffer) override {
    const int count = static_cast<int>(request.bytes);
    MPI_Status status;
    int code = MPI_SUCCESS;
    if (request.operation == Operation::kWrite) {
      code = options_.collective
                 ? MPI_File_write_at_all(file_, request.offset, buffer, count, MPI_BYTE, &status)
                 : MPI_File_write_at(file_, request.offset, buffer, count, MPI_BYTE, &status);
    } else {
      code = options_.collective
                 ? MPI_File_read_at_all(file_, request.offset, buffer, count, MPI_BYTE, &status)
                 : MPI_File_read_at(file_, request.offset, buffer, count, MPI_BYTE, &status);
    }
    if (code != MPI_SUCCESS) return failureOn(whatOf(request), code);
    int moved = 0;
    MPI_Get_count(&status, MPI_BYTE, &moved);
    if (moved == count) return std::nullopt;
    return failureOf(options_.path, whatOf(request), fmt::format("{} bytes were moved", moved));
  }

  std::optional<base::Failure> sync() override {
    return failureOn("cannot sync it", MPI_File_sync(file_));
  }

  std::optional<base::Failure> close() override {
    return failureOn("cannot close it", MPI_File_close(&file_));
  }

 private:
  std::optional<base::Failure> failureOn(std::string_view what, int code) const {
    if (code == MPI_SUCCESS) return std::nullopt;
    return failureOf(options_.path, what, textOfError(code));
  }

  PhaseFileOptions options_;
  MPI_File file_ = MPI_FILE_NULL;
};

}  // namespace

std::string_view nameOf(RunApi api) {
  switch (api) {
    case RunApi::kPosix:
      return "POSIX";
    case RunApi::kStdio:
      return "STDIO";
    case RunApi::kMpiIo:
      break;
  }
  return "MPIIO";
}

std::unique_ptr<PhaseFile> makePhaseFile(RunApi api, const PhaseFileOptions& options) {
  if (api == RunApi::kPosix) return std::make_unique<PosixFile>(options);
  if (api == RunApi::kStdio) return std::make_unique<StdioFile>(options);
  return std::make_unique<MpiFile>(options);
}

}  // namespace omnio::ior
