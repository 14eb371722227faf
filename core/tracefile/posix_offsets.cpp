#include "core/tracefile/posix_offsets.hpp"

#include <fcntl.h>
#include <stdio.h>

namespace omnio::tracefile {

PosixOffsets::PosixOffsets(const std::vector<const Process*>& processes, event::PathTable& paths,
                           std::uint64_t& sessions)
    : paths_(paths), sessions_(sessions), keys_(processes) {}

std::optional<PosixOffsets::State> PosixOffsets::stateOf(const Process& process,
                                                         const event::Handle& handle) {
  const DescriptionKey key = keys_.of(process, handle.definition);
  const Description* const description = find(key);
  if (description == nullptr) return {};
  State state{.key = key,
              .position = description->open.position,
              .appends = description->open.appends,
              .size_bytes = {}};
  const event::FileSize& size = *description->size;
  if (size.is_known || size.bytes > 0) state.size_bytes = size.bytes;
  return state;
}

PosixOffsets::Description* PosixOffsets::find(const DescriptionKey& key) {
  Recent& recent = recent_[key.description % recent_.size()];
  if (recent.description != nullptr && recent.key == key) return recent.description;
  const auto found = descriptions_.find(key);
  if (found == descriptions_.end()) return nullptr;
  recent = {key, &found->second};
  return recent.description;
}

PosixOffsets::Description& PosixOffsets::descriptionOf(const Process& process,
                                                       const event::Handle& handle) {
  const wire::HandleDefinition& definition = handle.definition;
  const DescriptionKey key = keys_.of(process, definition);
  Description* description = find(key);
  if (description == nullptr) {
    description = &descriptions_[key];
    description->open.appends = (definition.open_flags & O_APPEND) != 0;
    description->size = sizeOf(handle.path.file);
    description->session = ++sessions_;
    // Told apart by its pattern all the same: counted from where it stood.
    if (definition.origin == wire::Origin::kInherited && !description->open.appends) {
      began_elsewhere_.insert(handle.path.file);
    }
  }
  if (definition.handle != definition.description || definition.birth_pid != 0) {
    description->is_shared = true;
  }
  return *description;
}

void PosixOffsets::opened(const Process& process, const event::Event& event) {
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

const std::shared_ptr<event::FileSize>& PosixOffsets::sizeOf(event::FileId name) {
  std::shared_ptr<event::FileSize>& size = sizes_[name];
  if (!size) size = std::make_shared<event::FileSize>();
  return size;
}

// Descriptors stay with the file that loses its name: logs are rotated while they are open. Files
// below a directory that is renamed are not followed.
void PosixOffsets::takeNames(const event::Event& event) {
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

void PosixOffsets::close(const Process& process, const event::Event& event) {
  const DescriptionKey key = keys_.of(process, event.handle->definition);
  const Description* const known = find(key);
  if (known == nullptr || known->is_shared || event.failed) return;
  recent_[key.description % recent_.size()] = {};
  descriptions_.erase(key);
}

std::optional<PosixOffsets::Located> PosixOffsets::take(const Process& process,
                                                        const event::Event& event) {
  if (event.new_handle != nullptr) opened(process, event);
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
  const calls::Class call_class = event.row->call_class;
  if (call_class == calls::Class::kClose) {
    close(process, event);
    return {};
  }
  // A call that neither moves the position nor depends on it does not make it doubtful.
  const bool moves = event::transfersData(event) || call_class == calls::Class::kSeek ||
                     event.row->plain == calls::CallId::ungetc;
  Description* description = nullptr;
  if (moves) {
    description = &descriptionOf(process, *event.handle);
  } else {
    description = find(keys_.of(process, event.handle->definition));
    if (description == nullptr) {
      event::OpenFile unused;
      event::follow(event, unused, *sizeOf(event.file));
      return {};
    }
  }
  event::FileSize& size = *description->size;
  const auto transfer = event::follow(event, description->open, size);
  if (!transfer) return {};
  return Located{.transfer = *transfer,
                 .session = description->session,
                 .is_behind_unknown = transfer->at_end && !size.is_known};
}

}  // namespace omnio::tracefile
