#include "report/file_offsets.hpp"

#include <algorithm>
#include <utility>

#include "core/base/printable.hpp"
#include "core/calls/effects.hpp"

namespace omnio::report {
namespace {

// Values of OffsetFollower::files_ beside the files' own numbers.
constexpr std::int16_t kNotLookedUp = -2;
constexpr std::int16_t kNotRead = -1;

// So many are added at once: workers wait for each other seldom.
constexpr std::size_t kBuffered = 1024;

// A request of more pieces is spread evenly over all that lies between its first and last byte.
constexpr std::size_t kMostPieces = 64;

// Whether a path of a phase model is that of the file, with a number in place of {rank}.
bool isPathOf(std::string_view pattern, std::string_view name) {
  constexpr std::string_view kDigits = "0123456789";
  while (true) {
    const std::size_t mark = std::min(pattern.find("{rank"), pattern.size());
    if (mark == pattern.size()) return pattern == name;
    if (name.substr(0, mark) != pattern.substr(0, mark)) return false;
    const std::size_t end = pattern.find('}', mark);
    name.remove_prefix(mark);
    const std::size_t digits = std::min(name.find_first_not_of(kDigits), name.size());
    if (end == std::string_view::npos || digits == 0) return false;
    name.remove_prefix(digits);
    pattern.remove_prefix(end + 1);
  }
}

}  // namespace

std::vector<const model::Phase*> phasesOf(const model::PhaseModel& model, std::string_view name) {
  std::vector<const model::Phase*> phases;
  for (const model::Phase& phase : model.phases) {
    if (isPathOf(model.files[static_cast<std::size_t>(phase.file)].path, name)) {
      phases.push_back(&phase);
    }
  }
  return phases;
}

OffsetCollector::OffsetCollector(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    index_.emplace(name, files_.size());
    files_.push_back(std::make_unique<File>());
    files_.back()->offsets.name = name;
  }
}

std::optional<std::size_t> OffsetCollector::find(const std::string& name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? std::nullopt : std::optional(found->second);
}

void OffsetCollector::add(std::size_t file, const std::vector<PlacedBytes>& placed) {
  File& to = *files_[file];
  const std::scoped_lock lock(to.mutex);
  for (const PlacedBytes& one : placed) {
    (one.writes ? to.offsets.bytes_written : to.offsets.bytes_read) += one.bytes;
    to.offsets.plane.add(one);
  }
}

void OffsetCollector::addUnplaced(std::size_t file, bool writes, const Unplaced& unplaced) {
  File& to = *files_[file];
  const std::scoped_lock lock(to.mutex);
  (writes ? to.offsets.bytes_written : to.offsets.bytes_read) += unplaced.bytes;
  Unplaced& sum = writes ? to.offsets.unplaced_write : to.offsets.unplaced_read;
  sum.calls += unplaced.calls;
  sum.bytes += unplaced.bytes;
}

std::vector<FileOffsets> OffsetCollector::take() {
  std::vector<FileOffsets> taken;
  for (const std::unique_ptr<File>& file : files_) {
    if (file->offsets.bytes() > 0) taken.push_back(std::move(file->offsets));
  }
  files_.clear();
  index_.clear();
  std::ranges::stable_sort(taken, std::ranges::greater{}, &FileOffsets::bytes);
  if (taken.size() > kMostOffsetFiles) taken.erase(taken.begin() + kMostOffsetFiles, taken.end());
  return taken;
}

OffsetFollower::OffsetFollower(OffsetCollector& collector,
                               const std::vector<const tracefile::Process*>& processes,
                               event::PathTable& paths, const mpi::MpiSharedOffsets& shared,
                               User user)
    : collector_(collector),
      paths_(paths),
      shared_(shared),
      user_(user),
      posix_(processes, paths, sessions_, doubts_),
      buffers_(collector.size()) {}

OffsetFollower::~OffsetFollower() {
  for (std::size_t file = 0; file < buffers_.size(); ++file) {
    const Buffer& buffer = buffers_[file];
    if (!buffer.placed.empty()) collector_.add(file, buffer.placed);
    for (const bool writes : {false, true}) {
      const Unplaced& unplaced = buffer.unplaced[writes ? 1 : 0];
      if (unplaced.calls > 0) collector_.addUnplaced(file, writes, unplaced);
    }
  }
}

std::optional<std::size_t> OffsetFollower::fileOf(event::FileId id) {
  if (id == event::kNoFile) return {};
  const auto index = static_cast<std::size_t>(id);
  if (index >= files_.size()) files_.resize(std::max(paths_.size(), index + 1), kNotLookedUp);
  std::int16_t& file = files_[index];
  if (file == kNotLookedUp) {
    const auto found = collector_.find(base::printable(paths_.path(id)));
    file = found ? static_cast<std::int16_t>(*found) : kNotRead;
  }
  return file == kNotRead ? std::nullopt : std::optional(static_cast<std::size_t>(file));
}

const OffsetFollower::Region& OffsetFollower::take(const tracefile::Process& process,
                                                   const event::Event& event) {
  region_.file = fileOf(event.file);
  region_.is_known = false;
  region_.pieces.clear();
  if (event.row->api == calls::Api::kMpi) {
    if (region_.file) findMpi(process, event);
  } else {
    // A rename or a removal may give a file that is read another name.
    const bool concerns =
        region_.file || (event.new_handle != nullptr && fileOf(event.new_handle->path.file)) ||
        (event.handle == nullptr && calls::does(*event.row, calls::Effect::kRemovesName));
    if (concerns) findPosix(process, event);
  }
  if (!event::transfersData(event) || !event::isOfStorage(event)) region_.file.reset();
  region_.writes = event.row->call_class == calls::Class::kWrite;
  return region_;
}

void OffsetFollower::findPosix(const tracefile::Process& process, const event::Event& event) {
  const phases::Place placed = posix_.take(process, event);
  region_.is_known = placed.known && placed.offset >= 0 &&
                     placed.offset <= mpi::DataLayout::kMost &&
                     event.bytes <= std::uint64_t{mpi::DataLayout::kMost};
  if (!region_.is_known) return;
  region_.begin = placed.offset;
  region_.end = placed.offset + static_cast<std::int64_t>(event.bytes);
}

void OffsetFollower::findMpi(const tracefile::Process& process, const event::Event& event) {
  if (calls::indexOf(*event.row, calls::Role::kTick) < 0) return;
  mpi::MpiFileOffsets& offsets = mpi_.try_emplace(&process, process.info).first->second;
  const std::optional<mpi::MpiFileOffsets::Placed> placed = offsets.take(event);
  if (!placed) return;
  // The bytes of a read that only begins here come with the call that ends it.
  const std::uint64_t bytes = event.bytes > 0 ? event.bytes : event.request;
  if (bytes == 0 || bytes > std::uint64_t{mpi::DataLayout::kMost}) return;
  const auto tick = static_cast<std::uint64_t>(event::argumentOf(event, calls::Role::kTick));
  mpi::MpiAccess access = mpi::accessOf(*placed, shared_.find(process, tick),
                                        static_cast<std::int64_t>(bytes), kMostPieces);
  if (!access.begin || *access.begin < 0 || *access.begin > mpi::DataLayout::kMost) return;
  region_.is_known = true;
  region_.begin = *access.begin;
  region_.end = std::max(access.end.value_or(region_.begin + static_cast<std::int64_t>(bytes)),
                         region_.begin + 1);
  const bool has_gaps = access.pieces.size() > 1;
  if (access.is_whole && has_gaps && bytes == event.bytes)
    region_.pieces = std::move(access.pieces);
}

void OffsetFollower::put(std::size_t file, const PlacedBytes& placed) {
  std::vector<PlacedBytes>& buffer = buffers_[file].placed;
  buffer.push_back(placed);
  if (buffer.size() < kBuffered) return;
  collector_.add(file, buffer);
  buffer.clear();
}

void OffsetFollower::add(const Region& region, std::int64_t start_ns, std::int64_t end_ns,
                         std::uint64_t bytes) {
  if (!region.file || bytes == 0) return;
  if (!region.is_known) {
    Unplaced& unplaced = buffers_[*region.file].unplaced[region.writes ? 1 : 0];
    ++unplaced.calls;
    unplaced.bytes += bytes;
    return;
  }
  PlacedBytes placed{.start_ns = start_ns,
                     .end_ns = end_ns,
                     .offset = static_cast<std::uint64_t>(region.begin),
                     .span_bytes = static_cast<std::uint64_t>(region.end - region.begin),
                     .bytes = bytes,
                     .user = user_,
                     .writes = region.writes};
  if (region.pieces.empty()) {
    put(*region.file, placed);
    return;
  }
  std::uint64_t rest = bytes;
  for (const mpi::Stride& piece : region.pieces) {
    const std::int64_t way = (piece.count - 1) * piece.stride;
    const std::int64_t low = std::min(piece.first, piece.first + way);
    if (low < 0) continue;
    placed.offset = static_cast<std::uint64_t>(low);
    placed.span_bytes = static_cast<std::uint64_t>(std::abs(way) + piece.bytes);
    placed.bytes = std::min(rest, static_cast<std::uint64_t>(piece.count * piece.bytes));
    rest -= placed.bytes;
    if (placed.bytes > 0) put(*region.file, placed);
  }
  placed.bytes = rest;
  if (rest > 0) put(*region.file, placed);
}

}  // namespace omnio::report
