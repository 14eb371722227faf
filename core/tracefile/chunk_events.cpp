#include "core/tracefile/chunk_events.hpp"

#include "core/wire/record.hpp"

namespace omnio::tracefile {

void ChunkEvents::begin(std::string_view payload, std::uint64_t base_ticks) {
  in_chunk_ = 0;
  has_text_.fill(false);
  has_handle_.fill(false);
  stacks_.beginChunk();
  decoder_.emplace(payload, base_ticks);
}

const event::Event* ChunkEvents::next() {
  wire::TextDefinition text;
  wire::HandleDefinition handle;
  while (true) {
    switch (decoder_->next(raw_, text, handle)) {
      case wire::Decoded::kText:
        define(text);
        break;
      case wire::Decoded::kHandle:
        if (!define(handle)) return nullptr;
        break;
      case wire::Decoded::kStack:
        if (has_stacks_) stacks_.define(decoder_->stack());
        break;
      case wire::Decoded::kEvent:
        if (!isDefined()) return nullptr;
        ++in_chunk_;
        if (!isWanted()) break;
        fill();
        return &event_;
      case wire::Decoded::kEnd:
      case wire::Decoded::kDamaged:
        return nullptr;
    }
  }
}

void ChunkEvents::define(const wire::TextDefinition& text) {
  texts_[text.slot] = {.absolute = text.bytes, .raw = text.bytes.substr(text.raw_offset)};
  has_text_[text.slot] = true;
}

bool ChunkEvents::define(const wire::HandleDefinition& handle) {
  if (!has_text_[handle.text_slot]) return false;
  const std::uint8_t slot = wire::handleSlot(handle.handle);
  event::Text& path = texts_[handle.text_slot];
  if (!is_own_mpi_) fileOf(path);
  handles_[slot] = {.definition = handle, .path = path};
  has_handle_[slot] = true;
  return true;
}

event::FileId ChunkEvents::fileOf(event::Text& text) {
  if (text.file == event::kNoFile) text.file = paths_.idOf(text.absolute);
  return text.file;
}

bool ChunkEvents::isWanted() const {
  return !is_own_mpi_ || (raw_.row->api == calls::Api::kMpi && raw_.depth == 0);
}

namespace {

bool makesHandle(const wire::RawEvent& raw) {
  const calls::Result result = raw.row->result;
  const bool is_maker = result == calls::Result::kNewFd || result == calls::Result::kNewStream;
  return is_maker && !raw.failed && raw.result > 0;
}

}  // namespace

// Whether all is defined that the raw event refers to.
bool ChunkEvents::isDefined() const {
  const wire::RecordLayout& layout = wire::kRecordLayouts[raw_.row->number];
  for (unsigned i = 0; i < layout.count; ++i) {
    if (layout.field[i] != wire::Field::kText) continue;
    const std::int64_t slot = raw_.arguments[layout.argument[i]];
    if (slot != 0 && !has_text_[static_cast<std::size_t>(slot - 1)]) return false;
  }
  if (layout.handle >= 0) {
    const std::int64_t slot = raw_.arguments[static_cast<std::size_t>(layout.handle)];
    if (!has_handle_[static_cast<std::size_t>(slot)]) return false;
  }
  if (!makesHandle(raw_)) return true;
  const auto slot = static_cast<std::size_t>(raw_.result - 1);
  return slot < wire::kHandleSlots && has_handle_[slot];
}

// Fills the event from the raw one.
void ChunkEvents::fill() {
  const calls::Row& row = *raw_.row;
  const wire::RecordLayout& layout = wire::kRecordLayouts[row.number];
  event_.row = &row;
  event_.start_ns = toNs(raw_.start);
  event_.end_ns = toNs(raw_.end);
  event_.recorder_ns = 0;
  // A damaged file may hold any number.
  if (raw_.recorder != 0 && raw_.recorder <= raw_.start) {
    event_.recorder_ns = event_.start_ns - toNs(raw_.start - raw_.recorder);
  }
  event_.failed = raw_.failed;
  event_.depth = raw_.depth;
  event_.arguments = raw_.arguments;
  event_.handle = nullptr;
  event_.new_handle = nullptr;
  event_.file = event::kNoFile;
  event_.request = raw_.request;
  event_.result = raw_.result;
  event_.pieces = raw_.pieces;
  if (has_stacks_) event_.stack = stacks_.find(raw_.stack);
  for (unsigned i = 0; i < layout.count; ++i) {
    if (layout.field[i] != wire::Field::kText) continue;
    const std::uint8_t index = layout.argument[i];
    const std::int64_t slot = raw_.arguments[index];
    event_.texts[index] = {};
    if (slot == 0) continue;
    event::Text& text = texts_[static_cast<std::size_t>(slot - 1)];
    const calls::Role role = row.arguments[index];
    if (event_.file == event::kNoFile &&
        (role == calls::Role::kPath || role == calls::Role::kPathTemplate)) {
      event_.file = fileOf(text);
    }
    event_.texts[index] = text;
  }
  if (layout.handle >= 0) {
    const auto slot =
        static_cast<std::size_t>(raw_.arguments[static_cast<std::size_t>(layout.handle)]);
    event_.handle = &handles_[slot];
    if (event_.file == event::kNoFile) event_.file = fileOf(handles_[slot].path);
  }
  if (makesHandle(raw_)) {
    const auto slot = static_cast<std::size_t>(raw_.result - 1);
    event_.new_handle = &handles_[slot];
    fileOf(handles_[slot].path);
    // Rather than by the path of the call: that may lead through "..", which the tracer has had
    // resolved for the handle.
    event_.file = event_.new_handle->path.file;
  }
  event_.at_least =
      !event_.failed && event_.result < 0 && event_.row->result == calls::Result::kLine;
  if (event_.at_least) event_.result = wire::lineBytes(event_.result);
  event_.bytes = event::bytesMoved(event_);
}

std::int64_t ChunkEvents::toNs(std::uint64_t ticks) {
  if (!segment_.holds(ticks)) segment_ = process_.clock->segmentOf(ticks);
  return segment_.ns(ticks);
}

}  // namespace omnio::tracefile
