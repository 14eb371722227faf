#include "core/tracefile/posix_offsets.hpp"

#include <fcntl.h>
#include <stdio.h>

#include <algorithm>
#include <utility>

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
  const event::FileSize& size = description->file->size;
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
    description->file = behind(handle, false);
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
  if (event.row->call_class != calls::Class::kOpen) {  // fdopen, dup: the file as it is
    // fdopen with "a" sets the flag; a duplicate has what F_SETFL has made of it.
    if ((event::openFlags(event) & O_APPEND) != 0) description.open.appends = true;
    return;
  }
  description.open.appends = (flags & O_APPEND) != 0;
  began_elsewhere_.erase(handle.path.file);  // tmpfile's, found by its descriptor
  description.file = behind(handle, (flags & O_EXCL) != 0);
  files_[handle.path.file] = description.file;
  event::FileSize& size = description.file->size;
  if ((flags & (O_TRUNC | O_EXCL)) != 0) size.set(0);
  // Others may have made it longer since.
  if (handle.definition.size != wire::kUnknownSize) size.reaches(handle.definition.size);
}

const std::shared_ptr<PosixOffsets::File>& PosixOffsets::named(event::FileId name) {
  std::shared_ptr<File>& file = files_[name];
  if (!file) file = std::make_shared<File>();
  return file;
}

std::shared_ptr<PosixOffsets::File> PosixOffsets::behind(const event::Handle& handle,
                                                         bool is_made) {
  const Inode inode{.device = handle.definition.device, .number = handle.definition.inode};
  std::shared_ptr<File>& of_name = files_[handle.path.file];
  if (inode.number == 0) return named(handle.path.file);
  if (!is_made && of_name && of_name->inode == inode) return of_name;
  std::weak_ptr<File>& known = by_inode_[inode];
  std::shared_ptr<File> file = is_made ? nullptr : known.lock();
  // It was shorter when it was opened: another process has removed the file whose inode that was.
  const std::int64_t size = handle.definition.size;
  if (file && size != wire::kUnknownSize && size < file->size.bytes) file.reset();
  // One whose inode is not known was found by its name alone.
  if (!file && of_name && of_name->inode.number == 0) file = of_name;
  if (!file) file = std::make_shared<File>();
  file->inode = inode;
  known = file;
  if (!of_name) of_name = file;
  forgetGone();
  return file;
}

// Of the inodes those that no name and no descriptor leads to.
void PosixOffsets::forgetGone() {
  if (by_inode_.size() <= most_inodes_) return;
  std::erase_if(by_inode_, [](const auto& entry) { return entry.second.expired(); });
  most_inodes_ = std::max(most_inodes_, 2 * by_inode_.size());
}

// Descriptors stay with the file that loses its name: logs are rotated while they are open. Of
// files below a directory that is renamed, their inodes tell when they are opened again.
void PosixOffsets::takeNames(const event::Event& event) {
  const calls::Row& row = *event.row;
  if (event.failed) return;
  const bool links = calls::does(row, calls::Effect::kMakesLink);
  const bool renames = calls::does(row, calls::Effect::kRenames);
  if (!links && !renames) {
    if (calls::does(row, calls::Effect::kRemovesName)) files_.erase(event.file);
    return;
  }
  const auto index = static_cast<std::size_t>(calls::indexOf(row, calls::Role::kPathNew));
  const event::FileId name = event.file;
  const event::FileId new_name = paths_.idOf(event.texts[index].absolute);
  if (name == new_name) return;
  std::shared_ptr<File> file = named(name);
  std::shared_ptr<File>& replaced = files_[new_name];
  // Two names of one file: rename does nothing (POSIX).
  if (file == replaced) return;
  std::swap(replaced, file);
  if (links) return;
  const bool exchanges = (event::argumentOf(event, calls::Role::kFlags) & RENAME_EXCHANGE) != 0;
  if (exchanges && file) {
    files_[name] = std::move(file);
  } else {
    files_.erase(name);
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
  const calls::Class call_class = event.row->call_class;
  // A call on a name may have the handle of the directory that the name is looked up from.
  const bool is_on_name = event.handle == nullptr ||
                          (event.new_handle == nullptr && call_class == calls::Class::kMetadata &&
                           calls::has(*event.row, calls::Role::kPath));
  if (is_on_name) {
    if (!event.failed && calls::does(*event.row, calls::Effect::kSetsLength)) {  // truncate
      named(event.file)->size.set(event::argumentOf(event, calls::Role::kLength));
    }
    takeNames(event);
    return {};
  }
  if (event.new_handle != nullptr) {
    descriptionOf(process, *event.handle).is_shared = true;
    return {};
  }
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
      event::follow(event, unused, behind(*event.handle, false)->size);
      return {};
    }
  }
  event::FileSize& size = description->file->size;
  const auto transfer = event::follow(event, description->open, size);
  if (!transfer) return {};
  return Located{.transfer = *transfer,
                 .session = description->session,
                 .is_behind_unknown = transfer->at_end && !size.is_known};
}

}  // namespace omnio::tracefile
