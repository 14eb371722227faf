// Sizes, holes, names and writers of each file. The file is long because one call changes several,
// and the size before the run follows from all together.
#include "preprocess/files/file_history.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "core/base/printable.hpp"

namespace omnio::preprocess {

using calls::Effect;
using calls::Role;
using model::FileNumber;
using model::kNoFileNumber;
using model::Reason;

namespace {

std::string_view parentOf(std::string_view location) {
  const std::size_t slash = location.rfind('/');
  return slash == std::string_view::npos ? std::string_view(".") : location.substr(0, slash);
}

}  // namespace

bool findsTaken(const event::Event& event) {
  if (!event.failed) return false;
  // bind says so in its own way.
  return event.result == EEXIST ||
         (event.result == EADDRINUSE && calls::does(*event.row, Effect::kMakesNode));
}

bool readsLines(const calls::Row& row) { return calls::does(row, calls::Effect::kReadsLine); }

bool isBelow(std::string_view location, std::string_view directory) {
  return location.size() > directory.size() && location.starts_with(directory) &&
         location[directory.size()] == '/';
}

FileNumber FileHistory::numberOf(std::string_view absolute, std::size_t node) {
  std::string location = locations_.locationOf(absolute);
  if (const std::string_view owner = mounts_.ownerOf(node, absolute); !owner.empty()) {
    location = model::locationOnNode(owner, location);
  }
  const FileNumber number = numberAt(std::move(location), absolute);
  FileName& file = name(number);
  if (!std::exchange(file.has_own_path, true) && file.source != absolute) {
    file.own_path = absolute;
    file.factor = sizes_.factorOf(absolute);
  }
  return number;
}

FileNumber FileHistory::numberAt(std::string location, std::string_view source) {
  const auto [at, is_new] =
      numbers_.emplace(std::move(location), FileNumber{static_cast<std::uint32_t>(names_.size())});
  if (is_new) {
    FileName added;
    added.location = at->first;
    added.source = source;
    added.factor = sizes_.factorOf(source);
    names_.push_back(std::move(added));
  }
  return at->second;
}

ContentId FileHistory::makeContent(FileNumber origin, FileNumber named) {
  const ContentId made = contents_.size();
  contents_.emplace_back(factors_, sizes_.keepBelow() > 0);
  contents_[made].origin = origin;
  contents_[made].factor = sizes_.plain();
  if (named != kNoFileNumber) noteName(made, named);
  return made;
}

ContentId FileHistory::anonymous() { return makeContent(kNoFileNumber, kNoFileNumber); }

// The content has that name from now on, or was found by it. The first name decides on the factor.
void FileHistory::noteName(ContentId id, FileNumber file) {
  if (id == kNoContent) return;
  Content& content = contents_[id];
  const double factor = name(file).factor;
  if (content.first_name == kNoFileNumber) {
    content.first_name = file;
    content.factor = factor;
  } else if (content.factor != factor && content.other_name == kNoFileNumber) {
    content.other_name = file;
  }
}

// The first of all contents that calls copied to or from each other.
ContentId FileHistory::copyGroup(ContentId id) {
  ContentId first = id;
  while (contents_[first].copy_group != kNoContent) first = contents_[first].copy_group;
  while (id != first) id = std::exchange(contents_[id].copy_group, first);
  return first;
}

void FileHistory::copied(ContentId from, ContentId to) {
  if (sizes_.isPlain() && sizes_.keepBelow() == 0) return;
  if (from == kNoContent || to == kNoContent) return;
  // By value: std::minmax of two results would refer to what is gone.
  const auto [first, second] = std::minmax({copyGroup(from), copyGroup(to)});
  if (first != second) contents_[second].copy_group = first;
}

FileNumber FileHistory::followed(FileNumber number) const {
  // Links that lead to each other end somewhere in what the system follows, too.
  for (int links = 0; links < 40 && name(number).link_to != kNoFileNumber; ++links) {
    number = name(number).link_to;
  }
  return number;
}

FileNumber FileHistory::directoryOf(FileNumber number) const {
  const auto found = numbers_.find(std::string(parentOf(name(number).location)));
  return found == numbers_.end() ? kNoFileNumber : found->second;
}

FileNumber FileHistory::knownParent(FileNumber number) const {
  for (std::string_view at = parentOf(name(number).location); at != "."; at = parentOf(at)) {
    const auto parent = numbers_.find(std::string(at));
    if (parent != numbers_.end()) return parent->second;
  }
  return kNoFileNumber;
}

Presence FileHistory::presence(FileNumber number) const {
  const FileName& file = name(number);
  if (file.content != kNoContent || file.link_to != kNoFileNumber) return Presence::kThere;
  if (file.is_gone) return Presence::kAbsent;
  if (!file.existed) return Presence::kUnknown;
  return *file.existed ? Presence::kThere : Presence::kAbsent;
}

// The content behind a name that a call found.
ContentId FileHistory::find(FileNumber number, const PastEvent& when) {
  number = followed(number);
  fetchMoved(number, moved_.size());
  if (name(number).content != kNoContent) return name(number).content;
  const bool was_gone = name(number).is_gone;
  // Nothing in the trace made it: it was there, unless nothing could be there.
  const bool cannot_be = was_gone || isBelowMade(number);
  // The call went by a descriptor of a directory that has another name now.
  const bool is_renamed = cannot_be && isRenamedAway(parentOf(name(number).location));
  if (is_renamed) {
    if (const ContentId renamed = contentAfterRename(number); renamed != kNoContent) return renamed;
  }
  FileName& file = name(number);
  if (!was_gone && !file.existed) file.existed = !cannot_be;
  file.content = makeContent(was_gone ? kNoFileNumber : number, number);
  file.is_gone = false;
  const ContentId content = file.content;
  if (cannot_be && !is_renamed) makeUp(number, when);
  return content;
}

// What a name means whose directory was renamed since it was opened; kNoContent when that is not
// known.
ContentId FileHistory::contentAfterRename(FileNumber number) {
  const std::string location = name(number).location;
  const std::string source = name(number).source;
  for (std::size_t i = moved_.size(); i-- > 0;) {
    if (!isBelow(location, moved_[i].from)) continue;
    const FileNumber renamed =
        followed(numberAt(moved_[i].to + location.substr(moved_[i].from.size()), source));
    if (renamed == number) return kNoContent;
    fetchMoved(renamed, moved_.size());
    return name(renamed).content;
  }
  return kNoContent;
}

// Whether the nearest directory above the name that is known was made by the run, or is gone: a
// name in it is there only once something has made it.
bool FileHistory::isBelowMade(FileNumber number) const {
  const FileNumber above = knownParent(number);
  if (above == kNoFileNumber) return false;
  const FileName& directory = name(followed(above));
  if (directory.content == kNoContent) {
    if (directory.is_gone || directory.existed) return directory.is_gone || !*directory.existed;
    return isBelowMade(above);
  }
  const FileNumber origin = contents_[directory.content].origin;
  if (origin == kNoFileNumber || name(origin).existed == false) return true;
  return !name(origin).existed && isBelowMade(above);
}

// Something that is not recorded made the name, before the call that found it: a step in front of
// that call has to.
void FileHistory::makeUp(FileNumber number, const PastEvent& when) {
  haveParents(number, when);
  FileName& file = name(number);
  MadeUp made{.file = number, .content = file.content, .before = when, .id = dependencies_.newId()};
  const auto wait = [&](const FileName& earlier) {
    if (earlier.made_up && earlier.made_up->thread != when.ref.thread) {
      made.after.push_back({earlier.made_up->id, Reason::kName, {}});
    } else if (earlier.changed && earlier.changed->ref.thread != when.ref.thread) {
      made.after.push_back({dependencies_.nameOf(earlier.changed->ref), Reason::kName, {}});
    }
  };
  wait(file);
  // Those that found nothing come before it.
  const auto follow = [&](const PastEvent& missed) {
    if (missed.ref.thread == when.ref.thread || !isOver(missed, when)) return;
    made.after.push_back({dependencies_.nameOf(missed.ref), Reason::kName, {}});
  };
  for (const auto& [thread, uses] : file.used) follow(uses.last);
  if (const auto missed = missed_below_.find(file.location); missed != missed_below_.end()) {
    for (const auto& [thread, event] : missed->second) follow(event);
    missed_below_.erase(missed);
  }
  if (const FileNumber above = directoryOf(number); above != kNoFileNumber) wait(name(above));
  changeEntries(number, when, Presence::kThere);
  file.was_made = true;
  file.used.clear();
  file.changed.reset();
  file.made_up = {.id = made.id, .thread = when.ref.thread};
  made_up_.push_back(std::move(made));
}

// A name that a call found or made is in a directory, which something that is not recorded may have
// made.
void FileHistory::haveParents(FileNumber number, const PastEvent& when) {
  const std::string location = name(number).location;
  const std::string source = name(number).source;
  const std::string parent(parentOf(location));
  if (parent == "." || parent.starts_with('@')) return;
  const auto known = numbers_.find(parent);
  if (known != numbers_.end() && presence(known->second) == Presence::kThere) return;
  // Names of directories are added only where one has to be made, or came with another one.
  if (!isBelowMade(number) && !isBelowMoved(parent)) return;
  // The directory has another name now, and the call went by a descriptor from before.
  if (isRenamedAway(parent)) return;
  const FileNumber directory = numberAt(parent, parentOf(source));
  const ContentId content = find(directory, when);
  name(followed(directory)).is_directory = true;
  const FileNumber origin = contents_[content].origin;
  if (origin != kNoFileNumber) name(origin).is_directory = true;
}

bool FileHistory::isRenamedAway(std::string_view directory) const {
  return std::ranges::any_of(moved_, [directory](const Moved& move) {
    return directory == move.from || isBelow(directory, move.from);
  });
}

bool FileHistory::isBelowMoved(std::string_view location) const {
  return std::ranges::any_of(moved_,
                             [location](const Moved& move) { return isBelow(location, move.to); });
}

// Whether one of these renames may have brought something by that name.
bool FileHistory::mayHaveMoved(std::string location, std::size_t moves) const {
  while (moves-- > 0) {
    const Moved& move = moved_[moves];
    if (!isBelow(location, move.to)) continue;
    if (move.was_before_run) return true;
    location = move.from + location.substr(move.to.size());
    if (numbers_.contains(location)) return true;
  }
  return false;
}

// A name below a directory that was renamed: it stands for what had come with that. `moves`: how
// many of the renames may have brought it.
void FileHistory::fetchMoved(FileNumber number, std::size_t moves) {
  if (name(number).content != kNoContent || name(number).is_gone || name(number).existed) return;
  // Names are added only where something may have had them.
  if (moves == 0 || !mayHaveMoved(name(number).location, moves)) return;
  while (moves-- > 0) {
    const Moved& move = moved_[moves];
    const std::string location = name(number).location;
    if (!isBelow(location, move.to)) continue;
    const FileNumber origin =
        numberAt(move.from + location.substr(move.to.size()), name(number).source);
    if (name(origin).is_gone) return;
    fetchMoved(origin, moves);
    if (name(origin).content == kNoContent) {
      if (!move.was_before_run) return;
      name(origin).existed = true;
      name(origin).content = makeContent(origin, origin);
    }
    const ContentId content = name(origin).content;
    name(origin).content = kNoContent;
    name(origin).is_gone = true;
    name(number).make(content, kNoFileNumber);
    noteName(content, number);
    return;
  }
}

void FileHistory::useName(FileNumber number, const PastEvent& when, Presence need) {
  FileName& file = name(number);
  const bool is_first = !file.used.contains(when.ref.thread);
  if (is_first && file.made_up && file.made_up->thread != when.ref.thread) {
    dependencies_.requireId(when.ref, file.made_up->id, Reason::kName);
  }
  const Presence now = presence(number);
  const bool fits = need != Presence::kUnknown && (now == need || now == Presence::kUnknown);
  if (file.changed) {
    // Without that change, the result would have been another one.
    const bool needs_change =
        fits && file.before_change != Presence::kUnknown && file.before_change != need;
    dependencies_.require(when, *file.changed, Reason::kName,
                          needs_change ? Overlap::kIsOrdered : Overlap::kHasNoOrder);
  }
  NameUses& uses = file.used[when.ref.thread];
  uses.last = when;
  if (fits) uses.sure = when;
}

void FileHistory::use(FileNumber number, const PastEvent& when, Presence need, Presence above) {
  useName(number, when, need);
  // A file inside a directory of the run needs that directory, under the name it has.
  const std::string& location = name(number).location;
  for (std::string_view at = parentOf(location); at != "."; at = parentOf(at)) {
    const auto parent = numbers_.find(std::string(at));
    if (parent == numbers_.end()) continue;
    const bool is_missing =
        above == Presence::kUnknown && presence(parent->second) == Presence::kAbsent;
    useName(parent->second, when, is_missing ? Presence::kAbsent : above);
  }
}

// A call that found nothing comes before the one that makes a directory above its name.
void FileHistory::missedBelow(FileNumber number, const PastEvent& when) {
  const std::string& location = name(number).location;
  for (std::string_view at = parentOf(location); at != "."; at = parentOf(at)) {
    std::string directory(at);
    if (numbers_.contains(directory)) continue;
    missed_below_[std::move(directory)][when.ref.thread] = when;
  }
}

void FileHistory::waitForUsers(ContentId content, const PastEvent& when) {
  if (content == kNoContent) return;
  dependencies_.require(when, contents_[content].last_access);
}

void FileHistory::change(FileNumber number, const PastEvent& when, Presence need,
                         Presence becomes) {
  haveParents(number, when);
  Presence before = presence(number);
  if (before == Presence::kUnknown) before = need;
  // A file that an open may have made is not there when a replay begins.
  if (before == Presence::kUnknown) before = Presence::kAbsent;
  use(number, when, need);
  FileName& file = name(number);
  const bool changes_results = before != becomes;
  if (changes_results) changeEntries(number, when, becomes);
  for (const auto& [thread, uses] : file.used) {
    if (isOver(uses.last, when)) {
      dependencies_.require(when, uses.last, Reason::kName);
    } else if (uses.sure) {
      dependencies_.require(when, *uses.sure, Reason::kName,
                            changes_results ? Overlap::kIsOrdered : Overlap::kHasNoOrder);
    }
  }
  if (const auto missed = missed_below_.find(file.location);
      becomes == Presence::kThere && missed != missed_below_.end()) {
    for (const auto& [thread, event] : missed->second) {
      dependencies_.require(when, event, Reason::kName, Overlap::kIsOrdered);
    }
    missed_below_.erase(missed);
  }
  waitForUsers(file.content, when);
  file.used.clear();
  file.found_full.clear();
  file.entries.reset();
  file.made_up.reset();
  file.changed = when;
  file.before_change = before;
}

ContentId FileHistory::inherited(FileNumber file, int flags) {
  FileName& entry = name(file);
  if ((flags & O_DIRECTORY) != 0) entry.is_directory = true;
  if (entry.content != kNoContent) return entry.content;
  // Whoever opened it may have made it empty, as a shell does: only what is read tells.
  entry.content = makeContent(file, file);
  entry.existed = true;
  return entry.content;
}

bool FileHistory::isOfTheRun(FileNumber file) {
  const FileName& entry = name(followed(file));
  if (entry.was_made || entry.is_gone || entry.existed == false) return true;
  if (entry.existed) return false;
  // A new name in a directory that the run made is of the run.
  for (std::string_view at = parentOf(entry.location); at != "."; at = parentOf(at)) {
    const auto parent = numbers_.find(std::string(at));
    if (parent != numbers_.end() && name(parent->second).existed == false) return true;
  }
  return false;
}

// A directory that is full when another rank wants to remove it must stay so until then.
void FileHistory::changeEntries(FileNumber number, const PastEvent& when, Presence becomes) {
  const FileNumber parent = directoryOf(number);
  if (parent == kNoFileNumber) return;
  FileName& directory = name(parent);
  if (becomes == Presence::kAbsent) {
    dependencies_.require(when, directory.found_full, Reason::kName, Overlap::kIsOrdered);
    if (directory.entries && *directory.entries > 0) --*directory.entries;
  } else if (directory.entries) {
    directory.last_entry = when;
    if ((*directory.entries)++ == 0) directory.first_entry = when;
  }
}

void FileHistory::touched(ContentId content, const PastEvent& when) {
  contents_[content].last_access.add(when);
}

void FileHistory::needsLength(ContentId id, const PastEvent& when, bool at_end) {
  Content& content = contents_[id];
  if (content.resized) dependencies_.require(when, *content.resized);
  if (at_end) dependencies_.require(when, content.written_in_place);
}

void FileHistory::read(ContentId id, const event::Event& event, const PastEvent& when,
                       const event::Transfer& transfer) {
  Content& content = contents_[id];
  content.last_access.add(when);
  if (readsLines(*event.row)) content.lines = true;
  if (!transfer.bytes_known && !content.emptied) content.was_scanned = true;
  noteUse(content, transfer);
  const std::optional<std::uint64_t> offset = transfer.fixedOffset();
  if (content.emptied || !offset) return;
  const std::uint64_t end = content.written.lastUncovered({*offset, *offset + transfer.bytes});
  // In a file that may be the run's own, bytes that were not written are a hole.
  if (content.maybe_new && end <= static_cast<std::uint64_t>(transfer.size_before)) return;
  need(content, end);
  content.read_before_written = std::max(content.read_before_written, content.needed);
}

namespace {

// In units of 1 MiB.
void addUsed(IntervalSet& used, std::uint64_t begin, std::uint64_t end) {
  constexpr std::uint64_t kUnit = std::uint64_t{1} << 20;
  if (end <= begin || end > UINT64_MAX - kUnit) return;
  const Range range{begin / kUnit * kUnit, (end + kUnit - 1) / kUnit * kUnit};
  if (used.lastUncovered(range) != 0) used.add(range);
}

}  // namespace

void FileHistory::noteUse(Content& content, const event::Transfer& transfer) {
  const std::optional<std::uint64_t> offset = transfer.fixedOffset();
  if (content.emptied || (transfer.at_end && !offset)) return;
  if (!offset || !transfer.bytes_known) return content.used.add({0, UINT64_MAX});
  addUsed(content.used, *offset, *offset + transfer.bytes);
}

void FileHistory::soughtHole(ContentId id, bool is_hole, std::uint64_t from,
                             std::optional<std::uint64_t> found) {
  constexpr std::size_t kMostHoles = 65536;
  constexpr std::uint64_t kBlock = 4096;
  Content& content = contents_[id];
  if (content.emptied || content.maybe_new || content.resized) return;
  // A hole is found at the end, too.
  if (found && content.written.end() <= *found) need(content, *found + (is_hole ? 0 : 1));
  // Up to a hole that was looked for there is data; at the least, the hole is a block.
  const Range data = is_hole ? Range{from, found.value_or(from)}
                             : Range{found.value_or(0), found ? *found + 1 : 0};
  addUsed(content.used, data.begin, data.end);
  content.scale.keepPages();
  if (content.holes.ranges().size() >= kMostHoles) return;
  if (!is_hole) {
    content.holes.add({from, found.value_or(UINT64_MAX)});
  } else if (found && *found < UINT64_MAX - kBlock) {
    content.holes.add({*found, (*found / kBlock + 1) * kBlock});
  }
}

// The file has to be as long as `end` by now.
void FileHistory::need(Content& content, std::uint64_t end) {
  if (end > content.appended) content.needed = std::max(content.needed, end - content.appended);
}

void FileHistory::write(ContentId id, const PastEvent& when, const event::Transfer& transfer) {
  Content& content = contents_[id];
  content.last_access.add(when);
  if (content.origin != kNoFileNumber) name(content.origin).was_written = true;
  noteUse(content, transfer);
  if (transfer.at_end) content.appended_by.add(when);
  if (transfer.at_end && !content.emptied) content.appended += transfer.bytes;
  const auto guess = static_cast<std::uint64_t>(transfer.offset);
  const bool counts_from_begin = transfer.at_end && (content.emptied || content.maybe_new);
  const auto offset = counts_from_begin ? guess : transfer.fixedOffset();
  if (offset) content.written.add({*offset, *offset + transfer.bytes});
}

void FileHistory::resized(ContentId id, const PastEvent& when, std::int64_t size,
                          std::int64_t before) {
  waitForUsers(id, when);
  size = std::max<std::int64_t>(size, 0);
  Content& content = contents_[id];
  content.last_access.add(when);
  content.size.bytes = before;
  cut(id, when, static_cast<std::uint64_t>(size));
  if (size == 0) content.emptied = true;
}

// Those who found the file longer, or its end, come first. All others that were over before are
// waited for anyway.
void FileHistory::cut(ContentId id, const PastEvent& when, std::uint64_t size) {
  Content& content = contents_[id];
  const auto before = static_cast<std::uint64_t>(std::max<std::int64_t>(content.size.bytes, 0));
  dependencies_.require(when, content.sizes.found_end, Reason::kFile, Overlap::kIsOrdered);
  for (const auto& [thread, found] : content.sizes.found_bytes) {
    if (found.size > size) {
      dependencies_.require(when, found.event, Reason::kFile, Overlap::kIsOrdered);
    }
  }
  content.resized = when;
  content.sizes.cut(when, before, size);
  content.appended_by.clear();
  content.written.cut(size);
  conflicts_.cut(id, size);
  content.size.set(static_cast<std::int64_t>(size));
}

void FileHistory::extended(ContentId id, const PastEvent& when) {
  Content& content = contents_[id];
  content.last_access.add(when);
  content.resized = when;
}

void FileHistory::reaches(ContentId id, const PastEvent& when, std::uint64_t before,
                          std::uint64_t end) {
  SizeHistory& sizes = contents_[id].sizes;
  // Also when others have made the file that long in the meantime.
  if (end > sizes.shortest) {
    dependencies_.require(when, sizes.found_end, Reason::kFile, Overlap::kIsOrdered);
  }
  if (end > before) sizes.grew(end, when);
}

void FileHistory::foundEnd(ContentId id, const PastEvent& when, std::uint64_t at, bool is_exact) {
  Content& content = contents_[id];
  SizeHistory& sizes = content.sizes;
  if (is_exact) {
    content.end_was_seen = true;
    const SizeHistory::Growth* const growth = sizes.reaching(at);
    if (growth != nullptr && growth->size == at) {
      dependencies_.require(when, growth->event, Reason::kFile, Overlap::kIsOrdered);
    }
    const auto size = static_cast<std::int64_t>(at);
    if (!content.buffered && !content.size.is_known && size >= content.size.bytes) {
      content.size.set(size);
    }
  }
  if (sizes.cut_by) {
    dependencies_.require(when, *sizes.cut_by, Reason::kFile,
                          sizes.cut_from > at ? Overlap::kIsOrdered : Overlap::kHasNoOrder);
  }
  sizes.found_end.add(when);
  sizes.shortest = std::min(sizes.shortest, at);
}

// Whether bytes up to `end` were there before the run, and have been since.
bool FileHistory::wasThere(const Content& content, std::uint64_t end) {
  return end <= std::min(content.needed, content.sizes.least);
}

void FileHistory::foundBytes(ContentId id, const PastEvent& when, std::uint64_t end,
                             bool is_written) {
  Content& content = contents_[id];
  if (!content.writable) return;
  // Bytes that were there before the run need no call that made the file so long.
  const SizeHistory::Growth* const growth = content.sizes.reaching(end);
  if (growth != nullptr && !wasThere(content, end) &&
      (!is_written || !isOver(growth->event, when))) {
    dependencies_.require(when, growth->event, Reason::kFile, Overlap::kIsOrdered);
  }
  content.sizes.found_bytes[when.ref.thread] = {end, when};
}

// It may have decided what the application did next. A call that makes the file longer does not
// wait for it, because no result in the trace depends on that.
void FileHistory::sizeSeen(ContentId id, const PastEvent& when) {
  const SizeHistory& sizes = contents_[id].sizes;
  if (const SizeHistory::Growth* const growth = sizes.last()) {
    dependencies_.require(when, growth->event);
  }
  if (sizes.cut_by) dependencies_.require(when, *sizes.cut_by);
}

void SizeHistory::grew(std::uint64_t size, const PastEvent& event) {
  constexpr std::size_t kMostGrowths = 64;
  if (!growths_.empty() && size <= growths_.back().size) return;
  growths_.push_back({size, event});
  if (growths_.size() <= kMostGrowths) return;
  // Every other one of the older half goes: a later one stands for it.
  std::size_t kept = 0;
  for (std::size_t i = 0; i < growths_.size(); ++i) {
    if (i % 2 == 1 || i > kMostGrowths / 2) growths_[kept++] = growths_[i];
  }
  growths_.resize(kept);
}

void SizeHistory::writtenOut(const PastEvent& first, const PastEvent& by) {
  for (Growth& growth : growths_) {
    const EventRef grew = growth.event.ref;
    if (grew.thread == first.ref.thread && grew.sequence >= first.ref.sequence) growth.event = by;
  }
}

const SizeHistory::Growth* SizeHistory::reaching(std::uint64_t size) const {
  const auto found = std::lower_bound(
      growths_.begin(), growths_.end(), size,
      [](const Growth& growth, std::uint64_t wanted) { return growth.size < wanted; });
  return found == growths_.end() ? nullptr : &*found;
}

void SizeHistory::cut(const PastEvent& event, std::uint64_t from, std::uint64_t to) {
  growths_.clear();
  found_bytes.clear();
  // The event has waited for all of them, and stands for them from now on.
  if (!found_end.isEmpty()) {
    found_end.clear();
    found_end.add(event);
  }
  cut_by = event;
  cut_from = from;
  least = std::min(least, to);
  if (to > from) growths_.push_back({to, event});
}

void FileHistory::measured(ContentId id, std::int64_t size) {
  Content& content = contents_[id];
  content.end_was_seen = true;
  if (content.emptied || size <= content.size.bytes) return;
  need(content, static_cast<std::uint64_t>(size));
}

// A name that others stand below is a directory, whatever was or was not done to it.
void FileHistory::markDirectories() {
  for (const FileName& entry : names_) {
    // Only of something that was there itself does this follow.
    const bool was_there = entry.existed == true || entry.was_made;
    if (!was_there && !entry.was_missed) continue;
    for (std::string_view at = parentOf(entry.location); at != "."; at = parentOf(at)) {
      const auto found = numbers_.find(std::string(at));
      if (found == numbers_.end()) continue;
      FileName& parent = name(found->second);
      // Below a file it would not have been missing: the error would have been ENOTDIR.
      const bool is_old = parent.existed == true && !parent.changed && !parent.is_regular;
      if (was_there || is_old) parent.is_directory = true;
    }
  }
}

void FileHistory::scanned(ContentId id, std::int64_t from, std::int64_t to) {
  Content& content = contents_[id];
  if (content.emptied || content.maybe_new || from < 0 || to <= from) return;
  need(content, content.written.lastUncovered(
                    {static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to)}));
  content.read_before_written = std::max(content.read_before_written, content.needed);
}

void FileHistory::wasAtLeast(ContentId id, std::uint64_t size) {
  contents_[id].needed = std::max(contents_[id].needed, size);
}

void FileHistory::foundSize(ContentId id, std::int64_t size) {
  Content& content = contents_[id];
  if (content.emptied || content.resized || size == wire::kUnknownSize) return;
  const auto bytes = static_cast<std::uint64_t>(size);
  content.found_size = std::min(content.found_size.value_or(bytes), bytes);
}

namespace {

// How long it was before the run.
std::uint64_t sizeBefore(const Content& content) {
  return std::max(content.needed, content.found_size.value_or(0));
}

// The holes of a file before the run: those that seeks told of, and where no call of the run comes
// near: making these parts of a very large file could take longer than the replay, for nothing.
// The part after all bytes that calls show is a hole at any size, except for the end that something
// was appended to: a job may look at the heads of very many files.
std::vector<model::Hole> holesOf(const Content& content) {
  constexpr std::uint64_t kReadAhead = std::uint64_t{16} << 20;  // of the kernel, behind a read
  constexpr std::uint64_t kLeast = std::uint64_t{64} << 20;
  const std::uint64_t size = sizeBefore(content);
  IntervalSet holes = content.holes;
  IntervalSet used = content.used;
  if (content.appended > 0 && size > 0) addUsed(used, size - 1, size);
  std::uint64_t last = 0;  // where the part that was used before begins, and ends
  std::uint64_t end = 0;
  const auto unused = [&](std::uint64_t to) {
    if (to <= end) return;
    // The kernel reads ahead by more the more it has read in sequence.
    const bool is_behind_all = end >= content.needed;
    const std::uint64_t ahead = is_behind_all ? std::min(kReadAhead, end - last) : kReadAhead;
    std::uint64_t from = end == 0 ? 0 : end + std::min(ahead, UINT64_MAX - end);
    if (to - end < kLeast) from = std::max(from, content.needed);
    if (from < to) holes.add({from, to});
  };
  for (const auto& [begin, behind] : used.ranges()) {
    unused(std::min(begin, size));
    last = begin;
    end = behind;
  }
  unused(size);
  std::vector<model::Hole> found;
  for (const auto& [begin, behind] : holes.ranges()) {
    if (begin < size) found.push_back({begin, std::min(behind, size)});
  }
  return found;
}

// Whole blocks: what is left of them on both sides is data.
std::vector<model::Hole> scaledHoles(std::vector<model::Hole> holes, const ScaleMap& scale) {
  if (scale.factor() == 1) return holes;
  constexpr std::uint64_t kBlock = 4096;
  std::vector<model::Hole> scaled;
  for (const model::Hole& hole : holes) {
    const std::uint64_t begin = (scale.position(hole.begin) + kBlock - 1) / kBlock * kBlock;
    const std::uint64_t end = scale.position(hole.end) / kBlock * kBlock;
    if (begin >= end) continue;
    if (!scaled.empty() && begin <= scaled.back().end) {
      scaled.back().end = end;
    } else {
      scaled.push_back({begin, end});
    }
  }
  return scaled;
}

}  // namespace

std::vector<FileHistory::MadeUp> FileHistory::takeMadeUp() {
  markDirectories();
  std::unordered_set<ContentId> directories;
  for (const FileName& entry : names_) {
    if (entry.is_directory && entry.content != kNoContent) directories.insert(entry.content);
  }
  for (MadeUp& made : made_up_) {
    const Content& content = contents_[made.content];
    made.is_directory = name(made.file).is_directory || directories.contains(made.content);
    made.lines = content.lines;
    if (!made.is_directory) made.bytes = content.scale.map().position(sizeBefore(content));
  }
  return std::exchange(made_up_, {});
}

void FileHistory::settle() {
  // The first content of a group that has a name decides for all of it.
  std::unordered_map<ContentId, const Content*> deciding;
  if (!sizes_.isPlain()) {
    for (ContentId id = 0; id < contents_.size(); ++id) {
      if (contents_[id].first_name != kNoFileNumber)
        deciding.emplace(copyGroup(id), &contents_[id]);
    }
  }
  // Sizes are kept only where each larger piece has a certain place, since what it covers decides
  // its size; and not in files of a group, where pieces of one may be parts of larger ones in
  // another.
  std::unordered_set<ContentId> joined;
  for (ContentId id = 0; id < contents_.size(); ++id) {
    if (contents_[id].copy_group != kNoContent) joined.insert(copyGroup(id));
  }
  const auto count = [this](FileNumber file, std::uint64_t& files, std::string& first) {
    if (file == kNoFileNumber || name(file).is_directory) return;
    if (files++ == 0) first = name(file).location;
  };
  for (ContentId id = 0; id < contents_.size(); ++id) {
    Content& content = contents_[id];
    const auto decides = deciding.empty() ? deciding.end() : deciding.find(copyGroup(id));
    const double factor = decides == deciding.end() ? content.factor : decides->second->factor;
    count(content.other_name, other_factors_.renamed, other_factors_.first_renamed);
    if (factor != content.factor) {
      count(content.first_name, other_factors_.copied, other_factors_.first_copied);
    }
    const bool is_placed =
        !content.is_unplaced && !(content.large_at_position && content.shared_position);
    content.scale.settle(factor, is_placed && (joined.empty() || !joined.contains(copyGroup(id))));
  }
}

std::optional<std::string> FileHistory::unusedPattern(
    const std::vector<model::ScheduleFile>& files) const {
  UsedPatterns used(sizes_);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const bool has_bytes =
        files[i].role != model::FileRole::kDirectory && files[i].role != model::FileRole::kAbsent;
    if (!has_bytes) continue;
    used.add(files[i].source);
    if (!names_[i].own_path.empty()) used.add(names_[i].own_path);
  }
  return used.unused();
}

std::vector<model::ScheduleFile> FileHistory::files() {
  markDirectories();
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
    file.exists = entry.existed.value_or(before != nullptr && sizeBefore(*before) > 0);
    if (before != nullptr) {
      file.lines = before->lines;
      if (file.exists) {
        const ScaleMap& scale = before->scale.map();
        file.size = scale.position(sizeBefore(*before));
        file.holes = scaledHoles(holesOf(*before), scale);
        file.read_before_written = scale.position(before->read_before_written);
      }
    }
    if (entry.location == "." || entry.is_directory) {
      file.role = model::FileRole::kDirectory;
      file.exists = entry.location == "." || entry.existed == true ||
                    (!entry.was_made && entry.existed != false);
      file.size = file.read_before_written = 0;
      file.holes.clear();
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

FileHistory::UnknownSizes FileHistory::unknownSizes() const {
  UnknownSizes unknown;
  for (const Content& content : contents_) {
    if (content.origin == kNoFileNumber || content.found_size || content.end_was_seen) continue;
    if (name(content.origin).existed == false) continue;
    if (content.appended == 0 && !content.was_scanned) continue;
    if (unknown.files++ == 0) unknown.first = name(content.origin).location;
  }
  return unknown;
}

// Calls that name files change names: opens, links and renames. Failures tell which names were not
// there.

ContentId FileHistory::opened(const event::Event& event, const PastEvent& when, FileNumber file) {
  int flags = event::openFlags(event);
  if (event.new_handle != nullptr &&
      event.new_handle->definition.kind == wire::FileKind::kDirectory) {
    flags |= O_DIRECTORY;
  }
  const bool found_bytes = event.new_handle != nullptr && event.new_handle->definition.size > 0 &&
                           (flags & (O_TRUNC | O_EXCL)) == 0;
  const FileNumber found = followed(file);
  // It was made by something that is not recorded, where nothing could be there.
  if (found_bytes && (name(found).is_gone || isBelowMade(found))) find(file, when);
  const ContentId content = openedFile(file, when, flags);
  if (event.new_handle != nullptr) foundSize(content, event.new_handle->definition.size);
  return content;
}

ContentId FileHistory::openedFile(FileNumber file, const PastEvent& when, int flags) {
  const bool is_temporary = (flags & O_TMPFILE) == O_TMPFILE;
  if (is_temporary || (flags & O_DIRECTORY) != 0) {
    use(file, when, Presence::kThere);
    FileName& entry = name(followed(file));
    entry.is_directory = true;
    if (!is_temporary) return find(file, when);
    if (!entry.was_made && !entry.existed) entry.existed = true;
    return anonymous();
  }
  const FileNumber given = file;
  if (name(file).link_to != kNoFileNumber) {
    use(file, when, Presence::kThere);
    file = followed(file);
  }
  const bool creates = (flags & O_CREAT) != 0;
  fetchMoved(file, moved_.size());
  const bool is_there = name(file).content != kNoContent;
  const bool is_below_made = !is_there && isBelowMade(file);
  if (creates && !is_there) haveParents(file, when);  // adds names
  FileName& entry = name(file);
  entry.is_regular = true;
  if (creates && !is_there) {
    const bool fails_otherwise = (flags & O_EXCL) != 0;
    change(file, when, fails_otherwise ? Presence::kAbsent : Presence::kUnknown, Presence::kThere);
    const bool maybe_there =
        !entry.is_gone && !entry.existed && (flags & O_EXCL) == 0 && !is_below_made;
    if (!entry.existed && !maybe_there) entry.existed = false;
    entry.content = makeContent(file, file);
    entry.was_made = true;
    entry.is_gone = false;
    contents_[entry.content].maybe_new = maybe_there;
    // Gone or absent before: nothing of it can be needed.
    if (!maybe_there && entry.existed != true) {
      contents_[entry.content].emptied = true;
      contents_[entry.content].size.set(0);
    }
  } else if ((flags & O_TRUNC) != 0) {
    change(file, when, creates ? Presence::kUnknown : Presence::kThere, Presence::kThere);
    find(file, when);
  } else {
    use(file, when, creates ? Presence::kUnknown : Presence::kThere);
    find(file, when);
  }
  noteName(entry.content, file);
  noteName(entry.content, given);
  Content& content = contents_[entry.content];
  // A file is opened with what others had written to it when they closed it.
  dependencies_.require(when, content.closed);
  if ((flags & O_TRUNC) != 0) {
    // Also where this one made the file: others may have opened it at the same time, and what they
    // write has to come after it was emptied.
    cut(entry.content, when, 0);
    content.emptied = true;
    content.appended = 0;
  }
  if ((flags & O_ACCMODE) != O_RDONLY) entry.was_written = content.writable = true;
  return entry.content;
}

namespace {

bool wantsDirectory(const event::Event& event) {
  if (event.row->plain == calls::CallId::scandir) return true;
  return event.row->call_class == calls::Class::kOpen &&
         (event::openFlags(event) & O_DIRECTORY) != 0;
}

}  // namespace

bool FileHistory::isBelowFile(FileNumber file) {
  const std::string_view location = name(file).location;
  for (std::string_view at = parentOf(location); at != "."; at = parentOf(at)) {
    const auto parent = numbers_.find(std::string(at));
    if (parent != numbers_.end() && name(parent->second).is_regular) return true;
  }
  return false;
}

// A failure tells about the time before the run.
void FileHistory::failed(const event::Event& event, const PastEvent& when, FileNumber file,
                         FileNumber new_file) {
  const bool is_missing = event.result == ENOENT;
  const bool is_taken = findsTaken(event);
  // The text of a symbolic link is not looked up.
  const bool names_two =
      new_file != kNoFileNumber && !calls::does(*event.row, Effect::kMakesSymlink);
  const bool is_no_link = event.result == EINVAL && calls::does(*event.row, Effect::kReadsLink) &&
                          event::argumentOf(event, Role::kRoom) > 0;
  const bool lacks_attribute = calls::has(*event.row, Role::kAttribute) &&
                               (event.result == ENODATA || event.result == EOPNOTSUPP);
  const bool is_no_directory =
      event.result == ENOTDIR && wantsDirectory(event) && !isBelowFile(file);
  const bool is_there =
      (is_taken && !names_two) || is_no_link || lacks_attribute || is_no_directory;
  const Presence found = is_missing ? Presence::kAbsent
                         : is_there ? Presence::kThere
                                    : Presence::kUnknown;
  const Presence above = is_missing ? Presence::kUnknown : Presence::kThere;
  use(file, when, found, above);
  // A call that finds the new name taken comes after the one that took it.
  if (names_two) {
    use(new_file, when, is_taken ? Presence::kThere : Presence::kUnknown, above);
  }
  if (is_missing) {
    missedBelow(file, when);
    if (names_two) missedBelow(new_file, when);
  }
  if (calls::does(*event.row, Effect::kRemovesName) && (event.result == ENOTEMPTY || is_taken)) {
    FileName& full = name(names_two ? new_file : file);
    for (const auto& [thread, uses] : full.used) {
      dependencies_.require(when, uses.last, Reason::kName);
    }
    for (const std::optional<PastEvent>& entry : {full.first_entry, full.last_entry}) {
      const bool is_needed = entry && full.entries.value_or(0) > 0;
      if (is_needed) dependencies_.require(when, *entry, Reason::kName, Overlap::kIsOrdered);
    }
    full.found_full.add(when);
  }
  FileName& entry = name(file);
  if (is_missing) entry.was_missed = true;
  if (entry.content != kNoContent || entry.link_to != kNoFileNumber || entry.is_gone ||
      entry.existed) {
    return;
  }
  if (event.result == ENOENT) {
    entry.is_gone = true;
    entry.existed = false;
  } else if (is_taken) {
    find(file, when);
    if (calls::does(*event.row, Effect::kMakesDirectory)) entry.is_directory = true;
  } else if (event.result == EISDIR) {
    find(file, when);
    entry.is_directory = true;
  } else if (is_no_link || lacks_attribute || is_no_directory) {
    find(file, when);
  }
}

void FileHistory::linked(ContentId content, FileNumber new_file, const PastEvent& when) {
  change(new_file, when, Presence::kAbsent, Presence::kThere);
  name(new_file).make(content, kNoFileNumber);
  noteName(content, new_file);
  name(new_file).is_regular = true;
}

ContentId FileHistory::named(const event::Event& event, const PastEvent& when, FileNumber file,
                             FileNumber new_file) {
  if (event.failed) {
    failed(event, when, file, new_file);
    return kNoContent;
  }
  if (event.row->result == calls::Result::kNewFd ||
      event.row->result == calls::Result::kNewStream) {
    return opened(event, when, file);
  }
  const calls::Row& row = *event.row;
  if (calls::does(row, Effect::kMakesDirectory)) {
    change(file, when, Presence::kAbsent, Presence::kThere);
    name(file).make(makeContent(kNoFileNumber, kNoFileNumber), kNoFileNumber);
    name(file).is_directory = true;
    name(file).entries = 0;
  } else if (calls::does(row, Effect::kMakesNode)) {
    change(file, when, Presence::kAbsent, Presence::kThere);
    const ContentId content = makeContent(file, file);
    name(file).make(content, kNoFileNumber);
    name(file).is_regular = true;
    contents_[content].emptied = true;
    contents_[content].size.set(0);
  } else if (calls::does(row, Effect::kRenames) && new_file != kNoFileNumber) {
    renamed(event, when, file, new_file);
  } else if (calls::does(row, Effect::kRemovesName) && !calls::does(row, Effect::kRenames)) {
    if (name(file).link_to == kNoFileNumber) find(file, when);
    change(file, when, Presence::kThere, Presence::kAbsent);
    if (calls::does(row, Effect::kRemovesDirectory) ||
        (event::argumentOf(event, Role::kFlags) & AT_REMOVEDIR) != 0) {
      name(file).is_directory = true;
    }
    name(file).remove();
  } else if (calls::does(row, Effect::kMakesLink) && new_file != kNoFileNumber) {
    if (name(file).link_to == kNoFileNumber) find(file, when);
    use(file, when, Presence::kThere);
    change(new_file, when, Presence::kAbsent, Presence::kThere);
    const std::string text = name(file).link_text;
    name(new_file).make(name(file).content, name(file).link_to);
    moveLink(new_file, text);
    noteName(name(file).content, new_file);
  } else if (calls::does(row, Effect::kMakesSymlink)) {
    change(file, when, Presence::kAbsent, Presence::kThere);
    name(file).make(kNoContent, new_file);
    const int text = calls::indexOf(row, Role::kLinkText);
    const std::string_view words = event.texts[static_cast<std::size_t>(text)].raw;
    if (!words.starts_with('/')) name(file).link_text = words;
  } else if (calls::does(row, Effect::kSetsLength)) {
    use(file, when, Presence::kThere);
    const ContentId content = find(file, when);
    name(file).was_written = true;
    resized(content, when, event::argumentOf(event, Role::kLength), contents_[content].size.bytes);
  } else {
    use(file, when, Presence::kThere);
    const bool is_of_the_link =
        name(file).link_to != kNoFileNumber &&
        (calls::does(row, Effect::kStaysAtLink) ||
         (event::argumentOf(event, Role::kFlags) & AT_SYMLINK_NOFOLLOW) != 0);
    if (!is_of_the_link) {
      const ContentId content = find(file, when);
      if (calls::does(row, Effect::kSeesSize)) sizeSeen(content, when);
    }
    if (calls::does(row, Effect::kChangesDirectory) || row.plain == calls::CallId::scandir) {
      name(followed(file)).is_directory = true;
    }
  }
  return kNoContent;
}

void FileHistory::renamed(const event::Event& event, const PastEvent& when, FileNumber file,
                          FileNumber new_file) {
  // A link is moved itself, not what it leads to.
  if (name(file).link_to == kNoFileNumber) find(file, when);
  const bool exchanges = (event::argumentOf(event, Role::kFlags) & RENAME_EXCHANGE) != 0;
  if (exchanges && name(new_file).link_to == kNoFileNumber) find(new_file, when);
  const std::optional<std::uint64_t> entries = name(file).entries;
  change(file, when, Presence::kThere, exchanges ? Presence::kThere : Presence::kAbsent);
  const bool replaces = (event::argumentOf(event, Role::kFlags) & RENAME_NOREPLACE) == 0;
  change(new_file, when,
         exchanges   ? Presence::kThere
         : !replaces ? Presence::kAbsent
                     : Presence::kUnknown,
         Presence::kThere);
  FileName& from = name(file);
  FileName& to = name(new_file);
  // Whether there was something to be replaced, nothing tells.
  const FileName replaced = to;
  to.entries = entries;
  to.make(from.content, from.link_to);
  to.link_text = from.link_text;
  noteName(to.content, new_file);
  if (exchanges) {
    from.content = replaced.content;
    from.link_to = replaced.link_to;
    from.link_text = replaced.link_text;
    noteName(from.content, file);
  } else {
    from.remove();
  }
  to.is_directory = to.is_directory || from.is_directory;
  to.is_regular = from.is_regular;
  const bool may_hold_names = !from.is_regular && to.link_to == kNoFileNumber && !exchanges;
  const std::string location = from.location;
  const std::string new_location = to.location;
  // These may add names: no reference to one stays good.
  moveLink(new_file, std::string(to.link_text));
  if (exchanges) moveLink(file, std::string(name(file).link_text));
  if (may_hold_names) moveBelow(location, new_location, when);
}

// A link with a relative text leads from where it lies now.
void FileHistory::moveLink(FileNumber number, const std::string& text) {
  name(number).link_text = text;
  if (text.empty() || name(number).link_to == kNoFileNumber) return;
  std::string at(parentOf(name(number).location));
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    const std::string_view word = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (word.empty() || word == ".") continue;
    if (word == "..") {
      if (at == ".") return;  // out of what the run's locations say: it stays what it was
      at = parentOf(at);
    } else {
      at = at == "." ? std::string(word) : at.append("/").append(word);
    }
  }
  const std::string source = std::string(parentOf(name(number).source)).append("/").append(text);
  const FileNumber target = numberAt(std::move(at), lexicallyAbsolute(source));
  name(number).link_to = target;
}

// With a directory goes what is in it.
void FileHistory::moveBelow(const std::string& from, const std::string& to, const PastEvent& when) {
  const ContentId moved = name(numbers_.at(to)).content;
  const FileNumber origin = moved == kNoContent ? kNoFileNumber : contents_[moved].origin;
  const bool was_before_run = origin != kNoFileNumber && name(origin).existed == true;
  const auto known = static_cast<std::uint32_t>(names_.size());
  for (std::uint32_t i = 0; i < known; ++i) {
    const FileName before = name(FileNumber{i});
    const bool is_there = before.content != kNoContent || before.link_to != kNoFileNumber;
    if (!is_there || !isBelow(before.location, from)) continue;
    const FileNumber number = numberAt(to + before.location.substr(from.size()), before.source);
    const Presence was = presence(number);
    FileName& after = name(number);
    after.before_change = was == Presence::kUnknown ? Presence::kAbsent : was;
    after.make(before.content, before.link_to);
    after.is_directory = before.is_directory;
    after.is_regular = before.is_regular;
    after.changed = when;
    name(FileNumber{i}).remove();
    moveLink(number, before.link_text);
  }
  moved_.push_back({.from = from, .to = to, .was_before_run = was_before_run});
}

}  // namespace omnio::preprocess
