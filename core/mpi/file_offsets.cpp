#include "core/mpi/file_offsets.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace omnio::mpi {
namespace {

using calls::Role;

MpiAccessForm formOf(const calls::Row& row) {
  MpiAccessForm form;
  form.nonblocking = calls::has(row, Role::kRequest);
  form.split = calls::does(row, calls::Effect::kSplitBegin);
  form.collective = row.sync == calls::Sync::kAll;
  if (calls::has(row, Role::kOffset)) {
    form.pointer = MpiPointer::kExplicit;
  } else if (calls::does(row, calls::Effect::kSharedPointer)) {
    form.pointer = MpiPointer::kShared;
  } else {
    form.pointer = MpiPointer::kIndividual;
  }
  return form;
}

// The position of the individual pointer that the call tells, in etypes.
std::optional<std::int64_t> positionIn(const event::Event& event) {
  const std::int64_t position = event::argumentOf(event, Role::kPosition);
  return position >= 0 ? std::optional(position) : std::nullopt;
}

}  // namespace

void moveOn(std::optional<std::int64_t>& pointer, std::optional<std::int64_t> etypes) {
  std::int64_t next = 0;
  if (!pointer || !etypes || __builtin_add_overflow(*pointer, *etypes, &next)) {
    pointer.reset();
  } else {
    pointer = next;
  }
}

const MpiType* MpiTypes::find(std::uint64_t number) {
  if (number == 0) return nullptr;
  const auto [place, is_new] = types_.try_emplace(number);
  if (is_new) {
    base::Result<MpiType> type = parseMpiType(mpiTypeText(info_, number));
    if (type) place->second = std::move(*type);
  }
  return place->second ? &*place->second : nullptr;
}

MpiFileState& MpiFileOffsets::fileOf(const event::Event& event) {
  MpiFileState& file = files_[event.handle->definition.handle];
  if (file.session == 0) file.session = ++sessions_;
  return file;
}

void MpiFileOffsets::setView(MpiFileState& file, const event::Event& event) {
  const MpiType* etype =
      types_.find(static_cast<std::uint64_t>(event::argumentOf(event, Role::kEtype)));
  const MpiType* filetype =
      types_.find(static_cast<std::uint64_t>(event::argumentOf(event, Role::kFiletype)));
  file.has_view = true;
  file.etype_bytes = etype == nullptr ? 0 : std::max<std::int64_t>(etype->size, 1);
  file.view.reset();
  if (etype != nullptr && filetype != nullptr) {
    file.view.emplace(event::argumentOf(event, Role::kDisp), *etype, *filetype);
  }
  file.behind_split.reset();
  file.pointer = 0;
}

void MpiFileOffsets::takeBelow(const event::Event& event) {
  if (event.row->call_class == calls::Class::kRead && event.bytes < event.request) {
    short_below_[event.file] = {.start_ns = event.start_ns, .end_ns = event.end_ns};
  }
}

bool MpiFileOffsets::wasShortBelow(const event::Event& event) const {
  const auto found = short_below_.find(event.file);
  return found != short_below_.end() && found->second.start_ns >= event.start_ns &&
         found->second.end_ns <= event.end_ns;
}

// Calls move it when they begin. Where a read that got less than it asked for leaves it differs
// between libraries (OMPIO: behind what was asked for; ROMIO: behind what it got). So behind a
// split read it is known when that has ended. Of nonblocking ones ROMIO tells that it got all; what
// it did below shows it.
void MpiFileOffsets::advance(MpiFileState& file, const event::Event& event, MpiAccessForm form) {
  const bool reads = event.row->call_class == calls::Class::kRead;
  std::optional<std::int64_t> etypes;
  const bool hides = reads && form.nonblocking && wasShortBelow(event);
  if (file.etype_bytes > 0 && event.bytes >= event.request && !hides) {
    etypes = static_cast<std::int64_t>(event.bytes) / file.etype_bytes;
  }
  moveOn(file.pointer, etypes);
  moveOn(file.behind_split, etypes);
  if (reads && form.split) {
    file.split_bytes = event.request;
    file.behind_split = std::exchange(file.pointer, std::nullopt);
  }
}

// The end of a split read. A pointer that was set meanwhile is where it was set to.
void MpiFileOffsets::endSplit(MpiFileState& file, const event::Event& event) {
  const auto got = static_cast<std::uint64_t>(event::argumentOf(event, Role::kGot));
  const auto behind = std::exchange(file.behind_split, std::nullopt);
  if (behind && !event.failed && got >= file.split_bytes) file.pointer = behind;
}

std::optional<MpiFileOffsets::Placed> MpiFileOffsets::take(const event::Event& event) {
  if (event.handle == nullptr || event.row->api != calls::Api::kMpi) return {};
  const calls::Row& row = *event.row;
  if (!event::transfersData(event)) {
    if (calls::has(row, Role::kGot)) {
      endSplit(fileOf(event), event);
    } else if (event.failed) {
      return {};
    } else if (row.call_class == calls::Class::kClose) {
      files_.erase(event.handle->definition.handle);
    } else if (row.call_class == calls::Class::kOpen) {
      MpiFileState& file = fileOf(event);
      file.group = static_cast<std::uint64_t>(event::argumentOf(event, Role::kNewComm));
      file.pointer = positionIn(event);
    } else if (calls::has(row, Role::kFiletype)) {
      setView(fileOf(event), event);
    } else if (calls::has(row, Role::kPosition)) {
      MpiFileState& file = fileOf(event);
      file.behind_split.reset();
      file.pointer = positionIn(event);
    }
    return {};
  }
  MpiFileState& file = fileOf(event);
  Placed placed{.file = &file, .form = formOf(row), .etypes = {}};
  if (placed.form.pointer == MpiPointer::kExplicit) {
    placed.etypes = event::argumentOf(event, Role::kOffset);
  } else if (placed.form.pointer == MpiPointer::kIndividual) {
    placed.etypes = file.pointer;
    if (!event.failed) advance(file, event, placed.form);
  }
  return placed;
}

MpiAccess accessOf(const MpiFileOffsets::Placed& placed, const MpiSharedPlace* shared,
                   std::int64_t bytes, std::size_t most) {
  const MpiFileState& file = *placed.file;
  MpiAccess access;
  access.etypes = placed.etypes;
  if (shared != nullptr && shared->etypes) access.etypes = shared->etypes;
  if (file.etype_bytes > 0) access.etype_count = bytes / file.etype_bytes;
  if (access.etypes && file.view) {
    std::int64_t view_byte = 0;
    if (*access.etypes >= 0 &&
        !__builtin_mul_overflow(*access.etypes, file.view->etypeBytes(), &view_byte)) {
      access.begin = file.view->inFile(view_byte);
      const auto last = bytes > 0 ? file.view->inFile(view_byte + bytes - 1) : std::nullopt;
      if (last) access.end = *last + 1;
    }
    StridedPieces pieces(most);
    if (access.begin && file.view->pieces(*access.etypes, bytes, pieces)) {
      access.is_whole = !pieces.isFull();
      access.pieces = pieces.strides();
    }
  } else if (shared != nullptr && !shared->pieces.empty()) {
    access.begin = shared->pieces.front().first;
    access.is_whole = true;
    access.pieces = shared->pieces;
    for (const Stride& piece : access.pieces) {
      const std::int64_t end = piece.first + (piece.count - 1) * piece.stride + piece.bytes;
      access.end = std::max(access.end.value_or(end), end);
    }
  }
  return access;
}

}  // namespace omnio::mpi
