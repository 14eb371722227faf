#include "core/tracefile/file_names.hpp"

#include <stdio.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
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
  // One that was opened without a name (tmpfile, O_TMPFILE): its inode is free when it is closed.
  // So the kernel calls what has none.
  name.was_removed |= paths_.path(file).ends_with(" (deleted)");
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
  if (renames && (event::argumentOf(event, calls::Role::kFlags) & RENAME_EXCHANGE) != 0) {
    made_.insert({.from = to, .to = event.file, .by_rename = true});
  }
}

void FileNames::add(const FileNames& other) {
  const auto own = [&](event::FileId file) { return paths_.idOf(other.paths_.path(file)); };
  for (std::size_t i = 0; i < other.names_.size(); ++i) {
    const Name& seen = other.names_[i];
    if (seen.inode == 0 && !seen.was_removed) continue;
    Name& name = of(own(static_cast<event::FileId>(i)));
    if (name.inode == 0) {
      std::tie(name.inode, name.device, name.node) = std::tie(seen.inode, seen.device, seen.node);
    } else if (seen.inode != 0 && name.inode != seen.inode) {
      name.has_several = true;
    }
    name.has_several |= seen.has_several;
    name.was_removed |= seen.was_removed;
  }
  for (const auto& [from, to, by_rename] : other.made_) {
    made_.insert({.from = own(from), .to = own(to), .by_rename = by_rename});
  }
}

// Renames, and what follows from them.
class FileNames::Renames {
 public:
  explicit Renames(const FileNames& names) : names_(names) {
    for (const auto& [from, to, by_rename] : names.made_) {
      if (!by_rename) continue;
      from_.insert(names.paths_.path(from));
      ++to_[names.paths_.path(to)];
    }
  }

  // Several names were renamed to it, so that what it leads to was replaced.
  bool hasSeveral(event::FileId file) const {
    const auto found = to_.find(names_.paths_.path(file));
    return found != to_.end() && found->second > 1;
  }
  // The name, or that of a directory above it, was renamed to another one.
  bool isMoved(event::FileId file) const {
    return anyOf(file, [this](std::string_view path) { return from_.contains(path); });
  }
  // No rename has to do with the name.
  bool isUntouched(event::FileId file) const {
    return !isMoved(file) &&
           !anyOf(file, [this](std::string_view path) { return to_.contains(path); });
  }

 private:
  template <typename Is>
  bool anyOf(event::FileId file, Is is) const {
    const std::string_view path = names_.paths_.path(file);
    if (from_.empty()) return false;
    for (std::size_t at = path.find('/', 1); at != std::string_view::npos;
         at = path.find('/', at + 1)) {
      if (is(path.substr(0, at))) return true;
    }
    return is(path);
  }

  const FileNames& names_;
  std::set<std::string_view> from_;
  std::map<std::string_view, std::size_t> to_;  // how many names
};

// Names of which one was made of the other, by itself or with a directory above it.
void FileNames::joinMade(const Renames& renames, Classes& classes) const {
  const auto join = [&](event::FileId from, event::FileId to, bool by_rename) {
    const Name& old = known(from);
    const Name& fresh = known(to);
    if (!old.isOfOneFile() || !fresh.isOfOneFile() || old.inode != fresh.inode) return;
    // A file that is gone again may have left its inode to the next one of the old name.
    const bool may_be_others = fresh.was_removed && (by_rename || old.was_removed);
    if (!may_be_others && !renames.hasSeveral(to)) classes.join(from, to);
  };
  std::map<std::string_view, event::FileId> opened;  // in the order of paths
  for (std::size_t i = 0; i < names_.size() && !made_.empty(); ++i) {
    if (!names_[i].isOfOneFile()) continue;
    const auto file = static_cast<event::FileId>(i);
    opened.emplace(paths_.path(file), file);
  }
  for (const auto& [from, to, by_rename] : made_) {
    join(from, to, by_rename);
    if (!by_rename || renames.hasSeveral(to)) continue;
    const std::string below = std::string(paths_.path(from)) + '/';
    for (auto file = opened.lower_bound(below);
         file != opened.end() && file->first.starts_with(below); ++file) {
      const std::string moved =
          std::string(paths_.path(to)) + std::string(file->first.substr(below.size() - 1));
      if (const auto found = opened.find(moved); found != opened.end()) {
        join(file->second, found->second, true);
      }
    }
  }
}

// Names that found one inode, which was never free: links that are from before the run, and
// symbolic ones.
void FileNames::joinStable(const Renames& renames, Classes& classes) const {
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
    const bool is_stable = end - begin > 1 && std::all_of(begin, end, [&](event::FileId file) {
                             return !known(file).was_removed && renames.isUntouched(file);
                           });
    for (auto file = begin; is_stable && file != end; ++file) classes.join(*file, *begin);
    begin = end;
  }
}

std::vector<event::FileId> FileNames::standing() const {
  const Renames renames(*this);
  Classes classes(paths_.size());
  joinMade(renames, classes);
  joinStable(renames, classes);
  const auto rank = [&](event::FileId file) {
    return std::tuple(known(file).was_removed || renames.isMoved(file), paths_.path(file));
  };
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
