#include "core/mpi_file_offsets.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace omnio {
namespace {

using calls::Role;

bool movesData(const calls::Row& row) {
  return row.call_class == calls::Class::kRead || row.call_class == calls::Class::kWrite;
}

MpiAccessForm formOf(const calls::Row& row) {
  std::string_view name = row.variant_of;
  constexpr std::string_view kPrefix = "MPI_File_";
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  const auto has = [name](std::string_view word) { return name.find(word) != name.npos; };
  MpiAccessForm form;
  form.nonblocking = name.starts_with('i');
  form.split = name.ends_with("_begin");
  form.collective = has("_all") || has("_ordered");
  if (calls::has(row, Role::kOffset)) {
    form.pointer = MpiPointer::kExplicit;
  } else if (has("_shared") || has("_ordered")) {
    form.pointer = MpiPointer::kShared;
  } else {
    form.pointer = MpiPointer::kIndividual;
  }
  return form;
}

}  // namespace

MpiAccessForm accessFormOf(const calls::Row& row) {
  static const auto kForms = [] {
    std::array<MpiAccessForm, calls::kNumberLimit> forms;
    for (const calls::Row& each : calls::kTable) {
      if (each.number != 0 && each.api == calls::Api::kMpi) forms[each.number] = formOf(each);
    }
    return forms;
  }();
  return kForms[row.number];
}

const MpiType* MpiTypes::find(std::uint64_t number) {
  if (number == 0) return nullptr;
  const auto [place, is_new] = types_.try_emplace(number);
  if (is_new) {
    Result<MpiType> type = parseMpiType(mpiTypeText(info_, number));
    if (type) place->second = std::move(*type);
  }
  return place->second ? &*place->second : nullptr;
}

MpiFileState& MpiFileOffsets::fileOf(const Event& event) {
  MpiFileState& file = files_[event.handle->definition.handle];
  if (file.session == 0) file.session = ++sessions_;
  return file;
}

void MpiFileOffsets::setView(MpiFileState& file, const Event& event) {
  const MpiType* etype = types_.find(static_cast<std::uint64_t>(argumentOf(event, Role::kEtype)));
  const MpiType* filetype =
      types_.find(static_cast<std::uint64_t>(argumentOf(event, Role::kFiletype)));
  file.has_view = true;
  file.etype_bytes = etype == nullptr ? 0 : std::max<std::int64_t>(etype->size, 1);
  file.view.reset();
  if (etype != nullptr && filetype != nullptr) {
    file.view.emplace(argumentOf(event, Role::kDisp), *etype, *filetype);
  }
  file.pointer = 0;
}

// Nonblocking and split calls move it when they begin. Where a read that got less than it asked for
// leaves it differs between libraries (OMPIO: behind what was asked for; ROMIO: behind what it
// got).
void MpiFileOffsets::advance(MpiFileState& file, const Event& event, MpiAccessForm form) {
  if (form.split && event.row->call_class == calls::Class::kRead) file.split_bytes = event.request;
  std::int64_t next = 0;
  if (!file.pointer || file.etype_bytes <= 0 || event.bytes < event.request ||
      __builtin_add_overflow(*file.pointer,
                             static_cast<std::int64_t>(event.bytes) / file.etype_bytes, &next)) {
    file.pointer.reset();
  } else {
    file.pointer = next;
  }
}

std::optional<MpiFileOffsets::Placed> MpiFileOffsets::take(const Event& event) {
  if (event.handle == nullptr || event.row->api != calls::Api::kMpi) return {};
  const calls::Row& row = *event.row;
  if (!movesData(row)) {
    if (event.failed) return {};
    if (row.call_class == calls::Class::kClose) {
      files_.erase(event.handle->definition.handle);
    } else if (row.call_class == calls::Class::kOpen) {
      MpiFileState& file = fileOf(event);
      const std::int64_t position = argumentOf(event, Role::kPosition);
      file.group = static_cast<std::uint64_t>(argumentOf(event, Role::kNewComm));
      file.pointer.reset();
      if (position >= 0) file.pointer = position;
    } else if (calls::has(row, Role::kFiletype)) {
      setView(fileOf(event), event);
    } else if (calls::has(row, Role::kGot)) {  // the end of a split read
      MpiFileState& file = fileOf(event);
      const auto got = static_cast<std::uint64_t>(argumentOf(event, Role::kGot));
      if (got < std::exchange(file.split_bytes, 0)) file.pointer.reset();
    } else if (calls::has(row, Role::kPosition)) {
      const std::int64_t position = argumentOf(event, Role::kPosition);
      std::optional<std::int64_t>& pointer = fileOf(event).pointer;
      pointer.reset();
      if (position >= 0) pointer = position;
    }
    return {};
  }
  MpiFileState& file = fileOf(event);
  Placed placed{.file = &file, .form = accessFormOf(row), .etypes = {}};
  if (placed.form.pointer == MpiPointer::kExplicit) {
    placed.etypes = argumentOf(event, Role::kOffset);
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
  }
  return access;
}

}  // namespace omnio
