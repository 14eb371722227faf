#include "predict/operations/operation_reader.hpp"

#include <fcntl.h>

#include "core/calls/effects.hpp"
#include "core/event/file_positions.hpp"
#include "core/tracefile/log_reader.hpp"
#include "predict/operations/context.hpp"

namespace omnio::predict {
namespace {

// Offsets and sizes beyond can only come of damage.
constexpr std::int64_t kMostOffset = std::int64_t{1} << 60;

bool isRegular(const event::Handle* handle) {
  return handle != nullptr && handle->definition.kind == wire::FileKind::kRegular;
}

}  // namespace

OperationReader::OperationReader(const std::vector<const tracefile::Process*>& processes,
                                 std::optional<unsigned> thread, event::PathTable& paths)
    : offsets_(processes, paths, sessions_) {
  for (std::size_t i = 0; i < processes.size(); ++i) {
    slots_.emplace_back(paths);
    for (const tracefile::Log& log : processes[i]->logs) {
      if (thread && log.thread != *thread) continue;
      sources_.push_back({.process = processes[i], .number = i, .thread = log.thread});
      events_.addLog<tracefile::IoReader>(*processes[i], log, paths,
                                          tracefile::IoChoice{.stacks = tracefile::Stacks::kRead});
    }
  }
}

void OperationReader::goOnWith(std::size_t process, const FileSlots::Kept& earlier) {
  slots_[process].goOnWith(earlier);
}

const Operation* OperationReader::next() {
  while (const event::Event* const event = events_.next()) {
    if (convert(*event, sources_[events_.source()])) return &operation_;
  }
  return nullptr;
}

// A file that is cut to nothing is empty for its next operation: the cut itself is none.
void OperationReader::noteLength(const event::Event& event) {
  if (!calls::does(*event.row, calls::Effect::kSetsLength)) return;
  if (event::argumentOf(event, calls::Role::kLength) != 0) return;
  const event::FileId file = event.handle == nullptr ? event.file : event.handle->path.file;
  if (file == event::kNoFile) return;
  const auto number = static_cast<std::size_t>(file);
  if (number >= is_emptied_.size()) is_emptied_.resize(number + 1);
  is_emptied_[number] = true;
}

bool OperationReader::convert(const event::Event& event, const Source& source) {
  if (event.row->api == calls::Api::kMpi || event.row->api == calls::Api::kThreads) return false;
  const auto located = offsets_.take(*source.process, event);
  if (event.failed) return false;
  noteLength(event);
  const bool opens = event.row->call_class == calls::Class::kOpen;
  FileSlots& slots = slots_[source.number];
  // What freopen() closes. openat() has the handle of a directory.
  if (opens && isRegular(event.handle)) slots.closed(event.handle->path.file);
  const event::Handle* const handle = opens ? event.new_handle : event.handle;
  if (!isRegular(handle) || handle->path.file == event::kNoFile) return false;
  operation_ = {.file = handle->path.file, .start_ns = event.start_ns, .end_ns = event.end_ns};
  switch (event.row->call_class) {
    case calls::Class::kOpen:
      operation_.kind = Kind::kOpen;
      operation_.slot = slots.opened(operation_.file);
      break;
    case calls::Class::kClose:
      operation_.kind = Kind::kClose;
      operation_.slot = slots.used(operation_.file);
      slots.closed(operation_.file);
      break;
    case calls::Class::kRead:
    case calls::Class::kWrite:
      operation_.kind = event.row->call_class == calls::Class::kRead ? Kind::kRead : Kind::kWrite;
      operation_.slot = slots.used(operation_.file);
      operation_.has_size =
          event::countsBytes(*event.row) && event.bytes <= std::uint64_t{kMostOffset};
      if (operation_.has_size) operation_.bytes = static_cast<std::int64_t>(event.bytes);
      if (located && operation_.has_size) {
        const event::Transfer& transfer = located->transfer;
        operation_.session = located->session;
        operation_.has_offset = transfer.is_known && transfer.bytes_known && transfer.offset >= 0 &&
                                transfer.offset <= kMostOffset;
        if (operation_.has_offset) operation_.offset = transfer.offset;
      }
      break;
    default:
      return false;
  }
  const auto number = static_cast<std::size_t>(operation_.file);
  operation_.empties = opens && (event::openFlags(event) & (O_TRUNC | O_EXCL)) != 0;
  if (number < is_emptied_.size() && is_emptied_[number]) {
    operation_.empties = true;
    is_emptied_[number] = false;
  }
  operation_.context = contextOf(event, operation_.slot);
  if (kept_ != nullptr) kept_->take(operation_.context, event.stack);
  operation_.has_stack = event.stack != nullptr;
  return true;
}

}  // namespace omnio::predict
