#include "phase_model/file_position.hpp"

#include <algorithm>
#include <optional>

namespace omnio::phases {

Place PosixPositions::take(const tracefile::Process& process, const event::Event& event) {
  const auto located = offsets_.take(process, event);
  if (!located) return {};
  const event::Transfer& transfer = located->transfer;
  if (located->is_behind_unknown) doubts_.appended.insert(event.file);
  return {.known = transfer.is_known && transfer.bytes_known,
          .offset = transfer.offset,
          .session = located->session,
          .manner = {.interface = calls::usesStream(*event.row) ? model::Interface::kStdio
                                                                : model::Interface::kPosix,
                     .pointer = event::isAtPosition(event) ? model::PointerKind::kIndividual
                                                           : model::PointerKind::kExplicit}};
}

namespace {

model::PointerKind kindOf(mpi::MpiPointer pointer) {
  switch (pointer) {
    case mpi::MpiPointer::kExplicit:
      return model::PointerKind::kExplicit;
    case mpi::MpiPointer::kIndividual:
      return model::PointerKind::kIndividual;
    case mpi::MpiPointer::kShared:
      break;
  }
  return model::PointerKind::kShared;
}

}  // namespace

std::uint64_t MpiPositions::sessionOf(const tracefile::Process& process, std::uint64_t in_process) {
  std::uint64_t& number = numbers_[{&process, in_process}];
  if (number == 0) number = ++sessions_;
  return number;
}

mpi::MpiFileOffsets& MpiPositions::of(const tracefile::Process& process) {
  std::unique_ptr<mpi::MpiFileOffsets>& offsets = offsets_[&process];
  if (!offsets) offsets = std::make_unique<mpi::MpiFileOffsets>(process.info);
  return *offsets;
}

namespace {

// Limit for one request. Requests with more strides never count as filling a region.
constexpr std::size_t kMostStrides = 4096;

BytePlaces blocksOf(const mpi::MpiAccess& access) {
  BytePlaces places{.is_known = access.is_whole};
  for (const mpi::Stride& piece : access.pieces) {
    places.add(static_cast<std::uint64_t>(piece.first), static_cast<std::uint64_t>(piece.bytes),
               static_cast<std::uint64_t>(piece.stride), static_cast<std::uint64_t>(piece.count));
  }
  return places;
}

}  // namespace

Place MpiPositions::take(const tracefile::Process& process, const event::Event& event) {
  const std::optional<mpi::MpiFileOffsets::Placed> found = of(process).take(event);
  Place placed;
  if (!found) return placed;
  const mpi::MpiFileState& file = *found->file;
  placed.session = sessionOf(process, file.session);
  placed.manner = {
      .interface = model::Interface::kMpiIo,
      .pointer = kindOf(found->form.pointer),
      .collective = found->form.collective,
      .blocking = !found->form.nonblocking && !found->form.split,
      .has_view = file.has_view,
      .etype_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(file.etype_bytes, 1))};
  const auto tick = static_cast<std::uint64_t>(event::argumentOf(event, calls::Role::kTick));
  const mpi::MpiAccess access =
      mpi::accessOf(*found, shared_.find(process, tick), static_cast<std::int64_t>(event.bytes), 2);
  if (!access.begin) return placed;
  placed.offset = *access.begin;
  if (file.has_view && file.etype_bytes > 0) placed.in_view = access.etypes;
  const bool several_blocks = !access.is_whole || access.pieces.size() > 1 ||
                              (access.pieces.size() == 1 && access.pieces.front().count > 1);
  if (several_blocks) {
    placed.end_of_blocks =
        access.end.value_or(placed.offset + static_cast<std::int64_t>(event.bytes));
    placed.blocks = blocksOf(access.is_whole ? access
                                             : mpi::accessOf(*found, shared_.find(process, tick),
                                                             static_cast<std::int64_t>(event.bytes),
                                                             kMostStrides));
  }
  placed.known = true;
  return placed;
}

}  // namespace omnio::phases
