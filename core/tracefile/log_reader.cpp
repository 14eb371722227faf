#include "core/tracefile/log_reader.hpp"

#include <algorithm>
#include <utility>

#include "core/base/progress.hpp"
#include "core/tracefile/container_file.hpp"
#include "core/wire/record.hpp"

namespace omnio::tracefile {
namespace {

// Both are of one log.
bool isBefore(const StoredChunk& a, const StoredChunk& b) {
  return std::pair(a.header.sequence, a.header.event_count) <
         std::pair(b.header.sequence, b.header.event_count);
}

}  // namespace

LogReader::LogReader(const Process& process, const Log& log, event::PathTable& paths, Stacks stacks,
                     bool is_progress)
    : process_(process),
      log_(log),
      paths_(paths),
      has_stacks_(stacks == Stacks::kRead),
      is_progress_(is_progress),
      stacks_(process.info) {}

const event::Event* LogReader::next() {
  missing_before_ = 0;
  wire::TextDefinition text;
  wire::HandleDefinition handle;
  while (true) {
    if (!decoder_ && !openChunk()) return nullptr;
    const wire::Decoded what = decoder_->next(raw_, text, handle);
    bool good = true;
    switch (what) {
      case wire::Decoded::kText:
        define(text);
        break;
      case wire::Decoded::kHandle:
        good = define(handle);
        break;
      case wire::Decoded::kStack:
        if (has_stacks_) stacks_.define(decoder_->stack());
        break;
      case wire::Decoded::kEvent:
        good = isDefined();
        if (!good) break;
        ++in_chunk_;
        if (!isWanted()) break;
        fill();
        return &event_;
      case wire::Decoded::kEnd:
      case wire::Decoded::kDamaged:
        good = false;
        break;
    }
    if (!good) leaveChunk();
  }
}

void LogReader::catchUpWith(const LogReader& ahead) {
  const auto isAt = [this](std::size_t next_chunk) {
    return decoder_ && next_chunk_ == next_chunk;
  };
  if (next_chunk_ > ahead.next_chunk_) return;
  if (!isAt(ahead.next_chunk_)) {
    decoder_.reset();
    next_chunk_ = ahead.next_chunk_ - 1;
    if (!openChunk()) return;
  }
  while (isAt(ahead.next_chunk_) && in_chunk_ + 1 < ahead.in_chunk_ && next() != nullptr) {
  }
}

bool LogReader::openChunk() {
  if (next_chunk_ == log_.chunk_count) return false;
  const StoredChunk& chunk = process_.chunks[log_.first_chunk + next_chunk_++];
  in_chunk_ = 0;
  has_text_.fill(false);
  has_handle_.fill(false);
  // Chunks of one log never overlap, unless one is damaged: then nothing is known to be missing.
  if (chunk.header.first_event > expected_event_) {
    missing_before_ += chunk.header.first_event - expected_event_;
  }
  expected_event_ = chunk.header.first_event + chunk.header.event_count;
  if (!loadPayload(chunk)) payload_.clear();
  stacks_.beginChunk();
  // A trace may have more threads than a process may have files open.
  if (next_chunk_ == log_.chunk_count) container_.reset();
  if (is_progress_) base::progressBy(chunk.header.event_count);
  decoder_.emplace(std::string_view(payload_.data(), payload_.size()), chunk.header.base_ticks);
  return true;
}

bool LogReader::loadPayload(const StoredChunk& chunk) {
  if (chunk.source > 0) {
    const std::uint32_t bytes = chunk.header.payload_bytes;  // checked when the chunk was found
    const std::vector<char>& data = process_.rings[chunk.source - 1].data;
    const auto begin = data.begin() + static_cast<std::ptrdiff_t>(chunk.payload_offset);
    payload_.assign(begin, begin + bytes);
    return true;
  }
  if (!container_ && !openFile()) return false;
  const StoredChunk* place = placeOf(chunk);
  return place != nullptr && readPayload(*container_, *place, payload_);
}

bool LogReader::openFile() {
  base::Result<base::File> file = base::File::open(process_.container);
  if (!file) return false;
  container_.emplace(std::move(*file));
  if (container_->identity() == process_.container_identity) return true;
  ProcessInfo ignored;
  std::vector<StoredChunk> found = scanContainer(*container_, process_.token, ignored).chunks;
  std::erase_if(found, [this](const StoredChunk& c) { return c.header.log != log_.number; });
  std::sort(found.begin(), found.end(), isBefore);
  moved_ = std::move(found);
  return true;
}

const StoredChunk* LogReader::placeOf(const StoredChunk& chunk) const {
  if (!moved_) return &chunk;
  const auto same = std::lower_bound(moved_->begin(), moved_->end(), chunk, isBefore);
  return same == moved_->end() || isBefore(chunk, *same) ? nullptr : &*same;
}

void LogReader::leaveChunk() {
  const StoredChunk& chunk = process_.chunks[log_.first_chunk + next_chunk_ - 1];
  if (in_chunk_ < chunk.header.event_count) {
    undecodable_ += chunk.header.event_count - in_chunk_;
    missing_before_ += chunk.header.event_count - in_chunk_;
  }
  decoder_.reset();
}

void LogReader::define(const wire::TextDefinition& text) {
  texts_[text.slot] = {.absolute = text.bytes, .raw = text.bytes.substr(text.raw_offset)};
  has_text_[text.slot] = true;
}

bool LogReader::define(const wire::HandleDefinition& handle) {
  if (!has_text_[handle.text_slot]) return false;
  const std::uint8_t slot = wire::handleSlot(handle.handle);
  event::Text& path = texts_[handle.text_slot];
  if (!is_own_mpi_) fileOf(path);
  handles_[slot] = {.definition = handle, .path = path};
  has_handle_[slot] = true;
  return true;
}

event::FileId LogReader::fileOf(event::Text& text) {
  if (text.file == event::kNoFile) text.file = paths_.idOf(text.absolute);
  return text.file;
}

bool LogReader::isWanted() const {
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
bool LogReader::isDefined() const {
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
void LogReader::fill() {
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
  noteThinking();
}

void LogReader::noteThinking() {
  if (raw_.think != 0 && raw_.think <= raw_.start) {
    think_.look(event_.start_ns - toNs(raw_.start - raw_.think),
                static_cast<std::int64_t>(raw_.think_cpu_ns & INT64_MAX));
  }
  // Inner events come before the call that they are part of.
  if (event_.depth != 0) return;
  std::int64_t gap_ns = 0;
  const bool is_known =
      last_end_ns_ && missing_before_ == 0 &&
      !__builtin_sub_overflow(event_.start_ns, *last_end_ns_, &gap_ns) &&
      !__builtin_sub_overflow(gap_ns, std::max<std::int64_t>(event_.recorder_ns, 0), &gap_ns);
  if (is_known) think_.pass(gap_ns);
  last_end_ns_ = event_.end_ns;
}

std::int64_t LogReader::toNs(std::uint64_t ticks) {
  if (!segment_.holds(ticks)) segment_ = process_.clock->segmentOf(ticks);
  return segment_.ns(ticks);
}

IoReader::IoReader(const Process& process, const Log& log, event::PathTable& paths, IoChoice choice)
    : choice_(choice),
      events_(process, log, paths, choice.stacks, choice.is_progress),
      scout_(process, log, paths, Stacks::kLeft, false) {}

// The event is the inner one that events_ has come to.
bool IoReader::isPartOfFileAccess(const event::Event& event) {
  if (inner_left_ == 0) {
    scout_.catchUpWith(events_);
    outer_ = scout_.next();
    for (; outer_ != nullptr && outer_->depth > 0; outer_ = scout_.next()) ++inner_left_;
    // A process that died inside of a call never told which it was: what it did to files counts.
    keep_inner_ = outer_ == nullptr || calls::isMpiIo(*outer_->row);
  }
  // None was found where a chunk cannot be read that could be before.
  if (inner_left_ > 0) --inner_left_;
  // Calls below a call that has no event come before the next event, and are not part of it.
  return keep_inner_ && (outer_ == nullptr || event.start_ns >= outer_->start_ns);
}

// Whether the reader gives out one of the application's own calls. It has to be asked for each of
// them, in order, because it notes which requests are under way.
bool IoReader::isChosen(const event::Event& event) {
  if (calls::isIo(*event.row)) return true;
  if (event.row->api == calls::Api::kThreads) return choice_.thread_waits;
  return choice_.layer == event::IoLayer::kMpi && requests_.take(event);
}

const event::Event* IoReader::next() {
  std::uint64_t missing = 0;
  while (const event::Event* event = events_.next()) {
    missing += events_.missingBefore();
    if (event->depth == 0) {
      if (choice_.layer == event::IoLayer::kMpi && requests_.endsBelow(*event)) {
        ++left_out_;
        if (!choice_.below) continue;
        // It is part of the call that waits for it, which comes next.
        inner_ = *event;
        inner_.outer = event;
        missing_before_ = missing;
        return &inner_;
      }
      if (!isChosen(*event)) {
        if (event->row->api == calls::Api::kMpi) ++mpi_calls_;
        continue;
      }
      missing_before_ = missing;
      mpi_calls_before_ = std::exchange(mpi_calls_, 0);
      return event;
    }
    const bool keep = isPartOfFileAccess(*event) && calls::isIo(*event->row);
    if (keep && choice_.layer == event::IoLayer::kMpi) requests_.takeBelow(*event);
    if (keep && choice_.layer == event::IoLayer::kPosix) {
      missing_before_ = missing;
      return event;
    }
    if (keep && choice_.below && outer_ != nullptr) {
      inner_ = *event;
      inner_.outer = outer_;
      missing_before_ = missing;
      return &inner_;
    }
    if (calls::isIo(*event->row)) ++left_out_;
  }
  missing_before_ = missing + events_.missingBefore();
  return nullptr;
}

}  // namespace omnio::tracefile
