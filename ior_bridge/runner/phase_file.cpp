#include "ior_bridge/runner/phase_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <utility>

#include "core/base/json_reader.hpp"
#include "core/base/printable.hpp"
#include "replay/run/mpi_types.hpp"

namespace omnio::ior {
namespace {

using model::Operation;

constexpr const char* kTooShort = "the file ends there";

std::string reasonUnless(bool done) { return done ? std::string() : strerror(errno); }

int openDescriptor(const PhaseFileOptions& options) {
  const int access = options.reads ? (options.writes ? O_RDWR : O_RDONLY) : O_WRONLY;
  return ::open(options.path.c_str(), access | O_CLOEXEC | (options.writes ? O_CREAT : 0), 0644);
}

class PosixFile : public PhaseFile {
 public:
  using PhaseFile::PhaseFile;
  ~PosixFile() override {
    if (fd_ >= 0) ::close(fd_);
  }

 private:
  std::string doOpen() override {
    fd_ = openDescriptor(options());
    return reasonUnless(fd_ >= 0);
  }

  std::string doTransfer(const Request& request, char* buffer) override {
    std::uint64_t done = 0;
    while (done < request.bytes) {
      const off_t offset = request.offset + static_cast<off_t>(done);
      const std::size_t rest = request.bytes - done;
      const ssize_t moved = request.operation == Operation::kWrite
                                ? ::pwrite(fd_, buffer + done, rest, offset)
                                : ::pread(fd_, buffer + done, rest, offset);
      if (moved < 0 && errno == EINTR) continue;
      if (moved < 0) return strerror(errno);
      if (moved == 0) return kTooShort;
      done += static_cast<std::uint64_t>(moved);
    }
    return {};
  }

  std::string doSync() override { return reasonUnless(::fsync(fd_) == 0); }
  std::string doClose() override { return reasonUnless(::close(std::exchange(fd_, -1)) == 0); }

  int fd_ = -1;
};

class StdioFile : public PhaseFile {
 public:
  using PhaseFile::PhaseFile;
  ~StdioFile() override {
    if (stream_ != nullptr) std::fclose(stream_);
  }

 private:
  // fopen("w") would cut off what other processes have written to a shared file.
  std::string doOpen() override {
    const int fd = openDescriptor(options());
    if (fd < 0) return strerror(errno);
    stream_ = ::fdopen(fd, options().reads ? (options().writes ? "r+" : "r") : "w");
    const std::string reason = reasonUnless(stream_ != nullptr);
    if (stream_ == nullptr) ::close(fd);
    return reason;
  }

  std::string doTransfer(const Request& request, char* buffer) override {
    // Between a read and a write the C standard wants a positioning.
    if (request.offset != position_ || (request.operation != last_ && position_ != 0)) {
      if (fseeko(stream_, request.offset, SEEK_SET) != 0) return strerror(errno);
      position_ = request.offset;
    }
    last_ = request.operation;
    const std::size_t moved = request.operation == Operation::kWrite
                                  ? std::fwrite(buffer, 1, request.bytes, stream_)
                                  : std::fread(buffer, 1, request.bytes, stream_);
    position_ += static_cast<std::int64_t>(moved);
    if (moved == request.bytes) return {};
    return std::feof(stream_) != 0 ? kTooShort : strerror(errno);
  }

  std::string doSync() override {
    return reasonUnless(std::fflush(stream_) == 0 && ::fsync(fileno(stream_)) == 0);
  }
  std::string doClose() override {
    return reasonUnless(std::fclose(std::exchange(stream_, nullptr)) == 0);
  }

  std::FILE* stream_ = nullptr;
  std::int64_t position_ = 0;
  Operation last_ = Operation::kWrite;
};

class MpiFile : public PhaseFile {
 public:
  using PhaseFile::PhaseFile;
  ~MpiFile() override {
    if (file_ != MPI_FILE_NULL) MPI_File_close(&file_);
  }

 private:
  static std::string reasonOf(int code) {
    if (code == MPI_SUCCESS) return {};
    char text[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    MPI_Error_string(code, text, &length);
    return base::printable({text, static_cast<std::size_t>(length)});
  }

  std::string doOpen() override {
    const int access =
        options().reads ? (options().writes ? MPI_MODE_RDWR : MPI_MODE_RDONLY) : MPI_MODE_WRONLY;
    const int mode = access | (options().writes ? MPI_MODE_CREATE : 0);
    MPI_Info hints = MPI_INFO_NULL;
    if (options().opened != nullptr && !options().opened->hints.empty()) {
      MPI_Info_create(&hints);
      for (const auto& [key, value] : options().opened->hints) {
        MPI_Info_set(hints, key.c_str(), value.c_str());
      }
    }
    int code = MPI_File_open(options().communicator, options().path.c_str(), mode, hints, &file_);
    if (hints != MPI_INFO_NULL) MPI_Info_free(&hints);
    if (code == MPI_SUCCESS && options().opened != nullptr && options().opened->atomic) {
      code = MPI_File_set_atomicity(file_, 1);
    }
    return reasonOf(code);
  }

  std::string doTransfer(const Request& request, char* buffer) override {
    // MPI counts in an int.
    const bool is_large = request.bytes > INT_MAX;
    const replay::OwnType type = is_large ? replay::makeBytes(request.bytes) : replay::OwnType();
    const int count = is_large ? 1 : static_cast<int>(request.bytes);
    const auto move = [&](auto call) {
      MPI_Status status;
      const int code = call(file_, request.offset, buffer, count, type.get(), &status);
      if (code != MPI_SUCCESS) return reasonOf(code);
      if (request.bytes == 0) return std::string();  // ROMIO leaves a status as it was
      MPI_Count moved = 0;
      MPI_Get_elements_x(&status, MPI_BYTE, &moved);
      return static_cast<std::uint64_t>(moved) == request.bytes
                 ? std::string()
                 : fmt::format("{} bytes were moved", moved);
    };
    if (request.operation == Operation::kWrite) {
      return move(options().collective ? MPI_File_write_at_all : MPI_File_write_at);
    }
    return move(options().collective ? MPI_File_read_at_all : MPI_File_read_at);
  }

  std::string doSync() override { return reasonOf(MPI_File_sync(file_)); }
  std::string doClose() override { return reasonOf(MPI_File_close(&file_)); }

  MPI_File file_ = MPI_FILE_NULL;
};

}  // namespace

base::Result<void> PhaseFile::transfer(const Request& request, char* buffer) {
  const std::string reason = doTransfer(request, buffer);
  if (reason.empty()) return {};
  return done(fmt::format("cannot {} {} bytes at offset {}", model::nameOf(request.operation),
                          request.bytes, request.offset),
              reason);
}

base::Result<void> PhaseFile::done(std::string_view what, const std::string& reason) const {
  if (reason.empty()) return {};
  return base::failure(base::Code::kSystem, "{}: {}: {}", base::printable(options_.path), what,
                       reason);
}

std::string_view nameOf(RunApi api) {
  constexpr base::Word<RunApi> kWords[] = {
      {RunApi::kPosix, "POSIX"}, {RunApi::kStdio, "STDIO"}, {RunApi::kMpiIo, "MPIIO"}};
  return base::wordOf(kWords, api);
}

std::unique_ptr<PhaseFile> makePhaseFile(RunApi api, const PhaseFileOptions& options) {
  if (api == RunApi::kPosix) return std::make_unique<PosixFile>(options);
  if (api == RunApi::kStdio) return std::make_unique<StdioFile>(options);
  return std::make_unique<MpiFile>(options);
}

}  // namespace omnio::ior
