#include "core/tracefile/file_names.hpp"

#include <stdio.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <tuple>

#include "core/wire/info.hpp"

namespace omnio::tracefile {

using calls::Effect;

// Disjoint sets of paths.
class FileNames::Classes {
 public:
  explicit Classes(std::size_t paths) : above_(paths) {
    std::iota(above_.begin(), above_.end(), std::size_t{0});
  }

  std::size_t of(std::size_t path) {
    while (above_[path] != path) path = above_[path] = above_[above_[path]];
    return path;
  }
  void join(event::FileId a, event::FileId b) {
    above_[of(static_cast<std::size_t>(a))] = of(static_cast<std::size_t>(b));
  }

 private:
  std::vector<std::size_t> above_;
};

FileNames::Name& FileNames::of(event::FileId file) {
  const auto number = static_cast<std::size_t>(file);
  if (number >= names_.size()) names_.resize(std::max(number + 1, paths_.size()));
  return names_[number];
}

const FileNames::Name& FileNames::known(event::FileId file) const {
  static constexpr Name kNone;
  const auto number = static_cast<std::size_t>(file);
  return number < names_.size() ? names_[number] : kNone;
}

std::uint64_t FileNames::nodeOf(const Process& process) {
  if (&process != process_) {
    process_ = &process;
    node_ = bootNumber(process.info.text(wire::info::kBoot));
  }
  return node_;
}

void FileNames::take(const Process& process, const event::Event& event) {
  if (event.new_handle == nullptr) {
    if (event.row->call_class == calls::Class::kMetadata && !event.failed) takeNames(event);
    return;
  }
  const wire::HandleDefinition& handle = event.new_handle->definition;
  const event::FileId file = event.new_handle->path.file;
  if (event.row->call_class != calls::Class::kOpen || file == event::kNoFile ||
      handle.kind != wire::FileKind::kRegular || handle.inode == 0) {
    return;
  }
  Name& name = of(file);
  if (name.inode == 0) {
    name.inode = handle.inode;
    name.device = handle.device;
    name.node = nodeOf(process);
  } else if (name.inode != handle.inode) {
    name.has_several = true;
  }
}

void FileNames::takeNames(const event::Event& event) {
  const calls::Row& row = *event.row;
  if (event.file == event::kNoFile) return;
  const bool renames = calls::does(row, Effect::kRenames);
  if (!renames && !calls::does(row, Effect::kMakesLink)) {
    if (calls::does(row, Effect::kRemovesName)) of(event.file).was_removed = true;
    return;
  }
  const auto index = static_cast<std::size_t>(calls::indexOf(row, calls::Role::kPathNew));
  const event::FileId to = paths_.idOf(event.texts[index].absolute);
  if (to == event.file) return;
  made_.insert({.from = event.file, .to = to, .by_rename = renames});
  if (!renames) return;
  if ((event::argumentOf(event, calls::Role::kFlags) & RENAME_EXCHANGE) != 0) {
    made_.insert({.from = to, .to = event.file, .by_rename = true});
    return;
  }
  of(event.file).was_renamed = true;
  Name& replaced = of(to);
  if (replaced.inode != 0 && replaced.inode != known(event.file).inode) replaced.was_removed = true;
}

void FileNames::add(const FileNames& other) {
  const auto own = [&](event::FileId file) { return paths_.idOf(other.paths_.path(file)); };
  for (std::size_t i = 0; i < other.names_.size(); ++i) {
    const Name& seen = other.names_[i];
    if (seen.inode == 0 && !seen.was_removed && !seen.was_renamed) continue;
    Name& name = of(own(static_cast<event::FileId>(i)));
    if (name.inode == 0) {
      std::tie(name.inode, name.device, name.node) = std::tie(seen.inode, seen.device, seen.node);
    } else if (seen.inode != 0 && name.inode != seen.inode) {
      name.has_several = true;
    }
    name.has_several |= seen.has_several;
    name.was_removed |= seen.was_removed;
    name.was_renamed |= seen.was_renamed;
  }
  for (const auto& [from, to, by_rename] : other.made_) {
    made_.insert({.from = own(from), .to = own(to), .by_rename = by_rename});
  }
}

std::vector<event::FileId> FileNames::standing() const {
  Classes classes(paths_.size());
  for (const auto& [from, to, by_rename] : made_) {
    const Name& old = known(from);
    const Name& fresh = known(to);
    if (!old.isOfOneFile() || !fresh.isOfOneFile() || old.inode != fresh.inode) continue;
    // A file that is gone again may have left its inode to the next one of the old name.
    const bool may_be_others = fresh.was_removed && (by_rename || old.was_removed);
    if (!may_be_others) classes.join(from, to);
  }
  const auto inodeOf = [this](event::FileId file) {
    const Name& name = known(file);
    return std::tuple(name.node, name.device, name.inode);
  };
  std::vector<event::FileId> files;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (names_[i].isOfOneFile()) files.push_back(static_cast<event::FileId>(i));
  }
  std::ranges::sort(files, {}, inodeOf);
  for (auto begin = files.begin(); begin != files.end();) {
    const auto end = std::find_if(
        begin, files.end(), [&](event::FileId file) { return inodeOf(file) != inodeOf(*begin); });
    const bool was_removed =
        std::any_of(begin, end, [this](event::FileId file) { return known(file).was_removed; });
    for (auto file = begin; !was_removed && file != end; ++file) classes.join(*file, *begin);
    begin = end;
  }

  std::set<std::string_view> renamed;
  for (const auto& [from, to, by_rename] : made_) {
    if (known(from).was_renamed) renamed.insert(paths_.path(from));
  }
  const auto isGone = [&](event::FileId file) {
    if (known(file).was_removed || known(file).was_renamed) return true;
    const std::string_view path = paths_.path(file);
    for (std::size_t at = path.find('/', 1); at != std::string_view::npos;
         at = path.find('/', at + 1)) {
      if (renamed.contains(path.substr(0, at))) return true;
    }
    return false;
  };
  const auto rank = [&](event::FileId file) { return std::tuple(isGone(file), paths_.path(file)); };
  std::vector<event::FileId> of_class(paths_.size(), event::kNoFile);
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    const auto file = static_cast<event::FileId>(i);
    event::FileId& best = of_class[classes.of(i)];
    if (best == event::kNoFile || rank(file) < rank(best)) best = file;
  }
  std::vector<event::FileId> stands(paths_.size());
  for (std::size_t i = 0; i < paths_.size(); ++i) stands[i] = of_class[classes.of(i)];
  return stands;
}

}  // namespace omnio::tracefile
