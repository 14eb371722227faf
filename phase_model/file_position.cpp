#include "phase_model/file_position.hpp"

#include <fcntl.h>
#include <stdio.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/wire/info.hpp"

namespace omnio::phases {
namespace {

std::uint64_t parentOf(const tracefile::Process& process) {
  const std::string& text = process.info.text(wire::info::kParentToken);
  std::uint64_t token = 0;
  std::from_chars(text.data(), text.data() + text.size(), token, 16);
  return token;
}

}  // namespace

PosixPositions::PosixPositions(const std::vector<const tracefile::Process*>& processes,
                               event::PathTable& paths, std::uint64_t& sessions, Doubts& doubts)
    : paths_(paths), sessions_(sessions), doubts_(doubts) {
  for (const tracefile::Process* process : processes) by_token_[process->token] = process;
}

PosixPositions::Key PosixPositions::keyOf(const tracefile::Process& process,
                                          const wire::HandleDefinition& handle) const {
  std::uint64_t token = process.token;
  const tracefile::Process* owner = &process;
  // Inherited over one fork or more: the opener is the ancestor of that number. (What says of
  // itself that it is its own ancestor is damaged.)
  for (std::size_t forks = 0; handle.birth_pid != 0 && owner->pid != handle.birth_pid; ++forks) {
    const auto parent = by_token_.find(parentOf(*owner));
    if (parent == by_token_.end() || forks == by_token_.size())
      return {process.token, handle.description};
    owner = parent->second;
    token = owner->token;
  }
  return {token, handle.description};
}

PosixPositions::Description& PosixPositions::descriptionOf(const tracefile::Process& process,
                                                           const event::Handle& handle) {
  const wire::HandleDefinition& definition = handle.definition;
  const auto [place, is_new] = descriptions_.try_emplace(keyOf(process, definition));
  Description& description = place->second;
  if (is_new) {
    description.open.appends = (definition.open_flags & O_APPEND) != 0;
    description.size = sizeOf(handle.path.file);
    description.session = ++sessions_;
    // Told apart by its pattern all the same: counted from where it stood.
    if (definition.origin == wire::Origin::kInherited && !description.open.appends) {
      began_elsewhere_.insert(handle.path.file);
    }
  }
  if (definition.handle != definition.description || definition.birth_pid != 0) {
    description.is_shared = true;
  }
  return description;
}

void PosixPositions::opened(const tracefile::Process& process, const event::Event& event) {
  const event::Handle& handle = *event.new_handle;
  const int flags = event::openFlags(event) | static_cast<int>(handle.definition.open_flags);
  Description& description = descriptionOf(process, handle);
  description.open.appends = (flags & O_APPEND) != 0;
  if (event.row->call_class != calls::Class::kOpen) return;  // fdopen, dup: the file as it is
  began_elsewhere_.erase(handle.path.file);                  // tmpfile's, found by its descriptor
  description.size = sizeOf(handle.path.file);
  event::FileSize& size = *description.size;
  if ((flags & (O_TRUNC | O_EXCL)) != 0) size.set(0);
  // Others may have made it longer since.
  if (handle.definition.size != wire::kUnknownSize) size.reaches(handle.definition.size);
}

const std::shared_ptr<event::FileSize>& PosixPositions::sizeOf(event::FileId name) {
  std::shared_ptr<event::FileSize>& size = sizes_[name];
  if (!size) size = std::make_shared<event::FileSize>();
  return size;
}

// Descriptors stay with the file that loses its name: logs are rotated while they are open. Files
// below a directory that is renamed are not followed.
void PosixPositions::takeNames(const event::Event& event) {
  const calls::Row& row = *event.row;
  if (event.failed || !calls::does(row, calls::Effect::kRemovesName)) return;
  if (!calls::does(row, calls::Effect::kRenames)) {
    sizes_.erase(event.file);
    return;
  }
  const auto index = static_cast<std::size_t>(calls::indexOf(row, calls::Role::kPathNew));
  const event::FileId name = event.file;
  const event::FileId new_name = paths_.idOf(event.texts[index].absolute);
  if (name == new_name) return;
  std::shared_ptr<event::FileSize> replaced = sizeOf(new_name);
  sizes_[new_name] = sizeOf(name);
  sizes_.erase(name);
  if ((event::argumentOf(event, calls::Role::kFlags) & RENAME_EXCHANGE) != 0) {
    sizes_[name] = std::move(replaced);
  }
}

Place PosixPositions::take(const tracefile::Process& process, const event::Event& event) {
  if (event.new_handle != nullptr) opened(process, event);
  const calls::Class call_class = event.row->call_class;
  if (event.handle == nullptr) {
    if (!event.failed && calls::does(*event.row, calls::Effect::kSetsLength)) {  // truncate
      sizeOf(event.file)->set(event::argumentOf(event, calls::Role::kLength));
    }
    takeNames(event);
    return {};
  }
  if (event.new_handle != nullptr) {
    descriptionOf(process, *event.handle).is_shared = true;
    return {};
  }
  const auto known = descriptions_.find(keyOf(process, event.handle->definition));
  if (call_class == calls::Class::kClose) {
    const bool is_over = known != descriptions_.end() && !known->second.is_shared;
    if (is_over && !event.failed) descriptions_.erase(known);
    return {};
  }
  // A call that neither moves the position nor depends on it does not make it doubtful.
  const bool moves = event::transfersData(event) || call_class == calls::Class::kSeek ||
                     event.row->plain == calls::CallId::ungetc;
  if (!moves && known == descriptions_.end()) {
    event::OpenFile unused;
    event::follow(event, unused, *sizeOf(event.file));
    return {};
  }
  Description& description = moves ? descriptionOf(process, *event.handle) : known->second;
  event::FileSize& size = *description.size;
  const auto transfer = event::follow(event, description.open, size);
  if (!transfer) return {};
  if (transfer->at_end && !size.is_known) doubts_.appended.insert(event.file);
  return {.known = transfer->is_known && transfer->bytes_known,
          .offset = transfer->offset,
          .session = description.session,
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
