#include "trace/runtime/test_clock.hpp"

#include <time.h>

#include <cstring>

#include "core/wire/clock.hpp"
#include "trace/runtime/sys/text.hpp"

namespace omnio::trace {
namespace {

constexpr std::int64_t kNsPerS = 1'000'000'000;
constexpr std::int64_t kMillion = 1'000'000;

constinit wire::ClockReader true_reader = nullptr;
constinit std::int64_t ahead = 0;
constinit std::int64_t fast = 0;

std::int64_t nsOf(const timespec& time) { return time.tv_sec * kNsPerS + time.tv_nsec; }

int read(clockid_t id, timespec* now) {
  timespec monotonic{};
  const int result = true_reader(id, now);
  if (result != 0) return result;
  true_reader(CLOCK_MONOTONIC, &monotonic);
  const std::int64_t since = id == CLOCK_MONOTONIC ? nsOf(*now) : nsOf(monotonic);
  // In two steps, since years of nanoseconds times a hundred do not fit.
  const std::int64_t gained = since / kMillion * fast + since % kMillion * fast / kMillion;
  const std::int64_t shown = nsOf(*now) + ahead + gained;
  now->tv_sec = shown / kNsPerS;
  now->tv_nsec = shown % kNsPerS;
  return 0;
}

// Takes a number off the front.
bool takeNumber(const char*& text, std::int64_t& into) {
  const bool negative = *text == '-';
  if (negative) ++text;
  const char* const first = text;
  for (; *text >= '0' && *text <= '9' && text - first < 16; ++text)
    into = into * 10 + (*text - '0');
  if (negative) into = -into;
  return text > first;
}

}  // namespace

TestClock parseTestClock(const char* text) {
  constexpr std::int64_t kMostPpm = 10'000;
  TestClock clock;
  const char* rest = text;
  if (!takeNumber(rest, clock.ahead_ns) || *rest != ':') return {};
  ++rest;
  if (!takeNumber(rest, clock.fast_ppm) || *rest != '\0') return {};
  if (clock.fast_ppm > kMostPpm || clock.fast_ppm < -kMostPpm) return {};
  Text(clock.text, sizeof clock.text).put(text);
  return clock;
}

void useTestClock(const TestClock& clock) {
  if (!clock.isSet()) return;
  ahead = clock.ahead_ns;
  fast = clock.fast_ppm;
  true_reader = wire::clock_reader;
  wire::clock_reader = read;
}

}  // namespace omnio::trace
