#include "predict/operations/operation_maker.hpp"

#include <fcntl.h>

#include "core/calls/effects.hpp"
#include "core/event/file_positions.hpp"
#include "predict/operations/context.hpp"

namespace omnio::predict {
namespace {

// Offsets and sizes beyond can only come of damage. Sums of some of them have room in 64 bits.
constexpr std::int64_t kMostOffset = std::int64_t{1} << 54;

bool isRegular(const event::Handle* handle) {
  return handle != nullptr && handle->definition.kind == wire::FileKind::kRegular;
}

}  // namespace

// A file that is cut to nothing is empty for its next operation: the cut itself is none.
void OperationMaker::noteLength(const event::Event& event) {
  if (!calls::does(*event.row, calls::Effect::kSetsLength)) return;
  if (event::argumentOf(event, calls::Role::kLength) != 0) return;
  const event::FileId file = event.handle == nullptr ? event.file : event.handle->path.file;
  if (file == event::kNoFile) return;
  const auto number = static_cast<std::size_t>(file);
  if (number >= is_emptied_.size()) is_emptied_.resize(number + 1);
  is_emptied_[number] = true;
}

const Operation* OperationMaker::take(const tracefile::Process& process, const event::Event& event,
                                      tracefile::PosixOffsets& offsets) {
  if (event.row->api == calls::Api::kMpi || event.row->api == calls::Api::kThreads) return nullptr;
  const auto located = offsets.take(process, event);
  if (event.failed) return nullptr;
  noteLength(event);
  const bool opens = event.row->call_class == calls::Class::kOpen;
  // What freopen() closes. openat() has the handle of a directory.
  if (opens && isRegular(event.handle)) slots_.closed(event.handle->path.file);
  const event::Handle* const handle = opens ? event.new_handle : event.handle;
  if (!isRegular(handle) || handle->path.file == event::kNoFile) return nullptr;
  operation_ = {.file = handle->path.file, .start_ns = event.start_ns, .end_ns = event.end_ns};
  operation_.is_direct = (handle->definition.open_flags & O_DIRECT) != 0;
  operation_.is_mapped = calls::has(*event.row, calls::Role::kMapping);
  switch (event.row->call_class) {
    case calls::Class::kOpen:
      operation_.kind = Kind::kOpen;
      operation_.slot = slots_.opened(operation_.file);
      break;
    case calls::Class::kClose:
      operation_.kind = Kind::kClose;
      operation_.slot = slots_.used(operation_.file);
      slots_.closed(operation_.file);
      break;
    case calls::Class::kRead:
    case calls::Class::kWrite:
      operation_.kind = event.row->call_class == calls::Class::kRead ? Kind::kRead : Kind::kWrite;
      operation_.slot = slots_.used(operation_.file);
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
      return nullptr;
  }
  const auto number = static_cast<std::size_t>(operation_.file);
  operation_.empties = opens && (event::openFlags(event) & (O_TRUNC | O_EXCL)) != 0;
  if (number < is_emptied_.size() && is_emptied_[number]) {
    operation_.empties = true;
    is_emptied_[number] = false;
  }
  operation_.context = contextOf(event, operation_.slot);
  operation_.has_stack = event.stack != nullptr;
  return &operation_;
}

}  // namespace omnio::predict
