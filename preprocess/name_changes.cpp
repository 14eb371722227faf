// What calls that name files do to names: opens, links, renames, and failures, which tell what was
// not there.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include <algorithm>
#include <utility>

#include "preprocess/file_history.hpp"

namespace omnio::preprocess {

using calls::Role;
using model::FileNumber;
using model::kNoFileNumber;

int openFlags(const event::Event& event) {
  const std::string_view plain = event.row->variant_of;
  if (plain == "creat") return O_CREAT | O_WRONLY | O_TRUNC;
  if (plain.starts_with("mkstemp") || plain.starts_with("mkostemp")) {
    return O_CREAT | O_EXCL | O_RDWR;
  }
  const int mode = calls::indexOf(*event.row, Role::kOpenMode);
  if (mode < 0) return static_cast<int>(event::argumentOf(event, Role::kFlags));
  const std::string_view type = event.texts[static_cast<std::size_t>(mode)].raw;
  const bool plus = type.find('+') != std::string_view::npos;
  int flags = plus ? O_RDWR : O_WRONLY;
  if (type.starts_with('w')) flags |= O_CREAT | O_TRUNC;
  if (type.starts_with('a')) flags |= O_CREAT | O_APPEND;
  if (type.starts_with('r') && !plus) flags = O_RDONLY;
  if (type.find('x') != std::string_view::npos) flags |= O_EXCL;
  return flags;
}

ContentId FileHistory::opened(const event::Event& event, const PastEvent& when, FileNumber file) {
  const int flags = openFlags(event);
  const bool is_temporary = (flags & O_TMPFILE) == O_TMPFILE;
  if (is_temporary || (flags & O_DIRECTORY) != 0 ||
      (event.new_handle != nullptr &&
       event.new_handle->definition.kind == wire::FileKind::kDirectory)) {
    use(file, when, event.start_ns);
    FileName& entry = name(file);
    entry.is_directory = true;
    if (!is_temporary) return find(file);
    if (!entry.was_made && !entry.existed) entry.existed = true;
    return anonymous();
  }
  return openedFile(file, when, event.start_ns, flags);
}

ContentId FileHistory::openedUnseen(FileNumber file, PastEvent when, std::int64_t start_ns,
                                    int flags) {
  return openedFile(file, when, start_ns, flags);
}

ContentId FileHistory::openedFile(FileNumber file, const PastEvent& when, std::int64_t start_ns,
                                  int flags) {
  if (name(file).link_to != kNoFileNumber) {
    use(file, when, start_ns);
    file = followed(file);
  }
  const bool creates = (flags & O_CREAT) != 0;
  // What came along with a directory that was renamed is there.
  if (name(file).content == kNoContent) {
    const ContentId moved = findMoved(file);
    if (moved != kNoContent) {
      name(file).content = moved;
      name(file).was_made = true;
      name(file).existed = false;
    }
  }
  const bool is_there = name(file).content != kNoContent;
  FileName& entry = name(file);
  entry.is_regular = true;
  if (creates && !is_there) {
    change(file, when, start_ns);
    const bool maybe_there = !entry.is_gone && !entry.existed && (flags & O_EXCL) == 0;
    if (!entry.existed && !maybe_there) entry.existed = false;
    entry.content = makeContent(file);
    entry.was_made = true;
    entry.is_gone = false;
    contents_[entry.content].maybe_new = maybe_there;
    // Gone or absent before: nothing of it can be needed.
    if (!maybe_there && entry.existed != true) contents_[entry.content].emptied = true;
  } else if ((flags & O_TRUNC) != 0) {
    change(file, when, start_ns);
    find(file);
  } else {
    use(file, when, start_ns);
    find(file);
  }
  Content& content = contents_[entry.content];
  if ((flags & O_TRUNC) != 0) {
    content.emptied = true;
    content.written.clear();
    content.extended_to = content.appended = 0;
  }
  if ((flags & O_ACCMODE) != O_RDONLY) entry.was_written = true;
  return entry.content;
}

// What a failure tells about the time before the run.
void FileHistory::failed(const event::Event& event, FileNumber file) {
  FileName& entry = name(file);
  if (event.result == ENOENT) entry.was_missed = true;
  if (entry.content != kNoContent || entry.link_to != kNoFileNumber || entry.is_gone ||
      entry.existed) {
    return;
  }
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

ContentId FileHistory::named(const event::Event& event, PastEvent when, FileNumber file,
                             FileNumber new_file) {
  const std::int64_t start = event.start_ns;
  if (event.failed) {
    use(file, when, start);
    // Who finds the new name taken comes after who took it.
    if (new_file != kNoFileNumber) use(new_file, when, start);
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
        (plain == "unlinkat" && (event::argumentOf(event, Role::kFlags) & AT_REMOVEDIR) != 0)) {
      entry.is_directory = true;
    }
    entry.content = kNoContent;
    entry.is_gone = true;
  } else if (plain.starts_with("rename") && new_file != kNoFileNumber) {
    renamed(event, when, file, new_file);
  } else if ((plain == "link" || plain == "linkat") && new_file != kNoFileNumber) {
    if (name(file).link_to == kNoFileNumber) find(file);
    use(file, when, start);
    change(new_file, when, start);
    FileName& to = name(new_file);
    if (!to.existed) to.existed = false;
    to.content = name(file).content;
    to.link_to = name(file).link_to;
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
            static_cast<std::uint64_t>(
                std::max<std::int64_t>(event::argumentOf(event, Role::kLength), 0)));
  } else {
    use(file, when, start);
    const bool is_of_the_link = name(file).link_to != kNoFileNumber &&
                                (plain.starts_with('l') || (event::argumentOf(event, Role::kFlags) &
                                                            AT_SYMLINK_NOFOLLOW) != 0);
    if (!is_of_the_link) find(file);
    if (plain == "chdir") name(file).is_directory = true;
  }
  return kNoContent;
}

void FileHistory::renamed(const event::Event& event, const PastEvent& when, FileNumber file,
                          FileNumber new_file) {
  // A link is moved itself, not what it leads to.
  if (name(file).link_to == kNoFileNumber) find(file);
  const bool exchanges = event.row->variant_of == "renameat2" &&
                         (event::argumentOf(event, Role::kFlags) & RENAME_EXCHANGE) != 0;
  if (exchanges && name(new_file).link_to == kNoFileNumber) find(new_file);
  change(file, when, event.start_ns);
  change(new_file, when, event.start_ns);
  FileName& from = name(file);
  FileName& to = name(new_file);
  // Whether there was something to be replaced, nothing tells.
  if (to.content == kNoContent && !to.existed && !to.is_gone) to.existed = false;
  if (exchanges) {
    std::swap(from.content, to.content);
    std::swap(from.link_to, to.link_to);
  } else {
    to.content = std::exchange(from.content, kNoContent);
    to.link_to = std::exchange(from.link_to, kNoFileNumber);
    from.is_gone = true;
  }
  to.was_made = true;
  to.is_gone = false;
  to.is_directory = to.is_directory || from.is_directory;
  to.is_regular = from.is_regular;
  const bool may_hold_names = !from.is_regular && to.link_to == kNoFileNumber && !exchanges;
  if (may_hold_names) moveBelow(std::string(from.location), std::string(to.location), when);
}

// With a directory goes what is in it.
void FileHistory::moveBelow(const std::string& from, const std::string& to, const PastEvent& when) {
  const auto known = static_cast<std::uint32_t>(names_.size());
  for (std::uint32_t i = 0; i < known; ++i) {
    const FileName before = name(FileNumber{i});
    const bool is_there = before.content != kNoContent || before.link_to != kNoFileNumber;
    if (!is_there || !isBelow(before.location, from)) continue;
    const FileNumber number = numberAt(to + before.location.substr(from.size()), before.source);
    FileName& after = name(number);
    after.content = before.content;
    after.link_to = before.link_to;
    after.is_directory = before.is_directory;
    after.is_regular = before.is_regular;
    after.was_made = true;
    after.is_gone = false;
    after.changed = when;
    if (!after.existed) after.existed = false;
    FileName& gone = name(FileNumber{i});
    gone.content = kNoContent;
    gone.link_to = kNoFileNumber;
    gone.is_gone = true;
  }
  moved_.push_back({from, to});
}

}  // namespace omnio::preprocess
