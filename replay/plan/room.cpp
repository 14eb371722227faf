#include "replay/plan/room.hpp"

#include <fcntl.h>

#include <algorithm>
#include <string_view>

#include "core/model/schedule_keys.hpp"

namespace omnio::replay {
namespace {

using calls::Effect;
using calls::Role;

constexpr std::size_t kMostPiecesWritten = 1 << 18;

// An open that leaves nothing of what was in the file.
bool empties(const model::ScheduleEvent& event) {
  const calls::Row& row = *event.row;
  if (row.call_class != calls::Class::kOpen || row.api == calls::Api::kMpi) return false;
  return (model::openFlags(event) & O_TRUNC) != 0;
}

std::uint64_t sumOf(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::uint64_t>::max() : sum;
}

// The bytes of a piece that the file has no blocks for before the run.
std::uint64_t withoutBlocks(const PlannedFile& file, std::uint64_t begin, std::uint64_t end) {
  std::uint64_t bytes = end - std::min(end, std::max(begin, file.size));
  end = std::min(end, file.size);
  for (const model::Hole& hole : file.holes) {
    const std::uint64_t from = std::max(begin, hole.begin);
    const std::uint64_t to = std::min(end, hole.end);
    if (from < to) bytes += to - from;
  }
  return bytes;
}

}  // namespace

AddedBytes::Growth& AddedBytes::of(std::uint32_t file) {
  if (growths_.size() <= file) growths_.resize(file + std::size_t{1});
  return growths_[file];
}

void AddedBytes::note(const model::ScheduleEvent& event, std::uint32_t file, bool appends) {
  if (event.step != model::Step::kCall || event.failed) return;
  noteNames(event, file);
  if (file == static_cast<std::uint32_t>(model::kNoFileNumber)) return;
  noteLength(event, file);
  if (!writesData(event)) return;
  write(file, event.start_ns, event.offset, model::bytesMoved(event), appends);
}

void AddedBytes::noteLength(const model::ScheduleEvent& event, std::uint32_t file) {
  const calls::Row& row = *event.row;
  Growth& growth = of(file);
  if (empties(event)) {
    growth.last_cut_ns = std::max(growth.last_cut_ns, event.start_ns);
  } else if (row.api == calls::Api::kMpi && calls::has(row, Role::kFiletype)) {
    growth.does_not_count = true;  // offsets are those of the view from now on
  } else if (calls::does(row, Effect::kReservesSpace)) {
    const std::int64_t flags = model::argumentOf(event, Role::kFlags);
    if ((flags & ~FALLOC_FL_KEEP_SIZE) != 0) growth.does_not_count = true;  // it may make holes
  } else if (calls::does(row, Effect::kSetsLength) ||
             (row.api == calls::Api::kMpi && calls::has(row, Role::kLength))) {
    const std::int64_t length = model::argumentOf(event, Role::kLength);
    growth.shortest =
        std::min(growth.shortest, static_cast<std::uint64_t>(std::max<std::int64_t>(length, 0)));
    growth.last_length_ns = std::max(growth.last_length_ns, event.start_ns);
  }
}

bool AddedBytes::writesData(const model::ScheduleEvent& event) {
  // Copies may share blocks, and a mapping may be private.
  const calls::Row& row = *event.row;
  return row.call_class == calls::Class::kWrite && !calls::has(row, Role::kMapping) &&
         !calls::has(row, Role::kFdSource);
}

void AddedBytes::write(std::uint32_t file, std::int64_t start_ns, std::int64_t offset,
                       std::uint64_t bytes, bool appends) {
  if (bytes == 0) return;
  Growth& growth = of(file);
  growth.first_write_ns = std::min(growth.first_write_ns, start_ns);
  if (offset >= 0) {
    const auto begin = static_cast<std::uint64_t>(offset);
    add(growth, begin, sumOf(begin, bytes));
  } else if (appends) {
    growth.appended = sumOf(growth.appended, bytes);
  }
}

void AddedBytes::noteNames(const model::ScheduleEvent& event, std::uint32_t file) {
  const calls::Row& row = *event.row;
  if (event.file == model::kNoFileNumber) return;
  const auto new_file = static_cast<std::uint32_t>(event.new_file);
  const bool has_new = event.new_file != model::kNoFileNumber;
  if (calls::does(row, Effect::kRenames) && has_new) {
    Growth& from = of(file);
    const bool is_first = !from.renamed_to;
    from.does_not_count |= !is_first;
    from.renamed_to = new_file;
    Growth& to = of(new_file);
    if (++to.replaced > 1) to.does_not_count = true;
    moved_.push_back(file);
  } else if (calls::does(row, Effect::kMakesSymlink)) {
    of(file).does_not_count = true;
    moved_.push_back(file);
  } else if (calls::does(row, Effect::kMakesLink) && has_new) {
    of(new_file).does_not_count = true;
  } else if (calls::does(row, Effect::kRemovesName)) {
    of(file).does_not_count = true;
  } else if (row.api == calls::Api::kMpi && row.call_class != calls::Class::kOpen) {
    of(file).does_not_count = true;  // MPI_File_delete
  }
}

std::size_t AddedBytes::mostPieces(const Growth& growth) const {
  const std::size_t others = pieces_ - growth.written.size();
  return kMostPiecesWritten - std::min(others, kMostPiecesWritten);
}

void AddedBytes::add(Growth& growth, std::uint64_t begin, std::uint64_t end) {
  const std::size_t before = growth.written.size();
  growth.written.add({.begin = begin, .end = end}, mostPieces(growth));
  pieces_ = pieces_ - before + growth.written.size();
}

// Whether what was written under this name is there at the end, and under no other that counts.
bool AddedBytes::keepsItsBytes(std::uint32_t file, const std::vector<PlannedFile>& files) const {
  const Growth& growth = growths_[file];
  if (growth.does_not_count || growth.replaced > 0) return false;
  if (!growth.renamed_to) return true;
  const std::uint32_t name = *growth.renamed_to;
  const Growth& after = growths_[name];
  return name != file && !files[name].exists && !after.does_not_count && !after.renamed_to &&
         after.written.size() == 0 && after.appended == 0;
}

void AddedBytes::moveInto(std::vector<PlannedFile>& files, bool write_overwrite) {
  growths_.resize(std::max(growths_.size(), files.size()));
  for (Growth& growth : growths_) growth.written.settle(mostPieces(growth));
  std::unordered_set<std::string_view> moved;
  for (const std::uint32_t file : moved_) moved.insert(files[file].location);
  const auto isBelowMoved = [&moved](std::string_view location) {
    for (std::size_t at = location.find('/'); at != std::string_view::npos;
         at = location.find('/', at + 1)) {
      if (moved.contains(location.substr(0, at))) return true;
    }
    return false;
  };
  for (std::uint32_t i = 0; i < files.size(); ++i) {
    PlannedFile& file = files[i];
    const Growth& growth = growths_[i];
    const auto& pieces = growth.written.pieces();
    const std::uint64_t end = pieces.empty() ? 0 : pieces.back().end;
    const bool is_shortened = growth.shortest < std::max(end, file.size);
    const bool is_cut = growth.last_cut_ns != std::numeric_limits<std::int64_t>::min();
    const bool is_cut_later = (is_cut && growth.last_cut_ns > growth.first_write_ns) ||
                              (is_shortened && growth.last_length_ns > growth.first_write_ns);
    const bool keeps = keepsItsBytes(i, files) && !isBelowMoved(file.location) && !is_cut_later;
    const bool is_file = file.role != model::FileRole::kDirectory;
    file.may_shrink = !keeps || is_cut || is_shortened;
    if (!keeps || !is_file) continue;
    file.added_bytes = growth.appended;
    // Then it is prepared as long as it is written.
    if (write_overwrite) continue;
    const bool was_there = file.exists && !file.may_shrink;
    for (const auto& [begin, behind] : pieces) {
      const std::uint64_t bytes = was_there ? withoutBlocks(file, begin, behind) : behind - begin;
      file.added_bytes = sumOf(file.added_bytes, bytes);
    }
  }
  growths_.clear();
}

}  // namespace omnio::replay
