#include "trace/runtime/clock_comparison.hpp"

#include <fcntl.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "core/wire/hex_number.hpp"
#include "core/wire/info.hpp"
#include "trace/runtime/clock_link.hpp"
#include "trace/runtime/clock_marks.hpp"
#include "trace/runtime/clock_meeting.hpp"
#include "trace/runtime/identity.hpp"
#include "trace/runtime/mpi/groups.hpp"
#include "trace/runtime/process.hpp"
#include "trace/runtime/ring/container_writer.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/runtime/sys/scratch.hpp"
#include "trace/runtime/sys/text.hpp"

namespace omnio::trace {
namespace {

constexpr std::uint64_t kMs = 1'000'000;  // ns
constexpr std::uint64_t kSpinNs = 100'000;
constexpr std::size_t kMostLeaders = 65536;
constexpr std::size_t kLineBytes = 512;

// Who is asked, and how many ask here: neighbours in a binomial tree, since rank 0 alone would need
// a second for a thousand nodes. In each of its log2(nodes) rounds all pairs are at work at once. A
// node's errors are those of its way to the root.
struct Place {
  bool has_parent = false;
  ClockLeader parent;
  std::size_t children = 0;
  std::uint64_t owner = 0;  // token of the process that has it; a forked child is not the one
};

ClockMarks marks;
ClockPort port;
ClockLeader self;
Place place;

// Both carry who is meant or speaks, so that a stranger at a port that is not the peer's any more
// is not taken for him.
struct Question {
  std::uint64_t to = 0;
};
struct Answer {
  std::uint64_t from = 0;
  std::uint64_t ns = 0;
};

// Two that share a processor are never there at once: who waits has to leave it, or the other comes
// late each time. Two that have one each had better stay, and are done soon. So after the first
// trips all four ways are tried in turn.
constexpr std::size_t kFew = 8;
std::uint64_t askersSpin(std::size_t trip) { return trip < kFew || trip % 2 == 0 ? kSpinNs : 0; }
std::uint64_t answerersSpin(std::size_t trip) {
  return trip < kFew || trip / 2 % 2 == 0 ? kSpinNs : 0;
}

// How long a peer is waited for that has been heard already: it may be stopped, or its node gone.
constexpr std::uint64_t kPatience = 1000 * kMs;

// Whether it was one of us who asked, the first time until `first_until_ns`.
bool answerTo(const ClockLink& link, std::uint64_t first_until_ns) {
  constexpr std::uint64_t kLongest = 2000 * kMs;
  const std::uint64_t end = linkNow() + kLongest;
  for (std::size_t trip = 0;; ++trip) {
    Question question;
    const std::uint64_t until = trip == 0 ? first_until_ns : std::min(linkNow() + kPatience, end);
    if (!link.receive(&question, sizeof question, until, answerersSpin(trip)) ||
        question.to != process.token) {
      return trip > 0;
    }
    const Answer answer = {.from = process.token, .ns = linkNow()};
    if (!link.send(&answer, sizeof answer)) return true;
  }
}

// Goes on while that helps: processors that have other work as well may take long until both sides
// run at once. What was found before a peer was lost is as true.
ClockMeeting meet(const ClockLink& link, std::uint64_t peer) {
  constexpr std::uint64_t kGoodNs = 10'000;  // an error that few round trips may leave
  constexpr std::size_t kLeast = 64;
  constexpr std::size_t kMost = 1024;
  constexpr std::uint64_t kLongest = 250 * kMs;
  // The peer may have others to answer first.
  constexpr std::uint64_t kLongestQueue = 5000 * kMs;
  static RoundTrip trips[kMost];  // of the one thread that is in MPI_Init or MPI_Finalize
  ClockMeeting best;
  std::size_t last_gain = 0;
  for (std::size_t count = 1; count <= kMost; ++count) {
    RoundTrip& trip = trips[count - 1];
    const Question question = {.to = peer};
    Answer answer;
    trip.asked_ns = linkNow();
    const std::uint64_t until = trip.asked_ns + (count == 1 ? kLongestQueue : kPatience);
    if (!link.send(&question, sizeof question) ||
        !link.receive(&answer, sizeof answer, until, askersSpin(count - 1)) ||
        answer.from != peer) {
      break;
    }
    trip.answered_ns = linkNow();
    trip.peer_ns = answer.ns;
    const std::uint64_t before = best.error_ns;
    improve(best, trips, count);
    constexpr std::uint64_t kWorthwhile = 20;  // a part of so many
    if (best.error_ns < before - before / kWorthwhile) last_gain = count;
    // From the first answer on: until then the peer may have been elsewhere.
    if (trip.answered_ns - trips[0].answered_ns > kLongest) break;
    if (count >= (best.error_ns <= kGoodNs ? kFew : kLeast) && count >= 2 * last_gain) break;
  }
  return best;
}

void record(const char* key, const ClockMeeting& meeting, std::uint64_t peer) {
  char fact[160];
  Text text(fact, sizeof fact);
  text.put(key).putByte('\0').putNumber(meeting.own_ns).putByte(' ');
  text.putNumber(meeting.peer_ns).putByte(' ').putNumber(meeting.error_ns).putByte(' ');
  text.putHex(peer, 16).putByte('\0');
  appendInfo(fact, text.size());
}

// Whether the parent answered.
bool ask(const char* key) {
  char line[kLineBytes];
  if (!marks.readLine(place.parent, line, sizeof line)) return false;
  std::string_view text = line;
  std::uint64_t peer = 0;
  if (!wire::takeHexNumber(text, 16, peer) || !text.starts_with(' ')) return false;
  text.remove_prefix(1);
  ClockLink link;
  if (!link.connect(text, linkNow() + kPatience)) return false;
  const ClockMeeting meeting = meet(link, peer);
  if (meeting.error_ns == ClockMeeting::kUnknown) return false;
  record(key, meeting, peer);
  return true;
}

// Until then, unless all children have been here before; returns how many were.
std::size_t answerChildren(std::uint64_t until) {
  // Who is one of us asks at once, unless it has lost its processor after it connected.
  constexpr std::uint64_t kFirstQuestion = 500 * kMs;
  std::uint64_t for_strangers = 1000 * kMs;  // all together
  std::size_t met = 0;
  while (met < place.children && for_strangers > 0) {
    ClockLink link;
    if (!port.accept(link, until)) break;
    const std::uint64_t begin = linkNow();
    if (answerTo(link, begin + std::min(kFirstQuestion, for_strangers))) {
      ++met;
    } else {
      for_strangers -= std::min(for_strangers, std::max(linkNow() - begin, kMs));
    }
  }
  return met;
}

// The own parent first, so that one who waits for a child that does not come keeps nobody else
// waiting. The children have connected meanwhile. Who did not meet at the start is not waited for
// at the end.
void compare(const char* key) {
  constexpr std::uint64_t kLongest = 2000 * kMs;  // more than ClockMarks::awaitList() takes
  const std::uint64_t until = linkNow() + kLongest;
  place.has_parent = place.has_parent && ask(key);
  place.children = answerChildren(until);
}

bool leaveMark() {
  char line[kLineBytes];
  Text text(line, sizeof line);
  text.putHex(process.token, 16).putByte(' ');
  if (!port.open()) return false;
  port.tell(text);
  return !text.isFull() && marks.leave(self, line);
}

void takeMarkAway() {
  marks.remove();
  port.close();
}

std::uint64_t hashOf(std::string_view text, std::uint64_t hash) {
  for (const char c : text) hash = mixed(hash, static_cast<unsigned char>(c));
  return mixed(hash, text.size());
}

std::uint64_t hashOfFile(const char* path, std::uint64_t hash) {
  const long fd = rawSyscall(SYS_openat, AT_FDCWD, address(path), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return hash;
  char text[64];
  const long bytes = rawSyscall(SYS_read, fd, address(text), sizeof text);
  rawSyscall(SYS_close, fd);
  return bytes > 0 ? hashOf({text, static_cast<std::size_t>(bytes)}, hash) : hash;
}

std::uint64_t hashOfLink(const char* path, std::uint64_t hash) {
  char text[64];
  const long bytes =
      rawSyscall(SYS_readlinkat, AT_FDCWD, address(path), address(text), sizeof text);
  return bytes > 0 ? hashOf({text, static_cast<std::size_t>(bytes)}, hash) : hash;
}

// What readers tell clocks apart by (core/tracefile/host_clocks.cpp).
std::uint64_t ownDomain() {
  std::uint64_t hash = hashOfFile("/proc/sys/kernel/random/boot_id", 0);
  if (hash == 0) return process.token;
  hash = hashOfLink("/proc/self/ns/time", hash);
  return hashOf(process.settings.test_clock.text, hash);
}

// Not in a job of one node, nor where the launcher does not tell who is first on it.
bool isLeader() {
  const LauncherIdentity& launcher = launcherIdentity();
  if (!isActive() || launcher.ranks < 2 || *launcher.job == '\0' || !launcher.first_on_node) {
    return false;
  }
  const char* const all = getenv("OMPI_COMM_WORLD_SIZE");
  const char* const here = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  return all == nullptr || here == nullptr || std::strcmp(all, here) != 0;
}

// Keeps one leader of each clock other than this process's; returns how many.
std::size_t otherClocks(ClockLeader* list, std::size_t count) {
  const auto byClock = [](const ClockLeader& a, const ClockLeader& b) {
    return a.domain != b.domain ? a.domain < b.domain : a.rank < b.rank;
  };
  std::sort(list, list + count, byClock);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_first = i == 0 || list[i].domain != list[i - 1].domain;
    if (is_first && list[i].domain != self.domain && list[i].rank > 0 &&
        list[i].rank < mpi_identity.ranks) {
      list[kept++] = list[i];
    }
  }
  std::sort(list, list + kept,
            [](const ClockLeader& a, const ClockLeader& b) { return a.rank < b.rank; });
  return kept;
}

// Rank 0 has the last word on who takes part: two views of a directory may differ. The tree is made
// of the order in its list; it is the root itself.
Place findPlace() {
  const Scratch<ClockLeader, 16> list(kMostLeaders);
  if (!list) return {};
  std::size_t others = 0;
  std::size_t own = 0;
  if (self.rank == 0) {
    others = otherClocks(list.data(), marks.read(list.data(), kMostLeaders));
    if (!marks.publish(list.data(), others)) return {};
  } else {
    others = marks.awaitList(list.data(), kMostLeaders);
    while (own < others && list[own].rank != self.rank) ++own;
    if (own++ == others) return {};  // not meant
  }
  const std::size_t lowest_bit = own & (~own + 1);  // 0: the root
  Place found;
  found.has_parent = own != 0;
  found.owner = process.token;
  if (own > lowest_bit) found.parent = list[own - lowest_bit - 1];
  for (std::size_t bit = 1; (own == 0 || bit < lowest_bit) && own + bit <= others; bit *= 2) {
    ++found.children;
  }
  return found;
}

}  // namespace

void beforeClocksAtStart() {
  if (!isLeader()) return;
  self = {.rank = launcherIdentity().rank, .domain = ownDomain()};
  leaveMark();
}

void compareClocksAtStart(bool mpi_is_there) {
  if (marks.isLeft() && mpi_is_there && mpi_identity.known && mpi_identity.rank == self.rank &&
      isActive() && hasContainer()) {
    place = findPlace();
    compare(wire::info::kClockStart);
  }
  takeMarkAway();
}

void beforeClocksAtEnd() {
  if (place.owner == process.token && place.children > 0) leaveMark();
}

void compareClocksAtEnd() {
  if (place.owner == process.token) compare(wire::info::kClockEnd);
  takeMarkAway();
}

}  // namespace omnio::trace
