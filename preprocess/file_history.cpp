#include "preprocess/file_history.hpp"

#include <errno.h>
#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "core/printable.hpp"

namespace omnio::preprocess {

using calls::Role;
using model::FileNumber;
using model::kNoFileNumber;

namespace {

std::int64_t argument(const Event& event, Role role) {
  const int index = calls::indexOf(*event.row, role);
  return index < 0 ? 0 : event.arguments[static_cast<std::size_t>(index)];
}

std::string_view parentOf(std::string_view location) {
  const std::size_t slash = location.rfind('/');
  return slash == std::string_view::npos ? std::string_view(".") : location.substr(0, slash);
}

// What an open asks for, of descriptors and streams alike.
int openFlags(const Event& event) {
  const std::string_view plain = event.row->variant_of;
  if (plain == "creat") return O_CREAT | O_WRONLY | O_TRUNC;
  if (plain.starts_with("mkstemp") || plain.starts_with("mkostemp")) {
    return O_CREAT | O_EXCL | O_RDWR;
  }
  const int mode = calls::indexOf(*event.row, Role::kOpenMode);
  if (mode < 0) return static_cast<int>(argument(event, Role::kFlags));
  const std::string_view type = event.texts[static_cast<std::size_t>(mode)].raw;
  const bool plus = type.find('+') != std::string_view::npos;
  int flags = plus ? O_RDWR : O_WRONLY;
  if (type.starts_with('w')) flags |= O_CREAT | O_TRUNC;
  if (type.starts_with('a')) flags |= O_CREAT | O_APPEND;
  if (type.starts_with('r') && !plus) flags = O_RDONLY;
  if (type.find('x') != std::string_view::npos) flags |= O_EXCL;
  return flags;
}

}  // namespace

FileNumber FileHistory::numberOf(std::string_view absolute) {
  std::string location = locations_.locationOf(absolute);
  const auto [at, is_new] =
      numbers_.emplace(std::move(location), FileNumber{static_cast<std::uint32_t>(names_.size())});
  if (is_new) {
    FileName added;
    added.location = at->first;
    added.source = printable(absolute);
    names_.push_back(std::move(added));
  }
  return at->second;
}

ContentId FileHistory::makeContent(FileNumber origin) {
  contents_.emplace_back();
  contents_.back().origin = origin;
  return contents_.size() - 1;
}

ContentId FileHistory::anonymous() { return makeContent(kNoFileNumber); }

// What the name stands for, of a call that found it.
ContentId FileHistory::find(FileNumber number) {
  // Links that lead to each other end somewhere in what the system follows, too.
  for (int links = 0; links < 40 && name(number).link_to != kNoFileNumber; ++links) {
    number = name(number).link_to;
  }
  FileName& file = name(number);
  if (file.content == kNoContent) {
    // Nothing in the trace made it: it was there.
    if (!file.is_gone && !file.existed) file.existed = true;
    file.content = makeContent(file.is_gone ? kNoFileNumber : number);
    file.is_gone = false;
  }
  return file.content;
}

void FileHistory::use(FileNumber number, const PastEvent& when, std::int64_t start_ns) {
  FileName& file = name(number);
  if (file.changed) dependencies_.require(when.ref, start_ns, *file.changed);
  file.used[when.ref.thread] = when;
  // What was made inside a directory of the run needs that directory.
  const auto parent = numbers_.find(std::string(parentOf(file.location)));
  if (parent == numbers_.end() || parent->second == number) return;
  FileName& directory = name(parent->second);
  if (!directory.changed) return;
  dependencies_.require(when.ref, start_ns, *directory.changed);
  directory.used[when.ref.thread] = when;
}

void FileHistory::waitForUsers(ContentId content, const PastEvent& when, std::int64_t start_ns) {
  if (content == kNoContent) return;
  for (const auto& [thread, access] : contents_[content].last_access) {
    dependencies_.require(when.ref, start_ns, access);
  }
}

void FileHistory::change(FileNumber number, const PastEvent& when, std::int64_t start_ns) {
  use(number, when, start_ns);
  FileName& file = name(number);
  for (const auto& [thread, user] : file.used) dependencies_.require(when.ref, start_ns, user);
  waitForUsers(file.content, when, start_ns);
  file.used.clear();
  file.changed = when;
}

ContentId FileHistory::opened(const Event& event, const PastEvent& when, FileNumber file) {
  const int flags = openFlags(event);
  FileName& entry = name(file);
  if ((flags & O_TMPFILE) == O_TMPFILE) {
    use(file, when, event.start_ns);
    entry.is_directory = true;
    if (!entry.was_made && !entry.existed) entry.existed = true;
    return anonymous();
  }
  if ((flags & O_DIRECTORY) != 0 ||
      (event.new_handle != nullptr &&
       event.new_handle->definition.kind == wire::FileKind::kDirectory)) {
    use(file, when, event.start_ns);
    entry.is_directory = true;
    return find(file);
  }
  if (entry.link_to != kNoFileNumber) {
    use(file, when, event.start_ns);
    return find(file);
  }
  const bool creates = (flags & O_CREAT) != 0;
  const bool is_there = entry.content != kNoContent;
  if (creates && !is_there) {
    change(file, when, event.start_ns);
    const bool maybe_there = !entry.is_gone && !entry.existed && (flags & O_EXCL) == 0;
    if (!entry.existed && !maybe_there) entry.existed = false;
    entry.content = makeContent(file);
    entry.was_made = true;
    entry.is_gone = false;
    contents_[entry.content].maybe_new = maybe_there;
    // Gone or absent before: nothing of it can be needed.
    if (!maybe_there && entry.existed != true) contents_[entry.content].emptied = true;
  } else if ((flags & O_TRUNC) != 0) {
    change(file, when, event.start_ns);
    find(file);
  } else {
    use(file, when, event.start_ns);
    find(file);
  }
  Content& content = contents_[entry.content];
  if ((flags & O_TRUNC) != 0) {
    content.emptied = true;
    content.written.clear();
  }
  if ((flags & O_ACCMODE) != O_RDONLY) entry.was_written = true;
  return entry.content;
}

// What a failure tells about the time before the run.
void FileHistory::failed(const Event& event, FileNumber file) {
  FileName& entry = name(file);
  if (entry.content != kNoContent || entry.is_gone || entry.existed) return;
  if (event.result == ENOENT) {
    entry.is_gone = true;
    entry.existed = false;
  } else if (event.result == EEXIST) {
    find(file);
    if (event.row->variant_of == "mkdir" || event.row->variant_of == "mkdirat") {
      entry.is_directory = true;
    }
  } else if (event.result == EISDIR) {
    find(file);
    entry.is_directory = true;
  }
}

ContentId FileHistory::named(const Event& event, PastEvent when, FileNumber file,
                             FileNumber new_file) {
  const std::int64_t start = event.start_ns;
  if (event.failed) {
    use(file, when, start);
    failed(event, file);
    return kNoContent;
  }
  if (event.row->result == calls::Result::kNewFd ||
      event.row->result == calls::Result::kNewStream) {
    return opened(event, when, file);
  }
  const std::string_view plain = event.row->variant_of;
  if (plain == "mkdir" || plain == "mkdirat") {
    change(file, when, start);
    FileName& entry = name(file);
    if (!entry.existed && !entry.is_gone) entry.existed = false;
    entry.content = makeContent(kNoFileNumber);
    entry.was_made = entry.is_directory = true;
    entry.is_gone = false;
  } else if (plain == "unlink" || plain == "unlinkat" || plain == "remove" || plain == "rmdir") {
    FileName& entry = name(file);
    if (entry.link_to == kNoFileNumber) find(file);
    change(file, when, start);
    entry.link_to = kNoFileNumber;
    if (plain == "rmdir" ||
        (plain == "unlinkat" && (argument(event, Role::kFlags) & AT_REMOVEDIR) != 0)) {
      entry.is_directory = true;
    }
    entry.content = kNoContent;
    entry.is_gone = true;
  } else if (plain.starts_with("rename") && new_file != kNoFileNumber) {
    const ContentId moved = find(file);
    change(file, when, start);
    change(new_file, when, start);
    FileName& from = name(file);
    FileName& to = name(new_file);
    const bool exchanges = plain == "renameat2" && (argument(event, Role::kFlags) & 2) != 0;
    const ContentId replaced = exchanges ? find(new_file) : kNoContent;
    // Whether there was something to be replaced, nothing tells.
    if (to.content == kNoContent && !to.existed && !to.is_gone) to.existed = false;
    to.content = moved;
    to.was_made = true;
    to.is_gone = false;
    to.is_directory = to.is_directory || from.is_directory;
    from.content = replaced;
    from.is_gone = !exchanges;
  } else if ((plain == "link" || plain == "linkat") && new_file != kNoFileNumber) {
    const ContentId shared = find(file);
    use(file, when, start);
    change(new_file, when, start);
    FileName& to = name(new_file);
    if (!to.existed) to.existed = false;
    to.content = shared;
    to.was_made = true;
    to.is_gone = false;
  } else if (plain == "symlink" || plain == "symlinkat") {
    change(file, when, start);
    FileName& link = name(file);
    if (!link.existed) link.existed = false;
    link.link_to = new_file;
    link.was_made = true;
    link.is_gone = false;
  } else if (plain == "truncate") {
    use(file, when, start);
    const ContentId content = find(file);
    name(file).was_written = true;
    resized(content, when, start,
            static_cast<std::uint64_t>(std::max<std::int64_t>(argument(event, Role::kLength), 0)));
  } else {
    use(file, when, start);
    find(file);
    if (plain == "chdir") name(file).is_directory = true;
  }
  return kNoContent;
}

ContentId FileHistory::inherited(FileNumber file) {
  FileName& entry = name(file);
  if (entry.content != kNoContent) return entry.content;
  // Whoever opened it may have made it empty, as a shell does: only what is read tells.
  entry.content = makeContent(file);
  entry.existed = true;
  return entry.content;
}

void FileHistory::touched(ContentId content, PastEvent when) {
  contents_[content].last_access[when.ref.thread] = when;
}

void FileHistory::read(ContentId id, const Event& event, PastEvent when, const DataAccess& access) {
  Content& content = contents_[id];
  content.last_access[when.ref.thread] = when;
  if (event.row->result == calls::Result::kLine || event.row->variant_of == "getline" ||
      event.row->variant_of == "getdelim" || event.row->variant_of == "__getdelim") {
    content.lines = true;
  }
  if (content.emptied || !access.offset) return;
  const Range range{*access.offset, *access.offset + access.bytes};
  const std::uint64_t end = content.written.lastUncovered(range);
  // Of a file that may be the run's own, what was not written is a hole as far as the file reaches.
  if (content.maybe_new && end <= std::max(content.written.end(), content.extended_to)) return;
  content.needed = std::max(content.needed, end);
  content.read_before_written = std::max(content.read_before_written, end);
}

void FileHistory::write(ContentId id, PastEvent when, const DataAccess& access) {
  Content& content = contents_[id];
  content.last_access[when.ref.thread] = when;
  if (content.origin != kNoFileNumber) name(content.origin).was_written = true;
  if (access.offset) content.written.add({*access.offset, *access.offset + access.bytes});
}

void FileHistory::resized(ContentId id, PastEvent when, std::int64_t start_ns, std::uint64_t size) {
  waitForUsers(id, when, start_ns);
  Content& content = contents_[id];
  content.last_access[when.ref.thread] = when;
  content.written.cut(size);
  content.extended_to = size;
  if (size == 0) content.emptied = true;
}

void FileHistory::measured(ContentId id, std::uint64_t size) {
  Content& content = contents_[id];
  if (content.emptied || size <= std::max(content.written.end(), content.extended_to)) return;
  content.needed = std::max(content.needed, size);
}

std::vector<model::ScheduleFile> FileHistory::files() {
  // A name that others stand below is a directory, whatever was or was not done to it.
  for (const FileName& entry : std::vector<FileName>(names_)) {
    for (std::string_view at = parentOf(entry.location); at != "."; at = parentOf(at)) {
      const auto found = numbers_.find(std::string(at));
      if (found == numbers_.end()) continue;
      // Only of something that was there itself does this follow.
      if (entry.existed == true || entry.was_made) name(found->second).is_directory = true;
    }
  }
  std::vector<model::ScheduleFile> files;
  std::vector<const Content*> origins(names_.size(), nullptr);
  for (const Content& content : contents_) {
    if (content.origin == kNoFileNumber) continue;
    const Content*& known = origins[static_cast<std::size_t>(content.origin)];
    if (known == nullptr) known = &content;  // a later one is not the one from before the run
  }
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const FileName& entry = names_[i];
    const Content* before = origins[i];
    model::ScheduleFile file;
    file.location = entry.location;
    file.source = entry.source;
    file.exists = entry.existed.value_or(before != nullptr && before->needed > 0);
    if (before != nullptr) {
      file.lines = before->lines;
      if (file.exists) {
        file.size = before->needed;
        file.read_before_written = before->read_before_written;
      }
    }
    if (entry.location == "." || entry.is_directory) {
      file.role = model::FileRole::kDirectory;
      file.exists = entry.location == "." || entry.existed == true ||
                    (!entry.was_made && entry.existed != false);
      file.size = file.read_before_written = 0;
      file.lines = false;
    } else if (file.exists) {
      file.role = entry.was_written ? model::FileRole::kUpdated : model::FileRole::kInput;
    } else {
      file.role = entry.was_made ? model::FileRole::kOutput : model::FileRole::kAbsent;
    }
    files.push_back(std::move(file));
  }
  return files;
}

}  // namespace omnio::preprocess
