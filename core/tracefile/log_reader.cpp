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
    : process_(process), log_(log), is_progress_(is_progress), events_(process, paths, stacks) {}

const event::Event* LogReader::next() {
  missing_before_ = 0;
  while (true) {
    if (!events_.isOpen() && !openChunk()) return nullptr;
    if (const event::Event* const event = events_.next()) {
      noteThinking(*event);
      return event;
    }
    leaveChunk();
  }
}

void LogReader::catchUpWith(const LogReader& ahead) {
  const auto isAt = [this](std::size_t next_chunk) {
    return events_.isOpen() && next_chunk_ == next_chunk;
  };
  if (next_chunk_ > ahead.next_chunk_) return;
  if (!isAt(ahead.next_chunk_)) {
    events_.leave();
    next_chunk_ = ahead.next_chunk_ - 1;
    if (!openChunk()) return;
  }
  while (isAt(ahead.next_chunk_) && events_.inChunk() + 1 < ahead.events_.inChunk() &&
         next() != nullptr) {
  }
}

bool LogReader::openChunk() {
  if (next_chunk_ == log_.chunk_count) return false;
  const StoredChunk& chunk = process_.chunks[log_.first_chunk + next_chunk_++];
  // Chunks of one log never overlap, unless one is damaged: then nothing is known to be missing.
  if (chunk.header.first_event > expected_event_) {
    missing_before_ += chunk.header.first_event - expected_event_;
  }
  expected_event_ = chunk.header.first_event + chunk.header.event_count;
  if (!loadPayload(chunk)) payload_.clear();
  // A trace may have more threads than a process may have files open.
  if (next_chunk_ == log_.chunk_count) container_.reset();
  if (is_progress_) base::progressBy(chunk.header.event_count);
  events_.begin(std::string_view(payload_.data(), payload_.size()), chunk.header.base_ticks);
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
  if (const std::uint64_t read = events_.inChunk(); read < chunk.header.event_count) {
    undecodable_ += chunk.header.event_count - read;
    missing_before_ += chunk.header.event_count - read;
  }
  events_.leave();
}

void LogReader::noteThinking(const event::Event& event) {
  const wire::RawEvent& raw = events_.raw();
  if (raw.think != 0 && raw.think <= raw.start) {
    think_.look(event.start_ns - events_.toNs(raw.start - raw.think),
                static_cast<std::int64_t>(raw.think_cpu_ns & INT64_MAX));
  }
  // Inner events come before the call that they are part of.
  if (event.depth != 0) return;
  std::int64_t gap_ns = 0;
  const bool is_known =
      last_end_ns_ && missing_before_ == 0 &&
      !__builtin_sub_overflow(event.start_ns, *last_end_ns_, &gap_ns) &&
      !__builtin_sub_overflow(gap_ns, std::max<std::int64_t>(event.recorder_ns, 0), &gap_ns);
  if (is_known) think_.pass(gap_ns);
  last_end_ns_ = event.end_ns;
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
