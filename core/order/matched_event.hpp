// The matched picture of a trace: for each MPI event that orders ranks its counterparts, the time
// it spent waiting for a late peer, and the communication's own cost.
//
// An event is about operations: a message sent or received, a call of all of a group, a window's
// epoch, a request. A Sendrecv is about two, a Waitall about as many as it found complete. An
// operation belongs to the event that started it and to those that found it complete.
//
// Waiting is the time from an event's own start until the last peer came that it could not end
// without (core/calls/role.hpp, Sync), and lies between 0 and the event's duration; the rest of the
// duration is the communication's own. A peer that came after an event had ended was not waited
// for: an eager send (MPI-3.1, 3.4), a collective that does not synchronise, and of an
// intercommunicator the own side, where a library does not wait for it (MPI-3.1, 5.2.3). A call
// that begins an operation does not wait: the call that finds it complete does.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/event/event.hpp"
#include "core/mpi/groups.hpp"

namespace omnio::order {

// An MPI event of the application's own (depth 0).
struct MpiEventRef {
  const calls::Row* row = nullptr;  // nullptr: no event
  mpi::ProcessIndex process = mpi::kNoProcess;
  std::uint32_t thread = 0;
  std::uint64_t number = 0;  // among the events of this kind of its thread, from 1
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

enum class OperationKind : std::uint8_t {
  kSend,
  kSyncSend,
  kReceive,
  kProbe,       // names a message without taking it
  kCollective,  // a call of all of a group
  kPost,        // the window's epochs: MPI_Win_post, _start, _complete, _wait
  kStart,
  kComplete,
  kWait,
  kLocal,  // orders no rank: a file's request, one that was begun before recording
};

enum class Match : std::uint8_t {
  kOpen,  // not settled yet; no event is handed out with one
  kMatched,
  kNobody,       // without a counterpart: MPI_PROC_NULL, a local operation
  kCancelled,    // by MPI_Cancel
  kNoIdentity,   // the trace does not say which group or message it was
  kNotInTrace,   // a rank that was not traced
  kNeverCame,    // the rank was traced, and the counterpart is not in its log
  kNotComplete,  // a receive that was never found complete
  kGivenUp,      // too much was open
};
inline constexpr int kMatchCount = 9;

// Whether a counterpart is missing. What was waited for is not known then.
constexpr bool isUnmatched(Match match) { return match >= Match::kNoIdentity; }

// A few words for a person: "a rank that was not traced".
std::string_view wordsOf(Match match);

// A call of all of a group, as far as its members have come. Shared by their operations.
struct MpiCollective {
  struct Arrival {
    std::uint32_t member = 0;  // rank; those of the second side follow those of the first
    MpiEventRef event;
  };
  std::vector<Arrival> arrivals;         // once it is settled: by start, then by member
  std::vector<std::uint32_t> by_member;  // once it is matched: index in `arrivals` plus 1; 0: none

  // Filled when a call is matched in which members wait for lower ones (scan): by member, the last
  // arrival of the lower ones, as its index plus 1; 0: none.
  std::vector<std::uint32_t> last_below;

  // nullptr when the member has not come, or the call is not matched.
  const Arrival* of(std::size_t member) const {
    if (member >= by_member.size() || by_member[member] == 0) return nullptr;
    return &arrivals[by_member[member] - 1];
  }
};

struct MpiOperation {
  OperationKind kind = OperationKind::kLocal;
  Match match = Match::kOpen;
  const mpi::OwnGroup* own = nullptr;  // the group, as the process is in it; nullptr: not known
  // Ranks in the group as events give them; negative for none.
  std::int32_t peer = -1;  // the other end of a message or epoch
  std::int32_t root = -1;
  std::int32_t tag = 0;
  std::uint64_t seq = 0;  // in post order (docs/formats/trace.md); 0: not known
  std::uint64_t bytes = 0;
  bool is_size_known = true;  // false of a receive that failed, as of too long a message
  std::uint64_t request = 0;  // its number in the process; 0: none
  MpiEventRef started;        // the event that started it; no row: none in the trace
  MpiEventRef counterpart;    // of a message or epoch: the event that started the other end
  // The event that could be waited for besides the counterpart: in MPI_Win_complete the post of its
  // epoch; by a send, when the counterpart is a matched probe, who fetches the message
  // (MPI-3.1, 3.8.3).
  MpiEventRef awaited;
  const MpiCollective* collective = nullptr;
};

// The root's call of a matched call with a root. nullptr when there is none: to the other ranks of
// the root's side of an intercommunicator the call means nothing (MPI-3.1, section 5.2.3).
const MpiCollective::Arrival* rootOf(const MpiOperation& operation, const mpi::MpiGroups& groups);

// MPI libraries copy small messages away, so that whoever sends one goes on (the eager protocol),
// and keep senders of large ones until the receiver takes the data (rendezvous). Where one ends and
// the other begins differs: from 4 KiB (Open MPI in shared memory) to 256 KiB (Intel MPI).
inline constexpr std::uint64_t kMayWaitForReceiver = 4096;  // bytes
inline constexpr std::uint64_t kWaitsForReceiver = std::uint64_t{256} << 10;

// The member of a large broadcast or scatter that its root had to wait for before it could leave
// (`stay` is the root's call), or the root that a member of a large gather or reduction had to wait
// for: MPI does not ask for that, but the data has to go somewhere. nullptr: none; on
// intercommunicators too. Which members take data from the root itself depends on the library:
// taken to do are all of up to eight, and in larger groups those at a distance of a power of two,
// as in the trees that libraries build.
// Of MPI_Scatterv the root's own part is what tells the size.
const MpiCollective::Arrival* stayedFor(const MpiOperation& operation, const MpiEventRef& stay,
                                        const mpi::MpiGroups& groups);

// How an event takes part in one of its operations.
enum class Part : std::uint8_t {
  kWhole,  // begins and ends it
  kBegun,  // begins it: a request goes on
  kEnded,  // found its request complete
  kNamed,  // goes on with a message that a matched probe took, and does not end it
};

struct EventPart {
  const MpiOperation* operation = nullptr;
  Part part = Part::kWhole;
};

// An event with all that is known of it. What it points to lives as long as the call that hands it
// out.
struct MatchedEvent {
  MpiEventRef event;
  std::uint64_t id = 0;  // as MpiPictureSink::seen() was told
  std::span<const EventPart> parts;
  // Nothing when what it waited for is missing.
  std::optional<std::int64_t> waited_ns;
  // The process that was waited for; kNoProcess when none was.
  mpi::ProcessIndex late = mpi::kNoProcess;
  // How much later than the event ended what it waited for seems to have begun: the clocks of their
  // hosts differ, and nothing is left of its own cost.
  std::int64_t early_ns = 0;

  std::int64_t duration() const { return event.end_ns - event.start_ns; }
  std::optional<std::int64_t> own_ns() const {
    if (!waited_ns) return {};
    return duration() - *waited_ns;
  }
  bool matched() const;  // no counterpart is missing
};

// The facts about a trace that the rules need.
struct WaitingRules {
  const mpi::MpiGroups* groups = nullptr;
  // The clock that a process goes by, and how far that is off the reference's at most: a peer that
  // came so little after an event had ended may have come before.
  struct Clock {
    std::uint32_t number = 0;
    std::int64_t error_ns = 0;
  };
  std::vector<Clock> clocks;
  std::int64_t most_slack_ns = 0;  // twice the largest error

  std::int64_t slack(mpi::ProcessIndex a, mpi::ProcessIndex b) const {
    if (a >= clocks.size() || b >= clocks.size() || clocks[a].number == clocks[b].number) return 0;
    return clocks[a].error_ns + clocks[b].error_ns;
  }
};

// Puts waited_ns and late of an event whose operations are all settled.
void fillWaiting(MatchedEvent& event, const WaitingRules& rules);

// Takes what comes out.
class MpiPictureSink {
 public:
  MpiPictureSink() = default;
  MpiPictureSink(const MpiPictureSink&) = delete;
  MpiPictureSink& operator=(const MpiPictureSink&) = delete;
  virtual ~MpiPictureSink() = default;

  // Each event once, by start, with ids that count up from 0. The event is valid during the call.
  virtual void seen(std::uint64_t id, const MpiEventRef& ref, const event::Event& event) = 0;
  // Each event once, as soon as all of it is known: not by start.
  virtual void settled(const MatchedEvent& event) = 0;
};

struct MpiCounts {
  struct Of {
    std::uint64_t all = 0;
    std::array<std::uint64_t, kMatchCount> by_match{};  // indexed by Match

    std::uint64_t matched() const { return by_match[static_cast<std::size_t>(Match::kMatched)]; }
    std::uint64_t unmatched() const;
    void add(Match match);
  };
  std::uint64_t events = 0;
  std::uint64_t unmatched = 0;  // events of which a counterpart is missing
  Of sends;
  Of receives;
  Of probes;
  Of epochs;  // a member of a group that an MPI_Win_post, _start, _complete or _wait names
  std::map<std::string_view, Of> collectives;  // by the plain name of the call, MPI_X
};

}  // namespace omnio::order
