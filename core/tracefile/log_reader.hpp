// Reads the events of one log, in order. Memory is one chunk, however long the log is.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/file.hpp"
#include "core/event/event.hpp"
#include "core/tracefile/process.hpp"
#include "core/wire/decode.hpp"

namespace omnio::tracefile {

class LogReader final : public event::EventSource {
 public:
  // `process` and `paths` outlive the reader; `paths` may be shared by readers of one thread.
  LogReader(const Process& process, const Log& log, event::PathTable& paths);

  const event::Event* next() override;
  std::uint64_t missingBefore() const override { return missing_before_; }
  std::uint64_t undecodable() const override { return undecodable_; }

 private:
  bool openChunk();
  bool loadPayload(const StoredChunk& chunk);
  bool openFile();
  const StoredChunk* placeOf(const StoredChunk& chunk) const;
  void leaveChunk();
  void define(const wire::TextDefinition& text);
  bool define(const wire::HandleDefinition& handle);
  bool fill();
  event::FileId fileOf(event::Text& text);
  std::int64_t toNs(std::uint64_t ticks);

  const Process& process_;
  const Log& log_;
  event::PathTable& paths_;
  std::optional<base::File> container_;
  // Where this log's chunks are in a file that has taken the container's place since it was
  // scanned: it was packed, or restored.
  std::optional<std::vector<StoredChunk>> moved_;
  std::vector<char> payload_;
  std::optional<wire::ChunkDecoder> decoder_;
  std::size_t next_chunk_ = 0;
  std::uint64_t in_chunk_ = 0;        // events decoded of the open chunk
  std::uint64_t expected_event_ = 0;  // number of the next event when nothing is missing
  std::uint64_t missing_before_ = 0;
  std::uint64_t undecodable_ = 0;
  std::array<event::Text, wire::kTextSlots> texts_{};
  std::array<bool, wire::kTextSlots> has_text_{};
  std::array<event::Handle, wire::kHandleSlots> handles_{};
  std::array<bool, wire::kHandleSlots> has_handle_{};
  NodeClock::Segment segment_;
  wire::RawEvent raw_;
  event::Event event_;
};

}  // namespace omnio::tracefile
