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
ContentId FileHistory::find(FileNumber number) {
  number = followed(number);
  fetchMoved(number);
  FileName& file = name(number);
  if (file.content != kNoContent) return file.content;
  // Nothing in the trace made it: it was there.
  if (!file.is_gone && !file.existed) file.existed = true;
  file.content = makeContent(file.is_gone ? kNoFileNumber : number, number);
  file.is_gone = false;
  return file.content;
}

// A name below a directory that was renamed: it stands for what had come with that.
// `may_be_made`: the call makes a file where there is none.
void FileHistory::fetchMoved(FileNumber number, bool may_be_made) {
  if (name(number).content != kNoContent || name(number).is_gone || name(number).existed) return;
  for (auto move = moved_.rbegin(); move != moved_.rend(); ++move) {
    const std::string& location = name(number).location;
    if (!isBelow(location, move->to)) continue;
    const std::string before = move->from + location.substr(move->to.size());
    // No call has made it there, and the directory is not from before the run.
    if (may_be_made && !numbers_.contains(before) && isInNewDirectory(before)) return;
    const FileNumber origin = numberAt(before, name(number).source);
    if (name(origin).is_gone) return;
    const ContentId content = find(origin);
    name(origin).content = kNoContent;
    name(origin).is_gone = true;
    name(number).make(content, kNoFileNumber);
    noteName(content, number);
    return;
  }
}

bool FileHistory::isInNewDirectory(std::string_view location) const {
  for (std::string_view at = parentOf(location); at != "."; at = parentOf(at)) {
    const auto parent = numbers_.find(std::string(at));
    if (parent != numbers_.end() && name(parent->second).existed == false) return true;
  }
  return false;
}

// A name below a directory that was renamed is in a directory that came with it.
void FileHistory::findParent(FileNumber number) {
  const std::string parent(parentOf(name(number).location));
  for (const Moved& move : moved_) {
    if (!isBelow(parent, move.to)) continue;
    const std::string source(parentOf(name(number).source));
    const FileNumber directory = numberAt(parent, source);
    if (name(directory).is_gone) return;
    find(directory);
    const ContentId content = name(directory).content;
    name(directory).is_directory = true;
    const FileNumber origin = contents_[content].origin;
    if (origin != kNoFileNumber) name(origin).is_directory = true;
    return;
  }
}

void FileHistory::useName(FileNumber number, const PastEvent& when, Presence need) {
  FileName& file = name(number);
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
  findParent(number);
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
  cut(content, when, static_cast<std::uint64_t>(size));
  if (size == 0) content.emptied = true;
}

// Those who found the file longer, or its end, come first. All others that were over before are
// waited for anyway.
void FileHistory::cut(Content& content, const PastEvent& when, std::uint64_t size) {
  const auto before = static_cast<std::uint64_t>(std::max<std::int64_t>(content.size.bytes, 0));
  dependencies_.require(when, content.sizes.found_end, Reason::kFile, Overlap::kIsOrdered);
  for (const auto& [thread, found] : content.sizes.found_bytes) {
    if (found.size > size) {
      dependencies_.require(when, found.event, Reason::kFile, Overlap::kIsOrdered);
    }
  }
  content.resized = when;
  content.sizes.cut(when, before, size);
  content.written.cut(size);
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

void FileHistory::foundBytes(ContentId id, const PastEvent& when, std::uint64_t end,
                             bool is_written) {
  Content& content = contents_[id];
  if (!content.writable) return;
  // Bytes that were there before the run need no call that made the file so long.
  const SizeHistory::Growth* const growth = content.sizes.reaching(end);
  if (growth != nullptr && end > content.needed && (!is_written || !isOver(growth->event, when))) {
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
    if (!is_temporary) return find(file);
    if (!entry.was_made && !entry.existed) entry.existed = true;
    return anonymous();
  }
  const FileNumber given = file;
  if (name(file).link_to != kNoFileNumber) {
    use(file, when, Presence::kThere);
    file = followed(file);
  }
  const bool creates = (flags & O_CREAT) != 0;
  fetchMoved(file, creates);
  const bool is_there = name(file).content != kNoContent;
  FileName& entry = name(file);
  entry.is_regular = true;
  if (creates && !is_there) {
    const bool fails_otherwise = (flags & O_EXCL) != 0;
    change(file, when, fails_otherwise ? Presence::kAbsent : Presence::kUnknown, Presence::kThere);
    const bool maybe_there = !entry.is_gone && !entry.existed && (flags & O_EXCL) == 0;
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
    find(file);
  } else {
    use(file, when, creates ? Presence::kUnknown : Presence::kThere);
    find(file);
  }
  noteName(entry.content, file);
  noteName(entry.content, given);
  Content& content = contents_[entry.content];
  // A file is opened with what others had written to it when they closed it.
  dependencies_.require(when, content.closed);
  if ((flags & O_TRUNC) != 0) {
    // Also where this one made the file: others may have opened it at the same time, and what they
    // write has to come after it was emptied.
    cut(content, when, 0);
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
  const bool is_taken = event.result == EEXIST;
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
  } else if (event.result == EEXIST) {
    find(file);
    if (calls::does(*event.row, Effect::kMakesDirectory)) entry.is_directory = true;
  } else if (event.result == EISDIR) {
    find(file);
    entry.is_directory = true;
  } else if (is_no_link || lacks_attribute || is_no_directory) {
    find(file);
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
    if (name(file).link_to == kNoFileNumber) find(file);
    change(file, when, Presence::kThere, Presence::kAbsent);
    if (calls::does(row, Effect::kRemovesDirectory) ||
        (event::argumentOf(event, Role::kFlags) & AT_REMOVEDIR) != 0) {
      name(file).is_directory = true;
    }
    name(file).remove();
  } else if (calls::does(row, Effect::kMakesLink) && new_file != kNoFileNumber) {
    if (name(file).link_to == kNoFileNumber) find(file);
    use(file, when, Presence::kThere);
    change(new_file, when, Presence::kAbsent, Presence::kThere);
    name(new_file).make(name(file).content, name(file).link_to);
    noteName(name(file).content, new_file);
  } else if (calls::does(row, Effect::kMakesSymlink)) {
    change(file, when, Presence::kAbsent, Presence::kThere);
    name(file).make(kNoContent, new_file);
  } else if (calls::does(row, Effect::kSetsLength)) {
    use(file, when, Presence::kThere);
    const ContentId content = find(file);
    name(file).was_written = true;
    resized(content, when, event::argumentOf(event, Role::kLength), contents_[content].size.bytes);
  } else {
    use(file, when, Presence::kThere);
    const bool is_of_the_link =
        name(file).link_to != kNoFileNumber &&
        (calls::does(row, Effect::kStaysAtLink) ||
         (event::argumentOf(event, Role::kFlags) & AT_SYMLINK_NOFOLLOW) != 0);
    if (!is_of_the_link) {
      const ContentId content = find(file);
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
  if (name(file).link_to == kNoFileNumber) find(file);
  const bool exchanges = (event::argumentOf(event, Role::kFlags) & RENAME_EXCHANGE) != 0;
  if (exchanges && name(new_file).link_to == kNoFileNumber) find(new_file);
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
  noteName(to.content, new_file);
  if (exchanges) {
    from.content = replaced.content;
    from.link_to = replaced.link_to;
    noteName(from.content, file);
  } else {
    from.remove();
  }
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
    const Presence was = presence(number);
    FileName& after = name(number);
    after.before_change = was == Presence::kUnknown ? Presence::kAbsent : was;
    after.make(before.content, before.link_to);
    after.is_directory = before.is_directory;
    after.is_regular = before.is_regular;
    after.changed = when;
    name(FileNumber{i}).remove();
  }
  moved_.push_back({from, to});
}

}  // namespace omnio::preprocess
