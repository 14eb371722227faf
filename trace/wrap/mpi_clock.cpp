#include "trace/wrap/mpi_clock.hpp"

#include "core/wire/info.hpp"
#include "trace/runtime/clock_meeting.hpp"
#include "trace/runtime/container_writer.hpp"
#include "trace/runtime/text.hpp"
#include "trace/wrap/mpi_clock_leaders.hpp"
#include "trace/wrap/mpi_own_call.hpp"

namespace omnio::trace {
namespace {

using namespace own_call;

constexpr int kTag = 1;  // on a communicator of our own

MPI_Comm leaders = nullptr;  // from MPI_Init to MPI_Finalize
std::uint64_t owner = 0;     // token of the process that has it; a forked child is not the one

struct Question {
  std::uint64_t is_last = 0;
};
struct Answer {
  std::uint64_t ns = 0;
  std::uint64_t token = 0;
};

template <typename Message>
bool send(const Message& message, int peer) {
  return OMNIO_PMPI(Send, &message, sizeof message, bytes(), peer, kTag, leaders) == MPI_SUCCESS;
}

template <typename Message>
bool receive(Message& message, int peer, std::uint64_t spin_ns) {
  MPI_Request request = nullptr;
  return OMNIO_PMPI(Irecv, &message, sizeof message, bytes(), peer, kTag, leaders, &request) ==
             MPI_SUCCESS &&
         arrives(request, MPI_STATUS_IGNORE, kForEver, spin_ns);
}

// Two that share a processor are never there at once: who waits has to leave it, or the other comes
// late each time. Two that have one each had better stay, and are done soon. So after the first
// trips all four ways are tried in turn.
constexpr std::size_t kFew = 32;
std::uint64_t askersSpin(std::size_t trip) { return trip < kFew || trip % 2 == 0 ? kSpinNs : 0; }
std::uint64_t answerersSpin(std::size_t trip) {
  return trip < kFew || trip / 2 % 2 == 0 ? kSpinNs : 0;
}

bool answerTo(int peer) {
  for (std::size_t trip = 0;; ++trip) {
    Question question;
    if (!receive(question, peer, answerersSpin(trip))) return false;
    if (question.is_last != 0) return true;
    if (!send(Answer{.ns = now(), .token = process.token}, peer)) return false;
  }
}

// Goes on while that helps: processors that have other work as well may take long until both sides
// run at once.
bool meet(int peer, ClockMeeting& best, std::uint64_t& token) {
  constexpr std::uint64_t kGoodNs = 10'000;  // an error that few round trips may leave
  constexpr std::size_t kLeast = 2 * kFew;
  constexpr std::size_t kMost = 1024;
  constexpr std::uint64_t kLongest = 250'000'000;  // ns
  static RoundTrip trips[kMost];  // of the one thread that is in MPI_Init or MPI_Finalize
  std::size_t last_gain = 0;
  for (std::size_t count = 1; count <= kMost; ++count) {
    RoundTrip& trip = trips[count - 1];
    Answer answer;
    trip.asked_ns = now();
    if (!send(Question(), peer) || !receive(answer, peer, askersSpin(count - 1))) return false;
    trip.answered_ns = now();
    trip.peer_ns = answer.ns;
    token = answer.token;
    const std::uint64_t before = best.error_ns;
    improve(best, trips, count);
    constexpr std::uint64_t kWorthwhile = 20;  // a part of so many
    if (best.error_ns < before - before / kWorthwhile) last_gain = count;
    // From the first answer on: until then the peer may have been elsewhere.
    if (trip.answered_ns - trips[0].answered_ns > kLongest) break;
    if (count >= (best.error_ns <= kGoodNs ? kFew : kLeast) && count >= 2 * last_gain) break;
  }
  return best.error_ns != ClockMeeting::kUnknown;
}

// Whatever comes of it, the peer is told that it is over: it would wait for ever.
bool ask(int peer, ClockMeeting& best, std::uint64_t& token) {
  const bool is_known = meet(peer, best, token);
  return send(Question{.is_last = 1}, peer) && is_known;
}

void tell(const char* key, const ClockMeeting& meeting, std::uint64_t token) {
  char fact[160];
  Text text(fact, sizeof fact);
  text.put(key).putByte('\0').putNumber(meeting.own_ns).putByte(' ');
  text.putNumber(meeting.peer_ns).putByte(' ').putNumber(meeting.error_ns).putByte(' ');
  text.putHex(token, 16).putByte('\0');
  appendInfo(fact, text.size());
}

// Along a binomial tree, since rank 0 alone would need a second for a thousand nodes: in each of
// its log2(nodes) rounds all pairs are at work at once. A node's errors are those of its way to the
// root.
void compare(const char* key) {
  int rank = 0;
  int size = 0;
  OMNIO_PMPI(Comm_rank, leaders, &rank);
  OMNIO_PMPI(Comm_size, leaders, &size);
  for (int bit = 1; bit < size; bit *= 2) {
    if ((rank & bit) != 0) {
      ClockMeeting meeting;
      std::uint64_t token = 0;
      if (ask(rank - bit, meeting, token)) tell(key, meeting, token);
      return;
    }
    // One that fails is no reason to leave the others, and one's own parent, waiting.
    if (rank + bit < size) answerTo(rank + bit);
  }
}

}  // namespace

void beforeClocks() { markClockLeader(); }

void compareClocksAtStart(bool mpi_is_there) {
  MPI_Comm gathered = gatherClockLeaders(mpi_is_there);
  if (gathered == nullptr) return;
  leaders = gathered;
  owner = process.token;
  compare(wire::info::kClockStart);
}

void compareClocksAtEnd() {
  if (leaders == nullptr || owner != process.token) return;
  compare(wire::info::kClockEnd);
  OMNIO_PMPI(Comm_free, &leaders);
  leaders = nullptr;
}

}  // namespace omnio::trace
