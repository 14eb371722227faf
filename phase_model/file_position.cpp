#include "phase_model/file_position.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "core/base/checked_math.hpp"
#include "core/wire/info.hpp"

namespace omnio::phases {
namespace {

using calls::CallId;
using calls::Role;

void moveTo(Place& place, std::int64_t offset) {
  place.known = true;
  place.offset = offset;
}

std::uint64_t parentOf(const tracefile::Process& process) {
  const std::string& text = process.info.text(wire::info::kParentToken);
  std::uint64_t token = 0;
  std::from_chars(text.data(), text.data() + text.size(), token, 16);
  return token;
}

}  // namespace

PosixPositions::PosixPositions(const std::vector<const tracefile::Process*>& processes,
                               std::uint64_t& sessions)
    : sessions_(sessions) {
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
    description.appends = (definition.open_flags & O_APPEND) != 0;
    description.place.session = ++sessions_;
    // Told apart by its pattern all the same: counted from where it stood.
    if (definition.origin == wire::Origin::kInherited && !description.appends) {
      doubts_.began_elsewhere.insert(handle.path.file);
    }
  }
  if (definition.handle != definition.description || definition.birth_pid != 0) {
    description.is_shared = true;
  }
  return description;
}

void PosixPositions::opened(const tracefile::Process& process, const event::Event& event) {
  const event::Handle& handle = *event.new_handle;
  Description& description = descriptionOf(process, handle);
  const event::FileId file = handle.path.file;
  const int mode = calls::indexOf(*event.row, Role::kOpenMode);
  bool truncates =
      (handle.definition.open_flags & O_TRUNC) != 0 || event.row->plain == CallId::creat;
  if (mode >= 0) {
    const std::string_view letters = event.texts[static_cast<std::size_t>(mode)].raw;
    description.appends = description.appends || letters.starts_with('a');
    truncates = letters.starts_with('w');
  }
  if (event.row->call_class != calls::Class::kOpen) return;  // fdopen, dup: the file as it is
  doubts_.began_elsewhere.erase(file);                       // tmpfile's, found by its descriptor
  if (truncates || (handle.definition.open_flags & O_EXCL) != 0) {
    endOf(file) = 0;
    ends_known_.insert(file);
  }
}

void PosixPositions::sought(Description& description, const event::Event& event) {
  if (event.failed) return;
  Place& place = description.place;
  if (event.row->result == calls::Result::kPosition) {  // lseek, ftell
    moveTo(place, event.result);
    return;
  }
  if (event.row->plain == CallId::rewind) {
    moveTo(place, 0);
    return;
  }
  if (event.row->plain == CallId::fgetpos) return;
  if (!calls::has(*event.row, Role::kWhence)) {  // fsetpos: to what was never told
    place.known = false;
    return;
  }
  const std::int64_t offset = event::argumentOf(event, Role::kOffset);
  switch (event::argumentOf(event, Role::kWhence)) {
    case SEEK_SET:
      moveTo(place, offset);
      break;
    case SEEK_CUR:
      place.offset = base::saturatingSum(place.offset, offset);
      break;
    default:
      moveTo(place, base::saturatingSum(endOf(event.file), offset));
      place.known = ends_known_.contains(event.file);
  }
}

void PosixPositions::follow(const tracefile::Process& process, const event::Event& event) {
  if (event.new_handle != nullptr) opened(process, event);
  if (event.handle == nullptr) return;
  const calls::Class call_class = event.row->call_class;
  if (call_class == calls::Class::kSeek) {
    sought(descriptionOf(process, *event.handle), event);
  } else if (call_class == calls::Class::kClose && !event.failed) {
    const auto place = descriptions_.find(keyOf(process, event.handle->definition));
    if (place != descriptions_.end() && !place->second.is_shared) descriptions_.erase(place);
  } else if (event.new_handle != nullptr) {
    descriptionOf(process, *event.handle).is_shared = true;
  } else if (event.row->plain == CallId::ungetc && !event.failed) {
    std::int64_t& offset = descriptionOf(process, *event.handle).place.offset;
    offset = base::saturatingSum(offset, -1);
  } else if (calls::does(*event.row, calls::Effect::kSetsLength) && !event.failed) {
    endOf(event.file) = event::argumentOf(event, Role::kLength);
    ends_known_.insert(event.file);
  }
}

Place PosixPositions::placeOf(const tracefile::Process& process, const event::Event& event) {
  const auto bytes = static_cast<std::int64_t>(event.bytes);
  if (event.handle == nullptr) return {.known = false};
  std::int64_t& end = endOf(event.file);
  Description& description = descriptionOf(process, *event.handle);
  Place& position = description.place;
  const int explicit_offset = calls::indexOf(*event.row, Role::kOffset);
  if (explicit_offset >= 0) {
    Place place = position;
    moveTo(place, event.arguments[static_cast<std::size_t>(explicit_offset)]);
    if (place.offset >= 0) {  // of preadv2 and pwritev2, -1 is the position
      end = std::max(end, base::saturatingSum(place.offset, bytes));
      return place;
    }
  }
  Place place = position;
  if (event.row->plain == CallId::copy_file_range) {  // may have had an offset of its own
    place.known = false;
    return place;
  }
  if (!event::countsBytes(*event.row)) {  // fscanf: how far it got is not told
    position.known = false;
    return position;
  }
  if (description.appends && event.row->call_class == calls::Class::kWrite) {
    moveTo(position, end);
    if (!ends_known_.contains(event.file)) doubts_.appended.insert(event.file);
  }
  place = position;
  position.offset = base::saturatingSum(position.offset, bytes);
  if (position.known) end = std::max(end, position.offset);
  return place;
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

MpiPositions::Placed MpiPositions::take(const tracefile::Process& process,
                                        const event::Event& event) {
  const std::optional<mpi::MpiFileOffsets::Placed> found = of(process).take(event);
  Placed placed;
  placed.known = false;
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
  placed.several_blocks = !access.is_whole || access.pieces.size() > 1 ||
                          (access.pieces.size() == 1 && access.pieces.front().count > 1);
  placed.known = true;
  return placed;
}

}  // namespace omnio::phases
