// The first pass over a trace: all threads together, by time. It finds out what each descriptor
// stands for, what the files were before the run, and which events have to wait for which. What
// the second pass, thread by thread, cannot see for itself is kept here; that is of the order of
// opens and edges, not of events.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "preprocess/dependencies.hpp"
#include "preprocess/file_history.hpp"
#include "preprocess/open_table.hpp"
#include "preprocess/source_threads.hpp"

namespace omnio::preprocess {

// What the second pass has to know of an event besides the event.
struct EventNote {
  std::uint64_t sequence = 0;  // of the event in its thread
  InstanceId made = kNoInstance;
  InstanceId replaced = kNoInstance;
  InstanceId source = kNoInstance;
  bool dropped = false;
};

// A step of the schedule that no event of the trace is: preopened, inherited, an open that was not
// recorded.
struct ExtraStep {
  std::int64_t behind = -1;  // the event of its thread that it follows; -1: before the first
  model::ScheduleEvent event;
};

struct ThreadNotes {
  std::vector<EventNote> notes;   // by sequence
  std::vector<ExtraStep> extras;  // by what they follow, once the pass is over
};

// The second path that a call names: where a rename or link leads, what a symbolic link points to.
// Absolute; empty when there is none.
std::string otherPathOf(const event::Event& event);

class Analysis {
 public:
  Analysis(const SourceThreads& sources, const LocationMap& locations)
      : sources_(sources),
        files_(locations, dependencies_),
        conflicts_(dependencies_),
        threads_(sources.threads.size()),
        last_(sources.threads.size()) {}

  // Reads the whole trace.
  void run(event::PathTable& paths);

  const Dependencies& dependencies() const { return dependencies_; }
  const OpenTable& opens() const { return opens_; }
  FileHistory& files() { return files_; }
  const FileHistory& files() const { return files_; }
  const std::vector<ThreadNotes>& threads() const { return threads_; }
  std::int64_t firstStart() const { return first_start_.value_or(0); }
  std::uint64_t events() const { return events_; }
  std::uint64_t dropped() const { return dropped_; }

 private:
  struct InstanceLife {
    PastEvent made;
    bool before_run = false;  // preopened: it is there before any event
    bool is_open = true;
    bool has_lock = false;                    // by flock
    std::uint64_t step_id = 0;                // of the step that makes it, where that is no event
    std::map<std::uint32_t, PastEvent> used;  // by thread
  };

  // Of a description: who moved its position.
  struct Mover {
    bool any = false;
    PastEvent last_seek;                        // or read
    std::map<std::uint32_t, PastEvent> writes;  // since then, by thread
  };

  // What stands in a stream's buffer.
  struct Buffered {
    Range range;
    InstanceId stream = kNoInstance;
    std::uint32_t thread = 0;  // that wrote it last
  };
  struct EarlyRead {
    EventRef ref;
    std::int64_t start_ns = 0;
  };

  void take(const event::Event& event, EventRef ref);
  bool isUsable(const event::Event& event) const;
  InstanceId makeInstance(int rank, std::uint32_t description, ContentId content,
                          const PastEvent& made, bool before_run = false);
  InstanceId resolve(const event::Handle& handle, EventRef ref, std::int64_t time_ns);
  InstanceId preopened(const event::Handle& handle, EventRef ref, std::int64_t start_ns);
  InstanceId openBefore(const event::Handle& handle, EventRef ref);
  InstanceId openedUnseen(const event::Handle& handle, EventRef ref, std::int64_t start_ns);
  InstanceId copyOf(InstanceId base);
  InstanceId keptOverExec(const event::Handle& handle, const SourceThread& thread);
  InstanceId unboundOf(const event::Handle& handle, std::size_t process);
  void takeMaker(const event::Event& event, const PastEvent& when, InstanceId from,
                 ContentId content, EventNote& note);
  void takeSource(const event::Event& event, const PastEvent& when, InstanceId source);
  void takeData(const event::Event& event, const PastEvent& when, InstanceId instance,
                const event::Transfer& transfer);
  void takeLock(const event::Event& event, const PastEvent& when, InstanceId instance);
  void noteEarlyReads(ContentId content, const Range& range, EventRef ref, std::int64_t start_ns);
  void flushAtExit();
  void publish(std::uint32_t description, ContentId content, const PastEvent& when);
  void orderByPosition(const event::Event& event, const PastEvent& when, std::uint32_t description);
  void useInstance(const event::Event& event, const PastEvent& when, InstanceId instance);
  model::FileNumber fileOf(const event::Text& text) { return files_.numberOf(text.absolute); }

  const SourceThreads& sources_;
  Dependencies dependencies_;
  OpenTable opens_;
  FileHistory files_;
  DataConflicts conflicts_;
  std::vector<ThreadNotes> threads_;
  std::vector<InstanceLife> lives_;  // by InstanceId
  // Made by a call that did not name its handle: process, and the instance.
  std::vector<std::pair<std::size_t, InstanceId>> unbound_;
  // What several processes were given open: rank, device, inode, access.
  std::map<std::tuple<int, std::uint64_t, std::uint64_t, int>, InstanceId> given_;
  std::vector<Mover> movers_;                                         // by description
  std::map<std::pair<ContentId, std::uint32_t>, Buffered> buffered_;  // content, description
  // The first read, by each thread, of what another process had in a stream's buffer.
  std::map<std::tuple<ContentId, std::uint32_t, std::uint32_t>, EarlyRead> early_reads_;
  std::vector<PastEvent> last_;  // by thread
  std::optional<std::int64_t> first_start_;
  std::uint64_t events_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace omnio::preprocess
