// Runs whose events are known, told call by call, and the schedules made of them.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/model/schedule_keys.hpp"
#include "core/model/schedule_reader.hpp"
#include "core/wire/info.hpp"
#include "preprocess/preprocess.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio::model {

inline void PrintTo(const Work& work, std::ostream* out) {
  *out << work.compute_ns << "+" << work.communication_ns;
}
inline void PrintTo(const Wait& wait, std::ostream* out) {
  *out << "id " << wait.id << " " << base::wordOf(kReasons, wait.reason) << " ";
  PrintTo(wait.work, out);
}

}  // namespace omnio::model

namespace omnio::preprocess {

using model::ScheduleEvent;
using test::ChunkBuilder;
using test::ContainerBuilder;

// One thread of a process, told call by call. Slots of texts and handles are used in order.
class Thread {
 public:
  explicit Thread(std::uint64_t token, std::uint32_t log = 0) : chunk_(token, log, 0, 0, 1000) {}

  Thread& open(std::uint64_t start, std::uint64_t end, const std::string& path, int flags,
               std::uint32_t handle, std::int64_t size = wire::kUnknownSize) {
    chunk_.text(next_text_, path);
    chunk_.handle({.handle = handle,
                   .description = handle,
                   .fd = static_cast<std::int32_t>(handle) + 2,
                   .open_flags = static_cast<std::uint32_t>(flags),
                   .size = size,
                   .text_slot = next_text_});
    test::EventSpec event{.start = start, .end = end};
    event.arguments = {next_text_ + 1, flags, 0644};
    event.result = wire::handleSlot(handle) + 1;
    return add("open", event);
  }
  // freopen of the stream that has the handle `old`.
  Thread& reopen(std::uint64_t start, std::uint64_t end, const std::string& path,
                 const std::string& mode, std::uint32_t old, std::uint32_t handle) {
    chunk_.text(next_text_, path);
    chunk_.text(static_cast<std::uint8_t>(next_text_ + 1), mode);
    chunk_.handle({.handle = handle,
                   .description = handle,
                   .fd = static_cast<std::int32_t>(old) + 2,
                   .text_slot = next_text_});
    test::EventSpec event{.start = start, .end = end};
    event.arguments = {next_text_ + 1, next_text_ + 2};
    event.result = wire::handleSlot(handle) + 1;
    add("freopen", event);
    ++next_text_;
    return *this;
  }
  Thread& failedOpen(std::uint64_t start, std::uint64_t end, const std::string& path, int error) {
    chunk_.text(next_text_, path);
    test::EventSpec event{.start = start, .end = end, .result = error, .failed = true};
    event.arguments = {next_text_ + 1, O_RDONLY, 0};
    return add("open", event);
  }
  Thread& given(const std::string& path, std::uint32_t handle, wire::Origin origin,
                std::uint32_t birth_pid = 0, std::uint32_t flags = O_RDWR,
                std::int64_t size = wire::kUnknownSize) {
    chunk_.text(next_text_, path);
    chunk_.handle({.handle = handle,
                   .description = handle,
                   .birth_pid = birth_pid,
                   .fd = static_cast<std::int32_t>(handle) + 2,
                   .origin = origin,
                   .open_flags = flags,
                   .inode = 77,
                   .size = size,
                   .text_slot = next_text_});
    ++next_text_;
    return *this;
  }
  Thread& data(const char* call, std::uint64_t start, std::uint64_t end, std::uint32_t handle,
               std::int64_t bytes, std::int64_t offset = -1, unsigned depth = 0) {
    test::EventSpec event{.start = start, .end = end, .result = bytes, .depth = depth};
    event.request = static_cast<std::uint64_t>(bytes);
    event.arguments = {wire::handleSlot(handle), 0, bytes, offset};
    if (offset < 0) event.arguments[3] = 0;
    return add(call, event);
  }
  // pread that gets less than it asked for.
  Thread& shortRead(std::uint64_t start, std::uint64_t end, std::uint32_t handle,
                    std::int64_t bytes, std::int64_t request, std::int64_t offset) {
    test::EventSpec event{.start = start, .end = end, .result = bytes};
    event.request = static_cast<std::uint64_t>(request);
    event.arguments = {wire::handleSlot(handle), 0, request, offset};
    return add("pread", event);
  }
  Thread& close(std::uint64_t start, std::uint64_t end, std::uint32_t handle) {
    test::EventSpec event{.start = start, .end = end};
    event.arguments = {wire::handleSlot(handle)};
    return add("close", event);
  }
  Thread& rename(std::uint64_t start, std::uint64_t end, const std::string& from,
                 const std::string& to, int error = 0) {
    chunk_.text(next_text_, from);
    chunk_.text(static_cast<std::uint8_t>(next_text_ + 1), to);
    test::EventSpec event{.start = start, .end = end, .result = error, .failed = error != 0};
    event.arguments = {next_text_ + 1, next_text_ + 2};
    add("rename", event);
    ++next_text_;
    return *this;
  }
  // Any call on a handle, with the arguments behind the first.
  Thread& onHandle(const char* call, std::uint64_t start, std::uint64_t end, std::uint32_t handle,
                   std::int64_t second = 0, std::int64_t result = 0, std::int64_t third = 0) {
    test::EventSpec event{.start = start, .end = end, .result = result};
    event.arguments = {wire::handleSlot(handle), second, third};
    return add(call, event);
  }
  // A record lock.
  Thread& lock(std::uint64_t start, std::uint64_t end, std::uint32_t handle, std::int64_t type,
               std::int64_t offset, std::int64_t length, std::int64_t command = F_SETLKW,
               int error = 0) {
    test::EventSpec event{.start = start, .end = end, .result = error, .failed = error != 0};
    event.arguments = {wire::handleSlot(handle), command, type, SEEK_SET, offset, length};
    return add("(fcntl_lock)", event);
  }
  // Any call on a stream, which is its argument at `place`.
  Thread& onStream(const char* call, std::uint64_t start, std::uint64_t end, std::uint32_t handle,
                   std::size_t place, std::int64_t result) {
    test::EventSpec event{.start = start, .end = end, .result = result};
    event.arguments[place] = wire::handleSlot(handle);
    return add(call, event);
  }
  // Any call on a path; an error makes it fail.
  Thread& onPath(const char* call, std::uint64_t start, std::uint64_t end, const std::string& path,
                 int error = 0) {
    chunk_.text(next_text_, path);
    test::EventSpec event{.start = start, .end = end, .result = error, .failed = error != 0};
    event.arguments = {next_text_ + 1};
    return add(call, event);
  }
  Thread& symlink(std::uint64_t start, std::uint64_t end, const std::string& text,
                  const std::string& path) {
    chunk_.text(next_text_, text);
    chunk_.text(static_cast<std::uint8_t>(next_text_ + 1), path);
    test::EventSpec event{.start = start, .end = end};
    event.arguments = {next_text_ + 1, next_text_ + 2};
    add("symlink", event);
    ++next_text_;
    return *this;
  }
  // copy_file_range from the position of the source, given by the system's number, to that of the
  // handle.
  Thread& copyRange(std::uint64_t start, std::uint64_t end, int source, std::uint32_t handle,
                    std::int64_t bytes, std::int64_t request) {
    test::EventSpec event{.start = start, .end = end, .result = bytes};
    event.request = static_cast<std::uint64_t>(request);
    event.arguments = {source, -1, wire::handleSlot(handle), -1, request, 0};
    return add("copy_file_range", event);
  }
  // An MPI call by its name without MPI_.
  Thread& mpi(const std::string& call, std::uint64_t start, std::uint64_t end,
              test::Arguments arguments, std::vector<std::uint64_t> list = {}) {
    chunk_.event(test::numberOf("MPI_" + call),
                 test::mpiEvent("MPI_" + call, start, end, arguments, std::move(list)));
    ++events_;
    return *this;
  }
  // The usual ones, in MPI_COMM_WORLD.
  Thread& send(int to, int seq, std::uint64_t start, std::uint64_t end) {
    using calls::Role;
    return mpi("Send", start, end,
               {{Role::kComm, 1}, {Role::kPeer, to}, {Role::kSize, 8}, {Role::kSeq, seq}});
  }
  Thread& receive(int from, int seq, std::uint64_t start, std::uint64_t end) {
    using calls::Role;
    return mpi("Recv", start, end,
               {{Role::kComm, 1}, {Role::kPeer, from}, {Role::kGot, 8}, {Role::kSeq, seq}});
  }
  Thread& barrier(int seq, std::uint64_t start, std::uint64_t end) {
    return mpi("Barrier", start, end, {{calls::Role::kComm, 1}, {calls::Role::kSeq, seq}});
  }
  // A call by which threads wait for each other.
  Thread& waits(const char* call, std::uint64_t start, std::uint64_t end, std::int64_t object,
                std::int64_t mutex = 0, int error = 0) {
    test::EventSpec event{.start = start, .end = end, .result = error, .failed = error != 0};
    event.arguments = {object, mutex};
    return add(call, event);
  }
  Thread& recorderWork(std::uint64_t ticks) {
    chunk_.recorderWork(ticks);
    return *this;
  }
  Thread& thinkSample(std::uint64_t ticks, std::uint64_t cpu_ns) {
    chunk_.thinkSample(ticks, cpu_ns);
    return *this;
  }
  Thread& plain(const char* call, std::uint64_t start, std::uint64_t end) {
    return add(call, {.start = start, .end = end});
  }
  Thread& sync(std::uint64_t start, std::uint64_t end, std::uint32_t handle) {
    test::EventSpec event{.start = start, .end = end};
    event.arguments = {wire::handleSlot(handle)};
    return add("MPI_File_sync", event);
  }

  const ChunkBuilder& chunk() const { return chunk_; }
  std::uint64_t events() const { return events_; }

 private:
  Thread& add(std::string_view call, const test::EventSpec& event) {
    chunk_.event(test::numberOf(call), event);
    ++events_;
    ++next_text_;
    return *this;
  }
  ChunkBuilder chunk_;
  std::uint8_t next_text_ = 0;
  std::uint64_t events_ = 0;
};

// The events that it waits for.
inline std::vector<std::uint64_t> idsOf(const ScheduleEvent& event) {
  std::vector<std::uint64_t> ids;
  for (const model::Wait& wait : event.after) ids.push_back(wait.id);
  return ids;
}

// The whole of a schedule.
struct Kept {
  model::ScheduleGlobal global;
  std::map<std::string, model::ScheduleFile> files;
  std::vector<model::ScheduleThread> headers;
  std::vector<std::vector<ScheduleEvent>> threads;
};

class Collector final : public model::ScheduleSink {
 public:
  Complaint global(const model::ScheduleGlobal& global) override {
    kept.global = global;
    return std::nullopt;
  }
  Complaint file(model::FileNumber, const model::ScheduleFile& file) override {
    kept.files[file.location] = file;
    return std::nullopt;
  }
  Complaint beginThread(const model::ScheduleThread& thread) override {
    kept.threads.emplace_back();
    kept.headers.push_back(thread);
    return std::nullopt;
  }
  Complaint event(const ScheduleEvent& event) override {
    kept.threads.back().push_back(event);
    return std::nullopt;
  }
  Complaint endThread() override { return std::nullopt; }

  Kept kept;
};

class TracedRun : public testing::Test {
 protected:
  void save(int rank, int ranks, const std::vector<const Thread*>& threads, std::uint32_t pid = 0,
            std::uint32_t parent = 0, std::uint64_t begin = 500) {
    const std::uint64_t token = 100 + static_cast<std::uint64_t>(rank) + pid;
    if (pid == 0) pid = 4711 + static_cast<std::uint32_t>(rank);
    ContainerBuilder container(token, pid);
    container.header.begin.ticks = container.header.begin.monotonic_ns = begin;
    auto facts = test::usualFacts(rank, ranks);
    facts[wire::info::kDirectory] = "/run";
    facts[wire::info::kGroupPrefix + std::string("1")] =
        fmt::format("a0 {} {} 0 0 comm", rank, ranks);
    if (parent != 0) facts[wire::info::kParent] = std::to_string(parent);
    if (parent == 4711 + static_cast<std::uint32_t>(rank)) {  // the first process of the rank
      facts[wire::info::kParentToken] = fmt::format("{:x}", TracedRun::token(rank));
    }
    container.facts(facts);
    std::uint64_t events = 0;
    for (const Thread* thread : threads) {
      container.chunk(thread->chunk());
      events += thread->events();
    }
    container.ended(events);
    container.save(directory_ / "trace" / fmt::format("node1.{}.0.omnio", pid));
  }
  void SetUp() override {
    std::filesystem::create_directory(directory_ / "trace");
    setenv("OMNIO_RING_DIR", directory_.path().c_str(), 1);
  }
  void TearDown() override { unsetenv("OMNIO_RING_DIR"); }

  Kept schedule(const Settings& settings = {}) {
    Collector collector;
    const base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory_ / "trace");
    if (!trace) throw std::runtime_error(trace.failure().sentence);
    const auto summary =
        preprocess(*trace, tracefile::assess(*trace), settings, directory_ / "schedule.json");
    if (!summary) throw std::runtime_error(summary.failure().sentence);
    summary_ = *summary;
    const auto read = model::readSchedule(directory_ / "schedule.json", collector);
    if (!read) throw std::runtime_error(read.failure().sentence);
    return collector.kept;
  }
  static std::uint64_t token(int rank) { return 100 + static_cast<std::uint64_t>(rank); }

  test::TemporaryDirectory directory_;
  Summary summary_;  // of the last schedule
};

}  // namespace omnio::preprocess
