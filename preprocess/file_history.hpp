// Gathers from the trace, for each file: whether it was there before the run, how much of it was
// read before it was written, and which names stood for which content when (rename, link, unlink
// while open). Fed with events by the time they began.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/event/file_positions.hpp"
#include "core/model/schedule.hpp"
#include "preprocess/dependencies.hpp"
#include "preprocess/location.hpp"

namespace omnio::preprocess {

using ContentId = std::size_t;
inline constexpr ContentId kNoContent = SIZE_MAX;

// The bytes of a file, whatever its names.
struct Content {
  model::FileNumber origin = model::kNoFileNumber;  // the name it had before the run, if any
  bool maybe_new = false;  // it came by an O_CREAT that does not tell whether it was there
  bool emptied = false;    // by the application: what it was before matters no more
  bool is_directory = false;
  std::uint64_t needed = 0;  // furthest byte that has to be there before the run
  std::uint64_t read_before_written = 0;
  IntervalSet written;
  event::FileSize size;
  // Bytes appended to what may have been there before: they are behind what was needed of that.
  std::uint64_t appended = 0;
  std::optional<PastEvent> resized;  // by ftruncate and its like, last
  ByThread written_in_place;         // by thread: not appended
  bool lines = false;
  ByThread unlocked;     // by thread: who let go of a lock (flock) on it
  bool direct = false;   // opened with O_DIRECT, by anyone
  ByThread last_access;  // by thread
};

struct FileName {
  std::string location;
  std::string source;
  std::optional<bool> existed;  // before the run, where anything told
  bool was_made = false;        // in the run
  bool was_written = false;
  bool is_directory = false;
  bool is_regular = false;         // it was opened, and is not a directory
  bool was_missed = false;         // a call found nothing there, in a place that was there
  ContentId content = kNoContent;  // that it stands for now
  model::FileNumber link_to = model::kNoFileNumber;  // of a symbolic link made in the run
  bool is_gone = false;                              // it stands for nothing now, and that is known
  std::optional<PastEvent> changed;                  // who made, renamed or removed it last
  ByThread used;                                     // since then

  // A call made it that fails where something is there already.
  void make(ContentId made, model::FileNumber leads_to) {
    if (!existed && !is_gone && content == kNoContent) existed = false;
    content = made;
    link_to = leads_to;
    was_made = true;
    is_gone = false;
  }
  void remove() {
    content = kNoContent;
    link_to = model::kNoFileNumber;
    is_gone = true;
  }
};

class FileHistory {
 public:
  FileHistory(const LocationMap& locations, Dependencies& dependencies)
      : locations_(locations), dependencies_(dependencies) {}

  // The file an absolute path stands for, which is added when it is new.
  model::FileNumber numberOf(std::string_view absolute);

  // A call that names files: its effect on names, and what it has to wait for. Returns the content
  // of what it opened.
  ContentId named(const event::Event& event, const PastEvent& when, model::FileNumber file,
                  model::FileNumber new_file);
  // A descriptor that was open before the recording.
  ContentId inherited(model::FileNumber file);
  // Whether the name stands for something else than before the run, or for what was not there: a
  // descriptor on it that no recorded call opened was opened in the run, by what is not recorded.
  bool isOfTheRun(model::FileNumber file);
  // An open with these flags; it conflicts with others as `when` does.
  ContentId openedFile(model::FileNumber file, const PastEvent& when, int flags);
  // A file without a name (tmpfile).
  ContentId anonymous();

  // Data that is read or written; its offset may be unknown.
  void read(ContentId content, const event::Event& event, const PastEvent& when,
            const event::Transfer& transfer);
  void write(ContentId content, const PastEvent& when, const event::Transfer& transfer);
  // ftruncate, and what is like it.
  void resized(ContentId content, const PastEvent& when, std::int64_t size);
  // fallocate and its like, which may have made it longer.
  void extended(ContentId content, const PastEvent& when);
  // lseek to the end: the file is as long as that.
  void measured(ContentId content, std::int64_t size);
  void touched(ContentId content, const PastEvent& when);
  // Bytes that are in the file now, at an offset that does not depend on where it ends.
  void writtenInPlace(ContentId content, const PastEvent& when) {
    contents_[content].written_in_place[when.ref.thread] = when;
  }
  // A read or write waits for those who cut or extended the file. Where the end of the file
  // matters, as it does to an append, it also waits for what others wrote before; those who append
  // are in no order among themselves.
  void needsLength(ContentId content, const PastEvent& when, bool at_end);
  // flock: whoever wants it waits for those who had it.
  void locks(ContentId content, const PastEvent& when);
  void unlocks(ContentId content, const PastEvent& when) {
    contents_[content].unlocked[when.ref.thread] = when;
  }
  // Whether the content came to be under this name, and not under another that was renamed.
  bool isNative(ContentId content, model::FileNumber file) const {
    return contents_[content].origin == file;
  }

  const std::string& locationOf(model::FileNumber file) { return name(file).location; }
  Content& content(ContentId id) { return contents_[id]; }

  // All files in the order in which they came up, once the trace is at its end.
  std::vector<model::ScheduleFile> files();

 private:
  FileName& name(model::FileNumber number) { return names_[static_cast<std::size_t>(number)]; }
  model::FileNumber numberAt(std::string location, std::string_view source);
  model::FileNumber followed(model::FileNumber number);
  ContentId find(model::FileNumber number);
  void fetchMoved(model::FileNumber number);
  void findParent(model::FileNumber number);
  ContentId makeContent(model::FileNumber origin);
  void use(model::FileNumber number, const PastEvent& when);
  void change(model::FileNumber number, const PastEvent& when);
  void waitForUsers(ContentId content, const PastEvent& when);
  void need(Content& content, std::uint64_t end);
  ContentId opened(const event::Event& event, const PastEvent& when, model::FileNumber file);
  void failed(const event::Event& event, model::FileNumber file);
  void renamed(const event::Event& event, const PastEvent& when, model::FileNumber file,
               model::FileNumber new_file);
  void moveBelow(const std::string& from, const std::string& to, const PastEvent& when);
  void markDirectories();

  // A directory that was renamed: what lies below it, nothing may have told before.
  struct Moved {
    std::string from;
    std::string to;
  };

  const LocationMap& locations_;
  Dependencies& dependencies_;
  std::unordered_map<std::string, model::FileNumber> numbers_;  // by location
  std::vector<FileName> names_;
  std::vector<Content> contents_;
  std::vector<Moved> moved_;
};

// Whether what a call reads ends with a line, or another delimiter.
bool readsLines(const calls::Row& row);

bool isBelow(std::string_view location, std::string_view directory);

}  // namespace omnio::preprocess
