#include "tests/support/regular_trace.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "core/wire/container.hpp"
#include "core/wire/definition.hpp"
#include "core/wire/encode.hpp"
#include "core/wire/ring.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio::test {
namespace {

using calls::CallId;

constexpr std::uint64_t kFirstToken = 0x5741545354415453;

// One thread's log: it writes, reads and seeks in files that it changes every few events.
class LogWriter {
 public:
  LogWriter(std::ofstream& out, const RegularShape& shape, std::uint32_t rank, std::uint32_t log)
      : out_(out), shape_(shape), rank_(rank), log_(log), ticks_(1000 + log) {
    beginChunk();
  }

  void addEvent() {
    if (at_ + wire::kMaxFixedRecord + wire::kMaxDefinition + 64 > buffer_.data() + buffer_.size()) {
      flush();
      beginChunk();
    }
    const std::uint32_t file = (events_ / 8) % shape_.files;
    const std::uint8_t slot = wire::handleSlot(file + 1);
    if (state_.handles[slot].handle == 0) defineFile(file);
    const wire::EventTimes times{.start = ticks_ + 40 + events_ % 13,
                                 .end = ticks_ + 900 + events_ % 170};
    ticks_ = times.end;
    constexpr std::int64_t kBytes = 4096;
    switch (events_ % 4) {
      case 0:
      case 1:
        at_ = wire::encodeEvent<CallId::write>(at_, state_, times, 0, false, {slot, 0, kBytes},
                                               kBytes, kBytes);
        break;
      case 2:
        at_ = wire::encodeEvent<CallId::pread64>(
            at_, state_, times, 0, false,
            {slot, 0, kBytes, static_cast<std::int64_t>(events_ * 512)}, kBytes, kBytes);
        break;
      default:
        at_ = wire::encodeEvent<CallId::lseek64>(at_, state_, times, 0, false, {slot, 0, 0}, 0, 0);
    }
    ++events_;
    ++header_.event_count;
  }

  void flush() {
    header_.payload_bytes = static_cast<std::uint32_t>(at_ - buffer_.data());
    header_.payload_check = wire::checksum(buffer_.data(), header_.payload_bytes);
    wire::stamp(header_);
    out_.write(reinterpret_cast<const char*>(&header_), sizeof header_);
    constexpr std::array<char, wire::kChunkAlignment> kPadding{};
    out_.write(buffer_.data(), header_.payload_bytes);
    out_.write(kPadding.data(), static_cast<std::streamsize>(wire::aligned(header_.payload_bytes) -
                                                             header_.payload_bytes));
  }

 private:
  void beginChunk() {
    header_ = {.token = kFirstToken + rank_,
               .log = log_,
               .thread = log_,
               .tid = 100 + log_,
               .sequence = sequence_++,
               .first_event = events_,
               .base_ticks = ticks_,
               .base_monotonic_ns = ticks_};
    state_.reset(ticks_);
    at_ = buffer_.data();
  }

  void defineFile(std::uint32_t file) {
    const std::string path = fmt::format("/scratch/run/output.{}.{}.{}.dat", rank_, log_, file);
    const auto text_slot = static_cast<std::uint8_t>(file % wire::kTextSlots);
    at_ = wire::encodeTextHeader(at_, text_slot, 0, path.size());
    std::memcpy(at_, path.data(), path.size());
    at_ += path.size();
    at_ = wire::encodeHandle(at_,
                             {.handle = file + 1,
                              .description = file + 1,
                              .fd = static_cast<std::int32_t>(file + 3),
                              .text_slot = text_slot},
                             state_);
  }

  std::ofstream& out_;
  const RegularShape& shape_;
  std::uint32_t rank_;
  std::uint32_t log_;
  std::uint32_t sequence_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t ticks_;
  wire::ChunkHeader header_;
  wire::Prediction state_;
  std::vector<char> buffer_ = std::vector<char>(wire::kRingDataBytes - sizeof(wire::ChunkHeader));
  char* at_ = nullptr;
};

}  // namespace

void makeRegularTrace(const std::filesystem::path& directory, const RegularShape& shape) {
  std::filesystem::create_directory(directory);
  const std::uint64_t each = shape.events / (std::uint64_t{shape.ranks} * shape.threads);
  for (std::uint32_t rank = 0; rank < shape.ranks; ++rank) {
    std::ofstream out(directory / fmt::format("host.{}.0.omnio", 1 + rank), std::ios::binary);
    std::string block(wire::kContainerHeaderBytes, '\0');
    const std::uint64_t token = kFirstToken + rank;
    wire::ContainerHeader header{
        .token = token, .pid = 1 + rank, .begin = {500, 500, 1'000'000'500}};
    wire::stamp(header);
    wire::Account account{.state = wire::AccountState::kEnded,
                          .events_written = each * shape.threads};
    wire::stamp(account);
    std::memcpy(block.data(), &header, sizeof header);
    std::memcpy(block.data() + wire::kAccountOffset, &account, sizeof account);
    out << block;
    if (shape.ranks > 1) {
      out << infoChunk(token, usualFacts(static_cast<int>(rank), static_cast<int>(shape.ranks)));
    }
    std::vector<LogWriter> logs;
    for (std::uint32_t log = 0; log < shape.threads; ++log)
      logs.emplace_back(out, shape, rank, log);
    for (std::uint64_t i = 0; i < each * shape.threads; ++i) logs[i % shape.threads].addEvent();
    for (LogWriter& log : logs) log.flush();
  }
}

}  // namespace omnio::test
