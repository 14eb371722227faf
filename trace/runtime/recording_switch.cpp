#include "trace/runtime/recording_switch.hpp"

#include <errno.h>
#include <signal.h>

#include "core/wire/info.hpp"
#include "trace/runtime/process.hpp"
#include "trace/runtime/ring/container_writer.hpp"
#include "trace/runtime/sys/text.hpp"

namespace omnio::trace {

namespace info = wire::info;

namespace {

struct Stops {
  std::atomic<std::uint64_t> since{0};  // ticks; 0: recording
  std::atomic<std::uint64_t> count{0};  // of those begun
  std::atomic<std::uint64_t> total_ticks{0};
  std::atomic<bool> is_reported{false};
};
Stops stops;
std::atomic<bool> is_own_work{false};

constexpr std::size_t kFactBytes = 512;

bool isStoppedOnRequest() { return stops.since.load() != 0; }
bool isStopped() { return isStoppedOnRequest() || is_own_work.load(); }

Text& putFact(Text& text, std::string_view key, std::uint64_t value) {
  return text.put(key).putByte('\0').putNumber(value).putByte('\0');
}

// The one that just ended, by its number.
void putStop(Text& text, std::uint64_t number, std::uint64_t begin, std::uint64_t end) {
  text.put(info::kStopPrefix).putNumber(number).putByte('\0');
  text.putNumber(begin).putByte(' ').putNumber(end).putByte('\0');
}

void putSums(Text& text) {
  putFact(text, info::kStops, stops.count.load());
  putFact(text, info::kStoppedTicks, stops.total_ticks.load());
  putFact(text, info::kStoppedSince, stops.since.load());
}

// Makes the bit in the page what the flag says. Two that change the flag at once may come here in
// either order, so each looks again at what it has done.
void carryOver() {
  bool stopped = false;
  do {
    stopped = isStopped();
    if (stopped) {
      process.epoch_page->fetch_or(kStoppedBit);
    } else {
      process.epoch_page->fetch_and(~kStoppedBit);
    }
  } while (stopped != isStopped());
}

void onToggle(int /*signal*/) {
  const int error = errno;
  setRecording(isStoppedOnRequest());
  errno = error;
}

}  // namespace

bool isRecording() { return isActive() && !isStopped(); }

void setRecording(bool on) {
  if (!isActive() || isVforkChild()) return;
  noticeFork();
  std::uint64_t since = 0;
  char facts[kFactBytes];
  Text text(facts, sizeof facts);
  if (on) {
    since = stops.since.exchange(0);
    if (since == 0) return;
    const std::uint64_t now = ticks();
    const std::uint64_t number = stops.count.load() - 1;
    stops.total_ticks.fetch_add(now - since);
    if (number < info::kNamedStops) putStop(text, number, since, now);
  } else {
    if (!stops.since.compare_exchange_strong(since, ticks())) return;
    stops.count.fetch_add(1);
  }
  carryOver();
  // A loop that stops and starts around each of its turns must not fill the trace directory.
  if (stops.count.load() > info::kNamedStops || !hasContainer()) return;
  putSums(text);
  appendInfo(facts, text.size());
}

void setOwnWork(bool on) {
  if (!isActive() || isVforkChild()) return;
  noticeFork();
  is_own_work.store(on);
  carryOver();
}

void listenForToggle() {
  const int number = process.settings.toggle_signal;
  if (number == 0) return;
  const int error = errno;
  struct sigaction action {};
  // An application that ignores the signal, or has a handler, has a use of its own for it.
  if (sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) {
    action = {};
    action.sa_handler = onToggle;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    sigfillset(&action.sa_mask);
    sigaction(number, &action, nullptr);
  }
  errno = error;
}

void reportStopped() {
  if (!isStoppedOnRequest()) return;
  // A process that is about to end could not say in its new log that it has ended.
  if (process.draining_each.load()) return;
  // Once: a directory that cannot be written would be tried at each call.
  if (hasContainer() || stops.is_reported.exchange(true)) return;
  openContainer();
}

void beginStops(bool stopped) {
  stops.since.store(stopped ? process.begin.ticks : 0);
  stops.count.store(stopped ? 1 : 0);
  stops.total_ticks.store(0);
  stops.is_reported.store(false);
}

void finishStops() {
  if (stops.count.load() <= info::kNamedStops || !hasContainer()) return;
  char facts[kFactBytes];
  appendInfo(facts, describeStops(facts, sizeof facts));
}

std::size_t describeStops(char* out, std::size_t bytes) {
  Text text(out, bytes);
  constexpr std::size_t kSumsBytes = 128;  // whole pairs only: a half one would shift what follows
  if (stops.count.load() > 0 && text.room() >= kSumsBytes) putSums(text);
  return text.size();
}

}  // namespace omnio::trace
