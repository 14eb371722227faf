// Gathers from the trace, for each file: whether it was there before the run, how much of it was
// read before it was written, and which names stood for which content when (rename, link, unlink
// while open). Fed with events by the time they began.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/event/file_positions.hpp"
#include "core/model/schedule.hpp"
#include "preprocess/files/location.hpp"
#include "preprocess/files/mounts.hpp"
#include "preprocess/files/scale_map.hpp"
#include "preprocess/files/size_rules.hpp"
#include "preprocess/order/dependencies.hpp"

namespace omnio::preprocess {

using ContentId = std::size_t;
inline constexpr ContentId kNoContent = SIZE_MAX;

// Which call made a file how long, and who saw it so long. Kept since it was last cut.
class SizeHistory {
 public:
  struct Growth {
    std::uint64_t size = 0;  // bytes, from this event on
    PastEvent event;
  };

  void grew(std::uint64_t size, const PastEvent& event);
  // The growths that the thread of `first` made from `first` on are those of `by`.
  void writtenOut(const PastEvent& first, const PastEvent& by);
  // The first event, as far as it is kept, that made the file at least that long; nullptr when
  // there is none.
  const Growth* reaching(std::uint64_t size) const;
  // The last one; nullptr when there is none.
  const Growth* last() const { return growths_.empty() ? nullptr : &growths_.back(); }
  void cut(const PastEvent& event, std::uint64_t from, std::uint64_t to);

  std::optional<PastEvent> cut_by;
  std::uint64_t cut_from = 0;           // bytes
  std::uint64_t least = UINT64_MAX;     // that it was ever cut to, bytes
  Crowd found_end;                      // saw where the file ends
  std::uint64_t shortest = UINT64_MAX;  // of these, bytes
  // The last read of each thread, and the end of what it read.
  std::map<std::uint32_t, Growth> found_bytes;

 private:
  std::vector<Growth> growths_;  // bounded; by size
};

// The bytes of a file, whatever its names.
struct Content {
  // `factors`: those that sizes of a file may be multiplied by. `keeps_some`: some requests keep
  // their sizes.
  Content(std::span<const double> factors, bool keeps_some) : scale(factors, keeps_some) {}

  model::FileNumber origin = model::kNoFileNumber;  // the name it had before the run, if any
  bool maybe_new = false;  // it came by an O_CREAT that does not tell whether it was there
  bool emptied = false;    // by the application: what it was before matters no more
  bool is_directory = false;
  std::uint64_t needed = 0;  // furthest byte that calls show to have been there before the run
  // The least size that an open found before the run cut the file. Whoever writes first has opened
  // the file before, so that is its size before the run.
  std::optional<std::uint64_t> found_size;
  bool end_was_seen = false;  // a call told where the file ends
  bool was_scanned = false;   // by fscanf, of which the trace does not tell how far it read
  std::uint64_t read_before_written = 0;
  IntervalSet written;
  // Of what was there before the run: the parts that calls read or write, in units of 1 MiB, and
  // the holes that a seek told of (SEEK_DATA, SEEK_HOLE).
  IntervalSet used;
  IntervalSet holes{SIZE_MAX};  // never merged: what lies between them is data
  event::FileSize size;
  // Bytes appended to what may have been there before: they are behind what was needed of that.
  std::uint64_t appended = 0;
  SizeHistory sizes;
  std::optional<PastEvent> resized;  // by ftruncate and its like, last
  Crowd written_in_place;            // not appended
  Crowd appended_by;
  Crowd closed;  // by who wrote it
  bool lines = false;
  bool direct = false;    // opened with O_DIRECT, by anyone
  bool writable = false;  // opened for writing, by anyone
  bool buffered = false;  // written through a stream, so calls do not tell when it grew
  Crowd last_access;
  double factor = 1;  // of its first name
  model::FileNumber first_name = model::kNoFileNumber;
  model::FileNumber other_name = model::kNoFileNumber;  // a later one of another factor
  ContentId copy_group = kNoContent;  // a content before this one that calls copied from or to it
  // A request lies where the last pass cannot tell: one of keepBelow() bytes or more at the end of
  // the file, one that another call completes, or one at a position that is not known.
  bool is_unplaced = false;
  bool large_at_position = false;  // requests of keepBelow() bytes or more went by a position
  bool shared_position = false;
  FileScale scale;
};

// Whether a name stands for something.
enum class Presence : std::uint8_t { kUnknown, kThere, kAbsent };

// Uses of a name by one thread.
struct NameUses {
  PastEvent last;
  std::optional<PastEvent> sure;  // the last one that fails, or succeeds, only as the name was then
};

struct FileName {
  std::string location;
  std::string source;
  // The first path that a call had for it, where `source` is that of a name it had before.
  std::string own_path;
  bool has_own_path = false;
  double factor = 1;            // what SizeRules give to that path
  std::optional<bool> existed;  // before the run, where anything told
  bool was_made = false;        // in the run
  bool was_written = false;
  bool is_directory = false;
  bool is_regular = false;         // it was opened, and is not a directory
  bool was_missed = false;         // a call found nothing there, in a place that was there
  ContentId content = kNoContent;  // that it stands for now
  model::FileNumber link_to = model::kNoFileNumber;  // of a symbolic link made in the run
  std::string link_text;  // of one whose text is relative: what it leads to moves with it
  bool is_gone = false;   // it stands for nothing now, and that is known
  std::optional<PastEvent> changed;  // who made, renamed or removed it last
  struct MadeUpBy {
    std::uint64_t id = 0;
    std::uint32_t thread = 0;
  };
  std::optional<MadeUpBy> made_up;  // or the step that was made up for it
  Presence before_change = Presence::kUnknown;
  std::map<std::uint32_t, NameUses> used;  // by thread, since then
  // How many names are in it, where it is a directory that the run made.
  std::optional<std::uint64_t> entries;
  std::optional<PastEvent> first_entry;  // made the first of them
  std::optional<PastEvent> last_entry;   // made the last of them
  Crowd found_full;                      // rmdir found names in it

  // A call made it that fails where something is there already.
  void make(ContentId made, model::FileNumber leads_to) {
    if (!existed && !is_gone && content == kNoContent) existed = false;
    content = made;
    link_to = leads_to;
    link_text.clear();
    was_made = true;
    is_gone = false;
  }
  void remove() {
    content = kNoContent;
    link_to = model::kNoFileNumber;
    link_text.clear();
    is_gone = true;
  }
};

class FileHistory {
 public:
  // `sizes`: what sizes in the schedule are multiplied by. All that is given outlives it.
  FileHistory(const LocationMap& locations, const NodeMounts& mounts, Dependencies& dependencies,
              DataConflicts& conflicts, const SizeRules& sizes)
      : locations_(locations),
        mounts_(mounts),
        dependencies_(dependencies),
        conflicts_(conflicts),
        sizes_(sizes),
        factors_(sizes.factors()) {}

  // The file an absolute path stands for on a node, which is added when it is new.
  model::FileNumber numberOf(std::string_view absolute, std::size_t node);

  Presence presence(model::FileNumber file) const;
  // The name that the file's name leads to by links.
  model::FileNumber followed(model::FileNumber number) const;
  // The directory that it is in; kNoFileNumber when no call has named that so far.
  model::FileNumber directoryOf(model::FileNumber number) const;
  // How many names the directory has in it, as far as that is known.
  std::optional<std::uint64_t> entriesOf(model::FileNumber directory) const {
    return name(directory).entries;
  }
  // The nearest directory above it that calls have named so far; kNoFileNumber: none.
  model::FileNumber knownParent(model::FileNumber number) const;
  // The content that the name stands for, kNoContent when that is not known.
  ContentId contentOf(model::FileNumber number) const { return name(number).content; }

  // A call that names files: its effect on names, and what it has to wait for. Returns the content
  // of what it opened.
  ContentId named(const event::Event& event, const PastEvent& when, model::FileNumber file,
                  model::FileNumber new_file);
  // The content has that name, too, by a call that found nothing there.
  void linked(ContentId content, model::FileNumber new_file, const PastEvent& when);
  // So long when the replay begins, whatever is known besides.
  void wasAtLeast(ContentId content, std::uint64_t size);
  // An open, or a descriptor from before the recording, found the file that long.
  void foundSize(ContentId content, std::int64_t size);
  // A descriptor that was open before the recording, with these flags.
  ContentId inherited(model::FileNumber file, int flags);
  // Whether the name stands for something else than before the run, or for what was not there: a
  // descriptor on it that no recorded call opened was opened in the run, by what is not recorded.
  bool isOfTheRun(model::FileNumber file);
  // Whether a name on the way to it is known to be that of a regular file.
  bool isBelowFile(model::FileNumber file);
  // An open with these flags; it conflicts with others as `when` does.
  ContentId openedFile(model::FileNumber file, const PastEvent& when, int flags);
  // A file without a name (tmpfile).
  ContentId anonymous();

  // Data that is read or written; its offset may be unknown.
  void read(ContentId content, const event::Event& event, const PastEvent& when,
            const event::Transfer& transfer);
  void write(ContentId content, const PastEvent& when, const event::Transfer& transfer);
  // ftruncate, and what is like it.
  // `before`: how long it was, in bytes.
  void resized(ContentId content, const PastEvent& when, std::int64_t size, std::int64_t before);
  // fallocate and its like, which may have made it longer.
  void extended(ContentId content, const PastEvent& when);
  // A call that made the file at least `end` bytes long, and had found it `before` bytes long.
  void reaches(ContentId content, const PastEvent& when, std::uint64_t before, std::uint64_t end);
  // A stream's buffer, filled by calls from `first` on, was written out: the file is longer since
  // `when`, and was not before.
  void writtenOut(ContentId content, const PastEvent& first, const PastEvent& when) {
    contents_[content].sizes.writtenOut(first, when);
  }
  // The same of a call that makes it longer at a place of its own: what was appended before would
  // come to lie elsewhere after it.
  void outgrows(ContentId content, const PastEvent& when) {
    dependencies_.require(when, contents_[content].appended_by);
  }
  // A read that found the end of the file where it stopped. When it got no byte, the end was there
  // or before.
  void foundEnd(ContentId content, const PastEvent& when, std::uint64_t at, bool is_exact);
  // A read of bytes up to `end`; whether a write of the last one is among what it waits for.
  void foundBytes(ContentId content, const PastEvent& when, std::uint64_t end, bool is_written);
  // lseek to the end, or the position behind it: the file is as long as that.
  void measured(ContentId content, std::int64_t size);
  // fscanf read the bytes from `from` on, up to `to` or beyond.
  void scanned(ContentId content, std::int64_t from, std::int64_t to);
  // lseek for data or a hole (SEEK_DATA, SEEK_HOLE): which it looked for from where, and what it
  // found; nothing where the file has no more data.
  void soughtHole(ContentId content, bool is_hole, std::uint64_t from,
                  std::optional<std::uint64_t> found);
  // stat and its like: the size is not in the trace.
  void sizeSeen(ContentId content, const PastEvent& when);
  void touched(ContentId content, const PastEvent& when);
  // A descriptor that wrote to it is closed.
  void closed(ContentId content, const PastEvent& when) { contents_[content].closed.add(when); }
  // Bytes that are in the file now, at an offset that does not depend on where it ends.
  void writtenInPlace(ContentId content, const PastEvent& when) {
    contents_[content].written_in_place.add(when);
  }
  // A read or write waits for those who cut or extended the file. Where the end of the file
  // matters, as it does to an append, it also waits for what others wrote before; those who append
  // are in no order among themselves.
  void needsLength(ContentId content, const PastEvent& when, bool at_end);
  // Whether the content came to be under this name, and not under another that was renamed.
  bool isNative(ContentId content, model::FileNumber file) const {
    return contents_[content].origin == file;
  }

  const std::string& locationOf(model::FileNumber file) { return name(file).location; }
  Content& content(ContentId id) { return contents_[id]; }
  const Content& content(ContentId id) const { return contents_[id]; }

  // A call copied bytes from one to the other without the application's memory: as many have to be
  // there in both, so both get one factor.
  void copied(ContentId from, ContentId to);

  // A name that a call found, which no recorded call made and which was not there before the run: a
  // shell made it, say. A step in front of that call makes it.
  struct MadeUp {
    model::FileNumber file = model::kNoFileNumber;
    ContentId content = kNoContent;
    PastEvent before;
    std::uint64_t id = 0;
    std::vector<model::Wait> after{};
    bool is_directory = false;
    bool lines = false;
    std::uint64_t bytes = 0;
  };
  // All of them, in order, once files are settled.
  std::vector<MadeUp> takeMadeUp();
  // Once the trace is at its end: where positions of a file come to lie is known then.
  void settle();
  // Once it is settled: files whose sizes are multiplied by another factor than that of their name.
  struct OtherFactors {
    std::uint64_t renamed = 0;  // files that had another name before
    std::string first_renamed;  // the location of one of them
    std::uint64_t copied = 0;   // files with bytes that were copied from or to another one
    std::string first_copied;   // the location of one of them
  };
  const OtherFactors& otherFactors() const { return other_factors_; }
  bool haveOneFactor() const { return sizes_.isPlain(); }
  // Requests of fewer bytes keep their sizes.
  std::uint64_t keepBelow() const { return sizes_.keepBelow(); }
  double factorOf(model::FileNumber file) const { return name(file).factor; }
  // A pattern of the rules that matches no file, as `files` says what the names are; nothing where
  // each matches one.
  std::optional<std::string> unusedPattern(const std::vector<model::ScheduleFile>& files) const;
  // All files in the order in which they came up, with scaled sizes, once that is settled.
  std::vector<model::ScheduleFile> files();
  // How many files may have been longer before the run than calls show, and one of them.
  struct UnknownSizes {
    std::uint64_t files = 0;
    std::string first;  // its location
  };
  UnknownSizes unknownSizes() const;

 private:
  FileName& name(model::FileNumber number) { return names_[static_cast<std::size_t>(number)]; }
  const FileName& name(model::FileNumber number) const {
    return names_[static_cast<std::size_t>(number)];
  }
  model::FileNumber numberAt(std::string location, std::string_view source);
  ContentId find(model::FileNumber number, const PastEvent& when);
  bool isBelowMade(model::FileNumber number) const;
  bool isBelowMoved(std::string_view location) const;
  bool isRenamedAway(std::string_view directory) const;
  ContentId contentAfterRename(model::FileNumber number);
  bool mayHaveMoved(std::string location, std::size_t moves) const;
  void makeUp(model::FileNumber number, const PastEvent& when);
  void haveParents(model::FileNumber number, const PastEvent& when);
  void fetchMoved(model::FileNumber number, std::size_t moves);
  // `named`: the name that it has, which may be another than that before the run.
  ContentId makeContent(model::FileNumber origin, model::FileNumber named);
  void noteName(ContentId content, model::FileNumber file);
  ContentId copyGroup(ContentId content);
  // `need`: how the name was when the call took effect, as far as its result tells.
  // `above`: the same for the directories above it.
  void use(model::FileNumber number, const PastEvent& when, Presence need,
           Presence above = Presence::kThere);
  void useName(model::FileNumber number, const PastEvent& when, Presence need);
  void change(model::FileNumber number, const PastEvent& when, Presence need, Presence becomes);
  void changeEntries(model::FileNumber number, const PastEvent& when, Presence becomes);
  void missedBelow(model::FileNumber number, const PastEvent& when);
  void cut(ContentId content, const PastEvent& when, std::uint64_t size);
  void waitForUsers(ContentId content, const PastEvent& when);
  void need(Content& content, std::uint64_t end);
  static bool wasThere(const Content& content, std::uint64_t end);
  static void noteUse(Content& content, const event::Transfer& transfer);
  ContentId opened(const event::Event& event, const PastEvent& when, model::FileNumber file);
  void failed(const event::Event& event, const PastEvent& when, model::FileNumber file,
              model::FileNumber new_file);
  void renamed(const event::Event& event, const PastEvent& when, model::FileNumber file,
               model::FileNumber new_file);
  void moveLink(model::FileNumber number, const std::string& text);
  void moveBelow(const std::string& from, const std::string& to, const PastEvent& when);
  void markDirectories();

  // A directory that was renamed: what lies below it, nothing may have told before.
  struct Moved {
    std::string from;
    std::string to;
    bool was_before_run = false;  // then it may have brought what no call has named
  };

  const LocationMap& locations_;
  const NodeMounts& mounts_;
  Dependencies& dependencies_;
  DataConflicts& conflicts_;
  const SizeRules& sizes_;
  const std::vector<double> factors_;  // that files may have
  OtherFactors other_factors_;
  std::unordered_map<std::string, model::FileNumber> numbers_;  // by location
  std::deque<FileName> names_;  // references to one stay good while others are added
  std::vector<Content> contents_;
  std::vector<Moved> moved_;
  std::vector<MadeUp> made_up_;
  // Calls that found nothing below a directory that no call had named, by its location.
  std::unordered_map<std::string, ByThread> missed_below_;
};

// Whether what a call reads ends with a line, or another delimiter.
bool readsLines(const calls::Row& row);

// Whether a call failed since something has the name that it was to make.
bool findsTaken(const event::Event& event);

bool isBelow(std::string_view location, std::string_view directory);

}  // namespace omnio::preprocess
