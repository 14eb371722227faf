// Turns the records of a log's chunks into events: those of a trace, chunk after chunk (LogReader),
// and those that a running process adds to a chunk in its memory (LiveLog).
//
// A chunk defines all that its records refer to, so each may be read without those before it
// (docs/decisions/0001-self-contained-chunks.md). An event that refers to what was not defined ends
// the reading of its chunk. Memory is that of the definitions of one chunk, and of the call stacks
// of the log's last ones (CallStacks).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/event/event.hpp"
#include "core/tracefile/call_stacks.hpp"
#include "core/tracefile/process.hpp"
#include "core/wire/decode.hpp"

namespace omnio::tracefile {

// Whether events get their call stacks (Event::stack). That takes time, which only commands that
// look at stacks should spend.
enum class Stacks : std::uint8_t { kLeft, kRead };

class ChunkEvents {
 public:
  // `process` and `paths` outlive it.
  ChunkEvents(const Process& process, event::PathTable& paths, Stacks stacks)
      : process_(process),
        paths_(paths),
        has_stacks_(stacks == Stacks::kRead),
        stacks_(process.info) {}
  ChunkEvents(const ChunkEvents&) = delete;  // events point into it
  ChunkEvents& operator=(const ChunkEvents&) = delete;

  // Gives only the application's own calls of MPI from now on. Only their files get into the table
  // of paths.
  void chooseOwnMpi() { is_own_mpi_ = true; }

  // Goes on with a chunk. The payload stays with the caller, and outlives what is read of it.
  void begin(std::string_view payload, std::uint64_t base_ticks);
  // The payload of the chunk goes on by so many bytes, which are whole records.
  void extend(std::size_t bytes) { decoder_->extend(bytes); }
  // Whether a chunk was begun, and not left.
  bool isOpen() const { return decoder_.has_value(); }
  void leave() { decoder_.reset(); }

  // The next event of the chunk, valid until the next call; nullptr where there is none (yet), or
  // where what follows is damaged.
  const event::Event* next();
  // Events of the chunk so far, also those that were not chosen.
  std::uint64_t inChunk() const { return in_chunk_; }
  // The record behind the event that next() returned last.
  const wire::RawEvent& raw() const { return raw_; }
  std::int64_t toNs(std::uint64_t ticks);

 private:
  void define(const wire::TextDefinition& text);
  bool define(const wire::HandleDefinition& handle);
  bool isDefined() const;
  bool isWanted() const;
  void fill();
  event::FileId fileOf(event::Text& text);

  const Process& process_;
  event::PathTable& paths_;
  const bool has_stacks_;
  bool is_own_mpi_ = false;
  std::optional<wire::ChunkDecoder> decoder_;
  std::uint64_t in_chunk_ = 0;
  std::array<event::Text, wire::kTextSlots> texts_{};
  std::array<bool, wire::kTextSlots> has_text_{};
  std::array<event::Handle, wire::kHandleSlots> handles_{};
  std::array<bool, wire::kHandleSlots> has_handle_{};
  CallStacks stacks_;
  NodeClock::Segment segment_;
  wire::RawEvent raw_;
  event::Event event_;
};

}  // namespace omnio::tracefile
